//! The certainty of a finding.

/// The certainty of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Certainty {
    /// Undefined behaviour or failure on every execution that reaches the place, under the stated assumptions.
    Definite,
    /// The same for a launch and values that the finding names: its witness.
    Conditional,
    /// Undefined behaviour or failure on some execution, as far as the analysis can tell.
    Potential,
}

impl Certainty {
    /// All of them, the most certain first.
    pub const ALL: [Self; 3] = [Self::Definite, Self::Conditional, Self::Potential];

    /// True if it certainly goes wrong: always, or for a witness.
    #[must_use]
    pub const fn is_certain(self) -> bool {
        !matches!(self, Self::Potential)
    }

    /// The word in documents: `definite`, `conditional`, `potential`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Definite => "definite",
            Self::Conditional => "conditional",
            Self::Potential => "potential",
        }
    }
}
