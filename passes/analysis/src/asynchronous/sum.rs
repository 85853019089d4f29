//! Addresses as sums, and the distance between two of them.
//!
//! ```text
//! address   = offset + Σ factor · atom       through copies, conversions, sums, products with constants, values kept on the stack
//! atom      = a variable, a special register, a parameter, a register that is none of these
//! distance  = the difference of two: common atoms cancel, the rest lies in the range of its atoms
//! ```
//!
//! Addresses wrap at 32 or 64 bits; a distance that does not wrap is the one that the program means.

use ptxcheck_ir::paths::Paths;
use ptxcheck_ir::{Body, FunctionId, InstructionId, Op, Register, SymbolId, Value};

use super::view::View;
use crate::shared::Shared;
use crate::value::{Atom, Terms, sum_with_multiple};

/// An address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AddressSum {
    offset: i64,
    atoms: Terms,
}

impl AddressSum {
    /// The address of an access, as a thread computes it.
    pub(super) fn of_access(view: &View<'_, '_>, access: InstructionId) -> Option<Self> {
        let instruction = view.body.instruction(access);
        let (Op::Access(_), &[base, Value::Integer(past), ..]) =
            (instruction.op, view.body.uses(instruction))
        else {
            return None;
        };
        let mut sum = match (view.value_as_sum(base, access), base) {
            (Some((atoms, offset)), _) => Self { offset, atoms },
            // For a register with several definitions, only its value at the access itself is known.
            (None, Value::Register(register)) => Self {
                offset: 0,
                atoms: vec![(Atom::Register(register), 1)],
            },
            _ => return None,
        };
        sum.offset = sum.offset.checked_add(past)?;
        Some(sum)
    }

    /// The variable that it is in, and the offset there, if both are constant.
    pub(super) fn variable_and_offset(&self) -> Option<(SymbolId, i64)> {
        match self.atoms[..] {
            [(Atom::Symbol(symbol), 1)] => Some((symbol, self.offset)),
            _ => None,
        }
    }

    /// The bytes of a variable that an access of `bytes` bytes may access.
    fn extent(&self, view: &View<'_, '_>, bytes: u64) -> Option<Extent> {
        let mut rest = self.clone();
        let is_symbol = |(atom, factor): &(Atom, i64)| matches!(atom, Atom::Symbol(_)) && *factor == 1;
        let at = rest.atoms.iter().position(is_symbol)?;
        let (Atom::Symbol(symbol), _) = rest.atoms.remove(at) else {
            return None;
        };
        let (least, most) = bounds_of_sum(view, &rest)?;
        Some(Extent {
            symbol,
            least,
            most,
            bytes,
        })
    }

    /// True if it counts from a parameter of a kernel: no kernel parameter points into the memory of a block.
    pub(super) fn is_of_kernel_param(&self, view: &View<'_, '_>) -> bool {
        self.kernel_param(view).is_some()
    }

    /// The parameter of a kernel that it counts from.
    pub(super) fn kernel_param(&self, view: &View<'_, '_>) -> Option<Atom> {
        let is_whole = |atom: &&(Atom, i64)| matches!(atom, (Atom::Param(_, _, 64, _), 1));
        let param = self.atoms.iter().find(is_whole).map(|&(param, _)| param);
        param.filter(|_| view.function.is_kernel())
    }
}

