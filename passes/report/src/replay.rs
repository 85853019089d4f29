//! The runs of conditional findings, step by step.

use std::fmt::Write as _;

use ptxcheck_passes::Outcome;
use ptxcheck_passes::finding::{Finding, Related};

use crate::causes::Cause;
use crate::escape;
use crate::input_name;
use crate::places::ShownPlace;
use crate::styles::{self, BOLD};

/// The runs of the conditional findings whose fingerprints begin so, or of all, with colours. Empty where there is none.
///
/// ```text
/// warning[PTX401] extra-lane-in-mask 2f6c1f6f0f3ad2c1: the mask 0xffffffff of `__shfl_down_sync` names lanes 4-31, which …
///   when: blocks of 128 threads, parameter 1 = 100: warp 3 of the first block
///    1  tail.cu:4:7  lanes 4-31 jump from here
///    2  tail.cu:4:7  lanes 0-3 go on here
///    3  tail.cu:5:12 lanes 0-3 come here and wait, with the mask 0xffffffff
/// ```
#[must_use]
pub fn render(outcome: &Outcome, fingerprints: &[String]) -> String {
    let mut text = String::new();
    for cause in Cause::all(outcome) {
        let is_wanted = |finding: &Finding| {
            let known = [&cause.group.fingerprint, &finding.fingerprint];
            let mut wanted = fingerprints.iter();
            fingerprints.is_empty()
                || wanted.any(|wanted| known.iter().any(|known| known.starts_with(wanted.as_str())))
        };
        for finding in cause.findings().filter(|finding| is_wanted(finding)) {
            if !finding.steps.is_empty() {
                write_run(&mut text, outcome, &cause, finding);
            }
        }
    }
    text
}

fn write_run(text: &mut String, outcome: &Outcome, cause: &Cause<'_>, finding: &Finding) {
    if !text.is_empty() {
        text.push('\n');
    }
    let style = styles::level(cause.group.level);
    let _ = writeln!(
        text,
        "{style}{}[{}]{style:#} {BOLD}{} {}{BOLD:#}: {}",
        cause.group.level.as_str(),
        finding.rule.code,
        finding.rule.name,
        finding.fingerprint,
        escape::line(&finding.message)
    );
    let is_said = |note: &&String| note.starts_with("when: ") || note.starts_with("in general: ");
    for note in finding.notes.iter().filter(is_said) {
        let _ = writeln!(text, "  {}", escape::line(note));
    }
    let place = |step: &Related| {
        let shown = ShownPlace::of_related(outcome, finding, step);
        shown.map_or_else(
            || input_name(outcome, finding).to_owned(),
            |place| place.position(),
        )
    };
    let steps = &finding.steps;
    let places: Vec<String> = steps.iter().map(place).collect();
    let width = places
        .iter()
        .map(|place| place.chars().count())
        .max()
        .unwrap_or(0);
    for (number, (step, place)) in (1..).zip(steps.iter().zip(&places)) {
        let _ = writeln!(
            text,
            "{number:4}  {:width$}  {}",
            escape::line(place),
            escape::line(&step.message)
        );
    }
}
