//! Names of at most eight bytes as numbers of 64 bits, so that `%r12` is split without a loop over its bytes.
//!
//! ```text
//! %r12      the bytes 25 72 31 32, the first in the lowest bits: 0x32317225
//! key       the bytes before the number: 0x7225
//! number    12
//! ```

use ptxcheck_ptx_parser::Span;

/// Bytes in a word.
const BYTES: usize = size_of::<u64>();

/// The highest bit of each byte.
const HIGH: u64 = everywhere(0x80);

/// A byte in each byte of a word.
const fn everywhere(byte: u8) -> u64 {
    u64::from_le_bytes([byte; BYTES])
}

/// The key of a prefix of 1 to 7 bytes; `None` for others. Names have no zero bytes, so prefixes of different lengths differ.
pub(super) fn key(prefix: &[u8]) -> Option<u64> {
    let is_short = !prefix.is_empty() && prefix.len() < BYTES;
    is_short.then(|| word(prefix))
}

/// The first bytes of a text as a word; those beyond its end are 0.
fn word(text: &[u8]) -> u64 {
    let bytes = text.iter().take(BYTES).rev();
    bytes.fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// The key of the prefix of a name like `%r12`, and 12: for names of at most eight bytes that end in a number without zeros in front and
/// have something before it. `None` for others, and near the end of the source.
#[inline(always)]
pub(super) fn split(source: &[u8], name: Span) -> Option<(u64, u32)> {
    let length = name.end.wrapping_sub(name.start) as usize;
    if length.wrapping_sub(1) >= BYTES {
        return None;
    }
    // Names near the end of the source are left to others.
    let text = u64::from_le_bytes(*source.get(name.start as usize..)?.first_chunk()?);
    // The last byte of the name becomes the highest of the word, so its digits are the highest bytes.
    let unused = 8 * (BYTES - length);
    let (digits, number) = trailing_number(text << unused);
    let prefix = length.checked_sub(digits)?;
    if digits == 0 || prefix == 0 {
        return None;
    }
    Some((text & (u64::MAX >> (64 - 8 * prefix)), number?))
}

/// For a text that begins with a name like `%r12`: the key of its prefix, the number 12, and the length of the name. The name has at most eight
/// bytes and ends with its first digits, without zeros in front. `None` for other texts, and near the end of the text. The caller checks that no
/// more of the name follows.
#[inline(always)]
pub(super) fn leading(text: &[u8]) -> Option<(u64, u32, usize)> {
    let text = u64::from_le_bytes(*text.first_chunk()?);
    let (values, others) = digits(text);
    let prefix = (!others & HIGH).trailing_zeros() as usize / 8;
    if prefix == 0 || prefix == BYTES {
        return None;
    }
    let count = (others >> (8 * prefix))
        .trailing_zeros()
        .min(u64::BITS - 8 * prefix as u32) as usize
        / 8;
    let number = values >> (8 * prefix);
    if count > 1 && number & 0xff == 0 {
        return None;
    }
    let key = text & !(u64::MAX << (8 * prefix));
    Some((key, decimal(number << (8 * (BYTES - count))), prefix + count))
}

/// The decimal number of at most eight digits, without zeros in front, that a text begins with, and its length; `None` near the end of the text.
/// The caller checks the byte after it.
#[inline(always)]
pub(super) fn leading_number(text: &[u8]) -> Option<(u32, usize)> {
    let (values, others) = digits(u64::from_le_bytes(*text.first_chunk()?));
    let count = others.trailing_zeros() as usize / 8;
    if count == 0 || count > 1 && values & 0xff == 0 {
        return None;
    }
    Some((decimal(values << (8 * (BYTES - count))), count))
}

/// The bytes of a word, of which digits become 0 to 9, and the highest bit of each that is no digit.
#[inline(always)]
const fn digits(word: u64) -> (u64, u64) {
    let values = word ^ everywhere(b'0');
    let others = (((values & !HIGH) + everywhere(0x80 - 10)) | values) & HIGH;
    (values, others)
}

/// The number of digits in the highest bytes of a word, and the number that they are in the order of reading; `None` for one with zeros
/// in front.
#[inline(always)]
const fn trailing_number(word: u64) -> (usize, Option<u32>) {
    let (values, others) = digits(word);
    let digits = others.leading_zeros() as usize / 8;
    if digits == 0 {
        return (0, None);
    }
    let first = 8 * (BYTES - digits);
    if digits > 1 && (values >> first) & 0xff == 0 {
        return (digits, None);
    }
    (digits, Some(decimal(values & (u64::MAX << first))))
}

/// The number whose decimal digits are the bytes of a word, the first in the lowest bits.
#[inline(always)]
const fn decimal(digits: u64) -> u32 {
    const EVEN: u64 = 0x0000_00ff_0000_00ff;
    // Each second byte becomes a number of two digits, of which two and two become numbers of four digits, and those the sum.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let upper = (pairs & EVEN).wrapping_mul(100 + (1_000_000 << 32));
    let lower = (pairs >> 16 & EVEN).wrapping_mul(1 + (10_000 << 32));
    (upper.wrapping_add(lower) >> 32) as u32
}

/// The value of a decimal literal of at most eight bytes, a sign counted, that does not begin with 0 unless it is 0.
#[inline(always)]
pub(super) fn literal(source: &[u8], text: Span) -> Option<i64> {
    let rest = source.get(text.start as usize..)?;
    let (sign, start) = match rest.first()? {
        b'-' => (-1, text.start + 1),
        b'+' => (1, text.start + 1),
        _ => (1, text.start),
    };
    let length = text.end.wrapping_sub(start) as usize;
    if length.wrapping_sub(1) >= BYTES {
        return None;
    }
    let bytes = u64::from_le_bytes(*source.get(start as usize..)?.first_chunk()?);
    let (digits, number) = trailing_number(bytes << (8 * (BYTES - length)));
    (digits == length).then_some(sign * i64::from(number?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken_apart(name: &str) -> Option<(u64, u32)> {
        let text = format!(" {name}, %r777777");
        split(text.as_bytes(), Span::new(1, 1 + name.len() as u32))
    }

    #[test]
    fn short_names_are_taken_apart() {
        for (name, prefix, number) in [
            ("%r12", "%r", 12),
            ("%rd0", "%rd", 0),
            ("%p1234", "%p", 1234),
            ("%r987654", "%r", 987_654),
            ("r1234567", "r", 1_234_567),
            ("x64_1", "x64_", 1),
            ("prefix7", "prefix", 7),
            ("prefixs7", "prefixs", 7),
        ] {
            let key = key(prefix.as_bytes()).unwrap();
            assert_eq!(taken_apart(name), Some((key, number)), "{name}");
        }
        for other in [
            "",
            "%r",
            "%r012",
            "%r00",
            "12345678",
            "1",
            "%tid.x",
            "%r1234567",
            "a:",
            "a/",
            "%r1\u{80}",
        ] {
            assert_eq!(taken_apart(other), None, "{other}");
        }
    }

    /// Names at the beginning of a text are the same as those whose end is known.
    #[test]
    fn leading_names_are_taken_apart() {
        for (name, prefix, number) in [
            ("%r12", "%r", 12),
            ("%rd0", "%rd", 0),
            ("%p1234", "%p", 1234),
            ("r1234567", "r", 1_234_567),
        ] {
            for behind in [",", "]", ";", "+4", "x", "\n"] {
                let text = format!("{name}{behind}        ");
                let key = key(prefix.as_bytes()).unwrap();
                assert_eq!(
                    leading(text.as_bytes()),
                    Some((key, number, name.len())),
                    "{text}"
                );
            }
        }
        for other in [
            "%r,       ",
            "%r012,       ",
            "12,        ",
            "%rdefghi1,   ",
            "%r1",
        ] {
            assert_eq!(leading(other.as_bytes()), None, "{other}");
        }
        assert_eq!(leading(b"x64_1,  "), Some((u64::from(b'x'), 64, 3)));
    }

    #[test]
    fn leading_numbers_end_at_the_first_other_byte() {
        for (text, number, length) in [
            ("0,        ", 0, 1),
            ("480]      ", 480, 3),
            ("12345678, ", 12_345_678, 8),
            ("123456789,", 12_345_678, 8),
            ("1U,       ", 1, 1),
        ] {
            assert_eq!(leading_number(text.as_bytes()), Some((number, length)), "{text}");
        }
        for other in ["010,      ", "-1,       ", "x         ", "1"] {
            assert_eq!(leading_number(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn keys_of_different_prefixes_differ() {
        assert_ne!(key(b"%r"), key(b"%rd"));
        assert_ne!(key(b"%r"), key(b"r%"));
        assert_eq!(key(b""), None);
        assert_eq!(key(b"12345678"), None);
    }

    #[test]
    fn short_literals_have_the_values_of_others() {
        for text in [
            "0",
            "7",
            "-1",
            "+480",
            "12345678",
            "-1234567",
            "-12345678",
            "+0",
            "-0",
        ] {
            let span = Span::new(0, text.len() as u32);
            let value = text.parse().ok();
            assert_eq!(
                literal(format!("{text}], %r12345;").as_bytes(), span),
                value,
                "{text}"
            );
        }
        for text in ["", "+", "010", "0x1", "1U", "123456789", "+-4", "- 4", "1+1"] {
            let span = Span::new(0, text.len() as u32);
            assert_eq!(
                literal(format!("{text}], %r12345;").as_bytes(), span),
                None,
                "{text}"
            );
        }
    }
}
