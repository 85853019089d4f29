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

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Basis;
use super::look::Look;
use crate::analysis::lanes::verdict::is_full_barrier;
use crate::analysis::lanes::{converges, launch_of};
use crate::externs;
use crate::ir::{BlockId, Body, Collective, FunctionId, Instruction, InstructionId, Op, Value};
use crate::limits::{INSTRUCTIONS_PER_INNER_STEP, MAX_INNER_LOOKS, MAX_LOOK_WARPS, MAX_VIRTUAL_INLINE_DEPTH};

/// What lanes may miss: collectives of one kind, or barriers.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Meeting {
    Collective(Collective),
    Barrier,
}

/// What lanes may miss at an instruction.
fn meeting(instruction: &Instruction) -> Option<Meeting> {
    match instruction.op {
        Op::Collective(kind, true) => Some(Meeting::Collective(kind)),
        Op::Barrier(_) if is_full_barrier(instruction) => Some(Meeting::Barrier),
        _ => None,
    }
}

/// Whether there is a witness for all that lanes may miss in `root` and what it calls. `left`: instructions that may be
/// looked at for all roots.
pub fn speaks_for(basis: &Basis<'_, '_>, root: FunctionId, left: &mut usize) -> bool {
    let mut search = Search {
        basis,
        wanted: FxHashSet::default(),
        missed: FxHashSet::default(),
        entered: FxHashSet::default(),
        functions: VecDeque::new(),
        held: FxHashMap::default(),
        offered: FxHashMap::default(),
        is_inside: false,
        depth: 0,
    };
    let Some(body) = &basis.module.module.function(root).body else {
        return true;
    };
    let mut look = Look::new(basis, root, body);
    if search.collect(&mut look, left).is_none() {
        return false;
    }
    look.begin();
    search.follow(&mut look, body, |search| search.wanted.is_empty());
    search.follow_calls();
    if search.wanted.is_empty() {
        return true;
    }
    search.settle(&mut look, body, left) && {
        search.settle_by_warps(root, body);
        search.missed.is_empty()
    }
}

/// What an instruction does.
fn op_of(basis: &Basis<'_, '_>, function: FunctionId, id: InstructionId) -> Option<Op> {
    let body = basis.module.module.function(function).body.as_ref()?;
    Some(body.instruction(id).op)
}

/// A look that begins inside a function, and what it has not found.
struct Inner<'a, 'm> {
    look: Look<'a, 'm>,
    wanted: FxHashSet<Meeting>,
}

struct Search<'a, 'm> {
    basis: &'a Basis<'a, 'm>,
    /// What no witness has been found for.
    wanted: FxHashSet<Meeting>,
    /// By function, what lanes may miss in it and in what it calls.
    held: FxHashMap<FunctionId, FxHashSet<Meeting>>,
    /// By function, what all lanes that call it may come to.
    offered: FxHashMap<FunctionId, FxHashSet<Meeting>>,
    /// The search goes on in one function, with what is offered by those that it calls.
    is_inside: bool,
    /// Calls between here and where what is offered is looked for.
    depth: usize,
    /// Where lanes may miss in the root what is wanted, if no witness speaks for it.
    missed: FxHashSet<(FunctionId, InstructionId)>,
    /// The functions that all lanes may come to, and those of them that are still to be looked at.
    entered: FxHashSet<FunctionId>,
    functions: VecDeque<FunctionId>,
}

impl<'a, 'm> Search<'a, 'm> {
    /// Lists what needs a witness in a root and what it calls; `None` if none would do.
    fn collect(&mut self, root: &mut Look<'a, 'm>, left: &mut usize) -> Option<()> {
        let mut is_listed = FxHashSet::from_iter([root.function]);
        let mut work = vec![root.function];
        while let Some(function) = work.pop() {
            let body = self.basis.module.module.function(function).body.as_ref()?;
            *left = left.checked_sub(body.instructions.len())?;
            if function == root.function {
                self.collect_in(root, body)?;
            } else {
                self.collect_in(&mut Look::new(self.basis, function, body), body)?;
            }
            for call in self.basis.module.call_graph().calls_of(function) {
                if self.basis.meets[call.callee.index()] && is_listed.insert(call.callee) {
                    work.push(call.callee);
                }
            }
        }
        Some(())
    }

