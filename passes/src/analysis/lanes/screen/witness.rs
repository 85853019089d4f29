//! Kernels that need no second look: those where lanes that miss a collective may execute another one like it.
//!
//! No lane is surely missing at a collective, if it may execute one of the same kind and mask anywhere else. So one
//! that all lanes may come to, a *witness*, speaks for all of its kind: nothing is definite about any. What all lanes
//! may come to is for [`Look`] to find; that takes a look at a few branches of a kernel.
//!
//! Branches that take whole warps one way or the other are in the way of that, so what is left is looked at one by one.
//! Nothing is definite where no lane comes without the others of its warp; and where that is so further up, a witness
//! will do that all lanes may come to from there.
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
use crate::limits::{INSTRUCTIONS_PER_INNER_STEP, MAX_INNER_LOOKS, MAX_LOOK_WARPS};

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
        called: FxHashSet::default(),
        missed: FxHashSet::default(),
        entered: FxHashSet::default(),
        functions: VecDeque::new(),
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
    search.wanted.is_disjoint(&search.called) && {
        search.settle_each(&mut look, body);
        search.settle_by_warps(root, body);
        search.missed.is_empty()
    }
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
    /// What lanes may miss in other functions than the root.
    called: FxHashSet<Meeting>,
    /// Where lanes may miss in the root what is wanted, if no witness speaks for it.
    missed: FxHashSet<InstructionId>,
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
                self.collect_in(root, body, false)?;
            } else {
                self.collect_in(&mut Look::new(self.basis, function, body), body, true)?;
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
    fn collect_in(&mut self, look: &mut Look<'a, 'm>, body: &'a Body<'m>, is_called: bool) -> Option<()> {
        if self.basis.module.module.function(look.function).is_damaged {
            return None;
        }
        for &id in &body.collectives {
            let instruction = body.instruction(id);
            if let Op::Collective(kind, true) = instruction.op {
                let mask = body.uses(instruction).first().copied();
                let mask = look.before(id).kind(mask.unwrap_or(Value::Unknown));
                if mask.may_be_exact() && !mask.is_full() || !converges(self.basis.module) {
                    return None;
                }
                self.want(Meeting::Collective(kind), is_called);
            }
        }
        if body.instructions.iter().any(is_full_barrier) {
            self.want(Meeting::Barrier, is_called);
        }
        Some(())
    }

    fn want(&mut self, meeting: Meeting, is_called: bool) {
        self.wanted.insert(meeting);
        if is_called {
            self.called.insert(meeting);
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
    /// they come to from a place further up where they are.
    fn settle_each(&mut self, look: &mut Look<'a, 'm>, body: &'a Body<'m>) {
        let is_whole = look.wholes();
        let mut inner: FxHashMap<BlockId, Inner<'a, 'm>> = FxHashMap::default();
        let mut left = (body.instructions.len() + body.blocks.len()) / INSTRUCTIONS_PER_INNER_STEP;
        let dominators = self.basis.module.function(look.function).dominators();
        for (number, instruction) in body.instructions.iter().enumerate() {
            let Some(meeting) = meeting(instruction).filter(|meeting| self.wanted.contains(meeting)) else {
                continue;
            };
            let id = InstructionId::new(number);
            let guard = instruction.guard.map(|guard| guard.register);
            let block = body.block_of(id);
            if is_whole[block.index()] && guard.is_none_or(|guard| !look.before(id).register(guard).lane) {
                continue;
            }
            let mut above = Some(block);
            let mut has_witness = false;
            while let Some(from) = above.filter(|&from| !has_witness && !look.is_reached(from) && look.pay(1))
            {
                if is_whole[from.index()] && (inner.contains_key(&from) || inner.len() < MAX_INNER_LOOKS) {
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
                self.missed.insert(id);
            }
        }
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
            .filter_map(|&id| meeting(body.instruction(id)))
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
                    self.missed.remove(&id);
                }
                Op::Barrier(_) if is_open => {
                    self.wanted.remove(&Meeting::Barrier);
                    self.missed.remove(&id);
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
                if self.basis.meets[callee.index()] && self.entered.insert(callee) {
                    self.functions.push_back(callee);
                }
            }
            _ => self.wanted.clear(),
        }
    }
}
