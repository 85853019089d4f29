//! Barriers of a block with a number and a count of threads that the warps of the block cannot pass, or not in order.
//!
//! ```text
//! whole       the count is no multiple of a warp
//! too few     all warps that may reach a barrier, each of which waits there, are fewer than it counts
//! left        each warp certainly reaches a barrier a known number of times, and the arrivals in all are no multiple of what it counts: more are
//!             left than arrivals that do not wait
//! split       lanes of one warp certainly reach different barriers at the same time, one of which all have to execute together
//! mixed, unordered, stuck      what goes wrong in the passes of warps with known sequences (`rounds`)
//! ```
//!
//! Nothing is known unless the shape of the block is, and the numbers and counts of all barriers; but no block has more threads than `.maxntid`
//! says. Source: PTX ISA, barrier.cta.

mod rounds;
mod sequences;

use rayon::prelude::*;
use rustc_hash::FxHashSet;

use self::rounds::{Passes, Step, Wrong};
use self::sequences::{Rounds, Sequence, Split, WarpStops, first_split};
use super::exchange::{BarrierStop, stops_of_warp};
use super::flow::Flow;
use super::launch::{Launch, ShapeSource};
use super::layout::LaneLayout;
use super::roots::Calls;
use super::scenario::Fixed;
use super::slice::Slices;
use super::value::{Lanes, WARP};
use super::verdict;
use crate::certainty::Certainty;
use crate::limits::{MAX_BARRIER_ROUNDS, MAX_NAMED_WARPS};
use crate::shared::Shared;
use ptxcheck_ir::Site;
use ptxcheck_ir::{Body, FunctionId, Op, Rare};

/// A problem of a barrier that counts threads.
#[derive(Clone, Debug)]
pub struct CountProblem {
    /// The kernel.
    pub kernel: FunctionId,
    /// The barrier.
    pub site: Site,
    /// Its number.
    pub number: u64,
    /// The threads that it counts; `None` for all of the block.
    pub count: Option<u64>,
    /// Definite or potential.
    pub certainty: Certainty,
    /// The known or assumed launches of the kernel.
    pub launch: Launch,
    /// The problem.
    pub issue: CountIssue,
}

/// The kinds of problems.
#[derive(Clone, Debug)]
pub enum CountIssue {
    /// The count is no multiple of the threads of a warp.
    NotWhole,
    /// So many threads may reach the barrier, and each waits.
    TooFew {
        /// The threads.
        threads: u32,
    },
    /// So many threads certainly reach the barrier in all: no multiple of what it counts.
    Left {
        /// The threads.
        threads: u32,
    },
    /// Lanes of one warp are here, and others at another barrier.
    Split {
        /// The warp.
        warp: u32,
        /// The lanes that are here.
        lanes: Lanes,
        /// The other barrier.
        other: Site,
    },
    /// Two warps reach the barrier in no order, with different counts.
    Mixed {
        /// This warp, and the other one.
        warps: [u32; 2],
        /// The other count; `None` for all threads of the block.
        other_count: Option<u64>,
        /// The other place.
        other: Site,
    },
    /// A warp reaches the barrier, and nothing makes that come after an arrival by a warp at an earlier pass.
    Unordered {
        /// This warp, and the other one.
        warps: [u32; 2],
        /// The other place.
        other: Site,
    },
    /// Warps wait for ever.
    Stuck {
        /// The first of them that waits here.
        warp: u32,
        /// Another warp that waits for ever at another barrier, with that.
        other: Option<(u32, u64, Site)>,
        /// Threads that have come here.
        threads: u32,
    },
}

/// The problems of all kernels, in the order of the input. `least`: the least certainty that is asked for.
pub(crate) fn find_count_problems(module: &Shared<'_>) -> Vec<CountProblem> {
    let mut marked = module.marked_functions(|_, _, body| counts_threads(body));
    if !marked.contains(&true) {
        return Vec::new();
    }
    module.call_graph().mark_callers(&mut marked);
    let kernels: Vec<FunctionId> = module
        .module
        .bodies()
        .filter(|(id, function, _)| marked[id.index()] && function.is_kernel() && !function.is_damaged)
        .map(|(id, ..)| id)
        .collect();
    let visited = Calls::new(module).visited_functions(module, &kernels);
    let slices = Slices::new(module, &visited);
    let of_kernel = |&kernel: &FunctionId| {
        let found = problems_of_kernel(module, &slices, kernel).unwrap_or_default();
        // A search that the deadline cut short proves nothing.
        if module.deadline.is_over() {
            Vec::new()
        } else {
            found
        }
    };
    kernels.par_iter().map(of_kernel).flatten().collect()
}

/// True if a body has a barrier of the block that counts threads.
fn counts_threads(body: &Body<'_>) -> bool {
    let counts = |op| matches!(op, Op::Barrier(barrier) if barrier.counted && !barrier.cluster);
    body.has(Rare::BARRIER) && body.instructions.iter().any(|one| counts(one.op))
}

