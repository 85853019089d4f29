//! The device IR: one model of compiled GPU code for every front end.
//!
//! ```text
//! PTX ───── ptxcheck-frontend-ptx ──┐
//!                                   ├─► Module ─► analyses, rules
//! LLVM IR ─ ptxcheck-frontend-llvm ─┘
//! ```
//!
//! A [`Module`] has symbols and functions, a [`Body`] has blocks, instructions and registers, all in flat vectors with typed
//! 32-bit indices. An [`Op`] names what analyses interpret (copies, integer arithmetic, comparisons, selects, special registers,
//! addresses and conversions between spaces, memory access, warp collectives, barriers, calls, branches). Everything else is one
//! [`Op::Opaque`] instruction that defines its results. Registers may be written more than once: PTX is not SSA, and the phis of
//! LLVM become copies on their edges.
//!
//! This crate knows no syntax: a module leads back to its text by its [`Origin`], which the front end implements. It knows no
//! analysis either, but for what front ends ask themselves ([`mod@cfg`], [`paths`], [`evaluate`], [`settle()`]). [`facts`] and [`places`] are what
//! modules and images have in common: what they declare, and where. Spans ([`Span`]), positions and syntax errors are the
//! parser's, since a tree and the module that it becomes speak of the same text.
//!
//! A front end adds instructions to a body; readers walk blocks and operands:
//!
//! ```
//! use ptxcheck_ir::{BinaryOp, Block, Body, Op, Slots, SourcePlace, Span, Value};
//!
//! let mut body = Body::default();
//! let sum = body.registers.add(32, Span::default());
//! body.values.extend([Value::Register(sum), Value::Integer(40), Value::Integer(2)]);
//! body.add(Op::Binary(BinaryOp::Add, 32), None, (0, 1), SourcePlace::NONE);
//! body.blocks.push(Block {
//!     instructions: Slots::new(0, 1),
//!     successors: Slots::new(0, 0),
//!     span: Span::default(),
//! });
//!
//! let instruction = &body.instructions[0];
//! assert_eq!(body.uses(instruction), [Value::Integer(40), Value::Integer(2)]);
//! assert!(body.defined(instruction).eq([sum]));
//! ```

#![warn(unreachable_pub, unnameable_types)]

mod asynchronous;
pub mod cfg;
pub mod evaluate;
pub mod facts;
mod fitting;
mod function;
mod index;
pub mod index_limits;
mod instruction;
pub mod limits;
pub mod linked;
mod listed;
mod matrix;
mod module;
mod op;
pub mod ops;
pub mod params;
pub mod paths;
pub mod places;
mod settle;
mod site;
mod symbol;
mod verify;

pub use asynchronous::{
    AsyncAddresses, AsyncCopy, AsyncGroup, AsyncKinds, AsyncOp, AsyncValues, Asynchronous, Completion,
    CopyKind, CopyWay, FenceDirection, MatrixAsync, MbarrierOp, ProxyFence, Scope, TensorAccess,
    TensorMemory,
};
pub use fitting::fitting;
pub use function::{
    Argument, Block, Body, Call, Callee, Function, FunctionKind, LaunchBounds, ParamPiece, Parameter,
    Reference, Registers, Unresolved, parameter_number,
};
pub use index::{BlockId, CallId, DebugId, FunctionId, InstructionId, Register, Slots, SymbolId};
pub use instruction::{Guard, Instruction, SourcePlace, Value, registers};
pub use matrix::{Matrix, RowAddress, Rows};
pub use module::{Ends, Extent, IsaVersion, Module, Origin, Producer, TableWord, Target, VirtualTable};
pub use ptxcheck_ptx_parser::{LineIndex, Position, Span, SyntaxError};
pub use settle::{never_holds, settle};
pub use site::{CallSite, Site};
pub use symbol::{HostConstant, Linkage, Symbol, SymbolKind};

pub use op::{
    Access, AccessKind, Barrier, BinaryOp, Class, Collective, Condition, Logic, Match, MemberMask, Op, Rare,
    RegisterChange, Semantics, Shuffle, Space, Special, UnaryOp, Update, Vote, WARP,
};
pub use verify::{Unsound, verify};
