//! Sums of unknown values and of numbers that each lane of a warp has.
//!
//! ```text
//! sum        Σ factor · atom + by[l]      of no atoms: the bits of a register, as `evaluate` computes them
//! add, sub   of the operands; a number is taken with its sign, at the width of the operation
//! mul, shl   of a sum and a number that all lanes share
//! ```
//!
//! A sum with atoms is a sum of unbounded integers: if the program's own sum wraps, it means another address.

use std::cell::RefCell;
use std::rc::Rc;

use smallvec::SmallVec;

use super::evaluator::{Domain, Result};
use super::numbers::{Numbers, WARP};
use super::parts::{Atom, Parts, Table, Terms};
use crate::launches::Shape;
use ptxcheck_ir::evaluate::{evaluate, evaluate_result, is_interpreted, ones, signed};
use ptxcheck_ir::ops::Change;
use ptxcheck_ir::{Access, BinaryOp, Class, Collective, Op, ParamPiece, Register, Shuffle, Special, Value};

/// A sum of parts and a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sum {
    /// The atoms with their factors.
    pub parts: Parts,
    /// The number that is added: 64 bits with a sign, or, without parts, as many bits as the value has.
    pub by: Numbers,
}

impl Sum {
    const fn of_numbers(by: Numbers) -> Self {
        Self {
            parts: Parts::NONE,
            by,
        }
    }

    const fn is_number(&self) -> bool {
        matches!(self.parts, Parts::NONE)
    }

    /// The numbers, if it has no parts.
    pub(crate) fn numbers(&self) -> Option<&Numbers> {
        self.is_number().then_some(&self.by)
    }

    /// The number that the sum is in all lanes, if it has no parts.
    pub(crate) fn constant(&self) -> Option<u64> {
        self.numbers()?.uniform_number()
    }

    fn adds_one_number_in_all_lanes(&self) -> bool {
        self.by.uniform_number().is_some()
    }

    /// The signed number that is added to the parts, in an operation at this width.
    fn signed_offset(&self, number: u64, bits: u8) -> i64 {
        if self.is_number() {
            signed(number, bits)
        } else {
            number as i64
        }
    }
}

/// The role of the evaluated lanes at an `elect.sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elected {
    /// The lane that it picks.
    Picked,
    /// A lane that it does not pick.
    Passed,
    /// Unknown.
    Unknown,
}

/// The unknown values that sums may contain.
pub(crate) enum Unknowns<'a> {
    /// Only base addresses of objects: an address is the sum of one and a number.
    Objects,
    /// Values that the threads of a block share: also the index and the sides of the block, parameters of a kernel, and results of
    /// operations on these. Precise enough for a screen: products and combined bits count as sums.
    Shared {
        /// Parameters are those of a kernel.
        is_kernel: bool,
    },
    /// All special registers, parameters and registers, but for those that this gives a number.
    All(KnownNumbers<'a>),
}

/// The number that a value is, if it is known otherwise.
pub(crate) type KnownNumbers<'a> = Rc<dyn Fn(Value) -> Option<u64> + 'a>;

/// What a call passes in the pieces of the parameters of the function: the bits of the value, and a number, or the distance from an object.
/// A piece that it does not contain is unknown.
pub(crate) type PassedSums = Vec<(ParamPiece, u8, (Option<Atom>, Numbers))>;

/// Describes values by sums.
pub(crate) struct Linear<'a> {
    /// The warp whose thread numbers are used; `None`: `%tid.x` and `%laneid` are unknown.
    warp: Option<u32>,
    /// The shape of the block, if it is known: then `%tid.x` is the number of the thread only in a block of one row.
    block: Option<Shape>,
    /// The outcome of `elect.sync`, for a thread of the first row of the block; `None`: for any row, and nothing is followed through
    /// collectives.
    elected: Option<Elected>,
    unknowns: Unknowns<'a>,
    /// The arguments of a called function.
    arguments: PassedSums,
    table: RefCell<Table>,
}

