//! The causes of findings, as renderers see them: one result, annotation or section each, with one main place followed by the others.

use ptxcheck_passes::Outcome;
use ptxcheck_passes::finding::{Certainty, Finding};
use ptxcheck_passes::group::Group;
use ptxcheck_passes::rule::Level;

/// One cause.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cause<'a> {
    /// The group that it is in the outcome.
    pub(crate) group: &'a Group,
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

    /// Those that count, in the order of the run.
    pub(crate) fn shown(outcome: &'a Outcome) -> impl Iterator<Item = Self> {
        Self::all(outcome).filter(|cause| cause.group.suppressed.is_none())
    }

    /// Those that count, errors first, definite ones before potential ones, else in the order of the run.
    pub(crate) fn worst_first(outcome: &'a Outcome) -> Vec<Self> {
        let mut causes: Vec<Self> = Self::shown(outcome).collect();
        causes.sort_by_key(Self::severity);
        causes
    }

    /// The key that sorts the most severe first, and causes that do not count last.
    pub(crate) fn severity(&self) -> (bool, std::cmp::Reverse<Level>, bool) {
        let is_potential = self.group.certainty != Certainty::Definite;
        (
            self.group.suppressed.is_some(),
            std::cmp::Reverse(self.group.level),
            is_potential,
        )
    }

    /// Its findings, that at its place first.
    pub(crate) fn findings(&self) -> impl Iterator<Item = &'a Finding> {
        self.group.of(self.findings)
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
                    cause.group.level,
                    cause.first.source.as_ref().map(|source| source.at.line),
                    cause.group.findings.len(),
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
