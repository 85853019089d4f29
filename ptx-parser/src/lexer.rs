//! Tokens: names, numbers, strings, and the blanks and comments between them.
//!
//! All functions take the rest of the source and return the unread part, as nom parsers do. Where a token lies
//! follows from the length of the rest, so nothing has to carry offsets along.

use memchr::{memchr, memchr2, memchr3, memmem};
use nom::error::{ErrorKind, ParseError};
use nom::{IResult, Parser};

use crate::ast::OperandKind;
use crate::span::Span;

pub(crate) use crate::bytes::{
    BLANK, CLOSER, DIGIT, NAME, NAME_START, SLASH, class, first_class, name_len, run,
};

/// The phrase for what a parser expected, and the number of bytes left there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) what: &'static str,
    pub(crate) rest: usize,
    pub(crate) is_limit: bool,
}

/// A nom result over bytes.
pub(crate) type Parsed<'s, T> = IResult<&'s [u8], T, Expected>;

impl ParseError<&[u8]> for Expected {
    fn from_error_kind(input: &[u8], _: ErrorKind) -> Self {
        Self {
            what: "PTX",
            rest: input.len(),
            is_limit: false,
        }
    }

    fn append(_: &[u8], _: ErrorKind, other: Self) -> Self {
        other
    }

    fn or(self, other: Self) -> Self {
        if self.rest < other.rest { self } else { other }
    }
}

/// The error of something else standing where `what` should at `input`.
#[cold]
pub(crate) fn failure(what: &'static str, input: &[u8]) -> nom::Err<Expected> {
    nom::Err::Error(Expected {
        what,
        rest: input.len(),
        is_limit: false,
    })
}

/// Fails: `what` should have stood at `input`.
#[cold]
pub(crate) fn expected<'s, T>(what: &'static str, input: &'s [u8]) -> Parsed<'s, T> {
    Err(failure(what, input))
}

/// Fails beyond backtracking: at `input` a limit is exceeded.
#[cold]
pub(crate) fn over_limit<'s, T>(sentence: &'static str, input: &'s [u8]) -> Parsed<'s, T> {
    Err(nom::Err::Failure(Expected {
        what: sentence,
        rest: input.len(),
        is_limit: true,
    }))
}

/// Renames what a parser wants, and moves its errors to its beginning.
pub(crate) fn expecting<'s, O>(
    what: &'static str,
    mut parser: impl Parser<&'s [u8], Output = O, Error = Expected>,
) -> impl Parser<&'s [u8], Output = O, Error = Expected> {
    move |input: &'s [u8]| match parser.parse(input) {
        Err(nom::Err::Error(_)) => expected(what, input),
        other => other,
    }
}

/// `parser`, then blanks and comments.
pub(crate) fn lexeme<'s, O>(
    mut parser: impl Parser<&'s [u8], Output = O, Error = Expected>,
) -> impl Parser<&'s [u8], Output = O, Error = Expected> {
    move |input: &'s [u8]| parser.parse(input).map(|(rest, out)| (trivia(rest), out))
}

/// Skips blanks and comments.
#[inline(always)]
pub(crate) fn trivia(input: &[u8]) -> &[u8] {
    let Some((&first, rest)) = input.split_first() else {
        return input;
    };
    if class(first) & (BLANK | SLASH) == 0 {
        return input;
    }
    if class(first) == BLANK && first_class(rest) & (BLANK | SLASH) == 0 {
        return rest;
    }
    more_trivia(input)
}

fn more_trivia(mut input: &[u8]) -> &[u8] {
    loop {
        input = &input[run(input, BLANK)..];
        match comment_len(input) {
            0 => return input,
            len => input = &input[len..],
        }
    }
}

/// Length of the comment that `input` begins with: a line comment without its line ending, a block comment with its
/// end or, unterminated, all there is. 0 if it begins with none.
pub(crate) fn comment_len(input: &[u8]) -> usize {
    match input {
        [b'/', b'/', rest @ ..] => 2 + memchr(b'\n', rest).unwrap_or(rest.len()),
        [b'/', b'*', rest @ ..] => memmem::find(rest, b"*/").map_or(input.len(), |at| at + 4),
        _ => 0,
    }
}

/// Finds all comments. Only strings can hide the beginning of one, so this needs no grammar. The second value is
/// the block comment that does not end.
pub(crate) fn comments(source: &[u8]) -> (Vec<Span>, Option<Span>) {
    let mut found = Vec::new();
    let mut ahead = Ahead::default();
    let mut at = 0;
    while let Some(next) = memchr2(b'/', b'"', &source[at..]) {
        at += next;
        let rest = &source[at..];
        if rest[0] == b'"' {
            at += ahead.string_len(rest);
            continue;
        }
        let mut len = comment_len(rest);
        if len == 0 {
            at += 1;
            continue;
        }
        let start = at;
        at += len;
        if rest[1] == b'*' && (len < 4 || !rest[..len].ends_with(b"*/")) {
            return (found, Some(Span::new(start as u32, at as u32)));
        }
        if rest[1] == b'/' && rest[..len].ends_with(b"\r") {
            len -= 1;
        }
        found.push(Span::new(start as u32, (start + len) as u32));
    }
    (found, None)
}

