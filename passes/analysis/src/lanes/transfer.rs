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

mod compare;

use super::value::{Base, Lanes, Pool, ValueId, Vector, lanes};
use ptxcheck_ir::evaluate::{evaluate, ones};
use ptxcheck_ir::{BinaryOp, Op, UnaryOp};

/// Most uses of an interpreted operation.
pub(super) const MAX_USES: usize = 8;

/// An operation to apply: the lanes that execute it, and what names the unknown value it makes.
#[derive(Clone, Copy)]
pub(super) struct Application {
    /// The lanes that may be here.
    pub here: Lanes,
    /// Two operations with equal keys make the same unknown value.
    pub key: (u64, u64),
}

/// The one result of `op`.
pub(super) fn apply(pool: &mut Pool, op: Op, uses: &[ValueId], site: Application) -> ValueId {
    if uses.is_empty() || uses.len() > MAX_USES || uses.contains(&ValueId::NONE) {
        return ValueId::UNKNOWN;
    }
    if op == Op::Copy {
        return uses[0];
    }
    let is_plain = !matches!(op, Op::Compare(..) | Op::Convert { .. } | Op::ExtractBits(..));
    if is_plain && uses.iter().all(|&id| id == ValueId::UNKNOWN) {
        return ValueId::UNKNOWN;
    }
    if uses.len() > 3 {
        return compute(pool, op, uses, site);
    }
    let mut three = [ValueId::NONE; 3];
    three[..uses.len()].copy_from_slice(uses);
    let applied = (op, three, site.here, site.key);
    if let Some(&known) = pool.applied.get(&applied) {
        return known;
    }
    let result = compute(pool, op, uses, site);
    pool.applied.insert(applied, result);
    result
}

fn compute(pool: &mut Pool, op: Op, uses: &[ValueId], site: Application) -> ValueId {
    let mut result = Vector::UNKNOWN;
    let mut warp = true;
    {
        let mut values = [0; MAX_USES];
        let mut vectors = [pool.get(uses[0]); MAX_USES];
        for (vector, id) in vectors.iter_mut().zip(uses) {
            *vector = pool.get(*id);
        }
        let vectors = &vectors[..uses.len()];
        let all_exact = vectors.iter().fold(u32::MAX, |all, vector| all & vector.exact);
        for lane in lanes(all_exact) {
            for (value, vector) in values.iter_mut().zip(vectors) {
                *value = vector.bits[lane];
            }
            if let Some(value) = evaluate(op, &values[..uses.len()]) {
                result.exact |= 1 << lane;
                result.bits[lane] = value;
            }
        }
        for vector in vectors {
            warp &= vector.warp || site.here & !vector.exact == 0;
        }
    }
    let left = site.here & !result.exact;
    if left == 0 {
        let some = lanes(site.here).next().map_or(0, |lane| result.bits[lane]);
        for lane in lanes(!result.exact) {
            result.bits[lane] = some;
        }
        return pool.add(Vector::exact(result.bits));
    }
    result.warp = warp;
    let number = pool.number(site.key);
    let shaped = match op {
        Op::Binary(op, bits) => binary(pool, op, bits, uses[0], uses[1], left, number, &mut result),
        Op::MulAdd(op, bits) => {
            let product = apply(
                pool,
                Op::Binary(op, bits),
                &uses[..2],
                Application {
                    key: (site.key.0, site.key.1 | PRODUCT),
                    ..site
                },
            );
            binary(
                pool,
                BinaryOp::Add,
                bits,
                product,
                uses[2],
                left,
                number,
                &mut result,
            )
        }
        Op::Convert { from, signed, to } => {
            convert(pool, from, signed, to, uses[0], left, number, &mut result)
        }
        Op::Compare(condition, bits, logic) => {
            compare::compare(pool, condition, bits, logic, uses, left, number, &mut result)
        }
        Op::Select => select(pool, uses, left, number, &mut result),
        Op::Unary(UnaryOp::Not, bits) => {
            let minus = pool.splat(ones(bits));
            binary(
                pool,
                BinaryOp::Xor,
                bits,
                uses[0],
                minus,
                left,
                number,
                &mut result,
            )
        }
        Op::Unary(UnaryOp::Neg, bits) => {
            let zero = pool.splat(0);
            binary(
                pool,
                BinaryOp::Sub,
                bits,
                zero,
                uses[0],
                left,
                number,
                &mut result,
            )
        }
        Op::Unary(UnaryOp::PopCount, bits) => {
            result.limit = most_set(pool.get(uses[0]), bits);
            false
        }
        Op::ExtractBits(bits, false) => extract(pool, bits, uses, left, number, &mut result),
        _ => false,
    };
    if !shaped && is_uniform(pool, uses, left & !result.exact) {
        let low = result.low;
        let alike = lanes(left & !result.exact)
            .map(|lane| result.bits[lane] & ones(low))
            .collect::<Vec<_>>();
        result.base = Base::Uniform(number);
        if alike.windows(2).any(|pair| pair[0] != pair[1]) {
            result.low = 0;
        }
        for lane in lanes(!result.exact) {
            result.bits[lane] &= ones(result.low);
        }
    } else if !shaped {
        for lane in lanes(!result.exact) {
            result.bits[lane] &= ones(result.low);
        }
    }
    for lane in lanes(!(site.here | result.exact)) {
        result.bits[lane] = 0;
    }
    pool.add(result)
}

