//! Exchanges: lanes of one warp that read in shared memory what others write, with nothing between that orders the two.
//!
//! Since sm_70 the lanes of a warp advance on their own, and the order of their accesses to memory is only what synchronisation
//! makes of it (PTX ISA, Memory Consistency Model: two accesses to a location, one of them a write, that are not ordered by
//! causality are a race, or, where both are strong, in either order). Modules: `screen` leaves out kernels that certainly have no
//! pair; `touches` knows the places that lanes access, `segments` the code that nothing orders, `clashes` the lanes that
//! access the same bytes there, `pairs` which of them certainly do.
//!
//! ```text
//! definite(k)    the pairs that are definite in warp 0, which every launch has, of each layout in which its lanes come to the place
//! ```

mod clashes;
mod pairs;
mod screen;
mod segments;
mod touches;

use std::collections::BTreeMap;

use rayon::prelude::*;

use self::clashes::{ByLane, Clash};
use self::pairs::definite;
use self::touches::Touches;
use super::flow::Flow;
use super::kernel::layouts;
use super::launch::{INDEPENDENT_LANES, Launch, launches_of};
use super::layout::LaneLayout;
use super::roots::Calls;
use super::scenario::Fixed;
use super::site::Site;
use super::slice::Slices;
use super::value::Lanes;
use super::verdict;
use crate::launches::MAX_LAUNCHED_SHAPES;
use crate::shared::Shared;
use ptxcheck_ir::{FunctionId, SymbolId};

/// Accesses of lanes of one warp to the same bytes, one of them a write, in no order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// A write.
    pub write: Site,
    /// The other access.
    pub other: Site,
    /// The kind of the other access.
    pub kind: PairKind,
    /// The lanes that write.
    pub writers: Lanes,
    /// The lanes that make the other access.
    pub others: Lanes,
    /// A lane that writes, and one that accesses what it writes.
    pub example: (u8, u8),
    /// Both are volatile.
    pub is_volatile: bool,
}

/// Kind of the access that a write comes in the way of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairKind {
    /// A read behind the write.
    ReadAfterWrite,
    /// A read before it.
    WriteAfterRead,
    /// A write of another value.
    TwoWrites,
}

/// The pairs of one kernel in one variable.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The kernel.
    pub function: FunctionId,
    /// The variable in shared memory.
    pub symbol: SymbolId,
    /// The pairs, in the order of the code; at least one.
    pub pairs: Vec<Pair>,
    /// The known or assumed launches of the kernel.
    pub launch: Launch,
}

/// All of a module, in the order of the input.
pub(crate) fn find(module: &Shared<'_>) -> Vec<Exchange> {
    if module.module.target.sm < INDEPENDENT_LANES {
        return Vec::new();
    }
    let suspects = screen::suspects(module);
    if suspects.is_empty() {
        return Vec::new();
    }
    let calls = Calls::new(module);
    let visited = calls.visited(module, &suspects);
    let slices = Slices::with_addresses(module, &visited);
    let of_one = |&function: &FunctionId| {
        let found = of_kernel(module, &slices, function).unwrap_or_default();
        // A search that the deadline cut short proves nothing.
        if module.deadline.is_over() {
            Vec::new()
        } else {
            found
        }
    };
    suspects.par_iter().map(of_one).flatten().collect()
}

/// The pairs of a kernel; `None` if it is too much work.
fn of_kernel(module: &Shared<'_>, slices: &Slices, function: FunctionId) -> Option<Vec<Exchange>> {
    let layout = LaneLayout::new(module, slices, function)?;
    let bounds = &module.module.function(function).launch;
    let launches = launches_of(module, function, module.reads_other_dimensions(function));
    if launches.len() > MAX_LAUNCHED_SHAPES {
        return None;
    }
    let kernel = Kernel { layout: &layout };
    let shown = match launches[..] {
        [launch] => launch,
        _ => Launch::several(bounds, &launches),
    };
    let each = match launches[..] {
        [launch] if launch.is_multidimensional => layouts(launch, module.read_dimensions(function)),
        _ => launches,
    };
    let mut common: Option<BTreeMap<Key, Known>> = None;
    for launch in each {
        let found = kernel.launched(launch)?;
        let known = match common.take() {
            None => found.pairs,
            Some(mut known) => {
                known.retain(|key, known| {
                    found.reached.binary_search(&key.2).is_err()
                        || found.pairs.get(key).is_some_and(|same| known.is_also(same))
                });
                known
            }
        };
        if known.is_empty() {
            return Some(Vec::new());
        }
        common = Some(known);
    }
    let mut exchanges: Vec<Exchange> = Vec::new();
    for known in common.into_iter().flat_map(BTreeMap::into_values) {
        let (symbol, pair) = (known.symbol, known.pair());
        match exchanges.iter_mut().find(|known| known.symbol == symbol) {
            Some(known) => known.pairs.push(pair),
            None => exchanges.push(Exchange {
                function,
                symbol,
                pairs: vec![pair],
                launch: shown,
            }),
        }
    }
    Some(exchanges)
}

