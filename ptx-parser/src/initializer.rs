//! Initialisers: checked while parsing, read element by element when somebody asks. Tables of 10 MB occur.

use nom::Parser;

use crate::bytes::leading_digits;
use crate::expression::{Value, expression};
use crate::lexer::{
    DIGIT, NAME_START, Parsed, behind_last_token, byte, expected, first_class, last_token_end, lexeme, name,
    over_limit, run, string, trivia,
};
use crate::limits::MAX_OPERAND_DEPTH;
use crate::span::Span;

/// One element of an initialiser.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element<'s> {
    /// `{`
    Open,
    /// `}`
    Close,
    /// A literal or constant expression; [`crate::operand::constant`] evaluates the integers.
    Constant(&'s [u8]),
    /// `"…"`, quotes included.
    String(&'s [u8]),
    /// The address of a symbol.
    Address(Address<'s>),
}

/// The address of a symbol, as an initialiser has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address<'s> {
    /// The symbol.
    pub symbol: &'s [u8],
    /// `generic(symbol)`.
    pub is_generic: bool,
    /// Bytes added to it.
    pub offset: i64,
    /// The mask of `0xFF00(…)`, which selects the bytes of the address that are stored (PTX ISA, Initializers).
    pub mask: Option<u64>,
}

/// Reads the initialiser that [`crate::ast::Variable::initializer`] names. [`crate::Tree::initializer`] does so for a
/// variable of a tree.
///
/// ```
/// use ptxcheck_ptx_parser::operand::constant;
/// use ptxcheck_ptx_parser::{Element, parse};
///
/// let tree = parse(b".global .u64 t[2] = {3*4, generic(f)+8};")?;
/// let elements: Vec<_> = tree.initializer(&tree.variables()[0]).collect();
/// let [Element::Open, Element::Constant(product), Element::Address(f), Element::Close] = elements[..] else { panic!() };
/// assert_eq!(constant(product), Some(12));
/// assert_eq!((f.symbol, f.is_generic, f.offset), (&b"f"[..], true, 8));
/// # Ok::<(), ptxcheck_ptx_parser::SyntaxError>(())
/// ```
#[must_use]
pub fn initializer(source: &[u8], span: Span) -> Elements<'_> {
    Elements {
        rest: trivia(span.of(source)),
    }
}

/// The elements of an initialiser in source order; ends early where the text is none.
#[derive(Clone, Debug)]
pub struct Elements<'s> {
    rest: &'s [u8],
}

impl<'s> Iterator for Elements<'s> {
    type Item = Element<'s>;

    fn next(&mut self) -> Option<Self::Item> {
        if let [b',', rest @ ..] = self.rest {
            self.rest = trivia(rest);
        }
        let (rest, element) = match self.rest {
            [] => return None,
            [b'{', rest @ ..] => (trivia(rest), Element::Open),
            [b'}', rest @ ..] => (trivia(rest), Element::Close),
            rest => match plain(rest) {
                0 => scalar(rest).ok()?,
                length => (&rest[length..], Element::Constant(&rest[..length])),
            },
        };
        self.rest = rest;
        Some(element)
    }
}

/// An initialiser that has been read.
pub(crate) struct Checked<'s> {
    /// The text after it.
    pub(crate) end: &'s [u8],
    /// An address of a symbol is among its elements.
    pub(crate) has_addresses: bool,
}

/// Checks the initialiser after `=`, a scalar or nested braces. Returns the start of the next token.
pub(crate) fn check(input: &[u8]) -> Parsed<'_, Checked<'_>> {
    let is_address = |element: Element<'_>| matches!(element, Element::Address(_));
    if input.first() != Some(&b'{') {
        let (rest, element) = scalar(input)?;
        let checked = Checked {
            end: behind_last_token(input, rest),
            has_addresses: is_address(element),
        };
        return Ok((rest, checked));
    }
    let mut rest = input;
    let mut depth = 0;
    let mut has_addresses = false;
    loop {
        // At the beginning of an element.
        while let [b'{', inner @ ..] = rest {
            depth += 1;
            if depth > MAX_OPERAND_DEPTH {
                return over_limit("the initialiser is nested more than 32 levels deep", rest);
            }
            rest = trivia(inner);
        }
        if rest.first() != Some(&b'}') {
            rest = match plain(rest) {
                0 => {
                    let (after, element) = scalar(rest)?;
                    has_addresses |= is_address(element);
                    after
                }
                length => &rest[length..],
            };
        }
        while let [b'}', end @ ..] = rest {
            depth -= 1;
            rest = trivia(end);
            if depth == 0 {
                return Ok((rest, Checked { end, has_addresses }));
            }
        }
        match rest {
            [b',', after @ ..] => rest = trivia(after),
            _ => return expected("`,` or `}` in the initialiser", rest),
        }
        if rest.first() == Some(&b'}') {
            return expected("an element of the initialiser", rest);
        }
    }
}

/// The length of the decimal, hexadecimal or floating-point literal that is all of the first element, as nearly all of a table are; 0 for others.
#[inline]
fn plain(input: &[u8]) -> usize {
    // Most have few digits.
    let digits = leading_digits(input);
    let is_decimal = digits == 1 || digits > 1 && input[0] != b'0';
    if is_decimal && matches!(input.get(digits), Some(b',' | b'}')) {
        return digits;
    }
    other_plain(input)
}