    /// The same in one function. No witness will do for a mask that may leave lanes out, nor on a target where lanes
    /// meet at one instruction alone.
    fn collect_in(&mut self, look: &mut Look<'a, 'm>, body: &'a Body<'m>) -> Option<()> {
        if self.basis.module.module.function(look.function).is_damaged {
            return None;
        }
        for &id in &body.collectives {
            let instruction = body.instruction(id);
            if let Op::Collective(kind, true) = instruction.op {
                let mask = body.uses(instruction).first().copied();
                let mask = look.before(id).kind(mask.unwrap_or(Value::Unknown));
                // Of lanes that an unknown mask names, nothing is definite.
                if !mask.may_be_exact() {
                    continue;
                }
                if !mask.is_full() || !converges(self.basis.module) {
                    return None;
                }
                self.want(look.function, Meeting::Collective(kind));
            }
        }
        if body.instructions.iter().any(is_full_barrier) {
            self.want(look.function, Meeting::Barrier);
        }
        Some(())
    }

    fn want(&mut self, function: FunctionId, meeting: Meeting) {
        self.wanted.insert(meeting);
        self.held.entry(function).or_default().insert(meeting);
    }

    /// Adds what functions hold to what those hold that call them.
    fn hand_up(&mut self) {
        let mut open: Vec<FunctionId> = self.held.keys().copied().collect();
        while let Some(function) = open.pop() {
            let held = self.held[&function].clone();
            for site in self.basis.module.call_graph().calls_to(function) {
                let of_caller = self.held.entry(site.caller).or_default();
                let before = of_caller.len();
                of_caller.extend(&held);
                if of_caller.len() > before {
                    open.push(site.caller);
                }
            }
        }
    }

    /// Goes through what all lanes may come to in one function, until that will do.
    fn follow(&mut self, look: &mut Look<'a, 'm>, body: &'a Body<'m>, will_do: impl Fn(&Self) -> bool) {
        while !will_do(self)
            && let Some(block) = look.next_block()
        {
            if self.block(look, body, block) {
                look.go_on(block);
            }
        }
    }

    /// The same for the functions that all lanes may call.
    fn follow_calls(&mut self) {
        while let Some(function) = self.functions.pop_front() {
            if let Some(body) = &self.basis.module.module.function(function).body {
                let mut look = Look::new(self.basis, function, body);
                look.begin();
                self.follow(&mut look, body, |search| search.wanted.is_empty());
            }
        }
    }

    /// Lists what is still wanted in the root and neither is come to by all lanes together, nor has a witness in what
    /// they come to from a place further up where they are. False if there is such a thing in what the root calls.
    fn settle(&mut self, root: &mut Look<'a, 'm>, body: &'a Body<'m>, left: &mut usize) -> bool {
        self.hand_up();
        let of = |function: &FunctionId| &self.basis.module.module.function(*function).body;
        let bodies = self.held.keys().filter_map(|function| of(function).as_ref());
        let Some(rest) = left.checked_sub(bodies.map(|body| body.instructions.len()).sum()) else {
            return false;
        };
        *left = rest;
        self.is_inside = true;
        let mut called = self.settle_each(root, body);
        let mut is_settled = FxHashSet::default();
        while let Some(function) = called.pop() {
            if !is_settled.insert(function) {
                continue;
            }
            let Some(body) = &self.basis.module.module.function(function).body else {
                continue;
            };
            // What all lanes that come may come to speaks for its kind here, not for those that do not come.
            let offered = self.offers(function);
            let wanted = self.wanted.clone();
            self.wanted.retain(|meeting| !offered.contains(meeting));
            let mut look = Look::new(self.basis, function, body);
            look.begin();
            called.extend(self.settle_each(&mut look, body));
            self.wanted = wanted;
        }
        self.is_inside = false;
        self.missed.iter().all(|(function, id)| {
            let is_call = matches!(op_of(self.basis, *function, *id), Some(Op::Call(_)));
            *function == root.function && !is_call
        })
    }

