//! Accesses of threads of different warps of a block to the same bytes of shared memory that no barrier orders.
//!
//! ```text
//! pair         threads t and u of different warps certainly access the same bytes, one of them with a write, in the code from one head
//!              to the next ordering of the block (`certain_paths`), or one in that code and the other in that of the next round
//! later        the access with the decisions of both: whenever a thread reaches it, t and u make both accesses
//! threshold    32 w, if w is the higher of the two warps: no smaller block has both threads
//! ```
//!
//! Where the block size is not stated, something has to show that blocks have more threads than the threshold: a barrier of
//! the block, if the pair is in the first two warps, and not in memory of which the lane alone decides the place; or bytes that the lower warp reads and only the higher one writes. A
//! warp that would access a variable outside of its bounds is taken for one that no block has.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::certain_paths::{CertainCode, CertainPaths, Decision, implies_passing_head, is_full_barrier};
use super::conflicts::stored_values_differ;
use super::found::{BlockPair, MissingBarrier, Object, PairKind};
use super::harmful_clashes::{self, OpenRead};
use super::kernels::{PairKey, group_by_object, position_of_pair, search_kernels};
use super::named_barriers::{NamedBarriers, is_outside_loops};
use super::orderings::Among;
use super::screen::block::{BlockSuspect, suspect_kernels};
use super::segments::Head;
use super::shared_accesses::{ByLane, Touch, Touches, Word};
use super::warps::{Block, BlockWarp, solve_block};
use crate::block_size;
use crate::lanes::explore::{CommonFindings, InLaunch, Launches, Meet};
use crate::lanes::flow::Flow;
use crate::lanes::launch::Launch;
use crate::lanes::layout::LaneLayout;
use crate::lanes::scenario::Fixed;
use crate::lanes::slice::Slices;
use crate::lanes::uniform::UniformBranches;
use crate::lanes::value::{Lanes, WARP, lanes_in_set};
use crate::limits::{MAX_EXCHANGE_PAIRS, MAX_EXCHANGE_PLACES};
use crate::shared::Shared;
use ptxcheck_ir::FunctionId;

/// All missing block barriers of a module, in the order of the input.
pub(crate) fn find_missing_barriers(module: &Shared<'_>) -> Vec<MissingBarrier> {
    search_suspects(module, &suspect_kernels(module), |slices, function, warps| {
        missing_barriers_of_kernel(module, slices, function, warps)
    })
}

/// All findings in suspects, in their order. `of_kernel`: the search of one kernel in the warps of its suspect; `None` if the budget is spent.
pub(super) fn search_suspects(
    module: &Shared<'_>,
    suspects: &[BlockSuspect],
    of_kernel: impl Fn(&Slices, FunctionId, &[u32]) -> Option<Vec<MissingBarrier>> + Sync,
) -> Vec<MissingBarrier> {
    let kernels: Vec<FunctionId> = suspects.iter().map(|suspect| suspect.kernel).collect();
    let warps: FxHashMap<FunctionId, &BlockSuspect> =
        suspects.iter().map(|suspect| (suspect.kernel, suspect)).collect();
    search_kernels(module, &kernels, |slices, function| {
        of_kernel(slices, function, &warps[&function].warps)
    })
}

/// The pairs of a kernel, in these warps; `None` if the budget is spent.
fn missing_barriers_of_kernel(
    module: &Shared<'_>,
    slices: &Slices,
    function: FunctionId,
    warps: &[u32],
) -> Option<Vec<MissingBarrier>> {
    let layout = LaneLayout::new(module, slices, function)?;
    let launches = Launches::new(&layout)?.for_several_warps();
    if launches.each.iter().any(|launch| launch.warp_count() < 2) {
        return None;
    }
    let found = pairs_in_layout(&layout, &launches, warps)?;
    Some(group_by_variable(function, launches.shown, found.into_iter()))
}

