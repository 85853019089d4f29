//! The domain of intervals: the least and the greatest number that a value may be, or how far an address may be from a variable.
//!
//! ```text
//! [l, m]             integers of which one agrees with the value in all bits of its width
//! v + [l, m]         the address of the variable v, with one of these added
//! [l, m] ± [k, n]    [l ± .., m ± ..]; the difference of two addresses in one variable is a number
//! [l, m] · [k, n]    from the least to the greatest product of their ends
//! x and c            [0, c], for c ≥ 0; x rem c: [0, c − 1]; x div c, x shr c: of the ends, if neither end is negative
//! population         [0, width], whatever is counted; so are leading zeros
//! one or the other   from the lower to the higher end of the two
//! widened            the same, if all of [l, m] are numbers of the narrower width, with a sign or without, as the operation takes them
//! ```
//!
//! A value that grows in a loop has none.

use crate::launches::MAX_BLOCK_THREADS;
use crate::value::{Domain, Evaluator, Result};
use ptxcheck_ir::{BinaryOp, Class, Op, Special, SymbolId, UnaryOp, Value};

/// The numbers that a value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    /// The variable from whose address they count.
    pub base: Option<SymbolId>,
    /// The least one.
    pub least: i64,
    /// The greatest one.
    pub most: i64,
}

/// Ends beyond this say nothing: sums of a few of them stay in 64 bits.
const MAX_END: i64 = 1 << 40;

impl Interval {
    /// All numbers.
    const UNKNOWN: Self = Self::between(i64::MIN, i64::MAX);

    const fn between(least: i64, most: i64) -> Self {
        Self {
            base: None,
            least,
            most,
        }
    }

    const fn single_number(number: i64) -> Self {
        Self::between(number, number)
    }

    /// True if the interval gives some information.
    pub(crate) const fn has_bound(self) -> bool {
        self.least >= -MAX_END && self.most <= MAX_END
    }

    /// The number, if there is one only.
    const fn only_number(self) -> Option<i64> {
        match self.base {
            None if self.least == self.most => Some(self.least),
            _ => None,
        }
    }

    const fn is_number_within(self, least: i64, most: i64) -> bool {
        self.base.is_none() && self.least >= least && self.most <= most
    }

    /// The interval; [`Self::UNKNOWN`] if it gives no information.
    const fn if_bounded(self) -> Self {
        if self.has_bound() { self } else { Self::UNKNOWN }
    }

    const fn sum(self, other: Self) -> Self {
        let base = match (self.base, other.base) {
            (Some(_), Some(_)) => return Self::UNKNOWN,
            (Some(base), None) | (None, Some(base)) => Some(base),
            (None, None) => None,
        };
        Self {
            base,
            least: self.least.saturating_add(other.least),
            most: self.most.saturating_add(other.most),
        }
        .if_bounded()
    }

    fn difference(self, other: Self) -> Self {
        let base = match (self.base, other.base) {
            (one, None) => one,
            (one, other) if one == other => None,
            _ => return Self::UNKNOWN,
        };
        Self {
            base,
            least: self.least.saturating_sub(other.most),
            most: self.most.saturating_sub(other.least),
        }
        .if_bounded()
    }

    fn product(self, other: Self) -> Self {
        if self.base.is_some() || other.base.is_some() {
            return Self::UNKNOWN;
        }
        let ends =
            [self.least, self.most].map(|one| [other.least, other.most].map(|by| one.saturating_mul(by)));
        let all = || ends.iter().flatten().copied();
        match (all().min(), all().max()) {
            (Some(least), Some(most)) => Self::between(least, most).if_bounded(),
            _ => Self::UNKNOWN,
        }
    }

    fn union(self, other: Self) -> Self {
        if self.base != other.base {
            return Self::UNKNOWN;
        }
        Self {
            least: self.least.min(other.least),
            most: self.most.max(other.most),
            ..self
        }
    }

