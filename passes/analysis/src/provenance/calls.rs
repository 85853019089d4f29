//! Calls and returns: the callee's demands, checked against the arguments; and the values that the function returns.

use std::cell::OnceCell;

use super::function::Judge;
use super::guards::{self, TestCalls};
use super::judge::ViolationKind;
use super::summary::{Demand, OperandValue, Violation, first_wrong_element, formal_elements};
use super::survey::{Survey, direct_callee};
use super::value::{Base, ElementKind};
use crate::call_graph::CallSite;
use crate::entered_function::Executed;
use crate::limits::MAX_CALL_DEPTH;
use ptxcheck_ir::{FunctionId, InstructionId, Op, Value};

impl Judge<'_> {
    /// Checks the arguments of a call against the demands of the function called.
    pub(super) fn judge_call(&mut self, at: InstructionId) {
        let Some((summary, arguments)) = self.solver.callee_summary(at) else {
            return;
        };
        let Some(callee) = self.callee_of(at) else {
            return;
        };
        let site = CallSite {
            caller: self.id,
            instruction: at,
            callee,
        };
        let is_moved = self.solver.passes_composed(arguments, at);
        for demand in &summary.demands {
            let passed = arguments.iter().find(|argument| argument.passes(demand.piece));
            let Some(argument) = passed else { continue };
            let (value, tested) = self.solver.value_at(argument.value, at);
            let operand = OperandValue {
                value: &value,
                excluded: demand.excluded,
                is_doubtful: is_moved
                    || self.is_space_undecided(&value, tested)
                    || summary.tested.contains(&demand.piece) && demand.excluded == 0,
            };
            let callers: Vec<CallSite> = demand.callers.iter().copied().chain([site]).collect();
            // Computed only if something is wrong.
            let executed = OnceCell::new();
            let executed = || *executed.get_or_init(|| self.execution_of_demand(demand, arguments, at));
            if let Some((wrong, element, is_definite, alternative)) =
                first_wrong_element(demand.used, &operand)
                && executed().is_wrong_use_reportable()
            {
                let is_definite = is_definite
                    && demand.is_sole
                    && executed() == Executed::Always
                    && (!demand.used.is_cast()
                        || self.is_cast_result_used(wrong, (demand.function, demand.instruction), &callers))
                    && !self.may_be_own_cta(wrong, &element, at);
                // No wrong store there: the register is undefined here.
                let (function, instruction, callers) = if wrong == ViolationKind::Undefined {
                    (self.id, at, Vec::new())
                } else {
                    (demand.function, demand.instruction, callers.clone())
                };
                self.summary.violations.push(Violation {
                    function,
                    instruction,
                    wrong,
                    used: demand.used,
                    element,
                    of: self.id,
                    is_definite,
                    alternative,
                    is_uncalled: false,
                    callers,
                });
            }
            if !summary.null_tested.contains(&demand.piece) {
                self.judge_null_argument(demand, arguments, argument.value, &value, &callers);
            }
            if callers.len() >= MAX_CALL_DEPTH {
                continue;
            }
            let is_null_tested = summary.null_tested.contains(&demand.piece);
            let reach = demand.reach.filter(|_| !is_null_tested);
            let passed_on: Vec<_> = formal_elements(&value).collect();
            if passed_on.is_empty() {
                continue;
            }
            let is_certain = demand.is_certain && self.is_always_executed(at);
            for passed in passed_on {
                self.record_demand(Demand {
                    piece: passed.piece,
                    used: demand.used,
                    excluded: passed.excluded | demand.excluded,
                    is_sole: passed.is_sole && demand.is_sole,
                    reach: reach.zip(passed.offset).and_then(|(a, b)| a.checked_add(b)),
                    is_certain,
                    decided: demand.decided,
                    function: demand.function,
                    instruction: demand.instruction,
                    callers: callers.clone(),
                });
            }
        }
    }

    pub(super) fn callee_of(&self, at: InstructionId) -> Option<FunctionId> {
        direct_callee(self.module, self.body, at)
    }

    /// Records the values that the function returns, joined over its stores to the return value.
    pub(super) fn record_returned_values(&mut self, survey: &Survey) {
        for &at in &survey.returns {
            let instruction = self.body.instruction(at);
            let (Op::Access(access), &[Value::ReturnSlot(_, start), ref rest @ ..]) =
                (instruction.op, self.body.uses(instruction))
            else {
                continue;
            };
            for (number, &value) in rest.iter().skip(1).enumerate() {
                let stride = i64::from(access.bits / 8);
                let Ok(offset) = u32::try_from(i64::from(start) + stride * number as i64) else {
                    continue;
                };
                let (value, _) = self.solver.value_at(value, at);
                match self
                    .summary
                    .results
                    .iter_mut()
                    .find(|(known, _)| *known == offset)
                {
                    Some((_, joined)) => {
                        joined.join(&value);
                    }
                    None => self.summary.results.push((offset, value)),
                }
            }
        }
    }

    /// Records the space test of a parameter whose outcome the function returns, if it returns one.
    pub(super) fn record_returned_test(&mut self, store: InstructionId, answers: &TestCalls<'_>) {
        let &[Value::ReturnSlot(_, 0), _, value] = self.body.uses(self.body.instruction(store)) else {
            return;
        };
        let analyses = self.module.function(self.id);
        let Some((tested, space)) = guards::test_returned_by(self.body, analyses, answers, (value, store))
        else {
            return;
        };
        let (value, _) = self.solver.value_at(Value::Register(tested), store);
        if let &[element] = value.elements()
            && let (ElementKind::Formal, Base::Param(number, piece), Some(0)) =
                (element.kind, element.base, element.offset)
        {
            self.summary.answer = Some(((number, piece), space));
        }
    }
}
