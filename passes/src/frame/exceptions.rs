//! Decisions of a team about findings, besides their levels: exceptions with reasons, exclusions, and the line that a finding in a
//! system header is shown at.

use crate::patterns::{Pattern, Written};
use crate::scope::Scope;

/// Findings that do not count, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allow {
    /// The codes of the rules that it is for.
    pub codes: Vec<&'static str>,
    /// The places that it is for.
    pub scope: Scope,
    /// Pattern of the line that the finding points to.
    pub line: Option<Pattern>,
    /// Why it is all right.
    pub reason: String,
    /// The day after which it no longer counts, if that is over.
    pub expired: Option<String>,
    /// Its place in the configuration.
    pub written: Written,
}

/// Inputs and findings that are left out without being counted one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exclude {
    /// Inputs and sources.
    pub paths: Vec<Pattern>,
    /// Kernels; functions where no kernel is known.
    pub kernels: Vec<Pattern>,
    /// Findings with no line outside system headers.
    pub system_headers: bool,
}

/// The line that a finding points to if its code was inlined from a system header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportAt {
    /// The call: the innermost line outside such headers.
    #[default]
    Call,
    /// The innermost line, in the header.
    Header,
    /// The call, with the line in the header beside it.
    Both,
}

impl ReportAt {
    /// The word in configurations: `call`, `header`, `both`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Header => "header",
            Self::Both => "both",
        }
    }
}

/// Headers that are not the user's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    /// The line that findings in them are reported at.
    pub report_at: ReportAt,
    /// Patterns of their paths, besides those of the toolkit.
    pub system: Vec<Pattern>,
}
