//! The threads that execute an instruction: the comparisons that hold whenever control comes there.
//!
//! ```text
//! holds(t, x)     each path to x passes t, and only those with one outcome of t lead on to x without passing t again
//! pinned          a comparison for equality of something with thread numbers and something without: one thread passes
//! claimed         a comparison for equality of what an atomic has returned, or of shared memory: a lock, the last block, a claim
//! ```

use rustc_hash::FxHashMap;

use super::origin::{Origin, Origins, Set, number, property};
use crate::function::Analyses;
use crate::limits::MAX_CONTENTION_GUARDS;
use crate::predicates::{Predicates, Test};
use crate::value::Evaluator;
use ptxcheck_ir::ops::Form;
use ptxcheck_ir::paths::Paths;
use ptxcheck_ir::{BlockId, Body, Collective, Condition, InstructionId, Op, Register, Value, WARP};

/// A comparison that restricts the threads.
#[derive(Clone, Debug)]
pub(super) enum Restriction {
    /// Two values are equal, or, if `false`, differ.
    Equal(Option<Origin>, Option<Origin>, bool),
    /// A value is below the number of threads of a warp.
    InFirstWarp(Option<Origin>),
    /// Two values, in another way.
    Compared(Option<Origin>, Option<Origin>),
    /// A predicate that is no comparison holds or fails.
    Known(Option<Origin>),
    /// The thread is the one that a warp elects.
    Elected,
}

/// The threads that execute an instruction.
#[derive(Clone, Debug, Default)]
pub(super) struct Execution {
    /// The restrictions.
    pub restrictions: Vec<Restriction>,
    /// The predicates of the branches before it, and its own.
    pub predicates: Vec<Register>,
}

/// The thread and block numbers that restrictions fix, those that they compare, and true if an atomic chooses the thread.
pub(super) fn restricted(
    restrictions: &[Restriction],
    known: impl Fn(&Origin) -> Option<Origin>,
) -> (Set, Set, bool) {
    let (mut pins, mut compared, mut is_claimed) = (Set::NONE, Set::NONE, false);
    let of = |origin: &Option<Origin>| origin.as_ref().and_then(&known);
    let chosen = property::RESERVED.with(property::UNCLEAR);
    for restriction in restrictions {
        match restriction {
            Restriction::Elected => pins = pins.with(number::LOW),
            Restriction::InFirstWarp(one) => {
                let is_thread = |origin: Origin| {
                    origin.numbers.has_any(number::WHOLE_THREAD) && !origin.numbers.has_any(number::OF_BLOCK)
                };
                if of(one).is_none_or(is_thread) {
                    pins = pins.with(number::HIGH);
                }
            }
            Restriction::Compared(one, other) => {
                for origin in [of(one), of(other)].into_iter().flatten() {
                    compared = compared.with(origin.numbers);
                }
            }
            Restriction::Known(one) => {
                is_claimed |= of(one).is_some_and(|one| one.is(chosen));
            }
            Restriction::Equal(one, other, are_equal) => match (of(one), of(other)) {
                (Some(one), Some(other)) => {
                    is_claimed |= one.is(chosen) || other.is(chosen);
                    if *are_equal && !one.numbers.has_any(other.numbers) {
                        pins = pins.with(one.numbers).with(other.numbers);
                    }
                }
                _ => is_claimed = true,
            },
        }
    }
    (pins, compared, is_claimed)
}

/// The guards of the blocks of a body.
pub(super) struct Guards<'a, 'm> {
    body: &'a Body<'m>,
    analyses: &'a Analyses<'m>,
    /// By block: the predicates that hold or fail there.
    of_blocks: FxHashMap<BlockId, Vec<(Register, bool)>>,
}

impl<'a, 'm> Guards<'a, 'm> {
    pub(super) fn new(body: &'a Body<'m>, analyses: &'a Analyses<'m>) -> Self {
        Self {
            body,
            analyses,
            of_blocks: FxHashMap::default(),
        }
    }

    /// The threads that execute an instruction.
    pub(super) fn execution_of(
        &mut self,
        at: InstructionId,
        origins: &mut Evaluator<'a, 'm, Origins<'a, 'm>>,
    ) -> Execution {
        let block = self.body.block_of(at);
        let mut predicates = match self.of_blocks.get(&block) {
            Some(known) => known.clone(),
            None => {
                let found = self.predicates_before(block);
                self.of_blocks.insert(block, found.clone());
                found
            }
        };
        let own = self.body.instruction(at).guard;
        predicates.extend(own.map(|guard| (guard.register, !guard.negated)));
        let mut restrictions = Vec::new();
        let tests = Predicates {
            body: self.body,
            definitions: self.analyses.definitions(),
            returns_truth: |_| false,
        };
        let mut next = 0;
        while let Some(&(register, holds)) = predicates.get(next) {
            next += 1;
            let mut implied = Vec::new();
            tests.for_each_test(register, holds, |test| match test.definition {
                Some(_) => restrictions.extend(self.restriction_of(test, origins)),
                None => implied.extend(self.predicates_of_joined(test.register, test.holds)),
            });
            implied.retain(|new| !predicates.contains(new));
            predicates.extend(implied);
            predicates.truncate(MAX_CONTENTION_GUARDS);
        }
        Execution {
            restrictions,
            predicates: predicates.into_iter().map(|(register, _)| register).collect(),
        }
    }

