//! Copies in flight: for each copy of a body, the possible progress of the last one that its thread has started.
//!
//! ```text
//! state      none | open | committed(k), 1 ≤ k ≤ 8 | lost | done  a set of them for each copy, over all paths
//! entry      {none}
//! copy c     c: {open}                                           joined with the old state, under a guard, as everything below
//! commit     of its group: open → committed(1), committed(k) → committed(k + 1); beyond 8 it is lost
//! wait n     of its group: committed(k) → done, where k > n; all that is started → done, where it is for all copies
//!            of unknown n: each state, or done
//! arrival at an mbarrier that tracks `cp.async`, wait at an mbarrier, barrier, collective, access that others may signal by
//!            lost, for the copies that complete so
//! call       lost
//! ```
//!
//! Groups are counted by thread, so that one walk over the graph is enough: lanes do not matter.

use ptxcheck_ir::{
    Access, AsyncGroup, AsyncOp, Asynchronous, BlockId, Body, Completion, Instruction, InstructionId,
    MbarrierOp, Op, Value,
};

use super::view::View;
use crate::limits::{MAX_PENDING_COPIES, MAX_PENDING_STEPS};
use crate::pointer_passthrough::argument_passed_through;

/// Most commits that are counted.
const MAX_COMMITS: u32 = 8;

/// The states that a copy may be in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct States(u16);

impl States {
    const NONE: Self = Self(1);
    const OPEN: Self = Self(1 << 1);
    const LOST: Self = Self(1 << (2 + MAX_COMMITS));
    const ALL_COMMITTED: Self = Self(((1 << MAX_COMMITS) - 1) << 2);
    const DONE: Self = Self(1 << (3 + MAX_COMMITS));

    const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// True if the copy was certainly started, and certainly not waited for.
    pub(super) const fn is_in_flight(self) -> bool {
        self.0 != 0 && !self.intersects(Self::NONE) && self.is_incomplete_if_started()
    }

    /// True if the copy cannot have completed.
    pub(super) const fn is_incomplete_if_started(self) -> bool {
        !self.intersects(Self::DONE) && !self.intersects(Self::LOST)
    }

    /// True if it was started on some path, and cannot have completed there.
    pub(super) const fn may_be_in_flight(self) -> bool {
        (self.intersects(Self::OPEN) || self.intersects(Self::ALL_COMMITTED)) && !self.intersects(Self::LOST)
    }

    /// True if it may have been started, and cannot have completed.
    pub(super) const fn may_be_incomplete(self) -> bool {
        self.intersects(Self::OPEN)
    }

    /// True if the copy is in no group that a later wait can wait for.
    pub(super) const fn is_outside_groups(self) -> bool {
        !self.intersects(Self::ALL_COMMITTED) && !self.intersects(Self::LOST)
    }

    fn after_loss(self) -> Self {
        if self.intersects(Self::OPEN) || self.intersects(Self::ALL_COMMITTED) {
            self.union(Self::LOST)
        } else {
            self
        }
    }

    fn after_commit(self) -> Self {
        let kept = self.0 & (Self::NONE.0 | Self::DONE.0 | Self::LOST.0);
        let counted = self.0 & (Self::OPEN.0 | Self::ALL_COMMITTED.0);
        // The bit after the last counted commit is the bit of lost copies.
        Self(kept | counted << 1)
    }

    fn after_wait(self, left: Option<u64>) -> Self {
        let Some(left) = left else {
            return self.after_completion_in_some_run();
        };
        let left = u32::try_from(left).unwrap_or(MAX_COMMITS).min(MAX_COMMITS);
        let passed = (Self::ALL_COMMITTED.0 >> (2 + left) << (2 + left)) & self.0;
        let rest = Self(self.0 & !passed);
        if passed == 0 { rest } else { rest.union(Self::DONE) }
    }

    fn after_completion_in_some_run(self) -> Self {
        self.union(self.after_completion())
    }

    /// A copy that was never started is not complete.
    const fn after_completion(self) -> Self {
        if self.0 == Self::NONE.0 {
            self
        } else if self.intersects(Self::NONE) {
            Self(Self::NONE.0 | Self::DONE.0)
        } else {
            Self::DONE
        }
    }
}

