//! Functions that return one of their pointer arguments, as it is or in another space, and have no other effect: conversions
//! of pointers in unoptimised code.

use ptxcheck_ir::ops::Form;
use ptxcheck_ir::{Body, Callee, FunctionId, InstructionId, Op, ParamPiece, Space, Value};

use crate::limits::{MAX_CALL_DEPTH, MAX_HANDED_INSTRUCTIONS};
use crate::shared::Shared;
use crate::slots::Effect;

/// The argument that a call returns in this way.
pub(crate) fn argument_passed_through(
    module: &Shared<'_>,
    body: &Body<'_>,
    call: InstructionId,
) -> Option<Value> {
    argument_passed_on(module, body, call, 0)
}

fn argument_passed_on(
    module: &Shared<'_>,
    body: &Body<'_>,
    call: InstructionId,
    depth: usize,
) -> Option<Value> {
    let Some(Callee::Direct(symbol)) = body.callee(body.instruction(call)) else {
        return None;
    };
    let piece = param_passed_through(module, module.module.called(symbol)?, depth)?;
    body.passed(call, piece)
}

/// True if a function is of this kind.
pub(crate) fn passes_pointer_through(module: &Shared<'_>, id: FunctionId) -> bool {
    param_passed_through(module, id, 0).is_some()
}

/// The parameter that a function returns in this way, itself or by calls of such functions, at most [`MAX_CALL_DEPTH`] deep.
fn param_passed_through(module: &Shared<'_>, id: FunctionId, depth: usize) -> Option<ParamPiece> {
    let function = module.module.function(id);
    let body = function.body.as_ref()?;
    if function.is_damaged || body.instructions.len() > MAX_HANDED_INSTRUCTIONS || depth > MAX_CALL_DEPTH {
        return None;
    }
    let analyses = module.function(id);
    let mut returned = None;
    for (at, instruction) in body.iter() {
        let is_plain = instruction.guard.is_none()
            && match instruction.op {
                Op::Branch | Op::Return | Op::CallResult(_) => true,
                Op::Access(access) => {
                    let effect = || analyses.slots().effect_on_slots(at, instruction);
                    matches!(access.space, Space::Local | Space::Param)
                        || matches!(effect(), Effect::Load(_) | Effect::Store(_))
                }
                Op::Call(_) => argument_passed_on(module, body, at, depth + 1).is_some(),
                op => Form::of(op, body.uses(instruction)).moved().is_some(),
            };
        if !is_plain {
            return None;
        }
        if let Some((at, value)) = body.returned(instruction)
            && (at != 0 || returned.replace(value).is_some())
        {
            return None;
        }
    }
    let mut value = returned?;
    for _ in 0..=body.calls.len() {
        let end = analyses.only_writer(analyses.trace_value(value, Form::moved_address))?;
        match body.instruction(end).op {
            Op::CallResult(call) => value = argument_passed_on(module, body, call, depth + 1)?,
            _ => return body.loaded_piece(body.instruction(end)),
        }
    }
    None
}