impl<'a> Linear<'a> {
    pub(crate) fn new(warp: Option<u32>, elected: Option<Elected>, unknowns: Unknowns<'a>) -> Self {
        Self {
            warp,
            block: None,
            elected,
            unknowns,
            arguments: PassedSums::new(),
            table: RefCell::default(),
        }
    }

    /// The same in a block of this shape.
    pub(crate) fn in_block(self, block: Option<Shape>) -> Self {
        Self { block, ..self }
    }

    /// The same in a function that is called with these arguments.
    pub(crate) fn with_arguments(self, arguments: PassedSums) -> Self {
        Self { arguments, ..self }
    }

    /// Sums of all unknown values, including thread numbers.
    pub(crate) fn of_unknowns() -> Self {
        Self::new(None, None, Unknowns::All(Rc::new(|_| None)))
    }

    /// The atoms of a sum.
    pub(crate) fn terms_of(&self, parts: Parts) -> Terms {
        self.table.borrow().terms_of(parts).to_vec()
    }

    /// The atom that parts consist of.
    pub(crate) fn single_atom(&self, parts: Parts) -> Option<Atom> {
        match *self.table.borrow().terms_of(parts) {
            [(atom, 1)] => Some(atom),
            _ => None,
        }
    }

    fn sum_of_atom(&self, atom: Atom, by: i64) -> Sum {
        Sum {
            parts: self.table.borrow_mut().parts_of_atom(atom),
            by: Numbers::Same(by as u64),
        }
    }

    fn known_number(&self, value: Value) -> Option<Sum> {
        match &self.unknowns {
            Unknowns::All(known) => known(value).map(|number| Sum::of_numbers(Numbers::Same(number))),
            _ => None,
        }
    }

    fn sum_of_special(&self, special: Special) -> Option<Sum> {
        let first = self.warp.map(|warp| u64::from(warp) * WARP as u64);
        if let Some(block) = self.block {
            let [x, y, z] = block.map(|side| u64::from(side.max(1)));
            match (special, first) {
                (Special::Tid(dimension), Some(first)) => {
                    let numbers = Numbers::from_lanes(|lane| {
                        let number = first + lane as u64;
                        match dimension {
                            0 => Some(number % x),
                            1 => Some(number / x % y),
                            2 => Some(number / (x * y)),
                            _ => None,
                        }
                    });
                    return numbers.map(Sum::of_numbers);
                }
                (Special::Ntid(dimension), _) => {
                    let side = [x, y, z].get(usize::from(dimension)).copied();
                    return side.map(|side| Sum::of_numbers(Numbers::Same(side)));
                }
                _ => {}
            }
        }
        match (special, first) {
            (Special::LaneId, Some(_)) => {
                return Numbers::from_lanes(|lane| Some(lane as u64)).map(Sum::of_numbers);
            }
            (Special::Tid(0), Some(first)) => {
                return Numbers::from_lanes(|lane| Some(first + lane as u64)).map(Sum::of_numbers);
            }
            (Special::Tid(1 | 2), Some(_)) if self.elected.is_some() => {
                return Some(Sum::of_numbers(Numbers::Same(0)));
            }
            _ => {}
        }
        let is_atom = match self.unknowns {
            Unknowns::Objects => false,
            Unknowns::Shared { .. } => {
                matches!(special, Special::Ctaid(_) | Special::Nctaid(_) | Special::Ntid(_))
            }
            Unknowns::All(_) => true,
        };
        is_atom.then(|| self.sum_of_atom(Atom::Special(special), 0))
    }

    /// What is loaded from a piece of a parameter, if the call that passes it is known.
    fn passed_sum(&self, piece: ParamPiece, access: Access) -> Option<Sum> {
        let is_it = |passed: &&(ParamPiece, u8, _)| passed.0 == piece;
        let (_, bits, (atom, by)) = self.arguments.iter().find(is_it)?;
        if let Some(atom) = *atom {
            let parts = self.table.borrow_mut().parts_of_atom(atom);
            let sum = || Sum {
                parts,
                by: by.clone(),
            };
            return (access.bits == *bits).then(sum);
        }
        // The call leaves the rest of the piece open.
        let bits = Some(access.bits).filter(|loaded| (1..=*bits).contains(loaded))?;
        let loaded = |numbers: &[u64]| {
            let number = numbers[0] & ones(bits);
            // A load may extend the sign to any width.
            let is_extended = access.signed && number >> (bits - 1) & 1 == 1;
            (!is_extended).then_some(number)
        };
        Numbers::combined_by_lane(&[by], loaded).map(Sum::of_numbers)
    }

