//! The rules, one file each. The list is made by the build script from the files in this folder: adding a rule
//! is adding its file.

use crate::checks::Check;
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

/// A defect of public code that a rule is about, rebuilt in `corpus/defects` of the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// The name of its folder.
    pub name: &'static str,
    /// The issue, change or file that it comes from: an address on the web.
    pub source: &'static str,
    /// The defect, in one sentence.
    pub defect: &'static str,
}

/// The cases of the rule with this code.
pub fn cases(code: &str) -> impl Iterator<Item = Case> + '_ {
    include_str!("rules/cases.tsv").lines().filter_map(move |line| {
        let mut columns = line.split('\t');
        let is_its = columns.next() == Some(code);
        let (name, source, defect) = (columns.next()?, columns.next()?, columns.next()?);
        is_its.then_some(Case { name, source, defect })
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
