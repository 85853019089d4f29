//! What may be known of a value, as far as it can tell lanes apart.
//!
//! ```text
//! low     so many low bits may be known: 0 for a value of which nothing is, 64 for one that may be exact
//! bits    it is below 2^bits
//! lane    what is known may differ from lane to lane
//! zeros   so many low bits are certainly 0, and known to be
//! form    what it certainly is
//! is_set  it may be made of a set of lanes that is among others: the answer of an `activemask`, a ballot or a match
//! floor   it may be known to be no less than a number of so many bits: 0 where there is none
//! ```
//!
//! Each operation takes the kinds of its operands to one that covers whatever [`super::super::transfer`] can make of
//! such operands. Nothing there is decided by two unknown values being the same one, so none has a name here.

mod compare;

use ptxcheck_ir::evaluate::{evaluate, is_interpreted, ones};
use ptxcheck_ir::{BinaryOp, Logic, Op, Special, UnaryOp, Value};

use self::compare::compared;
use super::super::transfer::MAX_USES;
use super::super::value::WARP;
use crate::launches::MAX_BLOCK_THREADS as MAX_THREADS;

/// What a value certainly is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Form {
    /// Nothing of the following.
    #[default]
    Any,
    /// Where it is exact, this number.
    Exactly(i64),
    /// Where it is exact, all of the low 32 bits are set.
    Full,
    /// tid.x, where the rows of CTAs are whole warps.
    Thread,
    /// The number of the lane, and above its five bits what is the same in all lanes of a warp.
    Row,
    /// The low bits that are known are 0.
    Aligned,
}

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kind {
    /// Some definition has been looked at.
    pub is_defined: bool,
    pub lane: bool,
    pub low: u8,
    pub bits: u8,
    pub zeros: u8,
    pub form: Form,
    pub is_set: bool,
    pub floor: u8,
}

/// [`Kind::low`] of what may be exact.
pub(super) const EXACT: u8 = 64;

