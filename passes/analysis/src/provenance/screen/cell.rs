//! The lattice of the screen: all values that a register may hold anywhere in a body, as bits.
//!
//! ```text
//! kinds    a set of: an address of each representation and space, a constant, an index, the content of an unwritten register,
//!          the outcome of a space test, anything else; whether some address is one of a named object
//! formals  the parameters among its possible values
//! location ∅ < one constant offset from one object, or one constant < several of them
//! join     = union
//! ```
//!
//! Every value that [`super::super::solver`] may find for a register at some place is in its cell.

use crate::limits::NULL_PAGE;
use ptxcheck_ir::{Access, Space, SymbolId};

/// A set of kinds of values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kinds(u32);

/// Bits for the spaces, by their numbers.
const SPACES: u32 = Space::ALL.len() as u32;

impl Kinds {
    pub(super) const NONE: Self = Self(0);
    /// Raw addresses of all spaces.
    pub(super) const RAW: Self = Self((1 << SPACES) - 1);
    /// Generic addresses of all spaces.
    pub(super) const GENERIC: Self = Self(((1 << SPACES) - 1) << SPACES);
    pub(super) const ADDRESS: Self = Self::RAW.union(Self::GENERIC);
    /// A constant that may be address 0.
    pub(super) const CONSTANT: Self = Self(1 << 16);
    /// An index scaled to the size of an element.
    pub(super) const INDEX: Self = Self(1 << 17);
    /// The content of a register that nothing writes.
    pub(super) const UNDEFINED: Self = Self(1 << 18);
    /// The outcome of a space test.
    pub(super) const TRUTH: Self = Self(1 << 19);
    /// Anything else.
    pub(super) const OTHER: Self = Self(1 << 20);
    const ANY: Self = Self((1 << 21) - 1);
    pub(super) const NUMBER: Self = Self::CONSTANT.union(Self::INDEX).union(Self::OTHER);
    /// Not a kind: some address is based on a symbol or on a kernel's parameter itself.
    pub(super) const NAMED: Self = Self(1 << 21);
    /// Not a kind: at least one definition certainly gives a value that is not a constant.
    pub(super) const MIXED: Self = Self(1 << 22);
    /// Not a kind: a test may determine its space. This holds for copies, and not for computed values.
    pub(super) const TESTED: Self = Self(1 << 25);
    /// Not kinds: an instruction writes the register; an instruction has read it in this pass.
    pub(super) const WRITTEN: Self = Self(1 << 23);
    pub(super) const READ: Self = Self(1 << 24);
    /// Not a kind: in this pass, the query was made whether it may be the outcome of a test.
    pub(super) const ASKED: Self = Self(1 << 26);
    /// Not a kind: somewhere all its possible values are wrong for some use.
    pub(super) const ALONE: Self = Self(1 << 27);
    /// The flags that hold for one pass over the body.
    pub(super) const OF_PASS: Self = Self::MIXED.union(Self::READ).union(Self::ASKED);

    /// Raw addresses in a space.
    pub(super) const fn raw_in(space: Space) -> Self {
        match space {
            Space::Generic | Space::Tensor => Self::OTHER,
            _ => Self(1 << space as u32),
        }
    }

    /// Generic addresses in a space.
    pub(super) const fn generic_in(space: Space) -> Self {
        match space {
            Space::Generic | Space::Tensor => Self::OTHER,
            _ => Self(1 << (space as u32 + SPACES)),
        }
    }

    /// Addresses in a space, raw or generic.
    pub(super) const fn address_in(space: Space) -> Self {
        Self::raw_in(space).union(Self::generic_in(space))
    }

    /// Each kind of address: whether it is generic, and its space.
    pub(super) fn address_kinds() -> impl Iterator<Item = (Self, bool, Space)> {
        let known = |space: &Space| !matches!(space, Space::Generic | Space::Tensor);
        Space::ALL.into_iter().filter(known).flat_map(|space| {
            [
                (Self::raw_in(space), false, space),
                (Self::generic_in(space), true, space),
            ]
        })
    }

    pub(super) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) const fn difference(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(super) const fn intersects(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }

    /// `other` if this holds.
    pub(super) const fn kinds_if(self, holds: bool) -> Self {
        if holds { self } else { Self::NONE }
    }
}

/// The constant location that addresses of a cell may point to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Location {
    /// No constant location.
    Nowhere,
    /// This constant.
    Number(i32),
    /// So many bytes from a symbol.
    Symbol(SymbolId, i32),
    /// So many bytes from the kernel parameter with this index.
    Param(u16, i32),
    /// So many bytes from the argument for one of the cell's formals.
    Passed(i32),
    /// One of several places in objects, or somewhere in an argument's object; the window is the intersection of their
    /// windows.
    Inside(Window),
    /// Several of these: if constants differ, nothing is known.
    Several,
    /// An offset that is too large to keep.
    Far,
}

