//! Bounds of the results of two-operand integer operations.

use super::{EXACT, Knowable, Pattern, ROW_BITS, THREAD_BITS, bound_of_logic, max, min};
use crate::lanes::value::WARP;
use ptxcheck_ir::evaluate::ones;
use ptxcheck_ir::{BinaryOp, Class, Logic, Value};

pub(super) fn bound_of_binary(
    op: BinaryOp,
    bits: u8,
    a: (Knowable, Value),
    b: (Knowable, Value),
) -> Knowable {
    Knowable {
        zeros: certain_zeros(op, bits, a, b),
        ..bound_without_zeros(op, bits, a, b)
    }
}

/// Low bits of the result that are certainly 0, and known to be.
fn certain_zeros(op: BinaryOp, bits: u8, (a, _): (Knowable, Value), (b, right): (Knowable, Value)) -> u8 {
    let by = match right {
        Value::Integer(by) if (0..64).contains(&by) => Some(by as u8),
        _ => None,
    };
    let half = bits / 2;
    match op.class() {
        Class::Sum | Class::Difference | Class::Or | Class::Xor => min(a.zeros, b.zeros),
        Class::And => max(a.zeros, b.zeros),
        Class::Product => a.zeros.saturating_add(b.zeros),
        Class::WideProduct { .. } => min(a.zeros, half).saturating_add(min(b.zeros, half)),
        Class::ShiftedLeft => by.map_or(0, |by| a.zeros.saturating_add(by)),
        Class::ShiftedRight { .. } => by.map_or(0, |by| a.zeros.saturating_sub(by)),
        Class::Quotient { .. }
        | Class::Remainder { .. }
        | Class::Least { .. }
        | Class::Greatest { .. }
        | Class::Other => 0,
    }
    .min(bits)
}

fn bound_without_zeros(
    op: BinaryOp,
    bits: u8,
    (a, left): (Knowable, Value),
    (b, right): (Knowable, Value),
) -> Knowable {
    use BinaryOp as B;
    if bits == 1 {
        return bound_of_logic(op.logic().unwrap_or(Logic::Xor), a, b);
    }
    let (left, right) = (a.as_literal(left), b.as_literal(right));
    // Division by and remainder of a power of two are a shift and a mask.
    if let Value::Integer(divisor @ 1..) = right
        && divisor & (divisor - 1) == 0
    {
        let instead = match op {
            B::DivUnsigned => Some((B::ShrUnsigned, i64::from(divisor.trailing_zeros()))),
            B::RemUnsigned => Some((B::And, divisor - 1)),
            _ => None,
        };
        if let Some((op, by)) = instead {
            return bound_without_zeros(
                op,
                bits,
                (a, left),
                (Knowable::of_exact_number(by), Value::Integer(by)),
            );
        }
    }
    let (a, b) = ((a, left), (b, right));
    if let Some(known) = bound_decided_by_operand(op, a, b).or_else(|| bound_of_thread_arithmetic(op, a, b)) {
        return known;
    }
    match bound_by_operation(op, bits, a, b) {
        Bound::Shared(known) => known,
        Bound::ByLane(low, limit, pattern) => {
            bound_differing_by_lane(op, bits, a.0, b.0, (low, limit, pattern))
        }
    }
}

/// Result of an operation that one operand decides: a neutral element, or a literal mask.
fn bound_decided_by_operand(
    op: BinaryOp,
    (a, left): (Knowable, Value),
    (b, right): (Knowable, Value),
) -> Option<Knowable> {
    use BinaryOp as B;
    match (op, left, right) {
        (B::Add | B::Sub | B::Or | B::Xor, ..) if b.is_zero() => Some(a),
        (B::Add | B::Or | B::Xor, ..) if a.is_zero() => Some(b),
        (B::And, _, Value::Integer(mask)) if a.low > 0 => Some(bound_under_mask(a, mask as u64)),
        (B::And, Value::Integer(mask), _) if b.low > 0 => Some(bound_under_mask(b, mask as u64)),
        _ => None,
    }
}

/// Bound of the result of an operation.
enum Bound {
    /// The known part is the same in all lanes.
    Shared(Knowable),
    /// Known low bits, bits of the value, and its pattern. The known part differs by lane if that of an operand does.
    ByLane(u8, u8, Pattern),
}

