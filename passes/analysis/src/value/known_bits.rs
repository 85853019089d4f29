//! The domain of known bits: for each bit of a number, whether it is certainly 0, certainly 1, or not known.
//!
//! ```text
//! zeros(x), ones(x)    bits that are certainly 0, and certainly 1, in x
//! a and b              zeros(a) ∪ zeros(b)                    ones(a) ∩ ones(b)
//! a or b               zeros(a) ∩ zeros(b)                    ones(a) ∪ ones(b)
//! a xor b              where both are known
//! not a                ones(a)                                zeros(a)
//! a shl k, a shr k     those of a, shifted by a known k, and the bits shifted in
//! one or the other     the common ones
//! run(x)               the number of low bits that are known: x modulo 2^run
//! a ± b                run: the shorter one
//! a · b                run: min(run(a) + zeros(b), run(b) + zeros(a)), with the zeros at the end
//! a rem c              run: at most the zeros at the end of c, since r = a − q·c
//! symbol               run: the logarithm of its alignment, at most ALIGNMENT_BITS; the same as a generic address, since windows of
//!                      memory begin at multiples of more than that
//! ```
//!
//! [`KnownBits`] evaluates it over a body: the bits of a register are those that all of its definitions have in common, and
//! the bits of a load from a slot those that all stores to it have in common. The lane analysis has such bits for each lane.

use crate::shared::Shared;
use crate::value::{Domain, Evaluator, Result, Source};
use ptxcheck_ir::evaluate::{evaluate_result, is_interpreted, ones};
use ptxcheck_ir::{
    BinaryOp, Class, Condition, Function, FunctionId, Logic, Module, Op, Special, SymbolKind, UnaryOp, Value,
};

/// Bits of one number that are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Bits {
    /// Certainly 0.
    pub zeros: u64,
    /// Certainly 1.
    pub ones: u64,
}

/// Bits of an alignment that are of use: no access needs more than 128 bytes.
const ALIGNMENT_BITS: u8 = 7;

/// Most operands of an operation that is evaluated.
const MAX_USES: usize = 4;

impl Bits {
    /// No bit is known.
    pub(crate) const UNKNOWN: Self = Self { zeros: 0, ones: 0 };

    /// The bits of a number, all of them known.
    pub(crate) const fn of_number(value: u64) -> Self {
        Self {
            zeros: !value,
            ones: value,
        }
    }

    /// A number with no bits set outside of a mask.
    pub(crate) const fn within_mask(all: u64) -> Self {
        Self { zeros: !all, ones: 0 }
    }

    /// The number, if all of its bits are known.
    pub(crate) const fn known_number(self) -> Option<u64> {
        if self.zeros | self.ones == u64::MAX {
            Some(self.ones)
        } else {
            None
        }
    }

    /// The known bits of a number that is one or the other.
    pub(crate) const fn common_to_both(self, other: Self) -> Self {
        Self {
            zeros: self.zeros & other.zeros,
            ones: self.ones & other.ones,
        }
    }

    /// The known bits of a number, from two descriptions of it.
    pub(crate) const fn refined_with(self, other: Self) -> Self {
        Self {
            zeros: self.zeros | other.zeros,
            ones: self.ones | other.ones,
        }
    }

    /// True if all bits that `other` knows are known.
    pub(crate) const fn knows_all_bits_of(self, other: Self) -> bool {
        other.zeros & !self.zeros == 0 && other.ones & !self.ones == 0
    }

    /// The low bits of the number, with zeros above.
    const fn truncated_to(self, bits: u8) -> Self {
        Self {
            zeros: self.zeros | !ones(bits),
            ones: self.ones & ones(bits),
        }
    }

    const fn shifted_left(self, by: u64) -> Self {
        if by >= 64 {
            return Self::of_number(0);
        }
        Self {
            zeros: self.zeros << by | ones(by as u8),
            ones: self.ones << by,
        }
    }

