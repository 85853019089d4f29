//! The device IR: one model of device code for every front end.
//!
//! It names what analyses interpret (copies, integer arithmetic, comparisons, selects, special registers, addresses
//! and conversions between spaces, memory access, warp collectives, barriers, calls, branches). Everything else is
//! one [`Op::Opaque`] instruction that defines its results. Registers may be written more than once: PTX is not SSA,
//! and the phis of LLVM become copies on their edges.

mod fitting;
mod function;
mod index;
mod instruction;
mod module;
mod op;
mod settle;
mod verify;

pub(crate) use fitting::fitting;
pub use function::{
    Argument, Block, Body, Call, Callee, Function, FunctionKind, LaunchBounds, Parameter, Reference,
    RegisterInfo, Unresolved,
};
pub use index::{BlockId, CallId, DebugId, FunctionId, InstructionId, Register, Slots, SymbolId};
pub use instruction::{Guard, Instruction, Value, registers};
pub use module::{
    HostConstant, IsaVersion, Linkage, Module, Origin, Producer, Symbol, SymbolKind, TableWord, Target,
    VirtualTable,
};
pub(crate) use settle::{never_holds, settle};

pub use op::{
    Access, AccessKind, Barrier, BinaryOp, Collective, Condition, Logic, Match, Op, Rare, Shuffle, Space,
    Special, UnaryOp, Vote,
};
pub use verify::verify;
