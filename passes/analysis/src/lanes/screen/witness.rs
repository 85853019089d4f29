//! Kernels that need no second look: those where lanes that miss a collective may execute another one like it.
//!
//! No lane is surely missing at a collective, if it may execute one of the same kind and mask anywhere else. So one
//! that all lanes may come to, a *witness*, speaks for all of its kind: nothing is definite about any. What all lanes
//! may come to is for [`Look`] to find; that takes a look at a few branches of a kernel.
//!
//! Branches that take whole warps one way or the other are in the way of that, so what is left is looked at one by one.
//! Nothing is definite where no lane comes without the others of its warp; and where that is so further up, a witness
//! will do that all lanes may come to from there. A call is looked at like what may be missed in the function called; and
//! that function, where whole warps call it, like a root.
//!
//! Last, single warps. Where the shape of CTAs is not known, only warp 0 is in all launches, so what is not definite there
//! and in one more warp that comes by is not definite at all.

use rustc_hash::{FxHashMap, FxHashSet};

use super::basis::Basis;
use super::kind::Kind;
use super::look::Look;
use super::meetings::{Meetings, Wanted};
use crate::lanes::graph::{cut_phases, is_full_barrier};
use crate::lanes::launch::{converges, launch_of};
use crate::limits::{INSTRUCTIONS_PER_INNER_STEP, MAX_INNER_LOOKS, MAX_LOOK_WARPS, MAX_SCREEN_STEPS};
use ptxcheck_common::externs;
use ptxcheck_ir::{BlockId, Body, Function, FunctionId, Instruction, InstructionId, Op, Rare, Value};

/// The search in a module: what has been found of a function is known to all that call it.
pub(super) struct Search<'a, 'm> {
    basis: &'a Basis<'a, 'm>,
    /// By function: what lanes may miss in it and in what it calls.
    held: Vec<Meetings>,
    /// By function: no witness will do for something there.
    is_open: Vec<bool>,
    /// By function: what all lanes that call it may come to.
    offered: FxHashMap<FunctionId, Meetings>,
    /// By function: what is left to look at where all lanes come to it together.
    rests: FxHashMap<FunctionId, Rest>,
    /// Functions that may still be looked up for those that call them.
    left: usize,
}

/// What has no witness in a function that all lanes come to together.
#[derive(Default)]
struct Rest {
    /// What lanes may miss.
    missed: Meetings,
    /// Where.
    places: Vec<InstructionId>,
    /// Functions that whole warps call, and what lanes may miss there.
    called: Vec<(FunctionId, Meetings)>,
}

/// A look that begins inside a function, and what it has not found.
struct Inner<'a, 'm> {
    look: Look<'a, 'm>,
    wanted: Wanted,
}

impl<'a, 'm> Search<'a, 'm> {
    /// Nothing has been looked for. `holds`: the functions with collectives or barriers.
    pub(super) fn new(basis: &'a Basis<'a, 'm>, holds: &[bool]) -> Self {
        let functions = &basis.module.module.functions;
        let mut held = vec![Meetings::NONE; functions.len()];
        let mut is_open = vec![false; functions.len()];
        let bodies = basis.module.module.bodies();
        for (id, function, body) in bodies.filter(|(id, ..)| holds[id.index()]) {
            let own = own(basis, id, function, body);
            held[id.index()] = own.unwrap_or_default();
            is_open[id.index()] = own.is_none();
        }
        let graph = basis.module.call_graph();
        graph.mark_callers(&mut is_open);
        let mut work: Vec<usize> = (0..held.len()).filter(|&id| !held[id].is_empty()).collect();
        while let Some(function) = work.pop() {
            let own = held[function];
            for site in graph.calls_to(FunctionId::new(function)) {
                let of_caller = &mut held[site.caller.index()];
                if !of_caller.has_all(own) {
                    *of_caller = of_caller.with(own);
                    work.push(site.caller.index());
                }
            }
        }
        Self {
            basis,
            held,
            is_open,
            offered: FxHashMap::default(),
            rests: FxHashMap::default(),
            left: MAX_SCREEN_STEPS,
        }
    }

