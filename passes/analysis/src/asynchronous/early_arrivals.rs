//! Arrivals at an mbarrier by one lane for its warp, before the stores of the other lanes are certain.
//!
//! ```text
//! store    by a lane of the warp that does not arrive: it is on each path to the arrival of the other one
//! between  nothing at which lanes wait for each other; `elect.sync` is no such wait: it picks a lane, and orders no memory
//! read     by another role, after a wait at the mbarrier on each path, and no other wait for the lane that has stored
//! ```

use std::cell::OnceCell;

use ptxcheck_ir::paths::Paths;
use ptxcheck_ir::{AccessKind, Body, Collective, FunctionId, InstructionId, Op, WARP};

use super::handovers::{Handover, Handovers};
use super::kernel::{AsyncKernel, AsyncSite};
use super::overlap::ordinary_accesses;
use super::problems::{AsyncAnalysis, AsyncProblem};
use super::sum::Extent;
use super::unordered::WaitingInstructions;
use super::view::View;
use crate::limits::MAX_EARLY_ARRIVALS;
use crate::place::Place;

/// An arrival for other lanes, the store of one of them, and the read of another role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlyArrival {
    /// The thread that stores, by its number in the block.
    pub storing: u32,
    /// The thread that arrives, if its number says that it does.
    pub arriving: Option<u32>,
}

/// An ordinary access, and its bytes.
type Access = (InstructionId, u64);

impl<'a> AsyncAnalysis<'a, '_> {
    /// The arrivals that come before stores of other lanes which a role reads after them; the other place of each is a store.
    #[must_use]
    pub fn early_arrivals(self) -> Vec<AsyncProblem<EarlyArrival>> {
        let kernels = self.kernels_without_unknown_code();
        kernels.filter_map(|kernel| self.early_arrival(kernel)).collect()
    }

    fn early_arrival(self, kernel: &'a AsyncKernel) -> Option<AsyncProblem<EarlyArrival>> {
        let (module, id) = (self.module, kernel.kernel);
        let handovers = Handovers::new(module, kernel)?;
        let of_mbarriers = handovers.of_mbarriers();
        if of_mbarriers.is_empty() {
            return None;
        }
        let body = module.module.function(id).body.as_ref()?;
        let waiting = WaitingInstructions::of_threads(module, kernel, body);
        let mut waits = waiting.list();
        waits.retain(|&at| !is_election(body.instruction(at).op));
        let [stores, loads] = [AccessKind::Store, AccessKind::Load]
            .map(|kind| ordinary_accesses(body, |one| one == kind).collect::<Vec<Access>>());
        if stores
            .len()
            .saturating_mul(loads.len())
            .saturating_mul(waits.len() + 1)
            > MAX_EARLY_ARRIVALS
        {
            return None;
        }
        let search = Search {
            analysis: self,
            kernel,
            id,
            body,
            handovers: &handovers,
            waits,
            loads,
            first_threads: OnceCell::new(),
        };
        let views = View::distinct_threads(module, id);
        let pairs = of_mbarriers
            .iter()
            .flat_map(|handover| stores.iter().map(move |&store| (handover, store)));
        pairs
            .flat_map(|pair| views.iter().map(move |leader| (pair, leader)))
            .find_map(|((handover, store), leader)| search.problem_of_store(handover, store, leader))
    }
}

const fn is_election(op: Op) -> bool {
    matches!(op, Op::Collective(Collective::Elect, _))
}

struct Search<'s, 'a, 'm> {
    analysis: AsyncAnalysis<'a, 'm>,
    kernel: &'a AsyncKernel,
    id: FunctionId,
    body: &'a Body<'m>,
    handovers: &'s Handovers<'a, 'm>,
    /// The instructions at which threads may wait for others.
    waits: Vec<InstructionId>,
    loads: Vec<Access>,
    /// The first thread of each warp; computed on first use.
    first_threads: OnceCell<Vec<View<'a, 'm>>>,
}

impl<'a, 'm> Search<'_, 'a, 'm> {
    /// The first thread of each warp that a block may have.
    fn first_threads(&self) -> &[View<'a, 'm>] {
        self.first_threads
            .get_or_init(|| View::first_threads_of_warps(self.analysis.module, self.id).collect())
    }

    /// The problem of a store by a lane beside a thread that arrives.
    fn problem_of_store(
        &self,
        handover: &Handover,
        (store, bytes): Access,
        leader: &View<'_, '_>,
    ) -> Option<AsyncProblem<EarlyArrival>> {
        let module = self.analysis.module;
        let paths = Paths::new(self.body);
        let arrival = handover.only_arrival_of(leader)?;
        if !leader.is_single_thread()
            || !leader.may_execute(arrival)
            || !leader.is_surely_before(store, arrival)
        {
            return None;
        }
        let waits_between = |&wait: &InstructionId| paths.lead(store, wait) && paths.lead(wait, arrival);
        if self.waits.iter().any(waits_between) || paths.lead(arrival, store) {
            return None;
        }
        // The lane after it, or, of the one that is picked, the second one of the warp.
        let number = leader.thread_number().map_or(1, |number| number + 1);
        if number.is_multiple_of(WARP) {
            return None;
        }
        let other = View::of_thread(module, self.id, number, leader.is_elected())?;
        if handover
            .arrivals()
            .iter()
            .any(|&one| other.possibly_executes(one))
            || !other.may_execute(store)
        {
            return None;
        }
        let stored = Extent::of_access(&other, store, bytes)?;
        let is_read = |&(load, bytes): &Access| {
            let reads = |reader: &View<'_, '_>| {
                let read = Extent::of_access(reader, load, bytes);
                reader
                    .thread_number()
                    .is_some_and(|reader| reader / WARP != number / WARP)
                    && read.is_some_and(|read| read.surely_overlaps(&stored))
                    && reader.may_execute(load)
            };
            self.is_only_behind(handover, load, &other, store) && self.first_threads().iter().any(reads)
        };
        let &(load, _) = self.loads.iter().find(|load| is_read(load))?;
        let analyses = module.function(self.id);
        if ![store, arrival, load].iter().all(|&at| analyses.is_reached(at)) {
            return None;
        }
        let site = self.kernel.operations.iter();
        let mut site = site.filter(|site| site.site() == (self.id, arrival));
        let detail = EarlyArrival {
            storing: number,
            arriving: leader.thread_number(),
        };
        let site: &AsyncSite = site.next()?;
        let problem = AsyncProblem::of_site(self.kernel, site, detail);
        // Whether the threads are elsewhere then, the hardware decides.
        Some(problem.with_other_place(Place::of_instruction(self.id, store), !leader.is_elected()))
    }

    /// True if a thread reaches a load after a handover, and waits on no path there in another way after the store of a thread.
    fn is_only_behind(
        &self,
        handover: &Handover,
        load: InstructionId,
        storing: &View<'_, '_>,
        store: InstructionId,
    ) -> bool {
        let before = self.handovers.before(load);
        let is_known = |wait: InstructionId| {
            let mut known = before.iter().filter(|known| known.wait == wait);
            known.any(|known| !known.is_surely_after(storing, store))
        };
        let paths = Paths::new(self.body);
        before.iter().any(|known| known.wait == handover.wait)
            && self
                .waits
                .iter()
                .filter(|&&wait| paths.lead(wait, load))
                .all(|&wait| is_known(wait))
    }
}
