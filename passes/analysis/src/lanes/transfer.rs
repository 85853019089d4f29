//! Transfer functions of the interpreted operations on lane vectors.
//!
//! ```text
//! lane exact in all uses            evaluate(op, …) of that lane
//! U + c, aligned 2^a                add, sub, shl, mul by a constant, conversions: U' + c' with what remains aligned
//! (U + c) op k, bitwise, c < 2^a    U' + (c op k mod 2^a)
//! (U + c) >> k, c < 2^a             U' + (c >> k)
//! (U + c) and m, m < 2^a            exact: c and m
//! p and q, predicates               false where one of them is, one unknown value where neither is known; or likewise
//! U + c < k                         false where c ≥ k; one unknown value for the lanes where c < k mod 2^a
//! lane-invariant uses               one unknown value
//! else                              ⊤, with the low bits that the operation keeps
//! ```

use std::hash::{BuildHasher, Hash, Hasher};

use rustc_hash::FxBuildHasher;

mod application;
mod arithmetic;
mod compare;
mod naming;

pub(super) use self::application::{Application, MAX_USES};
use super::value::{LaneBits, Lanes, Pool, Rest, ValueId, Vector, WARP, lanes_in_set};
use crate::value::{Bits, known_bits, may_give_known_bits};
use ptxcheck_ir::evaluate::{evaluate, ones};
use ptxcheck_ir::{BinaryOp, Op, UnaryOp};

/// The one result of `op`.
pub(super) fn apply_op(pool: &mut Pool, op: Op, uses: &[ValueId], site: Application) -> ValueId {
    if uses.is_empty() || uses.len() > MAX_USES || uses.contains(&ValueId::NONE) {
        return ValueId::UNKNOWN;
    }
    if op == Op::Copy {
        return uses[0];
    }
    let is_plain = !matches!(op, Op::Compare(..) | Op::Convert { .. } | Op::ExtractBits(..));
    if is_plain && pool.meanings.is_none() && uses.iter().all(|&id| id == ValueId::UNKNOWN) {
        return ValueId::UNKNOWN;
    }
    if uses.len() > 3 {
        let result = compute_result(pool, op, uses, site);
        return naming::with_name_of_result(pool, op, uses, site, result);
    }
    let mut three = [ValueId::NONE; 3];
    three[..uses.len()].copy_from_slice(uses);
    let applied = (three, site.here, site.key);
    if let Some(&known) = pool.applied.get(&applied) {
        return known;
    }
    let result = match naming::known_by_name(pool, op, uses) {
        Some(value) => pool.splat(value),
        None => {
            let result = compute_result(pool, op, uses, site);
            naming::with_name_of_result(pool, op, uses, site, result)
        }
    };
    pool.applied.insert(applied, result);
    result
}

fn compute_result(pool: &mut Pool, op: Op, uses: &[ValueId], site: Application) -> ValueId {
    // If the operands do not distinguish lanes, the result of one lane holds for all.
    let result = if site.here != 0 && uses.iter().all(|&id| pool.has_indistinguishable_lanes(id)) {
        let lane = site.here.trailing_zeros();
        let one = Application {
            here: 1 << lane,
            ..site
        };
        let mut result = result_vector(pool, op, uses, one);
        result.broadcast(lane as usize, site.here);
        debug_assert_eq!(
            result,
            {
                let mut slow = result_vector(pool, op, uses, site);
                if slow.exact == u32::MAX {
                    slow = Vector::of_exact(slow.bits);
                }
                slow
            },
            "{op:?} {uses:?} {site:?}"
        );
        result
    } else {
        result_vector(pool, op, uses, site)
    };
    pool.intern(result)
}

