//! Rule documentation for a terminal. Knows the Markdown that rule files use: headings, paragraphs, lists, fenced
//! code, code spans, emphasis and links.

use crate::styles::{BOLD, CODE};
use crate::view::View;

/// Width of running text that reads well, in characters.
const WIDTH: usize = 88;

/// `markdown` with colours, filled to a width that reads well, or to that of the view if it is narrower.
#[must_use]
pub fn render(markdown: &str, view: &View) -> String {
    let mut out = Page {
        width: view.line_width().map_or(WIDTH, |width| width.min(WIDTH)),
        ..Page::default()
    };
    let mut fenced = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            out.end_paragraph();
            fenced = !fenced;
            out.blank();
        } else if fenced {
            out.line(&format!("    {line}"));
        } else if line.trim().is_empty() {
            out.end_paragraph();
            out.blank();
        } else if let Some(heading) = heading(line) {
            out.end_paragraph();
            out.blank();
            out.line(&format!("{BOLD}{heading}{BOLD:#}"));
            out.blank();
        } else if line.starts_with('|') {
            out.end_paragraph();
            out.line(line);
        } else {
            if let Some(indent) = item(line) {
                out.end_paragraph();
                out.indent = indent;
            }
            out.paragraph.push(line.trim().to_owned());
        }
    }
    out.end_paragraph();
    let mut text = out.text.trim_matches('\n').to_owned();
    text.push('\n');
    text
}

/// The text of a heading line.
fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    (text.len() < line.len()).then(|| text.strip_prefix(' '))?
}

/// The indentation of what follows the mark of a list item.
fn item(line: &str) -> Option<usize> {
    let text = line.trim_start();
    let mark = if text.starts_with("* ") || text.starts_with("- ") {
        2
    } else {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 || !text[digits..].starts_with(". ") {
            return None;
        }
        digits + 2
    };
    Some(line.len() - text.len() + mark)
}

#[derive(Default)]
struct Page {
    /// Most characters of a line of running text.
    width: usize,
    text: String,
    paragraph: Vec<String>,
    /// Indentation of the paragraph's lines after the first.
    indent: usize,
}

impl Page {
    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// An empty line, unless there is one already.
    fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn end_paragraph(&mut self) {
        let words = self.paragraph.join(" ");
        self.paragraph.clear();
        let indent = std::mem::take(&mut self.indent);
        let mut line = String::new();
        let mut lines = Vec::new();
        for word in words.split_whitespace() {
            if !line.trim().is_empty() && line.chars().count() + 1 + word.chars().count() > self.width {
                lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            }
            if !line.trim().is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        if !line.trim().is_empty() {
            lines.push(line);
        }
        // The marks go after filling: they have no width.
        let filled = lines.join("\n");
        if !filled.is_empty() {
            self.line(&spans(&filled));
        }
    }
}

/// Styles code spans and strong text, and writes links out.
fn spans(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['`', '*', '[']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some((code, after)) = between(rest, "`", "`") {
            out.push_str(&format!("{CODE}`{code}`{CODE:#}"));
            rest = after;
        } else if let Some((strong, after)) = between(rest, "**", "**") {
            out.push_str(&format!("{BOLD}{strong}{BOLD:#}"));
            rest = after;
        } else if let Some((label, target, after)) = link(rest) {
            out.push_str(&spans(label));
            out.push_str(&format!(" ({target})"));
            rest = after;
        } else {
            out.push_str(&rest[..1]);
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    out
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<(&'a str, &'a str)> {
    text.strip_prefix(open)?
        .split_once(close)
        .filter(|(inner, _)| !inner.is_empty())
}

/// `[label](target)`.
fn link(text: &str) -> Option<(&str, &str, &str)> {
    let (label, rest) = between(text, "[", "]")?;
    let (target, rest) = between(rest, "(", ")")?;
    Some((label, target, rest))
}

#[cfg(test)]
mod tests {
    use super::render;
    use crate::view::View;

    fn plain(markdown: &str) -> String {
        anstream::adapter::strip_str(&render(markdown, &View::default())).to_string()
    }

    #[test]
    fn renders_what_rules_use() {
        let text = plain(
            "## What it does\n\nFinds `bad`\ncode, **always**. See [the ISA](https://x.y/z).\n\n* one\n  two\n* three\n\n```ptx\nbar.sync 0;\n```\n",
        );
        assert_eq!(
            text,
            "What it does\n\nFinds `bad` code, always. See the ISA (https://x.y/z).\n\n* one two\n* three\n\n    bar.sync 0;\n"
        );
    }

    #[test]
    fn fills_lines() {
        let text = plain(&format!("* {}", "word ".repeat(60)));
        assert!(text.lines().all(|line| line.chars().count() <= 88));
        assert!(text.lines().skip(1).all(|line| line.starts_with("  word")));
    }

    #[test]
    fn leaves_single_marks() {
        assert_eq!(plain("a * b ` c [d]\n"), "a * b ` c [d]\n");
        assert_eq!(plain(""), "\n");
    }
}
