//! Comparisons of values with bounded knowledge.

use super::super::super::value::WARP;
use super::{EXACT, Knowable, Pattern, ROW_BITS, min};
use crate::launches::MAX_BLOCK_THREADS as MAX_THREADS;
use ptxcheck_ir::evaluate::evaluate;
use ptxcheck_ir::{Condition, Logic, Op, Value};

/// A comparison: its outcome in lanes in which its operands decide it.
pub(super) fn bound_of_comparison(
    condition: Condition,
    width: u8,
    (a, left): (Knowable, Value),
    (b, right): (Knowable, Value),
) -> Knowable {
    let outcome = |lane| Knowable {
        lane,
        ..Knowable::of_pattern(EXACT, 1, Pattern::Any)
    };
    let (left, right) = (a.as_literal(left), b.as_literal(right));
    if a.pattern == Pattern::Thread && is_between_warps(condition, right) {
        return outcome(false);
    }
    let has_floor = a.floor > 0 || b.floor > 0;
    if let Some(known) = bound_of_comparison_with_multiple(condition, a, b, has_floor) {
        return known;
    }
    // A comparison of signed numbers needs their signs.
    let has_sign = |kind: Knowable| kind.may_be_exact() || kind.bits < width || kind.is_set;
    if ordering_of(condition, false).is_order
        && ordering_of(condition, false).is_signed
        && !(has_sign(a) && has_sign(b))
    {
        return Knowable::UNKNOWN.truncated_to(1);
    }
    let lane = a.lane || b.lane;
    let known = match (a.low > 0, b.low > 0) {
        _ if has_floor => true,
        _ if may_bound_decide(condition, width, a, b) || may_bound_decide(condition, width, b, a) => true,
        (true, true) => {
            // Low bits alone decide whether two values are equal; further comparisons need an operand that is not aligned.
            let order = !matches!(condition, Condition::Equal | Condition::NotEqual);
            let (one, other) = if a.pattern == Pattern::Aligned {
                (b, a)
            } else {
                (a, b)
            };
            if other.pattern != Pattern::Aligned || other.may_be_exact() {
                true
            } else if order {
                may_known_part_decide(
                    ordering_of(condition, a.pattern == Pattern::Aligned),
                    width,
                    one,
                    other,
                )
            } else {
                one.known_zero_bits() < other.low
            }
        }
        (true, false) => {
            may_known_part_decide(ordering_of(condition, false), width, a, b)
                || is_end_of_range(condition, left)
        }
        (false, true) => {
            may_known_part_decide(ordering_of(condition, true), width, b, a)
                || is_end_of_range(condition, right)
        }
        (false, false) => false,
    };
    // A value that is not exact may be known to differ from a number, but never to be equal to it.
    let never = !(a.may_be_exact() && b.may_be_exact());
    if known {
        let pattern = match (condition, a.pattern, b.pattern) {
            (Condition::Equal, ..) if never => Pattern::Exactly(0),
            (Condition::NotEqual, ..) if never => Pattern::Exactly(1),
            (_, Pattern::Exactly(x), Pattern::Exactly(y)) => {
                let op = Op::Compare(condition, width, Logic::None);
                evaluate(op, &[x as u64, y as u64])
                    .map_or(Pattern::Any, |known| Pattern::Exactly(known as i64))
            }
            _ => Pattern::Any,
        };
        Knowable {
            pattern,
            ..outcome(lane)
        }
    } else {
        Knowable::UNKNOWN.truncated_to(1)
    }
}

