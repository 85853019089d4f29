//! Names for the places that instructions and mbarriers are at.

use ptxcheck_ir::{FunctionId, InstructionId, SymbolId};

/// An instruction of a function.
pub(super) type Site = (FunctionId, InstructionId);

/// A variable and an offset in it: the place of an mbarrier.
pub(super) type BarrierPlace = (SymbolId, i64);