fn problems_of_kernel(module: &Shared<'_>, slices: &Slices, kernel: FunctionId) -> Option<Vec<CountProblem>> {
    let layout = LaneLayout::new(module, slices, kernel)?;
    let launches = layout.launches();
    let mut known: Option<Vec<CountProblem>> = None;
    for &launch in &launches {
        let is_exact = launch.shape.is_some() && launch.source != ShapeSource::Bound;
        let found = match is_exact {
            true => BlockStops::of_block(&layout, launch)?.problems(module),
            false => problems_of_any_block(&layout, launch)?,
        };
        // What all launches have in common.
        known = Some(match known {
            None => found,
            Some(mut known) => {
                let is_alike = |one: &CountProblem, other: &CountProblem| {
                    one.site == other.site
                        && std::mem::discriminant(&one.issue) == std::mem::discriminant(&other.issue)
                };
                known.retain(|one| found.iter().any(|other| is_alike(one, other)));
                known
            }
        });
    }
    known
}

/// Barriers that count more threads than any block of a kernel has.
fn problems_of_any_block(layout: &LaneLayout<'_>, launch: Launch) -> Option<Vec<CountProblem>> {
    let Some(most) = launch.most else {
        return Some(Vec::new());
    };
    let fixed = Fixed::default();
    let any = Launch { warp: None, ..launch };
    let mut flow = Flow::new(layout, any, &fixed, layout.reusable_pool())?;
    let stops = stops_of_warp(&mut flow, 0);
    let of_warp = stops.and_then(|stops| WarpStops::new(&flow, stops));
    layout.keep_pool(std::mem::take(&mut flow.pool));
    let of_warp = of_warp?;
    let block = BlockStops {
        layout,
        has_unknown_code: of_warp.has_unknown_code(),
        splits: Vec::new(),
        warps: vec![of_warp],
    };
    Some(block.too_few(|_| most.next_multiple_of(WARP as u32)))
}

/// The barriers of all warps of a block.
struct BlockStops<'k> {
    layout: &'k LaneLayout<'k>,
    warps: Vec<WarpStops>,
    splits: Vec<(u32, Split)>,
    has_unknown_code: bool,
}

impl<'k> BlockStops<'k> {
    /// `None` if a number or a count is not known, or that is too much work.
    fn of_block(layout: &'k LaneLayout<'k>, launch: Launch) -> Option<Self> {
        let count = launch.warp_count();
        if count > MAX_NAMED_WARPS {
            return None;
        }
        let fixed = Fixed::default();
        let mut block = Self {
            layout,
            warps: Vec::new(),
            splits: Vec::new(),
            has_unknown_code: false,
        };
        let mut pool = layout.reusable_pool();
        for warp in 0..count {
            let of_warp = Launch {
                warp: Some(warp),
                ..launch
            };
            let mut flow = Flow::new(layout, of_warp, &fixed, pool)?;
            let stops = stops_of_warp(&mut flow, warp as usize)?;
            block
                .splits
                .extend(first_split(&flow, &stops).map(|split| (warp, split)));
            let stops = WarpStops::new(&flow, stops)?;
            block.has_unknown_code |= stops.has_unknown_code();
            block.warps.push(stops);
            pool = std::mem::take(&mut flow.pool);
        }
        layout.keep_pool(pool);
        Some(block)
    }

    fn problem(&self, stop: &BarrierStop, issue: CountIssue) -> CountProblem {
        CountProblem {
            kernel: self.layout.function,
            site: self.site(stop),
            number: stop.number,
            count: stop.count,
            certainty: Certainty::Definite,
            launch: self.layout.common_launch(),
            issue,
        }
    }

    fn site(&self, stop: &BarrierStop) -> Site {
        verdict::site_of_node(&self.layout.graph, stop.node)
    }

    fn problems(&self, module: &Shared<'_>) -> Vec<CountProblem> {
        let mut found = self.counts_that_are_not_whole();
        if !found.is_empty() {
            return found;
        }
        found = self.too_few(|number| {
            let comes = |warp: &&WarpStops| warp.stops.iter().any(|stop| stop.number == number);
            (self.warps.iter().filter(comes).count() * WARP) as u32
        });
        let splits = self.splits.iter().map(|(warp, split)| {
            let [(lanes, first), (_, second)] = split.parts;
            let stops = &self.warps[*warp as usize].stops;
            let issue = CountIssue::Split {
                warp: *warp,
                lanes,
                other: self.site(&stops[second]),
            };
            self.problem(&stops[first], issue)
        });
        for split in splits {
            if !found.iter().any(|known| known.site == split.site) {
                found.push(split);
            }
        }
        if found.is_empty() && !self.has_unknown_code {
            found = self.left_over();
        }
        if found.is_empty() && !self.has_unknown_code {
            found.extend(self.wrong_passes(Rounds::None));
            if found.is_empty() {
                let possible = self.wrong_passes(Rounds::Some(MAX_BARRIER_ROUNDS));
                found.extend(possible.map(|problem| CountProblem {
                    certainty: Certainty::Potential,
                    ..problem
                }));
            }
            let is_asked_for = |problem: &CountProblem| {
                problem.certainty == Certainty::Definite || module.options.lanes == Certainty::Potential
            };
            found.retain(is_asked_for);
        }
        found
    }

