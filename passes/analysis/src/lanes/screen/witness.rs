//! Search for witnesses: roots with a witness for every collective need no analysis lane by lane.
//!
//! No lane is surely missing at a collective if it may execute another one of the same kind and mask. So a collective that
//! all lanes may reach is a *witness* for its kind: nothing is definite about any collective of that kind.
//! [`OptimisticReach`] finds the code that all lanes may reach from a few branches of a kernel.
//!
//! Branches that whole warps take together hide witnesses, so the remaining collectives are searched one by one. Nothing is
//! definite where lanes arrive with all others of their warp, or not at all; and a witness that all lanes may reach from
//! such a place counts for the collectives after it. A call counts like the collectives of its callee, and a callee that
//! whole warps call is searched like a root.
//!
//! Last, single warps. If the shape of CTAs is not known, only warp 0 is in all launches: a finding that is not definite
//! there and in one more warp that reaches the place is not definite at all.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::collective_kinds::{CollectiveKinds, WantedWitnesses};
use super::facts::ModuleFacts;
use super::knowable::Knowable;
use super::optimistic_reach::OptimisticReach;
use crate::lanes::graph::{barriers_cut_phases, is_full_barrier};
use crate::lanes::launch::{lanes_may_meet_across_instructions, representative_launch};
use crate::limits::{INSTRUCTIONS_PER_INNER_STEP, MAX_INNER_SEARCHES, MAX_SCREEN_STEPS, MAX_SCREENED_WARPS};
use ptxcheck_common::externs;
use ptxcheck_ir::{
    BlockId, Body, Collective, Function, FunctionId, Instruction, InstructionId, MemberMask, Op, Rare,
    Register, Value,
};

/// The collectives of a module by function.
pub(super) struct Tables {
    /// The kinds of collectives in it and in its callees.
    contained: Vec<CollectiveKinds>,
    /// Some collective there can have no witness.
    is_open: Vec<bool>,
}

/// Search for witnesses in one module. Results for a function are shared by all of its callers.
pub(super) struct WitnessSearch<'a, 'm> {
    facts: &'a ModuleFacts<'a, 'm>,
    tables: Arc<Tables>,
    /// For each function: the kinds of collectives that all lanes that call it may reach.
    offered: FxHashMap<FunctionId, CollectiveKinds>,
    /// For each function that whole warps call: its collectives without a witness.
    rests: FxHashMap<FunctionId, Unwitnessed>,
    /// Callees that may still be searched.
    left: usize,
}

/// Collectives without a witness in a function that all lanes reach together.
#[derive(Default)]
struct Unwitnessed {
    /// Kinds that lanes may miss.
    missed: CollectiveKinds,
    /// Places where lanes may miss one.
    places: Vec<InstructionId>,
    /// Functions that whole warps call, and the kinds of collectives that lanes may miss there.
    called: Vec<(FunctionId, CollectiveKinds)>,
}

/// A search that begins inside a function, and the kinds that still have no witness.
struct InnerSearch<'a, 'm> {
    reach: OptimisticReach<'a, 'm>,
    wanted: WantedWitnesses,
}

impl<'a, 'm> WitnessSearch<'a, 'm> {
    /// A search that has not started. `holds`: the functions with collectives or barriers.
    pub(super) fn new(facts: &'a ModuleFacts<'a, 'm>, holds: &[bool]) -> Self {
        let functions = &facts.module.module.functions;
        let mut contained = vec![CollectiveKinds::NONE; functions.len()];
        let mut is_open = vec![false; functions.len()];
        let bodies = facts.module.module.bodies();
        for (id, function, body) in bodies.filter(|(id, ..)| holds[id.index()]) {
            let own = kinds_needing_witness(facts, id, function, body);
            contained[id.index()] = own.unwrap_or_default();
            is_open[id.index()] = own.is_none();
        }
        let graph = facts.module.call_graph();
        graph.mark_callers(&mut is_open);
        graph.join_into_callers(&mut contained, |caller, callee| {
            let is_more = !caller.contains_all(callee);
            *caller = caller.union(callee);
            is_more
        });
        Self::with_tables(facts, Arc::new(Tables { contained, is_open }))
    }

