//! The order in which a kernel may execute instructions, through calls.
//!
//! ```text
//! places(a)  in the function of a: a; in a function that calls one with a place of a: the calls
//! a → b      in some function, a path of at least one step leads from a place of a to one of b
//! ```

use ptxcheck_ir::paths::Paths;
use ptxcheck_ir::{BlockId, FunctionId, InstructionId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::kernel::AsyncKernel;
use super::sites::Site;
use crate::shared::Shared;

/// The order of instructions in one kernel.
pub(super) struct Flow<'a, 'm> {
    module: &'a Shared<'m>,
    functions: &'a [FunctionId],
}

impl<'a, 'm> Flow<'a, 'm> {
    /// The order in a kernel with all its callees.
    pub(super) fn new(module: &'a Shared<'m>, kernel: &'a AsyncKernel) -> Self {
        Self {
            module,
            functions: &kernel.functions,
        }
    }

    /// The first instruction of `from` after which `to` may be executed.
    pub(super) fn first_instruction_leading_to(&self, from: &[Site], to: Site) -> Option<Site> {
        let ends = self.instructions_leading_to(to);
        from.iter().copied().find(|&from| {
            self.instructions_leading_to(from)
                .into_iter()
                .any(|(id, starts)| {
                    let (Some(paths), Some(ends)) = (self.paths_in_function(id), ends.get(&id)) else {
                        return false;
                    };
                    let mut starts = starts.into_iter();
                    starts.any(|start| ends.iter().any(|&end| paths.lead(start, end)))
                })
        })
    }

    /// The first instruction of `from` after which `through` may be executed, which is on each path to `to` and not on each
    /// path to the first instruction itself: an instruction before `through` is ordered by it in the first round of a loop
    /// already.
    pub(super) fn first_instruction_ordered_before(
        &self,
        from: &[Site],
        through: Site,
        to: Site,
    ) -> Option<Site> {
        let ends = self.instructions_leading_to(to);
        let mut middles = self.instructions_leading_to(through);
        middles.retain(|&id, middles| {
            let (analyses, ends) = (self.module.function(id), ends.get(&id));
            let is_before = |middle, end| middle != end && analyses.is_on_every_path_to(middle, end);
            middles.retain(|&middle| ends.is_some_and(|ends| ends.iter().any(|&end| is_before(middle, end))));
            !middles.is_empty()
        });
        from.iter().copied().find(|&from| {
            self.instructions_leading_to(from)
                .into_iter()
                .any(|(id, starts)| {
                    let (Some(paths), Some(middles)) = (self.paths_in_function(id), middles.get(&id)) else {
                        return false;
                    };
                    let analyses = self.module.function(id);
                    let precedes = |start, middle| {
                        start != middle
                            && !analyses.is_on_every_path_to(middle, start)
                            && paths.lead(start, middle)
                    };
                    let mut starts = starts.into_iter();
                    starts.any(|start| middles.iter().any(|&middle| precedes(start, middle)))
                })
        })
    }

    /// True if each path of the kernel to an instruction leads through another one.
    pub(super) fn is_on_every_path(&self, through: Site, to: Site) -> bool {
        let ends = self.instructions_leading_to(to);
        let middles = self.instructions_leading_to(through);
        middles.iter().all(|(id, middles)| {
            let analyses = self.module.function(*id);
            let Some(body) = &self.module.module.function(*id).body else {
                return false;
            };
            let mut certain = middles
                .iter()
                .filter(|&&middle| body.instruction(middle).guard.is_none());
            certain.any(|&middle| match ends.get(id) {
                Some(ends) if self.module.module.function(*id).is_kernel() => {
                    ends.iter().all(|&end| analyses.is_on_every_path_to(middle, end))
                }
                // Each call of the function executes it.
                _ => analyses
                    .post_dominators()
                    .dominates(body.block_of(middle), BlockId::new(0)),
            })
        })
    }

    /// True if one thread may enter a function more than once: by several calls, or by one in a loop.
    pub(super) fn may_enter_function_again(&self, function: FunctionId) -> bool {
        let mut seen = FxHashSet::default();
        let mut function = function;
        while !self.module.module.function(function).is_kernel() {
            let calls = self.module.call_graph().calls_to(function).iter();
            let mut calls = calls.filter(|call| self.functions.contains(&call.caller));
            let (Some(call), None) = (calls.next(), calls.next()) else {
                return true;
            };
            let Some(body) = &self.module.module.function(call.caller).body else {
                return true;
            };
            if !seen.insert(function) || Paths::new(body).lead(call.instruction, call.instruction) {
                return true;
            }
            function = call.caller;
        }
        false
    }

    fn paths_in_function(&self, id: FunctionId) -> Option<Paths<'a, 'm>> {
        Some(Paths::new(self.module.module.function(id).body.as_ref()?))
    }

    /// By function: the instructions that lead to the execution of one: itself, and calls of functions with such an
    /// instruction.
    fn instructions_leading_to(
        &self,
        (function, instruction): Site,
    ) -> FxHashMap<FunctionId, Vec<InstructionId>> {
        let mut places = FxHashMap::default();
        places.insert(function, vec![instruction]);
        let mut open = vec![function];
        while let Some(id) = open.pop() {
            for call in self.module.call_graph().calls_to(id) {
                if self.functions.contains(&call.caller) {
                    let of_caller = places.entry(call.caller).or_insert_with(|| {
                        open.push(call.caller);
                        Vec::new()
                    });
                    of_caller.push(call.instruction);
                }
            }
        }
        places
    }
}
