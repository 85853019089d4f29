//! What may be known of a value, as far as it can tell lanes apart.
//!
//! ```text
//! low     so many low bits may be known: 0 for a value of which nothing is, 64 for one that may be exact
//! bits    it is below 2^bits
//! lane    what is known may differ from lane to lane
//! form    what it certainly is
//! ```
//!
//! Each operation takes the kinds of its operands to one that covers whatever [`super::super::transfer`] can make of
//! such operands. Nothing there is decided by two unknown values being the same one, so none has a name here.

use crate::analysis::evaluate::is_interpreted;
use crate::ir::{BinaryOp, Condition, Logic, Op, UnaryOp, Value};

use super::super::value::WARP;
use crate::launches::MAX_BLOCK_THREADS as MAX_THREADS;

/// What a value certainly is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Nothing of the following.
    #[default]
    Any,
    /// 0
    Zero,
    /// Where it is exact, all of the low 32 bits are set.
    Full,
    /// tid.x, where the rows of CTAs are whole warps.
    Thread,
    /// The low bits that are known are 0.
    Aligned,
}

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kind {
    /// Some definition has been looked at.
    pub is_defined: bool,
    pub lane: bool,
    pub low: u8,
    pub bits: u8,
    pub form: Form,
}

/// [`Kind::low`] of what may be exact.
pub const EXACT: u8 = 64;

impl Kind {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self::of(0, 64, Form::Any);
    /// May be a constant, the same in all lanes of a warp.
    pub const CONSTANT: Self = Self::of(EXACT, 64, Form::Any);
    /// May be exact in each lane.
    pub const LANE: Self = Self {
        lane: true,
        ..Self::CONSTANT
    };
    /// `%tid.x`
    pub const THREAD: Self = Self {
        lane: true,
        ..Self::of(EXACT, THREAD_BITS, Form::Thread)
    };
    /// `%laneid`
    pub const LANE_ID: Self = Self {
        bits: 5,
        ..Self::LANE
    };
    /// `%ntid.x`, a multiple of 32
    pub const THREADS: Self = Self::of(5, THREAD_BITS + 1, Form::Aligned);

    pub const fn of(low: u8, bits: u8, form: Form) -> Self {
        Self {
            is_defined: true,
            lane: false,
            low,
            bits,
            form,
        }
    }

    /// Of a literal.
    pub const fn of_integer(value: i64) -> Self {
        let form = match value {
            0 => Form::Zero,
            _ if value as u32 == u32::MAX => Form::Full,
            _ => Form::Any,
        };
        Self::of(EXACT, 64 - (value as u64).leading_zeros() as u8, form)
    }

    /// The least kind that covers both.
    #[must_use]
    pub const fn join(self, other: Self) -> Self {
        if !self.is_defined {
            return other;
        }
        if !other.is_defined {
            return self;
        }
        let form = match (self.form, other.form) {
            (one, two) if one as u8 == two as u8 => one,
            (Form::Full, _) if other.low == 0 => Form::Full,
            (_, Form::Full) if self.low == 0 => Form::Full,
            _ => Form::Any,
        };
        Self {
            is_defined: true,
            lane: self.lane || other.lane,
            low: max(self.low, other.low),
            bits: max(self.bits, other.bits),
            form,
        }
    }

    /// Of what only some lanes take over: the others have something else.
    #[must_use]
    pub const fn split(self) -> Self {
        Self {
            lane: self.low > 0,
            form: Form::Any,
            ..self
        }
    }

    /// Whether it may be exact.
    pub const fn may_be_exact(self) -> bool {
        self.low == EXACT
    }

