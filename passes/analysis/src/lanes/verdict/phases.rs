//! Phases: barriers of the CTA, and collectives of whole warps, bound in time the collectives at which lanes may meet.
//!
//! A barrier that waits for all threads of the CTA lets no thread continue before all threads that have not ended have
//! reached one (PTX ISA, `barrier`). So the lanes of a warp that have not ended pass their k-th such barrier together, at
//! any place in the code. A collective whose mask names all lanes of the warp does the same for these. Both are
//! *boundaries*, and lanes are in the same *phase* k between the k-th and the next one.
//!
//! ```text
//! segment(b, L)   the code that the lanes L may reach from the boundary b, or from the entry, without passing another one
//! pairs           (entry, entry); and with (b, d), all (b', d') with b' next after b for the calling lanes, d' next
//!                 after d for the lane in question, where b' and d' may meet: two barriers, or two collectives of the
//!                 same kind and mask, of which one may be a collective whose mask is not known. Lanes that wait at
//!                 boundaries that do not meet wait for each other for ever: that is undefined by itself
//! ```
//!
//! Lanes that call a collective c in the segment of b are there in the same phase as a lane j in the segment of d, for some
//! pair (b, d), or j has ended in an earlier phase. j is missing for sure if, for all pairs with c in the segment of b,
//!
//! * no collective that would match is in the segment of d,
//! * and j certainly has a visible effect from d on, so that it has not ended;
//!
//! and if j ends in no segment of a pair from which the callers continue to another phase, unless it certainly has a visible
//! effect before and all the boundaries to which they continue are c and collectives: those name j, which is missing there
//! already.
//!
//! Segments and pairs are over-approximations: a lane that is reported as missing can never arrive. A lane and the callers
//! are followed separately, so that in a loop whose end they all decide alike it seems that one may end while others
//! continue: nothing is certain there then. Barriers with a count of threads, those that only arrive, and unknown code could
//! let lanes continue alone: there are no phases then. `lockstep.rs` follows them together, where that is not enough.

use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

use crate::lanes::flow::Flow;
use crate::lanes::graph::{NodeKind, barriers_cut_phases, is_full_barrier};
use crate::lanes::placement::Placement;
use crate::lanes::value::Lanes;
use crate::limits::MAX_PHASE_STEPS;
use ptxcheck_ir::{Collective, Instruction};

/// A node that ends a phase.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Boundary {
    /// A barrier of the CTA.
    Barrier,
    /// A collective whose mask names all lanes of the warp.
    Collective(Collective, Lanes),
}

/// Code that lanes may reach before the next boundary.
#[derive(Default)]
pub(super) struct Segment {
    /// The collectives, in order, including those that are boundaries.
    pub(super) collectives: Vec<u32>,
    /// The next boundaries.
    pub(super) next: Vec<u32>,
    /// The lanes may end here.
    pub(super) may_end: bool,
}

/// The boundaries of one solution.
pub(super) struct Boundaries {
    of: FxHashMap<u32, Boundary>,
    /// Collectives that may meet boundaries of their kind: their masks may name all lanes, too.
    perhaps: FxHashMap<u32, Collective>,
}

impl Boundaries {
    /// The boundary that a node is.
    pub(super) fn get(&self, node: u32) -> Option<Boundary> {
        self.of.get(&node).copied()
    }

    /// True if a node is a boundary.
    pub(super) fn is_boundary(&self, node: u32) -> bool {
        self.of.contains_key(&node)
    }

    /// Pairs of a boundary of one segment and a collective of the other segment that may meet it, but is not known to be a
    /// boundary.
    pub(super) fn possible_meetings(&self, there: &Segment, here: &Segment) -> Vec<(u32, u32)> {
        if self.perhaps.is_empty() {
            return Vec::new();
        }
        let meet = |boundary: u32, other: u32| match (self.get(boundary), self.perhaps.get(&other)) {
            (Some(Boundary::Collective(kind, _)), Some(of)) => kind == *of,
            _ => false,
        };
        let mut pairs = Vec::new();
        for &next in &there.next {
            let others = here.collectives.iter().filter(|&&other| meet(next, other));
            pairs.extend(others.map(|&other| (next, other)));
        }
        for &next in &here.next {
            let others = there.collectives.iter().filter(|&&other| meet(next, other));
            pairs.extend(others.map(|&other| (other, next)));
        }
        pairs
    }
}

