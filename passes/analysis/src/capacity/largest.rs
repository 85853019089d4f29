//! The domain of largest values: the greatest number that an operand may be, as a polynomial of quantities that a launch decides.
//!
//! ```text
//! %ctaid, %tid, parameters, loads      a quantity, which is not negative
//! add, mul, shl, mad                   of the largest values, in exact arithmetic: as if nothing wrapped
//! sub                                  a number less; of two quantities the first
//! and, rem, min                        the bound that a mask, a divisor or a number sets
//! or, selp                             the sum; the greater one where one is a number
//! cvt                                  the operand
//! anything else                        the bound of its interval, or a quantity of its own
//! ```

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use super::quantity::Quantity;
use crate::definitions::Definitions;
use crate::launches::Shape;
use crate::value::{Domain, Intervals, Polynomial, Result};
use ptxcheck_ir::evaluate::signed;
use ptxcheck_ir::{Access, BinaryOp, Body, Class, Op, Register, Special, Value};

/// A largest value.
pub(super) type Largest = Polynomial<Quantity>;

/// A bound of this size or less is taken for one that is reached.
pub(super) const MAX_REACHED: i64 = 1 << 16;

/// Describes the values of the threads of a kernel by the largest ones.
pub(super) struct LargestDomain<'a, 'm> {
    pub body: &'a Body<'m>,
    pub definitions: &'a Definitions,
    /// The sides of the block, if they are known.
    pub block: Option<Shape>,
    /// The intervals of the same body.
    pub intervals: RefCell<Intervals<'a, 'm>>,
    /// The largest values that are known otherwise: remainders.
    pub known: &'a FxHashMap<Register, Largest>,
    /// The largest values that comparisons leave to values that would have others.
    pub tested: Vec<(Largest, Largest)>,
}

impl LargestDomain<'_, '_> {
    fn of_special(&self, special: Special) -> Option<Largest> {
        let side = |dimension: u8| Some(self.block?[usize::from(dimension.min(2))]);
        let quantity = match special {
            Special::Tid(dimension) => match side(dimension) {
                Some(side) => return Some(Largest::of_number(i128::from(side) - 1)),
                None => Quantity::ThreadIndex(dimension),
            },
            Special::Ntid(dimension) => match side(dimension) {
                Some(side) => return Some(Largest::of_number(side.into())),
                None => Quantity::BlockSide(dimension),
            },
            Special::Ctaid(dimension) => Quantity::BlockIndex(dimension),
            Special::Nctaid(dimension) => Quantity::GridSide(dimension),
            Special::LaneId => return Some(Largest::of_number(31)),
            Special::WarpId
            | Special::NwarpId
            | Special::LaneMaskEq
            | Special::LaneMaskLe
            | Special::LaneMaskLt
            | Special::LaneMaskGe
            | Special::LaneMaskGt
            | Special::Uniform
            | Special::Other => return None,
        };
        Some(self.bounded(Largest::of_quantity(quantity)))
    }

    /// The quantity in a register; the result of a function may have any bound.
    fn held(&self, register: Register) -> Quantity {
        let writers = self.definitions.writers_of(register).iter();
        let mut ops = writers.map(|&at| self.body.instruction(at).op);
        if ops.any(|op| matches!(op, Op::CallResult(_) | Op::Call(_))) {
            Quantity::Returned
        } else {
            Quantity::Register(register)
        }
    }

    /// The bound that a comparison gives a value, else the value.
    fn bounded(&self, value: Largest) -> Largest {
        let mut tested = self.tested.iter();
        let found = tested.find(|(known, _)| *known == value);
        found.map_or(value, |(_, bound)| bound.clone())
    }
}

/// A number as a signed one of the width of an operation.
fn at_width(value: &Largest, bits: u8) -> Largest {
    match value.number().and_then(|number| i64::try_from(number).ok()) {
        Some(number) => Largest::of_number(signed(number.cast_unsigned(), bits).into()),
        None => value.clone(),
    }
}

/// The same at 32 bits, with a sign for what is added.
fn with_signed_number(value: &Largest) -> Option<Largest> {
    let added = value.terms().find(|(factors, _)| factors.is_empty());
    let Some(added) = added.and_then(|(_, by)| i64::try_from(by).ok()) else {
        return Some(value.clone());
    };
    let change = i128::from(signed(added.cast_unsigned(), 32)) - i128::from(added);
    value.sum(&Largest::of_number(change))
}

/// A number that is not negative.
fn bound(value: &Largest) -> Option<i128> {
    value.number().filter(|number| *number >= 0)
}

fn less_one(value: &Largest) -> Option<Largest> {
    value.sum(&Largest::of_number(-1))
}

/// The greater of two, where that is known: of a quantity and a number, the quantity.
fn either(one: &Largest, other: &Largest) -> Option<Largest> {
    match (one.number(), other.number()) {
        _ if one == other => Some(one.clone()),
        (Some(first), Some(second)) => Some(Largest::of_number(first.max(second))),
        (None, Some(_)) => Some(one.clone()),
        (Some(_), None) => Some(other.clone()),
        (None, None) => None,
    }
}

