//! The options that say how kernels are launched, over the configuration.

use std::path::{Path, PathBuf};

use clap::Args;
use ptxcheck_passes::assumptions::{Assumption, Assumptions, MAX_ASSUMPTIONS};
use ptxcheck_passes::launches::{
    self, Launches, MAX_DYNAMIC_SHARED, MAX_LAUNCHED_SHAPES, Shape, StatedShared,
};
use ptxcheck_passes::policy::Policy;
use ptxcheck_passes::run::{self, Outcome};
use ptxcheck_passes::settings::Settings;

use crate::{config, inputs};

/// Options that say how kernels are launched.
#[derive(Args, Clone, Debug)]
pub struct Launched {
    /// Threads of a block in x, y and z, as every kernel without `.reqntid` is launched (y and z default to 1); given several
    /// times: with each of these; wins over `[launch]` in the configuration
    #[arg(long, value_name = "X,Y,Z", value_parser = parse_block)]
    pub launch_block: Vec<Shape>,

    /// Bytes of dynamic shared memory that every kernel is launched with, or the most of several launches; wins over `[launch]` in the
    /// configuration
    #[arg(long, value_name = "BYTES", value_parser = parse_shared)]
    pub launch_shared: Option<u32>,

    /// An integer parameter of some kernels is so: `KERNEL:PARAMETER CONDITION`, as in `forces*:n % 128` or `k:1 <= 1024`; more than one
    /// can be given. Findings of `-W conditional` keep to it
    #[arg(long, value_name = "ASSUMPTION", value_parser = parse_assumption)]
    pub assume: Vec<Assumption>,
}

/// `256` or `32,4,1`: at most 1,024 threads in all.
fn parse_block(text: &str) -> Result<Shape, String> {
    let sides: Option<Vec<u32>> = text.split(',').map(|side| side.trim().parse().ok()).collect();
    sides
        .and_then(|sides| launches::shape_with_sides(&sides))
        .ok_or_else(|| {
            "one to three numbers over 0 are wanted, as in `32,4,1`, for at most 1,024 threads".to_owned()
        })
}

/// `49152`: at most the dynamic shared memory of the largest GPU.
fn parse_shared(text: &str) -> Result<u32, String> {
    let bytes = text.parse().ok().filter(|bytes| *bytes <= MAX_DYNAMIC_SHARED);
    bytes.ok_or_else(|| {
        format!(
            "a number of bytes is wanted, from 0 to {MAX_DYNAMIC_SHARED} (227 KB, the most that any GPU has)"
        )
    })
}

/// `forces*:n % 128`.
fn parse_assumption(text: &str) -> Result<Assumption, String> {
    Assumption::parse(text).map_err(|bad| bad.to_string())
}

/// The blocks of options, each once.
///
/// # Errors
///
/// A sentence, if there are too many.
fn launch_blocks(given: &[Shape]) -> Result<Vec<Shape>, String> {
    let mut blocks = Vec::new();
    for block in given {
        if !blocks.contains(block) {
            blocks.push(*block);
        }
    }
    if blocks.len() > MAX_LAUNCHED_SHAPES {
        return Err(format!(
            "--launch-block is given for more than {MAX_LAUNCHED_SHAPES} different blocks"
        ));
    }
    Ok(blocks)
}

/// The assumptions of the configuration, and those of options.
///
/// # Errors
///
/// A sentence, if there are too many.
fn assumptions(given: &[Assumption], of_file: Assumptions) -> Result<Assumptions, String> {
    let mut all = of_file.all;
    all.extend_from_slice(given);
    if all.len() > MAX_ASSUMPTIONS {
        return Err(format!("there are more than {MAX_ASSUMPTIONS} assumptions"));
    }
    Ok(Assumptions { all })
}

/// Settings with the launches and assumptions of options.
///
/// # Errors
///
/// A sentence, if there are too many.
pub(super) fn apply(args: &Launched, settings: Settings) -> Result<Settings, String> {
    Ok(Settings {
        launches: Launches {
            run: launch_blocks(&args.launch_block)?,
            shared: StatedShared {
                run: args.launch_shared,
                ..settings.launches.shared
            },
            ..settings.launches
        },
        assumptions: assumptions(&args.assume, settings.assumptions)?,
        ..settings
    })
}

/// The outcome of a run over these paths with the settings that `narrowed` makes of those of the configuration and the options: for commands
/// that show one thing, and hold nothing against a policy.
///
/// # Errors
///
/// A sentence about the configuration or the options.
pub(super) fn outcome(
    paths: &[PathBuf],
    config: Option<&Path>,
    args: &Launched,
    narrowed: impl FnOnce(Settings) -> Settings,
) -> Result<Outcome, String> {
    let settings = apply(args, config::read(config)?.settings())?;
    let settings = narrowed(Settings {
        policy: Policy::default(),
        ir_reader: super::worker::ir_reader(),
        mlir_worker: super::worker::mlir_command(),
        report_cache: crate::cache::reports(None)?,
        ..settings
    });
    let inputs::Collected { inputs, left_out, .. } = inputs::collect(paths, &settings);
    Ok(run::check(inputs, &Settings { left_out, ..settings }))
}

#[cfg(test)]
mod tests {
    use super::parse_block;

    #[test]
    fn blocks_have_up_to_three_sides_and_1024_threads() {
        assert_eq!(parse_block("256"), Ok([256, 1, 1]));
        assert_eq!(parse_block("32,4,1"), Ok([32, 4, 1]));
        for wrong in ["", "0", "32,", "1,1,1,1", "64,32", "-1", "x", "4294967295,2"] {
            assert!(parse_block(wrong).is_err(), "{wrong}");
        }
    }
}