/// The result of an operation in the lanes of `site`.
fn result_vector(pool: &mut Pool, op: Op, uses: &[ValueId], site: Application) -> Vector {
    let mut result = evaluate_exact_lanes(pool, op, uses, site);
    let left = site.here & !result.exact;
    if left == 0 {
        return with_arbitrary_values_in_other_lanes(&result, site.here);
    }
    let number = number_of_unknown_result(pool, Some(op), uses, left, site.key);
    if !compute_form(pool, op, uses, site, (left, number), &mut result) {
        let open = left & !result.exact;
        if is_uniform(pool, uses, open) {
            // Bits outside of the known ones may matter here.
            result.rest = Rest::Uniform(number_of_unknown_result(pool, None, uses, open, site.key));
            let mut low = lanes_in_set(open).map(|lane| result.bits[lane] & ones(result.low));
            let first = low.next();
            if low.any(|other| Some(other) != first) {
                result.low = 0;
            }
        }
        for lane in lanes_in_set(!result.exact) {
            result.bits[lane] &= ones(result.low);
        }
    }
    if may_give_known_bits(op) {
        add_known_bits(pool, op, uses, site.here & !result.exact, &mut result);
    }
    if site.here & !result.exact == 0 {
        return with_arbitrary_values_in_other_lanes(&result, site.here);
    }
    for lane in lanes_in_set(!(site.here | result.exact)) {
        result.bits[lane] = 0;
    }
    result
}

/// The number of the unknown value that a result is, or counts from, in the lanes `open`. `op`: the operation, if
/// [`compute_form`] computes the result.
fn number_of_unknown_result(
    pool: &mut Pool,
    op: Option<Op>,
    uses: &[ValueId],
    open: Lanes,
    key: (u64, u64),
) -> u32 {
    if !pool.follows_addresses || !uses.iter().all(|&id| pool.is_block_uniform(id, open)) {
        return pool.number_of_unknown(key);
    }
    let key = match op.and_then(|op| key_shared_by_equal_operands(pool, op, uses, open)) {
        Some(common) => (COMPUTED, common),
        None => (key.0, key.1 | OF_BLOCK),
    };
    let number = pool.number_of_unknown(key);
    pool.of_block.insert(number);
    number
}

/// A key for the unknown value of a result that is the same wherever it is computed from equal operands.
fn key_shared_by_equal_operands(pool: &Pool, op: Op, uses: &[ValueId], open: Lanes) -> Option<u64> {
    use BinaryOp as B;
    let distributes = matches!(op, Op::Binary(B::Add | B::Sub | B::MulLow | B::Shl, _));
    let is_aligned = matches!(
        op,
        Op::Binary(B::MulWideSigned | B::MulWideUnsigned, _) | Op::Convert { .. }
    );
    if !distributes && !is_aligned {
        return None;
    }
    let first = lanes_in_set(open).next()?;
    let mut hasher = FxBuildHasher.build_hasher();
    op.hash(&mut hasher);
    for &id in uses {
        let vector = pool.get(id);
        match (common_constant(vector, open), vector.rest) {
            (Some(known), _) => known.hash(&mut hasher),
            (None, Rest::Uniform(number)) if open & vector.exact == 0 => {
                // Known bits above the offset count as part of the unknown part, unless the operation keeps both apart.
                let above = vector.bits[first] & !ones(vector.low);
                let past = if distributes { (0, 0) } else { (vector.low, above) };
                (number, past).hash(&mut hasher);
            }
            _ => return None,
        }
    }
    Some(hasher.finish())
}

/// Adds the bits of a result that are known in the lanes `open`, in which it is not exact so far.
fn add_known_bits(pool: &Pool, op: Op, uses: &[ValueId], open: Lanes, result: &mut Vector) {
    let vectors = uses.iter().map(|&id| pool.get(id));
    // A bound means that the bits above it are 0; most operations pass that on in the bound of their result.
    let moves = matches!(
        op,
        Op::Unary(..) | Op::InsertBits(_) | Op::FunnelShift { .. } | Op::Pack(_)
    );
    let tells = |vector: &Vector| open & vector.exact != 0 || vector.known != LaneBits::NONE;
    if open == 0 || !moves && !vectors.clone().any(tells) {
        return;
    }
    let mut all = [Bits::UNKNOWN; WARP];
    let mut of_uses = [Bits::UNKNOWN; MAX_USES];
    let (mut exact, mut most) = (0, 0);
    for lane in lanes_in_set(open) {
        for (bits, vector) in of_uses.iter_mut().zip(vectors.clone()) {
            *bits = vector.bits_of(lane);
        }
        let known = known_bits(op, 0, &of_uses[..uses.len()]).refined_with(result.bits_of(lane));
        match known.known_number() {
            Some(value) => {
                exact |= 1 << lane;
                result.bits[lane] = value;
            }
            None => most |= !known.zeros,
        }
        all[lane] = known;
    }
    result.exact |= exact;
    result.limit = result.limit.min(most);
    result.set_known_bits(open & !exact, |lane| all[lane]);
}

