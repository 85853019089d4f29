//! The file of a baseline: read with limits, written with a line for each entry.

use serde::Deserialize;
use serde_json::value::RawValue;
use thiserror::Error;

use super::entry::{Baseline, Entry};
use crate::limits::{
    MAX_BASELINE_BYTES, MAX_BASELINE_ENTRIES, MAX_BASELINE_INPUTS, MAX_BASELINE_NAMES, MAX_BASELINE_TEXT,
};
use crate::patterns::Written;

/// Raised when a key changes its meaning or goes away.
const VERSION: u32 = 1;

/// An error in the file of a baseline.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{name}:{line}:{column}: {message}")]
#[non_exhaustive]
pub struct BaselineError {
    /// The name of the file.
    pub name: String,
    /// 1-based line.
    pub line: usize,
    /// 1-based column.
    pub column: usize,
    /// The error, as a sentence.
    pub message: String,
}

#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow)]
    findings: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Head {
    version: u32,
}

impl Baseline {
    /// Reads a baseline from the text of the file `name`.
    ///
    /// # Errors
    ///
    /// [`BaselineError`] if the text is not a baseline, has another version, or is beyond a limit.
    pub fn parse(name: &str, text: &str) -> Result<Self, BaselineError> {
        let error = |(line, column): (usize, usize), message: String| BaselineError {
            name: name.to_owned(),
            line: line.max(1),
            column: column.max(1),
            message,
        };
        if text.len() > MAX_BASELINE_BYTES {
            let message = format!(
                "a baseline has at most {MAX_BASELINE_BYTES} bytes, and this one {}",
                text.len()
            );
            return Err(error((1, 1), message));
        }
        // A byte order mark, as editors write it.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let of_json = |from: (usize, usize), problem: &serde_json::Error| {
            // Lines and columns count from where the reader began.
            let place = match problem.line() {
                0 => from,
                1 => (from.0, from.1 + problem.column().saturating_sub(1)),
                line => (from.0 + line - 1, problem.column()),
            };
            error(place, without_place(&problem.to_string()))
        };
        let head: Head = serde_json::from_str(text).map_err(|problem| of_json((1, 1), &problem))?;
        if head.version != VERSION {
            let message = format!(
                "this baseline has version {}, and this ptxcheck reads version {VERSION}: write it anew",
                head.version
            );
            return Err(error((1, 1), message));
        }
        let file: File<'_> = serde_json::from_str(text).map_err(|problem| of_json((1, 1), &problem))?;
        if file.findings.len() > MAX_BASELINE_ENTRIES {
            let message = format!(
                "a baseline has at most {MAX_BASELINE_ENTRIES} findings, and this one {}",
                file.findings.len()
            );
            return Err(error((1, 1), message));
        }
        let mut places = Places::of(text);
        let mut entries = Vec::with_capacity(file.findings.len());
        for value in file.findings {
            let at = places.of_part(value.get());
            let mut entry: Entry =
                serde_json::from_str(value.get()).map_err(|problem| of_json(at, &problem))?;
            check(&entry).map_err(|message| error(at, message))?;
            let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
            entry.at = (number(at.0), number(at.1));
            entry.functions.sort();
            entry.inputs.sort();
            entries.push(entry);
        }
        entries.sort();
        Ok(Self {
            name: name.to_owned(),
            entries,
        })
    }

    /// The text of the file: JSON, a line for each entry.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("{{\n\"version\": {VERSION},\n\"findings\": [");
        for (index, entry) in self.entries.iter().enumerate() {
            text.push_str(if index == 0 { "\n" } else { ",\n" });
            // An entry holds nothing that JSON can't say.
            text.push_str(&serde_json::to_string(entry).unwrap_or_default());
        }
        text.push_str("\n]\n}\n");
        text
    }
}

/// A message of serde's without the place at its end, which is that in a part of the text.
fn without_place(message: &str) -> String {
    let end = message.rfind(" at line ").unwrap_or(message.len());
    message[..end].to_owned()
}

/// Refuses a file beyond a limit.
fn check(entry: &Entry) -> Result<(), String> {
    let texts = [
        &entry.code,
        &entry.certainty,
        &entry.kind,
        &entry.operation,
        &entry.command,
        &entry.message,
    ];
    let all = texts
        .into_iter()
        .chain(&entry.file)
        .chain(&entry.line)
        .chain(&entry.functions)
        .chain(&entry.inputs);
    for text in all {
        if text.len() > MAX_BASELINE_TEXT {
            return Err(format!(
                "a text in a baseline has at most {MAX_BASELINE_TEXT} bytes"
            ));
        }
    }
    if entry.functions.len() > MAX_BASELINE_NAMES {
        return Err(format!(
            "a finding in a baseline has at most {MAX_BASELINE_NAMES} functions"
        ));
    }
    if entry.inputs.len() > MAX_BASELINE_INPUTS {
        return Err(format!(
            "a finding in a baseline has at most {MAX_BASELINE_INPUTS} inputs"
        ));
    }
    if entry.count == 0 {
        return Err("the count of a finding is at least 1".to_owned());
    }
    Ok(())
}

/// Lines and columns of parts of a text, which are asked for in their order.
struct Places<'t> {
    text: &'t str,
    /// The offset that was asked for last, and its line, and the offset of that line's start.
    offset: usize,
    line: usize,
    start: usize,
}

impl<'t> Places<'t> {
    const fn of(text: &'t str) -> Self {
        Self {
            text,
            offset: 0,
            line: 1,
            start: 0,
        }
    }

    /// 1-based line and column of a part of the text, in bytes.
    fn of_part(&mut self, part: &str) -> (usize, usize) {
        let offset = (part.as_ptr() as usize)
            .checked_sub(self.text.as_ptr() as usize)
            .filter(|offset| (self.offset..=self.text.len()).contains(offset))
            .unwrap_or(self.offset);
        let between = &self.text.as_bytes()[self.offset..offset];
        self.line += memchr::memchr_iter(b'\n', between).count();
        if let Some(last) = memchr::memrchr(b'\n', between) {
            self.start = self.offset + last + 1;
        }
        self.offset = offset;
        (self.line, offset - self.start + 1)
    }
}

/// Zeros are not a place: what was never read has none.
pub(super) const fn line_for_message(at: Written) -> u32 {
    if at.0 == 0 { 1 } else { at.0 }
}
