//! The barriers that a warp reaches, one after the other.
//!
//! ```text
//! next(s)     the barriers that the warp may reach first after a stop s, or the end
//! sequence    the stops from the entry on, as long as next is one whole stop; it ends with the end of the warp, or is open: then the warp
//!             may reach all barriers after it in any order
//! whole       all lanes of the warp that exist may be there: they count together (PTX ISA, barrier.cta)
//! waits       between two stops, the warp may wait for others in another way than at a barrier of the block
//! ```

use std::collections::BTreeSet;

use crate::lanes::exchange::{BarrierStop, is_barrier_of_block, may_wait_for_others};
use crate::lanes::flow::Flow;
use crate::lanes::graph::{NONE, NodeKind};
use crate::lanes::value::Lanes;
use crate::limits::{MAX_BARRIER_STEPS, MAX_BARRIER_STOPS};
use ptxcheck_ir::{InstructionId, Op};

/// What a warp may reach first.
#[derive(Clone, Debug, Default)]
pub(super) struct Next {
    /// The stops, by their index.
    pub stops: BTreeSet<usize>,
    /// It may end.
    pub ends: bool,
    /// There is code that is not known on the way.
    pub is_unknown: bool,
    /// It may wait for others on the way.
    pub waits: bool,
}

/// The barriers that a warp may reach, and their order.
pub(super) struct WarpStops {
    /// In the order of the code.
    pub stops: Vec<BarrierStop>,
    /// By stop: all lanes of the warp may be there.
    is_whole: Vec<bool>,
    /// By stop: it is in a loop.
    is_in_loop: Vec<bool>,
    /// By stop: the warp reaches it before it ends, whichever path it takes.
    is_certain: Vec<bool>,
    /// After the entry, and after each stop.
    next: Vec<Next>,
}

/// What a warp may do after its sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tail {
    /// It may reach the barriers with these numbers.
    pub numbers: BTreeSet<u64>,
    /// It may reach any barrier.
    pub is_unknown: bool,
}

impl Tail {
    pub(super) fn has(&self, number: u64) -> bool {
        self.is_unknown || self.numbers.contains(&number)
    }
}

/// A stop in a sequence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    /// The stop.
    pub stop: BarrierStop,
    /// The warp may wait for others in another way between the stop before, or its start, and this one.
    pub waits_before: bool,
}

/// The stops that a warp certainly reaches.
#[derive(Clone, Debug)]
pub(super) struct Sequence {
    pub events: Vec<Event>,
    pub tail: Tail,
}

/// The rounds of loops in a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounds {
    /// A sequence ends where a loop begins.
    None,
    /// Loops have this number of rounds: what is found is possible.
    Some(usize),
}

impl WarpStops {
    /// The order of the stops of a warp in a solution; `None` if that is too much work.
    pub(super) fn new(flow: &Flow<'_>, stops: Vec<BarrierStop>) -> Option<Self> {
        let nodes = flow.graph.nodes.len();
        if stops.len() > MAX_BARRIER_STOPS || nodes.saturating_mul(2 * stops.len() + 1) > MAX_BARRIER_STEPS {
            return None;
        }
        let existing = flow.launch.analysed_lanes();
        let aborts = flow.graph.aborting_nodes();
        let next =
            |from: Option<u32>| first_stops(flow, &stops, &aborts, from.map_or(Start::Entry, Start::After));
        let after = stops.iter().map(|stop| next(Some(stop.node)));
        Some(Self {
            is_whole: stops
                .iter()
                .map(|stop| flow.may[stop.node as usize] == existing)
                .collect(),
            is_in_loop: stops
                .iter()
                .map(|stop| flow.order.loop_of[stop.node as usize] != NONE)
                .collect(),
            is_certain: stops
                .iter()
                .map(|stop| comes_on_all_paths(flow, &aborts, stop.node))
                .collect(),
            next: std::iter::once(next(None)).chain(after).collect(),
            stops,
        })
    }

    /// True if the warp may reach code that is not known.
    pub(super) fn has_unknown_code(&self) -> bool {
        self.next.iter().any(|next| next.is_unknown)
    }