/// A [`Location`] in two words, the first of which says how to read the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PackedLocation {
    of: u32,
    at: i32,
}

const NOWHERE: u32 = 0;
const NUMBER: u32 = 1;
const PASSED: u32 = 2;
const SEVERAL: u32 = 3;
const FAR: u32 = 4;
/// The first two bits: the others hold a parameter's number, a symbol's, a window's start and alignment.
const TAG: u32 = 0b11 << 30;
const PARAM: u32 = 0b01 << 30;
const SYMBOL: u32 = 0b10 << 30;
const INSIDE: u32 = 0b11 << 30;

impl PackedLocation {
    pub(super) const NOWHERE: Self = Self { of: NOWHERE, at: 0 };
    const SEVERAL: Self = Self { of: SEVERAL, at: 0 };
    pub(super) const FAR: Self = Self { of: FAR, at: 0 };
    pub(super) const PASSED: Self = Self { of: PASSED, at: 0 };

    pub(super) fn of_number(value: i64) -> Self {
        i32::try_from(value).map_or(Self::FAR, |at| Self { of: NUMBER, at })
    }

    pub(super) fn of_symbol(symbol: SymbolId, at: i32) -> Self {
        match u32::try_from(symbol.index()) {
            Ok(number) if number & TAG == 0 => Self {
                of: SYMBOL | number,
                at,
            },
            _ => Self::FAR,
        }
    }

    pub(super) const fn of_param(number: u16, at: i32) -> Self {
        Self {
            of: PARAM | number as u32,
            at,
        }
    }

    const fn within_window(window: Window) -> Self {
        Self {
            of: INSIDE | window.shift << 24 | window.before,
            at: window.after,
        }
    }

    pub(super) const fn unpack(self) -> Location {
        let number = self.of & !TAG;
        match (self.of & TAG, self.of) {
            (PARAM, _) => Location::Param(number as u16, self.at),
            (SYMBOL, _) => Location::Symbol(SymbolId::new(number as usize), self.at),
            (INSIDE, _) => Location::Inside(Window {
                before: number & Window::FREE_BEFORE,
                after: self.at,
                shift: number >> 24,
            }),
            (_, NOWHERE) => Location::Nowhere,
            (_, NUMBER) => Location::Number(self.at),
            (_, PASSED) => Location::Passed(self.at),
            (_, SEVERAL) => Location::Several,
            _ => Location::Far,
        }
    }

    /// So many bytes further.
    pub(super) fn offset_by(self, by: i32) -> Self {
        match self.unpack() {
            Location::Nowhere | Location::Several | Location::Far => self,
            Location::Inside(window) => window.offset_by(by).map_or(Self::SEVERAL, Self::within_window),
            _ => self
                .at
                .checked_add(by)
                .map_or(Self::FAR, |at| Self { at, ..self }),
        }
    }

    /// True for a constant that is not a null address.
    fn is_nonnull_constant(self) -> bool {
        self.of == NUMBER && !(0..NULL_PAGE).contains(&i64::from(self.at))
    }

    fn join(self, other: Self, window: impl Fn(SymbolId) -> Window) -> Self {
        if self == other || other == Self::NOWHERE {
            return self;
        }
        let window_at = |symbol, at| window(symbol).offset_by(at);
        let within = |window: Option<Window>| window.map_or(Self::SEVERAL, Self::within_window);
        match (self.unpack(), other.unpack()) {
            (Location::Nowhere, _) => other,
            (Location::Far, _) | (_, Location::Far) => Self::FAR,
            (Location::Symbol(a, from), Location::Symbol(b, to)) => within(
                window_at(a, from)
                    .zip(window_at(b, to))
                    .map(|(a, b)| a.intersection(b)),
            ),
            // The caller's argument has no bounds here.
            (Location::Symbol(known, at), Location::Passed(_))
            | (Location::Passed(_), Location::Symbol(known, at)) => within(window_at(known, at)),
            (Location::Inside(known), Location::Passed(_))
            | (Location::Passed(_), Location::Inside(known)) => Self::within_window(known),
            (Location::Inside(own), Location::Symbol(b, at)) => match window_at(b, at) {
                Some(other) if own.intersection(other) == own => self,
                // Steps towards ever smaller offsets would be a loop.
                _ => Self::SEVERAL,
            },
            _ => Self::SEVERAL,
        }
    }