    /// A search that has not started, with the tables of another search in the same module.
    pub(super) fn with_tables(facts: &'a ModuleFacts<'a, 'm>, tables: Arc<Tables>) -> Self {
        Self {
            facts,
            tables,
            offered: FxHashMap::default(),
            rests: FxHashMap::default(),
            left: MAX_SCREEN_STEPS,
        }
    }

    /// The tables that searches in this module share.
    pub(super) fn shared_tables(&self) -> Arc<Tables> {
        Arc::clone(&self.tables)
    }

    /// True if there is a witness for every collective that lanes may miss in `root` and its callees.
    pub(super) fn has_witnesses(&mut self, root: FunctionId) -> bool {
        let Some(body) = self.body_of(root) else {
            return true;
        };
        if self.tables.is_open[root.index()] {
            return false;
        }
        self.find_kinds_offered_by_callees(root);
        let mut reach = OptimisticReach::new(self.facts, root, body);
        reach.reach_entry();
        let mut wanted = WantedWitnesses::one_of_each(self.tables.contained[root.index()]);
        self.visit_until(&mut reach, body, &mut wanted, WantedWitnesses::is_empty);
        let asks_for_phases = has_phases(body) && lanes_may_meet_across_instructions(self.facts.module);
        if wanted.is_empty() && (!asks_for_phases || self.all_may_reach_each_collective(&mut reach, body)) {
            return true;
        }
        let is_whole = reach.blocks_reached_by_whole_warps();
        if asks_for_phases && !self.has_witnesses_in_phases(&mut reach, root, body, &is_whole) {
            return false;
        }
        if wanted.is_empty() {
            return true;
        }
        let wanted = wanted.kinds;
        let rest = self.unwitnessed_collectives(&mut reach, body, &is_whole, wanted);
        if !self.callees_have_witnesses(&rest.called, wanted) {
            return false;
        }
        let is_call = |&id: &InstructionId| matches!(body.instruction(id).op, Op::Call(_));
        !rest.places.iter().any(is_call) && self.has_witnesses_by_warp(root, body, rest.places)
    }

    /// True if each collective and barrier of a root that only some lanes of a warp reach may be reached by all lanes, or
    /// has a witness between the same boundaries: lanes that wait at one cannot meet lanes that a boundary separates from it
    /// (see `verdict/phases.rs`). Only those in the root itself are considered.
    fn has_witnesses_in_phases(
        &self,
        reach: &mut OptimisticReach<'a, 'm>,
        root: FunctionId,
        body: &'a Body<'m>,
        is_whole: &[bool],
    ) -> bool {
        let dominators = self.facts.module.function(root).dominators();
        let mut offered: FxHashMap<(BlockId, Option<InstructionId>), CollectiveKinds> = FxHashMap::default();
        let mut inner: FxHashMap<BlockId, OptimisticReach<'a, 'm>> = FxHashMap::default();
        let mut is_finished = false;
        for (number, instruction) in body.instructions.iter().enumerate() {
            let kinds = CollectiveKinds::kinds_that_lanes_may_miss_at(instruction);
            if kinds.is_empty() {
                continue;
            }
            let id = InstructionId::new(number);
            let block = body.block_of(id);
            let guard = instruction.guard.map(|guard| guard.register);
            let is_missed = !is_whole[block.index()]
                || guard.is_some_and(|guard| reach.set_read_point(id).bound_of_register(guard).lane);
            if !is_missed || names_unknown_lanes(reach, body, id) {
                continue;
            }
            if !std::mem::replace(&mut is_finished, true) {
                self.visit_all_reachable_code(reach, body);
            }
            if self.may_all_reach(reach, block, id, guard) {
                continue;
            }
            let above = std::iter::successors(Some(block), |&from| dominators.immediate_dominator(from));
            let mut barrier = None;
            let has_witness = above
                .take_while(|&from| reach.spend_steps(1) || from == block)
                .any(|from| {
                    if !is_whole[from.index()] {
                        barrier =
                            barrier.or_else(|| self.last_boundary(body, from, (from == block).then_some(id)));
                        return false;
                    }
                    if barrier.is_none() {
                        let own = self.last_boundary(body, from, (from == block).then_some(id));
                        let offered = offered
                            .entry((from, own))
                            .or_insert_with(|| self.kinds_offered_in_phase(root, body, from, own));
                        if offered.contains_all(kinds) {
                            return true;
                        }
                        barrier = own;
                    }
                    if !inner.contains_key(&from) && inner.len() < MAX_INNER_SEARCHES {
                        let mut search = OptimisticReach::new(self.facts, root, body);
                        search.enter_block(from);
                        self.visit_all_reachable_code(&mut search, body);
                        inner.insert(from, search);
                    }
                    let search = inner.get_mut(&from);
                    search.is_some_and(|search| self.may_all_reach(search, block, id, guard))
                });
            if !has_witness {
                return false;
            }
        }
        true
    }