/// Bound of the result, operation by operation.
fn bound_by_operation(
    op: BinaryOp,
    bits: u8,
    (a, left): (Knowable, Value),
    (b, right): (Knowable, Value),
) -> Bound {
    let is_known = a.low > 0 && b.low > 0;
    let least_low = min(a.low, b.low);
    let sum = |limit: u8| {
        let is_aligned =
            a.is_aligned() && b.is_aligned() || min(a.known_zero_bits(), b.known_zero_bits()) >= least_low;
        Bound::ByLane(least_low, limit, Pattern::aligned_if(is_aligned))
    };
    let if_exact = |limit: u8| Bound::ByLane(exact_low_bits(a, b), limit, Pattern::Any);
    match op.class() {
        Class::Sum => sum(max(a.bits, b.bits).saturating_add(1)),
        Class::Difference => sum(64),
        Class::Or | Class::Xor => Bound::ByLane(least_low, max(a.bits, b.bits), Pattern::Any),
        // Trailing zeros of one factor are zeros of the result, the same in all lanes.
        Class::And if !is_known => {
            let low = known_low_zeros((a, left)).max(known_low_zeros((b, right)));
            Bound::Shared(Knowable::of_pattern(low, min(a.bits, b.bits), Pattern::Aligned).normalized())
        }
        Class::And => Bound::ByLane(max(a.low, b.low), min(a.bits, b.bits), Pattern::Any),
        Class::Product | Class::WideProduct { .. } => bound_of_product(op, bits, (a, left), (b, right)),
        Class::ShiftedLeft => bound_of_left_shift(a, b, right),
        Class::ShiftedRight { signed } => bound_of_right_shift(signed, a, b, right),
        Class::Remainder { signed: false } => if_exact(b.bits),
        Class::Quotient { signed: false } => if_exact(a.bits),
        Class::Least { signed: false } => if_exact(min(a.bits, b.bits)),
        Class::Greatest { signed: false } => if_exact(max(a.bits, b.bits)),
        Class::Remainder { signed: true }
        | Class::Quotient { signed: true }
        | Class::Least { signed: true }
        | Class::Greatest { signed: true }
        | Class::Other => if_exact(64),
    }
}

fn bound_of_product(
    op: BinaryOp,
    bits: u8,
    (a, left): (Knowable, Value),
    (b, right): (Knowable, Value),
) -> Bound {
    let is_small = a.bits < bits / 2 && b.bits < bits / 2;
    let limit = if matches!(op, BinaryOp::MulWideSigned) && !is_small {
        64
    } else {
        a.bits.saturating_add(b.bits)
    };
    if a.low == 0 || b.low == 0 {
        // If one factor is 0, the other is irrelevant.
        let low = if a.is_zero() || b.is_zero() {
            EXACT
        } else {
            known_low_zeros((a, left)).max(known_low_zeros((b, right)))
        };
        return Bound::Shared(Knowable::of_pattern(low, limit.min(64), Pattern::Aligned));
    }
    Bound::ByLane(
        low_bits_of_product(a, b),
        limit,
        Pattern::aligned_if(a.is_aligned() || b.is_aligned()),
    )
}

fn bound_of_left_shift(a: Knowable, b: Knowable, right: Value) -> Bound {
    let by = match right {
        Value::Integer(by) => u8::try_from(by).unwrap_or(64),
        _ => 64,
    };
    if !b.may_be_exact() {
        Bound::Shared(Knowable::UNKNOWN)
    } else if a.low == 0 {
        let limit = a.bits.saturating_add(by).min(64);
        Bound::Shared(Knowable::of_pattern(by.min(EXACT - 1), limit, Pattern::Aligned))
    } else {
        let low = a.low.saturating_add(by).min(EXACT);
        Bound::ByLane(
            low,
            a.bits.saturating_add(by),
            Pattern::aligned_if(a.pattern == Pattern::Aligned),
        )
    }
}

fn bound_of_right_shift(signed: bool, a: Knowable, b: Knowable, right: Value) -> Bound {
    let Value::Integer(by) = right else {
        let low = if b.may_be_exact() { a.low } else { 0 };
        return Bound::ByLane(low, 64, Pattern::Any);
    };
    let by = u8::try_from(by).unwrap_or(64);
    let low = match a.low {
        EXACT => EXACT,
        low => low.saturating_sub(by),
    };
    let limit = if signed { 64 } else { a.bits.saturating_sub(by) };
    Bound::ByLane(low, limit, Pattern::aligned_if(a.is_aligned()))
}

