//! `ptxcheck capacity`: the sizes from which on indexes of kernels do not fit in 32 bits.

use anstream::ColorChoice;
use ptxcheck_passes::policy::Policy;
use ptxcheck_passes::rule::Level;
use ptxcheck_passes::run::{self, Outcome, Status};
use ptxcheck_passes::scope::Root;
use ptxcheck_passes::settings::{Change, LevelSetting, Selector, Settings};
use ptxcheck_report::capacity::Capacities;
use ptxcheck_report::pages::RulePages;
use ptxcheck_report::view::View;
use ptxcheck_report::{escape, summary};

use super::diff::problems;
use super::launched;
use crate::args::{CapacityArgs, CapacityFormat};
use crate::exit::Exit;
use crate::{config, inputs, output};

/// Prints the indexes of the kernels in some inputs.
#[must_use]
pub fn run(args: &CapacityArgs) -> Exit {
    let outcome = match outcome(args) {
        Ok(outcome) => outcome,
        Err(problem) => return output::complain(&escape::line(&problem)),
    };
    if outcome.inputs.iter().all(|input| input.status == Status::Skipped) {
        return output::complain("no device code in these inputs");
    }
    output::write_stderr(&problems(&outcome), ColorChoice::Auto);
    let capacities = Capacities::of(&outcome, args.all);
    let printed = match args.format {
        CapacityFormat::Text => output::print(&capacities.text(&view()), args.color.into()),
        CapacityFormat::Json => match capacities.json() {
            Ok(text) => output::print(&text, ColorChoice::AlwaysAnsi),
            Err(error) => output::complain(&error.to_string()),
        },
    };
    let below = args.min_elements.map_or(0, |elements| capacities.below(elements));
    let judged = if below == 0 { Exit::Clean } else { Exit::Findings };
    let read = if outcome.inputs.iter().any(summary::is_undone) {
        Exit::Undone
    } else {
        Exit::Clean
    };
    printed.worst(judged).worst(read)
}

/// The terminal, and names of files relative to the working directory.
fn view() -> View {
    let working = std::env::current_dir().ok();
    View {
        root: Root {
            root: working.clone(),
            working,
        },
        pages: RulePages::default(),
        width: output::width(),
    }
}

/// The outcome of a run that looks for the indexes alone.
fn outcome(args: &CapacityArgs) -> Result<Outcome, String> {
    let settings = config::read(args.config.as_deref())?.settings();
    let settings = launched::apply(&args.launched, settings)?;
    let settings = Settings {
        levels: vec![LevelSetting {
            selector: Selector::All,
            level: Level::Allow,
            change: Change::Set,
        }],
        find_index_limits: true,
        policy: Policy::default(),
        ir_reader: super::worker::ir_reader(),
        mlir_worker: super::worker::mlir_command(),
        ..settings
    };
    let inputs::Collected { inputs, left_out, .. } = inputs::collect(&args.paths, &settings);
    let settings = Settings { left_out, ..settings };
    Ok(run::check(inputs, &settings))
}