    /// Whether there is a witness for all that lanes may miss in `root` and what it calls.
    pub(super) fn speaks_for(&mut self, root: FunctionId) -> bool {
        let Some(body) = self.body(root) else {
            return true;
        };
        if self.is_open[root.index()] {
            return false;
        }
        self.look_into_callees(root);
        let mut look = Look::new(self.basis, root, body);
        look.begin();
        let mut wanted = Wanted::all(self.held[root.index()]);
        self.follow(&mut look, body, &mut wanted, Wanted::is_empty);
        let asks_for_phases =
            !body.collectives.is_empty() && has_phases(body) && converges(self.basis.module);
        if wanted.is_empty() && !asks_for_phases {
            return true;
        }
        let is_whole = look.wholes();
        if asks_for_phases && !self.speaks_in_phases(&mut look, root, body, &is_whole) {
            return false;
        }
        if wanted.is_empty() {
            return true;
        }
        let wanted = wanted.meetings;
        let rest = self.rest(&mut look, body, &is_whole, wanted);
        if !self.speaks_for_called(&rest.called, wanted) {
            return false;
        }
        let is_call = |&id: &InstructionId| matches!(body.instruction(id).op, Op::Call(_));
        !rest.places.iter().any(is_call) && self.speaks_by_warps(root, body, rest.places)
    }

    /// Whether all collectives of a root that only some lanes of a warp come to have a witness between the same barriers: lanes
    /// that wait at one are not met by those that are kept from it by a barrier (see `verdict/phases.rs`). Only what stands in
    /// the root itself is looked at.
    fn speaks_in_phases(
        &self,
        look: &mut Look<'a, 'm>,
        root: FunctionId,
        body: &'a Body<'m>,
        is_whole: &[bool],
    ) -> bool {
        let dominators = self.basis.module.function(root).dominators();
        let mut offered: FxHashMap<(BlockId, Option<InstructionId>), Meetings> = FxHashMap::default();
        for &id in &body.collectives {
            let (instruction, block) = (body.instruction(id), body.block_of(id));
            let guard = instruction.guard.map(|guard| guard.register);
            let is_missed =
                !is_whole[block.index()] || guard.is_some_and(|guard| look.before(id).register(guard).lane);
            if !is_missed || Meetings::at(instruction).is_empty() || names_unknown_lanes(look, body, id) {
                continue;
            }
            let mut above = Some((block, last_barrier(body, block, Some(id))));
            let has_witness = std::iter::from_fn(|| {
                let (from, barrier) = above?;
                let next = || {
                    dominators
                        .immediate(from)
                        .map(|from| (from, last_barrier(body, from, None)))
                };
                above = if barrier.is_some() { None } else { next() };
                Some((from, barrier))
            })
            .filter(|(from, _)| is_whole[from.index()])
            .any(|(from, barrier)| {
                let offered = offered
                    .entry((from, barrier))
                    .or_insert_with(|| self.offered_in_phase(root, body, from, barrier));
                offered.has_all(Meetings::at(instruction))
            });
            if !has_witness {
                return false;
            }
        }
        true
    }

    /// What all lanes may come to that are together in `from`, behind a barrier there or from its begin on, before they pass
    /// another barrier.
    fn offered_in_phase(
        &self,
        root: FunctionId,
        body: &'a Body<'m>,
        from: BlockId,
        barrier: Option<InstructionId>,
    ) -> Meetings {
        let in_phase = |block: BlockId| {
            let is_behind =
                move |id: InstructionId| block != from || barrier.is_none_or(|barrier| id > barrier);
            let after = body.block(block).filter(move |(id, _)| is_behind(*id));
            after.take_while(|(_, instruction)| !is_full_barrier(instruction))
        };
        let goes_on = |block: BlockId| {
            let last = in_phase(block).last().map(|(id, _)| id);
            last == body.block(block).last().map(|(id, _)| id)
        };
        let mut reached = FxHashSet::from_iter([from]);
        let mut work = vec![from];
        while let Some(block) = work.pop() {
            if goes_on(block) {
                let next = body.successors(block).iter().copied();
                work.extend(next.filter(|next| reached.insert(*next)));
            }
        }
        let mut look = Look::new(self.basis, root, body);
        look.enter(from);
        let mut found = Meetings::NONE;
        while let Some(block) = look.next_block() {
            if !reached.contains(&block) {
                continue;
            }
            let mut may_end = false;
            for (id, instruction) in in_phase(block) {
                let guard = instruction.guard.map(|guard| guard.register);
                if guard.is_none_or(|guard| look.before(id).register(guard).low == 0) {
                    found = found.with(match instruction.op {
                        Op::Call(_) => self.offered_by(instruction, body),
                        _ => Meetings::of(instruction.op),
                    });
                }
                may_end |= self.basis.may_end_lanes(body, instruction);
            }
            if !may_end && goes_on(block) {
                look.go_on(block);
            }
        }
        found
    }

