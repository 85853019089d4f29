//! Definite pairs in the solution of one warp.
//!
//! ```text
//! before(h)        the orderings, and loops that may wait, from which control reaches h, and those at which lanes may meet other
//!                  lanes that are at one of these, at another instruction
//! together(a, b)   at each of before(h), both lanes are present whenever one of them is, or neither ever is: so both have passed
//!                  equally many of them when they are at h
//! definite         a clash of lanes a, b in code that is certain from a head h (`certain_paths`), with a, b ∈ must(h), together(a, b),
//!                  and h and the decisions of both accesses dominate the one that is reported
//! ```
//!
//! Every lane that reaches the reported instruction has passed h and taken the decisions. a and b are at h then, too, take them alike, and
//! certainly make their accesses without an ordering since h. a and b have passed the same orderings before h. At an ordering from
//! which control does not reach h, b cannot have been before its access. So no ordering separates the two accesses.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::certain_paths::{CertainPaths, implies_passing_head};
use super::conflicts::{Clash, find_clashes};
use super::groups::{Groups, orders_lanes};
use super::harmful_clashes;
use super::orderings::Among;
use super::segments::{self, Head, is_ordering};
use super::shared_accesses::{Touch, Touches, Word};
use super::waits;
use crate::lanes::flow::Flow;
use crate::lanes::graph::{NONE, NodeKind};
use crate::lanes::placement::{Exits, Placement};
use crate::lanes::uniform::UniformBranches;
use crate::lanes::value::{Lanes, WARP, lanes_in_set};
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
    let nodes = nodes_of_clashes(flow, &touches);
    let mut found = Vec::new();
    if !nodes.is_empty() {
        found = unordered_clashes(flow, &touches, &nodes, entry, None);
        if let Some(groups) = Groups::of_collectives(flow) {
            found.extend(unordered_clashes(flow, &touches, &nodes, entry, Some(&groups)));
        }
    }
    harmful_clashes::retain_harmful_clashes(flow, &touches, entry, &mut found);
    found.sort_by_key(|clash| (clash.write.max(clash.other), clash.write.min(clash.other)));
    Definite {
        touches,
        clashes: found,
    }
}

/// The clashes that no ordering in the solution prevents, whether they matter or not. `nodes`: [`nodes_of_clashes`]; `groups`: only lanes
/// of different groups are compared.
fn unordered_clashes(
    flow: &Flow<'_>,
    touches: &Touches,
    nodes: &BTreeSet<u32>,
    entry: Lanes,
    groups: Option<&Groups>,
) -> Vec<Clash> {
    let aborts = flow.graph.aborting_nodes();
    // A decision in one round shows nothing about the other rounds, for which an instruction is reported, too.
    let uniform = match flow.graph.rounds {
        None => UniformBranches::including_code_after_last_barrier(flow),
        Some(_) => None,
    };
    let before = nodes_before_without_ordering(flow, touches, nodes, groups);
    let paths = CertainPaths::new(flow, touches, Among::Lanes, uniform.as_ref(), &aborts)
        .restricted_to_paths_to(&before);
    let mut search = PairSearch {
        flow,
        touches,
        paths: match groups {
            None => paths,
            Some(groups) => paths.between_groups(groups),
        },
        groups,
        placement: Placement::new(flow, entry, &FxHashSet::default()),
        orderings: None,
        in_rounds: None,
    };
    search.in_rounds = search.lanes_certain_in_rounds();
    let mut found: Vec<Clash> = Vec::new();
    let mut known: FxHashSet<(usize, usize)> = FxHashSet::default();
    let leads_to_clash = |head: &Head| {
        before[head.node as usize] && nodes.iter().any(|&node| flow.order.dominates(head.node, node))
    };
    for head in segments::segment_heads(flow, touches)
        .into_iter()
        .filter(leads_to_clash)
    {
        if flow.module.deadline.is_over_at_step() || found.len() >= MAX_EXCHANGE_PAIRS {
            break;
        }
        let mut of_head = search.clashes_after_head(head);
        of_head.retain(|clash| known.insert((clash.write, clash.other)));
        found.extend(of_head);
    }
    found
}

/// The nodes of accesses to bytes that another lane accesses, too, one of the two with a write, wherever they do.
fn nodes_of_clashes(flow: &Flow<'_>, touches: &Touches) -> BTreeSet<u32> {
    let sizes = touches.all.iter().map(|touch| i64::from(touch.bytes.max(1)));
    let granule = sizes.min().unwrap_or(1);
    // By word: the lanes that write it, and those that access it.
    let mut by_word: FxHashMap<Word, (Lanes, Lanes)> = FxHashMap::default();
    for touch in &touches.all {
        if flow.module.deadline.is_over_at_step() {
            return BTreeSet::new();
        }
        for lane in lanes_in_set(touch.lanes) {
            for word in touch.touched_words(lane, granule) {
                let (writers, all) = by_word.entry(word).or_default();
                *all |= 1 << lane;
                *writers |= if touch.is_store { 1 << lane } else { 0 };
            }
        }
    }
    let meets = |touch: &&Touch| {
        lanes_in_set(touch.lanes).any(|lane| {
            touch.touched_words(lane, granule).any(|word| {
                let (writers, all) = by_word[&word];
                let others = if touch.is_store { all } else { writers };
                others & !(1 << lane) != 0
            })
        })
    };
    touches.all.iter().filter(meets).map(|touch| touch.node).collect()
}

