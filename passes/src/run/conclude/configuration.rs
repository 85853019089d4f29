//! Findings about the settings of a run themselves (PTX906, PTX908).

use crate::finding::{Certainty, Finding, Frame, Location};
use crate::patterns::Written;
use crate::rule::{CONTRADICTING_ASSUMPTION, Level, Rule, UNUSED_SETTING};
use crate::settings::Settings;

/// Makes the findings of one rule about settings.
pub(crate) struct ConfigurationFindings {
    rule: &'static Rule,
    level: Level,
    /// The number of inputs, which is the index of none.
    input: usize,
}

impl ConfigurationFindings {
    /// Those about what matches nothing (PTX906); `None` if the settings do not want them.
    pub(crate) fn new(settings: &Settings, inputs: usize) -> Option<Self> {
        Self::of(UNUSED_SETTING, settings, inputs)
    }

    /// Those about assumptions that contradict a kernel (PTX908); `None` if the settings do not want them.
    pub(super) fn of_contradictions(settings: &Settings, inputs: usize) -> Option<Self> {
        Self::of(CONTRADICTING_ASSUMPTION, settings, inputs)
    }

    fn of(code: &str, settings: &Settings, inputs: usize) -> Option<Self> {
        let rule = settings.registry.find(code)?;
        let level = settings.level_in(rule, Certainty::Definite, rule.definite, |_| false);
        (level > Level::Allow).then_some(Self {
            rule,
            level,
            input: inputs,
        })
    }

    fn new_finding(&self, message: String) -> Finding {
        let mut finding = Finding::of_input(self.rule, self.level, message);
        finding
            .help
            .push("remove it, or say what is there now".to_owned());
        finding.input = self.input;
        finding
    }

    /// About an option.
    pub(super) fn without_place(&self, message: String) -> Finding {
        self.new_finding(message)
    }

    pub(super) fn in_file(&self, message: String, file: &str, (line, column): Written) -> Finding {
        let mut finding = self.new_finding(message);
        finding.location = Some(Location {
            file: file.to_owned(),
            line,
            column,
            end_line: line,
            end_column: column,
        });
        finding
    }

    pub(super) fn in_source(&self, message: String, file: String, (line, column): Written) -> Finding {
        let mut finding = self.new_finding(message);
        let line = Frame {
            file,
            line,
            column,
            function: None,
        };
        finding.source = Some(line.into());
        finding
    }

    /// About an entry of a baseline.
    pub(crate) fn in_baseline(&self, message: String, file: &str, (line, column): Written) -> Finding {
        let mut finding = self.in_file(message, file, (line.max(1), column.max(1)));
        finding.help = vec!["remove it, or write the baseline anew (--write-baseline)".to_owned()];
        finding
    }
}
