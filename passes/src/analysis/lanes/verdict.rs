//! What is wrong with the collectives and barriers of one solution.
//!
//! For lanes L that pass the mask m at a collective c, and a lane j that m names:
//!
//! ```text
//! j comes along            j ∈ must(c) with the same mask, or j has ended quietly
//! j is missing, surely     j executes no collective of the same kind with mask m anywhere, nor code of which nothing
//!                          is known; wherever it leaves the way to c it certainly does something visible after;
//!                          and, if c is in a loop, j does not end while the others go on
//! j is missing, perhaps    else
//! ```
//!
//! "Surely" rests on what is known of single lanes; what is said of lanes that stay together only decides between
//! "comes along" and "perhaps".

use rustc_hash::FxHashMap;

use super::asked;
use super::flow::Flow;
use super::graph::{Graph, Kind};
use super::placement::{Departure, Exits, Placement};
use super::shuffle;
use super::value::{ALL, Base, Lanes, Vector, lanes};
use crate::analysis::call_graph::CallSite;
use crate::finding::Certainty;
use crate::ir::{Collective, FunctionId, Instruction, InstructionId, Op, Shuffle};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Problem {
    /// PTX401, PTX402: lanes that the mask names do not come.
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

/// An instruction with the calls that lead to it, innermost first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// The function.
    pub function: FunctionId,
    /// The instruction.
    pub instruction: InstructionId,
    /// The calls.
    pub callers: Vec<CallSite>,
}

/// One thing that is wrong.
#[derive(Clone, Debug)]
pub struct Issue {
    /// What.
    pub problem: Problem,
    /// How sure that is.
    pub certainty: Certainty,
    /// Where.
    pub spot: Spot,
    /// The lanes that it is wrong with.
    pub lanes: Lanes,
    /// The mask, where it is known.
    pub mask: Option<Lanes>,
    /// The collective; `None` for a barrier.
    pub kind: Option<Collective>,
    /// The lanes that may be there.
    pub here: Lanes,
    /// Where the lanes in question went another way.
    pub split: Option<(Spot, Lanes)>,
    /// The other instruction that the matter is about.
    pub other: Option<(Spot, Lanes)>,
    /// The node, within its graph.
    pub node: u32,
}

/// What was found at one collective or barrier.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reach {
    /// Some lane may get there.
    pub maybe: bool,
    /// Some lane certainly does.
    pub surely: bool,
    /// Some operand that matters is not known.
    pub is_unknown: bool,
}

/// What was found in one solution.
#[derive(Default)]
pub struct Verdict {
    /// What is wrong.
    pub issues: Vec<Issue>,
    /// Each collective and barrier node.
    pub reach: Vec<(u32, Reach)>,
    /// Lanes ask which others are there or agree: what is definite in all warps at once may not be in each.
    pub has_asked: bool,
}

/// A collective with its operands.
struct Call {
    node: u32,
    kind: Collective,
    mask: Vector,
    source: Option<Vector>,
    control: Option<Vector>,
    /// The lanes that it answers with at most, if it does.
    answer: Option<Lanes>,
}

impl Call {
    fn mask_of(&self, lane: usize) -> Option<Lanes> {
        self.mask.at(lane).map(|mask| mask as Lanes)
    }
}

/// Judges a solution. `entry`: the lanes that surely begin together; `converges`: the target lets collectives meet
/// across instructions (sm_70 and newer).
#[must_use]
pub fn judge(flow: &mut Flow<'_>, entry: Lanes, converges: bool) -> Verdict {
    let graph = flow.graph;
    let mut calls = Vec::new();
    let mut barriers = Vec::new();
    let mut unknown = 0;
    for &node in &flow.order.nodes {
        match graph.nodes[node as usize].kind {
            _ if flow.may[node as usize] == 0 => {}
            Kind::Collective => calls.push(node),
            Kind::Barrier => barriers.push(node),
            Kind::Unknown => unknown |= flow.may[node as usize],
            _ => {}
        }
    }
    let calls: Vec<Call> = calls.into_iter().filter_map(|node| call(flow, node)).collect();
    let passers = passers(flow, &calls);
    // To meet others is a sign only where it cannot be those that wait later on.
    let is_sign = |node: u32| {
        calls.iter().filter(|call| call.node == node).all(|call| {
            let here = flow.may[node as usize];
            here & !call.mask.exact == 0
                && lanes(here).all(|lane| {
                    call.mask_of(lane)
                        .is_some_and(|mask| others(flow, &passers, call, mask) == 0)
                })
        })
    };
    let signs: rustc_hash::FxHashSet<u32> = calls
        .iter()
        .map(|call| call.node)
        .filter(|&node| is_sign(node))
        .collect();
    let placement = Placement::new(flow, entry, &signs);
    let existing = flow.launch.lanes();
    let has_asked = !flow.active.is_empty() || calls.iter().any(|call| call.answer.is_some());
    let parts_at_barrier = barriers
        .iter()
        .any(|&node| existing & !flow.may[node as usize] != 0);
    let mut judge = Judge {
        flow,
        placement,
        calls: &calls,
        unknown,
        parts_at_barrier,
        passers,
        converges,
        verdict: Verdict {
            has_asked,
            ..Verdict::default()
        },
    };
    for call in &calls {
        judge.collective(call);
    }
    for &node in &barriers {
        judge.barrier(node, &barriers);
    }
    judge.verdict
}

