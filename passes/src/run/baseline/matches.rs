//! Compares the groups of a run with a baseline.

use std::collections::{HashMap, HashSet};

use super::text::line_for_message;
use super::{Baseline, Entry, baseline_candidates, can_run_find, command_name, fully_analysed_inputs};
use crate::finding::Suppression;
use crate::group::{self, Group};
use crate::run::{ConfigurationFindings, Outcome};
use crate::settings::Settings;

/// The use that groups have made of an entry.
#[derive(Clone, Default)]
struct Use {
    /// Number of groups with its text.
    by_text: u32,
    /// Number of further groups by function.
    by_function: HashMap<String, u32>,
    /// A group without line information matched an entry with it, or the other way round.
    is_mixed: bool,
}

impl Use {
    /// Number of groups that the entry can still stand for, by a function.
    fn remaining_count(&self, entry: &Entry, function: &str) -> u32 {
        let by_function = self.by_function.get(function).copied().unwrap_or(0);
        entry
            .count
            .saturating_sub(self.by_text)
            .saturating_sub(by_function)
    }

    /// Number of groups of an entry that are gone.
    fn gone(&self, entry: &Entry) -> u32 {
        if self.is_mixed {
            return 0;
        }
        let by_function = self.by_function.values().copied().max().unwrap_or(0);
        entry
            .count
            .saturating_sub(self.by_text.saturating_add(by_function))
    }
}

/// A line of a file, with the kind of the finding there.
type TextKey<'a> = (&'a str, &'a str, &'a str, &'a str, &'a str);

/// An operation of a function, with the kind of the finding there.
type FunctionKey<'a> = (&'a str, &'a str, &'a str, &'a str, &'a str);

/// A baseline, and the use that is made of it.
struct Matching<'b> {
    entries: &'b [Entry],
    uses: Vec<Use>,
    by_text: HashMap<TextKey<'b>, Vec<usize>>,
    by_function: HashMap<FunctionKey<'b>, Vec<usize>>,
}

impl<'b> Matching<'b> {
    fn new(entries: &'b [Entry], command: &str) -> Self {
        let mut by_text: HashMap<TextKey<'b>, Vec<usize>> = HashMap::new();
        let mut by_function: HashMap<FunctionKey<'b>, Vec<usize>> = HashMap::new();
        for (index, entry) in entries.iter().enumerate() {
            if entry.command != command {
                continue;
            }
            let (code, certainty, kind) = (&*entry.code, &*entry.certainty, &*entry.kind);
            if let (Some(file), Some(line)) = (&entry.file, &entry.line) {
                let key = (code, certainty, kind, &**file, &**line);
                by_text.entry(key).or_default().push(index);
            }
            for function in &entry.functions {
                let key = (code, certainty, kind, &**function, &*entry.operation);
                by_function.entry(key).or_default().push(index);
            }
            if entry.functions.is_empty() && entry.line.is_none() {
                let key = (code, certainty, kind, "", &*entry.operation);
                by_function.entry(key).or_default().push(index);
            }
        }
        Self {
            entries,
            uses: vec![Use::default(); entries.len()],
            by_text,
            by_function,
        }
    }

    /// The entry with a group's text that can stand for it; with `is_same`, only one with a function and the operation of it, too.
    fn take_text(&mut self, group: &Group, is_same: bool) -> Option<usize> {
        let identity = &group.identity;
        let key = (
            group.rule.code,
            group.certainty.as_str(),
            &*identity.kind,
            identity.file.as_deref()?,
            identity.line.as_deref()?,
        );
        let of_function = |entry: &Entry| {
            entry.operation == identity.operation
                && entry
                    .functions
                    .iter()
                    .any(|function| identity.functions.contains(function))
        };
        let found = self.by_text.get(&key)?.iter().copied().find(|&index| {
            let entry = &self.entries[index];
            self.uses[index].by_text < entry.count && (!is_same || of_function(entry))
        })?;
        self.uses[found].by_text += 1;
        Some(found)
    }

    /// An entry with the operation and a function of a group that can stand for it. Of each of its functions, one entry is used.
    fn take_function(&mut self, group: &Group) -> Option<usize> {
        let identity = &group.identity;
        let none = [String::new()];
        let functions = if identity.functions.is_empty() && identity.line.is_none() {
            &none[..]
        } else {
            &identity.functions[..]
        };
        let mut first = None;
        for function in functions {
            let key = (
                group.rule.code,
                group.certainty.as_str(),
                &*identity.kind,
                &**function,
                &*identity.operation,
            );
            let Some(indices) = self.by_function.get(&key) else {
                continue;
            };
            let is_mixed = |entry: &Entry| entry.file.is_some() != identity.file.is_some();
            let found = indices.iter().copied().find(|&index| {
                let entry = &self.entries[index];
                is_mixed(entry) || self.uses[index].remaining_count(entry, function) > 0
            });
            let Some(found) = found else { continue };
            if is_mixed(&self.entries[found]) {
                // The run may have cut finer than the baseline: all of them occur.
                for &index in indices.iter().filter(|&&index| is_mixed(&self.entries[index])) {
                    self.uses[index].is_mixed = true;
                }
            } else {
                *self.uses[found].by_function.entry(function.clone()).or_default() += 1;
            }
            first = first.or(Some(found));
        }
        first
    }
}