    /// What is left of it in so many bits.
    pub const fn cut(self, bits: u8) -> Self {
        if bits == 0 {
            return self;
        }
        let form = match self.form {
            Form::Full if bits < 32 => Form::Any,
            Form::Thread if bits < THREAD_BITS => Form::Any,
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
pub fn result(op: Op, kinds: &[Kind], uses: &[Value]) -> Kind {
    if !is_interpreted(op) {
        return Kind::UNKNOWN;
    }
    match (op, kinds, uses) {
        (Op::Copy, &[kind], _) => kind,
        (Op::Convert { from, signed, to }, &[kind], _) => {
            let wide = signed && to > from && kind.bits >= from;
            let cut = kind.cut(from).cut(to);
            Kind {
                bits: if wide { to } else { cut.bits },
                ..cut
            }
        }
        (Op::Compare(condition, bits, logic), &[a, b, ..], &[left, right, ..]) => {
            let outcome = compared(condition, bits, (a, left), (b, right));
            match (logic, kinds.get(2)) {
                (Logic::None, _) => outcome,
                (_, Some(third)) => either(outcome, *third),
                (_, None) => Kind::LANE,
            }
        }
        (Op::Select, &[a, b, predicate], &[left, right, _]) => select((a, left), (b, right), predicate),
        (Op::Binary(op, bits), &[a, b], &[left, right]) => binary(op, bits, (a, left), (b, right)),
        (Op::MulAdd(op, bits), &[a, b, c], &[left, right, last]) => {
            let product = binary(op, bits, (a, left), (b, right));
            binary(BinaryOp::Add, bits, (product, Value::Unknown), (c, last))
        }
        (Op::Unary(UnaryOp::Not | UnaryOp::Neg, _), &[kind], _) => Kind {
            bits: 64,
            form: Form::Any,
            ..kind
        },
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

/// Exact where all operands are; else nothing is known.
fn exact(kinds: &[Kind]) -> Kind {
    if kinds.iter().all(|kind| kind.low > 0) {
        Kind {
            lane: kinds.iter().any(|kind| kind.lane),
            ..Kind::CONSTANT
        }
    } else {
        Kind::UNKNOWN
    }
}

/// A predicate that one of two may decide.
fn either(a: Kind, b: Kind) -> Kind {
    Kind {
        lane: a.lane || b.lane,
        low: max(a.low, b.low),
        ..Kind::UNKNOWN
    }
    .cut(1)
}

fn select((a, left): (Kind, Value), (b, right): (Kind, Value), predicate: Kind) -> Kind {
    let covering = |low, form| Kind {
        is_defined: true,
        lane: low > 0 && (a.lane || b.lane || predicate.lane),
        low,
        bits: max(a.bits, b.bits),
        form,
    };
    let same = if a.form == b.form { a.form } else { Form::Any };
    match (left, right) {
        _ if predicate.low > 0 => covering(max(a.low, b.low), same),
        (Value::Integer(x), Value::Integer(y)) if x == y => a,
        // The low bits that both have.
        (Value::Integer(x), Value::Integer(y)) => {
            let low = (x ^ y).trailing_zeros().min(x.trailing_zeros()) as u8;
            if low > 0 {
                covering(low, Form::Aligned)
            } else {
                covering((x ^ y).trailing_zeros() as u8, Form::Any)
            }
        }
        _ => covering(min(a.low, b.low), same),
    }
}

fn binary(op: BinaryOp, bits: u8, (a, left): (Kind, Value), (b, right): (Kind, Value)) -> Kind {
    use BinaryOp as B;
    if bits == 1 {
        return either(a, b);
    }
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
            return binary(op, bits, (a, left), (Kind::of_integer(by), Value::Integer(by)));
        }
    }
    match (op, a.form, b.form) {
        (B::Add | B::Sub | B::Or | B::Xor, _, Form::Zero) => return a,
        (B::Add | B::Or | B::Xor, Form::Zero, _) => return b,
        _ => {}
    }
    if let Some(known) = of_thread(op, (a, left), (b, right)) {
        return known;
    }
    let lane = a.lane || b.lane;
    let both = a.low > 0 && b.low > 0;
    let aligned =
        matches!(a.form, Form::Aligned | Form::Zero) && matches!(b.form, Form::Aligned | Form::Zero);
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
                if aligned { Form::Aligned } else { Form::Any },
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
                return Kind::of(low, limit.min(64), Form::Aligned);
            }
            let form = if a.form == Form::Aligned || b.form == Form::Aligned {
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
            if a.low == 0 {
                return Kind::of(if b.low == 0 { 0 } else { by.min(EXACT - 1) }, 64, Form::Aligned);
            }
            let low = if b.low == 0 {
                0
            } else {
                max(a.low, a.low.saturating_add(by))
            };
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
                (low, limit, Form::Any)
            }
            _ => (if b.low == 0 { 0 } else { a.low }, 64, Form::Any),
        },
        B::RemUnsigned => (if b.low == 0 { 0 } else { a.low }, b.bits, Form::Any),
        B::DivUnsigned => (if b.low == 0 { 0 } else { a.low }, a.bits, Form::Any),
        B::MinUnsigned => (exact_low(a, b), min(a.bits, b.bits), Form::Any),
        B::MaxUnsigned => (exact_low(a, b), max(a.bits, b.bits), Form::Any),
        _ => (exact_low(a, b), 64, Form::Any),
    };
    let form = match form {
        Form::Aligned => Form::Aligned,
        _ => Form::Any,
    };
    Kind {
        is_defined: true,
        lane: lane && low > 0,
        low,
        bits: limit.min(64),
        form,
    }
    .normal()
}

