//! Optimistic reachability in one function: the blocks that all lanes may reach, based on an upper bound of what is known.
//!
//! ```text
//! all lanes may reach      the entry; the successors of such a block, if its branch is open; else its immediate
//!                          post-dominator, if every lane reaches it in the end
//! a branch is open         if nothing is known of its condition in any lane: lanes may take either edge. If it is known to
//!                          hold or unknown, all may take the successor for a condition that holds
//! bound of a variable      the knowledge that is common to its definitions which reach the place by open branches, and from
//!                          above a post-dominator that all lanes reach if none lies between; if no definition
//!                          reaches it so, the join over those that reach it at all
//! ```
//!
//! The more branches are open, the less is known, and vice versa. Any intermediate result is sound, so the search ends with
//! the first sufficient answer.

use std::cell::OnceCell;
use std::collections::VecDeque;

use rustc_hash::FxHashSet;

mod results;
mod variables;

use self::variables::KnowableCache;
use super::facts::ModuleFacts;
use super::knowable::Pattern;
use crate::function::Analyses;
use crate::lanes::value::WARP;
use crate::lanes::visible;
use crate::limits::REACH_STEPS_PER_INSTRUCTION;
use crate::predicates::{Predicates, Test};
use crate::threads::Threads;
use ptxcheck_ir::{
    BlockId, Body, Condition, FunctionId, Guard, Instruction, InstructionId, Op, Rare, Register, Value,
};

/// Limit on the copies between an `activemask` and its comparison.
const MAX_COPIES: usize = 4;

/// Optimistic search of one function: the blocks that all lanes may reach, and bounds of the values that decide it.
pub(super) struct OptimisticReach<'a, 'm> {
    pub function: FunctionId,
    facts: &'a ModuleFacts<'a, 'm>,
    body: &'a Body<'m>,
    analyses: &'a Analyses<'m>,
    /// No function calls it: its arguments are not known.
    is_root: bool,
    /// The warp that is searched, in a CTA of one dimension; `None` for all warps.
    warp: Option<u32>,
    /// Its threads, computed on first use.
    threads: OnceCell<Threads<'a, 'm>>,
    /// The instruction before which registers are read.
    here: InstructionId,
    cache: KnowableCache,
    /// Steps that may still be taken.
    pub steps_left: usize,
    /// All lanes reach the entry, and its chain of post-dominators has not been followed yet.
    begins: bool,
    /// For each block: all lanes may reach it; and the successors that they may take.
    is_reached: Vec<bool>,
    ways: Vec<Ways>,
    /// For each block: a block before it from which all lanes arrive, on every path.
    through: Vec<Option<BlockId>>,
    /// Blocks that are reached and not visited yet; and blocks whose branches have not been tested.
    work: VecDeque<BlockId>,
    left: VecDeque<BlockId>,
    /// Reached blocks whose branch is not open so far; and those for which that is final.
    closed: Vec<BlockId>,
    settled: Vec<BlockId>,
    /// For each block: the last walk that visited it. And the number of walks.
    marks: Vec<u32>,
    mark: u32,
}

/// Successors of a block that all lanes may take.
#[derive(Clone, Copy)]
enum Ways {
    None,
    One(BlockId),
    All,
}

impl<'a, 'm> OptimisticReach<'a, 'm> {
    /// At a function in which nothing is reached yet.
    pub(super) fn new(facts: &'a ModuleFacts<'a, 'm>, function: FunctionId, body: &'a Body<'m>) -> Self {
        Self {
            function,
            facts,
            body,
            analyses: facts.module.function(function),
            is_root: facts.module.call_graph().calls_to(function).is_empty(),
            warp: None,
            threads: OnceCell::new(),
            here: InstructionId::new(0),
            cache: KnowableCache::new(body.registers.len(), body.blocks.len()),
            steps_left: REACH_STEPS_PER_INSTRUCTION * (body.instructions.len() + body.blocks.len()),
            begins: false,
            is_reached: vec![false; body.blocks.len()],
            ways: vec![Ways::None; body.blocks.len()],
            through: vec![None; body.blocks.len()],
            work: VecDeque::new(),
            left: VecDeque::new(),
            marks: vec![0; body.blocks.len()],
            mark: 0,
            closed: Vec::new(),
            settled: Vec::new(),
        }
    }

