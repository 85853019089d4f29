//! The unknown values that conditions depend on.

use ptxcheck_ir::{Body, FunctionId, Guard, InstructionId, Op, Special, Value};

use crate::Analyses;
use crate::shared::Shared;
use crate::value::{Atom, Evaluator, Linear, Source};

/// The conditions of a function.
pub(super) struct Conditions<'a, 'm> {
    body: &'a Body<'m>,
    analyses: &'a Analyses<'m>,
    sums: Evaluator<'a, 'm, Linear<'a>>,
}

impl<'a, 'm> Conditions<'a, 'm> {
    /// `None` if the function has no body.
    pub(super) fn new(module: &'a Shared<'m>, function: FunctionId) -> Option<Self> {
        let source = Source::of_function(module, function)?;
        Some(Self {
            body: source.body,
            analyses: module.function(function),
            sums: Evaluator::new(source, Linear::of_unknowns()),
        })
    }

    /// True if a guard is one comparison of sums of constants and of unknown values for all of which `allows` is true.
    pub(super) fn is_decided_by(&mut self, guard: Guard, allows: impl Fn(&Atom) -> bool) -> bool {
        let test = self.analyses.source_of_predicate(Value::Register(guard.register));
        test.is_some_and(|(test, _)| {
            let compare = self.body.instruction(test);
            matches!(compare.op, Op::Compare(..)) && {
                let operands = self.body.uses(compare);
                operands.iter().all(|&value| self.is_sum_of(value, test, &allows))
            }
        })
    }

    fn is_sum_of(&mut self, value: Value, at: InstructionId, allows: impl Fn(&Atom) -> bool) -> bool {
        self.sums.description_at_read(value, at).is_some_and(|sum| {
            let terms = self.sums.domain().terms_of(sum.parts);
            terms.iter().all(|(atom, _)| allows(atom))
        })
    }
}

/// True for a value that all threads of a block have in common.
pub(super) const fn is_common_in_block(atom: &Atom) -> bool {
    matches!(
        atom,
        Atom::Param(..)
            | Atom::Special(Special::Ctaid(_) | Special::Nctaid(_) | Special::Ntid(_) | Special::Uniform)
    )
}