    /// True if a search has found that all lanes may reach every collective and barrier of a body.
    fn all_may_reach_each_collective(&self, reach: &mut OptimisticReach<'a, 'm>, body: &'a Body<'m>) -> bool {
        let mut instructions = body.instructions.iter().enumerate();
        instructions.all(|(number, instruction)| {
            let id = InstructionId::new(number);
            let guard = instruction.guard.map(|guard| guard.register);
            CollectiveKinds::kinds_that_lanes_may_miss_at(instruction).is_empty()
                || self.may_all_reach(reach, body.block_of(id), id, guard)
        })
    }

    /// True if a search has found that all lanes may reach an instruction.
    fn may_all_reach(
        &self,
        reach: &mut OptimisticReach<'a, 'm>,
        block: BlockId,
        id: InstructionId,
        guard: Option<Register>,
    ) -> bool {
        reach.is_reached(block)
            && guard.is_none_or(|guard| reach.set_read_point(id).bound_of_register(guard).low == 0)
    }

    /// Visits all code that all lanes may reach in one function.
    fn visit_all_reachable_code(&self, reach: &mut OptimisticReach<'a, 'm>, body: &'a Body<'m>) {
        while let Some(block) = reach.take_next_block() {
            let mut instructions = body.block(block);
            if !instructions.any(|(_, instruction)| self.facts.may_end_lanes(body, instruction)) {
                reach.mark_end_reached(block);
            }
        }
    }

    /// Kinds of collectives that all lanes that are together in `from` may reach, from a boundary there or from the start of
    /// the block on, before they pass another boundary.
    fn kinds_offered_in_phase(
        &self,
        root: FunctionId,
        body: &'a Body<'m>,
        from: BlockId,
        boundary: Option<InstructionId>,
    ) -> CollectiveKinds {
        // The instructions in the phase, and whether one of them ends it.
        let in_phase = |block: BlockId| {
            let is_behind =
                move |id: InstructionId| block != from || boundary.is_none_or(|boundary| id > boundary);
            let mut is_over = false;
            let mut found = Vec::new();
            for (id, instruction) in body.block(block).filter(|(id, _)| is_behind(*id)) {
                if matches!(instruction.op, Op::Collective(..) | Op::Barrier(_) | Op::Call(_)) {
                    found.push((id, instruction));
                }
                if self.is_boundary(body, instruction) {
                    is_over = true;
                    break;
                }
            }
            (found, is_over)
        };
        let mut reached = FxHashSet::from_iter([from]);
        let mut work = vec![from];
        while let Some(block) = work.pop() {
            if !in_phase(block).1 {
                let next = body.successors(block).iter().copied();
                work.extend(next.filter(|next| reached.insert(*next)));
            }
        }
        let mut reach = OptimisticReach::new(self.facts, root, body);
        reach.enter_block(from);
        let mut found = CollectiveKinds::NONE;
        while let Some(block) = reach.take_next_block() {
            if !reached.contains(&block) {
                continue;
            }
            let mut may_end = false;
            let (instructions, is_over) = in_phase(block);
            for (id, instruction) in instructions {
                let guard = instruction.guard.map(|guard| guard.register);
                if guard.is_none_or(|guard| reach.set_read_point(id).bound_of_register(guard).low == 0) {
                    found = found.union(match instruction.op {
                        Op::Call(_) => self.kinds_offered_by_call(instruction, body),
                        _ => CollectiveKinds::kinds_of_op(instruction.op),
                    });
                }
                may_end |= self.facts.may_end_lanes(body, instruction);
            }
            if !may_end && !is_over {
                reach.mark_end_reached(block);
            }
        }
        found
    }

