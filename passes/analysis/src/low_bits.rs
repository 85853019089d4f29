//! The low bits of integers that are known although the integers are not: of `n * 16 + 8` the last four.
//!
//! ```text
//! low       = (k, b)      the integer is b modulo 2^k; k = 64: it is b, a constant
//! symbol    = (log2 of its alignment, offset)      at most ALIGNMENT_BITS; the same as a generic address, since windows of
//!                                                  memory begin at multiples of more than that
//! a ± b     = (min, a ± b)
//! a × b     = (min(ka + zeros b, kb + zeros a), a × b)       zeros: those at the end that are known
//! a << c    = (k + c, b << c)
//! a rem c   = (min(k, zeros c), b)      r = a - q·c
//! a & b …   the longest run of bits of which each is known, or decided by one operand
//! x = a, x = b      the longest run of bits in which both agree; a register is what all of its definitions agree in, and a
//!                   load of a slot what all stores to it do
//! ```
//!
//! A register that is computed in a circle is assumed to be anything that its other definitions leave, and computed anew until that
//! holds.

use crate::function::Analyses;
use crate::value::{Domain, Evaluator, Result, Source};
use ptxcheck_ir::evaluate::{evaluate, evaluate_result, is_interpreted, ones, signed};
use ptxcheck_ir::{BinaryOp, Body, Condition, Function, Logic, Module, Op, SymbolKind, UnaryOp, Value};

/// An integer of which the low bits are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Low {
    /// The number of bits that are known, 64 of a constant.
    pub(crate) known: u8,
    /// Those bits; 0 above.
    pub(crate) bits: u64,
}

/// Bits of an integer.
const ALL: u8 = 64;

/// Bits of an alignment that are of use: no access needs more than 128 bytes.
const ALIGNMENT_BITS: u8 = 7;

/// Most operands of an operation that is evaluated.
const MAX_USES: usize = 4;

impl Low {
    const UNKNOWN: Self = Self { known: 0, bits: 0 };

    const fn new(known: u8, bits: u64) -> Self {
        let known = if known > ALL { ALL } else { known };
        Self {
            known,
            bits: bits & ones(known),
        }
    }

    const fn constant(bits: u64) -> Self {
        Self { known: ALL, bits }
    }

    const fn as_constant(self) -> Option<u64> {
        if self.known == ALL { Some(self.bits) } else { None }
    }

    /// The least bit, if it is known: of a predicate, its value.
    pub(crate) const fn truth(self) -> Option<bool> {
        if self.known == 0 {
            None
        } else {
            Some(self.bits & 1 == 1)
        }
    }

    /// At most so many bits of it.
    const fn cut(self, bits: u8) -> Self {
        if self.known <= bits {
            self
        } else {
            Self::new(bits, self.bits)
        }
    }

    /// The zeros at its end that are known.
    const fn zeros(self) -> u8 {
        let zeros = self.bits.trailing_zeros() as u8;
        if zeros < self.known { zeros } else { self.known }
    }

    /// The bits in which both agree.
    fn join(self, other: Self) -> Self {
        let agree = (self.bits ^ other.bits).trailing_zeros() as u8;
        Self::new(self.known.min(other.known).min(agree), self.bits)
    }

    fn product(self, other: Self) -> Self {
        let known = (self.known + other.zeros()).min(other.known + self.zeros());
        Self::new(known, self.bits.wrapping_mul(other.bits))
    }

    /// The run of bits that `combine` gives where a bit is known, or where `decides` says that one operand alone does.
    fn combined(self, other: Self, combine: impl Fn(u64, u64) -> u64, decides: impl Fn(u64) -> bool) -> Self {
        let is_known = |bit: u8| {
            let of = |low: Self| (bit < low.known).then(|| low.bits >> bit & 1);
            match (of(self), of(other)) {
                (Some(_), Some(_)) => true,
                (Some(one), None) | (None, Some(one)) => decides(one),
                (None, None) => false,
            }
        };
        let known = (0..ALL).take_while(|&bit| is_known(bit)).count() as u8;
        // A bit that is not known has no effect where the other decides.
        Self::new(known, combine(self.bits, other.bits))
    }
}