const PRODUCT: u64 = 1 << 40;

/// True if each operand holds the same value in all lanes of `among`.
fn is_uniform(pool: &Pool, uses: &[ValueId], among: Lanes) -> bool {
    uses.iter().all(|&id| pool.get(id).is_splat(among))
}

/// The one exact value of a vector in all lanes of `among`.
fn constant(vector: &Vector, among: Lanes) -> Option<u64> {
    let mut all = lanes(among).map(|lane| vector.at(lane));
    let first = all.next()??;
    all.all(|other| other == Some(first)).then_some(first)
}

/// Low bits of a two-operand operation, lane by lane: the fewest over the lanes in `left`.
fn low_bits(pool: &Pool, op: BinaryOp, bits: u8, a: ValueId, b: ValueId, left: Lanes, result: &mut Vector) {
    use BinaryOp as B;
    let (a, b) = (pool.get(a), pool.get(b));
    let zeros = |value: u64| value.trailing_zeros().min(64) as u8;
    let mut low = bits;
    for lane in lanes(left) {
        let ((low_a, x), (low_b, y)) = (a.low_bits(lane), b.low_bits(lane));
        let known = match op {
            B::Add | B::Sub | B::Or | B::Xor => low_a.min(low_b),
            B::And => {
                // Zeros below in one operand are zeros in the result.
                let clear = |low: u8, value: u64| zeros(value).min(low);
                low_a.min(low_b).max(clear(low_a, x)).max(clear(low_b, y))
            }
            B::MulLow => (low_a.saturating_add(zeros(y)))
                .min(low_b.saturating_add(zeros(x)))
                .min(low_a.saturating_add(low_b)),
            B::MulWideUnsigned | B::MulWideSigned => {
                let half = bits / 2;
                let (x, y) = (x & ones(half), y & ones(half));
                (low_a.min(half).saturating_add(zeros(y)))
                    .min(low_b.min(half).saturating_add(zeros(x)))
                    .min(low_a.min(half).saturating_add(low_b.min(half)))
            }
            B::Shl => match b.at(lane) {
                Some(by) if by < u64::from(bits) => low_a.saturating_add(by as u8),
                _ => 0,
            },
            B::ShrUnsigned | B::ShrSigned => match b.at(lane) {
                Some(by) if by < u64::from(low_a) && low_a <= bits => low_a - by as u8,
                _ => 0,
            },
            _ => 0,
        };
        low = low.min(known);
        let value = match op {
            B::ShrUnsigned | B::ShrSigned => b
                .at(lane)
                .map_or(0, |by| x.checked_shr(by.min(64) as u32).unwrap_or(0)),
            B::MulWideUnsigned | B::MulWideSigned => (x & ones(bits / 2)).wrapping_mul(y & ones(bits / 2)),
            _ => evaluate(Op::Binary(op, bits), &[x, y]).unwrap_or(0),
        };
        result.bits[lane] = value;
    }
    result.low = low;
    for lane in lanes(left) {
        result.bits[lane] &= ones(low);
    }
}

