//! Exchanges that are found.

use crate::lanes::launch::Launch;
use crate::lanes::site::Site;
use crate::lanes::value::Lanes;
use ptxcheck_ir::{FunctionId, Space, SymbolId};

/// Accesses of lanes of one warp to the same bytes, one of them a write, in no order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// A write.
    pub write: Site,
    /// The other access.
    pub other: Site,
    /// The kind of the other access.
    pub kind: PairKind,
    /// The lanes that write.
    pub writers: Lanes,
    /// The lanes that make the other access.
    pub others: Lanes,
    /// A lane that writes, and one that accesses what it writes.
    pub example: (u8, u8),
    /// Both are volatile.
    pub is_volatile: bool,
    /// The accesses are in different rounds of a loop.
    pub is_between_rounds: bool,
    /// Threads of another warp access the same bytes with one of the two instructions.
    pub is_across_warps: bool,
}

/// Kind of the access that a write comes in the way of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairKind {
    /// A read behind the write.
    ReadAfterWrite,
    /// A read before it.
    WriteAfterRead,
    /// A write of another value.
    TwoWrites,
}

/// Memory that threads share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Object {
    /// A variable in shared or global memory.
    Variable(SymbolId),
    /// The memory that the parameter of the kernel with this number points to.
    Parameter(u16),
    /// A place that is the same for all threads of a block; places with different numbers may be the same.
    Part(u32),
}

/// The pairs of one kernel in one object.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The kernel.
    pub function: FunctionId,
    /// The memory.
    pub object: Object,
    /// The space that the first write names.
    pub space: Space,
    /// The pairs, in the order of the code; at least one.
    pub pairs: Vec<Pair>,
    /// The known or assumed launches of the kernel.
    pub launch: Launch,
}

/// A write and another access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PossiblePair {
    /// The write.
    pub write: Site,
    /// The other access: a read, or a write of another value.
    pub other: Site,
    /// Its kind.
    pub kind: PairKind,
    /// Nothing is known that may keep the accesses apart; else their places differ by a number that is the same in all lanes, and only
    /// a value of it tells.
    pub is_likely: bool,
}

/// The possible pairs of one kernel in one variable.
#[derive(Clone, Debug)]
pub struct PossibleExchange {
    /// The kernel.
    pub function: FunctionId,
    /// The variable.
    pub object: Object,
    /// The pairs, in the order of the code; at least one.
    pub pairs: Vec<PossiblePair>,
    /// The known or assumed launches of the kernel.
    pub launch: Launch,
}
