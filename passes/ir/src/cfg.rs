//! The control-flow graph of a body: the successors that the IR stores, inverted and ordered.

use crate::{BlockId, Body};
use ptxcheck_common::groups::Groups;

/// Predecessors, and the blocks in reverse postorder.
#[derive(Debug)]
pub struct Cfg {
    predecessors: Groups<BlockId>,
    order: Vec<BlockId>,
    rank: Vec<u32>,
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
        }
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
