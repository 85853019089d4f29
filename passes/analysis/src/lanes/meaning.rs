//! Meanings of values: how the value of a lane is computed, so that two unknown values can be compared.
//!
//! ```text
//! Result(i)          the result of instruction i
//! Among(v, s)        the predicate that v is one of the numbers s             Order(c, v, w)   v c w, of two values
//! Plus(v, k)         v + k
//! Not(v), Both       of predicates, and of masks bit by bit; a complement at a given width
//! Number(p)          1 where p holds, and else 0
//! Ballot(p)          the lanes in which p holds
//! Shifted(m), Own(m) m shifted right by the lane index; the bit of the lane alone
//! OwnBit(m)          the predicate that m names the lane
//! Threads(s)         a sum of products of the thread's coordinates and the sides of its block
//! ```
//!
//! Two values of one lane with the same name are equal as long as no instruction that they come from has been executed again
//! between them. A value loses a name that comes from within a loop when it passes to the next round of the loop (see
//! [`Meanings::is_computed_in_loop`]). A value that reaches a place without such a step comes from the last execution of each instruction:
//! otherwise a cycle would lead through a loop that holds both.

use rustc_hash::FxHashMap;

use super::numbers::Numbers;
use crate::limits::{MAX_MEANING_DEPTH, MAX_MEANING_LOOPS, MAX_MEANING_TERMS};
use ptxcheck_ir::evaluate::ones;
use ptxcheck_ir::{Condition, Logic, Special};

/// Number of a meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Name(u32);

impl Name {
    /// The name of a value whose meaning is not followed.
    pub(super) const NONE: Self = Self(0);
}

/// The innermost loop around an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Around {
    /// There is none.
    Nothing,
    Loop(u32),
    /// The innermost loop is not known.
    Unknown,
}

/// One meaning: see the module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Meaning {
    Result((u64, u64)),
    /// A value of this many bits is one of these numbers.
    Among(Name, u8, Numbers),
    Plus(Name, u8, u64),
    Order(Condition, u8, Name, Name),
    Not(Name, u8),
    Both(Logic, Name, Name),
    Number(Name),
    Ballot(Name),
    /// The upper bits are copies of the sign, or zeros.
    Shifted(Name, bool),
    Own(Name),
    OwnBit(Name),
    Threads(Terms),
}

/// Products, given by their exponents, each with its coefficient.
pub(super) type Terms = Vec<(Exponents, u32)>;

/// The exponent of each of `%tid.x`, `.y`, `.z` and `%ntid.x`, `.y`, `.z`.
pub(super) type Exponents = [u8; 6];

/// The meanings of one kernel's values.
pub(super) struct Meanings {
    all: Vec<Entry>,
    names: FxHashMap<Meaning, Name>,
    /// The thread number in the block, if the kernel reads more than `%tid.x` of it.
    rank: Option<Terms>,
}

struct Entry {
    meaning: Meaning,
    /// The innermost loops of the instructions that it comes from.
    loops: Vec<u32>,
}

impl Meanings {
    /// No meanings so far. `reads`: the kernel reads `%tid.y` and `%tid.z`.
    pub(super) fn new(reads: [bool; 2]) -> Self {
        // x + nx·(y + ny·z), without the dimensions that the kernel does not read: its blocks are assumed not to have them.
        let x = ([1, 0, 0, 0, 0, 0], 1);
        let y = ([0, 1, 0, 1, 0, 0], 1);
        let z = ([0, 0, 1, 1, 1, 0], 1);
        let rank = match reads {
            [true, true] => Some(vec![z, y, x]),
            [true, false] => Some(vec![y, x]),
            _ => None,
        };
        let nothing = Entry {
            meaning: Meaning::Result((0, 0)),
            loops: Vec::new(),
        };
        Self {
            all: vec![nothing],
            names: FxHashMap::default(),
            rank: rank.map(sorted_terms),
        }
    }

