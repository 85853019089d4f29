//! Tables of text, and the names in them.

use std::fmt::Write as _;

use ptxcheck_passes::names::{base, demangle, qualified};

use crate::amounts::plural;
use crate::escape;
use crate::styles::BOLD;

/// Longest name of a kernel that is shown, in characters.
const SHOWN_NAME: usize = 70;

/// The name of a kernel in C++: with its parameters if there is room, and without its middle if it is too long even so, since the
/// instances of a template differ at the end.
pub(crate) fn shortened(name: &str) -> String {
    let full = demangle(name).unwrap_or_else(|| name.to_owned());
    let is_long = full.chars().nth(SHOWN_NAME).is_some();
    let full = if is_long {
        qualified(name).unwrap_or(full)
    } else {
        full
    };
    without_middle(&escape::name(&full), SHOWN_NAME)
}

/// The kernels with one base name: the one, or that name and how many there are.
pub(crate) fn family(names: &[&str]) -> String {
    match names {
        [name] => shortened(name),
        [name, ..] => format!(
            "{} ({})",
            without_middle(&escape::name(&base(name)), SHOWN_NAME),
            plural(names.len() as u64, "instance")
        ),
        [] => String::new(),
    }
}

/// A text with an ellipsis in place of its middle, if it has more characters than `longest`.
pub(crate) fn without_middle(text: &str, longest: usize) -> String {
    let count = text.chars().count();
    if count <= longest {
        return text.to_owned();
    }
    let end = longest / 2;
    let at = |place: usize| text.char_indices().nth(place).map_or(text.len(), |(at, _)| at);
    format!("{}…{}", &text[..at(longest - end - 1)], &text[at(count - end)..])
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

#[cfg(test)]
mod tests {
    use super::{shortened, without_middle};

    #[test]
    fn long_names_keep_their_beginning_and_their_end() {
        assert_eq!(without_middle("abcdefghij", 7), "abc…hij");
        assert_eq!(without_middle("abcdefghij", 6), "ab…hij");
        assert_eq!(without_middle("äöüäöü", 5), "äö…öü");
        assert_eq!(without_middle("abcdefghij", 10), "abcdefghij");
        assert_eq!(shortened("_Z5grownPi"), "grown(int*)");
        // The parameters of a long name say nothing that its template arguments do not.
        let name = format!("_Z1kI3abc64{}EvT_S_", "x".repeat(64));
        assert!(shortened(&name).starts_with("k<abc, xxx"), "{}", shortened(&name));
        assert!(shortened(&name).ends_with("x>"), "{}", shortened(&name));
    }
}
