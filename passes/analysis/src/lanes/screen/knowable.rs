//! Upper bound of the knowledge that the lane analysis can have of a value, as far as that can distinguish lanes.
//!
//! ```text
//! low      number of low bits that may be known: 0 if none, 64 if the value may be exact
//! bits     the value is below 2^bits
//! lane     the known part may differ from lane to lane
//! zeros    number of low bits that are certainly 0, and known to be
//! pattern  a pattern that the value certainly follows
//! is_set   it may be made from a set of lanes among others: the answer of an `activemask`, a ballot or a match
//! parts    some of its bits may be known that neither low nor bits describe
//! floor    it may be known to be at least a number of this many bits; 0: no such bound
//! ```
//!
//! The result of each operation covers everything that [`super::super::transfer`] can compute from operands within these
//! bounds. No transfer function depends on two unknown values being the same, so unknown values have no identity here.

mod arithmetic;
mod compare;

use ptxcheck_ir::evaluate::{evaluate, is_interpreted, ones};
use ptxcheck_ir::{BinaryOp, Class, Logic, Op, Special, UnaryOp, Value};

use self::arithmetic::bound_of_binary;
use self::compare::bound_of_comparison;
use super::super::transfer::MAX_USES;
use super::super::value::WARP;
use crate::launches::MAX_BLOCK_THREADS as MAX_THREADS;
use crate::value::may_give_known_bits;

/// Pattern that a value certainly follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Pattern {
    /// No pattern of the following is known.
    #[default]
    Any,
    /// If the value is exact, it is this number.
    Exactly(i64),
    /// If the value is exact, all of the low 32 bits are set.
    Full,
    /// tid.x, where the rows of CTAs are whole warps.
    Thread,
    /// The lane index in the low five bits, and above them a value that is the same in all lanes of a warp.
    Row,
    /// The low bits that are known are 0.
    Aligned,
}

impl Pattern {
    const fn aligned_if(is_aligned: bool) -> Self {
        if is_aligned { Self::Aligned } else { Self::Any }
    }
}

/// Upper bound of the knowledge of one value: see the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Knowable {
    /// Some definition has been examined.
    pub is_defined: bool,
    pub lane: bool,
    pub low: u8,
    pub bits: u8,
    pub zeros: u8,
    pub pattern: Pattern,
    pub is_set: bool,
    pub parts: bool,
    pub floor: u8,
}

/// [`Knowable::low`] of a value that may be exact.
pub(super) const EXACT: u8 = 64;

impl Knowable {
    /// Nothing is known.
    pub(super) const UNKNOWN: Self = Self::of_pattern(0, 64, Pattern::Any);
    /// May be a constant, the same in all lanes of a warp.
    pub(super) const CONSTANT: Self = Self::of_pattern(EXACT, 64, Pattern::Any);
    /// May be exact in each lane.
    pub(super) const LANE: Self = Self {
        lane: true,
        ..Self::CONSTANT
    };
    /// `%tid.x`
    pub(super) const THREAD: Self = Self {
        lane: true,
        ..Self::of_pattern(EXACT, THREAD_BITS, Pattern::Thread)
    };
    /// `%tid.x` in one warp.
    pub(super) const fn threads_of_warp(warp: u32) -> Self {
        let last = warp * WARP as u32 + (WARP as u32 - 1);
        Self {
            bits: (u32::BITS - last.leading_zeros()) as u8,
            pattern: Pattern::Row,
            ..Self::THREAD
        }
    }

    /// `%laneid`
    pub(super) const LANE_ID: Self = Self {
        bits: 5,
        ..Self::LANE
    };
    /// `%ntid.x`, a multiple of 32
    pub(super) const THREADS: Self = Self {
        zeros: ROW_BITS,
        floor: ROW_BITS + 1,
        ..Self::of_pattern(ROW_BITS, THREAD_BITS + 1, Pattern::Aligned)
    };
    /// `%ntid.y` and `%ntid.z`, no less than 1
    pub(super) const ROWS: Self = Self {
        floor: 1,
        ..Self::of_pattern(0, THREAD_BITS + 1, Pattern::Any)
    };
    /// `%tid.y` and `%tid.z`: 0 in warp 0, whose threads are in the first row
    pub(super) const ROW: Self = Self::of_pattern(EXACT, THREAD_BITS, Pattern::Exactly(0));

    pub(super) const fn of_pattern(low: u8, bits: u8, pattern: Pattern) -> Self {
        Self {
            is_defined: true,
            lane: false,
            low,
            bits,
            zeros: 0,
            pattern,
            is_set: false,
            parts: false,
            floor: 0,
        }
    }

