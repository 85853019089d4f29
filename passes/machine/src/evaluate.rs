//! The results of integer operations (PTX ISA, Integer Arithmetic Instructions, Comparison and Selection Instructions, Logic
//! and Shift Instructions, Data Movement and Conversion Instructions), written down apart from what the analyses compute with.
//!
//! Numbers are computed without loss in 128 bits and cut to the width of the result. Bits of an operand above the width of the operation
//! are ignored. `None` is a number that is not known; so is the result of an operation on one, unless the other operands decide it.

use ptxcheck_ir::{BinaryOp, Condition, Logic, Op, UnaryOp, Update};

/// The content of a register, in the low bits; `None` where it is not known.
pub type Word = Option<u64>;

/// Result number `number` of an operation. `None` where it is not known, among it: what operations return that compute no
/// integers from integers, divisions by zero ("an unspecified, machine-specific value", PTX ISA, div), and quotients that
/// the width does not hold.
#[must_use]
pub fn result(op: Op, number: usize, uses: &[Word]) -> Word {
    let at = |place: usize| uses.get(place).copied().flatten();
    match (op, number) {
        (_, 0) | (Op::Compare(..), 1) | (Op::Unpack(_), _) => {}
        _ => return None,
    }
    match op {
        Op::Copy => at(0),
        Op::Binary(op, bits) => binary(op, Width::new(bits)?, at(0), at(1)),
        Op::Unary(op, bits) => Some(unary(op, Width::new(bits)?, at(0)?)),
        Op::MulAdd(op, bits) => {
            let width = Width::new(bits)?;
            let product = binary(op, width, at(0), at(1))?;
            Some(width.cut(i128::from(product) + i128::from(at(2)?)))
        }
        Op::ExtractBits(bits, is_signed) => {
            let width = Width::new(bits)?;
            let value = width.number(at(0)?, is_signed);
            Some(width.cut(field(value, at(1)? & 0xff, at(2)? & 0xff, is_signed)))
        }
        Op::InsertBits(bits) => {
            let width = Width::new(bits)?;
            let (start, length) = (at(2)? & 0xff, at(3)? & 0xff);
            // Bits above the width are cut off.
            let mask = if start >= 64 {
                0
            } else {
                low(length.min(64)) << start
            };
            let inserted = if start >= 64 {
                0
            } else {
                i128::from(at(0)?) << start
            };
            Some(width.cut(i128::from(at(1)?) & !mask | inserted & mask))
        }
        Op::Lop3(table) => Some(lop3(table, [at(0)?, at(1)?, at(2)?])),
        Op::FunnelShift { left, wrap } => Some(funnel(left, wrap, at(0)?, at(1)?, at(2)?)),
        Op::Compare(condition, bits, logic) => {
            let outcome = Width::new(bits)
                .and_then(|width| Some(holds(condition, width, at(0)?, at(1)?) != (number == 1)));
            combined(logic, outcome, at(2).map(|with| with & 1 == 1)).map(u64::from)
        }
        Op::Select => match at(2) {
            Some(predicate) if predicate & 1 == 1 => at(0),
            Some(_) => at(1),
            None => at(0).filter(|_| at(0) == at(1)),
        },
        Op::Convert { from, signed, to } => {
            let number = Width::new(from)?.number(at(0)?, signed);
            Some(Width::new(to)?.cut(number))
        }
        Op::Pack(bits) => {
            let width = Width::new(bits)?;
            let mut packed = 0;
            for (place, value) in uses.iter().enumerate() {
                let shift = u32::from(bits).checked_mul(u32::try_from(place).ok()?)?;
                packed |= width.cut(i128::from((*value)?)).checked_shl(shift)?;
            }
            Some(packed)
        }
        Op::Unpack(bits) => {
            let shift = u32::from(bits).checked_mul(u32::try_from(number).ok()?)?;
            Some(Width::new(bits)?.cut(i128::from(at(0)?.checked_shr(shift)?)))
        }
        // Floating point and what the IR does not name; addresses, memory, other lanes, control: not of integers alone.
        Op::CompareOther
        | Op::Opaque
        | Op::ToGeneric(..)
        | Op::FromGeneric(..)
        | Op::IsSpace(_)
        | Op::MapShared(_)
        | Op::Access(_)
        | Op::Collective(..)
        | Op::ActiveMask
        | Op::Barrier(_)
        | Op::SetRegisters(_)
        | Op::Call(_)
        | Op::CallResult(_)
        | Op::StackAlloc
        | Op::Branch
        | Op::BranchTable
        | Op::Return
        | Op::Exit
        | Op::Trap
        | Op::Assume => None,
    }
}

