//! Transfer functions of two-operand integer operations.
//!
//! Each works on the *open* lanes: those that execute the operation and whose operands are not all exact.

use super::super::value::{Lanes, Pool, Rest, ValueId, Vector, lanes_in_set};
use super::{common_constant, compare};
use ptxcheck_ir::evaluate::{evaluate, ones};
use ptxcheck_ir::{BinaryOp, Class, Op};

/// Applies an operation at this width in the lanes `open`; `number` names the unknown value of the result. True if it found
/// a form for these lanes, which `result` then has.
pub(super) fn compute_binary(
    pool: &Pool,
    (op, bits): (BinaryOp, u8),
    (a, b): (ValueId, ValueId),
    (open, number): (Lanes, u32),
    result: &mut Vector,
) -> bool {
    let is_address = pool.follows_addresses;
    let (a, b) = (pool.get(a), pool.get(b));
    if let Some(logic) = op.logic().filter(|_| bits == 1) {
        return compare::compute_logic(logic, (a, b), open, number, result);
    }
    Arithmetic::new((op, bits), (a, b), (open, number), is_address).compute_form(result)
}

/// An operation in the open lanes.
struct Arithmetic<'p> {
    op: BinaryOp,
    class: Class,
    bits: u8,
    /// The operands. An operand that is exact in the open lanes is the second one, where they may be swapped.
    a: &'p Vector,
    b: &'p Vector,
    /// The second operand at the operation's width, if it is one exact value in the open lanes.
    by: Option<u64>,
    /// The second operand, or its width, has been replaced: only `by` holds it.
    is_rewritten: bool,
    open: Lanes,
    number: u32,
    /// Addresses are followed: the offset from the unknown part is kept wherever possible.
    is_address: bool,
}

impl<'p> Arithmetic<'p> {
    fn new(
        (mut op, bits): (BinaryOp, u8),
        (mut a, mut b): (&'p Vector, &'p Vector),
        (open, number): (Lanes, u32),
        is_address: bool,
    ) -> Self {
        use BinaryOp as B;
        let is_commutative = matches!(
            op,
            B::Add | B::MulLow | B::And | B::Or | B::Xor | B::MulWideSigned | B::MulWideUnsigned
        );
        if is_commutative && open & !a.exact == 0 {
            std::mem::swap(&mut a, &mut b);
        }
        // Division by and remainder of a power of two are a shift and a mask.
        let stated = common_constant(b, open);
        let mut by = stated;
        if let Some(divisor) = by.filter(|divisor| divisor.is_power_of_two()) {
            match op {
                B::DivUnsigned => (op, by) = (B::ShrUnsigned, Some(u64::from(divisor.trailing_zeros()))),
                B::RemUnsigned => (op, by) = (B::And, Some(divisor - 1)),
                _ => {}
            }
        }
        let by = by.map(|by| by & ones(bits));
        Self {
            op,
            class: op.class(),
            bits,
            a,
            b,
            by,
            is_rewritten: matches!(op, B::And | B::ShrUnsigned) && by != stated,
            open,
            number,
            is_address,
        }
    }

    fn compute_form(&self, result: &mut Vector) -> bool {
        if !self.is_rewritten {
            self.compute_low_bits(result);
            if result.low >= self.bits {
                // All of its bits are known: a product with 0.
                result.exact |= self.open;
                return true;
            }
        }
        let mask = self.by.filter(|_| self.class == Class::And);
        if let Some(mask) = mask
            && self.mask_keeps_all_bits(mask)
        {
            self.copy_first_operand(result);
            return true;
        }
        result.limit = self.upper_bound();
        result.least = self.lower_bound();
        if let Some(set) = self.bits_possibly_set()
            && set <= result.limit
        {
            result.limit = set;
            if set == 0 {
                self.set_exact(result, |_| 0);
                return true;
            }
        }
        if let Some(mask) = mask
            && lanes_in_set(self.open).all(|lane| mask <= ones(self.a.low_bits(lane).0))
        {
            self.set_exact(result, |lane| self.a.bits[lane] & mask);
            return true;
        }
        match self.class {
            Class::Sum | Class::Difference => self.compute_sum(result),
            Class::Product | Class::WideProduct { .. } | Class::ShiftedLeft => self.compute_product(result),
            Class::ShiftedRight { .. } => self.compute_right_shift(result),
            Class::And | Class::Or | Class::Xor => self.compute_bitwise(result),
            Class::Quotient { .. }
            | Class::Remainder { .. }
            | Class::Least { .. }
            | Class::Greatest { .. }
            | Class::Other => false,
        }
    }

