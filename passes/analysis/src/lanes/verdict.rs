//! Verdicts on the collectives and barriers of one solution.
//!
//! For lanes L that pass the mask m at a collective c, and a lane j that m names:
//!
//! ```text
//! j comes along            j ∈ must(c) with the same mask, or j has ended silently
//! j is missing, surely     j executes no collective of the same kind with mask m in the same phase (see `phases.rs`; where
//!                          there are none, anywhere), nor unknown code; after every exit from the paths to c
//!                          it certainly has a visible effect afterwards; and, if c is in a loop, j does not end while the
//!                          others continue
//! j is missing, perhaps    else
//! ```
//!
//! "Surely" is based on facts about single lanes; facts about lanes that stay together only decide between "comes along" and
//! "perhaps".
//!
//! `rendezvous.rs` finds the collectives at which lanes may meet, `phases.rs` and `lockstep.rs` the barriers between which they do,
//! `absent.rs` the lanes that do not arrive, `relations.rs` the lanes that an unknown mask names, `sources.rs` the lanes
//! that are read; `barrier.rs` judges barriers.

mod absent;
mod barrier;
mod lockstep;
mod phases;
mod relations;
mod rendezvous;
mod round;
mod sources;

use rustc_hash::{FxHashMap, FxHashSet};

use self::absent::{Absent, Passed};
use self::lockstep::Lockstep;
use self::phases::Phases;
use self::relations::Relation;
use self::rendezvous::{
    Passers, barrier_passers, lanes_at_other_collectives, passers_by_mask, possible_whole_warp_collectives,
    whole_warp_collectives,
};
use super::collective_call::{Call, call_at_node};
use super::flow::Flow;
use super::graph::{Graph, NodeKind, is_full_barrier};
use super::membership::MembershipQueries;
use super::peeled_rounds::Rounds;
use super::placement::{Exits, Placement};
use super::value::{Lanes, Rest, lanes_in_set};
use crate::certainty::Certainty;
use crate::limits::MAX_USE_STEPS;
pub use ptxcheck_ir::Site;
use ptxcheck_ir::{Collective, MemberMask, Op};

/// Kind of a defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Problem {
    /// PTX401, PTX402: lanes that the mask names do not arrive.
    Missing,
    /// PTX403: lanes call that the mask does not name.
    NotNamed,
    /// PTX404: lanes are read that do not take part.
    AbsentSource,
    /// PTX406: lanes that should meet pass different masks.
    DifferentMasks,
    /// PTX407: lanes pass the mask 0.
    ZeroMask,
    /// PTX409: lanes execute another instruction, which does not match before sm_70.
    Unconverged,
    /// PTX410: the mask is an old `activemask`.
    Stale,
    /// PTX411: lanes skip a barrier of the CTA.
    SkippedBarrier,
    /// PTX413: the mask names lanes that do not exist.
    BeyondBlock,
}

/// One defect of a collective or barrier.
#[derive(Clone, Debug)]
pub struct Issue {
    /// Kind of the defect.
    pub problem: Problem,
    /// Certainty of the defect.
    pub certainty: Certainty,
    /// Instruction that is wrong, with the calls that lead to it.
    pub site: Site,
    /// The lanes concerned.
    pub lanes: Lanes,
    /// The mask, where it is known.
    pub mask: Option<Lanes>,
    /// The collective; `None` for a barrier.
    pub kind: Option<Collective>,
    /// The lanes that may be there.
    pub here: Lanes,
    /// Branch at which the lanes in question went another way.
    pub split: Option<(Site, Lanes)>,
    /// The other instruction that is involved.
    pub other: Option<(Site, Lanes)>,
    /// The node, within its graph.
    pub(crate) node: u32,
}

impl Issue {
    /// An issue with no further details.
    #[must_use]
    pub const fn new(problem: Problem, certainty: Certainty, site: Site, lanes: Lanes) -> Self {
        Self {
            problem,
            certainty,
            site,
            lanes,
            mask: None,
            kind: None,
            here: lanes,
            split: None,
            other: None,
            node: 0,
        }
    }
}

/// Facts about one collective or barrier.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reach {
    /// Some lane may get there.
    pub maybe: bool,
    /// Some lane certainly does.
    pub surely: bool,
    /// Some operand that matters is not known.
    pub is_unknown: bool,
    /// The mask would be known if the index of the warp were.
    pub by_warp: bool,
    /// Lanes may read others that their masks, which are otherwise unknown, certainly do not name.
    pub reads_beyond: bool,
}

/// Verdicts of one solution.
#[derive(Default)]
pub(super) struct Verdict {
    /// Defects, in the order of the graph.
    pub issues: Vec<Issue>,
    /// Each collective and barrier node.
    pub reach: Vec<(u32, Reach)>,
    /// Lanes query which others are there or agree: a finding that is definite for all warps at once may not be definite in
    /// each warp.
    pub has_asked: bool,
    /// The budget was spent before the positions of all lanes were known.
    pub is_limited: bool,
}

