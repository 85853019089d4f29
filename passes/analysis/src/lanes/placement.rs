//! Arrival of lanes: the lanes guaranteed to be at a point whenever any lane of their warp is, and the lanes that have left
//! before.
//!
//! ```text
//! act(n)       lanes that may have a visible effect from n on: a store, an atomic, a call, a collective, a barrier
//! silent(n)    lanes that may get from n to their end without one, after the last collective that may be the one where others wait
//!              for them: effects before it precede all further effects of the waiting lanes
//! exits(B)     edges that leave B, the nodes between a dominator d and n: a lane that takes one is not at n
//! must(n)      lanes of must(d) that no such edge may take, except edges that are *shared*: all of may(n) are in must(b)
//!              at the branch b that the edge leaves, and all agree there, so that no lane is at n if one has taken it
//! must(h)      of a loop header: the greatest set for which the same holds from one round of the loop to the next
//! ```
//!
//! An exit after which a lane is *silent* until its end does not count: a lane that has ended satisfies a collective. So
//! must(n) reads "here, or ended without a visible effect".

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::flow::Flow;
use super::graph::{NONE, NodeKind};
use super::value::{ALL, Lanes, ValueId, lane_set, lanes_in_set};
use super::visible::{self, Visible};
use crate::limits::{MAX_PLACEMENT_STEPS, MAX_SIBLING_STEPS};
use ptxcheck_common::deadline::Deadline;

/// The placement of lanes in one solution.
pub(super) struct Placement<'f, 'a> {
    flow: &'f Flow<'a>,
    may_act: Vec<Lanes>,
    may_end_silently: Vec<Lanes>,
    /// For each node, with silent exits counted or not.
    memo: [FxHashMap<u32, Lanes>; 2],
    /// Lanes that surely begin together at the entry.
    entry: Lanes,
    steps_left: usize,
    /// Steps left for the search of siblings.
    sibling_steps_left: usize,
    deadline: &'f Deadline,
    mark: Vec<u32>,
    epoch: u32,
    /// For each loop: the lanes that leave it, or a loop around it, and may end silently; and those that may have a visible
    /// effect.
    exits: Vec<(Lanes, Lanes)>,
    /// By node: the first node of the straight code that contains it.
    first: Vec<u32>,
    departures: FxHashMap<u32, Rc<Departures>>,
}

/// The edges by which lanes leave the paths to a node.
#[derive(Default)]
pub(super) struct Departures {
    /// The edges.
    pub all: Vec<Departure>,
    /// The lanes that may take one.
    pub leaving: Lanes,
    /// The leaving lanes that may have a visible effect afterwards.
    pub may_act: Lanes,
    /// The leaving lanes that may end without a visible effect.
    pub may_end_silently: Lanes,
    /// Lanes with a visible effect leave at a branch that the index of the warp decides.
    pub by_warp: bool,
}

/// Which exits count as leaving the paths to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exits {
    /// All of them: the result is "surely here".
    All,
    /// All but silent ones: the result is "surely here or ended".
    NotSilent,
}

/// An edge by which lanes leave the paths to a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    /// Its source node.
    pub source: u32,
    /// The edge.
    pub edge: u32,
    /// The lanes that may take it.
    pub lanes: Lanes,
}

impl<'f, 'a> Placement<'f, 'a> {
    /// Placement in a solution. `entry`: the lanes that surely begin together. `signs`: the collectives that surely count as
    /// a visible effect.
    #[must_use]
    pub(super) fn new(flow: &'f Flow<'a>, entry: Lanes, signs: &rustc_hash::FxHashSet<u32>) -> Self {
        let graph = flow.graph;
        let visible: Vec<Visible> = (0..graph.nodes.len() as u32)
            .map(|node| {
                let mut found = visible::effect_of_node(flow, node);
                if flow.graph.nodes[node as usize].kind == NodeKind::Collective {
                    found.surely = signs.contains(&node);
                }
                found
            })
            .collect();
        let (may_act, may_end_silently) = acting_and_silent_lanes(flow, &visible);
        Self {
            flow,
            exits: loop_exits(flow, &may_act, &may_end_silently),
            first: straight_code_heads(flow),
            may_act,
            may_end_silently,
            memo: [FxHashMap::default(), FxHashMap::default()],
            entry,
            steps_left: MAX_PLACEMENT_STEPS,
            sibling_steps_left: MAX_SIBLING_STEPS,
            deadline: flow.module.deadline,
            mark: vec![0; graph.nodes.len()],
            epoch: 0,
            departures: FxHashMap::default(),
        }
    }

