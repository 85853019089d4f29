//! The overview of a page: how many findings there are of each rule, certainty, file and kernel, as bars that choose them.

use std::collections::HashMap;

use maud::{Markup, html};
use ptxcheck_passes::names::base;

use crate::causes::Cause;
use crate::escape::{line, name};

/// Bars of a facet: the longest.
const SHOWN_BARS: usize = 8;

/// The values that a finding is chosen by.
pub(super) struct Facets {
    pub(super) rule: &'static str,
    rule_name: &'static str,
    pub(super) certainty: &'static str,
    /// The file that it is shown in.
    pub(super) file: String,
    /// The kernel or function, without its template's arguments; empty where none is known.
    pub(super) kernel: String,
}

impl Facets {
    /// Those of a cause that is shown in a file.
    pub(super) fn of(cause: &Cause<'_>, file: String) -> Self {
        let first = cause.first;
        let function = first.kernel.as_deref().or(first.function.as_deref());
        Self {
            rule: cause.group.rule.code,
            rule_name: cause.group.rule.name,
            certainty: cause.group.certainty.as_str(),
            file,
            kernel: function.map_or(String::new(), |function| name(&base(function)).into_owned()),
        }
    }
}

/// The section; empty for a page with few findings.
pub(super) fn section(facets: &[Facets]) -> Markup {
    if facets.len() < 2 {
        return html! {};
    }
    let names: HashMap<&str, &str> = facets
        .iter()
        .map(|facets| (facets.rule, facets.rule_name))
        .collect();
    let rules = facets.iter().map(|facets| facets.rule);
    let certainties = facets.iter().map(|facets| facets.certainty);
    let files = facets.iter().map(|facets| facets.file.as_str());
    let kernels = facets.iter().map(|facets| facets.kernel.as_str());
    html! {
        section #overview aria-labelledby="overview-title" {
            h2 #overview-title { "Overview" }
            div.facets {
                (facet("rule", "Rules", rules, &names))
                (facet("certainty", "Certainty", certainties, &HashMap::new()))
                (facet("file", "Files", files, &HashMap::new()))
                (facet("kernel", "Kernels", kernels, &HashMap::new()))
            }
        }
    }
}

/// `names`: words that stand after values.
fn facet<'a>(
    key: &str,
    heading: &str,
    values: impl Iterator<Item = &'a str>,
    names: &HashMap<&str, &str>,
) -> Markup {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for value in values.filter(|value| !value.is_empty()) {
        *counts.entry(value).or_default() += 1;
    }
    // One bar chooses nothing.
    if counts.len() < 2 {
        return html! {};
    }
    let mut bars: Vec<(&str, usize)> = counts.into_iter().collect();
    bars.sort_by_key(|(value, count)| (std::cmp::Reverse(*count), *value));
    let most = bars.first().map_or(1, |(_, count)| *count);
    html! {
        div.facet {
            h3 { (heading) }
            @for (value, count) in bars.iter().take(SHOWN_BARS) {
                button.bar type="button" aria-pressed="false" data-facet=(key) data-value=(line(value))
                    style={ "--share:" (100 * count / most) "%" } { span { (line(value)) @if let Some(name) = names.get(value) { " " (name) } } b { (count) } }
            }
            @if let more @ 1.. = bars.len().saturating_sub(SHOWN_BARS) { p { "and " (more) " more" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::facet;

    #[test]
    fn the_longest_bars_come_first() {
        let text = facet(
            "rule",
            "Rules",
            ["a", "b", "b", "", "<i>"].into_iter(),
            &HashMap::from([("a", "name")]),
        )
        .into_string();
        assert!(text.find("data-value=\"b\"").unwrap() < text.find("data-value=\"a\"").unwrap());
        assert!(
            text.contains("--share:100%") && text.contains("--share:50%"),
            "{text}"
        );
        assert!(text.contains("a name"), "{text}");
        assert!(text.contains("&lt;i&gt;") && !text.contains("<i>"), "{text}");
    }
}
