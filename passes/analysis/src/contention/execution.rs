//! The threads that execute an instruction: those for which the comparisons on each path to it come out so.
//!
//! ```text
//! choice(t)       what the outcome of a test t says of the threads that have it
//! pinned          the numbers on one side of a comparison for equality that holds: one thread passes
//! claimed         a comparison for equality of what an atomic has returned, of shared memory, or of what a strong load has read with
//!                   something else: a lock, the last block, a claim
//! choice(b)       ∩ over the edges p → b of choice(p) ∪ choice of the edge
//! ```
//!
//! Numbers in arguments are those of the caller: sets of arguments stand for them.

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::origin::{Origin, Origins, SmallSet, number, property};
use crate::dataflow::{self, Solution};
use crate::function::Analyses;
use crate::limits::MAX_CONTENTION_GUARDS;
use crate::predicates::{Predicates, Test, guard_of_end};
use crate::value::Evaluator;
use ptxcheck_ir::ops::Form;
use ptxcheck_ir::paths::Paths;
use ptxcheck_ir::{
    BlockId, Body, Collective, Condition, Instruction, InstructionId, Op, Register, Value, WARP,
};

/// The threads that pass tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Choice {
    /// The numbers that the tests fix, …
    pins: SmallSet,
    /// … and the arguments.
    pinned_arguments: u32,
    /// The numbers that tests compare in other ways.
    compared: SmallSet,
    /// An atomic chooses the thread.
    is_claimed: bool,
    /// It does if one of these arguments is what an atomic has returned.
    claimed_arguments: u32,
}

impl Choice {
    /// The threads that pass the tests of both.
    const fn and(self, other: Self) -> Self {
        Self {
            pins: self.pins.union(other.pins),
            pinned_arguments: self.pinned_arguments | other.pinned_arguments,
            compared: self.compared.union(other.compared),
            is_claimed: self.is_claimed || other.is_claimed,
            claimed_arguments: self.claimed_arguments | other.claimed_arguments,
        }
    }

    /// The threads that pass the tests of one or the other.
    const fn or(self, other: Self) -> Self {
        Self {
            pins: self.pins.intersection(other.pins),
            pinned_arguments: self.pinned_arguments & other.pinned_arguments,
            compared: self.compared.intersection(other.compared),
            is_claimed: self.is_claimed && other.is_claimed,
            claimed_arguments: self.claimed_arguments & other.claimed_arguments,
        }
    }

    const CLAIMED: Self = Self {
        pins: SmallSet::NONE,
        pinned_arguments: 0,
        compared: SmallSet::NONE,
        is_claimed: true,
        claimed_arguments: 0,
    };

    /// The threads for which two values are equal, or differ.
    fn of_equality(one: Option<&Origin>, other: Option<&Origin>, are_equal: bool) -> Self {
        let (Some(one), Some(other)) = (one, other) else {
            return Self::CLAIMED;
        };
        let chosen = property::RESERVED.union(property::UNCLEAR);
        let arguments = one.arguments | other.arguments;
        let is_pin = are_equal && !one.numbers.intersects(other.numbers);
        Self {
            pins: match is_pin {
                true => one.numbers.union(other.numbers),
                false => SmallSet::NONE,
            },
            pinned_arguments: match is_pin {
                true => one.arguments ^ other.arguments,
                false => 0,
            },
            compared: SmallSet::NONE,
            is_claimed: one.has_property(chosen)
                || other.has_property(chosen)
                || one.has_property(property::STRONG) != other.has_property(property::STRONG),
            claimed_arguments: arguments,
        }
    }

    /// The numbers that are fixed and those that are compared, with these arguments, and true if an atomic chooses the thread.
    pub(super) fn resolve_numbers(&self, arguments: &[Option<Origin>]) -> (SmallSet, SmallSet, bool) {
        let (mut pins, mut is_claimed) = (self.pins, self.is_claimed);
        for (place, argument) in arguments.iter().enumerate().take(32) {
            let Some(argument) = argument else { continue };
            if self.pinned_arguments >> place & 1 == 1 {
                pins = pins.union(argument.numbers);
            }
            is_claimed |= self.claimed_arguments >> place & 1 == 1
                && argument.has_property(property::RESERVED.union(property::UNCLEAR));
        }
        (pins, self.compared, is_claimed)
    }
}

/// The threads that execute an instruction.
#[derive(Clone, Debug, Default)]
pub(super) struct Execution {
    /// The threads.
    pub choice: Choice,
    /// The predicates of the branches before it, and its own.
    pub predicates: Vec<Register>,
}

/// By block and successor: the threads that take the edge.
struct Edges(Vec<Vec<Choice>>);

impl dataflow::Analysis for Edges {
    type State = Choice;

    fn entry(&self) -> Choice {
        Choice::default()
    }

