//! The words, strings and brackets of MLIR's text, with where they stand. Comments are passed over.

/// A token: its kind, and its bytes in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    /// Offset of its first byte.
    pub(crate) start: usize,
    /// Offset after its last byte.
    pub(crate) end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// Letters, digits, `_`, `.`, `$` and `-`, including a `#`, `!`, `%`, `@` or `^` directly before them.
    Word,
    /// In quotes, which are part of it.
    Text,
    /// `(`, `[`, `{` or `<`.
    Open,
    /// `)`, `]`, `}` or `>`.
    Close,
    /// Any other byte, and the arrows and comparisons that have an angle bracket in them.
    Other,
}

/// The tokens of a text.
pub(crate) struct Tokens<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Tokens<'t> {
    /// From an offset on.
    pub(crate) const fn from(text: &'t [u8], at: usize) -> Self {
        Self { text, at }
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(0)
    }

    /// The offset after the string whose first quote is at `start`. A string without a closing quote ends with its line.
    fn end_of_string(&self, start: usize) -> usize {
        let mut at = start + 1;
        while let Some(byte) = self.text.get(at) {
            match byte {
                b'\\' => at += 2,
                b'"' => return at + 1,
                b'\n' => return at,
                _ => at += 1,
            }
        }
        self.text.len()
    }

    fn end_of_word(&self, start: usize) -> usize {
        let mut at = start;
        // An arrow ends a word: `i32->f32`.
        while is_word(self.byte(at)) && !(self.byte(at) == b'-' && self.byte(at + 1) == b'>') {
            at += 1;
        }
        at
    }
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$' | b'-' | 0x80..)
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        while let Some(&byte) = self.text.get(self.at) {
            let start = self.at;
            if byte.is_ascii_whitespace() {
                self.at += 1;
                continue;
            }
            if byte == b'/' && self.byte(start + 1) == b'/' {
                let rest = &self.text[start..];
                self.at = memchr::memchr(b'\n', rest).map_or(self.text.len(), |end| start + end);
                continue;
            }
            let (kind, end) = match (byte, self.byte(start + 1)) {
                (b'"', _) => (TokenKind::Text, self.end_of_string(start)),
                (b'-' | b'=', b'>') | (b'>' | b'<', b'=') => (TokenKind::Other, start + 2),
                (b'(' | b'[' | b'{' | b'<', _) => (TokenKind::Open, start + 1),
                (b')' | b']' | b'}' | b'>', _) => (TokenKind::Close, start + 1),
                (b'#' | b'!' | b'%' | b'@' | b'^', next) if is_word(next) => {
                    (TokenKind::Word, self.end_of_word(start + 1))
                }
                (byte, next) if is_word(byte) && !(byte == b'-' && next == b'>') => {
                    (TokenKind::Word, self.end_of_word(start))
                }
                _ => (TokenKind::Other, start + 1),
            };
            self.at = end.clamp(start + 1, self.text.len().max(start + 1));
            return Some(Token {
                kind,
                start,
                end: self.at.min(self.text.len()),
            });
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{TokenKind, Tokens};

    fn words(text: &str) -> Vec<&str> {
        Tokens::from(text.as_bytes(), 0)
            .map(|token| &text[token.start..token.end])
            .collect()
    }

    #[test]
    fn arrows_are_no_brackets() {
        assert_eq!(
            words("%0 = f(%a) : (i32)->vector<4xf32> // loc(x)\n"),
            [
                "%0", "=", "f", "(", "%a", ")", ":", "(", "i32", ")", "->", "vector", "<", "4xf32", ">"
            ]
        );
        let brackets = Tokens::from(b"affine_set<(d0) : (d0 >= 0)>, a<b<c>>", 0)
            .filter(|token| matches!(token.kind, TokenKind::Open | TokenKind::Close))
            .count();
        assert_eq!(brackets, 10);
    }

    #[test]
    fn strings_are_one_token() {
        assert_eq!(
            words(r#"loc("a\"b(":1:2)"#),
            ["loc", "(", r#""a\"b(""#, ":", "1", ":", "2", ")"]
        );
        assert_eq!(words("\"open\nloc"), ["\"open", "loc"]);
        assert_eq!(words("\"\\"), ["\"\\"]);
    }
}
