//! Ordinary stores to bytes that the hardware then reads through the async proxy, and instructions that may order the two.
//!
//! ```text
//! own        the thread that starts the copy has certainly made the store: it is on each path to the copy, to bytes that overlap
//! others     a thread, distinguished by its number, has certainly made it before it arrives where the thread that starts the copy waits for
//!            it: at the last barrier of the block that all threads reach, or where roles hand over
//! between    store → x → copy, not through either again
//! unfenced   no fence, wait, call or asynchronous write is between, and each fence certainly comes before the store or after the copy
//! ```
//!
//! A fence of another warp, with no path to or from the two, may be executed at any time, and so counts as one between them.
//! So does any fence if threads may reach a barrier in between from another place in the code: code that follows the copy in
//! the text may be executed before it.

use std::cell::OnceCell;

use ptxcheck_ir::{
    AccessKind, AsyncOp, Body, FunctionId, Instruction, InstructionId, MbarrierOp, Op, RowAddress, Space,
    WARP,
};

use super::handovers::{Handover, Handovers};
use super::kernel::{AsyncKernel, AsyncSite};
use super::points_to::memory_accessed_by;
use super::sites::Site;
use super::size::Sizes;
use super::sum::{ALL_BYTES, Extent, Stretch, has_path_avoiding, surely_overlap};
use super::uniform_reach::may_wait_at_other_barrier;
use super::view::View;
use crate::shared::Shared;

/// The ordinary stores to shared memory of a kernel, with all its callees.
pub(super) struct OrdinaryStores<'a, 'm> {
    pub(super) module: &'a Shared<'m>,
    sizes: &'a Sizes,
    pub(super) kernel: &'a AsyncKernel,
    stores: Vec<Site>,
    meetings: OnceCell<Vec<Site>>,
    by_function: Vec<(FunctionId, Vec<Way<'a, 'm>>)>,
}

/// A thread, or any, on its path through a function, and the stores that it may make there.
struct Way<'a, 'm> {
    view: View<'a, 'm>,
    stores: Vec<Stretch>,
}

/// True for fences over shared memory.
pub(super) const fn is_shared_fence(op: AsyncOp) -> bool {
    matches!(op, AsyncOp::ProxyFence(fence) if fence.shared)
}

/// True for fences over shared memory, and for operations that write it and are no ordinary stores.
pub(super) const fn orders_or_writes_shared_memory(op: AsyncOp) -> bool {
    match op {
        AsyncOp::Copy(copy) => copy.writes_shared(),
        AsyncOp::Unknown => true,
        _ => is_shared_fence(op),
    }
}

impl<'a, 'm> OrdinaryStores<'a, 'm> {
    /// The stores of a kernel.
    pub(super) fn new(module: &'a Shared<'m>, sizes: &'a Sizes, kernel: &'a AsyncKernel) -> Self {
        Self {
            module,
            sizes,
            kernel,
            stores: shared_stores_of(module, kernel),
            meetings: OnceCell::new(),
            by_function: Vec::new(),
        }
    }

    /// All stores, by function and in the order of the input.
    pub(super) fn stores(&self) -> &[Site] {
        &self.stores
    }

    /// The instructions at which threads wait for each other.
    pub(super) fn waiting_sites(&self) -> &[Site] {
        self.meetings
            .get_or_init(|| self.kernel.waiting_sites(self.module))
    }

    /// A store that the thread which starts a copy has certainly made to bytes that it reads.
    pub(super) fn store_by_own_thread(&mut self, reader: &AsyncSite) -> Option<Site> {
        let id = reader.function;
        let bytes = self.sizes.certain_bytes(id, &reader.operation)?;
        self.store_by_own_thread_where(reader, bytes, |_| true)
            .map(|store| (id, store))
    }

    /// A store that another thread has certainly made to bytes that a copy reads, before the thread that starts it waited for that one.
    pub(super) fn store_by_other_threads(&mut self, reader: &AsyncSite) -> Option<Site> {
        let id = reader.function;
        let bytes = self.sizes.certain_bytes(id, &reader.operation)?;
        self.store_by_other_threads_where(reader, bytes, |_| true)
            .map(|store| (id, store))
    }

    /// A store that was certainly made to bytes that a copy reads, with no instruction in between that may order the two.
    pub(super) fn unfenced_store(&mut self, reader: &AsyncSite) -> Option<Site> {
        let id = reader.function;
        let bytes = self.sizes.certain_bytes(id, &reader.operation)?;
        let (module, kernel) = (self.module, self.kernel);
        let is_unfenced = |store| !may_be_fenced(module, kernel, store, reader);
        let own = self.store_by_own_thread_where(reader, bytes, is_unfenced);
        let store = own.or_else(|| self.store_by_other_threads_where(reader, bytes, is_unfenced));
        store.map(|store| (id, store))
    }

