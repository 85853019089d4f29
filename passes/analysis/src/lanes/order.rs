//! Orders of a graph's nodes: reverse postorder, dominators, loops.

use super::graph::{Graph, NONE};
use super::loops::{self, Loop};
use crate::dominators::Tree;

/// The orders of one graph.
pub(super) struct Order {
    /// The nodes that the entry reaches, in reverse postorder.
    pub nodes: Vec<u32>,
    /// The rank of each node in it, or [`NONE`].
    pub rank: Vec<u32>,
    dominators: Tree,
    /// The loops, outer ones after the inner ones.
    pub loops: Vec<Loop>,
    /// The innermost loop of each node, or [`NONE`].
    pub loop_of: Vec<u32>,
    /// By node: the end of the straight code that starts there. A path through the node reaches nothing else up to that end,
    /// in the same loops. The node itself if it has several predecessors or successors.
    pub leads_to: Vec<u32>,
    /// By node: an irreducible loop contains it or leads to it. Empty where there is no such loop.
    tangled: Vec<bool>,
}

impl Order {
    /// Orders of `graph`. Time is nearly linear in its edges.
    #[must_use]
    pub(super) fn new(graph: &Graph<'_>) -> Self {
        let nodes = postorder(graph);
        let mut rank = vec![NONE; graph.nodes.len()];
        for (place, &node) in nodes.iter().enumerate() {
            rank[node as usize] = place as u32;
        }
        let dominators = Tree::new(
            graph.nodes.len(),
            0,
            |node| graph.successors(node as u32),
            |node| graph.predecessors(node as u32),
        );
        let forest = loops::find_loops(graph, &nodes, &rank, &dominators);
        let mut order = Self {
            nodes,
            rank,
            dominators,
            loops: forest.loops,
            loop_of: forest.loop_of,
            leads_to: (0..graph.nodes.len() as u32).collect(),
            tangled: forest.tangled,
        };
        order.find_straight_code(graph);
        order
    }

    /// The immediate dominator of a node that is reached; the entry's is itself.
    #[must_use]
    pub(super) fn immediate_dominator(&self, node: u32) -> u32 {
        self.dominators.immediate_dominator(node).unwrap_or(node)
    }

    /// True if `a` dominates `b`; both are reached.
    #[must_use]
    pub(super) fn dominates(&self, a: u32, b: u32) -> bool {
        self.dominators.dominates(a, b)
    }

    /// True if an irreducible loop contains a node or leads to it: the round of a lane is not known there.
    #[must_use]
    pub(super) fn is_in_or_before_irreducible_loop(&self, node: u32) -> bool {
        self.tangled.get(node as usize).copied().unwrap_or(false)
    }

    /// True if a node is in a loop.
    #[must_use]
    pub(super) fn is_in_loop(&self, node: u32, of: u32) -> bool {
        let inner = self.loop_of[node as usize];
        inner != NONE
            && self.loops[of as usize]
                .inside
                .contains(&self.loops[inner as usize].inside.start)
    }

    /// The loops that contain a node, innermost first.
    pub(super) fn loops_around(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(Some(self.loop_of[node as usize]), |&inner| {
            (inner != NONE).then(|| self.loops[inner as usize].parent)
        })
        .take_while(|&inner| inner != NONE)
    }

    /// The loops that an edge leaves, innermost first.
    pub(super) fn loops_left_by_edge(&self, source: u32, target: u32) -> impl Iterator<Item = u32> + '_ {
        self.loops_around(source)
            .take_while(move |&of| !self.is_in_loop(target, of))
    }

    /// True if an edge goes back in [`Self::nodes`]: to the header of a loop around its source, or into an
    /// irreducible loop around it.
    #[must_use]
    pub(super) fn is_back_edge(&self, source: u32, target: u32) -> bool {
        self.rank[source as usize] >= self.rank[target as usize]
    }

    /// True if an edge goes back to the header of a natural loop around `node`: lanes that take it are in a later round than
    /// lanes that reach `node` now.
    #[must_use]
    pub(super) fn is_edge_to_next_round_around(&self, source: u32, target: u32, node: u32) -> bool {
        let own = self.loop_of[target as usize];
        own != NONE
            && self.is_back_edge(source, target)
            && self.loops[own as usize].is_natural
            && self.loops[own as usize].header == target
            && self.is_in_loop(source, own)
            && self.is_in_loop(node, own)
    }

    fn find_straight_code(&mut self, graph: &Graph<'_>) {
        for &node in self.nodes.iter().rev() {
            let mut after = graph.successors(node);
            if let (Some(next), None, [_]) = (after.next(), after.next(), graph.incoming_edges(node))
                && !graph.is_end_node(next)
                && !self.is_back_edge(node, next)
                && self.loop_of[node as usize] == self.loop_of[next as usize]
            {
                self.leads_to[node as usize] = self.leads_to[next as usize];
            }
        }
    }
}

fn postorder(graph: &Graph<'_>) -> Vec<u32> {
    let mut seen = vec![false; graph.nodes.len()];
    let mut order = Vec::new();
    let mut stack = vec![(0_u32, graph.nodes[0].edges.clone())];
    seen[0] = true;
    while let Some((node, edges)) = stack.last_mut() {
        match edges.next() {
            Some(edge) => {
                let target = graph.targets[edge as usize];
                if !std::mem::replace(&mut seen[target as usize], true) {
                    stack.push((target, graph.nodes[target as usize].edges.clone()));
                }
            }
            None => {
                order.push(*node);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}