    /// The same numbers after a change of the width, if the narrower one has room for all of them.
    fn converted_to_width(self, bits: u8, signed: bool) -> Self {
        let fits = match (bits, signed) {
            (64.., _) => true,
            (0, _) => false,
            // The address of a variable in shared memory is a small number.
            _ if self.base.is_some() => true,
            (bits, true) => self.is_number_within(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            (bits, false) => self.is_number_within(0, (1 << bits) - 1),
        };
        if fits { self } else { Self::UNKNOWN }
    }

    fn result_of_binary(op: BinaryOp, bits: u8, one: Self, other: Self) -> Self {
        // The same number with a sign and without.
        let last = (1_i64 << bits.clamp(1, 41).wrapping_sub(1)) - 1;
        let whole = |number: Self| number.is_number_within(0, last);
        let divisor = other.only_number().filter(|by| *by > 0 && whole(other));
        match op.class() {
            Class::Sum => one.sum(other),
            Class::Difference => one.difference(other),
            Class::Product => one.product(other),
            Class::WideProduct { signed } => {
                let half = bits / 2;
                one.converted_to_width(half, signed)
                    .product(other.converted_to_width(half, signed))
            }
            Class::Quotient { .. } => match divisor {
                Some(by) if whole(one) => Self::between(one.least / by, one.most / by),
                _ => Self::UNKNOWN,
            },
            Class::Remainder { signed } => match divisor {
                Some(by) if whole(one) && one.most < by => one,
                Some(by) if !signed || whole(one) => Self::between(0, by - 1),
                Some(by) => Self::between(1 - by, by - 1),
                None => Self::UNKNOWN,
            },
            Class::Least { .. } if whole(one) && whole(other) => {
                Self::between(one.least.min(other.least), one.most.min(other.most))
            }
            Class::Greatest { .. } if whole(one) && whole(other) => {
                Self::between(one.least.max(other.least), one.most.max(other.most))
            }
            Class::And => {
                let limits = [one, other]
                    .into_iter()
                    .filter(|number| number.is_number_within(0, MAX_END));
                limits
                    .map(|number| number.most)
                    .min()
                    .map_or(Self::UNKNOWN, |most| Self::between(0, most))
            }
            // Neither sets a bit above the highest one of the two.
            Class::Or | Class::Xor if whole(one) && whole(other) => {
                let most = one.most.max(other.most);
                Self::between(0, (most + 1).unsigned_abs().next_power_of_two() as i64 - 1)
            }
            Class::ShiftedLeft => match other.only_number() {
                Some(by @ 0..40) => one.product(Self::single_number(1 << by)),
                _ => Self::UNKNOWN,
            },
            Class::ShiftedRight { signed } => match other.only_number() {
                Some(by @ 0..63) if whole(one) => Self::between(one.least >> by, one.most >> by),
                Some(by @ 0..63) if !signed && (1..=40).contains(&bits) && by < i64::from(bits) => {
                    Self::between(0, ((1_i64 << bits) - 1) >> by)
                }
                _ => Self::UNKNOWN,
            },
            Class::Least { .. } | Class::Greatest { .. } | Class::Or | Class::Xor | Class::Other => {
                Self::UNKNOWN
            }
        }
    }
}

/// The numbers of the threads whose values are described.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadNumbers {
    /// The least and the greatest `%tid.x`.
    pub x: (u32, u32),
}

impl ThreadNumbers {
    /// Those of all threads of a block.
    pub(crate) const ALL: Self = Self {
        x: (0, MAX_BLOCK_THREADS - 1),
    };
}

/// The intervals of the registers of a body.
pub(crate) type Intervals<'a, 'm> = Evaluator<'a, 'm, IntervalDomain>;

/// Describes the values of some threads by intervals.
pub(crate) struct IntervalDomain(pub ThreadNumbers);

impl Domain for IntervalDomain {
    type Value = Interval;

    fn join(&self, one: &Interval, other: &Interval) -> Option<Interval> {
        Some(one.union(*other))
    }

    fn joins_descriptions(&self) -> bool {
        true
    }

    fn unknown_description(&self) -> Option<Interval> {
        Some(Interval::UNKNOWN)
    }

    fn needs_all_operands(&self, op: Op) -> bool {
        match op {
            Op::Binary(op, _) => !matches!(
                op.class(),
                Class::And | Class::Remainder { .. } | Class::ShiftedRight { .. }
            ),
            Op::Unary(op, _) => !matches!(op, UnaryOp::PopCount | UnaryOp::LeadingZeros),
            Op::ExtractBits(..) | Op::Compare(..) => false,
            _ => true,
        }
    }

    fn describe_operand(&self, value: Value) -> Option<Interval> {
        let most = i64::from(MAX_BLOCK_THREADS);
        Some(match value {
            Value::Integer(number) => Interval::single_number(number).if_bounded(),
            Value::Symbol(symbol, by) => Interval {
                base: Some(symbol),
                ..Interval::single_number(by.into())
            },
            Value::Special(Special::Tid(0)) => Interval::between(self.0.x.0.into(), self.0.x.1.into()),
            Value::Special(Special::Tid(_)) => Interval::between(0, most - 1),
            Value::Special(Special::Ntid(_)) => Interval::between(1, most),
            Value::Special(Special::LaneId) => Interval::between(0, 31),
            _ => Interval::UNKNOWN,
        })
    }

    fn describe_complement(&self, _value: Interval) -> Option<Interval> {
        Some(Interval::between(0, 1))
    }

