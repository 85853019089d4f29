//! A format of one's own: `cargo run -p ptxcheck-report --example own_format -- FILE…` counts the findings of each rule.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use ptxcheck_passes::rule::Level;
use ptxcheck_passes::scope::Root;
use ptxcheck_passes::{Bytes, Input, Outcome, Settings, check, rules};
use ptxcheck_report::format::{Format, Renderer, Run, Wanted};
use ptxcheck_report::pages::RulePages;
use ptxcheck_report::view::View;

/// A line for each rule: its code, a tab, and the number of its findings. A format of ptxcheck's own is the same in
/// `passes/report/src`, and a line in `RENDERERS`.
#[derive(Debug)]
pub struct Counts;

impl Renderer for Counts {
    fn format(&self) -> Format {
        Format::document("counts", "tsv", "The number of findings of each rule")
    }

    fn render(&self, run: &Run<'_>) -> Result<Vec<String>, String> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for group in ptxcheck_report::shown(run.outcome) {
            *counts.entry(group.rule.code).or_default() += 1;
        }
        let lines = counts.iter().map(|(code, count)| format!("{code}\t{count}\n"));
        Ok(vec![lines.collect()])
    }
}

/// A run, rendered.
///
/// # Errors
///
/// The message of the renderer.
pub fn rendered(outcome: &Outcome, renderer: &dyn Renderer) -> Result<String, String> {
    let texts = renderer.render(&Run {
        outcome,
        elapsed: Duration::ZERO,
        audit: None,
        view: &View::default(),
        root: &Root::default(),
        pages: &RulePages::default(),
        rules: rules::ALL,
        fails: &|level| level == Level::Error,
        wanted: Wanted::default(),
        has_baseline: false,
        shard: None,
    })?;
    Ok(texts.concat())
}

#[allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what this program is for"
)]
fn main() -> ExitCode {
    let files = std::env::args_os().skip(1);
    let inputs = files.map(|file| Input {
        name: file.to_string_lossy().into_owned(),
        bytes: Bytes::File(file.into()),
    });
    match rendered(&check(inputs.collect(), &Settings::default()), &Counts) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}
