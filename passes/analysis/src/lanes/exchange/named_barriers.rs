//! Barriers of the block with a number and a count of threads, and the warps that they order with each other.
//!
//! ```text
//! meets(k)     the warps that may wait or arrive at a barrier with the number k
//! before(v)    the warps of which something may come before what warp v does, by these barriers: v itself; meets(k), if v may wait at k and
//!              k counts more than one warp; and before(w) for each w of before(v)
//! exact(k)     all warps of meets(k) together are what k counts, and each of them has one place in the code where it comes to k: their passes
//!              of k belong together, one by one
//! ```
//!
//! Source: PTX ISA, `barrier.cta`: the threads of a warp count together, `arrive` does not wait, and a barrier without a count is one of all
//! threads of the block. Nothing is known here unless all warps that a block may have are analysed.

use rustc_hash::FxHashSet;

use crate::lanes::flow::Flow;
use crate::lanes::graph::{Graph, NONE, NodeKind};
use crate::lanes::layout::LaneLayout;
use crate::lanes::value::{WARP, lanes_in_set};
use ptxcheck_ir::{Barrier, Op, Value};

/// A place in the code at which a warp may come to a barrier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BarrierStop {
    /// The place of the warp among the analysed ones.
    pub warp: usize,
    /// The node.
    pub node: u32,
    /// The number of the barrier.
    pub number: u64,
    /// The threads that it counts; `None` for all of the block.
    pub count: Option<u64>,
    /// It waits, in contrast to arriving only.
    pub waits: bool,
    /// All threads of the warp have to execute it together.
    pub is_aligned: bool,
}

impl BarrierStop {
    /// True if a warp passes it without waiting for others.
    fn is_passed_without_waiting(&self) -> bool {
        !self.waits || self.count == Some(WARP as u64)
    }
}

/// Two places at which two warps come to one barrier, each as often as the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meeting {
    /// The nodes, in the order of the warps.
    pub nodes: [u32; 2],
    /// By warp: it waits for the other there.
    pub waits: [bool; 2],
    /// Each pass by one warp belongs to the same pass by the other one.
    pub is_exact: bool,
}

/// The barriers with a count that the warps of a block come to.
pub(super) struct NamedBarriers {
    stations: Vec<BarrierStop>,
    /// By warp: the warps of which something may come before what it does, a bit for each.
    before: Vec<u32>,
}

/// True if a kernel has a barrier with a count.
pub(super) fn has_counted_barrier(layout: &LaneLayout<'_>) -> bool {
    let graph = &layout.graph;
    let mut nodes = layout.order.nodes.iter();
    nodes.any(|&node| barrier_at_node(graph, node).is_some_and(|(barrier, _)| barrier.counted))
}

impl NamedBarriers {
    /// The barriers of a block with so many warps, all of them analysed; `None` if none counts threads.
    pub(super) fn new(stations: Vec<BarrierStop>, warps: usize) -> Option<Self> {
        let mut found = Self {
            before: (0..warps).map(|warp| 1 << warp).collect(),
            stations,
        };
        let is_mixed = |one: &BarrierStop| {
            let mut others = found.stations.iter();
            others.any(|other| other.number == one.number && other.count != one.count)
        };
        let has_counts = found.stations.iter().any(|one| one.count.is_some());
        if !has_counts || found.stations.iter().any(is_mixed) {
            return None;
        }
        for place in 0..found.stations.len() {
            let station = found.stations[place];
            if !station.is_passed_without_waiting() {
                found.before[station.warp] |= found.warps_reaching(station.number);
            }
        }
        // As many rounds as a chain of warps may have steps.
        for _ in 0..found.before.len() {
            let known = found.before.clone();
            for before in &mut found.before {
                *before = lanes_in_set(*before).fold(*before, |all, warp| all | known[warp]);
            }
        }
        Some(found)
    }

    /// The warps that may come to a barrier, a bit for each.
    fn warps_reaching(&self, number: u64) -> u32 {
        let all = self.stations.iter().filter(|one| one.number == number);
        all.fold(0, |warps, one| warps | 1 << one.warp)
    }

    /// True if the warps that may come to a barrier are exactly those that it counts, each from one place.
    fn is_count_exact(&self, number: u64) -> bool {
        let all = || self.stations.iter().filter(|one| one.number == number);
        let warps = self.warps_reaching(number).count_ones();
        let count = all().find_map(|one| one.count);
        count == Some(u64::from(warps) * WARP as u64) && all().count() == warps as usize
    }

    /// The barriers at which a warp waits for nothing that another one has done: by their nodes.
    pub(super) fn barriers_without_order_between(&self, warp: usize, other: usize) -> FxHashSet<u32> {
        let waits_for_other = |one: &&BarrierStop| {
            let mut others = lanes_in_set(self.warps_reaching(one.number) & !(1 << warp));
            !one.is_passed_without_waiting() && others.any(|via| self.before[via] >> other & 1 == 1)
        };
        let own = self.stations.iter().filter(|one| one.warp == warp);
        own.filter(|one| !waits_for_other(one))
            .map(|one| one.node)
            .collect()
    }