/// Most low zeros that are known of a factor.
fn zeros((kind, value): (Kind, Value)) -> u8 {
    match value {
        Value::Integer(value) => min(value.trailing_zeros() as u8, EXACT - 1),
        _ => min(kind.low, EXACT - 1),
    }
}

fn exact_low(a: Kind, b: Kind) -> u8 {
    if a.low > 0 && b.low > 0 { EXACT } else { 0 }
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

/// A comparison: what it is in lanes that its operands decide.
fn compared(condition: Condition, width: u8, (a, left): (Kind, Value), (b, right): (Kind, Value)) -> Kind {
    let outcome = |lane| Kind {
        lane,
        ..Kind::of(EXACT, 1, Form::Any)
    };
    if a.form == Form::Thread && is_between_warps(condition, right) {
        return outcome(false);
    }
    let lane = a.lane || b.lane;
    let known = match (a.low > 0, b.low > 0) {
        (true, true) => {
            // Low bits alone decide whether two are equal; what is more needs one that is not aligned.
            let order = !matches!(condition, Condition::Equal | Condition::NotEqual);
            let (one, other) = if a.form == Form::Aligned { (b, a) } else { (a, b) };
            if order && other.form == Form::Aligned && !other.may_be_exact() {
                decides(order_of(condition, a.form == Form::Aligned), width, one, other)
            } else {
                true
            }
        }
        (true, false) => decides(order_of(condition, false), width, a, b) || is_edge(condition, left),
        (false, true) => decides(order_of(condition, true), width, b, a) || is_edge(condition, right),
        (false, false) => false,
    };
    if known {
        outcome(lane)
    } else {
        Kind::UNKNOWN.cut(1)
    }
}

/// The ends of the range of unsigned numbers decide against any of them.
fn is_edge(condition: Condition, value: Value) -> bool {
    use Condition as C;
    let is_unsigned = matches!(
        condition,
        C::LessUnsigned | C::LessEqualUnsigned | C::GreaterUnsigned | C::GreaterEqualUnsigned
    );
    is_unsigned && matches!(value, Value::Integer(0 | -1))
}

/// How a comparison orders its operands, with the one of which something is known on the left.
#[derive(Clone, Copy)]
struct Ordering {
    is_order: bool,
    is_signed: bool,
    /// `known <= other`, or its negation.
    admits_equal: bool,
}

const fn order_of(condition: Condition, swapped: bool) -> Ordering {
    use Condition as C;
    let is_signed = matches!(
        condition,
        C::LessSigned | C::LessEqualSigned | C::GreaterSigned | C::GreaterEqualSigned
    );
    // a <= b and a > b; swapped: b >= a and b < a.
    let admits_equal = if swapped {
        matches!(
            condition,
            C::GreaterEqualSigned | C::GreaterEqualUnsigned | C::LessSigned | C::LessUnsigned
        )
    } else {
        matches!(
            condition,
            C::LessEqualSigned | C::LessEqualUnsigned | C::GreaterSigned | C::GreaterUnsigned
        )
    };
    Ordering {
        is_order: !matches!(condition, C::Equal | C::NotEqual),
        is_signed,
        admits_equal,
    }
}

/// Whether what is known of one operand can decide against another of which at most a bound is, and low zeros.
fn decides(ordering: Ordering, width: u8, known: Kind, other: Kind) -> bool {
    if !ordering.is_order {
        return false;
    }
    let bound = min(other.bits, width);
    if ordering.is_signed && bound >= width {
        return false;
    }
    // 0 <= x, and c >= x for a c beyond the bound.
    let reaches_zero = known.lane || known.form == Form::Zero;
    ordering.admits_equal && reaches_zero || known.known() >= bound
}

/// Whether a comparison of tid.x with a literal comes out the same in all lanes of each warp.
fn is_between_warps(condition: Condition, right: Value) -> bool {
    let Value::Integer(bound) = right else {
        return false;
    };
    let first = match condition {
        Condition::LessSigned
        | Condition::LessUnsigned
        | Condition::GreaterEqualSigned
        | Condition::GreaterEqualUnsigned => bound,
        Condition::LessEqualSigned
        | Condition::LessEqualUnsigned
        | Condition::GreaterSigned
        | Condition::GreaterUnsigned => bound.wrapping_add(1),
        Condition::Equal | Condition::NotEqual => return false,
    };
    (0..=i64::from(MAX_THREADS)).contains(&first) && first % WARP as i64 == 0
}
