//! Initialisers: checked while parsing, read element by element when somebody asks. Tables of 10 MB occur.

use nom::Parser;

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
            rest => scalar(rest).ok()?,
        };
        self.rest = rest;
        Some(element)
    }
}

/// Checks the initialiser behind `=`, a scalar or nested braces; returns the text from its end on.
pub(crate) fn check(input: &[u8]) -> Parsed<'_, &[u8]> {
    if input.first() != Some(&b'{') {
        let (rest, _) = scalar(input)?;
        return Ok((rest, behind_last_token(input, rest)));
    }
    let mut rest = input;
    let mut depth = 0;
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
            let digits = run(rest, DIGIT);
            rest = match rest.get(digits) {
                Some(b',' | b'}') if digits > 0 && (rest[0] != b'0' || digits == 1) => &rest[digits..],
                _ => scalar(rest)?.0,
            };
        }
        while let [b'}', after @ ..] = rest {
            depth -= 1;
            rest = trivia(after);
            if depth == 0 {
                return Ok((rest, after));
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

/// `symbol`, `generic(symbol)`, with a constant offset behind it or, for `generic`, in its parentheses.
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
