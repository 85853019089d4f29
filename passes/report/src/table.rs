//! Tables of text, and the names in them.

use std::fmt::Write as _;

use ptxcheck_passes::names::demangle;

use crate::escape;
use crate::styles::BOLD;

/// Longest name of a kernel that is shown, in characters.
const SHOWN_NAME: usize = 70;

/// The name of a kernel in C++, cut where it is long.
pub(crate) fn shortened(name: &str) -> String {
    let name = demangle(name).unwrap_or_else(|| name.to_owned());
    let name = escape::name(&name).into_owned();
    match name.char_indices().nth(SHOWN_NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

/// Columns under a bold head, aligned to the left or, where `right` says so, to the right.
pub(crate) fn table(rows: &[impl AsRef<[String]>], right: &[bool]) -> String {
    let count = rows.first().map_or(0, |row| row.as_ref().len());
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row.as_ref()[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        let mut line = String::from(" ");
        for (column, cell) in row.as_ref().iter().enumerate() {
            let width = widths[column];
            let _ = match right.get(column) {
                Some(true) => write!(line, " {cell:>width$} "),
                _ => write!(line, " {cell:<width$} "),
            };
        }
        let line = line.trim_end();
        let _ = if number == 0 {
            writeln!(text, "{BOLD}{line}{BOLD:#}")
        } else {
            writeln!(text, "{line}")
        };
    }
    text
}
