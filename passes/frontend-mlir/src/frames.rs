//! The places that a location names (MLIR, Builtin Dialect, Location Attributes).

use ptxcheck_ir::places::Frame;

use crate::limits::{MAX_FRAMES, MAX_LOCATION_DEPTH};
use crate::locations::Locations;
use crate::tokens::{Token, TokenKind, Tokens};

impl Locations<'_> {
    /// The source places of the operation that stands at this 1-based line and column, innermost first: the first is that of the
    /// operation, others those of the calls that it was inlined through. Empty if the text names none.
    #[must_use]
    pub fn frames(&self, line: u32, column: u32) -> Vec<Frame> {
        self.at(line, column)
            .map(|body| {
                let mut frames = Reader::new(self, body, MAX_LOCATION_DEPTH).location();
                frames.truncate(MAX_FRAMES);
                frames
            })
            .unwrap_or_default()
    }
}

/// Reads one location: the bytes between the brackets of `loc(…)`. Text that is not a location names no place.
struct Reader<'l, 't> {
    locations: &'l Locations<'t>,
    text: &'t [u8],
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

impl<'l, 't> Reader<'l, 't> {
    fn new(locations: &'l Locations<'t>, text: &'t [u8], depth: usize) -> Self {
        Self {
            locations,
            text,
            tokens: Tokens::from(text, 0).collect(),
            at: 0,
            depth,
        }
    }

    fn peek(&self) -> &'t [u8] {
        self.tokens
            .get(self.at)
            .map_or(&[], |token| &self.text[token.start..token.end])
    }

    fn next(&mut self) -> &'t [u8] {
        let token = self.peek();
        self.at += 1;
        token
    }

    /// Passes over a token that has to be this one.
    fn takes(&mut self, wanted: &[u8]) -> bool {
        let is_it = self.peek() == wanted;
        self.at += usize::from(is_it);
        is_it
    }

    fn location(&mut self) -> Vec<Frame> {
        if self.depth == 0 {
            return Vec::new();
        }
        self.depth -= 1;
        let frames = self.inside();
        self.depth += 1;
        frames
    }

    fn inside(&mut self) -> Vec<Frame> {
        let word = self.next();
        match word {
            b"callsite" if self.takes(b"(") => {
                let mut frames = self.location();
                if self.takes(b"at") {
                    frames.extend(self.location());
                }
                self.takes(b")");
                frames
            }
            b"fused" => self.fused(),
            b"loc" if self.takes(b"(") => {
                let frames = self.location();
                self.takes(b")");
                frames
            }
            _ if word.first() == Some(&b'#') => {
                let alias = self.locations.alias(word);
                alias.map_or_else(Vec::new, |body| {
                    Reader::new(self.locations, body, self.depth).location()
                })
            }
            _ if word.first() == Some(&b'"') => self.named(word),
            // `unknown`, or a dialect's own.
            _ => Vec::new(),
        }
    }

    /// The first of those that name a place.
    fn fused(&mut self) -> Vec<Frame> {
        if self.peek() == b"<" {
            let mut depth = 0_usize;
            while let Some(token) = self.tokens.get(self.at) {
                match token.kind {
                    TokenKind::Open => depth += 1,
                    TokenKind::Close => depth = depth.saturating_sub(1),
                    _ => {}
                }
                self.at += 1;
                if depth == 0 {
                    break;
                }
            }
        }
        let mut found = Vec::new();
        if self.takes(b"[") {
            loop {
                let frames = self.location();
                if found.is_empty() {
                    found = frames;
                }
                if !self.takes(b",") {
                    break;
                }
            }
            self.takes(b"]");
        }
        found
    }

    /// `"file":line:column`, optionally followed by an end, `"name"`, or `"name"(location)`.
    fn named(&mut self, quoted: &[u8]) -> Vec<Frame> {
        if self.takes(b"(") {
            let frames = self.location();
            self.takes(b")");
            return frames;
        }
        if !self.takes(b":") {
            return Vec::new();
        }
        let line = self.number();
        let column = if self.takes(b":") { self.number() } else { None };
        if self.takes(b"to") {
            if self.peek() != b":" {
                self.next();
            }
            if self.takes(b":") {
                self.next();
            }
        }
        let frame = line.filter(|line| *line > 0).map(|line| Frame {
            file: unquoted(quoted),
            line,
            column: column.unwrap_or(0),
            function: None,
        });
        frame.into_iter().collect()
    }

    fn number(&mut self) -> Option<u32> {
        str::from_utf8(self.next()).ok()?.parse().ok()
    }
}