    /// The predicates that hold or fail if a register with several definitions is `holds`: unoptimised code joins the parts of a
    /// conjunction, and all definitions but one are constants of which it is none.
    fn predicates_of_joined(&self, register: Register, holds: bool) -> Vec<(Register, bool)> {
        let moved = |at: InstructionId| {
            let from = self.analyses.form_of_result(at).moved_number();
            from.map(|from| self.analyses.trace_value(from, Form::moved_number))
        };
        let excludes =
            |at: InstructionId| matches!(moved(at), Some(Value::Integer(value)) if (value & 1 == 1) != holds);
        let all = self.analyses.definitions().writers_of(register);
        let mut left = all.iter().copied().filter(|&at| !excludes(at));
        let (Some(only), None) = (left.next(), left.next()) else {
            return Vec::new();
        };
        let mut found = self.predicates_before(self.body.block_of(only));
        let from = moved(only).and_then(Value::register);
        found.extend(from.map(|from| (from, holds)));
        found
    }

    /// The predicates of branches before a block, with the value that they have whenever control comes there.
    fn predicates_before(&self, block: BlockId) -> Vec<(Register, bool)> {
        let (body, dominators) = (self.body, self.analyses.dominators());
        let mut found = Vec::new();
        let Some(first) = body.block(block).next().map(|(at, _)| at) else {
            return found;
        };
        let mut before = dominators.immediate_dominator(block);
        while let Some(branch) = before
            && found.len() < MAX_CONTENTION_GUARDS
        {
            before = dominators
                .immediate_dominator(branch)
                .filter(|&next| next != branch);
            let Some((at, last)) = body.block(branch).next_back() else {
                continue;
            };
            let (guard, taken, other) = match (last.op, last.guard, body.successors(branch)) {
                (Op::Branch, Some(guard), &[taken, other]) => (guard, taken, other),
                (Op::Return | Op::Exit | Op::Trap, Some(guard), [_]) => {
                    found.push((guard.register, guard.negated));
                    continue;
                }
                _ => continue,
            };
            let paths = Paths::new(body).without(at);
            match (paths.lead_from(&[taken], first), paths.lead_from(&[other], first)) {
                (true, false) => found.push((guard.register, !guard.negated)),
                (false, true) => found.push((guard.register, guard.negated)),
                _ => {}
            }
        }
        found
    }

    /// The restriction that follows from the outcome of a test.
    fn restriction_of(
        &self,
        test: Test,
        origins: &mut Evaluator<'a, 'm, Origins<'a, 'm>>,
    ) -> Option<Restriction> {
        use Condition as C;
        let definition = test.definition?;
        let instruction = self.body.instruction(definition);
        match (instruction.op, self.body.uses(instruction)) {
            (Op::Collective(Collective::Elect, _), _) => test.holds.then_some(Restriction::Elected),
            (Op::Compare(condition, ..), &[one, other, ..]) => {
                let mut of = |value: Value| origins.description_at_read(value, definition);
                let below = match (condition, other, test.holds) {
                    (C::LessUnsigned | C::LessSigned, Value::Integer(below), true)
                    | (C::GreaterEqualUnsigned | C::GreaterEqualSigned, Value::Integer(below), false) => {
                        below
                    }
                    (C::LessEqualUnsigned | C::LessEqualSigned, Value::Integer(last), true)
                    | (C::GreaterUnsigned | C::GreaterSigned, Value::Integer(last), false) => {
                        last.saturating_add(1)
                    }
                    _ => i64::MAX,
                };
                match (condition, below) {
                    (C::Equal | C::NotEqual, _) => {
                        let are_equal = (condition == C::Equal) == test.holds;
                        Some(Restriction::Equal(of(one), of(other), are_equal))
                    }
                    (_, 1) => Some(Restriction::Equal(of(one), of(other), true)),
                    (_, 2..) if below <= i64::from(WARP) => Some(Restriction::InFirstWarp(of(one))),
                    _ => Some(Restriction::Compared(of(one), of(other))),
                }
            }
            (Op::CompareOther, _) => None,
            _ => {
                let value = origins.description_of(Value::Register(test.register));
                Some(Restriction::Known(value))
            }
        }
    }
}
