//! The results of the interpreted integer operations (PTX ISA, Integer Arithmetic, Comparison and Selection, Logic and Shift,
//! Data Movement). All that computes with constants computes them here, so that there is one meaning of each operation.
//!
//! Values are bit patterns in the low bits of a `u64`; what lies above the operation's width is ignored in operands
//! and 0 in results.

use crate::{BinaryOp, Condition, Logic, Op, UnaryOp};

/// The low `bits` bits set.
#[must_use]
pub const fn ones(bits: u8) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// The low `bits` bits, as a signed number.
#[must_use]
pub const fn signed(value: u64, bits: u8) -> i64 {
    let unused = 64_u32.saturating_sub(bits as u32);
    if unused >= 64 {
        0
    } else {
        ((value << unused) as i64) >> unused
    }
}

/// True if [`evaluate_result`] computes each result of an operation.
#[must_use]
pub const fn is_interpreted(op: Op) -> bool {
    matches!(
        op,
        Op::Copy
            | Op::Binary(..)
            | Op::Unary(..)
            | Op::MulAdd(..)
            | Op::ExtractBits(..)
            | Op::InsertBits(..)
            | Op::Lop3(..)
            | Op::FunnelShift { .. }
            | Op::Compare(..)
            | Op::Select
            | Op::Convert { .. }
            | Op::Pack(..)
            | Op::Unpack(..)
    )
}

/// The first result of `op` on `uses`: see [`evaluate_result`].
#[must_use]
pub fn evaluate(op: Op, uses: &[u64]) -> Option<u64> {
    evaluate_result(op, 0, uses)
}

/// Result number `result` of `op` on `uses`; `None` where the operation has no such result, or none that is a function of
/// its operands (division by 0 among them).
///
/// Comparisons have a second result, the complement combined with the predicate alike (PTX ISA, setp), and an unpack has one
/// for each part; all other operations have one.
#[must_use]
pub fn evaluate_result(op: Op, result: usize, uses: &[u64]) -> Option<u64> {
    let at = |place: usize| uses.get(place).copied();
    match (op, result) {
        (_, 0) | (Op::Compare(..), 1) | (Op::Unpack(_), _) => {}
        _ => return None,
    }
    Some(match op {
        Op::Copy => at(0)?,
        Op::Binary(op, bits) => evaluate_binary(op, bits, at(0)?, at(1)?)?,
        Op::Unary(op, bits) => evaluate_unary(op, bits, at(0)?),
        Op::MulAdd(op, bits) => evaluate_binary(op, bits, at(0)?, at(1)?)?.wrapping_add(at(2)?) & ones(bits),
        Op::ExtractBits(bits, is_signed) => extract_bits(bits, is_signed, at(0)?, at(1)?, at(2)?),
        Op::InsertBits(bits) => insert_bits(bits, at(0)?, at(1)?, at(2)?, at(3)?),
        Op::Lop3(table) => lop3(table, at(0)?, at(1)?, at(2)?),
        Op::FunnelShift { left, wrap } => funnel_shift(left, wrap, at(0)?, at(1)?, at(2)?),
        Op::Compare(condition, bits, logic) => {
            let outcome = compare(condition, bits, at(0)?, at(1)?) != (result == 1);
            u64::from(combine(logic, outcome, at(2).unwrap_or(0) & 1 == 1))
        }
        Op::Select => {
            if at(2)? & 1 == 1 {
                at(0)?
            } else {
                at(1)?
            }
        }
        Op::Convert {
            from,
            signed: is_signed,
            to,
        } => {
            let value = at(0)? & ones(from);
            (if is_signed {
                signed(value, from) as u64
            } else {
                value
            }) & ones(to)
        }
        Op::Pack(bits) => {
            let mut packed = 0;
            for (number, value) in uses.iter().enumerate() {
                packed |= (value & ones(bits)).checked_shl(number as u32 * u32::from(bits))?;
            }
            packed
        }
        Op::Unpack(bits) => {
            let by = u32::try_from(result).ok()?.checked_mul(u32::from(bits))?;
            at(0)?.checked_shr(by)? & ones(bits)
        }
        _ => return None,
    })
}

