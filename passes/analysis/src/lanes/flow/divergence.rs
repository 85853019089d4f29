//! Branches: the lanes that take each edge, and the joins at which paths meet again.

use super::super::graph::NONE;
use super::super::graph::Test;
use super::super::value::{Lanes, ValueId, lane_set, lanes_in_set};
use super::{Flow, State};

/// The paths from a branch that are being followed.
#[derive(Default)]
pub(super) struct BranchWalk {
    /// Edges to visit, with the label of the path.
    pending: Vec<(u32, u32, u32)>,
    /// By node: the last walk that reached it, and the label.
    labels: Vec<(u32, u32)>,
    walk: u32,
    /// Nodes to continue from, by rank.
    ranks: Ranks,
    /// By loop: the last walk in which a path goes round it, and the last in which a path leaves it.
    rounds: Vec<u32>,
    exits: Vec<u32>,
}

/// A set of ranks from which the lowest is taken first. Added ranks are mostly above the ranks already taken, and close to
/// them.
#[derive(Default)]
struct Ranks {
    words: Vec<u64>,
    count: usize,
    /// All words below this one are empty.
    first: usize,
}

impl Ranks {
    fn clear(&mut self, ranks: usize) {
        if self.count > 0 {
            self.words.fill(0);
        }
        self.words.resize(ranks.div_ceil(64), 0);
        (self.count, self.first) = (0, self.words.len());
    }

    /// Adds a rank that is not in the set.
    fn add_rank(&mut self, rank: u32) {
        let word = rank as usize / 64;
        self.words[word] |= 1 << (rank % 64);
        self.count += 1;
        self.first = self.first.min(word);
    }

    fn take_lowest(&mut self) -> Option<u32> {
        self.count = self.count.checked_sub(1)?;
        while self.words[self.first] == 0 {
            self.first += 1;
        }
        let word = &mut self.words[self.first];
        let bit = word.trailing_zeros();
        *word &= *word - 1;
        Some(self.first as u32 * 64 + bit)
    }
}

impl BranchWalk {
    /// Begins a walk over a graph of so many nodes and loops.
    fn begin_walk(&mut self, nodes: usize, loops: usize) {
        self.labels.resize(nodes, (0, 0));
        self.rounds.resize(loops, 0);
        self.exits.resize(loops, 0);
        self.walk += 1;
        self.pending.clear();
        self.ranks.clear(nodes);
    }

    fn label_of(&self, node: u32) -> Option<u32> {
        let (walk, label) = self.labels[node as usize];
        (walk == self.walk).then_some(label)
    }

    fn set_label(&mut self, node: u32, label: u32) {
        self.labels[node as usize] = (self.walk, label);
    }
}

