//! Constant expressions (PTX ISA, Constant Expressions): read by precedence climbing, and evaluated on the way.

use nom::Parser;

use crate::ast::OperandKind;
use crate::lexer::{
    DIGIT, Expected, NAME, NAME_START, Parsed, byte, class, directive, expected, expecting, first_class,
    integer_digits, lexeme, name, number, over_limit, run, trivia,
};
use crate::limits::MAX_OPERAND_DEPTH;

/// The value of an expression: 64 bits, read as `.s64` or `.u64`; `None` if that is not known (names, floating
/// point) or does not fit.
pub(crate) type Value = Option<Word>;

/// A 64-bit constant and its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) bits: u64,
    pub(crate) is_unsigned: bool,
}

impl Word {
    const fn signed(value: i64) -> Self {
        Self {
            bits: value.cast_unsigned(),
            is_unsigned: false,
        }
    }

    const fn unsigned(bits: u64) -> Self {
        Self {
            bits,
            is_unsigned: true,
        }
    }

    /// The number that the bits stand for.
    pub(crate) const fn value(self) -> i128 {
        if self.is_unsigned {
            self.bits as i128
        } else {
            self.bits.cast_signed() as i128
        }
    }

    fn checked(value: i128, is_unsigned: bool) -> Value {
        if is_unsigned {
            u64::try_from(value).ok().map(Self::unsigned)
        } else {
            i64::try_from(value).ok().map(Self::signed)
        }
    }
}

/// Nesting deeper than the limit.
pub(crate) const TOO_DEEP: &str = "the operand is nested more than 32 levels deep";

/// One expression, and the blanks after it.
pub(crate) fn expression(input: &[u8], depth: usize) -> Parsed<'_, Value> {
    let (rest, condition) = binary(input, 0, depth)?;
    if rest.first() != Some(&b'?') {
        return Ok((rest, condition));
    }
    if depth >= MAX_OPERAND_DEPTH {
        return over_limit(TOO_DEEP, rest);
    }
    let (rest, yes) = expression(trivia(&rest[1..]), depth + 1)?;
    let (rest, ()) = lexeme(byte(b':', "`:` of the conditional expression")).parse(rest)?;
    let (rest, no) = expression(rest, depth + 1)?;
    let value = match (condition, yes, no) {
        (Some(condition), Some(yes), Some(no)) => {
            let chosen = if condition.bits != 0 { yes } else { no };
            Some(Word {
                is_unsigned: yes.is_unsigned || no.is_unsigned,
                ..chosen
            })
        }
        _ => None,
    };
    Ok((rest, value))
}

#[derive(Clone, Copy)]
enum Operator {
    LogicalOr,
    LogicalAnd,
    Or,
    Xor,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// The binary operator that `input` begins with, how tightly it binds (more is tighter), and its length.
fn operator(input: &[u8]) -> Option<(Operator, u8, usize)> {
    use Operator::*;
    Some(match input {
        [b'|', b'|', ..] => (LogicalOr, 1, 2),
        [b'&', b'&', ..] => (LogicalAnd, 2, 2),
        [b'|', ..] => (Or, 3, 1),
        [b'^', ..] => (Xor, 4, 1),
        [b'&', ..] => (And, 5, 1),
        [b'=', b'=', ..] => (Equal, 6, 2),
        [b'!', b'=', ..] => (NotEqual, 6, 2),
        [b'<', b'<', ..] => (ShiftLeft, 8, 2),
        [b'>', b'>', ..] => (ShiftRight, 8, 2),
        [b'<', b'=', ..] => (LessEqual, 7, 2),
        [b'>', b'=', ..] => (GreaterEqual, 7, 2),
        [b'<', ..] => (Less, 7, 1),
        [b'>', ..] => (Greater, 7, 1),
        [b'+', ..] => (Add, 9, 1),
        [b'-', ..] => (Subtract, 9, 1),
        [b'*', ..] => (Multiply, 10, 1),
        [b'/', ..] => (Divide, 10, 1),
        [b'%', ..] => (Remainder, 10, 1),
        _ => return None,
    })
}

/// True if an operator other than `+` and `-` follows a name, which makes it a constant expression. `%` does not
/// count (a register follows a missing comma more often than a modulus), nor does the single `|` of a pair.
pub(crate) fn continues_name(input: &[u8]) -> bool {
    match input {
        [b'%' | b'+' | b'-', ..] => false,
        [b'|', next, ..] => *next == b'|',
        [b'?', ..] => true,
        _ => operator(input).is_some(),
    }
}

/// True if an operator follows a number.
pub(crate) fn continues_number(input: &[u8]) -> bool {
    input.first() == Some(&b'?') || operator(input).is_some()
}

/// Each recursion raises `tightest`, so it is at most as deep as there are precedences.
fn binary(input: &[u8], loosest: u8, depth: usize) -> Parsed<'_, Value> {
    let (mut rest, mut left) = unary(input, depth)?;
    while let Some((operator, binds, len)) = operator(rest)
        && binds > loosest
    {
        let (after, right) = binary(trivia(&rest[len..]), binds, depth)?;
        rest = after;
        left = left
            .zip(right)
            .and_then(|(left, right)| apply(operator, left, right));
    }
    Ok((rest, left))
}

