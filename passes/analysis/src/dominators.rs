//! Dominators and post-dominators.
//!
//! a dom b: every path from the entry to b passes a. a pdom b: every path from b to an end of the function passes a.
//!
//! Lengauer and Tarjan ("A Fast Algorithm for Finding Dominators in a Flowgraph"), with path compression: over a
//! depth-first tree, semi(v) = the lowest u from which a path leads to v through nodes numbered higher than v alone;
//! the immediate dominator of v is semi(v), or that of the node with the lowest semidominator on the tree path below
//! it. O(edges × log nodes) for any graph: the iterative algorithms are quadratic on long ladders, which an input can
//! be made of.

use super::cfg::Cfg;
use ptxcheck_common::groups::Groups;
use ptxcheck_ir::{BlockId, Body};

/// A tree of immediate dominators over the nodes of any graph.
#[derive(Debug)]
pub(crate) struct Tree {
    /// For each node, its immediate dominator; the root is its own parent, unreached nodes have [`NONE`].
    parent: Vec<u32>,
    /// When the tree's walk enters and leaves a node: a dominates b if b is entered while a is open.
    entered: Vec<u32>,
    left: Vec<u32>,
}

/// No node.
const NONE: u32 = u32::MAX;

impl Tree {
    /// The dominators of a graph of `nodes` nodes with the entry `root`.
    #[must_use]
    pub(crate) fn new<S, P>(
        nodes: usize,
        root: usize,
        successors: impl Fn(usize) -> S,
        predecessors: impl Fn(usize) -> P,
    ) -> Self
    where
        S: Iterator<Item = u32>,
        P: Iterator<Item = u32>,
    {
        let parent = lengauer_tarjan(nodes, root, successors, predecessors);
        let is_child = |node: usize| parent[node] != NONE && parent[node] as usize != node;
        let below = (0..nodes).filter(|&node| is_child(node));
        let children = Groups::new(nodes, below.map(|node| (parent[node] as usize, node)));
        let (mut entered, mut left) = (vec![NONE; nodes], vec![NONE; nodes]);
        let mut clock = 0;
        let mut stack = Vec::new();
        if root < nodes {
            stack.push((root, false));
        }
        while let Some((node, done)) = stack.pop() {
            if done {
                left[node] = clock;
                continue;
            }
            entered[node] = clock;
            clock += 1;
            stack.push((node, true));
            stack.extend(children.of(node).iter().map(|&child| (child, false)));
        }
        Self {
            parent,
            entered,
            left,
        }
    }

    /// The immediate dominator of a node; `None` for the root and for nodes that it does not reach.
    #[must_use]
    pub(crate) fn immediate_dominator(&self, node: u32) -> Option<u32> {
        let parent = self.parent[node as usize];
        (parent != NONE && parent != node).then_some(parent)
    }

    /// True if `a` dominates `b`; a node that is reached dominates itself.
    #[must_use]
    pub(crate) fn dominates(&self, a: u32, b: u32) -> bool {
        let (a, b) = (a as usize, b as usize);
        self.entered[a] != NONE
            && self.entered[b] != NONE
            && (self.entered[a]..self.left[a]).contains(&self.entered[b])
    }
}

/// The dominators (or post-dominators) of the blocks of a body.
#[derive(Debug)]
pub struct Dominators {
    tree: Tree,
    blocks: usize,
}

impl Dominators {
    /// The dominators of `body`.
    #[must_use]
    pub fn new(body: &Body<'_>, cfg: &Cfg) -> Self {
        let count = body.blocks.len();
        let successors = |node: usize| {
            body.successors(BlockId::new(node))
                .iter()
                .map(|block| block.index() as u32)
        };
        let predecessors = |node: usize| {
            cfg.predecessors(BlockId::new(node))
                .iter()
                .map(|block| block.index() as u32)
        };
        Self {
            tree: Tree::new(count, 0, successors, predecessors),
            blocks: count,
        }
    }

    /// The post-dominators of `body`. All ends of paths lead to one virtual exit; a block that reaches none (an
    /// endless loop) has no post-dominator.
    #[must_use]
    pub fn post_dominators(body: &Body<'_>, cfg: &Cfg) -> Self {
        let count = body.blocks.len();
        let is_end = |node: usize| body.successors(BlockId::new(node)).is_empty();
        let ends: Vec<u32> = (0..count)
            .filter(|&node| is_end(node))
            .map(|node| node as u32)
            .collect();
        // The reversed graph, with the virtual exit as its entry.
        let successors = |node: usize| {
            let (blocks, ends): (&[BlockId], &[u32]) = if node == count {
                (&[], &ends)
            } else {
                (cfg.predecessors(BlockId::new(node)), &[])
            };
            blocks
                .iter()
                .map(|block| block.index() as u32)
                .chain(ends.iter().copied())
        };
        let predecessors = |node: usize| {
            let blocks = if node == count {
                &[]
            } else {
                body.successors(BlockId::new(node))
            };
            let exit = (node != count && is_end(node)).then_some(count as u32);
            blocks.iter().map(|block| block.index() as u32).chain(exit)
        };
        Self {
            tree: Tree::new(count + 1, count, successors, predecessors),
            blocks: count,
        }
    }

