//! Byte ranges in the source, and what lines they are on.

/// A half-open range of bytes, `start..end`, in the source of one tree.
///
/// ```
/// use ptxcheck_ptx_parser::{LineIndex, Position, Span};
///
/// let source = b".version 8.5\n.target sm_90\n";
/// let span = Span::new(21, 26);
/// assert_eq!(span.of(source), b"sm_90");
/// assert_eq!(LineIndex::new(source).position(span.start), Position { line: 2, column: 9 });
/// ```
///
/// Sources are at most [`crate::limits::MAX_SOURCE_BYTES`] long, so 32 bits hold every offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset one past the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end`.
    #[inline]
    #[must_use]
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// Length in bytes.
    #[inline]
    #[must_use]
    pub const fn len(self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    /// True if it holds no byte.
    #[inline]
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// The bytes of `source` it covers; empty where it lies outside.
    #[inline]
    #[must_use]
    pub fn of(self, source: &[u8]) -> &[u8] {
        source
            .get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }
}

/// A place as people count: 1-based line, 1-based column in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// 1-based line.
    pub line: u32,
    /// 1-based column, in bytes.
    pub column: u32,
}

impl Position {
    /// The line and column of `offset` in `source`; of its end, if the offset lies behind it. Reads the source up to there:
    /// [`LineIndex`] is for many places.
    #[must_use]
    pub fn of(source: &[u8], offset: u32) -> Self {
        let before = source.get(..offset as usize).unwrap_or(source);
        let start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
        let lines = memchr::memchr_iter(b'\n', before).count();
        Self {
            line: u32::try_from(lines).unwrap_or(u32::MAX).saturating_add(1),
            column: u32::try_from(before.len() - start)
                .unwrap_or(u32::MAX)
                .saturating_add(1),
        }
    }
}

impl std::fmt::Display for Position {
    /// `line:column`
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}", self.line, self.column)
    }
}

/// The offset at which every line starts: built once, and only when a place has to be shown.
#[derive(Clone, Debug)]
pub struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    /// Reads the line starts of `source`. A line ends with `\n`; a `\r` before it belongs to the line.
    #[must_use]
    pub fn new(source: &[u8]) -> Self {
        let mut starts = vec![0];
        starts.extend(memchr::memchr_iter(b'\n', source).map_while(|at| u32::try_from(at + 1).ok()));
        Self { starts }
    }

    /// The line and column of `offset`. One behind the end of the source counts on from its last line.
    #[must_use]
    pub fn position(&self, offset: u32) -> Position {
        let line = self.starts.partition_point(|&start| start <= offset);
        Position {
            line: line as u32,
            column: (offset - self.starts[line - 1]).saturating_add(1),
        }
    }

    /// The bytes of a 1-based `line` of `source`, without its line ending; empty when there is no such line.
    #[must_use]
    pub fn line<'s>(&self, source: &'s [u8], line: u32) -> &'s [u8] {
        let Some(&start) = (line as usize)
            .checked_sub(1)
            .and_then(|index| self.starts.get(index))
        else {
            return &[];
        };
        let end = self
            .starts
            .get(line as usize)
            .map_or(source.len(), |&next| next as usize - 1);
        let text = source.get(start as usize..end).unwrap_or_default();
        text.strip_suffix(b"\r").unwrap_or(text)
    }
}