    /// The places at which the warp reaches a barrier, if it certainly reaches each of them once.
    pub(super) fn single_stops(&self, number: u64) -> Option<Vec<BarrierStop>> {
        let here = self.stops.iter().enumerate();
        let mut here = here.filter(|(_, stop)| stop.number == number);
        let is_single = |at: usize| self.is_certain[at] && self.is_whole[at] && !self.is_in_loop[at];
        here.try_fold(Vec::new(), |mut all, (at, stop)| {
            all.push(*stop);
            is_single(at).then_some(all)
        })
    }

    /// The sequence from the entry on.
    pub(super) fn sequence(&self, rounds: Rounds) -> Sequence {
        let mut events: Vec<Event> = Vec::new();
        let mut passed = vec![0_usize; self.stops.len()];
        let mut at = 0;
        loop {
            let next = &self.next[at];
            let chosen = match rounds {
                Rounds::None => self.only_stop(next).filter(|stop| passed[*stop] == 0),
                Rounds::Some(most) => self.stop_in_rounds(next, &passed, most),
            };
            let Some(stop) = chosen.filter(|stop| self.is_whole[*stop] && !next.is_unknown) else {
                let ends = next.ends && next.stops.is_empty() && !next.is_unknown;
                let tail = if ends { Tail::default() } else { self.tail_from(at) };
                return Sequence { events, tail };
            };
            passed[stop] += 1;
            events.push(Event {
                stop: self.stops[stop],
                waits_before: next.waits,
            });
            at = stop + 1;
        }
    }

    fn only_stop(&self, next: &Next) -> Option<usize> {
        let mut stops = next.stops.iter();
        match (stops.next(), stops.next(), next.ends) {
            (Some(&only), None, false) => Some(only),
            _ => None,
        }
    }

    /// The stop that a warp reaches if each loop has so many rounds.
    fn stop_in_rounds(&self, next: &Next, passed: &[usize], most: usize) -> Option<usize> {
        let open = |stop: &&usize| passed[**stop] < if self.is_in_loop[**stop] { most } else { 1 };
        let in_loop = |stop: &&usize| self.is_in_loop[**stop];
        let inside: Vec<usize> = next.stops.iter().filter(in_loop).filter(open).copied().collect();
        let outside: Vec<usize> = next.stops.iter().filter(|stop| !in_loop(stop)).copied().collect();
        match (&inside[..], &outside[..]) {
            (&[stop], _) => Some(stop),
            (&[], &[stop]) if !next.ends && passed[stop] == 0 => Some(stop),
            _ => None,
        }
    }

    /// The barriers that the warp may reach after a stop: `at` is its index, counted from 1, or 0 for the entry.
    fn tail_from(&self, at: usize) -> Tail {
        let mut tail = Tail::default();
        let mut is_seen = vec![false; self.next.len()];
        let mut open = vec![at];
        while let Some(at) = open.pop() {
            if std::mem::replace(&mut is_seen[at], true) {
                continue;
            }
            tail.is_unknown |= self.next[at].is_unknown;
            for &stop in &self.next[at].stops {
                tail.numbers.insert(self.stops[stop].number);
                open.push(stop + 1);
            }
        }
        tail
    }
}

/// Where a search for stops begins.
#[derive(Clone, Copy)]
pub(super) enum Start {
    Entry,
    /// After a node.
    After(u32),
    /// At a node.
    At(u32),
}

/// The stops that the lanes of a warp may reach first.
pub(super) fn first_stops(flow: &Flow<'_>, stops: &[BarrierStop], aborts: &[bool], start: Start) -> Next {
    let graph = flow.graph;
    let mut found = Next::default();
    let mut is_seen = vec![false; graph.nodes.len()];
    let mut open = Vec::new();
    let taken = |node: u32, open: &mut Vec<u32>| {
        let edges = graph.nodes[node as usize].edges.clone();
        for edge in edges.filter(|&edge| flow.edges[edge as usize] != 0) {
            open.push(graph.targets[edge as usize]);
        }
    };
    match start {
        Start::Entry => open.push(0),
        Start::At(node) => open.push(node),
        Start::After(node) => taken(node, &mut open),
    }
    while let Some(node) = open.pop() {
        if std::mem::replace(&mut is_seen[node as usize], true) || aborts[node as usize] {
            continue;
        }
        if node == graph.exit {
            found.ends = true;
            continue;
        }
        match graph.nodes[node as usize].kind {
            NodeKind::Barrier if is_barrier_of_block(graph, node) => {
                found
                    .stops
                    .extend(stops.iter().position(|stop| stop.node == node));
                continue;
            }
            // A barrier of the cluster.
            NodeKind::Barrier => found.waits = true,
            NodeKind::Unknown => found.is_unknown = true,
            NodeKind::Quiet => found.waits = true,
            NodeKind::Plain | NodeKind::Collective | NodeKind::Enter(_) => {
                found.waits |= may_wait_in_node(flow, node);
            }
        }
        taken(node, &mut open);
    }
    found
}