    /// The paths through a function.
    fn paths_through_function(&mut self, id: FunctionId) -> &[Way<'a, 'm>] {
        let known = self.by_function.iter().position(|(known, _)| *known == id);
        let at = known.unwrap_or_else(|| {
            let stores = self.stores.iter().filter(|(of, _)| *of == id);
            let stores: Vec<InstructionId> = stores.map(|(_, at)| *at).collect();
            let ways = View::distinct_threads(self.module, id)
                .into_iter()
                .filter(|view| !view.is_elected())
                .map(|view| Way::new(view, &stores));
            self.by_function.push((id, ways.collect()));
            self.by_function.len() - 1
        });
        &self.by_function[at].1
    }

    fn store_by_own_thread_where(
        &mut self,
        reader: &AsyncSite,
        bytes: u64,
        holds: impl Fn(InstructionId) -> bool,
    ) -> Option<InstructionId> {
        let (module, copy) = (self.module, reader.operation.instruction);
        let source = reader.operation.source()?;
        let mask = self.sizes.byte_mask(reader.function, &reader.operation);
        self.paths_through_function(reader.function)
            .iter()
            .find_map(|way| {
                let view = &way.view;
                let read = Stretch::of_access(view, source, (bytes, mask))?;
                let mut is_by_this = None;
                let is_certain = |store: &&Stretch| {
                    surely_overlap(view, store, &read)
                        && *is_by_this.get_or_insert_with(|| view.is_executed_by_this_alone(copy))
                        && !module.deadline.is_over_at_step()
                        && view.is_surely_before(store.at, copy)
                        && holds(store.at)
                };
                Some(way.stores.iter().find(is_certain)?.at)
            })
    }

    fn store_by_other_threads_where(
        &mut self,
        reader: &AsyncSite,
        bytes: u64,
        holds: impl Fn(InstructionId) -> bool,
    ) -> Option<InstructionId> {
        // Only for the kernel itself it is known that all threads reach the code on each path to its end.
        let (module, id) = (self.module, self.kernel.kernel);
        let copy = reader.operation.instruction;
        let is_whole = self.sizes.byte_mask(reader.function, &reader.operation) == ALL_BYTES;
        let source = reader
            .operation
            .source()
            .filter(|_| reader.function == id && is_whole)?;
        let kernel = self.kernel;
        let handovers: OnceCell<Vec<Handover>> = OnceCell::new();
        let before = || Handovers::new(module, kernel).map_or_else(Vec::new, |all| all.before(copy));
        let ways = self.paths_through_function(id);
        let read = Extent::of_access(&ways.first()?.view, source, bytes)?;
        ways.iter()
            .filter(|way| way.view.thread_number().is_some())
            .find_map(|way| {
                let view = &way.view;
                let is_certain = |store: &&Stretch| {
                    let stored = store.extent(view);
                    let handovers = || handovers.get_or_init(before).iter();
                    stored.is_some_and(|stored| stored.surely_overlaps(&read))
                        && !module.deadline.is_over_at_step()
                        && handovers().any(|handover| handover.is_surely_after(view, store.at))
                        && holds(store.at)
                };
                Some(way.stores.iter().find(is_certain)?.at)
            })
    }

    /// False if a store is certainly to bytes that a copy does not read: in another variable, or in another part of it.
    pub(super) fn may_overlap(&self, store: Site, reader: &AsyncSite) -> bool {
        let variable = |(id, at): Site| memory_accessed_by(self.module, id, at)?.symbol;
        let source = reader.operation.source().map(|source| (reader.function, source));
        let (object, other) = (source.and_then(variable), variable(store));
        (object.is_none() || other.is_none() || object == other)
            && self.overlaps_read(store, reader) != Some(false)
    }

    /// True if a store, by any thread, is to a part of a variable that overlaps the bytes that a copy reads; `None` if its
    /// bounds are not known, and the copy does not read the whole variable.
    pub(super) fn overlaps_read(&self, (id, store): Site, reader: &AsyncSite) -> Option<bool> {
        let (body, one) = (self.module.module.function(id).body.as_ref()?, &reader.operation);
        let Op::Access(access) = body.instruction(store).op else {
            return None;
        };
        if reader.function != id {
            return None;
        }
        let view = View::any_thread(self.module, id)?;
        let bytes = self.sizes.known_bytes(id, one)?;
        if self.sizes.byte_mask(id, one) != ALL_BYTES {
            return None;
        }
        let read = Extent::of_access(&view, one.source()?, bytes)?;
        if let Some(stored) = Extent::of_access(&view, store, access.bytes().into()) {
            return Some(stored.may_overlap(&read));
        }
        let is_whole = self
            .module
            .module
            .symbol(read.symbol)
            .size
            .is_some_and(|size| read.has_first_bytes(size));
        let stored = memory_accessed_by(self.module, id, store)?.symbol?;
        (is_whole && stored == read.symbol).then_some(true)
    }
}

