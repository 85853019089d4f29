//! The parts of a text: LLVM's tests have several inputs in a file, with lines between them that begin with `// -----`.

use crate::limits::MAX_PARTS;

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'t> {
    /// Its text.
    pub text: &'t [u8],
    /// Number of lines before it.
    pub lines_before: u32,
}

const MARK: &[u8] = b"// -----";

/// The parts of a text that hold more than white space and comments. From [`MAX_PARTS`] on, the rest is one.
#[must_use]
pub fn parts(text: &[u8]) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut begin, mut before, mut line) = (0, 0, 0_u32);
    let mut at = 0;
    while at <= text.len() {
        let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |length| at + length);
        let is_mark = text[at..end].starts_with(MARK) && parts.len() + 1 < MAX_PARTS;
        if is_mark {
            parts.push(Part {
                text: &text[begin..at],
                lines_before: before,
            });
            begin = (end + 1).min(text.len());
            before = line.saturating_add(1);
        }
        line = line.saturating_add(1);
        at = end + 1;
    }
    parts.push(Part {
        text: &text[begin..],
        lines_before: before,
    });
    parts.retain(|part| has_code(part.text));
    parts
}

fn has_code(text: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n').any(|line| {
        let line = line.trim_ascii();
        !line.is_empty() && !line.starts_with(b"//")
    })
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn marks_part_a_text() {
        let of = |text: &str| -> Vec<(String, u32)> {
            parts(text.as_bytes())
                .iter()
                .map(|part| (String::from_utf8_lossy(part.text).into_owned(), part.lines_before))
                .collect()
        };
        assert_eq!(of("a\nb"), [("a\nb".to_owned(), 0)]);
        assert_eq!(
            of("a\n// -----\n\nb\n// ----- more\nc"),
            [
                ("a\n".to_owned(), 0),
                ("\nb\n".to_owned(), 2),
                ("c".to_owned(), 5)
            ]
        );
        // Without code there is no part.
        assert_eq!(of("// a\n// -----\n  \n// -----\nb"), [("b".to_owned(), 4)]);
        assert_eq!(of(""), []);
        assert_eq!(of("  // -----\na"), [("  // -----\na".to_owned(), 0)]);
    }
}
