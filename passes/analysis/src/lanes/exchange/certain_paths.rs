//! The code that threads certainly execute between two orderings: of the lanes of their warp, or of the threads of the block.
//!
//! ```text
//! head         a point of the code: for a block, the entry, or a barrier that all threads of the analysed warps pass equally often
//! path(h)      the code from h to the next ordering, in this round of the innermost loop around h and, for a block, on to the next
//!              round
//! share(n, l)  the share of the paths of lane l from h that lead through n, where each branch that is not decided halves the share
//! certain      share 1: all paths of the lane from h lead through n
//! decisions    the edges of branches that all threads take alike, and that are not known: the code is certain under them
//! ```
//!
//! A loop inside the path counts as one step: lanes leave it at its only exit, and are certain of its first round. No ordering
//! and no load through which a lane could wait for others is in it.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::groups::{Groups, orders_lanes};
use super::orderings::Among;
use super::segments::Head;
use super::shared_accesses::Touches;
use super::waits;
use crate::lanes::flow::Flow;
use crate::lanes::graph::{self, Graph, NONE, NodeKind};
use crate::lanes::order::Order;
use crate::lanes::uniform::UniformBranches;
use crate::lanes::value::{Lanes, WARP, lane_set};
use crate::limits::{MAX_BLOCK_DECISIONS, MAX_BLOCK_PATHS};
use ptxcheck_common::externs;
use ptxcheck_ir::Callee;

/// A branch that all threads take alike, and the edge that they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Decision {
    /// The branch.
    pub node: u32,
    /// The edge.
    pub edge: u32,
    /// It is in the round after the one of the head.
    pub is_in_next_round: bool,
}

/// Code that lanes certainly execute after a head.
pub(super) struct CertainCode {
    /// The node.
    pub node: u32,
    /// The number of orderings in the node before the code: those of the head, if it is its node.
    pub part: u32,
    /// The lanes.
    pub lanes: Lanes,
    /// The decisions under which they execute it, in order.
    pub decisions: Vec<Decision>,
    /// Most collectives on a path from the head to the node.
    pub collectives: u32,
    /// It is in the round after the one of the head.
    pub is_in_next_round: bool,
}

/// The whole share of a lane.
const WHOLE: u32 = 1 << 30;

/// Lanes that are on one path.
#[derive(Clone)]
struct PathShare {
    decisions: Vec<Decision>,
    /// By lane.
    of: [u32; WARP],
    collectives: u32,
}

impl PathShare {
    fn is_empty(&self) -> bool {
        self.of.iter().all(|share| *share == 0)
    }

    /// The share of the lanes for which `keep` holds.
    fn of_lanes(&self, keep: impl Fn(usize) -> bool) -> Self {
        Self {
            of: std::array::from_fn(|lane| if keep(lane) { self.of[lane] } else { 0 }),
            ..self.clone()
        }
    }
}

/// The paths of one warp.
pub(super) struct CertainPaths<'s, 'a> {
    flow: &'s Flow<'a>,
    touches: &'s Touches,
    among: Among,
    /// Collectives that order no accesses of the threads in question.
    ignored: Option<&'s Groups>,
    /// Barriers of the block that order none, by their nodes.
    passed: Option<&'s FxHashSet<u32>>,
    /// By node: false where no path leads to code that is asked for.
    wanted: Option<&'s [bool]>,
    /// Without it, no branch that is not decided is taken alike.
    uniform: Option<&'s UniformBranches>,
    aborts: &'s [bool],
    /// By loop: the node to which all of its exits lead, if it has no ordering.
    exits: FxHashMap<u32, Option<u32>>,
}

/// One walk from a head.
#[derive(Default)]
struct PathWalk {
    head: u32,
    part: u32,
    /// The innermost loop around the head, or [`NONE`].
    home: u32,
    is_in_next_round: bool,
    /// It has come into a loop that is not around the head.
    has_inner_loops: bool,
    /// The nodes that are still to be followed, by rank, with the shares of lanes there.
    open: BTreeMap<u32, Vec<PathShare>>,
    visited: FxHashSet<u32>,
    next_round: Vec<PathShare>,
    found: Vec<CertainCode>,
}