    const fn shifted_right(self, by: u64) -> Self {
        if by >= 64 {
            return Self::of_number(0);
        }
        Self {
            zeros: !(!self.zeros >> by),
            ones: self.ones >> by,
        }
    }

    /// A number whose `known` low bits are those of `bits`.
    const fn of_low_bits(known: u8, bits: u64) -> Self {
        Self {
            zeros: !bits & ones(known),
            ones: bits & ones(known),
        }
    }

    /// The number of low bits that are known; 64 if all are.
    pub(crate) const fn known_low_bit_count(self) -> u8 {
        (self.zeros | self.ones).trailing_ones() as u8
    }

    /// The lowest bit, if it is known: the value of a predicate.
    pub(crate) const fn known_truth(self) -> Option<bool> {
        if (self.zeros | self.ones) & 1 == 0 {
            None
        } else {
            Some(self.ones & 1 == 1)
        }
    }

    /// The zeros at the end that are known.
    const fn zeros_at_end(self) -> u8 {
        self.zeros.trailing_ones() as u8
    }

    const fn complement(self) -> Self {
        Self {
            zeros: self.ones,
            ones: self.zeros,
        }
    }

    const fn and(self, other: Self) -> Self {
        Self {
            zeros: self.zeros | other.zeros,
            ones: self.ones & other.ones,
        }
    }

    const fn or(self, other: Self) -> Self {
        Self {
            zeros: self.zeros & other.zeros,
            ones: self.ones | other.ones,
        }
    }

    const fn xor(self, other: Self) -> Self {
        Self {
            zeros: self.zeros & other.zeros | self.ones & other.ones,
            ones: self.zeros & other.ones | self.ones & other.zeros,
        }
    }

    fn sum(self, other: Self) -> Self {
        Self::of_low_bits(
            self.known_low_bit_count().min(other.known_low_bit_count()),
            self.ones.wrapping_add(other.ones),
        )
    }

    fn difference(self, other: Self) -> Self {
        Self::of_low_bits(
            self.known_low_bit_count().min(other.known_low_bit_count()),
            self.ones.wrapping_sub(other.ones),
        )
    }

    fn product(self, other: Self) -> Self {
        let known = (self.known_low_bit_count() + other.zeros_at_end())
            .min(other.known_low_bit_count() + self.zeros_at_end());
        let (one, other) = (
            self.ones & ones(self.known_low_bit_count()),
            other.ones & ones(other.known_low_bit_count()),
        );
        Self::of_low_bits(known.min(64), one.wrapping_mul(other))
    }
}

/// True for an operation whose result may have known bits that its low bits and its bounds do not imply.
pub(crate) const fn may_give_known_bits(op: Op) -> bool {
    use BinaryOp as B;
    matches!(
        op,
        Op::Binary(
            B::And | B::Or | B::Xor | B::Shl | B::ShrUnsigned | B::ShrSigned,
            2..
        ) | Op::Unary(UnaryOp::Not | UnaryOp::ReverseBits, _)
            | Op::Select
            | Op::Convert { .. }
            | Op::ExtractBits(..)
            | Op::InsertBits(_)
            | Op::Lop3(_)
            | Op::FunnelShift { .. }
            | Op::Pack(_)
    )
}

