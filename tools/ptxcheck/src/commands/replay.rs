//! `ptxcheck replay`: the runs of conditional findings, step by step.

use std::path::PathBuf;

use clap::Args;
use ptxcheck_passes::Outcome;
use ptxcheck_passes::rule::Level;
use ptxcheck_passes::scope::Root;
use ptxcheck_passes::settings::{Change, LevelSetting, Selector, Settings};
use ptxcheck_report::pages::RulePages;
use ptxcheck_report::view::View;
use ptxcheck_report::{escape, replay};

use super::launched::{self, Launched};
use crate::exit::Exit;
use crate::options::Color;
use crate::{config, output};

/// Arguments of `replay`.
#[derive(Args, Debug)]
pub struct ReplayArgs {
    /// Files and folders, as `check` takes them
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,

    /// Only the findings whose fingerprints begin so (`--format json` has them); repeatable
    #[arg(long, value_name = "FINGERPRINT", value_parser = parse_fingerprint)]
    pub fingerprint: Vec<String>,

    /// The launches of kernels.
    #[command(flatten)]
    pub launched: Launched,

    /// Read the configuration from this file, not from the nearest `ptxcheck.toml` above the working directory
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Colours on the terminal
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto)]
    pub color: Color,
}

/// Prints the runs of the conditional findings in some inputs.
#[must_use]
pub fn run(args: &ReplayArgs) -> Exit {
    let outcome = match outcome(args) {
        Ok(outcome) => outcome,
        Err(problem) => return output::complain(&escape::line(&problem)),
    };
    let text = replay::render(&outcome, &args.fingerprint, &view(pages(args)));
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
pub(super) fn view(pages: RulePages) -> View {
    let working = std::env::current_dir().ok();
    View {
        root: Root {
            root: working.clone(),
            working,
        },
        pages,
        width: output::width(),
    }
}

/// The pages that codes of rules are links to, where the terminal shows links.
fn pages(args: &ReplayArgs) -> RulePages {
    match config::read(args.config.as_deref()) {
        Ok(config) if output::has_links(args.color.into()) => config.pages,
        _ => RulePages::default(),
    }
}

/// The outcome of a check for conditional findings alone.
fn outcome(args: &ReplayArgs) -> Result<Outcome, String> {
    let level = |selector, level, change| LevelSetting {
        selector,
        level,
        change,
    };
    launched::outcome(&args.paths, args.config.as_deref(), &args.launched, |settings| {
        Settings {
            levels: vec![
                level(Selector::ALL, Level::Allow, Change::Set),
                level(Selector::CONDITIONAL, Level::Warning, Change::Raise),
            ],
            ..settings
        }
    })
}

/// The beginning of a fingerprint.
fn parse_fingerprint(text: &str) -> Result<String, String> {
    let text = text.to_ascii_lowercase();
    let is_one = (4..=16).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_one
        .then_some(text)
        .ok_or_else(|| "a fingerprint has 16 hexadecimal digits, of which 4 are enough".to_owned())
}