impl<'s, 'a> CertainPaths<'s, 'a> {
    /// The paths in a solution, between orderings among these threads. `uniform`: the branches that all of them take alike; `aborts`:
    /// [`Graph::aborting_nodes`].
    pub(super) fn new(
        flow: &'s Flow<'a>,
        touches: &'s Touches,
        among: Among,
        uniform: Option<&'s UniformBranches>,
        aborts: &'s [bool],
    ) -> Self {
        Self {
            flow,
            touches,
            among,
            ignored: None,
            passed: None,
            wanted: None,
            uniform,
            aborts,
            exits: FxHashMap::default(),
        }
    }

    /// The same, for code from which paths lead to certain nodes: true by node for these, and for nodes before them.
    pub(super) fn restricted_to_paths_to(self, wanted: &'s [bool]) -> Self {
        Self {
            wanted: Some(wanted),
            ..self
        }
    }

    /// The same paths for lanes of different groups: collectives of a group do not order accesses of lanes in different groups.
    pub(super) fn between_groups(self, groups: &'s Groups) -> Self {
        Self {
            ignored: Some(groups),
            ..self
        }
    }

    /// The same paths, continued past these barriers, which do not order the accesses of the threads in question.
    pub(super) fn ignoring_barriers(self, passed: &'s FxHashSet<u32>) -> Self {
        Self {
            passed: Some(passed),
            ..self
        }
    }

    /// The code with accesses that lanes certainly execute after a head.
    pub(super) fn certain_code_after(&mut self, Head { node: head, part }: Head) -> Vec<CertainCode> {
        let (flow, order) = (self.flow, self.flow.order);
        let mut walk = PathWalk {
            head,
            part,
            home: order.loop_of[head as usize],
            ..PathWalk::default()
        };
        let may = flow.may[head as usize];
        let start = PathShare {
            decisions: Vec::new(),
            of: std::array::from_fn(|lane| if may >> lane & 1 == 1 { WHOLE } else { 0 }),
            collectives: 0,
        };
        walk.open.insert(order.rank[head as usize], vec![start]);
        self.follow_walk(&mut walk);
        let shares = std::mem::take(&mut walk.next_round);
        if !shares.is_empty() {
            walk.is_in_next_round = true;
            let header = order.loops[walk.home as usize].header;
            walk.open.insert(order.rank[header as usize], shares);
            self.follow_walk(&mut walk);
        }
        walk.found
    }

    fn follow_walk(&mut self, walk: &mut PathWalk) {
        while let Some(node) = self.next_node(walk) {
            let Some(shares) = walk.open.remove(&self.flow.order.rank[node as usize]) else {
                return;
            };
            if self.flow.module.deadline.is_over_at_step() {
                return;
            }
            walk.visited.insert(node);
            let of = self.flow.order.loop_of[node as usize];
            walk.has_inner_loops |= of != walk.home && of != NONE;
            for share in merge_shares(shares) {
                self.pass_node(walk, node, share);
            }
        }
    }

    /// The open node that comes next: a loop that has been entered comes before the code after it.
    fn next_node(&self, walk: &PathWalk) -> Option<u32> {
        let order = self.flow.order;
        let node_of = |rank: &u32| order.nodes[*rank as usize];
        let mut next = walk.open.keys().next().map(node_of)?;
        if !walk.has_inner_loops {
            return Some(next);
        }
        loop {
            let of_inner = walk.open.keys().map(node_of).find_map(|node| {
                let mut around = order.loops_around(node).filter(|&of| {
                    let header = order.loops[of as usize].header;
                    !order.is_in_loop(walk.head, of)
                        && !order.is_in_loop(next, of)
                        && walk.visited.contains(&header)
                });
                around.next()
            });
            let Some(of) = of_inner else { return Some(next) };
            next = walk
                .open
                .keys()
                .map(node_of)
                .find(|&node| order.is_in_loop(node, of))?;
        }
    }