/// Known bits of result number `number` of an operation.
pub(crate) fn bits_of_result(op: Op, number: usize, uses: &[Bits]) -> Bits {
    if let (Some((product, sum)), [factors @ .., last]) = (op.product_and_sum(), uses) {
        return bits_of_result(sum, number, &[bits_of_result(product, number, factors), *last]);
    }
    match (op, uses) {
        (Op::Compare(condition, bits, logic), &[a, b, ref third @ ..]) => {
            let outcome = bits_of_comparison(condition, bits, a, b);
            let outcome = if number == 1 {
                outcome.complement()
            } else {
                outcome
            };
            let third = third.first().copied().unwrap_or(Bits::UNKNOWN);
            match logic {
                Logic::None => outcome,
                Logic::And => outcome.and(third),
                Logic::Or => outcome.or(third),
                Logic::Xor => outcome.xor(third),
            }
            .truncated_to(1)
        }
        (Op::Unpack(bits), &[a]) => a
            .shifted_right(number as u64 * u64::from(bits))
            .truncated_to(bits),
        _ if number != 0 => Bits::UNKNOWN,
        (Op::Copy, &[a]) => a,
        (Op::Binary(op, bits), &[a, b]) => bits_of_binary(op.class(), bits, a, b).truncated_to(bits),
        (Op::Unary(op, bits), &[a]) => bits_of_unary(op, bits, a).truncated_to(bits),
        (Op::Select, &[a, b, predicate]) => match (predicate.ones & 1, predicate.zeros & 1) {
            (1, _) => a,
            (_, 1) => b,
            _ => a.common_to_both(b),
        },
        (Op::Convert { from, signed, to }, &[a]) => {
            let low = a.truncated_to(from);
            if signed {
                sign_extended(low, from).truncated_to(to)
            } else {
                low.truncated_to(to)
            }
        }
        (Op::ExtractBits(bits, signed), &[a, start, length]) => {
            let (Some(start), Some(length)) = (start.known_number(), length.known_number()) else {
                return Bits::UNKNOWN;
            };
            let (start, length) = (start & 0xff, length & 0xff);
            let field = a.truncated_to(bits).shifted_right(start);
            if !signed {
                return field.truncated_to(length.min(64) as u8);
            }
            if length == 0 || start + length > u64::from(bits) {
                return Bits::UNKNOWN;
            }
            sign_extended(field.truncated_to(length as u8), length as u8).truncated_to(bits)
        }
        (Op::InsertBits(bits), &[a, b, start, length]) => {
            let (Some(start), Some(length)) = (start.known_number(), length.known_number()) else {
                return Bits::UNKNOWN;
            };
            let (start, length) = (start & 0xff, length & 0xff);
            let field = if start >= 64 {
                0
            } else {
                ones(length.min(64) as u8) << start
            };
            let a = a.shifted_left(start);
            Bits {
                zeros: a.zeros & field | b.zeros & !field,
                ones: a.ones & field | b.ones & !field,
            }
            .truncated_to(bits)
        }
        (Op::Lop3(table), &[a, b, c]) => looked_up_in_truth_table(table, [a, b, c]).truncated_to(32),
        (Op::FunnelShift { left, wrap }, &[low, high, amount]) => {
            let Some(amount) = amount.known_number() else {
                return Bits::UNKNOWN;
            };
            let amount = amount & ones(32);
            let by = if wrap { amount & 31 } else { amount.min(32) };
            let (low, high) = (low.truncated_to(32), high.truncated_to(32).shifted_left(32));
            let pair = Bits {
                zeros: low.zeros & high.zeros,
                ones: low.ones | high.ones,
            };
            let moved = if left {
                pair.shifted_left(by).shifted_right(32)
            } else {
                pair.shifted_right(by)
            };
            moved.truncated_to(32)
        }
        (Op::Pack(bits), uses) => {
            let mut packed = Bits::of_number(0);
            for (number, part) in uses.iter().enumerate() {
                let part = part
                    .truncated_to(bits)
                    .shifted_left(number as u64 * u64::from(bits));
                packed = Bits {
                    zeros: packed.zeros & part.zeros,
                    ones: packed.ones | part.ones,
                };
            }
            packed
        }
        _ => Bits::UNKNOWN,
    }
}

/// The outcome of a comparison that known bits decide.
fn bits_of_comparison(condition: Condition, bits: u8, a: Bits, b: Bits) -> Bits {
    let differ = (a.zeros & b.ones | a.ones & b.zeros) & ones(bits) != 0;
    match condition {
        Condition::Equal if differ => Bits::of_low_bits(1, 0),
        Condition::NotEqual if differ => Bits::of_low_bits(1, 1),
        _ => Bits::UNKNOWN,
    }
}

