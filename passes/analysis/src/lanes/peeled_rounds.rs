//! Graph nodes for loops whose first rounds are copied (peeled).

/// The peeled rounds of a loop in a graph.
pub(super) struct Rounds {
    /// By node: the node that it is a copy of, or itself.
    pub origin: Vec<u32>,
    /// The header of round 0.
    pub first: u32,
    /// The first copied node. All nodes from this one on are copies.
    pub copies: u32,
    /// The nodes of the loop, in order. Each round has a copy of each of them.
    pub inside: Vec<u32>,
}

impl Rounds {
    /// The copies of a node and itself, if it is in the loop.
    pub(super) fn copies_of(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let origin = self.origin[node as usize];
        let place = self.inside.binary_search(&origin).unwrap_or(0);
        let copies = self.copies + place as u32..self.origin.len() as u32;
        copies.step_by(self.inside.len()).chain([origin])
    }

    /// The index of the round that a node is in, from 0. `None` outside the loop, and in the loop that remains after the
    /// peeled rounds.
    pub(super) fn round_of_node(&self, node: u32) -> Option<u32> {
        let copy = node.checked_sub(self.copies)?;
        Some(copy / self.inside.len() as u32)
    }

    /// True if a node is in a round of the loop.
    pub(super) fn is_in_round(&self, node: u32) -> bool {
        self.inside.binary_search(&self.origin[node as usize]).is_ok()
    }

    /// The original header of the loop, which control reaches after the peeled rounds.
    pub(super) fn original_header(&self) -> u32 {
        self.origin[self.first as usize]
    }
}
