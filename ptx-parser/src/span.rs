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
    /// The line and column of `offset` in `source`; of its end, if the offset lies past it. Reads the source up to there:
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

/// The number of lines up to each stretch of a source: built in one fast pass, for positions here and there. [`LineIndex`] is for
/// very many places.
///
/// ```
/// use ptxcheck_ptx_parser::span::{LineCounts, Position};
///
/// let source = b".version 8.5\n.target sm_90\n";
/// let counts = LineCounts::new(source);
/// assert_eq!(counts.position(source, 21), Position { line: 2, column: 9 });
/// assert_eq!(counts.line(source, 2), b".target sm_90");
/// ```
#[derive(Clone, Debug)]
pub struct LineCounts {
    stretches: Vec<Stretch>,
}

/// The lines in front of a stretch of text.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// Line endings before it.
    endings: u32,
    /// The start of the line that its first byte lies in.
    line_start: u32,
}

/// Bytes of a stretch.
const STRETCH_BYTES: usize = 4 << 10;

impl LineCounts {
    /// Counts the lines of `source`.
    #[must_use]
    pub fn new(source: &[u8]) -> Self {
        let mut next = Stretch {
            endings: 0,
            line_start: 0,
        };
        let mut stretches = Vec::with_capacity(source.len() / STRETCH_BYTES + 1);
        for (number, text) in source.chunks(STRETCH_BYTES).enumerate() {
            stretches.push(next);
            if let Some(last) = memchr::memrchr(b'\n', text) {
                next.endings += memchr::memchr_iter(b'\n', text).count() as u32;
                next.line_start = (number * STRETCH_BYTES + last + 1) as u32;
            }
        }
        // The end of the source is a place, too.
        stretches.push(next);
        Self { stretches }
    }

    /// The line and column of `offset` in `source`, the text that was counted. An offset past its end counts on from its last line.
    #[must_use]
    pub fn position(&self, source: &[u8], offset: u32) -> Position {
        let end = source.len().min(offset as usize);
        let number = (end / STRETCH_BYTES).min(self.stretches.len() - 1);
        let Stretch { endings, line_start } = self.stretches[number];
        let start = number * STRETCH_BYTES;
        let before = source.get(start..end).unwrap_or_default();
        let line_start = match memchr::memrchr(b'\n', before) {
            Some(last) => (start + last + 1) as u32,
            None => line_start,
        };
        Position {
            line: (endings + memchr::memchr_iter(b'\n', before).count() as u32).saturating_add(1),
            column: (offset - line_start).saturating_add(1),
        }
    }

    /// The bytes of a 1-based `line` of `source`, the text that was counted, without its line ending; empty when there is no such line.
    #[must_use]
    pub fn line<'s>(&self, source: &'s [u8], line: u32) -> &'s [u8] {
        let Some(start) = self.line_start(source, line) else {
            return &[];
        };
        let rest = source.get(start..).unwrap_or_default();
        let text = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
        text.strip_suffix(b"\r").unwrap_or(text)
    }

    fn line_start(&self, source: &[u8], line: u32) -> Option<usize> {
        let endings = line.checked_sub(1)?;
        // The last stretch that begins before the line ending in front of the line.
        let Some(number) = self
            .stretches
            .partition_point(|stretch| stretch.endings < endings)
            .checked_sub(1)
        else {
            return Some(0);
        };
        let start = number * STRETCH_BYTES;
        let inside = endings - self.stretches[number].endings;
        let text = source.get(start..)?;
        let text = &text[..text.len().min(STRETCH_BYTES)];
        let ending = memchr::memchr_iter(b'\n', text).nth(inside as usize - 1)?;
        Some(start + ending + 1)
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

    /// The line and column of `offset`. An offset past the end of the source counts on from its last line.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines that are counted are those of the index.
    #[test]
    fn counts_and_index_agree() {
        let long = "x".repeat(3 * STRETCH_BYTES);
        for source in [
            String::new(),
            "\n".to_owned(),
            "a\r\n\nb".to_owned(),
            "\n".repeat(2 * STRETCH_BYTES + 1),
            format!("a\n{long}\nb\n"),
            format!("{long}\n"),
            format!("{}\n{}", &long[..STRETCH_BYTES - 1], &long[..STRETCH_BYTES]),
        ] {
            let source = source.as_bytes();
            let (counts, index) = (LineCounts::new(source), LineIndex::new(source));
            for offset in 0..source.len() as u32 + 3 {
                let position = counts.position(source, offset);
                assert_eq!(position, index.position(offset), "{offset}");
                if offset % 97 == 0 || offset as usize + 3 > source.len() {
                    assert_eq!(
                        counts.line(source, position.line),
                        index.line(source, position.line)
                    );
                }
            }
            for line in [0, source.len() as u32 + 2, u32::MAX] {
                assert_eq!(counts.line(source, line), b"");
            }
        }
    }
}