/// Comparison of an operand with a multiple of a power of two that is above it, or not; `None` if neither operand is such a
/// multiple.
fn bound_of_comparison_with_multiple(
    condition: Condition,
    a: Knowable,
    b: Knowable,
    has_floor: bool,
) -> Option<Knowable> {
    for (one, other, is_left) in [(a, b, true), (b, a, false)] {
        if !is_less_than_test(condition, is_left) || other.zeros == 0 {
            continue;
        }
        // 32m + lane < 32n: the lane does not count.
        if matches!(one.pattern, Pattern::Thread | Pattern::Row) && other.zeros >= ROW_BITS {
            // Either outcome is possible: n may be 0, or greater than m.
            let is_open = other.low <= other.zeros && !other.may_be_exact() && other.floor == 0;
            let reach = if one.low <= ROW_BITS { ROW_BITS } else { one.bits };
            return Some(if is_open && other.bits >= reach.saturating_add(2) {
                Knowable::UNKNOWN.truncated_to(1)
            } else {
                Knowable::of_pattern(EXACT, 1, Pattern::Any)
            });
        }
        // The known low bits of `one` are below the least value of `other`: `one` must have more bits than the known part of
        // `other`.
        let reach = match other.pattern {
            Pattern::Exactly(0) => None,
            Pattern::Exactly(_) => Some(other.bits),
            _ if other.low <= other.zeros => Some(0),
            _ => Some(other.low).filter(|_| !other.may_be_exact()),
        };
        let is_open = reach.is_some_and(|reach| reach == 0 || one.bits >= reach.saturating_add(2));
        if one.low <= other.zeros && is_open && other.zeros < other.bits && !has_floor {
            return Some(Knowable::UNKNOWN.truncated_to(1));
        }
    }
    None
}

/// True if a comparison asks whether the operand on one side is less than the other, or the negation.
const fn is_less_than_test(condition: Condition, is_left: bool) -> bool {
    use Condition as C;
    if is_left {
        matches!(
            condition,
            C::LessSigned | C::LessUnsigned | C::GreaterEqualSigned | C::GreaterEqualUnsigned
        )
    } else {
        matches!(
            condition,
            C::GreaterSigned | C::GreaterUnsigned | C::LessEqualSigned | C::LessEqualUnsigned
        )
    }
}

/// True if the bound of one operand may decide the comparison given the known part of the other: for any number computed
/// from a set of lanes, except whether the set is empty; for equality, a bound that is below the other.
fn may_bound_decide(condition: Condition, width: u8, one: Knowable, other: Knowable) -> bool {
    let bound = min(one.bits, width);
    let is_equality = !ordering_of(condition, false).is_order;
    one.is_set && !(is_equality && other.is_zero()) && (other.low > 0 || other.is_set || other.bits < width)
        || is_equality && other.low > 0 && bound > 0 && other.known_bit_count() >= bound
}

/// The ends of the unsigned range decide against any operand.
fn is_end_of_range(condition: Condition, value: Value) -> bool {
    use Condition as C;
    let is_unsigned = matches!(
        condition,
        C::LessUnsigned | C::LessEqualUnsigned | C::GreaterUnsigned | C::GreaterEqualUnsigned
    );
    is_unsigned && matches!(value, Value::Integer(0 | -1))
}

/// Ordering that a comparison tests, with the operand that is partly known on the left.
#[derive(Clone, Copy)]
struct Ordering {
    is_order: bool,
    is_signed: bool,
    /// `known <= other`, or its negation.
    admits_equal: bool,
}

const fn ordering_of(condition: Condition, swapped: bool) -> Ordering {
    use Condition as C;
    let is_signed = matches!(
        condition,
        C::LessSigned | C::LessEqualSigned | C::GreaterSigned | C::GreaterEqualSigned
    );
    // a <= b and a > b; swapped: b >= a and b < a.
    let admits_equal = is_less_than_test(condition, swapped);
    Ordering {
        is_order: !matches!(condition, C::Equal | C::NotEqual),
        is_signed,
        admits_equal,
    }
}

/// True if the knowledge of one operand can decide against another operand that has only a bound and low zeros.
fn may_known_part_decide(ordering: Ordering, width: u8, known: Knowable, other: Knowable) -> bool {
    if !ordering.is_order {
        return false;
    }
    let bound = min(other.bits, width);
    if ordering.is_signed && bound >= width {
        return false;
    }
    // 0 <= x, and c >= x for a c beyond the bound.
    let reaches_zero = known.lane || known.is_zero();
    ordering.admits_equal && reaches_zero || known.known_bit_count() >= bound
}

/// True if a comparison of tid.x with a literal has the same outcome in all lanes of each warp.
fn is_between_warps(condition: Condition, right: Value) -> bool {
    let Value::Integer(bound) = right else {
        return false;
    };
    let first = if is_less_than_test(condition, true) {
        bound
    } else if is_less_than_test(condition, false) {
        bound.wrapping_add(1)
    } else {
        return false;
    };
    (0..=i64::from(MAX_THREADS)).contains(&first) && first % WARP as i64 == 0
}
