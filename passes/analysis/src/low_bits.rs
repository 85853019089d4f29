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

use rustc_hash::FxHashMap;

use crate::function::Analyses;
use crate::limits::{MAX_LOW_BIT_DEPTH, MAX_LOW_BIT_STEPS};
use crate::slots::Effect;
use ptxcheck_ir::evaluate::{evaluate, evaluate_result, is_interpreted, ones, signed};
use ptxcheck_ir::{
    AccessKind, BinaryOp, Body, Condition, Function, Instruction, InstructionId, Logic, Module, Op, Register,
    Space, UnaryOp, Value,
};

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

/// Steps to what an address hangs off before its low bits are computed.
const QUICK_STEPS: usize = 6;

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

/// The low bits of the registers of a body.
pub(crate) struct LowBits<'a, 'm> {
    module: &'a Module<'m>,
    function: &'a Function<'m>,
    body: &'a Body<'m>,
    analyses: &'a Analyses<'m>,
    /// The low bits that are known for good.
    known: FxHashMap<Register, Low>,
    /// The registers of which nothing is known, for good.
    unknown: Vec<bool>,
    /// Assumptions about the registers that are being computed, each for the one before.
    assumed: Vec<Assumed>,
    /// The outermost register whose assumption has been used: its number among them.
    outermost: usize,
    steps_left: usize,
}

/// The assumption about a register that is being computed.
struct Assumed {
    register: Register,
    /// `None`: nothing leads to it yet.
    low: Option<Low>,
    is_used: bool,
}

impl<'a, 'm> LowBits<'a, 'm> {
    pub(crate) fn new(
        module: &'a Module<'m>,
        function: &'a Function<'m>,
        body: &'a Body<'m>,
        analyses: &'a Analyses<'m>,
    ) -> Self {
        Self {
            module,
            function,
            body,
            analyses,
            known: FxHashMap::default(),
            unknown: vec![false; body.registers.len()],
            assumed: Vec::new(),
            outermost: usize::MAX,
            steps_left: 0,
        }
    }

    /// True if nothing is known of a register, as a few steps tell: most addresses hang off what is loaded. False says nothing.
    pub(crate) fn is_unknown(&mut self, register: Register) -> bool {
        let mut current = register;
        for _ in 0..QUICK_STEPS {
            if self.unknown[current.index()] {
                self.unknown[register.index()] = true;
                return true;
            }
            // Of several definitions, one of which nothing is known is enough.
            let Some(&one) = self.analyses.definitions().of(current).first() else {
                return false;
            };
            let instruction = self.body.instruction(one);
            let next = match (instruction.op, self.body.uses(instruction)) {
                (Op::Copy | Op::ToGeneric(..) | Op::FromGeneric(..) | Op::Convert { .. }, &[from, ..])
                | (Op::Binary(BinaryOp::Add | BinaryOp::Sub, _), &[from, _])
                | (Op::MulAdd(..), &[_, _, from]) => from,
                // A slot of the stack is read through its symbol.
                (Op::Access(access), &[Value::Symbol(..) | Value::Register(_), ..])
                    if access.space != Space::Param =>
                {
                    return false;
                }
                (Op::Access(_), _) => Value::Unknown,
                _ => return false,
            };
            match next {
                Value::Register(next) => current = next,
                Value::Special(_) | Value::Unknown => {
                    self.unknown[register.index()] = true;
                    return true;
                }
                _ => return false,
            }
        }
        false
    }

    /// The low bits of a value that are known wherever it is used.
    pub(crate) fn of(&mut self, value: Value) -> Low {
        self.steps_left = MAX_LOW_BIT_STEPS;
        self.assumed.clear();
        self.value(value).unwrap_or(Low::UNKNOWN)
    }

    /// `None` where nothing but what is being computed leads to the value.
    fn value(&mut self, value: Value) -> Option<Low> {
        Some(match value {
            Value::Integer(number) => Low::constant(number as u64),
            Value::Symbol(symbol, by) => {
                let symbol = self.module.symbol(symbol);
                if matches!(symbol.kind, ptxcheck_ir::SymbolKind::Function(_)) {
                    return Some(Low::UNKNOWN);
                }
                aligned(symbol.align, by.into())
            }
            Value::Param(number, by) => {
                let param = self.function.params.get(usize::from(number));
                param.map_or(Low::UNKNOWN, |param| aligned(param.align, by.into()))
            }
            Value::Register(register) => return self.register(register),
            Value::Not(register) => {
                let low = self.register(register)?.cut(1);
                Low::new(low.known, low.bits ^ 1)
            }
            _ => Low::UNKNOWN,
        })
    }

