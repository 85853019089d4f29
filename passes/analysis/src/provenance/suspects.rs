//! What has to be looked at of a function, since it may use an address for what it is not.

use ptxcheck_ir::InstructionId;

/// What has to be looked at of a function.
#[derive(Debug, Default)]
pub(super) enum Suspects {
    /// Nothing.
    #[default]
    None,
    /// Some of its instructions.
    At(Marked),
    /// All that uses addresses: a function is looked at that calls it.
    All,
}

/// Instructions that have to be looked at.
#[derive(Debug, Default)]
pub(super) struct Marked {
    /// In the order of the input.
    pub(super) instructions: Vec<InstructionId>,
    /// Some for null addresses.
    pub(super) has_nulls: bool,
}

impl Suspects {
    /// Whether an instruction has to be looked at.
    pub(super) fn has(&self, at: InstructionId) -> bool {
        match self {
            Self::None => false,
            Self::At(marked) => marked.instructions.binary_search(&at).is_ok(),
            Self::All => true,
        }
    }

    /// Whether something has to be looked at for null addresses.
    pub(super) fn has_nulls(&self) -> bool {
        match self {
            Self::None => false,
            Self::At(marked) => marked.has_nulls,
            Self::All => true,
        }
    }
}