/// The vector of a result that is exact in the lanes of `here`: the values of other lanes are arbitrary.
fn with_arbitrary_values_in_other_lanes(result: &Vector, here: Lanes) -> Vector {
    let mut bits = result.bits;
    let some = lanes_in_set(here).next().map_or(0, |lane| bits[lane]);
    for lane in lanes_in_set(!result.exact) {
        bits[lane] = some;
    }
    Vector::of_exact(bits)
}

/// The result in the lanes that are exact in all uses.
fn evaluate_exact_lanes(pool: &Pool, op: Op, uses: &[ValueId], site: Application) -> Vector {
    let mut result = Vector::UNKNOWN;
    let mut values = [0; MAX_USES];
    let mut vectors = [pool.get(uses[0]); MAX_USES];
    for (vector, id) in vectors.iter_mut().zip(uses) {
        *vector = pool.get(*id);
    }
    let vectors = &vectors[..uses.len()];
    let all_exact = vectors.iter().fold(u32::MAX, |all, vector| all & vector.exact);
    for lane in lanes_in_set(all_exact) {
        for (value, vector) in values.iter_mut().zip(vectors) {
            *value = vector.bits[lane];
        }
        if let Some(value) = evaluate(op, &values[..uses.len()]) {
            result.exact |= 1 << lane;
            result.bits[lane] = value;
        }
    }
    let by_warp = |vector: &&Vector| vector.warp || site.here & !vector.exact == 0;
    result.warp = vectors.iter().all(by_warp);
    result
}

/// Computes the lanes `left`; `number` names the unknown value of the result. True if they have a form that `result` then has.
fn compute_form(
    pool: &mut Pool,
    op: Op,
    uses: &[ValueId],
    site: Application,
    (left, number): (Lanes, u32),
    result: &mut Vector,
) -> bool {
    let open = (left, number);
    match op {
        Op::Binary(op, bits) => {
            arithmetic::compute_binary(pool, (op, bits), (uses[0], uses[1]), open, result)
        }
        Op::MulAdd(op, bits) => {
            let key = (site.key.0, site.key.1 | PRODUCT);
            let product = apply_op(
                pool,
                Op::Binary(op, bits),
                &uses[..2],
                Application { key, ..site },
            );
            let operands = [product, uses[2]];
            let number = number_of_unknown_result(
                pool,
                Some(Op::Binary(BinaryOp::Add, bits)),
                &operands,
                left,
                site.key,
            );
            let open = (left, number);
            arithmetic::compute_binary(pool, (BinaryOp::Add, bits), (product, uses[2]), open, result)
        }
        Op::Convert { from, signed, to } => {
            compute_conversion(pool, from, signed, to, uses[0], left, number, result)
        }
        Op::Compare(condition, bits, logic) => {
            compare::compute_comparison(pool, condition, bits, logic, uses, left, number, result)
        }
        Op::Select => compute_selection(pool, uses, left, number, result),
        Op::Unary(UnaryOp::Not, bits) => {
            let minus = pool.splat(ones(bits));
            arithmetic::compute_binary(pool, (BinaryOp::Xor, bits), (uses[0], minus), open, result)
        }
        Op::Unary(UnaryOp::Neg, bits) => {
            let zero = pool.splat(0);
            arithmetic::compute_binary(pool, (BinaryOp::Sub, bits), (zero, uses[0]), open, result)
        }
        Op::Unary(UnaryOp::PopCount, bits) => {
            result.limit = max_set_bit_count(pool.get(uses[0]), bits, left);
            false
        }
        Op::ExtractBits(bits, false) => compute_extraction(pool, bits, uses, left, number, result),
        _ => false,
    }
}

