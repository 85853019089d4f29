//! The solutions of the warps of a block that are compared with each other.

use rustc_hash::FxHashSet;

use super::found::Object;
use super::kernels::reached_nodes;
use super::named_barriers::{BarrierStop, NamedBarriers, has_counted_barrier, stations_of_warp};
use super::shared_accesses::Touches;
use crate::lanes::flow::Flow;
use crate::lanes::launch::Launch;
use crate::lanes::layout::LaneLayout;
use crate::lanes::scenario::Fixed;
use crate::lanes::value::{Pool, lanes_in_set};
use crate::limits::{MAX_BLOCK_WARPS, MAX_NAMED_WARPS};

/// One analysed warp.
pub(super) struct BlockWarp<'a> {
    /// Its number in the block.
    pub index: u32,
    /// Its solution. The pool is in [`Block::pool`].
    pub flow: Flow<'a>,
    /// Its accesses.
    pub touches: Touches,
}

/// The analysed warps of a block, and the pool of all of their solutions.
pub(super) struct Block<'a> {
    /// The launch.
    pub launch: Launch,
    /// The warps, lowest first. Without a stated block size, those that would leave a variable are not among them.
    pub warps: Vec<BlockWarp<'a>>,
    /// The vectors.
    pub pool: Pool,
    /// The nodes that lanes of any analysed warp may reach.
    pub reached: FxHashSet<u32>,
    /// The barriers with a count, if all of them are known; then all warps are analysed.
    pub named: Option<NamedBarriers>,
}

impl<'a> Block<'a> {
    /// True if these are all warps of the block.
    pub(super) fn is_whole_block(&self) -> bool {
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

    /// The places at which the warps may come to barriers; `None` if a number or a count is not known.
    fn barrier_stations(&mut self) -> Option<Vec<BarrierStop>> {
        let mut all = Vec::new();
        for warp in 0..self.warps.len() {
            all.extend(self.with_flow(warp, |flow, _| stations_of_warp(flow, warp))?);
        }
        Some(all)
    }
}

/// The solutions of those of these warps that a launch has, with their accesses, or of all of its warps if barriers with known counts
/// order them; `None` if the budget is spent. `fixed`: nothing is.
pub(super) fn solve_block<'a>(
    layout: &'a LaneLayout<'a>,
    fixed: &'a Fixed<'a>,
    (launch, warps): (Launch, &[u32]),
    accesses: impl Fn(&mut Flow<'_>) -> Touches,
) -> Option<Block<'a>> {
    let existing = warps.iter().copied().filter(|warp| *warp < launch.warp_count());
    let first: Vec<u32> = existing.take(MAX_BLOCK_WARPS).collect();
    let mut block = solve_warps(layout, fixed, (launch, &first), &accesses)?;
    let count = launch.warp_count();
    if count > MAX_NAMED_WARPS || !has_counted_barrier(layout) || block.barrier_stations().is_none() {
        return Some(block);
    }
    let all: Vec<u32> = (0..count).collect();
    let mut whole = solve_warps(layout, fixed, (launch, &all), &accesses)?;
    let is_lowest = |(place, warp): (usize, &BlockWarp<'_>)| warp.index as usize == place;
    if whole.warps.iter().enumerate().all(is_lowest) {
        let stations = whole.barrier_stations();
        whole.named = stations.and_then(|stations| NamedBarriers::new(stations, whole.warps.len()));
    }
    let (used, unused) = match whole.named {
        Some(_) => (whole, block),
        None => (block, whole),
    };
    layout.keep_pool(unused.pool);
    Some(used)
}

fn solve_warps<'a>(
    layout: &'a LaneLayout<'a>,
    fixed: &'a Fixed<'a>,
    (launch, warps): (Launch, &[u32]),
    accesses: &impl Fn(&mut Flow<'_>) -> Touches,
) -> Option<Block<'a>> {
    let mut block = Block {
        launch,
        warps: Vec::new(),
        pool: layout.reusable_pool(),
        reached: FxHashSet::default(),
        named: None,
    };
    for &index in warps {
        let launch = Launch {
            warp: Some(index),
            ..launch
        };
        let mut flow = Flow::new(layout, launch, fixed, std::mem::take(&mut block.pool))?;
        let touches = accesses(&mut flow);
        block.pool = std::mem::take(&mut flow.pool);
        block.reached.extend(reached_nodes(&flow));
        block.warps.push(BlockWarp { index, flow, touches });
    }
    if launch.shape.is_none() {
        block
            .warps
            .retain(|warp| !writes_out_of_bounds(layout, &warp.touches));
    }
    Some(block)
}

/// True if a warp writes to a shared variable outside of its bounds. Reads say nothing: compilers read ahead, and drop the value.
fn writes_out_of_bounds(layout: &LaneLayout<'_>, touches: &Touches) -> bool {
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
        size.is_some_and(|size| lanes_in_set(touch.may).any(|lane| leaves(lane, size)))
    })
}
