//! Addresses in the shared memory of a cluster that may be in the CTA's own: `mapa` was given the own rank.
//!
//! ```text
//! own    the rank is 0, which one CTA of each cluster has; it is computed from the number of the CTA, be it `%ctaid` or
//!        `%cluster_ctarank`, or by a function that reads one; it is given elsewhere; or the use stands behind a branch, or under
//!        a guard, that depends on such a register
//! ```

use super::entered::Entered;
use super::function::Judge;
use super::judge::Wrong;
use super::value::Element;
use crate::limits::MAX_DECIDED_STEPS;
use crate::shared::Shared;
use ptxcheck_ir::{BlockId, Body, Callee, FunctionId, InstructionId, Op, Special, Value};

impl Judge<'_> {
    /// True if an address in the cluster's shared memory may be in the CTA's own after all, where it is used.
    pub(super) fn may_be_own_cta(&self, wrong: Wrong, element: &Element, at: InstructionId) -> bool {
        if wrong != Wrong::ClusterAsCta {
            return false;
        }
        let Some(origin) = element.origin else {
            return true;
        };
        let instruction = self.body.instruction(origin);
        let (Op::MapShared(_), &[_, rank]) = (instruction.op, self.body.uses(instruction)) else {
            return true;
        };
        let known = Entered::of(self.module, self.id, Vec::new()).and_then(|entered| entered.known(rank));
        known == Some(0) || is_of_rank(self.module, self.id, rank) || self.is_decided_by_rank(at)
    }

    /// True if a branch that leads to an instruction, or its own guard, depends on the rank of the CTA.
    fn is_decided_by_rank(&self, at: InstructionId) -> bool {
        let dominators = self.module.function(self.id).dominators();
        let above = std::iter::successors(Some(self.body.block_of(at)), |&block| dominators.immediate(block));
        let of_block = |block: BlockId| self.body.terminator(block).and_then(|last| last.guard);
        let own = self.body.instruction(at).guard;
        own.into_iter()
            .chain(above.skip(1).filter_map(of_block))
            .any(|guard| is_of_rank(self.module, self.id, Value::Register(guard.register)))
    }
}

/// True if a value is computed from a special register that may differ from CTA to CTA, as the rank in the cluster does.
fn is_of_rank(module: &Shared<'_>, function: FunctionId, value: Value) -> bool {
    let mut left = MAX_DECIDED_STEPS;
    let mut open = vec![(function, value)];
    while let (Some((function, value)), Some(fewer)) = (open.pop(), left.checked_sub(1)) {
        left = fewer;
        let register = match value {
            Value::Special(Special::Uniform | Special::Ctaid(_) | Special::Other) => return true,
            Value::Register(register) | Value::Not(register) => register,
            _ => continue,
        };
        let Some(body) = module.module.function(function).body.as_ref() else {
            continue;
        };
        let analyses = module.function(function);
        for &definition in analyses.definitions().of(register) {
            let instruction = body.instruction(definition);
            let uses = body.uses(instruction).iter().copied();
            open.extend(uses.map(|value| (function, value)));
            if let Some(store) = analyses.store_for(definition) {
                let stored = body.uses(body.instruction(store)).get(2);
                open.extend(stored.map(|&value| (function, value)));
            }
            if let Op::CallResult(call) = instruction.op {
                open.extend(returned(module, body, call));
            }
        }
    }
    false
}

/// The values that the function of a call returns.
fn returned(module: &Shared<'_>, body: &Body<'_>, call: InstructionId) -> Vec<(FunctionId, Value)> {
    let Some(Callee::Direct(symbol)) = body.callee(body.instruction(call)) else {
        return Vec::new();
    };
    let callee = module.module.called(symbol);
    let inner = callee.and_then(|callee| Some((callee, module.module.function(callee).body.as_ref()?)));
    inner.map_or_else(Vec::new, |(callee, inner)| {
        let values = inner.iter().filter_map(|(_, one)| inner.returned(one));
        values.map(|(_, value)| (callee, value)).collect()
    })
}