    /// The lanes that certainly have no visible effect from a node on.
    #[must_use]
    pub(super) fn surely_silent_lanes(&self, node: u32) -> Lanes {
        !self.may_act[node as usize]
    }

    /// The lanes that certainly have a visible effect from a node on, or never end.
    #[must_use]
    pub(super) fn surely_acting_lanes(&self, node: u32) -> Lanes {
        !self.may_end_silently[node as usize]
    }

    /// The lanes that are surely at a node whenever some lane of their warp is.
    pub(super) fn lanes_that_must_reach(&mut self, node: u32, exits: Exits) -> Lanes {
        if self.flow.order.is_in_or_before_irreducible_loop(node) {
            return 0;
        }
        let memo = exits as usize;
        // Dominators first: a recursion as deep as the code is long is avoided.
        let mut chain = vec![node];
        while let Some(&last) = chain.last() {
            match self.outer_dominator_of(last) {
                Some(next) if !self.memo[memo].contains_key(&last) => chain.push(next),
                _ => break,
            }
        }
        while let Some(node) = chain.pop() {
            if !self.memo[memo].contains_key(&node) {
                let found = self.find_lanes_that_must_reach(node, exits, 0);
                self.memo[memo].insert(node, found);
            }
        }
        self.memo[memo][&node]
    }

    /// The nearest dominator that is in no loop that does not contain the node.
    fn outer_dominator_of(&self, node: u32) -> Option<u32> {
        let order = self.flow.order;
        if node == 0 {
            return None;
        }
        let own = order.loop_of[node as usize];
        let is_header = own != NONE && order.loops[own as usize].header == node;
        let mut dominator = order.immediate_dominator(node);
        loop {
            let of = order.loop_of[dominator as usize];
            let fits = of == NONE || order.is_in_loop(node, of) && !(is_header && of == own);
            if fits || dominator == 0 {
                return Some(dominator);
            }
            dominator = order.immediate_dominator(dominator);
        }
    }

    fn find_lanes_that_must_reach(&mut self, node: u32, exits: Exits, depth: usize) -> Lanes {
        let Some(root) = self.outer_dominator_of(node) else {
            return self.entry;
        };
        let memo = exits as usize;
        let before = self.lanes_for_nested_request(root, exits, depth);
        if before == 0 {
            return 0;
        }
        let between = self.nodes_between(root, node);
        let Some(between) = between else { return 0 };
        let Some(departures) = self.departures_from(&between, node, exits) else {
            return 0;
        };
        let order = self.flow.order;
        let own = order.loop_of[node as usize];
        let is_header = own != NONE && order.loops[own as usize].header == node;
        if !is_header || departures.is_empty() {
            return self.lanes_kept_together(before, node, &departures, exits, depth);
        }
        let mut guess = before;
        loop {
            self.memo[memo].insert(node, guess);
            let found = guess & self.lanes_kept_together(before, node, &departures, exits, depth);
            if found == guess {
                return found;
            }
            guess = found;
            // Results inside the loop depend on the previous guess.
            self.memo[memo].retain(|&inside, _| !order.is_in_loop(inside, own) || inside == node);
        }
    }

    /// Result for another node that the current computation needs; no lanes if such requests nest too deep.
    fn lanes_for_nested_request(&mut self, node: u32, exits: Exits, depth: usize) -> Lanes {
        if let Some(&known) = self.memo[exits as usize].get(&node) {
            return known;
        }
        if depth > MAX_DEPTH {
            return 0;
        }
        let found = self.find_lanes_that_must_reach(node, exits, depth + 1);
        self.memo[exits as usize].insert(node, found);
        found
    }

    fn lanes_kept_together(
        &mut self,
        before: Lanes,
        node: u32,
        departures: &[Departure],
        exits: Exits,
        depth: usize,
    ) -> Lanes {
        let mut leaving = 0;
        for departure in departures
            .iter()
            .filter(|departure| departure.lanes & before != 0)
        {
            leaving |= departure.lanes & !self.lanes_sharing_departure(departure, before, node, exits, depth);
        }
        before & !leaving
    }