/// The phases of one solution.
pub(super) struct Phases {
    pub(super) boundaries: Boundaries,
    /// By the boundary after which a segment begins, [`ENTRY`] for none, and the lanes that are followed.
    segments: FxHashMap<(u32, Lanes), Rc<Segment>>,
    steps_left: usize,
}

/// The start of the first phase.
pub(super) const ENTRY: u32 = u32::MAX;

/// The phase of a lane that has ended, after a visible effect, while others waited for it.
pub(super) const ENDED: u32 = u32::MAX - 1;

impl Phases {
    /// Phases of a solution with these barriers, and collectives of whole warps with their masks, if they cut it into phases.
    /// `perhaps`: other collectives whose masks may name all lanes. `unknown`: lanes that may run unknown code.
    pub(super) fn new(
        flow: &Flow<'_>,
        barriers: &[u32],
        whole: &[(u32, Collective, Lanes)],
        perhaps: &[(u32, Collective)],
        unknown: Lanes,
    ) -> Option<Self> {
        let is_cut = barriers.is_empty()
            || barriers_cut_phases(barriers.iter().map(|&node| instruction_of_node(flow, node)));
        if unknown != 0 || !is_cut {
            return None;
        }
        let full = barriers
            .iter()
            .filter(|&&node| is_full_barrier(instruction_of_node(flow, node)));
        let full = full.map(|&node| (node, Boundary::Barrier));
        let whole = whole
            .iter()
            .map(|&(node, kind, mask)| (node, Boundary::Collective(kind, mask)));
        Some(Self {
            boundaries: Boundaries {
                of: full.chain(whole).collect(),
                perhaps: perhaps.iter().copied().collect(),
            },
            segments: FxHashMap::default(),
            steps_left: MAX_PHASE_STEPS,
        })
    }

    /// True if `lane` surely misses the others where `callers` execute the collective `call`, which waits for it: it reaches
    /// no collective that `may_match` in the same phase. `None` if the budget is spent.
    pub(super) fn surely_misses(
        &mut self,
        flow: &Flow<'_>,
        placement: &Placement<'_, '_>,
        (call, callers): (u32, Lanes),
        lane: usize,
        may_match: &impl Fn(u32) -> bool,
    ) -> Option<bool> {
        let own: Lanes = 1 << lane;
        let is_met = |there: &Segment, here: &Segment, acts: bool| {
            let is_called = there.collectives.binary_search(&call).is_ok();
            let may_meet = || here.collectives.iter().any(|&node| may_match(node));
            is_called.then(|| acts && !may_meet())
        };
        self.is_surely_alone(flow, placement, (call, callers, own), &is_met)
    }

    /// True if `lane` surely reaches no further barrier when `callers` wait at the barrier `barrier`, and has a visible
    /// effect instead. `None` if the budget is spent.
    pub(super) fn surely_skips(
        &mut self,
        flow: &Flow<'_>,
        placement: &Placement<'_, '_>,
        (barrier, callers): (u32, Lanes),
        lane: usize,
    ) -> Option<bool> {
        let own: Lanes = 1 << lane;
        let is_met = |there: &Segment, here: &Segment, acts: bool| {
            let is_called = there.next.contains(&barrier);
            is_called.then_some(acts && here.next.is_empty())
        };
        self.is_surely_alone(flow, placement, (barrier, callers, own), &is_met)
    }

