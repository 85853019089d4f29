//! The place in a source or an input that a finding is shown at, and its line of text.

use std::ops::Range;

use ptxcheck_passes::finding::{Finding, LineText, Location, Source};
use ptxcheck_passes::sources::Sources;

/// Longest piece of a line that is shown, in bytes.
const SHOWN_LINE_BYTES: usize = 240;

/// The furthest column, in bytes, whose text is shown.
const FURTHEST_COLUMN: usize = 20_000;

/// A place in a source file or in an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShownPlace<'a> {
    /// The file, as the compiler or the user named it.
    pub file: &'a str,
    /// 1-based line.
    pub line: u32,
    /// 1-based column in bytes, where it is known.
    pub column: Option<u32>,
    /// The column after the last byte, if it is known and on the same line.
    end_column: Option<u32>,
    /// The place goes on after `line`.
    is_multi_line: bool,
}

/// A line of text, with the part of it to be underlined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceLine {
    /// The text. Spaces stand for what was cut off at its left, so that columns stay right.
    pub text: String,
    /// The part to be underlined, in bytes of `text`.
    pub span: Range<usize>,
}

impl<'a> ShownPlace<'a> {
    /// The place to show of a finding: its source, else where it is in the input.
    #[must_use]
    pub(crate) fn of(finding: &'a Finding) -> Option<Self> {
        Self::either(finding.source.as_ref(), finding.location.as_ref())
    }

    /// The place to show where there are a source and a place in the input.
    #[must_use]
    pub(crate) fn either(source: Option<&'a Source>, location: Option<&'a Location>) -> Option<Self> {
        match (source, location) {
            (Some(source), _) => Some(Self {
                file: &source.at.file,
                line: source.at.line,
                column: Some(source.at.column).filter(|column| *column > 0),
                end_column: None,
                is_multi_line: false,
            }),
            (None, Some(location)) => {
                let is_multi_line = location.end_line > location.line;
                Some(Self {
                    file: &location.file,
                    line: location.line,
                    column: Some(location.column).filter(|column| *column > 0),
                    end_column: Some(location.end_column).filter(|_| !is_multi_line),
                    is_multi_line,
                })
            }
            (None, None) => None,
        }
    }

    /// Its line, from the text that the finding carries or from the file.
    pub(crate) fn show(
        &self,
        carried: Option<&LineText>,
        input: &str,
        sources: &mut Sources,
    ) -> Option<SourceLine> {
        if let Some(carried) = carried {
            let before = usize::try_from(carried.from).ok()?.saturating_sub(1);
            return self.cut(&carried.text, before);
        }
        let text = sources.line(self.file, input, self.line)?;
        self.cut(text, 0)
    }

    /// The part of a line around the place; `text` is the line without its first `before` bytes.
    fn cut(&self, text: &str, before: usize) -> Option<SourceLine> {
        let text = text.trim_end_matches(['\r', '\n']);
        let span = self.span(text, before)?;
        let from = if text.len() <= SHOWN_LINE_BYTES {
            0
        } else {
            text.floor_char_boundary(span.start.saturating_sub(SHOWN_LINE_BYTES / 3))
        };
        let to = text.floor_char_boundary(text.len().min(from + SHOWN_LINE_BYTES));
        let pad = before + from;
        if pad > FURTHEST_COLUMN {
            return None;
        }
        let kept = &text[from..to];
        Some(SourceLine {
            text: format!("{:pad$}{kept}", ""),
            span: (pad + span.start - from)..(pad + span.end.min(to).max(span.start) - from),
        })
    }

    /// The bytes of `text` to be underlined: up to the end that is known, else the word or the character that begins
    /// there, else the whole line without its indentation.
    fn span(&self, text: &str, before: usize) -> Option<Range<usize>> {
        let indentation = text.len() - text.trim_start().len();
        let Some(column) = self.column else {
            return Some(indentation..text.trim_end().len().max(indentation));
        };
        let start = usize::try_from(column).ok()?.checked_sub(before + 1)?;
        if start > text.len() {
            return None; // The file is another than the compiler read.
        }
        let rest = &text[text.floor_char_boundary(start)..];
        let end = if self.is_multi_line {
            text.trim_end().len()
        } else if let Some(end) = self.end_column {
            usize::try_from(end).ok()?.saturating_sub(before + 1)
        } else {
            let is_word = |character: char| character.is_alphanumeric() || character == '_';
            let word = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
            start + word.max(rest.chars().next().map_or(0, char::len_utf8))
        };
        Some(start..end.clamp(start, text.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::{ShownPlace, SourceLine};

    fn place(column: Option<u32>, end_column: Option<u32>) -> ShownPlace<'static> {
        ShownPlace {
            file: "k.cu",
            line: 1,
            column,
            end_column,
            is_multi_line: false,
        }
    }

    fn underlined(shown: &SourceLine) -> &str {
        &shown.text[shown.span.clone()]
    }

    #[test]
    fn a_word_is_underlined_where_no_end_is_known() {
        let text = "  __syncwarp(3);";
        assert_eq!(
            underlined(&place(Some(3), None).cut(text, 0).unwrap()),
            "__syncwarp"
        );
        assert_eq!(underlined(&place(Some(13), None).cut(text, 0).unwrap()), "(");
        assert_eq!(
            underlined(&place(None, None).cut(text, 0).unwrap()),
            "__syncwarp(3);"
        );
        assert_eq!(underlined(&place(Some(17), None).cut(text, 0).unwrap()), "");
        assert_eq!(place(Some(90), None).cut(text, 0), None);
    }

    #[test]
    fn an_end_is_kept_inside_the_line() {
        let text = "\tbar.sync 0;";
        assert_eq!(
            underlined(&place(Some(2), Some(13)).cut(text, 0).unwrap()),
            "bar.sync 0;"
        );
        assert_eq!(
            underlined(&place(Some(2), Some(99)).cut(text, 0).unwrap()),
            "bar.sync 0;"
        );
        assert_eq!(underlined(&place(Some(5), Some(2)).cut(text, 0).unwrap()), "");
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let text = format!("{}é shfl.sync.b32 {}", "x".repeat(5_000), "y".repeat(5_000));
        let shown = place(Some(5_004), Some(5_017)).cut(&text, 0).unwrap();
        assert_eq!(underlined(&shown), "shfl.sync.b32");
        assert!(shown.text.trim_start().len() < 300);
        let shown = place(Some(10_004), Some(10_017)).cut(&text, 5_000).unwrap();
        assert_eq!(underlined(&shown), "shfl.sync.b32");
        assert_eq!(place(Some(100_000), None).cut(&text, 99_000), None);
        let across = place(Some(5_004), Some(9_000)).cut(&text, 0).unwrap();
        assert!(across.span.end <= across.text.len());
    }
}
