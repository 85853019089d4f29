//! Whether the result of an operation depends on one of its operands.

use super::held_values::Need;
use ptxcheck_ir::evaluate::evaluate;
use ptxcheck_ir::{BinaryOp, Logic, Op, Value};

/// An operand in one lane.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operand {
    /// It is computed from the value that is followed.
    Held,
    /// The operand is this number.
    Known(u64),
    /// Unknown.
    Unknown,
}

/// True if the result depends on the held operands. Certain dependence: an operation is assumed to depend on its operands
/// unless another operand hides them. Otherwise: possible dependence.
pub(super) fn depends_on_held_operands(op: Op, operands: &[Operand], need: Need) -> bool {
    let is_logic = match op {
        Op::Binary(BinaryOp::And | BinaryOp::Or, 1) => true,
        Op::Compare(_, _, logic) => matches!(logic, Logic::And | Logic::Or),
        // With an additional predicate, which may hide the comparison or be hidden.
        Op::CompareOther => operands.len() > 2,
        _ => false,
    };
    let has_unknown = operands.contains(&Operand::Unknown);
    if has_unknown || matches!(op, Op::Opaque | Op::CompareOther) {
        let hides = || match op {
            // The predicate that accompanies the comparison, or the comparison that accompanies the predicate.
            Op::Compare(..) => match operands {
                [one, other, beside] if [one, other].contains(&&Operand::Held) => *beside != Operand::Unknown,
                _ => false,
            },
            _ => false,
        };
        return match (is_logic, need) {
            (true, Need::Certain) => hides() && varies_with_held_operands(op, operands),
            (true, _) => !hides() || varies_with_held_operands(op, operands),
            (false, _) => !is_decided_by_known_operand(op, operands),
        };
    }
    varies_with_held_operands(op, operands)
}

/// True if a known operand alone decides the result.
fn is_decided_by_known_operand(op: Op, operands: &[Operand]) -> bool {
    let has_zero = || {
        operands
            .iter()
            .take(2)
            .any(|operand| *operand == Operand::Known(0))
    };
    let is_and = matches!(op, Op::Binary(BinaryOp::And, _));
    let is_summand_held = op.product_and_sum().is_some() && operands.get(2) == Some(&Operand::Held);
    (is_and || op.multiplication().is_some()) && has_zero() && !is_summand_held
}

/// True if an operation gives different results for different values of the held operands, with arbitrary values for unknown
/// operands.
fn varies_with_held_operands(op: Op, operands: &[Operand]) -> bool {
    if matches!(op, Op::Copy | Op::Pack(_) | Op::Unpack(_)) {
        return true;
    }
    let constants = operands.iter().filter_map(|operand| match operand {
        Operand::Known(value) => Some(*value),
        _ => None,
    });
    let held = operands
        .iter()
        .filter(|operand| **operand == Operand::Held)
        .count();
    let outcome = |tried: u64| {
        // Several held operands need not be equal.
        let turned = |place: usize| {
            if held > 1 {
                tried.rotate_left(place as u32)
            } else {
                tried
            }
        };
        let values = operands.iter().enumerate().map(|(place, operand)| match operand {
            Operand::Known(value) => *value,
            Operand::Held => turned(place),
            Operand::Unknown => 0,
        });
        evaluate(op, &values.collect::<Vec<u64>>())
    };
    // A comparison changes next to the value that it compares with.
    let beside = constants.flat_map(|value| [value, value.wrapping_add(1), value.wrapping_sub(1)]);
    let first = outcome(TRIED[0]);
    TRIED
        .into_iter()
        .chain(beside)
        .any(|tried| outcome(tried) != first)
}

/// True if the result of an operation depends on one of its operands, for any values of the other, non-constant operands.
pub(super) fn depends_on_operand(op: Op, uses: &[Value], place: usize) -> bool {
    let is_constant = |value: &Value| matches!(value, Value::Integer(_));
    let others = || uses.iter().enumerate().filter(|(at, _)| *at != place);
    if matches!(op, Op::Opaque | Op::CompareOther) {
        // Of three operands, the first may be scaled or selected by the others.
        return uses.len() <= 2 || place == 2;
    }
    if others().all(|(_, value)| is_constant(value)) {
        let operand = |(at, value): (usize, &Value)| match value {
            _ if at == place => Operand::Held,
            Value::Integer(value) => Operand::Known(*value as u64),
            _ => Operand::Unknown,
        };
        return varies_with_held_operands(
            op,
            &uses.iter().enumerate().map(operand).collect::<Vec<Operand>>(),
        );
    }
    match op {
        op if op.is_move() => true,
        Op::Pack(_) => true,
        Op::Binary(op, _) => matches!(
            op,
            BinaryOp::Add
                | BinaryOp::Sub
                | BinaryOp::Xor
                | BinaryOp::MinSigned
                | BinaryOp::MinUnsigned
                | BinaryOp::MaxSigned
                | BinaryOp::MaxUnsigned
        ),
        op if op.product_and_sum().is_some() => place == 2,
        Op::Compare(_, _, Logic::None) => true,
        _ => false,
    }
}

/// Test values, some pair of which shows whether a result varies.
const TRIED: [u64; 6] = [
    0,
    1,
    0x5555_5555_5555_5555,
    0x7fff_ffff,
    u64::MAX,
    0xaaaa_aaaa_aaaa_aaaa,
];