    fn join(&self, into: &mut Choice, from: &Choice) -> bool {
        let joined = into.or(*from);
        std::mem::replace(into, joined) != joined
    }

    fn apply(&self, _state: &mut Choice, _id: InstructionId, _instruction: &Instruction) {}

    fn is_idle(&self, _block: BlockId) -> bool {
        true
    }

    fn refine_on_edge(&self, state: &mut Choice, block: BlockId, number: usize) -> bool {
        let edge = self.0[block.index()].get(number);
        *state = state.and(edge.copied().unwrap_or_default());
        true
    }
}

/// A predicate, and its value.
type Outcome = (Register, bool);

/// The tests of a body.
pub(super) struct Guards<'a, 'm> {
    body: &'a Body<'m>,
    analyses: &'a Analyses<'m>,
    /// By block: the threads that come there; computed on first use.
    choices: Option<Solution<Choice>>,
    /// By block: the predicates before it.
    before: RefCell<FxHashMap<BlockId, Rc<[Outcome]>>>,
}

impl<'a, 'm> Guards<'a, 'm> {
    pub(super) fn new(body: &'a Body<'m>, analyses: &'a Analyses<'m>) -> Self {
        Self {
            body,
            analyses,
            choices: None,
            before: RefCell::default(),
        }
    }

    /// The threads that execute an instruction.
    pub(super) fn execution_of(
        &mut self,
        at: InstructionId,
        origins: &mut Evaluator<'a, 'm, Origins<'a, 'm>>,
    ) -> Execution {
        let block = self.body.block_of(at);
        if self.choices.is_none() {
            let edges = self.choices_on_edges(origins);
            self.choices = dataflow::solve(self.body, self.analyses.cfg(), &edges);
        }
        let before = self
            .choices
            .as_ref()
            .and_then(|choices| choices.state_at_entry(block));
        let own = self.body.instruction(at).guard;
        let choice = own.map_or_else(Choice::default, |guard| {
            self.choice_of((guard.register, !guard.negated), origins)
        });
        let mut predicates = self.predicates_before(block).to_vec();
        predicates.extend(own.map(|guard| (guard.register, !guard.negated)));
        Execution {
            choice: choice.and(before.copied().unwrap_or_default()),
            predicates: predicates.into_iter().map(|(register, _)| register).collect(),
        }
    }

    /// The threads that take each edge.
    fn choices_on_edges(&self, origins: &mut Evaluator<'a, 'm, Origins<'a, 'm>>) -> Edges {
        let blocks = (0..self.body.blocks.len()).map(BlockId::new);
        let of_block = |block: BlockId| match guard_of_end(self.body, block) {
            Some((guard, true)) => [!guard.negated, guard.negated]
                .map(|holds| self.choice_of((guard.register, holds), origins))
                .to_vec(),
            Some((guard, false)) => vec![self.choice_of((guard.register, guard.negated), origins)],
            None => Vec::new(),
        };
        Edges(blocks.map(of_block).collect())
    }

    /// The threads for which a predicate is true, or false.
    fn choice_of(&self, predicate: Outcome, origins: &mut Evaluator<'a, 'm, Origins<'a, 'm>>) -> Choice {
        let tests = Predicates {
            body: self.body,
            definitions: self.analyses.definitions(),
            returns_truth: |_| false,
        };
        let mut predicates = vec![predicate];
        let mut choice = Choice::default();
        let mut next = 0;
        while let Some(&(register, holds)) = predicates.get(next) {
            next += 1;
            let mut implied = Vec::new();
            tests.for_each_test(register, holds, |test| match test.definition {
                Some(_) => choice = choice.and(self.choice_of_test(test, origins)),
                None => match self.predicates_of_joined_register(test.register, test.holds) {
                    Some(one) => implied.extend(one),
                    None => choice = choice.and(self.choice_of_joined_register(test, origins)),
                },
            });
            implied.retain(|new| !predicates.contains(new));
            predicates.extend(implied);
            predicates.truncate(MAX_CONTENTION_GUARDS);
        }
        choice
    }

    /// The threads for which a register with several definitions is true, or false, whichever of them it is.
    fn choice_of_joined_register(
        &self,
        test: Test,
        origins: &mut Evaluator<'a, 'm, Origins<'a, 'm>>,
    ) -> Choice {
        let all = self.analyses.definitions().writers_of(test.register).iter();
        let choices = all.map(|&at| match self.body.instruction(at).op {
            Op::Compare(..) => {
                let definition = Some(at);
                self.choice_of_test(Test { definition, ..test }, origins)
            }
            _ => Choice::default(),
        });
        choices.reduce(Choice::or).unwrap_or_default()
    }

