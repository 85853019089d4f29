//! What could not be parsed, and where.

use crate::span::Span;

/// Why a piece of the source was left out of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The text is not PTX.
    Malformed,
    /// One of [`crate::limits`] was exceeded.
    Limit,
}

/// One error: what was expected, and where something else stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Malformed, or over a limit.
    pub cause: Cause,
    /// What the text shows in place of the expected; empty at the end of the source.
    pub span: Span,
    /// What was expected, as a phrase: "`;` after the operands". For limits, the limit's sentence.
    pub expected: &'static str,
}

impl SyntaxError {
    /// A sentence: "expected `;` after the operands, found `}`". Shows at most 40 bytes of the source, escaped.
    #[must_use]
    pub fn message(&self, source: &[u8]) -> String {
        const SHOWN: usize = 40;
        if self.cause == Cause::Limit {
            return self.expected.to_owned();
        }
        let found = self.span.of(source);
        if found.is_empty() {
            return format!("expected {}, found the end of the module", self.expected);
        }
        let shown = found.get(..SHOWN).unwrap_or(found).escape_ascii();
        let dots = if found.len() > SHOWN { "…" } else { "" };
        format!("expected {}, found `{shown}{dots}`", self.expected)
    }
}

impl std::fmt::Display for SyntaxError {
    /// Without the source at hand: the offset in place of what was found.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.cause {
            Cause::Limit => formatter.write_str(self.expected),
            Cause::Malformed => write!(
                formatter,
                "expected {} at byte {}",
                self.expected, self.span.start
            ),
        }
    }
}

impl std::error::Error for SyntaxError {}
