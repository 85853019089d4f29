//! The summary of one function: collects its uses of addresses, solves for their values, and judges them.

use rustc_hash::FxHashSet;

use super::guards::{DecidingTest, Facts};
use super::judge::{Use, ViolationKind, faulting_offset, is_in_other_space, use_of};
use super::objects::Accessed;
use super::results;
use super::solver::{Solver, callee_summary};
use super::summary::{
    Demand, FormalElement, OperandValue, Summaries, Summary, Violation, first_wrong_element, formal_elements,
};
use super::survey::{Survey, survey_body, values_to_solve};
use super::suspects::Suspects;
use super::value::{Base, Element, ElementKind, Provenance};
use crate::call_graph::CallSite;
use crate::limits::MAX_DEMANDS;
use crate::shared::Shared;
use ptxcheck_ir::{AccessKind, Body, FunctionId, InstructionId, Op, Space, Value};

/// The summary of a function with a body, given those of the functions that it calls, limited to the suspects.
#[must_use]
pub(super) fn summarize<'a>(
    module: &'a Shared<'a>,
    id: FunctionId,
    summaries: &'a Summaries<'a>,
    suspects: &Suspects,
) -> Summary {
    let function = module.module.function(id);
    let Some(body) = function.body.as_ref() else {
        return Summary::default();
    };
    // The unreadable parts of a damaged body may write any register.
    if function.is_damaged {
        return Summary::default();
    }
    let analyses = module.function(id);
    let mut survey = survey_body(module, body, summaries, suspects);
    survey.forget_never_reached(analyses);
    let answers = |call: InstructionId| test_returned_by(module, body, summaries, call);
    let facts = if survey.tests.is_empty() && !survey.calls.iter().any(|&call| answers(call).is_some()) {
        Facts::default()
    } else {
        let has_guard = |id: &InstructionId| body.instruction(*id).guard.is_some();
        let guarded = survey.uses.iter().copied().filter(has_guard);
        Facts::new(body, analyses, &answers, guarded)
    };
    let seeds = values_to_solve(body, &survey);
    let Some(solver) = Solver::new(module, id, summaries, facts, seeds.into_iter()) else {
        return Summary::default();
    };
    let mut judge = Judge {
        module,
        id,
        body,
        solver,
        summary: Summary::default(),
        tested: FxHashSet::default(),
        is_anything_tested: false,
        is_null_tested: false,
        accessed: None,
    };
    judge.note_tests(&survey);
    judge.note_null_tests(&survey);
    let goes_on = || !module.deadline.is_over_at_step();
    for &at in survey.uses.iter().take_while(|_| goes_on()) {
        judge.judge_instruction(at);
    }
    for &at in survey.indirect.iter().take_while(|_| goes_on()) {
        judge.judge_indirect_call(at);
    }
    for &at in survey.escapes.iter().take_while(|_| goes_on()) {
        judge.judge_escape(at);
    }
    for &at in survey.calls.iter().take_while(|_| goes_on()) {
        judge.judge_call(at);
    }
    if !function.is_kernel() {
        judge.record_returned_values(&survey);
        if let ([only], true) = (survey.returns.as_slice(), judge.is_anything_tested) {
            judge.record_returned_test(*only, &answers);
        }
    }
    judge.summary
}

/// The address and the space that a call tests, if the function called returns the outcome of a space test.
fn test_returned_by<'a>(
    module: &Shared<'_>,
    body: &'a Body<'_>,
    summaries: &Summaries<'a>,
    call: InstructionId,
) -> Option<(Value, Space)> {
    let (summary, arguments) = callee_summary(module, body, summaries, call)?;
    let (piece, space) = summary.answer?;
    let asked = arguments.iter().find(|argument| argument.passes(piece))?;
    Some((asked.value, space))
}

/// A symbol in the operand of a generic access: ptxas sees its space and accesses that; for constant memory and parameters
/// it rejects the code.
fn with_symbols_converted(value: &Provenance) -> Provenance {
    value.map(|element| match element.space {
        Space::Global | Space::Shared | Space::Local => Element {
            kind: ElementKind::Generic,
            ..*element
        },
        _ => *element,
    })
}

/// The judging of one body.
pub(super) struct Judge<'a> {
    pub(super) module: &'a Shared<'a>,
    pub(super) id: FunctionId,
    pub(super) body: &'a Body<'a>,
    pub(super) solver: Solver<'a>,
    pub(super) summary: Summary,
    /// Bases whose space is tested somewhere.
    pub(super) tested: FxHashSet<Base>,
    pub(super) is_anything_tested: bool,
    /// A value that may be address 0 is compared with 0 somewhere.
    pub(super) is_null_tested: bool,
    /// The blocks that access each object, computed on first use.
    pub(super) accessed: Option<Accessed>,
}

