//! Transfer functions of comparisons.

use super::super::value::ValueId;
use super::super::value::{Lanes, Pool, Rest, Vector, lanes_in_set};
use super::common_constant;
use ptxcheck_ir::evaluate::{evaluate, ones};
use ptxcheck_ir::{Condition, Logic, Op};

/// Outcome of a comparison in one lane, if it is known.
fn comparison_outcome(condition: Condition, bits: u8, a: &Vector, b: &Vector, lane: usize) -> Option<bool> {
    use Condition as C;
    let width = ones(bits);
    let ((low_a, x), (low_b, y)) = (a.low_bits(lane), b.low_bits(lane));
    let shared = low_a.min(low_b).min(bits);
    let range = |vector: &Vector| match vector.value_in_lane(lane) {
        Some(value) => (value & width, value & width),
        None => {
            let (low, known) = vector.low_bits(lane);
            let (known, limit) = (known & width, vector.limit.min(width));
            // No more than the limit, and with these low bits.
            let most = limit
                .checked_sub(known)
                .map_or(limit, |above| known + (above & !ones(low)));
            (known.max(vector.least.min(most)), most)
        }
    };
    let ((low_a, high_a), (low_b, high_b)) = (range(a), range(b));
    if matches!(condition, C::Equal | C::NotEqual) {
        let differ = (x ^ y) & ones(shared) != 0 || high_a < low_b || high_b < low_a;
        return differ.then_some(condition == C::NotEqual);
    }
    let signed = matches!(
        condition,
        C::LessSigned | C::LessEqualSigned | C::GreaterSigned | C::GreaterEqualSigned
    );
    // Signed numbers compare like unsigned ones if neither can be negative.
    let positive = ones(bits.saturating_sub(1));
    if signed && (high_a > positive || high_b > positive) {
        let exact_negative = |vector: &Vector| {
            vector
                .value_in_lane(lane)
                .is_some_and(|value| value & width > positive)
        };
        return match (
            exact_negative(a) && high_b <= positive,
            exact_negative(b) && high_a <= positive,
        ) {
            (true, _) => Some(matches!(condition, C::LessSigned | C::LessEqualSigned)),
            (_, true) => Some(matches!(condition, C::GreaterSigned | C::GreaterEqualSigned)),
            _ => None,
        };
    }
    let (less, not_less) = (high_a < low_b, low_a >= high_b);
    let (greater, not_greater) = (low_a > high_b, high_a <= low_b);
    let known = |yes: bool, no: bool| if yes { Some(true) } else { no.then_some(false) };
    match condition {
        C::LessSigned | C::LessUnsigned => known(less, not_less),
        C::GreaterSigned | C::GreaterUnsigned => known(greater, not_greater),
        C::LessEqualSigned | C::LessEqualUnsigned => known(not_greater, greater),
        _ => known(not_less, less),
    }
}

/// The threshold k for which the comparison with `bound` splits numbers into those below k and the others; `None` for
/// equality and if there is no threshold.
fn comparison_threshold(condition: Condition, swapped: bool, bound: u64, bits: u8) -> Option<u64> {
    use Condition as C;
    let is_strict = matches!(
        condition,
        C::LessSigned | C::LessUnsigned | C::GreaterEqualSigned | C::GreaterEqualUnsigned
    );
    match condition {
        C::Equal | C::NotEqual => None,
        // `k < x` is `x > k`: the next number is the threshold.
        _ if is_strict != swapped => Some(bound & ones(bits)),
        _ => (bound & ones(bits)).checked_add(1),
    }
}