    /// The location without the part that depends on the caller's arguments.
    pub(super) const fn without_caller_part(self) -> Self {
        match self.of {
            PASSED => Self::NOWHERE,
            _ => self,
        }
    }
}

/// The bytes that can be accessed through an address, for each of the objects that it may point into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// Bytes in front of it, in 24 bits; [`Window::FREE_BEFORE`] if there is no limit.
    before: u32,
    /// Bytes from it on; [`i32::MAX`] if there is no limit.
    after: i32,
    /// It is a multiple of two to this power, at most 31.
    shift: u32,
}

impl Window {
    const FREE_BEFORE: u32 = 0xff_ffff;
    const FREE_AFTER: i32 = i32::MAX;

    /// The window from the start of an object of this size.
    pub(super) fn of_size(size: Option<u64>) -> Self {
        let bounded = |size| {
            i32::try_from(size)
                .unwrap_or(Self::FREE_AFTER)
                .min(Self::FREE_AFTER - 1)
        };
        Self {
            before: size.map_or(Self::FREE_BEFORE, |_| 0),
            after: size.map_or(Self::FREE_AFTER, bounded),
            shift: 31,
        }
    }

    /// So many bytes further; none in front of the object, where accesses with an offset may be inside again.
    fn offset_by(self, by: i32) -> Option<Self> {
        let before = match self.before {
            Self::FREE_BEFORE => self.before,
            before => before.checked_add_signed(by)?.min(Self::FREE_BEFORE - 1),
        };
        let after = match self.after {
            Self::FREE_AFTER => self.after,
            after => after.saturating_sub(by).min(Self::FREE_AFTER - 1),
        };
        Some(Self {
            before,
            after,
            shift: self.shift.min(by.trailing_zeros()),
        })
    }

    fn intersection(self, other: Self) -> Self {
        Self {
            before: self.before.min(other.before),
            after: self.after.min(other.after),
            shift: self.shift.min(other.shift),
        }
    }

    /// True if it holds this access, in one piece.
    pub(super) fn contains_access(self, by: i64, access: &Access) -> bool {
        let bytes = i64::from(access.bytes());
        self.shift.min(by.trailing_zeros()) >= access.unit().trailing_zeros()
            && (self.before == Self::FREE_BEFORE
                || by
                    .checked_neg()
                    .is_some_and(|back| back <= i64::from(self.before)))
            && (self.after == Self::FREE_AFTER
                || by
                    .checked_add(bytes)
                    .is_some_and(|end| end <= i64::from(self.after)))
    }
}

/// Everything that a register may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) kinds: Kinds,
    /// Pieces of the function's parameters, as bits; the last stands for those that have none of their own.
    pub(super) formals: u32,
    pub(super) location: PackedLocation,
}

impl Cell {
    pub(super) const OTHER: Self = Self::of_kinds(Kinds::OTHER);

    pub(super) const fn of_kinds(kinds: Kinds) -> Self {
        Self {
            kinds,
            formals: 0,
            location: PackedLocation::NOWHERE,
        }
    }

    pub(super) fn of_constant(value: i64) -> Self {
        Self {
            kinds: Kinds::CONSTANT,
            formals: 0,
            location: PackedLocation::of_number(value),
        }
    }

    /// Adds the possible values of another cell. `window`: the bytes that can be accessed from the start of a symbol.
    pub(super) fn join(&mut self, other: Self, window: impl Fn(SymbolId) -> Window) {
        *self = Self {
            kinds: self.kinds.union(other.kinds),
            formals: self.formals | other.formals,
            location: self.location.join(other.location, window),
        };
    }

    /// True if this is an upper bound of `other`; may be false for one that is.
    pub(super) fn is_upper_bound_of(self, other: Self) -> bool {
        other.kinds.difference(self.kinds) == Kinds::NONE
            && other.formals & !self.formals == 0
            && (other.location == self.location || other.location == PackedLocation::NOWHERE)
    }

    /// True if the readers of `before` have to be evaluated again after the cell has become this. The value of an integer,
    /// or whether it is constant, makes no difference: bounds were checked anyway, and a value that may be null was treated
    /// as null, unless it was a constant that is not.
    pub(super) fn requires_reevaluation(self, before: Self) -> bool {
        let idle = if before.is_address() {
            // A difference of addresses keeps none of its operands' kinds.
            Kinds::NONE
        } else {
            Kinds::OTHER.union(Kinds::INDEX)
        };
        let more = self.kinds.difference(before.kinds).difference(idle);
        more != Kinds::NONE
            || self.formals != before.formals
            || self.location != before.location
                && (!self.is_number() || before.location.is_nonnull_constant())
    }

