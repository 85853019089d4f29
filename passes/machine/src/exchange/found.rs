//! The exchanges that an observer has found.

use rustc_hash::FxHashMap;

use crate::limits::MAX_EXCHANGES;
use crate::site::Point;
use ptxcheck_ir::Site;

/// The kind of an exchange: what the run did first, and what then. In another order of the same run, it is the other way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExchangeKind {
    /// A lane reads what another has written.
    ReadAfterWrite,
    /// A lane writes where another has read.
    WriteAfterRead,
    /// Two lanes write different values.
    TwoWrites,
    /// A thread reads what another has written, and writes something else with the instruction of that thread: the second access is its
    /// read. In another order, the thread does not see what the other one has written, and one of the two updates is lost.
    Updated,
    /// A thread reads, another one writes, and then the first one writes something else with the same instruction: the second access is the
    /// read, which the run made first. What the other thread has written is lost.
    Overwritten,
}

/// Accesses of threads to the same bytes of shared or global memory that nothing orders: of lanes of one warp, or of threads of two warps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The kind.
    pub kind: ExchangeKind,
    /// The access that the run made first.
    pub first: Site,
    /// The other one.
    pub second: Site,
    /// The warp of the first access, by its number in the block.
    pub warp: u32,
    /// The warp of the second one.
    pub second_warp: u32,
    /// The blocks of both, by their numbers among those that run.
    pub blocks: (u32, u32),
    /// The lanes that made the first access of such a pair, a bit for each.
    pub first_lanes: u32,
    /// The lanes that made the second.
    pub second_lanes: u32,
    /// A lane that made the first, and one that made the second to the same byte.
    pub example: (u8, u8),
    /// The address of the first of the bytes that both access, in its space.
    pub address: u64,
    /// Both are volatile.
    pub is_volatile: bool,
    /// Of threads of different warps, where the second access writes: the warp has written there before an earlier barrier, too.
    pub is_in_next_round: bool,
    /// Of threads of different warps: examples with different readers, at most [`crate::limits::MAX_EXAMPLES`]; of two writes, one.
    pub examples: Vec<Example>,
}

/// Two threads of different warps that make a pair of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Example {
    /// The thread that made the first access in the run, and the one that made the second, by their numbers in the block.
    pub threads: (u32, u32),
    /// Their blocks, by their numbers among those that run.
    pub blocks: (u32, u32),
    /// The number of the access that reads, see [`crate::Accessed::number`]; `None` for two writes.
    pub read: Option<u64>,
    /// The bits of an element that the access that writes may have changed.
    pub changes: u64,
}

impl Exchange {
    /// True for threads of different warps.
    #[must_use]
    pub const fn is_across_warps(&self) -> bool {
        self.warp != self.second_warp || self.blocks.0 != self.blocks.1
    }
}

/// The property that makes exchanges one: the points of both accesses, the kind, and the warp, or none for different ones.
pub(super) type Key = (Point, Point, ExchangeKind, Option<u32>);

/// The exchanges of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) all: Vec<Exchange>,
    numbers: FxHashMap<Key, usize>,
}

impl Found {
    /// The known exchange, or a new one; `None` if there are too many.
    pub(super) fn entry(&mut self, key: Key, new: impl FnOnce() -> Exchange) -> Option<&mut Exchange> {
        let number = match self.numbers.get(&key) {
            Some(&known) => known,
            None if self.all.len() >= MAX_EXCHANGES => return None,
            None => {
                self.all.push(new());
                self.numbers.insert(key, self.all.len() - 1);
                self.all.len() - 1
            }
        };
        self.all.get_mut(number)
    }
}
