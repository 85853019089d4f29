//! The `loc(…)` of a text: blanked out, so that MLIR gives each operation the place where it stands in the text, and remembered, so that
//! the place that it names can be shown.
//!
//! A `loc` is blanked where it trails, which is everywhere except after `=`, `,`, `[`, `(`, `<` and `{`: there it is part of an
//! attribute, or defines an alias. One that trails an operation is remembered with the line that the operation begins on: its
//! own line, or, where that begins with the bracket that closes the operation's last region, the line of the bracket that opens
//! its first one.

use rustc_hash::FxHashMap;

use crate::tokens::{Token, TokenKind, Tokens};

/// A `loc` that trails an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Trailing {
    /// 1-based line that the operation begins on.
    line: u32,
    /// 1-based column of the `loc`, in bytes; 0 where it stands on a later line than `line`.
    column: u32,
    /// Its bytes between the brackets.
    body: (usize, usize),
}

/// The locations of a text.
#[derive(Debug, Default)]
pub struct Locations<'t> {
    text: &'t [u8],
    /// Sorted by line and column.
    trailing: Vec<Trailing>,
    /// The bytes of each that is blanked.
    blanks: Vec<(usize, usize)>,
    /// The bytes after `=` in `#name = loc(…)`, between the brackets.
    aliases: FxHashMap<&'t [u8], (usize, usize)>,
    /// The bytes of definitions and operations that only debug information has.
    debug: Vec<(usize, usize)>,
}

/// An open bracket: its byte, and the line that the operation with it begins on.
type Open = (u8, u32);

impl<'t> Locations<'t> {
    /// The locations of a text.
    #[must_use]
    pub fn of(text: &'t [u8]) -> Self {
        let mut reader = Reader {
            found: Self {
                text,
                ..Self::default()
            },
            tokens: Tokens::from(text, 0),
            line: 1,
            line_start: 0,
            counted: 0,
            open: Vec::new(),
            operation_line: 1,
        };
        reader.read();
        let mut found = reader.found;
        found
            .trailing
            .sort_by_key(|trailing| (trailing.line, trailing.column == 0, trailing.column));
        found
    }

    /// The text without the locations that trail, in as many bytes. `with_debug`: without debug information, too, which includes the
    /// locations.
    #[must_use]
    pub fn blanked(&self, with_debug: bool) -> Vec<u8> {
        let mut text = self.text.to_vec();
        let debug = self.debug.iter().filter(|_| with_debug);
        for &(start, end) in self.blanks.iter().chain(debug) {
            for byte in &mut text[start..end] {
                if !matches!(byte, b'\n' | b'\r') {
                    *byte = b' ';
                }
            }
        }
        text
    }

    /// True if the text describes variables of a program.
    #[must_use]
    pub fn has_debug_operations(&self) -> bool {
        memchr::memmem::find(self.text, DEBUG_OPERATION).is_some()
    }

    /// The bytes between the brackets of the `loc` of the operation that stands at this 1-based line and column; column 0 is for the
    /// first operation with regions that begins on the line, if there is one.
    pub(crate) fn at(&self, line: u32, column: u32) -> Option<&'t [u8]> {
        let from = self.trailing.partition_point(|trailing| trailing.line < line);
        let of_line = self.trailing[from..]
            .iter()
            .take_while(|trailing| trailing.line == line);
        let with_regions = || of_line.clone().find(|trailing| trailing.column == 0);
        let behind = || of_line.clone().find(|trailing| trailing.column >= column.max(1));
        let found = if column == 0 {
            with_regions().or_else(behind)
        } else {
            behind().or_else(with_regions)
        };
        let body = found?.body;
        self.text.get(body.0..body.1)
    }

    /// The bytes between the brackets of the `loc` that an alias, `#loc3`, stands for.
    pub(crate) fn alias(&self, name: &[u8]) -> Option<&'t [u8]> {
        let &(start, end) = self.aliases.get(name)?;
        self.text.get(start..end)
    }
}

const DEBUG_OPERATION: &[u8] = b"llvm.intr.dbg.";

/// The beginnings of attributes that only debug information has.
const DEBUG_ATTRIBUTES: [&[u8]; 2] = [b"#llvm.di_", b"distinct"];

struct Reader<'t> {
    found: Locations<'t>,
    tokens: Tokens<'t>,
    /// The line of byte `counted`, and the offset of its first byte.
    line: u32,
    line_start: usize,
    counted: usize,
    open: Vec<Open>,
    /// The line that the operation of the last token begins on.
    operation_line: u32,
}