fn other_plain(input: &[u8]) -> usize {
    let sign = usize::from(input.first() == Some(&b'-'));
    let digits = run(&input[sign..], DIGIT);
    let end = match input.get(sign + digits) {
        Some(kind @ (b'x' | b'X' | b'f' | b'F' | b'd' | b'D')) if digits == 1 && input[sign] == b'0' => {
            let hex = input[sign + 2..].iter().take(16);
            let count = hex.take_while(|byte| byte.is_ascii_hexdigit()).count();
            let is_right = match kind {
                b'x' | b'X' => count > 0,
                b'f' | b'F' => count == 8,
                _ => count == 16,
            };
            if !is_right {
                return 0;
            }
            sign + 2 + count
        }
        // Beginning with 0 it is octal.
        _ if digits == 1 || digits > 1 && digits < 19 && input[sign] != b'0' => sign + digits,
        _ => return 0,
    };
    match input.get(end) {
        Some(b',' | b'}') => end,
        _ => 0,
    }
}

fn scalar(input: &[u8]) -> Parsed<'_, Element<'_>> {
    let text = |rest: &[u8]| {
        let read = &input[..input.len() - rest.len()];
        &read[..last_token_end(read)]
    };
    match input {
        [b'"', ..] => {
            let (rest, text) = string(input)?;
            Ok((trivia(rest), Element::String(text)))
        }
        [first, ..] if first_class(input) & NAME_START != 0 && *first != b'%' => {
            address(input).map(|(rest, address)| (rest, Element::Address(address)))
        }
        _ => {
            if let Some((rest, mask)) = mask(input) {
                let (rest, address) = address(rest)?;
                let (rest, ()) = lexeme(byte(b')', "`)` that closes the mask")).parse(rest)?;
                return Ok((
                    rest,
                    Element::Address(Address {
                        mask: Some(mask),
                        ..address
                    }),
                ));
            }
            match expression(input, 0) {
                Ok((rest, _)) => Ok((rest, Element::Constant(text(rest)))),
                Err(nom::Err::Error(error)) if error.rest == input.len() => {
                    expected("an element of the initialiser", input)
                }
                Err(error) => Err(error),
            }
        }
    }
}

/// `0xFF00(`
fn mask(input: &[u8]) -> Option<(&[u8], u64)> {
    if first_class(input) & DIGIT == 0 {
        return None;
    }
    let (rest, (_, text)) = lexeme(crate::lexer::number).parse(input).ok()?;
    let inner = rest.strip_prefix(b"(")?;
    Some((trivia(inner), crate::expression::magnitude(text)?))
}

/// `symbol`, `generic(symbol)`, with a constant offset after it or, for `generic`, in its parentheses.
fn address(input: &[u8]) -> Parsed<'_, Address<'_>> {
    let (rest, mut symbol) = match name(input) {
        Ok((rest, symbol)) => (trivia(rest), symbol),
        Err(_) => return expected("a symbol", input),
    };
    let (mut rest, mut sum) = (rest, 0);
    let mut is_generic = false;
    if symbol == b"generic"
        && let [b'(', inner @ ..] = rest
    {
        is_generic = true;
        (rest, symbol) = lexeme(name).parse(trivia(inner))?;
        (rest, sum) = offset(rest)?;
        (rest, ()) = lexeme(byte(b')', "`)` that closes `generic(`")).parse(rest)?;
    }
    let (end, outer) = offset(rest)?;
    match i64::checked_add(sum, outer) {
        Some(offset) => Ok((
            end,
            Address {
                symbol,
                is_generic,
                offset,
                mask: None,
            },
        )),
        None => expected("an offset in 64 bits", rest),
    }
}

fn offset(input: &[u8]) -> Parsed<'_, i64> {
    if !matches!(input, [b'+' | b'-', ..]) {
        return Ok((input, 0));
    }
    let (rest, value): (_, Value) = expression(input, 0)?;
    match value.and_then(|word| i64::try_from(word.value()).ok()) {
        Some(value) => Ok((rest, value)),
        None => expected("a constant offset in 64 bits", input),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Literals that are read without the grammar of expressions are those that it reads, too.
    #[test]
    fn plain_literals_are_expressions() {
        for (text, length) in [
            ("0,", 1),
            ("12}", 2),
            ("-1,", 2),
            ("0xFf00,", 6),
            ("-0x1}", 4),
            ("999999999999999999,", 18),
            ("9999999999999999999,", 0),
            ("0x,", 0),
            ("0x11111111111111111,", 0),
            ("01,", 0),
            ("1 ,", 0),
            ("1U,", 0),
            ("1+2,", 0),
            ("0f3F800000,", 10),
            ("-0d3FF0000000000000}", 19),
            ("0f3F80000,", 0),
            ("0d3F800000,", 0),
            ("0xFF(a),", 0),
            ("-,", 0),
            ("1", 0),
            ("", 0),
        ] {
            assert_eq!(plain(text.as_bytes()), length, "{text}");
            if length > 0 {
                let (rest, element) = scalar(text.as_bytes()).unwrap();
                assert_eq!(
                    (rest.len(), element),
                    (text.len() - length, Element::Constant(&text.as_bytes()[..length]))
                );
            }
        }
    }
}