    /// `one + factor · other` at this width.
    fn sum_with_multiple(&self, one: &Sum, other: &Sum, factor: i64, bits: u8) -> Option<Sum> {
        let parts = self
            .table
            .borrow_mut()
            .sum_with_multiple(one.parts, other.parts, factor)?;
        let by = Numbers::combined_by_lane(&[&one.by, &other.by], |numbers| {
            let by = other.signed_offset(numbers[1], bits).checked_mul(factor)?;
            Some(one.signed_offset(numbers[0], bits).checked_add(by)? as u64)
        })?;
        Some(Sum { parts, by })
    }

    fn product_of_sums(&self, op: BinaryOp, bits: u8, a: &Sum, b: &Sum) -> Option<Sum> {
        let zero = Sum::of_numbers(Numbers::Same(0));
        match op.class() {
            class @ (Class::Product | Class::WideProduct { .. }) => {
                // A wide product takes half as many bits.
                let width = if class == Class::Product { bits } else { bits / 2 };
                let is_signed = class != Class::WideProduct { signed: false };
                let factor = |sum: &Sum| {
                    let number = sum.constant()?;
                    Some(if is_signed {
                        signed(number, width)
                    } else {
                        (number & ones(width)) as i64
                    })
                };
                match (factor(a), factor(b)) {
                    (_, Some(factor)) => self.sum_with_multiple(&zero, a, factor, width),
                    (Some(factor), _) => self.sum_with_multiple(&zero, b, factor, width),
                    _ => self.shared_product(a, b),
                }
            }
            Class::ShiftedLeft => {
                let by = b.constant().filter(|by| *by < u64::from(bits.min(63)))?;
                self.sum_with_multiple(&zero, a, 1 << by, bits)
            }
            // The sum of a multiple of a power of two and a number below it.
            Class::Or | Class::Xor if matches!(self.unknowns, Unknowns::Shared { .. }) => {
                let parts = match (a.is_number(), b.is_number()) {
                    (_, true) => a.parts,
                    (true, _) => b.parts,
                    _ => return None,
                };
                let by = Numbers::combined_by_lane(&[&a.by, &b.by], |numbers| {
                    evaluate(Op::Binary(op, 64), &[numbers[0], numbers[1]])
                })?;
                Some(Sum { parts, by })
            }
            Class::Sum
            | Class::Difference
            | Class::Quotient { .. }
            | Class::Remainder { .. }
            | Class::Least { .. }
            | Class::Greatest { .. }
            | Class::And
            | Class::Or
            | Class::Xor
            | Class::ShiftedRight { .. }
            | Class::Other => None,
        }
    }

    /// The product of two sums that threads share, as an unknown.
    fn shared_product(&self, a: &Sum, b: &Sum) -> Option<Sum> {
        if !matches!(self.unknowns, Unknowns::Shared { .. }) {
            return None;
        }
        let mut both = [
            (a.parts, a.by.uniform_number()?),
            (b.parts, b.by.uniform_number()?),
        ];
        both.sort_unstable();
        Some(self.sum_of_atom(Atom::Product(both), 0))
    }

    /// The result of an operation on operands some of which have parts, if it is a sum of the parts.
    fn linear_result(&self, op: Op, operands: &[Sum]) -> Option<Sum> {
        match (op, operands) {
            (op, [one]) if op.change().is_some_and(Change::keeps_address) => Some(one.clone()),
            (Op::Binary(BinaryOp::Add, bits @ 32..), [a, b]) => self.sum_with_multiple(a, b, 1, bits),
            (Op::Binary(BinaryOp::Sub, bits @ 32..), [a, b]) => self.sum_with_multiple(a, b, -1, bits),
            (Op::Binary(op, bits @ 32..), [a, b]) => self.product_of_sums(op, bits, a, b),
            _ => None,
        }
    }