/// The low bits of the registers of a body, as its values' evaluator has them.
pub(crate) type LowBits<'a, 'm> = Evaluator<'a, 'm, LowBitsOf<'a, 'm>>;

/// Describes values by their low bits.
pub(crate) struct LowBitsOf<'a, 'm> {
    module: &'a Module<'m>,
    function: &'a Function<'m>,
}

impl<'a, 'm> LowBits<'a, 'm> {
    /// Those of a function with this body.
    pub(crate) fn of_function(
        module: &'a Module<'m>,
        function: &'a Function<'m>,
        body: &'a Body<'m>,
        analyses: &'a Analyses<'m>,
    ) -> Self {
        Self::new(Source::within(body, analyses), LowBitsOf { module, function })
    }

    /// The low bits of a value that are known wherever it is used.
    pub(crate) fn low(&mut self, value: Value) -> Low {
        self.of(value).unwrap_or(Low::UNKNOWN)
    }
}

impl Domain for LowBitsOf<'_, '_> {
    type Value = Low;

    fn join(&self, one: &Low, other: &Low) -> Option<Low> {
        Some(one.join(*other))
    }

    fn joins(&self) -> bool {
        true
    }

    fn nothing(&self) -> Option<Low> {
        Some(Low::UNKNOWN)
    }

    fn needs_all(&self, op: Op) -> bool {
        is_sum(op)
    }

    fn operand(&self, value: Value) -> Option<Low> {
        Some(match value {
            Value::Integer(number) => Low::constant(number as u64),
            Value::Symbol(symbol, by) => {
                let symbol = self.module.symbol(symbol);
                if matches!(symbol.kind, SymbolKind::Function(_)) {
                    return Some(Low::UNKNOWN);
                }
                aligned(symbol.align, by.into())
            }
            Value::Param(number, by) => {
                let param = self.function.params.get(usize::from(number));
                param.map_or(Low::UNKNOWN, |param| aligned(param.align, by.into()))
            }
            _ => Low::UNKNOWN,
        })
    }

    fn complement(&self, low: Low) -> Option<Low> {
        let low = low.cut(1);
        Some(Low::new(low.known, low.bits ^ 1))
    }

    fn inputs<'u>(&self, op: Op, uses: &'u [Value]) -> Option<&'u [Value]> {
        let is_known = is_interpreted(op) && uses.len() <= MAX_USES;
        match op {
            Op::ToGeneric(..) | Op::FromGeneric(..) => uses.get(..1),
            _ => is_known.then_some(uses),
        }
    }

    fn apply(&self, op: Op, result: Result, operands: &[Low]) -> Option<Low> {
        let low = match (op, operands) {
            (Op::ToGeneric(..) | Op::FromGeneric(..), [from]) => from.cut(ALIGNMENT_BITS),
            _ => computed(op, result.number, operands),
        };
        let width = if result.bits == 0 { ALL } else { result.bits };
        Some(match low.as_constant() {
            Some(constant) => Low::constant(constant & ones(width)),
            None => low.cut(width),
        })
    }
}

/// True for an operation of whose result nothing is known where nothing is of one operand.
const fn is_sum(op: Op) -> bool {
    op.is_move() || matches!(op, Op::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Xor, _))
}

/// An address that many bytes past one of an alignment.
fn aligned(align: u32, by: i64) -> Low {
    if !align.is_power_of_two() {
        return Low::UNKNOWN;
    }
    Low::new((align.trailing_zeros() as u8).min(ALIGNMENT_BITS), by as u64)
}