/// The bound of a result that may differ by lane. Rows of threads stay rows when whole rows are added.
fn bound_differing_by_lane(
    op: BinaryOp,
    bits: u8,
    a: Knowable,
    b: Knowable,
    (low, limit, pattern): (u8, u8, Pattern),
) -> Knowable {
    use BinaryOp as B;
    let is_row = |kind: Knowable| matches!(kind.pattern, Pattern::Thread | Pattern::Row) && bits > ROW_BITS;
    let pattern = match op {
        B::Add if is_row(a) && b.is_whole_rows() || is_row(b) && a.is_whole_rows() => Pattern::Row,
        B::Sub if is_row(a) && b.is_whole_rows() => Pattern::Row,
        _ => pattern,
    };
    Knowable {
        lane: (a.lane || b.lane) && low > 0,
        ..Knowable::of_pattern(low, limit.min(64), pattern)
    }
    .normalized()
}

/// Bound of a value under a literal mask: all of the result may be known, or its bits below the first unknown one.
fn bound_under_mask(kind: Knowable, mask: u64) -> Knowable {
    let bits = min(kind.bits, 64 - mask.leading_zeros() as u8);
    if kind.pattern == Pattern::Thread && mask.is_multiple_of(WARP as u64) {
        return WHOLE_WARPS;
    }
    let known = ones(kind.low);
    if mask & !known == 0 {
        let is_zero = kind.pattern == Pattern::Aligned && !kind.may_be_exact();
        return if is_zero || mask == 0 {
            Knowable::of_exact_number(0)
        } else {
            Knowable {
                lane: kind.lane,
                ..Knowable::of_pattern(EXACT, bits, Pattern::Any)
            }
        };
    }
    let low = max(kind.low, min(mask.trailing_zeros() as u8, EXACT - 1));
    let is_aligned = kind.pattern == Pattern::Aligned || mask & known == 0;
    Knowable {
        lane: kind.lane && !is_aligned,
        ..Knowable::of_pattern(
            low,
            bits,
            if is_aligned {
                Pattern::Aligned
            } else {
                Pattern::Any
            },
        )
    }
    .normalized()
}

/// tid.x without the lane's part.
const WHOLE_WARPS: Knowable = Knowable::of_pattern(EXACT, THREAD_BITS, Pattern::Any);

/// Most low zeros that are known of a factor.
fn known_low_zeros((kind, value): (Knowable, Value)) -> u8 {
    match value {
        Value::Integer(value) => min(value.trailing_zeros() as u8, EXACT - 1),
        _ => min(kind.low, EXACT - 1),
    }
}

fn exact_low_bits(a: Knowable, b: Knowable) -> u8 {
    if a.may_be_exact() && b.may_be_exact() {
        EXACT
    } else {
        0
    }
}

fn low_bits_of_product(a: Knowable, b: Knowable) -> u8 {
    if a.low == EXACT && b.low == EXACT {
        EXACT
    } else {
        // A factor with trailing zeros adds to what is known of the other.
        EXACT - 1
    }
}

/// Values that are the same in all lanes of a warp: tid.x = 32w + l, below 1,024.
fn bound_of_thread_arithmetic(
    op: BinaryOp,
    (a, left): (Knowable, Value),
    (b, right): (Knowable, Value),
) -> Option<Knowable> {
    use BinaryOp as B;
    let warp = Knowable::of_pattern(EXACT, THREAD_BITS, Pattern::Any);
    let size = WARP as i64;
    match (op, a.pattern, b.pattern, left, right) {
        (B::ShrSigned | B::ShrUnsigned, Pattern::Thread, _, _, Value::Integer(by)) if by >= 5 => {
            Some(if by >= i64::from(THREAD_BITS) {
                Knowable::of_integer(0)
            } else {
                warp
            })
        }
        (B::And, Pattern::Thread, _, _, Value::Integer(mask))
        | (B::And, _, Pattern::Thread, Value::Integer(mask), _)
            if mask % size == 0 =>
        {
            Some(warp)
        }
        (B::DivSigned | B::DivUnsigned, Pattern::Thread, _, _, Value::Integer(by))
            if by > 0 && by % size == 0 =>
        {
            Some(warp)
        }
        _ => None,
    }
}
