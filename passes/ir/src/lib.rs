//! The device IR: one model of device code for every front end.
//!
//! It names what analyses interpret (copies, integer arithmetic, comparisons, selects, special registers, addresses
//! and conversions between spaces, memory access, warp collectives, barriers, calls, branches). Everything else is
//! one [`Op::Opaque`] instruction that defines its results. Registers may be written more than once: PTX is not SSA,
//! and the phis of LLVM become copies on their edges.

pub mod cfg;
pub mod evaluate;
pub mod facts;
mod fitting;
mod function;
mod index;
mod instruction;
pub mod limits;
mod module;
mod op;
pub mod params;
pub mod places;
mod settle;
mod symbol;
mod verify;

pub use fitting::fitting;
pub use function::{
    Argument, Block, Body, Call, Callee, Function, FunctionKind, LaunchBounds, Parameter, Reference,
    RegisterInfo, Unresolved,
};
pub use index::{BlockId, CallId, DebugId, FunctionId, InstructionId, Register, Slots, SymbolId};
pub use instruction::{Guard, Instruction, Value, registers};
pub use module::{IsaVersion, Module, Origin, Producer, TableWord, Target, VirtualTable};
pub use ptxcheck_ptx_parser::{LineIndex, Position, Span, SyntaxError};
pub use settle::{never_holds, settle};
pub use symbol::{HostConstant, Linkage, Symbol, SymbolKind};

pub use op::{
    Access, AccessKind, Barrier, BinaryOp, Collective, Condition, Logic, Match, Op, Rare, Shuffle, Space,
    Special, UnaryOp, Vote,
};
pub use verify::verify;