/// The low bits of result number `number` of an operation.
fn computed(op: Op, number: usize, operands: &[Low]) -> Low {
    let mut constants = [0; MAX_USES];
    let are_constant = operands.iter().zip(&mut constants).all(|(operand, constant)| {
        *constant = operand.bits;
        operand.known == ALL
    });
    if are_constant {
        let result = evaluate_result(op, number, &constants[..operands.len()]);
        return result.map_or(Low::UNKNOWN, Low::constant);
    }
    match (op, operands) {
        (Op::Compare(condition, bits, logic), &[a, b, ref third @ ..]) => {
            let outcome = compared(condition, bits, a, b);
            let outcome = match (outcome.truth(), number) {
                (Some(holds), 1) => Low::new(1, u64::from(!holds)),
                _ => outcome,
            };
            let third = third.first().copied().unwrap_or(Low::UNKNOWN).cut(1);
            match logic {
                Logic::None => outcome,
                Logic::And => and(outcome, third).cut(1),
                Logic::Or => or(outcome, third).cut(1),
                Logic::Xor => xor(outcome, third).cut(1),
            }
        }
        _ if number != 0 => Low::UNKNOWN,
        (Op::Copy, &[a]) => a,
        (Op::Convert { from, to, .. }, &[a]) => a.cut(from).cut(to),
        (Op::Select, &[a, b, condition]) => match condition.truth() {
            Some(true) => a,
            Some(false) => b,
            None => a.join(b),
        },
        (Op::Unary(op, _), &[a]) => match op {
            UnaryOp::Not => Low::new(a.known, !a.bits),
            UnaryOp::Neg => Low::new(a.known, a.bits.wrapping_neg()),
            UnaryOp::Abs => a.join(Low::new(a.known, a.bits.wrapping_neg())),
            _ => Low::UNKNOWN,
        },
        (Op::Binary(op, bits), &[a, b]) => binary(op, bits, a, b).cut(bits),
        (Op::MulAdd(op, bits), &[a, b, c]) => {
            let product = binary(op, bits, a, b).cut(bits);
            binary(BinaryOp::Add, bits, product, c).cut(bits)
        }
        (Op::Lop3(_), &[a, b, c]) => {
            let known = a.known.min(b.known).min(c.known);
            evaluate(op, &[a.bits, b.bits, c.bits]).map_or(Low::UNKNOWN, |bits| Low::new(known, bits))
        }
        (Op::Pack(bits), &[low, ..]) => low.cut(bits),
        (Op::Unpack(bits), &[a]) => a.cut(bits),
        _ => Low::UNKNOWN,
    }
}

fn and(a: Low, b: Low) -> Low {
    a.combined(b, |a, b| a & b, |bit| bit == 0)
}

fn or(a: Low, b: Low) -> Low {
    a.combined(b, |a, b| a | b, |bit| bit == 1)
}

fn xor(a: Low, b: Low) -> Low {
    a.combined(b, |a, b| a ^ b, |_| false)
}

/// An operation on two integers that are not both constants.
fn binary(op: BinaryOp, bits: u8, a: Low, b: Low) -> Low {
    use BinaryOp as B;
    match (op, b.as_constant()) {
        (B::Add, _) => Low::new(a.known.min(b.known), a.bits.wrapping_add(b.bits)),
        (B::Sub, _) => Low::new(a.known.min(b.known), a.bits.wrapping_sub(b.bits)),
        (B::MulLow, _) => a.product(b),
        (B::MulWideSigned | B::MulWideUnsigned, _) => {
            let half = bits / 2;
            let operand = |low: Low| match low.as_constant() {
                Some(number) if op == B::MulWideSigned => Low::constant(signed(number, half) as u64),
                Some(number) => Low::constant(number & ones(half)),
                None => low.cut(half),
            };
            operand(a).product(operand(b))
        }
        (B::And, _) => and(a, b),
        (B::Or, _) => or(a, b),
        (B::Xor, _) => xor(a, b),
        (B::Shl, Some(by)) if by < u64::from(bits) => Low::new(a.known + by as u8, a.bits << by),
        (B::ShrSigned | B::ShrUnsigned, Some(by)) if by < u64::from(bits.min(a.known)) => {
            Low::new(a.known - by as u8, a.bits >> by)
        }
        (B::RemSigned | B::RemUnsigned, Some(by)) if by != 0 => a.cut(by.trailing_zeros() as u8),
        (B::MinSigned | B::MinUnsigned | B::MaxSigned | B::MaxUnsigned, _) => a.join(b),
        _ => Low::UNKNOWN,
    }
}

