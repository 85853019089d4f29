//! Blocks that a thread certainly reaches, and those that it may reach, where the thread number decides its branches.
//!
//! ```text
//! comes(l, b)  b is the entry; or comes(l, d) holds of its immediate dominator d, and b post-dominates d, or the branch at the
//!              end of d is decided in lane l and b is, or post-dominates, the block that it leads to
//! ```

use ptxcheck_ir::paths::{reached, taken};
use ptxcheck_ir::{BlockId, Body, InstructionId, Op, Value};

use crate::function::Analyses;
use crate::threads::Threads;

/// The paths of a kernel whose calls return and whose ends have no guard.
#[derive(Clone, Copy)]
pub(crate) struct CertainPaths<'a, 'm> {
    pub(crate) body: &'a Body<'m>,
    pub(crate) analyses: &'a Analyses<'m>,
}

impl CertainPaths<'_, '_> {
    /// True if a lane that executes the kernel certainly reaches a block.
    pub(crate) fn surely_reaches(&self, threads: &Threads<'_, '_>, lane: u32, mut block: BlockId) -> bool {
        let (dominators, post) = (self.analyses.dominators(), self.analyses.post_dominators());
        while block.index() != 0 {
            let Some(above) = dominators.immediate_dominator(block) else {
                return false;
            };
            if !post.dominates(block, above) {
                let chosen = self.successor_taken(threads, lane, above);
                if !chosen.is_some_and(|chosen| chosen == block || post.dominates(block, chosen)) {
                    return false;
                }
            }
            block = above;
        }
        true
    }

    /// True if a lane that executes the kernel certainly executes an instruction.
    pub(crate) fn surely_executes(&self, threads: &Threads<'_, '_>, lane: u32, at: InstructionId) -> bool {
        self.guard_holds(threads, lane, at) == Some(true)
            && self.surely_reaches(threads, lane, self.body.block_of(at))
    }

    /// For each block: true if a lane may reach it.
    pub(crate) fn blocks_possibly_reached(&self, threads: &Threads<'_, '_>, lane: u32) -> Vec<bool> {
        let next = |block| taken(self.body, block, self.takes_first(threads, lane, block));
        reached(self.body, [BlockId::new(0)], next)
    }

    /// True or false if that is known of the guard of an instruction in a lane; true without one.
    pub(crate) fn guard_holds(
        &self,
        threads: &Threads<'_, '_>,
        lane: u32,
        at: InstructionId,
    ) -> Option<bool> {
        let Some(guard) = self.body.instruction(at).guard else {
            return Some(true);
        };
        let holds = threads.value_in_lane(Value::Register(guard.register), lane)?;
        Some((holds & 1 == 1) != guard.negated)
    }

    /// True if a lane takes the first successor at the end of a block, false if the second, where that is known.
    fn takes_first(&self, threads: &Threads<'_, '_>, lane: u32, block: BlockId) -> Option<bool> {
        let (last, instruction) = self.body.block(block).next_back()?;
        instruction.guard.filter(|_| instruction.op == Op::Branch)?;
        self.guard_holds(threads, lane, last)
    }

    /// The successor that a lane takes at the end of a block, if its branch is decided.
    fn successor_taken(&self, threads: &Threads<'_, '_>, lane: u32, block: BlockId) -> Option<BlockId> {
        let takes_first = self.takes_first(threads, lane, block)?;
        self.body
            .successors(block)
            .get(usize::from(!takes_first))
            .copied()
    }
}
