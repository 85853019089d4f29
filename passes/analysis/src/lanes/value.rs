//! Abstract value of a register: one element for each of the 32 lanes of a warp.
//!
//! ```text
//! a lane is exact      its value is bits[l]
//! else, by the common part of the remaining lanes
//!   Uniform(u)         its value is U + bits[l]; U is one value for all such lanes, unknown, a multiple of 2^low
//!   Active(i)          the result of the `activemask` with this index; nothing else is known
//!   Varying            its value is bits[l] modulo 2^low
//! and, in all three cases, a lane that is not exact has the bits of `known`, and lies between `least` and `limit`
//!
//! order   exact < Uniform < Varying per lane, low falling; ⊤ is Varying with low = 0
//! join    of the states along two edges, lane by lane: see [`Pool::join`]
//! ```
//!
//! `UniformBranches` relates lanes of one warp that are at a point together. Facts about a single lane (exact values, bits, limits)
//! never depend on it: definite findings are based only on facts about single lanes.
//!
//! Vectors are interned: equal vectors have equal ids, and a state of a thousand registers is a thousand words.

use std::hash::BuildHasher;
use std::rc::Rc;

use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::meaning::{Meanings, Name};
use crate::value::Bits;
use ptxcheck_ir::evaluate::ones;

/// A set of lanes, one bit each.
pub type Lanes = u32;

/// All lanes of a warp.
pub(super) const ALL: Lanes = u32::MAX;

/// Lanes of a warp.
pub(super) const WARP: usize = ptxcheck_ir::WARP as usize;

/// The lanes in a set.
pub(super) fn lanes_in_set(mut set: Lanes) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = set.trailing_zeros();
        set &= set.wrapping_sub(1);
        (lane < u32::BITS).then_some(lane as usize)
    })
}

/// Bits that a number needs.
fn bit_width(number: u64) -> u8 {
    (u64::BITS - number.leading_zeros()) as u8
}

/// The set of these lanes.
pub(super) fn lane_set(lanes: impl Iterator<Item = usize>) -> Lanes {
    lanes.fold(0, |set, lane| set | 1 << lane)
}

/// Knowledge of the lanes that are not exact, beyond their low bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Rest {
    /// They share one unknown value; equal numbers mean the same one.
    Uniform(u32),
    /// The result of an `activemask`.
    Active(u32),
    /// The value may be anything, and may differ from lane to lane.
    Varying,
}

/// Known bits of a value in each lane, where not all of them are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LaneBits {
    /// All lanes have these known bits.
    Same(Bits),
    /// The known bits of each lane.
    ByLane(Rc<[Bits; WARP]>),
}

impl LaneBits {
    /// No bit is known in any lane.
    pub(super) const NONE: Self = Self::Same(Bits::UNKNOWN);

    pub(super) fn bits_in_lane(&self, lane: usize) -> Bits {
        match self {
            Self::Same(bits) => *bits,
            Self::ByLane(all) => all[lane],
        }
    }

    /// The bits that all lanes share, for the hash.
    pub(super) fn common_bits(&self) -> Bits {
        match self {
            Self::Same(bits) => *bits,
            Self::ByLane(all) => all[0],
        }
    }
}

/// A value in each lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Vector {
    /// The lanes whose value is known.
    pub exact: Lanes,
    /// Number of known low bits of the other lanes; where they share one value, the power of two that divides their unknown
    /// part.
    pub low: u8,
    /// Further knowledge of the other lanes.
    pub rest: Rest,
    /// They would be exact if the index of the warp were known.
    pub warp: bool,
    /// The meaning of the value, of all of its lanes.
    pub name: Name,
    /// The other lanes hold no more than this, as unsigned numbers.
    pub limit: u64,
    /// Known bits of the other lanes that neither `low` nor `limit` imply.
    pub known: LaneBits,
    /// The other lanes hold no less than this, as unsigned numbers.
    pub least: u64,
    /// Value, offset or low bits by lane: see the module.
    pub bits: [u64; WARP],
}

