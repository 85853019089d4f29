//! The options that say how kernels are launched, over the configuration.

use std::path::{Path, PathBuf};

use ptxcheck_passes::assumptions::{Assumption, Assumptions, MAX_ASSUMPTIONS};
use ptxcheck_passes::launches::{Launches, MAX_LAUNCHED_SHAPES, Shape, StatedShared};
use ptxcheck_passes::policy::Policy;
use ptxcheck_passes::run::{self, Outcome};
use ptxcheck_passes::settings::Settings;

use crate::args::Launched;
use crate::{config, inputs};

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