    fn relevant_operands<'u>(&self, op: Op, uses: &'u [Value]) -> Option<&'u [Value]> {
        match op {
            Op::Select => uses.get(..2),
            op if op.change().is_some() => uses.get(..1),
            Op::Binary(..) | Op::Unary(..) | Op::ExtractBits(..) | Op::Compare(..) | Op::CompareOther => {
                Some(uses)
            }
            _ => None,
        }
    }

    fn describe_result(&self, op: Op, result: Result, operands: &[Interval]) -> Option<Interval> {
        let known = match (op, operands) {
            (op, &[from, ..]) if op.keeps_bits() => from,
            (Op::Convert { from, signed, to }, &[value, ..]) if to > from => {
                value.converted_to_width(from, signed)
            }
            (Op::Convert { .. }, &[value, ..]) => value,
            (Op::Binary(op, bits), &[one, other]) => Interval::result_of_binary(op, bits, one, other),
            (Op::Select, &[one, other]) => one.union(other),
            (Op::Unary(UnaryOp::PopCount | UnaryOp::LeadingZeros, bits), _) => {
                Interval::between(0, bits.into())
            }
            (Op::Unary(UnaryOp::Neg, _), &[value]) => Interval::single_number(0).difference(value),
            (Op::ExtractBits(_, false), &[_, _, length]) if length.is_number_within(0, 40) => {
                Interval::between(0, (1 << length.most) - 1)
            }
            (Op::Compare(..) | Op::CompareOther, _) => Interval::between(0, 1),
            _ => Interval::UNKNOWN,
        };
        (result.number == 0 || matches!(op, Op::Compare(..))).then_some(known.if_bounded())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptxcheck_ir::evaluate::{evaluate, ones};

    const ENDS: [i64; 13] = [
        -300,
        -128,
        -32,
        -1,
        0,
        1,
        5,
        31,
        64,
        127,
        255,
        0x7fff_ffff,
        0xffff_ffff,
    ];

    fn sample_intervals() -> Vec<Interval> {
        let pairs = ENDS
            .iter()
            .flat_map(|&least| ENDS.iter().map(move |&most| (least, most)));
        pairs
            .filter(|(least, most)| least <= most)
            .map(|(least, most)| Interval::between(least, most))
            .chain([Interval::UNKNOWN])
            .collect()
    }

    /// Some numbers of an interval.
    fn sample_numbers(of: Interval) -> [i64; 3] {
        match of.has_bound() {
            true => [of.least, of.most, of.least + (of.most - of.least) / 2],
            false => [i64::MIN, 0x1234_5678_9abc_def0, -7],
        }
    }

    /// True if a value of this width is one of the numbers of an interval.
    fn contains(interval: Interval, value: u64, bits: u8) -> bool {
        let above = value.wrapping_sub(interval.least as u64) & ones(bits);
        !interval.has_bound() || above <= (interval.most - interval.least) as u64
    }

    fn check_result_interval(op: Op, known: Interval, uses: &[(Interval, u8)], to: u8) {
        let choices = 3_usize.pow(uses.len() as u32);
        for pick in 0..choices {
            let places = (0..uses.len() as u32).map(|place| pick / 3_usize.pow(place) % 3);
            let chosen: Vec<u64> = uses
                .iter()
                .zip(places)
                .map(|(&(of, bits), place)| sample_numbers(of)[place] as u64 & ones(bits))
                .collect();
            // A division by 0 has no value.
            let Some(value) = evaluate(op, &chosen) else {
                continue;
            };
            assert!(
                contains(known.if_bounded(), value, to),
                "{op:?} {uses:x?} {chosen:x?} {value:x} {known:x?}"
            );
        }
    }

    #[test]
    fn result_intervals_contain_all_results() {
        for one in sample_intervals() {
            for bits in [8, 16, 32, 64] {
                for (from, to) in [(8, 32), (16, 64), (32, 64), (64, 32), (32, 16)] {
                    for signed in [false, true] {
                        let known = if to > from {
                            one.converted_to_width(from, signed)
                        } else {
                            one
                        };
                        check_result_interval(Op::Convert { from, signed, to }, known, &[(one, from)], to);
                    }
                }
                for other in sample_intervals() {
                    for op in BinaryOp::ALL {
                        let is_wide = matches!(op.class(), Class::WideProduct { .. });
                        let width = if is_wide { bits / 2 } else { bits };
                        if is_wide && bits == 8 {
                            continue;
                        }
                        let known = Interval::result_of_binary(op, bits, one, other);
                        check_result_interval(
                            Op::Binary(op, bits),
                            known,
                            &[(one, width), (other, width)],
                            bits,
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn joins_contain_both_intervals() {
        for one in sample_intervals() {
            for other in sample_intervals() {
                let both = one.union(other);
                assert!(both.least <= one.least.min(other.least) && both.most >= one.most.max(other.most));
            }
        }
    }

    #[test]
    fn addresses_in_one_variable_have_a_known_distance() {
        let address = |least, most| Interval {
            base: Some(SymbolId::new(3)),
            ..Interval::between(least, most)
        };
        let difference = address(8, 12).difference(address(4, 4));
        assert_eq!(difference, Interval::between(4, 8));
        assert!(!address(0, 4).sum(address(0, 4)).has_bound());
        assert!(!address(0, 4).product(Interval::single_number(2)).has_bound());
        assert_eq!(address(0, 4).sum(Interval::between(-4, 4)), address(-4, 8));
    }
}
