//! Sums of unknown values, each with a factor.

use rustc_hash::FxHashMap;

use crate::limits::MAX_SUM_ATOMS;
use ptxcheck_ir::{Register, Special, SymbolId};

/// An unknown value. Two equal atoms hold the same value, if their registers are not written again in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Atom {
    /// The address of a variable.
    Symbol(SymbolId),
    /// The address of the parameter with this index.
    ParamAddress(u16),
    /// A piece of a parameter: the parameter's number, the offset in bytes, the bits that are loaded, and whether the sign extends them.
    Param(u16, i32, u8, bool),
    /// The value of a special register.
    Special(Special),
    /// The value that the only definition of a register gives it.
    Register(Register),
    /// The product of two sums, each of parts and a number.
    Product([(Parts, u64); 2]),
}

/// Atoms with their factors, none of which is 0, in order.
pub(crate) type Terms = Vec<(Atom, i64)>;

/// The sum of one list and a multiple of another; `None` if it has too many atoms, or a factor does not fit in 64 bits.
pub(crate) fn sum_with_multiple(one: &[(Atom, i64)], other: &[(Atom, i64)], factor: i64) -> Option<Terms> {
    let mut sum = one.to_vec();
    for &(atom, by) in other {
        let by = by.checked_mul(factor)?;
        match sum.binary_search_by_key(&atom, |(known, _)| *known) {
            Ok(at) => sum[at].1 = sum[at].1.checked_add(by)?,
            Err(at) => sum.insert(at, (atom, by)),
        }
    }
    sum.retain(|&(_, factor)| factor != 0);
    (sum.len() <= MAX_SUM_ATOMS).then_some(sum)
}

/// A sum of atoms: its index in a [`Table`]. Equal sums of one table have one index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Parts(u32);

impl Parts {
    /// No atom.
    pub(crate) const NONE: Self = Self(0);
}

/// All sums of atoms that an evaluation has produced.
#[derive(Debug)]
pub(crate) struct Table {
    all: Vec<Terms>,
    numbers: FxHashMap<Terms, Parts>,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            all: vec![Terms::new()],
            numbers: FxHashMap::from_iter([(Terms::new(), Parts::NONE)]),
        }
    }
}

impl Table {
    /// The atoms of a sum.
    pub(crate) fn terms_of(&self, parts: Parts) -> &[(Atom, i64)] {
        &self.all[parts.0 as usize]
    }

    /// The sum that consists of one atom.
    pub(crate) fn parts_of_atom(&mut self, atom: Atom) -> Parts {
        self.intern_terms(vec![(atom, 1)])
    }

    /// The sum of one list and a multiple of another.
    pub(crate) fn sum_with_multiple(&mut self, one: Parts, other: Parts, factor: i64) -> Option<Parts> {
        if other == Parts::NONE || factor == 0 {
            return Some(one);
        }
        if one == Parts::NONE && factor == 1 {
            return Some(other);
        }
        let sum = sum_with_multiple(self.terms_of(one), self.terms_of(other), factor)?;
        Some(self.intern_terms(sum))
    }

    fn intern_terms(&mut self, terms: Terms) -> Parts {
        if let Some(&known) = self.numbers.get(&terms) {
            return known;
        }
        let number = Parts(self.all.len() as u32);
        self.all.push(terms.clone());
        self.numbers.insert(terms, number);
        number
    }
}