/// True if it found a form for the lanes in `left`, which `result` then has.
#[allow(clippy::too_many_arguments)]
fn binary(
    pool: &Pool,
    op: BinaryOp,
    bits: u8,
    a: ValueId,
    b: ValueId,
    left: Lanes,
    number: u32,
    result: &mut Vector,
) -> bool {
    use BinaryOp as B;
    if let Some(logic) = op.logic().filter(|_| bits == 1) {
        return compare::connect(logic, (pool.get(a), pool.get(b)), left, number, result);
    }
    let (mut a, mut b, mut op) = (a, b, op);
    let exact_in = |id: ValueId| left & !pool.get(id).exact == 0;
    if exact_in(a)
        && matches!(
            op,
            B::Add | B::MulLow | B::And | B::Or | B::Xor | B::MulWideSigned | B::MulWideUnsigned
        )
    {
        std::mem::swap(&mut a, &mut b);
    }
    // Division by and remainder of a power of two are a shift and a mask.
    let mut by = constant(pool.get(b), left);
    if let Some(divisor) = by.filter(|divisor| divisor.is_power_of_two()) {
        match op {
            B::DivUnsigned => (op, by) = (B::ShrUnsigned, Some(u64::from(divisor.trailing_zeros()))),
            B::RemUnsigned => (op, by) = (B::And, Some(divisor - 1)),
            _ => {}
        }
    }
    let by = by.map(|by| by & ones(bits));
    if op != B::And && op != B::ShrUnsigned || by == constant(pool.get(b), left) {
        low_bits(pool, op, bits, a, b, left, result);
        if result.low >= bits {
            // All of its bits are known: a product with 0.
            result.exact |= left;
            return true;
        }
    }
    let (left_vector, right) = (pool.get(a), pool.get(b));
    if let (B::And, Some(mask)) = (op, by)
        && keeps_all(left_vector, mask, bits, left)
    {
        let (exact, warp) = (result.exact, result.warp);
        let known = std::mem::replace(result, left_vector.clone());
        result.warp = warp;
        result.exact = exact | left & left_vector.exact;
        for lane in lanes(!left) {
            result.bits[lane] = known.bits[lane];
        }
        return true;
    }
    result.limit = limit(op, bits, left_vector, right, by, left);
    result.least = least(op, bits, left_vector, right, by, left);
    if let Some(set) = most_of_set(op, bits, left_vector, right, by, left)
        && set <= result.limit
    {
        (result.limit, result.is_set) = (set, true);
        if set == 0 {
            result.exact |= left;
            for lane in lanes(left) {
                result.bits[lane] = 0;
            }
            return true;
        }
    }
    if let (B::And, Some(mask)) = (op, by)
        && lanes(left).all(|lane| mask <= ones(left_vector.low_bits(lane).0))
    {
        for lane in lanes(left) {
            result.exact |= 1 << lane;
            result.bits[lane] = left_vector.bits[lane] & mask;
        }
        return true;
    }
    let is_uniform = |vector: &Vector| matches!(vector.base, Base::Uniform(_)) && left & vector.exact == 0;
    let offsets = |vector: &Vector, lane: usize| vector.bits[lane];
    let width = ones(bits);
    match op {
        B::Add | B::Sub => {
            let combine = |x: u64, y: u64| {
                if op == B::Add {
                    x.wrapping_add(y)
                } else {
                    x.wrapping_sub(y)
                }
            };
            let (uniform_a, uniform_b) = (is_uniform(left_vector), is_uniform(right));
            let (exact_a, exact_b) = (left & !left_vector.exact == 0, left & !right.exact == 0);
            if !(uniform_a || exact_a) || !(uniform_b || exact_b) || exact_a && exact_b {
                return false;
            }
            let low = match (uniform_a, uniform_b) {
                (true, true) => left_vector.low.min(right.low),
                (true, false) => left_vector.low,
                _ => right.low,
            };
            for lane in lanes(left) {
                result.bits[lane] = combine(offsets(left_vector, lane), offsets(right, lane)) & width;
            }
            result.low = low.min(bits);
            result.base = if uniform_a && !uniform_b {
                left_vector.base
            } else {
                Base::Uniform(number)
            };
            true
        }
        B::MulLow | B::MulWideUnsigned | B::MulWideSigned | B::Shl => {
            let Some(by) = by else { return false };
            let factor = if op == B::Shl {
                if by >= u64::from(bits) {
                    return false;
                }
                1 << by
            } else {
                by
            };
            let wide = matches!(op, B::MulWideUnsigned | B::MulWideSigned);
            let normal = left_vector.normal(number, left);
            let (Some(from), true) = (normal, is_uniform(left_vector)) else {
                return false;
            };
            // A wide product of a negative factor is a subtraction in the upper half; leave it.
            if factor == 0 || wide && (factor > ones(bits / 2 - 1)) {
                return false;
            }
            for lane in lanes(left) {
                result.bits[lane] = from.bits[lane].wrapping_mul(factor) & width;
            }
            result.low = (from.low.saturating_add(factor.trailing_zeros() as u8)).min(bits);
            result.base = Base::Uniform(number);
            true
        }
        B::ShrUnsigned | B::ShrSigned | B::And | B::Or | B::Xor => {
            if !is_uniform(left_vector) || left & !right.exact != 0 {
                return false;
            }
            let Some(from) = left_vector.normal(number, left) else {
                return false;
            };
            if from.low > bits {
                return false;
            }
            if matches!(op, B::ShrUnsigned | B::ShrSigned) {
                let Some(by) = by.filter(|by| *by < u64::from(bits)) else {
                    return false;
                };
                for lane in lanes(left) {
                    result.bits[lane] = from.bits[lane] >> by;
                }
                result.low = from.low.saturating_sub(by as u8);
                if from.low < by as u8 {
                    for lane in lanes(left) {
                        result.bits[lane] = 0;
                    }
                }
            } else {
                // Above the offsets the other operand must be one value, or leave the unknown part alone.
                let above = |lane: usize| by.unwrap_or(right.bits[lane]) & width & !ones(from.low);
                let mut all = lanes(left).map(above);
                let first = all.next();
                if all.any(|other| Some(other) != first) {
                    return false;
                }
                for lane in lanes(left) {
                    let (x, y) = (from.bits[lane], by.unwrap_or(right.bits[lane]) & ones(from.low));
                    result.bits[lane] = match op {
                        B::And => x & y,
                        B::Or => x | y,
                        _ => x ^ y,
                    };
                }
                // Bits that the mask clears are 0.
                let cleared = match (op, by) {
                    (B::And, Some(mask)) => mask.trailing_zeros().min(u32::from(bits)) as u8,
                    _ => 0,
                };
                result.low = from.low.max(cleared);
            }
            result.base = Base::Uniform(number);
            true
        }
        _ => false,
    }
}