/// Whether a node is a collective or a barrier that something can be wrong with.
#[must_use]
pub fn is_judged(graph: &Graph<'_>, node: u32) -> bool {
    let instruction = || {
        let body = graph.context(node).body;
        body.instruction(graph.instruction(node))
    };
    match graph.nodes[node as usize].kind {
        Kind::Collective => matches!(instruction().op, Op::Collective(_, true)),
        Kind::Barrier => is_full_barrier(instruction()),
        _ => false,
    }
}

/// Whether an instruction is a barrier that waits for all threads of the CTA.
#[must_use]
pub fn is_full_barrier(instruction: &Instruction) -> bool {
    matches!(instruction.op, Op::Barrier(barrier) if barrier.waits && !barrier.counted && !barrier.cluster)
}

fn call(flow: &mut Flow<'_>, node: u32) -> Option<Call> {
    let body = flow.graph.context(node).body;
    let instruction = body.instruction(flow.graph.instruction(node));
    let Op::Collective(kind, true) = instruction.op else {
        return None;
    };
    let uses = body.uses(instruction);
    let mut vector = |place: usize| {
        let value = uses.get(place).copied()?;
        let id = flow.operand(node, value);
        Some(flow.pool.get(id).clone())
    };
    let is_shuffle = matches!(kind, Collective::Shuffle(_));
    Some(Call {
        node,
        kind,
        mask: vector(0)?,
        source: vector(2).filter(|_| is_shuffle),
        control: vector(3).filter(|_| is_shuffle),
        answer: flow.answer(node),
    })
}

struct Judge<'f, 'a> {
    flow: &'f Flow<'a>,
    placement: Placement<'f, 'a>,
    calls: &'f [Call],
    /// Lanes that may run code of which nothing is known.
    unknown: Lanes,
    /// Some barrier is not for all lanes: those that come to it may wait until others have done what they do.
    parts_at_barrier: bool,
    /// The lanes that may pass a mask, or one that is not known, to a kind of collective.
    passers: FxHashMap<(Collective, Option<Lanes>), Passers>,
    converges: bool,
    verdict: Verdict,
}

/// Lanes that do something at one instruction at least, and at two.
#[derive(Clone, Copy, Default)]
struct Passers {
    once: Lanes,
    twice: Lanes,
}

fn passers(flow: &Flow<'_>, calls: &[Call]) -> FxHashMap<(Collective, Option<Lanes>), Passers> {
    let mut all: FxHashMap<(Collective, Option<Lanes>), Passers> = FxHashMap::default();
    for call in calls {
        let mut left = flow.may[call.node as usize];
        while let Some(lane) = lanes(left).next() {
            let mask = call.mask_of(lane);
            let alike = lanes(left)
                .filter(|&other| call.mask_of(other) == mask)
                .fold(0, |set: Lanes, other| set | 1 << other);
            let known = all.entry((call.kind, mask)).or_default();
            known.twice |= known.once & alike;
            known.once |= alike;
            left &= !alike;
        }
    }
    all
}

/// The lanes that may execute another collective that meets `call` with `mask`.
fn others(
    flow: &Flow<'_>,
    passers: &FxHashMap<(Collective, Option<Lanes>), Passers>,
    call: &Call,
    mask: Lanes,
) -> Lanes {
    let here = flow.may[call.node as usize];
    let own = lanes(here)
        .filter(|&lane| call.mask_of(lane).is_none_or(|own| own == mask))
        .fold(0, |set: Lanes, lane| set | 1 << lane);
    let same = passers.get(&(call.kind, Some(mask))).copied().unwrap_or_default();
    let any = passers.get(&(call.kind, None)).copied().unwrap_or_default();
    let twice = same.twice | any.twice | same.once & any.once;
    twice | (same.once | any.once) & !own
}