/// True if [`absorbed`] can decide a result of an operation.
#[must_use]
pub const fn may_absorb(op: Op) -> bool {
    matches!(
        op,
        Op::Binary(BinaryOp::And | BinaryOp::Or, 1) | Op::Select | Op::Compare(_, _, Logic::And | Logic::Or)
    )
}

/// Result number `result` of `op` where one operand alone decides it: a predicate that is combined with another, a choice.
/// `known` returns the operand with a number, if it is known.
#[must_use]
pub fn absorbed(op: Op, result: usize, known: impl Fn(usize) -> Option<u64>) -> Option<u64> {
    let decides = |place: usize, bit: u64| known(place).filter(|value| value & 1 == bit).map(|_| bit);
    match op {
        Op::Binary(..) | Op::Select if result != 0 => None,
        Op::Binary(BinaryOp::And, 1) => decides(0, 0).or_else(|| decides(1, 0)),
        Op::Binary(BinaryOp::Or, 1) => decides(0, 1).or_else(|| decides(1, 1)),
        // Both results of a comparison are combined with the predicate alike.
        Op::Compare(_, _, Logic::And) if result < 2 => decides(2, 0),
        Op::Compare(_, _, Logic::Or) if result < 2 => decides(2, 1),
        Op::Select => match known(2) {
            Some(predicate) => known(if predicate & 1 == 1 { 0 } else { 1 }),
            None => known(0).filter(|&one| known(1) == Some(one)),
        },
        _ => None,
    }
}

fn evaluate_binary(op: BinaryOp, bits: u8, a: u64, b: u64) -> Option<u64> {
    use BinaryOp as B;
    let mask = ones(bits);
    let half = bits / 2;
    let (ua, ub) = (a & mask, b & mask);
    let (sa, sb) = (signed(a, bits), signed(b, bits));
    let amount = u32::try_from(b & ones(32)).unwrap_or(u32::MAX);
    let value = match op {
        B::Add => ua.wrapping_add(ub),
        B::Sub => ua.wrapping_sub(ub),
        B::MulLow => ua.wrapping_mul(ub),
        B::MulHighSigned => ((i128::from(sa) * i128::from(sb)) >> bits) as u64,
        B::MulHighUnsigned => ((u128::from(ua) * u128::from(ub)) >> bits) as u64,
        B::MulWideSigned => signed(a, half).wrapping_mul(signed(b, half)) as u64,
        B::MulWideUnsigned => (a & ones(half)).wrapping_mul(b & ones(half)),
        // The width holds no quotient of its lowest number and -1.
        B::DivSigned | B::RemSigned
            if sb == -1 && signed(sa.wrapping_neg() as u64, bits) == sa && sa != 0 =>
        {
            return None;
        }
        B::DivSigned => sa.checked_div(sb)? as u64,
        B::DivUnsigned => ua.checked_div(ub)?,
        B::RemSigned => sa.checked_rem(sb)? as u64,
        B::RemUnsigned => ua.checked_rem(ub)?,
        B::MinSigned => sa.min(sb) as u64,
        B::MinUnsigned => ua.min(ub),
        B::MaxSigned => sa.max(sb) as u64,
        B::MaxUnsigned => ua.max(ub),
        B::And => ua & ub,
        B::Or => ua | ub,
        B::Xor => ua ^ ub,
        B::Shl => {
            if amount < u32::from(bits) {
                ua << amount
            } else {
                0
            }
        }
        B::ShrUnsigned => {
            if amount < u32::from(bits) {
                ua >> amount
            } else {
                0
            }
        }
        B::OnesClamped | B::OnesWrapped => ones_from(op == B::OnesClamped, bits, ua, ub),
        B::ShrSigned => (sa >> amount.min(u32::from(bits).saturating_sub(1))) as u64,
    };
    Some(value & mask)
}

/// `bmsk`: ones from the bit `start` on, `count` of them, up to the top at most. Without clamping, both numbers are taken modulo the width
/// (PTX ISA, bmsk).
fn ones_from(is_clamped: bool, bits: u8, start: u64, count: u64) -> u64 {
    let width = u64::from(bits.max(1));
    if is_clamped && start >= width {
        return 0;
    }
    let from = start % width;
    let end = if is_clamped && count >= width {
        width
    } else {
        from + count % width
    };
    ones(end.min(width) as u8) & !ones(from as u8)
}

