//! Syntax errors and their places.

use crate::span::{Position, Span};

/// Why a piece of the source was left out of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The text is not PTX.
    Malformed,
    /// One of [`crate::limits`] was exceeded.
    Limit,
}

/// One error: the expected token, and the place of the token found instead.
///
/// It is small and holds no text, so that a parser may make many. Show it with its line and column through
/// [`SyntaxError::located`]:
///
/// ```
/// let source = b".entry k()\n{\n  mov.u32 %r1 1;\n}\n";
/// let tree = ptxcheck_ptx_parser::parse(source)?;
/// let error = tree.errors()[0].located(source);
/// assert_eq!(error.to_string(), "3:15: expected `,` or `;` after the operand, found `1`");
/// assert_eq!((error.position().line, error.position().column), (3, 15));
/// # Ok::<(), ptxcheck_ptx_parser::SyntaxError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Malformed, or over a limit.
    pub cause: Cause,
    /// The text in place of the expected; empty at the end of the source.
    pub span: Span,
    /// The expected text, as a phrase: "`;` after the operands". For limits, the limit's sentence.
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

    /// The line and column where it begins in `source`, the text that was parsed. Reads the source up to there: for many
    /// errors, make one [`LineIndex`](crate::LineIndex).
    #[must_use]
    pub fn position(&self, source: &[u8]) -> Position {
        Position::of(source, self.span.start)
    }

    /// The error with its place and message, apart from `source`, the text that was parsed.
    #[must_use]
    pub fn located(&self, source: &[u8]) -> LocatedError {
        LocatedError {
            cause: self.cause,
            position: self.position(source),
            message: self.message(source),
        }
    }
}

impl std::fmt::Display for SyntaxError {
    /// Without the source: the offset in place of the token that was found.
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

/// A [`SyntaxError`] with its line, column and message: the form that is shown to people, and outlives the source.
///
/// It displays as "3:15: expected `;` after the operands, found `}`", to follow a file's name and a colon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocatedError {
    cause: Cause,
    position: Position,
    message: String,
}

impl LocatedError {
    /// Malformed, or over a limit.
    #[must_use]
    pub const fn cause(&self) -> Cause {
        self.cause
    }

    /// Its first position.
    #[must_use]
    pub const fn position(&self) -> Position {
        self.position
    }

    /// The sentence alone: see [`SyntaxError::message`].
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl std::fmt::Display for LocatedError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: {}", self.position, self.message)
    }
}

impl std::error::Error for LocatedError {}
