//! The differences as Markdown, for the summary of a job or a comment.

use std::fmt::Write as _;

use super::shown::{LISTED_KERNELS, Releases, headline, sections, target_rows};
use crate::amounts::plural;
use crate::escape::code_span;
use crate::table::shortened;

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
    for (heading, kernels) in sections(diff) {
        let _ = writeln!(
            text,
            "<details><summary>{heading}: {}</summary>\n",
            plural(kernels.len() as u64, "kernel")
        );
        for (kernel, told) in kernels.iter().take(LISTED_KERNELS) {
            let _ = write!(text, "* `{}`", code_span(&shortened(kernel.name)));
            if !told.is_empty() {
                let told: Vec<String> = told.iter().map(|line| format!("`{}`", code_span(line))).collect();
                let _ = write!(text, ": {}", told.join(", "));
            }
            text.push('\n');
        }
        if let more @ 1.. = kernels.len().saturating_sub(LISTED_KERNELS) {
            let _ = writeln!(text, "* and {more} more");
        }
        text.push_str("\n</details>\n\n");
    }
    text
}
