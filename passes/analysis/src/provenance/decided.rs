//! Conditions under which the instructions of a body are executed.

use super::function::Judge;
use super::summary::{Decided, Demand};
use crate::entered_function::{
    Entered, Executed, KnownArguments, blocks_with_guarded_end, execution_implies,
};
use crate::limits::MAX_CONDITION_BLOCKS;
use crate::shared::Shared;
use ptxcheck_ir::{Argument, BlockId, InstructionId};

impl Judge<'_> {
    /// True if the use in a demand is executed by a call that passes these arguments.
    pub(super) fn execution_of_demand(
        &self,
        demand: &Demand,
        arguments: &[Argument],
        call: InstructionId,
    ) -> Executed {
        if demand.is_certain {
            return Executed::Always;
        }
        let known = |argument: &Argument| {
            let (value, _) = self.solver.value_at(argument.value, call);
            let own = || Entered::new(self.module, self.id, Vec::new())?.known_number(argument.value);
            let number = value.constant().map(|number| number as u64).or_else(own)?;
            Some(((argument.param as u16, argument.offset), number))
        };
        demand.execution_with(self.module, arguments.iter().filter_map(known).collect())
    }

    /// True if an instruction is executed whenever the function is entered.
    pub(super) fn is_always_executed(&self, at: InstructionId) -> bool {
        let analyses = self.module.function(self.id);
        let block = self.body.block_of(at);
        let is_free = self.body.instruction(at).guard.is_none();
        is_free
            && analyses.post_dominators().dominates(block, BlockId::new(0))
            && blocks_with_guarded_end(self.body).all(|end| analyses.dominators().dominates(block, end))
    }

    /// The condition under which an instruction is executed.
    pub(super) fn condition_of_execution(&self, at: InstructionId) -> Decided {
        let analyses = self.module.function(self.id);
        let (dominators, post) = (analyses.dominators(), analyses.post_dominators());
        let own = self.body.block_of(at);
        let above = std::iter::successors(Some(own), |&block| {
            dominators
                .immediate_dominator(block)
                .filter(|&above| post.dominates(block, above))
        });
        Decided {
            block: above.take(MAX_CONDITION_BLOCKS).last().unwrap_or(own),
            guard: self.body.instruction(at).guard,
        }
    }

    /// True if an instruction is executed whenever an earlier one is.
    pub(super) fn execution_implies(&self, first: InstructionId, second: InstructionId) -> bool {
        execution_implies(self.body, self.module.function(self.id), first, second)
    }
}

impl Demand {
    /// True if the instruction is executed if the function is passed these arguments.
    pub(super) fn execution_with(&self, module: &Shared<'_>, mut passed: KnownArguments) -> Executed {
        let inner = (self.function, self.instruction);
        let outer = self.callers.iter().rev();
        let mut found = Executed::Always;
        for (function, at) in outer.map(|site| (site.caller, site.instruction)).chain([inner]) {
            let Some(entered) = Entered::new(module, function, passed) else {
                return Executed::Perhaps;
            };
            found = match (entered.execution_of(at), found) {
                (Executed::Never, _) => return Executed::Never,
                (Executed::Always, before) => before,
                (Executed::Perhaps, Executed::AsPassed) => Executed::AsPassed,
                (now, _) => now,
            };
            passed = entered.arguments_passed_by(at);
        }
        found
    }
}