    /// The cell without the flags of the register that holds it.
    pub(super) const fn without_register_flags(self) -> Self {
        Self {
            kinds: self.kinds.difference(Kinds::MIXED),
            ..self
        }
    }

    /// The cell with the flag that it may hold nothing else, if some use can be wrong for it.
    pub(super) const fn marked_as_only_value(self) -> Self {
        let is_address = self.kinds.intersects(Kinds::ADDRESS.union(Kinds::UNDEFINED));
        Self {
            kinds: self.kinds.union(Kinds::ALONE.kinds_if(is_address)),
            ..self
        }
    }

    /// The cell without the flag of a tested value, for a value computed from it.
    pub(super) const fn without_test_flag(self) -> Self {
        Self {
            kinds: self.kinds.difference(Kinds::TESTED),
            ..self
        }
    }

    /// True if no definition has given a value yet.
    pub(super) const fn has_no_value_yet(self) -> bool {
        !self.kinds.intersects(Kinds::ANY) && self.formals == 0
    }

    /// True if a definition has given a value, and none a constant.
    pub(super) const fn has_value_but_no_constant(self) -> bool {
        !self.has_no_value_yet() && !self.kinds.intersects(Kinds::CONSTANT)
    }

    /// True if it is an address of a known space and nothing else.
    const fn is_address(self) -> bool {
        let others = Kinds::NUMBER.union(Kinds::UNDEFINED);
        self.formals == 0 && self.kinds.intersects(Kinds::ADDRESS) && !self.kinds.intersects(others)
    }

    /// True if it can be nothing but an integer.
    const fn is_number(self) -> bool {
        self.formals == 0 && !self.kinds.intersects(Kinds::ADDRESS.union(Kinds::UNDEFINED))
    }

    /// Several constants of a number are an unknown number: `solver` does not distinguish them.
    fn settled_location(self) -> PackedLocation {
        if self.location == PackedLocation::SEVERAL && self.is_number() {
            PackedLocation::NOWHERE
        } else {
            self.location
        }
    }

    /// Without the number and the location.
    pub(super) fn without_location(self) -> Self {
        Self {
            kinds: self
                .kinds
                .difference(Kinds::CONSTANT)
                .union(Kinds::OTHER.kinds_if(self.kinds.intersects(Kinds::CONSTANT))),
            location: PackedLocation::NOWHERE,
            ..self
        }
    }

    /// True if the sum of this and `other` may be any value.
    fn sum_may_be_any_value(self, other: Self) -> bool {
        // A kernel's parameter may be an integer after all.
        let open = Kinds::NUMBER.union(Kinds::generic_in(Space::Global));
        self.kinds.intersects(Kinds::OTHER) && other.kinds.intersects(open)
            || !self.is_number() && !other.is_number()
    }

    /// The sum of both.
    pub(super) fn plus(self, other: Self) -> Self {
        let both = self.kinds.intersection(other.kinds);
        let kinds = self.kinds.union(other.kinds).difference(Kinds::NUMBER);
        let location = match (self.settled_location(), other.settled_location()) {
            (PackedLocation::NOWHERE, _) | (_, PackedLocation::NOWHERE) => PackedLocation::NOWHERE,
            (PackedLocation { of: NUMBER, at }, location) | (location, PackedLocation { of: NUMBER, at }) => {
                location.offset_by(at)
            }
            // Of two addresses, one is really a number if the sum is an address at all.
            (PackedLocation::FAR, _) | (_, PackedLocation::FAR) => PackedLocation::FAR,
            _ => PackedLocation::SEVERAL,
        };
        let is_other = self.sum_may_be_any_value(other) || other.sum_may_be_any_value(self);
        Self {
            kinds: kinds
                .union(both.intersection(Kinds::CONSTANT))
                .union(Kinds::OTHER.kinds_if(is_other)),
            formals: self.formals | other.formals,
            location,
        }
    }

    /// The difference of both.
    pub(super) fn minus(self, other: Self) -> Self {
        if let PackedLocation { of: NUMBER, at: by } = other.settled_location()
            && other.is_number()
        {
            return match by.checked_neg() {
                Some(by) => self.plus(Self::of_constant(i64::from(by))),
                None => Self {
                    location: PackedLocation::FAR,
                    ..self
                },
            };
        }
        // The difference of an address and a certain address is not an address.
        let kept = if other.is_address() { Self::OTHER } else { self };
        let location = if other.settled_location() == PackedLocation::NOWHERE
            || kept.location == PackedLocation::NOWHERE
        {
            PackedLocation::NOWHERE
        } else {
            PackedLocation::SEVERAL
        };
        Self {
            kinds: kept.kinds.union(Kinds::OTHER),
            formals: kept.formals,
            location,
        }
    }
}