fn bits_of_unary(op: UnaryOp, bits: u8, a: Bits) -> Bits {
    let negative = || Bits::of_number(0).difference(a);
    match op {
        UnaryOp::Not => a.complement(),
        UnaryOp::Neg => negative(),
        UnaryOp::Abs => a.common_to_both(negative()),
        UnaryOp::ReverseBits => Bits {
            zeros: a.zeros.reverse_bits(),
            ones: a.ones.reverse_bits(),
        }
        .shifted_right(u64::from(64 - bits.min(64))),
        UnaryOp::PopCount
        | UnaryOp::LeadingZeros
        | UnaryOp::FindHighestSet
        | UnaryOp::ShiftToHighest
        | UnaryOp::LogicalNot => Bits::UNKNOWN,
    }
}

fn bits_of_binary(class: Class, bits: u8, a: Bits, b: Bits) -> Bits {
    let by = b.known_number().map(|by| match by & ones(32) {
        by if by < u64::from(bits) => by,
        _ => 64,
    });
    match class {
        Class::Sum => a.sum(b),
        Class::Difference => a.difference(b),
        Class::Product => a.product(b),
        Class::WideProduct { signed } => {
            let half = bits / 2;
            let whole = |number: Bits| match number.truncated_to(half) {
                number if signed && half > 0 => sign_extended(number, half),
                number => number,
            };
            whole(a).product(whole(b))
        }
        Class::Remainder { .. } => match b.known_number() {
            Some(divisor) if divisor != 0 => Bits::of_low_bits(
                a.known_low_bit_count().min(divisor.trailing_zeros() as u8),
                a.ones,
            ),
            _ => Bits::UNKNOWN,
        },
        Class::Least { .. } | Class::Greatest { .. } => a.common_to_both(b),
        Class::And => a.and(b),
        Class::Or => a.or(b),
        Class::Xor => a.xor(b),
        Class::ShiftedLeft => by.map_or(Bits::UNKNOWN, |by| a.shifted_left(by)),
        Class::ShiftedRight { signed: false } => {
            by.map_or(Bits::UNKNOWN, |by| a.truncated_to(bits).shifted_right(by))
        }
        Class::ShiftedRight { signed: true } => by.map_or(Bits::UNKNOWN, |by| {
            let wide = sign_extended(a.truncated_to(bits), bits);
            let by = by.min(63);
            Bits {
                zeros: (wide.zeros as i64 >> by) as u64,
                ones: (wide.ones as i64 >> by) as u64,
            }
        }),
        Class::Quotient { .. } | Class::Other => Bits::UNKNOWN,
    }
}

/// The low `bits` bits (at least one) of a number, sign-extended.
const fn sign_extended(a: Bits, bits: u8) -> Bits {
    let sign = 1 << (bits - 1);
    let above = !ones(bits);
    let low = Bits {
        zeros: a.zeros & !above,
        ones: a.ones & !above,
    };
    if a.zeros & sign != 0 {
        Bits {
            zeros: low.zeros | above,
            ..low
        }
    } else if a.ones & sign != 0 {
        Bits {
            ones: low.ones | above,
            ..low
        }
    } else {
        low
    }
}

/// Bit by bit, the common result of all rows of a truth table that the operands may be in.
fn looked_up_in_truth_table(table: u8, uses: [Bits; 3]) -> Bits {
    let (mut may_be_zero, mut may_be_one) = (0, 0);
    for row in 0..8_u64 {
        let is = |place: usize, bit: u32| match row >> bit & 1 {
            1 => !uses[place].zeros,
            _ => !uses[place].ones,
        };
        let possible = is(0, 2) & is(1, 1) & is(2, 0);
        if table >> row & 1 == 1 {
            may_be_one |= possible;
        } else {
            may_be_zero |= possible;
        }
    }
    Bits {
        zeros: !may_be_one,
        ones: !may_be_zero,
    }
}

