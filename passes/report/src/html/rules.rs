//! The texts of the rules that found something.

use std::collections::BTreeMap;

use maud::{Markup, PreEscaped, html};
use ptxcheck_passes::rule::Rule;
use ptxcheck_passes::rules::documentation;
use pulldown_cmark::{Options, Parser};

use crate::causes::Cause;
use crate::escape::line;
use crate::pages::RulePages;

/// The section; empty where nothing was found. Texts are those of rules, not of inputs.
pub(super) fn section(causes: &[Cause<'_>], pages: &RulePages) -> Markup {
    let rules: BTreeMap<&str, &'static Rule> = causes
        .iter()
        .map(|cause| (cause.group.rule.code, cause.group.rule))
        .filter(|(_, rule)| !documentation(rule.code).is_empty())
        .collect();
    if rules.is_empty() {
        return html! {};
    }
    html! {
        section #rules aria-labelledby="rules-title" {
            h2 #rules-title { "Rules" }
            @for rule in rules.values() {
                details.input id={ "rule-" (rule.code) } {
                    summary { strong { (rule.code) " " (rule.name) } ": " (line(rule.summary)) }
                    div.text {
                        (text(documentation(rule.code)))
                        @if let Some(address) = pages.of(rule) { p { a href=(address) { "The page about " (rule.code) } } }
                    }
                }
            }
        }
    }
}

/// Markdown as HTML, its headings two levels lower: those of the page are above.
fn text(markdown: &str) -> Markup {
    let lowered: String = markdown
        .split_inclusive('\n')
        .map(|line| match line.strip_prefix("## ") {
            Some(heading) => format!("#### {heading}"),
            None => line.to_owned(),
        })
        .collect();
    let mut text = String::new();
    pulldown_cmark::html::push_html(&mut text, Parser::new_ext(&lowered, Options::ENABLE_TABLES));
    PreEscaped(text)
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn headings_and_code_become_markup() {
        let text = text("## Example\n\nA `mask`:\n\n```cuda\na < b;\n```\n").into_string();
        assert!(
            text.contains("<h4>Example</h4>") && text.contains("<code>mask</code>"),
            "{text}"
        );
        assert!(text.contains("a &lt; b;"), "{text}");
    }
}