    /// The same in one function, which all lanes come to together. What whole warps call there is left to look at.
    fn settle_each(&mut self, look: &mut Look<'a, 'm>, body: &'a Body<'m>) -> Vec<FunctionId> {
        let mut called = Vec::new();
        if self.wanted.is_empty() {
            return called;
        }
        let is_whole = look.wholes();
        let mut inner: FxHashMap<BlockId, Inner<'a, 'm>> = FxHashMap::default();
        let mut left = (body.instructions.len() + body.blocks.len()) / INSTRUCTIONS_PER_INNER_STEP;
        let dominators = self.basis.module.function(look.function).dominators();
        for (number, instruction) in body.instructions.iter().enumerate() {
            let callee = self.basis.callee(body, instruction);
            let mut meetings: Vec<Meeting> = match (meeting(instruction), callee) {
                (Some(meeting), _) => vec![meeting],
                (_, Some(callee)) => self.held.get(&callee).into_iter().flatten().copied().collect(),
                _ => continue,
            };
            meetings.retain(|meeting| self.wanted.contains(meeting));
            if meetings.is_empty() {
                continue;
            }
            let id = InstructionId::new(number);
            let guard = instruction.guard.map(|guard| guard.register);
            let block = body.block_of(id);
            if is_whole[block.index()] && guard.is_none_or(|guard| !look.before(id).register(guard).lane) {
                called.extend(callee);
                continue;
            }
            for meeting in meetings {
                let mut above = Some(block);
                let mut has_witness = false;
                while let Some(from) =
                    above.filter(|&from| !has_witness && !look.is_reached(from) && look.pay(1))
                {
                    if is_whole[from.index()] && (inner.contains_key(&from) || inner.len() < MAX_INNER_LOOKS)
                    {
                        let inner = inner
                            .entry(from)
                            .or_insert_with(|| self.look_from(look, body, from));
                        inner.look.steps_left = left;
                        has_witness = self.finds(inner, body, meeting);
                        left = inner.look.steps_left;
                    }
                    above = dominators.immediate(from);
                }
                if !has_witness {
                    self.missed.insert((look.function, id));
                }
            }
        }
        called
    }

    /// What all lanes that call a function may come to in it and in what it calls.
    fn offers(&mut self, function: FunctionId) -> FxHashSet<Meeting> {
        if let Some(known) = self.offered.get(&function) {
            return known.clone();
        }
        if self.depth == MAX_VIRTUAL_INLINE_DEPTH {
            return FxHashSet::default();
        }
        // A function that calls itself offers nothing to itself.
        self.offered.insert(function, FxHashSet::default());
        let held = self.held.get(&function).cloned().unwrap_or_default();
        let mut offered = held.clone();
        if let Some(body) = &self.basis.module.module.function(function).body {
            let wanted = std::mem::replace(&mut self.wanted, held);
            let mut look = Look::new(self.basis, function, body);
            look.begin();
            self.depth += 1;
            self.follow(&mut look, body, |search| search.wanted.is_empty());
            self.depth -= 1;
            let missing = std::mem::replace(&mut self.wanted, wanted);
            offered.retain(|meeting| !missing.contains(meeting));
        }
        self.offered.insert(function, offered.clone());
        offered
    }