    /// The lanes of `before` that take the edge of a departure together with the lanes that reach `node`, or not at all.
    /// Then no lane is at `node` if one of `before` has taken the edge: the lanes of `node` are at its branch whenever the
    /// others are, and agree there.
    fn lanes_sharing_departure(
        &mut self,
        departure: &Departure,
        before: Lanes,
        node: u32,
        exits: Exits,
        depth: usize,
    ) -> Lanes {
        let (source, here) = (departure.source, self.flow.may[node as usize]);
        let test = self.flow.tests[source as usize];
        if test == ValueId::NONE || !self.flow.pool.get(test).is_uniform_among(here) {
            return 0;
        }
        let test = self.flow.pool.get(test);
        let agree =
            lanes_in_set(departure.lanes & before).filter(|lane| test.is_uniform_among(here | 1 << lane));
        let agree = lane_set(agree);
        let at_test = self.lanes_for_nested_request(source, exits, depth);
        if here & !at_test == 0 { agree } else { 0 }
    }

    /// Counts steps; `None` if the budget or the time is spent.
    fn spend_steps(&mut self, steps: usize) -> Option<()> {
        let left = self.steps_left.checked_sub(steps).filter(|&left| left > 0);
        self.steps_left = left.filter(|_| !self.deadline.is_over_after(steps)).unwrap_or(0);
        left.map(|_| ())
    }

    /// The nodes on paths from `root` to `node`, both included; `None` if the budget is spent.
    fn nodes_between(&mut self, root: u32, node: u32) -> Option<Vec<u32>> {
        let (graph, rank) = (self.flow.graph, &self.flow.order.rank);
        self.epoch += 1;
        let epoch = self.epoch;
        let mut found = vec![node];
        let mut next = 0;
        self.mark[node as usize] = epoch;
        while let Some(&current) = found.get(next) {
            next += 1;
            if current == root {
                continue;
            }
            self.spend_steps(1)?;
            for &edge in graph.incoming_edges(current) {
                let source = graph.sources[edge as usize];
                if rank[source as usize] != NONE
                    && self.flow.edges[edge as usize] != 0
                    && std::mem::replace(&mut self.mark[source as usize], epoch) != epoch
                {
                    found.push(source);
                }
            }
        }
        Some(found)
    }

    /// The edges by which lanes leave a set of nodes. [`Self::nodes_between`] must just have marked that set.
    fn departures_from(&mut self, between: &[u32], node: u32, exits: Exits) -> Option<Vec<Departure>> {
        let graph = self.flow.graph;
        let mut found = Vec::new();
        let is_header = self.flow.order.loop_of[node as usize] != NONE
            && self.flow.order.loops[self.flow.order.loop_of[node as usize] as usize].header == node;
        for &source in between {
            if source == node && !is_header {
                continue;
            }
            let edges = graph.nodes[source as usize].edges.clone();
            self.spend_steps(edges.len())?;
            for edge in edges {
                let target = graph.targets[edge as usize];
                let mut lanes = self.flow.edges[edge as usize];
                if target != graph.exit && self.mark[target as usize] == self.epoch {
                    continue;
                }
                if exits == Exits::NotSilent {
                    lanes &= !self.surely_silent_lanes(target);
                }
                if lanes != 0 {
                    found.push(Departure { source, edge, lanes });
                }
            }
        }
        Some(found)
    }

    /// True if the lanes that are at `from` together reach `node` together, except those that end silently.
    pub(super) fn do_lanes_stay_together(&mut self, from: u32, node: u32) -> bool {
        let order = self.flow.order;
        if order.is_in_or_before_irreducible_loop(node)
            || !order.dominates(from, node)
            || order.loop_of[from as usize] != order.loop_of[node as usize]
        {
            return false;
        }
        let Some(between) = self.nodes_between(from, node) else {
            return false;
        };
        let Some(departures) = self.departures_from(&between, node, Exits::NotSilent) else {
            return false;
        };
        let before = self.flow.may[from as usize];
        departures.iter().all(|departure| departure.lanes & before == 0)
    }

    /// True if a path may lead from one of two nodes to the other within one round of the loops around the latter.
    pub(super) fn are_on_one_path(&mut self, one: u32, other: u32) -> bool {
        if self.first[one as usize] == self.first[other as usize] {
            return true;
        }
        // A budget of its own: this search must not use up the budget of the others.
        let left = std::mem::replace(&mut self.steps_left, self.sibling_steps_left);
        let leads = self.has_path_within_round(one, other) || self.has_path_within_round(other, one);
        self.sibling_steps_left = std::mem::replace(&mut self.steps_left, left);
        leads
    }

