//! What a function does for some of its callers alone.
//!
//! ```text
//! condition   a branch on a parameter that is equal to a number, or not, of which one way leads to a use and the other
//!             does not: unoptimised code has a call of one function, with a literal, where the source picks one of its ways
//! ruled out   a demand, by a call that passes another number
//! ```

use super::aliases::copied;
use super::function::Judge;
use super::summary::{Choice, Demand};
use crate::limits::{MAX_CONDITION_BLOCKS, MAX_PREDICATE_STEPS};
use crate::predicates::{Predicates, Test};
use ptxcheck_ir::evaluate::ones;
use ptxcheck_ir::{Argument, BlockId, Condition, InstructionId, Op, Register, Value};

impl Judge<'_> {
    /// What parameters have to be where an instruction is reached, as far as that is plain.
    pub(super) fn choices(&self, at: InstructionId) -> Vec<Choice> {
        if self.module.module.function(self.id).is_kernel() {
            return Vec::new();
        }
        let analyses = self.module.function(self.id);
        let block = self.body.block_of(at);
        let blocks = std::iter::successors(Some(block), |&block| analyses.dominators().immediate(block));
        let pairs = blocks.clone().zip(blocks.skip(1)).take(MAX_CONDITION_BLOCKS);
        // Who comes from there to here, and to nothing else, comes by this edge.
        pairs
            .filter(|&(below, above)| analyses.cfg().predecessors(below) == [above])
            .flat_map(|(below, above)| self.choices_between(above, below))
            .collect()
    }

    /// What parameters are where a block goes on to another one, as far as that depends on comparisons with numbers.
    fn choices_between(&self, from: BlockId, to: BlockId) -> Vec<Choice> {
        let mut found = Vec::new();
        let last = self.body.terminator(from).filter(|last| last.op == Op::Branch);
        let (Some(guard), &[taken, other]) = (last.and_then(|last| last.guard), self.body.successors(from))
        else {
            return found;
        };
        if taken != other {
            let predicates = Predicates {
                body: self.body,
                definitions: self.module.function(self.id).definitions(),
                is_answer: |_| false,
            };
            let holds = (taken == to) != guard.negated;
            predicates.each_test(guard.register, holds, |test| found.extend(self.choice(test)));
        }
        found
    }

    /// What a parameter is where a test has its outcome.
    fn choice(&self, test: Test) -> Option<Choice> {
        let comparison = self.body.instruction(test.definition?);
        match (comparison.op, self.body.uses(comparison)) {
            (
                Op::Compare(condition @ (Condition::Equal | Condition::NotEqual), bits, _),
                &[value, Value::Integer(number), ..] | &[Value::Integer(number), value, ..],
            ) => Some(Choice {
                piece: self.parameter(value)?,
                bits,
                number: number as u64 & ones(bits),
                is_equal: test.holds == (condition == Condition::Equal),
            }),
            _ => None,
        }
    }

    /// The choices of what is called, as those of the callers of this function that it leaves them to.
    pub(super) fn left_to_callers<'d>(
        &'d self,
        demand: &'d Demand,
        arguments: &'d [Argument],
    ) -> impl Iterator<Item = Choice> + 'd {
        demand.choices.iter().filter_map(|choice| {
            let passed = arguments.iter().find(|argument| argument.passes(choice.piece))?;
            let piece = self.parameter(passed.value)?;
            Some(Choice { piece, ..*choice })
        })
    }

    /// Whether a call passes a number with which what is demanded is not reached.
    pub(super) fn is_ruled_out(&self, demand: &Demand, arguments: &[Argument]) -> bool {
        demand.choices.iter().any(|choice| {
            let passed = arguments.iter().find(|argument| argument.passes(choice.piece));
            let number = passed.and_then(|argument| self.number(argument.value));
            number
                .is_some_and(|number| (number as u64 & ones(choice.bits) == choice.number) != choice.is_equal)
        })
    }

    fn defined_once(&self, register: Register) -> Option<InstructionId> {
        let definitions = self.module.function(self.id).definitions();
        definitions.only(self.body, register)
    }

    /// The piece of a parameter that a value is.
    fn parameter(&self, value: Value) -> Option<(u16, u32)> {
        let Value::Register(register) = self.source(value) else {
            return None;
        };
        let load = self.body.instruction(self.defined_once(register)?);
        let (number, offset) = self.body.loaded_param(load)?;
        Some((number, u32::try_from(offset).ok()?))
    }

    /// The number that a value is.
    fn number(&self, value: Value) -> Option<i64> {
        match self.source(value) {
            Value::Integer(number) => Some(number),
            _ => None,
        }
    }

    /// What a value is copied from.
    fn source(&self, mut value: Value) -> Value {
        let analyses = self.module.function(self.id);
        for _ in 0..MAX_PREDICATE_STEPS {
            let definition = match value {
                Value::Register(register) => self.defined_once(register),
                _ => None,
            };
            match definition.and_then(|definition| copied(self.body, analyses, definition)) {
                Some(from) => value = from,
                None => break,
            }
        }
        value
    }
}