impl<'a> Judge<'a> {
    fn note_tests(&mut self, survey: &Survey) {
        let mut tested: Vec<Provenance> = Vec::new();
        for &at in &survey.tests {
            if let Some(&value) = self.body.uses(self.body.instruction(at)).first() {
                tested.push(self.solver.value_at(value, at).0);
            }
        }
        for &at in &survey.calls {
            let Some((summary, arguments)) = self.solver.callee_summary(at) else {
                continue;
            };
            for piece in &summary.tested {
                let passed = arguments.iter().find(|argument| argument.passes(*piece));
                tested.extend(passed.map(|argument| self.solver.value_at(argument.value, at).0));
            }
        }
        // For an address that is not generic, a test has no meaning.
        let elements = tested.iter().flat_map(Provenance::elements);
        for element in elements.filter(|element| element.kind != ElementKind::Raw) {
            self.is_anything_tested = true;
            self.tested.insert(element.base);
            if let (ElementKind::Formal, Base::Param(number, piece)) = (element.kind, element.base) {
                self.summary.tested.push((number, piece));
            }
        }
        self.summary.tested.sort_unstable();
        self.summary.tested.dedup();
    }

    /// True if some element's space is tested, and no fact covers this place.
    pub(super) fn is_space_undecided(&self, value: &Provenance, tested: DecidingTest) -> bool {
        self.is_anything_tested
            && tested == DecidingTest::Untested
            && value
                .elements()
                .iter()
                .any(|element| element.base == Base::Unknown || self.tested.contains(&element.base))
    }

    pub(super) fn report_violation(
        &mut self,
        at: InstructionId,
        wrong: ViolationKind,
        used: Use,
        element: Element,
        is_definite: bool,
        alternative: Option<Element>,
    ) {
        self.summary.violations.push(Violation {
            function: self.id,
            instruction: at,
            wrong,
            used,
            element,
            of: self.id,
            is_definite,
            alternative,
            is_uncalled: false,
            callers: Vec::new(),
        });
    }

    fn judge_instruction(&mut self, at: InstructionId) {
        let instruction = self.body.instruction(at);
        let uses = self.body.uses(instruction);
        let (Some(used), Some(&operand)) = (use_of(instruction.op), uses.first()) else {
            return;
        };
        let (value, tested) = self.solver.value_at(operand, at);
        if let Op::Access(access) = instruction.op {
            self.judge_bounds(at, &access, uses, &value);
            self.judge_null_access(at, &access, uses, &value);
        }
        let value = match (used, operand) {
            (Use::Access(Space::Generic, _), Value::Symbol(..)) => with_symbols_converted(&value),
            _ => value,
        };
        let operand = OperandValue {
            value: &value,
            excluded: 0,
            is_doubtful: !matches!(used, Use::Test(_)) && self.is_space_undecided(&value, tested),
        };
        if let Some((wrong, element, is_definite, alternative)) = first_wrong_element(used, &operand) {
            let (wrong, element) = match tested {
                DecidingTest::Holds(test) if is_in_other_space(wrong, used, &element) => (
                    ViolationKind::AgainstTest,
                    Element {
                        origin: Some(test),
                        ..element
                    },
                ),
                _ => (wrong, element),
            };
            let is_sure = is_definite
                && (!used.is_cast() || self.is_cast_result_used(wrong, (self.id, at), &[]))
                && !self.may_be_own_cta(wrong, &element, at)
                && !self.may_become_plain_access(instruction.op, &element);
            self.report_violation(at, wrong, used, element, is_sure, alternative);
        }
        let past = faulting_offset(instruction.op, uses);
        for FormalElement {
            piece,
            excluded,
            is_sole,
            offset,
        } in formal_elements(&value).collect::<Vec<_>>()
        {
            self.record_demand(Demand {
                piece,
                used,
                excluded,
                is_sole,
                reach: offset.zip(past).and_then(|(a, b)| a.checked_add(b)),
                is_certain: self.is_always_executed(at),
                decided: self.condition_of_execution(at),
                function: self.id,
                instruction: at,
                callers: Vec::new(),
            });
        }
    }

    /// True if the result of a cast is certainly used, in the function that casts or in the callers.
    pub(super) fn is_cast_result_used(
        &self,
        wrong: ViolationKind,
        cast: (FunctionId, InstructionId),
        callers: &[CallSite],
    ) -> bool {
        // No program passes on a pointer that was converted twice: the compiler has made it, and the callee treats it as
        // one.
        let leaving_counts = wrong == ViolationKind::Twice;
        results::is_cast_used(self.module, self.solver.summaries, cast, callers, leaving_counts)
    }

    /// True if the code generator may make a plain access of an atomic, since it sees the local variable.
    fn may_become_plain_access(&self, op: Op, element: &Element) -> bool {
        let is_own = |symbol| self.module.module.symbol(symbol).owner == Some(self.id);
        matches!(op, Op::Access(access) if access.kind == AccessKind::ReadModifyWrite)
            && element.space == Space::Local
            && matches!(element.base, Base::Symbol(symbol) if is_own(symbol))
    }

    pub(super) fn record_demand(&mut self, demand: Demand) {
        let known = self.summary.demands.iter().any(|known| {
            (known.piece, known.used, known.excluded) == (demand.piece, demand.used, demand.excluded)
                && known.is_sole >= demand.is_sole
                && (known.is_certain
                    || !demand.is_certain
                        && known.decided == demand.decided
                        && known.callers == demand.callers)
                && (known.reach.is_some() || demand.reach.is_none())
        });
        if !known && self.summary.demands.len() < MAX_DEMANDS {
            self.summary.demands.push(demand);
        }
    }
}
