//! The outcomes of tests that follow if a predicate computed from them is true or false.
//!
//! ```text
//! mov p, a               p ⇒ a, ¬p ⇒ ¬a            not p, a          p ⇒ ¬a, ¬p ⇒ a
//! and p, a, b            p ⇒ a, b                  or p, a, b        ¬p ⇒ ¬a, ¬b
//! selp p, a, 0, c        p ⇒ a, c                  selp p, 1, b, c   ¬p ⇒ ¬b, ¬c
//! setp.x.and p|q, u, v, c      p ⇒ u x v, c         q ⇒ ¬(u x v), c
//! setp.x.or  p|q, u, v, c     ¬p ⇒ ¬(u x v), ¬c    ¬q ⇒ u x v, ¬c
//! ```
//!
//! Unoptimised code keeps predicates as integers (`selp 1, 0` or `zext`, and `setp.ne 0` where it branches): an integer
//! counts as true if its lowest bit is set.

use super::definitions::Definitions;
use super::function::Analyses;
use crate::limits::MAX_PREDICATE_STEPS;
use ptxcheck_ir::{
    BinaryOp, BlockId, Body, Condition, Guard, InstructionId, Logic, Op, Register, UnaryOp, Value,
};

/// A test that has this outcome if a predicate has the given value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Test {
    /// The testing instruction, if it is the only definition of the register and its guard cannot skip it. For a comparison
    /// that is combined with a predicate, the comparison alone.
    pub definition: Option<InstructionId>,
    /// The register that holds its outcome.
    pub register: Register,
    /// The instruction that reads the outcome; `None` if it is the predicate itself.
    pub reader: Option<InstructionId>,
    /// The outcome.
    pub holds: bool,
}

/// The predicates of a body.
pub(crate) struct Predicates<'a, A> {
    /// The body.
    pub body: &'a Body<'a>,
    /// The definitions of its registers.
    pub definitions: &'a Definitions,
    /// True for a call that returns 0 or 1.
    pub returns_truth: A,
}

