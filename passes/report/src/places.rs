//! The place in a source or an input that a finding is shown at, and its line of text.

use std::borrow::Cow;
use std::ops::Range;

use ptxcheck_passes::finding::{Finding, Frame, LineText, Location, Related, Source};
use ptxcheck_passes::run::Outcome;
use ptxcheck_passes::sources::Sources;

use crate::{image_label, packed_image};

/// Longest piece of a line that is shown, in bytes.
const SHOWN_LINE_BYTES: usize = 240;

/// The furthest column, in bytes, whose text is shown.
const FURTHEST_COLUMN: usize = 20_000;

/// A place in a source file or in an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShownPlace<'a> {
    /// The image whose text the lines are of, where the file is no such text but holds it: `image 1`.
    pub image: Option<String>,
    /// The file, as the compiler or the user named it.
    pub file: &'a str,
    /// 1-based line.
    pub line: u32,
    /// 1-based column in bytes, where it is known.
    pub column: Option<u32>,
    /// The column after the last byte, if it is known and on the same line.
    end_column: Option<u32>,
    /// The last line and the column after the last byte there, if the place goes on after `line`.
    end: Option<(u32, u32)>,
}

/// A stretch of a file: 1-based lines, 1-based columns in UTF-16 code units, the end exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// First line.
    pub line: u32,
    /// First column.
    pub column: u32,
    /// Last line.
    pub end_line: u32,
    /// The column after the last.
    pub end_column: u32,
}

impl Region {
    /// The first character of a file.
    pub(crate) const BEGINNING: Self = Self {
        line: 1,
        column: 1,
        end_line: 1,
        end_column: 2,
    };
}

/// A line of text, with the part of it to be underlined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceLine {
    /// The text. Spaces replace the text cut off at its left, so that columns stay right.
    pub text: String,
    /// The part to be underlined, in bytes of `text`.
    pub span: Range<usize>,
}

impl<'a> ShownPlace<'a> {
    /// The place to show of a finding: its source, else where it is in the input.
    #[must_use]
    pub(crate) fn of(outcome: &Outcome, finding: &'a Finding) -> Option<Self> {
        Self::either(
            outcome,
            finding,
            finding.source.as_ref(),
            finding.location.as_ref(),
        )
    }

    /// The place to show of a place beside a finding.
    #[must_use]
    pub(crate) fn of_related(outcome: &Outcome, finding: &Finding, related: &'a Related) -> Option<Self> {
        Self::either(
            outcome,
            finding,
            related.source.as_ref(),
            related.location.as_ref(),
        )
    }

    /// The place of a frame.
    #[must_use]
    pub(crate) fn of_frame(frame: &'a Frame) -> Self {
        Self {
            image: None,
            file: &frame.file,
            line: frame.line,
            column: Some(frame.column).filter(|column| *column > 0),
            end_column: None,
            end: None,
        }
    }

    /// A place in the text of a file, which is the text of the input itself.
    pub(crate) fn in_file(location: &'a Location) -> Self {
        let is_multi_line = location.end_line > location.line;
        Self {
            image: None,
            file: &location.file,
            line: location.line,
            column: Some(location.column).filter(|column| *column > 0),
            end_column: Some(location.end_column).filter(|_| !is_multi_line),
            end: is_multi_line.then_some((location.end_line, location.end_column)),
        }
    }

    /// `k.cu:9:3`, or `k.cu:9` where no column is known; `k.o(image 1):9:3` in the text of an image. `file`: the name that the file
    /// is shown by.
    pub(crate) fn position_in(&self, file: &str) -> String {
        let text = self.text_in(file);
        match self.column {
            Some(column) => format!("{text}:{}:{column}", self.line),
            None => format!("{text}:{}", self.line),
        }
    }