/// The known bits of the registers of a body.
pub(crate) type KnownBits<'a, 'm> = Evaluator<'a, 'm, KnownBitsDomain<'a, 'm>>;

/// Describes the values of a function's body by their known bits.
pub(crate) struct KnownBitsDomain<'a, 'm> {
    module: &'a Module<'m>,
    function: &'a Function<'m>,
    /// The sides of the block.
    block: [Bits; 3],
}

impl<'a, 'm> KnownBits<'a, 'm> {
    /// The known bits of a function, in blocks with sides of which these bits are known; `None` if it has no body.
    pub(crate) fn of_function(module: &'a Shared<'m>, id: FunctionId, block: [Bits; 3]) -> Option<Self> {
        let source = Source::of_function(module, id)?;
        let domain = KnownBitsDomain {
            module: module.module,
            function: module.module.function(id),
            block,
        };
        Some(Self::new(source, domain))
    }

    /// The bits of a value that are known at every use.
    pub(crate) fn bits_of_value(&mut self, value: Value) -> Bits {
        self.description_of(value).unwrap_or(Bits::UNKNOWN)
    }
}

impl Domain for KnownBitsDomain<'_, '_> {
    type Value = Bits;

    fn join(&self, one: &Bits, other: &Bits) -> Option<Bits> {
        Some(one.common_to_both(*other))
    }

    fn joins_descriptions(&self) -> bool {
        true
    }

    fn unknown_description(&self) -> Option<Bits> {
        Some(Bits::UNKNOWN)
    }

    fn needs_all_operands(&self, op: Op) -> bool {
        op.is_move()
            || matches!(op, Op::Binary(op, _) if matches!(op.class(), Class::Sum | Class::Difference | Class::Xor))
    }

    fn describe_operand(&self, value: Value) -> Option<Bits> {
        Some(match value {
            Value::Integer(number) => Bits::of_number(number as u64),
            Value::Symbol(symbol, by) => {
                let symbol = self.module.symbol(symbol);
                if matches!(symbol.kind, SymbolKind::Function(_)) {
                    return Some(Bits::UNKNOWN);
                }
                bits_of_aligned_address(symbol.align, by.into())
            }
            Value::Param(number, by) => {
                let param = self.function.params.get(usize::from(number));
                param.map_or(Bits::UNKNOWN, |param| {
                    bits_of_aligned_address(param.align, by.into())
                })
            }
            Value::Special(Special::Ntid(side)) => {
                let side = self.block.get(usize::from(side));
                side.copied().unwrap_or(Bits::UNKNOWN)
            }
            _ => Bits::UNKNOWN,
        })
    }

    fn describe_complement(&self, bits: Bits) -> Option<Bits> {
        Some(bits.complement().truncated_to(1))
    }

    fn relevant_operands<'u>(&self, op: Op, uses: &'u [Value]) -> Option<&'u [Value]> {
        let is_known = is_interpreted(op) && uses.len() <= MAX_USES;
        match op {
            Op::ToGeneric(..) | Op::FromGeneric(..) => uses.get(..1),
            _ => is_known.then_some(uses),
        }
    }

    fn describe_result(&self, op: Op, of: Result, operands: &[Bits]) -> Option<Bits> {
        let bits = match (op, operands) {
            (Op::ToGeneric(..) | Op::FromGeneric(..), [from]) => {
                Bits::of_low_bits(from.known_low_bit_count().min(ALIGNMENT_BITS), from.ones)
            }
            _ => bits_of_computed_result(op, of.number, operands),
        };
        Some(if of.bits == 0 {
            bits
        } else {
            bits.truncated_to(of.bits)
        })
    }
}