impl<A: Fn(InstructionId) -> bool> Predicates<'_, A> {
    /// The tests whose outcomes follow if a predicate is true (`holds`), or false: all that it depends on, or those among
    /// them that are not followed any further.
    pub(crate) fn for_each_test(&self, predicate: Register, holds: bool, visit: impl FnMut(Test)) {
        self.for_each_test_where(predicate, holds, |_, _| true, visit);
    }

    /// The tests of [`Self::for_each_test`] for a predicate that is read at `reader`, restricted to those that every path to it
    /// executes anew: in a loop, other outcomes may be from the previous round.
    pub(crate) fn for_each_current_test(
        &self,
        analyses: &Analyses<'_>,
        (predicate, reader): (Register, InstructionId),
        holds: bool,
        visit: impl FnMut(Test),
    ) {
        let is_current = |definition, by: Option<InstructionId>| {
            analyses.is_on_every_path_to(definition, by.unwrap_or(reader))
        };
        self.for_each_test_where(predicate, holds, is_current, visit);
    }

    /// The tests, following only definitions for which `is_current` holds, given the instruction that reads them.
    fn for_each_test_where(
        &self,
        predicate: Register,
        holds: bool,
        is_current: impl Fn(InstructionId, Option<InstructionId>) -> bool,
        mut visit: impl FnMut(Test),
    ) {
        let mut steps = 0;
        // Most predicates are a single test, and need no allocation.
        let mut open = Vec::new();
        let mut next = Some(Test {
            definition: None,
            register: predicate,
            reader: None,
            holds,
        });
        while let Some(test) = next {
            steps += 1;
            match self.definitions.only_writer(self.body, test.register) {
                Some(definition) if steps <= MAX_PREDICATE_STEPS && is_current(definition, test.reader) => {
                    self.visit_test(definition, test, &mut open, &mut visit);
                }
                _ => visit(test),
            }
            next = open.pop();
        }
    }

    /// Visits a test, or the tests that follow from it by the operation that defines its register.
    fn visit_test(
        &self,
        definition: InstructionId,
        test: Test,
        open: &mut Vec<Test>,
        visit: &mut impl FnMut(Test),
    ) {
        let instruction = self.body.instruction(definition);
        let (results, uses) = self.body.operands(instruction);
        let is_first = results.first() == Some(&Value::Register(test.register));
        let holds = test.holds;
        let mut follow = |value: Value, holds: bool| {
            let (register, holds) = match value {
                Value::Register(register) => (register, holds),
                Value::Not(register) => (register, !holds),
                _ => return,
            };
            open.push(Test {
                definition: None,
                register,
                reader: Some(definition),
                holds,
            });
        };
        match (instruction.op, uses) {
            (op, &[from @ (Value::Register(_) | Value::Not(_))]) if op.is_move() => follow(from, holds),
            (Op::Binary(BinaryOp::And, _), &[from @ Value::Register(_), Value::Integer(1)]) => {
                follow(from, holds);
            }
            (Op::Unary(UnaryOp::Not, 1), &[from]) => follow(from, !holds),
            (Op::Binary(BinaryOp::Xor, 1), &[from, Value::Integer(by)] | &[Value::Integer(by), from]) => {
                follow(from, holds != is_true_as_predicate(by));
            }
            (Op::Binary(BinaryOp::And, 1), [_, _]) if holds => {
                uses.iter().for_each(|&part| follow(part, true));
            }
            (Op::Binary(BinaryOp::Or, 1), [_, _]) if !holds => {
                uses.iter().for_each(|&part| follow(part, false));
            }
            // `setp.ne p, x, 0`, where x is 0 or 1.
            (
                Op::Compare(condition @ (Condition::Equal | Condition::NotEqual), _, Logic::None),
                &[Value::Register(from), Value::Integer(value @ (0 | 1))],
            ) if self.is_zero_or_one(from) => {
                let is_one = (condition == Condition::Equal) == (value == 1);
                follow(uses[0], (holds == is_first) == is_one);
            }
            (Op::Compare(.., logic), _) => {
                let is_plain = match logic {
                    Logic::None => true,
                    Logic::And => holds,
                    Logic::Or => !holds,
                    Logic::Xor => false,
                };
                if let (true, Some(&with)) = (is_plain && logic != Logic::None, uses.get(2)) {
                    follow(with, holds);
                }
                visit(Test {
                    definition: is_plain.then_some(definition),
                    holds: holds == is_first,
                    ..test
                });
            }
            (Op::Select, &[value, Value::Integer(other), by]) if is_true_as_predicate(other) != holds => {
                follow(by, true);
                follow(value, holds);
            }
            (Op::Select, &[Value::Integer(other), value, by]) if is_true_as_predicate(other) != holds => {
                follow(by, false);
                follow(value, holds);
            }
            _ => visit(Test {
                definition: Some(definition),
                ..test
            }),
        }
    }

    /// True if an integer register holds 0 or 1: a `selp` of the two or the result of a test, perhaps moved, converted or
    /// masked.
    #[must_use]
    pub(crate) fn is_zero_or_one(&self, register: Register) -> bool {
        let mut register = register;
        for _ in 0..MAX_PREDICATE_STEPS {
            let Some(definition) = self.definitions.only_writer(self.body, register) else {
                return false;
            };
            let instruction = self.body.instruction(definition);
            match (instruction.op, self.body.uses(instruction)) {
                (Op::Select, [Value::Integer(0 | 1), Value::Integer(0 | 1), _]) => return true,
                (Op::CallResult(call), _) => return (self.returns_truth)(call),
                (Op::IsSpace(_), _) => return true,
                // A predicate as an integer (LLVM's `zext`): 1 for true, or, with the sign, -1.
                (Op::Convert { from: 1, signed, .. }, _) => return !signed,
                (Op::Binary(BinaryOp::And, _), [Value::Register(from), Value::Integer(1)]) => {
                    register = *from;
                }
                (op, [Value::Register(from)]) if op.is_move() => register = *from,
                _ => return false,
            }
        }
        false
    }
}

/// The guard of the end of a block, and true for a branch with two targets; false for a return that threads may skip.
pub(crate) fn guard_of_end(body: &Body<'_>, block: BlockId) -> Option<(Guard, bool)> {
    let (_, last) = body.block(block).next_back()?;
    let guard = last.guard?;
    match (last.op, body.successors(block)) {
        (Op::Branch, [_, _]) => Some((guard, true)),
        (Op::Return | Op::Exit | Op::Trap, [_]) => Some((guard, false)),
        _ => None,
    }
}

