//! The loops of a graph, as a forest: two loops are disjoint, or one is inside the other.
//!
//! ```text
//! natural(h)    of the edges that go back to a node h that dominates their source: the nodes from which a path leads to
//!               one of these sources without passing h
//! irreducible   of a strongly connected component S of the graph without those edges: S, and natural(h) for each h in
//!               S. It is entered at several places.
//! ```
//!
//! A natural loop that shares a node with such an S contains all of it, or its header is in S. Each loop is found by a
//! backward walk from the sources of its back edges, innermost loops first; a loop that has been found counts as one node.

use super::graph::{Graph, NONE};
use crate::dominators::Tree;

/// A loop.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    /// Its header; of an irreducible loop, the first of its nodes in reverse postorder.
    pub header: u32,
    /// The loop around it.
    pub parent: u32,
    /// The header dominates all of it.
    pub is_natural: bool,
    /// Its own number, then those of the loops inside it.
    pub(super) inside: std::ops::Range<u32>,
}

/// The loops of one graph.
pub(super) struct Forest {
    /// Outer loops after the inner ones.
    pub(super) loops: Vec<Loop>,
    /// The innermost loop of each node, or [`NONE`].
    pub(super) loop_of: Vec<u32>,
    /// By node: an irreducible loop contains it or leads to it. Empty where there is no such loop.
    pub(super) tangled: Vec<bool>,
}

/// Finds the loops of a graph with these nodes in reverse postorder.
pub(super) fn find_loops(graph: &Graph<'_>, nodes: &[u32], rank: &[u32], dominators: &Tree) -> Forest {
    let mut search = LoopSearch {
        graph,
        rank,
        dominators,
        loops: Vec::new(),
        loop_of: vec![NONE; graph.nodes.len()],
        outermost: Vec::new(),
        entries: Vec::new(),
    };
    // An edge that goes back, but not to a dominator.
    let is_crossing = |node: u32| {
        let mut sources = graph.predecessors(node);
        sources.any(|source| search.is_back_edge(source, node) && !search.closes_natural_loop(source, node))
    };
    let (mut components, mut tangled) = (Vec::new(), Vec::new());
    if nodes.iter().any(|&node| is_crossing(node)) {
        components = search.strongly_connected_components(nodes);
        tangled = reached_from(graph, components.iter().flatten().copied());
        // Sorted by the first node; the last entry is taken first.
        for component in &mut components {
            component.sort_unstable_by_key(|&node| rank[node as usize]);
        }
        components.sort_unstable_by_key(|component| rank[component[0] as usize]);
    }
    for &node in nodes.iter().rev() {
        search.add_natural_loop(node);
        while components.last().is_some_and(|component| component[0] == node) {
            let component = components.pop().unwrap_or_default();
            search.add_irreducible_loop(component);
        }
    }
    number_loops(&mut search.loops);
    Forest {
        loops: search.loops,
        loop_of: search.loop_of,
        tangled,
    }
}

struct LoopSearch<'s, 'g> {
    graph: &'s Graph<'g>,
    rank: &'s [u32],
    dominators: &'s Tree,
    loops: Vec<Loop>,
    loop_of: Vec<u32>,
    /// By loop: a loop around it, or itself. Paths are compressed.
    outermost: Vec<u32>,
    /// By loop: its entry nodes.
    entries: Vec<Vec<u32>>,
}

impl LoopSearch<'_, '_> {
    fn is_back_edge(&self, source: u32, target: u32) -> bool {
        self.rank[source as usize] != NONE && self.rank[source as usize] >= self.rank[target as usize]
    }

    /// True if an edge closes a natural loop.
    fn closes_natural_loop(&self, source: u32, target: u32) -> bool {
        self.is_back_edge(source, target) && self.dominators.dominates(target, source)
    }

    /// The outermost loop so far that contains a node, or [`NONE`].
    fn outermost_loop_of(&mut self, node: u32) -> u32 {
        let mut of = self.loop_of[node as usize];
        while of != NONE && self.outermost[of as usize] != of {
            let above = self.outermost[of as usize];
            self.outermost[of as usize] = self.outermost[above as usize];
            of = above;
        }
        of
    }

    fn add_loop(&mut self, header: u32, is_natural: bool, entries: Vec<u32>) -> u32 {
        let own = self.loops.len() as u32;
        self.loops.push(Loop {
            header,
            parent: NONE,
            is_natural,
            inside: 0..0,
        });
        self.outermost.push(own);
        self.entries.push(entries);
        own
    }