/// Four of the lanes distinguish most vectors.
impl std::hash::Hash for Vector {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (
            self.exact,
            self.low,
            self.rest,
            self.limit,
            self.known.common_bits(),
            self.name,
        )
            .hash(state);
        [0, 1, 16, 31].map(|lane: usize| self.bits[lane]).hash(state);
    }
}

impl Vector {
    /// Nothing known.
    pub(crate) const UNKNOWN: Self = Self {
        exact: 0,
        low: 0,
        rest: Rest::Varying,
        warp: false,
        name: Name::NONE,
        limit: u64::MAX,
        known: LaneBits::NONE,
        least: 0,
        bits: [0; WARP],
    };

    /// Known in all lanes.
    #[must_use]
    pub(crate) fn of_exact(bits: [u64; WARP]) -> Self {
        Self {
            exact: ALL,
            bits,
            ..Self::UNKNOWN
        }
    }

    /// One unknown value for all lanes, a multiple of 2^`low`, plus the offsets `bits`.
    #[must_use]
    pub(crate) fn of_unknown_uniform(number: u32, low: u8, bits: [u64; WARP]) -> Self {
        Self {
            rest: Rest::Uniform(number),
            low,
            bits,
            ..Self::UNKNOWN
        }
    }

    /// The same value, known to be a set of lanes among `all`.
    #[must_use]
    pub(crate) fn restricted_to_lane_set(self, all: Lanes) -> Self {
        let mut set = Self {
            limit: u64::from(all),
            ..self
        };
        set.set_known_bits(!set.exact, |_| Bits::within_mask(u64::from(all)));
        set
    }

    /// The bits that are known in a lane.
    #[must_use]
    pub(super) fn bits_of(&self, lane: usize) -> Bits {
        if self.exact >> lane & 1 == 1 {
            return Bits::of_number(self.bits[lane]);
        }
        let (low, bits) = (ones(self.low), self.bits[lane]);
        let told = Bits {
            zeros: low & !bits | !ones(bit_width(self.limit)),
            ones: low & bits,
        };
        told.refined_with(self.known.bits_in_lane(lane))
    }

    /// Stores the known bits of these lanes, which are not exact, after the low bits and the limit are final.
    pub(super) fn set_known_bits(&mut self, open: Lanes, bits: impl Fn(usize) -> Bits) {
        let told = (ones(self.low), ones(bit_width(self.limit)));
        let new = |lane: usize| {
            let Bits { zeros, ones } = bits(lane);
            Bits {
                zeros: zeros & !told.0 & told.1,
                ones: ones & !told.0 & told.1,
            }
        };
        let mut of_open = lanes_in_set(open).map(new);
        let first = of_open.next().unwrap_or_default();
        self.known = if of_open.all(|other| other == first) {
            LaneBits::Same(first)
        } else {
            let mut all = [Bits::UNKNOWN; WARP];
            lanes_in_set(open).for_each(|lane| all[lane] = new(lane));
            LaneBits::ByLane(Rc::new(all))
        };
    }

    /// The lanes that a set may contain, in the lanes of `here`.
    #[must_use]
    pub(crate) fn lanes_named_at_most(&self, here: Lanes) -> Lanes {
        self.bits_possibly_set(here) as Lanes
    }

    /// The bits that it may have in the lanes of `here`.
    #[must_use]
    pub(crate) fn bits_possibly_set(&self, here: Lanes) -> u64 {
        lanes_in_set(here).fold(0, |all, lane| all | !self.bits_of(lane).zeros)
    }

    /// The least number that it may be in the lanes of `here`, unsigned.
    #[must_use]
    pub(crate) fn lower_bound(&self, here: Lanes) -> u64 {
        let rest = if here & !self.exact == 0 {
            u64::MAX
        } else {
            self.least
        };
        lanes_in_set(here & self.exact).fold(rest, |least, lane| least.min(self.bits[lane]))
    }

