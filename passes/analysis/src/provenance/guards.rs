//! Tests of the space of an address (`isspacep`): the facts that follow from them, and the blocks in which those hold.
//!
//! ```text
//! fact    = (register, space, holds?) on the blocks that one edge dominates: the block it leads to has no other
//!           predecessor, and dominates them
//! true    only elements in the space remain; ⊤ and the caller's argument become a generic address in the space
//! false   elements in the space are removed
//! ```
//!
//! [`Predicates`] finds the tests that a branch depends on; calls of functions that return the outcome of a test (`__isShared`
//! in a debug build) are among them. A fact about a register holds for all registers with the same value (see `aliases`).

use std::cell::RefCell;

use super::aliases::representative_of;
use super::value::{Base, Element, ElementKind, Provenance, bit_of_space};
use crate::function::Analyses;
use crate::limits::MAX_SPACE_FACTS;
use crate::predicates::{Predicates, Test};
use ptxcheck_ir::{BlockId, Body, Guard, InstructionId, Op, Register, Space, Value};

/// The outcome of a space test of a register, which holds in some part of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fact {
    /// The tested register: the representative of all registers with its value.
    register: Register,
    space: Space,
    holds: bool,
    /// The `isspacep`, or the call that returns its outcome.
    test: InstructionId,
}

/// The test that decides the space of a value at one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DecidingTest {
    /// No test covers this place.
    Untested,
    /// A test covers this place, and fails there.
    Fails,
    /// This `isspacep`, which holds there.
    Holds(InstructionId),
}

/// The address and the space that a call tests, if the called function returns 1 or 0 as the outcome of such a test.
pub(super) type TestCalls<'a> = dyn Fn(InstructionId) -> Option<(Value, Space)> + 'a;

/// The facts of a body.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Facts with the block that must dominate the use; sorted by register, then in the order in which they were found.
    by_block: Vec<(BlockId, Fact)>,
    /// Facts with the instruction that is guarded; in the same order.
    by_instruction: Vec<(InstructionId, Fact)>,
    /// A bit for each register with facts, by the last bits of its index.
    registers: u64,
    /// For each register: its representative; computed on first use.
    representatives: RefCell<Vec<Option<Register>>>,
}

impl Facts {
    /// The facts of a body with space tests; `guarded` are its guarded uses of addresses.
    #[must_use]
    pub(super) fn new(
        body: &Body<'_>,
        analyses: &Analyses<'_>,
        answers: &TestCalls<'_>,
        guarded: impl Iterator<Item = InstructionId>,
    ) -> Self {
        let mut facts = Self::default();
        let space_tests = SpaceTests {
            body,
            analyses,
            answers,
        };
        for (block, found) in space_tests.facts_on_edges() {
            if facts.by_block.len() >= MAX_SPACE_FACTS {
                break;
            }
            facts.by_block.extend(found.into_iter().map(|fact| (block, fact)));
        }
        for id in guarded {
            if let Some(guard) = body.instruction(id).guard
                && facts.by_instruction.len() < MAX_SPACE_FACTS
            {
                let found = space_tests.facts_implied_by(guard, id, true);
                facts
                    .by_instruction
                    .extend(found.into_iter().map(|fact| (id, fact)));
            }
        }
        let of_blocks = facts.by_block.iter().map(|(_, fact)| fact.register);
        let of_guards = facts.by_instruction.iter().map(|(_, fact)| fact.register);
        facts.registers = of_blocks
            .chain(of_guards)
            .fold(0, |all, one| all | mark_of_register(one));
        facts.by_block.sort_by_key(|(_, fact)| fact.register);
        facts.by_instruction.sort_by_key(|(_, fact)| fact.register);
        facts
    }

    /// True if there are no facts.
    #[must_use]
    pub(super) fn is_empty(&self) -> bool {
        self.by_block.is_empty() && self.by_instruction.is_empty()
    }