    /// Takes from what is missed the places that all lanes of one warp may come to, if warp 0 has witnesses for all.
    fn settle_by_warps(&mut self, root: FunctionId, body: &'a Body<'m>) {
        let launch = launch_of(self.basis.module, root, false);
        if launch.shape.is_some() {
            return;
        }
        let kinds: FxHashSet<Meeting> = self
            .missed
            .iter()
            .filter_map(|&(_, id)| meeting(body.instruction(id)))
            .collect();
        // In warp 0, what it cannot come to needs no witness.
        let first = Look::new(self.basis, root, body).in_warp(0);
        self.wanted.clear();
        for block in first.at_most() {
            let met = body
                .block(block)
                .filter_map(|(_, instruction)| meeting(instruction));
            self.wanted.extend(met.filter(|meeting| kinds.contains(meeting)));
        }
        for warp in 0..launch.warps().min(MAX_LOOK_WARPS) {
            if self.missed.is_empty() {
                return;
            }
            let mut look = Look::new(self.basis, root, body).in_warp(warp);
            look.begin();
            self.follow(&mut look, body, |search| {
                search.wanted.is_empty() && search.missed.is_empty()
            });
            if !self.wanted.is_empty() {
                return;
            }
        }
    }

    /// A look where all lanes are at the beginning of a block.
    fn look_from(&self, look: &Look<'a, 'm>, body: &'a Body<'m>, block: BlockId) -> Inner<'a, 'm> {
        let mut look = Look::new(self.basis, look.function, body);
        look.enter(block);
        let wanted = self.wanted.clone();
        Inner { look, wanted }
    }

    /// Whether there is a witness from there; the look goes no further than it has to.
    fn finds(&mut self, inner: &mut Inner<'a, 'm>, body: &'a Body<'m>, meeting: Meeting) -> bool {
        std::mem::swap(&mut self.wanted, &mut inner.wanted);
        self.follow(&mut inner.look, body, |search| !search.wanted.contains(&meeting));
        std::mem::swap(&mut self.wanted, &mut inner.wanted);
        !inner.wanted.contains(&meeting)
    }

    /// Takes what is found in a block that all lanes may come to. False if some may not come to its end.
    fn block(&mut self, look: &mut Look<'a, 'm>, body: &'a Body<'m>, block: BlockId) -> bool {
        for (id, instruction) in body.block(block) {
            if !matches!(
                instruction.op,
                Op::Collective(_, true) | Op::Barrier(_) | Op::Call(_)
            ) {
                continue;
            }
            let guard = instruction.guard.map(|guard| guard.register);
            let is_open = guard.is_none_or(|guard| look.before(id).register(guard).low == 0);
            match instruction.op {
                Op::Collective(kind, _) if is_open => {
                    self.wanted.remove(&Meeting::Collective(kind));
                    self.missed.remove(&(look.function, id));
                }
                Op::Barrier(_) if is_open => {
                    self.wanted.remove(&Meeting::Barrier);
                    self.missed.remove(&(look.function, id));
                }
                Op::Call(_) => {
                    if is_open {
                        self.call(instruction, body);
                    }
                    if self.basis.may_end_lanes(body, instruction) {
                        return false;
                    }
                }
                _ => {}
            }
        }
        true
    }

    /// A call that all lanes may make.
    fn call(&mut self, instruction: &Instruction, body: &Body<'_>) {
        let module = self.basis.module.module;
        let callee = self.basis.callee(body, instruction);
        // Code of which nothing is known may hold whatever is missed.
        let is_unknown = |callee: FunctionId| {
            let function = module.function(callee);
            function.body.is_none()
                && !function.noreturn
                && !externs::is_provided(module.function_name(callee))
        };
        match callee {
            Some(callee) if !is_unknown(callee) => {
                if !self.basis.meets[callee.index()] {
                    return;
                }
                if self.is_inside {
                    let offered = self.offers(callee);
                    self.wanted.retain(|meeting| !offered.contains(meeting));
                } else if self.entered.insert(callee) {
                    self.functions.push_back(callee);
                }
            }
            _ => self.wanted.clear(),
        }
    }
}
