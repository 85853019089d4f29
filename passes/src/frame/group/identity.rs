//! The names by which a group is known again in a later run, after edits, for other architectures, with other options.

use std::path::Path;

use super::cause::{self, CauseKeys};
use crate::finding::{Finding, Value};
use crate::fingerprint;
use crate::inventory::InputReport;
use crate::limits::{MAX_IDENTITY_LINE, MAX_IDENTITY_NAMES};

/// The identity of a group, in two forms: by the text of its source line, and by function and operation. A run without debug
/// information, or without the sources, knows the second alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Identity {
    /// The kind of message, where the rule has several; else empty.
    pub kind: String,
    /// The name of the source file, without folders.
    pub file: Option<String>,
    /// The text of the line, each run of white space as one blank, cut at 240 bytes; `None` if the source is not available.
    pub line: Option<String>,
    /// The functions that its findings lie in, without template arguments and parameters: sorted, at most 16.
    pub functions: Vec<String>,
    /// The failing operation, or the symbol that the finding is about.
    pub operation: String,
}

impl Identity {
    /// The identity of a group with these findings.
    pub(super) fn of<'f>(
        findings: impl Iterator<Item = &'f Finding> + Clone,
        inputs: &[InputReport],
        keys: &mut CauseKeys<'f, '_>,
    ) -> Self {
        let Some(first) = findings.clone().next() else {
            return Self::default();
        };
        let mut identity = Self {
            kind: first.cause.kind.clone().into_owned(),
            operation: findings
                .clone()
                .map(operation_of_finding)
                .min()
                .unwrap_or_default()
                .to_owned(),
            ..Self::default()
        };
        if let Some(at) = cause::line_to_fix(first) {
            let name = Path::new(&at.file).file_name();
            identity.file = name.map(|name| name.to_string_lossy().into_owned());
            let input = inputs.get(first.input).map_or("", |input| &input.name);
            identity.line = keys.sources.line(&at.file, input, at.line).map(normalized_line);
        }
        for finding in findings {
            let of_line = cause::line_to_fix(finding).and_then(|at| at.function.as_deref());
            for function in [of_line, finding.function.as_deref()].into_iter().flatten() {
                identity.add_function(keys.base_name(function));
            }
        }
        identity
    }

    /// Adds a function, as long as it is one of the first in their order.
    fn add_function(&mut self, name: &str) {
        let Err(at) = self.functions.binary_search_by(|known| known.as_str().cmp(name)) else {
            return;
        };
        if at < MAX_IDENTITY_NAMES {
            self.functions.insert(at, name.to_owned());
            self.functions.truncate(MAX_IDENTITY_NAMES);
        }
    }

    /// The fingerprint of a group whose first finding is `first`: from its code, certainty, kind and line, or from its function and
    /// operation if the line is not available.
    pub(super) fn fingerprint(&self, first: &Finding) -> String {
        let what = [first.rule.code, first.certainty.as_str(), &self.kind];
        match (&self.file, &self.line) {
            (Some(file), Some(line)) => fingerprint::of_texts(what.into_iter().chain([file.as_str(), line])),
            _ if self.functions.is_empty() && self.operation.is_empty() => first.fingerprint.clone(),
            _ => {
                let function = self.functions.first().map_or("", String::as_str);
                fingerprint::of_texts(what.into_iter().chain([function, &self.operation]))
            }
        }
    }
}

/// The operation of a finding: the function of CUDA that it stands for, the symbol that it is about, or the name of the instruction.
fn operation_of_finding(finding: &Finding) -> &str {
    let text = |key| match finding.data.get(key) {
        Some(Value::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    text("operation")
        .or_else(|| text("symbol"))
        .or(finding.cause.operation.as_deref())
        .unwrap_or_default()
}

/// A line with each run of white space as one blank, cut at a length that distinguishes lines.
fn normalized_line(line: &str) -> String {
    let mut text = String::with_capacity(line.len().min(MAX_IDENTITY_LINE));
    for word in line.split_whitespace() {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word);
        if text.len() > MAX_IDENTITY_LINE {
            text.truncate(text.floor_char_boundary(MAX_IDENTITY_LINE));
            break;
        }
    }
    text
}