    /// The part of `value`, held by `register`, that the tests leave possible at `at`; and the test that decides.
    #[must_use]
    pub(super) fn refine_value(
        &self,
        register: Register,
        value: Provenance,
        at: InstructionId,
        body: &Body<'_>,
        analyses: &Analyses<'_>,
    ) -> (Provenance, DecidingTest) {
        if self.is_empty() || !is_written_before_every_read(analyses, register, at) {
            return (value, DecidingTest::Untested);
        }
        let register = self.representative_of(register, body, analyses);
        if self.registers & mark_of_register(register) == 0 {
            return (value, DecidingTest::Untested);
        }
        let (by_block, by_instruction) = (
            facts_about(&self.by_block, register),
            facts_about(&self.by_instruction, register),
        );
        if by_block.is_empty() && by_instruction.is_empty() {
            return (value, DecidingTest::Untested);
        }
        let block = body.block_of(at);
        let dominators = analyses.dominators();
        let of_block = by_block
            .iter()
            .filter(|(place, _)| dominators.dominates(*place, block))
            .map(|(_, fact)| fact);
        let of_guard = by_instruction
            .iter()
            .filter(|(place, _)| *place == at)
            .map(|(_, fact)| fact);
        let (mut value, mut tested) = (value, DecidingTest::Untested);
        for fact in of_block.chain(of_guard) {
            value = restricted_to_fact(&value, fact);
            tested = match tested {
                DecidingTest::Holds(_) => tested,
                _ if fact.holds => DecidingTest::Holds(fact.test),
                _ => DecidingTest::Fails,
            };
        }
        (value, tested)
    }

    fn representative_of(&self, register: Register, body: &Body<'_>, analyses: &Analyses<'_>) -> Register {
        let mut known = self.representatives.borrow_mut();
        if known.is_empty() {
            known.resize(body.registers.len(), None);
        }
        *known[register.index()].get_or_insert_with(|| representative_of(body, analyses, register))
    }
}

/// For each block: true if a test may hold there. All blocks that the edges dominate are included: for such a block, all
/// predecessors are included, too, except along back edges.
#[must_use]
pub(super) fn blocks_where_tests_may_hold(
    body: &Body<'_>,
    analyses: &Analyses<'_>,
    answers: &TestCalls<'_>,
) -> Vec<bool> {
    let space_tests = SpaceTests {
        body,
        analyses,
        answers,
    };
    let cfg = analyses.cfg();
    let mut found = vec![false; body.blocks.len()];
    space_tests.facts_on_edges().for_each(|(block, facts)| {
        found[block.index()] |= facts.iter().any(|fact| fact.holds);
    });
    for &block in cfg.reverse_postorder() {
        let rank = cfg.rank(block);
        let mut before = cfg
            .predecessors(block)
            .iter()
            .filter(|before| cfg.rank(**before).is_some() && cfg.rank(**before) < rank)
            .peekable();
        if before.peek().is_some() && before.all(|before| found[before.index()]) {
            found[block.index()] = true;
        }
    }
    found
}

/// True if a register is written by a single instruction that every path to a reader has passed.
fn is_written_before_every_read(analyses: &Analyses<'_>, register: Register, reader: InstructionId) -> bool {
    matches!(analyses.definitions().writers_of(register), &[only] if analyses.is_on_every_path_to(only, reader))
}

fn mark_of_register(register: Register) -> u64 {
    1 << (register.index() % 64)
}

/// The facts about a register.
fn facts_about<Place>(facts: &[(Place, Fact)], register: Register) -> &[(Place, Fact)] {
    let start = facts.partition_point(|(_, fact)| fact.register < register);
    let own = &facts[start..];
    let end = own.partition_point(|(_, fact)| fact.register == register);
    &own[..end]
}

fn restricted_to_fact(value: &Provenance, fact: &Fact) -> Provenance {
    let tested = Element::of_address(ElementKind::Generic, fact.space, Base::Test(fact.test), fact.test);
    if *value == Provenance::Top {
        return if fact.holds {
            Provenance::One(tested)
        } else {
            Provenance::Top
        };
    }
    // A raw address has no space to test: see PTX209. A number may be anything.
    let in_space = |element: &Element| bit_of_space(element.space) & !bit_of_space(fact.space) == 0;
    Provenance::from_elements(value.elements().iter().filter_map(|element| {
        match (element.kind, fact.holds) {
            (ElementKind::Generic, holds) => (in_space(element) == holds).then_some(*element),
            (ElementKind::Composed, true) => Some(tested),
            (ElementKind::Formal, true) => {
                (bit_of_space(fact.space) & !element.excluded != 0).then_some(tested)
            }
            (ElementKind::Formal, false) => Some(Element {
                excluded: element.excluded | bit_of_space(fact.space),
                ..*element
            }),
            _ => Some(*element),
        }
    }))
}