/// An address that many bytes past one of an alignment.
fn bits_of_aligned_address(align: u32, by: i64) -> Bits {
    if !align.is_power_of_two() {
        return Bits::UNKNOWN;
    }
    Bits::of_low_bits((align.trailing_zeros() as u8).min(ALIGNMENT_BITS), by as u64)
}

/// The same as [`bits_of_result`], with operations on known numbers computed.
fn bits_of_computed_result(op: Op, number: usize, operands: &[Bits]) -> Bits {
    let mut numbers = [0; MAX_USES];
    let are_known = operands.iter().zip(&mut numbers).all(|(operand, number)| {
        *number = operand.ones;
        operand.known_number().is_some()
    });
    if are_known {
        let value = evaluate_result(op, number, &numbers[..operands.len()]);
        return value.map_or(Bits::UNKNOWN, Bits::of_number);
    }
    bits_of_result(op, number, operands)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptxcheck_ir::BinaryOp as B;
    use ptxcheck_ir::evaluate::evaluate;

    /// Numbers of three known and unknown bits each.
    fn all_three_bit_patterns() -> Vec<Bits> {
        let parts = [0, 1, 5, 0x8000_0000, 0xff, 0xffff_fff0, 0x40, u64::from(u32::MAX)];
        let mut all = Vec::new();
        for zeros in parts {
            for ones in parts {
                all.push(Bits {
                    zeros: zeros & !ones,
                    ones,
                });
            }
        }
        all
    }

    /// Some numbers that have these bits.
    fn sample_numbers(of: Bits) -> impl Iterator<Item = u64> {
        let fill = [0, u64::MAX, 0x5555_aaaa_5555_aaaa, 0x1234_5678_9abc_def1];
        fill.into_iter().map(move |any| any & !of.zeros | of.ones)
    }

    fn check_result_bits(op: Op, uses: &[Bits]) {
        let known = bits_of_result(op, 0, uses);
        let mut chosen = vec![0; uses.len()];
        let choices: Vec<Vec<u64>> = uses.iter().map(|&of| sample_numbers(of).collect()).collect();
        for pick in 0..4_usize.pow(uses.len() as u32) {
            for (place, value) in chosen.iter_mut().enumerate() {
                *value = choices[place][pick >> (2 * place) & 3];
            }
            let value = evaluate(op, &chosen).unwrap();
            assert!(
                value & known.zeros == 0 && !value & known.ones == 0,
                "{op:?} {uses:x?} {chosen:x?} {value:x} {known:x?}"
            );
        }
        if uses.iter().all(|bits| bits.known_number().is_some()) {
            assert_eq!(known.known_number(), evaluate(op, &chosen), "{op:?} {uses:x?}");
        }
    }

    #[test]
    fn known_bits_of_operations_hold_for_all_results() {
        let amounts = [0, 1, 5, 16, 31, 32, 40, 0xffff_ffff].map(Bits::of_number);
        for a in all_three_bit_patterns() {
            for bits in [8, 16, 32, 64] {
                check_result_bits(Op::Unary(UnaryOp::Not, bits), &[a]);
                check_result_bits(Op::Unary(UnaryOp::ReverseBits, bits), &[a]);
                for (signed, to) in [(false, 32), (true, 32), (true, 64), (false, 16), (true, 8)] {
                    let from = bits;
                    check_result_bits(Op::Convert { from, signed, to }, &[a]);
                }
                for by in amounts {
                    for op in [B::Shl, B::ShrUnsigned, B::ShrSigned] {
                        check_result_bits(Op::Binary(op, bits), &[a, by]);
                    }
                    for length in amounts {
                        if bits >= 32 {
                            check_result_bits(Op::ExtractBits(bits, false), &[a, by, length]);
                            check_result_bits(Op::ExtractBits(bits, true), &[a, by, length]);
                        }
                    }
                }
            }
            for b in all_three_bit_patterns() {
                for op in [B::And, B::Or, B::Xor] {
                    check_result_bits(Op::Binary(op, 32), &[a, b]);
                }
                check_result_bits(Op::Pack(16), &[a, b]);
                for by in amounts {
                    for (left, wrap) in [(true, true), (true, false), (false, true), (false, false)] {
                        check_result_bits(Op::FunnelShift { left, wrap }, &[a, b, by]);
                    }
                }
            }
        }
        let few: Vec<Bits> = all_three_bit_patterns().into_iter().step_by(5).collect();
        for (&a, &b) in few.iter().flat_map(|a| few.iter().map(move |b| (a, b))) {
            check_result_bits(
                Op::InsertBits(32),
                &[a, b, Bits::of_number(4), Bits::of_number(9)],
            );
            for &c in &few {
                for table in [0x96, 0xe8, 0xca, 0x01, 0xfe] {
                    check_result_bits(Op::Lop3(table), &[a, b, c]);
                }
                check_result_bits(Op::Select, &[a, b, c]);
            }
        }
    }

    /// Known bits of a result are those of the result of any operands that have the operands' known bits.
    #[test]
    fn known_bits_of_results_are_those_of_each_result() {
        let mut state = 1_u64;
        let mut random = || {
            // Numerical Recipes, a linear congruential generator.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state >> 16
        };
        let mut ops: Vec<(Op, usize)> = vec![
            (Op::Select, 3),
            (Op::Lop3(0xe8), 3),
            (Op::Pack(32), 2),
            (Op::Unpack(32), 1),
        ];
        for bits in [32, 64] {
            ops.extend(B::ALL.map(|op| (Op::Binary(op, bits), 2)));
            let unary = [UnaryOp::Not, UnaryOp::Neg, UnaryOp::Abs, UnaryOp::PopCount];
            ops.extend(unary.map(|op| (Op::Unary(op, bits), 1)));
            ops.extend([B::MulLow, B::MulWideSigned].map(|op| (Op::MulAdd(op, bits), 3)));
            for logic in [Logic::None, Logic::And, Logic::Or, Logic::Xor] {
                for condition in [Condition::Equal, Condition::NotEqual, Condition::LessSigned] {
                    ops.push((Op::Compare(condition, bits, logic), 3));
                }
            }
            let (from, to) = (bits, 96 - bits);
            ops.extend([true, false].map(|signed| (Op::Convert { from, signed, to }, 1)));
        }
        let mut known = 0;
        for (op, count) in ops {
            for _ in 0..2_000 {
                let small = |value: u64| if value & 256 == 0 { value & 31 } else { value };
                let operands: Vec<(Bits, u64)> = (0..count)
                    .map(|_| {
                        let value = small(random()) << (random() % 8);
                        let mask = match random() % 4 {
                            0 => u64::MAX,
                            1 => 0,
                            2 => ones((random() % 33) as u8),
                            _ => random() | random() << 40,
                        };
                        let bits = Bits {
                            zeros: mask & !value,
                            ones: mask & value,
                        };
                        (bits, bits.ones | random() & !mask)
                    })
                    .collect();
                let told: Vec<Bits> = operands.iter().map(|(bits, _)| *bits).collect();
                let values: Vec<u64> = operands.iter().map(|(_, value)| *value).collect();
                let number = match op {
                    Op::Compare(..) | Op::Unpack(_) => (random() % 2) as usize,
                    _ => 0,
                };
                let bits = bits_of_computed_result(op, number, &told);
                let Some(result) = evaluate_result(op, number, &values) else {
                    continue;
                };
                known += usize::from(bits.known_low_bit_count() > 0);
                assert!(
                    result & bits.zeros == 0 && !result & bits.ones == 0,
                    "{op:?} {told:x?} {values:x?} gives {bits:x?}"
                );
            }
        }
        assert!(known > 20_000, "{known} results with known bits");
    }
}
