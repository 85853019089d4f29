//! Opcodes that have been decoded, by their dotted spelling. A module has some hundred spellings and many thousand instructions, so
//! those of at most 32 bytes are compared as four words, in a table with one place for each hash; a map has all of them.

use ptxcheck_common::maps::NameMap;
use ptxcheck_ptx_parser::Span;

use super::opcode::{Decoded, Listed, Shape, decode_with_least};
use ptxcheck_ir::{Collective, MemberMask, Op};

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

/// The index of a decoded opcode in [`Opcodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpcodeId(u32);

/// A decoded opcode.
pub(super) struct Opcode {
    pub(super) decoded: Decoded,
    /// The fewest operands at the top level that any form of it has; 0 for one that is not known.
    pub(super) least: u8,
    pub(super) form: Form,
}

/// The form of an opcode's operands, for those that are read one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// So many results, then uses.
    Plain {
        results: u8,
        /// The operation depends on its operands.
        is_refined: bool,
        /// No instruction of the path follows.
        ends_path: bool,
    },
    /// A result if the first operand may be one, then uses.
    Guess,
    /// So many results, an address, then uses.
    Memory { results: u8 },
    /// A result unless there is none, then uses, the last of which is the mask if it has one.
    Collective { results: u8, has_mask: bool },
    /// A label.
    Branch,
    /// Another.
    Other,
}

impl Opcode {
    fn new(name: &[u8]) -> Self {
        let (decoded, least) = decode_with_least(name);
        Self {
            decoded,
            least,
            form: Form::of(decoded),
        }
    }
}

impl Form {
    fn of(Decoded { op, shape, listed }: Decoded) -> Self {
        if listed != Listed::No {
            return Self::Other;
        }
        match shape {
            Shape::Plain(results) => Self::Plain {
                results,
                is_refined: matches!(op, Op::Copy | Op::Lop3(_) | Op::Barrier(_)),
                ends_path: matches!(op, Op::Return | Op::Exit | Op::Trap),
            },
            Shape::Guess if op == Op::Opaque => Self::Guess,
            Shape::Memory { results, .. } => Self::Memory { results },
            Shape::MaskLast | Shape::MaskAbsent => Self::Collective {
                results: u8::from(op != Op::Collective(Collective::Sync, MemberMask::Operand)),
                has_mask: shape == Shape::MaskLast,
            },
            Shape::Branch => Self::Branch,
            Shape::Guess | Shape::Call | Shape::BranchTable => Self::Other,
        }
    }
}

/// Decoded opcodes.
pub(super) struct Opcodes<'s> {
    short: Box<[(Key, OpcodeId); PLACES]>,
    all: NameMap<&'s [u8], OpcodeId>,
    decoded: Vec<Opcode>,
}

impl Default for Opcodes<'_> {
    fn default() -> Self {
        Self {
            // The key of an empty opcode, which is the first.
            short: Box::new([(Key::default(), OpcodeId(0)); PLACES]),
            all: NameMap::default(),
            decoded: vec![Opcode::new(b"")],
        }
    }
}

impl<'s> Opcodes<'s> {
    /// A decoded opcode.
    #[inline(always)]
    pub(super) fn get(&self, id: OpcodeId) -> &Opcode {
        &self.decoded[id.0 as usize]
    }

    /// The opcode at a place of the source.
    #[inline(always)]
    pub(super) fn decode(&mut self, source: &'s [u8], opcode: Span) -> OpcodeId {
        match key(source, opcode) {
            Some((key, place)) if are_equal(&self.short[place].0, &key) => self.short[place].1,
            found => self.decode_other(source, opcode, found),
        }
    }

    /// The opcode that a text begins with, up to a blank, and its length; `None` for one that has not been decoded lately.
    #[inline(always)]
    pub(super) fn known(&self, text: &[u8]) -> Option<(OpcodeId, usize)> {
        let words = words(text.first_chunk()?);
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
        let key = masked(words, mask);
        let (known, id) = &self.short[place(&key, text, length)?];
        are_equal(known, &key).then_some((*id, length))
    }

    #[inline(never)]
    fn decode_other(&mut self, source: &'s [u8], opcode: Span, short: Option<(Key, usize)>) -> OpcodeId {
        let opcode = opcode.of(source);
        let id = *self.all.entry(opcode).or_insert_with(|| {
            self.decoded.push(Opcode::new(opcode));
            OpcodeId(self.decoded.len() as u32 - 1)
        });
        if let Some((key, place)) = short {
            self.short[place] = (key, id);
        }
        id
    }
}

// The four words are written out: loops over them become calls.

#[inline(always)]
fn words(bytes: &[u8; SHORT]) -> Key {
    let (words, _) = bytes.as_chunks();
    [
        u64::from_le_bytes(words[0]),
        u64::from_le_bytes(words[1]),
        u64::from_le_bytes(words[2]),
        u64::from_le_bytes(words[3]),
    ]
}

#[inline(always)]
const fn masked(words: Key, mask: &Key) -> Key {
    [
        words[0] & mask[0],
        words[1] & mask[1],
        words[2] & mask[2],
        words[3] & mask[3],
    ]
}

#[inline(always)]
const fn are_equal(a: &Key, b: &Key) -> bool {
    (a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]) == 0
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
    let key = masked(words(text.first_chunk()?), mask);
    Some((key, place(&key, text, length)?))
}

#[cfg(test)]
mod tests {
    use super::*;

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
                let id = known.decode(text.as_bytes(), span);
                let Opcode {
                    decoded,
                    least: found,
                    ..
                } = known.get(id);
                assert_eq!(
                    (decoded.op, decoded.shape, *found),
                    (wanted.op, wanted.shape, least),
                    "{opcode}"
                );
                if let Some((again, length)) = known.known(&text.as_bytes()[start as usize..]) {
                    assert_eq!((again, length), (id, opcode.len()), "{opcode}");
                }
                start = span.end + 1;
            }
        }
        let bra = known.decode(b"bra L;", Span::new(0, 3));
        assert_eq!(known.get(bra).decoded.shape, Shape::Branch);
    }
}