    /// True if an instruction may end a phase.
    fn is_boundary(&self, body: &Body<'_>, instruction: &Instruction) -> bool {
        match instruction.op {
            Op::Collective(_, MemberMask::Operand) => true,
            Op::Call(_) => {
                let callee = self.facts.direct_callee(body, instruction);
                callee.is_some_and(|callee| !self.tables.contained[callee.index()].is_empty())
            }
            _ => is_full_barrier(instruction),
        }
    }

    /// The last instruction of a block that may end a phase, before an instruction if one is given.
    fn last_boundary(
        &self,
        body: &Body<'_>,
        block: BlockId,
        before: Option<InstructionId>,
    ) -> Option<InstructionId> {
        let boundaries = body
            .block(block)
            .filter(|(_, instruction)| self.is_boundary(body, instruction));
        let boundaries = boundaries.map(|(id, _)| id);
        boundaries
            .take_while(|id| before.is_none_or(|before| *id < before))
            .last()
    }

    fn body_of(&self, function: FunctionId) -> Option<&'a Body<'m>> {
        self.facts.module.module.function(function).body.as_ref()
    }

    /// True if functions that whole warps call, and their callees, need no analysis for any of `wanted`.
    fn callees_have_witnesses(
        &mut self,
        called: &[(FunctionId, CollectiveKinds)],
        wanted: CollectiveKinds,
    ) -> bool {
        let mut is_listed = FxHashSet::default();
        let mut work: Vec<FunctionId> = called.iter().map(|(function, _)| *function).collect();
        while let Some(function) = work.pop() {
            if !is_listed.insert(function) {
                continue;
            }
            let Some(left) = self.left.checked_sub(1) else {
                return false;
            };
            self.left = left;
            let rest = self.unwitnessed_collectives_in_function(function);
            if rest.missed.intersects(wanted) {
                return false;
            }
            let called = rest.called.iter().filter(|(_, missed)| missed.intersects(wanted));
            work.extend(called.map(|(function, _)| *function));
        }
        true
    }

    /// Collectives without a witness in a function that whole warps call. A witness inside counts only for lanes that reach
    /// the function.
    fn unwitnessed_collectives_in_function(&mut self, function: FunctionId) -> &Unwitnessed {
        if !self.rests.contains_key(&function) {
            let wanted = self.tables.contained[function.index()].difference(self.offered_kinds(function));
            let rest = match self.body_of(function) {
                Some(body) if !wanted.is_empty() => {
                    let mut reach = OptimisticReach::new(self.facts, function, body);
                    reach.reach_entry();
                    let is_whole = reach.blocks_reached_by_whole_warps();
                    self.unwitnessed_collectives(&mut reach, body, &is_whole, wanted)
                }
                _ => Unwitnessed::default(),
            };
            self.rests.insert(function, rest);
        }
        &self.rests[&function]
    }

    /// Visits code that all lanes may reach in one function, until the result suffices.
    fn visit_until(
        &self,
        reach: &mut OptimisticReach<'a, 'm>,
        body: &'a Body<'m>,
        wanted: &mut WantedWitnesses,
        will_do: impl Fn(&WantedWitnesses) -> bool,
    ) {
        while !will_do(wanted)
            && let Some(block) = reach.take_next_block()
        {
            if self.record_collectives_of_block(reach, body, block, wanted) {
                reach.mark_end_reached(block);
            }
        }
    }

