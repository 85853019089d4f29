//! The certainty of a finding.

/// The certainty of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Certainty {
    /// Undefined behaviour or failure on every execution that reaches the place, under the stated assumptions.
    Definite,
    /// Undefined behaviour or failure on some execution, as far as the analysis can tell.
    Potential,
}

impl Certainty {
    /// The word in documents: `definite`, `potential`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Definite => "definite",
            Self::Potential => "potential",
        }
    }
}