/// The outcome of a comparison that the low bits decide.
fn compared(condition: Condition, bits: u8, a: Low, b: Low) -> Low {
    let known = a.known.min(b.known).min(bits);
    let differ = (a.bits ^ b.bits) & ones(known) != 0;
    match condition {
        Condition::Equal if differ => Low::new(1, 0),
        Condition::NotEqual if differ => Low::new(1, 1),
        _ => Low::UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The low bits of a result are those of the result of any operands that have the operands' low bits.
    #[test]
    fn low_bits_of_results_are_those_of_each_result() {
        use BinaryOp as B;
        let mut state = 1_u64;
        let mut random = || {
            // Numerical Recipes, a linear congruential generator.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state >> 16
        };
        let binary = [
            B::Add,
            B::Sub,
            B::MulLow,
            B::MulHighSigned,
            B::MulWideSigned,
            B::MulWideUnsigned,
            B::DivSigned,
            B::RemSigned,
            B::RemUnsigned,
            B::MinSigned,
            B::MaxUnsigned,
            B::And,
            B::Or,
            B::Xor,
            B::Shl,
            B::ShrSigned,
            B::ShrUnsigned,
        ];
        let mut ops: Vec<(Op, usize)> = vec![
            (Op::Select, 3),
            (Op::Lop3(0xe8), 3),
            (Op::Pack(32), 2),
            (Op::Unpack(32), 1),
        ];
        for bits in [32, 64] {
            ops.extend(binary.map(|op| (Op::Binary(op, bits), 2)));
            ops.extend(
                [UnaryOp::Not, UnaryOp::Neg, UnaryOp::Abs, UnaryOp::PopCount]
                    .map(|op| (Op::Unary(op, bits), 1)),
            );
            ops.extend([B::MulLow, B::MulWideSigned].map(|op| (Op::MulAdd(op, bits), 3)));
            for logic in [Logic::None, Logic::And, Logic::Or, Logic::Xor] {
                for condition in [Condition::Equal, Condition::NotEqual, Condition::LessSigned] {
                    ops.push((Op::Compare(condition, bits, logic), 3));
                }
            }
            ops.extend([true, false].map(|signed| {
                (
                    Op::Convert {
                        from: bits,
                        signed,
                        to: 96 - bits,
                    },
                    1,
                )
            }));
        }
        let mut known = 0;
        for (op, count) in ops {
            for _ in 0..2_000 {
                let small = |value: u64| if value & 256 == 0 { value & 31 } else { value };
                let operands: Vec<(Low, u64)> = (0..count)
                    .map(|_| {
                        let value = small(random()) << (random() % 8);
                        let low = match random() % 4 {
                            0 => Low::constant(value),
                            1 => Low::UNKNOWN,
                            _ => Low::new((random() % 33) as u8, value),
                        };
                        let above = if low.known == ALL {
                            0
                        } else {
                            random() << low.known
                        };
                        (low, low.bits | above)
                    })
                    .collect();
                let lows: Vec<Low> = operands.iter().map(|(low, _)| *low).collect();
                let values: Vec<u64> = operands.iter().map(|(_, value)| *value).collect();
                let number = usize::from(matches!(op, Op::Compare(..)) && random() % 2 == 1);
                let low = computed(op, number, &lows);
                let Some(result) = evaluate_result(op, number, &values) else {
                    continue;
                };
                known += usize::from(low.known > 0);
                assert_eq!(
                    result & ones(low.known),
                    low.bits,
                    "{op:?} {lows:?} {values:?} gives {low:?}"
                );
            }
        }
        assert!(known > 20_000, "{known} results with known bits");
    }
}