/// Judges a solution. `entry`: the lanes that surely begin together; `converges`: the target lets collectives meet across
/// instructions (sm_70 and newer); `least`: findings that are less certain may be left out.
#[must_use]
pub(super) fn judge(flow: &mut Flow<'_>, entry: Lanes, converges: bool, least: Certainty) -> Verdict {
    let graph = flow.graph;
    let mut calls = Vec::new();
    let mut barriers = Vec::new();
    let mut unknown = 0;
    for &node in &flow.order.nodes {
        match graph.nodes[node as usize].kind {
            _ if flow.may[node as usize] == 0 => {}
            NodeKind::Collective => calls.push(node),
            NodeKind::Barrier => barriers.push(node),
            NodeKind::Unknown => unknown |= flow.may[node as usize],
            _ => {}
        }
    }
    let calls: Vec<Call> = calls
        .into_iter()
        .filter_map(|node| call_at_node(flow, node))
        .collect();
    let passers = passers_by_mask(flow, &calls);
    // Meeting others is a visible effect only if they cannot be the lanes that wait later on.
    let is_sign = |call: &&Call| {
        let here = flow.may[call.node as usize];
        here & !call.mask.exact == 0
            && lanes_in_set(here).all(|lane| {
                call.mask_of_lane(lane)
                    .is_some_and(|mask| lanes_at_other_collectives(flow, &passers, call, mask) == 0)
            })
    };
    let signs: FxHashSet<u32> = calls.iter().filter(is_sign).map(|call| call.node).collect();
    let placement = Placement::new(flow, entry, &signs);
    let existing = flow.launch.analysed_lanes();
    let has_asked = !flow.active.is_empty() || calls.iter().any(|call| call.answer.is_some());
    let parts_at_barrier = barriers
        .iter()
        .any(|&node| existing & !flow.may[node as usize] != 0);
    let mut judge = Judge {
        flow,
        placement,
        membership: None,
        waiting: barrier_passers(flow, &barriers),
        calls: &calls,
        unknown,
        parts_at_barrier,
        has_barriers: !barriers.is_empty(),
        phases: Phases::new(
            flow,
            &barriers,
            &whole_warp_collectives(flow, &calls),
            &possible_whole_warp_collectives(flow, &calls),
            unknown,
        )
        .filter(|_| converges),
        in_step: None,
        visible: None,
        signs,
        passers,
        converges,
        least,
        use_steps: MAX_USE_STEPS,
        verdict: Verdict {
            has_asked,
            ..Verdict::default()
        },
    };
    for (number, call) in calls.iter().enumerate() {
        judge.judge_collective(number, call);
    }
    for &node in &barriers {
        judge.judge_barrier(node);
    }
    judge.verdict.is_limited = judge.placement.is_budget_spent();
    if let Some(rounds) = &graph.rounds {
        judge.judge_over_rounds(rounds);
    }
    judge.verdict
}

/// True if a node is a collective or a barrier that is judged.
#[must_use]
pub(super) fn is_judged(graph: &Graph<'_>, node: u32) -> bool {
    let instruction = || {
        let body = graph.context_of_node(node).body;
        body.instruction(graph.instruction_of_node(node))
    };
    match graph.nodes[node as usize].kind {
        NodeKind::Collective => matches!(instruction().op, Op::Collective(_, MemberMask::Operand)),
        NodeKind::Barrier => is_full_barrier(instruction()),
        _ => false,
    }
}

struct Judge<'f, 'a> {
    flow: &'f Flow<'a>,
    placement: Placement<'f, 'a>,
    calls: &'f [Call],
    /// Membership queries, computed on first use.
    membership: Option<MembershipQueries<'f, 'a>>,
    /// The lanes that may reach barriers.
    waiting: Passers,
    /// Lanes that may run unknown code.
    unknown: Lanes,
    /// Some barrier is not for all lanes: the lanes that reach it may wait for effects of others.
    parts_at_barrier: bool,
    /// There are barriers.
    has_barriers: bool,
    /// The barriers between which lanes are, where that is known.
    phases: Option<Phases>,
    /// The phases of lanes in step, computed on first use.
    in_step: Option<Option<Lockstep>>,
    /// By node: it certainly has a visible effect. Computed with `in_step`.
    visible: Option<Vec<bool>>,
    /// The collectives that certainly count as a visible effect.
    signs: FxHashSet<u32>,
    /// By kind of collective and mask, or an unknown mask: the lanes that may pass it.
    passers: FxHashMap<(Collective, Option<Lanes>), Passers>,
    converges: bool,
    /// Findings of a lower certainty may be left out.
    least: Certainty,
    /// Steps left for the search of uses of shuffled values.
    use_steps: usize,
    verdict: Verdict,
}

