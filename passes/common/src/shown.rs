//! Names that are not UTF-8, as text. No two become one.
//!
//! A byte that is not a part of a character is shown as `\\xff`. So that nothing else is shown like that, a backslash in the
//! name in front of `x` and two digits of a hexadecimal number is shown as `\\x5c`.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write as _;

/// A name in an input.
#[must_use]
pub fn name(bytes: &[u8]) -> Cow<'_, str> {
    escaped(bytes, true)
}

/// The path of an input. Backslashes separate folders on Windows, where paths are characters but for broken ones: they
/// stay there.
#[must_use]
pub fn path(path: &OsStr) -> Cow<'_, str> {
    escaped(path.as_encoded_bytes(), cfg!(not(windows)))
}

/// The path of a source file, as a compiler wrote it down: Windows has backslashes in it, and they stay.
#[must_use]
pub fn source(path: &[u8]) -> Cow<'_, str> {
    escaped(path, false)
}

fn escaped(bytes: &[u8], with_backslashes: bool) -> Cow<'_, str> {
    let looks_escaped = |rest: &[u8]| {
        let digits = rest.strip_prefix(b"\\x").and_then(<[u8]>::first_chunk::<2>);
        with_backslashes && digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    let has_escapes = || memchr::memmem::find_iter(bytes, b"\\x").any(|at| looks_escaped(&bytes[at..]));
    if let Ok(text) = std::str::from_utf8(bytes)
        && !has_escapes()
    {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        for (at, character) in chunk.valid().char_indices() {
            // A chunk ends with the last whole character, so all four are in it.
            if looks_escaped(&chunk.valid().as_bytes()[at..]) {
                shown.push_str("\\x5c");
            } else {
                shown.push(character);
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn no_two_names_are_shown_alike() {
        let cases: [(&[u8], &str); 8] = [
            (b"plain", "plain"),
            ("é\u{fffd}".as_bytes(), "é\u{fffd}"),
            (b"a\xff", "a\\xff"),
            (b"a\xfe", "a\\xfe"),
            (b"a\\xff", "a\\x5cxff"),
            (b"a\\x5cxff", "a\\x5cx5cxff"),
            (b"C:\\xampp\\a", "C:\\xampp\\a"),
            (b"\\x\xc3(", "\\x\\xc3("),
        ];
        for (bytes, wanted) in cases {
            assert_eq!(name(bytes), wanted);
        }
        // All names of up to four of these bytes.
        let letters = b"\\x5c\xff\xc3\xa9";
        let mut names: Vec<Vec<u8>> = vec![Vec::new()];
        let mut all = names.clone();
        for _ in 0..5 {
            names = names
                .iter()
                .flat_map(|name| letters.iter().map(move |letter| [&name[..], &[*letter]].concat()))
                .collect();
            all.extend(names.iter().cloned());
        }
        let shown: std::collections::HashSet<String> =
            all.iter().map(|bytes| name(bytes).into_owned()).collect();
        assert_eq!(shown.len(), all.len());
    }
}