/// PTX ISA, Constant Expression Evaluation: the type rules, with every result checked against 64 bits.
fn apply(operator: Operator, left: Word, right: Word) -> Value {
    use Operator::*;
    let is_unsigned = left.is_unsigned || right.is_unsigned;
    let converted = |word: Word| Word { is_unsigned, ..word }.value();
    let (a, b) = (converted(left), converted(right));
    let truth = |holds: bool| Some(Word::signed(i64::from(holds)));
    match operator {
        LogicalOr => truth(left.bits != 0 || right.bits != 0),
        LogicalAnd => truth(left.bits != 0 && right.bits != 0),
        Or => Some(Word::unsigned(left.bits | right.bits)),
        Xor => Some(Word::unsigned(left.bits ^ right.bits)),
        And => Some(Word::unsigned(left.bits & right.bits)),
        Equal => truth(a == b),
        NotEqual => truth(a != b),
        Less => truth(a < b),
        LessEqual => truth(a <= b),
        Greater => truth(a > b),
        GreaterEqual => truth(a >= b),
        ShiftLeft if right.bits < 64 => Word::checked(left.value() << right.bits, left.is_unsigned),
        ShiftRight if right.bits < 64 => Word::checked(left.value() >> right.bits, left.is_unsigned),
        ShiftLeft | ShiftRight => None,
        Add => Word::checked(a + b, is_unsigned),
        Subtract => Word::checked(a - b, is_unsigned),
        Multiply => a
            .checked_mul(b)
            .and_then(|value| Word::checked(value, is_unsigned)),
        Divide => a
            .checked_div(b)
            .and_then(|value| Word::checked(value, is_unsigned)),
        Remainder => a
            .checked_rem(b)
            .and_then(|value| Word::checked(value, is_unsigned)),
    }
}

fn unary(input: &[u8], depth: usize) -> Parsed<'_, Value> {
    if depth >= MAX_OPERAND_DEPTH {
        return over_limit(TOO_DEEP, input);
    }
    match input {
        // Together, since the smallest `.s64` has no positive counterpart.
        [b'-', digit, ..] if digit.is_ascii_digit() => {
            let (rest, (kind, text)) = lexeme(number).parse(&input[1..])?;
            Ok((
                rest,
                if kind == OperandKind::Integer {
                    literal(text, true)
                } else {
                    None
                },
            ))
        }
        [sign @ (b'-' | b'+' | b'!' | b'~'), rest @ ..] => {
            let (rest, value) = unary(trivia(rest), depth + 1)?;
            let value = value.and_then(|word| match sign {
                b'-' => Word::checked(-word.value(), word.is_unsigned),
                b'+' => Some(word),
                b'!' => Some(Word::signed(i64::from(word.bits == 0))),
                _ => Some(Word::unsigned(!word.bits)),
            });
            Ok((rest, value))
        }
        [b'.', ..] => {
            let (rest, is_unsigned) = cast(input)?;
            let (rest, value) = unary(rest, depth + 1)?;
            Ok((rest, value.map(|word| Word { is_unsigned, ..word })))
        }
        [b'(', inner @ ..] => {
            let inner = trivia(inner);
            if inner.first() == Some(&b'.') {
                let (rest, is_unsigned) = cast(inner)?;
                if rest.first() == Some(&b')') {
                    let (rest, value) = unary(trivia(&rest[1..]), depth + 1)?;
                    return Ok((rest, value.map(|word| Word { is_unsigned, ..word })));
                }
            }
            let (rest, value) = expression(inner, depth + 1)?;
            let (rest, ()) = lexeme(byte(b')', "`)` that closes the expression")).parse(rest)?;
            Ok((rest, value))
        }
        [first, ..] if class(*first) & NAME_START != 0 => {
            let (rest, text) = lexeme(name).parse(input)?;
            // PTX ISA, Predefined Constants.
            Ok((
                rest,
                if text == b"WARP_SZ" {
                    Some(Word::signed(32))
                } else {
                    None
                },
            ))
        }
        _ => {
            let (rest, (kind, text)) = expecting("a constant", lexeme(number)).parse(input)?;
            Ok((
                rest,
                if kind == OperandKind::Integer {
                    literal(text, false)
                } else {
                    None
                },
            ))
        }
    }
}

