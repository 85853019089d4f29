//! The findings about one kernel.

use super::explore::Meet;
use super::launch::Launch;
use super::value::Lanes;
use super::verdict::{Issue, Problem, Site};
use crate::certainty::Certainty;
use ptxcheck_ir::FunctionId;

/// The findings about a kernel, or about a function that no kernel of the module calls.
pub struct Root {
    /// The kernel or function.
    pub function: FunctionId,
    /// Its launches, as known or assumed.
    pub launch: Launch,
    /// The findings.
    pub findings: Vec<LaneFinding>,
    /// The analysis has no result: the code is too large or incomplete, or the analysis did not settle.
    pub is_unknown: bool,
    /// Some collective has an unknown operand, or is in or after an irreducible loop. So the absence of findings does not
    /// mean that nothing is wrong.
    pub has_unknown: bool,
    /// The budget was spent before the positions or the values of all lanes were known.
    pub is_limited: bool,
}

/// A defect, over all warps.
#[derive(Clone)]
pub struct LaneFinding {
    /// The defect, in the first warp that has it.
    pub issue: Issue,
    /// The warps that have the defect, if not all warps that reach the place.
    pub warps: Vec<u32>,
    /// Nothing is wrong here in the other warps that reach the place: each of them was analysed.
    pub are_others_right: bool,
    /// The number of similar findings, in other kernels and after other calls, that are left out.
    pub more: usize,
    /// The round of the enclosing loop, from 0, in which it is wrong, if the defect is limited to single rounds.
    pub round: Option<u32>,
    /// It holds in every block of more threads than this, and in no block of this size or smaller; `None` if it holds in all
    /// blocks.
    pub above: Option<Threshold>,
}

/// The largest number of threads of a block for which nothing is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// This number.
    pub threads: u32,
    /// The code of the kernel shows that its blocks are larger.
    pub is_exceeded: bool,
}

impl Threshold {
    /// The threshold for so many threads; `None` if blocks of a kernel with these tests ([`crate::block_size::tested_thread_counts`]) are
    /// larger in any case: no block has zero threads, nor a single thread if the code reads thread numbers.
    pub(crate) fn of_threads(threads: u32, tests: &[u32]) -> Option<Self> {
        let is_exceeded = tests.iter().any(|test| *test >= threads);
        let is_certain = threads == 0 || threads == 1 && is_exceeded;
        (!is_certain).then_some(Self { threads, is_exceeded })
    }
}

impl Root {
    /// The result for a root about which nothing is known.
    pub(super) const fn unknown(function: FunctionId, launch: Launch) -> Self {
        Self {
            function,
            launch,
            findings: Vec::new(),
            is_unknown: true,
            has_unknown: true,
            is_limited: false,
        }
    }
}

impl LaneFinding {
    /// True if it holds on each execution.
    pub(super) fn is_definite(&self) -> bool {
        self.issue.certainty == Certainty::Definite
    }

    /// The node and the kind of the defect.
    pub(super) const fn node_and_problem(&self) -> (u32, Problem) {
        (self.issue.node, self.issue.problem)
    }

    /// Keeps the part that also holds in another launch. `others`: the findings of that launch about the same defect. False
    /// if nothing is left.
    fn keep_part_common_to(&mut self, others: &[Self]) -> bool {
        let issue = &mut self.issue;
        issue.lanes &= others.iter().fold(0, |all, other| all | other.issue.lanes);
        issue.here |= others.iter().fold(0, |all, other| all | other.issue.here);
        let is_shared = |mask: &Lanes| others.iter().all(|other| other.issue.mask == Some(*mask));
        issue.mask = issue.mask.filter(is_shared);
        issue.split =
            common_site_and_lanes(issue.split.take(), others.iter().map(|other| &other.issue.split));
        issue.other =
            common_site_and_lanes(issue.other.take(), others.iter().map(|other| &other.issue.other));
        // No listed warps means all warps.
        let mut warps = others
            .iter()
            .map(|other| &other.warps)
            .filter(|warps| !warps.is_empty());
        self.are_others_right &= others.iter().all(|other| other.are_others_right);
        let is_in_all = match warps.next() {
            None => true,
            Some(warps) if self.warps.is_empty() => {
                self.warps.clone_from(warps);
                true
            }
            Some(warps) => {
                self.warps.retain(|warp| warps.contains(warp));
                !self.warps.is_empty()
            }
        };
        issue.lanes != 0 && is_in_all
    }
}

impl Meet for Vec<LaneFinding> {
    fn meet(&mut self, other: &Self) -> bool {
        self.retain_mut(|found| found.keep_part_common_to(other));
        !self.is_empty()
    }
}

/// The place that the findings of all launches name, with the lanes that are named in each.
fn common_site_and_lanes<'f>(
    named: Option<(Site, Lanes)>,
    mut others: impl Iterator<Item = &'f Option<(Site, Lanes)>>,
) -> Option<(Site, Lanes)> {
    let (site, lanes) = named?;
    let lanes = others.try_fold(lanes, |lanes, other| {
        let (_, which) = other.as_ref().filter(|(there, _)| *there == site)?;
        Some(lanes & which)
    })?;
    (lanes != 0).then_some((site, lanes))
}

/// The order of findings.
pub(super) fn sort_key(found: &LaneFinding) -> (&Site, Problem, Lanes) {
    (&found.issue.site, found.issue.problem, found.issue.lanes)
}