/// The event that completes a copy.
const fn completion_of(one: &Asynchronous) -> Completion {
    match one.op {
        AsyncOp::Copy(copy) => copy.completion,
        _ => Completion::None,
    }
}

/// The copies of a body, and their states.
pub(super) struct Pending<'v, 'a, 'm> {
    view: &'v View<'a, 'm>,
    body: &'a Body<'m>,
    copies: Vec<Asynchronous>,
    /// By block, at its start; empty for an unreachable block.
    entries: Vec<Vec<States>>,
}

impl<'v, 'a, 'm> Pending<'v, 'a, 'm> {
    /// For a body with copies, on the paths of one thread; `None` if it has no copies that complete by groups or barriers,
    /// or too many.
    pub(super) fn new(view: &'v View<'a, 'm>) -> Option<Self> {
        Self::solve(view, |_, _| true)
    }

    /// The same on the paths that lead to an instruction for the first time, up to there.
    pub(super) fn before_first(view: &'v View<'a, 'm>, at: InstructionId) -> Option<Self> {
        let last = view.body.block_of(at);
        Self::solve(view, |block, _| block != last)
    }

    /// On the paths along edges for which the condition holds.
    fn solve(view: &'v View<'a, 'm>, is_followed: impl Fn(BlockId, BlockId) -> bool) -> Option<Self> {
        let body = view.body;
        let copies = body.asynchronous.iter().copied();
        let copies: Vec<_> = copies
            .filter(|one| completion_of(one) != Completion::None)
            .collect();
        if copies.is_empty() || copies.len() > MAX_PENDING_COPIES || body.blocks.is_empty() {
            return None;
        }
        let states = vec![States::NONE; copies.len()];
        let pending = Self {
            view,
            body,
            entries: vec![Vec::new(); body.blocks.len()],
            copies,
        };
        pending.solve_from(BlockId::new(0), states, is_followed)
    }

    /// The copies, in the order of the input.
    pub(super) fn copies(&self) -> &[Asynchronous] {
        &self.copies
    }

    /// The states of the copies before an instruction, in the same order; none if it is unreachable.
    pub(super) fn states_before(&self, id: InstructionId) -> Vec<States> {
        let block = self.body.block_of(id);
        let mut states = self.entries[block.index()].clone();
        if !states.is_empty() {
            for (at, instruction) in self.body.block(block).take_while(|(at, _)| *at < id) {
                self.apply(&mut states, at, instruction);
            }
        }
        states
    }

