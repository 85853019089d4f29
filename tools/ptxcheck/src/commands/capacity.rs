//! `ptxcheck capacity`: the sizes from which on indexes of kernels do not fit in 32 bits.

use std::path::PathBuf;

use anstream::ColorChoice;
use clap::{Args, ValueEnum};
use ptxcheck_passes::rule::Level;
use ptxcheck_passes::run::{Outcome, Status};
use ptxcheck_passes::settings::{Change, LevelSetting, Selector, Settings};
use ptxcheck_report::capacity::Capacities;
use ptxcheck_report::pages::RulePages;
use ptxcheck_report::{escape, summary};

use super::diff::problems;
use super::launched::{self, Launched};
use super::replay::view;
use crate::exit::Exit;
use crate::options::Color;
use crate::output;

/// Arguments of `capacity`.
#[derive(Args, Debug)]
pub struct CapacityArgs {
    /// Files and folders, as `check` takes them
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,

    /// Make the exit code 1 if an index wraps in an array of so many elements
    #[arg(long, value_name = "N")]
    pub min_elements: Option<u64>,

    /// Also indexes that depend on computed values: quotients, counters of loops that no comparison bounds, and the like
    #[arg(long)]
    pub all: bool,

    /// The launches of kernels.
    #[command(flatten)]
    pub launched: Launched,

    /// Format of the output
    #[arg(long, value_enum, default_value_t = CapacityFormat::Text)]
    pub format: CapacityFormat,

    /// Read the configuration from this file, not from the nearest `ptxcheck.toml` above the working directory
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Colours on the terminal
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto)]
    pub color: Color,
}

/// Formats of capacities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CapacityFormat {
    /// For people
    Text,
    /// For programs
    Json,
}

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
        CapacityFormat::Text => {
            output::print(&capacities.text(&view(RulePages::default())), args.color.into())
        }
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

/// The outcome of a run that looks for the indexes alone.
fn outcome(args: &CapacityArgs) -> Result<Outcome, String> {
    launched::outcome(&args.paths, args.config.as_deref(), &args.launched, |settings| {
        Settings {
            levels: vec![LevelSetting {
                selector: Selector::ALL,
                level: Level::Allow,
                change: Change::Set,
            }],
            find_index_limits: true,
            ..settings
        }
    })
}
