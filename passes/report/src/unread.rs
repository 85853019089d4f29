//! The inputs of an audit that could not be read: reported before all others.

use std::fmt::Write as _;

use ptxcheck_passes::run::{Outcome, Status};
use serde::Serialize;

use crate::escape;
use crate::styles::BOLD;

/// An input of which nothing was read.
#[derive(Serialize)]
pub(crate) struct UnreadJson<'a> {
    input: &'a str,
    /// The first problem with it.
    message: &'a str,
}

/// The inputs of which nothing was read, in the order of the run.
pub(crate) fn json(outcome: &Outcome) -> Vec<UnreadJson<'_>> {
    let inputs = outcome.inputs.iter();
    let unread = inputs.filter(|input| input.status == Status::Failed);
    unread
        .map(|input| UnreadJson {
            input: &input.name,
            message: input.problems.first().map_or("", |problem| &problem.message),
        })
        .collect()
}

/// A line of text for each.
pub(crate) fn lines(outcome: &Outcome) -> Vec<String> {
    let line = |one: UnreadJson<'_>| {
        let (input, message) = (escape::line(one.input), escape::line(one.message));
        format!("{BOLD}{input}: {message}{BOLD:#}")
    };
    json(outcome).into_iter().map(line).collect()
}

/// A list in Markdown; empty if all were read.
pub(crate) fn markdown(outcome: &Outcome) -> String {
    let unread = json(outcome);
    if unread.is_empty() {
        return String::new();
    }
    let mut text = String::from("### Not read\n\n");
    for one in unread {
        let (input, message) = (escape::code_span(one.input), escape::code_span(one.message));
        let _ = writeln!(text, "* `{input}`: `{message}`");
    }
    text.push('\n');
    text
}
