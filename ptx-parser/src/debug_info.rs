//! Debug data: the items of a `.section`, the strings in it, and the places that clang writes in comments.

use nom::Parser;
use nom::branch::alt;

use crate::ast::{OperandKind, Section, Tree};
use crate::expression::{magnitude, short_decimal};
use crate::lexer::{
    DIGIT, Parsed, byte, class, directive, expected, first_class, lexeme, name, number, run, trivia,
};
use crate::span::Span;

/// A part of a section (PTX ISA, Debugging Directives: .section).
#[non_exhaustive]
#[derive(Clone, Debug)]
pub enum Item<'s> {
    /// `label:`
    Label(&'s [u8]),
    /// `.b8 1, 2, 3`
    Data {
        /// Bytes of each value: 1, 2, 4 or 8.
        width: u8,
        /// The values.
        values: Values<'s>,
    },
}

/// A value in a section.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'s> {
    /// A number, as 64 bits in two's complement.
    Integer(u64),
    /// A label or the name of a section, plus bytes.
    Label(&'s [u8], i64),
    /// The distance from the second label to the first.
    Difference(&'s [u8], &'s [u8]),
}

/// The items of a section, in source order.
#[derive(Clone, Debug)]
pub struct Items<'s> {
    rest: &'s [u8],
}

/// Reads the items of `section`.
///
/// ```
/// use ptxcheck_ptx_parser::debug_info::{Item, Strings, items};
/// use ptxcheck_ptx_parser::parse;
///
/// let tree = parse(b".section .debug_str { name: .b8 95, 90 .b8 0 }")?;
/// let mut widths = items(&tree, &tree.sections()[0]).filter_map(|item| match item {
///     Item::Data { width, values } => Some((width, values.count())),
///     _ => None,
/// });
/// assert_eq!(widths.next(), Some((1, 2)));
/// assert_eq!(Strings::new(&tree).at_label(b"name+1"), Some(b"Z".to_vec()));
/// # Ok::<(), ptxcheck_ptx_parser::SyntaxError>(())
/// ```
#[must_use]
pub fn items<'s>(tree: &Tree<'s>, section: &Section) -> Items<'s> {
    Items {
        rest: trivia(section.body.of(tree.source)),
    }
}

impl<'s> Iterator for Items<'s> {
    type Item = Item<'s>;

    fn next(&mut self) -> Option<Self::Item> {
        let (rest, item) = item(self.rest).ok()?;
        self.rest = rest;
        Some(item)
    }
}

/// The values of one data directive, in source order.
#[derive(Clone, Debug)]
pub struct Values<'s> {
    rest: &'s [u8],
}

impl<'s> Iterator for Values<'s> {
    type Item = Value<'s>;

    fn next(&mut self) -> Option<Self::Item> {
        let (rest, value) = value(self.rest).ok()?;
        self.rest = rest.strip_prefix(b",").map_or(rest, trivia);
        Some(value)
    }
}

/// One label or one data directive, and the blanks after it.
pub(crate) fn item(input: &[u8]) -> Parsed<'_, Item<'_>> {
    // Nearly all items of nearly all sections.
    if let [b'.', b'b', b'8', b' ' | b'\t', start @ ..] = input {
        let start = trivia(start);
        if let Some((after, _)) = short_decimal(start) {
            let rest = trivia(after);
            if matches!(rest, [b'.' | b'}', ..]) {
                let values = Values {
                    rest: &start[..start.len() - after.len()],
                };
                return Ok((rest, Item::Data { width: 1, values }));
            }
        }
    }
    let (mut rest, word) = match alt((lexeme(directive), lexeme(name))).parse(input) {
        Ok(found) => found,
        Err(_) => return expected("a label, a data directive or `}`", input),
    };
    let width = match word {
        [b'.', ..] => match word {
            b".b8" => 1,
            b".b16" => 2,
            b".b32" => 4,
            b".b64" => 8,
            _ => return expected("`.b8`, `.b16`, `.b32` or `.b64`", input),
        },
        _ => {
            let (rest, ()) = lexeme(byte(b':', "`:` after the label")).parse(rest)?;
            return Ok((rest, Item::Label(word)));
        }
    };
    let start = rest;
    loop {
        rest = value(rest)?.0;
        match rest {
            [b',', after @ ..] => rest = trivia(after),
            _ => break,
        }
    }
    let values = Values {
        rest: &start[..start.len() - rest.len()],
    };
    Ok((rest, Item::Data { width, values }))
}

/// One value, and the blanks after it.
fn value(input: &[u8]) -> Parsed<'_, Value<'_>> {
    let (is_negative, digits) = match input {
        [b'-', rest @ ..] => (true, trivia(rest)),
        _ => (false, input),
    };
    if first_class(digits) & DIGIT != 0 {
        let (rest, value) = integer(digits)?;
        return Ok((
            rest,
            Value::Integer(if is_negative { value.wrapping_neg() } else { value }),
        ));
    }
    let (rest, label) = match label(input) {
        Ok(found) => found,
        Err(_) => return expected("a number or a label", input),
    };
    match rest {
        [b'+', after @ ..] => {
            let (rest, value) = integer(trivia(after))?;
            Ok((rest, Value::Label(label, value.cast_signed())))
        }
        [b'-', after @ ..] => {
            let after = trivia(after);
            if first_class(after) & DIGIT == 0 {
                let (rest, other) = self::label(after)?;
                return Ok((rest, Value::Difference(label, other)));
            }
            let (rest, value) = integer(after)?;
            Ok((rest, Value::Label(label, value.cast_signed().wrapping_neg())))
        }
        _ => Ok((rest, Value::Label(label, 0))),
    }
}

