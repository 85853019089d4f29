//! The values of a parameter with which the same failure occurs, as runs have shown.
//!
//! A witness has one value: 100. If a failure depends on one parameter and no other input, the other values from 0 on are run as well, and
//! the finding states the common property of the failing ones: "from 1 to 127, and no multiple of 32". It is said of no value that was not
//! run.

use super::finding::{Conditional, General};
use super::replay::Replay;
use super::witness::Witness;
use crate::analysis::lanes::{Problem, Site};
use crate::assumptions::Assumed;
use crate::limits::{GENERAL_SAMPLE, MAX_GENERAL_STEPS, MAX_GENERAL_VALUE};

/// The shortest description of a set of values, given by number; `None` where it is a single one, or has no description of this
/// kind. `widths`: the numbers whose multiples may be missing.
fn shortest_description(is_wrong: &[bool], widths: &[u64]) -> Option<General> {
    let least = is_wrong.iter().position(|wrong| *wrong)? as u64;
    let most = is_wrong.iter().rposition(|wrong| *wrong)? as u64;
    let fits = |width: &u64| {
        let has =
            |value: u64| (least..=most).contains(&value) && (*width == 1 || !value.is_multiple_of(*width));
        let mut values = (0_u64..).zip(is_wrong);
        values.all(|(value, &wrong)| wrong == has(value))
    };
    let no_multiple_of = *[1].iter().chain(widths).find(|width| fits(width))?;
    (least < most).then_some(General {
        least,
        most,
        no_multiple_of,
        tried: is_wrong.len() as u64 - 1,
    })
}

/// Says of findings of a kernel which other values of the parameter that each depends on make it, where that is one and nothing else.
pub(super) fn generalise(replay: &Replay<'_>, assumed: &Assumed, found: &mut [Conditional]) {
    let mut is_done = vec![false; found.len()];
    for first in 0..found.len() {
        let witness = found[first].witness.clone();
        if is_done[first] || !depends_on_one_parameter(&found[first]) {
            continue;
        }
        let is_alike = |other: &Conditional| {
            let of = |witness: &Witness| (witness.block, witness.memory, witness.params.clone());
            depends_on_one_parameter(other) && of(&other.witness) == of(&witness)
        };
        let group: Vec<usize> = (first..found.len())
            .filter(|&other| is_alike(&found[other]))
            .collect();
        for &member in &group {
            is_done[member] = true;
        }
        let place = |member: usize| {
            let issue = &found[member].found.issue;
            (issue.site.clone(), issue.problem)
        };
        let places: Vec<(Site, Problem)> = group.iter().map(|&member| place(member)).collect();
        let Some(wrong) = wrong_places(replay, assumed, &witness, &places) else {
            continue;
        };
        let threads = witness.threads();
        let widths: Vec<u64> = (1..=9).rev().map(|power| 1 << power).collect();
        let widths: Vec<u64> = std::iter::once(threads)
            .chain(widths.into_iter().filter(|width| *width < threads))
            .collect();
        for (member, place) in group.into_iter().zip(places) {
            let is_wrong: Vec<bool> = wrong.iter().map(|places| places.contains(&place)).collect();
            found[member].general = shortest_description(&is_wrong, &widths);
        }
    }
}

/// True for a finding that depends on one parameter, and that a run determines completely.
fn depends_on_one_parameter(one: &Conditional) -> bool {
    let witness = &one.witness;
    witness.params.len() == 1 && witness.loads.is_empty() && one.found.issue.problem != Problem::AbsentSource
}

/// By value of the parameter of a witness, from 0 on: the places that go wrong, of those that are asked for and others. `None` where not
/// all could be run.
fn wrong_places(
    replay: &Replay<'_>,
    assumed: &Assumed,
    witness: &Witness,
    wanted: &[(Site, Problem)],
) -> Option<Vec<Vec<(Site, Problem)>>> {
    let threads = witness.threads();
    let most = (2 * threads).min(MAX_GENERAL_VALUE);
    replay.allow_checks(MAX_GENERAL_STEPS);
    let mut places = Vec::new();
    for value in 0..=most {
        let mut other = witness.clone();
        other.params[0].value = value;
        // The first ones show whether the budget is enough for all.
        let left = replay.checks_left();
        let is_enough =
            value != GENERAL_SAMPLE || (MAX_GENERAL_STEPS - left) * most / value <= MAX_GENERAL_STEPS;
        if left == 0 || !is_enough || !assumed.admits(&other.params) {
            return None;
        }
        places.push(replay.wrong_places(&other, wanted));
    }
    (replay.checks_left() > 0).then_some(places)
}

#[cfg(test)]
mod tests {
    use super::shortest_description;

    fn description_of(is_wrong: impl Fn(u64) -> bool) -> Option<(u64, u64, u64)> {
        let values: Vec<bool> = (0..=256).map(is_wrong).collect();
        let found = shortest_description(&values, &[128, 64, 32, 16, 8, 4, 2])?;
        assert_eq!(found.tried, 256);
        Some((found.least, found.most, found.no_multiple_of))
    }

    #[test]
    fn values_have_a_description() {
        assert_eq!(
            description_of(|value| !value.is_multiple_of(128)),
            Some((1, 255, 128))
        );
        assert_eq!(
            description_of(|value| value < 128 && !value.is_multiple_of(32)),
            Some((1, 127, 32))
        );
        assert_eq!(description_of(|value| value > 3), Some((4, 256, 1)));
        assert_eq!(description_of(|_| true), Some((0, 256, 1)));
        assert_eq!(description_of(|value| value % 2 == 1), Some((1, 255, 2)));
    }

    #[test]
    fn irregular_sets_have_no_description() {
        assert_eq!(description_of(|_| false), None);
        assert_eq!(description_of(|value| value == 100), None);
        assert_eq!(description_of(|value| value == 100 || value == 200), None);
        assert_eq!(description_of(|value| value.is_multiple_of(32)), None);
        assert_eq!(description_of(|value| value.is_power_of_two()), None);
    }
}
