//! Places in a module: the subjects of findings.

use crate::call_graph::CallSite;
use ptxcheck_ir::{DebugId, FunctionId, InstructionId, Span, SymbolId};

/// The subject of a finding, or of a part of its explanation.
#[derive(Clone, Debug)]
pub enum Place {
    /// The module as a whole.
    Module,
    /// A symbol's declaration.
    Symbol(SymbolId),
    /// A function's header.
    Function(FunctionId),
    /// A stretch of text in a function, with its debug location.
    Text(FunctionId, Span, DebugId),
    /// An instruction, with the calls that lead to it, innermost first.
    Instruction(FunctionId, InstructionId, Vec<CallSite>),
}

impl Place {
    /// An instruction, in any context.
    #[must_use]
    pub const fn of_instruction(function: FunctionId, instruction: InstructionId) -> Self {
        Self::Instruction(function, instruction, Vec::new())
    }

    /// A call.
    #[must_use]
    pub const fn of_call(site: CallSite) -> Self {
        Self::of_instruction(site.caller, site.instruction)
    }
}