/// What is known of where the lanes of a mask are.
struct Absent {
    surely: Lanes,
    perhaps: Lanes,
    departures: Vec<Departure>,
}

impl Judge<'_, '_> {
    fn spot(&self, node: u32) -> Spot {
        spot(self.flow.graph, node)
    }

    fn collective(&mut self, call: &Call) {
        let here = self.flow.may[call.node as usize];
        let existing = self.flow.launch.lanes();
        let known = here & call.mask.exact;
        let mut reach = Reach {
            maybe: true,
            surely: false,
            is_unknown: known != here,
        };
        let before = self.verdict.issues.len();
        if let Base::Active(number) = call.mask.base
            && known == 0
        {
            self.stale(call, number);
        }
        let must = self.placement.must(call.node, Exits::All) & here;
        let mut groups: Vec<(Lanes, Lanes)> = Vec::new();
        for lane in lanes(known) {
            let mask = call.mask_of(lane).unwrap_or(0);
            match groups.iter_mut().find(|group| group.0 == mask) {
                Some(group) => group.1 |= 1 << lane,
                None => groups.push((mask, 1 << lane)),
            }
        }
        self.not_named(call, &groups, here, must);
        let mut missing: Vec<(Lanes, Lanes, Absent)> = Vec::new();
        // The lanes that pass a mask with lanes that do not exist.
        let beyond_callers = groups
            .iter()
            .filter(|(mask, _)| mask & !existing != 0)
            .fold(0, |all, (_, callers)| all | callers);
        let is_beyond = beyond_callers & must != 0 || beyond_callers == here;
        for &(mask, callers) in groups.iter().filter(|(mask, _)| *mask != 0) {
            let beyond = mask & !existing;
            if beyond != 0 && self.flow.launch.shape.is_some() {
                let issue = self.issue(Problem::BeyondBlock, call, beyond, Some(mask));
                self.verdict.issues.push(Issue {
                    certainty: certainty(is_beyond),
                    ..issue
                });
            }
            match self.absent(call, mask, callers) {
                Some(absent) => missing.push((mask, callers, absent)),
                None => reach.is_unknown = true,
            }
        }
        self.missing(call, &missing, here, must, known);
        if let Collective::Shuffle(mode) = call.kind
            && self.sources(call, mode, here, must, &missing)
        {
            reach.is_unknown = true;
        }
        let is_definite = |issue: &Issue| issue.certainty == Certainty::Definite;
        let answer = |node: u32| self.calls.iter().find(|call| call.node == node)?.answer;
        let may_know = || {
            let masks = lanes(known).filter_map(|lane| call.mask_of(lane));
            let named = masks.fold(0, |all, mask| all | mask);
            asked::may_know(self.flow, call.node, named, &answer)
        };
        if self.verdict.issues[before..].iter().any(is_definite) && may_know() {
            for issue in &mut self.verdict.issues[before..] {
                issue.certainty = Certainty::Potential;
            }
        }
        if self.verdict.issues.len() > before
            && let Some(departures) = self.placement.departures(call.node)
        {
            let leaving = departures.iter().fold(0, |all, departure| all | departure.lanes);
            reach.surely = here & existing & !leaving != 0;
        }
        self.verdict.reach.push((call.node, reach));
    }

    fn issue(&self, problem: Problem, call: &Call, lanes: Lanes, mask: Option<Lanes>) -> Issue {
        Issue {
            problem,
            certainty: Certainty::Potential,
            spot: self.spot(call.node),
            lanes,
            mask,
            kind: Some(call.kind),
            here: self.flow.may[call.node as usize],
            split: None,
            other: None,
            node: call.node,
        }
    }

    fn not_named(&mut self, call: &Call, groups: &[(Lanes, Lanes)], here: Lanes, must: Lanes) {
        let (mut outside, mut zero) = (0, 0);
        for &(mask, callers) in groups {
            if mask == 0 {
                zero |= callers;
            } else {
                outside |= callers & !mask;
            }
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
            let issue = self.issue(problem, call, shown, mask);
            self.verdict.issues.push(Issue {
                certainty: certainty(is_definite),
                ..issue
            });
        }
    }

