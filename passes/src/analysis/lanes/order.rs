//! Orders of a graph's nodes: reverse postorder, dominators, natural loops.
//!
//! Dominators by the iteration of Cooper, Harvey and Kennedy; loops by walking back
//! from their back edges, innermost first, each node once.

use super::graph::Graph;

/// No node, no loop.
pub const NONE: u32 = u32::MAX;

/// A natural loop.
#[derive(Clone, Debug)]
pub struct Loop {
    /// Its header.
    pub header: u32,
    /// The loop around it.
    pub parent: u32,
    /// Its own number, then those of the loops inside it.
    inside: std::ops::Range<u32>,
}

/// The orders of one graph.
pub struct Order {
    /// The nodes that the entry reaches, in reverse postorder.
    pub nodes: Vec<u32>,
    /// Each one's place in it, or [`NONE`].
    pub rank: Vec<u32>,
    /// Immediate dominators; the entry's is itself.
    pub dominator: Vec<u32>,
    /// The loops, outer ones after the inner ones.
    pub loops: Vec<Loop>,
    /// The innermost loop of each node, or [`NONE`].
    pub loop_of: Vec<u32>,
    /// By node, where it leads: what comes to it alone comes to nothing else up to there, in the same loops. Itself, where
    /// several ways come to it or go on from it.
    pub leads_to: Vec<u32>,
    /// Some cycle has no header that dominates it.
    pub is_irreducible: bool,
}

impl Order {
    /// Of `graph`.
    #[must_use]
    pub fn new(graph: &Graph<'_>) -> Self {
        let nodes = postorder(graph);
        let mut rank = vec![NONE; graph.nodes.len()];
        for (place, &node) in nodes.iter().enumerate() {
            rank[node as usize] = place as u32;
        }
        let mut order = Self {
            dominator: dominators(graph, &nodes, &rank),
            nodes,
            rank,
            loops: Vec::new(),
            loop_of: vec![NONE; graph.nodes.len()],
            leads_to: (0..graph.nodes.len() as u32).collect(),
            is_irreducible: false,
        };
        order.find_loops(graph);
        order.number_loops();
        order.find_straight_code(graph);
        order
    }

    /// Whether `a` dominates `b`; both are reached.
    #[must_use]
    pub fn dominates(&self, a: u32, b: u32) -> bool {
        let mut node = b;
        while self.rank[node as usize] > self.rank[a as usize] {
            node = self.dominator[node as usize];
        }
        node == a
    }

    /// Whether a node is in a loop.
    #[must_use]
    pub fn is_in(&self, node: u32, of: u32) -> bool {
        let inner = self.loop_of[node as usize];
        inner != NONE
            && self.loops[of as usize]
                .inside
                .contains(&self.loops[inner as usize].inside.start)
    }

    /// The loops that contain a node, innermost first.
    pub fn loops_of(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(Some(self.loop_of[node as usize]), |&inner| {
            (inner != NONE).then(|| self.loops[inner as usize].parent)
        })
        .take_while(|&inner| inner != NONE)
    }

    /// Whether an edge goes back to the header of a loop that contains its source.
    #[must_use]
    pub fn is_back(&self, source: u32, target: u32) -> bool {
        self.rank[source as usize] >= self.rank[target as usize]
    }

    fn find_straight_code(&mut self, graph: &Graph<'_>) {
        for &node in self.nodes.iter().rev() {
            let mut after = graph.successors(node);
            if let (Some(next), None, [_]) = (after.next(), after.next(), graph.incoming(node))
                && !graph.is_end(next)
                && !self.is_back(node, next)
                && self.loop_of[node as usize] == self.loop_of[next as usize]
            {
                self.leads_to[node as usize] = self.leads_to[next as usize];
            }
        }
    }

    /// Numbers the loops so that those inside one follow it.
    fn number_loops(&mut self) {
        let mut counts = vec![1_u32; self.loops.len()];
        for of in 0..self.loops.len() {
            let parent = self.loops[of].parent;
            if parent != NONE {
                counts[parent as usize] += counts[of];
            }
        }
        // Outer loops come last.
        let mut next = 0;
        let mut free = vec![0_u32; self.loops.len()];
        for of in (0..self.loops.len()).rev() {
            let place = match self.loops[of].parent {
                NONE => &mut next,
                parent => &mut free[parent as usize],
            };
            let start = *place;
            *place += counts[of];
            self.loops[of].inside = start..start + counts[of];
            free[of] = start + 1;
        }
    }

    fn find_loops(&mut self, graph: &Graph<'_>) {
        let nodes = self.nodes.clone();
        let mut work = Vec::new();
        for &header in nodes.iter().rev() {
            let mut is_header = false;
            for &edge in graph.incoming(header) {
                let source = graph.sources[edge as usize];
                if self.rank[source as usize] == NONE || !self.is_back(source, header) {
                    continue;
                }
                if self.dominates(header, source) {
                    is_header = true;
                    work.push(source);
                } else {
                    self.is_irreducible = true;
                }
            }
            if !is_header {
                continue;
            }
            let own = self.loops.len() as u32;
            self.loops.push(Loop {
                header,
                parent: NONE,
                inside: 0..0,
            });
            self.loop_of[header as usize] = own;
            while let Some(node) = work.pop() {
                let mut outer = self.loop_of[node as usize];
                while outer != NONE && outer != own && self.loops[outer as usize].parent != NONE {
                    outer = self.loops[outer as usize].parent;
                }
                if outer == own {
                    continue;
                }
                let from = if outer == NONE {
                    self.loop_of[node as usize] = own;
                    node
                } else {
                    self.loops[outer as usize].parent = own;
                    self.loops[outer as usize].header
                };
                work.extend(
                    graph
                        .incoming(from)
                        .iter()
                        .map(|&edge| graph.sources[edge as usize])
                        .filter(|&source| self.rank[source as usize] != NONE),
                );
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

fn dominators(graph: &Graph<'_>, nodes: &[u32], rank: &[u32]) -> Vec<u32> {
    let mut parent = vec![NONE; graph.nodes.len()];
    parent[0] = 0;
    let mut changed = true;
    while changed {
        changed = false;
        for &node in nodes.iter().skip(1) {
            let mut ancestor = NONE;
            for &edge in graph.incoming(node) {
                let source = graph.sources[edge as usize];
                if parent[source as usize] == NONE {
                    continue;
                }
                ancestor = if ancestor == NONE {
                    source
                } else {
                    common(&parent, rank, ancestor, source)
                };
            }
            if ancestor != NONE && parent[node as usize] != ancestor {
                parent[node as usize] = ancestor;
                changed = true;
            }
        }
    }
    parent
}

fn common(parent: &[u32], rank: &[u32], mut a: u32, mut b: u32) -> u32 {
    while a != b {
        while rank[a as usize] > rank[b as usize] {
            a = parent[a as usize];
        }
        while rank[b as usize] > rank[a as usize] {
            b = parent[b as usize];
        }
    }
    a
}
