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

use super::certain_paths::{CertainCode, CertainPaths, implies, is_full_barrier};
use super::conflicts::stored_values_differ;
use super::found::{BlockPair, MissingBarrier, Object, PairKind};
use super::kernels::{PairKey, group_by_object, position_of_pair, reached_nodes, search_kernels};
use super::matters::{self, OpenRead};
use super::orderings::Among;
use super::screen::block::{BlockSuspect, suspects};
use super::segments::Head;
use super::shared_accesses::{ByLane, Touch, Touches, Word};
use crate::block_size;
use crate::lanes::explore::{InEach, InLaunch, Launches, Meet};
use crate::lanes::flow::Flow;
use crate::lanes::launch::Launch;
use crate::lanes::layout::LaneLayout;
use crate::lanes::scenario::Fixed;
use crate::lanes::slice::Slices;
use crate::lanes::uniform::Uniform;
use crate::lanes::value::{Lanes, Pool, WARP, lanes};
use crate::limits::{MAX_BLOCK_WARPS, MAX_EXCHANGE_PAIRS, MAX_EXCHANGE_PLACES};
use crate::shared::Shared;
use ptxcheck_ir::FunctionId;

/// All missing block barriers of a module, in the order of the input.
pub(crate) fn find(module: &Shared<'_>) -> Vec<MissingBarrier> {
    search_suspects(module, &suspects(module), |slices, function, warps| {
        of_kernel(module, slices, function, warps)
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
fn of_kernel(
    module: &Shared<'_>,
    slices: &Slices,
    function: FunctionId,
    warps: &[u32],
) -> Option<Vec<MissingBarrier>> {
    let layout = LaneLayout::new(module, slices, function)?;
    let launches = Launches::new(&layout)?.of_blocks();
    if launches.each.iter().any(|launch| launch.warp_count() < 2) {
        return None;
    }
    let found = in_layout(&layout, &launches, warps)?;
    Some(by_variable(function, launches.shown, found.into_iter()))
}

/// The pairs of a kernel by their variables. `launch`: the launch that findings name.
pub(super) fn by_variable(
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
fn in_layout(layout: &LaneLayout<'_>, launches: &Launches, warps: &[u32]) -> Option<Vec<FoundPair>> {
    let kernel = BlockKernel {
        layout,
        aborts: layout.graph.aborting(),
        counts_warps: has_full_barrier(layout) && computes_warp_number(layout),
    };
    let found = InEach::find_in_launches(launches, |launch| kernel.launched(launch, warps))?;
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

/// One analysed warp.
pub(super) struct BlockWarp<'a> {
    /// Its number in the block.
    pub index: u32,
    /// Its solution. The pool is in [`Block::pool`].
    pub flow: Flow<'a>,
    /// Its accesses.
    pub touches: Touches,
}

/// An access that lanes of a warp certainly make after a head.
#[derive(Clone)]
struct Made {
    /// The place of the warp among the analysed ones.
    warp: usize,
    /// The access, among those of the warp.
    touch: usize,
    lanes: Lanes,
    code: Rc<CertainCode>,
}

/// A write by one warp and another access, by another warp, to the same bytes.
struct Candidate {
    write: Made,
    other: Made,
    /// By lane that writes: the lanes that make the other access to what it writes.
    lanes: ByLane,
    /// The write is the later access.
    is_at_write: bool,
}

impl Candidate {
    const fn later(&self) -> &Made {
        if self.is_at_write {
            &self.write
        } else {
            &self.other
        }
    }
}

/// The analysed warps of a block, and the pool of all of their solutions.
pub(super) struct Block<'a> {
    /// The launch.
    pub launch: Launch,
    /// The warps, lowest first.
    pub warps: Vec<BlockWarp<'a>>,
    /// The vectors.
    pub pool: Pool,
}

impl<'a> Block<'a> {
    fn touch(&self, made: &Made) -> &Touch {
        &self.warps[made.warp].touches.all[made.touch]
    }

    /// True if these are all warps of the block.
    pub(super) fn is_whole(&self) -> bool {
        self.launch.shape.is_some() && self.launch.warp_count() as usize == self.warps.len()
    }

    /// Calls `ask` with the solution of a warp, with the pool in its place.
    pub(super) fn with_flow<T>(&mut self, warp: usize, ask: impl FnOnce(&mut Flow<'a>, &Touches) -> T) -> T {
        let BlockWarp { flow, touches, .. } = &mut self.warps[warp];
        std::mem::swap(&mut flow.pool, &mut self.pool);
        let answer = ask(flow, touches);
        std::mem::swap(&mut flow.pool, &mut self.pool);
        answer
    }
}

/// The solutions of those of these warps that a launch has, with their accesses; `None` if the budget is spent. `fixed`: nothing is.
pub(super) fn solve_warps<'a>(
    layout: &'a LaneLayout<'a>,
    fixed: &'a Fixed<'a>,
    (launch, warps): (Launch, &[u32]),
    accesses: impl Fn(&mut Flow<'_>) -> Touches,
) -> Option<Block<'a>> {
    let mut block = Block {
        launch,
        warps: Vec::new(),
        pool: layout.reusable_pool(),
    };
    let existing = warps.iter().filter(|warp| **warp < launch.warp_count());
    for &index in existing.take(MAX_BLOCK_WARPS) {
        let launch = Launch {
            warp: Some(index),
            ..launch
        };
        let mut flow = Flow::new(layout, launch, fixed, std::mem::take(&mut block.pool))?;
        let touches = accesses(&mut flow);
        block.pool = std::mem::take(&mut flow.pool);
        block.warps.push(BlockWarp { index, flow, touches });
    }
    Some(block)
}

/// True if a warp writes to a shared variable outside of its bounds. Reads say nothing: compilers read ahead, and drop the value.
pub(super) fn leaves_a_variable(layout: &LaneLayout<'_>, touches: &Touches) -> bool {
    let module = layout.module.module;
    let mut stores = touches
        .all
        .iter()
        .filter(|touch| touch.is_shared && touch.is_store);
    stores.any(|touch| {
        let Object::Variable(symbol) = touch.object else {
            return false;
        };
        let size = module
            .symbol(symbol)
            .size
            .and_then(|size| i64::try_from(size).ok());
        let leaves = |lane: usize, size: i64| {
            let place = touch.places[lane];
            place < 0 || place.saturating_add(i64::from(touch.bytes)) > size
        };
        size.is_some_and(|size| lanes(touch.may).any(|lane| leaves(lane, size)))
    })
}

struct BlockKernel<'k> {
    layout: &'k LaneLayout<'k>,
    aborts: Vec<bool>,
    /// The kernel has a barrier of the block, and divides the thread number by 32.
    counts_warps: bool,
}

impl BlockKernel<'_> {
    /// The pairs that are definite with one launch; `None` if the budget is spent.
    fn launched(&self, launch: Launch, warps: &[u32]) -> Option<InLaunch<PairKey, FoundPair>> {
        let fixed = Fixed::default();
        let mut block = solve_warps(self.layout, &fixed, (launch, warps), Touches::of_block)?;
        let nodes = block
            .warps
            .iter()
            .flat_map(|warp| reached_nodes(&warp.flow))
            .collect();
        if launch.shape.is_none() {
            block
                .warps
                .retain(|warp| !leaves_a_variable(self.layout, &warp.touches));
        }
        let found = if block.warps.len() > 1 {
            self.pairs(&mut block)
        } else {
            Vec::new()
        };
        self.layout.keep_pool(block.pool);
        Some(InLaunch {
            found: found.into_iter().collect(),
            reached: nodes,
        })
    }

    /// The definite pairs, each with its place.
    fn pairs(&self, block: &mut Block<'_>) -> Vec<(PairKey, FoundPair)> {
        let Some(mut found) = self.candidates(block) else {
            return Vec::new();
        };
        if found.is_empty() {
            return Vec::new();
        }
        let used = used(block, &found);
        let reads = open_reads(block, &found);
        found.sort_by_key(|pair| higher(block, pair));
        let mut pairs = Vec::new();
        let mut known = FxHashSet::default();
        for mut pair in found {
            let (write, other) = (block.touch(&pair.write), block.touch(&pair.other));
            if other.is_store {
                if !may_be_read(block, &reads, &pair) {
                    continue;
                }
            } else {
                let used = used.get(&(pair.other.warp, pair.other.touch)).copied();
                pair.lanes
                    .iter_mut()
                    .for_each(|others| *others &= used.unwrap_or(0));
            }
            let Some(writer) = (0..WARP).find(|&lane| pair.lanes[lane] != 0) else {
                continue;
            };
            let (true, above) = self.above(block, &pair) else {
                continue;
            };
            let places = [(write.node, write.at), (other.node, other.at)];
            if !known.insert(places) {
                continue;
            }
            let reader = pair.lanes[writer].trailing_zeros() as usize;
            let thread = |made: &Made, lane: usize| block.warps[made.warp].index * WARP as u32 + lane as u32;
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
                    is_in_next_round: pair.later().code.is_in_next_round,
                    is_at_write: pair.is_at_write,
                },
            };
            let node = block.touch(pair.later()).node;
            pairs.push((place.key.reported_at(node), found));
        }
        pairs
    }

    /// The pairs that nothing orders, whether they matter or not; `None` if the budget is spent.
    fn candidates(&self, block: &Block<'_>) -> Option<Vec<Candidate>> {
        let flows: Vec<&Flow<'_>> = block.warps.iter().map(|warp| &warp.flow).collect();
        let uniform = Uniform::of_block(&flows, block.is_whole())?;
        let mut paths: Vec<CertainPaths<'_, '_>> = block
            .warps
            .iter()
            .map(|warp| {
                CertainPaths::new(
                    &warp.flow,
                    &warp.touches,
                    Among::Warps,
                    Some(&uniform),
                    &self.aborts,
                )
            })
            .collect();
        let order = &self.layout.order;
        let is_head = |&node: &u32| {
            let is_start = node == 0 || is_full_barrier(flows[0].graph, node) && uniform.is_undivided(node);
            is_start
                && !order.is_in_or_before_irreducible_loop(node)
                && flows.iter().filter(|flow| flow.may[node as usize] != 0).count() > 1
        };
        let constant = constant_objects(block);
        let mut left = MAX_EXCHANGE_PLACES;
        let mut found = Vec::new();
        for head in order.nodes.iter().copied().filter(is_head) {
            if self.layout.module.deadline.is_over_at_step() || found.len() >= MAX_EXCHANGE_PAIRS {
                break;
            }
            let mut made = Vec::new();
            for (warp, paths) in paths.iter_mut().enumerate() {
                for code in paths
                    .code_after(Head { node: head, part: 0 })
                    .into_iter()
                    .map(Rc::new)
                {
                    let touches = &block.warps[warp].touches;
                    for touch in touches.accesses_in_node(code.node) {
                        let access = &touches.all[touch];
                        let is_variable = matches!(access.object, Object::Variable(_));
                        let lanes = access.lanes & code.lanes;
                        if access.part == 0
                            && access.is_shared
                            && is_variable
                            && lanes != 0
                            && !constant.contains(&access.object)
                        {
                            made.push(Made {
                                warp,
                                touch,
                                lanes,
                                code: Rc::clone(&code),
                            });
                        }
                    }
                }
            }
            self.overlaps(block, head, &made, &mut left, &mut found)?;
        }
        Some(found)
    }

    /// Adds the pairs among the accesses after a head; `None` if the budget is spent.
    fn overlaps(
        &self,
        block: &Block<'_>,
        head: u32,
        made: &[Made],
        left: &mut usize,
        found: &mut Vec<Candidate>,
    ) -> Option<()> {
        let sizes = made.iter().map(|made| block.touch(made).bytes);
        let Some(granule) = sizes.min().map(|bytes| i64::from(bytes.max(1))) else {
            return Some(());
        };
        let mut writes: FxHashMap<Word, Vec<(usize, usize)>> = FxHashMap::default();
        for (number, made) in made.iter().enumerate() {
            let touch = block.touch(made);
            for lane in lanes(made.lanes).filter(|_| touch.is_store) {
                for word in touch.words(lane, granule) {
                    *left = left.checked_sub(1)?;
                    writes.entry(word).or_default().push((number, lane));
                }
            }
        }
        let mut by_pair: FxHashMap<(usize, usize), Option<usize>> = FxHashMap::default();
        for (number, other) in made.iter().enumerate() {
            let touch = block.touch(other);
            for lane in lanes(other.lanes) {
                for word in touch.words(lane, granule) {
                    for &(write, writer) in writes.get(&word).into_iter().flatten() {
                        *left = left.checked_sub(1)?;
                        let by = &made[write];
                        let written = block.touch(by);
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
                            let is_at_write = self.is_at_write(block, head, by, other)?;
                            found.push(Candidate {
                                write: by.clone(),
                                other: other.clone(),
                                lanes: [0; WARP],
                                is_at_write,
                            });
                            Some(found.len() - 1)
                        });
                        if let Some(known) = known {
                            found[known].lanes[writer] |= 1 << lane;
                        }
                    }
                }
            }
        }
        Some(())
    }

    /// True if the write is the later access of a pair after a head; `None` if the pair is not definite at either of the two.
    fn is_at_write(&self, block: &Block<'_>, head: u32, write: &Made, other: &Made) -> Option<bool> {
        let is_later = |later: &Made, earlier: &Made| {
            let (now, then) = (&*earlier.code, &*later.code);
            let follows = match (now.is_in_next_round, then.is_in_next_round) {
                (true, _) => false,
                (false, true) => true,
                (false, false) => self.is_behind(block, later, earlier),
            };
            follows
                && now
                    .decisions
                    .iter()
                    .all(|decision| then.decisions.contains(decision))
                && implies(&self.layout.graph, &self.layout.order, head, then)
        };
        // Lanes of one warp that are ordered show that the code was written for one warp.
        let is_of_warps = write.code.collectives == other.code.collectives || self.has_warps(block.launch);
        match is_of_warps {
            true if is_later(other, write) => Some(false),
            true if is_later(write, other) => Some(true),
            _ => None,
        }
    }

    /// True if blocks certainly have several warps, as the launch or the code says.
    fn has_warps(&self, launch: Launch) -> bool {
        launch.shape.is_some() || self.counts_warps
    }

    /// True if one access may come after another one in the order of the code, or the other needs fewer decisions.
    fn is_behind(&self, block: &Block<'_>, later: &Made, earlier: &Made) -> bool {
        let rank = |made: &Made| {
            let touch = block.touch(made);
            (self.layout.order.rank[touch.node as usize], touch.at)
        };
        rank(later) >= rank(earlier) || later.code.decisions.len() > earlier.code.decisions.len()
    }

    /// Whether something shows that blocks have both threads of a pair, and the number of threads above which they do, if their size is
    /// not stated.
    fn above(&self, block: &Block<'_>, pair: &Candidate) -> (bool, Option<u32>) {
        if block.launch.shape.is_some() {
            return (true, None);
        }
        let higher = higher(block, pair);
        let has_barrier = || {
            let flow = &block.warps[0].flow;
            let mut nodes = self.layout.order.nodes.iter();
            nodes.any(|&node| flow.may[node as usize] != 0 && is_full_barrier(flow.graph, node))
        };
        let has_warps =
            || block.launch.most.is_some_and(|most| most > WARP as u32) || !is_of_one_warp(block, pair);
        let is_shown = higher == 1 && has_barrier() && has_warps() || is_read_below(block, pair);
        (is_shown, Some(higher * WARP as u32))
    }
}