    /// Which lanes that `mask` names do not come to `call`, where `callers` pass it; `None` if the budget is spent.
    fn absent(&mut self, call: &Call, mask: Lanes, callers: Lanes) -> Option<Absent> {
        let here = self.flow.may[call.node as usize];
        let named = mask & self.flow.launch.lanes();
        let other_mask = here & call.mask.exact & !callers;
        let along = self.placement.must(call.node, Exits::Loud) & here & callers;
        let mut absent = Absent {
            surely: 0,
            perhaps: 0,
            departures: Vec::new(),
        };
        let open = named & !along;
        if open == 0 {
            return Some(absent);
        }
        let departures = self.placement.departures(call.node)?;
        let (mut leaving, mut loud, mut not_noisy) = (0, 0, 0);
        for departure in departures.iter() {
            let target = self.flow.graph.targets[departure.edge as usize];
            leaving |= departure.lanes;
            loud |= departure.lanes & !self.placement.quiet(target);
            not_noisy |= departure.lanes & !self.placement.noisy(target);
            if departure.lanes & open != 0 {
                absent.departures.push(*departure);
            }
        }
        // Ended without a sign, whichever way they left: a collective waits for no lane that has ended.
        let gone = open & !loud & (!here | callers) & !other_mask;
        let mut gone = gone & (leaving | !here);
        let headers: Vec<u32> = self
            .flow
            .order
            .loops_of(call.node)
            .map(|of| self.flow.order.loops[of as usize].header)
            .collect();
        if !headers.is_empty() {
            // Who leaves a loop around the collective later on, and is heard of then, is missing in the next round.
            let rounds = headers.iter().fold(u32::MAX, |all, &header| {
                all & self.placement.must(header, Exits::Loud)
            });
            gone &= rounds | !self.placement.loud_loop_exits(call.node);
        }
        let open = open & !gone;
        let never_here = open & (!here | other_mask);
        let mut surely = never_here & !not_noisy & !self.elsewhere(call, mask) & !self.unknown;
        if !headers.is_empty() {
            let left = self.placement.quiet_loop_exits(call.node);
            if surely & left != 0 {
                let together = headers.into_iter().fold(u32::MAX, |all, header| {
                    all & self.placement.must(header, Exits::All)
                });
                if here & !together != 0 {
                    surely &= !left;
                } else {
                    surely &= !left | together;
                }
            }
        }
        if self.parts_at_barrier {
            surely = 0;
        }
        absent.surely = surely;
        absent.perhaps = open & !surely;
        Some(absent)
    }

    /// The lanes that may execute another collective that meets `call` with `mask`.
    fn elsewhere(&self, call: &Call, mask: Lanes) -> Lanes {
        if !self.converges {
            return 0;
        }
        others(self.flow, &self.passers, call, mask)
    }

