//! The inputs of a run, or of one of its shards, and the files that shards are written to.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use ptxcheck_passes::Input;
use ptxcheck_passes::run::{self, Outcome};
use ptxcheck_passes::settings::Settings;
use ptxcheck_passes::shard::lines::ReadError;
use ptxcheck_passes::shard::{self, Deal, Shard};

/// Largest file with shards that is read, in bytes.
const MAX_SHARD_BYTES: u64 = 4 << 30;

/// Checks all inputs, or those of one shard. `deals_members`: the members of wheels are dealt as well.
#[must_use]
pub fn check(
    inputs: Vec<Input>,
    settings: &Settings,
    deal: Option<Deal>,
    deals_members: bool,
) -> (Outcome, Option<Shard>) {
    let Some(deal) = deal else {
        return (run::check(inputs, settings), None);
    };
    let all = inputs.len();
    // The metadata of a wheel variant are compared with the whole wheel.
    let (outcome, shard) = if deals_members && !settings.policy.check_variants {
        let settings = Settings {
            member_deal: Some(deal),
            ..settings.clone()
        };
        shard::check(deal.pick_with_wheels(inputs), &settings, deal, all)
    } else {
        shard::check(deal.pick(inputs), settings, deal, all)
    };
    (outcome, Some(shard))
}

/// The lines of a shard's file.
///
/// # Errors
///
/// A sentence, if the run has no shard.
pub fn render(shard: Option<&Shard>) -> Result<Vec<String>, String> {
    let shard = shard.ok_or("the format `shard` goes with `--shard I/N`")?;
    shard
        .lines()
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())
}

/// Reads the shards of a file, or of standard input if it is called `-`.
///
/// # Errors
///
/// A sentence about a file that can't be read or holds no shards.
pub fn read(file: &Path) -> Result<Vec<Shard>, String> {
    let name = file.to_string_lossy();
    let read = if name == "-" {
        read_from(std::io::stdin().lock())
    } else {
        let opened = File::open(file).map_err(|error| format!("`{name}` cannot be read: {error}"))?;
        read_from(opened)
    };
    match read {
        Ok(shards) if shards.is_empty() => Err(format!("`{name}` holds no shard of `--output shard=FILE`")),
        Ok(shards) => Ok(shards),
        Err(error) => Err(format!(
            "`{name}` holds no shard of `--output shard=FILE`: {error}"
        )),
    }
}

fn read_from(stream: impl Read) -> Result<Vec<Shard>, ReadError> {
    let mut limited = BufReader::new(stream.take(MAX_SHARD_BYTES));
    let shards = Shard::read(&mut limited)?;
    match limited.get_ref().limit() {
        0 => Err(std::io::Error::other(format!("it has more than {MAX_SHARD_BYTES} bytes")).into()),
        _ => Ok(shards),
    }
}
