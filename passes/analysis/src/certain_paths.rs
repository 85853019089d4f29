//! Blocks that a thread certainly reaches, where the thread number decides its branches.
//!
//! ```text
//! comes(l, b)  b is the entry; or comes(l, d) holds of its immediate dominator d, and b post-dominates d, or the branch at the
//!              end of d is decided in lane l and b is, or post-dominates, the block that it leads to
//! ```

use ptxcheck_ir::{BlockId, Body, Op, Value};

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

    /// The successor that a lane takes at the end of a block, if its branch is decided.
    fn successor_taken(&self, threads: &Threads<'_, '_>, lane: u32, block: BlockId) -> Option<BlockId> {
        let (_, last) = self.body.block(block).next_back()?;
        let guard = last.guard.filter(|_| last.op == Op::Branch)?;
        let holds = threads.value_in_lane(Value::Register(guard.register), lane)? & 1 == 1;
        let way = usize::from(holds == guard.negated);
        self.body.successors(block).get(way).copied()
    }
}
