//! Functions that return one of their pointer arguments, as it is or in another space, and have no other effect: conversions
//! of pointers in unoptimised code.

use ptxcheck_ir::ops::Form;
use ptxcheck_ir::{Body, Callee, FunctionId, InstructionId, Op, ParamPiece, Space, Value};

use crate::limits::MAX_HANDED_INSTRUCTIONS;
use crate::shared::Shared;

/// The argument that a call returns in this way.
pub(crate) fn argument_passed_through(
    module: &Shared<'_>,
    body: &Body<'_>,
    call: InstructionId,
) -> Option<Value> {
    let instruction = body.instruction(call);
    let Some(Callee::Direct(symbol)) = body.callee(instruction) else {
        return None;
    };
    body.passed(call, param_passed_through(module, module.module.called(symbol)?)?)
}

/// True if a function is of this kind.
pub(crate) fn passes_pointer_through(module: &Shared<'_>, id: FunctionId) -> bool {
    param_passed_through(module, id).is_some()
}

/// The parameter that a function returns in this way.
fn param_passed_through(module: &Shared<'_>, id: FunctionId) -> Option<ParamPiece> {
    let function = module.module.function(id);
    let body = function.body.as_ref()?;
    if function.is_damaged || body.instructions.len() > MAX_HANDED_INSTRUCTIONS {
        return None;
    }
    let mut returned = None;
    for instruction in &body.instructions {
        let is_plain = instruction.guard.is_none()
            && match instruction.op {
                Op::Branch | Op::Return => true,
                Op::Access(access) => matches!(access.space, Space::Local | Space::Param),
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
    let analyses = module.function(id);
    let end = analyses.trace_value(returned?, Form::moved_address);
    let load = analyses.only_writer(end)?;
    body.loaded_piece(body.instruction(load))
}
