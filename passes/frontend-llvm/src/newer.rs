//! Text that a newer LLVM wrote: floating-point constants in spellings that LLVM 22 does not read (LLVM Language Reference,
//! Simple Constants): decimals that are only near the value, `+inf`, `-qnan` and `+nan(0x1)`, `0x1.8p3`, and bits as
//! `f0x3F800000`.
//!
//! No analysis uses the value of a floating-point constant, so where LLVM refuses a text, it is read again with zeros
//! in place of all of them. They take as many bytes: positions that LLVM reports in the text hold for the original.

use super::bitcode::is_bitcode;

/// Stands for every floating-point type.
const ZERO: &[u8] = b"0.0";

/// The text with zeros for floating-point constants; `None` where there are none, or it is not a text.
pub(super) fn rewritten(text: &[u8]) -> Option<Vec<u8>> {
    if is_bitcode(text) {
        return None;
    }
    let mut out = None;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let rest = &text[at..];
        at += match byte {
            // No escape stands for what ends a string.
            b'"' => count(&rest[1..], |byte| byte != b'"') + 2,
            b';' => count(rest, |byte| byte != b'\n'),
            _ if is_part(byte) => {
                let word = count(rest, is_part);
                match constant(&rest[..word], &rest[word..]) {
                    Some(length) => {
                        let place = &mut out.get_or_insert_with(|| text.to_vec())[at..at + length];
                        let (zero, left) = place.split_at_mut(ZERO.len().min(length));
                        zero.copy_from_slice(&ZERO[..zero.len()]);
                        left.fill(b' ');
                        length
                    }
                    None => word,
                }
            }
            _ => 1,
        };
    }
    out
}

/// Number of first bytes that satisfy `is_such`.
fn count(text: &[u8], is_such: impl Fn(u8) -> bool) -> usize {
    text.iter().take_while(|byte| is_such(**byte)).count()
}

/// True if a byte is part of a word: a number, a keyword, or a name with the sign in front of it.
const fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'+' | b'-' | b'.' | b'_' | b'$' | b'%' | b'@' | b'!' | b'#')
}

/// Length in bytes of the floating-point constant that begins with this word, if one does.
fn constant(word: &[u8], behind: &[u8]) -> Option<usize> {
    let unsigned = word.strip_prefix(b"+").or_else(|| word.strip_prefix(b"-"));
    let number = unsigned.unwrap_or(word);
    let is_whole = match (unsigned, number) {
        (Some(b"nan" | b"snan"), _) => return payload(behind).map(|length| word.len() + length),
        (Some(b"inf" | b"qnan"), _) => true,
        (None, [b'f', b'0', b'x', bits @ ..]) => {
            !bits.is_empty() && count(bits, |byte| byte.is_ascii_hexdigit()) == bits.len()
        }
        (_, [b'0', b'x', digits @ ..]) => is_real(digits, |byte| byte.is_ascii_hexdigit(), b'p'),
        _ => number.contains(&b'.') && is_real(number, |byte| byte.is_ascii_digit(), b'e'),
    };
    is_whole.then_some(word.len())
}

/// True if all of a word is digits, perhaps a point and more of them, and perhaps an exponent, which `mark` begins. Of
/// hexadecimal digits alone, without an exponent, older spellings are made.
fn is_real(word: &[u8], is_digit: impl Fn(u8) -> bool, mark: u8) -> bool {
    let whole = count(word, &is_digit);
    let behind = &word[whole..];
    let behind = match behind.strip_prefix(b".") {
        Some(rest) => &rest[count(rest, &is_digit)..],
        None => behind,
    };
    let exponent = match behind {
        [] => return whole > 0 && mark == b'e',
        [first, rest @ ..] if first.eq_ignore_ascii_case(&mark) => rest,
        _ => return false,
    };
    let digits = match exponent {
        [b'+' | b'-', digits @ ..] => digits,
        digits => digits,
    };
    whole > 0 && !digits.is_empty() && count(digits, |byte| byte.is_ascii_digit()) == digits.len()
}

/// Length in bytes of the payload of a NaN: `(0x1)`.
fn payload(text: &[u8]) -> Option<usize> {
    let digits = text.strip_prefix(b"(0x")?;
    let length = count(digits, |byte| byte.is_ascii_hexdigit());
    (length > 0 && digits.get(length) == Some(&b')')).then_some(b"(0x)".len() + length)
}

#[cfg(test)]
mod tests {
    use super::rewritten;

    fn replaced(text: &str) -> Option<String> {
        let older = rewritten(text.as_bytes())?;
        assert_eq!(older.len(), text.len());
        Some(String::from_utf8(older).unwrap().replace(' ', ""))
    }

    #[test]
    fn constants_are_replaced_and_names_are_not() {
        for (newer, older) in [
            (
                "splat (float f0x3FB8AA3B), !dbg !25",
                "splat (float 0.0), !dbg !25",
            ),
            (
                "%f0x1 = fmul float %a.f0x1, 5.724980e-03\n",
                "%f0x1 = fmul float %a.f0x1, 0.0\n",
            ),
            (
                "[ -inf, %inf ], [ +qnan, %-inf ]",
                "[ 0.0, %inf ], [ 0.0, %-inf ]",
            ),
            ("(float +nan(0x1), half -snan(0x1F))", "(float 0.0, half 0.0)"),
            (
                "double 0x1.8p3, double 0x1p-3, double 0x3FF8",
                "double 0.0, double 0.0, double 0x3FF8",
            ),
            (
                "<2 x float> <float -1.5, float 2.>",
                "<2 x float> <float 0.0, float 0.>",
            ),
            ("asm \"fma 1.5\" 2.5", "asm \"fma 1.5\" 0.0"),
            ("; version 23.1\nfloat 2.5", "; version 23.1\nfloat 0.0"),
        ] {
            assert_eq!(replaced(newer), Some(older.replace(' ', "")));
        }
    }

    #[test]
    fn what_has_none_is_left_alone() {
        for text in [
            "store float 0x3FF0000000000000, ptr %p",
            "source_filename = \"1.5\"",
            "!llvm.ident = !{!0}\n!0 = !{!\"clang version 23.1.0\"}",
            "%1.5 = add i32 %x, -1",
            "@a.1.5 = global i32 +1",
            "inf:\n  br label %nan",
            "float 1.5e, float 1.2.3, float +nan(0x), float +nan(1)",
            "\"open 1.5",
            "BC 1.5",
        ] {
            assert_eq!(replaced(text), None, "{text}");
        }
    }
}