    /// Finds the collectives offered by all callees of a function, deepest callees first: a recursive function offers
    /// nothing to itself.
    fn find_kinds_offered_by_callees(&mut self, function: FunctionId) {
        let graph = self.facts.module.call_graph();
        let mut work = vec![(function, false)];
        let mut is_listed = FxHashSet::default();
        while let Some((caller, are_callees_known)) = work.pop() {
            if are_callees_known {
                if caller != function {
                    let offered = self.find_offered_kinds(caller);
                    self.offered.insert(caller, offered);
                }
            } else if is_listed.insert(caller) {
                work.push((caller, true));
                let callees = graph.calls_of(caller).iter().map(|site| site.callee);
                let is_new = |callee: &FunctionId| {
                    !self.tables.contained[callee.index()].is_empty() && !self.offered.contains_key(callee)
                };
                work.extend(callees.filter(is_new).map(|callee| (callee, false)));
            }
        }
    }

    /// Kinds of collectives that all lanes that call a function may reach, in it or in its callees.
    fn find_offered_kinds(&self, function: FunctionId) -> CollectiveKinds {
        let contained = self.tables.contained[function.index()];
        let mut wanted = WantedWitnesses::one_of_each(contained);
        if let Some(body) = self.body_of(function) {
            let mut reach = OptimisticReach::new(self.facts, function, body);
            reach.reach_entry();
            self.visit_until(&mut reach, body, &mut wanted, WantedWitnesses::is_empty);
        }
        contained.difference(wanted.kinds)
    }

    /// Cached result of [`Self::find_offered_kinds`].
    fn offered_kinds(&self, function: FunctionId) -> CollectiveKinds {
        self.offered.get(&function).copied().unwrap_or_default()
    }

    /// Collectives of `wanted` in a function that lanes may miss: not all lanes reach them together, and no witness follows
    /// a dominator where they are together. Also the functions that whole warps call. `is_whole`: the blocks that lanes of a
    /// warp reach together.
    fn unwitnessed_collectives(
        &self,
        reach: &mut OptimisticReach<'a, 'm>,
        body: &'a Body<'m>,
        is_whole: &[bool],
        wanted: CollectiveKinds,
    ) -> Unwitnessed {
        let mut rest = Unwitnessed::default();
        let mut inner: FxHashMap<BlockId, InnerSearch<'a, 'm>> = FxHashMap::default();
        let mut left = (body.instructions.len() + body.blocks.len()) / INSTRUCTIONS_PER_INNER_STEP;
        let dominators = self.facts.module.function(reach.function).dominators();
        for (number, instruction) in body.instructions.iter().enumerate() {
            let callee = self.facts.direct_callee(body, instruction);
            let mut missed = match callee {
                Some(callee) => self.tables.contained[callee.index()],
                None => CollectiveKinds::kinds_that_lanes_may_miss_at(instruction),
            };
            missed = missed.intersection(wanted);
            if missed.is_empty() {
                continue;
            }
            let id = InstructionId::new(number);
            if callee.is_none() && names_unknown_lanes(reach, body, id) {
                continue;
            }
            let guard = instruction.guard.map(|guard| guard.register);
            let block = body.block_of(id);
            if is_whole[block.index()]
                && guard.is_none_or(|guard| !reach.set_read_point(id).bound_of_register(guard).lane)
            {
                rest.called.extend(callee.map(|callee| (callee, missed)));
                continue;
            }
            for meeting in missed.single_kinds() {
                let mut above = Some(block);
                let mut has_witness = false;
                while let Some(from) =
                    above.filter(|&from| !has_witness && !reach.is_reached(from) && reach.spend_steps(1))
                {
                    if is_whole[from.index()]
                        && (inner.contains_key(&from) || inner.len() < MAX_INNER_SEARCHES)
                    {
                        let inner = inner
                            .entry(from)
                            .or_insert_with(|| self.search_from(reach, body, from, wanted));
                        inner.reach.steps_left = left;
                        has_witness = self.finds_witness(inner, body, meeting);
                        left = inner.reach.steps_left;
                    }
                    above = dominators.immediate_dominator(from);
                }
                if !has_witness {
                    rest.missed = rest.missed.union(meeting);
                    rest.places.push(id);
                }
            }
        }
        rest
    }

