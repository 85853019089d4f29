//! Addresses as sums, and how far apart two of them are.
//!
//! ```text
//! address   = offset + Σ factor · atom       through copies, conversions, sums, products with constants, values kept on the stack
//! atom      = a variable, a special register, a register that is none of these
//! distance  = the difference of two: what both have falls out, the rest lies in the range of its atoms
//! ```
//!
//! Addresses wrap at 32 or 64 bits; a distance that does not is what the program means.

use ptxcheck_ir::paths::Paths;
use ptxcheck_ir::{BinaryOp, Body, FunctionId, InstructionId, Op, Register, Special, SymbolId, Value};

use super::handed::{handed_on, keeps_address};
use super::view::View;
use crate::limits::{MAX_SUM_ATOMS, MAX_SUM_STEPS};
use crate::shared::Shared;
use crate::threads::stored;

/// An addend of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Atom {
    Symbol(SymbolId),
    Register(Register),
    Special(Special),
}

/// An address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressSum {
    offset: i64,
    atoms: Vec<(Atom, i64)>,
}

impl AddressSum {
    /// The address of an access, as a thread computes it.
    #[must_use]
    pub fn of(view: &View<'_, '_>, access: InstructionId) -> Option<Self> {
        let instruction = view.body.instruction(access);
        let (Op::Access(_), &[base, Value::Integer(past), ..]) =
            (instruction.op, view.body.uses(instruction))
        else {
            return None;
        };
        let mut left = MAX_SUM_STEPS;
        let mut sum = match base {
            // Of a register with several definitions, only what it holds at the access itself is known.
            Value::Register(register) => expand(view, (register, access), &mut left).or_else(|| {
                let known = view.known(base);
                Some(known.map_or_else(|| Self::atom(Atom::Register(register)), Self::constant))
            }),
            base => of_value(view, (base, access), &mut left),
        }?;
        sum.offset = sum.offset.checked_add(past)?;
        Some(sum)
    }

    /// The variable that it is in, and the offset there, if both are constant.
    #[must_use]
    pub fn place(&self) -> Option<(SymbolId, i64)> {
        match self.atoms[..] {
            [(Atom::Symbol(symbol), 1)] => Some((symbol, self.offset)),
            _ => None,
        }
    }

    /// The variable that it is in, and the least and the greatest offset there.
    pub(super) fn bounds(&self, view: &View<'_, '_>) -> Option<(SymbolId, i64, i64)> {
        let mut rest = self.clone();
        let is_symbol = |(atom, factor): &(Atom, i64)| matches!(atom, Atom::Symbol(_)) && *factor == 1;
        let at = rest.atoms.iter().position(is_symbol)?;
        let (Atom::Symbol(symbol), _) = rest.atoms.remove(at) else {
            return None;
        };
        let (least, most) = bounds(view, &rest)?;
        Some((symbol, least, most))
    }

    /// True if it counts from a parameter of a kernel: no such one points into the memory of a block.
    #[must_use]
    pub fn is_of_kernel_param(&self, view: &View<'_, '_>) -> bool {
        let definitions = view.analyses.definitions();
        self.atoms.iter().any(|(atom, factor)| {
            let Atom::Register(register) = *atom else {
                return false;
            };
            let load = definitions.only(view.body, register);
            *factor == 1
                && view.is_kernel
                && view.body.registers[register.index()].bits == 64
                && load.is_some_and(|load| {
                    let instruction = view.body.instruction(load);
                    let is_whole = matches!(instruction.op, Op::Access(access) if access.bits == 64);
                    is_whole && view.body.loaded_param(instruction).is_some()
                })
        })
    }

    fn atom(atom: Atom) -> Self {
        Self {
            offset: 0,
            atoms: vec![(atom, 1)],
        }
    }

    const fn constant(value: u64) -> Self {
        Self {
            offset: value as i64,
            atoms: Vec::new(),
        }
    }

