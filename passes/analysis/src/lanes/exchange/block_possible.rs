//! Accesses of threads of different warps to one variable in shared memory that no barrier orders, where it is not known that the bytes
//! are the same, or that the accesses are made.
//!
//! ```text
//! reach(h, w)   the accesses that lanes of warp w may make after a head h before the next ordering of the block, in any round
//! possible      a write of reach(h, v) and another access of reach(h, w), of the same variable, for warps v ≠ w
//!                 to the same bytes, or
//!                 a write and a read of which one has a known address and the other none, or two without one, if that of either is
//!                 not related from lane to lane or the two differ in the distances between lanes; unless both count from an address
//!                 that each thread has for itself, or the intervals of the addresses have nothing in common
//! ```
//!
//! Left out are accesses in two arms of a branch that all threads take alike, reads that nothing uses, and, where the size of blocks is
//! neither stated nor bounded, what collectives of a warp separate.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::block::{FoundPair, computes_warp_number, group_by_variable, has_full_barrier, search_suspects};
use super::certain_paths::{is_block_ordering, is_full_barrier};
use super::conflicts::stored_values_differ;
use super::found::{BlockPair, MissingBarrier, Object, PairKind};
use super::harmful_clashes::is_idempotent_update;
use super::kernels::{PairKey, position_of_pair};
use super::named_barriers::NamedBarriers;
use super::possible::{Access, have_thread_private_parts};
use super::screen::block::possible_suspect_kernels;
use super::shared_accesses::{LooseAccess, Touch, Touches};
use super::warps::{Block, solve_block};
use crate::lanes::explore::{CommonFindings, InLaunch, Launches};
use crate::lanes::flow::Flow;
use crate::lanes::graph::NodeKind;
use crate::lanes::launch::Launch;
use crate::lanes::layout::LaneLayout;
use crate::lanes::scenario::Fixed;
use crate::lanes::slice::Slices;
use crate::lanes::uniform::UniformBranches;
use crate::lanes::uses::possible_users_of_load;
use crate::lanes::value::{Lanes, Rest, WARP, lanes_in_set};
use crate::limits::{MAX_EXCHANGE_PAIRS, MAX_LOOSE_ACCESSES, MAX_USE_STEPS};
use crate::shared::Shared;
use ptxcheck_ir::{FunctionId, Space};

/// All possible missing barriers of a module, in the order of the input, of variables without a definite one.
pub(crate) fn find_possible_missing_barriers(
    module: &Shared<'_>,
    definite: &[MissingBarrier],
) -> Vec<MissingBarrier> {
    search_suspects(
        module,
        &possible_suspect_kernels(module),
        |slices, function, warps| {
            let mut found = possible_barriers_of_kernel(module, slices, function, warps)?;
            found.retain(|possible| {
                let mut known = definite.iter();
                !known.any(|known| (known.function, known.object) == (possible.function, possible.object))
            });
            Some(found)
        },
    )
}

/// The pairs of a kernel that are possible in each launch; `None` if the budget is spent, or a launch has one warp.
fn possible_barriers_of_kernel(
    module: &Shared<'_>,
    slices: &Slices,
    function: FunctionId,
    warps: &[u32],
) -> Option<Vec<MissingBarrier>> {
    let layout = LaneLayout::new(module, slices, function)?;
    let launches = Launches::new(&layout)?.for_several_warps();
    let may_have_warps = |launch: &Launch| {
        launch.warp_count() > 1 && (has_full_barrier(&layout) || likely_has_several_warps(&layout, *launch))
    };
    if !launches.each.iter().all(may_have_warps) {
        return None;
    }
    let found =
        CommonFindings::find_in_launches(&launches, |launch| pairs_in_launch(&layout, (launch, warps)))?;
    Some(group_by_variable(function, launches.shown, found))
}

/// The access beside a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OtherKind {
    /// The other access reads.
    Read,
    /// The other access writes.
    Write,
    /// It reads and writes at once.
    Atomic,
}

/// A write, and another access.
struct Possible {
    object: Object,
    /// The places of the warp that writes and of the other one, among the analysed ones.
    warps: (usize, usize),
    write: Access,
    other: Access,
    other_kind: OtherKind,
    /// A lane that writes, and the lanes that may make the other access.
    lanes: (usize, Lanes),
}

