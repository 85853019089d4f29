//! Kernels that need no second look: those where lanes that miss a collective may execute another one like it.
//!
//! No lane is surely missing at a collective, if it may execute one of the same kind and mask anywhere else. So one
//! that all lanes may come to, a *witness*, speaks for all of its kind: nothing is definite about any. What all lanes
//! may come to is for [`Look`] to find; that takes a look at a few branches of a kernel.

use std::collections::VecDeque;

use rustc_hash::FxHashSet;

use super::look::{Look, may_end_lanes};
use super::reader::Reader;
use crate::analysis::lanes::converges;
use crate::analysis::lanes::verdict::is_full_barrier;
use crate::context::ModuleContext;
use crate::externs;
use crate::ir::{BlockId, Body, Callee, Collective, FunctionId, Instruction, Op, Value};

/// What lanes may miss: collectives of one kind, or barriers.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Meeting {
    Collective(Collective),
    Barrier,
}

/// Whether there is a witness for all that lanes may miss in `root` and what it calls. `meets`: the functions that
/// reach a collective or a barrier; `has_shape`: the shape of some CTA is known.
pub fn speaks_for(module: &ModuleContext<'_>, root: FunctionId, meets: &[bool], has_shape: bool) -> bool {
    let mut search = Search {
        module,
        meets,
        has_shape,
        wanted: FxHashSet::default(),
        entered: FxHashSet::from_iter([root]),
        functions: VecDeque::from([root]),
    };
    search.collect(root).is_some() && search.find()
}

struct Search<'a, 'm> {
    module: &'a ModuleContext<'m>,
    meets: &'a [bool],
    has_shape: bool,
    /// What no witness has been found for.
    wanted: FxHashSet<Meeting>,
    /// The functions that all lanes may come to, and those of them that are still to be looked at.
    entered: FxHashSet<FunctionId>,
    functions: VecDeque<FunctionId>,
}

impl<'a, 'm> Search<'a, 'm> {
    /// Lists what needs a witness; `None` if none would do, because of a mask that may leave lanes out or of a target
    /// where lanes meet at one instruction alone.
    fn collect(&mut self, root: FunctionId) -> Option<()> {
        let mut is_listed = FxHashSet::from_iter([root]);
        let mut work = vec![root];
        while let Some(function) = work.pop() {
            if self.module.module.function(function).is_damaged {
                return None;
            }
            let body = self.module.module.function(function).body.as_ref()?;
            let mut look = Look::new(self.module, function, body, self.has_shape);
            for &id in &body.collectives {
                let instruction = body.instruction(id);
                if let Op::Collective(kind, true) = instruction.op {
                    let mask = body.uses(instruction).first().copied();
                    let mask = look.before(id).kind(mask.unwrap_or(Value::Unknown));
                    if mask.may_be_exact() && !mask.is_full() {
                        return None;
                    }
                    self.wanted.insert(Meeting::Collective(kind));
                }
            }
            if !self.wanted.is_empty() && !converges(self.module) {
                return None;
            }
            if body.instructions.iter().any(is_full_barrier) {
                self.wanted.insert(Meeting::Barrier);
            }
            for call in self.module.call_graph().calls_of(function) {
                if self.meets[call.callee.index()] && is_listed.insert(call.callee) {
                    work.push(call.callee);
                }
            }
        }
        Some(())
    }

    fn find(&mut self) -> bool {
        while let Some(function) = self.functions.pop_front() {
            if let Some(body) = &self.module.module.function(function).body {
                let mut look = Look::new(self.module, function, body, self.has_shape);
                while let Some(block) = look.next_block() {
                    let is_left = self.block(&mut look, body, block);
                    if self.wanted.is_empty() {
                        return true;
                    }
                    if is_left {
                        look.go_on(block);
                    }
                }
            }
        }
        self.wanted.is_empty()
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
                }
                Op::Barrier(_) if is_open => {
                    self.wanted.remove(&Meeting::Barrier);
                }
                Op::Call(_) => {
                    if is_open {
                        self.call(instruction, body);
                    }
                    if may_end_lanes(self.module, instruction, body) {
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
        let module = self.module.module;
        let callee = match body.callee(instruction) {
            Some(Callee::Direct(symbol)) => module.called(symbol),
            _ => None,
        };
        // Code of which nothing is known may hold whatever is missed.
        let is_unknown = |callee: FunctionId| {
            let function = module.function(callee);
            function.body.is_none()
                && !function.noreturn
                && !externs::is_provided(module.function_name(callee))
        };
        match callee {
            Some(callee) if !is_unknown(callee) => {
                if self.meets[callee.index()] && self.entered.insert(callee) {
                    self.functions.push_back(callee);
                }
            }
            _ => self.wanted.clear(),
        }
    }
}