/// The pairs of a kernel by their variables. `launch`: the launch that findings name.
pub(super) fn group_by_variable(
    function: FunctionId,
    launch: Launch,
    found: impl Iterator<Item = FoundPair>,
) -> Vec<MissingBarrier> {
    let pairs = found.map(|found| (found.object, found.pair));
    let groups = group_by_object(pairs, |pair: &BlockPair| (pair.write.clone(), pair.other.clone()));
    let missing = groups.into_iter().map(|(object, pairs)| MissingBarrier {
        function,
        object,
        pairs,
        launch,
    });
    missing.collect()
}

/// The pairs that are definite in each launch, in the order of the code; `None` if the budget is spent.
fn pairs_in_layout(layout: &LaneLayout<'_>, launches: &Launches, warps: &[u32]) -> Option<Vec<FoundPair>> {
    let kernel = BlockKernel {
        layout,
        aborts: layout.graph.aborting_nodes(),
        counts_warps: has_full_barrier(layout) && computes_warp_number(layout),
    };
    let found = CommonFindings::find_in_launches(launches, |launch| kernel.pairs_in_launch(launch, warps))?;
    Some(found.collect())
}

/// True if a kernel has a barrier of the block.
pub(super) fn has_full_barrier(layout: &LaneLayout<'_>) -> bool {
    let mut nodes = layout.order.nodes.iter();
    nodes.any(|&node| is_full_barrier(&layout.graph, node))
}

/// True if a kernel divides the thread number by 32: its blocks have several warps.
pub(super) fn computes_warp_number(layout: &LaneLayout<'_>) -> bool {
    layout.graph.contexts.iter().any(|context| {
        block_size::computes_warp_number(context.body, layout.module.function(context.function))
    })
}

/// A pair of one launch, or of several, and its variable.
pub(super) struct FoundPair {
    /// The variable.
    pub object: Object,
    /// The pair.
    pub pair: BlockPair,
}

impl Meet for FoundPair {
    fn meet(&mut self, other: &Self) -> bool {
        self.pair.above = self.pair.above.max(other.pair.above);
        true
    }
}

/// An access that lanes of a warp certainly make after a head.
#[derive(Clone)]
struct CertainAccess {
    /// The place of the warp among the analysed ones.
    warp: usize,
    /// The access, among those of the warp.
    touch: usize,
    lanes: Lanes,
    /// The head that the code comes after.
    head: u32,
    code: Rc<CertainCode>,
}

/// An access of a warp.
fn touch_of_access<'b>(block: &'b Block<'_>, made: &CertainAccess) -> &'b Touch {
    &block.warps[made.warp].touches.all[made.touch]
}

/// The conditions for pairs of accesses.
struct Pairing<'s> {
    /// The branches that the threads of all warps take alike.
    uniform: &'s UniformBranches,
    /// The warp with the later access of each pair, if it is not any.
    later: Option<usize>,
}

/// A write by one warp and another access, by another warp, to the same bytes.
struct Candidate {
    write: CertainAccess,
    other: CertainAccess,
    /// By lane that writes: the lanes that make the other access to what it writes.
    lanes: ByLane,
    /// The write is the later access.
    is_at_write: bool,
}

impl Candidate {
    const fn later_access(&self) -> &CertainAccess {
        if self.is_at_write {
            &self.write
        } else {
            &self.other
        }
    }
}

struct BlockKernel<'k> {
    layout: &'k LaneLayout<'k>,
    aborts: Vec<bool>,
    /// The kernel has a barrier of the block, and divides the thread number by 32.
    counts_warps: bool,
}