/// True if each path of a warp reaches a node: that is reached from all nodes that come before it.
fn comes_on_all_paths(flow: &Flow<'_>, aborts: &[bool], goal: u32) -> bool {
    let graph = flow.graph;
    let is_taken = |edge: u32| flow.edges[edge as usize] != 0;
    let mut is_before = vec![false; graph.nodes.len()];
    let mut open = vec![0];
    while let Some(node) = open.pop() {
        if node == goal || aborts[node as usize] || std::mem::replace(&mut is_before[node as usize], true) {
            continue;
        }
        let edges = graph.nodes[node as usize].edges.clone();
        open.extend(
            edges
                .filter(|&edge| is_taken(edge))
                .map(|edge| graph.targets[edge as usize]),
        );
    }
    open.push(goal);
    while let Some(node) = open.pop() {
        let edges = graph.incoming_edges(node).iter().filter(|&&edge| is_taken(edge));
        for source in edges.map(|&edge| graph.sources[edge as usize]) {
            if std::mem::replace(&mut is_before[source as usize], false) {
                open.push(source);
            }
        }
    }
    !is_before.contains(&true)
}

/// True if an instruction of a node may wait for others, or read what they have written.
fn may_wait_in_node(flow: &Flow<'_>, node: u32) -> bool {
    let body = flow.graph.context_of_node(node).body;
    let mut instructions = flow.graph.nodes[node as usize].instructions.clone();
    instructions.any(|number| {
        let at = InstructionId::new(number as usize);
        let instruction = body.instruction(at);
        // It waits for registers of other warps.
        matches!(instruction.op, Op::SetRegisters(_)) || may_wait_for_others(body, at, instruction)
    })
}

/// Two groups of lanes of a warp that certainly reach different barriers at the same time.
#[derive(Clone, Debug)]
pub(super) struct Split {
    /// The lanes, and the index of their stop; the first one has to be executed by all of them together.
    pub parts: [(Lanes, usize); 2],
}

/// The first branch by which the lanes of a warp part and reach different barriers.
pub(super) fn first_split(flow: &Flow<'_>, stops: &[BarrierStop]) -> Option<Split> {
    let existing = flow.launch.analysed_lanes();
    let is_part = |stop: &BarrierStop| flow.may[stop.node as usize] != existing;
    if !stops.iter().any(is_part) {
        return None;
    }
    let graph = flow.graph;
    let aborts = graph.aborting_nodes();
    let mut steps = MAX_BARRIER_STEPS;
    for &node in &flow.order.nodes {
        let edges: Vec<u32> = graph.nodes[node as usize]
            .edges
            .clone()
            .filter(|&edge| flow.edges[edge as usize] != 0)
            .collect();
        let &[one, other] = &edges[..] else { continue };
        let lanes = [one, other].map(|edge| flow.edges[edge as usize]);
        if flow.may[node as usize] != existing || lanes[0] & lanes[1] != 0 || lanes[0] | lanes[1] != existing
        {
            continue;
        }
        steps = steps.checked_sub(graph.nodes.len().saturating_mul(2))?;
        let firsts = [one, other].map(|edge| {
            let next = first_stops(flow, stops, &aborts, Start::At(graph.targets[edge as usize]));
            let mut all = next.stops.iter().copied();
            match (all.next(), all.next()) {
                (Some(stop), None) if !next.ends && !next.is_unknown => Some(stop),
                _ => None,
            }
        });
        if let [Some(first), Some(second)] = firsts
            && first != second
        {
            let mut parts = [(lanes[0], first), (lanes[1], second)];
            let comes_alone = |(lanes, stop): &(Lanes, usize)| {
                stops[*stop].is_aligned && flow.may[stops[*stop].node as usize] & !lanes == 0
            };
            if !comes_alone(&parts[0]) {
                parts.swap(0, 1);
            }
            if comes_alone(&parts[0]) {
                return Some(Split { parts });
            }
        }
    }
    None
}