impl Kind {
    /// Nothing is known.
    pub(super) const UNKNOWN: Self = Self::of(0, 64, Form::Any);
    /// May be a constant, the same in all lanes of a warp.
    pub(super) const CONSTANT: Self = Self::of(EXACT, 64, Form::Any);
    /// May be exact in each lane.
    pub(super) const LANE: Self = Self {
        lane: true,
        ..Self::CONSTANT
    };
    /// `%tid.x`
    pub(super) const THREAD: Self = Self {
        lane: true,
        ..Self::of(EXACT, THREAD_BITS, Form::Thread)
    };
    /// `%tid.x` in one warp.
    pub(super) const fn threads_of(warp: u32) -> Self {
        let last = warp * WARP as u32 + (WARP as u32 - 1);
        Self {
            bits: (u32::BITS - last.leading_zeros()) as u8,
            form: Form::Row,
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
        ..Self::of(ROW_BITS, THREAD_BITS + 1, Form::Aligned)
    };
    /// `%ntid.y` and `%ntid.z`, no less than 1
    pub(super) const ROWS: Self = Self {
        floor: 1,
        ..Self::of(0, THREAD_BITS + 1, Form::Any)
    };
    /// `%tid.y` and `%tid.z`: 0 in warp 0, whose threads are in the first row
    pub(super) const ROW: Self = Self::of(EXACT, THREAD_BITS, Form::Exactly(0));

    pub(super) const fn of(low: u8, bits: u8, form: Form) -> Self {
        Self {
            is_defined: true,
            lane: false,
            low,
            bits,
            zeros: 0,
            form,
            is_set: false,
            floor: 0,
        }
    }

    /// Of a set of lanes.
    pub(super) const SET: Self = Self {
        is_set: true,
        ..Self::of(0, WARP as u8, Form::Any)
    };

    /// Of a literal.
    pub(super) const fn of_integer(value: i64) -> Self {
        Self {
            zeros: value.trailing_zeros() as u8,
            ..Self::exactly(value)
        }
    }

    /// Of what is this number where it is exact.
    const fn exactly(value: i64) -> Self {
        let bits = 64 - (value as u64).leading_zeros() as u8;
        Self::of(EXACT, bits, Form::Exactly(value))
    }

    /// Where it is exact, all of the low 32 bits are set.
    pub(super) const fn is_full(self) -> bool {
        match self.form {
            Form::Full => true,
            Form::Exactly(value) => value as u32 == u32::MAX,
            _ => false,
        }
    }

    /// A number of whole rows, the same in all lanes of a warp.
    const fn is_rows(self) -> bool {
        self.zeros >= ROW_BITS && self.low == EXACT && !self.lane
    }

    const fn is_zero(self) -> bool {
        matches!(self.form, Form::Exactly(0))
    }

    /// The low bits that are known are 0.
    const fn is_aligned(self) -> bool {
        matches!(self.form, Form::Aligned | Form::Exactly(0))
    }

    /// One number, if it is exact.
    pub(super) const fn is_literal(self) -> bool {
        matches!(self.form, Form::Exactly(_))
    }

    /// Of the complement of a predicate.
    pub(super) const fn complement(self) -> Self {
        let form = match self.form {
            Form::Exactly(value) => Form::Exactly((value & 1) ^ 1),
            _ => Form::Any,
        };
        Self {
            zeros: 0,
            form,
            ..self
        }
    }

    /// The floor, of literals, too.
    const fn least_bits(self) -> u8 {
        match self.form {
            Form::Exactly(value) if self.floor == 0 => 64 - (value as u64).leading_zeros() as u8,
            _ => self.floor,
        }
    }

    /// The floor of what is one or the other.
    const fn common_floor(self, other: Self) -> u8 {
        if self.least_bits() == other.least_bits() {
            self.least_bits()
        } else {
            0
        }
    }

    /// Low bits that are not set as far as they are known.
    const fn clear(self) -> u8 {
        match self.form {
            Form::Exactly(value) => value.trailing_zeros() as u8,
            Form::Aligned => self.low,
            _ => 0,
        }
    }

    /// The operand as a literal, if that is what it is.
    const fn literal(self, value: Value) -> Value {
        match self.form {
            Form::Exactly(known) => Value::Integer(known),
            _ => value,
        }
    }

    /// The least kind that covers both: it is one or the other.
    #[must_use]
    pub(super) fn join(self, other: Self) -> Self {
        if !self.is_defined {
            return other;
        }
        if !other.is_defined {
            return self;
        }
        let form = if self.form == other.form {
            self.form
        } else if self.is_aligned() && other.is_aligned() {
            Form::Aligned
        } else if (self.is_full() || self.low == 0) && (other.is_full() || other.low == 0) {
            Form::Full
        } else {
            Form::Any
        };
        Self {
            is_defined: true,
            lane: self.lane || other.lane,
            low: max(self.low, other.low),
            bits: max(self.bits, other.bits),
            zeros: min(self.zeros, other.zeros),
            form,
            is_set: self.is_set || other.is_set,
            floor: self.common_floor(other),
        }
    }

    /// What is known of a value that is one or the other, nobody knows which: what they have in common.
    #[must_use]
    pub(super) fn agree(self, other: Self) -> Self {
        if !self.is_defined {
            return other;
        }
        if !other.is_defined || self == other {
            return self;
        }
        let zeros = |value: i64| value.trailing_zeros().min(64) as u8;
        let (low, form) = match (self.form, other.form) {
            (Form::Exactly(x), Form::Exactly(y)) => {
                let low = zeros(x ^ y);
                (low, if zeros(x) >= low { Form::Aligned } else { Form::Any })
            }
            // A value that is exact by lane may be that number in one of them.
            (Form::Exactly(x), Form::Aligned) if !other.may_be_exact() => {
                (min(zeros(x), other.low), Form::Aligned)
            }
            (Form::Aligned, Form::Exactly(y)) if !self.may_be_exact() => {
                (min(zeros(y), self.low), Form::Aligned)
            }
            _ if self.is_full() || other.is_full() => (min(self.low, other.low), Form::Full),
            (one, two) if one == two => (min(self.low, other.low), one),
            _ => (min(self.low, other.low), Form::Any),
        };
        Self {
            is_defined: true,
            lane: low > 0 && (self.lane || other.lane),
            low,
            bits: max(self.bits, other.bits),
            zeros: min(self.zeros, other.zeros),
            form,
            is_set: self.is_set || other.is_set,
            floor: self.common_floor(other),
        }
    }

    /// Of what only some lanes take over: the others have something else.
    #[must_use]
    pub(super) const fn split(self) -> Self {
        Self {
            lane: self.low > 0,
            form: if self.is_full() { Form::Full } else { Form::Any },
            ..self
        }
    }

    /// Whether it may be known of a mask which lanes it names, or of some that it does not name them.
    pub(super) const fn may_tell_lanes(self) -> bool {
        self.may_be_exact() || self.bits < WARP as u8 || self.zeros > 0
    }

    /// Whether it may be exact.
    pub(super) const fn may_be_exact(self) -> bool {
        self.low == EXACT
    }

    /// What is left of it in so many bits.
    pub(super) const fn cut(self, bits: u8) -> Self {
        if bits == 0 {
            return self;
        }
        let form = match self.form {
            Form::Full if bits < 32 => Form::Any,
            Form::Thread if bits < THREAD_BITS => Form::Any,
            Form::Row if bits <= ROW_BITS => Form::Any,
            Form::Exactly(value) if bits < 64 => {
                return Self {
                    zeros: self.zeros,
                    lane: self.lane,
                    ..Self::exactly(value & ((1 << bits) - 1))
                };
            }
            form => form,
        };
        Self {
            bits: min(self.bits, bits),
            form,
            ..self
        }
        .normal()
    }

    const fn normal(self) -> Self {
        if self.low >= self.bits && self.low > 0 {
            Self { low: EXACT, ..self }
        } else {
            self
        }
    }

    /// What is known, in bits.
    const fn known(self) -> u8 {
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

/// The result of an operation on operands of these kinds. `uses` are the operands, for their literals.
pub(super) fn result(op: Op, kinds: &[Kind], uses: &[Value]) -> Kind {
    if !is_interpreted(op) {
        return Kind::UNKNOWN;
    }
    if let Some(value) = folded(op, kinds) {
        return value;
    }
    let result = of_operation(op, kinds, uses);
    Kind {
        is_set: !matches!(op, Op::Compare(..)) && kinds.iter().any(|kind| kind.is_set),
        floor: floor(op, kinds),
        ..result
    }
}

/// The floor of a result. Literals have none here: what is made of them alone is one.
fn floor(op: Op, kinds: &[Kind]) -> u8 {
    use BinaryOp as B;
    if kinds.iter().all(|kind| kind.floor == 0) {
        return 0;
    }
    let by = |kind: Kind| match kind.form {
        Form::Exactly(by) => u8::try_from(by).unwrap_or(64),
        _ => 64,
    };
    match (op, kinds) {
        (Op::Copy | Op::Convert { .. }, &[kind]) => kind.floor,
        (Op::Binary(op, _), &[a, b]) => match op {
            B::MulLow | B::MulWideUnsigned if a.least_bits() > 0 && b.least_bits() > 0 => {
                (a.least_bits() + b.least_bits() - 1).min(64)
            }
            B::Shl => a.floor.saturating_add(by(b)).min(64),
            B::ShrUnsigned => a.floor.saturating_sub(by(b)),
            B::DivUnsigned => a.floor.saturating_sub(b.least_bits().saturating_sub(1)),
            B::And => max(a.floor, b.floor),
            B::Xor => min(a.low, b.low).saturating_add(1).min(64),
            _ => 0,
        },
        _ => 0,
    }
}

fn of_operation(op: Op, kinds: &[Kind], uses: &[Value]) -> Kind {
    match (op, kinds, uses) {
        (Op::Copy, &[kind], _) => kind,
        (Op::Convert { from, signed, to }, &[kind], _) => {
            let wide = signed && to > from && kind.bits >= from;
            let cut = kind.cut(from).cut(to);
            Kind {
                bits: if wide { to } else { cut.bits },
                zeros: min(cut.zeros, min(from, to)),
                ..cut
            }
        }
        (Op::Compare(condition, bits, logic), &[a, b, ..], &[left, right, ..]) => {
            let outcome = compared(condition, bits, (a, left), (b, right));
            match (logic, kinds.get(2)) {
                (Logic::None, _) => outcome,
                (_, Some(third)) => either(logic, outcome, *third),
                (_, None) => Kind::LANE,
            }
        }
        (Op::Select, &[a, b, predicate], _) => select(a, b, predicate),
        (Op::Binary(op, bits), &[a, b], &[left, right]) => binary(op, bits, (a, left), (b, right)),
        (Op::MulAdd(op, bits), &[a, b, c], &[left, right, last]) => {
            let product = binary(op, bits, (a, left), (b, right));
            binary(BinaryOp::Add, bits, (product, Value::Unknown), (c, last))
        }
        (Op::Unary(UnaryOp::Not | UnaryOp::Neg, _), &[kind], _) => Kind {
            bits: 64,
            zeros: 0,
            form: Form::Any,
            ..kind
        },
        (Op::Unary(UnaryOp::PopCount, bits), ..) => exact(kinds).cut((u8::BITS - bits.leading_zeros()) as u8),
        (Op::ExtractBits(..), &[source, ..], &[_, _, length]) => {
            let bits = match length {
                Value::Integer(length) => (length as u64 & 0xff).min(64) as u8,
                _ => 64,
            };
            let all = exact(kinds);
            Kind {
                low: max(all.low, source.low),
                lane: all.lane || source.lane,
                ..Kind::UNKNOWN
            }
            .cut(bits.max(1))
        }
        _ => exact(kinds),
    }
}

/// The result on literals. The two results of a comparison differ.
fn folded(op: Op, kinds: &[Kind]) -> Option<Kind> {
    let mut values = [0; MAX_USES];
    if matches!(op, Op::Copy | Op::Compare(..)) || kinds.len() > MAX_USES {
        return None;
    }
    for (value, kind) in values.iter_mut().zip(kinds) {
        let Form::Exactly(known) = kind.form else {
            return None;
        };
        *value = known as u64;
    }
    evaluate(op, values.get(..kinds.len())?).map(|value| Kind {
        lane: kinds.iter().any(|kind| kind.lane),
        ..Kind::exactly(value as i64)
    })
}

/// Exact where all operands are; else nothing is known.
fn exact(kinds: &[Kind]) -> Kind {
    if kinds.iter().all(|kind| kind.may_be_exact()) {
        Kind {
            lane: kinds.iter().any(|kind| kind.lane),
            ..Kind::CONSTANT
        }
    } else {
        Kind::UNKNOWN
    }
}

/// A predicate made of two, where one may decide alone.
fn either(logic: Logic, a: Kind, b: Kind) -> Kind {
    let is = |kind: Kind, value: i64| matches!(kind.form, Form::Exactly(known) if known & 1 == value);
    let neutral = i64::from(logic == Logic::And);
    let lane = |kind: Kind| Kind {
        lane: kind.low > 0 && (a.lane || b.lane),
        ..kind
    };
    let (low, form) = match logic {
        Logic::And | Logic::Or if is(a, neutral) => return lane(b),
        Logic::And | Logic::Or if is(b, neutral) => return lane(a),
        Logic::Xor => (min(a.low, b.low), Form::Any),
        // One alone decides, whatever the other is.
        _ if is(a, 1 - neutral) || is(b, 1 - neutral) => (max(a.low, b.low), Form::Exactly(1 - neutral)),
        _ => (max(a.low, b.low), Form::Any),
    };
    lane(Kind {
        low,
        form,
        ..Kind::UNKNOWN
    })
    .cut(1)
}

fn select(a: Kind, b: Kind, predicate: Kind) -> Kind {
    if predicate.low == 0 {
        return a.agree(b);
    }
    let either = a.join(b);
    Kind {
        lane: either.low > 0 && (either.lane || predicate.lane),
        form: if predicate.lane && !either.is_full() {
            Form::Any
        } else {
            either.form
        },
        ..either
    }
}

fn binary(op: BinaryOp, bits: u8, a: (Kind, Value), b: (Kind, Value)) -> Kind {
    Kind {
        zeros: certain_zeros(op, bits, a, b),
        ..combined(op, bits, a, b)
    }
}

/// Low bits of the result that are certainly 0, and known to be.
fn certain_zeros(op: BinaryOp, bits: u8, (a, _): (Kind, Value), (b, right): (Kind, Value)) -> u8 {
    use BinaryOp as B;
    let by = match right {
        Value::Integer(by) if (0..64).contains(&by) => Some(by as u8),
        _ => None,
    };
    let half = bits / 2;
    match op {
        B::Add | B::Sub | B::Or | B::Xor => min(a.zeros, b.zeros),
        B::And => max(a.zeros, b.zeros),
        B::MulLow => a.zeros.saturating_add(b.zeros),
        B::MulWideSigned | B::MulWideUnsigned => min(a.zeros, half).saturating_add(min(b.zeros, half)),
        B::Shl => by.map_or(0, |by| a.zeros.saturating_add(by)),
        B::ShrUnsigned | B::ShrSigned => by.map_or(0, |by| a.zeros.saturating_sub(by)),
        _ => 0,
    }
    .min(bits)
}

fn combined(op: BinaryOp, bits: u8, (a, left): (Kind, Value), (b, right): (Kind, Value)) -> Kind {
    use BinaryOp as B;
    if bits == 1 {
        return either(op.logic().unwrap_or(Logic::Xor), a, b);
    }
    let (left, right) = (a.literal(left), b.literal(right));
    // Division by and remainder of a power of two are a shift and a mask.
    if let Value::Integer(divisor @ 1..) = right
        && divisor & (divisor - 1) == 0
    {
        let instead = match op {
            B::DivUnsigned => Some((B::ShrUnsigned, i64::from(divisor.trailing_zeros()))),
            B::RemUnsigned => Some((B::And, divisor - 1)),
            _ => None,
        };
        if let Some((op, by)) = instead {
            return combined(op, bits, (a, left), (Kind::exactly(by), Value::Integer(by)));
        }
    }
    match op {
        B::Add | B::Sub | B::Or | B::Xor if b.is_zero() => return a,
        B::Add | B::Or | B::Xor if a.is_zero() => return b,
        B::And => match (left, right) {
            (_, Value::Integer(mask)) if a.low > 0 => return masked(a, mask as u64),
            (Value::Integer(mask), _) if b.low > 0 => return masked(b, mask as u64),
            _ => {}
        },
        _ => {}
    }
    if let Some(known) = of_thread(op, (a, left), (b, right)) {
        return known;
    }
    let lane = a.lane || b.lane;
    let both = a.low > 0 && b.low > 0;
    let aligned = a.is_aligned() && b.is_aligned();
    let (low, limit, form) = match op {
        B::Add | B::Sub => {
            let limit = if matches!(op, B::Add) {
                max(a.bits, b.bits).saturating_add(1)
            } else {
                64
            };
            (
                min(a.low, b.low),
                limit,
                if aligned || min(a.clear(), b.clear()) >= min(a.low, b.low) {
                    Form::Aligned
                } else {
                    Form::Any
                },
            )
        }
        B::Or | B::Xor => (min(a.low, b.low), 64, Form::Any),
        // Zeros of one are zeros of the result, the same in all lanes.
        B::And if !both => {
            let limit = min(a.bits, b.bits);
            let low = zeros((a, left)).max(zeros((b, right)));
            return Kind::of(low, limit, Form::Aligned).normal();
        }
        B::And => (max(a.low, b.low), min(a.bits, b.bits), Form::Any),
        B::MulLow | B::MulWideSigned | B::MulWideUnsigned => {
            let is_small = a.bits < bits / 2 && b.bits < bits / 2;
            let limit = if matches!(op, B::MulWideSigned) && !is_small {
                64
            } else {
                a.bits.saturating_add(b.bits)
            };
            if !both {
                let low = zeros((a, left)).max(zeros((b, right)));
                // The other factor does not count beside a 0.
                let known = if a.is_zero() || b.is_zero() { EXACT } else { low };
                return Kind::of(known, limit.min(64), Form::Aligned);
            }
            let form = if a.is_aligned() || b.is_aligned() {
                Form::Aligned
            } else {
                Form::Any
            };
            (product_low(a, b), limit, form)
        }
        B::Shl => {
            let by = match right {
                Value::Integer(by) => u8::try_from(by).unwrap_or(64),
                _ => 64,
            };
            if !b.may_be_exact() {
                return Kind::UNKNOWN;
            }
            if a.low == 0 {
                return Kind::of(by.min(EXACT - 1), 64, Form::Aligned);
            }
            let low = max(a.low, a.low.saturating_add(by));
            (low.min(EXACT), a.bits.saturating_add(by), a.form)
        }
        B::ShrUnsigned | B::ShrSigned => match right {
            Value::Integer(by) => {
                let by = u8::try_from(by).unwrap_or(64);
                let low = if a.low == EXACT {
                    EXACT
                } else {
                    a.low.saturating_sub(by)
                };
                let limit = if matches!(op, B::ShrUnsigned) {
                    a.bits.saturating_sub(by)
                } else {
                    64
                };
                let form = if a.is_aligned() { Form::Aligned } else { Form::Any };
                (low, limit, form)
            }
            _ => (if b.may_be_exact() { a.low } else { 0 }, 64, Form::Any),
        },
        B::RemUnsigned => (exact_low(a, b), b.bits, Form::Any),
        B::DivUnsigned => (exact_low(a, b), a.bits, Form::Any),
        B::MinUnsigned => (exact_low(a, b), min(a.bits, b.bits), Form::Any),
        B::MaxUnsigned => (exact_low(a, b), max(a.bits, b.bits), Form::Any),
        _ => (exact_low(a, b), 64, Form::Any),
    };
    let form = match form {
        Form::Aligned => Form::Aligned,
        _ => Form::Any,
    };
    let is_row = |kind: Kind| matches!(kind.form, Form::Thread | Form::Row) && bits > ROW_BITS;
    let form = match op {
        B::Add if is_row(a) && b.is_rows() || is_row(b) && a.is_rows() => Form::Row,
        B::Sub if is_row(a) && b.is_rows() => Form::Row,
        _ => form,
    };
    Kind {
        lane: lane && low > 0,
        ..Kind::of(low, limit.min(64), form)
    }
    .normal()
}

/// What a literal mask leaves: all of it may be known, or what is below the first bit that is not.
fn masked(kind: Kind, mask: u64) -> Kind {
    let bits = min(kind.bits, 64 - mask.leading_zeros() as u8);
    if kind.form == Form::Thread && mask.is_multiple_of(WARP as u64) {
        return WHOLE_WARPS;
    }
    let known = ones(kind.low);
    if mask & !known == 0 {
        let is_zero = kind.form == Form::Aligned && !kind.may_be_exact();
        return if is_zero || mask == 0 {
            Kind::exactly(0)
        } else {
            Kind {
                lane: kind.lane,
                ..Kind::of(EXACT, bits, Form::Any)
            }
        };
    }
    let low = max(kind.low, min(mask.trailing_zeros() as u8, EXACT - 1));
    let is_aligned = kind.form == Form::Aligned || mask & known == 0;
    Kind {
        lane: kind.lane && !is_aligned,
        ..Kind::of(low, bits, if is_aligned { Form::Aligned } else { Form::Any })
    }
    .normal()
}

/// tid.x without the lane's part.
const WHOLE_WARPS: Kind = Kind::of(EXACT, THREAD_BITS, Form::Any);

/// Most low zeros that are known of a factor.
fn zeros((kind, value): (Kind, Value)) -> u8 {
    match value {
        Value::Integer(value) => min(value.trailing_zeros() as u8, EXACT - 1),
        _ => min(kind.low, EXACT - 1),
    }
}

fn exact_low(a: Kind, b: Kind) -> u8 {
    if a.may_be_exact() && b.may_be_exact() {
        EXACT
    } else {
        0
    }
}

fn product_low(a: Kind, b: Kind) -> u8 {
    if a.low == EXACT && b.low == EXACT {
        EXACT
    } else {
        // A factor with trailing zeros adds to what is known of the other.
        EXACT - 1
    }
}

/// What is the same in all lanes of a warp: tid.x = 32w + l, below 1,024.
fn of_thread(op: BinaryOp, (a, left): (Kind, Value), (b, right): (Kind, Value)) -> Option<Kind> {
    use BinaryOp as B;
    let warp = Kind::of(EXACT, THREAD_BITS, Form::Any);
    let size = WARP as i64;
    match (op, a.form, b.form, left, right) {
        (B::ShrSigned | B::ShrUnsigned, Form::Thread, _, _, Value::Integer(by)) if by >= 5 => {
            Some(if by >= i64::from(THREAD_BITS) {
                Kind::of_integer(0)
            } else {
                warp
            })
        }
        (B::And, Form::Thread, _, _, Value::Integer(mask))
        | (B::And, _, Form::Thread, Value::Integer(mask), _)
            if mask % size == 0 =>
        {
            Some(warp)
        }
        (B::DivSigned | B::DivUnsigned, Form::Thread, _, _, Value::Integer(by))
            if by > 0 && by % size == 0 =>
        {
            Some(warp)
        }
        _ => None,
    }
}

/// Of a special register. `has_shape`: the shape of some CTA is known.
pub(super) fn special(special: Special, has_shape: bool) -> Kind {
    match special {
        Special::Tid(0) => Kind::THREAD,
        Special::LaneId => Kind::LANE_ID,
        Special::LaneMaskEq
        | Special::LaneMaskLe
        | Special::LaneMaskLt
        | Special::LaneMaskGe
        | Special::LaneMaskGt => Kind::LANE,
        Special::Tid(_) | Special::Ntid(_) if has_shape => Kind::CONSTANT,
        Special::Ntid(0) => Kind::THREADS,
        Special::Ntid(1 | 2) => Kind::ROWS,
        Special::Tid(1 | 2) => Kind::ROW,
        _ => Kind::UNKNOWN,
    }
}