/// The width of an operation, 1 to 64 bits.
#[derive(Clone, Copy)]
struct Width(u8);

impl Width {
    fn new(bits: u8) -> Option<Self> {
        (1..=64).contains(&bits).then_some(Self(bits))
    }

    /// The low bits of a number.
    const fn cut(self, number: i128) -> u64 {
        (number & low(self.0 as u64)) as u64
    }

    /// The number that the low bits stand for.
    const fn number(self, bits: u64, is_signed: bool) -> i128 {
        let number = bits as i128 & low(self.0 as u64);
        if is_signed && number >> (self.0 - 1) & 1 == 1 {
            number - (1 << self.0)
        } else {
            number
        }
    }
}

/// All bits of a width; of one that is not known, 64.
pub(crate) const fn ones(bits: u8) -> u64 {
    match bits {
        1..64 => u64::MAX >> (64 - bits),
        _ => u64::MAX,
    }
}

/// So many low bits set, at most 64.
const fn low(bits: u64) -> i128 {
    (1 << bits) - 1
}

/// The content that an atomic of so many bits stores, from the old content and the values that it has as uses (PTX ISA, atom).
#[must_use]
pub fn update(update: Update, bits: u8, old: Word, values: &[Word]) -> Word {
    let width = Width::new(bits)?;
    let at = |place: usize| Some(width.cut(i128::from(values.get(place).copied().flatten()?)));
    match update {
        Update::Unknown => None,
        Update::Binary(op) => binary(op, width, old, at(0)),
        Update::Exchange => at(0),
        Update::CompareAndSwap => {
            let old = width.cut(i128::from(old?));
            if old == at(0)? { at(1) } else { Some(old) }
        }
        Update::Increment => {
            let old = width.cut(i128::from(old?));
            Some(if old >= at(0)? { 0 } else { old + 1 })
        }
        Update::Decrement => {
            let (old, most) = (width.cut(i128::from(old?)), at(0)?);
            Some(if old == 0 || old > most { most } else { old - 1 })
        }
    }
}

fn binary(op: BinaryOp, width: Width, a: Word, b: Word) -> Word {
    use BinaryOp as B;
    let ones = width.cut(-1);
    // One operand alone may decide.
    let is = |word: Word, bits: u64| word.is_some_and(|word| word & ones == bits);
    match op {
        B::And | B::MulLow if is(a, 0) || is(b, 0) => return Some(0),
        B::Or if is(a, ones) || is(b, ones) => return Some(ones),
        _ => {}
    }
    let (a, b) = (a?, b?);
    let number = |bits, is_signed| width.number(bits, is_signed);
    let half = |bits, is_signed| Some(Width::new(width.0 / 2)?.number(bits, is_signed));
    let (ua, ub) = (number(a, false), number(b, false));
    let (sa, sb) = (number(a, true), number(b, true));
    // PTX ISA, shl and shr: the amount is an unsigned 32-bit value, clamped to the width.
    let amount = (b & 0xffff_ffff).min(u64::from(width.0)) as u32;
    // The width holds no quotient of its lowest number and -1.
    let divides = |a: i128, b: i128| b != 0 && !(b == -1 && a == -(1 << (width.0 - 1)));
    let value = match op {
        B::Add => ua + ub,
        B::Sub => ua - ub,
        B::MulLow => return Some(width.cut((ua as u128).wrapping_mul(ub as u128) as i128)),
        B::MulHighSigned => (sa * sb) >> width.0,
        B::MulHighUnsigned => ((ua as u128 * ub as u128) >> width.0) as i128,
        B::MulWideSigned => half(a, true)? * half(b, true)?,
        B::MulWideUnsigned => half(a, false)? * half(b, false)?,
        B::DivSigned => divides(sa, sb).then(|| sa / sb)?,
        B::DivUnsigned => ua.checked_div(ub)?,
        B::RemSigned => divides(sa, sb).then(|| sa % sb)?,
        B::RemUnsigned => ua.checked_rem(ub)?,
        B::MinSigned => sa.min(sb),
        B::MinUnsigned => ua.min(ub),
        B::MaxSigned => sa.max(sb),
        B::MaxUnsigned => ua.max(ub),
        B::And => ua & ub,
        B::Or => ua | ub,
        B::Xor => ua ^ ub,
        B::Shl => ua << amount,
        B::ShrSigned => sa >> amount,
        B::ShrUnsigned => ua >> amount,
        // PTX ISA, bmsk.
        B::OnesClamped | B::OnesWrapped => {
            let bits = i128::from(width.0);
            let cut = |number: i128| {
                if op == B::OnesWrapped {
                    number % bits
                } else {
                    number
                }
            };
            let (start, count) = (cut(ua), cut(ub));
            let is_one = |place: &i128| *place >= start && *place - start < count;
            (0..bits).filter(is_one).map(|place| 1 << place).sum()
        }
    };
    Some(width.cut(value))
}

