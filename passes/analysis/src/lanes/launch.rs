//! Launches: the threads of each warp, and the values of special registers.
//!
//! The threads of a CTA are numbered by x, then y, then z; warp w holds numbers 32w to 32w + 31 (PTX ISA, Special Registers:
//! `%laneid`, `%tid`). A known shape gives each lane its coordinates, and the last warp may lack lanes. Without a known
//! shape, CTAs are assumed to have a multiple of 32 threads, and to be one-dimensional: `%tid.x` is 32w + l. If a kernel
//! reads `%tid.y` or `%tid.z`, the latter is unlikely. Such a kernel is solved for each of several layouts ([`Layout`]), and
//! once with an unknown `%tid.x`, for potential findings.

use super::value::{ALL, Lanes, Pool, ValueId, Vector, WARP};
use crate::launches::{MAX_BLOCK_THREADS as MAX_THREADS, Shape};
use crate::shared::Shared;
use crate::value::ThreadNumbers;
use ptxcheck_ir::{FunctionId, LaunchBounds, Special};

/// Most warps of a CTA.
pub(super) const MAX_WARPS: u32 = MAX_THREADS / WARP as u32;

/// Bounds and assumptions about a kernel's launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The exact shape of a CTA.
    pub shape: Option<Shape>,
    /// Shape of the settings that is ignored: `.reqntid` differs, or `.maxntid` allows fewer threads.
    pub overruled: Option<Shape>,
    /// Origin of the shape, for notes.
    pub source: ShapeSource,
    /// Most threads of a CTA.
    pub most: Option<u32>,
    /// The CTA seems to have more dimensions than one, of unknown size.
    pub is_multidimensional: bool,
    /// The layout that is assumed of a CTA of unknown shape.
    pub(crate) layout: Layout,
    /// The analysed warp; `None` for any warp.
    pub warp: Option<u32>,
}

/// Layouts of threads in the warps of a CTA that has no known shape, but a multiple of 32 threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One row: `%tid.x` is the thread number.
    OneRow,
    /// Rows of whole warps: x is a multiple of 32, y and z are anything.
    Whole,
    /// Exactly these sides. [`MAX_THREADS`] as a side stands for an unknown number of rows or layers.
    Sides(Shape),
    /// `%tid.x` is unknown; `%tid.y` and `%tid.z` are the same in all lanes of a warp. For potential findings.
    Any,
}

/// Origin of the shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShapeSource {
    /// Not stated, but assumed.
    Assumed,
    /// `.reqntid`
    Required,
    /// `.maxntid`, for CTAs smaller than a warp.
    Bound,
    /// The settings. Without a shape, they state several, and a definite finding holds for each.
    Settings,
    /// Available host code. Without a shape, it launches the kernel with several, and a definite finding holds for each.
    Launched,
}

impl Launch {
    /// Launches of a kernel. `.reqntid` wins over the settings, which win over assumptions. Blocks of more threads than
    /// `.maxntid` allows can't be launched (PTX ISA, `.maxntid`), so a setting with more threads is ignored.
    #[must_use]
    pub(crate) fn new(bounds: &LaunchBounds, setting: Option<Shape>, reads_other_dimensions: bool) -> Self {
        let threads = |shape: Shape| shape.iter().try_fold(1_u32, |all, &side| all.checked_mul(side));
        let usable = |shape: &Shape| threads(*shape).is_some_and(|all| (1..=MAX_THREADS).contains(&all));
        let required = bounds.required_threads.filter(usable);
        let most = bounds.max_threads.and_then(threads).filter(|most| *most > 0);
        let stated = setting.filter(usable);
        let fits = |shape: &Shape| match required {
            Some(required) => *shape == required,
            None => most.is_none_or(|most| threads(*shape).is_some_and(|all| all <= most)),
        };
        let setting = stated.filter(fits);
        let small = most.filter(|most| *most < WARP as u32 && !reads_other_dimensions);
        let is_multidimensional = required.or(setting).is_none() && reads_other_dimensions;
        let (shape, source) = match (required, setting, small) {
            (Some(shape), ..) => (Some(shape), ShapeSource::Required),
            (None, Some(shape), _) => (Some(shape), ShapeSource::Settings),
            (None, None, Some(most)) => (Some([most, 1, 1]), ShapeSource::Bound),
            _ => (None, ShapeSource::Assumed),
        };
        Self {
            shape,
            overruled: stated.filter(|_| setting.is_none()),
            source,
            most: shape.and_then(threads).or(most),
            is_multidimensional,
            layout: if is_multidimensional {
                Layout::Any
            } else {
                Layout::OneRow
            },
            warp: None,
        }
    }

