//! The differences as text for a terminal.

use std::fmt::Write as _;

use super::shown::{LISTED_KERNELS, Releases, headline, sections, target_rows};
use crate::amounts::{plural, size};
use crate::styles::BOLD;
use crate::table::table;

/// The differences as text for a terminal.
#[must_use]
pub fn render(releases: &Releases<'_>) -> String {
    let diff = releases.diff;
    let mut text = format!("{BOLD}{}{BOLD:#}\n", headline(diff));
    for contents in [diff.old, diff.new]
        .into_iter()
        .filter(|contents| contents.unread > 0)
    {
        let images = plural(contents.unread as u64, "image");
        let _ = writeln!(
            text,
            "{images} could not be read: what is missing there proves nothing"
        );
    }
    let rows = target_rows(&diff.targets);
    if rows.len() > 1 {
        text.push_str(&table(&rows, &[false, true, true, true]));
    }
    for (gpu, old, new) in diff.jit_bytes.iter().filter(|(_, old, new)| old != new) {
        let _ = writeln!(
            text,
            "on {gpu} the driver compiles {} of PTX, {} before",
            size(*new),
            size(*old)
        );
    }
    for section in sections(diff) {
        let _ = writeln!(
            text,
            "{BOLD}{}{BOLD:#}: {}",
            section.heading,
            plural(section.count as u64, "kernel")
        );
        for told in section.kernels.iter().take(LISTED_KERNELS) {
            let _ = writeln!(text, "  {}", told.name);
            for line in &told.lines {
                let _ = writeln!(text, "    {line}");
            }
        }
        let left_out = section.left_out();
        if left_out > 0 {
            let _ = writeln!(text, "  and {left_out} more (`--format json` lists all)");
        }
    }
    text
}