/// Marks the key of the product in a multiplication with addition.
const PRODUCT: u64 = 1 << 40;

/// Marks the key of a value that is the same for all threads of a block.
const OF_BLOCK: u64 = 1 << 42;

/// The first part of the key of such a value, which is equal wherever the value is computed ([`key_shared_by_equal_operands`]).
const COMPUTED: u64 = u64::MAX;

/// True if each operand holds the same value in all lanes of `among`.
fn is_uniform(pool: &Pool, uses: &[ValueId], among: Lanes) -> bool {
    uses.iter().all(|&id| pool.get(id).is_uniform_among(among))
}

/// The one exact value of a vector in all lanes of `among`.
fn common_constant(vector: &Vector, among: Lanes) -> Option<u64> {
    let mut all = lanes_in_set(among).map(|lane| vector.value_in_lane(lane));
    let first = all.next()??;
    all.all(|other| other == Some(first)).then_some(first)
}

/// The greatest number of bits that may be set in one of the lanes `left`.
fn max_set_bit_count(vector: &Vector, bits: u8, left: Lanes) -> u64 {
    let may_have = |lane: usize| (!vector.bits_of(lane).zeros & ones(bits)).count_ones();
    u64::from(lanes_in_set(left).map(may_have).max().unwrap_or(0))
}

#[allow(clippy::too_many_arguments)]
fn compute_conversion(
    pool: &Pool,
    from: u8,
    signed: bool,
    to: u8,
    source: ValueId,
    left: Lanes,
    number: u32,
    result: &mut Vector,
) -> bool {
    let source = pool.get(source);
    let narrow = from.min(to);
    let fits = source.limit <= ones(if signed { narrow.saturating_sub(1) } else { narrow });
    result.least = if fits { source.least } else { 0 };
    result.limit = if fits {
        source.limit
    } else if to <= from || !signed {
        ones(narrow)
    } else {
        u64::MAX
    };
    if matches!(source.rest, Rest::Active(_)) && narrow >= 32 {
        result.rest = source.rest;
        return true;
    }
    let mut low = narrow;
    for lane in lanes_in_set(left) {
        let (known, bits) = source.low_bits(lane);
        low = low.min(known);
        result.bits[lane] = bits & ones(narrow.min(known));
    }
    if low == narrow
        && (to <= from || !signed)
        && lanes_in_set(left).all(|lane| source.low_bits(lane).0 >= narrow)
    {
        // All the bits that are left are known.
        result.exact |= left;
        return true;
    }
    result.low = low;
    let Some(normal) = source
        .normalized(number, left)
        .filter(|_| left & source.exact == 0)
    else {
        return false;
    };
    if normal.low >= narrow {
        return false;
    }
    for lane in lanes_in_set(left) {
        result.bits[lane] = normal.bits[lane];
    }
    result.low = normal.low;
    result.rest = if narrow == from && fits {
        normal.rest
    } else {
        Rest::Uniform(number)
    };
    true
}

fn compute_extraction(
    pool: &Pool,
    bits: u8,
    uses: &[ValueId],
    left: Lanes,
    number: u32,
    result: &mut Vector,
) -> bool {
    let [source, start, length] = uses else {
        return false;
    };
    let (start, length) = (
        common_constant(pool.get(*start), left),
        common_constant(pool.get(*length), left),
    );
    let (Some(start), Some(length)) = (start.map(|s| s & 0xff), length.map(|l| l & 0xff)) else {
        return false;
    };
    let source = pool.get(*source);
    result.limit = ones(length.min(64) as u8);
    if start + length <= u64::from(bits)
        && lanes_in_set(left).all(|lane| start + length <= u64::from(source.low_bits(lane).0))
    {
        for lane in lanes_in_set(left) {
            result.bits[lane] = source.bits[lane] >> start & ones(length as u8);
        }
        result.exact |= left;
        return true;
    }
    let Some(normal) = source
        .normalized(number, left)
        .filter(|_| left & source.exact == 0)
    else {
        return false;
    };
    if start >= u64::from(normal.low) {
        // Only the unknown part is left.
        for lane in lanes_in_set(left) {
            result.bits[lane] = 0;
        }
        result.low = 0;
        result.rest = Rest::Uniform(number);
        return true;
    }
    false
}