/// The possible pairs in one launch.
fn pairs_in_launch(
    layout: &LaneLayout<'_>,
    (launch, warps): (Launch, &[u32]),
) -> Option<InLaunch<PairKey, FoundPair>> {
    let fixed = Fixed::default();
    let mut block = solve_block(layout, &fixed, (launch, warps), Touches::of_block_with_loose)?;
    let found = possible_pairs(layout, &block).unwrap_or_default();
    let (mut pairs, mut steps) = (BTreeMap::new(), MAX_USE_STEPS);
    for possible in found {
        let (writing, other_warp) = possible.warps;
        let write = possible.write.node_and_instruction(&block.warps[writing].touches);
        let other = possible
            .other
            .node_and_instruction(&block.warps[other_warp].touches);
        let (writer, others) = possible.lanes;
        if possible.other_kind == OtherKind::Read {
            let load = (other.0, other.1, others);
            let used = block.with_flow(other_warp, |flow, _| {
                possible_users_of_load(flow, load, &mut steps)
            });
            if used & others == 0 {
                continue;
            }
        }
        let place = position_of_pair(layout, write, other, possible.other_kind == OtherKind::Write);
        let thread = |warp: usize, lane: usize| block.warps[warp].index * WARP as u32 + lane as u32;
        let higher = block.warps[writing].index.max(block.warps[other_warp].index);
        let is_open = launch.shape.is_none() && higher >= FIRST_WARPS;
        let pair = BlockPair {
            write: place.write,
            other: place.other,
            kind: place.kind,
            threads: (
                thread(writing, writer),
                thread(other_warp, others.trailing_zeros() as usize),
            ),
            above: is_open.then_some(higher * WARP as u32),
            is_in_next_round: false,
            is_at_write: place.kind == PairKind::WriteAfterRead,
        };
        let object = possible.object;
        // The first pairs of warps come first.
        pairs.entry(place.key).or_insert(FoundPair { object, pair });
    }
    let Block { pool, reached, .. } = block;
    layout.keep_pool(pool);
    Some(InLaunch {
        found: pairs,
        reached,
    })
}

/// Warps that are compared in blocks of any size.
const FIRST_WARPS: u32 = 2;

/// True if the size of the blocks of a launch is stated, or bounded, or the kernel divides the thread number by 32. Of a launch
/// with blocks of more than one warp.
fn likely_has_several_warps(layout: &LaneLayout<'_>, launch: Launch) -> bool {
    launch.shape.is_some() || launch.most.is_some() || computes_warp_number(layout)
}

/// A warp, and the accesses that its lanes may make after a head, with these lanes.
type OfWarp = (usize, Vec<(Access, Lanes)>);

/// The pairs of a solution, each once; `None` if the budget is spent.
fn possible_pairs(layout: &LaneLayout<'_>, block: &Block<'_>) -> Option<Vec<Possible>> {
    if block.warps.len() < 2 {
        return None;
    }
    let flows: Vec<&Flow<'_>> = block.warps.iter().map(|warp| &warp.flow).collect();
    let uniform = UniformBranches::of_all_warps_in_block(&flows, block.is_whole_block())?;
    let has_warps = likely_has_several_warps(layout, block.launch);
    let mut search = PossibleSearch {
        layout,
        block,
        uniform,
        has_warps,
        known: FxHashSet::default(),
        reached: FxHashMap::default(),
        found: Vec::new(),
    };
    match &block.named {
        None => search.compare_all_warps_after_heads(),
        Some(named) => search.compare_warp_pairs_after_heads(named),
    }
    Some(search.found)
}

/// The kind of the access beside a write, which may be atomic; `None` if the first access is no write, or the order does not matter
/// here: two atomics are ordered with each other, and an atomic beside a write counts for the write. Of each: it writes, and is atomic.
const fn kind_of_other_access(write: (bool, bool), other: (bool, bool)) -> Option<OtherKind> {
    match (write, other) {
        ((false, _), _) | ((_, true), (true, _)) => None,
        (_, (false, _)) => Some(OtherKind::Read),
        ((_, false), (_, true)) => Some(OtherKind::Atomic),
        ((_, false), (_, false)) => Some(OtherKind::Write),
    }
}