    fn body(&self, function: FunctionId) -> Option<&'a Body<'m>> {
        self.basis.module.module.function(function).body.as_ref()
    }

    /// Whether functions that whole warps call, and those that they call, need no second look for any of `wanted`.
    fn speaks_for_called(&mut self, called: &[(FunctionId, Meetings)], wanted: Meetings) -> bool {
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
            let rest = self.rest_of(function);
            if rest.missed.has_any(wanted) {
                return false;
            }
            let called = rest.called.iter().filter(|(_, missed)| missed.has_any(wanted));
            work.extend(called.map(|(function, _)| *function));
        }
        true
    }

    /// What is left of a function that whole warps call. What all lanes that come may come to speaks for its kind here,
    /// not for those that do not come.
    fn rest_of(&mut self, function: FunctionId) -> &Rest {
        if !self.rests.contains_key(&function) {
            let wanted = self.held[function.index()].without(self.offers(function));
            let rest = match self.body(function) {
                Some(body) if !wanted.is_empty() => {
                    let mut look = Look::new(self.basis, function, body);
                    look.begin();
                    let is_whole = look.wholes();
                    self.rest(&mut look, body, &is_whole, wanted)
                }
                _ => Rest::default(),
            };
            self.rests.insert(function, rest);
        }
        &self.rests[&function]
    }

    /// Goes through what all lanes may come to in one function, until that will do.
    fn follow(
        &self,
        look: &mut Look<'a, 'm>,
        body: &'a Body<'m>,
        wanted: &mut Wanted,
        will_do: impl Fn(&Wanted) -> bool,
    ) {
        while !will_do(wanted)
            && let Some(block) = look.next_block()
        {
            if self.block(look, body, block, wanted) {
                look.go_on(block);
            }
        }
    }

    /// Looks for what is offered by all that a function calls, callees first: one that calls itself offers nothing to
    /// itself.
    fn look_into_callees(&mut self, function: FunctionId) {
        let graph = self.basis.module.call_graph();
        let mut work = vec![(function, false)];
        let mut is_listed = FxHashSet::default();
        while let Some((caller, are_callees_known)) = work.pop() {
            if are_callees_known {
                if caller != function {
                    let offered = self.look_for_offers(caller);
                    self.offered.insert(caller, offered);
                }
            } else if is_listed.insert(caller) {
                work.push((caller, true));
                let callees = graph.calls_of(caller).iter().map(|site| site.callee);
                let is_new = |callee: &FunctionId| {
                    !self.held[callee.index()].is_empty() && !self.offered.contains_key(callee)
                };
                work.extend(callees.filter(is_new).map(|callee| (callee, false)));
            }
        }
    }

    /// What all lanes that call a function may come to in it and in what it calls.
    fn look_for_offers(&self, function: FunctionId) -> Meetings {
        let held = self.held[function.index()];
        let mut wanted = Wanted::all(held);
        if let Some(body) = self.body(function) {
            let mut look = Look::new(self.basis, function, body);
            look.begin();
            self.follow(&mut look, body, &mut wanted, Wanted::is_empty);
        }
        held.without(wanted.meetings)
    }

    /// What has been found of that.
    fn offers(&self, function: FunctionId) -> Meetings {
        self.offered.get(&function).copied().unwrap_or_default()
    }

    /// What of `wanted` in a function is neither come to by all lanes together, nor has a witness in what they come to
    /// from a place further up where they are; and what whole warps call. `is_whole`: the blocks that lanes of a warp come to
    /// together.
    fn rest(&self, look: &mut Look<'a, 'm>, body: &'a Body<'m>, is_whole: &[bool], wanted: Meetings) -> Rest {
        let mut rest = Rest::default();
        let mut inner: FxHashMap<BlockId, Inner<'a, 'm>> = FxHashMap::default();
        let mut left = (body.instructions.len() + body.blocks.len()) / INSTRUCTIONS_PER_INNER_STEP;
        let dominators = self.basis.module.function(look.function).dominators();
        for (number, instruction) in body.instructions.iter().enumerate() {
            let callee = self.basis.callee(body, instruction);
            let mut missed = match callee {
                Some(callee) => self.held[callee.index()],
                None => Meetings::at(instruction),
            };
            missed = missed.and(wanted);
            if missed.is_empty() {
                continue;
            }
            let id = InstructionId::new(number);
            if callee.is_none() && names_unknown_lanes(look, body, id) {
                continue;
            }
            let guard = instruction.guard.map(|guard| guard.register);
            let block = body.block_of(id);
            if is_whole[block.index()] && guard.is_none_or(|guard| !look.before(id).register(guard).lane) {
                rest.called.extend(callee.map(|callee| (callee, missed)));
                continue;
            }
            for meeting in missed.each() {
                let mut above = Some(block);
                let mut has_witness = false;
                while let Some(from) =
                    above.filter(|&from| !has_witness && !look.is_reached(from) && look.pay(1))
                {
                    if is_whole[from.index()] && (inner.contains_key(&from) || inner.len() < MAX_INNER_LOOKS)
                    {
                        let inner = inner
                            .entry(from)
                            .or_insert_with(|| self.look_from(look, body, from, wanted));
                        inner.look.steps_left = left;
                        has_witness = self.finds(inner, body, meeting);
                        left = inner.look.steps_left;
                    }
                    above = dominators.immediate(from);
                }
                if !has_witness {
                    rest.missed = rest.missed.with(meeting);
                    rest.places.push(id);
                }
            }
        }
        rest
    }

    /// Whether lanes miss nothing at any of these places of a root that lanes of one warp do not come to together, and
    /// warp 0 has witnesses for all of their kinds.
    fn speaks_by_warps(&self, root: FunctionId, body: &'a Body<'m>, places: Vec<InstructionId>) -> bool {
        let launch = launch_of(self.basis.module, root, false);
        if places.is_empty() || launch.shape.is_some() {
            return places.is_empty();
        }
        let at = |id: InstructionId| Meetings::at(body.instruction(id));
        let kinds = places.iter().fold(Meetings::NONE, |all, &id| all.with(at(id)));
        // In warp 0, what it cannot come to needs no witness.
        let first = Look::new(self.basis, root, body).in_warp(0);
        let come_to = first.at_most().into_iter().flat_map(|block| body.block(block));
        let met = come_to.fold(Meetings::NONE, |all, (_, instruction)| {
            all.with(Meetings::at(instruction))
        });
        let mut wanted = Wanted::all(met.and(kinds));
        wanted.places.extend(places);
        for warp in 0..launch.warps().min(MAX_LOOK_WARPS) {
            let mut look = Look::new(self.basis, root, body).in_warp(warp);
            look.begin();
            self.follow(&mut look, body, &mut wanted, Wanted::is_empty);
            if wanted.is_empty() || !wanted.meetings.is_empty() {
                break;
            }
        }
        wanted.is_empty()
    }

    /// A look where all lanes are at the beginning of a block.
    fn look_from(
        &self,
        look: &Look<'a, 'm>,
        body: &'a Body<'m>,
        block: BlockId,
        wanted: Meetings,
    ) -> Inner<'a, 'm> {
        let mut look = Look::new(self.basis, look.function, body);
        look.enter(block);
        Inner {
            look,
            wanted: Wanted::all(wanted),
        }
    }

    /// Whether there is a witness from there; the look goes no further than it has to.
    fn finds(&self, inner: &mut Inner<'a, 'm>, body: &'a Body<'m>, meeting: Meetings) -> bool {
        let is_found = |wanted: &Wanted| !wanted.meetings.has_any(meeting);
        self.follow(&mut inner.look, body, &mut inner.wanted, is_found);
        is_found(&inner.wanted)
    }

    /// Takes what is found in a block that all lanes may come to. False if some may not come to its end.
    fn block(
        &self,
        look: &mut Look<'a, 'm>,
        body: &'a Body<'m>,
        block: BlockId,
        wanted: &mut Wanted,
    ) -> bool {
        for (id, instruction) in body.block(block) {
            if !matches!(
                instruction.op,
                Op::Collective(_, true) | Op::Barrier(_) | Op::Call(_)
            ) {
                continue;
            }
            let guard = instruction.guard.map(|guard| guard.register);
            if guard.is_none_or(|guard| look.before(id).register(guard).low == 0) {
                if let Op::Call(_) = instruction.op {
                    wanted.found(self.offered_by(instruction, body));
                } else {
                    wanted.found_at(id, Meetings::of(instruction.op));
                }
            }
            if self.basis.may_end_lanes(body, instruction) {
                return false;
            }
        }
        true
    }

    /// What all lanes that make a call may come to. Code of which nothing is known may hold whatever is missed.
    fn offered_by(&self, call: &Instruction, body: &Body<'_>) -> Meetings {
        let module = self.basis.module.module;
        let is_known = |callee: &FunctionId| {
            let function = module.function(*callee);
            function.body.is_some()
                || function.noreturn
                || externs::is_provided(module.function_name(*callee))
        };
        let callee = self.basis.callee(body, call).filter(is_known);
        callee.map_or(Meetings::ALL, |callee| self.offers(callee))
    }
}

