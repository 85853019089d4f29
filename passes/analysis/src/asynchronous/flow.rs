//! The order in which a kernel may execute instructions, through calls.
//!
//! ```text
//! holds(f)   functions that an instruction of a set stands in, and those that call them, directly or through others
//! places(f)  in f: the instructions of the set, and the calls of functions that hold one
//! a → b      in some function, a way of at least one step leads from a place of a to one of b
//! ```

use ptxcheck_ir::paths::Paths;
use ptxcheck_ir::{FunctionId, InstructionId};
use rustc_hash::FxHashSet;

use super::kernel::AsyncKernel;
use crate::shared::Shared;

/// The order of instructions in one kernel.
pub(super) struct Flow<'a, 'm> {
    module: &'a Shared<'m>,
    functions: &'a [FunctionId],
}

impl<'a, 'm> Flow<'a, 'm> {
    /// Of a kernel with all that it calls.
    #[must_use]
    pub(super) fn new(module: &'a Shared<'m>, kernel: &'a AsyncKernel) -> Self {
        Self {
            module,
            functions: &kernel.functions,
        }
    }

    /// The first instruction of `from` behind which one of `to` may be executed.
    #[must_use]
    pub(super) fn leads(
        &self,
        from: &[(FunctionId, InstructionId)],
        to: (FunctionId, InstructionId),
    ) -> Option<(FunctionId, InstructionId)> {
        let holds_to = self.holders(to.0);
        from.iter().copied().find(|&from| {
            let holds_from = self.holders(from.0);
            self.functions.iter().any(|&id| {
                if !(holds_from.contains(&id) && holds_to.contains(&id)) {
                    return false;
                }
                let Some(body) = &self.module.module.function(id).body else {
                    return false;
                };
                let starts = self.places(id, from, &holds_from);
                let ends = self.places(id, to, &holds_to);
                starts
                    .iter()
                    .any(|&start| ends.iter().any(|&end| Paths::new(body).lead(start, end)))
            })
        })
    }

    /// The first instruction of `from` behind which `through` may be executed, which is on each way to `to` and not on each way to
    /// that one itself: what comes first is ordered by it in the first round of a loop already.
    #[must_use]
    pub(super) fn ordered(
        &self,
        from: &[(FunctionId, InstructionId)],
        through: (FunctionId, InstructionId),
        to: (FunctionId, InstructionId),
    ) -> Option<(FunctionId, InstructionId)> {
        let (holds_through, holds_to) = (self.holders(through.0), self.holders(to.0));
        from.iter().copied().find(|&from| {
            let holds_from = self.holders(from.0);
            let holds_all = |id: &&FunctionId| {
                holds_from.contains(id) && holds_through.contains(id) && holds_to.contains(id)
            };
            self.functions.iter().filter(holds_all).any(|&id| {
                let Some(body) = &self.module.module.function(id).body else {
                    return false;
                };
                let analyses = self.module.function(id);
                let starts = self.places(id, from, &holds_from);
                let middles = self.places(id, through, &holds_through);
                let ends = self.places(id, to, &holds_to);
                middles.iter().any(|&middle| {
                    ends.iter()
                        .any(|&end| middle != end && analyses.is_before(middle, end))
                        && starts.iter().any(|&start| {
                            start != middle
                                && !analyses.is_before(middle, start)
                                && Paths::new(body).lead(start, middle)
                        })
                })
            })
        })
    }

    /// True if one thread may enter a function more than once: by several calls, or by one in a loop.
    #[must_use]
    pub(super) fn enters_again(&self, function: FunctionId) -> bool {
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

    /// The functions of the kernel that an instruction of a function is executed in, or in what they call.
    fn holders(&self, function: FunctionId) -> FxHashSet<FunctionId> {
        let mut holders: FxHashSet<FunctionId> = std::iter::once(function).collect();
        let mut open = vec![function];
        while let Some(id) = open.pop() {
            for call in self.module.call_graph().calls_to(id) {
                if self.functions.contains(&call.caller) && holders.insert(call.caller) {
                    open.push(call.caller);
                }
            }
        }
        holders
    }

    fn places(
        &self,
        id: FunctionId,
        (function, instruction): (FunctionId, InstructionId),
        holders: &FxHashSet<FunctionId>,
    ) -> Vec<InstructionId> {
        let calls = self.module.call_graph().calls_of(id).iter();
        let mut places: Vec<InstructionId> = calls
            .filter(|call| holders.contains(&call.callee))
            .map(|call| call.instruction)
            .collect();
        if id == function {
            places.push(instruction);
        }
        places
    }
}