struct PossibleSearch<'s, 'a> {
    layout: &'s LaneLayout<'s>,
    block: &'s Block<'a>,
    uniform: UniformBranches,
    /// Blocks certainly have several warps.
    has_warps: bool,
    /// The pairs that have been compared: the warps, the write, the other access.
    known: FxHashSet<((usize, usize), Access, Access)>,
    /// By node: the nodes that come after it without an ordering.
    reached: FxHashMap<u32, FxHashSet<u32>>,
    found: Vec<Possible>,
}

impl PossibleSearch<'_, '_> {
    fn is_limit_reached(&self) -> bool {
        self.layout.module.deadline.is_over_at_step() || self.found.len() >= MAX_EXCHANGE_PAIRS
    }

    /// The entry, and the orderings from which paths begin, but for barriers with a count if these do not count.
    fn segment_heads(&self, with_counts: bool) -> Vec<u32> {
        let graph = &self.layout.graph;
        let is_head = |&node: &u32| match graph.nodes[node as usize].kind {
            NodeKind::Barrier => with_counts || is_full_barrier(graph, node),
            NodeKind::Collective => !self.has_warps,
            _ => node == 0,
        };
        self.layout.order.nodes.iter().copied().filter(is_head).collect()
    }

    /// Compares the accesses of all warps after each head.
    fn compare_all_warps_after_heads(&mut self) {
        let none = FxHashSet::default();
        for head in self.segment_heads(true) {
            if self.is_limit_reached() {
                return;
            }
            let warps = 0..self.block.warps.len();
            let reached: Vec<OfWarp> = warps
                .map(|warp| (warp, self.accesses_after(warp, head, &none)))
                .collect();
            for (place, other) in reached.iter().enumerate() {
                for one in &reached[..place] {
                    self.add_pairs(one, other);
                }
            }
        }
    }

    /// Compares the accesses of two warps after the heads of both and after the barriers at which they meet, past the barriers that do not
    /// order them: for all pairs of warps.
    fn compare_warp_pairs_after_heads(&mut self, named: &NamedBarriers) {
        let count = self.block.warps.len();
        for [one, other] in (0..count).flat_map(|other| (0..other).map(move |one| [one, other])) {
            let passed = [
                named.barriers_without_order_between(one, other),
                named.barriers_without_order_between(other, one),
            ];
            let common = self.segment_heads(false).into_iter().map(|head| [head; 2]);
            let meetings = named
                .meetings_of_warps([one, other])
                .into_iter()
                .map(|meeting| meeting.nodes);
            for heads in common.chain(meetings) {
                if self.is_limit_reached() {
                    return;
                }
                let first = (one, self.accesses_after(one, heads[0], &passed[0]));
                let second = (other, self.accesses_after(other, heads[1], &passed[1]));
                self.add_pairs(&first, &second);
            }
        }
    }

    /// True if paths end at a node.
    fn is_path_end(&self, node: u32) -> bool {
        let flow = &self.block.warps[0].flow;
        let is_collective = flow.graph.nodes[node as usize].kind == NodeKind::Collective;
        is_block_ordering(flow, node) || !self.has_warps && is_collective
    }

    /// The nodes that a warp may reach after a head without an ordering, the head included if it is the entry. `passed`: barriers that
    /// order nothing.
    fn nodes_reachable_after(&self, warp: usize, head: u32, passed: &FxHashSet<u32>) -> FxHashSet<u32> {
        let flow = &self.block.warps[warp].flow;
        let touches = &self.block.warps[warp].touches;
        let mut nodes = FxHashSet::default();
        let mut open = vec![head];
        if head == 0 {
            nodes.insert(0);
        }
        while let Some(node) = open.pop() {
            if node != head && touches.ordering_count(node) > 0 || node == 0 && touches.ordering_count(0) > 0
            {
                continue;
            }
            for edge in self.layout.graph.nodes[node as usize].edges.clone() {
                let target = flow.graph.targets[edge as usize];
                let is_open = !self.is_path_end(target) || passed.contains(&target);
                if flow.edges[edge as usize] != 0 && is_open && nodes.insert(target) {
                    open.push(target);
                }
            }
        }
        nodes
    }

