//! Exploration of a kernel: the launches and loop rounds for which it is analysed, and the results that hold in all of them.
//!
//! Each analysis of a kernel examines solutions: of each launch, for all warps at once or for some, and of graphs with
//! peeled rounds of a loop. The result of one solution about a place counts only if lanes reach the place in it:
//!
//! ```text
//! definite(k)    ⋂ definite(k, s) over the launches s in which lanes may reach the place at all
//! ```
//!
//! For a kernel that reads `%tid.y` or `%tid.z` and states no shape, each of several layouts counts as a launch. For a
//! kernel whose shapes are stated by the user or by available host code, each stated shape is a launch.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::launch::{Launch, Layout, ShapeSource};
use super::layout::{InStates, LaneLayout};
use super::slice::Slices;
use super::value::WARP;
use crate::launches::{MAX_BLOCK_THREADS, MAX_LAUNCHED_SHAPES, Shape};
use crate::limits::MAX_COUNTED_LOOPS;

/// The launches that a kernel is analysed for.
pub(super) struct Launches {
    /// Each of them.
    pub each: Vec<Launch>,
    /// The launch that findings name: the facts that all launches share.
    pub shown: Launch,
    /// The launches are layouts that blocks of unknown shape may have.
    pub are_layouts: bool,
}

impl Launches {
    /// The launches of a kernel; `None` if they are too many.
    pub(super) fn new(layout: &LaneLayout<'_>) -> Option<Self> {
        let each = layout.launches();
        match each[..] {
            [launch] => Some(Self::of_one_launch(layout, launch)),
            _ => (each.len() <= MAX_LAUNCHED_SHAPES).then(|| Self {
                shown: layout.common_launch(),
                each,
                are_layouts: false,
            }),
        }
    }

    /// The launches as the kernel, the user or host code states them: one if nobody states a shape.
    pub(super) fn stated_launches(&self) -> &[Launch] {
        if self.are_layouts {
            std::slice::from_ref(&self.shown)
        } else {
            &self.each
        }
    }

    /// The same for questions about several warps: where a row has an unknown number of whole warps, one launch for each of some
    /// widths, because the place of a warp in its row decides its coordinates.
    pub(super) fn for_several_warps(mut self) -> Self {
        let widths = |launch: Launch| {
            let of = move |x| Launch {
                layout: Layout::Sides([x, MAX_BLOCK_THREADS, 1]),
                ..launch
            };
            [1, 2, 4].map(|warps| of(warps * WARP as u32))
        };
        self.each = self
            .each
            .into_iter()
            .flat_map(|launch| match launch.layout {
                Layout::Whole if launch.shape.is_none() => widths(launch).to_vec(),
                _ => vec![launch],
            })
            .collect();
        self
    }

    /// One launch of a kernel, in each of the layouts that its blocks may have if their shape is not known.
    pub(super) fn of_one_launch(layout: &LaneLayout<'_>, launch: Launch) -> Self {
        let are_layouts = launch.is_multidimensional;
        Self {
            each: match are_layouts {
                true => possible_layouts(launch, layout.module.read_dimensions(layout.function)),
                false => vec![launch],
            },
            shown: launch,
            are_layouts,
        }
    }
}

/// A result about a place in one launch.
pub(super) trait Meet {
    /// Keeps the part that also holds in another launch; false if nothing is left.
    fn meet(&mut self, other: &Self) -> bool;
}

/// The place of a finding.
pub(super) trait Place: Ord {
    /// The node that lanes have to reach.
    fn node(&self) -> u32;
}

/// The definite findings of one launch.
pub(super) struct InLaunch<P, F> {
    /// The findings, by their place.
    pub found: BTreeMap<P, F>,
    /// The nodes that lanes may reach.
    pub reached: FxHashSet<u32>,
}

/// The definite findings of several launches: those that are definite in each launch in which lanes may reach their place.
pub(super) struct CommonFindings<P, F> {
    /// The findings, by their place.
    pub found: BTreeMap<P, F>,
    /// The nodes that lanes may reach in some of these launches.
    reached: FxHashSet<u32>,
}

impl<P: Place, F: Meet> CommonFindings<P, F> {
    /// The findings of no launch.
    pub(super) fn new() -> Self {
        Self {
            found: BTreeMap::new(),
            reached: FxHashSet::default(),
        }
    }

    /// Adds another launch.
    pub(super) fn add_launch(&mut self, launch: InLaunch<P, F>) {
        let InLaunch { mut found, reached } = launch;
        self.found.retain(|place, known| {
            let same = found.remove(place);
            !reached.contains(&place.node()) || same.is_some_and(|same| known.meet(&same))
        });
        let new = found
            .into_iter()
            .filter(|(place, _)| !self.reached.contains(&place.node()));
        self.found.extend(new);
        self.reached.extend(reached);
    }

