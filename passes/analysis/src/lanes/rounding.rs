//! Numbers that are rounded down to a multiple of another: `x - x % d`, which compilers write for `x / d * d`.

use crate::definitions::Definitions;
use ptxcheck_ir::{BinaryOp, Body, InstructionId, Op, Value};

/// The number and the divisor, both unknown, if an instruction subtracts from a number the remainder of its division. Both
/// instructions are in one block, and the number is not written in between.
pub(super) fn rounded_number_and_divisor(
    body: &Body<'_>,
    definitions: &Definitions,
    at: InstructionId,
) -> Option<(Value, Value)> {
    let difference = body.instruction(at);
    let (Op::Binary(BinaryOp::Sub, bits), &[number, rest]) = (difference.op, body.uses(difference)) else {
        return None;
    };
    let divided_at = definitions.only_writer(body, rest.register()?)?;
    let division = body.instruction(divided_at);
    let (Op::Binary(BinaryOp::RemUnsigned, width), &[divided, divisor]) = (division.op, body.uses(division))
    else {
        return None;
    };
    let is_between = |id: &InstructionId| divided_at <= *id && *id <= at;
    let is_one = bits == width
        && number == divided
        && !matches!(divisor, Value::Integer(_))
        && body.block_of(divided_at) == body.block_of(at)
        && divided_at < at
        && !definitions.writers_of(number.register()?).iter().any(is_between)
        && !matches!(divisor, Value::Register(register) if definitions.writers_of(register).iter().any(is_between));
    is_one.then_some((number, divisor))
}