    /// Launches with these shapes, in their order, without the shapes that the kernel cannot be launched with or overrules
    /// by a shape of its own. Each launch names the first shape of the settings that it overrules.
    fn stated_launches(
        bounds: &LaunchBounds,
        shapes: &[Shape],
        source: ShapeSource,
        reads_other_dimensions: bool,
    ) -> Vec<Self> {
        let all = shapes
            .iter()
            .map(|shape| Self::new(bounds, Some(*shape), reads_other_dimensions));
        let (held, refused): (Vec<_>, Vec<_>) =
            all.partition(|launch| launch.source == ShapeSource::Settings);
        let refused = refused.first().filter(|_| source == ShapeSource::Settings);
        let overruled = refused.and_then(|launch| launch.overruled);
        let held = held.into_iter().map(|launch| Self {
            overruled,
            source,
            ..launch
        });
        held.collect()
    }

    /// The launch that findings name if these are analysed (at least one): the only launch, or a launch that holds only the
    /// facts that all of them share.
    pub(crate) fn common_launch(bounds: &LaunchBounds, launches: &[Self]) -> Self {
        if let [launch] = launches {
            return *launch;
        }
        let first = launches.first();
        Self {
            source: first.map_or(ShapeSource::Launched, |launch| launch.source),
            overruled: first.and_then(|launch| launch.overruled),
            ..Self::new(bounds, None, true)
        }
    }

    /// Threads of a CTA, if known.
    #[must_use]
    pub fn thread_count(&self) -> Option<u32> {
        self.shape.map(|[x, y, z]| x * y * z)
    }

    /// True if the CTA is known to have several warps, the last of which lacks lanes.
    pub(super) fn ends_in_part_of_a_warp(&self) -> bool {
        self.thread_count()
            .is_some_and(|threads| threads > WARP as u32 && threads % WARP as u32 != 0)
    }

    /// The numbers of the threads of the analysed warp, as far as they are known.
    pub(super) fn thread_numbers(&self) -> ThreadNumbers {
        let is_row = match self.shape {
            Some([_, y, z]) => (y, z) == (1, 1),
            None => self.layout == Layout::OneRow,
        };
        match self.warp {
            Some(warp) if is_row => {
                let first = warp * WARP as u32;
                ThreadNumbers {
                    x: (first, first + WARP as u32 - 1),
                }
            }
            _ => ThreadNumbers::ALL,
        }
    }

    /// Number of warps that can differ.
    #[must_use]
    pub fn warp_count(&self) -> u32 {
        self.thread_count().or(self.most).map_or(MAX_WARPS, |threads| {
            threads.div_ceil(WARP as u32).clamp(1, MAX_WARPS)
        })
    }

    /// The lanes that exist in a warp.
    #[must_use]
    pub fn existing_lanes(&self, warp: u32) -> Lanes {
        let Some(threads) = self.thread_count() else {
            return ALL;
        };
        let left = threads.saturating_sub(warp * WARP as u32);
        if left >= WARP as u32 { ALL } else { (1 << left) - 1 }
    }

