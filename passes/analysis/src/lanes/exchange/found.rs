//! Exchanges that are found.

use crate::lanes::launch::Launch;
use crate::lanes::value::Lanes;
use ptxcheck_ir::Site;
use ptxcheck_ir::{FunctionId, Space, SymbolId};

/// Unordered accesses of lanes of one warp to the same bytes, at least one of them a write.
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
    /// Example: a lane that writes, and a lane that accesses the written bytes.
    pub example: (u8, u8),
    /// Both accesses are volatile.
    pub is_volatile: bool,
    /// The accesses are in different rounds of a loop.
    pub is_between_rounds: bool,
    /// Threads of another warp access the same bytes with one of the two instructions.
    pub is_across_warps: bool,
    /// It holds for executions that reach the write, and not for all that reach the other access.
    pub is_at_write: bool,
}

/// Kind of the access that conflicts with a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairKind {
    /// A read after the write.
    ReadAfterWrite,
    /// A read before the write.
    WriteAfterRead,
    /// A write of a different value.
    TwoWrites,
}

/// Memory that threads share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Object {
    /// A variable in shared or global memory.
    Variable(SymbolId),
    /// The memory that the kernel parameter with this index points to.
    Parameter(u16),
    /// An address that is the same for all threads of a block. Different numbers may still mean the same address.
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

impl Pair {
    /// The access whose executions show that both are made, and the earlier one.
    #[must_use]
    pub const fn sites_later_first(&self) -> [&Site; 2] {
        if self.is_at_write {
            [&self.write, &self.other]
        } else {
            [&self.other, &self.write]
        }
    }
}

/// A write and another access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PossiblePair {
    /// The write.
    pub write: Site,
    /// The other access: a read, or a write of another value.
    pub other: Site,
    /// The order of the two accesses that is wrong: see [`PairKind`].
    pub kind: PairKind,
    /// Nothing is known that could keep the accesses apart. Otherwise their addresses differ by a number that is the same in
    /// all lanes, and only the value of that number decides whether they overlap.
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

/// Accesses of threads of different warps to the same bytes of shared memory that no barrier of the block orders.
#[derive(Clone, Debug)]
pub struct MissingBarrier {
    /// The kernel.
    pub function: FunctionId,
    /// The memory.
    pub object: Object,
    /// The pairs, in the order of the code; at least one.
    pub pairs: Vec<BlockPair>,
    /// The known or assumed launches of the kernel.
    pub launch: Launch,
}

/// A write and another access, by threads of different warps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockPair {
    /// The write.
    pub write: Site,
    /// The other access.
    pub other: Site,
    /// The kind of the other access.
    pub kind: PairKind,
    /// Example: the number in the block of a thread that writes, and of one that makes the other access.
    pub threads: (u32, u32),
    /// It needs a block of more threads than this, if the size of blocks is not stated.
    pub above: Option<u32>,
    /// The later access is in the next round of the loop.
    pub is_in_next_round: bool,
    /// The write is the later access.
    pub is_at_write: bool,
}