impl BlockKernel<'_> {
    /// The pairs that are definite with one launch; `None` if the budget is spent.
    fn pairs_in_launch(&self, launch: Launch, warps: &[u32]) -> Option<InLaunch<PairKey, FoundPair>> {
        let fixed = Fixed::default();
        let mut block = solve_block(self.layout, &fixed, (launch, warps), Touches::of_block)?;
        let found = if block.warps.len() > 1 {
            self.definite_pairs_in_block(&mut block)
        } else {
            Vec::new()
        };
        let Block { pool, reached, .. } = block;
        self.layout.keep_pool(pool);
        Some(InLaunch {
            found: found.into_iter().collect(),
            reached,
        })
    }

    /// The definite pairs, each with its place.
    fn definite_pairs_in_block(&self, block: &mut Block<'_>) -> Vec<(PairKey, FoundPair)> {
        let Some(mut found) = self.unordered_candidates(block) else {
            return Vec::new();
        };
        if found.is_empty() {
            return Vec::new();
        }
        let used = users_of_reads(block, &found);
        let reads = reads_at_unknown_addresses(block, &found);
        found.sort_by_key(|pair| higher_warp(block, pair));
        let mut pairs = Vec::new();
        let mut known = FxHashSet::default();
        for mut pair in found {
            let (write, other) = (
                touch_of_access(block, &pair.write),
                touch_of_access(block, &pair.other),
            );
            if other.is_store {
                if !may_be_read_between_writes(block, &reads, &pair) {
                    continue;
                }
            } else {
                if harmful_clashes::is_idempotent_update(&block.warps[pair.other.warp].flow, write, other) {
                    continue;
                }
                let used = used.get(&(pair.other.warp, pair.other.touch)).copied();
                pair.lanes
                    .iter_mut()
                    .for_each(|others| *others &= used.unwrap_or(0));
            }
            let Some(writer) = (0..WARP).find(|&lane| pair.lanes[lane] != 0) else {
                continue;
            };
            let (true, above) = self.existence_of_both_threads(block, &pair) else {
                continue;
            };
            let places = [(write.node, write.at), (other.node, other.at)];
            if !known.insert(places) {
                continue;
            }
            let reader = pair.lanes[writer].trailing_zeros() as usize;
            let thread =
                |made: &CertainAccess, lane: usize| block.warps[made.warp].index * WARP as u32 + lane as u32;
            let place = position_of_pair(self.layout, places[0], places[1], other.is_store);
            let kind = match (other.is_store, pair.is_at_write) {
                (true, _) => PairKind::TwoWrites,
                (false, true) => PairKind::WriteAfterRead,
                (false, false) => PairKind::ReadAfterWrite,
            };
            let found = FoundPair {
                object: write.object,
                pair: BlockPair {
                    above,
                    write: place.write,
                    other: place.other,
                    kind,
                    threads: (thread(&pair.write, writer), thread(&pair.other, reader)),
                    is_in_next_round: pair.later_access().code.is_in_next_round,
                    is_at_write: pair.is_at_write,
                },
            };
            let node = touch_of_access(block, pair.later_access()).node;
            pairs.push((place.key.reported_at(node), found));
        }
        pairs
    }

    /// The pairs that nothing orders, whether they matter or not; `None` if the budget is spent.
    fn unordered_candidates(&self, block: &Block<'_>) -> Option<Vec<Candidate>> {
        let mut search = PairSearch {
            kernel: self,
            block,
            constant: constant_objects(block),
            left: MAX_EXCHANGE_PLACES,
            found: Vec::new(),
        };
        match &block.named {
            None => search.compare_all_warps_after_heads()?,
            Some(named) => search.compare_warp_pairs_after_heads(named)?,
        }
        Some(search.found)
    }

    /// True if the write is the later access of a pair; `None` if the pair is not definite at either of the two.
    fn is_reported_at_write(
        &self,
        block: &Block<'_>,
        of: &Pairing<'_>,
        write: &CertainAccess,
        other: &CertainAccess,
    ) -> Option<bool> {
        let is_later = |later: &CertainAccess, earlier: &CertainAccess| {
            let (now, then) = (&*earlier.code, &*later.code);
            let follows = match (now.is_in_next_round, then.is_in_next_round) {
                (true, _) => false,
                (false, true) => true,
                (false, false) => self.may_come_after(block, later, earlier),
            };
            let is_alike = |decision: &Decision| {
                then.decisions.contains(decision) && of.uniform.is_branch(decision.node)
            };
            follows
                && of.later.is_none_or(|warp| warp == later.warp)
                && now.decisions.iter().all(is_alike)
                && implies_passing_head(&self.layout.graph, &self.layout.order, later.head, then)
        };
        // Lanes of one warp that are ordered show that the code was written for one warp.
        let is_of_warps = write.code.collectives == other.code.collectives || self.has_several_warps(block);
        match is_of_warps {
            true if is_later(other, write) => Some(false),
            true if is_later(write, other) => Some(true),
            _ => None,
        }
    }

    /// True if blocks certainly have several warps, as the launch or the code says.
    fn has_several_warps(&self, block: &Block<'_>) -> bool {
        let are_counted =
            |named: &NamedBarriers| (1..block.warps.len()).any(|warp| named.is_warp_certain(warp));
        block.launch.shape.is_some() || self.counts_warps || block.named.as_ref().is_some_and(are_counted)
    }

    /// True if one access may come after another one in the order of the code, or the other needs fewer decisions.
    fn may_come_after(&self, block: &Block<'_>, later: &CertainAccess, earlier: &CertainAccess) -> bool {
        let rank = |made: &CertainAccess| {
            let touch = touch_of_access(block, made);
            (self.layout.order.rank[touch.node as usize], touch.at)
        };
        rank(later) >= rank(earlier) || later.code.decisions.len() > earlier.code.decisions.len()
    }

    /// Whether something shows that blocks have both threads of a pair, and the number of threads above which they do, if their size is
    /// not stated.
    fn existence_of_both_threads(&self, block: &Block<'_>, pair: &Candidate) -> (bool, Option<u32>) {
        if block.launch.shape.is_some() {
            return (true, None);
        }
        let higher = higher_warp(block, pair);
        let has_barrier = || {
            let flow = &block.warps[0].flow;
            let mut nodes = self.layout.order.nodes.iter();
            nodes.any(|&node| flow.may[node as usize] != 0 && is_full_barrier(flow.graph, node))
        };
        let has_warps =
            || block.launch.most.is_some_and(|most| most > WARP as u32) || !is_warp_private(block, pair);
        let is_counted = |named: &NamedBarriers| named.is_warp_certain(higher as usize);
        let is_shown = higher == 1 && has_barrier() && has_warps()
            || block.named.as_ref().is_some_and(is_counted)
            || is_read_by_lower_warp(block, pair);
        (is_shown, Some(higher * WARP as u32))
    }
}

