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
    /// Nothing is known of it: too large, not whole, or the analysis did not settle.
    pub is_unknown: bool,
    /// Some collective has an operand that is not known, or is in an irreducible loop or behind one, so that nothing found
    /// does not mean that nothing is wrong.
    pub has_unknown: bool,
    /// It was too much work to say where all lanes are, or what they hold.
    pub is_limited: bool,
}

/// Something that is wrong, over all warps.
#[derive(Clone)]
pub struct LaneFinding {
    /// The defect, in the first warp that has it.
    pub issue: Issue,
    /// The warps that it is in, if not in all that get there.
    pub warps: Vec<u32>,
    /// Nothing is wrong here in the other warps that reach the place: each of them was analysed.
    pub are_others_right: bool,
    /// The number of others like it, in other kernels and after other calls, that are left out.
    pub more: usize,
    /// The round of the loop around it, from 0, in which it is wrong, where only single rounds are.
    pub round: Option<u32>,
    /// It holds in every block of more threads than this, and in none of up to so many; `None` where it holds in all.
    pub above: Option<Threshold>,
}

/// The number of threads of a block up to which nothing is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// That number.
    pub threads: u32,
    /// The code of the kernel shows that its blocks have more.
    pub is_exceeded: bool,
}

impl Threshold {
    /// Up to so many threads; `None` if blocks of a kernel with these tests ([`crate::block_size::tests`]) have more in any case: none
    /// without threads is launched, nor one of a single thread where the code reads the number of a thread.
    pub(crate) fn of(threads: u32, tests: &[u32]) -> Option<Self> {
        let is_exceeded = tests.iter().any(|test| *test >= threads);
        let is_certain = threads == 0 || threads == 1 && is_exceeded;
        (!is_certain).then_some(Self { threads, is_exceeded })
    }
}

impl Root {
    /// A root of which nothing is known.
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
    /// True if it is so on each execution.
    pub(super) fn is_definite(&self) -> bool {
        self.issue.certainty == Certainty::Definite
    }

    /// The node that it is about, and what is wrong there.
    pub(super) const fn defect(&self) -> (u32, Problem) {
        (self.issue.node, self.issue.problem)
    }
}

impl Meet for Vec<LaneFinding> {
    fn meet(&mut self, other: &Self) -> bool {
        self.retain_mut(|found| found.meet(other));
        !self.is_empty()
    }
}

impl LaneFinding {
    /// Leaves what holds in another launch, too, of which these are the findings about the same; false if that is nothing.
    fn meet(&mut self, others: &[Self]) -> bool {
        let found = self;
        let issue = &mut found.issue;
        issue.lanes &= others.iter().fold(0, |all, other| all | other.issue.lanes);
        issue.here |= others.iter().fold(0, |all, other| all | other.issue.here);
        let is_shared = |mask: &Lanes| others.iter().all(|other| other.issue.mask == Some(*mask));
        issue.mask = issue.mask.filter(is_shared);
        issue.split = common(issue.split.take(), others.iter().map(|other| &other.issue.split));
        issue.other = common(issue.other.take(), others.iter().map(|other| &other.issue.other));
        // No warps are all of them.
        let mut warps = others
            .iter()
            .map(|other| &other.warps)
            .filter(|warps| !warps.is_empty());
        found.are_others_right &= others.iter().all(|other| other.are_others_right);
        let is_in_all = match warps.next() {
            None => true,
            Some(warps) if found.warps.is_empty() => {
                found.warps.clone_from(warps);
                true
            }
            Some(warps) => {
                found.warps.retain(|warp| warps.contains(warp));
                !found.warps.is_empty()
            }
        };
        issue.lanes != 0 && is_in_all
    }
}

/// The place that is named in all launches, with the lanes that are in each.
fn common<'f>(
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
pub(super) fn key(found: &LaneFinding) -> (&Site, Problem, Lanes) {
    (&found.issue.site, found.issue.problem, found.issue.lanes)
}