impl<'a, 'm> Way<'a, 'm> {
    fn new(view: View<'a, 'm>, stores: &[InstructionId]) -> Self {
        let store =
            |&at: &InstructionId| Stretch::of_access(&view, at, (bytes_stored_by(&view, at)?, ALL_BYTES));
        let stores = stores.iter().filter_map(store).collect();
        Self { view, stores }
    }
}

/// Bytes that each lane stores, or the lane of a thread.
fn bytes_stored_by(view: &View<'_, '_>, at: InstructionId) -> Option<u64> {
    let Some((row, rows)) = view.body.row_access_at(at) else {
        return match view.body.instruction(at).op {
            Op::Access(access) => Some(access.bytes().into()),
            _ => None,
        };
    };
    // Those of further lanes are not used.
    let lane = view.thread_number().map_or(WARP - 1, |number| number % WARP);
    (rows.address != RowAddress::OfLane || lane < rows.count.into()).then_some(row.bytes().into())
}

/// The fences over shared memory of a kernel.
pub(super) fn shared_fences_of(kernel: &AsyncKernel) -> impl Iterator<Item = &AsyncSite> {
    kernel.sites_where(is_shared_fence)
}

/// True if an instruction may order a store before the later copy, or write bytes that the copy reads.
fn may_be_fenced(
    module: &Shared<'_>,
    kernel: &AsyncKernel,
    store: InstructionId,
    reader: &AsyncSite,
) -> bool {
    let (id, copy) = (reader.function, reader.operation.instruction);
    let Some(body) = &module.module.function(id).body else {
        return true;
    };
    let analyses = module.function(id);
    let is_between = |at: InstructionId| {
        at != copy && has_path_avoiding(body, store, at, copy) && has_path_avoiding(body, at, copy, store)
    };
    let comes_before =
        |from, to| has_path_avoiding(body, from, to, from) && !has_path_avoiding(body, to, from, to);
    let is_apart = |fence: &AsyncSite| {
        let at = fence.operation.instruction;
        fence.function == id
            && !is_between(at)
            && (analyses.is_on_every_path_to(at, store) || comes_before(at, store) || comes_before(copy, at))
    };
    if !shared_fences_of(kernel).all(is_apart) {
        return true;
    }
    if shared_fences_of(kernel).next().is_some()
        && may_wait_at_other_barrier(module, kernel, (id, body), store, copy)
    {
        return true;
    }
    let mut others = kernel.bodies(module).filter(|&(function, _)| function != id);
    let may_others_order = others.any(|(_, body)| {
        let mut all = body.iter();
        all.any(|(at, instruction)| may_instruction_order_accesses(body, at, instruction))
    });
    body.iter().any(|(at, instruction)| {
        let orders = match instruction.op {
            Op::Call(_) => may_others_order,
            _ => may_instruction_order_accesses(body, at, instruction),
        };
        orders && is_between(at)
    })
}

/// True for an access that may order threads.
pub(super) fn may_order_threads(op: Op) -> bool {
    matches!(op, Op::Access(access) if access.is_ordering() || access.is_volatile())
}

/// True for an instruction that may order a store before a copy, or write bytes that the copy reads: any access or wait
/// except a wait at a barrier.
fn may_instruction_order_accesses(body: &Body<'_>, at: InstructionId, instruction: &Instruction) -> bool {
    let waits = |op| {
        matches!(
            op,
            AsyncOp::Wait { .. } | AsyncOp::Mbarrier(MbarrierOp::Wait { .. })
        )
    };
    let one = body.asynchronous_at(at);
    may_order_threads(instruction.op)
        || one.is_some_and(|one| waits(one.op) || orders_or_writes_shared_memory(one.op))
}

/// The ordinary writes to shared memory that a kernel may execute.
fn shared_stores_of(module: &Shared<'_>, kernel: &AsyncKernel) -> Vec<Site> {
    let mut stores = Vec::new();
    for (id, body) in kernel.bodies(module) {
        for (at, instruction) in body.iter() {
            let Op::Access(access) = instruction.op else {
                continue;
            };
            if matches!(access.kind, AccessKind::Load | AccessKind::Other) {
                continue;
            }
            let is_shared = match access.space {
                Space::Shared | Space::SharedCluster => true,
                Space::Generic => {
                    memory_accessed_by(module, id, at).is_some_and(|found| found.space == Space::Shared)
                }
                _ => false,
            };
            if is_shared && kernel.may_reach(module, (id, at)) && body.asynchronous_at(at).is_none() {
                stores.push((id, at));
            }
        }
    }
    stores
}