    fn register(&mut self, register: Register) -> Option<Low> {
        if self.unknown[register.index()] {
            return Some(Low::UNKNOWN);
        }
        if let Some(&known) = self.known.get(&register) {
            return Some(known);
        }
        let is_it = |assumed: &Assumed| assumed.register == register;
        if let Some(number) = self.assumed.iter().position(is_it) {
            self.outermost = self.outermost.min(number);
            let assumed = &mut self.assumed[number];
            assumed.is_used = true;
            return assumed.low;
        }
        let definitions = self.analyses.definitions().of(register);
        let number = self.assumed.len();
        if number >= MAX_LOW_BIT_DEPTH || self.steps_left == 0 || definitions.is_empty() {
            return Some(Low::UNKNOWN);
        }
        let outside = std::mem::replace(&mut self.outermost, usize::MAX);
        let mut low = None;
        let result = loop {
            self.assumed.push(Assumed {
                register,
                low,
                is_used: false,
            });
            let joined = self.agreed(definitions, |low_bits, definition| {
                low_bits.result(definition, register)
            });
            let is_used = self.assumed.pop().is_some_and(|assumed| assumed.is_used);
            if !is_used || low == joined || joined == Some(Low::UNKNOWN) {
                break joined;
            }
            if self.steps_left == 0 {
                break Some(Low::UNKNOWN);
            }
            low = joined;
        };
        // A result that hangs off an assumption about a register that is still being computed holds with that one alone.
        if self.outermost >= number {
            match result {
                Some(low) if low != Low::UNKNOWN => {
                    self.known.insert(register, low);
                }
                _ => self.unknown[register.index()] = true,
            }
            self.outermost = outside;
        } else {
            self.outermost = self.outermost.min(outside);
        }
        result
    }

    /// The bits in which all agree, of those that anything leads to.
    fn agreed(
        &mut self,
        all: &[InstructionId],
        mut low: impl FnMut(&mut Self, InstructionId) -> Option<Low>,
    ) -> Option<Low> {
        let mut joined: Option<Low> = None;
        for &one in all {
            joined = match (joined, low(self, one)) {
                (Some(a), Some(b)) => Some(a.join(b)),
                (a, b) => a.or(b),
            };
            if joined == Some(Low::UNKNOWN) {
                break;
            }
        }
        joined
    }

    /// The low bits that a definition leaves in a register.
    fn result(&mut self, at: InstructionId, register: Register) -> Option<Low> {
        let Some(left) = self.steps_left.checked_sub(1) else {
            return Some(Low::UNKNOWN);
        };
        self.steps_left = left;
        let body = self.body;
        let instruction = body.instruction(at);
        let number = body.result_number(instruction, register);
        let bits = body.registers[register.index()].bits;
        let uses = body.uses(instruction);
        match (instruction.op, uses) {
            (Op::Access(access), _) if access.kind == AccessKind::Load => {
                let stored = self.loaded(at, instruction)?;
                Some(if access.bits == 0 {
                    Low::UNKNOWN
                } else {
                    stored.cut(access.bits)
                })
            }
            (Op::ToGeneric(..) | Op::FromGeneric(..), &[from, ..]) => {
                Some(self.value(from)?.cut(ALIGNMENT_BITS))
            }
            (op, uses) if is_interpreted(op) && uses.len() <= MAX_USES => {
                let mut operands = [Low::UNKNOWN; MAX_USES];
                for (place, &value) in uses.iter().enumerate() {
                    operands[place] = self.value(value)?;
                    // Of a sum nothing is known where nothing is of a part.
                    if operands[place].known == 0 && is_sum(op) {
                        return Some(Low::UNKNOWN);
                    }
                }
                let low = computed(op, number.unwrap_or(usize::MAX), &operands[..uses.len()]);
                let width = if bits == 0 { ALL } else { bits };
                Some(if low.as_constant().is_some() {
                    low
                } else {
                    low.cut(width)
                })
            }
            _ => Some(Low::UNKNOWN),
        }
    }

    /// The low bits of what an instruction loads from a slot of the stack: those of everything that is stored there.
    fn loaded(&mut self, at: InstructionId, instruction: &Instruction) -> Option<Low> {
        let Some(slot) = self.analyses.loaded_slot(at, instruction) else {
            return Some(Low::UNKNOWN);
        };
        let slots = self.analyses.slots();
        let stores = slots.stores(slot);
        if slots.is_spoiled(slot) || stores.is_empty() {
            return Some(Low::UNKNOWN);
        }
        let body = self.body;
        self.agreed(stores, |low_bits, store| {
            let instruction = body.instruction(store);
            match (slots.effect(store, instruction), body.uses(instruction)) {
                (Effect::Store(_), &[_, _, stored]) => low_bits.value(stored),
                _ => Some(Low::UNKNOWN),
            }
        })
    }
}

/// True for an operation of whose result nothing is known where nothing is of one operand.
const fn is_sum(op: Op) -> bool {
    matches!(
        op,
        Op::Copy | Op::Convert { .. } | Op::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Xor, _)
    )
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
