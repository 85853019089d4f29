//! The lattice of address values: the values that a register may hold.
//!
//! ```text
//! value    = ⊥ | { element … } | ⊤                         ⊥ ⊑ sets by inclusion ⊑ ⊤
//! element  = kind × space × base × (offset | ?) × trust     one per (kind, space, base): offsets that differ join to ?
//! kind     = Raw        a number inside the space's own window
//!          | Generic    a generic address
//!          | Formal     the caller's argument for this parameter
//!          | Number     an integer that is not an address
//!          | Composed   computed from several addresses: an integer, such as their difference, or an address anywhere
//!          | Undefined  the content of a register that nothing writes
//! join     = union; more than `MAX_ELEMENTS` lose their bases, and if that does not help, become ⊤
//! ```
//!
//! Chains are short: an element can only lose its offset, its base and its trust.

use ptxcheck_ir::{InstructionId, Register, Space, SymbolId};

/// Limit on the elements of a value; a `select` of more than so many objects is rare.
const MAX_ELEMENTS: usize = 8;

/// The kind of an [`Element`]: for an address, whether it is raw (relative to its space's window) or generic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ElementKind {
    /// A number inside the window of its space.
    Raw,
    /// A generic address.
    Generic,
    /// The unknown value of a parameter, as the caller passes it.
    Formal,
    /// An integer that is not an address; its offset is its value, if known.
    Number,
    /// A value computed from several addresses that are not known to lie in one window, such as their difference: the sum
    /// of it and an address may point anywhere.
    Composed,
    /// The content of a register that nothing writes.
    Undefined,
}

/// The object that an address is based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Base {
    /// The base is not known.
    Unknown,
    /// A variable.
    Symbol(SymbolId),
    /// The function's parameter with this index: the address of the parameter itself where the space is [`Space::Param`],
    /// else the value passed at this byte offset in it.
    Param(u16, u32),
    /// A register that nothing writes.
    Register(Register),
    /// The `isspacep` that determines its space.
    Test(InstructionId),
}

/// The confidence in an element, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Trust {
    /// It follows from the code alone.
    Certain,
    /// A kernel parameter of pointer width: assumed to be a pointer to global memory, because only the host knows.
    Assumed,
    /// An operand was added to it that may be an address itself.
    Weak,
}

/// One value, or a set of values that differ only in the offset, that a register may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// The kind of address or of integer.
    pub kind: ElementKind,
    /// The space that it points into; [`Space::Generic`] if it is not a known address.
    pub space: Space,
    /// The object that it is based on.
    pub base: Base,
    /// Bytes past the base, where constant.
    pub offset: Option<i64>,
    /// The confidence in it.
    pub trust: Trust,
    /// Spaces that a test has ruled out for the caller's argument: bits by [`bit_of_space`].
    pub(crate) excluded: u8,
    /// The instruction that made it an element of this kind: took the address, converted it, read the parameter.
    pub origin: Option<InstructionId>,
}

/// The bit of a space in [`Element::excluded`].
#[must_use]
pub(super) const fn bit_of_space(space: Space) -> u8 {
    match space {
        Space::Global => 1,
        // Shared memory of the CTA is a part of that of the cluster, so only the smaller space is ruled out.
        Space::Shared => 2,
        Space::SharedCluster => 2 | 4,
        Space::Local => 8,
        Space::Const => 16,
        Space::Param => 32,
        Space::Generic | Space::Tensor => 0,
    }
}

impl Element {
    /// An address.
    #[must_use]
    pub(crate) const fn of_address(
        kind: ElementKind,
        space: Space,
        base: Base,
        origin: InstructionId,
    ) -> Self {
        Self {
            kind,
            space,
            base,
            offset: None,
            trust: Trust::Certain,
            excluded: 0,
            origin: Some(origin),
        }
    }

    /// An integer.
    #[must_use]
    pub(crate) const fn of_number(value: Option<i64>) -> Self {
        Self {
            kind: ElementKind::Number,
            space: Space::Generic,
            base: Base::Unknown,
            offset: value,
            trust: Trust::Certain,
            excluded: 0,
            origin: None,
        }
    }

    /// True for an address whose space the function itself knows.
    #[must_use]
    pub const fn is_address(&self) -> bool {
        matches!(self.kind, ElementKind::Raw | ElementKind::Generic)
    }

    const fn sort_key(&self) -> (ElementKind, Space, Base) {
        (self.kind, self.space, self.base)
    }

    /// The least upper bound of two elements with the same key.
    fn merge(&mut self, other: &Self) {
        if self.offset != other.offset {
            self.offset = None;
        }
        self.trust = self.trust.max(other.trust);
        self.excluded &= other.excluded;
        self.origin = match (self.origin, other.origin) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
}

/// The set of values that a register may hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Provenance {
    /// Nothing yet.
    #[default]
    Bottom,
    /// Exactly one element.
    One(Element),
    /// Several elements, sorted by key; at least two.
    Many(Box<[Element]>),
    /// Anything.
    Top,
}