    /// True if a path leads from one node to another within one round of the loops around the latter.
    pub(super) fn has_path_within_round(&mut self, from: u32, to: u32) -> bool {
        self.nodes_on_paths_to(to)
            .is_none_or(|_| self.mark[from as usize] == self.epoch)
    }

    /// The nodes on paths to `node`, within the current round of its loops; marks them.
    fn nodes_on_paths_to(&mut self, node: u32) -> Option<Vec<u32>> {
        let (graph, order) = (self.flow.graph, self.flow.order);
        self.epoch += 1;
        let epoch = self.epoch;
        let mut way = vec![node];
        let mut next = 0;
        self.mark[node as usize] = epoch;
        while let Some(&current) = way.get(next) {
            next += 1;
            self.spend_steps(1)?;
            for &edge in graph.incoming_edges(current) {
                let source = graph.sources[edge as usize];
                if order.rank[source as usize] != NONE
                    && !order.is_edge_to_next_round_around(source, current, node)
                    && self.flow.edges[edge as usize] != 0
                    && std::mem::replace(&mut self.mark[source as usize], epoch) != epoch
                {
                    way.push(source);
                }
            }
        }
        Some(way)
    }

    /// The nodes with a path to `node`, within the current round of its loops; `None` if the budget is spent.
    pub(super) fn nodes_before(&mut self, node: u32) -> Option<rustc_hash::FxHashSet<u32>> {
        Some(self.nodes_on_paths_to(node)?.into_iter().collect())
    }

    /// The edges by which lanes leave the paths to `node`, within the current round of its loops; `None` if the budget is
    /// spent.
    pub(super) fn departures_before(&mut self, node: u32) -> Option<Rc<Departures>> {
        // Nodes of straight code have the same departures.
        let node = self.first[node as usize];
        if let Some(known) = self.departures.get(&node) {
            return Some(Rc::clone(known));
        }
        let found = Rc::new(self.find_departures(node)?);
        self.departures.insert(node, Rc::clone(&found));
        Some(found)
    }

    fn find_departures(&mut self, node: u32) -> Option<Departures> {
        let way = self.nodes_on_paths_to(node)?;
        let (graph, order, epoch) = (self.flow.graph, self.flow.order, self.epoch);
        let mut found = Departures::default();
        for &source in way.iter().filter(|&&source| source != node) {
            let edges = graph.nodes[source as usize].edges.clone();
            // A jump through a table has very many edges.
            self.spend_steps(edges.len())?;
            for edge in edges {
                let target = graph.targets[edge as usize];
                let lanes = self.flow.edges[edge as usize];
                let stays = target != graph.exit
                    && self.mark[target as usize] == epoch
                    && !order.is_edge_to_next_round_around(source, target, node);
                if !stays && lanes != 0 {
                    found.all.push(Departure { source, edge, lanes });
                }
            }
        }
        found.all.sort_by_key(|departure| departure.edge);
        for departure in &found.all {
            let target = graph.targets[departure.edge as usize];
            let acting = departure.lanes & !self.surely_silent_lanes(target);
            found.leaving |= departure.lanes;
            found.may_act |= acting;
            found.may_end_silently |= departure.lanes & !self.surely_acting_lanes(target);
            let test = self.flow.tests[departure.source as usize];
            found.by_warp |= acting != 0 && test != ValueId::NONE && self.flow.pool.get(test).warp;
        }
        Some(found)
    }

    /// The lanes that certainly arrive at a node, regardless of other lanes: those that may take no departure from its
    /// paths. `None` if the budget is spent.
    pub(super) fn lanes_certain_to_reach(&mut self, node: u32) -> Option<Lanes> {
        let departures = self.departures_before(node)?;
        Some(self.flow.may[node as usize] & self.flow.launch.analysed_lanes() & !departures.leaving)
    }

    /// True if the budget is spent: further answers are "not known".
    #[must_use]
    pub(super) const fn is_budget_spent(&self) -> bool {
        self.steps_left == 0
    }

    /// The lanes that leave the loops around `node` without a certain visible effect afterwards. Empty if there is no loop.
    pub(super) fn silent_loop_exits(&self, node: u32) -> Lanes {
        self.loop_exits_around(node).0
    }

