//! Phases: barriers of the CTA bound in time the collectives at which lanes may meet.
//!
//! A barrier that waits for all threads of the CTA lets nobody on before all threads that have not ended have come to one
//! (PTX ISA, `barrier`). So the lanes of a warp that have not ended pass their k-th such barrier together, wherever in the
//! code each of them does, and are in the same *phase* k in between.
//!
//! ```text
//! segment(b, L)   what the lanes L may come to from the barrier b, or from the entry, without passing another one
//! pairs           (entry, entry); and with (b, d), all (b', d') with b' next after b for the lanes that call, d' next
//!                 after d for the lane in question
//! ```
//!
//! Lanes that call a collective c in the segment of b are there in the same phase as a lane j in the segment of d, for some
//! pair (b, d), or j has ended in a phase before. j is missing for sure if, for all pairs with c in the segment of b,
//!
//! * no collective that would match is in the segment of d,
//! * and j certainly does something visible from d on, so that it has not ended;
//!
//! and if j ends in no segment of a pair from which those that call go on to another phase.
//!
//! Segments and pairs hold too much rather than too little: what is said to be missing never may come. A lane and those that
//! call are followed apart, so that in a loop whose end they all decide alike it seems that one may end while others go on:
//! nothing is sure there. Barriers with a count of threads, those that only arrive, and code that is not known could let
//! lanes on alone: there are no phases then.

use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

use crate::lanes::flow::Flow;
use crate::lanes::graph::{NodeKind, cut_phases, is_full_barrier};
use crate::lanes::placement::Placement;
use crate::lanes::value::Lanes;
use crate::limits::MAX_PHASE_STEPS;
use ptxcheck_ir::Instruction;

/// Code that lanes may come to before the next barrier.
struct Segment {
    /// The collectives, in order.
    collectives: Vec<u32>,
    /// The next barriers.
    next: Vec<u32>,
    /// They may end here.
    may_end: bool,
}

/// The phases of one solution.
pub(super) struct Phases {
    /// By the barrier that a segment begins behind, [`ENTRY`] for none, and the lanes that it is of.
    segments: FxHashMap<(u32, Lanes), Rc<Segment>>,
    steps_left: usize,
}

/// Begins the first phase.
const ENTRY: u32 = u32::MAX;

impl Phases {
    /// Phases of a solution with these barriers, if they cut it into phases. `unknown`: lanes that may run unknown
    /// code.
    pub(super) fn new(flow: &Flow<'_>, barriers: &[u32], unknown: Lanes) -> Option<Self> {
        let barriers = barriers.iter().map(|&node| instruction(flow, node));
        (unknown == 0 && cut_phases(barriers)).then(|| Self {
            segments: FxHashMap::default(),
            steps_left: MAX_PHASE_STEPS,
        })
    }

    /// True if `lane` surely misses the others where `callers` execute the collective `call`, which waits for it: it
    /// comes to no collective that `may_match` in the same phase. `None` if the budget is spent.
    pub(super) fn misses(
        &mut self,
        flow: &Flow<'_>,
        placement: &Placement<'_, '_>,
        (call, callers): (u32, Lanes),
        lane: usize,
        may_match: &impl Fn(u32) -> bool,
    ) -> Option<bool> {
        let own: Lanes = 1 << lane;
        let mut seen = FxHashSet::from_iter([(ENTRY, ENTRY)]);
        let mut work = vec![(ENTRY, ENTRY)];
        let mut is_called = false;
        while let Some((of_callers, of_lane)) = work.pop() {
            let there = self.segment(flow, of_callers, callers)?;
            let here = self.segment(flow, of_lane, own)?;
            self.pay(1 + there.next.len() * here.next.len() + here.collectives.len())?;
            if there.collectives.binary_search(&call).is_ok() {
                is_called = true;
                let acts = of_lane == ENTRY || acts_after(flow, placement, of_lane, own);
                if !acts || here.collectives.iter().any(|&node| may_match(node)) {
                    return Some(false);
                }
            }
            if here.may_end && !there.next.is_empty() {
                return Some(false);
            }
            for &next in &there.next {
                let pairs = here.next.iter().map(|&other| (next, other));
                work.extend(pairs.filter(|pair| seen.insert(*pair)));
            }
        }
        Some(is_called)
    }

    fn segment(&mut self, flow: &Flow<'_>, from: u32, lanes: Lanes) -> Option<Rc<Segment>> {
        if let Some(known) = self.segments.get(&(from, lanes)) {
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
        let mut reach = |node: u32, segment: &mut Segment, work: &mut Vec<u32>| {
            if !seen.insert(node) {
                return;
            }
            if node == graph.exit {
                segment.may_end = true;
            } else if is_end(flow, node) {
                segment.next.push(node);
            } else {
                if graph.nodes[node as usize].kind == NodeKind::Collective {
                    segment.collectives.push(node);
                }
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
            for edge in edges.filter(|&edge| flow.edges[edge as usize] & lanes != 0) {
                reach(graph.targets[edge as usize], &mut segment, &mut work);
            }
        }
        segment.collectives.sort_unstable();
        let segment = Rc::new(segment);
        self.segments.insert((from, lanes), Rc::clone(&segment));
        Some(segment)
    }

    fn pay(&mut self, steps: usize) -> Option<()> {
        self.steps_left = self.steps_left.checked_sub(steps)?;
        Some(())
    }
}

/// True if a node ends a phase.
fn is_end(flow: &Flow<'_>, node: u32) -> bool {
    let graph = flow.graph;
    graph.nodes[node as usize].kind == NodeKind::Barrier && is_full_barrier(instruction(flow, node))
}

fn instruction<'f>(flow: &Flow<'f>, node: u32) -> &'f Instruction {
    let graph = flow.graph;
    graph.context(node).body.instruction(graph.instruction(node))
}

/// True if a lane certainly has a visible effect after a barrier.
fn acts_after(flow: &Flow<'_>, placement: &Placement<'_, '_>, barrier: u32, lane: Lanes) -> bool {
    let graph = flow.graph;
    let mut edges = graph.nodes[barrier as usize].edges.clone();
    edges.all(|edge| {
        let target = graph.targets[edge as usize];
        flow.edges[edge as usize] & lane == 0 || placement.surely_acting(target) & lane != 0
    })
}
