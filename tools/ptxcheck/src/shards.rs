//! The inputs of a run, or of one of its shards, and the files that shards are written to.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use clap::Args;
use ptxcheck_passes::Input;
use ptxcheck_passes::run::{self, Outcome};
use ptxcheck_passes::settings::Settings;
use ptxcheck_passes::shard::lines::ReadError;
use ptxcheck_passes::shard::{self, Deal, Shard};

/// The options that make a run a shard of one.
#[derive(Args, Clone, Debug)]
pub struct ShardArgs {
    /// Only the inputs of the I-th of N shards, which are dealt by their content: `--output shard=FILE` writes what
    /// `ptxcheck merge` makes one run of
    #[arg(long, value_name = "I/N", conflicts_with_all = ["strict_config", "baseline", "write_baseline"])]
    pub shard: Option<Deal>,

    /// Deal the members of wheels as well, one by one: for few and large ones. Where the metadata of wheel variants are checked, wheels
    /// are dealt whole
    #[arg(long, requires = "shard")]
    pub shard_members: bool,
}

/// Largest file with shards that is read, in bytes.
const MAX_SHARD_BYTES: u64 = 4 << 30;

/// Checks all inputs, or those of one shard.
#[must_use]
pub fn check(inputs: Vec<Input>, settings: &Settings, args: &ShardArgs) -> (Outcome, Option<Shard>) {
    let Some(deal) = args.shard else {
        return (run::check(inputs, settings), None);
    };
    let all = inputs.len();
    // The metadata of a wheel variant are compared with the whole wheel.
    let (outcome, shard) = if args.shard_members && !settings.policy.check_variants {
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