    /// True if a warp with this index exists in every launch.
    #[must_use]
    pub fn is_warp_certain(&self, warp: u32) -> bool {
        warp == 0
            || self
                .thread_count()
                .is_some_and(|threads| warp * (WARP as u32) < threads)
    }

    /// The lanes that exist in the analysed warps.
    #[must_use]
    pub fn analysed_lanes(&self) -> Lanes {
        match self.warp {
            Some(warp) => self.existing_lanes(warp),
            // Only the last warp lacks lanes: code that analyses all warps at once analyses the last one separately.
            None => self.existing_lanes(0),
        }
    }

    /// The warp whose lanes have consecutive `%tid.x` from 32 times its index on, if that is known.
    pub(super) fn warp_with_consecutive_tids(&self) -> Option<u32> {
        let is_row = match self.shape {
            Some([_, y, z]) => y == 1 && z == 1,
            None => self.layout == Layout::OneRow,
        };
        self.warp.filter(|_| is_row)
    }

    /// Value of a special register. Registers that change over time have a new value at each `site`.
    pub(crate) fn special_register(&self, pool: &mut Pool, special: Special, site: u64) -> ValueId {
        let lane_of =
            |value: fn(u64) -> u64| Vector::of_exact(std::array::from_fn(|lane| value(lane as u64)));
        match special {
            Special::Tid(dimension) => self.tid_value(pool, usize::from(dimension)),
            Special::Ntid(dimension) => match (self.shape, dimension) {
                (Some(shape), 0..=2) => pool.splat(u64::from(shape[usize::from(dimension)])),
                (None, 0..=2) => self.ntid_value(pool, usize::from(dimension)),
                _ => self.unknown_uniform(pool, NTID + u64::from(dimension), 0),
            },
            Special::Ctaid(dimension) => self.unknown_uniform(pool, CTAID + u64::from(dimension), 0),
            Special::Nctaid(dimension) => self.unknown_uniform(pool, NCTAID + u64::from(dimension), 0),
            Special::LaneId => pool.intern(lane_of(|lane| lane)),
            Special::LaneMaskEq => pool.intern(lane_of(|lane| 1 << lane)),
            Special::LaneMaskLt => pool.intern(lane_of(|lane| (1 << lane) - 1)),
            Special::LaneMaskLe => pool.intern(lane_of(|lane| (2 << lane) - 1)),
            Special::LaneMaskGe => pool.intern(lane_of(|lane| u64::from(u32::MAX << lane))),
            Special::LaneMaskGt => pool.intern(lane_of(|lane| u64::from(u32::MAX << lane << 1))),
            Special::WarpId => {
                let mut index =
                    Vector::of_unknown_uniform(pool.number_of_unknown((OTHER, site)), 0, [0; WARP]);
                index.warp = true;
                pool.intern(index)
            }
            Special::Uniform | Special::NwarpId => self.unknown_uniform(pool, OTHER, site),
            Special::Other => ValueId::UNKNOWN,
        }
    }

    /// The number of the thread in its CTA, by x, then y, then z.
    pub(super) fn thread_rank(&self, pool: &mut Pool) -> ValueId {
        let first = |warp: u32| u64::from(warp) * WARP as u64;
        if let Some(warp) = self.warp {
            return pool.intern(Vector::of_exact(std::array::from_fn(|lane| {
                first(warp) + lane as u64
            })));
        }
        let mut rank = Vector::of_unknown_uniform(
            pool.number_of_unknown((RANK, 0)),
            5,
            std::array::from_fn(|lane| lane as u64),
        );
        rank.warp = true;
        rank.limit = u64::from(self.most.unwrap_or(MAX_THREADS).clamp(1, MAX_THREADS)) - 1;
        pool.intern(rank)
    }

    fn unknown_uniform(&self, pool: &mut Pool, what: u64, site: u64) -> ValueId {
        pool.unknown_uniform((what, site), 0)
    }