/// The search for pairs that nothing orders.
struct PairSearch<'s, 'a> {
    kernel: &'s BlockKernel<'s>,
    block: &'s Block<'a>,
    /// Objects of which all writes are of one constant.
    constant: FxHashSet<Object>,
    left: usize,
    found: Vec<Candidate>,
}

impl<'s, 'a> PairSearch<'s, 'a> {
    fn flow_of_warp(&self, warp: usize) -> &'s Flow<'a> {
        &self.block.warps[warp].flow
    }

    fn certain_paths_of_warp<'p>(&self, warp: usize, uniform: &'p UniformBranches) -> CertainPaths<'p, 'a>
    where
        's: 'p,
    {
        let BlockWarp { flow, touches, .. } = &self.block.warps[warp];
        CertainPaths::new(flow, touches, Among::Warps, Some(uniform), &self.kernel.aborts)
    }

    fn is_limit_reached(&self) -> bool {
        self.kernel.layout.module.deadline.is_over_at_step() || self.found.len() >= MAX_EXCHANGE_PAIRS
    }

    /// The entry, and the barriers of the block that the threads of these warps pass equally often.
    fn common_heads(&self, uniform: &UniformBranches, warps: &[usize]) -> Vec<u32> {
        let order = &self.kernel.layout.order;
        let graph = &self.kernel.layout.graph;
        let is_head = |&node: &u32| {
            let is_start = node == 0 || is_full_barrier(graph, node) && uniform.is_reached_uniformly(node);
            let is_reached = |warp: &&usize| self.flow_of_warp(**warp).may[node as usize] != 0;
            is_start
                && !order.is_in_or_before_irreducible_loop(node)
                && warps.iter().filter(is_reached).count() > 1
        };
        order.nodes.iter().copied().filter(is_head).collect()
    }

    /// Compares the accesses of all warps after each head.
    fn compare_all_warps_after_heads(&mut self) -> Option<()> {
        let warps: Vec<usize> = (0..self.block.warps.len()).collect();
        let flows: Vec<&Flow<'_>> = warps.iter().map(|&warp| self.flow_of_warp(warp)).collect();
        let uniform = UniformBranches::of_all_warps_in_block(&flows, self.block.is_whole_block())?;
        let mut paths: Vec<CertainPaths<'_, '_>> = warps
            .iter()
            .map(|&warp| self.certain_paths_of_warp(warp, &uniform))
            .collect();
        let pairing = Pairing {
            uniform: &uniform,
            later: None,
        };
        for head in self.common_heads(&uniform, &warps) {
            if self.is_limit_reached() {
                break;
            }
            let mut made = Vec::new();
            for &warp in &warps {
                self.add_certain_accesses(&mut made, warp, &mut paths[warp], head);
            }
            self.add_overlapping_pairs(&pairing, &made)?;
        }
        Some(())
    }

    /// Compares the accesses of two warps after each head of the two, past the barriers that do not order them: for all pairs of warps.
    fn compare_warp_pairs_after_heads(&mut self, named: &NamedBarriers) -> Option<()> {
        let count = self.block.warps.len();
        let of_each =
            (0..count).map(|warp| UniformBranches::of_all_warps_in_block(&[self.flow_of_warp(warp)], true));
        let of_each: Vec<UniformBranches> = of_each.collect::<Option<_>>()?;
        for [one, other] in (0..count).flat_map(|other| (0..other).map(move |one| [one, other])) {
            let both = UniformBranches::of_all_warps_in_block(
                &[self.flow_of_warp(one), self.flow_of_warp(other)],
                true,
            )?;
            let passed = [
                named.barriers_without_order_between(one, other),
                named.barriers_without_order_between(other, one),
            ];
            let mut paths = [(one, &passed[0]), (other, &passed[1])].map(|(warp, passed)| {
                self.certain_paths_of_warp(warp, &of_each[warp])
                    .ignoring_barriers(passed)
            });
            let common = self.common_heads(&both, &[one, other]);
            let mut starts: Vec<([u32; 2], Option<usize>)> =
                common.into_iter().map(|head| ([head; 2], None)).collect();
            let meetings = named.meetings_of_warps([one, other]).into_iter();
            starts.extend(meetings.filter_map(|meeting| {
                let nodes = meeting.nodes;
                let is_undivided = of_each[one].is_reached_uniformly(nodes[0])
                    && of_each[other].is_reached_uniformly(nodes[1]);
                let later = match meeting.waits {
                    [true, true] => None,
                    [waits, _] => Some(if waits { one } else { other }),
                };
                let is_once = || {
                    nodes
                        .iter()
                        .all(|&node| is_outside_loops(self.kernel.layout, node))
                };
                let order = &self.kernel.layout.order;
                let is_regular = || {
                    !nodes
                        .iter()
                        .any(|&node| order.is_in_or_before_irreducible_loop(node))
                };
                let is_head =
                    meeting.is_exact && is_undivided && is_regular() && (later.is_none() || is_once());
                is_head.then_some((nodes, later))
            }));
            for (heads, later) in starts {
                if self.is_limit_reached() {
                    return Some(());
                }
                let mut made = Vec::new();
                for (place, warp) in [one, other].into_iter().enumerate() {
                    self.add_certain_accesses(&mut made, warp, &mut paths[place], heads[place]);
                }
                let uniform = &both;
                self.add_overlapping_pairs(&Pairing { uniform, later }, &made)?;
            }
        }
        Some(())
    }

    /// Adds the accesses to variables in shared memory that lanes of a warp certainly make after a head.
    fn add_certain_accesses(
        &self,
        made: &mut Vec<CertainAccess>,
        warp: usize,
        paths: &mut CertainPaths<'_, '_>,
        head: u32,
    ) {
        let touches = &self.block.warps[warp].touches;
        let code = paths.certain_code_after(Head { node: head, part: 0 });
        for code in code.into_iter().map(Rc::new) {
            for touch in touches.accesses_in_node(code.node) {
                let access = &touches.all[touch];
                let is_variable = matches!(access.object, Object::Variable(_));
                let lanes = access.lanes & code.lanes;
                if access.part == 0
                    && access.is_shared
                    && is_variable
                    && lanes != 0
                    && !self.constant.contains(&access.object)
                {
                    made.push(CertainAccess {
                        warp,
                        touch,
                        lanes,
                        head,
                        code: Rc::clone(&code),
                    });
                }
            }
        }
    }

    /// Adds the pairs among accesses; `None` if the budget is spent.
    fn add_overlapping_pairs(&mut self, pairing: &Pairing<'_>, made: &[CertainAccess]) -> Option<()> {
        let block = self.block;
        let sizes = made.iter().map(|made| touch_of_access(block, made).bytes);
        let Some(granule) = sizes.min().map(|bytes| i64::from(bytes.max(1))) else {
            return Some(());
        };
        let mut writes: FxHashMap<Word, Vec<(usize, usize)>> = FxHashMap::default();
        for (number, made) in made.iter().enumerate() {
            let touch = touch_of_access(block, made);
            for lane in lanes_in_set(made.lanes).filter(|_| touch.is_store) {
                for word in touch.touched_words(lane, granule) {
                    self.left = self.left.checked_sub(1)?;
                    writes.entry(word).or_default().push((number, lane));
                }
            }
        }
        let mut by_pair: FxHashMap<(usize, usize), Option<usize>> = FxHashMap::default();
        for (number, other) in made.iter().enumerate() {
            let touch = touch_of_access(block, other);
            for lane in lanes_in_set(other.lanes) {
                for word in touch.touched_words(lane, granule) {
                    for &(write, writer) in writes.get(&word).into_iter().flatten() {
                        self.left = self.left.checked_sub(1)?;
                        let by = &made[write];
                        let written = touch_of_access(block, by);
                        let is_pair = by.warp != other.warp
                            && written.overlaps(writer, touch, lane)
                            && !(written.is_strong && touch.is_strong)
                            && (!touch.is_store
                                || write < number
                                    && stored_values_differ(&block.pool, written, writer, touch, lane));
                        if !is_pair {
                            continue;
                        }
                        let known = *by_pair.entry((write, number)).or_insert_with(|| {
                            let is_at_write = self.kernel.is_reported_at_write(block, pairing, by, other)?;
                            self.found.push(Candidate {
                                write: by.clone(),
                                other: other.clone(),
                                lanes: [0; WARP],
                                is_at_write,
                            });
                            Some(self.found.len() - 1)
                        });
                        if let Some(known) = known {
                            self.found[known].lanes[writer] |= 1 << lane;
                        }
                    }
                }
            }
        }
        Some(())
    }
}