fn evaluate_unary(op: UnaryOp, bits: u8, a: u64) -> u64 {
    let mask = ones(bits);
    let value = a & mask;
    match op {
        UnaryOp::Not => !value & mask,
        UnaryOp::Neg => value.wrapping_neg() & mask,
        UnaryOp::Abs => signed(a, bits).unsigned_abs() & mask,
        UnaryOp::PopCount => u64::from(value.count_ones()),
        UnaryOp::LeadingZeros => u64::from(value.leading_zeros()) - u64::from(64 - bits.min(64)),
        UnaryOp::ReverseBits => value.reverse_bits() >> (64 - bits.min(64)),
        UnaryOp::FindHighestSet => value.checked_ilog2().map_or(ones(32), u64::from),
        UnaryOp::ShiftToHighest if value == 0 => ones(32),
        UnaryOp::ShiftToHighest => evaluate_unary(UnaryOp::LeadingZeros, bits, a),
        UnaryOp::LogicalNot => u64::from(value == 0),
    }
}

/// `bfe`: start and length are the low 8 bits of their operands; past the top, the sign (signed) or 0 fills.
fn extract_bits(bits: u8, is_signed: bool, a: u64, start: u64, length: u64) -> u64 {
    let (start, length, top) = (start & 0xff, length & 0xff, u64::from(bits) - 1);
    let bit = |place: u64| if place <= top { a >> place & 1 } else { 0 };
    let sign = if is_signed && length > 0 {
        bit((start + length - 1).min(top))
    } else {
        0
    };
    let mut value = 0;
    for place in 0..=top {
        let taken = if place < length && start + place <= top {
            bit(start + place)
        } else {
            sign
        };
        value |= taken << place;
    }
    value
}

fn insert_bits(bits: u8, a: u64, b: u64, start: u64, length: u64) -> u64 {
    let (start, length) = (start & 0xff, length & 0xff);
    let mut value = b & ones(bits);
    for place in 0..length {
        let target = start + place;
        if target < u64::from(bits) {
            value = value & !(1 << target) | (a.checked_shr(place as u32).unwrap_or(0) & 1) << target;
        }
    }
    value
}

fn lop3(table: u8, a: u64, b: u64, c: u64) -> u64 {
    let mut value = 0;
    for row in 0..8_u8 {
        if table >> row & 1 == 1 {
            let pick = |word: u64, bit: u8| if row >> bit & 1 == 1 { word } else { !word };
            value |= pick(a, 2) & pick(b, 1) & pick(c, 0);
        }
    }
    value & ones(32)
}

fn funnel_shift(left: bool, wrap: bool, low: u64, high: u64, amount: u64) -> u64 {
    let pair = (high & ones(32)) << 32 | low & ones(32);
    let amount = amount & ones(32);
    let amount = if wrap { amount & 31 } else { amount.min(32) };
    if left {
        (pair << amount) >> 32
    } else {
        pair >> amount & ones(32)
    }
}

/// True if a comparison of two numbers of `bits` bits holds.
#[must_use]
pub fn compare(condition: Condition, bits: u8, a: u64, b: u64) -> bool {
    use Condition as C;
    let (ua, ub) = (a & ones(bits), b & ones(bits));
    let (sa, sb) = (signed(a, bits), signed(b, bits));
    match condition {
        C::Equal => ua == ub,
        C::NotEqual => ua != ub,
        C::LessSigned => sa < sb,
        C::LessEqualSigned => sa <= sb,
        C::GreaterSigned => sa > sb,
        C::GreaterEqualSigned => sa >= sb,
        C::LessUnsigned => ua < ub,
        C::LessEqualUnsigned => ua <= ub,
        C::GreaterUnsigned => ua > ub,
        C::GreaterEqualUnsigned => ua >= ub,
    }
}