    /// The same search, nested below so many definitions that are being evaluated elsewhere.
    pub(super) fn nested_at_depth(mut self, depth: usize) -> Self {
        self.cache.depth = depth;
        self
    }

    /// The same search for one warp.
    pub(super) fn for_warp(self, warp: u32) -> Self {
        let warp = Some(warp);
        Self { warp, ..self }
    }

    /// Upper bound of the blocks that lanes of the warp may reach: its thread numbers exclude the others.
    pub(super) fn reachable_blocks_at_most(&self) -> Vec<BlockId> {
        let body = self.body;
        let mut is_seen = vec![false; body.blocks.len()];
        let mut found = vec![BlockId::new(0)];
        is_seen[0] = true;
        let mut next = 0;
        while let Some(&block) = found.get(next) {
            next += 1;
            let known = body
                .terminator(block)
                .and_then(|last| self.successor_for_thread_numbers(block, last.guard?));
            for &after in body.successors(block) {
                let is_left_out = known.is_some_and(|known| known != after);
                if !is_left_out && !std::mem::replace(&mut is_seen[after.index()], true) {
                    found.push(after);
                }
            }
        }
        found
    }

    /// Counts steps; false if the budget is spent.
    pub(super) fn spend_steps(&mut self, steps: usize) -> bool {
        let left = self.steps_left.checked_sub(steps);
        self.steps_left = left.unwrap_or(0);
        left.is_some() && !self.analyses.deadline().is_over_after(steps)
    }

    /// From now on, reads registers as they are before an instruction.
    pub(super) fn set_read_point(&mut self, id: InstructionId) -> &mut Self {
        self.here = id;
        self
    }

    /// A block that all lanes may reach and that has not been returned yet.
    pub(super) fn take_next_block(&mut self) -> Option<BlockId> {
        loop {
            if let Some(block) = self.work.pop_front() {
                return Some(block);
            }
            if let Some(block) = self.left.pop_front() {
                self.leave_block(block);
            } else if !self.retest_branches() {
                return None;
            }
        }
    }

    /// Marks the end of a block as reached by all lanes.
    pub(super) fn mark_end_reached(&mut self, block: BlockId) {
        self.left.push_back(block);
    }

    /// Marks the entry as reached by all lanes.
    pub(super) fn reach_entry(&mut self) {
        self.begins = true;
        self.enter_block(BlockId::new(0));
    }

    /// Follows the chain of post-dominators that all lanes reach, for any outcome of branches. False if no new block is
    /// reached.
    fn follow_post_dominators(&mut self) -> bool {
        let post = self.analyses.post_dominators();
        let mut block = BlockId::new(0);
        while let Some(next) = post.immediate_dominator(block)
            && !self.may_end_lanes_in_block(block)
            && self.all_lanes_reach_post_dominator(block, next)
        {
            self.enter_through(block, next);
            block = next;
        }
        !self.work.is_empty()
    }

    /// Tests branches again: more blocks are open by now, so less is known. False if no new block is reached.
    fn retest_branches(&mut self) -> bool {
        if !self.spend_steps(1) {
            return false;
        }
        if std::mem::take(&mut self.begins) && self.follow_post_dominators() {
            return true;
        }
        self.cache.begin_round();
        let closed = std::mem::take(&mut self.closed);
        for &block in &closed {
            self.leave_block(block);
        }
        !self.work.is_empty()
            || self.closed.len() < closed.len()
            || self.continue_after_partly_known_branches()
    }

    fn leave_block(&mut self, block: BlockId) {
        // In one warp, each of its threads is examined.
        let cost = self.warp.map_or(1, |_| WARP);
        if !self.spend_steps(cost) {
            return;
        }
        let body = self.body;
        self.cache.is_final = true;
        if self.is_branch_unknown(block) {
            self.ways[block.index()] = Ways::All;
            body.successors(block)
                .iter()
                .for_each(|&next| self.enter_block(next));
            return;
        }
        let closed = if self.cache.is_final {
            &mut self.settled
        } else {
            &mut self.closed
        };
        closed.push(block);
        if let Some(next) = self.only_successor(block) {
            self.ways[block.index()] = Ways::One(next);
            self.enter_block(next);
        }
    }