/// True if blocks of 2^k numbers decide the comparison: for each operand, the block is the same in all lanes, and if both
/// operands lie in one block, the lanes agree. So `32w + lane < 32n`, with unknown w and n, has one outcome.
fn is_decided_by_blocks(condition: Condition, bits: u8, a: &Vector, b: &Vector, undecided: Lanes) -> bool {
    let block = |vector: &Vector| match vector.rest {
        _ if undecided & !vector.exact == 0 => Some(bits.saturating_sub(1)),
        Rest::Uniform(_) if undecided & vector.exact == 0 => Some(vector.low.min(bits.saturating_sub(1))),
        _ => None,
    };
    let (Some(one), Some(other)) = (block(a), block(b)) else {
        return false;
    };
    let low = ones(one.min(other));
    let is_one_block = |vector: &Vector| {
        let mut above = lanes_in_set(undecided).map(|lane| vector.bits[lane] & ones(bits) & !low);
        let first = above.next();
        above.all(|other| Some(other) == first)
    };
    let mut outcomes = lanes_in_set(undecided).map(|lane| {
        evaluate(
            Op::Compare(condition, bits, Logic::None),
            &[a.bits[lane] & low, b.bits[lane] & low],
        )
    });
    let first = outcomes.next();
    is_one_block(a) && is_one_block(b) && outcomes.all(|other| Some(other) == first)
}

/// True if both operands are the sum of an unknown number that all lanes share and an offset that is the same in both
/// operands: `i + lane < n + lane` is `i < n`. Sums are assumed not to overflow, which C++ leaves undefined for signed ones.
fn do_operands_have_equal_offsets(
    condition: Condition,
    bits: u8,
    a: &Vector,
    b: &Vector,
    undecided: Lanes,
) -> bool {
    use Condition as C;
    let is_unknown =
        |vector: &Vector| matches!(vector.rest, Rest::Uniform(_)) && undecided & vector.exact == 0;
    let is_signed = matches!(
        condition,
        C::Equal
            | C::NotEqual
            | C::LessSigned
            | C::LessEqualSigned
            | C::GreaterSigned
            | C::GreaterEqualSigned
    );
    let mut distances =
        lanes_in_set(undecided).map(|lane| a.bits[lane].wrapping_sub(b.bits[lane]) & ones(bits));
    let first = distances.next();
    (is_signed || bits == 64) && is_unknown(a) && is_unknown(b) && distances.all(|other| Some(other) == first)
}

/// True if the lanes in `undecided` all have the same unknown outcome.
fn is_outcome_uniform(condition: Condition, bits: u8, a: &Vector, b: &Vector, undecided: Lanes) -> bool {
    if a.is_uniform_among(undecided) && b.is_uniform_among(undecided)
        || is_decided_by_blocks(condition, bits, a, b, undecided)
        || do_operands_have_equal_offsets(condition, bits, a, b, undecided)
    {
        return true;
    }
    let (vector, bound, swapped) = match (common_constant(a, undecided), common_constant(b, undecided)) {
        (None, Some(bound)) => (a, bound, false),
        (Some(bound), None) => (b, bound, true),
        _ => return false,
    };
    let Some(vector) = vector
        .normalized(0, undecided)
        .filter(|vector| undecided & vector.exact == 0)
    else {
        return false;
    };
    // The unknown part holds the sign, or the order of offsets is not that of numbers.
    if vector.low >= bits {
        return false;
    }
    let low = ones(vector.low);
    match comparison_threshold(condition, swapped, bound, bits) {
        Some(threshold) => {
            let below = lanes_in_set(undecided)
                .filter(|&lane| vector.bits[lane] < threshold & low)
                .count();
            below == 0 || below == undecided.count_ones() as usize
        }
        None => {
            let mut offsets = lanes_in_set(undecided).map(|lane| vector.bits[lane]);
            let first = offsets.next();
            offsets.all(|other| Some(other) == first)
        }
    }
}