    fn set_exact(&self, result: &mut Vector, value: impl Fn(usize) -> u64) {
        result.exact |= self.open;
        for lane in lanes_in_set(self.open) {
            result.bits[lane] = value(lane);
        }
    }

    /// The result is the first operand.
    fn copy_first_operand(&self, result: &mut Vector) {
        let (exact, warp) = (result.exact, result.warp);
        let known = std::mem::replace(result, self.a.clone());
        result.warp = warp;
        result.exact = exact | self.open & self.a.exact;
        for lane in lanes_in_set(!self.open) {
            result.bits[lane] = known.bits[lane];
        }
    }

    /// True if the open lanes of an operand share one unknown value.
    fn is_uniform(&self, operand: &Vector) -> bool {
        matches!(operand.rest, Rest::Uniform(_)) && self.open & operand.exact == 0
    }

    /// (U + c) ± (V + d), where one of them may be exact.
    fn compute_sum(&self, result: &mut Vector) -> bool {
        let (a, b) = (self.a, self.b);
        let (uniform_a, uniform_b) = (self.is_uniform(a), self.is_uniform(b));
        let (exact_a, exact_b) = (self.open & !a.exact == 0, self.open & !b.exact == 0);
        if !(uniform_a || exact_a) || !(uniform_b || exact_b) || exact_a && exact_b {
            return false;
        }
        let low = match (uniform_a, uniform_b) {
            (true, true) => a.low.min(b.low),
            (true, false) => a.low,
            _ => b.low,
        };
        for lane in lanes_in_set(self.open) {
            let sum = if self.op == BinaryOp::Add {
                a.bits[lane].wrapping_add(b.bits[lane])
            } else {
                a.bits[lane].wrapping_sub(b.bits[lane])
            };
            result.bits[lane] = sum & ones(self.bits);
        }
        result.low = low.min(self.bits);
        result.rest = if uniform_a && !uniform_b {
            a.rest
        } else {
            Rest::Uniform(self.number)
        };
        true
    }

    /// (U + c) · k, or a shift to the left.
    fn compute_product(&self, result: &mut Vector) -> bool {
        use BinaryOp as B;
        let factor = match self.by {
            Some(by) if self.op != B::Shl => by,
            Some(by) if by < u64::from(self.bits) => 1 << by,
            _ => return false,
        };
        let is_wide = matches!(self.op, B::MulWideUnsigned | B::MulWideSigned);
        // In a wide product, the sum must not carry beyond its own width.
        let normal = if self.is_address && !is_wide {
            Some(self.a.clone())
        } else {
            self.a.normalized(self.number, self.open)
        };
        let (Some(from), true) = (normal, self.is_uniform(self.a)) else {
            return false;
        };
        // A wide product of a negative factor is a subtraction in the upper half; leave it.
        if factor == 0 || is_wide && factor > ones(self.bits / 2 - 1) {
            return false;
        }
        for lane in lanes_in_set(self.open) {
            result.bits[lane] = from.bits[lane].wrapping_mul(factor) & ones(self.bits);
        }
        result.low = from
            .low
            .saturating_add(factor.trailing_zeros() as u8)
            .min(self.bits);
        result.rest = Rest::Uniform(self.number);
        true
    }

    /// The first operand with offsets below its alignment, if that is U + c, and the second one is exact.
    fn aligned_first_operand(&self) -> Option<Vector> {
        if !self.is_uniform(self.a) || self.open & !self.b.exact != 0 {
            return None;
        }
        let from = self.a.normalized(self.number, self.open)?;
        (from.low <= self.bits).then_some(from)
    }

    /// (U + c) >> k
    fn compute_right_shift(&self, result: &mut Vector) -> bool {
        let by = self.by.filter(|by| *by < u64::from(self.bits));
        let (Some(from), Some(by)) = (self.aligned_first_operand(), by) else {
            return false;
        };
        let is_lost = from.low < by as u8;
        for lane in lanes_in_set(self.open) {
            result.bits[lane] = if is_lost { 0 } else { from.bits[lane] >> by };
        }
        result.low = from.low.saturating_sub(by as u8);
        result.rest = Rest::Uniform(self.number);
        true
    }