    /// The definite findings of these launches, in order; `find` gives those of one. There are none if the first launch has none: it
    /// excludes most, and a finding that it lacks is rarely one of another launch. `None` if the budget of `find` is spent.
    pub(super) fn find_in_launches(
        launches: &Launches,
        mut find: impl FnMut(Launch) -> Option<InLaunch<P, F>>,
    ) -> Option<impl Iterator<Item = F>> {
        let mut common = Self::new();
        for &launch in &launches.each {
            common.add_launch(find(launch)?);
            if common.found.is_empty() {
                break;
            }
        }
        Some(common.found.into_values())
    }

    /// True if no further launch can add a finding: there is none so far, and lanes may reach all of these nodes.
    pub(super) fn is_complete(&self, mut nodes: impl Iterator<Item = u32>) -> bool {
        self.found.is_empty() && nodes.all(|node| self.reached.contains(&node))
    }
}

/// Calls `look` for some loops of a kernel, with the kernel, the same kernel with all cells in the states, and the loop.
/// These are the inputs of a layout with peeled rounds of that loop ([`LaneLayout::with_peeled_rounds`]). `slices`: those of the layout.
pub(super) fn for_each_loop(
    layout: &LaneLayout<'_>,
    slices: &Slices,
    loops: &[u32],
    mut look: impl for<'s> FnMut(&LaneLayout<'s>, &InStates<'s>, u32),
) {
    if loops.is_empty() {
        return;
    }
    let slices = layout.slices_in_states(slices);
    if let Some(in_states) = layout.with_cells_in_states(&slices) {
        loops
            .iter()
            .take(MAX_COUNTED_LOOPS)
            .for_each(|&of| look(layout, &in_states, of));
    }
}

/// The block sizes for which a kernel is analysed if it reads `%tid.y` and states no shape, in addition to rows of whole
/// warps. [`MAX_BLOCK_THREADS`]: as many as there are. Some rows are not a power of two: 20 × 8 threads are five warps.
const LAYOUTS: [Shape; 10] = [
    [16, MAX_BLOCK_THREADS, 1],
    [8, MAX_BLOCK_THREADS, 1],
    [4, MAX_BLOCK_THREADS, 1],
    [2, MAX_BLOCK_THREADS, 1],
    [1, MAX_BLOCK_THREADS, 1],
    [20, MAX_BLOCK_THREADS, 1],
    [48, MAX_BLOCK_THREADS, 1],
    [3, MAX_BLOCK_THREADS, 1],
    [16, 3, MAX_BLOCK_THREADS],
    [10, 16, MAX_BLOCK_THREADS],
];

/// Further layouts, for kernels that read `%tid.z`.
const DEEP_LAYOUTS: [Shape; 9] = [
    [4, 4, MAX_BLOCK_THREADS],
    [8, 8, MAX_BLOCK_THREADS],
    [16, 1, MAX_BLOCK_THREADS],
    [8, 2, MAX_BLOCK_THREADS],
    [4, 1, MAX_BLOCK_THREADS],
    [2, 2, MAX_BLOCK_THREADS],
    [1, 1, MAX_BLOCK_THREADS],
    [1, 16, MAX_BLOCK_THREADS],
    [5, 5, MAX_BLOCK_THREADS],
];

/// The layouts of the blocks of a kernel that reads `%tid.y` or `%tid.z`; those that exclude most findings come first.
fn possible_layouts(launch: Launch, reads: [bool; 2]) -> Vec<Launch> {
    let of = |layout| Launch { layout, ..launch };
    let most = launch.most.unwrap_or(MAX_BLOCK_THREADS);
    if most < WARP as u32 {
        // Blocks smaller than a warp: all allowed layouts.
        let sides = (1..=most).filter(|x| most.is_multiple_of(*x));
        let exact = sides.map(|x| Launch {
            shape: Some(if reads[0] {
                [x, most / x, 1]
            } else {
                [x, 1, most / x]
            }),
            source: ShapeSource::Bound,
            ..launch
        });
        return exact.collect();
    }
    let flat = LAYOUTS.iter().filter(|_| reads[0]);
    let deep = DEEP_LAYOUTS
        .iter()
        .filter(|[_, y, _]| reads[1] && (reads[0] || *y == 1));
    let fit = flat.chain(deep).filter(|[x, y, _]| {
        let row = if *y == MAX_BLOCK_THREADS { *x } else { x * y };
        row * (WARP as u32 >> row.trailing_zeros().min(5)) <= most
    });
    std::iter::once(of(Layout::Whole))
        .chain(fit.map(|sides| of(Layout::Sides(*sides))))
        .collect()
}
