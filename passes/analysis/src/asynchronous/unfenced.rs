//! Reads through the async proxy of shared memory that ordinary stores wrote, where no proxy fence orders the two.

use ptxcheck_ir::AsyncOp;

use super::flow::Flow;
use super::kernel::AsyncSite;
use super::late_fences::Late;
use super::problems::{AsyncAnalysis, AsyncProblem};
use super::sites::Site;
use super::unfenced_stores::{OrdinaryStores, is_shared_fence, orders_or_writes_shared_memory};
use crate::place::Place;

/// The proxy fences of a kernel that reads shared memory through the async proxy after ordinary stores to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceGap {
    /// There is none, and only ordinary stores write shared memory.
    None,
    /// There is none between the store and the read.
    NoneBetween,
    /// There is none, but copies write shared memory, too.
    NoneAmongCopies,
    /// There is none between the stores of other threads and the barrier that they meet at.
    NoneBefore(Late),
}

impl AsyncAnalysis<'_, '_> {
    /// The reads of shared memory through the async proxy that nothing orders after ordinary stores to it; the other place of each is a
    /// store.
    #[must_use]
    pub fn unfenced_reads(self) -> Vec<AsyncProblem<FenceGap>> {
        let mut found = Vec::new();
        for kernel in self
            .kernels_without_unknown_code()
            .filter(|kernel| kernel.has_operation(reads_shared_memory))
        {
            let mut sent = OrdinaryStores::new(self.module, self.sizes(), kernel);
            if !kernel.has_operation(orders_or_writes_shared_memory) {
                found.extend(sent.first_read_without_fences());
                continue;
            }
            let between = sent.reads_without_fences_between();
            found.extend(if between.is_empty() {
                sent.possible_read_without_fences().into_iter().collect()
            } else {
                between
            });
        }
        found
    }
}

/// True for operations that read shared memory through the async proxy.
const fn reads_shared_memory(op: AsyncOp) -> bool {
    copies_from_shared(op) || matches!(op, AsyncOp::Matrix(_))
}

const fn copies_from_shared(op: AsyncOp) -> bool {
    matches!(op, AsyncOp::Copy(copy) if copy.reads_shared())
}

impl OrdinaryStores<'_, '_> {
    /// The first read in a kernel without any fence, in which only ordinary stores write shared memory.
    fn first_read_without_fences(&mut self) -> Option<AsyncProblem<FenceGap>> {
        let (module, kernel) = (self.module, self.kernel);
        let flow = Flow::new(module, kernel);
        let mut readers = kernel
            .sites_where(reads_shared_memory)
            .filter(|site| site.is_reached(module));
        readers.find_map(|reader| {
            // If neither orders the two, their threads race, with any proxy.
            let store = self.store_by_own_thread(reader);
            let store = store.or_else(|| self.store_by_other_threads(reader)).or_else(|| {
                let mut meetings = self.waiting_sites().iter();
                meetings.find_map(|&meeting| {
                    flow.first_instruction_ordered_before(self.stores(), meeting, reader.site())
                })
            });
            Some(self.problem_of_read(store?, &kernel.requested_site(module, reader)?, FenceGap::None))
        })
    }

    /// The copies of bytes that were certainly stored, with no fence in between, in a kernel that has fences elsewhere.
    fn reads_without_fences_between(&mut self) -> Vec<AsyncProblem<FenceGap>> {
        let readers = self.kernel.sites_where(reads_shared_memory);
        readers
            .filter_map(|reader| {
                let store = self.unfenced_store(reader)?;
                let is_reached = reader.is_reached(self.module);
                is_reached.then(|| self.problem_of_read(store, reader, FenceGap::NoneBetween))
            })
            .collect()
    }

    /// The first copy of bytes that ordinary stores may have written, without a fence of the storing threads: in a kernel
    /// without any, or with one after the barrier.
    fn possible_read_without_fences(&self) -> Option<AsyncProblem<FenceGap>> {
        let (module, kernel) = (self.module, self.kernel);
        let has_fence = kernel.has_operation(is_shared_fence);
        kernel.sites_where(copies_from_shared).find_map(|reader| {
            let stores = self.stores().iter().copied();
            let mut near = stores.filter(|&store| self.may_overlap(store, reader));
            let (store, gap) = if has_fence {
                near.find_map(|store| {
                    let meet = self.overlaps_read(store, reader) == Some(true);
                    let late = meet.then(|| self.late_fences(store, reader)).flatten()?;
                    Some((store, FenceGap::NoneBefore(late)))
                })?
            } else {
                let store = Flow::new(module, kernel)
                    .first_instruction_leading_to(&near.collect::<Vec<_>>(), reader.site())?;
                (store, FenceGap::NoneAmongCopies)
            };
            let reader = Some(reader).filter(|reader| reader.is_reached(module))?;
            let problem = self.problem_of_read(store, &kernel.requested_site(module, reader)?, gap);
            Some(AsyncProblem {
                is_definite: false,
                ..problem
            })
        })
    }

    fn problem_of_read(&self, store: Site, reader: &AsyncSite, gap: FenceGap) -> AsyncProblem<FenceGap> {
        AsyncProblem::of_site(self.kernel, reader, gap)
            .with_other_place(Place::of_instruction(store.0, store.1), true)
    }
}