    fn accesses_after(&self, warp: usize, head: u32, passed: &FxHashSet<u32>) -> Vec<(Access, Lanes)> {
        let touches = &self.block.warps[warp].touches;
        let mut all = Vec::new();
        for node in self.nodes_reachable_after(warp, head, passed) {
            let known = touches.accesses_in_node(node).map(|number| {
                let touch = &touches.all[number];
                (Access::Known(number), touch.may, touch.part, touch.object)
            });
            let loose = touches.loose_accesses_in_node(node).map(|number| {
                let access = &touches.loose[number];
                (Access::Loose(number), access.may, access.part, access.object)
            });
            let shared = |object: Object| {
                matches!(object, Object::Variable(symbol)
                    if self.layout.module.module.symbol(symbol).space == Space::Shared)
            };
            let all_of_node = known.chain(loose);
            let first = all_of_node.filter(|&(_, may, part, object)| may != 0 && part == 0 && shared(object));
            all.extend(first.map(|(access, may, ..)| (access, may)));
        }
        all.sort_unstable();
        all
    }

    /// Adds the pairs among the accesses of two warps.
    fn add_pairs(&mut self, one: &OfWarp, other: &OfWarp) {
        if one.1.len() + other.1.len() > MAX_LOOSE_ACCESSES {
            return;
        }
        for (writing, accessing) in [(one, other), (other, one)] {
            let warps = (writing.0, accessing.0);
            let block = self.block;
            let [of_writing, of_accessing] = [writing, accessing].map(|of| &block.warps[of.0].touches);
            for &(write, by) in &writing.1 {
                if !write.is_write_and_is_atomic(of_writing).0 {
                    continue;
                }
                let object = write.object(of_writing);
                for &(access, of) in &accessing.1 {
                    let may_meet =
                        self.found.len() < MAX_EXCHANGE_PAIRS && access.object(of_accessing) == object;
                    if may_meet && self.known.insert((warps, write, access)) {
                        let found = self.possible_pair(warps, (write, by), (access, of));
                        self.found.extend(found);
                    }
                }
            }
        }
    }

    fn possible_pair(
        &mut self,
        warps: (usize, usize),
        (write, by): (Access, Lanes),
        (other, of): (Access, Lanes),
    ) -> Option<Possible> {
        let (one, two) = (
            &self.block.warps[warps.0].touches,
            &self.block.warps[warps.1].touches,
        );
        let possible = |object, other_kind, lanes| Possible {
            object,
            warps,
            write,
            other,
            other_kind,
            lanes,
        };
        let first = by.trailing_zeros() as usize;
        let kind = kind_of_other_access(
            write.is_write_and_is_atomic(one),
            other.is_write_and_is_atomic(two),
        )?;
        let found = match (write, other) {
            (Access::Known(write), Access::Known(other)) => {
                let (write, other) = (&one.all[write], &two.all[other]);
                let lanes = self.lanes_with_common_bytes(write, other, kind)?;
                if kind == OtherKind::Read
                    && is_idempotent_update(&self.block.warps[warps.1].flow, write, other)
                {
                    return None;
                }
                possible(write.object, kind, lanes)
            }
            (Access::Known(write), Access::Loose(other)) => {
                let (write, other) = (&one.all[write], &two.loose[other]);
                let is_pair = match kind {
                    OtherKind::Read => !self.all_lanes_write_constant(write),
                    OtherKind::Write => false,
                    OtherKind::Atomic => true,
                };
                (is_pair && write.object == other.object && !other.is_disjoint_from(write))
                    .then(|| possible(write.object, kind, (first, of)))?
            }
            (Access::Loose(write), Access::Known(other)) => {
                let (write, other) = (&one.loose[write], &two.all[other]);
                (kind != OtherKind::Write && write.object == other.object && !write.is_disjoint_from(other))
                    .then(|| possible(write.object, kind, (first, of)))?
            }
            (Access::Loose(write), Access::Loose(other)) => {
                let (write, other) = (&one.loose[write], &two.loose[other]);
                let is_unrelated = self.are_lane_addresses_unrelated(write)
                    || self.are_lane_addresses_unrelated(other)
                    || self.do_lane_distances_differ(write, other);
                (kind != OtherKind::Write
                    && write.object == other.object
                    && is_unrelated
                    && !have_thread_private_parts(write, other)
                    && !write.is_disjoint_from_loose(other))
                .then(|| possible(write.object, kind, (first, of)))?
            }
        };
        let nodes = (
            write.node_and_instruction(one).0,
            other.node_and_instruction(two).0,
        );
        (!self.are_exclusive_arms(nodes.0, nodes.1)).then_some(found)
    }