/// The higher of the two warps of a pair.
fn higher_warp(block: &Block<'_>, pair: &Candidate) -> u32 {
    let index = |made: &CertainAccess| block.warps[made.warp].index;
    index(&pair.write).max(index(&pair.other))
}

/// True if both accesses of a pair are at places that the lane alone decides: such memory is meant for one warp.
fn is_warp_private(block: &Block<'_>, pair: &Candidate) -> bool {
    let depends_on_lane = |made: &CertainAccess| {
        let touch = touch_of_access(block, made);
        touch.places.iter().any(|place| *place != touch.places[0])
    };
    let is_alike = |made: &CertainAccess| {
        let touch = touch_of_access(block, made);
        block.warps.iter().all(|warp| {
            let mut same = warp
                .touches
                .accesses_in_node(touch.node)
                .map(|number| &warp.touches.all[number]);
            same.all(|same| same.at != touch.at || same.places == touch.places)
        })
    };
    let both = [&pair.write, &pair.other];
    both.iter().all(|made| is_alike(made)) && both.iter().any(|made| depends_on_lane(made))
}

/// True if the lower warp of a pair reads what no lower warp writes.
fn is_read_by_lower_warp(block: &Block<'_>, pair: &Candidate) -> bool {
    let (write, other) = (
        touch_of_access(block, &pair.write),
        touch_of_access(block, &pair.other),
    );
    let higher = higher_warp(block, pair);
    if other.is_store || block.warps[pair.write.warp].index != higher {
        return false;
    }
    let below = || block.warps.iter().filter(|warp| warp.index < higher);
    (0..WARP).filter(|&writer| pair.lanes[writer] != 0).any(|writer| {
        !below().any(|warp| {
            let mut stores = warp.touches.all.iter().filter(|touch| touch.is_store);
            stores.any(|touch| {
                touch.object == write.object
                    && lanes_in_set(touch.may).any(|lane| touch.overlaps(lane, write, writer))
            })
        })
    })
}