    /// Calls `visit` for each reachable instruction, with the states of the copies before it.
    pub(super) fn visit_reached(&self, mut visit: impl FnMut(InstructionId, &Instruction, &[States])) {
        for (number, entry) in self
            .entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| !entry.is_empty())
        {
            let mut states = entry.clone();
            for (at, instruction) in self.body.block(BlockId::new(number)) {
                visit(at, instruction, &states);
                self.apply(&mut states, at, instruction);
            }
        }
    }

    /// The same in the rounds of a loop after the first one. `blocks`: the loop, its header first. `None` if no path leads
    /// around it, or it is too large.
    pub(super) fn in_later_loop_rounds(&self, blocks: &[BlockId]) -> Option<Self> {
        let &header = blocks.first()?;
        let mut states = Vec::new();
        for &block in blocks {
            if !self.entries[block.index()].is_empty()
                && self.view.possible_successors(block).contains(&header)
            {
                join(&mut states, &self.states_after(block));
            }
        }
        if states.is_empty() {
            return None;
        }
        let around = Self {
            entries: vec![Vec::new(); self.body.blocks.len()],
            copies: self.copies.clone(),
            ..*self
        };
        around.solve_from(header, states, |_, next| next != header && blocks.contains(&next))
    }

    /// With the states at the start of a block, and at the start of each block that followed edges lead to from there.
    fn solve_from(
        mut self,
        first: BlockId,
        states: Vec<States>,
        is_followed: impl Fn(BlockId, BlockId) -> bool,
    ) -> Option<Self> {
        self.entries[first.index()] = states;
        let mut open = vec![first];
        let mut left = MAX_PENDING_STEPS;
        while let Some(block) = open.pop() {
            left = left.checked_sub(1)?;
            let states = self.states_after(block);
            for &next in self.view.possible_successors(block) {
                if is_followed(block, next) && join(&mut self.entries[next.index()], &states) {
                    open.push(next);
                }
            }
        }
        Some(self)
    }

    /// The states at the end of a block.
    fn states_after(&self, block: BlockId) -> Vec<States> {
        let mut states = self.entries[block.index()].clone();
        for (at, instruction) in self.body.block(block) {
            self.apply(&mut states, at, instruction);
        }
        states
    }

    /// Changes the states of those copies for which the condition holds.
    fn change_states(
        &self,
        states: &mut [States],
        is_guarded: bool,
        holds: impl Fn(&Asynchronous) -> bool,
        change: impl Fn(States) -> States,
    ) {
        for (state, copy) in states.iter_mut().zip(&self.copies) {
            if holds(copy) {
                let new = change(*state);
                *state = if is_guarded { state.union(new) } else { new };
            }
        }
    }

    /// Marks started copies as lost.
    fn mark_lost(&self, states: &mut [States], holds: impl Fn(&Asynchronous) -> bool) {
        self.change_states(states, false, holds, States::after_loss);
    }

    fn apply(&self, states: &mut [States], at: InstructionId, instruction: &Instruction) {
        let is_guarded = match self.view.executes(at) {
            Some(true) => false,
            Some(false) => return,
            None => true,
        };
        let by_mbarrier = |copy: &Asynchronous| completion_of(copy) == Completion::Mbarrier;
        match instruction.op {
            Op::Call(_) if argument_passed_through(self.view.module, self.body, at).is_some() => return,
            Op::Call(_) => return self.mark_lost(states, |_| true),
            Op::Barrier(_) | Op::Collective(..) => return self.mark_lost(states, by_mbarrier),
            Op::Access(access) if may_signal_other_threads(access) => self.mark_lost(states, by_mbarrier),
            _ => {}
        }
        let Some(one) = self.body.asynchronous_at(at) else {
            return;
        };
        let of =
            |group: AsyncGroup| move |copy: &Asynchronous| completion_of(copy) == Completion::Group(group);
        match one.op {
            AsyncOp::Copy(_) => {
                let is_it = |copy: &Asynchronous| copy.instruction == at;
                self.change_states(states, is_guarded, is_it, |_| States::OPEN);
            }
            AsyncOp::Commit(group) => self.change_states(states, is_guarded, of(group), States::after_commit),
            AsyncOp::Wait { group, all: true, .. } => {
                self.change_states(states, is_guarded, of(group), States::after_completion);
            }
            AsyncOp::Wait { group, .. } => {
                let left = match self.body.async_value(one, one.values.count) {
                    Some(Value::Integer(left)) => u64::try_from(left).ok(),
                    _ => None,
                };
                self.change_states(states, is_guarded, of(group), |state| state.after_wait(left));
            }
            AsyncOp::Mbarrier(MbarrierOp::ArriveAfterCopies { .. }) => {
                self.mark_lost(states, of(AsyncGroup::Element));
            }
            AsyncOp::Mbarrier(MbarrierOp::Wait { .. }) => self.mark_lost(states, by_mbarrier),
            AsyncOp::Unknown => self.mark_lost(states, |_| true),
            _ => {}
        }
    }
}

/// Joins states into the known ones, which are empty if the block has not been reached; true if that changes them.
fn join(known: &mut Vec<States>, new: &[States]) -> bool {
    if known.is_empty() {
        known.extend_from_slice(new);
        return true;
    }
    let mut has_changed = false;
    for (known, new) in known.iter_mut().zip(new) {
        let joined = known.union(*new);
        has_changed |= joined != *known;
        *known = joined;
    }
    has_changed
}

/// True for an access by which other threads may signal that they have waited.
pub(super) const fn may_signal_other_threads(access: Access) -> bool {
    access.is_volatile() || access.is_ordering() || access.kind.is_atomic()
}