    /// The successor that all lanes take, if it is known.
    fn only_successor(&mut self, block: BlockId) -> Option<BlockId> {
        let guard = self.body.terminator(block)?.guard?;
        let [None, Some(test)] = self.values_deciding_end(block) else {
            return None;
        };
        match self.bound_of(test).pattern {
            Pattern::Exactly(known) => self.successor_under_guard(block, guard, known & 1 == 1),
            _ => self.successor_for_thread_numbers(block, guard),
        }
    }

    /// The successor that all lanes of the warp take because of their thread numbers.
    fn successor_for_thread_numbers(&self, block: BlockId, guard: Guard) -> Option<BlockId> {
        let known = self.value_same_in_warp(Value::Register(guard.register))?;
        self.successor_under_guard(block, guard, known & 1 == 1)
    }

    /// The successor that lanes take from a branch under a guard with a known value.
    fn successor_under_guard(&self, block: BlockId, guard: Guard, known: bool) -> Option<BlockId> {
        let is_branch = self.body.terminator(block)?.op == Op::Branch;
        let number = usize::from(known == guard.negated);
        self.body
            .successors(block)
            .get(number)
            .copied()
            .filter(|_| is_branch)
    }

    /// A value that the thread numbers of the warp make the same in all lanes.
    fn value_same_in_warp(&self, value: Value) -> Option<u64> {
        let warp = self.warp?;
        let definitions = self.analyses.definitions();
        let threads = self
            .threads
            .get_or_init(|| Threads::of_warp_in_registers(self.body, definitions, warp));
        threads.uniform_value(value)
    }

    /// Marks a block as reached by all lanes.
    pub(super) fn enter_block(&mut self, block: BlockId) {
        if !std::mem::replace(&mut self.is_reached[block.index()], true) {
            self.work.push_back(block);
        }
    }

    /// Marks a block as reached by all lanes through another block that it post-dominates.
    fn enter_through(&mut self, from: BlockId, block: BlockId) {
        if !self.is_reached(block) {
            self.through[block.index()] = Some(from);
            self.enter_block(block);
        }
    }

    /// True if all lanes may reach a block, as far as the search has found.
    pub(super) fn is_reached(&self, block: BlockId) -> bool {
        self.is_reached[block.index()]
    }

    /// The blocks that lanes reach with all others of their warp, or not at all.
    ///
    /// ```text
    /// whole(b)    all lanes may reach b; or b is an immediate post-dominator that all lanes reach, of its own
    ///             immediate dominator, which is whole; or all predecessors of b are whole, and the known part of the
    ///             branch conditions there is the same in all lanes; or only lanes reach b that have seen that all are there
    /// ```
    pub(super) fn blocks_reached_by_whole_warps(&mut self) -> Vec<bool> {
        let (cfg, dominators) = (self.analyses.cfg(), self.analyses.dominators());
        let mut is_whole = vec![true; self.is_reached.len()];
        let mut is_sure = self.is_reached.clone();
        let asks = self.body.has(Rare::ACTIVE_MASK);
        for &block in cfg.reverse_postorder() {
            let next = if asks {
                self.successor_after_full_activemask(block)
            } else {
                None
            };
            if let Some(next) = next.or_else(|| self.successor_of_lanes_from_full_blocks(block, &is_sure)) {
                is_sure[next.index()] = true;
            }
        }
        let mut splits: Vec<Option<bool>> = vec![None; is_whole.len()];
        let mut comes_through: Vec<Option<bool>> = vec![None; is_whole.len()];
        let mut changed = true;
        while std::mem::take(&mut changed) {
            if !self.spend_steps(cfg.reverse_postorder().len()) {
                return is_sure;
            }
            for &block in cfg.reverse_postorder() {
                let index = block.index();
                if !is_whole[index] || is_sure[index] {
                    continue;
                }
                let mut stays = cfg.predecessors(block).iter().all(|&before| {
                    cfg.rank(before).is_none()
                        || is_whole[before.index()]
                            && !*splits[before.index()].get_or_insert_with(|| self.may_split_lanes(before))
                });
                if !stays
                    && let Some(above) = dominators.immediate_dominator(block)
                    && is_whole[above.index()]
                {
                    stays = *comes_through[index]
                        .get_or_insert_with(|| self.lanes_arrive_together_from(above, block));
                }
                changed |= !stays;
                is_whole[index] = stays;
            }
        }
        is_whole
    }