    /// Bound of a set of lanes.
    pub(super) const SET: Self = Self {
        is_set: true,
        ..Self::of_pattern(0, WARP as u8, Pattern::Any)
    };

    /// Bound of a literal.
    pub(super) const fn of_integer(value: i64) -> Self {
        Self {
            zeros: value.trailing_zeros() as u8,
            ..Self::of_exact_number(value)
        }
    }

    /// Bound of a value that is this number if it is exact.
    const fn of_exact_number(value: i64) -> Self {
        let bits = 64 - (value as u64).leading_zeros() as u8;
        Self::of_pattern(EXACT, bits, Pattern::Exactly(value))
    }

    /// True if all of the low 32 bits are set if the value is exact.
    pub(super) const fn names_all_lanes(self) -> bool {
        match self.pattern {
            Pattern::Full => true,
            Pattern::Exactly(value) => value as u32 == u32::MAX,
            _ => false,
        }
    }

    /// True if, as a mask, it names all lanes whenever any of it is known.
    pub(super) const fn is_full_or_unknown(self) -> bool {
        self.names_all_lanes() && self.bits >= WARP as u8 && self.zeros == 0 && !self.parts
    }

    /// A number of whole rows, the same in all lanes of a warp.
    const fn is_whole_rows(self) -> bool {
        self.zeros >= ROW_BITS && self.low == EXACT && !self.lane
    }

    const fn is_zero(self) -> bool {
        matches!(self.pattern, Pattern::Exactly(0))
    }

    /// The low bits that are known are 0.
    const fn is_aligned(self) -> bool {
        matches!(self.pattern, Pattern::Aligned | Pattern::Exactly(0))
    }

    /// It is one certain number, if it is exact.
    pub(super) const fn is_literal(self) -> bool {
        matches!(self.pattern, Pattern::Exactly(_))
    }

    /// Bound of the complement of a predicate.
    pub(super) const fn complement(self) -> Self {
        let pattern = match self.pattern {
            Pattern::Exactly(value) => Pattern::Exactly((value & 1) ^ 1),
            _ => Pattern::Any,
        };
        Self {
            zeros: 0,
            pattern,
            ..self
        }
    }

    /// The floor of the value; that of a literal is the number of bits that it needs.
    const fn floor_bits(self) -> u8 {
        match self.pattern {
            Pattern::Exactly(value) if self.floor == 0 => 64 - (value as u64).leading_zeros() as u8,
            _ => self.floor,
        }
    }

    /// The floor of a value that is one or the other.
    const fn common_floor(self, other: Self) -> u8 {
        if self.floor_bits() == other.floor_bits() {
            self.floor_bits()
        } else {
            0
        }
    }

    /// The number of low bits that are 0 if they are known.
    const fn known_zero_bits(self) -> u8 {
        match self.pattern {
            Pattern::Exactly(value) => value.trailing_zeros() as u8,
            Pattern::Aligned => self.low,
            _ => 0,
        }
    }

    /// The operand as a literal, if it is one.
    const fn as_literal(self, value: Value) -> Value {
        match self.pattern {
            Pattern::Exactly(known) => Value::Integer(known),
            _ => value,
        }
    }

    /// The least bound that covers both: the value is one or the other.
    #[must_use]
    pub(super) fn join(self, other: Self) -> Self {
        if !self.is_defined {
            return other;
        }
        if !other.is_defined {
            return self;
        }
        let pattern = if self.pattern == other.pattern {
            self.pattern
        } else if self.is_aligned() && other.is_aligned() {
            Pattern::Aligned
        } else if (self.names_all_lanes() || self.low == 0) && (other.names_all_lanes() || other.low == 0) {
            Pattern::Full
        } else {
            Pattern::Any
        };
        let joined = Self {
            lane: self.lane || other.lane,
            low: max(self.low, other.low),
            pattern,
            ..self.range_of_either(other)
        };
        // As a mask, one of the two may contain more knowledge than both have in common.
        let tells =
            joined.bits <= WARP as u8 && (self.may_name_known_lanes() || other.may_name_known_lanes());
        Self {
            parts: joined.parts || tells && !joined.may_name_known_lanes(),
            ..joined
        }
    }

    /// Bound of the range of a value that is one or the other: low bits and pattern are those of `self`.
    const fn range_of_either(self, other: Self) -> Self {
        Self {
            bits: max(self.bits, other.bits),
            zeros: min(self.zeros, other.zeros),
            is_set: self.is_set || other.is_set,
            parts: self.parts || other.parts,
            floor: self.common_floor(other),
            ..self
        }
    }

