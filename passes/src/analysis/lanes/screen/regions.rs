//! Which blocks lanes may be kept from.

use super::{Pass, Several};
use crate::analysis::dominators::Dominators;
use crate::ir::{BlockId, Body, Instruction, Op, Value};

impl Pass<'_, '_, '_> {
    /// Finds the restricted blocks anew. Whether there are more of them, or this is the first time there are some.
    ///
    /// A branch decides whether its blocks are reached up to its nearest post-dominator; a restricted block passes that
    /// on through its own branch. An instruction under a guard that ends threads restricts all that comes after.
    pub(super) fn restrict(&mut self) -> bool {
        let body = self.body;
        let before = self.state.restricted.iter().filter(|&&is| is).count();
        let mut work: Vec<BlockId> = (0..body.blocks.len())
            .map(BlockId::new)
            .filter(|&block| body.terminator(block).is_some_and(|last| self.splits(last)))
            .collect();
        if work.is_empty() {
            return false;
        }
        let module = self.screen.module;
        let post = module.function(self.id).post_dominators();
        let mut restricted = vec![false; body.blocks.len()];
        let mut steps_left = STEPS_PER_BLOCK * body.blocks.len();
        while let Some(block) = work.pop() {
            let Some(last) = body.terminator(block) else {
                continue;
            };
            if matches!(last.op, Op::Return | Op::Exit | Op::Trap) {
                if last.guard.is_some() {
                    // To the end: there is no block that all lanes come to.
                    let next = body.successors(block).iter().copied();
                    let fresh: Vec<BlockId> = next.filter(|next| !restricted[next.index()]).collect();
                    for next in fresh {
                        after(body, next, &mut restricted, &mut work);
                    }
                }
                continue;
            }
            if !post.dominates(block, block)
                || !walk(post, body, block, &mut restricted, &mut work, &mut steps_left)
            {
                self.state.is_suspect = true;
                return false;
            }
        }
        let now = restricted.iter().filter(|&&is| is).count();
        let is_first = self.state.several.is_empty();
        if is_first {
            self.state.several = self.several();
        }
        self.state.restricted = restricted;
        is_first || now > before
    }

    fn splits(&mut self, last: &Instruction) -> bool {
        let by_guard = self.guard(last).is_some_and(|kind| kind.lane);
        let by_table = last.op == Op::BranchTable
            && self
                .body
                .uses(last)
                .first()
                .is_some_and(|&index: &Value| self.kind(index).lane);
        by_guard || by_table
    }

    fn several(&self) -> Vec<Several> {
        let body = self.body;
        let mut several = vec![Several::default(); body.registers.len()];
        for register in body
            .instructions
            .iter()
            .flat_map(|instruction| body.defined(instruction))
        {
            several[register.index()].definitions += 1;
        }
        several
    }
}

/// Steps over all branches of a function. Beyond, it is a suspect.
const STEPS_PER_BLOCK: usize = 64;

/// Marks what the branch at the end of `block` decides. False if the steps are spent, or where code never ends.
fn walk(
    post: &Dominators,
    body: &Body<'_>,
    block: BlockId,
    restricted: &mut [bool],
    work: &mut Vec<BlockId>,
    steps_left: &mut usize,
) -> bool {
    let successors = body.successors(block);
    if successors.len() < 2 {
        return true;
    }
    let end = post.immediate(block);
    for &successor in successors {
        let mut next = Some(successor);
        while let Some(decided) = next.filter(|_| next != end) {
            if *steps_left == 0 || !post.dominates(decided, decided) {
                return false;
            }
            *steps_left -= 1;
            if !std::mem::replace(&mut restricted[decided.index()], true) {
                work.push(decided);
            }
            next = post.immediate(decided);
        }
    }
    true
}

/// Marks a block and all that comes after it.
fn after(body: &Body<'_>, first: BlockId, restricted: &mut [bool], work: &mut Vec<BlockId>) {
    let mut pending = vec![first];
    while let Some(block) = pending.pop() {
        if !std::mem::replace(&mut restricted[block.index()], true) {
            work.push(block);
            pending.extend(body.successors(block));
        }
    }
}
