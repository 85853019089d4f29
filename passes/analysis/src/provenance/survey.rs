//! The instructions of a body that use addresses and have to be analysed, collected in one pass.

use super::summary::Summaries;
use super::suspects::Suspects;
use crate::function::Analyses;
use crate::shared::Shared;
use ptxcheck_ir::{AccessKind, Body, Callee, FunctionId, InstructionId, Op, Value};

/// The instructions of a body that have to be analysed, by the reason.
#[derive(Default)]
pub(super) struct Survey {
    /// Uses of addresses.
    pub(super) uses: Vec<InstructionId>,
    /// Calls of functions that demand something.
    pub(super) calls: Vec<InstructionId>,
    /// Stores of return values.
    pub(super) returns: Vec<InstructionId>,
    /// Space tests.
    pub(super) tests: Vec<InstructionId>,
    /// Stores whose data may be the address of a local object.
    pub(super) escapes: Vec<InstructionId>,
    /// Calls through a register that may hold 0.
    pub(super) indirect: Vec<InstructionId>,
    /// Comparisons with 0 of what may be an address, where something may be null.
    pub(super) null_tests: Vec<InstructionId>,
}

impl Survey {
    /// Removes instructions that are never executed. Tests there are kept: they show that the tested value may have another
    /// space.
    pub(super) fn forget_never_reached(&mut self, analyses: &Analyses<'_>) {
        for list in [
            &mut self.uses,
            &mut self.calls,
            &mut self.returns,
            &mut self.escapes,
            &mut self.indirect,
        ] {
            list.retain(|&at| analyses.may_be_reached(at));
        }
    }
}

/// Looks through a body.
pub(super) fn survey_body(
    module: &Shared<'_>,
    body: &Body<'_>,
    summaries: &Summaries<'_>,
    suspects: &Suspects,
) -> Survey {
    let mut survey = Survey::default();
    for (number, instruction) in body.instructions.iter().enumerate() {
        let at = InstructionId::new(number);
        let uses = body.uses(instruction);
        match instruction.op {
            Op::Compare(_, 64, _) if suspects.has_null_suspects() && uses.contains(&Value::Integer(0)) => {
                survey.null_tests.push(at);
            }
            Op::Access(access) => {
                if let Some(Value::ReturnSlot(..)) = uses.first() {
                    survey.returns.push(at);
                    continue;
                }
                if !suspects.is_suspect(at) {
                    continue;
                }
                survey.uses.push(at);
                if access.kind != AccessKind::Load && uses.len() > 2 && matches!(access.bits, 32 | 64) {
                    survey.escapes.push(at);
                }
            }
            Op::ToGeneric(..) | Op::FromGeneric(..) | Op::MapShared(_) if suspects.is_suspect(at) => {
                survey.uses.push(at);
            }
            Op::IsSpace(_) => {
                survey.tests.push(at);
                survey.uses.push(at);
            }
            Op::Call(call) => {
                if let Callee::Indirect(_) = body.call(call).callee {
                    if suspects.is_suspect(at) {
                        survey.indirect.push(at);
                    }
                } else if let Some(summary) = direct_callee(module, body, at).and_then(summaries)
                    && (summary.tests_arguments()
                        || summary.may_be_called_wrongly() && suspects.is_suspect(at))
                {
                    survey.calls.push(at);
                }
            }
            _ => {}
        }
    }
    survey
}

/// The function that a call names.
pub(super) fn direct_callee(module: &Shared<'_>, body: &Body<'_>, call: InstructionId) -> Option<FunctionId> {
    let Callee::Direct(symbol) = body.callee(body.instruction(call))? else {
        return None;
    };
    module.module.called(symbol)
}

/// The values that have to be known.
pub(super) fn values_to_solve(body: &Body<'_>, survey: &Survey) -> Vec<Value> {
    let mut seeds = Vec::with_capacity(survey.uses.len());
    let first = |at: InstructionId| body.uses(body.instruction(at)).first().copied();
    // Unreachable tests do not count as uses, and still show that a value is tested.
    seeds.extend(
        survey
            .uses
            .iter()
            .chain(&survey.tests)
            .filter_map(|&at| first(at)),
    );
    for &at in survey.escapes.iter().chain(&survey.returns) {
        seeds.extend(body.uses(body.instruction(at)).iter().skip(2).copied());
    }
    for &at in &survey.indirect {
        if let Some(Callee::Indirect(value)) = body.callee(body.instruction(at)) {
            seeds.push(value);
        }
    }
    for &at in &survey.null_tests {
        seeds.extend(body.uses(body.instruction(at)).iter().take(2).copied());
    }
    for &at in &survey.calls {
        if let Op::Call(call) = body.instruction(at).op {
            seeds.extend(
                body.arguments(body.call(call))
                    .iter()
                    .map(|argument| argument.value),
            );
        }
    }
    seeds
}