/// The space tests of a body.
struct SpaceTests<'a> {
    body: &'a Body<'a>,
    analyses: &'a Analyses<'a>,
    answers: &'a TestCalls<'a>,
}

impl<'a> SpaceTests<'a> {
    /// The facts that hold in each block whose only incoming edge is one of a conditional branch.
    fn facts_on_edges(&self) -> impl Iterator<Item = (BlockId, Vec<Fact>)> + use<'_, 'a> {
        let cfg = self.analyses.cfg();
        let branches = cfg.reverse_postorder().iter().filter_map(|&block| {
            let last = self.body.terminator(block)?;
            let guard = last.guard.filter(|_| last.op == Op::Branch)?;
            let end = self.body.blocks[block.index()].instructions.end as usize;
            Some((
                guard,
                InstructionId::new(end.checked_sub(1)?),
                self.body.successors(block),
            ))
        });
        branches.flat_map(move |(guard, branch, successors)| {
            let edges = [true, false].into_iter().zip(successors);
            edges
                .filter(|(_, successor)| cfg.predecessors(**successor).len() == 1)
                .map(move |(taken, &successor)| (successor, self.facts_implied_by(guard, branch, taken)))
        })
    }

    fn predicates(&self) -> Predicates<'a, impl Fn(InstructionId) -> bool> {
        let answers = self.answers;
        Predicates {
            body: self.body,
            definitions: self.analyses.definitions(),
            returns_truth: move |call| answers(call).is_some(),
        }
    }

    /// The facts that follow from an instruction's guard, if the instruction is executed (`taken`) or not.
    fn facts_implied_by(&self, guard: Guard, at: InstructionId, taken: bool) -> Vec<Fact> {
        let mut found = Vec::new();
        let predicates = self.predicates();
        predicates.for_each_current_test(
            self.analyses,
            (guard.register, at),
            taken != guard.negated,
            |test| {
                if let Some((definition, (Value::Register(tested), space))) = self.tested_address(test)
                    && is_written_before_every_read(self.analyses, tested, definition)
                {
                    found.push(Fact {
                        register: representative_of(self.body, self.analyses, tested),
                        space,
                        holds: test.holds,
                        test: definition,
                    });
                }
            },
        );
        found
    }

    /// The instruction that tests, the address that it tests, and the space.
    fn tested_address(&self, test: Test) -> Option<(InstructionId, (Value, Space))> {
        let definition = test.definition?;
        let instruction = self.body.instruction(definition);
        let tested = match (instruction.op, self.body.uses(instruction)) {
            (Op::IsSpace(space), &[tested]) => (tested, space),
            (Op::CallResult(call), _) => (self.answers)(call)?,
            _ => return None,
        };
        Some((definition, tested))
    }
}

/// The test whose outcome an integer is: the address and the space. Only if 1 means yes and 0 means no.
#[must_use]
pub(super) fn test_returned_by(
    body: &Body<'_>,
    analyses: &Analyses<'_>,
    answers: &TestCalls<'_>,
    (value, reader): (Value, InstructionId),
) -> Option<(Register, Space)> {
    let Value::Register(register) = value else {
        return None;
    };
    let space_tests = SpaceTests {
        body,
        analyses,
        answers,
    };
    if !space_tests.predicates().is_zero_or_one(register) {
        return None;
    }
    let guard = Guard {
        register,
        negated: false,
    };
    match space_tests.facts_implied_by(guard, reader, true).as_slice() {
        &[fact] if fact.holds => Some((fact.register, fact.space)),
        _ => None,
    }
}