    /// True if `is_alone` is true for some pairs of segments (the first one belongs to the callers) and false for none, and
    /// no lane may have ended before. Its argument says whether the other lane certainly has a visible effect from the
    /// second segment on.
    fn is_surely_alone(
        &mut self,
        flow: &Flow<'_>,
        placement: &Placement<'_, '_>,
        (waited_at, callers, own): (u32, Lanes, Lanes),
        is_alone: &impl Fn(&Segment, &Segment, bool) -> Option<bool>,
    ) -> Option<bool> {
        let mut seen = FxHashSet::from_iter([(ENTRY, ENTRY)]);
        let mut work = vec![(ENTRY, ENTRY)];
        let mut is_called = false;
        while let Some((of_callers, of_lane)) = work.pop() {
            let there = self.segment_after(flow, of_callers, callers)?;
            let here = match of_lane {
                ENDED => Rc::default(),
                _ => self.segment_after(flow, of_lane, own)?,
            };
            self.spend_steps(1 + there.next.len() * here.next.len() + here.collectives.len())?;
            let acts = matches!(of_lane, ENTRY | ENDED) || surely_acts_after(flow, placement, of_lane, own);
            match is_alone(&there, &here, acts) {
                Some(false) => return Some(false),
                Some(true) => is_called = true,
                None => {}
            }
            if here.may_end && !there.next.is_empty() {
                let is_awaited =
                    |&node: &u32| node == waited_at || self.boundaries.get(node) != Some(Boundary::Barrier);
                let acts = acts && (of_lane != ENTRY || placement.surely_acting_lanes(0) & own != 0);
                if !acts || !there.next.iter().all(is_awaited) {
                    return Some(false);
                }
                let pairs = there.next.iter().map(|&next| (next, ENDED));
                work.extend(pairs.filter(|pair| seen.insert(*pair)));
            }
            if of_lane == ENDED {
                let pairs = there.next.iter().map(|&next| (next, ENDED));
                work.extend(pairs.filter(|pair| seen.insert(*pair)));
            }
            for &next in &there.next {
                let others = here.next.iter();
                let others = others.filter(|other| self.boundaries.get(next) == self.boundaries.get(**other));
                let mut others = others.peekable();
                if others.peek().is_none()
                    && self.boundaries.get(next) != Some(Boundary::Barrier)
                    && seen.insert((next, of_lane))
                {
                    // The lane is missing there. If the others continue, it is still at the same position.
                    work.push((next, of_lane));
                }
                work.extend(
                    others
                        .map(|&other| (next, other))
                        .filter(|pair| seen.insert(*pair)),
                );
            }
            let perhaps = self.boundaries.possible_meetings(&there, &here);
            self.spend_steps(perhaps.len())?;
            work.extend(perhaps.into_iter().filter(|pair| seen.insert(*pair)));
        }
        Some(is_called)
    }

    fn segment_after(&mut self, flow: &Flow<'_>, from: u32, of: Lanes) -> Option<Rc<Segment>> {
        if let Some(known) = self.segments.get(&(from, of)) {
            return Some(Rc::clone(known));
        }
        let graph = flow.graph;
        let mut seen = FxHashSet::default();
        let mut segment = Segment {
            collectives: Vec::new(),
            next: Vec::new(),
            may_end: false,
        };
        let mut work = Vec::new();
        let boundaries = &self.boundaries;
        let mut reach = |node: u32, segment: &mut Segment, work: &mut Vec<u32>| {
            if !seen.insert(node) {
                return;
            }
            if node == graph.exit {
                segment.may_end = true;
                return;
            }
            if graph.nodes[node as usize].kind == NodeKind::Collective {
                segment.collectives.push(node);
            }
            if boundaries.is_boundary(node) {
                segment.next.push(node);
            } else {
                work.push(node);
            }
        };
        if from == ENTRY {
            reach(0, &mut segment, &mut work);
        } else {
            work.push(from);
        }
        while let Some(node) = work.pop() {
            let edges = graph.nodes[node as usize].edges.clone();
            self.steps_left = self.steps_left.checked_sub(1 + edges.len())?;
            for edge in edges.filter(|&edge| flow.edges[edge as usize] & of != 0) {
                reach(graph.targets[edge as usize], &mut segment, &mut work);
            }
        }
        segment.collectives.sort_unstable();
        let segment = Rc::new(segment);
        self.segments.insert((from, of), Rc::clone(&segment));
        Some(segment)
    }

    fn spend_steps(&mut self, steps: usize) -> Option<()> {
        self.steps_left = self.steps_left.checked_sub(steps)?;
        Some(())
    }
}

fn instruction_of_node<'f>(flow: &Flow<'f>, node: u32) -> &'f Instruction {
    let graph = flow.graph;
    graph
        .context_of_node(node)
        .body
        .instruction(graph.instruction_of_node(node))
}

/// True if a lane certainly has a visible effect after a boundary.
fn surely_acts_after(flow: &Flow<'_>, placement: &Placement<'_, '_>, barrier: u32, lane: Lanes) -> bool {
    let graph = flow.graph;
    let mut edges = graph.nodes[barrier as usize].edges.clone();
    edges.all(|edge| {
        let target = graph.targets[edge as usize];
        flow.edges[edge as usize] & lane == 0 || placement.surely_acting_lanes(target) & lane != 0
    })
}
