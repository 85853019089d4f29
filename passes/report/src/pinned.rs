//! Figures of a release that are not those that were pinned, in words and for programs.

use std::fmt::Write as _;

use ptxcheck_passes::names::demangle;
use ptxcheck_passes::release::{Comparison, Figure, Moved};
use serde::Serialize;

use crate::amounts::plural;
use crate::escape::{self, code_span};

/// Most figures that are reported.
const TOLD: usize = 20;

/// Lines for standard error: figures that are better, and kernels that are not pinned. Worse figures are findings, unless the run pins
/// them.
#[must_use]
pub fn told(found: &Comparison, is_pinned: bool) -> String {
    let mut text = String::new();
    if is_pinned {
        text.push_str(&lines("worse", &found.worse));
    }
    text.push_str(&lines("better", &found.better));
    if found.unpinned > 0 {
        let _ = writeln!(text, "not pinned: {}", plural(found.unpinned as u64, "kernel"));
    }
    if !is_pinned && !found.better.is_empty() && found.worse.is_empty() {
        text.push_str("`--pin REASON` keeps what is better\n");
    }
    text
}

/// The same as a section of Markdown; empty if no figure moved.
#[must_use]
pub fn markdown(found: &Comparison) -> String {
    let text = lines("* worse", &found.worse) + &lines("* better", &found.better);
    if text.is_empty() {
        return text;
    }
    let unpinned = match found.unpinned {
        0 => String::new(),
        count => format!("\n{} not pinned.\n", plural(count as u64, "kernel")),
    };
    format!("\n### Pinned figures\n\n{text}{unpinned}")
}

/// A line for each of the first figures, with a word before it.
fn lines(word: &str, moved: &[Moved]) -> String {
    let mut text = String::new();
    for one in moved.iter().take(TOLD) {
        let _ = writeln!(text, "{word}: {}", line(one));
    }
    if let more @ 1.. = moved.len().saturating_sub(TOLD) {
        let _ = writeln!(text, "{word}: {more} more");
    }
    text
}

fn line(moved: &Moved) -> String {
    let Moved {
        kernel,
        file,
        about,
        figure,
        old,
        new,
    } = moved;
    let kernel = kernel.as_deref().map(|name| {
        let name = demangle(name).unwrap_or_else(|| name.to_owned());
        code_span(&escape::line(&name))
    });
    let kernel = kernel.unwrap_or_default();
    let about = escape::line(about);
    let file = code_span(&escape::line(file.as_deref().unwrap_or_default()));
    match figure {
        Figure::Missing if new > old => format!("`{kernel}` of `{file}` no longer loads on {about}"),
        Figure::Missing => format!("`{kernel}` of `{file}` loads on {about}"),
        Figure::Gone => format!("`{file}` no longer has `{kernel}`"),
        Figure::Registers => {
            format!("`{kernel}` of `{file}` for {about}: {old} registers before, {new} now")
        }
        Figure::Compiled => format!("on {about} the driver compiles {new} bytes of PTX, {old} before"),
        Figure::Bytes => format!("images for {about}: {old} bytes before, {new} now"),
        _ => {
            let what = figure.as_str();
            format!("`{kernel}` of `{file}` for {about}: {what} of {old} bytes before, {new} now")
        }
    }
}

/// A comparison with pinned figures, in documents.
#[derive(Debug, Serialize)]
pub(crate) struct RatchetJson<'a> {
    worse: Vec<MovedJson<'a>>,
    better: Vec<MovedJson<'a>>,
    unpinned_kernels: usize,
}

#[derive(Debug, Serialize)]
struct MovedJson<'a> {
    figure: &'static str,
    file: Option<&'a str>,
    kernel: Option<&'a str>,
    about: &'a str,
    pinned: u64,
    now: u64,
}

impl<'a> RatchetJson<'a> {
    pub(crate) fn new(found: &'a Comparison) -> Self {
        let all = |moved: &'a [Moved]| moved.iter().map(MovedJson::new).collect();
        Self {
            worse: all(&found.worse),
            better: all(&found.better),
            unpinned_kernels: found.unpinned,
        }
    }
}

impl<'a> MovedJson<'a> {
    fn new(moved: &'a Moved) -> Self {
        Self {
            figure: moved.figure.as_str(),
            file: moved.file.as_deref(),
            kernel: moved.kernel.as_deref(),
            about: &moved.about,
            pinned: moved.old,
            now: moved.new,
        }
    }
}
