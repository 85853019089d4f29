//! What a run found, for people and for programs: one renderer a file. A renderer knows findings, not rules.

pub mod audit;
pub mod concise;
pub mod escape;
pub mod full;
pub mod json;
pub mod markdown;
mod places;
#[cfg(test)]
mod samples;
mod sources;

use ptxcheck_passes::finding::Finding;
use ptxcheck_passes::run::Outcome;

/// The findings that are shown to people: the suppressed ones are only counted.
pub fn shown(outcome: &Outcome) -> impl Iterator<Item = &Finding> {
    outcome
        .findings
        .iter()
        .filter(|finding| finding.suppressed.is_none())
}

/// The name of the input that a finding is about.
fn input_name<'a>(outcome: &'a Outcome, finding: &Finding) -> &'a str {
    outcome
        .inputs
        .get(finding.input)
        .map_or("", |input| input.name.as_str())
}
