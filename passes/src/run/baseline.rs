//! Baselines: the findings that were there before, so that new ones alone fail.
//!
//! A baseline is a JSON file with a line for each [`Entry`], sorted. A [`Group`] is known if an entry has
//!
//! * its rule, certainty, kind of message, source file and the text of its line, or
//! * its rule, certainty, kind of message, and a function and operation of it.
//!
//! Line numbers, paths of sources and architectures are in neither: an entry holds after edits elsewhere, and after the code was
//! compiled anew. All matches by text are made before any by function, and an entry stands for as many groups as its
//! count says, so that a second equal line is new. Where a run has line information and the baseline was written without, or the
//! other way round, groups can't be counted against each other, and an entry stands for all of its function and operation.
//!
//! ```
//! use ptxcheck_passes::baseline::Baseline;
//! use ptxcheck_passes::{Bytes, Input, Settings, check};
//!
//! let run = |masks: &[u32]| {
//!     let body: String = masks.iter().map(|mask| format!("bar.warp.sync {mask};\n")).collect();
//!     let text = format!(".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n{body}ret;\n}}\n");
//!     check(vec![Input { name: "k.ptx".to_owned(), bytes: Bytes::Memory(text.into()) }], &Settings::default())
//! };
//! let settings = Settings::default();
//! let mut baseline = Baseline::default();
//! assert_eq!(baseline.record(&run(&[0]), &settings), 1);
//!
//! let baseline = Baseline::parse("known.json", &baseline.to_text()).expect("what was written");
//! let mut outcome = run(&[0]);
//! baseline.apply(&mut outcome, &settings);
//! assert_eq!(outcome.findings[0].suppressed.as_ref().map(|suppression| suppression.by), Some("baseline"));
//! ```

mod entry;
mod matches;
mod record;
mod text;

use std::collections::HashSet;

use crate::finding::Finding;
use crate::group::{self, Group};
use crate::inventory::{InputReport, Status};
use crate::run::Outcome;
use crate::settings::Settings;

pub use entry::{Baseline, Entry};
pub use text::BaselineError;

/// The name of the command in entries.
const fn command_name(settings: &Settings) -> &'static str {
    if settings.images_only { "audit" } else { "check" }
}

/// Indices of the groups that a baseline can have, in an order that does not depend on that of the inputs.
fn baseline_candidates(outcome: &Outcome, settings: &Settings) -> Vec<usize> {
    let is_candidate = |group: &Group| {
        group.suppressed.is_none()
            && group.rule.problem().is_none()
            && !group.rule.is_about_configuration()
            && !settings.forbids(group.rule, group.certainty)
    };
    let mut candidates: Vec<usize> = (0..outcome.groups.len())
        .filter(|&index| is_candidate(&outcome.groups[index]))
        .collect();
    candidates.sort_by_cached_key(|&index| {
        let group = &outcome.groups[index];
        let first = outcome.findings.get(group.first());
        let line = first
            .and_then(group::line_to_fix)
            .map(|at| (at.file.clone(), at.line));
        let place = first.map(|first: &Finding| (first.function.clone(), first.offset));
        (
            group.rule.code,
            group.certainty.as_str(),
            group.identity.clone(),
            line,
            place,
            group.fingerprint.clone(),
        )
    });
    candidates
}

/// The name of an input, relative to the folder of the configuration if it lies below.
fn relative_input_name(input: &InputReport, settings: &Settings) -> String {
    settings.root.spellings(&input.name).pop().unwrap_or_default()
}

/// The inputs that were analysed in full: of others, nothing is known to be gone.
fn fully_analysed_inputs(outcome: &Outcome, settings: &Settings) -> HashSet<String> {
    let is_analysed = |input: &&InputReport| {
        matches!(input.status, Status::Checked | Status::Skipped) && input.problems.is_empty()
    };
    outcome
        .inputs
        .iter()
        .filter(is_analysed)
        .map(|input| relative_input_name(input, settings))
        .collect()
}

/// True if a run with these settings can find what an entry is about.
fn can_run_find(entry: &Entry, settings: &Settings) -> bool {
    use crate::finding::Certainty;
    use crate::rule::Level;
    let certainty = Certainty::ALL
        .into_iter()
        .find(|certainty| certainty.as_str() == entry.certainty);
    settings
        .registry
        .find(&entry.code)
        .zip(certainty)
        .is_some_and(|(rule, certainty)| settings.level(rule, certainty, rule.definite) > Level::Allow)
}

#[cfg(test)]
mod tests;