    /// A side of a CTA of unknown shape.
    fn ntid_value(&self, pool: &mut Pool, dimension: usize) -> ValueId {
        let key = (NTID + dimension as u64, 0);
        let most = u64::from(self.most.unwrap_or(MAX_THREADS).clamp(1, MAX_THREADS));
        // One warp at least, and all warps up to the analysed one.
        let threads = u64::from(self.warp.unwrap_or(0) + 1) * WARP as u64;
        let (multiple, least, most) = match (self.layout, dimension) {
            (Layout::OneRow, 0) => (WARP as u64, threads, most),
            // The assumed block has one dimension: nothing is assumed for code for other blocks.
            (Layout::OneRow, 1 | 2) => return pool.splat(1),
            (Layout::Whole, 0) => (WARP as u64, WARP as u64, most),
            (Layout::Sides(sides), _) if sides[dimension] < MAX_THREADS => {
                return pool.splat(u64::from(sides[dimension]));
            }
            (Layout::Sides([_, MAX_THREADS, _]), 2) => return pool.splat(1),
            (Layout::Sides([x, y, _]), _) => {
                let row = u64::from(if dimension == 1 { x } else { x * y });
                // Any number of threads that makes whole warps.
                let multiple = WARP as u64 >> row.trailing_zeros().min(5);
                let least = threads.div_ceil(row).next_multiple_of(multiple);
                (multiple, least, most / row)
            }
            _ => (1, 1, most),
        };
        let low = multiple.trailing_zeros() as u8;
        let mut side = Vector::of_unknown_uniform(pool.number_of_unknown(key), low, [0; WARP]);
        (side.limit, side.least) = (most.max(least), least);
        pool.intern(side)
    }

    fn tid_value(&self, pool: &mut Pool, dimension: usize) -> ValueId {
        let size = WARP as u64;
        match (self.shape, self.layout) {
            (Some(shape), _) => self.thread_coordinate(pool, shape, dimension),
            (None, Layout::Sides(sides)) => self.thread_coordinate(pool, sides, dimension),
            // Warp 0 is the start of the first row.
            (None, Layout::Whole) if dimension != 0 && self.warp == Some(0) => pool.splat(0),
            (None, layout) if dimension != 0 => {
                let mut tid = Vector::of_unknown_uniform(
                    pool.number_of_unknown((TID + dimension as u64, 0)),
                    0,
                    [0; WARP],
                );
                tid.warp = layout == Layout::Whole;
                pool.intern(tid)
            }
            (None, Layout::Any) => ValueId::UNKNOWN,
            (None, Layout::OneRow | Layout::Whole) => {
                let warp = self
                    .warp
                    .filter(|warp| *warp == 0 || self.layout == Layout::OneRow);
                if let Some(warp) = warp {
                    let first = u64::from(warp) * size;
                    return pool.intern(Vector::of_exact(std::array::from_fn(|lane| first + lane as u64)));
                }
                let mut tid = Vector::of_unknown_uniform(
                    pool.number_of_unknown((TID, 0)),
                    5,
                    std::array::from_fn(|lane| lane as u64),
                );
                tid.warp = true;
                tid.limit = u64::from(self.most.unwrap_or(MAX_THREADS).clamp(1, MAX_THREADS)) - 1;
                pool.intern(tid)
            }
        }
    }

