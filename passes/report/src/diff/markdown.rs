//! The differences as Markdown, for the summary of a job or a comment.

use std::fmt::Write as _;

use super::shown::{LISTED_KERNELS, Releases, headline, sections, target_rows};
use crate::amounts::plural;
use crate::escape::code_span;

/// The differences as Markdown.
#[must_use]
pub fn render(releases: &Releases<'_>) -> String {
    let diff = releases.diff;
    let mut text = format!(
        "### `{}` \u{2192} `{}`\n\n{}\n\n",
        code_span(releases.old),
        code_span(releases.new),
        headline(diff)
    );
    let rows = target_rows(&diff.targets);
    if rows.len() > 1 {
        for (number, row) in rows.iter().enumerate() {
            let _ = writeln!(text, "| {} |", row.join(" | "));
            if number == 0 {
                text.push_str("| --- | ---: | ---: | ---: |\n");
            }
        }
        text.push('\n');
    }
    for section in sections(diff) {
        let _ = writeln!(
            text,
            "<details><summary>{}: {}</summary>\n",
            section.heading,
            plural(section.count as u64, "kernel")
        );
        for told in section.kernels.iter().take(LISTED_KERNELS) {
            let _ = write!(text, "* `{}`", code_span(&told.name));
            if !told.lines.is_empty() {
                let lines = told.lines.iter();
                let lines: Vec<String> = lines.map(|line| format!("`{}`", code_span(line))).collect();
                let _ = write!(text, ": {}", lines.join(", "));
            }
            text.push('\n');
        }
        let left_out = section.left_out();
        if left_out > 0 {
            let _ = writeln!(text, "* and {left_out} more");
        }
        text.push_str("\n</details>\n\n");
    }
    text
}