/// The higher of the two warps of a pair.
fn higher(block: &Block<'_>, pair: &Candidate) -> u32 {
    let index = |made: &Made| block.warps[made.warp].index;
    index(&pair.write).max(index(&pair.other))
}

/// True if both accesses of a pair are at places that the lane alone decides: such memory is meant for one warp.
fn is_of_one_warp(block: &Block<'_>, pair: &Candidate) -> bool {
    let depends_on_lane = |made: &Made| {
        let touch = block.touch(made);
        touch.places.iter().any(|place| *place != touch.places[0])
    };
    let is_alike = |made: &Made| {
        let touch = block.touch(made);
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
fn is_read_below(block: &Block<'_>, pair: &Candidate) -> bool {
    let (write, other) = (block.touch(&pair.write), block.touch(&pair.other));
    let higher = higher(block, pair);
    if other.is_store || block.warps[pair.write.warp].index != higher {
        return false;
    }
    let below = || block.warps.iter().filter(|warp| warp.index < higher);
    (0..WARP).filter(|&writer| pair.lanes[writer] != 0).any(|writer| {
        !below().any(|warp| {
            let mut stores = warp.touches.all.iter().filter(|touch| touch.is_store);
            stores.any(|touch| {
                touch.object == write.object
                    && lanes(touch.may).any(|lane| touch.overlaps(lane, write, writer))
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
            let lane = lanes(touch.may).next()?;
            let is_one = stored.is_splat(touch.may);
            stored.in_lane(lane).filter(|_| is_one)
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
fn used(block: &mut Block<'_>, pairs: &[Candidate]) -> FxHashMap<(usize, usize), Lanes> {
    let mut used = FxHashMap::default();
    for warp in 0..block.warps.len() {
        let mut readers: FxHashMap<usize, Lanes> = FxHashMap::default();
        for pair in pairs.iter().filter(|pair| pair.other.warp == warp) {
            if !block.touch(&pair.other).is_store {
                let lanes = pair.lanes.iter().fold(0, |all, lanes| all | lanes);
                *readers.entry(pair.other.touch).or_default() |= lanes;
            }
        }
        let users = block.with_flow(warp, |flow, touches| {
            matters::users_of_reads(flow, flow.launch.lanes(), readers, touches)
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
fn open_reads(block: &mut Block<'_>, pairs: &[Candidate]) -> Vec<Vec<OpenRead>> {
    let has_two_writes = pairs.iter().any(|pair| block.touch(&pair.other).is_store);
    let warps = 0..block.warps.len();
    warps
        .filter(|_| has_two_writes)
        .map(|warp| block.with_flow(warp, matters::reads_at_unknown_address))
        .collect()
}

/// True if a thread may read the bytes of two writes after one of them.
fn may_be_read(block: &Block<'_>, reads: &[Vec<OpenRead>], pair: &Candidate) -> bool {
    let write = block.touch(&pair.write);
    let nodes = [write.node, block.touch(&pair.other).node];
    block.warps.iter().zip(reads).any(|(warp, open)| {
        matters::may_be_read(&warp.flow, &warp.touches, open, (write, &pair.lanes), nodes)
    })
}