impl<'t> Reader<'t> {
    fn bytes(&self, token: Token) -> &'t [u8] {
        &self.found.text[token.start..token.end]
    }

    /// Counts lines up to an offset. True if the line is a new one.
    fn count(&mut self, offset: usize) -> bool {
        let passed = &self.found.text[self.counted..offset];
        let is_new = match memchr::memrchr(b'\n', passed) {
            Some(last) => {
                let newlines = memchr::memchr_iter(b'\n', passed).count();
                self.line = self
                    .line
                    .saturating_add(u32::try_from(newlines).unwrap_or(u32::MAX));
                self.line_start = self.counted + last + 1;
                true
            }
            None => self.counted == 0 && offset == 0,
        };
        self.counted = offset;
        is_new
    }

    fn read(&mut self) {
        let mut before: Option<Token> = None;
        while let Some(token) = self.tokens.next() {
            let is_first = self.count(token.start) || before.is_none();
            if is_first {
                self.operation_line = self.line;
            }
            match token.kind {
                TokenKind::Open => self.open.push((self.bytes(token)[0], self.operation_line)),
                TokenKind::Close => self.close(self.bytes(token)[0], is_first),
                TokenKind::Word if self.bytes(token) == b"loc" => self.location(token, before),
                TokenKind::Word if self.bytes(token).starts_with(DEBUG_OPERATION) && is_first => {
                    self.debug_operation(token);
                }
                TokenKind::Word if is_first && self.bytes(token).starts_with(b"#") => self.definition(token),
                _ => {}
            }
            before = Some(token);
        }
    }

    /// A bracket that closes: angle brackets that nothing closed are none.
    fn close(&mut self, byte: u8, is_first: bool) {
        let opens = match byte {
            b')' => b'(',
            b']' => b'[',
            b'}' => b'{',
            _ => b'<',
        };
        while let Some((open, line)) = self.open.pop() {
            if open == opens {
                if is_first && opens == b'{' {
                    self.operation_line = line;
                }
                return;
            }
            if open != b'<' {
                self.open.push((open, line));
                return;
            }
        }
    }

    /// The bytes between the brackets after a token, and the offset after the brackets.
    fn in_brackets(&self, after: usize) -> Option<((usize, usize), usize)> {
        let mut tokens = Tokens::from(self.found.text, after);
        let first = tokens.next().filter(|token| self.bytes(*token) == b"(")?;
        let mut depth = 1_usize;
        for token in tokens {
            match self.bytes(token) {
                b"(" => depth += 1,
                b")" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(((first.end, token.start), token.end));
            }
        }
        None
    }

    /// A `loc`, if brackets follow.
    fn location(&mut self, token: Token, before: Option<Token>) {
        let Some((body, end)) = self.in_brackets(token.end) else {
            return;
        };
        let before = before.map_or(&b"="[..], |before| self.bytes(before));
        if !matches!(before, b"=" | b"," | b"[" | b"(" | b"<" | b"{") {
            self.found.blanks.push((token.start, end));
            // Those of arguments stand in round brackets.
            if self.open.last().is_none_or(|(open, _)| *open == b'{') {
                let column = u32::try_from(token.start - self.line_start + 1).unwrap_or(u32::MAX);
                self.found.trailing.push(Trailing {
                    line: self.operation_line,
                    column: if self.operation_line == self.line {
                        column
                    } else {
                        0
                    },
                    body,
                });
            }
        }
        self.tokens = Tokens::from(self.found.text, end);
    }

    /// An operation that describes a variable: to the end of its line.
    fn debug_operation(&mut self, token: Token) {
        let rest = &self.found.text[token.start..];
        let end = memchr::memchr(b'\n', rest).map_or(self.found.text.len(), |end| token.start + end);
        self.found.debug.push((token.start, end));
        self.tokens = Tokens::from(self.found.text, end);
    }

    /// `#name = …`, if it defines a location or what only debug information has.
    fn definition(&mut self, name: Token) {
        let text = self.found.text;
        let mut tokens = Tokens::from(text, name.end);
        let (Some(equals), Some(value)) = (tokens.next(), tokens.next()) else {
            return;
        };
        if self.bytes(equals) != b"=" {
            return;
        }
        if self.bytes(value) == b"loc" {
            if let Some((body, end)) = self.in_brackets(value.end) {
                self.found.aliases.insert(self.bytes(name), body);
                self.found.debug.push((name.start, end));
                self.tokens = Tokens::from(text, end);
            }
        } else if DEBUG_ATTRIBUTES
            .iter()
            .any(|known| self.bytes(value).starts_with(known))
        {
            // To the end of the line on which all of its brackets are closed.
            let mut depth = 0_usize;
            let mut end = value.end;
            for token in tokens {
                let is_next_line = memchr::memchr(b'\n', &text[end..token.start]).is_some();
                if depth == 0 && is_next_line {
                    break;
                }
                match token.kind {
                    TokenKind::Open => depth += 1,
                    TokenKind::Close => depth = depth.saturating_sub(1),
                    _ => {}
                }
                end = token.end;
            }
            self.found.debug.push((name.start, end));
            self.tokens = Tokens::from(text, end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Locations;

    fn blanked(text: &str) -> String {
        String::from_utf8(Locations::of(text.as_bytes()).blanked(false)).unwrap()
    }

    fn at(text: &str, line: u32, column: u32) -> Option<String> {
        let locations = Locations::of(text.as_bytes());
        locations
            .at(line, column)
            .map(|body| String::from_utf8_lossy(body).into_owned())
    }

    #[test]
    fn what_trails_is_blanked_in_place() {
        assert_eq!(
            blanked("nvvm.barrier loc(#a)\nx"),
            format!("nvvm.barrier{}\nx", " ".repeat(8))
        );
        assert_eq!(
            blanked("f(%a: i32 loc(\"x)\":1:2)) {"),
            format!("f(%a: i32{}) {{", " ".repeat(14))
        );
        for kept in [
            "#a = loc(\"x\":1:2)",
            "{x = loc(unknown)}",
            "[loc(unknown), loc(unknown)]",
            "f<loc(unknown)>",
            "a // loc(unknown)",
            "\"loc(unknown)\"",
            "a.loc(unknown)",
            "a loc",
            "a loc(",
        ] {
            assert_eq!(blanked(kept), kept);
        }
        let two_lines = "a loc(fused[\n#x])\nb";
        assert_eq!(blanked(two_lines), "a           \n    \nb");
    }

    #[test]
    fn operations_have_the_location_behind_them() {
        let text = "m {\n  a loc(1) b loc(2)\n} loc(3)\n";
        assert_eq!(at(text, 2, 3).as_deref(), Some("1"));
        assert_eq!(at(text, 2, 12).as_deref(), Some("2"));
        assert_eq!(at(text, 1, 1).as_deref(), Some("3"));
        assert_eq!(at(text, 3, 1), None);
        assert_eq!(at(text, 2, 40), None);
    }

    #[test]
    fn regions_lead_to_the_line_they_begin_on() {
        let text = "f(%a: i32 loc(arg)) {\n  scf.if %c {\n    x loc(1)\n  } else {\n    y loc(2)\n  } loc(3)\n  \
                    g() ({\n    z loc(4)\n  }) : () -> () loc(5)\n} loc(6)\n";
        for (line, wanted) in [(1, "6"), (2, "3"), (3, "1"), (5, "2"), (7, "5"), (8, "4")] {
            assert_eq!(at(text, line, 1).as_deref(), Some(wanted), "line {line}");
        }
        // Angle brackets that are comparisons close nothing.
        let text = "a {\n  b < c\n} loc(1)\n";
        assert_eq!(at(text, 1, 1).as_deref(), Some("1"));
    }

    #[test]
    fn debug_information_is_blanked_when_asked() {
        let text = "#x = #llvm.di_file<\"a\" in \"b\">\n#y = distinct[0]<>\n#l = loc(unknown)\n#m = affine_map<() -> ()>\n\
                    llvm.intr.dbg.value #x = %a : i32 loc(#l)\nnvvm.barrier\n";
        let locations = Locations::of(text.as_bytes());
        assert!(locations.has_debug_operations());
        let left = String::from_utf8(locations.blanked(true)).unwrap();
        assert_eq!(left.len(), text.len());
        assert_eq!(
            left.split_whitespace().collect::<Vec<_>>().join(" "),
            "#m = affine_map<() -> ()> nvvm.barrier"
        );
        assert_eq!(locations.alias(b"#l"), Some(&b"unknown"[..]));
    }
}