fn result_of_binary(op: BinaryOp, bits: u8, one: &Largest, other: &Largest) -> Option<Largest> {
    // A wide product takes half as many bits.
    let width = match op.class() {
        Class::WideProduct { .. } => bits / 2,
        _ => bits,
    };
    let (one, other) = (at_width(one, width), at_width(other, width));
    let is_negative = |value: &Largest| value.number().is_some_and(|number| number < 0);
    match op.class() {
        Class::Sum | Class::Or => one.sum(&other),
        Class::Difference => match other.number() {
            Some(number) => one.sum(&Largest::of_number(-number)),
            None => Some(one),
        },
        Class::Product | Class::WideProduct { .. } if !is_negative(&one) && !is_negative(&other) => {
            one.product(&other)
        }
        Class::ShiftedLeft => match other.number() {
            Some(by @ 0..63) if by < i128::from(bits) => one.product(&Largest::of_number(1 << by)),
            _ => None,
        },
        Class::And => match (bound(&one), bound(&other)) {
            (Some(first), Some(second)) => Some(Largest::of_number(first.min(second))),
            (Some(mask), None) | (None, Some(mask)) => Some(Largest::of_number(mask)),
            // A multiple of a power of two.
            (None, None) if is_negative(&other) => Some(one),
            (None, None) if is_negative(&one) => Some(other),
            (None, None) => None,
        },
        Class::Remainder { .. } => match (bound(&one), other.number()) {
            (Some(first), Some(second)) => Some(Largest::of_number(first.min(second.abs() - 1))),
            (_, Some(number)) if number != 0 => Some(Largest::of_number(number.abs() - 1)),
            (_, None) => less_one(&other),
            _ => None,
        },
        Class::Quotient { .. } => match (bound(&one), bound(&other)) {
            (Some(first), Some(second)) if second > 0 => Some(Largest::of_number(first / second)),
            (Some(first), None) => Some(Largest::of_number(first)),
            _ => None,
        },
        Class::ShiftedRight { .. } => match (bound(&one), bound(&other)) {
            (Some(first), Some(by)) => Some(Largest::of_number(first >> by.min(127))),
            (Some(first), None) => Some(Largest::of_number(first)),
            _ => None,
        },
        Class::Least { .. } => match (one.number(), other.number()) {
            (Some(first), Some(second)) => Some(Largest::of_number(first.min(second))),
            (Some(first), None) | (None, Some(first)) => Some(Largest::of_number(first)),
            (None, None) if one == other => Some(one),
            (None, None) => None,
        },
        Class::Greatest { .. } => either(&one, &other),
        Class::Product | Class::WideProduct { .. } | Class::Xor | Class::Other => None,
    }
}

impl Domain for LargestDomain<'_, '_> {
    type Value = Largest;

    /// What differs is a value of its own: it may grow in a loop.
    fn join(&self, one: &Largest, other: &Largest) -> Option<Largest> {
        (one == other).then(|| one.clone())
    }

    fn joins_descriptions(&self) -> bool {
        true
    }

    fn describe_operand(&self, value: Value) -> Option<Largest> {
        match value {
            Value::Integer(number) => Some(Largest::of_number(number.into())),
            Value::Special(special) => self.of_special(special),
            _ => None,
        }
    }

    fn describe_complement(&self, _value: Largest) -> Option<Largest> {
        Some(Largest::of_number(1))
    }

    fn describe_param(&self, (number, at): (u16, i32), access: Access) -> Option<Largest> {
        let quantity = Quantity::Param {
            number,
            offset: at,
            bits: access.bits,
        };
        Some(self.bounded(Largest::of_quantity(quantity)))
    }

    fn known_description(&self, register: Register) -> Option<Largest> {
        self.known.get(&register).cloned()
    }

    fn opaque_description(&self, register: Register) -> Option<Largest> {
        let interval = self
            .intervals
            .borrow_mut()
            .description_of(Value::Register(register));
        let most = interval
            .filter(|interval| interval.base.is_none() && interval.has_bound())
            .map(|interval| interval.most)
            .filter(|most| (0..=MAX_REACHED).contains(most));
        Some(most.map_or_else(
            || self.bounded(Largest::of_quantity(self.held(register))),
            |most| Largest::of_number(most.into()),
        ))
    }

    fn relevant_operands<'u>(&self, op: Op, uses: &'u [Value]) -> Option<&'u [Value]> {
        match op {
            Op::Select => uses.get(..2),
            op if op.is_move() => uses.get(..1),
            Op::Binary(..) | Op::Compare(..) => Some(uses),
            _ => None,
        }
    }

    fn describe_result(&self, op: Op, result: Result, operands: &[Largest]) -> Option<Largest> {
        let found = match (op, operands) {
            (Op::Copy, [from]) => Some(from.clone()),
            (Op::Convert { from: 64, to: 32, .. }, [from]) => with_signed_number(from),
            (Op::Convert { from: bits, .. }, [from]) => Some(at_width(from, bits)),
            (Op::Compare(..), _) => Some(Largest::of_number(1)),
            _ if result.number > 0 => None,
            (Op::Select, [one, other]) => either(one, other),
            (Op::Binary(op, bits @ 16..), [one, other]) => result_of_binary(op, bits, one, other),
            _ => None,
        };
        Some(self.bounded(found?))
    }
}