    /// Bound of a value that is one or the other, where it is not known which: the knowledge that both share.
    #[must_use]
    pub(super) fn common_knowledge(self, other: Self) -> Self {
        if !self.is_defined {
            return other;
        }
        if !other.is_defined || self == other {
            return self;
        }
        let zeros = |value: i64| value.trailing_zeros().min(64) as u8;
        let mut parts = false;
        let (low, pattern) = match (self.pattern, other.pattern) {
            (Pattern::Exactly(x), Pattern::Exactly(y)) => {
                let low = zeros(x ^ y);
                parts = !(x ^ y) as u64 & ones(max(self.bits, other.bits)) & !ones(low) != 0;
                (low, Pattern::aligned_if(zeros(x) >= low))
            }
            // A value that is exact by lane may be that number in one lane.
            (Pattern::Exactly(x), Pattern::Aligned) if !other.may_be_exact() => {
                (min(zeros(x), other.low), Pattern::Aligned)
            }
            (Pattern::Aligned, Pattern::Exactly(y)) if !self.may_be_exact() => {
                (min(zeros(y), self.low), Pattern::Aligned)
            }
            _ if self.names_all_lanes() || other.names_all_lanes() => {
                let low = min(self.low, other.low);
                parts = low > 0 && !(self.names_all_lanes() && other.names_all_lanes());
                (low, Pattern::Full)
            }
            (one, two) if one == two => (min(self.low, other.low), one),
            _ => (min(self.low, other.low), Pattern::Any),
        };
        let range = self.range_of_either(other);
        Self {
            lane: low > 0 && (self.lane || other.lane),
            low,
            pattern,
            parts: range.parts || parts,
            ..range
        }
    }

    /// Result of a guarded write: only some lanes take the new value.
    #[must_use]
    pub(super) const fn after_guarded_write(self) -> Self {
        Self {
            lane: self.low > 0,
            pattern: if self.names_all_lanes() {
                Pattern::Full
            } else {
                Pattern::Any
            },
            ..self
        }
    }

    /// True if the lanes that a mask names may be known, or some lane that it does not name.
    pub(super) const fn may_name_known_lanes(self) -> bool {
        self.low > 0 || self.bits < WARP as u8 || self.zeros > 0 || self.parts
    }

    /// True if the value may be exact.
    pub(super) const fn may_be_exact(self) -> bool {
        self.low == EXACT
    }

    /// Bound of the value, truncated to `bits` bits.
    pub(super) const fn truncated_to(self, bits: u8) -> Self {
        if bits == 0 {
            return self;
        }
        let pattern = match self.pattern {
            Pattern::Full if bits < 32 => Pattern::Any,
            Pattern::Thread if bits < THREAD_BITS => Pattern::Any,
            Pattern::Row if bits <= ROW_BITS => Pattern::Any,
            Pattern::Exactly(value) if bits < 64 => {
                return Self {
                    zeros: self.zeros,
                    lane: self.lane,
                    ..Self::of_exact_number(value & ((1 << bits) - 1))
                };
            }
            pattern => pattern,
        };
        Self {
            bits: min(self.bits, bits),
            pattern,
            ..self
        }
        .normalized()
    }

    const fn normalized(self) -> Self {
        if self.low >= self.bits && self.low > 0 {
            Self { low: EXACT, ..self }
        } else {
            self
        }
    }

    /// Number of known bits.
    const fn known_bit_count(self) -> u8 {
        min(self.low, self.bits)
    }
}

/// A row of 32 threads is a warp.
const ROW_BITS: u8 = 5;
const _: () = assert!(1 << ROW_BITS == WARP);

/// `%tid.x` is below 1,024.
const THREAD_BITS: u8 = 10;
const _: () = assert!(1 << THREAD_BITS == MAX_THREADS);

const fn max(a: u8, b: u8) -> u8 {
    if a > b { a } else { b }
}

const fn min(a: u8, b: u8) -> u8 {
    if a < b { a } else { b }
}

/// Bound of the result of an operation. `uses` are the operands, for their literals.
pub(super) fn bound_of_result(op: Op, kinds: &[Knowable], uses: &[Value]) -> Knowable {
    if !is_interpreted(op) {
        return Knowable::UNKNOWN;
    }
    if let Some(value) = bound_of_literals(op, kinds) {
        return value;
    }
    let result = bound_of_operation(op, kinds, uses);
    Knowable {
        is_set: !matches!(op, Op::Compare(..)) && kinds.iter().any(|kind| kind.is_set),
        parts: result.parts || may_give_known_bits(op) && may_know_further_bits(op, kinds),
        floor: floor_of_result(op, kinds),
        ..result
    }
}

