//! Opcodes that have been decoded, by their dotted spelling. A module has some hundred spellings and many thousand instructions, so
//! those of at most 32 bytes are compared as four words, in a table with one place for each hash; a map has all of them.

use ptxcheck_common::maps::NameMap;
use ptxcheck_ptx_parser::Span;

use super::opcode::{Decoded, decode_with_least};

/// Bytes of the longest spelling that the table holds.
const SHORT: usize = 32;

/// A spelling of at most [`SHORT`] bytes, the others 0. No opcode has a byte 0.
type Key = [u64; SHORT / 8];

/// Places of the table: a power of two.
const PLACES: usize = 1 << PLACE_BITS;
const PLACE_BITS: u32 = 10;

/// The bits of the first bytes of a word, by their number up to [`SHORT`], for each word of a key.
static MASKS: [Key; SHORT + 1] = {
    let mut masks = [[0; SHORT / 8]; SHORT + 1];
    let mut length = 0;
    while length <= SHORT {
        let mut byte = 0;
        while byte < length {
            masks[length][byte / 8] |= 0xff << (8 * (byte % 8));
            byte += 1;
        }
        length += 1;
    }
    masks
};

/// Decoded opcodes, with the fewest operands that they take.
pub(super) struct Opcodes<'s> {
    short: Box<[(Key, (Decoded, u8)); PLACES]>,
    all: NameMap<&'s [u8], (Decoded, u8)>,
}

impl Default for Opcodes<'_> {
    fn default() -> Self {
        Self {
            // The key of an empty opcode, which is decoded as nothing.
            short: Box::new([(Key::default(), decode_with_least(b"")); PLACES]),
            all: NameMap::default(),
        }
    }
}

impl<'s> Opcodes<'s> {
    /// The operation of the opcode at a place of the source, and the fewest operands at the top level that any form of it has; 0 for one
    /// that is not known.
    #[inline(always)]
    pub(super) fn decode(&mut self, source: &'s [u8], opcode: Span) -> (Decoded, u8) {
        match key(source, opcode) {
            Some((key, place)) if self.short[place].0 == key => self.short[place].1,
            found => self.decode_other(source, opcode, found),
        }
    }

    /// The same for the opcode that a text begins with, up to a blank, and its length; `None` for one that has not been decoded lately.
    #[inline(always)]
    pub(super) fn known(&self, text: &[u8]) -> Option<((Decoded, u8), usize)> {
        let bytes: &[u8; SHORT] = text.first_chunk()?;
        let (words, _) = bytes.as_chunks();
        let words: Key = std::array::from_fn(|number| u64::from_le_bytes(words[number]));
        let mut blank = 0;
        let mut start = 0;
        for word in words {
            blank = first_blank(word);
            if blank < 8 {
                break;
            }
            start += 8;
        }
        let length = start + blank;
        let mask = MASKS.get(length).filter(|_| blank < 8)?;
        let key = std::array::from_fn(|number| mask[number] & words[number]);
        let (known, decoded) = &self.short[place(&key, text, length)?];
        let differing = (0..SHORT / 8).fold(0, |bits, number| bits | known[number] ^ key[number]);
        (differing == 0).then_some((*decoded, length))
    }

    #[inline(never)]
    fn decode_other(&mut self, source: &'s [u8], opcode: Span, short: Option<(Key, usize)>) -> (Decoded, u8) {
        let opcode = opcode.of(source);
        let decoded = *self
            .all
            .entry(opcode)
            .or_insert_with(|| decode_with_least(opcode));
        if let Some((key, place)) = short {
            self.short[place] = (key, decoded);
        }
        decoded
    }
}

/// The number of bytes before the first blank of a word; 8 if it has none.
#[inline(always)]
const fn first_blank(word: u64) -> usize {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    // The lowest of the bits is that of a byte below 0x21.
    let blanks = word.wrapping_sub(ONES * 0x21) & !word & (ONES << 7);
    blanks.trailing_zeros() as usize / 8
}

/// The place of a spelling of some length, which begins `text`.
#[inline(always)]
fn place(key: &Key, text: &[u8], length: usize) -> Option<usize> {
    // The first and the last eight bytes, or all bytes of a short opcode, distinguish most opcodes.
    let last = match length.checked_sub(8) {
        Some(start) => u64::from_le_bytes(*text.get(start..)?.first_chunk()?),
        None => key[0],
    };
    let mixed = (key[0] ^ last.rotate_left(31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Some((mixed >> (u64::BITS - PLACE_BITS)) as usize % PLACES)
}

/// A short spelling as words, and its place; `None` for a longer one, and near the ends of the source.
#[inline(always)]
fn key(source: &[u8], opcode: Span) -> Option<(Key, usize)> {
    let length = opcode.end.wrapping_sub(opcode.start) as usize;
    let mask = MASKS.get(length)?;
    let text = source.get(opcode.start as usize..)?;
    let bytes: &[u8; SHORT] = text.first_chunk()?;
    let (words, _) = bytes.as_chunks();
    let key = std::array::from_fn(|number| mask[number] & u64::from_le_bytes(words[number]));
    Some((key, place(&key, text, length)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opcode::Shape;

    #[test]
    fn every_spelling_is_decoded_as_without_the_table() {
        let opcodes: Vec<String> = ["add", "ld.global", "bra", "shfl.sync", "frobnicate"]
            .iter()
            .flat_map(|name| (0..40).map(move |length| format!("{name}.{}", "x".repeat(length))))
            .chain(["ret".to_owned(), "mov.u32".to_owned()])
            .collect();
        let text = opcodes.join(" ");
        let mut known = Opcodes::default();
        for _ in 0..3 {
            let mut start = 0;
            for opcode in &opcodes {
                let span = Span::new(start, start + opcode.len() as u32);
                let (wanted, least) = decode_with_least(opcode.as_bytes());
                let (decoded, found) = known.decode(text.as_bytes(), span);
                assert_eq!(
                    (decoded.op, decoded.shape, found),
                    (wanted.op, wanted.shape, least),
                    "{opcode}"
                );
                start = span.end + 1;
            }
        }
        assert_eq!(known.decode(b"bra L;", Span::new(0, 3)).0.shape, Shape::Branch);
    }
}