fn integer(input: &[u8]) -> Parsed<'_, u64> {
    if let Some((rest, value)) = short_decimal(input) {
        return Ok((trivia(rest), value.into()));
    }
    match lexeme(number).parse(input)? {
        (rest, (OperandKind::Integer, text)) => match magnitude(text) {
            Some(value) => Ok((rest, value)),
            None => expected("a number in 64 bits", input),
        },
        _ => expected("an integer", input),
    }
}

/// A label, or the name of a section with its dot.
fn label(input: &[u8]) -> Parsed<'_, &[u8]> {
    let (rest, _) = name(input.strip_prefix(b".").unwrap_or(input))?;
    Ok((trivia(rest), &input[..input.len() - rest.len()]))
}

/// The text at a label of `.debug_str`, as `.loc … function_name` and [`crate::ast::InlinedAt::function`] give it
/// (`$L__info_string0`, `$L__info_string0+4`), without its NUL. `None` if there is no such label, or no text at it.
///
/// Reads the section anew; [`Strings`] is for more than a few labels.
#[must_use]
pub fn string_at_label(tree: &Tree<'_>, label: &[u8]) -> Option<Vec<u8>> {
    Strings::new(tree).at_label(label)
}

/// The strings of `.debug_str`, for many look-ups.
#[derive(Clone, Debug, Default)]
pub struct Strings<'s> {
    bytes: Vec<u8>,
    labels: Vec<(&'s [u8], usize)>,
}

impl<'s> Strings<'s> {
    /// Reads all sections named `.debug_str`.
    #[must_use]
    pub fn new(tree: &Tree<'s>) -> Self {
        let mut strings = Self::default();
        for section in tree
            .sections
            .iter()
            .filter(|section| section.name.of(tree.source) == b".debug_str")
        {
            for item in items(tree, section) {
                match item {
                    Item::Label(label) => strings.labels.push((label, strings.bytes.len())),
                    Item::Data { width, values } => {
                        for value in values {
                            let bits = if let Value::Integer(bits) = value { bits } else { 0 };
                            strings
                                .bytes
                                .extend_from_slice(&bits.to_le_bytes()[..usize::from(width)]);
                        }
                    }
                }
            }
        }
        // Stable: of two labels with one name, the first stays in front.
        strings.labels.sort_by_key(|&(label, _)| label);
        strings
    }

    /// The text at `label` or `label+offset`, without its NUL.
    #[must_use]
    pub fn at_label(&self, label: &[u8]) -> Option<Vec<u8>> {
        let (_, value) = value(label).ok()?;
        let Value::Label(label, offset) = value else {
            return None;
        };
        let first = self.labels.partition_point(|&(other, _)| other < label);
        let &(_, start) = self.labels.get(first).filter(|(found, _)| *found == label)?;
        let start = start.checked_add_signed(isize::try_from(offset).ok()?)?;
        let text = self.bytes.get(start..)?;
        let len = memchr::memchr(0, text)?;
        Some(text[..len].to_vec())
    }
}

/// A place in a source file, as clang writes it after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'s> {
    /// The file's name as written.
    pub file: &'s [u8],
    /// 1-based line; 0 if the compiler had none.
    pub line: u32,
    /// 1-based column; 0 if the compiler had none.
    pub column: u32,
}

/// Reads clang's `// a.cu:1:84 @[ b.cu:2:3 @[ c.cu:4:5 ] ]`: the frames, innermost first, each inlined into the
/// next. Nothing for comments of other forms. File names may hold blanks and colons.
#[must_use]
pub fn frames(comment: &[u8]) -> Vec<Frame<'_>> {
    let mut rest = comment.strip_prefix(b"//").unwrap_or_default().trim_ascii();
    let mut frames = Vec::new();
    while !rest.is_empty() {
        let at = memchr::memmem::find(rest, b" @[ ").unwrap_or(rest.len());
        let Some(frame) = frame(rest[..at].trim_ascii()) else {
            return Vec::new();
        };
        frames.push(frame);
        rest = rest.get(at + 4..).unwrap_or_default();
    }
    frames
}

/// `file:line:column` or `file:line`, with the closing brackets of the frames around it.
fn frame(mut text: &[u8]) -> Option<Frame<'_>> {
    while let Some(inner) = text.strip_suffix(b"]") {
        text = inner.trim_ascii_end();
    }
    let (before, last) = numbered(text)?;
    match numbered(before) {
        Some((b"", _)) => None,
        Some((file, line)) => Some(Frame {
            file,
            line,
            column: last,
        }),
        _ if !before.is_empty() => Some(Frame {
            file: before,
            line: last,
            column: 0,
        }),
        _ => None,
    }
}

/// Splits `…:7`.
fn numbered(text: &[u8]) -> Option<(&[u8], u32)> {
    let at = text.iter().rposition(|&byte| byte == b':')?;
    let digits = &text[at + 1..];
    if digits.is_empty()
        || run(digits, DIGIT) != digits.len()
        || !digits.iter().all(|&byte| class(byte) & DIGIT != 0)
    {
        return None;
    }
    Some((&text[..at], u32::try_from(magnitude_decimal(digits)?).ok()?))
}

/// Leading zeros do not make a line number octal.
fn magnitude_decimal(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |value, &digit| {
        value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })
}

impl Tree<'_> {
    /// The comment that begins on the line on which a statement ends, directly after its end at `offset`.
    #[must_use]
    pub fn comment_after(&self, offset: u32) -> Option<Span> {
        let next = self.comments.partition_point(|comment| comment.start < offset);
        let comment = *self.comments.get(next)?;
        let between = Span::new(offset, comment.start).of(self.source);
        between
            .iter()
            .all(|&byte| matches!(byte, b' ' | b'\t'))
            .then_some(comment)
    }
}
