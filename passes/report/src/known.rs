//! The findings that a baseline has, for readers who ask for them: a line for each group.

use std::fmt::Write as _;

use ptxcheck_passes::run::Outcome;

use crate::amounts::plural;
use crate::causes::Cause;
use crate::paths::Paths;
use crate::places::ShownPlace;
use crate::view::View;
use crate::{escape, input_name};

/// Most groups that have a line; a count stands for the rest.
const MAX_LINES: usize = 10_000;

/// A line for each group that a baseline suppresses: `known: file:line:col: error: message [PTX401]`, with the number of its
/// further places.
#[must_use]
pub fn render(outcome: &Outcome, view: &View) -> String {
    let mut paths = Paths::new(&view.root);
    let mut known = Cause::all(outcome).filter(|cause| {
        let suppressed = cause.group.suppressed.as_ref();
        suppressed.is_some_and(|suppression| suppression.by == "baseline")
    });
    let mut text = String::new();
    for Cause { group, first, .. } in known.by_ref().take(MAX_LINES) {
        let place = match ShownPlace::of(outcome, first) {
            Some(place) => place.position_in(&paths.shown(place.file, input_name(outcome, first))),
            None => input_name(outcome, first).to_owned(),
        };
        let further = match group.findings.len() {
            0 | 1 => String::new(),
            count => format!(", and {}", plural(count as u64 - 1, "further place")),
        };
        let _ = writeln!(
            text,
            "known: {}: {}: {}{further} [{}]",
            escape::line(&place),
            group.level.as_str(),
            escape::line(&group.message),
            group.rule.code
        );
    }
    let left = known.count();
    if left > 0 {
        let _ = writeln!(text, "known: {} more", plural(left as u64, "finding"));
    }
    text
}
