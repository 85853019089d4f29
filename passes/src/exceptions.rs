//! What a team says of findings, besides their levels: which do not count and why, which are not theirs, and which of the lines
//! that lead to a finding is shown.

use crate::patterns::{Pattern, Written};
use crate::scope::Scope;

/// Findings that do not count, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allow {
    /// The codes of the rules that it is for.
    pub codes: Vec<&'static str>,
    /// Where it holds.
    pub scope: Scope,
    /// What the line has the form of that the finding points to.
    pub line: Option<Pattern>,
    /// Why it is all right.
    pub reason: String,
    /// The day after which it no longer counts, if that is over.
    pub expired: Option<String>,
    /// Where it is written.
    pub written: Written,
}

/// What is left out, without a word for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exclude {
    /// Inputs and sources.
    pub paths: Vec<Pattern>,
    /// Kernels; functions where no kernel is known.
    pub kernels: Vec<Pattern>,
    /// Findings with no line outside system headers.
    pub system_headers: bool,
}

/// Which line a finding that was inlined from a system header points to.
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
    /// Where findings are reported that come from them.
    pub report_at: ReportAt,
    /// Which they are, besides the toolkit's.
    pub system: Vec<Pattern>,
}
