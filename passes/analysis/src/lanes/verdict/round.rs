//! Peeled rounds of a loop: findings that are definite in one round, and that lanes reach whenever they reach any round.

use crate::lanes::flow::Flow;
use crate::lanes::graph::NodeKind;
use crate::lanes::peeled_rounds::Rounds;
use crate::lanes::placement::{Exits, Placement};
use crate::lanes::value::{Lanes, lanes_in_set};

/// The nodes of the loop that some lane may reach in one round, but not in this one.
pub(super) fn nodes_of_other_rounds<'f>(
    rounds: &'f Rounds,
    flow: &'f Flow<'_>,
) -> impl Iterator<Item = u32> + 'f {
    let nodes = 0..rounds.origin.len() as u32;
    let is_left = move |&node: &u32| flow.may[node as usize] == 0 && rounds.is_in_round(node);
    nodes
        .filter(is_left)
        .filter(|&node| rounds.copies_of(node).any(|other| flow.may[other as usize] != 0))
}

/// True if some lane surely reaches a node of the loop whenever any lane reaches it in any round. It suffices that a lane
/// which is at the loop whenever any lane is, or every lane that enters the loop, surely reaches the node from round 0.
pub(super) fn is_surely_reached(
    rounds: &Rounds,
    flow: &Flow<'_>,
    placement: &mut Placement<'_, '_>,
    node: u32,
) -> bool {
    let entering = flow.may[rounds.first as usize];
    let all = placement.lanes_that_must_reach(rounds.first, Exits::All) & entering;
    let mut comes = |lane: usize| surely_reaches(rounds, flow, 1 << lane, node);
    lanes_in_set(all).any(&mut comes) || entering != 0 && lanes_in_set(entering).all(comes)
}

/// True if a lane that reaches round 0 also reaches a node.
fn surely_reaches(rounds: &Rounds, flow: &Flow<'_>, lane: Lanes, node: u32) -> bool {
    let graph = flow.graph;
    let mut seen = vec![false; graph.nodes.len()];
    let mut order = vec![rounds.first];
    seen[rounds.first as usize] = true;
    let mut next = 0;
    let mut is_met = rounds.first == node;
    while let Some(&at) = order.get(next) {
        next += 1;
        if at == node {
            is_met = true;
            continue;
        }
        if at == graph.exit || matches!(graph.nodes[at as usize].kind, NodeKind::Unknown) {
            return false;
        }
        let edges = graph.nodes[at as usize].edges.clone();
        for edge in edges.filter(|&edge| flow.edges[edge as usize] & lane != 0) {
            let target = graph.targets[edge as usize];
            if target == rounds.first {
                return false;
            }
            if !std::mem::replace(&mut seen[target as usize], true) {
                order.push(target);
            }
        }
    }
    // Each of these leads to it.
    let mut leads = vec![false; graph.nodes.len()];
    let mut work = vec![node];
    leads[node as usize] = true;
    while let Some(at) = work.pop() {
        for &edge in graph.incoming_edges(at) {
            let source = graph.sources[edge as usize];
            let is_taken = flow.edges[edge as usize] & lane != 0 && seen[source as usize];
            if is_taken && source != node && !std::mem::replace(&mut leads[source as usize], true) {
                work.push(source);
            }
        }
    }
    is_met && order.iter().all(|&at| leads[at as usize])
}