    /// The greatest number that it may be in the lanes of `here`, unsigned.
    #[must_use]
    pub(crate) fn upper_bound(&self, here: Lanes) -> u64 {
        let rest = if here & !self.exact == 0 { 0 } else { self.limit };
        lanes_in_set(here & self.exact).fold(rest, |most, lane| most.max(self.bits[lane]))
    }

    /// The lanes in which it is not known, but certainly does not have the bit of that lane.
    #[must_use]
    pub(crate) fn without_own_bit(&self, here: Lanes) -> Lanes {
        let unknown = lanes_in_set(here & !self.exact);
        lane_set(unknown.filter(|&lane| self.bits_of(lane).zeros >> lane & 1 == 1))
    }

    /// The value in a lane, if it is known.
    #[must_use]
    pub(crate) fn value_in_lane(&self, lane: usize) -> Option<u64> {
        (self.exact >> lane & 1 == 1).then(|| self.bits[lane])
    }

    /// The number of known low bits in a lane, and those bits.
    #[must_use]
    pub(crate) fn low_bits(&self, lane: usize) -> (u8, u64) {
        if self.exact >> lane & 1 == 1 {
            (64, self.bits[lane])
        } else {
            (self.low, self.bits[lane] & ones(self.low))
        }
    }

    /// Reduces offsets below 2^low by moving the bits above into the unknown part, which then is `number`. False if that
    /// part is not the same in all inexact lanes of `among`.
    fn reduce_to_normal_form(&self, among: Lanes) -> bool {
        lanes_in_set(among & !self.exact).all(|lane| self.bits[lane] <= ones(self.low))
    }

    /// The same value with offsets in 0..2^low, if it has that form; `number` names the unknown part if it changes.
    #[must_use]
    pub(crate) fn normalized(&self, number: u32, among: Lanes) -> Option<Self> {
        if !matches!(self.rest, Rest::Uniform(_)) {
            return None;
        }
        if self.reduce_to_normal_form(among) {
            return Some(self.clone());
        }
        let mut above = lanes_in_set(among & !self.exact).map(|lane| self.bits[lane] & !ones(self.low));
        let first = above.next()?;
        if above.any(|other| other != first) {
            return None;
        }
        let mut normal = self.clone();
        for lane in lanes_in_set(!self.exact) {
            normal.bits[lane] &= ones(self.low);
        }
        normal.rest = Rest::Uniform(number);
        Some(normal)
    }

    /// True if its lanes are indistinguishable: all are exact or none is, and the same is known of each.
    #[must_use]
    fn has_indistinguishable_lanes(&self) -> bool {
        matches!(self.exact, 0 | ALL)
            && matches!(self.known, LaneBits::Same(_))
            && self.bits.iter().all(|&bits| bits == self.bits[0])
    }

    /// Sets the lanes of `here` to the known facts of `lane`, and the others to 0 if that lane is not exact.
    pub(super) fn broadcast(&mut self, lane: usize, here: Lanes) {
        let bits = self.bits[lane];
        if self.exact >> lane & 1 == 1 {
            *self = Self::of_exact([bits; WARP]);
            return;
        }
        self.exact = 0;
        for (other, of) in self.bits.iter_mut().enumerate() {
            *of = if here >> other & 1 == 1 { bits } else { 0 };
        }
    }

    /// True if all lanes of `among` hold the same value: all exact and equal, or the same unknown plus equal offsets.
    #[must_use]
    pub(crate) fn is_uniform_among(&self, among: Lanes) -> bool {
        let exact = among & self.exact;
        if exact != among && (exact != 0 || !matches!(self.rest, Rest::Uniform(_))) {
            return false;
        }
        let mut all = lanes_in_set(among).map(|lane| self.bits[lane]);
        let first = all.next();
        all.all(|other| Some(other) == first)
    }
}

/// An interned vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ValueId(pub u32);

impl ValueId {
    /// Nothing known.
    pub(crate) const UNKNOWN: Self = Self(0);
    /// Not reached yet: the least element.
    pub(crate) const NONE: Self = Self(u32::MAX);
}