/// `.s64` or `.u64`.
fn cast(input: &[u8]) -> Parsed<'_, bool> {
    match lexeme(directive).parse(input) {
        Ok((rest, b".s64")) => Ok((rest, false)),
        Ok((rest, b".u64")) => Ok((rest, true)),
        _ => expected("`.s64` or `.u64`", input),
    }
}

/// An integer literal: `.s64` if it fits and has no `U`, else `.u64` (PTX ISA, Integer Constants).
fn literal(text: &[u8], is_negative: bool) -> Value {
    let magnitude = magnitude(text)?;
    let is_unsigned = text.ends_with(b"U");
    if is_negative {
        return Word::checked(-i128::from(magnitude), is_unsigned && magnitude != 0);
    }
    Some(Word {
        bits: magnitude,
        is_unsigned: is_unsigned || i64::try_from(magnitude).is_err(),
    })
}

/// The value of an integer literal without sign.
pub(crate) fn magnitude(text: &[u8]) -> Option<u64> {
    let (radix, digits) = integer_digits(text);
    if digits.is_empty() {
        return None;
    }
    // 19 decimal digits fit in 64 bits.
    if radix == 10 && digits.len() < 20 && digits.iter().all(u8::is_ascii_digit) {
        return Some(
            digits
                .iter()
                .fold(0, |value, &digit| value * 10 + u64::from(digit - b'0')),
        );
    }
    digits.iter().try_fold(0_u64, |value, &digit| {
        let digit = (digit as char).to_digit(radix)?;
        value.checked_mul(u64::from(radix))?.checked_add(u64::from(digit))
    })
}

/// A decimal number of at most nine digits, not followed by a character that could belong to it. Nearly all numbers in directives are of
/// this form.
#[inline]
pub(crate) fn short_decimal(input: &[u8]) -> Option<(&[u8], u32)> {
    let digits = run(input, DIGIT);
    let is_plain = matches!(digits, 1..=9) && (input[0] != b'0' || digits == 1);
    let (text, rest) = input.split_at(digits);
    (is_plain && first_class(rest) & NAME == 0).then(|| {
        (
            rest,
            text.iter()
                .fold(0, |value, &digit| value * 10 + u32::from(digit - b'0')),
        )
    })
}

/// An integer literal in 32 bits.
pub(crate) fn number32<'s>(
    what: &'static str,
) -> impl Parser<&'s [u8], Output = u32, Error = Expected> + use<'s> {
    move |input: &'s [u8]| {
        if let Some((rest, value)) = short_decimal(input) {
            return Ok((trivia(rest), value));
        }
        let literal = match number(input) {
            Ok((rest, (OperandKind::Integer, text))) => magnitude(text).map(|value| (rest, value)),
            _ => None,
        };
        match literal.and_then(|(rest, value)| Some((rest, u32::try_from(value).ok()?))) {
            Some((rest, value)) => Ok((trivia(rest), value)),
            None => expected(what, input),
        }
    }
}

/// True if a constant expression may begin with this byte.
pub(crate) fn begins_expression(input: &[u8]) -> bool {
    first_class(input) & DIGIT != 0 || matches!(input.first(), Some(b'-' | b'+' | b'~' | b'!' | b'(' | b'.'))
}