    /// The other collectives that may meet `call` with `mask`, and the lanes that may execute them so.
    fn matching<'s>(&'s self, call: &'s Call, mask: Lanes) -> impl Iterator<Item = (&'s Call, Lanes)> {
        self.calls
            .iter()
            .filter(move |other| other.node != call.node && other.kind == call.kind)
            .map(move |other| {
                let here = self.flow.may[other.node as usize];
                let differs = lanes(here & other.mask.exact)
                    .filter(|&lane| other.mask_of(lane) != Some(mask))
                    .fold(0, |set: Lanes, lane| set | 1 << lane);
                (other, here & !differs)
            })
            .filter(|(_, lanes)| *lanes != 0)
    }

    fn missing(
        &mut self,
        call: &Call,
        missing: &[(Lanes, Lanes, Absent)],
        here: Lanes,
        must: Lanes,
        known: Lanes,
    ) {
        let covered = missing
            .iter()
            .filter(|(_, _, absent)| absent.surely != 0)
            .fold(0, |all, (_, callers, _)| all | callers);
        let is_definite = covered & must != 0 || covered == here && known == here;
        for (mask, callers, absent) in missing {
            let sure = is_definite && absent.surely != 0 && (callers & must != 0 || covered == here);
            let set = if sure {
                absent.surely
            } else {
                absent.surely | absent.perhaps
            };
            if set == 0 {
                continue;
            }
            let different = set & here & call.mask.exact & !callers;
            let (mut problem, mut other) = (Problem::Missing, None);
            if different == set {
                problem = Problem::DifferentMasks;
            } else if sure
                && !self.converges
                && let Some((found, found_lanes)) = self.best_match(call, *mask, set)
            {
                problem = Problem::Unconverged;
                other = Some((self.spot(found), found_lanes));
            } else if sure && let Some((found, found_lanes)) = self.sibling(call, *mask, set) {
                problem = Problem::DifferentMasks;
                other = Some((self.spot(found), found_lanes));
            }
            let split = absent
                .departures
                .iter()
                .filter(|departure| departure.lanes & set != 0)
                .max_by_key(|departure| {
                    (
                        (departure.lanes & set).count_ones(),
                        std::cmp::Reverse(departure.edge),
                    )
                })
                .and_then(|departure| Some((self.branch(departure.source)?, departure.lanes & set)));
            let issue = self.issue(problem, call, set, Some(*mask));
            self.verdict.issues.push(Issue {
                certainty: certainty(sure),
                split,
                other,
                ..issue
            });
        }
    }

    /// The branch that a node ends with.
    fn branch(&self, node: u32) -> Option<Spot> {
        let spot = &self.flow.graph.nodes[node as usize];
        let context = self.flow.graph.context(node);
        // A guard on a collective, a barrier or a call stands on that instruction itself.
        let last = if spot.instructions.is_empty() || !self.ends_with_test(node) {
            spot.instructions.end
        } else {
            spot.instructions.end - 1
        };
        ((last as usize) < context.body.instructions.len()).then(|| Spot {
            function: context.function,
            instruction: InstructionId::new(last as usize),
            callers: self.flow.graph.callers(spot.context),
        })
    }

    fn ends_with_test(&self, node: u32) -> bool {
        let spot = &self.flow.graph.nodes[node as usize];
        let body = self.flow.graph.context(node).body;
        spot.instructions
            .end
            .checked_sub(1)
            .is_some_and(|last| body.instructions[last as usize].op.is_terminator())
    }

    /// The instruction that most of `set` execute instead, where that would match.
    fn best_match(&self, call: &Call, mask: Lanes, set: Lanes) -> Option<(u32, Lanes)> {
        self.matching(call, mask)
            .map(|(other, lanes)| (other.node, lanes & set))
            .filter(|(_, lanes)| *lanes != 0)
            .max_by_key(|(node, lanes)| (lanes.count_ones(), std::cmp::Reverse(*node)))
    }

    /// A collective of the same kind on the other side of a branch, where all of `set` pass another mask.
    fn sibling(&mut self, call: &Call, mask: Lanes, set: Lanes) -> Option<(u32, Lanes)> {
        let candidates: Vec<u32> = self
            .calls
            .iter()
            .filter(|other| other.node != call.node && other.kind == call.kind)
            .filter(|other| set & !(self.flow.may[other.node as usize] & other.mask.exact) == 0)
            .filter(|other| {
                lanes(set).all(|lane| {
                    other
                        .mask_of(lane)
                        .is_some_and(|other| other != mask && other != 0)
                })
            })
            .map(|other| other.node)
            .collect();
        let found = candidates.into_iter().find(|&other| {
            !self.placement.leads_to(call.node, other) && !self.placement.leads_to(other, call.node)
        })?;
        Some((found, set))
    }

    /// Looks at the lanes that a shuffle reads. True if some of them are not known.
    fn sources(
        &mut self,
        call: &Call,
        mode: Shuffle,
        here: Lanes,
        must: Lanes,
        missing: &[(Lanes, Lanes, Absent)],
    ) -> bool {
        let (Some(from), Some(control)) = (&call.source, &call.control) else {
            return true;
        };
        let existing = self.flow.launch.lanes();
        let (mut reads, mut absent, mut perhaps, mut unknown) = (0, 0, 0, 0);
        let mut sources: Lanes = 0;
        let mut maybe_sources: Lanes = 0;
        for lane in lanes(here) {
            let (Some(mask), Some(b), Some(c)) = (call.mask_of(lane), from.at(lane), control.at(lane)) else {
                unknown |= 1 << lane;
                continue;
            };
            if mask == 0 {
                continue;
            }
            let source = shuffle::source(mode, lane, b, c);
            if source == lane {
                continue;
            }
            let bit: Lanes = 1 << source;
            reads |= 1 << lane;
            let (missing, sibling) = missing
                .iter()
                .find(|group| group.0 == mask)
                // The budget is spent: they may all be missing.
                .map_or((ALL, 0), |group| {
                    (group.2.surely | group.2.perhaps, self.elsewhere(call, mask))
                });
            if mask & bit == 0
                || existing & bit == 0
                || here & bit == 0 && sibling & bit == 0 && missing & bit == 0 && self.unknown & bit == 0
            {
                absent |= 1 << lane;
                sources |= bit;
            } else if must & bit == 0 && missing & bit == 0 {
                perhaps |= 1 << lane;
                maybe_sources |= bit;
            }
        }
        let is_one_source = mode == Shuffle::Index && from.is_splat(here) && control.is_splat(here);
        let is_definite =
            absent != 0 && unknown == 0 && (absent == here || is_one_source && absent & must != 0);
        let set = if is_definite {
            sources
        } else {
            sources | maybe_sources
        };
        if absent | perhaps != 0 {
            let readers = if is_definite { absent } else { absent | perhaps };
            let mut masks = lanes(readers).filter_map(|lane| call.mask_of(lane));
            let first = masks.next();
            let mask = first.filter(|_| masks.all(|other| Some(other) == first));
            let mut issue = self.issue(Problem::AbsentSource, call, set, mask);
            issue.here = readers;
            issue.certainty = certainty(is_definite);
            self.verdict.issues.push(issue);
        }
        let _ = reads;
        unknown != 0
    }

    fn stale(&mut self, call: &Call, number: u32) {
        let Some(&from) = self.flow.active.get(&number) else {
            return;
        };
        if !self.placement.stay_together(from, call.node) {
            let issue = self.issue(Problem::Stale, call, self.flow.may[call.node as usize], None);
            self.verdict.issues.push(issue);
        }
    }

    fn barrier(&mut self, node: u32, barriers: &[u32]) {
        let graph = self.flow.graph;
        if !is_judged(graph, node) {
            return;
        }
        let here = self.flow.may[node as usize];
        let existing = self.flow.launch.lanes();
        let Some(departures) = self.placement.departures(node) else {
            return;
        };
        let along = self.placement.must(node, Exits::Loud);
        let (mut loud, mut not_noisy, mut by_warp) = (0, 0, false);
        for departure in departures.iter() {
            let target = graph.targets[departure.edge as usize];
            let heard = departure.lanes & !self.placement.quiet(target);
            loud |= heard;
            not_noisy |= departure.lanes & !self.placement.noisy(target);
            let test = self.flow.tests[departure.source as usize];
            by_warp |= heard != 0 && test != super::value::ValueId::NONE && self.flow.pool.get(test).warp;
        }
        let elsewhere = barriers
            .iter()
            .filter(|&&other| other != node)
            .fold(0, |all, &other| all | self.flow.may[other as usize]);
        let mut surely = existing & !here & !not_noisy & !elsewhere & !self.unknown & !along;
        if self.flow.order.loops_of(node).next().is_some() {
            surely &= !self.placement.quiet_loop_exits(node);
        }
        let perhaps = existing & !along & loud;
        // Warps in which nobody skips it speak against what holds in others.
        let leaving = departures.iter().fold(0, |all, departure| all | departure.lanes);
        self.verdict.reach.push((
            node,
            Reach {
                maybe: true,
                surely: here & !leaving != 0,
                is_unknown: false,
            },
        ));
        if surely == 0 && perhaps == 0 && !by_warp {
            return;
        }
        let set = if surely != 0 { surely } else { perhaps };
        let split = departures
            .iter()
            .filter(|departure| departure.lanes & set != 0)
            .max_by_key(|departure| {
                (
                    (departure.lanes & set).count_ones(),
                    std::cmp::Reverse(departure.edge),
                )
            })
            .and_then(|departure| Some((self.branch(departure.source)?, departure.lanes & set)));
        self.verdict.issues.push(Issue {
            problem: Problem::SkippedBarrier,
            certainty: certainty(surely != 0),
            spot: self.spot(node),
            lanes: set,
            mask: None,
            kind: None,
            here,
            split,
            other: None,
            node,
        });
    }
}

const fn certainty(is_definite: bool) -> Certainty {
    if is_definite {
        Certainty::Definite
    } else {
        Certainty::Potential
    }
}

/// The place of the instruction that a node is.
#[must_use]
pub fn spot(graph: &Graph<'_>, node: u32) -> Spot {
    Spot {
        function: graph.context(node).function,
        instruction: graph.instruction(node),
        callers: graph.callers(graph.nodes[node as usize].context),
    }
}