impl Judge<'_, '_> {
    /// True if no finding of the requested certainty is possible if at most these lanes are missing.
    fn is_no_finding_possible(&self, missing: Lanes) -> bool {
        self.least == Certainty::Definite && missing & !self.unknown == 0
    }

    fn site_of_node(&self, node: u32) -> Site {
        site_of_node(self.flow.graph, node)
    }

    /// Judges the collective with this index.
    fn judge_collective(&mut self, number: usize, call: &Call) {
        let here = self.flow.may[call.node as usize];
        let existing = self.flow.launch.analysed_lanes();
        let known = here & call.mask.exact;
        let mut reach = Reach {
            maybe: true,
            surely: false,
            is_unknown: known != here,
            by_warp: known != here && call.mask.warp,
            reads_beyond: false,
        };
        let before = self.verdict.issues.len();
        if let Rest::Active(number) = call.mask.rest
            && known == 0
        {
            self.judge_stale_mask(call, number);
        }
        let must = self.placement.lanes_that_must_reach(call.node, Exits::All) & here;
        let mut groups: Vec<(Lanes, Lanes)> = Vec::new();
        for lane in lanes_in_set(known) {
            let mask = call.mask_of_lane(lane).unwrap_or(0);
            match groups.iter_mut().find(|group| group.0 == mask) {
                Some(group) => group.1 |= 1 << lane,
                None => groups.push((mask, 1 << lane)),
            }
        }
        let relation = self.mask_relation(call, here & !known);
        self.judge_unnamed_callers(call, &groups, here, must, relation);
        let mut missing: Vec<(Passed, Absent)> = Vec::new();
        // The lanes that pass a mask that names lanes that do not exist.
        let beyond_callers = groups
            .iter()
            .filter(|(mask, _)| mask & !existing != 0)
            .fold(0, |all, (_, callers)| all | callers);
        let is_beyond = beyond_callers & must != 0 || beyond_callers == here;
        for &(mask, _) in groups.iter().filter(|(mask, _)| *mask != 0) {
            let beyond = mask & !existing;
            if beyond != 0 && self.flow.launch.shape.is_some() {
                let issue = self.issue_at_call(Problem::BeyondBlock, call, beyond, Some(mask));
                self.verdict.issues.push(Issue {
                    certainty: definite_if(is_beyond),
                    ..issue
                });
            }
        }
        for passed in passed_masks(call, &groups, here & !known) {
            match self.absent_lanes(call, passed) {
                Some(absent) => missing.push((passed, absent)),
                None => reach.is_unknown = true,
            }
        }
        self.report_missing_lanes(number, &missing, here, must);
        if relation.may_name_others && missing.is_empty() {
            self.judge_absent_named_lanes(number, call, here);
        }
        if let Collective::Shuffle(mode) = call.kind {
            self.judge_sources(call, mode, here, must, &missing, &mut reach);
        }
        let is_definite = |issue: &Issue| issue.certainty == Certainty::Definite;
        if self.verdict.issues[before..].iter().any(is_definite) {
            let masks = lanes_in_set(known).filter_map(|lane| call.mask_of_lane(lane));
            let named = masks.fold(0, |all, mask| all | mask);
            let (flow, calls) = (self.flow, self.calls);
            let asked = self.membership.get_or_insert_with(|| {
                let answers = calls.iter().filter_map(|call| Some((call.node, call.answer?)));
                MembershipQueries::new(flow, &answers.collect())
            });
            if asked.may_know_members(call.node, named) {
                for issue in &mut self.verdict.issues[before..] {
                    issue.certainty = Certainty::Potential;
                }
            }
        }
        if self.verdict.issues.len() > before
            && let Some(certain) = self.placement.lanes_certain_to_reach(call.node)
        {
            reach.surely = certain != 0;
        }
        self.verdict.reach.push((call.node, reach));
    }

    /// For a loop with peeled rounds: a definite finding in one of them is definite in the code if some lane reaches that
    /// round whenever one reaches any.
    fn judge_over_rounds(&mut self, rounds: &Rounds) {
        for issue in &mut self.verdict.issues {
            if issue.certainty == Certainty::Definite
                && rounds.is_in_round(issue.node)
                && !round::is_surely_reached(rounds, self.flow, &mut self.placement, issue.node)
            {
                issue.certainty = Certainty::Potential;
            }
        }
        let others = round::nodes_of_other_rounds(rounds, self.flow);
        let others = others.filter(|&node| is_judged(self.flow.graph, node));
        let reach = Reach {
            maybe: true,
            ..Reach::default()
        };
        self.verdict.reach.extend(others.map(|node| (node, reach)));
    }

