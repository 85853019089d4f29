//! A run step by step: the position of each lane, and its actions there.
//!
//! Between two effects that others see, threads run by themselves. The trace merges the steps of several threads at
//! one site, so that a branch shows which lanes go where.

use ptxcheck_ir::BlockId;
use rustc_hash::FxHashMap;

use crate::launch::{WARP, lane_bit};
use crate::limits::MAX_MOMENTS;
use crate::observe::{Event, Observer, View};
use crate::outcome::Wrong;
use crate::site::Point;
use crate::world::At;
use ptxcheck_ir::Site;

/// The act of lanes at a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Doing {
    /// They go to this block, where a predicate or an index decides that.
    Goes(BlockId),
    /// They reach a collective with this mask, and wait.
    Arrives(u32),
    /// They reach a barrier, and wait.
    ArrivesAtBarrier,
    /// They execute a visible effect together: a store, an atomic, a call of code that is not here.
    Acts,
    /// They continue from a collective at which they have met.
    Meets,
    /// They continue from a barrier.
    Passes,
    /// Something goes wrong there.
    Fails(Wrong),
    /// They wait in vain, and are let go.
    LetGo,
    /// They read what other lanes write; no trace says so, but who knows the [exchanges](crate::Exchanges) of the run.
    Reads,
    /// They write where other lanes read or write, likewise.
    Writes,
    /// They end.
    Ends,
}

/// The same act of lanes of one warp, or of several, at one site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The site; for lanes that end, the instruction with which they do.
    pub site: Site,
    /// The act.
    pub doing: Doing,
    /// The block, by its number among those that run.
    pub block: u32,
    /// The lanes, by warp: its number in the block, and a bit for each lane. Sorted by warp.
    pub lanes: Vec<(u32, u32)>,
}

/// The moments of a run, for [`crate::Kernel::run`].
///
/// ```no_run
/// # use ptxcheck_machine::{Given, Kernel, Setup, Trace};
/// # fn show(kernel: &Kernel<'_>, setup: &Setup<'_>) -> Result<(), ptxcheck_machine::Refused> {
/// let mut trace = Trace::of_warp(3);
/// kernel.run(setup, &mut Given::default(), &mut trace)?;
/// for moment in trace.moments() {
///     println!("{:?} {:?}: {:x?}", moment.site, moment.doing, moment.lanes);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// By block and warp.
    warps: Option<Vec<(u32, u32)>>,
    /// The block that runs.
    block: u32,
    moments: Vec<Moment>,
    left_out: usize,
    /// The moments since others last saw something, which threads make by themselves: by the act, the site and how often the
    /// thread has been there.
    since: FxHashMap<(Point, Doing, u32), usize>,
    visits: FxHashMap<(usize, Point), u32>,
    /// The instruction that each thread did something at last.
    last: FxHashMap<usize, Point>,
}

impl Trace {
    /// Of one warp alone.
    #[must_use]
    pub fn of_warp(warp: u32) -> Self {
        Self::of_warps(&[(0, warp)])
    }

    /// Of these warps alone, each with its block, by its number among those that run.
    #[must_use]
    pub fn of_warps(warps: &[(u32, u32)]) -> Self {
        Self {
            warps: Some(warps.to_vec()),
            ..Self::default()
        }
    }

    /// The moments, in order: at most [`MAX_MOMENTS`].
    #[must_use]
    pub fn moments(&self) -> &[Moment] {
        &self.moments
    }

    /// Number of those that it did not keep.
    #[must_use]
    pub const fn left_out(&self) -> usize {
        self.left_out
    }

    fn has(&self, thread: usize) -> bool {
        let warp = (self.block, (thread / WARP) as u32);
        self.warps.as_ref().is_none_or(|warps| warps.contains(&warp))
    }

    /// A new moment; its number, if it is kept.
    fn push(&mut self, site: Site, doing: Doing) -> Option<usize> {
        if self.moments.len() >= MAX_MOMENTS {
            self.left_out += 1;
            return None;
        }
        self.moments.push(Moment {
            site,
            doing,
            block: self.block,
            lanes: Vec::new(),
        });
        Some(self.moments.len() - 1)
    }

    fn add(&mut self, moment: usize, thread: usize) {
        let warp = (thread / WARP) as u32;
        let lanes = &mut self.moments[moment].lanes;
        match lanes.binary_search_by_key(&warp, |one| one.0) {
            Ok(known) => lanes[known].1 |= lane_bit(thread),
            Err(place) => lanes.insert(place, (warp, lane_bit(thread))),
        }
    }

    /// One of the threads that do the same, each by itself.
    fn alone(&mut self, at: &At<'_>, doing: Doing) {
        if !self.has(at.thread) {
            return;
        }
        let point = match doing {
            // It is nowhere any more.
            Doing::Ends => self.last.get(&at.thread).copied().unwrap_or(at.point),
            _ => at.point,
        };
        self.last.insert(at.thread, point);
        let visits = self.visits.entry((at.thread, point)).or_default();
        if matches!(doing, Doing::Goes(_)) {
            *visits += 1;
        }
        let key = (point, doing, *visits);
        let moment = match self.since.get(&key) {
            Some(&known) => Some(known),
            None => self.push(at.contexts.site(point), doing),
        };
        if let Some(moment) = moment {
            self.since.insert(key, moment);
            self.add(moment, at.thread);
        }
    }

    /// Threads that do something together, which others see.
    fn together(&mut self, at: &At<'_>, doing: Doing, threads: &[usize]) {
        self.since.clear();
        self.visits.clear();
        let threads: Vec<usize> = threads
            .iter()
            .copied()
            .filter(|&thread| self.has(thread))
            .collect();
        if threads.is_empty() {
            return;
        }
        if let Some(moment) = self.push(at.site(), doing) {
            for &thread in &threads {
                self.add(moment, thread);
            }
        }
        for thread in threads {
            self.last.insert(thread, at.point);
        }
    }
}

impl Observer for Trace {
    fn on(&mut self, at: &At<'_>, event: &Event<'_>, _view: &View<'_>) {
        if self.block != at.block {
            self.block = at.block;
            self.since.clear();
            self.visits.clear();
            self.last.clear();
        }
        match *event {
            Event::Branch(to) => self.alone(at, Doing::Goes(to)),
            Event::Arrived(_, mask) => self.alone(at, Doing::Arrives(mask)),
            Event::AtBarrier => self.alone(at, Doing::ArrivesAtBarrier),
            Event::Wrong(wrong) => self.alone(at, Doing::Fails(wrong)),
            Event::LetGo => self.alone(at, Doing::LetGo),
            Event::Ended => self.alone(at, Doing::Ends),
            Event::Visible(threads) => self.together(at, Doing::Acts, threads),
            Event::Met(threads) => self.together(at, Doing::Meets, threads),
            Event::Passed(threads) | Event::PassedCounted(_, threads, _) => {
                self.together(at, Doing::Passes, threads);
            }
            // Of accesses and signals, those that others see are acts.
            Event::Access(..)
            | Event::Signals(_)
            | Event::Fence
            | Event::MayOrder
            | Event::MayWait
            | Event::AsyncWrong(_) => {}
        }
    }
}