/// Most bits that are set in the lanes that are not exact.
fn most_set(vector: &Vector, bits: u8) -> u64 {
    let limit = vector.limit & ones(bits);
    u64::from(if limit != vector.limit {
        u32::from(bits)
    } else if vector.is_set {
        limit.count_ones()
    } else {
        u64::BITS - limit.leading_zeros()
    })
}

/// The bits that the result may have in the lanes of `among`, where the operation keeps bits apart and some are certainly 0.
fn most_of_set(op: BinaryOp, bits: u8, a: &Vector, b: &Vector, by: Option<u64>, among: Lanes) -> Option<u64> {
    use BinaryOp as B;
    let width = ones(bits);
    let may_have = |vector: &Vector| vector.may_have(among) & width;
    let shift = by.filter(|by| *by < u64::from(bits));
    let set = match op {
        B::And => may_have(a) & by.unwrap_or_else(|| may_have(b)),
        B::Or | B::Xor => may_have(a) | may_have(b),
        B::ShrUnsigned => may_have(a) >> shift?,
        B::Shl => may_have(a) << shift? & width,
        _ => return None,
    };
    Some(set).filter(|set| *set != width)
}

/// True if a mask clears only bits that are 0 in all lanes of `among` anyway.
fn keeps_all(vector: &Vector, mask: u64, bits: u8, among: Lanes) -> bool {
    let cleared = vector.may_have(among) & ones(bits) & !mask;
    let are_zero = |lane: usize| {
        let (low, known) = vector.low_bits(lane);
        cleared & !(ones(low) & !known) == 0
    };
    vector.may_have(among) & !ones(bits) == 0 && lanes(among).all(are_zero)
}