fn unary(op: UnaryOp, width: Width, a: u64) -> u64 {
    let number = width.number(a, false);
    let bits = u64::from(width.0);
    let is_set = |place: &u64| number >> place & 1 == 1;
    match op {
        UnaryOp::Not => width.cut(!number),
        UnaryOp::Neg => width.cut(-number),
        UnaryOp::Abs => width.cut(width.number(a, true).abs()),
        UnaryOp::PopCount => (0..bits).filter(is_set).count() as u64,
        UnaryOp::LeadingZeros => (0..bits).rev().take_while(|place| !is_set(place)).count() as u64,
        UnaryOp::ReverseBits => (0..bits)
            .filter(is_set)
            .fold(0, |reversed, place| reversed | 1 << (bits - 1 - place)),
        UnaryOp::FindHighestSet => (0..bits).rev().find(is_set).unwrap_or(0xffff_ffff),
        UnaryOp::ShiftToHighest => {
            let highest = (0..bits).rev().find(is_set);
            highest.map_or(0xffff_ffff, |place| bits - 1 - place)
        }
        UnaryOp::LogicalNot => u64::from(number == 0),
    }
}

/// The field of a number that begins at bit `start`, extended by its highest bit or by zeros (PTX ISA, bfe). Above the number's
/// width are copies of its sign, if it has one, and zeros else.
const fn field(number: i128, start: u64, length: u64, is_signed: bool) -> i128 {
    if length == 0 {
        return 0;
    }
    let rest = number >> if start < 64 { start } else { 64 };
    if length > 64 {
        return rest;
    }
    let taken = rest & low(length);
    if is_signed && taken >> (length - 1) & 1 == 1 {
        taken - (1 << length)
    } else {
        taken
    }
}

/// PTX ISA, lop3: bit 4a + 2b + c of the table, at each of 32 bits.
fn lop3(table: u8, [a, b, c]: [u64; 3]) -> u64 {
    (0..32).fold(0, |result, place| {
        let bit = |word: u64| word >> place & 1;
        let row = bit(a) * 4 + bit(b) * 2 + bit(c);
        result | (u64::from(table) >> row & 1) << place
    })
}

/// PTX ISA, shf: 32 bits of `high` and `low`, the upper ones of a shift to the left, the lower ones of a shift to the right.
fn funnel(left: bool, wrap: bool, low_word: u64, high: u64, amount: u64) -> u64 {
    let pair = u128::from(high & 0xffff_ffff) << 32 | u128::from(low_word & 0xffff_ffff);
    let amount = amount & 0xffff_ffff;
    let amount = if wrap { amount % 32 } else { amount.min(32) };
    let word = if left {
        (pair << amount) >> 32
    } else {
        pair >> amount
    };
    (word & 0xffff_ffff) as u64
}

fn holds(condition: Condition, width: Width, a: u64, b: u64) -> bool {
    use Condition as C;
    let is_signed = matches!(
        condition,
        C::LessSigned | C::LessEqualSigned | C::GreaterSigned | C::GreaterEqualSigned
    );
    let (a, b) = (width.number(a, is_signed), width.number(b, is_signed));
    match condition {
        C::Equal => a == b,
        C::NotEqual => a != b,
        C::LessSigned | C::LessUnsigned => a < b,
        C::LessEqualSigned | C::LessEqualUnsigned => a <= b,
        C::GreaterSigned | C::GreaterUnsigned => a > b,
        C::GreaterEqualSigned | C::GreaterEqualUnsigned => a >= b,
    }
}

/// PTX ISA, setp: the outcome, or its complement, combined with a third operand.
const fn combined(logic: Logic, outcome: Option<bool>, with: Option<bool>) -> Option<bool> {
    match (logic, outcome, with) {
        (Logic::None, outcome, _) => outcome,
        (Logic::And, Some(false), _) | (Logic::And, _, Some(false)) => Some(false),
        (Logic::Or, Some(true), _) | (Logic::Or, _, Some(true)) => Some(true),
        (Logic::And, Some(true), with) => with,
        (Logic::Or, Some(false), with) => with,
        (Logic::Xor, Some(outcome), Some(with)) => Some(outcome != with),
        (Logic::And | Logic::Or, None, _) | (Logic::Xor, _, _) => None,
    }
}