fn compute_selection(pool: &Pool, uses: &[ValueId], left: Lanes, number: u32, result: &mut Vector) -> bool {
    let [a, b, predicate] = uses else { return false };
    let (a, b, predicate) = (pool.get(*a), pool.get(*b), pool.get(*predicate));
    let mut low = 64;
    let mut unpicked = 0;
    for lane in lanes_in_set(left) {
        let sources = match predicate.value_in_lane(lane) {
            Some(value) if value & 1 == 1 => [a, a],
            Some(_) => [b, b],
            None => {
                unpicked |= 1 << lane;
                [a, b]
            }
        };
        match sources.map(|source| source.value_in_lane(lane)) {
            [Some(x), Some(y)] if x == y => {
                result.exact |= 1 << lane;
                result.bits[lane] = x;
            }
            _ => {
                let [(low_x, x), (low_y, y)] = sources.map(|source| source.low_bits(lane));
                low = low
                    .min(low_x)
                    .min(low_y)
                    .min((x ^ y).trailing_zeros().min(64) as u8);
                result.bits[lane] = x;
            }
        }
    }
    let open = left & !result.exact;
    result.low = low;
    result.limit = if a.limit == b.limit { a.limit } else { u64::MAX };
    let most = |vector: &Vector| {
        lanes_in_set(open & vector.exact)
            .map(|lane| vector.bits[lane])
            .max()
            .unwrap_or(0)
    };
    if most(a).max(most(b)) > result.limit {
        result.limit = u64::MAX;
    }
    if open == 0 {
        return true;
    }
    // Selected by lane from one source, or by all lanes alike from two that differ by the same distance in each lane.
    let is_picked = open & unpicked == 0;
    let from = |vector: &Vector| matches!(vector.rest, Rest::Uniform(_)) || open & !vector.exact == 0;
    if is_picked {
        let from_a =
            lanes_in_set(open).all(|lane| predicate.value_in_lane(lane).is_some_and(|value| value & 1 == 1));
        let from_b =
            lanes_in_set(open).all(|lane| predicate.value_in_lane(lane).is_some_and(|value| value & 1 == 0));
        let whole = if from_a { a } else { b };
        if (from_a || from_b) && whole.rest != Rest::Varying {
            for lane in lanes_in_set(open) {
                result.bits[lane] = whole.bits[lane];
            }
            result.low = whole.low;
            result.rest = whole.rest;
            return true;
        }
        return false;
    }
    let apart = |lane: usize| a.bits[lane].wrapping_sub(b.bits[lane]);
    let mut distances = lanes_in_set(open).map(apart);
    let first = distances.next().unwrap_or(0);
    if open & !unpicked == 0
        && predicate.is_uniform_among(open)
        && from(a)
        && from(b)
        && (a.exact & open == 0 || a.exact & open == open)
        && (b.exact & open == 0 || b.exact & open == open)
        && distances.all(|other| other == first)
    {
        let unknown = |vector: &Vector| if open & !vector.exact == 0 { 64 } else { vector.low };
        for lane in lanes_in_set(open) {
            result.bits[lane] = a.bits[lane];
        }
        result.low = unknown(a)
            .min(unknown(b))
            .min(first.trailing_zeros().min(64) as u8);
        result.rest = Rest::Uniform(number);
        return true;
    }
    false
}

#[cfg(test)]
mod tests;