/// The vectors of one analysis.
pub(crate) struct Pool {
    vectors: Vec<Vector>,
    /// By vector: its lanes are indistinguishable (see [`Vector::has_indistinguishable_lanes`]).
    flat: Vec<bool>,
    /// By the hash of a vector, the last one with that hash, and by vector the one before.
    ids: FxHashMap<u64, ValueId>,
    earlier: Vec<ValueId>,
    splats: FxHashMap<u64, ValueId>,
    numbers: FxHashMap<(u64, u64), u32>,
    /// By predicate, its complement, once it has been asked for.
    pub(super) negated: FxHashMap<ValueId, ValueId>,
    /// Cache of [`super::transfer::apply_op`].
    pub(super) applied: FxHashMap<Applied, ValueId>,
    /// The meanings of values, where they are followed.
    pub(super) meanings: Option<Meanings>,
    /// Addresses are relative to the base address of their variable: sums and conversions between spaces keep track of the
    /// variable.
    pub(super) follows_addresses: bool,
    /// Value numbers of variable base addresses, where addresses are followed.
    pub(super) begins: FxHashSet<u32>,
    /// Those of them in shared memory.
    pub(super) shared_begins: FxHashSet<u32>,
    /// Numbers of the unknown values that are the same for all threads of a block, whenever they are computed, where
    /// addresses are followed: base addresses of variables that threads share, parameters of the kernel, the block index,
    /// and values computed from these and known values.
    pub(super) of_block: FxHashSet<u32>,
}

/// At most three uses of an operation, the lanes that execute it, and the key of its unknown value, which differs between
/// the operations of a kernel.
pub(super) type Applied = ([ValueId; 3], Lanes, (u64, u64));

impl Default for Pool {
    fn default() -> Self {
        let mut pool = Self {
            vectors: Vec::new(),
            flat: Vec::new(),
            ids: FxHashMap::default(),
            earlier: Vec::new(),
            splats: FxHashMap::default(),
            numbers: FxHashMap::default(),
            negated: FxHashMap::default(),
            applied: FxHashMap::default(),
            meanings: None,
            follows_addresses: false,
            begins: FxHashSet::default(),
            shared_begins: FxHashSet::default(),
            of_block: FxHashSet::default(),
        };
        pool.intern(Vector::UNKNOWN);
        pool
    }
}

impl Pool {
    /// Vectors so far.
    #[must_use]
    pub(crate) fn vector_count(&self) -> usize {
        self.vectors.len()
    }

    /// The vector with this id.
    #[must_use]
    pub(crate) fn get(&self, id: ValueId) -> &Vector {
        &self.vectors[id.0 as usize]
    }

    /// Interns a vector.
    pub(crate) fn intern(&mut self, mut vector: Vector) -> ValueId {
        if vector.exact == ALL {
            vector = Vector::of_exact(vector.bits);
        }
        let id = ValueId(self.vectors.len() as u32);
        let last = self
            .ids
            .entry(FxBuildHasher.hash_one(&vector))
            .or_insert(ValueId::NONE);
        let mut known = *last;
        while let Some(other) = self.vectors.get(known.0 as usize) {
            if *other == vector {
                return known;
            }
            known = self.earlier[known.0 as usize];
        }
        self.earlier.push(std::mem::replace(last, id));
        self.flat.push(vector.has_indistinguishable_lanes());
        self.vectors.push(vector);
        id
    }

    /// The same value with another name.
    pub(super) fn with_name(&mut self, id: ValueId, name: Name) -> ValueId {
        let vector = self.get(id);
        if vector.exact == ALL || vector.name == name {
            return id;
        }
        let mut named = vector.clone();
        named.name = name;
        self.intern(named)
    }

    /// True if the lanes of a vector are indistinguishable.
    #[must_use]
    pub(crate) fn has_indistinguishable_lanes(&self, id: ValueId) -> bool {
        self.flat[id.0 as usize]
    }

