//! Sites: instructions that threads execute, each with the calls that lead to it.

use crate::{FunctionId, InstructionId};

/// A direct call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallSite {
    /// The calling function.
    pub caller: FunctionId,
    /// The call instruction.
    pub instruction: InstructionId,
    /// The called function.
    pub callee: FunctionId,
}

/// An instruction with the calls that lead to it, innermost first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Site {
    /// The function.
    pub function: FunctionId,
    /// The instruction.
    pub instruction: InstructionId,
    /// The calls.
    pub callers: Vec<CallSite>,
}

impl Site {
    /// An instruction of a kernel itself.
    #[must_use]
    pub const fn of_kernel(function: FunctionId, instruction: InstructionId) -> Self {
        Self {
            function,
            instruction,
            callers: Vec::new(),
        }
    }

    /// The instruction of the kernel by which threads get there.
    #[must_use]
    pub fn in_kernel(&self) -> InstructionId {
        self.callers
            .last()
            .map_or(self.instruction, |call| call.instruction)
    }
}