/// The outcome of a comparison, combined with the third operand of `setp`.
#[must_use]
pub const fn combine(logic: Logic, outcome: bool, with: bool) -> bool {
    match logic {
        Logic::None => outcome,
        Logic::And => outcome & with,
        Logic::Or => outcome | with,
        Logic::Xor => outcome ^ with,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluate_binary_at(op: BinaryOp, bits: u8, a: u64, b: u64) -> Option<u64> {
        evaluate(Op::Binary(op, bits), &[a, b])
    }

    #[test]
    fn shifts_clamp_as_in_ptx() {
        assert_eq!(evaluate_binary_at(BinaryOp::Shl, 32, 1, 31), Some(1 << 31));
        assert_eq!(evaluate_binary_at(BinaryOp::Shl, 32, 1, 32), Some(0));
        assert_eq!(evaluate_binary_at(BinaryOp::Shl, 32, 1, ones(32)), Some(0));
        assert_eq!(
            evaluate_binary_at(BinaryOp::ShrUnsigned, 32, 0x8000_0000, 40),
            Some(0)
        );
        assert_eq!(
            evaluate_binary_at(BinaryOp::ShrSigned, 32, 0x8000_0000, 40),
            Some(0xffff_ffff)
        );
    }

    #[test]
    fn arithmetic_wraps_at_its_width() {
        assert_eq!(evaluate_binary_at(BinaryOp::Add, 32, ones(32), 2), Some(1));
        assert_eq!(
            evaluate_binary_at(BinaryOp::MulWideSigned, 64, ones(32), 3),
            Some((-3_i64) as u64)
        );
        assert_eq!(
            evaluate_binary_at(BinaryOp::MulWideUnsigned, 64, ones(32), 3),
            Some(0x2_ffff_fffd)
        );
        assert_eq!(
            evaluate_binary_at(BinaryOp::MulHighUnsigned, 32, ones(32), ones(32)),
            Some(0xffff_fffe)
        );
        assert_eq!(evaluate_binary_at(BinaryOp::DivSigned, 32, 7, 0), None);
        assert_eq!(
            evaluate_binary_at(BinaryOp::DivSigned, 64, i64::MIN as u64, u64::MAX),
            None
        );
        assert_eq!(
            evaluate_binary_at(BinaryOp::DivSigned, 32, 0x8000_0000, ones(32)),
            None
        );
        assert_eq!(
            evaluate_binary_at(BinaryOp::RemSigned, 32, 0x8000_0000, ones(32)),
            None
        );
        assert_eq!(
            evaluate_binary_at(BinaryOp::DivSigned, 32, 0x8000_0001, ones(32)),
            Some(0x7fff_ffff)
        );
        assert_eq!(evaluate_binary_at(BinaryOp::DivSigned, 32, 0, ones(32)), Some(0));
    }

    #[test]
    fn shuffle_control_of_a_width() {
        // ((32 - width) << 8) | 31, as the intrinsics compute it
        let control = |width| {
            let rest = evaluate_binary_at(BinaryOp::Sub, 32, 32, width).unwrap();
            evaluate_binary_at(
                BinaryOp::Or,
                32,
                evaluate_binary_at(BinaryOp::Shl, 32, rest, 8).unwrap(),
                31,
            )
        };
        assert_eq!(control(32), Some(31));
        assert_eq!(control(16), Some(4127));
        assert_eq!(control(12), Some(0x141f));
    }

    #[test]
    fn bit_fields() {
        assert_eq!(evaluate(Op::ExtractBits(32, false), &[0xabcd, 4, 8]), Some(0xbc));
        assert_eq!(
            evaluate(Op::ExtractBits(32, true), &[0xabcd, 4, 8]),
            Some(0xffff_ffbc)
        );
        assert_eq!(
            evaluate(Op::ExtractBits(32, true), &[0x8000_0000, 31, 5]),
            Some(ones(32))
        );
        assert_eq!(
            evaluate(Op::ExtractBits(32, true), &[0x8000_0000, 31, 0]),
            Some(0)
        );
        assert_eq!(evaluate(Op::InsertBits(32), &[0xff, 0, 4, 4]), Some(0xf0));
        assert_eq!(evaluate(Op::InsertBits(32), &[0xff, 1, 40, 4]), Some(1));
    }

    #[test]
    fn masks_of_ones() {
        let clamped = |start, count| evaluate_binary_at(BinaryOp::OnesClamped, 32, start, count);
        assert_eq!(
            [clamped(1, 2), clamped(0, 32), clamped(0, 0)],
            [Some(6), Some(ones(32)), Some(0)]
        );
        assert_eq!(
            [clamped(28, 8), clamped(32, 1), clamped(4, 99)],
            [Some(0xf000_0000), Some(0), Some(0xffff_fff0)]
        );
        let wrapped = |start, count| evaluate_binary_at(BinaryOp::OnesWrapped, 32, start, count);
        assert_eq!(
            [wrapped(1, 2), wrapped(33, 34), wrapped(0, 32)],
            [Some(6), Some(6), Some(0)]
        );
        assert_eq!(wrapped(28, 8), Some(0xf000_0000));
    }

    #[test]
    fn logic_tables() {
        // 0x96 is a ^ b ^ c, 0xe8 the majority (PTX ISA, lop3).
        assert_eq!(evaluate(Op::Lop3(0x96), &[0b1100, 0b1010, 0b0110]), Some(0));
        assert_eq!(evaluate(Op::Lop3(0xe8), &[0b1100, 0b1010, 0b0110]), Some(0b1110));
    }

    #[test]
    fn funnel_shifts() {
        let shift = |left, wrap, amount| evaluate(Op::FunnelShift { left, wrap }, &[0x8000_0001, 1, amount]);
        assert_eq!(shift(true, true, 1), Some(3));
        assert_eq!(shift(true, false, 40), Some(0x8000_0001));
        assert_eq!(shift(false, true, 33), Some(0xc000_0000));
        assert_eq!(shift(false, false, 32), Some(1));
    }

    #[test]
    fn packing() {
        assert_eq!(evaluate(Op::Pack(32), &[1, 2]), Some(0x2_0000_0001));
        assert_eq!(evaluate_result(Op::Unpack(32), 0, &[0x2_0000_0001]), Some(1));
        assert_eq!(evaluate_result(Op::Unpack(32), 1, &[0x2_0000_0001]), Some(2));
        assert_eq!(evaluate_result(Op::Unpack(32), 2, &[0]), None);
        assert_eq!(evaluate_result(Op::Unpack(255), usize::MAX, &[0]), None);
    }

    #[test]
    fn comparisons_have_two_results() {
        let results = |logic, with: u64| {
            let op = Op::Compare(Condition::LessUnsigned, 32, logic);
            [0, 1, 2].map(|result| evaluate_result(op, result, &[1, 2, with]))
        };
        // PTX ISA, setp: p = (a < b) logic c, q = !(a < b) logic c.
        assert_eq!(results(Logic::None, 0), [Some(1), Some(0), None]);
        assert_eq!(results(Logic::And, 1), [Some(1), Some(0), None]);
        assert_eq!(results(Logic::And, 0), [Some(0), Some(0), None]);
        assert_eq!(results(Logic::Or, 1), [Some(1), Some(1), None]);
        assert_eq!(results(Logic::Xor, 1), [Some(0), Some(1), None]);
        let decided = |logic, result, with| {
            absorbed(Op::Compare(Condition::Equal, 32, logic), result, |place| {
                (place == 2).then_some(with)
            })
        };
        assert_eq!(
            [0, 1, 2].map(|result| decided(Logic::And, result, 0)),
            [Some(0), Some(0), None]
        );
        assert_eq!(
            [0, 1, 2].map(|result| decided(Logic::Or, result, 1)),
            [Some(1), Some(1), None]
        );
        assert_eq!(decided(Logic::And, 1, 1), None);
    }

    #[test]
    fn other_operations_have_one_result() {
        assert_eq!(evaluate_result(Op::Copy, 1, &[7]), None);
        assert_eq!(evaluate_result(Op::Binary(BinaryOp::Add, 32), 1, &[1, 2]), None);
        assert_eq!(absorbed(Op::Select, 1, |_| Some(1)), None);
    }

    #[test]
    fn counts() {
        assert_eq!(evaluate(Op::Unary(UnaryOp::LeadingZeros, 32), &[1]), Some(31));
        assert_eq!(evaluate(Op::Unary(UnaryOp::LeadingZeros, 32), &[0]), Some(32));
        assert_eq!(evaluate(Op::Unary(UnaryOp::ReverseBits, 32), &[1]), Some(1 << 31));
        assert_eq!(
            evaluate(Op::Unary(UnaryOp::FindHighestSet, 32), &[0]),
            Some(ones(32))
        );
        assert_eq!(evaluate(Op::Unary(UnaryOp::Abs, 32), &[ones(32)]), Some(1));
    }
}