    /// Follows a share through a node, and on to the nodes after it.
    fn pass_node(&mut self, walk: &mut PathWalk, node: u32, share: PathShare) {
        let flow = self.flow;
        let graph = flow.graph;
        let part = if node == walk.head { walk.part } else { 0 };
        let whole = lane_set((0..WARP).filter(|&lane| share.of[lane] == WHOLE));
        if whole != 0 && !self.touches.accesses_in_node(node).is_empty() {
            walk.found.push(CertainCode {
                node,
                part,
                lanes: whole,
                decisions: share.decisions.clone(),
                collectives: share.collectives,
                is_in_next_round: walk.is_in_next_round,
            });
        }
        if self.touches.ordering_count(node) > part {
            return;
        }
        let mut share = share;
        share.collectives += u32::from(graph.nodes[node as usize].kind == NodeKind::Collective);
        let edges = graph.nodes[node as usize].edges.clone();
        let edges: Vec<u32> = edges
            .filter(|&edge| {
                let is_taken = flow.edges[edge as usize] != 0;
                is_taken && !self.aborts[graph.targets[edge as usize] as usize]
            })
            .collect();
        let takes = |edge: u32, lane: usize| flow.edges[edge as usize] >> lane & 1 == 1;
        if let &[edge] = &edges[..] {
            let share = share.of_lanes(|lane| takes(edge, lane));
            return self.arrive_at_node(walk, node, graph.targets[edge as usize], share);
        }
        let ways: [usize; WARP] =
            std::array::from_fn(|lane| edges.iter().filter(|&&edge| takes(edge, lane)).count());
        let is_alike = edges.len() == 2
            && self.uniform.is_some_and(|uniform| uniform.is_branch(node))
            && share.decisions.len() < MAX_BLOCK_DECISIONS;
        for &edge in &edges {
            let target = graph.targets[edge as usize];
            let alone = share.of_lanes(|lane| takes(edge, lane) && ways[lane] == 1);
            self.arrive_at_node(walk, node, target, alone);
            let mut open = share.of_lanes(|lane| takes(edge, lane) && ways[lane] > 1);
            if is_alike {
                let decision = Decision {
                    node,
                    edge,
                    is_in_next_round: walk.is_in_next_round,
                };
                let place = open.decisions.partition_point(|known| *known < decision);
                open.decisions.insert(place, decision);
            } else {
                for (lane, share) in open.of.iter_mut().enumerate() {
                    // A share that cannot be halved is lost: no code after it is certain for the lane.
                    *share = match ways[lane] {
                        2 if share.is_multiple_of(2) => *share / 2,
                        _ => 0,
                    };
                }
            }
            self.arrive_at_node(walk, node, target, open);
        }
    }

    /// Adds a share to the node at which it arrives. Beyond the end of a thread, orderings and loops of which the end is not known,
    /// it is lost.
    fn arrive_at_node(&mut self, walk: &mut PathWalk, source: u32, target: u32, share: PathShare) {
        let (flow, order) = (self.flow, self.flow.order);
        let is_lost = share.is_empty()
            || target == flow.graph.exit
            || target == walk.head
            || self.wanted.is_some_and(|wanted| !wanted[target as usize])
            || order.is_in_or_before_irreducible_loop(target)
            || self.is_ordering(target);
        if is_lost {
            return;
        }
        if order.is_back_edge(source, target) {
            let of = order.loop_of[target as usize];
            let is_round = of != NONE
                && order.loops[of as usize].is_natural
                && order.loops[of as usize].header == target;
            if !is_round {
                return;
            }
            if of == walk.home {
                let follows = self.among == Among::Warps && !walk.is_in_next_round;
                if follows && walk.next_round.len() < MAX_BLOCK_PATHS {
                    walk.next_round.push(share);
                }
            } else if !order.is_in_loop(walk.head, of)
                && let Some(exit) = self.only_exit_of_loop(of)
            {
                self.arrive_at_node(walk, target, exit, share);
            }
            return;
        }
        let is_after_round = || {
            order.rank[target as usize] >= order.rank[walk.head as usize]
                || !order.is_in_loop(target, walk.home)
        };
        if walk.is_in_next_round && is_after_round() {
            return;
        }
        let shares = walk.open.entry(order.rank[target as usize]).or_default();
        if shares.len() < MAX_BLOCK_PATHS {
            shares.push(share);
        }
    }

