//! The causes of findings, as renderers see them: one result, annotation or section each, with one place and the others behind it.

use ptxcheck_passes::Outcome;
use ptxcheck_passes::finding::{Certainty, Finding, Suppression};
use ptxcheck_passes::group::Group;
use ptxcheck_passes::rule::{Level, Rule};

/// One cause.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cause<'a> {
    group: &'a Group,
    findings: &'a [Finding],
    /// The finding at its place.
    pub(crate) first: &'a Finding,
}

impl<'a> Cause<'a> {
    /// The causes of a run, in its order.
    pub(crate) fn all(outcome: &'a Outcome) -> impl Iterator<Item = Self> {
        let findings = &outcome.findings;
        outcome.groups.iter().filter_map(move |group| {
            Some(Self {
                group,
                findings,
                first: findings.get(group.first())?,
            })
        })
    }

    /// Those that count, errors first, definite ones before potential ones, else in the order of the run.
    pub(crate) fn worst_first(outcome: &'a Outcome) -> Vec<Self> {
        let mut causes: Vec<Self> = Self::all(outcome)
            .filter(|cause| cause.suppressed().is_none())
            .collect();
        causes.sort_by_key(Self::severity);
        causes
    }

    /// The key that sorts the most severe first, and what does not count last.
    pub(crate) fn severity(&self) -> (bool, std::cmp::Reverse<Level>, bool) {
        let is_potential = self.certainty() != Certainty::Definite;
        (
            self.suppressed().is_some(),
            std::cmp::Reverse(self.level()),
            is_potential,
        )
    }

    /// Its findings, that at its place first.
    pub(crate) fn findings(&self) -> impl Iterator<Item = &'a Finding> + use<'a> {
        let findings = self.findings;
        self.group
            .findings
            .iter()
            .filter_map(move |&index| findings.get(index))
    }

    /// Number of its findings.
    pub(crate) fn places(&self) -> usize {
        self.group.findings.len()
    }

    /// The rule.
    pub(crate) fn rule(&self) -> &'static Rule {
        self.group.rule
    }

    /// Its level.
    pub(crate) fn level(&self) -> Level {
        self.group.level
    }

    /// Its certainty.
    pub(crate) fn certainty(&self) -> Certainty {
        self.group.certainty
    }

    /// A sentence without a full stop that holds for all its findings.
    pub(crate) fn message(&self) -> &'a str {
        &self.group.message
    }

    /// Its stable identity.
    pub(crate) fn fingerprint(&self) -> &'a str {
        &self.group.fingerprint
    }

    /// Set where it does not count.
    pub(crate) fn suppressed(&self) -> Option<&'a Suppression> {
        self.group.suppressed.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use ptxcheck_passes::rule::Level;

    use super::Cause;
    use crate::samples;

    #[test]
    fn what_is_worst_comes_first() {
        let outcome = samples::outcome_of([3, 1, 2, 1].map(|line| {
            let mut finding = samples::finding_at(line);
            if line == 3 {
                finding.level = Level::Warning;
            }
            finding
        }));
        let causes = Cause::worst_first(&outcome);
        let told: Vec<_> = causes
            .iter()
            .map(|cause| {
                (
                    cause.level(),
                    cause.first.source.as_ref().map(|source| source.at.line),
                    cause.places(),
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                (Level::Error, Some(1), 2),
                (Level::Error, Some(2), 1),
                (Level::Warning, Some(3), 1)
            ]
        );
        assert_eq!(causes[0].findings().count(), 2);
    }
}