/// The offset of the brace that closes the one opened right before `text`, which reaches to the end of the source. Braces in
/// comments and strings do not count.
pub(crate) fn closing_brace(text: &[u8], ahead: &mut Ahead) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    let mut slash = ahead.slash(text);
    loop {
        let Some(next) = memchr3(b'{', b'}', b'"', &text[at..slash]) else {
            at = slash + comment_len(text.get(slash..)?).max(1);
            slash = at + ahead.slash(text.get(at..)?);
            continue;
        };
        at += next;
        match text[at] {
            b'{' => depth += 1,
            b'}' if depth == 0 => return Some(at),
            b'}' => depth -= 1,
            _ => at += ahead.string_len(&text[at..]) - 1,
        }
        at += 1;
        if at > slash {
            slash = at + ahead.slash(&text[at..]);
        }
    }
}

/// Length of the string that `input` begins with, quotes included. A backslash takes the next byte with it; a
/// string ends on its line.
pub(crate) fn string_len(input: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr::memchr3(b'"', b'\\', b'\n', input.get(at..)?)?;
        match input[at] {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => return None,
        }
    }
}

/// `"…"`, quotes included.
pub(crate) fn string(input: &[u8]) -> Parsed<'_, &[u8]> {
    match input.first() {
        Some(b'"') => match string_len(input) {
            Some(len) => Ok((&input[len..], &input[..len])),
            None => expected("a `\"` that ends the string on its line", input),
        },
        _ => expected("a string", input),
    }
}

/// The next places of some bytes, shared by all walks over one text so that none searches twice. Places are counted in
/// bytes left.
#[derive(Default)]
pub(crate) struct Ahead {
    /// From a place on, where the next slash is.
    slash: Option<(usize, usize)>,
    /// A quote whose string does not end on its line, and where the line ends. No quote after it can begin a string
    /// on that line either: all of them follow a backslash.
    broken: Option<(usize, usize)>,
}

impl Ahead {
    /// Length of the string at the first byte of `rest`; 1 if the quote begins none.
    pub(crate) fn string_len(&mut self, rest: &[u8]) -> usize {
        if self
            .broken
            .is_some_and(|(quote, end)| (end..=quote).contains(&rest.len()))
        {
            return 1;
        }
        string_len(rest).unwrap_or_else(|| {
            let line = memchr(b'\n', rest).unwrap_or(rest.len());
            self.broken = Some((rest.len(), rest.len() - line));
            1
        })
    }

    /// The offset of the next slash in `rest`; its length if there is none.
    fn slash(&mut self, rest: &[u8]) -> usize {
        match self.slash {
            Some((place, slash)) if (slash..=place).contains(&rest.len()) => rest.len() - slash,
            _ => {
                let next = memchr(b'/', rest).unwrap_or(rest.len());
                self.slash = Some((rest.len(), rest.len() - next));
                next
            }
        }
    }
}

/// A name: register, symbol or label, dots included.
#[inline(always)]
pub(crate) fn name(input: &[u8]) -> Parsed<'_, &[u8]> {
    if first_class(input) & NAME_START == 0 {
        return expected("a name", input);
    }
    let (text, rest) = input.split_at(name_len(input));
    Ok((rest, text))
}

/// Parses an opcode's first word: a name in which `::` may stand.
#[inline(always)]
pub(crate) fn opcode(input: &[u8]) -> Parsed<'_, &[u8]> {
    let mut len = name_len(input);
    while let [b':', b':', next, ..] = input[len..]
        && class(next) & NAME != 0
    {
        len += 2;
        len += name_len(&input[len..]);
    }
    let (text, rest) = input.split_at(len);
    Ok((rest, text))
}

/// `.word`, with the `::word` after it if there is one. A dot ends it: `.reg.b32` are two.
pub(crate) fn directive(input: &[u8]) -> Parsed<'_, &[u8]> {
    let word = |at: usize| {
        let rest = &input[at..];
        rest.iter()
            .position(|&byte| class(byte) & NAME == 0 || byte == b'.')
            .unwrap_or(rest.len())
    };
    match input {
        [b'.', next, ..] if class(*next) & NAME_START != 0 => {
            let mut len = 1 + word(1);
            while let [b':', b':', next, ..] = input[len..]
                && class(next) & NAME != 0
            {
                len += 2;
                len += word(len);
            }
            let (text, rest) = input.split_at(len);
            Ok((rest, text))
        }
        _ => expected("a directive", input),
    }
}

