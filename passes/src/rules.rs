//! The rules, one file each. The list is made by the build script from the files in this folder: adding a rule
//! is adding its file.

use crate::rule::Rule;

include!(concat!(env!("OUT_DIR"), "/rules.rs"));

/// The rule with this code, name or alias; case does not matter.
#[must_use]
pub fn find(text: &str) -> Option<&'static Rule> {
    ALL.iter().copied().find(|rule| {
        [rule.code, rule.name]
            .into_iter()
            .chain(rule.aliases.iter().copied())
            .any(|known| known.eq_ignore_ascii_case(text))
    })
}

/// The Markdown documentation of the rule with this code; empty if there is no such rule.
#[must_use]
pub fn documentation(code: &str) -> &'static str {
    DOCUMENTATION
        .iter()
        .find(|(known, _)| *known == code)
        .map_or("", |(_, text)| text)
}