    fn is_ordering(&self, node: u32) -> bool {
        match self.among {
            Among::Lanes => orders_lanes(self.flow, node, self.ignored),
            Among::Warps => {
                is_block_ordering(self.flow, node)
                    && !self.passed.is_some_and(|passed| passed.contains(&node))
            }
        }
    }

    /// The node that all exits of a loop lead to, if lanes certainly reach it without an ordering of the block.
    fn only_exit_of_loop(&mut self, of: u32) -> Option<u32> {
        if let Some(&known) = self.exits.get(&of) {
            return known;
        }
        let found = self.find_only_exit_of_loop(of);
        self.exits.insert(of, found);
        found
    }

    fn find_only_exit_of_loop(&self, of: u32) -> Option<u32> {
        let (flow, graph, order) = (self.flow, self.flow.graph, self.flow.order);
        let mut exit = None;
        for &node in order.nodes.iter().filter(|&&node| order.is_in_loop(node, of)) {
            if flow.may[node as usize] == 0 {
                continue;
            }
            if self.is_ordering(node) || self.touches.ordering_count(node) > 0 {
                return None;
            }
            for edge in graph.nodes[node as usize].edges.clone() {
                let target = graph.targets[edge as usize];
                let leaves = !order.is_in_loop(target, of)
                    && flow.edges[edge as usize] != 0
                    && !self.aborts[target as usize];
                if leaves && *exit.get_or_insert(target) != target {
                    return None;
                }
            }
        }
        exit.filter(|_| !waits::may_be_ended_by_other_threads(flow, of))
    }
}

/// True if a thread that executes some code has passed the head, in the round before for code of the next round, and
/// taken the decisions of the code.
pub(super) fn implies_passing_head(graph: &Graph<'_>, order: &Order, head: u32, code: &CertainCode) -> bool {
    let is_passed = |edge: u32, place: u32| {
        let target = graph.targets[edge as usize];
        graph.incoming_edges(target).len() == 1 && order.dominates(target, place)
    };
    let (now, then): (Vec<Decision>, Vec<Decision>) = code
        .decisions
        .iter()
        .copied()
        .partition(|decision| !decision.is_in_next_round);
    // A decision in a loop that is not around the head is made anew in each round. If the branch leaves the loop on its other edges, code
    // of the loop shows that it did not do so in the first round.
    let is_made_once = |decision: &Decision| {
        let mut apart = order
            .loops_around(decision.node)
            .filter(|&of| !order.is_in_loop(head, of));
        let Some(inner) = apart.next() else { return true };
        let edges = graph.nodes[decision.node as usize].edges.clone();
        let mut others = edges.filter(|edge| *edge != decision.edge);
        apart.next().is_none()
            && order.is_in_loop(code.node, inner)
            && others.all(|edge| !order.is_in_loop(graph.targets[edge as usize], inner))
    };
    if !code.decisions.iter().all(is_made_once) {
        return false;
    }
    if !code.is_in_next_round {
        return order.dominates(head, code.node)
            && now.iter().all(|decision| is_passed(decision.edge, code.node));
    }
    let home = &order.loops[order.loop_of[head as usize] as usize];
    let mut latches = graph
        .predecessors(home.header)
        .filter(|&source| order.is_back_edge(source, home.header));
    latches.all(|latch| {
        let is_of_round = |edge: u32| {
            graph.sources[edge as usize] == latch && graph.targets[edge as usize] == home.header
                || is_passed(edge, latch)
        };
        order.dominates(head, latch) && now.iter().all(|decision| is_of_round(decision.edge))
    }) && then.iter().all(|decision| is_passed(decision.edge, code.node))
}