    /// The immediate dominator; `None` for the root, for blocks it does not reach, and where it is the virtual exit.
    #[must_use]
    pub fn immediate_dominator(&self, block: BlockId) -> Option<BlockId> {
        let parent = self.tree.immediate_dominator(block.index() as u32)? as usize;
        (parent < self.blocks).then(|| BlockId::new(parent))
    }

    /// True if `a` dominates `b`; a block that is reached dominates itself.
    #[must_use]
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        self.tree.dominates(a.index() as u32, b.index() as u32)
    }
}

/// The forest of the second phase: nodes that have been linked, with compressed paths.
struct Forest {
    ancestor: Vec<u32>,
    /// The node with the lowest semidominator on the path up to the root of the tree, the root left out.
    best: Vec<u32>,
    /// Preorder number of the semidominator, by preorder number.
    semi: Vec<u32>,
}

impl Forest {
    /// The node with the lowest semidominator on the path of `node`, which is compressed on the way.
    fn lowest_semidominator(&mut self, node: u32, path: &mut Vec<u32>) -> u32 {
        let mut current = node;
        while self.ancestor[current as usize] != NONE
            && self.ancestor[self.ancestor[current as usize] as usize] != NONE
        {
            path.push(current);
            current = self.ancestor[current as usize];
        }
        while let Some(below) = path.pop() {
            let above = self.ancestor[below as usize] as usize;
            if self.semi[self.best[above] as usize] < self.semi[self.best[below as usize] as usize] {
                self.best[below as usize] = self.best[above];
            }
            self.ancestor[below as usize] = self.ancestor[above];
        }
        self.best[node as usize]
    }
}

/// Immediate dominators by node; the root's own is itself, [`NONE`] for nodes that it does not reach.
fn lengauer_tarjan<S, P>(
    nodes: usize,
    root: usize,
    successors: impl Fn(usize) -> S,
    predecessors: impl Fn(usize) -> P,
) -> Vec<u32>
where
    S: Iterator<Item = u32>,
    P: Iterator<Item = u32>,
{
    let mut immediate = vec![NONE; nodes];
    if root >= nodes {
        return immediate;
    }
    // From here on, nodes are given by their preorder numbers.
    let (mut number, mut order, mut up) = (vec![NONE; nodes], Vec::new(), Vec::new());
    number[root] = 0;
    order.push(root as u32);
    up.push(NONE);
    let mut stack = vec![(0_u32, successors(root))];
    while let Some((from, rest)) = stack.last_mut() {
        let from = *from;
        match rest.find(|&next| number[next as usize] == NONE) {
            Some(next) => {
                let own = order.len() as u32;
                number[next as usize] = own;
                order.push(next);
                up.push(from);
                stack.push((own, successors(next as usize)));
            }
            None => {
                stack.pop();
            }
        }
    }
    let reached = order.len();
    let mut forest = Forest {
        ancestor: vec![NONE; reached],
        best: (0..reached as u32).collect(),
        semi: (0..reached as u32).collect(),
    };
    // Nodes by their semidominator, as linked lists.
    let (mut bucket, mut next_in_bucket) = (vec![NONE; reached], vec![NONE; reached]);
    let mut dominator = vec![NONE; reached];
    let mut path = Vec::new();
    for node in (1..reached as u32).rev() {
        for before in predecessors(order[node as usize] as usize) {
            let before = number[before as usize];
            if before != NONE {
                let best = forest.lowest_semidominator(before, &mut path);
                forest.semi[node as usize] = forest.semi[node as usize].min(forest.semi[best as usize]);
            }
        }
        let semi = forest.semi[node as usize] as usize;
        next_in_bucket[node as usize] = bucket[semi];
        bucket[semi] = node;
        let parent = up[node as usize];
        forest.ancestor[node as usize] = parent;
        let mut waiting = std::mem::replace(&mut bucket[parent as usize], NONE);
        while waiting != NONE {
            let best = forest.lowest_semidominator(waiting, &mut path);
            let is_lower = forest.semi[best as usize] < forest.semi[waiting as usize];
            dominator[waiting as usize] = if is_lower { best } else { parent };
            waiting = next_in_bucket[waiting as usize];
        }
    }
    for node in 1..reached {
        if dominator[node] != forest.semi[node] {
            dominator[node] = dominator[dominator[node] as usize];
        }
        immediate[order[node] as usize] = order[dominator[node] as usize];
    }
    immediate[root] = root as u32;
    immediate
}