    fn plus(mut self, other: &Self, factor: i64) -> Option<Self> {
        self.offset = self.offset.checked_add(other.offset.checked_mul(factor)?)?;
        for &(atom, by) in &other.atoms {
            let by = by.checked_mul(factor)?;
            match self.atoms.iter_mut().find(|(known, _)| *known == atom) {
                Some((_, known)) => *known = known.checked_add(by)?,
                None => self.atoms.push((atom, by)),
            }
        }
        self.atoms.retain(|&(_, factor)| factor != 0);
        (self.atoms.len() <= MAX_SUM_ATOMS).then_some(self)
    }

    fn times(&self, factor: i64) -> Option<Self> {
        Self::default().plus(self, factor)
    }
}

/// An operand of an instruction.
fn of_value(
    view: &View<'_, '_>,
    (value, user): (Value, InstructionId),
    left: &mut usize,
) -> Option<AddressSum> {
    match value {
        Value::Integer(value) => Some(AddressSum::constant(value as u64)),
        Value::Symbol(symbol, by) => {
            let mut sum = AddressSum::atom(Atom::Symbol(symbol));
            sum.offset = by.into();
            Some(sum)
        }
        Value::Special(special) => Some(match view.known(value) {
            Some(known) => AddressSum::constant(known),
            None => AddressSum::atom(Atom::Special(special)),
        }),
        Value::Register(register) => {
            view.analyses.definitions().only(view.body, register)?;
            if let Some(known) = view.known(value) {
                let known = match view.body.registers[register.index()].bits {
                    32 => i64::from(known as i32),
                    _ => known as i64,
                };
                return Some(AddressSum::constant(known as u64));
            }
            expand(view, (register, user), left).or_else(|| Some(AddressSum::atom(Atom::Register(register))))
        }
        _ => None,
    }
}

/// The sum that the only definition of a register computes, where that is on each way to an instruction that reads it: then none of
/// its operands is written again in between.
fn expand(
    view: &View<'_, '_>,
    (register, user): (Register, InstructionId),
    left: &mut usize,
) -> Option<AddressSum> {
    *left = left.checked_sub(1)?;
    let body = view.body;
    let definition = view.analyses.definitions().only(body, register)?;
    let instruction = body.instruction(definition);
    if body.results(instruction).first() != Some(&Value::Register(register)) {
        return None;
    }
    if !view.analyses.is_before(definition, user) {
        return None;
    }
    let mut of = |value| of_value(view, (value, definition), left);
    match (instruction.op, body.uses(instruction)) {
        (op, &[from]) if keeps_address(op) => of(from),
        (Op::Binary(BinaryOp::Add, 32..), &[a, b]) => of(a)?.plus(&of(b)?, 1),
        (Op::Binary(BinaryOp::Sub, 32..), &[a, b]) => of(a)?.plus(&of(b)?, -1),
        (
            Op::Binary(BinaryOp::MulLow | BinaryOp::MulWideSigned | BinaryOp::MulWideUnsigned, 32..),
            &[a, Value::Integer(by)],
        ) => of(a)?.times(by),
        (Op::Binary(BinaryOp::Shl, 32..), &[a, Value::Integer(by @ 0..31)]) => of(a)?.times(1 << by),
        (
            Op::MulAdd(BinaryOp::MulLow | BinaryOp::MulWideSigned | BinaryOp::MulWideUnsigned, 32..),
            &[a, Value::Integer(by), c],
        ) => of(a)?.times(by)?.plus(&of(c)?, 1),
        (Op::CallResult(call), _) => {
            let passed = handed_on(view.module, body, call)?;
            of_value(view, (passed, call), left)
        }
        (Op::Access(_), _) => match stored(view.analyses, body, definition, register)? {
            // Its store stands before the load, on each way.
            (value, Op::Copy) => of_value(view, (value, view.analyses.store_for(definition)?), left),
            _ => None,
        },
        _ => None,
    }
}