/// A lower bound of the result in the lanes of `among`: of products and shifts that cannot overflow, of shifts to the right, and
/// of differences of bits.
fn least(op: BinaryOp, bits: u8, a: &Vector, b: &Vector, by: Option<u64>, among: Lanes) -> u64 {
    use BinaryOp as B;
    let overflows = || limit(op, bits, a, b, by, among) == u64::MAX;
    let shift = by.and_then(|by| u32::try_from(by).ok());
    let (x, y) = (a.at_least(among), b.at_least(among));
    match op {
        B::MulLow | B::MulWideUnsigned if x > 0 && y > 0 && !overflows() => x.saturating_mul(y),
        B::Shl if x > 0 && !overflows() => shift.and_then(|by| x.checked_shl(by)).unwrap_or(0),
        B::ShrUnsigned => shift.and_then(|by| x.checked_shr(by)).unwrap_or(0),
        // Numbers in different blocks of 2^low differ in a bit above.
        B::Xor => {
            let low = u32::from(a.unknown_low(among).min(b.unknown_low(among)));
            let is_below = |most: u64, least: u64| most.checked_shr(low) < least.checked_shr(low);
            let differ = is_below(a.at_most(among), y) || is_below(b.at_most(among), x);
            1_u64.checked_shl(low).filter(|_| differ).unwrap_or(0)
        }
        _ => 0,
    }
}

/// An upper bound of the result in the lanes that are not exact.
fn limit(op: BinaryOp, bits: u8, a: &Vector, b: &Vector, by: Option<u64>, among: Lanes) -> u64 {
    use BinaryOp as B;
    let width = ones(bits);
    let (x, y) = (a.at_most(among).min(width), b.at_most(among).min(width));
    let bound = match op {
        B::Add => x.checked_add(y),
        B::MulLow | B::MulWideUnsigned => x.checked_mul(y),
        B::And => Some(by.map_or(x.min(y), |by| x.min(by))),
        B::ShrUnsigned => by.map(|by| x.checked_shr(by.min(64) as u32).unwrap_or(0)),
        B::Shl => by.and_then(|by| x.checked_mul(1_u64.checked_shl(by.min(64) as u32)?)),
        B::RemUnsigned => y.checked_sub(1),
        B::DivUnsigned => Some(x),
        B::MinUnsigned => Some(x.min(y)),
        B::MaxUnsigned => Some(x.max(y)),
        _ => None,
    };
    bound.filter(|bound| *bound <= width).unwrap_or(u64::MAX)
}

#[allow(clippy::too_many_arguments)]
fn convert(
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
    result.is_set = fits && source.is_set;
    result.least = if fits { source.least } else { 0 };
    result.limit = if fits {
        source.limit
    } else if to <= from || !signed {
        ones(narrow)
    } else {
        u64::MAX
    };
    if matches!(source.base, Base::Active(_)) && narrow >= 32 {
        result.base = source.base;
        return true;
    }
    let mut low = narrow;
    for lane in lanes(left) {
        let (known, bits) = source.low_bits(lane);
        low = low.min(known);
        result.bits[lane] = bits & ones(narrow.min(known));
    }
    if low == narrow && (to <= from || !signed) && lanes(left).all(|lane| source.low_bits(lane).0 >= narrow) {
        // All the bits that are left are known.
        result.exact |= left;
        return true;
    }
    result.low = low;
    let Some(normal) = source.normal(number, left).filter(|_| left & source.exact == 0) else {
        return false;
    };
    if normal.low >= narrow {
        return false;
    }
    for lane in lanes(left) {
        result.bits[lane] = normal.bits[lane];
    }
    result.low = normal.low;
    result.base = if narrow == from && fits {
        normal.base
    } else {
        Base::Uniform(number)
    };
    true
}