    /// A lane that writes and the lanes of the other warp that access the same bytes, if the order matters.
    fn lanes_with_common_bytes(
        &self,
        write: &Touch,
        other: &Touch,
        kind: OtherKind,
    ) -> Option<(usize, Lanes)> {
        let is_write = kind == OtherKind::Write;
        // A write by a single instruction is usually executed by the one thread that its branch lets through.
        let is_election = is_write && (write.node, write.at) == (other.node, other.at);
        let is_pair = write.object == other.object && !is_election && !(write.is_strong && other.is_strong);
        if !is_pair || write.is_apart_from(other) {
            return None;
        }
        let pool = &self.block.pool;
        lanes_in_set(write.may).find_map(|writer| {
            let meets = |&lane: &usize| {
                write.overlaps(writer, other, lane)
                    && (!is_write || stored_values_differ(pool, write, writer, other, lane))
            };
            let others = lanes_in_set(other.may)
                .filter(meets)
                .fold(0, |all, lane| all | 1 << lane);
            (others != 0).then_some((writer, others))
        })
    }

    /// True if all lanes write one constant: a flag that is set.
    fn all_lanes_write_constant(&self, write: &Touch) -> bool {
        let stored = write.stored.map(|stored| self.block.pool.get(stored));
        stored
            .is_some_and(|stored| stored.exact & write.may == write.may && stored.is_uniform_among(write.may))
    }

    /// True if no relation between the addresses of an access in different lanes is known.
    fn are_lane_addresses_unrelated(&self, access: &LooseAccess) -> bool {
        !matches!(self.block.pool.get(access.address).rest, Rest::Uniform(_))
    }

    /// True if the distances between the lanes of one access differ from those of the other: then no lane keeps to a place of its own.
    fn do_lane_distances_differ(&self, one: &LooseAccess, other: &LooseAccess) -> bool {
        let vectors = [one, other].map(|access| self.block.pool.get(access.address));
        let both = one.may & other.may;
        let first = both.trailing_zeros() as usize;
        let distance = |place: usize, lane: usize| {
            let bits = &vectors[place].bits;
            bits[lane].wrapping_sub(bits[first])
        };
        lanes_in_set(both).any(|lane| distance(0, lane) != distance(1, lane))
    }

    /// True if two nodes lie in two arms of a branch that all threads take alike, and neither comes after the other.
    fn are_exclusive_arms(&mut self, one: u32, other: u32) -> bool {
        let (graph, order) = (&self.layout.graph, &self.layout.order);
        let is_arm =
            |target: u32, node: u32| graph.incoming_edges(target).len() == 1 && order.dominates(target, node);
        let mut branches = order
            .nodes
            .iter()
            .copied()
            .filter(|&node| self.uniform.is_branch(node));
        let are_parted = branches.any(|branch| {
            let targets: Vec<u32> = graph.successors(branch).collect();
            let [first, second] = targets[..] else {
                return false;
            };
            is_arm(first, one) && is_arm(second, other) || is_arm(second, one) && is_arm(first, other)
        });
        are_parted && !self.comes_after(one, other) && !self.comes_after(other, one)
    }

    fn comes_after(&mut self, from: u32, to: u32) -> bool {
        if !self.reached.contains_key(&from) {
            let warps = 0..self.block.warps.len();
            let none = FxHashSet::default();
            let after = warps
                .flat_map(|warp| self.nodes_reachable_after(warp, from, &none))
                .collect();
            self.reached.insert(from, after);
        }
        self.reached[&from].contains(&to)
    }
}