    /// The predicates that hold or fail if a register with several definitions is `holds`, where all but one are constants of which it
    /// is none: unoptimised code joins the parts of a conjunction so. `None` for any other register.
    fn predicates_of_joined_register(&self, register: Register, holds: bool) -> Option<Vec<Outcome>> {
        let moved = |at: InstructionId| {
            let from = self.analyses.form_of_result(at).moved_number();
            from.map(|from| self.analyses.trace_value(from, Form::moved_number))
        };
        let excludes =
            |at: InstructionId| matches!(moved(at), Some(Value::Integer(value)) if (value & 1 == 1) != holds);
        let all = self.analyses.definitions().writers_of(register);
        let mut left = all.iter().copied().filter(|&at| !excludes(at));
        let (Some(only), None) = (left.next(), left.next()) else {
            return None;
        };
        let mut found = self.predicates_before(self.body.block_of(only)).to_vec();
        let from = moved(only).and_then(Value::register);
        found.extend(from.map(|from| (from, holds)));
        Some(found)
    }

    /// The predicates of branches before a block, with the value that they have whenever control comes there, the nearest first: that of the
    /// branch at the end of the immediate dominator, and those before that. The immediate dominator lies between any other branch before
    /// it and the block, so that an edge of such a branch leads to the one if it leads to the other.
    fn predicates_before(&self, block: BlockId) -> Rc<[Outcome]> {
        let dominators = self.analyses.dominators();
        let mut above = Vec::new();
        let mut next = block;
        let mut known: Rc<[_]> = loop {
            if let Some(known) = self.before.borrow().get(&next) {
                break Rc::clone(known);
            }
            let Some(dominator) = dominators.immediate_dominator(next) else {
                break Rc::default();
            };
            above.push((dominator, next));
            next = dominator;
        };
        for (dominator, block) in above.into_iter().rev() {
            if let Some(own) = self.predicate_between(dominator, block) {
                let all = std::iter::once(own).chain(known.iter().copied());
                known = all.take(MAX_CONTENTION_GUARDS).collect();
            }
            self.before.borrow_mut().insert(block, Rc::clone(&known));
        }
        known
    }

    /// The predicate of the branch at the end of a block, with the value that it has whenever control comes from there to another block.
    fn predicate_between(&self, branch: BlockId, block: BlockId) -> Option<Outcome> {
        let body = self.body;
        let (guard, true) = guard_of_end(body, branch)? else {
            return None;
        };
        let &[taken, other] = body.successors(branch) else {
            return None;
        };
        let (first, _) = body.block(block).next()?;
        let paths = Paths::new(body).without(body.block(branch).next_back()?.0);
        // Each path to the block leads through the edge to this successor.
        let needs = |successor| {
            let is_before = self.analyses.dominators().dominates(successor, block);
            is_before && self.analyses.cfg().predecessors(successor) == [branch]
        };
        let leads = |successor| paths.lead_from(&[successor], first);
        let sides = match (needs(taken), needs(other)) {
            (false, false) => (leads(taken), leads(other)),
            one => one,
        };
        match sides {
            (true, false) => Some((guard.register, !guard.negated)),
            (false, true) => Some((guard.register, guard.negated)),
            _ => None,
        }
    }

    /// The threads for which a test comes out so.
    fn choice_of_test(&self, test: Test, origins: &mut Evaluator<'a, 'm, Origins<'a, 'm>>) -> Choice {
        use Condition as C;
        let Some(definition) = test.definition else {
            return Choice::default();
        };
        let instruction = self.body.instruction(definition);
        match (instruction.op, self.body.uses(instruction)) {
            (Op::Collective(Collective::Elect, _), _) if test.holds => Choice {
                pins: number::LOW,
                ..Choice::default()
            },
            (Op::Compare(condition, ..), &[one, other, ..]) => {
                let mut of = |value: Value| origins.description_at_read(value, definition);
                let (one, with) = (of(one), of(other));
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
                        Choice::of_equality(one.as_ref(), with.as_ref(), are_equal)
                    }
                    (_, 1) => Choice::of_equality(one.as_ref(), with.as_ref(), true),
                    _ => {
                        let numbers =
                            |origin: Option<Origin>| origin.map_or(SmallSet::NONE, |origin| origin.numbers);
                        let (one, with) = (numbers(one), numbers(with));
                        let is_warp = below <= i64::from(WARP)
                            && one.intersects(number::WHOLE_THREAD)
                            && !one.intersects(number::OF_BLOCK);
                        Choice {
                            pins: if is_warp { number::HIGH } else { SmallSet::NONE },
                            compared: one.union(with),
                            ..Choice::default()
                        }
                    }
                }
            }
            (Op::CompareOther | Op::Collective(..), _) => Choice::default(),
            _ => {
                let chosen = property::RESERVED.union(property::UNCLEAR);
                let value = origins.description_of(Value::Register(test.register));
                Choice {
                    is_claimed: value.as_ref().is_some_and(|value| value.has_property(chosen)),
                    claimed_arguments: value.map_or(0, |value| value.arguments | value.dependences),
                    ..Choice::default()
                }
            }
        }
    }
}