    /// The same value in all lanes.
    pub(crate) fn splat(&mut self, value: u64) -> ValueId {
        if let Some(&known) = self.splats.get(&value) {
            return known;
        }
        let id = self.intern(Vector::of_exact([value; WARP]));
        self.splats.insert(value, id);
        id
    }

    /// The number of the unknown value that `key` makes: one number for each pair.
    pub(crate) fn number_of_unknown(&mut self, key: (u64, u64)) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(key).or_insert(next)
    }

    /// Marks an unknown value as one that is the same for all threads of a block ([`Self::of_block`]).
    pub(super) fn mark_block_uniform(&mut self, id: ValueId) {
        if let Rest::Uniform(number) = self.get(id).rest
            && self.follows_addresses
        {
            self.of_block.insert(number);
        }
    }

    /// True if the lanes of `among` hold known values, or values that are the same for all threads of a block.
    pub(super) fn is_block_uniform(&self, id: ValueId, among: Lanes) -> bool {
        let vector = self.get(id);
        among & !vector.exact == 0
            || matches!(vector.rest, Rest::Uniform(number) if self.of_block.contains(&number))
    }

    /// An unknown value that is the same in all lanes.
    pub(crate) fn unknown_uniform(&mut self, key: (u64, u64), low: u8) -> ValueId {
        let number = self.number_of_unknown(key);
        self.intern(Vector::of_unknown_uniform(number, low, [0; WARP]))
    }

    /// The join of `a`, which arrives with the lanes `from_a`, and `b` with `from_b`; `key` names the unknown value that
    /// results where lanes meet.
    pub(crate) fn join(
        &mut self,
        (a, from_a): (ValueId, Lanes),
        (b, from_b): (ValueId, Lanes),
        way: Way,
        key: (u64, u64),
    ) -> ValueId {
        if a == b || b == ValueId::NONE || from_b == 0 {
            return a;
        }
        if a == ValueId::NONE || from_a == 0 {
            return b;
        }
        let number = self.number_of_unknown(key);
        let mut joined = Vector::UNKNOWN;
        if from_a == from_b && self.has_indistinguishable_lanes(a) && self.has_indistinguishable_lanes(b) {
            let lane = from_a.trailing_zeros();
            let one = 1 << lane;
            self.join_vectors((a, one), (b, one), way, number, &mut joined);
            joined.broadcast(lane as usize, from_a);
        } else {
            self.join_vectors((a, from_a), (b, from_b), way, number, &mut joined);
        }
        self.intern(joined)
    }

    /// The join of two vectors, each with at least one lane. `number` names the unknown value that may result.
    fn join_vectors(
        &self,
        (a, from_a): (ValueId, Lanes),
        (b, from_b): (ValueId, Lanes),
        way: Way,
        number: u32,
        joined: &mut Vector,
    ) {
        let (a, b) = (self.get(a), self.get(b));
        let mut low = 64;
        let (mut same, mut shifted) = (None, None);
        let (mut is_same, mut is_shifted) = (true, way.together);
        for lane in lanes_in_set(from_a | from_b) {
            let (in_a, in_b) = (from_a >> lane & 1 == 1, from_b >> lane & 1 == 1);
            match (
                a.value_in_lane(lane).filter(|_| in_a),
                b.value_in_lane(lane).filter(|_| in_b),
            ) {
                (Some(x), None) if !in_b => joined.set_in_lane(lane, x),
                (None, Some(y)) if !in_a => joined.set_in_lane(lane, y),
                (Some(x), Some(y)) if x == y => joined.set_in_lane(lane, x),
                _ => {
                    let (low_a, bits_a) = if in_a { a.low_bits(lane) } else { b.low_bits(lane) };
                    let (low_b, bits_b) = if in_b { b.low_bits(lane) } else { a.low_bits(lane) };
                    let shared = (bits_a ^ bits_b).trailing_zeros().min(64) as u8;
                    low = low.min(low_a).min(low_b).min(shared);
                    let of = |vector: &Vector| match vector.rest {
                        Rest::Varying => None,
                        rest if vector.exact >> lane & 1 == 0 => Some((rest, vector.bits[lane])),
                        _ => None,
                    };
                    let (whence_a, whence_b) =
                        (if in_a { of(a) } else { of(b) }, if in_b { of(b) } else { of(a) });
                    is_same &= whence_a.is_some()
                        && whence_a == whence_b
                        && same.is_none_or(|rest| Some(rest) == whence_a.map(|w| w.0));
                    same = whence_a.map(|whence| whence.0);
                    let flat = |vector: &Vector| {
                        vector.exact >> lane & 1 == 1 || matches!(vector.rest, Rest::Uniform(_))
                    };
                    let apart = a.bits[lane].wrapping_sub(b.bits[lane]);
                    is_shifted &= flat(a) && flat(b) && shifted.is_none_or(|by| by == apart);
                    shifted = Some(apart);
                    joined.bits[lane] = if in_a { a.bits[lane] } else { b.bits[lane] };
                }
            }
        }
        joined.low = low;
        joined.warp = false;
        if a.name == b.name {
            joined.name = a.name;
        }
        let inexact = (from_a | from_b) & !joined.exact;
        if inexact == 0 {
            // The values of lanes that never arrive are arbitrary, so they may equal those that are there.
            let some = lanes_in_set(joined.exact)
                .next()
                .map_or(0, |lane| joined.bits[lane]);
            for lane in lanes_in_set(!joined.exact) {
                joined.bits[lane] = some;
            }
            joined.exact = ALL;
            return;
        }
        let most = a.upper_bound(from_a).max(b.upper_bound(from_b));
        joined.limit = match way.is_round {
            false => most,
            true if most <= a.limit => a.limit,
            true => u64::MAX,
        };
        // A lower bound that is halved round after round would take as many rounds as it has bits to settle.
        let least = (a.lower_bound(from_a), b.lower_bound(from_b));
        joined.least = if least.0 == least.1 { least.0 } else { 0 };
        match same {
            Some(rest) if is_same => joined.rest = rest,
            _ if is_shifted => {
                let shared = shifted.unwrap_or(0).trailing_zeros().min(64) as u8;
                joined.low = a
                    .alignment_of_unknown(from_a)
                    .min(b.alignment_of_unknown(from_b))
                    .min(shared);
                joined.rest = Rest::Uniform(number);
            }
            _ => {
                for lane in lanes_in_set(inexact) {
                    joined.bits[lane] &= ones(low);
                }
            }
        }
        for lane in lanes_in_set(!(from_a | from_b)) {
            joined.bits[lane] = 0;
        }
        let (mut of_a, mut of_b) = ([Bits::UNKNOWN; WARP], [Bits::UNKNOWN; WARP]);
        for lane in lanes_in_set(inexact) {
            (of_a[lane], of_b[lane]) = (a.bits_of(lane), b.bits_of(lane));
        }
        joined.set_known_bits(inexact, |lane| {
            let (in_a, in_b) = (from_a >> lane & 1 == 1, from_b >> lane & 1 == 1);
            match (in_a, in_b) {
                (true, true) if !way.is_round => of_a[lane].common_to_both(of_b[lane]),
                // If bits are lost one by one, round after round, the value takes as many rounds to settle.
                (true, true) if of_b[lane].knows_all_bits_of(of_a[lane]) => of_a[lane],
                (true, true) => Bits::UNKNOWN,
                (true, false) => of_a[lane],
                _ => of_b[lane],
            }
        });
    }
}

/// How two values are joined.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// The lanes of a warp arrive all along one edge or all along the other.
    pub together: bool,
    /// The second value is of another round of a loop.
    pub is_round: bool,
}

impl Vector {
    fn set_in_lane(&mut self, lane: usize, value: u64) {
        self.exact |= 1 << lane;
        self.bits[lane] = value;
    }

    /// The alignment of the unknown part, 64 if there is none in `among`.
    pub(super) fn alignment_of_unknown(&self, among: Lanes) -> u8 {
        if among & !self.exact == 0 { 64 } else { self.low }
    }
}
