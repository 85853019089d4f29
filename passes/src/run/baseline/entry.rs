//! The data of a baseline.

use serde::{Deserialize, Serialize};

use crate::patterns::Written;

/// Known findings.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    /// The name of its file, for places in it.
    pub(super) name: String,
    /// In the order of [`Entry`], without its place.
    pub(super) entries: Vec<Entry>,
}

/// Groups of findings that are known: all that are alike in everything but their inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Entry {
    /// The name of the source file, without folders.
    pub file: Option<String>,
    /// The text of the line; `None` if the source was not available.
    pub line: Option<String>,
    /// The rule's code.
    pub code: String,
    /// `definite` or `potential`.
    pub certainty: String,
    /// The kind of message; empty where the rule has one.
    pub kind: String,
    /// The functions, without template arguments and parameters, sorted.
    pub functions: Vec<String>,
    /// The operation or the symbol.
    pub operation: String,
    /// `check` or `audit`.
    pub command: String,
    /// Number of groups.
    pub count: u32,
    /// The message of one of them, for readers.
    pub message: String,
    /// The inputs that they were found in, relative to the folder of the configuration, sorted.
    pub inputs: Vec<String>,
    /// Number of inputs that are not listed. An entry with such inputs is never reported as gone.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub further_inputs: usize,
    /// Line and column in the file of the baseline, both 1-based; (0, 0) if it was not read.
    #[serde(skip)]
    pub at: Written,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Baseline {
    /// The entries, sorted.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// With the name of its file, which messages say.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..self
        }
    }
}
