//! The ends of names, found in eight bytes at a time.

use crate::lexer::{NAME, run};

/// Bytes in a word.
const BYTES: usize = size_of::<u64>();

const HIGH: u64 = everywhere(0x80);

/// A byte in each byte of a word.
const fn everywhere(byte: u8) -> u64 {
    u64::from_le_bytes([byte; BYTES])
}

/// Number of bytes, from the first on, that may stand in a name: those of the class [`NAME`].
#[inline(always)]
pub(crate) fn name_len(input: &[u8]) -> usize {
    let mut len = 0;
    while let Some(bytes) = input[len..].first_chunk() {
        let others = !in_names(u64::from_le_bytes(*bytes)) & HIGH;
        if others != 0 {
            return len + others.trailing_zeros() as usize / 8;
        }
        len += BYTES;
    }
    len + run(&input[len..], NAME)
}

/// The highest bit of each byte that may stand in a name; the other bits mean nothing.
#[inline(always)]
const fn in_names(word: u64) -> u64 {
    let low = word & !HIGH;
    // Letters of both cases, by the bit that tells the cases apart.
    let letters = between(low | everywhere(b' '), b'a', b'z');
    let others = between(low, b'$', b'%')
        | between(low, b'.', b'.')
        | between(low, b'0', b'9')
        | between(low, b'_', b'_');
    (letters | others) & !word
}

/// The highest bit of each byte in a range, for bytes below 0x80.
#[inline(always)]
const fn between(bytes: u64, first: u8, last: u8) -> u64 {
    (bytes + everywhere(0x80 - first)) & !(bytes + everywhere(0x7f - last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_at_the_first_byte_of_another_class() {
        for byte in 0..=u8::MAX {
            for place in 0..20 {
                let mut text = *b"%rd12345.x$_Z9abcDEF";
                text[place] = byte;
                assert_eq!(name_len(&text), run(&text, NAME), "{byte:#x} at {place}");
                assert_eq!(
                    name_len(&text[place..]),
                    run(&text[place..], NAME),
                    "{byte:#x} at {place}"
                );
            }
        }
        assert_eq!(name_len(b""), 0);
    }
}