    /// The result of a collective in the lanes: a shuffle of a value that all lanes share, or the choice of one lane.
    fn collective_result(&self, collective: Collective, number: usize, operands: &[Sum]) -> Option<Sum> {
        match (collective, number, self.elected?) {
            (Collective::Shuffle(Shuffle::Index), 0, _) => {
                let same = operands.first()?.constant()?;
                Some(Sum::of_numbers(Numbers::Same(same)))
            }
            (Collective::Elect, 1, Elected::Picked) => Some(Sum::of_numbers(Numbers::Same(1))),
            (Collective::Elect, 1, Elected::Passed) => Some(Sum::of_numbers(Numbers::Same(0))),
            _ => None,
        }
    }
}

impl Domain for Linear<'_> {
    type Value = Sum;

    /// A value computed from numbers alone is the same in each round.
    fn needs_dominating_definitions(&self) -> bool {
        matches!(self.unknowns, Unknowns::All(_))
    }

    fn describe_operand(&self, value: Value) -> Option<Sum> {
        match value {
            Value::Integer(number) => Some(Sum::of_numbers(Numbers::Same(number as u64))),
            Value::Special(special) => self.known_number(value).or_else(|| self.sum_of_special(special)),
            Value::Symbol(symbol, by) => Some(self.sum_of_atom(Atom::Symbol(symbol), by.into())),
            Value::Param(number, by) if matches!(self.unknowns, Unknowns::Objects) => {
                Some(self.sum_of_atom(Atom::ParamAddress(number), by.into()))
            }
            _ => None,
        }
    }

    fn describe_complement(&self, value: Sum) -> Option<Sum> {
        let complement = |bits: &[u64]| Some((bits[0] & 1) ^ 1);
        Numbers::combined_by_lane(&[value.numbers()?], complement).map(Sum::of_numbers)
    }

    fn describe_param(&self, (number, at): (u16, i32), access: Access) -> Option<Sum> {
        if let Some(passed) = self.passed_sum((number, u32::try_from(at).ok()?), access) {
            return Some(passed);
        }
        let is_atom = match self.unknowns {
            Unknowns::Objects => false,
            Unknowns::Shared { is_kernel } => is_kernel,
            Unknowns::All(_) => true,
        };
        is_atom.then(|| self.sum_of_atom(Atom::Param(number, at, access.bits, access.signed), 0))
    }

    fn known_description(&self, register: Register) -> Option<Sum> {
        self.known_number(Value::Register(register))
    }

    fn opaque_description(&self, register: Register) -> Option<Sum> {
        matches!(self.unknowns, Unknowns::All(_)).then(|| self.sum_of_atom(Atom::Register(register), 0))
    }

    fn relevant_operands<'u>(&self, op: Op, uses: &'u [Value]) -> Option<&'u [Value]> {
        match op {
            Op::ToGeneric(..) | Op::FromGeneric(..) => Some(uses),
            Op::Collective(Collective::Shuffle(Shuffle::Index), _) if self.elected.is_some() => {
                uses.get(1..2)
            }
            Op::Collective(Collective::Elect, _) if self.elected.is_some() => Some(&[]),
            op => is_interpreted(op).then_some(uses),
        }
    }

    fn describe_result(&self, op: Op, result: Result, operands: &[Sum]) -> Option<Sum> {
        if let Op::Collective(collective, _) = op {
            return self.collective_result(collective, result.number, operands);
        }
        let mask = if result.bits == 0 {
            u64::MAX
        } else {
            ones(result.bits)
        };
        let are_numbers = operands.iter().all(Sum::is_number);
        if are_numbers && is_interpreted(op) {
            let all: SmallVec<[&Numbers; 4]> = operands.iter().map(|operand| &operand.by).collect();
            let by = Numbers::combined_by_lane(&all, |numbers| {
                Some(evaluate_result(op, result.number, numbers)? & mask)
            })?;
            return Some(Sum::of_numbers(by));
        }
        // In another space, a number becomes an unknown address.
        if are_numbers && matches!(self.unknowns, Unknowns::Objects) {
            return None;
        }
        if result.number == 0
            && let Some(Sum { parts, by }) = self.linear_result(op, operands)
        {
            // The distance of two addresses is a number.
            let by = if parts == Parts::NONE {
                Numbers::combined_by_lane(&[&by], |by| Some(by[0] & mask))?
            } else {
                by
            };
            return Some(Sum { parts, by });
        }
        // Any other value that threads share.
        let is_shared = matches!(self.unknowns, Unknowns::Shared { .. })
            && !result.is_step
            && operands.iter().all(Sum::adds_one_number_in_all_lanes);
        is_shared.then(|| self.sum_of_atom(Atom::Register(result.register), 0))
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use ptxcheck_ir::evaluate::evaluate_result;
    use ptxcheck_ir::{Body, InstructionId, Op, Register, Special, Value};

    use super::{Atom, Linear, Parts, Sum, Unknowns};
    use crate::testing::with_ptx;
    use crate::value::{Evaluator, Source};

    const BEGIN: u64 = 1 << 20;
    const PARAM: u64 = 11;
    const CTA: u64 = 5;

    /// Numbers that follow on each other without a pattern.
    fn next_random(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *state >> 33
    }

    /// A kernel of random sums and products at 64 bits.
    fn random_kernel(seed: u64) -> String {
        let mut text = String::from(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u32 n) {\n.reg .b32 %r<4>;\n.reg .b64 %rd<40>;\n\
             .shared .align 4 .b8 s[64];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nld.param.u32 %r3, [n];\n\
             cvt.u64.u32 %rd1, %r1;\ncvt.u64.u32 %rd2, %r2;\ncvt.u64.u32 %rd3, %r3;\nmov.u64 %rd4, s;\n",
        );
        let mut state = seed;
        for number in 5..20 {
            let mut pick = |below: u64| next_random(&mut state) % below;
            let (a, b, constant) = (1 + pick(number - 1), 1 + pick(number - 1), pick(5));
            let c = 1 + pick(number - 1);
            let _ = match pick(8) {
                0 => writeln!(text, "add.s64 %rd{number}, %rd{a}, %rd{b};"),
                1 => writeln!(text, "sub.s64 %rd{number}, %rd{a}, %rd{b};"),
                2 => writeln!(text, "mul.lo.s64 %rd{number}, %rd{a}, {constant};"),
                3 => writeln!(text, "shl.b64 %rd{number}, %rd{a}, {};", constant / 2),
                4 => writeln!(text, "mad.lo.s64 %rd{number}, %rd{a}, {constant}, %rd{b};"),
                5 => writeln!(text, "mad.lo.s64 %rd{number}, %rd{a}, %rd{b}, %rd{c};"),
                6 => writeln!(text, "mul.lo.s64 %rd{number}, %rd{a}, %rd{b};"),
                _ => writeln!(text, "add.s64 %rd{number}, %rd{a}, -{constant};"),
            };
        }
        text + "ret;\n}\n"
    }

    /// The values that the registers of a body without branches hold in a lane.
    fn interpret_lane(body: &Body<'_>, lane: u64) -> Vec<Option<u64>> {
        let mut registers = vec![None; body.registers.len()];
        for instruction in &body.instructions {
            let of = |value: Value| match value {
                Value::Integer(number) => Some(number as u64),
                Value::Register(register) => registers[register.index()],
                Value::Special(Special::Tid(0)) => Some(lane),
                Value::Special(Special::Ctaid(0)) => Some(CTA),
                Value::Symbol(_, by) => Some(BEGIN.wrapping_add_signed(by.into())),
                _ => None,
            };
            let uses: Option<Vec<u64>> = body.uses(instruction).iter().map(|&value| of(value)).collect();
            let result = match instruction.op {
                Op::Access(_) => Some(PARAM),
                op => uses.and_then(|uses| evaluate_result(op, 0, &uses)),
            };
            for register in body.defined(instruction) {
                registers[register.index()] = result;
            }
        }
        registers
    }

    /// The value of a sum in a lane, with these numbers for its atoms.
    fn evaluate_sum(linear: &Linear<'_>, sum: &Sum, lane: usize, registers: &[Option<u64>]) -> Option<u64> {
        let by = sum.by.number_in_lane(lane)?;
        evaluate_terms(linear, (sum.parts, by), lane, registers)
    }

    fn evaluate_terms(
        linear: &Linear<'_>,
        (parts, by): (Parts, u64),
        lane: usize,
        registers: &[Option<u64>],
    ) -> Option<u64> {
        let mut value = by;
        for (atom, factor) in linear.terms_of(parts) {
            let number = match atom {
                Atom::Symbol(_) => BEGIN,
                Atom::Param(..) => PARAM,
                Atom::Special(Special::Tid(0)) => lane as u64,
                Atom::Special(Special::Ctaid(0)) => CTA,
                Atom::Register(register) => registers[register.index()]?,
                Atom::Product(both) => {
                    let [one, other] = both.map(|sum| evaluate_terms(linear, sum, lane, registers));
                    one?.wrapping_mul(other?)
                }
                _ => return None,
            };
            value = value.wrapping_add(number.wrapping_mul(factor as u64));
        }
        Some(value)
    }

    /// For any unknown values, a sum is the value that the program computes.
    #[test]
    fn sums_equal_computed_values() {
        let mut known = 0;
        for seed in 0..300 {
            with_ptx(&random_kernel(seed), |module| {
                let function = ptxcheck_ir::FunctionId::new(0);
                let body = module.module.functions[0].body.as_ref().unwrap();
                let linear = [
                    Linear::of_unknowns(),
                    Linear::new(Some(0), None, Unknowns::Objects),
                    Linear::new(Some(0), None, Unknowns::Shared { is_kernel: true }),
                ];
                for linear in linear {
                    let mut sums = Evaluator::new(Source::of_function(module, function).unwrap(), linear);
                    for lane in [0, 1, 31] {
                        let registers = interpret_lane(body, lane);
                        for register in (0..body.registers.len()).map(Register::new) {
                            let Some(sum) = sums.description_of(Value::Register(register)) else {
                                continue;
                            };
                            let value = evaluate_sum(sums.domain(), &sum, lane as usize, &registers);
                            assert_eq!(
                                value,
                                registers[register.index()],
                                "seed {seed}, {register:?}: {sum:?}"
                            );
                            known += usize::from(value.is_some());
                        }
                    }
                }
            });
        }
        assert!(known > 20_000, "{known} sums are known");
    }

    /// Long chains work, and so do values computed from themselves.
    #[test]
    fn chains_of_any_length_are_evaluated() {
        let mut text = String::from(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n.reg .b32 %r<60000>;\nmov.u32 %r0, %tid.x;\n",
        );
        for number in 1..50_000 {
            let _ = writeln!(text, "add.s32 %r{number}, %r{}, 1;", number - 1);
        }
        text += "add.s32 %r50001, %r50002, 1;\nadd.s32 %r50002, %r50001, 1;\nret;\n}\n";
        with_ptx(&text, |module| {
            let function = ptxcheck_ir::FunctionId::new(0);
            let body = module.module.functions[0].body.as_ref().unwrap();
            let linear = Linear::new(Some(0), None, Unknowns::Objects);
            let mut sums = Evaluator::new(Source::of_function(module, function).unwrap(), linear);
            let result = |at: usize| body.results(body.instruction(InstructionId::new(at)))[0];
            let last = sums.description_of(result(49_999)).unwrap();
            assert_eq!(last.by.number_in_lane(3), Some(50_002));
            assert_eq!(sums.description_of(result(50_000)), None);
            assert_eq!(sums.description_of(result(50_001)), None);
        });
    }
}