/// By node: true for these nodes, and for those from which paths lead to one of them with nothing in between that orders lanes.
fn nodes_before_without_ordering(
    flow: &Flow<'_>,
    touches: &Touches,
    nodes: &BTreeSet<u32>,
    groups: Option<&Groups>,
) -> Vec<bool> {
    let graph = flow.graph;
    let mut is_before = vec![false; graph.nodes.len()];
    let mut open: Vec<u32> = nodes.iter().copied().collect();
    for &node in &open {
        is_before[node as usize] = true;
    }
    while let Some(node) = open.pop() {
        if touches.ordering_count(node) > 0 || orders_lanes(flow, node, groups) {
            continue;
        }
        for source in graph.predecessors(node) {
            if !std::mem::replace(&mut is_before[source as usize], true) {
                open.push(source);
            }
        }
    }
    is_before
}

struct PairSearch<'s, 'f, 'a> {
    flow: &'s Flow<'a>,
    touches: &'s Touches,
    paths: CertainPaths<'s, 'a>,
    groups: Option<&'s Groups>,
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
        for lane in lanes_in_set(may) {
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
    fn clashes_after_head(&mut self, head: Head) -> Vec<Clash> {
        let touches = self.touches;
        let code = self.paths.certain_code_after(head);
        // The accesses, with the lanes that make them, and the code of each.
        let (mut all, mut codes) = (Vec::new(), Vec::new());
        for (number, code) in code.iter().enumerate() {
            let of_node = touches.accesses_in_node(code.node);
            for touch in of_node.filter(|&touch| touches.all[touch].part == code.part) {
                all.push((touch, touches.all[touch].lanes & code.lanes));
                codes.push(number);
            }
        }
        if !all.iter().any(|&(touch, _)| touches.all[touch].is_store) {
            return Vec::new();
        }
        let (graph, order) = (self.flow.graph, self.flow.order);
        let implied: Vec<bool> = code
            .iter()
            .map(|code| implies_passing_head(graph, order, head.node, code))
            .collect();
        let shows = |later: usize, earlier: usize| {
            let (later, earlier) = (codes[later], codes[earlier]);
            let mut decisions = code[earlier].decisions.iter();
            implied[later] && decisions.all(|decision| code[later].decisions.contains(decision))
        };
        let is_pair = |write: usize, other: usize| match shows(other, write) {
            true => Some(false),
            false => shows(write, other).then_some(true),
        };
        // If a lane may have written the bytes itself, the clash is reported for the writes.
        let own = |number: usize, set: Lanes| set | touches.all[number].may;
        let pool = &self.flow.pool;
        let groups = self.groups;
        let are_apart = |a: usize, b: usize| groups.is_none_or(|groups| groups.are_in_different_groups(a, b));
        if find_clashes(touches, pool, &all, own, are_apart, is_pair).is_empty() {
            return Vec::new();
        }
        let here = self.lanes_that_must_reach(head.node) & self.flow.may[head.node as usize];
        if here == 0 {
            return Vec::new();
        }
        let classes = self.equivalence_classes(head.node);
        let may_clash =
            |a: usize, b: usize| classes[a].is_some() && classes[a] == classes[b] && are_apart(a, b);
        for (_, lanes) in &mut all {
            *lanes &= here;
        }
        find_clashes(touches, pool, &all, own, may_clash, is_pair)
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
            let keeps_apart = may != 0 && self.may_make_some_lanes_wait(node);
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
        let all = flow.launch.analysed_lanes();
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
    fn may_make_some_lanes_wait(&self, node: u32) -> bool {
        let (graph, order) = (self.flow.graph, self.flow.order);
        let own = order.loop_of[node as usize];
        if own != NONE && order.loops[own as usize].header == node {
            return waits::may_be_ended_by_other_threads(self.flow, own);
        }
        let is_aligned = || {
            let body = graph.context_of_node(node).body;
            matches!(body.instruction(graph.instruction_of_node(node)).op, Op::Barrier(barrier) if barrier.aligned)
        };
        match graph.nodes[node as usize].kind {
            // All lanes of a warp execute it together (PTX ISA, bar). Lanes that certainly skip it are a defect of their
            // own.
            NodeKind::Barrier => {
                !is_aligned() || self.flow.launch.analysed_lanes() & !self.flow.may[node as usize] != 0
            }
            NodeKind::Quiet => waits::may_wait_in_call(self.flow, node),
            _ => is_ordering(self.flow, node),
        }
    }
}

/// Odd, so that different histories rarely have one number.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