    pub(super) fn meaning_of(&self, name: Name) -> &Meaning {
        &self.all[name.0 as usize].meaning
    }

    /// True if a value comes from an instruction in one of the loops for which `is_inside` holds.
    pub(super) fn is_computed_in_loop(&self, name: Name, is_inside: impl Fn(u32) -> bool) -> bool {
        self.all[name.0 as usize].loops.iter().any(|&of| is_inside(of))
    }

    /// True if the thread number is followed.
    pub(super) fn follows_thread_rank(&self) -> bool {
        self.rank.is_some()
    }

    /// True if a value is the thread number in its block.
    pub(super) fn is_thread_rank(&self, name: Name) -> bool {
        match self.meaning_of(name) {
            Meaning::Threads(terms) => self.rank.as_ref() == Some(terms),
            _ => false,
        }
    }

    /// The name of the result of an instruction with no further known meaning.
    pub(super) fn result_name(&mut self, key: (u64, u64), around: Around) -> Name {
        let loops = match around {
            Around::Nothing => Vec::new(),
            Around::Loop(of) => vec![of],
            Around::Unknown => return Name::NONE,
        };
        self.intern(Meaning::Result(key), loops)
    }

    /// The name of a value that is the same at every read.
    pub(super) fn readonly_value_name(&mut self, key: (u64, u64)) -> Name {
        self.intern(Meaning::Result(key), Vec::new())
    }

    /// The name of a coordinate or a side, if the thread number is followed.
    pub(super) fn special_register_name(&mut self, special: Special) -> Name {
        let mut exponents = [0; 6];
        match special {
            Special::Tid(dimension @ 0..=2) => exponents[usize::from(dimension)] = 1,
            Special::Ntid(dimension @ 0..=2) => exponents[3 + usize::from(dimension)] = 1,
            _ => return Name::NONE,
        }
        match self.rank {
            Some(_) => self.intern(Meaning::Threads(vec![(exponents, 1)]), Vec::new()),
            None => Name::NONE,
        }
    }

    /// The complement of a predicate.
    pub(super) fn negation_of(&mut self, predicate: Name) -> Name {
        self.complement_of(predicate, 1)
    }

    /// The complement at this width.
    pub(super) fn complement_of(&mut self, name: Name, bits: u8) -> Name {
        match *self.meaning_of(name) {
            _ if name == Name::NONE => name,
            Meaning::Not(of, width) if width == bits => of,
            Meaning::Among(value, width, ref numbers) if bits == 1 => {
                let others = numbers.complement(width);
                self.composed_name(Meaning::Among(value, width, others), [value])
            }
            _ => {
                let loops = self.innermost_loops([name]);
                self.intern(Meaning::Not(name, bits), loops)
            }
        }
    }

    pub(super) fn intern(&mut self, meaning: Meaning, loops: Vec<u32>) -> Name {
        if let Some(&known) = self.names.get(&meaning) {
            return known;
        }
        if loops.len() > MAX_MEANING_LOOPS {
            return Name::NONE;
        }
        let name = Name(self.all.len() as u32);
        self.names.insert(meaning.clone(), name);
        self.all.push(Entry { meaning, loops });
        name
    }

