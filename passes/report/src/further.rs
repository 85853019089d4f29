//! The further places of a cause, as text: each in one line with the parts that differ from the first.

use ptxcheck_passes::finding::{Finding, Value};
use ptxcheck_passes::names::readable;
use ptxcheck_passes::run::Outcome;

use super::causes::Cause;
use super::paths::Paths;
use super::places::ShownPlace;
use super::{escape, image_label, input_name, packed_image};
use crate::amounts::plural;

/// Most places that have a line of their own.
const LISTED: usize = 16;

/// The number of a group's further places, and a line for each of the first.
pub(crate) fn list(outcome: &Outcome, cause: &Cause<'_>, paths: &mut Paths) -> String {
    let others = cause.group.findings.len().saturating_sub(1);
    let mut text = plural(others as u64, "more place");
    for finding in cause.findings().skip(1).take(LISTED) {
        text.push('\n');
        text.push_str(&line(outcome, cause, finding, paths));
    }
    if let rest @ 1.. = others.saturating_sub(LISTED) {
        text.push_str(&format!("\nand {rest} more (`--format json` has all)"));
    }
    text
}

/// `k.cu:9:3, kernel k<float>, image 2: lanes 0-15`.
fn line(outcome: &Outcome, cause: &Cause<'_>, finding: &Finding, paths: &mut Paths) -> String {
    let first = cause.first;
    let place = place(outcome, first, finding);
    let input = input_name(outcome, finding);
    let shown = match &place {
        Some(place) => place.position_in(&paths.shown(place.file, input)),
        None => paths.shown(input, input),
    };
    let mut parts = vec![escape::line(&shown).into_owned()];
    if let Some((word, name)) = function(finding)
        && function(first) != Some((word, name))
    {
        parts.push(format!("{word} `{}`", escape::name(&readable(name))));
    }
    if place.is_none_or(|place| place.image.is_none())
        && let Some((number, image)) = packed_image(outcome, finding)
    {
        parts.push(escape::line(&image_label(number, image)).into_owned());
    }
    let mut text = parts.join(", ");
    if finding.message != first.message || finding.message != cause.group.message {
        let lanes = match finding.data.get("lanes") {
            Some(Value::Numbers(lanes)) if !lanes.is_empty() => ranges(lanes),
            _ => escape::line(&finding.message).into_owned(),
        };
        text.push_str(": ");
        text.push_str(&lanes);
    }
    text
}

/// The line of the source where it is another than that of the first place; else the place in the input.
fn place<'a>(outcome: &Outcome, first: &Finding, finding: &'a Finding) -> Option<ShownPlace<'a>> {
    let at = |finding: &Finding| finding.source.as_ref().map(|source| source.at.clone());
    let source = finding.source.as_ref().filter(|_| at(first) != at(finding));
    ShownPlace::either(outcome, finding, source, finding.location.as_ref())
}

fn function(finding: &Finding) -> Option<(&'static str, &str)> {
    let kernel = finding.kernel.as_deref().map(|name| ("kernel", name));
    kernel.or_else(|| Some(("function", finding.function.as_deref()?)))
}

/// `lane 3`, `lanes 0-15, 31`.
fn ranges(lanes: &[u64]) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for &lane in lanes {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(lane) => *last = lane,
            _ => runs.push((lane, lane)),
        }
    }
    let run = |(first, last): &(u64, u64)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    let noun = if lanes.len() == 1 { "lane" } else { "lanes" };
    let runs: Vec<String> = runs.iter().map(run).collect();
    format!("{noun} {}", runs.join(", "))
}
