//! The summary of a run: counts, and the lines on standard error that state them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use ptxcheck_passes::rule::{Level, Rule};
use ptxcheck_passes::run::{Decisions, InputReport, Outcome, Status};

use crate::amounts::{duration, plural, size};
use crate::coverage::Coverage;
use crate::escape;
use crate::styles::BOLD;
use crate::view::View;

/// The counts of a run: of causes, and of their places. Suppressed ones are neither errors nor warnings.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Images (modules).
    pub images: usize,
    /// Size of the images, in bytes.
    pub bytes: u64,
    /// Causes at level error.
    pub errors: usize,
    /// Causes at level warning.
    pub warnings: usize,
    /// Causes suppressed by comments and by exceptions.
    pub suppressed: usize,
    /// Causes that a baseline has.
    pub known: usize,
    /// Findings of the errors.
    pub error_places: usize,
    /// Findings of the warnings.
    pub warning_places: usize,
}

impl Counts {
    /// Counts the findings of `outcome`.
    #[must_use]
    pub fn of(outcome: &Outcome) -> Self {
        let mut counts = Self::default();
        for image in outcome.inputs.iter().flat_map(|input| &input.images) {
            counts.images += 1;
            counts.bytes = counts.bytes.saturating_add(image.bytes);
        }
        for group in &outcome.groups {
            let by = group.suppressed.as_ref().map(|suppression| suppression.by);
            let (causes, places) = match (by, group.level) {
                (Some("baseline"), _) => {
                    counts.known += 1;
                    continue;
                }
                (Some(_), _) => {
                    counts.suppressed += 1;
                    continue;
                }
                (None, Level::Error) => (&mut counts.errors, &mut counts.error_places),
                (None, Level::Warning) => (&mut counts.warnings, &mut counts.warning_places),
                (None, Level::Allow) => continue,
            };
            *causes += 1;
            *places += group.findings.len();
        }
        counts
    }
}

/// The summary at the end of a run. `unanalysed`: sentences about code that was not analysed. A line of it is as wide as `view` is.
#[must_use]
pub fn render(
    outcome: &Outcome,
    coverage: &Coverage<'_>,
    unanalysed: &str,
    view: &View,
    elapsed: Duration,
) -> String {
    let counts = Counts::of(outcome);
    let mut text = String::new();
    let mut by_rule: BTreeMap<(&str, &str), (&Rule, usize)> = BTreeMap::new();
    for group in crate::shown(outcome) {
        let key = (group.rule.code, group.rule.name);
        by_rule.entry(key).or_insert((group.rule, 0)).1 += 1;
    }
    for ((code, name), (rule, count)) in by_rule {
        let _ = writeln!(text, "{count:>7}  {} {name}", view.pages.link(code, rule));
    }
    text.push_str(unanalysed);
    text.push_str(&excluded(&outcome.decisions));
    for sentence in &outcome.decisions.expired {
        let _ = writeln!(text, "{}", escape::line(sentence));
    }
    let _ = write!(
        text,
        "{BOLD}{}, {}{BOLD:#}",
        with_places(counts.errors, "error", counts.error_places),
        with_places(counts.warnings, "warning", counts.warning_places)
    );
    if counts.suppressed > 0 {
        let _ = write!(text, ", {} suppressed", counts.suppressed);
    }
    if counts.known > 0 {
        let _ = write!(text, ", {} known", counts.known);
    }
    let undone = outcome.inputs.iter().filter(|input| is_undone(input)).count();
    if undone > 0 {
        let _ = write!(text, "; {} could not be analysed", plural(undone as u64, "input"));
    }
    let thing = if coverage.unanalysed.is_empty() {
        "module"
    } else {
        "image"
    };
    let images = plural(counts.images as u64, thing);
    let _ = writeln!(
        text,
        " ({images}; {}, {} in {})",
        plural(coverage.kernels as u64, "kernel"),
        size(counts.bytes),
        duration(elapsed)
    );
    view.wrap_lines(&text, 4)
}

/// `3 errors`, or `3 errors in 40 places`.
fn with_places(causes: usize, thing: &str, places: usize) -> String {
    let causes_alone = plural(causes as u64, thing);
    if places == causes {
        causes_alone
    } else {
        format!("{causes_alone} in {places} places")
    }
}

/// A line about omitted findings.
fn excluded(decisions: &Decisions) -> String {
    let parts: Vec<String> = [
        (decisions.excluded_inputs, "input"),
        (decisions.excluded, "finding"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, thing)| plural(count as u64, thing))
    .collect();
    if parts.is_empty() {
        return String::new();
    }
    let verb = if decisions.excluded_inputs + decisions.excluded == 1 {
        "is"
    } else {
        "are"
    };
    format!("{} {verb} excluded by the configuration\n", parts.join(" and "))
}

/// A line for each input: its status, and its images.
#[must_use]
pub fn render_inputs(outcome: &Outcome) -> String {
    let mut text = String::new();
    for input in &outcome.inputs {
        let _ = writeln!(text, "{}: {}", escape::line(&input.name), input.status.as_str());
        for image in &input.images {
            let _ = writeln!(
                text,
                "  {} {}, ISA {}, {}, {}, {}",
                image.kind.as_str(),
                escape::line(known(&image.target)),
                escape::line(known(&image.isa)),
                size(image.bytes),
                plural(u64::from(image.kernels), "kernel"),
                plural(u64::from(image.functions), "function")
            );
            if image.unsearched > 0 {
                let _ = writeln!(
                    text,
                    "    the search for witnesses of {} ended at a limit: what it left open is not reported by `-W conditional`",
                    plural(u64::from(image.unsearched), "kernel")
                );
            }
        }
    }
    text
}

/// True if some or all of an input could not be analysed.
#[must_use]
pub fn is_undone(input: &InputReport) -> bool {
    matches!(input.status, Status::Failed | Status::Partly) || !input.problems.is_empty()
}

fn known(text: &str) -> &str {
    if text.is_empty() { "unknown" } else { text }
}