/// The variables of which all known writes are of one constant.
fn constant_objects(block: &Block<'_>) -> FxHashSet<Object> {
    let mut values: FxHashMap<Object, Option<u64>> = FxHashMap::default();
    let stores = block
        .warps
        .iter()
        .flat_map(|warp| warp.touches.all.iter().filter(|touch| touch.is_store));
    for touch in stores {
        let value = touch.stored.and_then(|stored| {
            let stored = block.pool.get(stored);
            let lane = lanes_in_set(touch.may).next()?;
            let is_one = stored.is_uniform_among(touch.may);
            stored.value_in_lane(lane).filter(|_| is_one)
        });
        let known = values.entry(touch.object).or_insert(value);
        if *known != value {
            *known = None;
        }
    }
    let constant = values.into_iter().filter(|(_, value)| value.is_some());
    constant.map(|(object, _)| object).collect()
}

/// By warp and reading access of the pairs: the lanes that certainly use what they read.
fn users_of_reads(block: &mut Block<'_>, pairs: &[Candidate]) -> FxHashMap<(usize, usize), Lanes> {
    let mut used = FxHashMap::default();
    for warp in 0..block.warps.len() {
        let mut readers: FxHashMap<usize, Lanes> = FxHashMap::default();
        for pair in pairs.iter().filter(|pair| pair.other.warp == warp) {
            if !touch_of_access(block, &pair.other).is_store {
                let lanes = pair.lanes.iter().fold(0, |all, lanes| all | lanes);
                *readers.entry(pair.other.touch).or_default() |= lanes;
            }
        }
        let users = block.with_flow(warp, |flow, touches| {
            harmful_clashes::users_of_reads(flow, flow.launch.analysed_lanes(), readers, touches)
        });
        used.extend(
            users
                .into_iter()
                .map(|(touch, users)| ((warp, touch), users.lanes)),
        );
    }
    used
}

/// By warp: the reads at unknown addresses, if two writes are among the pairs.
fn reads_at_unknown_addresses(block: &mut Block<'_>, pairs: &[Candidate]) -> Vec<Vec<OpenRead>> {
    let has_two_writes = pairs
        .iter()
        .any(|pair| touch_of_access(block, &pair.other).is_store);
    let warps = 0..block.warps.len();
    warps
        .filter(|_| has_two_writes)
        .map(|warp| block.with_flow(warp, harmful_clashes::reads_at_unknown_address))
        .collect()
}

/// True if a thread may read the bytes of two writes after one of them.
fn may_be_read_between_writes(block: &Block<'_>, reads: &[Vec<OpenRead>], pair: &Candidate) -> bool {
    let write = touch_of_access(block, &pair.write);
    let nodes = [write.node, touch_of_access(block, &pair.other).node];
    block.warps.iter().zip(reads).any(|(warp, open)| {
        harmful_clashes::may_be_read_between_writes(
            &warp.flow,
            &warp.touches,
            open,
            (write, &pair.lanes),
            nodes,
        )
    })
}