fn extract(pool: &Pool, bits: u8, uses: &[ValueId], left: Lanes, number: u32, result: &mut Vector) -> bool {
    let [source, start, length] = uses else {
        return false;
    };
    let (start, length) = (
        constant(pool.get(*start), left),
        constant(pool.get(*length), left),
    );
    let (Some(start), Some(length)) = (start.map(|s| s & 0xff), length.map(|l| l & 0xff)) else {
        return false;
    };
    let source = pool.get(*source);
    result.limit = ones(length.min(64) as u8);
    if start + length <= u64::from(bits)
        && lanes(left).all(|lane| start + length <= u64::from(source.low_bits(lane).0))
    {
        for lane in lanes(left) {
            result.bits[lane] = source.bits[lane] >> start & ones(length as u8);
        }
        result.exact |= left;
        return true;
    }
    let Some(normal) = source.normal(number, left).filter(|_| left & source.exact == 0) else {
        return false;
    };
    if start >= u64::from(normal.low) {
        // Only the unknown part is left.
        for lane in lanes(left) {
            result.bits[lane] = 0;
        }
        result.low = 0;
        result.base = Base::Uniform(number);
        return true;
    }
    false
}

fn select(pool: &Pool, uses: &[ValueId], left: Lanes, number: u32, result: &mut Vector) -> bool {
    let [a, b, predicate] = uses else { return false };
    let (a, b, predicate) = (pool.get(*a), pool.get(*b), pool.get(*predicate));
    let mut low = 64;
    let mut unpicked = 0;
    for lane in lanes(left) {
        let sources = match predicate.at(lane) {
            Some(value) if value & 1 == 1 => [a, a],
            Some(_) => [b, b],
            None => {
                unpicked |= 1 << lane;
                [a, b]
            }
        };
        match sources.map(|source| source.at(lane)) {
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
        lanes(open & vector.exact)
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
    // Picked by lane from one source, or by all lanes alike from two that differ by the same distance in each lane.
    let is_picked = open & unpicked == 0;
    let from = |vector: &Vector| matches!(vector.base, Base::Uniform(_)) || open & !vector.exact == 0;
    if is_picked {
        let from_a = lanes(open).all(|lane| predicate.at(lane).is_some_and(|value| value & 1 == 1));
        let from_b = lanes(open).all(|lane| predicate.at(lane).is_some_and(|value| value & 1 == 0));
        let whole = if from_a { a } else { b };
        if (from_a || from_b) && whole.base != Base::Varying {
            for lane in lanes(open) {
                result.bits[lane] = whole.bits[lane];
            }
            result.low = whole.low;
            result.base = whole.base;
            return true;
        }
        return false;
    }
    let apart = |lane: usize| a.bits[lane].wrapping_sub(b.bits[lane]);
    let mut distances = lanes(open).map(apart);
    let first = distances.next().unwrap_or(0);
    if open & !unpicked == 0
        && predicate.is_splat(open)
        && from(a)
        && from(b)
        && (a.exact & open == 0 || a.exact & open == open)
        && (b.exact & open == 0 || b.exact & open == open)
        && distances.all(|other| other == first)
    {
        let unknown = |vector: &Vector| if open & !vector.exact == 0 { 64 } else { vector.low };
        for lane in lanes(open) {
            result.bits[lane] = a.bits[lane];
        }
        result.low = unknown(a)
            .min(unknown(b))
            .min(first.trailing_zeros().min(64) as u8);
        result.base = Base::Uniform(number);
        return true;
    }
    false
}

#[cfg(test)]
mod tests;
