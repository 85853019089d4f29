//! The control-flow graph of a body: the successors that the IR stores, inverted and ordered.

use std::sync::OnceLock;

use crate::{BlockId, Body};
use ptxcheck_common::groups::Groups;

/// Predecessors, and the blocks in reverse postorder.
#[derive(Debug)]
pub struct Cfg {
    predecessors: Groups<BlockId>,
    order: Vec<BlockId>,
    rank: Vec<u32>,
    /// By rank: see [`Self::may_repeat`]; computed on first demand.
    repeating: OnceLock<Vec<bool>>,
}

/// The rank of a block that the entry does not reach.
const UNREACHED: u32 = u32::MAX;

impl Cfg {
    /// Of `body`; time and memory are linear in its blocks and edges.
    #[must_use]
    pub fn new(body: &Body<'_>) -> Self {
        let count = body.blocks.len();
        let blocks = || (0..count).map(BlockId::new);
        let edges = blocks().flat_map(|block| {
            let to = body.successors(block).iter();
            to.map(move |successor| (successor.index(), block))
        });
        let predecessors = Groups::new(count, edges);
        let order = reverse_postorder(body);
        let mut rank = vec![UNREACHED; count];
        for (number, block) in order.iter().enumerate() {
            rank[block.index()] = number as u32;
        }
        Self {
            predecessors,
            order,
            rank,
            repeating: OnceLock::new(),
        }
    }

    /// False if no path leads from a block back to it. Such a path has an edge that begins at or after the block in reverse postorder and
    /// ends at or before it; true if there is one, which other blocks may need it for.
    #[must_use]
    pub fn may_repeat(&self, block: BlockId) -> bool {
        let repeating = self.repeating.get_or_init(|| {
            let mut changes = vec![0_i64; self.order.len() + 1];
            for (to, &block) in self.order.iter().enumerate() {
                let before = self.predecessors(block).iter();
                for from in before
                    .filter_map(|&from| self.rank(from))
                    .filter(|from| *from >= to)
                {
                    changes[to] += 1;
                    changes[from + 1] -= 1;
                }
            }
            let mut open = 0;
            let around = changes.iter().map(|change| {
                open += change;
                open > 0
            });
            around.collect()
        });
        self.rank(block).is_none_or(|rank| repeating[rank])
    }

    /// The blocks that lead to `block`, one entry per edge.
    #[must_use]
    pub fn predecessors(&self, block: BlockId) -> &[BlockId] {
        self.predecessors.of(block.index())
    }

    /// The number of the first edge into a block; its other edges follow, in the order of [`Self::predecessors`].
    #[must_use]
    pub fn first_edge(&self, block: BlockId) -> usize {
        self.predecessors.start(block.index())
    }

    /// Number of edges.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.predecessors.len()
    }

    /// The blocks that the entry reaches, each before its successors except along back edges.
    #[must_use]
    pub fn reverse_postorder(&self) -> &[BlockId] {
        &self.order
    }

    /// The place of a block in [`Self::reverse_postorder`]; `None` if the entry does not reach it.
    #[must_use]
    pub fn rank(&self, block: BlockId) -> Option<usize> {
        let rank = self.rank[block.index()];
        (rank != UNREACHED).then_some(rank as usize)
    }
}

fn reverse_postorder(body: &Body<'_>) -> Vec<BlockId> {
    let mut seen = vec![false; body.blocks.len()];
    let mut order = Vec::with_capacity(body.blocks.len());
    // Each entry: a block and how many of its successors have been entered.
    let mut stack = vec![(BlockId::new(0), 0)];
    if let Some(entry) = seen.first_mut() {
        *entry = true;
    } else {
        return order;
    }
    while let Some((block, entered)) = stack.last_mut() {
        match body.successors(*block).get(*entered) {
            Some(&successor) => {
                *entered += 1;
                if !std::mem::replace(&mut seen[successor.index()], true) {
                    stack.push((successor, 0));
                }
            }
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}
