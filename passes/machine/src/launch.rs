//! The launch of a kernel: the shape of its blocks, and the block that runs.

use crate::limits::MAX_THREADS;

/// Lanes of a warp.
pub const WARP: usize = ptxcheck_ir::WARP as usize;

/// The warps of the block that run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warps {
    /// All of them.
    All,
    /// This one alone, by its number. The others count as ended, so that nobody waits for them.
    One(u32),
}

/// A launch, and the block of it that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Blocks of the grid in x, y and z.
    pub grid: [u32; 3],
    /// The block that runs, by its place in the grid.
    pub ctaid: [u32; 3],
    /// Its rank in its cluster.
    pub cluster_rank: u32,
    /// The warps of it that run.
    pub warps: Warps,
}

impl Launch {
    /// The first of one block, with all of its warps.
    #[must_use]
    pub const fn of_block(block: [u32; 3]) -> Self {
        Self {
            block,
            grid: [1; 3],
            ctaid: [0; 3],
            cluster_rank: 0,
            warps: Warps::All,
        }
    }

    /// Threads of the block. `None` where no block can be launched so: it has no thread or too many, or the warp or the block does
    /// not exist.
    #[must_use]
    pub fn threads(&self) -> Option<usize> {
        let threads = self.block.iter().map(|&side| u64::from(side));
        let threads = threads.fold(1_u64, u64::saturating_mul);
        let is_inside = self.ctaid.iter().zip(&self.grid).all(|(at, side)| at < side);
        let has_warp = match self.warps {
            Warps::All => true,
            Warps::One(warp) => u64::from(warp) * (WARP as u64) < threads,
        };
        ((1..=MAX_THREADS).contains(&threads) && is_inside && has_warp).then_some(threads as usize)
    }

    /// The place of a thread in its block, by its number.
    pub(crate) fn tid(&self, thread: usize) -> [u64; 3] {
        let [x, y, _] = self.block.map(|side| u64::from(side.max(1)));
        let thread = thread as u64;
        [thread % x, thread / x % y, thread / x / y]
    }
}

/// The threads of the warp of a thread.
pub(crate) const fn warp_of(thread: usize) -> std::ops::Range<usize> {
    let first = thread / WARP * WARP;
    first..first + WARP
}

/// The lane of a thread, as a set of one.
pub(crate) const fn lane_bit(thread: usize) -> u32 {
    1 << (thread % WARP)
}