    /// (U + c) and k, or, exclusive or.
    fn compute_bitwise(&self, result: &mut Vector) -> bool {
        let Some(from) = self.aligned_first_operand() else {
            return false;
        };
        let other = |lane: usize| self.by.unwrap_or(self.b.bits[lane]);
        // Above the offsets, the other operand must be one value, or leave the unknown part unchanged.
        let above = |lane: usize| other(lane) & ones(self.bits) & !ones(from.low);
        let mut all = lanes_in_set(self.open).map(above);
        let first = all.next();
        if all.any(|other| Some(other) != first) {
            return false;
        }
        for lane in lanes_in_set(self.open) {
            let (x, y) = (from.bits[lane], other(lane) & ones(from.low));
            result.bits[lane] = match self.op {
                BinaryOp::And => x & y,
                BinaryOp::Or => x | y,
                _ => x ^ y,
            };
        }
        // Bits that the mask clears are 0.
        let cleared = match (self.op, self.by) {
            (BinaryOp::And, Some(mask)) => mask.trailing_zeros().min(u32::from(self.bits)) as u8,
            _ => 0,
        };
        result.low = from.low.max(cleared);
        result.rest = match self.op {
            BinaryOp::Or | BinaryOp::Xor if self.is_address && first == Some(0) => from.rest,
            _ => Rest::Uniform(self.number),
        };
        true
    }

    /// Low bits of the result, lane by lane; their number is the minimum over the open lanes.
    fn compute_low_bits(&self, result: &mut Vector) {
        let bits = self.bits;
        let mut low = bits;
        for lane in lanes_in_set(self.open) {
            low = low.min(self.known_low_bit_count(lane));
            let ((_, x), (_, y)) = (self.a.low_bits(lane), self.b.low_bits(lane));
            result.bits[lane] = match self.class {
                Class::ShiftedRight { .. } => self
                    .b
                    .value_in_lane(lane)
                    .map_or(0, |by| x.checked_shr(by.min(64) as u32).unwrap_or(0)),
                Class::WideProduct { .. } => (x & ones(bits / 2)).wrapping_mul(y & ones(bits / 2)),
                Class::Sum
                | Class::Difference
                | Class::Product
                | Class::Quotient { .. }
                | Class::Remainder { .. }
                | Class::Least { .. }
                | Class::Greatest { .. }
                | Class::And
                | Class::Or
                | Class::Xor
                | Class::ShiftedLeft
                | Class::Other => evaluate(Op::Binary(self.op, bits), &[x, y]).unwrap_or(0),
            };
        }
        result.low = low;
        for lane in lanes_in_set(self.open) {
            result.bits[lane] &= ones(low);
        }
    }

    /// Number of known low bits of the result in a lane.
    fn known_low_bit_count(&self, lane: usize) -> u8 {
        let zeros = |value: u64| value.trailing_zeros().min(64) as u8;
        let ((low_a, x), (low_b, y)) = (self.a.low_bits(lane), self.b.low_bits(lane));
        match self.class {
            Class::Sum | Class::Difference | Class::Or | Class::Xor => low_a.min(low_b),
            Class::And => {
                // Trailing zeros of one operand are zeros in the result.
                let clear = |low: u8, value: u64| zeros(value).min(low);
                low_a.min(low_b).max(clear(low_a, x)).max(clear(low_b, y))
            }
            Class::Product => (low_a.saturating_add(zeros(y)))
                .min(low_b.saturating_add(zeros(x)))
                .min(low_a.saturating_add(low_b)),
            Class::WideProduct { .. } => {
                let half = self.bits / 2;
                let (x, y) = (x & ones(half), y & ones(half));
                (low_a.min(half).saturating_add(zeros(y)))
                    .min(low_b.min(half).saturating_add(zeros(x)))
                    .min(low_a.min(half).saturating_add(low_b.min(half)))
            }
            Class::ShiftedLeft => match self.b.value_in_lane(lane) {
                Some(by) if by < u64::from(self.bits) => low_a.saturating_add(by as u8),
                _ => 0,
            },
            Class::ShiftedRight { .. } => match self.b.value_in_lane(lane) {
                Some(by) if by < u64::from(low_a) && low_a <= self.bits => low_a - by as u8,
                _ => 0,
            },
            Class::Quotient { .. }
            | Class::Remainder { .. }
            | Class::Least { .. }
            | Class::Greatest { .. }
            | Class::Other => 0,
        }
    }

    /// True if a mask clears only bits that are 0 in all open lanes anyway.
    fn mask_keeps_all_bits(&self, mask: u64) -> bool {
        let (a, width) = (self.a, ones(self.bits));
        let cleared = a.bits_possibly_set(self.open) & width & !mask;
        let are_zero = |lane: usize| {
            let (low, known) = a.low_bits(lane);
            cleared & !(ones(low) & !known) == 0
        };
        a.bits_possibly_set(self.open) & !width == 0 && lanes_in_set(self.open).all(are_zero)
    }

