//! Segments: code that lanes execute without an ordering in between.
//!
//! ```text
//! head        the entry, the code after an ordering, a loop's header, a target of a branch, a join
//! way(h, l)   the nodes that lane l may reach from h in the same round of the same loop with nothing in between that orders lanes
//! ```
//!
//! `certain_paths` has the nodes that it certainly reaches.

use std::collections::BTreeMap;

use super::shared_accesses::Touches;
use crate::lanes::flow::Flow;
use crate::lanes::graph::NodeKind;
use crate::lanes::value::Lanes;

/// Start of a segment: a node, and the number of orderings in the node before the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub node: u32,
    pub part: u32,
}

/// Code of a segment, and the lanes that come there from its head.
pub(super) struct Stretch {
    pub node: u32,
    pub part: u32,
    pub lanes: Lanes,
}

/// All heads, in the order of the nodes.
pub(super) fn segment_heads(flow: &Flow<'_>, touches: &Touches) -> Vec<Head> {
    let (graph, order) = (flow.graph, flow.order);
    let mut heads = Vec::new();
    for &node in &order.nodes {
        if flow.may[node as usize] == 0 || is_ordering(flow, node) || node == graph.exit {
            continue;
        }
        let is_inner = match graph.incoming_edges(node) {
            &[edge] => {
                let source = graph.sources[edge as usize];
                let is_branch = graph.nodes[source as usize].edges.len() > 1;
                !is_branch
                    && !is_ordering(flow, source)
                    && touches.ordering_count(source) == 0
                    && order.loop_of[source as usize] == order.loop_of[node as usize]
            }
            _ => false,
        };
        if !is_inner {
            heads.push(Head { node, part: 0 });
        }
        heads.extend((1..=touches.ordering_count(node)).map(|part| Head { node, part }));
    }
    heads
}

/// The segment of the lanes that may be at a head.
pub(super) fn stretches_after_head(flow: &Flow<'_>, touches: &Touches, head: Head) -> Vec<Stretch> {
    let (graph, order) = (flow.graph, flow.order);
    let round = order.loop_of[head.node as usize];
    let mut way = vec![];
    // By rank in the order of nodes: no edge within a round goes back.
    let first = order.rank[head.node as usize];
    let mut open = BTreeMap::from([(first, (head.node, flow.may[head.node as usize]))]);
    while let Some((rank, (node, lanes))) = open.pop_first() {
        let part = if rank == first { head.part } else { 0 };
        way.push(Stretch { node, part, lanes });
        if touches.ordering_count(node) > part {
            continue;
        }
        for edge in graph.nodes[node as usize].edges.clone() {
            let target = graph.targets[edge as usize];
            let taken = lanes & flow.edges[edge as usize];
            let next = order.rank[target as usize];
            if taken != 0
                && target != graph.exit
                && next > rank
                && order.loop_of[target as usize] == round
                && !is_ordering(flow, target)
            {
                open.entry(next).or_insert((target, 0)).1 |= taken;
            }
        }
    }
    way
}

/// True if a node may order accesses before it and accesses after it.
pub(super) fn is_ordering(flow: &Flow<'_>, node: u32) -> bool {
    !matches!(
        flow.graph.nodes[node as usize].kind,
        NodeKind::Plain | NodeKind::Enter(_)
    )
}
