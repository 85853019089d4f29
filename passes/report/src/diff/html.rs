//! The differences as a page for a browser.

use maud::{DOCTYPE, Markup, html};

use super::shown::{Releases, Section, headline, sections, target_rows};
use crate::PROGRAM;
use crate::amounts::{plural, size};
use crate::escape::line;
use crate::html::head;

/// Kernels of a kind of change that are listed.
const LISTED: usize = 500;

/// The document.
#[must_use]
pub fn render(releases: &Releases<'_>) -> String {
    let diff = releases.diff;
    let (old, new) = (line(releases.old), line(releases.new));
    let rows = target_rows(&diff.targets);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&format!("{old} → {new}"), &html! {}))
            body {
                header {
                    h1 { code { (old) } " → " code { (new) } }
                    p { (headline(diff)) }
                }
                main {
                    @for contents in [diff.old, diff.new].into_iter().filter(|contents| contents.unread > 0) {
                        p.cut { (plural(contents.unread as u64, "image")) " could not be read: what is missing there proves nothing" }
                    }
                    @if let [head, targets @ ..] = &rows[..] && !targets.is_empty() {
                        section aria-labelledby="targets-title" {
                            h2 #targets-title { "Bytes by target" }
                            div.scroll { table {
                                thead { tr { @for cell in head { th scope="col" { (cell) } } } }
                                tbody { @for row in targets { tr { @for cell in row { td { (line(cell)) } } } } }
                            } }
                        }
                    }
                    @for (gpu, old, new) in diff.jit_bytes.iter().filter(|(_, old, new)| old != new) {
                        p { "On " (gpu) " the driver compiles " (size(*new)) " of PTX, " (size(*old)) " before." }
                    }
                    @for section in sections(diff) { (of_section(&section)) }
                }
                footer { p { "Made by " (PROGRAM) " " (env!("CARGO_PKG_VERSION")) "." } }
            }
        }
    };
    let mut text = page.into_string();
    text.push('\n');
    text
}

fn of_section(section: &Section) -> Markup {
    let left_out: usize = section.kernels.iter().skip(LISTED).map(|told| told.count).sum();
    html! {
        details.input open {
            summary { strong { (section.heading) } ": " (plural(section.count as u64, "kernel")) }
            ul {
                @for told in section.kernels.iter().take(LISTED) {
                    li { code { (line(&told.name)) }
                        @if !told.lines.is_empty() { ul { @for words in &told.lines { li { (line(words)) } } } } }
                }
                @if left_out > 0 { li { "and " (left_out) " more" } }
            }
        }
    }
}