/// True if the result of an operation may have known bits that neither its low bits nor its length describe.
fn may_know_further_bits(op: Op, kinds: &[Knowable]) -> bool {
    use BinaryOp as B;
    // A mask of the low bits, or of all but those: the result is described by low and bits.
    let is_cut = |kind: &Knowable| match kind.pattern {
        Pattern::Exactly(mask) => mask & mask.wrapping_add(1) == 0 || !mask & (!mask).wrapping_add(1) == 0,
        _ => false,
    };
    let may_tell = |kind: &Knowable| kind.may_be_exact() && !is_cut(kind);
    if kinds.iter().any(|kind| kind.parts) {
        return true;
    }
    match (op, kinds) {
        (Op::Binary(B::And, _), kinds) => kinds.iter().any(may_tell),
        (Op::Binary(B::Or, _), kinds) => kinds.iter().any(|kind| kind.may_be_exact() && !kind.is_zero()),
        (Op::Binary(B::Xor, bits), kinds) => kinds.iter().all(|kind| kind.may_be_exact() || kind.bits < bits),
        (Op::Binary(..), &[_, by]) => by.may_be_exact() && !by.is_literal(),
        (Op::Unary(_, bits), &[kind]) => kind.bits < bits || kind.zeros > 0,
        (Op::InsertBits(_) | Op::Lop3(_) | Op::FunnelShift { .. } | Op::Pack(_), kinds) => kinds
            .iter()
            .any(|kind| kind.may_be_exact() || kind.bits < WARP as u8),
        _ => false,
    }
}

/// The floor of a result. Literals have none here: a value computed from literals alone is a literal itself.
fn floor_of_result(op: Op, kinds: &[Knowable]) -> u8 {
    if kinds.iter().all(|kind| kind.floor == 0) {
        return 0;
    }
    let by = |kind: Knowable| match kind.pattern {
        Pattern::Exactly(by) => u8::try_from(by).unwrap_or(64),
        _ => 64,
    };
    match (op, kinds) {
        (op, &[kind]) if op.is_move() => kind.floor,
        (Op::Binary(op, _), &[a, b]) => match op.class() {
            Class::Product | Class::WideProduct { signed: false } => match (a.floor_bits(), b.floor_bits()) {
                (0, _) | (_, 0) => 0,
                (one, other) => (one + other - 1).min(64),
            },
            Class::ShiftedLeft => a.floor.saturating_add(by(b)).min(64),
            Class::ShiftedRight { signed: false } => a.floor.saturating_sub(by(b)),
            Class::Quotient { signed: false } => a.floor.saturating_sub(b.floor_bits().saturating_sub(1)),
            Class::And => max(a.floor, b.floor),
            Class::Xor => min(a.low, b.low).saturating_add(1).min(64),
            Class::Sum
            | Class::Difference
            | Class::WideProduct { signed: true }
            | Class::Quotient { signed: true }
            | Class::Remainder { .. }
            | Class::Least { .. }
            | Class::Greatest { .. }
            | Class::Or
            | Class::ShiftedRight { signed: true }
            | Class::Other => 0,
        },
        _ => 0,
    }
}

fn bound_of_operation(op: Op, kinds: &[Knowable], uses: &[Value]) -> Knowable {
    match (op, kinds, uses) {
        (Op::Copy, &[kind], _) => kind,
        (Op::Convert { from, signed, to }, &[kind], _) => {
            let wide = signed && to > from && kind.bits >= from;
            let cut = kind.truncated_to(from).truncated_to(to);
            Knowable {
                bits: if wide { to } else { cut.bits },
                zeros: min(cut.zeros, min(from, to)),
                ..cut
            }
        }
        (Op::Compare(condition, bits, logic), &[a, b, ..], &[left, right, ..]) => {
            let outcome = bound_of_comparison(condition, bits, (a, left), (b, right));
            match (logic, kinds.get(2)) {
                (Logic::None, _) => outcome,
                (_, Some(third)) => bound_of_logic(logic, outcome, *third),
                (_, None) => Knowable::LANE,
            }
        }
        (Op::Select, &[a, b, predicate], _) => bound_of_select(a, b, predicate),
        (Op::Binary(op, bits), &[a, b], &[left, right]) => bound_of_binary(op, bits, (a, left), (b, right)),
        (Op::MulAdd(op, bits), &[a, b, c], &[left, right, last]) => {
            let product = bound_of_binary(op, bits, (a, left), (b, right));
            bound_of_binary(BinaryOp::Add, bits, (product, Value::Unknown), (c, last))
        }
        (Op::Unary(UnaryOp::Not | UnaryOp::Neg, _), &[kind], _) => Knowable {
            bits: 64,
            zeros: 0,
            pattern: Pattern::Any,
            ..kind
        },
        (Op::Unary(UnaryOp::PopCount, bits), ..) => {
            exact_if_all_are(kinds).truncated_to((u8::BITS - bits.leading_zeros()) as u8)
        }
        (Op::ExtractBits(..), &[source, ..], &[_, _, length]) => {
            let bits = match length {
                Value::Integer(length) => (length as u64 & 0xff).min(64) as u8,
                _ => 64,
            };
            let all = exact_if_all_are(kinds);
            Knowable {
                low: max(all.low, source.low),
                lane: all.lane || source.lane,
                ..Knowable::UNKNOWN
            }
            .truncated_to(bits.max(1))
        }
        _ => exact_if_all_are(kinds),
    }
}