    /// Puts a node, with the outermost loop around it if there is one, into a loop.
    fn add_to_loop(&mut self, node: u32, own: u32) {
        match self.outermost_loop_of(node) {
            NONE => self.loop_of[node as usize] = own,
            outer if outer == own => {}
            outer => {
                self.loops[outer as usize].parent = own;
                self.outermost[outer as usize] = own;
            }
        }
    }

    fn add_natural_loop(&mut self, header: u32) {
        let graph = self.graph;
        let closing = graph.predecessors(header);
        let mut work: Vec<u32> = closing
            .filter(|&source| self.closes_natural_loop(source, header))
            .collect();
        if work.is_empty() {
            return;
        }
        let own = self.add_loop(header, true, vec![header]);
        self.add_to_loop(header, own);
        while let Some(node) = work.pop() {
            let before = |node: u32| {
                let sources = graph.predecessors(node);
                sources.filter(|&source| self.rank[source as usize] != NONE)
            };
            match self.outermost_loop_of(node) {
                NONE => work.extend(before(node)),
                outer if outer == own => continue,
                outer => {
                    let entries = self.entries[outer as usize].iter();
                    work.extend(entries.flat_map(|&entry| before(entry)));
                }
            }
            self.add_to_loop(node, own);
        }
    }

    fn add_irreducible_loop(&mut self, component: Vec<u32>) {
        let own = self.add_loop(component[0], false, Vec::new());
        for &node in &component {
            self.add_to_loop(node, own);
        }
        self.entries[own as usize] = component;
    }

    /// The strongly connected components of the graph without the edges that close natural loops, except those of a single
    /// node (Tarjan, "Depth-First Search and Linear Graph Algorithms").
    fn strongly_connected_components(&self, nodes: &[u32]) -> Vec<Vec<u32>> {
        let graph = self.graph;
        let (mut number, mut low) = (vec![NONE; graph.nodes.len()], vec![NONE; graph.nodes.len()]);
        let mut is_open = vec![false; graph.nodes.len()];
        let (mut open, mut found, mut next) = (Vec::new(), Vec::new(), 0);
        for &root in nodes {
            let mut stack: Vec<(u32, std::ops::Range<u32>)> = Vec::new();
            let mut enter = (number[root as usize] == NONE).then_some(root);
            loop {
                if let Some(node) = enter.take() {
                    (number[node as usize], low[node as usize]) = (next, next);
                    next += 1;
                    is_open[node as usize] = true;
                    open.push(node);
                    stack.push((node, graph.nodes[node as usize].edges.clone()));
                }
                let Some((node, edges)) = stack.last_mut() else {
                    break;
                };
                let node = *node;
                if let Some(edge) = edges.next() {
                    let target = graph.targets[edge as usize];
                    if !self.closes_natural_loop(node, target) {
                        if number[target as usize] == NONE {
                            enter = Some(target);
                        } else if is_open[target as usize] {
                            low[node as usize] = low[node as usize].min(number[target as usize]);
                        }
                    }
                    continue;
                }
                stack.pop();
                if let Some((above, _)) = stack.last() {
                    low[*above as usize] = low[*above as usize].min(low[node as usize]);
                }
                if low[node as usize] == number[node as usize] {
                    let start = open.iter().rposition(|&member| member == node).unwrap_or(0);
                    let component = open.split_off(start);
                    for &member in &component {
                        is_open[member as usize] = false;
                    }
                    if component.len() > 1 {
                        found.push(component);
                    }
                }
            }
        }
        found
    }
}

/// The nodes that can be reached from some nodes, these included.
fn reached_from(graph: &Graph<'_>, nodes: impl Iterator<Item = u32>) -> Vec<bool> {
    let mut reached = vec![false; graph.nodes.len()];
    let mut work: Vec<u32> = nodes.collect();
    while let Some(node) = work.pop() {
        if !std::mem::replace(&mut reached[node as usize], true) {
            work.extend(graph.successors(node));
        }
    }
    reached
}

/// Numbers the loops so that those inside one follow it.
fn number_loops(loops: &mut [Loop]) {
    let mut counts = vec![1_u32; loops.len()];
    for of in 0..loops.len() {
        let parent = loops[of].parent;
        if parent != NONE {
            counts[parent as usize] += counts[of];
        }
    }
    // Outer loops come last.
    let mut next = 0;
    let mut free = vec![0_u32; loops.len()];
    for of in (0..loops.len()).rev() {
        let place = match loops[of].parent {
            NONE => &mut next,
            parent => &mut free[parent as usize],
        };
        let start = *place;
        *place += counts[of];
        loops[of].inside = start..start + counts[of];
        free[of] = start + 1;
    }
}
