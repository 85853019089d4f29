//! Definite pairs in the solution of one warp.
//!
//! ```text
//! before(h)        the orderings, and loops that may wait, from which control reaches h, and those at which lanes may meet other
//!                  lanes that are at one of these, at another instruction
//! together(a, b)   at each of before(h), both lanes are present whenever one of them is, or neither ever is: so both have passed
//!                  equally many of them when they are at h
//! definite         a clash of lanes a, b on their paths from a head h, with a, b ∈ must(h), together(a, b), and h dominates
//!                  the instruction that is reported
//! ```
//!
//! Every lane that reaches the reported instruction has passed h. At that time a and b are at h, too, and they certainly
//! make their accesses without an ordering since h. a and b have passed the same orderings before h. At an ordering from
//! which control does not reach h, b cannot have been before its access. So no ordering separates the two accesses.

use rustc_hash::FxHashSet;

use super::conflicts::{Clash, find_clashes};
use super::matters;
use super::segments::{self, Ways, is_ordering};
use super::shared_accesses::Touches;
use super::waits;
use crate::lanes::flow::Flow;
use crate::lanes::graph::{NONE, NodeKind};
use crate::lanes::placement::{Exits, Placement};
use crate::lanes::value::{Lanes, WARP, lanes};
use crate::limits::MAX_EXCHANGE_PAIRS;
use ptxcheck_ir::Op;

/// The clashes of a solution that are definite.
pub(super) struct Definite {
    /// The accesses.
    pub touches: Touches,
    /// The clashes, in the order of the code.
    pub clashes: Vec<Clash>,
}

/// The definite clashes of a solution whose slices include addresses. `entry`: the lanes that surely begin together.
pub(super) fn definite_clashes(flow: &mut Flow<'_>, entry: Lanes) -> Definite {
    let touches = Touches::new(flow);
    let mut found = unordered_clashes(flow, &touches, entry);
    matters::retain_certain(flow, &touches, entry, &mut found);
    found.sort_by_key(|clash| (clash.write.max(clash.other), clash.write.min(clash.other)));
    Definite {
        touches,
        clashes: found,
    }
}

/// The clashes that no ordering in the solution prevents, whether they matter or not.
fn unordered_clashes(flow: &Flow<'_>, touches: &Touches, entry: Lanes) -> Vec<Clash> {
    let mut search = PairSearch {
        flow,
        touches,
        placement: Placement::new(flow, entry, &FxHashSet::default()),
        orderings: None,
        in_rounds: None,
    };
    search.in_rounds = search.lanes_certain_in_rounds();
    let mut found: Vec<Clash> = Vec::new();
    let mut known: FxHashSet<(usize, usize)> = FxHashSet::default();
    for head in segments::segment_heads(flow, touches) {
        if flow.module.deadline.is_over_at_step() || found.len() >= MAX_EXCHANGE_PAIRS {
            break;
        }
        let mut of_head = search.clashes_after_head(head);
        of_head.retain(|clash| known.insert((clash.write, clash.other)));
        found.extend(of_head);
    }
    found
}

struct PairSearch<'s, 'f, 'a> {
    flow: &'s Flow<'a>,
    touches: &'s Touches,
    placement: Placement<'f, 'a>,
    /// The orderings, in the order of the graph; computed once they are needed.
    orderings: Option<Vec<Ordering>>,
    /// For peeled loops, by node: the lanes that certainly reach the node if some lane reaches the loop.
    in_rounds: Option<Vec<Lanes>>,
}

/// A node at which lanes may wait for others.
struct Ordering {
    node: u32,
    /// The lanes that may reach it.
    may: Lanes,
    /// The lanes that reach it whenever one lane does.
    must: Lanes,
    /// Lanes that wait here may be separated from lanes that need not wait.
    keeps_apart: bool,
    /// A barrier that lanes skip is reported as a defect of its own.
    is_barrier: bool,
}