/// The result on literals. The two results of a comparison differ.
fn bound_of_literals(op: Op, kinds: &[Knowable]) -> Option<Knowable> {
    let mut values = [0; MAX_USES];
    if matches!(op, Op::Copy | Op::Compare(..)) || kinds.len() > MAX_USES {
        return None;
    }
    for (value, kind) in values.iter_mut().zip(kinds) {
        let Pattern::Exactly(known) = kind.pattern else {
            return None;
        };
        *value = known as u64;
    }
    evaluate(op, values.get(..kinds.len())?).map(|value| Knowable {
        lane: kinds.iter().any(|kind| kind.lane),
        ..Knowable::of_exact_number(value as i64)
    })
}

/// Exact if all operands are; otherwise unknown.
fn exact_if_all_are(kinds: &[Knowable]) -> Knowable {
    if kinds.iter().all(|kind| kind.may_be_exact()) {
        Knowable {
            lane: kinds.iter().any(|kind| kind.lane),
            ..Knowable::CONSTANT
        }
    } else {
        Knowable::UNKNOWN
    }
}

/// A predicate computed from two predicates, one of which may decide it alone.
fn bound_of_logic(logic: Logic, a: Knowable, b: Knowable) -> Knowable {
    let is =
        |kind: Knowable, value: i64| matches!(kind.pattern, Pattern::Exactly(known) if known & 1 == value);
    let neutral = i64::from(logic == Logic::And);
    let lane = |kind: Knowable| Knowable {
        lane: kind.low > 0 && (a.lane || b.lane),
        ..kind
    };
    let (low, pattern) = match logic {
        Logic::And | Logic::Or if is(a, neutral) => return lane(b),
        Logic::And | Logic::Or if is(b, neutral) => return lane(a),
        Logic::Xor => (min(a.low, b.low), Pattern::Any),
        // One alone decides, for any value of the other.
        _ if is(a, 1 - neutral) || is(b, 1 - neutral) => (max(a.low, b.low), Pattern::Exactly(1 - neutral)),
        _ => (max(a.low, b.low), Pattern::Any),
    };
    lane(Knowable {
        low,
        pattern,
        ..Knowable::UNKNOWN
    })
    .truncated_to(1)
}

fn bound_of_select(a: Knowable, b: Knowable, predicate: Knowable) -> Knowable {
    if predicate.low == 0 {
        return a.common_knowledge(b);
    }
    let either = a.join(b);
    Knowable {
        lane: either.low > 0 && (either.lane || predicate.lane),
        pattern: if predicate.lane && !either.names_all_lanes() {
            Pattern::Any
        } else {
            either.pattern
        },
        ..either
    }
}

/// Bound of a special register. `has_shape`: the shape of some CTA is known.
pub(super) fn bound_of_special(special: Special, has_shape: bool) -> Knowable {
    match special {
        Special::Tid(0) => Knowable::THREAD,
        Special::LaneId => Knowable::LANE_ID,
        Special::LaneMaskEq
        | Special::LaneMaskLe
        | Special::LaneMaskLt
        | Special::LaneMaskGe
        | Special::LaneMaskGt => Knowable::LANE,
        Special::Tid(_) | Special::Ntid(_) if has_shape => Knowable::CONSTANT,
        Special::Ntid(0) => Knowable::THREADS,
        Special::Ntid(1 | 2) => Knowable::ROWS,
        Special::Tid(1 | 2) => Knowable::ROW,
        _ => Knowable::UNKNOWN,
    }
}
