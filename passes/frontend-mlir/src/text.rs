//! A text, as the places in it are looked up.

use ptxcheck_ir::places::Frame;
use ptxcheck_ir::{DebugId, LineIndex, Origin, Position, Span, SymbolId};

use crate::tokens::Tokens;

/// A text with its lines.
pub struct Text<'t> {
    bytes: &'t [u8],
    lines: LineIndex,
    starts: Vec<u32>,
}

impl<'t> Text<'t> {
    /// The lines of a text.
    #[must_use]
    pub fn new(bytes: &'t [u8]) -> Self {
        let mut starts = vec![0];
        starts.extend(memchr::memchr_iter(b'\n', bytes).map_while(|at| u32::try_from(at + 1).ok()));
        Self {
            bytes,
            lines: LineIndex::new(bytes),
            starts,
        }
    }

    /// The bytes of the word, string or sign that stands at this 1-based line and column, in bytes; from the first one of the line
    /// where the column is 0. `None` if there is no such line, or nothing after that column in it.
    #[must_use]
    pub fn span(&self, line: u32, column: u32) -> Option<Span> {
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        let start = *self.starts.get(index)? as usize;
        let text = self.lines.line(self.bytes, line);
        let from = usize::try_from(column).ok()?.saturating_sub(1).min(text.len());
        let token = Tokens::from(&text[from..], 0).next()?;
        let offset = |at: usize| u32::try_from(start + from + at).unwrap_or(u32::MAX);
        Some(Span::new(offset(token.start), offset(token.end)))
    }
}

impl Origin for Text<'_> {
    fn place(&self, span: Span) -> Option<Span> {
        Some(span)
    }

    fn position(&self, offset: u32) -> Option<Position> {
        Some(self.lines.position(offset))
    }

    fn line(&self, line: u32) -> &[u8] {
        self.lines.line(self.bytes, line)
    }

    fn name(&self, _: Span) -> Option<String> {
        None
    }

    fn stack_name(&self, _: SymbolId) -> Option<String> {
        None
    }

    fn text(&self, span: Span) -> &[u8] {
        self.bytes
            .get(span.start as usize..span.end as usize)
            .unwrap_or_default()
    }

    fn frames(&self, _: DebugId) -> Vec<Frame> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use ptxcheck_ir::Origin as _;

    use super::Text;

    #[test]
    fn places_are_words() {
        let text = Text::new(b"a\n  %0 = gpu.shuffle xor %v\n\nlast");
        let word = |line, column| {
            text.span(line, column)
                .map(|span| String::from_utf8_lossy(text.text(span)).into_owned())
        };
        assert_eq!(word(2, 8).as_deref(), Some("gpu.shuffle"));
        assert_eq!(word(2, 0).as_deref(), Some("%0"));
        assert_eq!(word(4, 1).as_deref(), Some("last"));
        for (line, column) in [(0, 1), (3, 1), (5, 1), (2, 400), (1, u32::MAX)] {
            assert_eq!(word(line, column), None, "{line}:{column}");
        }
    }
}
