//! The inputs of a run, or of one of its shards, and the files that shards are written to.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use ptxcheck_passes::Input;
use ptxcheck_passes::run::{self, Outcome};
use ptxcheck_passes::settings::Settings;
use ptxcheck_passes::shard::{self, Deal, Shard};

/// Largest file with a shard that is read, in bytes.
const MAX_SHARD_BYTES: u64 = 4 << 30;

/// Checks all inputs, or those of one shard.
#[must_use]
pub fn check(inputs: Vec<Input>, settings: &Settings, deal: Option<Deal>) -> (Outcome, Option<Shard>) {
    match deal {
        None => (run::check(inputs, settings), None),
        Some(deal) => {
            let all = inputs.len();
            let (outcome, shard) = shard::check(deal.pick(inputs), settings, deal, all);
            (outcome, Some(shard))
        }
    }
}

/// The text of a shard's file.
///
/// # Errors
///
/// A sentence, if the run has no shard.
pub fn render(shard: Option<&Shard>) -> Result<String, String> {
    let shard = shard.ok_or("the format `shard` goes with `--shard I/N`")?;
    serde_json::to_string(shard).map_err(|error| error.to_string())
}

/// Reads a shard.
///
/// # Errors
///
/// A sentence about a file that can't be read or holds no shard.
pub fn read(file: &Path) -> Result<Shard, String> {
    let name = file.to_string_lossy();
    let opened = File::open(file).and_then(|file| Ok((file.metadata()?.len(), file)));
    let (size, opened) = opened.map_err(|error| format!("`{name}` cannot be read: {error}"))?;
    if size > MAX_SHARD_BYTES {
        return Err(format!("`{name}` is too large for a shard"));
    }
    serde_json::from_reader(BufReader::new(opened))
        .map_err(|error| format!("`{name}` is no shard of `--output shard=FILE`: {error}"))
}
