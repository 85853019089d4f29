//! Dominators and post-dominators.
//!
//! a dom b: every path from the entry to b passes a. a pdom b: every path from b to an end of the function passes a.
//! Both by the iteration of Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm"): over the blocks in
//! reverse postorder, idom(b) = the nearest common ancestor of the processed predecessors, until nothing changes.

use super::cfg::Cfg;
use crate::ir::{BlockId, Body};

/// A tree of immediate dominators (or post-dominators).
#[derive(Debug)]
pub struct Dominators {
    /// By node; the root is its own parent, unreached nodes have [`NONE`].
    parent: Vec<u32>,
    /// Place in the order of the iteration: a parent's is lower than its children's.
    rank: Vec<u32>,
    blocks: usize,
}

const NONE: u32 = u32::MAX;

impl Dominators {
    /// The dominators of `body`.
    #[must_use]
    pub fn new(body: &Body<'_>, cfg: &Cfg) -> Self {
        let order: Vec<u32> = cfg
            .reverse_postorder()
            .iter()
            .map(|block| block.index() as u32)
            .collect();
        let count = body.blocks.len();
        Self::iterate(count, count, &order, |node, visit| {
            for block in cfg.predecessors(BlockId::new(node)) {
                visit(block.index());
            }
        })
    }

    /// The post-dominators of `body`. All ends of paths lead to one virtual exit; a block that reaches none (an
    /// endless loop) has no post-dominator.
    #[must_use]
    pub fn post(body: &Body<'_>, cfg: &Cfg) -> Self {
        let count = body.blocks.len();
        let exit = count;
        let ends: Vec<u32> = (0..count)
            .filter(|&b| body.successors(BlockId::new(b)).is_empty())
            .map(|b| b as u32)
            .collect();
        let order = reversed_order(count, exit, &ends, cfg);
        Self::iterate(count + 1, count, &order, |node, visit| {
            if node == exit {
                return;
            }
            let successors = body.successors(BlockId::new(node));
            if successors.is_empty() {
                visit(exit);
            }
            for block in successors {
                visit(block.index());
            }
        })
    }

    /// `before(node, visit)` visits the nodes whose common ancestor dominates `node`.
    fn iterate(
        nodes: usize,
        blocks: usize,
        order: &[u32],
        before: impl Fn(usize, &mut dyn FnMut(usize)),
    ) -> Self {
        let mut tree = Self {
            parent: vec![NONE; nodes],
            rank: vec![NONE; nodes],
            blocks,
        };
        for (rank, &node) in order.iter().enumerate() {
            tree.rank[node as usize] = rank as u32;
        }
        let Some((&root, rest)) = order.split_first() else {
            return tree;
        };
        tree.parent[root as usize] = root;
        let mut changed = true;
        while changed {
            changed = false;
            for &node in rest {
                let mut ancestor = NONE;
                before(node as usize, &mut |other| {
                    if tree.parent[other] != NONE {
                        ancestor = if ancestor == NONE {
                            other as u32
                        } else {
                            tree.common(ancestor, other as u32)
                        };
                    }
                });
                if ancestor != NONE && tree.parent[node as usize] != ancestor {
                    tree.parent[node as usize] = ancestor;
                    changed = true;
                }
            }
        }
        tree
    }

    fn common(&self, mut a: u32, mut b: u32) -> u32 {
        while a != b {
            while self.rank[a as usize] > self.rank[b as usize] {
                a = self.parent[a as usize];
            }
            while self.rank[b as usize] > self.rank[a as usize] {
                b = self.parent[b as usize];
            }
        }
        a
    }

    /// The immediate dominator; `None` for the root, for blocks it does not reach, and where it is the virtual exit.
    #[must_use]
    pub fn immediate(&self, block: BlockId) -> Option<BlockId> {
        let parent = self.parent[block.index()];
        let real = parent != NONE && parent as usize != block.index() && (parent as usize) < self.blocks;
        real.then(|| BlockId::new(parent as usize))
    }

    /// Whether `a` dominates `b`; a block dominates itself.
    #[must_use]
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        let target = self.rank[a.index()];
        let mut node = b.index() as u32;
        while self.rank[node as usize] != NONE && self.rank[node as usize] > target {
            node = self.parent[node as usize];
            if node == NONE {
                return false;
            }
        }
        node as usize == a.index()
    }
}

/// Reverse postorder of the reversed graph, from the virtual exit.
fn reversed_order(count: usize, exit: usize, ends: &[u32], cfg: &Cfg) -> Vec<u32> {
    let mut seen = vec![false; count];
    let mut order = Vec::with_capacity(count + 1);
    let mut stack: Vec<(usize, usize)> = Vec::new();
    for &end in ends {
        if std::mem::replace(&mut seen[end as usize], true) {
            continue;
        }
        stack.push((end as usize, 0));
        while let Some((node, entered)) = stack.last_mut() {
            match cfg.predecessors(BlockId::new(*node)).get(*entered) {
                Some(before) => {
                    *entered += 1;
                    let before = before.index();
                    if !std::mem::replace(&mut seen[before], true) {
                        stack.push((before, 0));
                    }
                }
                None => {
                    order.push(*node as u32);
                    stack.pop();
                }
            }
        }
    }
    order.push(exit as u32);
    order.reverse();
    order
}