    /// The successor that only lanes take that have seen a full `activemask`, so that all lanes are there.
    fn successor_after_full_activemask(&mut self, block: BlockId) -> Option<BlockId> {
        let (id, last) = self.body.block(block).next_back()?;
        let guard = last.guard.filter(|_| last.op == Op::Branch)?;
        [true, false].into_iter().find_map(|holds| {
            let asked = self.full_activemask_implied_by(id, guard.register, holds)?;
            let above = self.body.block_of(asked);
            let next = self.exclusive_successor(block, guard, holds)?;
            let dominates = self.analyses.dominators().dominates(above, block);
            (above == block || dominates && self.lanes_stay_together(above, block)).then_some(next)
        })
    }

    /// The `activemask` that was full if a predicate has this value, provided that the other conditions for that value hold
    /// for all lanes or for none, as far as is known. `at`: where the predicate is read.
    fn full_activemask_implied_by(
        &mut self,
        at: InstructionId,
        predicate: Register,
        holds: bool,
    ) -> Option<InstructionId> {
        let (body, definitions) = (self.body, self.analyses.definitions());
        let predicates = Predicates {
            body,
            definitions,
            returns_truth: |_| false,
        };
        let (mut asked, mut others) = (None, Vec::new());
        predicates.for_each_test(predicate, holds, |test| {
            match self.activemask_compared_with_full(test) {
                Some(found) if asked.is_none() => asked = Some(found),
                _ => others.push((test.reader.unwrap_or(at), test.register)),
            }
        });
        let asked = asked?;
        let mut others = others.into_iter();
        (!others.any(|(reader, register)| self.set_read_point(reader).bound_of_register(register).lane))
            .then_some(asked)
    }

    /// The `activemask` that a test compares with the full mask.
    fn activemask_compared_with_full(&self, test: Test) -> Option<InstructionId> {
        let (body, definitions) = (self.body, self.analyses.definitions());
        let defined = |value: Value| definitions.only_writer(body, value.register()?);
        let comparison = body.instruction(test.definition?);
        let mask = match (comparison.op, body.uses(comparison)) {
            (
                Op::Compare(condition @ (Condition::Equal | Condition::NotEqual), 32, _),
                &[mask, Value::Integer(all), ..] | &[Value::Integer(all), mask, ..],
            ) if all as u32 == u32::MAX && test.holds == (condition == Condition::Equal) => mask,
            _ => return None,
        };
        let mut asked = defined(mask)?;
        for _ in 0..MAX_COPIES {
            if let (Op::Copy, &[copied]) = (body.instruction(asked).op, body.uses(body.instruction(asked))) {
                asked = defined(copied)?;
            }
        }
        (body.instruction(asked).op == Op::ActiveMask).then_some(asked)
    }