    /// True if lanes miss nothing at these places of a root, which lanes of one warp do not reach together, because warp 0
    /// has witnesses for all of their kinds.
    fn has_witnesses_by_warp(
        &self,
        root: FunctionId,
        body: &'a Body<'m>,
        places: Vec<InstructionId>,
    ) -> bool {
        let launch = representative_launch(self.facts.module, root, false);
        if places.is_empty() || launch.shape.is_some() {
            return places.is_empty();
        }
        let at = |id: InstructionId| CollectiveKinds::kinds_that_lanes_may_miss_at(body.instruction(id));
        let kinds = places
            .iter()
            .fold(CollectiveKinds::NONE, |all, &id| all.union(at(id)));
        // Collectives that warp 0 cannot reach need no witness.
        let first = OptimisticReach::new(self.facts, root, body).for_warp(0);
        let come_to = first
            .reachable_blocks_at_most()
            .into_iter()
            .flat_map(|block| body.block(block));
        let met = come_to.fold(CollectiveKinds::NONE, |all, (_, instruction)| {
            all.union(CollectiveKinds::kinds_that_lanes_may_miss_at(instruction))
        });
        let mut wanted = WantedWitnesses::one_of_each(met.intersection(kinds));
        wanted.places.extend(places);
        for warp in 0..launch.warp_count().min(MAX_SCREENED_WARPS) {
            let mut reach = OptimisticReach::new(self.facts, root, body).for_warp(warp);
            reach.reach_entry();
            self.visit_until(&mut reach, body, &mut wanted, WantedWitnesses::is_empty);
            if wanted.is_empty() || !wanted.kinds.is_empty() {
                break;
            }
        }
        wanted.is_empty()
    }

    /// Search from the start of a block where all lanes are.
    fn search_from(
        &self,
        reach: &OptimisticReach<'a, 'm>,
        body: &'a Body<'m>,
        block: BlockId,
        wanted: CollectiveKinds,
    ) -> InnerSearch<'a, 'm> {
        let mut reach = OptimisticReach::new(self.facts, reach.function, body);
        reach.enter_block(block);
        InnerSearch {
            reach,
            wanted: WantedWitnesses::one_of_each(wanted),
        }
    }

    /// True if there is a witness from there; the search goes no further than needed.
    fn finds_witness(
        &self,
        inner: &mut InnerSearch<'a, 'm>,
        body: &'a Body<'m>,
        meeting: CollectiveKinds,
    ) -> bool {
        let is_found = |wanted: &WantedWitnesses| !wanted.kinds.intersects(meeting);
        self.visit_until(&mut inner.reach, body, &mut inner.wanted, is_found);
        is_found(&inner.wanted)
    }

    /// Records the collectives of a block that all lanes may reach. False if some lanes may not reach its end.
    fn record_collectives_of_block(
        &self,
        reach: &mut OptimisticReach<'a, 'm>,
        body: &'a Body<'m>,
        block: BlockId,
        wanted: &mut WantedWitnesses,
    ) -> bool {
        for (id, instruction) in body.block(block) {
            if !matches!(
                instruction.op,
                Op::Collective(_, MemberMask::Operand) | Op::Barrier(_) | Op::Call(_)
            ) {
                continue;
            }
            let guard = instruction.guard.map(|guard| guard.register);
            if guard.is_none_or(|guard| reach.set_read_point(id).bound_of_register(guard).low == 0) {
                if let Op::Call(_) = instruction.op {
                    wanted.remove_found_kinds(self.kinds_offered_by_call(instruction, body));
                } else {
                    wanted.remove_found_at(id, CollectiveKinds::kinds_of_op(instruction.op));
                }
            }
            if self.facts.may_end_lanes(body, instruction) {
                return false;
            }
        }
        true
    }