/// What needs a witness in one function; `None` if none would do: for a mask that may leave lanes out, on a target where
/// lanes meet at one instruction alone, and for code that is not whole.
fn own<'m>(
    basis: &Basis<'_, 'm>,
    id: FunctionId,
    function: &Function<'_>,
    body: &Body<'m>,
) -> Option<Meetings> {
    if function.is_damaged {
        return None;
    }
    let has_barrier = body.has(Rare::BARRIER) && body.instructions.iter().any(is_full_barrier);
    let mut all = if has_barrier {
        Meetings::BARRIER
    } else {
        Meetings::NONE
    };
    if body.collectives.is_empty() {
        return Some(all);
    }
    let mut look = None;
    for &at in &body.collectives {
        let instruction = body.instruction(at);
        if let Op::Collective(_, true) = instruction.op {
            let mask = match *body.uses(instruction) {
                // Most are, and need no look.
                [Value::Integer(literal), ..] => Kind::of_integer(literal),
                _ => mask(look.get_or_insert_with(|| Look::new(basis, id, body)), body, at),
            };
            if !mask.may_tell_lanes() {
                continue;
            }
            if !mask.is_full() || !converges(basis.module) {
                return None;
            }
            all = all.with(Meetings::of(instruction.op));
        }
    }
    Some(all)
}

