//! The data of a shard, for `ptxcheck merge`.

use crate::format::{Format, Renderer, Run};

/// The format.
#[derive(Debug)]
pub struct ShardData;

impl Renderer for ShardData {
    fn format(&self) -> Format {
        Format::document("shard", "shard", "The data of a shard, for `ptxcheck merge`")
    }

    fn render(&self, run: &Run<'_>) -> Result<Vec<String>, String> {
        let shard = run.shard.ok_or("the format `shard` goes with `--shard I/N`")?;
        shard
            .lines()
            .collect::<Result<_, _>>()
            .map_err(|error| error.to_string())
    }
}