/// One byte of punctuation.
pub(crate) fn byte<'s>(
    wanted: u8,
    what: &'static str,
) -> impl Parser<&'s [u8], Output = (), Error = Expected> + use<'s> {
    move |input: &'s [u8]| match input.split_first() {
        Some((&found, rest)) if found == wanted => Ok((rest, ())),
        _ => expected(what, input),
    }
}

/// A number without sign, and whether it is an integer or floating-point literal (PTX ISA, Constants).
pub(crate) fn number(input: &[u8]) -> Parsed<'_, (OperandKind, &[u8])> {
    let digits = run(input, DIGIT);
    if digits == 0 {
        return expected("a number", input);
    }
    // `%` in a constant expression is the modulus.
    let in_number = |&byte: &u8| class(byte) & NAME != 0 && byte != b'%';
    let mut len = digits + input[digits..].iter().take_while(|byte| in_number(byte)).count();
    let hexadecimal = |text: &[u8]| text.iter().all(u8::is_ascii_hexdigit);
    let kind = match &input[..len] {
        _ if len == digits && input[0] != b'0' => OperandKind::Integer,
        [b'0', b'f' | b'F', bits @ ..] if bits.len() == 8 && hexadecimal(bits) => OperandKind::Float,
        [b'0', b'f' | b'F', ..] => return expected("8 hexadecimal digits after `0f`", input),
        [b'0', b'd' | b'D', bits @ ..] if bits.len() == 16 && hexadecimal(bits) => OperandKind::Float,
        [b'0', b'd' | b'D', ..] => return expected("16 hexadecimal digits after `0d`", input),
        text if is_integer(text) => OperandKind::Integer,
        text => {
            if matches!(text, [.., b'e' | b'E']) && matches!(input.get(len), Some(b'+' | b'-')) {
                len += 1;
                len += run(&input[len..], DIGIT);
            }
            if !is_decimal_float(&input[..len]) {
                return expected("a number", input);
            }
            OperandKind::Float
        }
    };
    let (text, rest) = input.split_at(len);
    Ok((rest, (kind, text)))
}

/// True for an unsigned integer literal: decimal, octal, hexadecimal or binary, with or without `U`.
fn is_integer(text: &[u8]) -> bool {
    let (radix, digits) = integer_digits(text);
    !digits.is_empty() && digits.iter().all(|&digit| (digit as char).is_digit(radix))
}

/// The radix of an unsigned integer literal and its digits (PTX ISA, Integer Constants).
pub(crate) fn integer_digits(text: &[u8]) -> (u32, &[u8]) {
    let (radix, digits) = match text {
        [b'0', b'x' | b'X', digits @ ..] => (16, digits),
        [b'0', b'b' | b'B', digits @ ..] => (2, digits),
        [b'0', digits @ ..] if !matches!(digits, [] | [b'U']) => (8, digits),
        _ => (10, text),
    };
    (radix, digits.strip_suffix(b"U").unwrap_or(digits))
}

fn is_decimal_float(text: &[u8]) -> bool {
    let whole = run(text, DIGIT);
    if whole == text.len() {
        return false;
    }
    let mut rest = &text[whole..];
    if let [b'.', after @ ..] = rest {
        rest = &after[run(after, DIGIT)..];
    }
    match rest {
        [] => true,
        [b'e' | b'E', b'+' | b'-', digits @ ..] | [b'e' | b'E', digits @ ..] => {
            !digits.is_empty() && run(digits, DIGIT) == digits.len()
        }
        _ => false,
    }
}

/// Length of the token that stands in place of the expected one.
pub(crate) fn token_len(input: &[u8]) -> usize {
    match input.first() {
        None => 0,
        Some(b'"') => string_len(input).unwrap_or(1),
        Some(b'0'..=b'9') => input
            .iter()
            .take_while(|&&byte| class(byte) & NAME != 0 && byte != b'%')
            .count(),
        Some(&first) if class(first) & NAME != 0 => name_len(input),
        Some(_) => 1,
    }
}

/// The text after the last token between `start` and `rest`: `rest` with the blanks and comments before it.
pub(crate) fn behind_last_token<'s>(start: &'s [u8], rest: &[u8]) -> &'s [u8] {
    &start[last_token_end(&start[..start.len() - rest.len()])..]
}

/// The end of the last token of `text`: the length without the blanks and comments at its end.
pub(crate) fn last_token_end(text: &[u8]) -> usize {
    if memchr(b'/', text).is_none() {
        return text.trim_ascii_end().len();
    }
    let mut rest = text;
    let mut end = 0;
    while !rest.is_empty() {
        let len = token_len(rest).max(1);
        rest = &rest[len..];
        end = text.len() - rest.len();
        rest = trivia(rest);
    }
    end
}
