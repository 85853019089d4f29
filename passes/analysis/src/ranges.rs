//! Comparisons that the ranges of special registers decide (PTX ISA, Special Registers): no lane has a number above 31, no
//! CTA more than 1,024 threads.
//!
//! ```text
//! range(%laneid) = 0..31   range(%tid) = 0..1023   range(%ntid) = 1..1024   range(constant k) = k..k
//! range(x and k) = 0..k   range(x shr k) = range(x) shr k   range(x rem k) = 0..k-1   of copies and conversions the same
//! ```

use super::definitions::Definitions;
use super::evaluate::{evaluate, ones};
use crate::launches::MAX_BLOCK_THREADS;
use crate::limits::MAX_PREDICATE_STEPS;
use ptxcheck_ir::ops::{Change, Form};
use ptxcheck_ir::{BinaryOp, Body, Condition, Logic, Op, Register, Special, Value};

/// The least and the greatest value, as unsigned numbers.
type Range = (u64, u64);

/// The value of a predicate whose only definition is a comparison of values whose ranges leave one outcome.
#[must_use]
pub(crate) fn comparison_outcome(
    body: &Body<'_>,
    definitions: &Definitions,
    predicate: Register,
) -> Option<bool> {
    let comparison = body.instruction(definitions.only_writer(body, predicate)?);
    let Op::Compare(condition, bits, Logic::None) = comparison.op else {
        return None;
    };
    let &[a, b] = body.uses(comparison) else {
        return None;
    };
    let (a, b) = (
        range_of_operand(body, definitions, a, bits)?,
        range_of_operand(body, definitions, b, bits)?,
    );
    let holds = decide_comparison(condition, bits, a, b)?;
    let is_complement = body.results(comparison).first() != Some(&Value::Register(predicate));
    Some(holds != is_complement)
}

fn decide_comparison(condition: Condition, bits: u8, a: Range, b: Range) -> Option<bool> {
    use Condition as C;
    match condition {
        C::Equal | C::NotEqual => (a.1 < b.0 || b.1 < a.0).then_some(condition == C::NotEqual),
        _ => {
            let signed = matches!(
                condition,
                C::LessSigned | C::LessEqualSigned | C::GreaterSigned | C::GreaterEqualSigned
            );
            if signed && a.1.max(b.1) > ones(bits.saturating_sub(1)) {
                return None;
            }
            // Orders are monotone: if both ends agree, all values in between do.
            let holds = |a: u64, b: u64| evaluate(Op::Compare(condition, bits, Logic::None), &[a, b]);
            let (first, last) = (holds(a.0, b.1)?, holds(a.1, b.0)?);
            (first == last).then_some(first & 1 == 1)
        }
    }
}

/// The range of an operand that is compared at so many bits; `None` if it is not restricted.
pub(crate) fn range_of_operand(
    body: &Body<'_>,
    definitions: &Definitions,
    value: Value,
    bits: u8,
) -> Option<Range> {
    let (mut current, mut shift, mut most) = (value, 0, ones(bits));
    for _ in 0..MAX_PREDICATE_STEPS {
        let found = match current {
            Value::Integer(value) if shift == 0 => (value as u64 & ones(bits), value as u64 & ones(bits)),
            Value::Special(Special::LaneId) => (0, 31),
            Value::Special(Special::Tid(_)) => (0, u64::from(MAX_BLOCK_THREADS) - 1),
            Value::Special(Special::Ntid(_)) => (1, u64::from(MAX_BLOCK_THREADS)),
            Value::Register(register) => {
                let definition = definitions.only_writer(body, register)?;
                let instruction = body.instruction(definition);
                match (instruction.op, body.uses(instruction)) {
                    (Op::Binary(BinaryOp::ShrUnsigned, _), &[source, Value::Integer(by @ 0..64)]) => {
                        shift += by as u32;
                        current = source;
                        continue;
                    }
                    (Op::Binary(BinaryOp::And, width), &[_, Value::Integer(mask)]) => {
                        (0, mask as u64 & ones(width))
                    }
                    (Op::Binary(BinaryOp::RemUnsigned, _), &[_, Value::Integer(by @ 1..)]) => {
                        (0, by as u64 - 1)
                    }
                    (op, uses) => {
                        let Form::Moved(source, change) = Form::of(op, uses) else {
                            return None;
                        };
                        current = source;
                        match change {
                            Change::Nothing => {}
                            // Numbers below half of the narrower width keep their value.
                            Change::Width { from, to, .. } => {
                                most = most.min(ones(from.min(to).saturating_sub(1)));
                            }
                            Change::ToGeneric(_) | Change::FromGeneric(_) => return None,
                        }
                        continue;
                    }
                }
            }
            _ => return None,
        };
        let shifted = |value: u64| value.checked_shr(shift).unwrap_or(0);
        return (found.1 <= most).then(|| (shifted(found.0), shifted(found.1)));
    }
    None
}