    /// The innermost loops of the instructions that values come from.
    fn innermost_loops<const N: usize>(&self, names: [Name; N]) -> Vec<u32> {
        let all = names.iter().flat_map(|name| &self.all[name.0 as usize].loops);
        let mut all: Vec<u32> = all.copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The name of a meaning that is composed of others.
    pub(super) fn composed_name<const N: usize>(&mut self, meaning: Meaning, from: [Name; N]) -> Name {
        let loops = self.innermost_loops(from);
        self.intern(meaning, loops)
    }

    pub(super) fn logic_predicate(&mut self, logic: Logic, a: Name, b: Name) -> Name {
        let (a, b) = (a.min(b), a.max(b));
        self.composed_name(Meaning::Both(logic, a, b), [a, b])
    }

    /// The predicate that a mask names the lane.
    pub(super) fn predicate_that_mask_names_lane(&mut self, mask: Name) -> Name {
        match *self.meaning_of(mask) {
            Meaning::Ballot(predicate) => predicate,
            _ => self.composed_name(Meaning::OwnBit(mask), [mask]),
        }
    }

    /// The predicate that a value is one of these numbers of `bits` bits.
    pub(super) fn membership_predicate(&mut self, value: Name, bits: u8, numbers: Numbers) -> Name {
        match *self.meaning_of(value) {
            Meaning::Plus(of, width, by) if width == bits => {
                let before = numbers.numbers_before_adding(by, bits);
                self.composed_name(Meaning::Among(of, bits, before), [of])
            }
            _ => self.composed_name(Meaning::Among(value, bits, numbers), [value]),
        }
    }

    /// The sum of a value and a number at this width.
    pub(super) fn sum_with_constant(&mut self, value: Name, bits: u8, by: u64) -> Name {
        match *self.meaning_of(value) {
            Meaning::Plus(of, width, first) if width == bits => {
                let by = first.wrapping_add(by) & ones(bits);
                self.composed_name(Meaning::Plus(of, bits, by), [of])
            }
            _ => self.composed_name(Meaning::Plus(value, bits, by), [value]),
        }
    }

    /// The name of the outcome of a comparison. Equivalent comparisons have the same name.
    pub(super) fn ordering_predicate(
        &mut self,
        condition: Condition,
        bits: u8,
        a: Name,
        b: Name,
    ) -> Option<Name> {
        use Condition as C;
        let (condition, is_not) = match condition {
            C::NotEqual => (C::Equal, true),
            C::GreaterEqualSigned => (C::LessSigned, true),
            C::GreaterEqualUnsigned => (C::LessUnsigned, true),
            C::GreaterSigned | C::GreaterUnsigned | C::LessEqualSigned | C::LessEqualUnsigned => {
                return self.ordering_predicate(swapped_condition(condition), bits, b, a);
            }
            of => (of, false),
        };
        let (a, b) = if condition == C::Equal {
            (a.min(b), a.max(b))
        } else {
            (a, b)
        };
        let order = self.composed_name(Meaning::Order(condition, bits, a, b), [a, b]);
        Some(if is_not { self.negation_of(order) } else { order })
    }

    /// A sum at this width, if it certainly does not overflow.
    pub(super) fn coordinate_sum_name(&mut self, bits: u8, terms: Option<Terms>) -> Option<Name> {
        // Coordinates and sides are at most 2^10.
        let most = |(exponents, factor): &(Exponents, u32)| {
            let degree: u32 = exponents.iter().map(|&exponent| u32::from(exponent)).sum();
            1_u64
                .checked_shl(10 * degree.min(6))
                .map_or(u64::MAX, |most| most.saturating_mul(u64::from(*factor)))
        };
        let fits = |terms: &Terms| terms.iter().map(most).fold(0, u64::saturating_add) <= u64::from(u32::MAX);
        let terms = terms.filter(|terms| bits >= 32 && !terms.is_empty() && fits(terms))?;
        Some(self.intern(Meaning::Threads(sorted_terms(terms)), Vec::new()))
    }

    /// The outcome of a predicate in a lane, if it is certain.
    fn predicate_outcome_within_depth(
        &self,
        name: Name,
        known: &impl Fn(Name) -> Option<bool>,
        depth: usize,
    ) -> Option<bool> {
        if depth > MAX_MEANING_DEPTH || name == Name::NONE {
            return None;
        }
        if let Some(known) = known(name) {
            return Some(known);
        }
        let part = |name: Name| self.predicate_outcome_within_depth(name, known, depth + 1);
        match *self.meaning_of(name) {
            Meaning::Not(of, _) => part(of).map(|holds| !holds),
            Meaning::Number(of) => part(of),
            Meaning::OwnBit(mask) => self.names_lane_within_depth(mask, known, depth + 1),
            Meaning::Both(logic, a, b) => logic_outcome(logic, part(a), part(b)),
            _ => None,
        }
    }

    /// True if it may be known which of the lanes that hold a mask the mask names.
    pub(super) fn may_name_lanes(&self, mask: Name) -> bool {
        let is_asked = self.names.contains_key(&Meaning::OwnBit(mask));
        is_asked
            || matches!(
                self.meaning_of(mask),
                Meaning::Ballot(_) | Meaning::Not(..) | Meaning::Own(_) | Meaning::Both(..)
            )
    }

    /// True if a mask certainly names the lane that holds it, false if it certainly does not. `known`: the known outcomes of
    /// predicates.
    pub(super) fn names_lane(&self, mask: Name, known: &impl Fn(Name) -> Option<bool>) -> Option<bool> {
        self.names_lane_within_depth(mask, known, 0)
    }

    fn names_lane_within_depth(
        &self,
        mask: Name,
        known: &impl Fn(Name) -> Option<bool>,
        depth: usize,
    ) -> Option<bool> {
        if depth > MAX_MEANING_DEPTH || mask == Name::NONE {
            return None;
        }
        let part = |name: Name| self.names_lane_within_depth(name, known, depth + 1);
        match *self.meaning_of(mask) {
            Meaning::Ballot(predicate) => self.predicate_outcome_within_depth(predicate, known, depth + 1),
            Meaning::Not(of, 32) => part(of).map(|names| !names),
            Meaning::Own(of) => part(of),
            Meaning::Both(logic, a, b) => logic_outcome(logic, part(a), part(b)),
            _ => {
                let own = self.names.get(&Meaning::OwnBit(mask));
                own.and_then(|&own| known(own))
            }
        }
    }
}

fn logic_outcome(logic: Logic, a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match logic {
        Logic::And if a == Some(false) || b == Some(false) => Some(false),
        Logic::Or if a == Some(true) || b == Some(true) => Some(true),
        Logic::None => a,
        _ => a.zip(b).map(|(a, b)| match logic {
            Logic::And => a & b,
            Logic::Or => a | b,
            _ => a ^ b,
        }),
    }
}

/// The condition that is equivalent after the operands are swapped.
pub(super) const fn swapped_condition(condition: Condition) -> Condition {
    use Condition as C;
    match condition {
        C::LessSigned => C::GreaterSigned,
        C::LessEqualSigned => C::GreaterEqualSigned,
        C::GreaterSigned => C::LessSigned,
        C::GreaterEqualSigned => C::LessEqualSigned,
        C::LessUnsigned => C::GreaterUnsigned,
        C::LessEqualUnsigned => C::GreaterEqualUnsigned,
        C::GreaterUnsigned => C::LessUnsigned,
        C::GreaterEqualUnsigned => C::LessEqualUnsigned,
        C::Equal => C::Equal,
        C::NotEqual => C::NotEqual,
    }
}

fn sorted_terms(mut terms: Terms) -> Terms {
    terms.sort_unstable();
    terms
}

pub(super) fn sum_of_terms(mut a: Terms, b: &Terms) -> Option<Terms> {
    for &(exponents, factor) in b {
        match a.iter_mut().find(|term| term.0 == exponents) {
            Some(term) => term.1 = term.1.checked_add(factor)?,
            None => a.push((exponents, factor)),
        }
    }
    (a.len() <= MAX_MEANING_TERMS).then_some(a)
}

pub(super) fn product_of_terms(a: &Terms, b: &Terms) -> Option<Terms> {
    let mut product = Vec::new();
    for (of_a, x) in a {
        for (of_b, y) in b {
            let exponents = std::array::from_fn(|place| of_a[place].saturating_add(of_b[place]));
            product = sum_of_terms(product, &vec![(exponents, x.checked_mul(*y)?)])?;
        }
    }
    Some(product)
}