/// The accesses of a pair, by the places of their nodes in the order of the graph and their instructions, the node of the place
/// that is reported last: `(later, earlier, node)`.
type Key = ([(u32, u32); 2], bool, u32);

/// A definite pair of one launch, or of several.
struct Known {
    symbol: SymbolId,
    write: Site,
    other: Site,
    kind: PairKind,
    lanes: ByLane,
    is_volatile: bool,
}

impl Known {
    /// Leaves the lanes that are a pair in another launch, too; false if none is.
    fn is_also(&mut self, same: &Self) -> bool {
        for (lanes, too) in self.lanes.iter_mut().zip(same.lanes) {
            *lanes &= too;
        }
        self.lanes.iter().any(|lanes| *lanes != 0)
    }

    fn pair(self) -> Pair {
        let writers = || (0..).zip(self.lanes).filter(|(_, lanes)| *lanes != 0);
        let example = writers().next();
        Pair {
            write: self.write,
            other: self.other,
            kind: self.kind,
            writers: writers().fold(0, |all, (lane, _)| all | 1 << lane),
            others: writers().fold(0, |all, (_, lanes)| all | lanes),
            example: example.map_or((0, 0), |(lane, lanes)| (lane, lanes.trailing_zeros() as u8)),
            is_volatile: self.is_volatile,
        }
    }
}

/// The definite pairs of one launch.
struct Found {
    pairs: BTreeMap<Key, Known>,
    /// The nodes that lanes of warp 0 may come to.
    reached: Vec<u32>,
}

struct Kernel<'k> {
    layout: &'k LaneLayout<'k>,
}

impl Kernel<'_> {
    /// The pairs that are definite in warp 0 with one launch; `None` if it is too much work.
    fn launched(&self, launch: Launch) -> Option<Found> {
        let launch = Launch {
            warp: Some(0),
            ..launch
        };
        let fixed = Fixed::default();
        let mut flow = Flow::new(self.layout, launch, &fixed, self.layout.pool())?;
        let found = definite(&mut flow, launch.lanes());
        let pairs = found.clashes.iter().map(|clash| self.pair(&found.touches, clash));
        let pairs = pairs.collect();
        let nodes = 0..flow.may.len() as u32;
        let reached = nodes.filter(|&node| flow.may[node as usize] != 0).collect();
        self.layout.keep(flow.pool);
        Some(Found { pairs, reached })
    }

    fn pair(&self, touches: &Touches, clash: &Clash) -> (Key, Known) {
        let (graph, order) = (&self.layout.graph, &self.layout.order);
        let (write, other) = (&touches.all[clash.write], &touches.all[clash.other]);
        let place = |touch: &touches::Touch| (order.rank[touch.node as usize], touch.at.index() as u32);
        let site = |touch: &touches::Touch| Site {
            instruction: touch.at,
            ..verdict::site(graph, touch.node)
        };
        let is_behind = place(other) > place(write);
        let kind = match other.is_store {
            true => PairKind::TwoWrites,
            false if is_behind => PairKind::ReadAfterWrite,
            false => PairKind::WriteAfterRead,
        };
        let mut both = [place(write), place(other)];
        both.sort_unstable_by(|a, b| b.cmp(a));
        let known = Known {
            symbol: write.symbol,
            write: site(write),
            other: site(other),
            kind,
            lanes: clash.lanes,
            is_volatile: write.is_volatile && other.is_volatile,
        };
        ((both, is_behind, other.node), known)
    }
}
