//! Forward dataflow: computes the state before every instruction from a lattice and a transfer function.
//!
//! ```text
//! state(entry)  ⊒ entry state
//! state(b)      ⊒ edge(p → b, apply(last, … apply(first, state(p))))   for every edge p → b
//! ```
//!
//! The solver keeps the states at block entries only; a [`Cursor`] replays inside a block.

use std::collections::BinaryHeap;

use super::cfg::Cfg;
use crate::limits::MAX_DATAFLOW_ROUNDS;
use ptxcheck_common::deadline::Deadline;
use ptxcheck_ir::{BlockId, Body, Instruction, InstructionId};

/// An analysis: its lattice and its transfer functions.
pub trait Analysis {
    /// An element of the lattice.
    type State: Clone;

    /// The state on entry to the function.
    fn entry(&self) -> Self::State;

    /// `into` becomes the least upper bound of both; true if that changed it. Must be monotone, and the lattice's
    /// height small: see `MAX_DATAFLOW_ROUNDS` in `limits.rs`.
    fn join(&self, into: &mut Self::State, from: &Self::State) -> bool;

    /// The state after an instruction, from the state before.
    fn apply(&self, state: &mut Self::State, id: InstructionId, instruction: &Instruction);

    /// True if no instruction of a block changes any state: the solver skips it as a whole.
    fn is_idle(&self, _block: BlockId) -> bool {
        false
    }

    /// The time at which the solver gives up.
    fn deadline(&self) -> &Deadline {
        Deadline::NEVER
    }

    /// Refines the state on one edge, that to the `number`th successor of `block`. Returns false if the edge is never taken.
    fn refine_on_edge(&self, _state: &mut Self::State, _block: BlockId, _number: usize) -> bool {
        true
    }
}

/// The states at block entries; `None` for blocks never reached.
#[derive(Debug)]
pub struct Solution<S> {
    entries: Vec<Option<S>>,
}

/// Solves `analysis` over `body`. `None` if it does not settle within `MAX_DATAFLOW_ROUNDS` (64) times the size of the body,
/// or in time: nothing is known then.
pub fn solve<A: Analysis>(body: &Body<'_>, cfg: &Cfg, analysis: &A) -> Option<Solution<A::State>> {
    let order = cfg.reverse_postorder();
    let mut entries: Vec<Option<A::State>> = vec![None; body.blocks.len()];
    *entries.first_mut()? = Some(analysis.entry());
    // Lowest rank first, so that a block waits for its predecessors.
    let mut queue = BinaryHeap::from([std::cmp::Reverse(0_usize)]);
    let mut queued = vec![false; order.len()];
    // Reused from block to block.
    let mut state = analysis.entry();
    let mut along = state.clone();
    let mut work = (body.instructions.len() + order.len()).saturating_mul(MAX_DATAFLOW_ROUNDS);
    while let Some(std::cmp::Reverse(rank)) = queue.pop() {
        queued[rank] = false;
        let block = order[rank];
        let size = body.blocks[block.index()].instructions.range().len() + 1;
        work = work.checked_sub(size)?;
        if analysis.deadline().is_over_after(size) {
            return None;
        }
        let Some(entry) = &entries[block.index()] else {
            continue;
        };
        state.clone_from(entry);
        if !analysis.is_idle(block) {
            for (id, instruction) in body.block(block) {
                analysis.apply(&mut state, id, instruction);
            }
        }
        let successors = body.successors(block);
        for (number, &successor) in successors.iter().enumerate() {
            along.clone_from(&state);
            if !analysis.refine_on_edge(&mut along, block, number) {
                continue;
            }
            let changed = match &mut entries[successor.index()] {
                Some(known) => analysis.join(known, &along),
                unknown => {
                    *unknown = Some(along.clone());
                    true
                }
            };
            if let (true, Some(next)) = (changed, cfg.rank(successor))
                && !std::mem::replace(&mut queued[next], true)
            {
                queue.push(std::cmp::Reverse(next));
            }
        }
    }
    Some(Solution { entries })
}

impl<S: Clone> Solution<S> {
    /// The state on entry to a block; `None` if it is never reached.
    #[must_use]
    pub fn state_at_entry(&self, block: BlockId) -> Option<&S> {
        self.entries[block.index()].as_ref()
    }
}

/// Moves to instructions and holds the state before them. Moving forward inside a block costs only the steps in between.
pub struct Cursor<'a, A: Analysis> {
    body: &'a Body<'a>,
    analysis: &'a A,
    solution: &'a Solution<A::State>,
    block: BlockId,
    next: usize,
    state: Option<A::State>,
}

impl<'a, A: Analysis> Cursor<'a, A> {
    /// A cursor at the entry of `body`.
    #[must_use]
    pub fn new(body: &'a Body<'a>, analysis: &'a A, solution: &'a Solution<A::State>) -> Self {
        let block = BlockId::new(0);
        Self {
            body,
            analysis,
            solution,
            block,
            next: 0,
            state: solution.state_at_entry(block).cloned(),
        }
    }

    /// The state before `instruction`; `None` if it is never reached.
    pub fn state_before(&mut self, instruction: InstructionId) -> Option<&A::State> {
        let block = self.body.block_of(instruction);
        if block != self.block || instruction.index() < self.next {
            self.block = block;
            self.next = self.body.blocks[block.index()].instructions.start as usize;
            self.state = self.solution.state_at_entry(block).cloned();
        }
        let is_idle = self.analysis.is_idle(block);
        let state = self.state.as_mut()?;
        while self.next < instruction.index() && !is_idle {
            let id = InstructionId::new(self.next);
            self.analysis.apply(state, id, self.body.instruction(id));
            self.next += 1;
        }
        self.state.as_ref()
    }
}