/// By lane: an equivalence class. Lanes of one class pass all of these orderings together.
fn equivalence_classes(orderings: &[Ordering], is_before: &[bool]) -> [Option<u64>; WARP] {
    let mut classes = [Some(0_u64); WARP];
    let mut seen: FxHashSet<(Lanes, Lanes)> = FxHashSet::default();
    for ordering in orderings {
        let (may, must) = (ordering.may, ordering.must);
        let counts = ordering.is_barrier || is_before[ordering.node as usize];
        if !ordering.keeps_apart || !counts || !seen.insert((may, must)) {
            continue;
        }
        let number = seen.len() as u64;
        for lane in lanes(may) {
            classes[lane] = match classes[lane] {
                Some(class) if must >> lane & 1 == 1 => {
                    // Lanes with the same history have the same number.
                    Some(class.wrapping_mul(MULTIPLIER).wrapping_add(number))
                }
                _ => None,
            };
        }
    }
    classes
}

impl PairSearch<'_, '_, '_> {
    fn clashes_after_head(&mut self, head: segments::Head) -> Vec<Clash> {
        let touches = self.touches;
        let way = segments::segment_after_head(self.flow, touches, head, Ways::Certain);
        let made = |among: Lanes| -> Vec<(usize, Lanes)> {
            let all = way.iter().flat_map(|stretch| {
                let of_part = touches
                    .accesses_in_node(stretch.node)
                    .filter(move |&number| touches.all[number].part == stretch.part);
                of_part.map(move |number| (number, touches.all[number].lanes & stretch.lanes & among))
            });
            all.filter(|(_, lanes)| *lanes != 0).collect()
        };
        // If a lane may have written the bytes itself, the clash is reported for the writes.
        let own = |number: usize, set: Lanes| set | touches.all[number].may;
        let at_most = made(Lanes::MAX);
        let has_store = at_most.iter().any(|&(number, _)| touches.all[number].is_store);
        if !has_store || find_clashes(touches, &self.flow.pool, &at_most, own, |_, _| true).is_empty() {
            return Vec::new();
        }
        let here = self.lanes_that_must_reach(head.node) & self.flow.may[head.node as usize];
        if here == 0 {
            return Vec::new();
        }
        let classes = self.equivalence_classes(head.node);
        let may_clash = |a: usize, b: usize| classes[a].is_some() && classes[a] == classes[b];
        let mut found = find_clashes(touches, &self.flow.pool, &made(here), own, may_clash);
        found.retain(|clash| self.flow.order.dominates(head.node, self.reported_node(clash)));
        found
    }

    /// The lanes that reach a node whenever one lane does. In a peeled round: whenever one lane reaches the loop, because an
    /// instruction of the loop is reported for all of its rounds.
    fn lanes_that_must_reach(&mut self, node: u32) -> Lanes {
        let must = self.placement.lanes_that_must_reach(node, Exits::All);
        match (&self.in_rounds, &self.flow.graph.rounds) {
            (Some(certain), Some(rounds)) if rounds.is_in_round(node) => must & certain[node as usize],
            _ => must,
        }
    }

    /// See [`Self::in_rounds`].
    fn lanes_certain_in_rounds(&mut self) -> Option<Vec<Lanes>> {
        let flow = self.flow;
        let first = flow.graph.rounds.as_ref()?.first;
        let mut certain = vec![0; flow.may.len()];
        certain[first as usize] =
            self.placement.lanes_that_must_reach(first, Exits::All) & flow.may[first as usize];
        for &node in &flow.order.nodes {
            let here = certain[node as usize];
            let edges = flow.graph.nodes[node as usize].edges.clone();
            for edge in edges.clone().filter(|_| here != 0) {
                let others = edges.clone().filter(|&other| other != edge);
                let open_too = others.fold(0, |all, other| all | flow.edges[other as usize]);
                let target = flow.graph.targets[edge as usize];
                if flow.order.rank[target as usize] > flow.order.rank[node as usize] {
                    certain[target as usize] |= here & flow.edges[edge as usize] & !open_too;
                }
            }
        }
        Some(certain)
    }

    /// The node that a clash is reported at.
    fn reported_node(&self, clash: &Clash) -> u32 {
        self.touches.all[clash.other].node
    }

    /// The classes of lanes that pass all orderings together that may come before a head.
    fn equivalence_classes(&mut self, head: u32) -> [Option<u64>; WARP] {
        let orderings = match self.orderings.take() {
            Some(known) => known,
            None => self.find_orderings(),
        };
        let classes = equivalence_classes(&orderings, &self.nodes_before(head, &orderings));
        self.orderings = Some(orderings);
        classes
    }

    fn find_orderings(&mut self) -> Vec<Ordering> {
        let flow = self.flow;
        let mut found = Vec::new();
        for &node in &flow.order.nodes {
            let may = flow.may[node as usize];
            let keeps_apart = may != 0 && self.may_keep_lanes_apart(node);
            if may == 0 || !keeps_apart && !is_ordering(flow, node) {
                continue;
            }
            let must = self.placement.lanes_that_must_reach(node, Exits::All) & may;
            found.push(Ordering {
                node,
                may,
                must,
                keeps_apart,
                is_barrier: flow.graph.nodes[node as usize].kind == NodeKind::Barrier,
            });
        }
        found
    }

    /// By node: true for nodes that lanes may have passed when they are at a head, and for nodes at which other lanes may
    /// have met these lanes, at another instruction. All nodes, if some lanes wait there for a value in memory or in a way
    /// that is not known.
    fn nodes_before(&self, head: u32, orderings: &[Ordering]) -> Vec<bool> {
        let (flow, graph) = (self.flow, self.flow.graph);
        let all = flow.launch.lanes();
        let mut is_before = vec![false; flow.may.len()];
        let mut open = vec![head];
        is_before[head as usize] = true;
        while let Some(node) = open.pop() {
            let sources = graph.incoming_edges(node).iter();
            let taken = sources.filter(|&&edge| flow.edges[edge as usize] != 0);
            let mut next: Vec<u32> = taken.map(|&edge| graph.sources[edge as usize]).collect();
            if let Ok(at) = orderings.binary_search_by_key(&flow.order.rank[node as usize], |known| {
                flow.order.rank[known.node as usize]
            }) {
                let kind = graph.nodes[node as usize].kind;
                let is_harmless_call = kind == NodeKind::Quiet && !waits::may_wait_in_call(self.flow, node);
                if !matches!(kind, NodeKind::Collective | NodeKind::Barrier) && !is_harmless_call {
                    return vec![true; flow.may.len()];
                }
                let is_whole = orderings[at].must == all;
                let others = orderings
                    .iter()
                    .filter(|other| graph.nodes[other.node as usize].kind == kind)
                    .filter(|other| !is_whole || other.must != all);
                next.extend(others.map(|other| other.node));
            }
            for node in next {
                if !std::mem::replace(&mut is_before[node as usize], true) {
                    open.push(node);
                }
            }
        }
        is_before
    }

    /// True if lanes that pass a node may wait for others there while other lanes need not wait.
    fn may_keep_lanes_apart(&self, node: u32) -> bool {
        let (graph, order) = (self.flow.graph, self.flow.order);
        let own = order.loop_of[node as usize];
        if own != NONE && order.loops[own as usize].header == node {
            return waits::may_end_by_others(self.flow, own);
        }
        let is_aligned = || {
            let body = graph.context_of_node(node).body;
            matches!(body.instruction(graph.instruction_of_node(node)).op, Op::Barrier(barrier) if barrier.aligned)
        };
        match graph.nodes[node as usize].kind {
            // All lanes of a warp execute it together (PTX ISA, bar). Lanes that certainly skip it are a defect of their
            // own.
            NodeKind::Barrier => {
                !is_aligned() || self.flow.launch.lanes() & !self.flow.may[node as usize] != 0
            }
            NodeKind::Quiet => waits::may_wait_in_call(self.flow, node),
            _ => is_ordering(self.flow, node),
        }
    }
}

/// Odd, so that different histories rarely have one number.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
