//! The document that `ptxcheck check --format json` prints, as far as diagnostics need it. Its schema is
//! `passes/report/schema/check-v2.schema.json`.

use serde::Deserialize;

/// The version of the schema.
pub(crate) const VERSION: u64 = 2;

#[derive(Debug, Deserialize)]
pub(crate) struct Document {
    pub(crate) schema_version: u64,
    pub(crate) inputs: Vec<Input>,
    pub(crate) findings: Vec<Finding>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Input {
    pub(crate) errors: Vec<Problem>,
}

/// Why an input, or a part of it, was not checked.
#[derive(Debug, Deserialize)]
pub(crate) struct Problem {
    pub(crate) code: String,
    pub(crate) message: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Finding {
    pub(crate) code: String,
    pub(crate) name: String,
    pub(crate) level: String,
    pub(crate) message: String,
    pub(crate) message_here: Option<String>,
    pub(crate) notes: Vec<String>,
    pub(crate) help: Vec<String>,
    pub(crate) function: Option<String>,
    pub(crate) kernel: Option<String>,
    pub(crate) source: Option<Source>,
    pub(crate) related: Vec<Related>,
    /// Suppressed by a comment, the configuration or a baseline.
    pub(crate) suppressed: Option<serde::de::IgnoredAny>,
    pub(crate) places: Vec<Place>,
    pub(crate) places_left_out: usize,
}

/// A place in the program's source, and the calls that lead to it, from the inside out.
#[derive(Debug, Deserialize)]
pub(crate) struct Source {
    #[serde(flatten)]
    pub(crate) at: Frame,
    pub(crate) inlined_at: Vec<Frame>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Frame {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) column: Option<u32>,
}

/// A place beside a finding.
#[derive(Debug, Deserialize)]
pub(crate) struct Related {
    pub(crate) message: String,
    pub(crate) source: Option<Source>,
}

/// A further place of a finding.
#[derive(Debug, Deserialize)]
pub(crate) struct Place {
    pub(crate) kernel: Option<String>,
    pub(crate) source: Option<Source>,
}