impl Flow<'_> {
    /// Splits the lanes of a node among its edges.
    pub(super) fn split_lanes_at_branch(&mut self, node: u32, here: Lanes, state: &State) {
        let current = &self.graph.nodes[node as usize];
        let edges = current.edges.clone();
        let count = edges.len();
        let mut split = [here; 2];
        match current.test {
            Test::None => {}
            Test::Guard(guard) => {
                let id = self.guard_value(node, state, guard.register, guard.negated);
                self.tests[node as usize] = id;
                let vector = self.pool.get(id);
                let truths = lane_set(lanes_in_set(vector.exact).filter(|&lane| vector.bits[lane] & 1 == 1));
                split = [here & (truths | !vector.exact), here & !(truths & vector.exact)];
                let is_one = vector.is_uniform_among(here);
                let warp = vector.warp && here & !vector.exact != 0;
                self.wants_warp |= warp;
                if !is_one {
                    self.mark_divergence(node);
                }
            }
            Test::Table(index, guard) => {
                let id = self.operand_value(node, state, index);
                let id = if guard.is_some() { ValueId::UNKNOWN } else { id };
                self.tests[node as usize] = id;
                let vector = self.pool.get(id).clone();
                self.wants_warp |= vector.warp && here & !vector.exact != 0;
                if !vector.is_uniform_among(here) {
                    self.mark_divergence(node);
                }
                for (place, edge) in edges.clone().enumerate() {
                    let taken = lane_set(lanes_in_set(here).filter(|&lane| {
                        vector
                            .value_in_lane(lane)
                            .is_none_or(|value| value == place as u64)
                    }));
                    self.set_edge(edge, taken);
                }
                return;
            }
        }
        for (place, edge) in edges.enumerate() {
            self.set_edge(edge, if count == 2 { split[place] } else { here });
        }
    }

    fn set_edge(&mut self, edge: u32, lanes: Lanes) {
        let known = &mut self.edges[edge as usize];
        if *known != lanes {
            *known = lanes;
            self.is_dirty[self.graph.targets[edge as usize] as usize] = true;
        }
    }

    /// Follows the paths from a branch at which lanes may disagree until they have all met again, and marks the joins and
    /// loops on them as divergent.
    ///
    /// Each path has a label, its first node; a node that two labels reach is a join, and becomes the label of the paths
    /// from there on. Straight code is skipped.
    pub(super) fn mark_divergence(&mut self, branch: u32) {
        let graph = self.graph;
        if std::mem::replace(&mut self.is_followed[branch as usize], true) {
            return;
        }
        let mut walk = std::mem::take(&mut self.walk);
        walk.begin_walk(graph.nodes.len(), self.order.loops.len());
        self.follow_paths(branch, &mut walk);
        self.walk = walk;
    }

    fn follow_paths(&mut self, branch: u32, walk: &mut BranchWalk) {
        let graph = self.graph;
        for target in graph.successors(branch) {
            walk.pending.push((branch, target, target));
        }
        loop {
            while let Some((from, target, label)) = walk.pending.pop() {
                if !graph.is_end_node(target) {
                    self.reach_node(branch, walk, from, target, label);
                }
            }
            // One path is left: all lanes that are still here take it.
            if walk.ranks.count <= 1 {
                return;
            }
            let Some(rank) = walk.ranks.take_lowest() else {
                return;
            };
            let node = self.order.nodes[rank as usize];
            if self.steps_left == 0 {
                return self.give_up();
            }
            self.steps_left -= 1;
            let label = walk.label_of(node).unwrap_or(node);
            walk.pending
                .extend(graph.successors(node).map(|target| (node, target, label)));
        }
    }

    fn reach_node(&mut self, branch: u32, walk: &mut BranchWalk, from: u32, target: u32, label: u32) {
        let order = self.order;
        let is_back = order.is_back_edge(from, target);
        let target = order.leads_to[target as usize];
        match walk.label_of(target) {
            None => {
                walk.set_label(target, label);
                if !is_back {
                    walk.ranks.add_rank(order.rank[target as usize]);
                }
            }
            Some(known) if known != label && known != target => {
                walk.set_label(target, target);
                self.mark_join(target);
            }
            Some(known) if known != label => self.mark_join(target),
            Some(_) => {}
        }
        // Inside the innermost loop around the branch, no loop is repeated or left.
        if !is_back && order.loop_of[target as usize] == order.loop_of[branch as usize] {
            return;
        }
        for of in order.loops_around(branch) {
            let (rounds, exits) = (&mut walk.rounds[of as usize], &mut walk.exits[of as usize]);
            let is_inside = order.is_in_loop(target, of);
            if is_back && order.loops[of as usize].header == target {
                *rounds = walk.walk;
            } else if !is_inside {
                *exits = walk.walk;
            }
            let is_left = *rounds == walk.walk && *exits == walk.walk;
            if is_left && !std::mem::replace(&mut self.is_divergent_loop[of as usize], true) {
                self.has_divergent_loop = true;
                self.left.push(of);
                // Lanes that stay may leave anywhere later.
                let exits = &self.exits[of as usize];
                walk.pending
                    .extend(exits.iter().map(|&(node, next)| (node, next, next)));
            }
            // The outer loops hold both nodes, and none of their headers is in between.
            if is_inside {
                return;
            }
        }
    }

    fn mark_join(&mut self, node: u32) {
        if !std::mem::replace(&mut self.is_divergent_join[node as usize], true) {
            self.is_dirty[node as usize] = true;
        }
    }

    /// Re-queues the users of values from loops that became divergent.
    pub(super) fn revisit_after_divergent_loops(&mut self) {
        if self.left.is_empty() {
            return;
        }
        let order = self.order;
        let mut is_left = vec![false; order.loops.len()];
        for of in self.left.drain(..) {
            is_left[of as usize] = true;
            for &(_, next) in &self.exits[of as usize] {
                self.is_dirty[next as usize] = true;
            }
        }
        for (readers, &defined_in) in self.readers.iter().zip(&self.single_loop) {
            let mut around = defined_in;
            while around != NONE && !is_left[around as usize] {
                around = order.loops[around as usize].parent;
            }
            if around != NONE {
                for &reader in readers {
                    self.is_dirty[reader as usize] = true;
                }
            }
        }
    }

    fn give_up(&mut self) {
        self.is_divergent_join.fill(true);
        self.is_divergent_loop.fill(true);
        self.has_divergent_loop = true;
        self.is_dirty.fill(true);
    }
}
