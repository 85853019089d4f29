//! Addresses in the shared memory of a cluster that may be in the CTA's own, because `mapa` was given the own rank.
//!
//! ```text
//! own    the rank is 0, which one CTA of each cluster has; it is computed from the index of the CTA, be it `%ctaid` or
//!        `%cluster_ctarank`, or by a function that reads one; it is given elsewhere; or the use comes after a branch, or under
//!        a guard, that depends on such a register
//! ```

use super::function::Judge;
use super::judge::ViolationKind;
use super::value::Element;
use crate::entered_function::Entered;
use crate::limits::MAX_DECIDED_STEPS;
use crate::shared::Shared;
use ptxcheck_ir::{BlockId, Body, Callee, FunctionId, InstructionId, Op, Special, Value};

impl Judge<'_> {
    /// True if an address in the cluster's shared memory may be in the CTA's own after all, where it is used.
    pub(super) fn may_be_own_cta(&self, wrong: ViolationKind, element: &Element, at: InstructionId) -> bool {
        if wrong != ViolationKind::ClusterAsCta {
            return false;
        }
        let Some(origin) = element.origin else {
            return true;
        };
        let instruction = self.body.instruction(origin);
        let (Op::MapShared(_), &[_, rank]) = (instruction.op, self.body.uses(instruction)) else {
            return true;
        };
        let known =
            Entered::new(self.module, self.id, Vec::new()).and_then(|entered| entered.known_number(rank));
        known == Some(0) || may_depend_on_cta_rank(self.module, self.id, rank) || self.is_decided_by_rank(at)
    }

    /// True if a branch that leads to an instruction, or its own guard, depends on the rank of the CTA.
    fn is_decided_by_rank(&self, at: InstructionId) -> bool {
        let dominators = self.module.function(self.id).dominators();
        let above = std::iter::successors(Some(self.body.block_of(at)), |&block| {
            dominators.immediate_dominator(block)
        });
        let of_block = |block: BlockId| self.body.terminator(block).and_then(|last| last.guard);
        let own = self.body.instruction(at).guard;
        own.into_iter()
            .chain(above.skip(1).filter_map(of_block))
            .any(|guard| may_depend_on_cta_rank(self.module, self.id, Value::Register(guard.register)))
    }
}

/// True if a value may be computed from a special register that may differ from CTA to CTA, as the rank in the cluster does.
pub(crate) fn may_depend_on_cta_rank(module: &Shared<'_>, function: FunctionId, value: Value) -> bool {
    let mut left = MAX_DECIDED_STEPS;
    let mut open = vec![(function, value)];
    while let Some((function, value)) = open.pop() {
        // Too much to follow: it may be.
        let Some(fewer) = left.checked_sub(1) else {
            return true;
        };
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
        for &definition in analyses.definitions().writers_of(register) {
            let instruction = body.instruction(definition);
            let uses = body.uses(instruction).iter().copied();
            open.extend(uses.map(|value| (function, value)));
            let stored = analyses.stored_value_read_by(definition);
            open.extend(stored.map(|value| (function, value)));
            if let Op::CallResult(call) = instruction.op {
                open.extend(values_returned_by(module, body, call));
            }
        }
    }
    false
}

/// The values that the function of a call returns.
fn values_returned_by(module: &Shared<'_>, body: &Body<'_>, call: InstructionId) -> Vec<(FunctionId, Value)> {
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

#[cfg(test)]
mod tests {
    use crate::testing::with_ptx;
    use std::fmt::Write as _;

    /// True if an access to the CTA's shared memory by an address of `mapa` is definitely wrong, where the rank is `start`
    /// with 1 added `sums` times.
    fn is_access_definitely_wrong(start: &str, sums: usize) -> bool {
        let mut text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 4 .b8 tile[64];\n.visible .entry k()\n{{\n\
             .reg .b32 %r<999>;\nmov.u32 %r0, {start};\n"
        );
        for number in 0..sums {
            let _ = writeln!(text, "add.u32 %r{}, %r{number}, 1;", number + 1);
        }
        let _ = write!(
            text,
            "mov.u32 %r900, tile;\nmapa.shared::cluster.u32 %r901, %r900, %r{sums};\nld.shared.u32 %r902, [%r901];\nret;\n}}\n"
        );
        with_ptx(&text, |module| {
            let [violation] = module.violations() else {
                panic!("{text}");
            };
            violation.is_definite
        })
    }

    #[test]
    fn only_known_ranks_of_other_ctas_are_definite() {
        assert!(is_access_definitely_wrong("1", 0));
        assert!(!is_access_definitely_wrong("%cluster_ctarank", 0));
        assert!(!is_access_definitely_wrong("%cluster_ctarank", 3));
    }

    #[test]
    fn ranks_over_the_limit_may_be_the_own_rank() {
        assert!(!is_access_definitely_wrong("%cluster_ctarank", 200));
    }
}