    fn counts_that_are_not_whole(&self) -> Vec<CountProblem> {
        let mut nodes = FxHashSet::default();
        let stops = self.warps.iter().flat_map(|warp| &warp.stops);
        // A count of 0 is not documented.
        let is_broken = |count: u64| count != 0 && !count.is_multiple_of(WARP as u64);
        stops
            .filter(|stop| stop.count.is_some_and(is_broken) && nodes.insert(stop.node))
            .map(|stop| self.problem(stop, CountIssue::NotWhole))
            .collect()
    }

    /// The barriers that too few threads may reach. `coming`: the threads that may reach a barrier at the same time.
    fn too_few(&self, coming: impl Fn(u64) -> u32) -> Vec<CountProblem> {
        let mut found = Vec::new();
        if self.has_unknown_code {
            return found;
        }
        let all = || self.warps.iter().flat_map(|warp| &warp.stops);
        let mut nodes = FxHashSet::default();
        for stop in all() {
            let Some(count) = stop.count else { continue };
            let is_alike =
                |other: &BarrierStop| other.number != stop.number || other.waits && other.count == stop.count;
            let threads = coming(stop.number);
            if u64::from(threads) < count && all().all(is_alike) && nodes.insert(stop.node) {
                found.push(self.problem(stop, CountIssue::TooFew { threads }));
            }
        }
        found
    }

    /// The barriers at which warps are left that wait for ever, in whichever order they come.
    fn left_over(&self) -> Vec<CountProblem> {
        let mut numbers: Vec<u64> = self
            .warps
            .iter()
            .flat_map(|warp| warp.stops.iter().map(|stop| stop.number))
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        let of_number = |number: u64| {
            let stops = self.warps.iter().map(|warp| warp.single_stops(number));
            let stops: Vec<BarrierStop> = stops.collect::<Option<Vec<_>>>()?.concat();
            let first = *stops.first()?;
            let count = first.count.filter(|count| *count > 0)?;
            if stops.iter().any(|stop| stop.count != first.count) {
                return None;
            }
            let threads = stops.len() * WARP;
            let left = threads as u64 % count / WARP as u64;
            let arrivals = stops.iter().filter(|stop| !stop.waits).count() as u64;
            let waiting = stops.iter().find(|stop| stop.waits)?;
            let issue = CountIssue::Left {
                threads: threads as u32,
            };
            (left > arrivals).then(|| self.problem(waiting, issue))
        };
        numbers.into_iter().filter_map(of_number).collect()
    }

    /// The first thing that goes wrong if the warps go through their barriers.
    fn wrong_passes(&self, rounds: Rounds) -> Option<CountProblem> {
        let is_zero = |stop: &BarrierStop| stop.count == Some(0);
        if self.warps.iter().any(|warp| warp.stops.iter().any(is_zero)) {
            return None;
        }
        let sequences: Vec<Sequence> = self.warps.iter().map(|warp| warp.sequence(rounds)).collect();
        let stop_of = |(warp, place): Step| sequences[warp].events[place].stop;
        let wrong = Passes::new(&sequences, rounds).run()?;
        Some(match wrong {
            Wrong::Mixed(one, other) => {
                let (stop, beside) = (stop_of(one), stop_of(other));
                let issue = CountIssue::Mixed {
                    warps: [one.0 as u32, other.0 as u32],
                    other_count: beside.count,
                    other: self.site(&beside),
                };
                self.problem(&stop, issue)
            }
            Wrong::Unordered(one, other) => {
                let issue = CountIssue::Unordered {
                    warps: [one.0 as u32, other.0 as u32],
                    other: self.site(&stop_of(other)),
                };
                // Any warps may meet, if it does not matter which.
                CountProblem {
                    certainty: Certainty::Potential,
                    ..self.problem(&stop_of(one), issue)
                }
            }
            Wrong::Stuck(steps) => {
                // A barrier that counts says most.
                let first = steps.iter().copied().find(|step| stop_of(*step).count.is_some());
                let first = first.or_else(|| steps.first().copied())?;
                let stop = stop_of(first);
                let other = steps
                    .iter()
                    .copied()
                    .find(|step| stop_of(*step).number != stop.number);
                let here = steps.iter().filter(|step| stop_of(**step).number == stop.number);
                let issue = CountIssue::Stuck {
                    warp: first.0 as u32,
                    other: other.map(|step| {
                        let stop = stop_of(step);
                        (step.0 as u32, stop.number, self.site(&stop))
                    }),
                    threads: (here.count() * WARP) as u32,
                };
                self.problem(&stop, issue)
            }
        })
    }
}
