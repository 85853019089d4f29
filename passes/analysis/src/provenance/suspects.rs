//! The instructions of a function that have to be analysed, since they may use an address wrongly.

use ptxcheck_ir::InstructionId;

/// The instructions of a function that have to be analysed.
#[derive(Debug, Default)]
pub(super) enum Suspects {
    /// No instruction has to be analysed.
    #[default]
    None,
    /// Some of its instructions.
    At(SuspectInstructions),
    /// All that use addresses: a caller of the function has suspects.
    All,
}

/// Instructions that have to be analysed.
#[derive(Debug, Default)]
pub(super) struct SuspectInstructions {
    /// The instructions, in the order of the input.
    pub(super) instructions: Vec<InstructionId>,
    /// Some for null addresses.
    pub(super) has_nulls: bool,
}

impl Suspects {
    /// True if an instruction has to be analysed.
    pub(super) fn is_suspect(&self, at: InstructionId) -> bool {
        match self {
            Self::None => false,
            Self::At(suspects) => suspects.instructions.binary_search(&at).is_ok(),
            Self::All => true,
        }
    }

    /// True if some instruction has to be analysed for null addresses.
    pub(super) fn has_null_suspects(&self) -> bool {
        match self {
            Self::None => false,
            Self::At(suspects) => suspects.has_nulls,
            Self::All => true,
        }
    }
}
