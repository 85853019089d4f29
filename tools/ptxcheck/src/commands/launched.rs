//! The options that say how kernels are launched, over the configuration.

use ptxcheck_passes::assumptions::{Assumption, Assumptions, MAX_ASSUMPTIONS};
use ptxcheck_passes::launches::{Launches, MAX_LAUNCHED_SHAPES, Shape, StatedShared};
use ptxcheck_passes::settings::Settings;

use crate::args::Launched;

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
