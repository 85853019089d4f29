//! How texts for people are shown: names of files, links, and the width of lines.

use ptxcheck_passes::scope::Root;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

use crate::pages::RulePages;

/// The narrowest lines that text is wrapped at.
const LEAST_WIDTH: usize = 40;

/// The settings of a text for people.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The folder that names of files are relative to, if they lie below it.
    pub root: Root,
    /// Codes of rules are links to these pages.
    pub pages: RulePages,
    /// Columns of the terminal; without it, lines are not wrapped.
    pub width: Option<usize>,
}

impl View {
    /// The width that lines are wrapped at.
    pub(crate) fn line_width(&self) -> Option<usize> {
        self.width.map(|width| width.max(LEAST_WIDTH))
    }

    /// A line, wrapped; further lines begin with `indent` blanks.
    #[must_use]
    pub fn wrap(&self, line: &str, indent: usize) -> String {
        match self.line_width() {
            Some(width) => wrap(line, width, indent),
            None => line.to_owned(),
        }
    }

    /// The lines of a text, wrapped.
    #[must_use]
    pub fn wrap_lines(&self, text: &str, indent: usize) -> String {
        let lines = text.lines().map(|line| self.wrap(line, indent) + "\n");
        lines.collect()
    }
}

/// Wraps a line between words. Styles and links take no columns.
fn wrap(line: &str, width: usize, indent: usize) -> String {
    // Where half of a line would be blank, it is better to begin further left.
    let blanks = " ".repeat(if indent > width / 2 { 4 } else { indent });
    let options = Options::new(width)
        .subsequent_indent(&blanks)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::wrap(line, options).join("\n")
}

#[cfg(test)]
mod tests {
    use super::View;

    fn narrow() -> View {
        View {
            width: Some(40),
            ..View::default()
        }
    }

    #[test]
    fn lines_are_wrapped_between_words() {
        let line = "note: \x1b[1mone\x1b[0m two three four five six seven eight nine";
        assert_eq!(
            narrow().wrap(line, 6),
            "note: \x1b[1mone\x1b[0m two three four five six seven\n      eight nine"
        );
        assert_eq!(View::default().wrap(line, 6), line);
        let word = "x".repeat(90);
        assert_eq!(narrow().wrap(&word, 0), word);
    }
}
