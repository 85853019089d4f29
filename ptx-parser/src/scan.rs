//! Steps over the tokens of a text, for readers of instructions in their simplest forms. They are those of the grammar, but know nothing of
//! what may follow.

use crate::bytes::{CLOSER, NAME_START, first_class, name_len};
use crate::lexer;

/// The text behind the blanks and comments that `text` begins with.
#[inline(always)]
#[must_use]
pub fn behind_blanks(text: &[u8]) -> &[u8] {
    lexer::trivia(text)
}

/// True if `text` begins with the first byte of a name (PTX ISA, Identifiers), `%` and `$` among them.
#[inline(always)]
#[must_use]
pub fn begins_name(text: &[u8]) -> bool {
    first_class(text) & NAME_START != 0
}

/// The text behind the bytes that may stand in a name, dots among them.
#[inline(always)]
#[must_use]
pub fn behind_name(text: &[u8]) -> &[u8] {
    &text[name_len(text)..]
}

/// The text behind a dotted opcode, in which `::` may stand.
#[inline(always)]
#[must_use]
pub fn behind_opcode(text: &[u8]) -> &[u8] {
    lexer::opcode(text).map_or(text, |(rest, _)| rest)
}

/// True if `text` begins with what ends an operand: `,` `;` `]` `}` `)`.
#[inline(always)]
#[must_use]
pub fn ends_operand(text: &[u8]) -> bool {
    first_class(text) & CLOSER != 0
}