/// Returns true if it has computed `result` in the lanes in `left`.
#[allow(clippy::too_many_arguments)]
pub(super) fn compute_comparison(
    pool: &Pool,
    condition: Condition,
    bits: u8,
    logic: Logic,
    uses: &[ValueId],
    left: Lanes,
    number: u32,
    result: &mut Vector,
) -> bool {
    let (a, b) = (pool.get(uses[0]), pool.get(uses[1]));
    let with = uses.get(2).map(|&id| pool.get(id));
    let outcome = |lane| match a.value_in_lane(lane).zip(b.value_in_lane(lane)) {
        Some((x, y)) => evaluate(Op::Compare(condition, bits, Logic::None), &[x, y]).map(|value| value == 1),
        None => comparison_outcome(condition, bits, a, b, lane),
    };
    let operand = |lane| with.and_then(|with| truth_in_lane(with, lane));
    let needs = combine_conditions(logic, left, outcome, operand, result);
    let is_uniform = needs.are_common_to_lanes(logic)
        && (needs.first == 0 || is_outcome_uniform(condition, bits, a, b, needs.undecided))
        && (needs.second == 0 || with.is_some_and(|with| with.is_uniform_among(needs.undecided)));
    if is_uniform {
        result.rest = Rest::Uniform(number);
    }
    true
}

/// Logic operation on two predicates.
pub(super) fn compute_logic(
    logic: Logic,
    (a, b): (&Vector, &Vector),
    left: Lanes,
    number: u32,
    result: &mut Vector,
) -> bool {
    let needs = combine_conditions(
        logic,
        left,
        |lane| truth_in_lane(a, lane),
        |lane| truth_in_lane(b, lane),
        result,
    );
    let (is_first, is_second) = (
        a.is_uniform_among(needs.undecided),
        b.is_uniform_among(needs.undecided),
    );
    let is_uniform = match logic {
        Logic::Xor => is_first && is_second,
        _ => {
            needs.are_common_to_lanes(logic)
                && (needs.first == 0 || is_first)
                && (needs.second == 0 || is_second)
        }
    };
    if is_uniform {
        result.rest = Rest::Uniform(number);
    }
    true
}

/// Value of a predicate in a lane, if it is known.
fn truth_in_lane(predicate: &Vector, lane: usize) -> Option<bool> {
    predicate.value_in_lane(lane).map(|value| value & 1 == 1)
}

/// The lanes in which two conditions together are undecided, and those among them in which the outcome is that of the one or
/// the other.
struct Needs {
    undecided: Lanes,
    first: Lanes,
    second: Lanes,
}

impl Needs {
    /// True if all undecided lanes need the same.
    const fn are_common_to_lanes(&self, logic: Logic) -> bool {
        let (first, second) = (self.first == self.undecided, self.second == self.undecided);
        match logic {
            // A known part that differs by lane would make the outcomes differ.
            Logic::Xor => first && second,
            _ => (first || self.first == 0) && (second || self.second == 0),
        }
    }
}

/// Two conditions, lane by lane: one alone may decide.
fn combine_conditions(
    logic: Logic,
    left: Lanes,
    first: impl Fn(usize) -> Option<bool>,
    second: impl Fn(usize) -> Option<bool>,
    result: &mut Vector,
) -> Needs {
    let mut needs = Needs {
        undecided: 0,
        first: 0,
        second: 0,
    };
    for lane in lanes_in_set(left) {
        let (first, second) = (first(lane), second(lane));
        let known = match logic {
            Logic::None => first,
            Logic::And if first == Some(false) || second == Some(false) => Some(false),
            Logic::Or if first == Some(true) || second == Some(true) => Some(true),
            _ => first.zip(second).map(|(x, y)| match logic {
                Logic::And => x & y,
                Logic::Or => x | y,
                _ => x ^ y,
            }),
        };
        match known {
            Some(value) => {
                result.exact |= 1 << lane;
                result.bits[lane] = u64::from(value);
            }
            None => {
                needs.undecided |= 1 << lane;
                needs.first |= u32::from(first.is_none()) << lane;
                needs.second |= u32::from(logic != Logic::None && second.is_none()) << lane;
                result.bits[lane] = 0;
            }
        }
    }
    result.low = 0;
    result.limit = 1;
    needs
}