impl Baseline {
    /// Suppresses the groups that are known, by `baseline`, and lists in the outcome's [`Decisions`](crate::run::Decisions) the entries
    /// that no longer occur. If the settings are strict, the latter are findings of PTX906, too.
    ///
    /// Findings that are forbidden, and those about inputs and settings themselves, are never known. An entry is gone only if all its inputs
    /// were analysed in full by its command, with its rule on.
    pub fn apply(&self, outcome: &mut Outcome, settings: &Settings) {
        let mut matching = Matching::new(&self.entries, command_name(settings));
        let mut open = baseline_candidates(outcome, settings);
        let mut known: Vec<(usize, usize)> = Vec::new();
        let ways: [fn(&mut Matching<'_>, &Group) -> Option<usize>; 3] = [
            |matching, group| matching.take_text(group, true),
            |matching, group| matching.take_text(group, false),
            |matching, group| matching.take_function(group),
        ];
        for way in ways {
            open.retain(|&index| {
                let entry = way(&mut matching, &outcome.groups[index]);
                known.extend(entry.map(|entry| (index, entry)));
                entry.is_none()
            });
        }
        let gone = self.gone(&matching, outcome, settings);
        for &(index, entry) in &known {
            self.suppress(outcome, index, &self.entries[entry]);
        }
        outcome.decisions.gone = gone
            .iter()
            .map(|(entry, sentence)| format!("{}:{}: {sentence}", self.name, line_for_message(entry.at)))
            .collect();
        if settings.is_strict {
            self.report_entries_without_findings(&gone, outcome, settings);
        }
    }

    fn suppress(&self, outcome: &mut Outcome, index: usize, entry: &Entry) {
        let suppression = Suppression {
            by: "baseline",
            reason: match entry.at.0 {
                0 => "known since the baseline was written".to_owned(),
                line => format!("known since the baseline was written: {}:{line}", self.name),
            },
        };
        let group = &mut outcome.groups[index];
        for &finding in &group.findings {
            if let Some(finding) = outcome.findings.get_mut(finding) {
                finding.suppressed = Some(suppression.clone());
            }
        }
        group.suppressed = Some(suppression);
    }

    /// The entries that are gone, in the order of the file, with sentences.
    fn gone(&self, matching: &Matching<'_>, outcome: &Outcome, settings: &Settings) -> Vec<(&Entry, String)> {
        let of_run: HashSet<String> = fully_analysed_inputs(outcome, settings);
        let mut gone: Vec<(&Entry, String)> = self
            .entries
            .iter()
            .zip(&matching.uses)
            .filter(|(entry, of_entry)| {
                of_entry.gone(entry) > 0
                    && entry.command == command_name(settings)
                    && entry.further_inputs == 0
                    && entry.inputs.iter().all(|input| of_run.contains(input))
                    && can_run_find(entry, settings)
            })
            .map(|(entry, of_entry)| (entry, sentence_about_missing_groups(entry, of_entry.gone(entry))))
            .collect();
        gone.sort_by_key(|(entry, _)| entry.at);
        gone
    }

    /// Adds a finding for each entry that is gone, each a group of its own.
    fn report_entries_without_findings(
        &self,
        gone: &[(&Entry, String)],
        outcome: &mut Outcome,
        settings: &Settings,
    ) {
        let Some(make) = ConfigurationFindings::new(settings, outcome.inputs.len()) else {
            return;
        };
        let findings: Vec<_> = gone
            .iter()
            .map(|(entry, sentence)| make.in_baseline(sentence.clone(), &self.name, entry.at))
            .collect();
        let first = outcome.findings.len();
        let mut groups = group::groups(
            &outcome.inputs,
            &findings,
            &mut crate::sources::Sources::default(),
        );
        for group in &mut groups {
            for index in &mut group.findings {
                *index += first;
            }
        }
        outcome.findings.extend(findings);
        outcome.groups.extend(groups);
    }
}

/// A sentence about an entry that has lost so many groups.
fn sentence_about_missing_groups(entry: &Entry, gone: u32) -> String {
    let place = match (&entry.file, &entry.line, entry.functions.first()) {
        (Some(file), Some(line), _) => format!(" at `{line}` in {file}"),
        (_, _, Some(function)) => format!(" in `{function}`"),
        (Some(file), ..) => format!(" in {file}"),
        _ => String::new(),
    };
    let of_all = if entry.count > 1 {
        format!(" ({gone} of {})", entry.count)
    } else {
        String::new()
    };
    format!(
        "this entry of the baseline no longer occurs{of_all}: {}{place}",
        entry.code
    )
}