    /// The text that its line is of: the file, with a name, or an image in it: `k.o(image 1)`.
    pub(crate) fn text_in<'f>(&self, file: &'f str) -> Cow<'f, str> {
        match &self.image {
            Some(image) => Cow::Owned(format!("{file}({image})")),
            None => Cow::Borrowed(file),
        }
    }

    /// The place to show where a finding, or a place beside it, has a source and a place in the input.
    #[must_use]
    pub(crate) fn either(
        outcome: &Outcome,
        finding: &Finding,
        source: Option<&'a Source>,
        location: Option<&'a Location>,
    ) -> Option<Self> {
        match (source, location) {
            (Some(source), _) => Some(Self::of_frame(&source.at)),
            (None, Some(location)) => {
                let image = packed_image(outcome, finding);
                Some(Self {
                    image: image.map(|(number, image)| image_label(number, image)),
                    ..Self::in_file(location)
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
        if self.image.is_some() {
            return None; // The file is not the text.
        }
        let text = sources.line(self.file, input, self.line)?;
        self.cut(text, 0)
    }

    /// Its range in the file. Without a known end it is one word, or one character if the line is not available. A place in the
    /// text of an image has the first character of the file, whose lines are others.
    pub(crate) fn region(&self, carried: Option<&LineText>, input: &str, sources: &mut Sources) -> Region {
        if self.image.is_some() {
            return Region::BEGINNING;
        }
        let line = self.line.max(1);
        let (text, before) = match carried {
            Some(carried) => (Some(&*carried.text), carried.from.saturating_sub(1)),
            None => (sources.line(self.file, input, line), 0),
        };
        let span = text.and_then(|text| {
            let span = self.span(text, usize::try_from(before).ok()?)?;
            let unit = |at: usize| {
                let units = text[..text.floor_char_boundary(at)].encode_utf16().count();
                before
                    .saturating_add(u32::try_from(units).unwrap_or(u32::MAX))
                    .saturating_add(1)
            };
            Some((unit(span.start), unit(span.end)))
        });
        let (column, end_column) = span.unwrap_or_else(|| {
            let column = self.column.unwrap_or(1);
            (column, self.end_column.unwrap_or_default())
        });
        let end_column = end_column.max(column.saturating_add(1));
        let (end_line, end_column) = match self.end {
            Some((end_line, end_column)) if end_line > line => (end_line, end_column.max(1)),
            _ => (line, end_column),
        };
        Region {
            line,
            column,
            end_line,
            end_column,
        }
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
        let end = if self.end.is_some() {
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
    use ptxcheck_passes::finding::LineText;
    use ptxcheck_passes::sources::Sources;

    use super::{ShownPlace, SourceLine};

    fn place(column: Option<u32>, end_column: Option<u32>) -> ShownPlace<'static> {
        ShownPlace {
            image: None,
            file: "k.cu",
            line: 1,
            column,
            end_column,
            end: None,
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
    fn columns_of_regions_are_utf_16() {
        let carried = |text: &str, from| LineText {
            text: text.to_owned(),
            from,
        };
        let mut sources = Sources::default();
        let mut region = |place: &ShownPlace<'_>, carried: Option<&LineText>| {
            let region = place.region(carried, "-", &mut sources);
            (region.line, region.column, region.end_line, region.end_column)
        };
        // Two code units and four bytes, then one and two.
        let text = carried("𝄞ö __syncwarp(3);", 1);
        assert_eq!(region(&place(Some(8), None), Some(&text)), (1, 5, 1, 15));
        let text = carried("bar.sync 0;", 101);
        assert_eq!(
            region(&place(Some(101), Some(112)), Some(&text)),
            (1, 101, 1, 112)
        );
        // No line available, a column of another file, an end before the beginning.
        assert_eq!(region(&place(None, None), None), (1, 1, 1, 2));
        assert_eq!(region(&place(Some(7), None), None), (1, 7, 1, 8));
        assert_eq!(region(&place(Some(500), Some(3)), Some(&text)), (1, 500, 1, 501));
        let across = ShownPlace {
            line: 0,
            end: Some((u32::MAX, 0)),
            ..place(Some(u32::MAX), None)
        };
        assert_eq!(region(&across, None), (1, u32::MAX, u32::MAX, 1));
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