    /// The places at which two warps come to one barrier with a count, and one of them waits. Where they come to it at several places, those
    /// belong together that both have, or else, of equally many, those that are alike in their order.
    pub(super) fn meetings_of_warps(&self, warps: [usize; 2]) -> Vec<Meeting> {
        let of = |warp: usize, number: u64| -> Vec<BarrierStop> {
            let own = self.stations.iter().copied();
            own.filter(|one| (one.warp, one.number) == (warp, number) && one.count.is_some())
                .collect()
        };
        let mut numbers: Vec<u64> = self.stations.iter().map(|one| one.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut meetings = Vec::new();
        for number in numbers {
            let (one, other) = (of(warps[0], number), of(warps[1], number));
            let at_node = |node: u32| other.iter().find(|other| other.node == node);
            let common: Vec<[BarrierStop; 2]> = one
                .iter()
                .filter_map(|one| Some([*one, *at_node(one.node)?]))
                .collect();
            let pairs = match common.is_empty() && one.len() == other.len() {
                true => one
                    .iter()
                    .zip(&other)
                    .map(|(one, other)| [*one, *other])
                    .collect(),
                false => common,
            };
            meetings.extend(pairs.into_iter().filter_map(|pair| {
                let waits = pair.map(|one| !one.is_passed_without_waiting());
                (waits != [false; 2]).then(|| Meeting {
                    nodes: pair.map(|one| one.node),
                    waits,
                    is_exact: self.is_count_exact(number),
                })
            }));
        }
        meetings
    }

    /// True if a block certainly has a warp whenever others come to a barrier with it.
    pub(super) fn is_warp_certain(&self, warp: usize) -> bool {
        let mut own = self.stations.iter().filter(|one| one.warp == warp);
        own.any(|one| one.count.is_some_and(|count| count > WARP as u64) && self.is_count_exact(one.number))
    }
}

/// True if a node is in no loop.
pub(super) fn is_outside_loops(layout: &LaneLayout<'_>, node: u32) -> bool {
    layout.order.loop_of[node as usize] == NONE && !layout.order.is_in_or_before_irreducible_loop(node)
}

/// The barrier of the block at a node, with its operands.
fn barrier_at_node<'g>(graph: &'g Graph<'_>, node: u32) -> Option<(Barrier, &'g [Value])> {
    if graph.nodes[node as usize].kind != NodeKind::Barrier {
        return None;
    }
    let body = graph.context_of_node(node).body;
    let instruction = body.instruction(graph.instruction_of_node(node));
    match instruction.op {
        Op::Barrier(barrier) if !barrier.cluster => Some((barrier, body.uses(instruction))),
        _ => None,
    }
}

/// True for a node with a barrier of the block.
pub(crate) fn is_barrier_of_block(graph: &Graph<'_>, node: u32) -> bool {
    barrier_at_node(graph, node).is_some()
}

/// The places at which a warp may reach barriers; `None` if a number or a count is not known, or a count is not one of whole warps. `warp`: its
/// place among the analysed ones.
pub(super) fn stations_of_warp(flow: &mut Flow<'_>, warp: usize) -> Option<Vec<BarrierStop>> {
    let all = stops_of_warp(flow, warp)?;
    let counts_warps = |stop: &BarrierStop| {
        let is_whole = |count: u64| count != 0 && count.is_multiple_of(WARP as u64);
        stop.count.is_none_or(is_whole)
    };
    all.iter().all(counts_warps).then_some(all)
}

/// The same with any counts.
pub(crate) fn stops_of_warp(flow: &mut Flow<'_>, warp: usize) -> Option<Vec<BarrierStop>> {
    let graph = flow.graph;
    let mut all = Vec::new();
    for &node in &flow.order.nodes {
        let here = flow.may[node as usize];
        let Some((barrier, uses)) = barrier_at_node(graph, node).filter(|_| here != 0) else {
            continue;
        };
        let mut known = |value: Option<&Value>| {
            let id = flow.operand_of_node(node, *value?);
            let vector = flow.pool.get(id);
            let lane = lanes_in_set(here).next()?;
            vector
                .value_in_lane(lane)
                .filter(|_| vector.is_uniform_among(here))
        };
        let number = match uses.first() {
            None => 0,
            number => known(number)?,
        };
        let count = match barrier.counted {
            true => Some(known(uses.get(1))?),
            false => None,
        };
        all.push(BarrierStop {
            warp,
            node,
            number,
            count,
            waits: barrier.waits,
            is_aligned: barrier.aligned,
        });
    }
    Some(all)
}