    /// A coordinate of the threads in a CTA with these sides.
    fn thread_coordinate(&self, pool: &mut Pool, shape: Shape, dimension: usize) -> ValueId {
        let size = WARP as u64;
        let [x, y, _] = shape.map(u64::from);
        let coordinate = |warp: u32, lane: usize| {
            let number = u64::from(warp) * size + lane as u64;
            match dimension {
                0 => number % x,
                1 => number / x % y,
                _ => number / x / y,
            }
        };
        if let Some(warp) = self.warp {
            return pool.intern(Vector::of_exact(std::array::from_fn(|lane| {
                coordinate(warp, lane)
            })));
        }
        // All warps at once: the offsets are the same in each warp, or nothing is known.
        let offset = |warp: u32, lane: usize| coordinate(warp, lane).wrapping_sub(coordinate(warp, 0));
        let warps = 0..self.warp_count();
        let alike = (0..WARP).all(|lane| warps.clone().all(|warp| offset(warp, lane) == offset(0, lane)));
        let mut tid = Vector::UNKNOWN;
        tid.warp = true;
        tid.limit = u64::from(MAX_THREADS) - 1;
        if alike {
            if warps.clone().all(|warp| coordinate(warp, 0) == 0) {
                return pool.intern(Vector::of_exact(std::array::from_fn(|lane| coordinate(0, lane))));
            }
            let low = warps
                .map(|warp| coordinate(warp, 0).trailing_zeros().min(5))
                .min()
                .unwrap_or(0);
            tid.rest = super::value::Rest::Uniform(pool.number_of_unknown((TID, dimension as u64)));
            tid.low = low as u8;
            tid.bits = std::array::from_fn(|lane| offset(0, lane));
        }
        pool.intern(tid)
    }
}

// Keys of the unknown values of special registers; keys of instructions are below.
const TID: u64 = u64::MAX - 4;
const NTID: u64 = u64::MAX - 8;
const CTAID: u64 = u64::MAX - 12;
const NCTAID: u64 = u64::MAX - 16;
const OTHER: u64 = u64::MAX - 20;
const RANK: u64 = u64::MAX - 24;

/// The launches of a kernel, as its directives bound them or as the user states them: one launch, or one for each shape that
/// the user states or that available host code launches it with. `reads_other`: see [`Launch::new`].
pub(crate) fn launches_of(module: &Shared<'_>, function: FunctionId, reads_other: bool) -> Vec<Launch> {
    let launches = &module.options.launches;
    let name = module.module.function_name(function);
    let bounds = &module.module.function(function).launch;
    let of = |shapes, source| Launch::stated_launches(bounds, shapes, source, reads_other);
    let mut shapes = launches.stated_blocks(name);
    if shapes.is_empty() {
        let launched = of(module.launched_shapes(function), ShapeSource::Launched);
        if !launched.is_empty() {
            return launched;
        }
        shapes = &launches.others;
    }
    let stated = of(shapes, ShapeSource::Settings);
    if stated.is_empty() {
        vec![Launch::new(bounds, shapes.first().copied(), reads_other)]
    } else {
        stated
    }
}

/// The launch of a kernel that represents all of [`launches_of`] for the question whether a lane may be missing or threads
/// of a warp may lie in several rows: the first launch in which they do.
pub(crate) fn representative_launch(module: &Shared<'_>, function: FunctionId, reads_other: bool) -> Launch {
    let launches = launches_of(module, function, reads_other);
    let is_whole = |launch: &Launch| launch.shape.is_none_or(|[x, ..]| x.is_multiple_of(WARP as u32));
    let partial = launches.iter().find(|launch| !is_whole(launch));
    *partial.unwrap_or(&launches[0])
}

/// The first target whose lanes are scheduled on their own.
pub(super) const INDEPENDENT_LANES: u32 = 70;