/// The text of a string: `\"`, `\\`, `\n`, `\t` and `\` with two hexadecimal digits stand for bytes.
fn unquoted(quoted: &[u8]) -> String {
    let inside = quoted.strip_prefix(b"\"").unwrap_or(quoted);
    let inside = inside.strip_suffix(b"\"").unwrap_or(inside);
    let mut bytes = Vec::with_capacity(inside.len());
    let mut at = 0;
    while let Some(&byte) = inside.get(at) {
        at += 1;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let digits = inside
            .get(at..at + 2)
            .and_then(|digits| str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (inside.get(at), code) {
            (_, Some(code)) => {
                bytes.push(code);
                at += 2;
            }
            (Some(b'n'), _) => {
                bytes.push(b'\n');
                at += 1;
            }
            (Some(b't'), _) => {
                bytes.push(b'\t');
                at += 1;
            }
            (Some(other), _) => {
                bytes.push(*other);
                at += 1;
            }
            (None, _) => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use crate::locations::Locations;

    /// The places of `loc(BODY)`, with the aliases of the facts that follow.
    fn of(body: &str) -> Vec<String> {
        let text = format!(
            "x loc({body})\n#a = loc(\"k.py\":10:3)\n#b = loc(\"f\"(#a))\n#c = loc(callsite(#b at #d))\n\
             #d = loc(\"m.py\":99:1)\n#e = loc(#e)\n"
        );
        Locations::of(text.as_bytes())
            .frames(1, 1)
            .iter()
            .map(|frame| format!("{}:{}:{}", frame.file, frame.line, frame.column))
            .collect()
    }

    #[test]
    fn each_form_names_its_places() {
        for (body, wanted) in [
            ("\"k.py\":10:3", &["k.py:10:3"][..]),
            ("#a", &["k.py:10:3"]),
            ("#b", &["k.py:10:3"]),
            ("\"k.py\":30:5 to 31:7", &["k.py:30:5"]),
            ("\"k.py\":30:5 to :7", &["k.py:30:5"]),
            ("\"x\"(\"k.py\":13:3)", &["k.py:13:3"]),
            ("fused<\"m\">[unknown, \"q.py\":20:3]", &["q.py:20:3"]),
            ("fused[\"foo.py\":11:3, \"bar.py\":12:4]", &["foo.py:11:3"]),
            ("fused<#x<[a, b]>>[#a]", &["k.py:10:3"]),
            (
                "callsite(\"foo.py\":14:3 at \"baz.py\":99:1)",
                &["foo.py:14:3", "baz.py:99:1"],
            ),
            ("#c", &["k.py:10:3", "m.py:99:1"]),
            (
                "callsite(#c at \"z.py\":1:2)",
                &["k.py:10:3", "m.py:99:1", "z.py:1:2"],
            ),
            ("unknown", &[]),
            ("\"name\"", &[]),
            ("#none", &[]),
            ("#e", &[]),
            ("\"k.py\":0:0", &[]),
            ("\"a\\\"b\\5Cc\":1:2", &["a\"b\\c:1:2"]),
        ] {
            assert_eq!(of(body), wanted, "{body}");
        }
    }

    #[test]
    fn hostile_locations_end() {
        let deep = format!("{}unknown{}", "\"n\"(".repeat(100_000), ")".repeat(100_000));
        assert!(of(&deep).is_empty());
        let wide = format!("fused[{}]", vec!["unknown"; 100_000].join(", "));
        assert!(of(&wide).is_empty());
        for broken in ["", "fused[", "callsite(", "\"k\":", "\"k\":x", "fused<", "loc("] {
            assert!(of(broken).is_empty(), "{broken}");
        }
    }
}
