//! Places of a kernel, with the calls that lead there.

use crate::call_graph::CallSite;
use ptxcheck_ir::{FunctionId, InstructionId};

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