    /// The successor that exactly those lanes take that executed a block where all lanes are (`is_sure`): the branch tests a
    /// predicate that only this block sets, to a value that is the same in all lanes as far as is known.
    fn successor_of_lanes_from_full_blocks(&mut self, block: BlockId, is_sure: &[bool]) -> Option<BlockId> {
        let (body, definitions) = (self.body, self.analyses.definitions());
        let guard = body.terminator(block)?.guard?;
        let copied = |id: InstructionId| {
            let instruction = body.instruction(id);
            match (instruction.op, instruction.guard, body.uses(instruction)) {
                (Op::Copy, None, &[from]) => Some(from),
                _ => None,
            }
        };
        let mut register = guard.register;
        for _ in 0..MAX_COPIES {
            let &[one] = definitions.writers_of(register) else {
                break;
            };
            let Value::Register(from) = copied(one)? else {
                return None;
            };
            register = from;
        }
        let mut holding = None;
        for &id in definitions.writers_of(register) {
            match copied(id)? {
                Value::Integer(known) if known & 1 == 0 => {}
                value if is_sure[body.block_of(id).index()] && holding.is_none() => {
                    holding = Some((id, value));
                }
                _ => return None,
            }
        }
        let (id, value) = holding?;
        let (above, next) = (body.block_of(id), self.exclusive_successor(block, guard, true)?);
        if self.set_read_point(id).bound_of(value).lane
            || above != block && !self.lanes_arrive_together_from(above, block)
        {
            return None;
        }
        // No lane loses the value on the way.
        let is_kept = |other: &InstructionId| {
            let other = body.block_of(*other);
            other != above && (above == block || self.marks[other.index()] != self.mark)
        };
        let mut others = definitions
            .writers_of(register)
            .iter()
            .filter(|other| **other != id);
        others.all(is_kept).then_some(next)
    }

    /// The successor for this value of a branch's guard, if no other block leads there.
    fn exclusive_successor(&self, block: BlockId, guard: Guard, holds: bool) -> Option<BlockId> {
        let next = self.successor_under_guard(block, guard, holds)?;
        (self.analyses.cfg().predecessors(next) == [block]).then_some(next)
    }

    /// True if lanes that are together in one block reach another block that it dominates together, as far as is known.
    fn lanes_stay_together(&mut self, above: BlockId, block: BlockId) -> bool {
        self.lanes_arrive_together_from(above, block)
            || self
                .blocks_between(above, block)
                .is_some_and(|between| !between.into_iter().any(|block| self.may_split_lanes(block)))
    }

    /// The blocks on paths to one block from another that dominates it, with the latter; `None` if there are too many.
    fn blocks_between(&mut self, above: BlockId, block: BlockId) -> Option<FxHashSet<BlockId>> {
        let cfg = self.analyses.cfg();
        let mut between = FxHashSet::default();
        let mut work = vec![block];
        while let Some(block) = work.pop() {
            for &before in cfg.predecessors(block) {
                if between.insert(before) && before != above {
                    work.push(before);
                }
                if !self.spend_steps(1) {
                    return None;
                }
            }
        }
        Some(between)
    }

    /// True if all lanes that are together in one block get from its end to another one together, as far as is known.
    fn lanes_arrive_together_from(&mut self, above: BlockId, block: BlockId) -> bool {
        self.analyses.post_dominators().dominates(block, above)
            && !self.may_end_lanes_in_block(above)
            && self.all_lanes_reach_post_dominator(above, block)
    }

    /// True if lanes may leave a block by different edges.
    fn may_split_lanes(&mut self, block: BlockId) -> bool {
        self.may_end_lanes_in_block(block) || self.divergence_may_be_known(block)
    }

    /// True if it may be known that lanes diverge at the end of a block.
    fn divergence_may_be_known(&mut self, block: BlockId) -> bool {
        let decisive = self.values_deciding_end(block);
        decisive
            .into_iter()
            .flatten()
            .any(|value| self.bound_of(value).lane)
    }

    /// Continues after branches whose conditions may be partly known. False if no new block is reached.
    fn continue_after_partly_known_branches(&mut self) -> bool {
        let post = self.analyses.post_dominators();
        if !self.spend_steps(self.settled.len() + self.closed.len()) {
            return false;
        }
        let closed: Vec<BlockId> = self.settled.iter().chain(&self.closed).copied().collect();
        for block in closed {
            if let Some(next) = post.immediate_dominator(block)
                && !self.is_reached[next.index()]
                && self.all_lanes_reach_post_dominator(block, next)
            {
                self.enter_through(block, next);
            }
        }
        !self.work.is_empty()
    }

    /// True if nothing is known of the condition at the end of a block.
    fn is_branch_unknown(&mut self, block: BlockId) -> bool {
        self.values_deciding_end(block)
            .into_iter()
            .flatten()
            .all(|value| self.bound_of(value).low == 0)
    }