    /// The lanes that leave the loops around `node` and may have a visible effect afterwards.
    pub(super) fn acting_loop_exits(&self, node: u32) -> Lanes {
        self.loop_exits_around(node).1
    }

    fn loop_exits_around(&self, node: u32) -> (Lanes, Lanes) {
        let innermost = self.flow.order.loop_of[node as usize];
        self.exits.get(innermost as usize).copied().unwrap_or_default()
    }
}

/// For each loop: the lanes that leave it or a loop around it, and then may end silently; and those that may have a visible
/// effect.
fn loop_exits(flow: &Flow<'_>, may_act: &[Lanes], may_end_silently: &[Lanes]) -> Vec<(Lanes, Lanes)> {
    let (graph, order) = (flow.graph, flow.order);
    let mut exits = vec![(0, 0); order.loops.len()];
    for &node in &order.nodes {
        for edge in graph.nodes[node as usize].edges.clone() {
            let (lanes, target) = (flow.edges[edge as usize], graph.targets[edge as usize]);
            let left = order.loops_left_by_edge(node, target);
            // A lane that leaves a loop leaves the loops inside it.
            if let Some(outermost) = left.last() {
                let (silent, acting) = &mut exits[outermost as usize];
                *silent |= lanes & may_end_silently[target as usize];
                *acting |= lanes & may_act[target as usize];
            }
        }
    }
    // Outer loops come after those inside them.
    for of in (0..exits.len()).rev() {
        if let Some(&(silent, acting)) = exits.get(order.loops[of].parent as usize) {
            exits[of].0 |= silent;
            exits[of].1 |= acting;
        }
    }
    exits
}

/// By node: the first node of the straight code that contains it.
fn straight_code_heads(flow: &Flow<'_>) -> Vec<u32> {
    let (graph, order) = (flow.graph, flow.order);
    let mut first: Vec<u32> = (0..graph.nodes.len() as u32).collect();
    for &node in &order.nodes {
        let &[edge] = graph.incoming_edges(node) else {
            continue;
        };
        let source = graph.sources[edge as usize];
        let own = order.loop_of[node as usize];
        let is_header = own != NONE && order.loops[own as usize].header == node;
        if graph.nodes[source as usize].edges.len() == 1 && !is_header && !order.is_back_edge(source, node) {
            first[node as usize] = first[source as usize];
        }
    }
    first
}

/// Limit on the nesting of results for other nodes while one is computed.
const MAX_DEPTH: usize = 64;

/// By node: the lanes that may have a visible effect from it on, and those that may have none.
fn acting_and_silent_lanes(flow: &Flow<'_>, visible: &[Visible]) -> (Vec<Lanes>, Vec<Lanes>) {
    let graph = flow.graph;
    let mut may_act = vec![0; graph.nodes.len()];
    let mut may_end_silently = vec![0; graph.nodes.len()];
    may_end_silently[graph.exit as usize] = ALL;
    let mut late = vec![0; graph.nodes.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for &node in flow.order.nodes.iter().rev().filter(|&&node| node != graph.exit) {
            if flow.module.deadline.is_over_at_step() {
                return (may_act, may_end_silently);
            }
            let index = node as usize;
            let kind = graph.nodes[index].kind;
            let meets = kind == NodeKind::Collective && !visible[index].surely;
            let (mut new_act, mut new_silent) = (if visible[index].maybe { ALL } else { 0 }, 0);
            let mut new_late = if meets { ALL } else { 0 };
            for edge in graph.nodes[index].edges.clone() {
                let (along, target) = (flow.edges[edge as usize], graph.targets[edge as usize] as usize);
                new_act |= along & may_act[target];
                new_late |= along & late[target];
                let is_unseen = match kind {
                    _ if !visible[index].surely => ALL,
                    NodeKind::Collective | NodeKind::Barrier => 0,
                    _ => late[target],
                };
                new_silent |= along & may_end_silently[target] & is_unseen;
            }
            if (new_act, new_silent, new_late) != (may_act[index], may_end_silently[index], late[index]) {
                (may_act[index], may_end_silently[index], late[index]) = (new_act, new_silent, new_late);
                changed = true;
            }
        }
    }
    (may_act, may_end_silently)
}

#[cfg(test)]
mod tests;