/// True if a constant is true as a predicate.
const fn is_true_as_predicate(value: i64) -> bool {
    value & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::Predicates;
    use crate::testing::with_ptx;
    use ptxcheck_ir::Value;

    /// The outcomes that follow if `%p3` is `holds`: indices of instructions with the outcome of each.
    fn implied_outcomes(code: &str, holds: bool) -> Vec<(Option<usize>, bool)> {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n.reg .pred %p<9>;\n.reg .b32 %r<9>;\n\
             setp.eq.u32 %p1, %r1, 7;\nsetp.lt.u32 %p2, %r2, 3;\n{code}\n@%p3 bra L;\nL:\nret;\n}}\n"
        );
        with_ptx(&text, |module| {
            let body = module.module.functions[0].body.as_ref().unwrap();
            let branch = body
                .instructions
                .iter()
                .find(|one| one.op.is_terminator())
                .unwrap();
            let predicates = Predicates {
                body,
                definitions: module.function(ptxcheck_ir::FunctionId::new(0)).definitions(),
                returns_truth: |_| false,
            };
            let mut found = Vec::new();
            predicates.for_each_test(branch.guard.unwrap().register, holds, |test| {
                found.push((test.definition.map(|id| id.index()), test.holds));
                let reads = |id| {
                    body.uses(body.instruction(id))
                        .iter()
                        .any(|value| value.register() == Some(test.register))
                };
                assert!(test.reader.is_none_or(reads), "{code}");
                let defines = |id| {
                    body.results(body.instruction(id))
                        .contains(&Value::Register(test.register))
                };
                assert!(test.definition.is_none_or(defines), "{code}");
            });
            found.sort_unstable();
            found
        })
    }

    #[test]
    fn operands_of_conjunctions_and_disjunctions_are_visited() {
        let (first, second) = (Some(0), Some(1));
        let own = Some(2);
        for (code, where_true, where_false) in [
            ("mov.pred %p3, %p1;", vec![(first, true)], vec![(first, false)]),
            ("not.pred %p3, %p1;", vec![(first, false)], vec![(first, true)]),
            (
                "and.pred %p3, %p1, %p2;",
                vec![(first, true), (second, true)],
                vec![(own, false)],
            ),
            (
                "or.pred %p3, %p1, %p2;",
                vec![(own, true)],
                vec![(first, false), (second, false)],
            ),
            ("xor.pred %p3, %p1, %p2;", vec![(own, true)], vec![(own, false)]),
            (
                "setp.gt.u32 %p4|%p3, %r3, 5;",
                vec![(own, false)],
                vec![(own, true)],
            ),
            (
                "setp.gt.and.u32 %p3, %r3, 5, %p1;",
                vec![(first, true), (own, true)],
                vec![(None, false)],
            ),
            (
                "setp.gt.and.u32 %p4|%p3, %r3, 5, !%p1;",
                vec![(first, false), (own, false)],
                vec![(None, true)],
            ),
            (
                "setp.gt.or.u32 %p3, %r3, 5, %p1;",
                vec![(None, true)],
                vec![(first, false), (own, false)],
            ),
            (
                "setp.gt.or.u32 %p4|%p3, %r3, 5, %p1;",
                vec![(None, false)],
                vec![(first, false), (own, true)],
            ),
            (
                "setp.gt.xor.u32 %p3, %r3, 5, %p1;",
                vec![(None, true)],
                vec![(None, false)],
            ),
            (
                "selp.u32 %r4, 1, 0, %p1; setp.ne.u32 %p3, %r4, 0;",
                vec![(first, true)],
                vec![(first, false)],
            ),
            (
                "selp.u32 %r4, 0, 1, %p1; setp.eq.u32 %p3, %r4, 1;",
                vec![(first, false)],
                vec![(first, true)],
            ),
            ("setp.ne.u32 %p3, %r4, 0;", vec![(own, true)], vec![(own, false)]),
            (
                "mov.pred %p3, %p1; @%p2 mov.pred %p3, %p4;",
                vec![(None, true)],
                vec![(None, false)],
            ),
        ] {
            assert_eq!(implied_outcomes(code, true), where_true, "{code}");
            assert_eq!(implied_outcomes(code, false), where_false, "{code}");
        }
    }

    #[test]
    fn beyond_the_limit_the_unsplit_test_is_visited() {
        let chain =
            "mov.pred %p4, %p1; mov.pred %p5, %p4; mov.pred %p6, %p5; mov.pred %p7, %p6; mov.pred %p8, %p7;";
        assert_eq!(
            implied_outcomes(&format!("{chain} and.pred %p3, %p8, %p2;"), true),
            [(Some(0), true), (Some(1), true)]
        );
        let code = (0..40).fold("mov.pred %p4, %p1;".to_owned(), |code, number| {
            format!(
                "{code} .reg .pred %q{number}; and.pred %q{number}, {}, %p2;",
                if number == 0 {
                    "%p4".to_owned()
                } else {
                    format!("%q{}", number - 1)
                }
            )
        });
        let found = implied_outcomes(&format!("{code} mov.pred %p3, %q39;"), true);
        assert!(
            found.iter().any(|(definition, _)| definition.is_none()),
            "{found:?}"
        );
    }
}