/// Whether barriers cut what a body does into phases.
fn has_phases(body: &Body<'_>) -> bool {
    let is_barrier = |instruction: &&Instruction| matches!(instruction.op, Op::Barrier(_));
    body.has(Rare::BARRIER) && cut_phases(body.instructions.iter().filter(is_barrier))
}

/// The last barrier of a block that waits for all threads, before an instruction if one is given.
fn last_barrier(body: &Body<'_>, block: BlockId, before: Option<InstructionId>) -> Option<InstructionId> {
    let barriers = body
        .block(block)
        .filter(|(_, instruction)| is_full_barrier(instruction));
    let barriers = barriers.map(|(id, _)| id);
    barriers
        .take_while(|id| before.is_none_or(|before| *id < before))
        .last()
}

/// What may be known of a collective's mask.
fn mask(look: &mut Look<'_, '_>, body: &Body<'_>, id: InstructionId) -> Kind {
    let mask = body.uses(body.instruction(id)).first().copied();
    look.before(id).kind(mask.unwrap_or(Value::Unknown))
}

/// Whether an instruction is a collective of whose mask nothing is known: of lanes that it names, nothing is definite.
fn names_unknown_lanes(look: &mut Look<'_, '_>, body: &Body<'_>, id: InstructionId) -> bool {
    matches!(body.instruction(id).op, Op::Collective(_, true)) && !mask(look, body, id).may_tell_lanes()
}