    /// Values that decide the successors of the end of a block. Later reads are from before that branch.
    fn values_deciding_end(&mut self, block: BlockId) -> [Option<Value>; 2] {
        let Some((id, last)) = self.body.block(block).next_back() else {
            return [None; 2];
        };
        if !last.op.is_terminator() {
            return [None; 2];
        }
        self.set_read_point(id);
        let index = match last.op {
            Op::BranchTable => self.body.uses(last).first().copied(),
            _ => None,
        };
        [index, last.guard.map(|guard| Value::Register(guard.register))]
    }

    /// True if all lanes that leave `from` reach its post-dominator `to`: no loop on the paths is endless, and branches
    /// around code that ends lanes are open. No lane misses lanes that end the grid on the way without a visible effect.
    fn all_lanes_reach_post_dominator(&mut self, from: BlockId, to: BlockId) -> bool {
        if self.has_guarded_lane_end(from) && !self.is_branch_unknown(from) {
            return false;
        }
        let (cfg, post, body) = (self.analyses.cfg(), self.analyses.post_dominators(), self.body);
        self.mark += 1;
        // Blocks that some lanes do not leave.
        let mut is_dead = FxHashSet::default();
        let mut work = vec![from];
        while let Some(block) = work.pop() {
            for &next in body.successors(block) {
                if next == to || std::mem::replace(&mut self.marks[next.index()], self.mark) == self.mark {
                    continue;
                }
                if !self.spend_steps(1) || !post.dominates(next, next) {
                    return false;
                }
                if self.may_end_lanes_in_block(next)
                    || self.has_guarded_lane_end(next) && !self.is_branch_unknown(next)
                {
                    is_dead.insert(next);
                }
                work.push(next);
            }
        }
        // Blocks that lead only to those.
        work.extend(&is_dead);
        while let Some(block) = work.pop() {
            for &before in cfg.predecessors(block) {
                if !self.spend_steps(body.successors(before).len()) {
                    return false;
                }
                let goes_on = body.successors(before).iter().any(|next| !is_dead.contains(next));
                if !goes_on && is_dead.insert(before) {
                    work.push(before);
                }
            }
        }
        if is_dead.iter().all(|&block| self.ends_grid_by_assertion(block)) {
            return !is_dead.contains(&from);
        }
        let is_avoidable = |before: &BlockId| is_dead.contains(before) || self.is_branch_unknown(*before);
        let mut leading = is_dead.iter().flat_map(|&block| cfg.predecessors(block));
        !is_dead.contains(&from) && leading.all(is_avoidable)
    }

    /// True if a guarded instruction at the end of a block ends lanes; the successors of the block do not show that.
    fn has_guarded_lane_end(&self, block: BlockId) -> bool {
        self.body
            .terminator(block)
            .is_some_and(|last| last.guard.is_some() && matches!(last.op, Op::Return | Op::Exit | Op::Trap))
    }

    /// True if a block has a call from which lanes may not return.
    fn may_end_lanes_in_block(&self, block: BlockId) -> bool {
        self.calls_in(block)
            .any(|call| self.facts.may_end_lanes(self.body, call))
    }

    /// The calls in a block.
    fn calls_in(&self, block: BlockId) -> impl Iterator<Item = &'a Instruction> + use<'a, 'm> {
        let (body, range) = (self.body, self.body.blocks[block.index()].instructions);
        let first = body
            .calls
            .partition_point(|call| (call.instruction.index() as u32) < range.start);
        body.calls[first..]
            .iter()
            .take_while(move |call| (call.instruction.index() as u32) < range.end)
            .map(|call| body.instruction(call.instruction))
    }

    /// True if lanes end in a block, or in the code after it, only by a failed assertion, and surely have no visible effect
    /// in it.
    fn ends_grid_by_assertion(&self, block: BlockId) -> bool {
        let (facts, body) = (self.facts, self.body);
        !self.has_guarded_lane_end(block)
            && self
                .calls_in(block)
                .all(|call| facts.is_call_without_effect_on_lanes(body, call))
            && body.block(block).all(|(id, instruction)| {
                !matches!(instruction.op, Op::Collective(..) | Op::Barrier(_))
                    && !visible::effect_of_instruction(facts.module, self.function, body, id).surely
            })
    }
}