/// True if lanes may meet at different instructions.
pub(super) fn lanes_may_meet_across_instructions(module: &Shared<'_>) -> bool {
    module.module.target.sm >= INDEPENDENT_LANES || module.module.target.sm == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch_with_shape(shape: Option<[u32; 3]>, warp: Option<u32>) -> Launch {
        let bounds = LaunchBounds {
            required_threads: shape,
            ..LaunchBounds::default()
        };
        Launch {
            warp,
            ..Launch::new(&bounds, None, false)
        }
    }

    #[test]
    fn blocks_of_two_dimensions_fold_into_warps() {
        let mut pool = Pool::default();
        let folded = launch_with_shape(Some([8, 8, 1]), Some(1));
        let (x, y) = (folded.tid_value(&mut pool, 0), folded.tid_value(&mut pool, 1));
        assert_eq!(
            (pool.get(x).value_in_lane(9), pool.get(y).value_in_lane(9)),
            (Some(1), Some(5))
        );
        // x is the same in both warps, y is 4w + l / 8.
        let any = launch_with_shape(Some([8, 8, 1]), None);
        let (x, y) = (any.tid_value(&mut pool, 0), any.tid_value(&mut pool, 1));
        assert_eq!(pool.get(x).value_in_lane(9), Some(1));
        assert_eq!(
            (pool.get(y).value_in_lane(9), pool.get(y).low_bits(9)),
            (None, (2, 1))
        );
    }

    #[test]
    fn shapes_of_the_module_override_the_settings() {
        let of = |required, most, setting| {
            let bounds = LaunchBounds {
                required_threads: required,
                max_threads: most,
                ..LaunchBounds::default()
            };
            let launch = Launch::new(&bounds, Some(setting), false);
            (launch.shape, launch.source, launch.overruled)
        };
        let (small, large) = ([32, 4, 1], [256, 1, 1]);
        assert_eq!(of(None, None, large), (Some(large), ShapeSource::Settings, None));
        assert_eq!(
            of(Some(small), None, large),
            (Some(small), ShapeSource::Required, Some(large))
        );
        assert_eq!(
            of(Some(small), None, small),
            (Some(small), ShapeSource::Required, None)
        );
        // `.maxntid` bounds the threads, not the sides.
        assert_eq!(
            of(None, Some([256, 1, 1]), small),
            (Some(small), ShapeSource::Settings, None)
        );
        assert_eq!(
            of(None, Some([128, 1, 1]), large),
            (None, ShapeSource::Assumed, Some(large))
        );
        assert_eq!(
            of(None, Some([16, 1, 1]), large),
            (Some([16, 1, 1]), ShapeSource::Bound, Some(large))
        );
    }

    #[test]
    fn shapes_that_the_module_forbids_are_dropped() {
        let of = |required, most, shapes: &[Shape]| {
            let bounds = LaunchBounds {
                required_threads: required,
                max_threads: most,
                ..LaunchBounds::default()
            };
            let launched = Launch::stated_launches(&bounds, shapes, ShapeSource::Launched, true);
            let launches = Launch::stated_launches(&bounds, shapes, ShapeSource::Settings, true);
            assert!(
                launched
                    .iter()
                    .map(|launch| launch.shape)
                    .eq(launches.iter().map(|launch| launch.shape))
            );
            let said = launches
                .iter()
                .map(|launch| (launch.shape.unwrap(), launch.overruled));
            said.collect::<Vec<_>>()
        };
        let (small, large) = ([48, 1, 1], [8, 8, 4]);
        assert_eq!(of(None, None, &[small]), [(small, None)]);
        assert_eq!(of(None, Some([256, 1, 1]), &[large]), [(large, None)]);
        assert_eq!(of(None, None, &[small, large]), [(small, None), (large, None)]);
        assert_eq!(
            of(None, Some([128, 1, 1]), &[large, small]),
            [(small, Some(large))]
        );
        assert_eq!(of(Some(small), None, &[large, small]), []);
        assert_eq!(of(None, None, &[[0, 1, 1], [u32::MAX, 2, 1]]), []);
        let bounds = LaunchBounds::default();
        let launches = Launch::stated_launches(&bounds, &[small, large], ShapeSource::Settings, true);
        let several = Launch::common_launch(&bounds, &launches);
        assert_eq!((several.shape, several.source), (None, ShapeSource::Settings));
    }

    #[test]
    fn the_last_warp_lacks_lanes() {
        assert_eq!(
            launch_with_shape(Some([48, 1, 1]), None).existing_lanes(1),
            0xffff
        );
        assert_eq!(
            launch_with_shape(Some([16, 1, 1]), None).existing_lanes(0),
            0xffff
        );
        assert_eq!(launch_with_shape(None, None).existing_lanes(7), ALL);
    }
}