/// The least and the greatest distance in bytes from the address of one access to that of a later access by the same thread;
/// `None` if there is no bound.
fn distance_bounds(view: &View<'_, '_>, first: &Stretch, second: &Stretch) -> Option<(i64, i64)> {
    let (from, to) = (&first.address, &second.address);
    let is_redefined = |register: Register| {
        let mut definitions = view.analyses.definitions().writers_of(register).iter();
        definitions.any(|&definition| {
            has_path_avoiding(view.body, first.at, definition, first.at)
                && has_path_avoiding(view.body, definition, second.at, first.at)
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
    let difference = AddressSum {
        offset: to.offset.checked_sub(from.offset)?,
        atoms: sum_with_multiple(&to.atoms, &from.atoms, -1)?,
    };
    bounds_of_sum(view, &difference)
}

/// The least and the greatest value of a sum.
fn bounds_of_sum(view: &View<'_, '_>, sum: &AddressSum) -> Option<(i64, i64)> {
    let (mut least, mut most) = (sum.offset, sum.offset);
    for &(atom, factor) in &sum.atoms {
        let (low, high) = match atom {
            Atom::Special(special) => view.special_range(special)?,
            Atom::Register(register) => view.register_range(register)?,
            _ => return None,
        };
        let end = |of: u64| i64::try_from(of).ok()?.checked_mul(factor);
        let (low, high) = (end(low)?, end(high)?);
        least = least.checked_add(low.min(high))?;
        most = most.checked_add(low.max(high))?;
    }
    Some((least, most))
}

/// The bytes of a variable that an access may access: a fixed number of bytes from each offset between two bounds on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) symbol: SymbolId,
    pub(super) least: i64,
    pub(super) most: i64,
    bytes: u64,
}

impl Extent {
    /// The extent of an access to `bytes` bytes, if its address is bounded.
    pub(super) fn of_access(view: &View<'_, '_>, access: InstructionId, bytes: u64) -> Option<Self> {
        AddressSum::of_access(view, access)?.extent(view, bytes)
    }

    /// So many bytes at a place of a variable.
    pub(super) const fn at_place(symbol: SymbolId, offset: i64, bytes: u64) -> Self {
        Self {
            symbol,
            least: offset,
            most: offset,
            bytes,
        }
    }

    /// True if it certainly has so many bytes from the start of the variable on.
    pub(super) const fn has_first_bytes(&self, bytes: u64) -> bool {
        self.least == 0 && self.most == 0 && bytes <= self.bytes
    }

    /// True if some bytes are in both, for all possible offsets.
    pub(super) fn surely_overlaps(&self, other: &Self) -> bool {
        let is_after = |one: &Self, other: &Self| one.most < other.least.saturating_add_unsigned(other.bytes);
        self.symbol == other.symbol && is_after(self, other) && is_after(other, self)
    }

    /// True if some bytes may be in both.
    pub(super) fn may_overlap(&self, other: &Self) -> bool {
        let may_be = |one: &Self, other: &Self| one.least < other.most.saturating_add_unsigned(other.bytes);
        self.symbol == other.symbol && may_be(self, other) && may_be(other, self)
    }
}

/// A mask of all bytes of each 16.
pub(super) const ALL_BYTES: u16 = u16::MAX;

/// The bytes of an access.
pub(super) struct Stretch {
    pub(super) at: InstructionId,
    address: AddressSum,
    bytes: u64,
    /// The accessed bytes of each 16.
    mask: u16,
}

impl Stretch {
    /// The bytes of an access by a thread: its size, and a mask of each 16 bytes.
    pub(super) fn of_access(
        view: &View<'_, '_>,
        at: InstructionId,
        (bytes, mask): (u64, u16),
    ) -> Option<Self> {
        let address = AddressSum::of_access(view, at)?;
        Some(Self {
            at,
            address,
            bytes,
            mask,
        })
    }

    /// The bytes of a variable that it may access.
    pub(super) fn extent(&self, view: &View<'_, '_>) -> Option<Extent> {
        self.address.extent(view, self.bytes)
    }
}

/// True if two accesses of a thread, the second executed after the first, certainly overlap.
pub(super) fn surely_overlap(view: &View<'_, '_>, first: &Stretch, second: &Stretch) -> bool {
    let Some((least, most)) = distance_bounds(view, first, second) else {
        return false;
    };
    let meet = i128::from(most) < i128::from(first.bytes) && i128::from(least) + i128::from(second.bytes) > 0;
    if !meet || (first.mask, second.mask) == (ALL_BYTES, ALL_BYTES) {
        return meet;
    }
    // The masks repeat after 16 bytes.
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
pub(super) fn constant_variable_and_offset(
    module: &Shared<'_>,
    id: FunctionId,
    access: InstructionId,
) -> Option<(SymbolId, i64)> {
    AddressSum::of_access(&View::any_thread(module, id)?, access)?.variable_and_offset()
}

/// True if a path leads from after an instruction to another without passing a third one in between.
pub(super) fn has_path_avoiding(
    body: &Body<'_>,
    from: InstructionId,
    to: InstructionId,
    without: InstructionId,
) -> bool {
    Paths::new(body).without(without).lead(from, to)
}
