//! The string literals of a source: comment markers in them have no meaning.
//!
//! ```text
//! C        "…" and '…' with escapes, to the end of the line; R"delimiter(…)delimiter", over lines
//! Python   "…" and '…' with escapes, to the end of the line; """…""" and '''…''', over lines
//! ```

use std::ops::Range;

use memchr::{memchr, memmem};

/// Most characters of the delimiter of a raw string (C++ standard, lex.string).
const MAX_DELIMITER_BYTES: usize = 16;

/// Most bytes between the quotes of a character: `\U0001F600`.
const MAX_CHARACTER_BYTES: usize = 10;

/// The syntax of literals and comments in a language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    C,
    Python,
}

/// The literals of a text, in order.
pub(super) struct Literals<'t> {
    text: &'t [u8],
    language: Language,
    /// The one that was found last.
    last: Range<usize>,
}

impl<'t> Literals<'t> {
    pub(super) const fn new(text: &'t [u8], language: Language) -> Self {
        Self {
            text,
            language,
            last: 0..0,
        }
    }

    /// True if a byte stands in a literal; asked from the front of the text to its end.
    pub(super) fn is_in_literal(&mut self, at: usize) -> bool {
        while self.last.end <= at {
            self.last = self.next();
        }
        self.last.start <= at
    }

    /// The next literal; after the last, an empty range past the end of every text.
    fn next(&self) -> Range<usize> {
        let text = self.text;
        let mut at = self.last.end;
        while let Some(&byte) = text.get(at) {
            let rest = &text[at..];
            match (self.language, byte) {
                (Language::C, b'/') if rest.starts_with(b"//") => at = self.offset_after(at, b"\n"),
                (Language::C, b'/') if rest.starts_with(b"/*") => at = self.offset_after(at + 2, b"*/"),
                (Language::Python, b'#') => at = self.offset_after(at, b"\n"),
                (Language::C, b'"') if is_raw(&text[..at]) => return at..self.raw_end(at),
                (Language::C, b'"') => return at..self.line_end(at),
                (Language::C, b'\'') => at = self.character_end(at),
                (Language::Python, b'"' | b'\'') => {
                    let quotes = [byte; 3];
                    return if rest.starts_with(&quotes) {
                        at..self.offset_after(at + quotes.len(), &quotes)
                    } else {
                        at..self.line_end(at)
                    };
                }
                _ => at += 1,
            }
        }
        usize::MAX..usize::MAX
    }

    /// The offset after the next occurrence of `end`.
    fn offset_after(&self, from: usize, end: &[u8]) -> usize {
        let rest = self.text.get(from..).unwrap_or_default();
        memmem::find(rest, end).map_or(self.text.len(), |length| from + length + end.len())
    }

    /// The offset after the closing quote of the literal, or the end of the line.
    fn line_end(&self, from: usize) -> usize {
        let quote = self.text[from];
        let mut at = from + 1;
        while let Some(&byte) = self.text.get(at) {
            match byte {
                // An escaped end of line goes on with the next one.
                b'\\' => at += 2,
                b'\n' => return at,
                _ if byte == quote => return at + 1,
                _ => at += 1,
            }
        }
        self.text.len()
    }

    /// The offset after a raw string, whose quote stands at `from`.
    fn raw_end(&self, from: usize) -> usize {
        let rest = &self.text[from + 1..];
        match memchr(b'(', &rest[..rest.len().min(MAX_DELIMITER_BYTES + 1)]) {
            Some(length) => {
                let end = [b")", &rest[..length], b"\""].concat();
                self.offset_after(from + 1 + length, &end)
            }
            None => self.line_end(from),
        }
    }

    /// The offset after a character literal, or after the quote if it starts none: an apostrophe, or a digit separator (`1'000`).
    fn character_end(&self, from: usize) -> usize {
        let is_in_number = from > 0 && self.text[from - 1].is_ascii_alphanumeric();
        let end = self.line_end(from);
        if !is_in_number
            && self.text[end - 1] == b'\''
            && (3..=MAX_CHARACTER_BYTES + 2).contains(&(end - from))
        {
            end
        } else {
            from + 1
        }
    }
}

/// True if a quote after this text begins a raw string: `R"`, `u8R"`, `LR"`.
fn is_raw(before: &[u8]) -> bool {
    let Some(prefix) = before.strip_suffix(b"R") else {
        return false;
    };
    let start = prefix
        .iter()
        .rposition(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
        .map_or(0, |at| at + 1);
    matches!(&prefix[start..], b"" | b"u8" | b"u" | b"U" | b"L")
}

#[cfg(test)]
mod tests {
    use super::{Language, Literals};

    /// The text of each literal.
    fn literals(text: &str, language: Language) -> Vec<&str> {
        let mut literals = Literals::new(text.as_bytes(), language);
        let mut found: Vec<(usize, usize)> = Vec::new();
        for at in 0..text.len() {
            if literals.is_in_literal(at) {
                match found.last_mut() {
                    Some((start, end)) if literals.last.start == *start => *end = at + 1,
                    _ => found.push((at, at + 1)),
                }
            }
        }
        found.into_iter().map(|(start, end)| &text[start..end]).collect()
    }

    #[test]
    fn strings_of_c_are_no_comments() {
        for (text, wanted) in [
            (r#"f("a"); // "b""#, &[r#""a""#][..]),
            (r#"/* "a" */ f("b\"c", "d");"#, &[r#""b\"c""#, r#""d""#]),
            ("f(\"a\ng(\"b\");", &["\"a", "\"b\""]),
            ("f(\"a\\\nb\");", &["\"a\\\nb\""]),
            (r#"f('"', 1'000, "a", '\'', "b")"#, &[r#""a""#, r#""b""#]),
            ("R\"x(a)\" \n)x\" \"b\"", &["\"x(a)\" \n)x\"", "\"b\""]),
            (r#"ERROR"a(b" c"#, &[r#""a(b""#]),
            ("// don't\nf(\"a\"); /* \" */", &["\"a\""]),
            ("\"", &["\""]),
            ("R\"(a", &["\"(a"]),
            ("'", &[]),
        ] {
            assert_eq!(literals(text, Language::C), wanted, "{text}");
        }
    }

    #[test]
    fn strings_of_python_are_no_comments() {
        for (text, wanted) in [
            ("f('a') # 'b'", &["'a'"][..]),
            (
                "\"\"\"a\n# b \"c\" \"\"\"\nd = 'e'",
                &["\"\"\"a\n# b \"c\" \"\"\"", "'e'"],
            ),
            ("'''a\"'''", &["'''a\"'''"]),
            ("a = 'b\\'c'", &["'b\\'c'"]),
        ] {
            assert_eq!(literals(text, Language::Python), wanted, "{text}");
        }
    }
}