/// The least and the greatest distance in bytes from the address of one access to that of another which is executed behind it by
/// the same thread; `None` where nothing bounds it.
#[must_use]
fn distance(
    view: &View<'_, '_>,
    (first, from): (InstructionId, &AddressSum),
    (second, to): (InstructionId, &AddressSum),
) -> Option<(i64, i64)> {
    let is_redefined = |register: Register| {
        let mut definitions = view.analyses.definitions().of(register).iter();
        definitions.any(|&definition| {
            leads(view.body, first, definition, first) && leads(view.body, definition, second, first)
        })
    };
    for (atom, _) in &from.atoms {
        if let Atom::Register(register) = *atom
            && to.atoms.iter().any(|(other, _)| other == atom)
            && is_redefined(register)
        {
            return None;
        }
    }
    bounds(view, &to.clone().plus(from, -1)?)
}

/// The least and the greatest value of a sum.
fn bounds(view: &View<'_, '_>, sum: &AddressSum) -> Option<(i64, i64)> {
    let (mut least, mut most) = (sum.offset, sum.offset);
    for &(atom, factor) in &sum.atoms {
        let (low, high) = match atom {
            Atom::Special(special) => view.special_range(special)?,
            Atom::Register(register) => view.range(register)?,
            Atom::Symbol(_) => return None,
        };
        let end = |of: u64| i64::try_from(of).ok()?.checked_mul(factor);
        let (low, high) = (end(low)?, end(high)?);
        least = least.checked_add(low.min(high))?;
        most = most.checked_add(low.max(high))?;
    }
    Some((least, most))
}

/// The variable that an access is in, and the least and the greatest offset there.
#[must_use]
pub fn constant_bounds(view: &View<'_, '_>, access: InstructionId) -> Option<(SymbolId, i64, i64)> {
    AddressSum::of(view, access)?.bounds(view)
}

/// A mask of all bytes of each 16.
pub(super) const ALL_BYTES: u16 = u16::MAX;

/// The bytes of an access.
pub(super) struct Stretch<'s> {
    at: InstructionId,
    address: &'s AddressSum,
    bytes: u64,
    /// Those of each 16 that it is to.
    mask: u16,
}

impl<'s> Stretch<'s> {
    pub(super) const fn new(at: InstructionId, address: &'s AddressSum, (bytes, mask): (u64, u16)) -> Self {
        Self {
            at,
            address,
            bytes,
            mask,
        }
    }
}

/// True if two accesses of a thread, the second executed after the first, certainly overlap.
#[must_use]
pub(super) fn overlap(view: &View<'_, '_>, first: &Stretch<'_>, second: &Stretch<'_>) -> bool {
    let Some((least, most)) = distance(view, (first.at, first.address), (second.at, second.address)) else {
        return false;
    };
    let meet = i128::from(most) < i128::from(first.bytes) && i128::from(least) + i128::from(second.bytes) > 0;
    if !meet || (first.mask, second.mask) == (ALL_BYTES, ALL_BYTES) {
        return meet;
    }
    // After 16 bytes, the masks begin again.
    let from = least.max(0);
    let end = i64::try_from(first.bytes).unwrap_or(i64::MAX);
    let end = end.min(least.saturating_add_unsigned(second.bytes));
    let is_in = |mask: u16, byte: i64| mask >> byte.rem_euclid(16) & 1 == 1;
    least == most
        && (from..end)
            .take(16)
            .any(|byte| is_in(first.mask, byte) && is_in(second.mask, byte - least))
}

/// The variable that an access of a function is in, and the offset there, if both are constant.
#[must_use]
pub fn constant_place(module: &Shared<'_>, id: FunctionId, access: InstructionId) -> Option<(SymbolId, i64)> {
    AddressSum::of(&View::any(module, id)?, access)?.place()
}

/// True if a path leads from after an instruction to another that does not pass a third one in between.
#[must_use]
pub fn leads(body: &Body<'_>, from: InstructionId, to: InstructionId, without: InstructionId) -> bool {
    Paths::new(body).without(without).lead(from, to)
}
