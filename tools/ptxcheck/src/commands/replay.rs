//! `ptxcheck replay`: the runs of conditional findings, step by step.

use ptxcheck_passes::Outcome;
use ptxcheck_passes::policy::Policy;
use ptxcheck_passes::rule::Level;
use ptxcheck_passes::run;
use ptxcheck_passes::scope::Root;
use ptxcheck_passes::settings::{Change, LevelSetting, Selector, Settings};
use ptxcheck_report::pages::RulePages;
use ptxcheck_report::view::View;
use ptxcheck_report::{escape, replay};

use super::launched;
use crate::args::ReplayArgs;
use crate::exit::Exit;
use crate::{config, inputs, output};

/// Prints the runs of the conditional findings in some inputs.
#[must_use]
pub fn run(args: &ReplayArgs) -> Exit {
    let outcome = match outcome(args) {
        Ok(outcome) => outcome,
        Err(problem) => return output::complain(&escape::line(&problem)),
    };
    let text = replay::render(&outcome, &args.fingerprint, &view(args));
    if text.is_empty() {
        let which = match &args.fingerprint[..] {
            [] => String::new(),
            known => format!(" with the fingerprint {}", known.join(" or ")),
        };
        return output::complain(&format!("no conditional finding{which}: nothing to replay"));
    }
    output::print(&text, args.color.into())
}

/// The terminal, and names of files relative to the working directory.
fn view(args: &ReplayArgs) -> View {
    let working = std::env::current_dir().ok();
    let color = args.color.into();
    View {
        root: Root {
            root: working.clone(),
            working,
        },
        pages: match config::read(args.config.as_deref()) {
            Ok(config) if output::has_links(color) => config.pages,
            _ => RulePages::default(),
        },
        width: output::width(),
    }
}

/// The outcome of a check for conditional findings alone.
fn outcome(args: &ReplayArgs) -> Result<Outcome, String> {
    let settings = config::read(args.config.as_deref())?.settings();
    let settings = launched::apply(&args.launched, settings)?;
    let level = |selector, level, change| LevelSetting {
        selector,
        level,
        change,
    };
    let settings = Settings {
        levels: vec![
            level(Selector::All, Level::Allow, Change::Set),
            level(Selector::Conditional, Level::Warning, Change::Raise),
        ],
        policy: Policy::default(),
        ir_reader: super::worker::ir_reader(),
        mlir_worker: super::worker::mlir_command(),
        ..settings
    };
    let inputs::Collected { inputs, left_out, .. } = inputs::collect(&args.paths, &settings);
    let settings = Settings { left_out, ..settings };
    Ok(run::check(inputs, &settings))
}
