//! Text that a newer LLVM wrote: floating-point constants as their bits, `f0x3F800000`.
//!
//! No analysis looks at the value of a floating-point constant, so where LLVM refuses a text with such constants, it
//! is read again with `0.0` in their place, which stands for every floating-point type.

/// The text with other constants; `None` where there are none to replace, or it is no text.
pub(super) fn rewritten(text: &[u8]) -> Option<Vec<u8>> {
    const PREFIX: &[u8] = b"f0x";
    let mut out = Vec::with_capacity(text.len());
    let mut copied = 0;
    for at in memchr::memmem::find_iter(text, PREFIX) {
        let begins = matches!(text.get(at.checked_sub(1)?), Some(b' ' | b'(' | b'<' | b'['));
        let digits = text[at + PREFIX.len()..]
            .iter()
            .take_while(|byte| byte.is_ascii_hexdigit())
            .count();
        let end = at + PREFIX.len() + digits;
        let ends = !matches!(text.get(end), Some(byte) if byte.is_ascii_alphanumeric() || *byte == b'_');
        if begins && ends && digits > 0 && at >= copied {
            out.extend_from_slice(&text[copied..at]);
            out.extend_from_slice(b"0.0");
            copied = end;
        }
    }
    if copied == 0 || text.starts_with(b"BC") {
        return None;
    }
    out.extend_from_slice(&text[copied..]);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::rewritten;

    #[test]
    fn constants_are_replaced_and_names_are_not() {
        let text = b"%f0x12 = fmul <2 x float> %a.f0x1, splat (float f0x3FB8AA3B), !dbg !25\n";
        let older = rewritten(text).unwrap();
        assert_eq!(
            older,
            b"%f0x12 = fmul <2 x float> %a.f0x1, splat (float 0.0), !dbg !25\n"
        );
        assert_eq!(rewritten(b"store float 0x3FF0000000000000"), None);
    }
}