    fn issue_at_call(&self, problem: Problem, call: &Call, lanes: Lanes, mask: Option<Lanes>) -> Issue {
        Issue {
            problem,
            certainty: Certainty::Potential,
            site: self.site_of_node(call.node),
            lanes,
            mask,
            kind: Some(call.kind),
            here: self.flow.may[call.node as usize],
            split: None,
            other: None,
            node: call.node,
        }
    }

    /// The relation between the mask and the lanes that pass it, if the mask is not known in any of them.
    fn mask_relation(&self, call: &Call, unknown: Lanes) -> Relation {
        if unknown == self.flow.may[call.node as usize] {
            relations::relation_at(self.flow, call.node, call.mask.name)
        } else {
            Relation::default()
        }
    }

    /// Lanes that a ballot may name, and that may have left the paths to the collective where it is passed.
    fn judge_absent_named_lanes(&mut self, number: usize, call: &Call, here: Lanes) {
        if self.least == Certainty::Definite {
            return;
        }
        let passed = Passed {
            mask: None,
            named: call.mask.lanes_named_at_most(here),
            callers: here,
        };
        if let Some(absent) = self.absent_lanes(call, passed) {
            let perhaps = Absent {
                surely: 0,
                perhaps: absent.surely | absent.perhaps,
                ..absent
            };
            self.report_missing_lanes(number, &[(passed, perhaps)], here, 0);
        }
    }

    fn judge_unnamed_callers(
        &mut self,
        call: &Call,
        groups: &[(Lanes, Lanes)],
        here: Lanes,
        must: Lanes,
        relation: Relation,
    ) {
        let (mut outside, mut zero) = (0, 0);
        for &(mask, callers) in groups {
            if mask == 0 {
                zero |= callers;
            } else {
                outside |= callers & !mask;
            }
        }
        // Code may test the lane's bit of an unknown mask before the collective, so lanes that only may arrive are not
        // reported.
        let without = call.mask.without_own_bit(here);
        outside |= if without == here || relation.names == Some(false) {
            here
        } else {
            without & must
        };
        if outside == 0 && relation.may_leave_out {
            let issue = self.issue_at_call(Problem::NotNamed, call, here, None);
            self.verdict.issues.push(issue);
        }
        for (problem, set) in [(Problem::NotNamed, outside), (Problem::ZeroMask, zero)] {
            if set == 0 {
                continue;
            }
            let sure = set & must;
            let is_definite = sure != 0 || set == here;
            let shown = if sure != 0 { sure } else { set };
            let mut masks = groups
                .iter()
                .filter(|(_, callers)| callers & shown != 0)
                .map(|group| group.0);
            let mask = masks.next().filter(|_| masks.next().is_none());
            let issue = self.issue_at_call(problem, call, shown, mask);
            self.verdict.issues.push(Issue {
                certainty: definite_if(is_definite),
                ..issue
            });
        }
    }

    fn judge_stale_mask(&mut self, call: &Call, number: u32) {
        let Some(&from) = self.flow.active.get(&number) else {
            return;
        };
        if !self.placement.do_lanes_stay_together(from, call.node) {
            let issue = self.issue_at_call(Problem::Stale, call, self.flow.may[call.node as usize], None);
            self.verdict.issues.push(issue);
        }
    }
}

/// The masks that lanes pass to a collective: the known masks, with the lanes that pass them, and the masks of the lanes
/// `partly`, which are known to name some lanes.
fn passed_masks(call: &Call, known: &[(Lanes, Lanes)], partly: Lanes) -> Vec<Passed> {
    let known = known.iter().filter(|(mask, _)| *mask != 0);
    let mut all: Vec<Passed> = known
        .map(|&(mask, callers)| Passed {
            mask: Some(mask),
            named: mask,
            callers,
        })
        .collect();
    let first = all.len();
    for lane in lanes_in_set(partly) {
        let named = call.mask.bits_of(lane).ones as Lanes;
        match all[first..].iter_mut().find(|passed| passed.named == named) {
            Some(passed) => passed.callers |= 1 << lane,
            None if named == 0 => {}
            None => all.push(Passed {
                mask: None,
                named,
                callers: 1 << lane,
            }),
        }
    }
    all
}

const fn definite_if(is_definite: bool) -> Certainty {
    if is_definite {
        Certainty::Definite
    } else {
        Certainty::Potential
    }
}

/// The site of the instruction of a node.
#[must_use]
pub(super) fn site_of_node(graph: &Graph<'_>, node: u32) -> Site {
    Site {
        function: graph.context_of_node(node).function,
        instruction: graph.instruction_of_node(node),
        callers: graph.calls_leading_to(graph.nodes[node as usize].context),
    }
}
