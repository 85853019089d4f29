//! Sentences with code in them.

use maud::{Markup, html};

/// A sentence, its parts between backquotes as code.
pub(super) fn code_spans(sentence: &str) -> Markup {
    let parts: Vec<&str> = sentence.split('`').collect();
    // An odd backquote is one of the text.
    let is_even = parts.len() % 2 == 1;
    html! {
        @for (number, part) in parts.iter().enumerate() {
            @if number % 2 == 1 && is_even { code { (part) } }
            @else if number > 0 && !is_even { "`" (part) }
            @else { (part) }
        }
    }
}
