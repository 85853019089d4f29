//! Classes of bytes, and runs of bytes of one class: names are measured eight bytes at a time.

/// First byte of a name (PTX ISA, Identifiers).
pub(crate) const NAME_START: u8 = 1;
/// Further byte of a name. Dots belong to it: component selectors, and names as LLVM's tests have them.
pub(crate) const NAME: u8 = 2;
/// Decimal digit.
pub(crate) const DIGIT: u8 = 4;
/// Blank or line ending.
pub(crate) const BLANK: u8 = 8;
/// `/`, which may begin a comment.
pub(crate) const SLASH: u8 = 16;
/// Ends an operand: `,` `;` `]` `}` `)`.
pub(crate) const CLOSER: u8 = 32;

/// The classes of every byte.
pub(crate) static CLASS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | b'%' => NAME_START | NAME,
            b'0'..=b'9' => NAME | DIGIT,
            b'.' => NAME,
            // ptxas passes over the ^Z that ends texts of DOS, wherever it stands.
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | 0x1a => BLANK,
            b'/' => SLASH,
            b',' | b';' | b']' | b'}' | b')' => CLOSER,
            _ => 0,
        };
        byte += 1;
    }
    table
};

/// The classes of a byte.
#[inline(always)]
pub(crate) fn class(byte: u8) -> u8 {
    CLASS[byte as usize]
}

/// The classes of the first byte; 0 at the end.
#[inline(always)]
pub(crate) fn first_class(input: &[u8]) -> u8 {
    input.first().map_or(0, |&byte| class(byte))
}

/// Number of bytes, from the first on, that are in one of `classes`.
#[inline(always)]
pub(crate) fn run(input: &[u8], classes: u8) -> usize {
    input
        .iter()
        .position(|&byte| class(byte) & classes == 0)
        .unwrap_or(input.len())
}

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

/// Number of decimal digits that a text begins with, if they are fewer than eight; else, and near the end of the text, 0 or another number below
/// eight.
#[inline(always)]
pub(crate) fn leading_digits(input: &[u8]) -> usize {
    input.first_chunk().map_or(0, |bytes| {
        let digits = between(u64::from_le_bytes(*bytes) & !HIGH, b'0', b'9') & !u64::from_le_bytes(*bytes);
        (!digits & HIGH).trailing_zeros() as usize / 8 % BYTES
    })
}

/// The highest bit of each byte that may stand in a name; the other bits mean nothing.
#[inline(always)]
const fn in_names(word: u64) -> u64 {
    let low = word & !HIGH;
    // Letters of both cases: the bit that distinguishes the cases is set.
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
    fn leading_digits_are_counted() {
        for (text, count) in [
            ("128, 85, 0", 3),
            ("0}        ", 1),
            ("1234567,  ", 7),
            ("12345678, ", 0),
            ("-1,       ", 0),
            ("7\u{b1},      ", 1),
            ("12,", 0),
        ] {
            assert_eq!(leading_digits(text.as_bytes()), count, "{text}");
        }
    }

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