    /// Kinds of collectives that all lanes that make a call may reach. Unknown code may hold any of them.
    fn kinds_offered_by_call(&self, call: &Instruction, body: &Body<'_>) -> CollectiveKinds {
        let module = self.facts.module.module;
        let is_known = |callee: &FunctionId| {
            let function = module.function(*callee);
            function.body.is_some()
                || function.noreturn
                || externs::is_provided(module.function_name(*callee))
        };
        let callee = self.facts.direct_callee(body, call).filter(is_known);
        callee.map_or(CollectiveKinds::ALL, |callee| self.offered_kinds(callee))
    }
}

/// Kinds of collectives that need a witness in one function; `None` if no witness suffices: a mask may leave lanes out,
/// lanes meet only at the same instruction on this target, or the code is incomplete.
fn kinds_needing_witness<'m>(
    facts: &ModuleFacts<'_, 'm>,
    id: FunctionId,
    function: &Function<'_>,
    body: &Body<'m>,
) -> Option<CollectiveKinds> {
    if function.is_damaged {
        return None;
    }
    let has_barrier = body.has(Rare::BARRIER) && body.instructions.iter().any(is_full_barrier);
    let mut all = if has_barrier {
        CollectiveKinds::BARRIER
    } else {
        CollectiveKinds::NONE
    };
    if body.collectives.is_empty() {
        return Some(all);
    }
    let mut reach = None;
    for &at in &body.collectives {
        let instruction = body.instruction(at);
        if let Op::Collective(_, MemberMask::Operand) = instruction.op {
            let mask = match *body.uses(instruction) {
                // Most masks are literals, and need no search.
                [Value::Integer(literal), ..] => Knowable::of_integer(literal),
                _ => bound_of_mask(
                    reach.get_or_insert_with(|| OptimisticReach::new(facts, id, body)),
                    body,
                    at,
                ),
            };
            // A set of lanes that are there does not name lanes that have left, and a shuffle may read one of them.
            let is_read = mask.is_set && matches!(instruction.op, Op::Collective(Collective::Shuffle(_), _));
            if !mask.may_name_known_lanes() && !is_read {
                continue;
            }
            if is_read || !mask.is_full_or_unknown() || !lanes_may_meet_across_instructions(facts.module) {
                return None;
            }
            all = all.union(CollectiveKinds::kinds_of_op(instruction.op));
        }
    }
    Some(all)
}

/// True if barriers, or collectives of whole warps, may cut the execution of a body into phases: there are several.
fn has_phases(body: &Body<'_>) -> bool {
    let is_barrier = |instruction: &&Instruction| matches!(instruction.op, Op::Barrier(_));
    let barriers = || body.instructions.iter().filter(is_barrier);
    if !body.has(Rare::BARRIER) {
        return body.collectives.len() > 1;
    }
    barriers_cut_phases(barriers()) && body.collectives.len() + barriers().take(2).count() > 1
}

/// Upper bound of the knowledge of a collective's mask.
fn bound_of_mask(reach: &mut OptimisticReach<'_, '_>, body: &Body<'_>, id: InstructionId) -> Knowable {
    let mask = body.uses(body.instruction(id)).first().copied();
    reach.set_read_point(id).bound_of(mask.unwrap_or(Value::Unknown))
}

/// True if an instruction is a collective with an unknown mask: nothing is definite about the lanes that it names.
fn names_unknown_lanes(reach: &mut OptimisticReach<'_, '_>, body: &Body<'_>, id: InstructionId) -> bool {
    matches!(body.instruction(id).op, Op::Collective(_, MemberMask::Operand))
        && !bound_of_mask(reach, body, id).may_name_known_lanes()
}