    /// The bits that may be set in the result, if the operation works bit by bit and some bits are certainly 0.
    fn bits_possibly_set(&self) -> Option<u64> {
        let width = ones(self.bits);
        let may_have = |vector: &Vector| vector.bits_possibly_set(self.open) & width;
        let shift = self.by.filter(|by| *by < u64::from(self.bits));
        let set = match self.class {
            Class::And => may_have(self.a) & self.by.unwrap_or_else(|| may_have(self.b)),
            Class::Or | Class::Xor => may_have(self.a) | may_have(self.b),
            Class::ShiftedRight { signed: false } => may_have(self.a) >> shift?,
            Class::ShiftedLeft => may_have(self.a) << shift? & width,
            Class::Sum
            | Class::Difference
            | Class::Product
            | Class::WideProduct { .. }
            | Class::Quotient { .. }
            | Class::Remainder { .. }
            | Class::Least { .. }
            | Class::Greatest { .. }
            | Class::ShiftedRight { signed: true }
            | Class::Other => return None,
        };
        Some(set).filter(|set| *set != width)
    }

    /// A lower bound of the result, for products and shifts that cannot overflow, for right shifts, and for differences of
    /// bits.
    fn lower_bound(&self) -> u64 {
        let (a, b) = (self.a, self.b);
        let overflows = || self.upper_bound() == u64::MAX;
        let shift = self.by.and_then(|by| u32::try_from(by).ok());
        let (x, y) = (a.lower_bound(self.open), b.lower_bound(self.open));
        match self.class {
            Class::Product | Class::WideProduct { signed: false } | Class::ShiftedLeft
                if x == 0 || overflows() =>
            {
                0
            }
            Class::Product | Class::WideProduct { signed: false } => x.saturating_mul(y),
            Class::ShiftedLeft => shift.and_then(|by| x.checked_shl(by)).unwrap_or(0),
            Class::ShiftedRight { signed: false } => shift.and_then(|by| x.checked_shr(by)).unwrap_or(0),
            // Numbers in different blocks of 2^low differ in a bit above.
            Class::Xor => {
                let low = u32::from(
                    a.alignment_of_unknown(self.open)
                        .min(b.alignment_of_unknown(self.open)),
                );
                let is_below = |most: u64, least: u64| most.checked_shr(low) < least.checked_shr(low);
                let differ = is_below(a.upper_bound(self.open), y) || is_below(b.upper_bound(self.open), x);
                1_u64.checked_shl(low).filter(|_| differ).unwrap_or(0)
            }
            Class::Sum
            | Class::Difference
            | Class::WideProduct { signed: true }
            | Class::Quotient { .. }
            | Class::Remainder { .. }
            | Class::Least { .. }
            | Class::Greatest { .. }
            | Class::And
            | Class::Or
            | Class::ShiftedRight { signed: true }
            | Class::Other => 0,
        }
    }

    /// An upper bound of the result.
    fn upper_bound(&self) -> u64 {
        let (width, by) = (ones(self.bits), self.by);
        let x = self.a.upper_bound(self.open).min(width);
        let y = self.b.upper_bound(self.open).min(width);
        let bound = match self.class {
            Class::Sum => x.checked_add(y),
            Class::Product | Class::WideProduct { signed: false } => x.checked_mul(y),
            Class::And => Some(by.map_or(x.min(y), |by| x.min(by))),
            Class::ShiftedRight { signed: false } => {
                by.map(|by| x.checked_shr(by.min(64) as u32).unwrap_or(0))
            }
            Class::ShiftedLeft => by.and_then(|by| x.checked_mul(1_u64.checked_shl(by.min(64) as u32)?)),
            Class::Remainder { signed: false } => y.checked_sub(1),
            Class::Quotient { signed: false } => Some(x),
            Class::Least { signed: false } => Some(x.min(y)),
            Class::Greatest { signed: false } => Some(x.max(y)),
            Class::Difference
            | Class::WideProduct { signed: true }
            | Class::Quotient { signed: true }
            | Class::Remainder { signed: true }
            | Class::Least { signed: true }
            | Class::Greatest { signed: true }
            | Class::Or
            | Class::Xor
            | Class::ShiftedRight { signed: true }
            | Class::Other => None,
        };
        bound.filter(|bound| *bound <= width).unwrap_or(u64::MAX)
    }
}
