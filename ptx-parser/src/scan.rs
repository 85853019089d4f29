//! Steps over the tokens of a text, for readers of instructions in their simplest forms. They are those of the grammar, but know nothing of
//! what may follow.

use crate::ast::OperandKind;
use crate::bytes::{CLOSER, NAME_START, first_class, name_len};
use crate::lexer;

/// The text after the blanks and comments that `text` begins with.
#[inline(always)]
#[must_use]
pub fn after_blanks(text: &[u8]) -> &[u8] {
    lexer::trivia(text)
}

/// True if `text` begins with the first byte of a name (PTX ISA, Identifiers), `%` and `$` among them.
#[inline(always)]
#[must_use]
pub fn begins_name(text: &[u8]) -> bool {
    first_class(text) & NAME_START != 0
}

/// The text after the bytes that may stand in a name, dots among them.
#[inline(always)]
#[must_use]
pub fn after_name(text: &[u8]) -> &[u8] {
    &text[name_len(text)..]
}

/// The text after a dotted opcode, in which `::` may stand.
#[inline(always)]
#[must_use]
pub fn after_opcode(text: &[u8]) -> &[u8] {
    lexer::opcode(text).map_or(text, |(rest, _)| rest)
}

/// True if `text` begins with what ends an operand: `,` `;` `]` `}` `)`.
#[inline(always)]
#[must_use]
pub fn ends_operand(text: &[u8]) -> bool {
    first_class(text) & CLOSER != 0
}

/// The kind of the number without a sign that `text` begins with, an integer or one in floating point (PTX ISA, Constants), and the text after
/// it; `None` if it begins with no number.
#[must_use]
pub fn number(text: &[u8]) -> Option<(OperandKind, &[u8])> {
    lexer::number(text).ok().map(|(rest, (kind, _))| (kind, rest))
}