/// The shares of a node, with those joined that differ in nothing but in what is certain for all of them: the paths from a branch that
/// meet here.
fn merge_shares(shares: Vec<PathShare>) -> Vec<PathShare> {
    if shares.len() < 2 {
        return shares;
    }
    let mut all: Vec<PathShare> = Vec::new();
    let mut open = shares;
    while let Some(share) = open.pop() {
        if let Some(same) = all.iter_mut().find(|same| same.decisions == share.decisions) {
            for (sum, of) in same.of.iter_mut().zip(share.of) {
                *sum = sum.saturating_add(of);
            }
            same.collectives = same.collectives.max(share.collectives);
        } else {
            all.push(share);
        }
        if open.is_empty()
            && let Some(joined) = join_complementary_shares(&mut all)
        {
            open.push(joined);
        }
    }
    all.retain(|share| !share.is_empty());
    all
}

/// Takes what two shares that differ in one decision about one branch have in common out of both, as a share without that decision.
fn join_complementary_shares(all: &mut [PathShare]) -> Option<PathShare> {
    for second in 1..all.len() {
        for first in 0..second {
            let (one, other) = (&all[first], &all[second]);
            let Some(place) = index_of_opposite_decision(&one.decisions, &other.decisions) else {
                continue;
            };
            let both = |lane: usize| one.of[lane] != 0 && one.of[lane] == other.of[lane];
            if !(0..WARP).any(both) {
                continue;
            }
            let mut joined = one.of_lanes(both);
            joined.decisions.remove(place);
            joined.collectives = one.collectives.max(other.collectives);
            for lane in 0..WARP {
                if joined.of[lane] != 0 {
                    all[first].of[lane] = 0;
                    all[second].of[lane] = 0;
                }
            }
            return Some(joined);
        }
    }
    None
}

/// The only place in which two lists of decisions differ, if it is another edge of the same branch.
fn index_of_opposite_decision(one: &[Decision], other: &[Decision]) -> Option<usize> {
    if one.len() != other.len() {
        return None;
    }
    let mut places = (0..one.len()).filter(|&place| one[place] != other[place]);
    let place = places.next()?;
    let (a, b) = (one[place], other[place]);
    let is_one_branch = a.node == b.node && a.is_in_next_round == b.is_in_next_round;
    (places.next().is_none() && is_one_branch).then_some(place)
}

/// True if a node may order the accesses of threads of a block: barriers, and calls that are not followed, but for functions that the
/// driver provides.
pub(super) fn is_block_ordering(flow: &Flow<'_>, node: u32) -> bool {
    let graph = flow.graph;
    match graph.nodes[node as usize].kind {
        NodeKind::Plain | NodeKind::Enter(_) | NodeKind::Collective => false,
        NodeKind::Barrier | NodeKind::Unknown => true,
        NodeKind::Quiet => {
            let module = flow.module.module;
            let body = graph.context_of_node(node).body;
            let callee = body.callee(body.instruction(graph.instruction_of_node(node)));
            let called = match callee {
                Some(Callee::Direct(symbol)) => module.called(symbol),
                _ => None,
            };
            !called.is_some_and(|called| {
                module.function(called).body.is_none() && externs::is_provided(module.function_name(called))
            })
        }
    }
}

/// True if a node is a barrier of all threads of the block.
pub(super) fn is_full_barrier(graph: &Graph<'_>, node: u32) -> bool {
    if graph.nodes[node as usize].kind != NodeKind::Barrier {
        return false;
    }
    graph::is_full_barrier(
        graph
            .context_of_node(node)
            .body
            .instruction(graph.instruction_of_node(node)),
    )
}