impl Provenance {
    /// A number of unknown value.
    pub(super) const NUMBER: Self = Self::One(Element::of_number(None));
    /// A value computed from several addresses.
    pub(super) const COMPOSED: Self = Self::One(Element {
        kind: ElementKind::Composed,
        ..Element::of_number(None)
    });

    /// The elements; none for ⊥ and ⊤.
    #[must_use]
    pub(super) fn elements(&self) -> &[Element] {
        match self {
            Self::Bottom | Self::Top => &[],
            Self::One(element) => std::slice::from_ref(element),
            Self::Many(elements) => elements,
        }
    }

    /// A value of these elements, ⊥ without any.
    #[must_use]
    pub(super) fn from_elements(elements: impl IntoIterator<Item = Element>) -> Self {
        let mut set: Vec<Element> = Vec::new();
        for element in elements {
            insert(&mut set, element);
        }
        Self::from_set(set)
    }

    fn from_set(mut set: Vec<Element>) -> Self {
        if set.len() > MAX_ELEMENTS {
            let mut merged = Vec::with_capacity(MAX_ELEMENTS);
            for element in set {
                // A parameter's value is identified by its index; without the index, it may be anything.
                if element.kind == ElementKind::Formal {
                    return Self::Top;
                }
                insert(
                    &mut merged,
                    Element {
                        base: Base::Unknown,
                        offset: None,
                        ..element
                    },
                );
            }
            set = merged;
        }
        match set.len() {
            0 => Self::Bottom,
            1 => Self::One(set[0]),
            2..=MAX_ELEMENTS => Self::Many(set.into_boxed_slice()),
            _ => Self::Top,
        }
    }

    /// Makes this the least upper bound of both; true if that changed it.
    pub(super) fn join(&mut self, other: &Self) -> bool {
        let joined = match (&*self, other) {
            (Self::Top, _) | (_, Self::Bottom) => return false,
            (_, Self::Top) => Self::Top,
            (Self::Bottom, _) => other.clone(),
            (Self::One(a), Self::One(b)) if a == b => return false,
            (Self::One(a), Self::One(b)) if a.sort_key() == b.sort_key() => {
                let mut merged = *a;
                merged.merge(b);
                Self::One(merged)
            }
            _ => Self::from_elements(self.elements().iter().chain(other.elements()).copied()),
        };
        let changed = joined != *self;
        *self = joined;
        changed
    }

    /// Each element changed by `change`.
    #[must_use]
    pub(super) fn map(&self, mut change: impl FnMut(&Element) -> Element) -> Self {
        match self {
            Self::One(element) => Self::One(change(element)),
            Self::Many(elements) => Self::from_elements(elements.iter().map(change)),
            other => other.clone(),
        }
    }

    /// True for an integer that is not an address.
    #[must_use]
    pub(super) fn is_number(&self) -> bool {
        matches!(self, Self::One(element) if element.kind == ElementKind::Number)
    }

    /// The value of a number, where it is constant.
    #[must_use]
    pub(super) fn constant(&self) -> Option<i64> {
        match self {
            Self::One(element) if element.kind == ElementKind::Number => element.offset,
            _ => None,
        }
    }
}

fn insert(set: &mut Vec<Element>, element: Element) {
    match set.binary_search_by_key(&element.sort_key(), Element::sort_key) {
        Ok(place) => set[place].merge(&element),
        Err(place) => set.insert(place, element),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointer_to_symbol(number: usize, offset: Option<i64>) -> Provenance {
        let origin = InstructionId::new(number);
        Provenance::One(Element {
            offset,
            ..Element::of_address(
                ElementKind::Raw,
                Space::Shared,
                Base::Symbol(SymbolId::new(number)),
                origin,
            )
        })
    }

    #[test]
    fn joins_lose_different_offsets() {
        let mut value = pointer_to_symbol(1, Some(0));
        assert!(!value.join(&pointer_to_symbol(1, Some(0))));
        assert!(value.join(&pointer_to_symbol(1, Some(4))));
        assert_eq!(value, pointer_to_symbol(1, None));
        assert!(!value.join(&pointer_to_symbol(1, Some(8))));
    }

    #[test]
    fn joins_of_many_objects_lose_only_their_names() {
        let mut value = Provenance::Bottom;
        for number in 0..20 {
            value.join(&pointer_to_symbol(number, Some(0)));
        }
        assert!((1..=MAX_ELEMENTS).contains(&value.elements().len()));
        assert_eq!(value.elements()[0].base, Base::Unknown);
        assert!(
            value
                .elements()
                .iter()
                .all(|element| element.space == Space::Shared)
        );
        value.join(&Provenance::Top);
        assert_eq!(value, Provenance::Top);
    }
}
