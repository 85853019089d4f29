//! Writing: the findings of a run become entries, and entries that the run says nothing about stay.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Baseline, Entry, baseline_candidates, can_run_find, command_name, fully_analysed_inputs,
    relative_input_name,
};
use crate::limits::{MAX_BASELINE_INPUTS, MAX_BASELINE_MESSAGE};
use crate::run::Outcome;
use crate::settings::Settings;

impl Baseline {
    /// Replaces the entries of the run's inputs by the findings of the run, and returns the number of recorded groups. Findings that are
    /// suppressed or forbidden, and those about inputs and settings themselves, are not recorded. Entries of other inputs, of another
    /// command and of rules that are off in this run stay, and so do those of inputs that could not be analysed in full.
    pub fn record(&mut self, outcome: &Outcome, settings: &Settings) -> usize {
        let mut entries = Merged::default();
        let of_run = fully_analysed_inputs(outcome, settings);
        for mut entry in std::mem::take(&mut self.entries) {
            if entry.command == command_name(settings) && can_run_find(&entry, settings) {
                let is_known = !entry.inputs.is_empty() || entry.further_inputs > 0;
                entry.inputs.retain(|input| !of_run.contains(input));
                if is_known && entry.inputs.is_empty() && entry.further_inputs == 0 {
                    continue;
                }
            }
            entries.merge_entry(entry);
        }
        let taken = baseline_candidates(outcome, settings);
        let mut found = Merged::default();
        for &index in &taken {
            found.count_group(entry_of_group(outcome, index, settings));
        }
        for entry in found.into_entries() {
            entries.merge_entry(entry);
        }
        self.entries = entries.into_entries();
        taken.len()
    }
}

/// The entry of a group, with a count of 1.
fn entry_of_group(outcome: &Outcome, index: usize, settings: &Settings) -> Entry {
    let group = &outcome.groups[index];
    let identity = &group.identity;
    let mut inputs: Vec<usize> = group
        .findings
        .iter()
        .filter_map(|&finding| Some(outcome.findings.get(finding)?.input))
        .collect();
    inputs.sort_unstable();
    inputs.dedup();
    let inputs: BTreeSet<String> = inputs
        .into_iter()
        .filter_map(|input| Some(relative_input_name(outcome.inputs.get(input)?, settings)))
        .collect();
    let mut message = group.message.clone();
    message.truncate(message.floor_char_boundary(MAX_BASELINE_MESSAGE));
    Entry {
        file: identity.file.clone(),
        line: identity.line.clone(),
        code: group.rule.code.to_owned(),
        certainty: group.certainty.as_str().to_owned(),
        kind: identity.kind.clone(),
        functions: identity.functions.clone(),
        operation: identity.operation.clone(),
        command: command_name(settings).to_owned(),
        count: 1,
        message,
        inputs: inputs.into_iter().collect(),
        further_inputs: 0,
        at: (0, 0),
    }
}

/// Entries by all that makes them alike.
#[derive(Default)]
struct Merged(BTreeMap<Entry, Entry>);

impl Merged {
    /// The part of an entry that is the same for all that are alike.
    fn key_of(entry: &Entry) -> Entry {
        Entry {
            count: 0,
            message: String::new(),
            inputs: Vec::new(),
            further_inputs: 0,
            at: (0, 0),
            ..entry.clone()
        }
    }

    /// Adds a group to those that are alike.
    fn count_group(&mut self, entry: Entry) {
        self.join(entry, |known, count| known.saturating_add(count));
    }

    /// Adds what another run has found: the same lines, seen through other inputs.
    fn merge_entry(&mut self, entry: Entry) {
        self.join(entry, u32::max);
    }

    fn join(&mut self, entry: Entry, counts: impl Fn(u32, u32) -> u32) {
        match self.0.get_mut(&Self::key_of(&entry)) {
            None => {
                self.0.insert(Self::key_of(&entry), entry);
            }
            Some(known) => {
                known.count = counts(known.count, entry.count);
                known.further_inputs = known.further_inputs.max(entry.further_inputs);
                known.inputs.extend(entry.inputs);
                // Of several messages, always the same one.
                if entry.message < known.message {
                    known.message = entry.message;
                }
            }
        }
    }

    fn into_entries(self) -> Vec<Entry> {
        let mut entries: Vec<Entry> = self.0.into_values().collect();
        for entry in &mut entries {
            entry.at = (0, 0);
            entry.inputs.sort();
            entry.inputs.dedup();
            let beyond = entry.inputs.len().saturating_sub(MAX_BASELINE_INPUTS);
            entry.further_inputs += beyond;
            entry.inputs.truncate(MAX_BASELINE_INPUTS);
        }
        entries.sort();
        entries
    }
}
