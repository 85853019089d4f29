//! Reads of shared memory that only copies fill, where no thread has waited for any of the copies when it reads for the first time.
//!
//! ```text
//! filled   the variable is written by copies of one kind from global memory, and by no other instruction in the kernel
//! read     after a copy: by some thread, for a bulk copy, after a barrier that comes after it; a `cp.async` is by all threads, to bytes
//!          of their own
//! waits    that may complete the copy: for groups; at its mbarrier, or one at an unknown address, unless they only pass a phase that
//!          is complete from the beginning
//! first    no wait comes before the read: each is after it; or, for groups, those before it leave all copies in flight
//! ```
//!
//! Of all threads that read, the one that is first in time has no wait of any thread before it, since each thread waits after it has read.

use ptxcheck_ir::paths::Paths;
use ptxcheck_ir::{
    AccessKind, AsyncOp, Asynchronous, Completion, CopyKind, CopyWay, FunctionId, InstructionId, MbarrierOp,
    Op, Space, SymbolId, TensorMemory,
};

use super::flow::Flow;
use super::handovers::Handovers;
use super::kernel::{AsyncKernel, AsyncSite, barrier_place_of};
use super::overlap::{CopyInFlight, Overlap, Ways};
use super::pending::{Pending, States};
use super::points_to::{memory_accessed_by, only_variable_accessed_by, variables_accessed_by};
use super::problems::AsyncAnalysis;
use super::sites::BarrierPlace;
use super::sum::{AddressSum, Extent, constant_variable_and_offset};
use super::view::View;

/// A copy that fills a variable.
struct Filling<'k> {
    function: FunctionId,
    copy: &'k Asynchronous,
    symbol: SymbolId,
}

impl Filling<'_> {
    /// True for `cp.async`, false for bulk and tensor copies.
    fn is_element_copy(&self) -> bool {
        matches!(self.copy.op, AsyncOp::Copy(copy) if copy.kind == CopyKind::Element)
    }

    /// True for operations that may complete the copy, or report that it is complete.
    fn may_be_completed_by(&self, op: AsyncOp) -> bool {
        match op {
            AsyncOp::Wait { .. } | AsyncOp::Mbarrier(MbarrierOp::ArriveAfterCopies { .. }) => {
                !self.is_at_barrier()
            }
            AsyncOp::Mbarrier(MbarrierOp::Wait { .. }) | AsyncOp::ClusterWait | AsyncOp::Unknown => {
                self.is_at_barrier()
            }
            _ => false,
        }
    }

    fn is_at_barrier(&self) -> bool {
        matches!(self.copy.op, AsyncOp::Copy(copy) if copy.completion == Completion::Mbarrier)
    }
}

impl AsyncAnalysis<'_, '_> {
    /// Adds the reads in a kernel of variables that only copies fill, before all waits for those copies.
    pub(super) fn add_unwaited_reads(self, kernel: &AsyncKernel, found: &mut Vec<Overlap>) {
        let fillings = self.copies_filling_variables(kernel).unwrap_or_default();
        for filling in &fillings {
            let (id, copy) = (filling.function, filling.copy);
            let Some(body) = &self.module.module.function(id).body else {
                continue;
            };
            let waits: Vec<&AsyncSite> = kernel
                .sites_where(|op| filling.may_be_completed_by(op))
                .filter(|wait| !self.passes_without(kernel, wait, filling))
                .collect();
            // What a call reads for the first time, the call before may have copied and waited for.
            let is_entered_once = || !Flow::new(self.module, kernel).may_enter_function_again(id);
            if waits.iter().any(|wait| wait.function != id) || !(waits.is_empty() || is_entered_once()) {
                continue;
            }
            let (analyses, paths) = (self.module.function(id), Paths::new(body));
            for (at, instruction) in body.iter() {
                let Op::Access(access) = instruction.op else {
                    continue;
                };
                if !matches!(access.space, Space::Shared | Space::Generic)
                    || access.kind != AccessKind::Load
                    || only_variable_accessed_by(self.module, id, at) != Some(filling.symbol)
                    || found
                        .iter()
                        .any(|known| (known.function, known.access) == (id, at))
                {
                    continue;
                }
                let is_behind = |wait: &&AsyncSite| {
                    let wait = wait.operation.instruction;
                    instruction.guard.is_none()
                        && analyses.is_on_every_path_to(at, wait)
                        && !(filling.is_element_copy() && paths.lead(wait, at))
                };
                let is_first = waits.iter().all(is_behind);
                if (is_first || self.are_all_under_way(filling, &fillings, at))
                    && (paths.lead(copy.instruction, at)
                        || waits.is_empty() && filling.is_element_copy()
                        || self.is_handed_over(kernel, filling, at))
                    && self.is_filled_by_copy(kernel, filling, (at, access.bytes().into()))
                    && analyses.is_reached(at)
                {
                    found.push(Overlap {
                        function: id,
                        access: at,
                        copy: *copy,
                        under_way: CopyInFlight {
                            thread: None,
                            is_elected: false,
                            is_of_other_thread: false,
                            // The first round may load other elements, and not use them.
                            ways: if is_first || !paths.lead(at, at) {
                                Ways::All
                            } else {
                                Ways::Some
                            },
                        },
                    });
                }
            }
        }
    }

    /// True if a thread reaches a load only after another one has started a copy, and handed over.
    fn is_handed_over(self, kernel: &AsyncKernel, filling: &Filling<'_>, load: InstructionId) -> bool {
        if filling.function != kernel.kernel || filling.is_element_copy() {
            return false;
        }
        let handovers = Handovers::new(self.module, kernel).map_or_else(Vec::new, |all| all.before(load));
        if handovers.is_empty() {
            return false;
        }
        let views = View::distinct_threads(self.module, filling.function);
        let senders = || views.iter().filter(|view| view.is_single_thread());
        handovers.iter().any(|handover| {
            senders().any(|sender| handover.is_surely_after(sender, filling.copy.instruction))
        })
    }

    /// True if all copies that fill a variable are in flight, as far as a thread has started them, when it reaches a load for the first
    /// time, and one of them is: of copies that complete by groups.
    fn are_all_under_way(self, one: &Filling<'_>, fillings: &[Filling<'_>], load: InstructionId) -> bool {
        let mut same = fillings.iter().filter(|other| other.symbol == one.symbol);
        if one.is_at_barrier() || same.clone().any(|other| other.function != one.function) {
            return false;
        }
        let Some(view) = View::any_thread(self.module, one.function) else {
            return false;
        };
        let Some(pending) = Pending::before_first(&view, load) else {
            return false;
        };
        let states = pending.states_before(load);
        let states_of = |of: &Filling<'_>| {
            let mut all = pending.copies().iter().zip(&states);
            all.find(|(copy, _)| copy.instruction == of.copy.instruction)
                .map(|(_, states)| *states)
        };
        // A wait for copies that are in no group is a problem of its own.
        let is_in_group = |states: States| states.is_in_flight() && !states.is_outside_groups();
        states_of(one).is_some_and(is_in_group)
            && same.all(|other| states_of(other).is_some_and(States::is_incomplete_if_started))
    }

    /// True if a wait says nothing about a copy: it is at another mbarrier, or passes at once.
    fn passes_without(self, kernel: &AsyncKernel, wait: &AsyncSite, filling: &Filling<'_>) -> bool {
        let AsyncOp::Mbarrier(MbarrierOp::Wait { parity, .. }) = wait.operation.op else {
            return false;
        };
        let of_copy = barrier_place_of(self.module, filling.function, filling.copy);
        match (wait.barrier_place(self.module), of_copy) {
            (Some(waited), Some(completing)) => {
                waited != completing
                    || parity
                        && self.phase_of_wait(wait) == Some(1)
                        && self.is_in_first_phase(kernel, filling, completing)
            }
            _ => false,
        }
    }

    /// The parity that a wait is for, if it is a constant.
    fn phase_of_wait(self, wait: &AsyncSite) -> Option<u64> {
        let view = View::any_thread(self.module, wait.function)?;
        let phase = view
            .body
            .async_value(&wait.operation, wait.operation.values.phase)?;
        let (terms, phase) = view.value_as_sum(phase, wait.operation.instruction)?;
        terms.is_empty().then_some(phase as u64 & 1)
    }

    /// True if a copy certainly completes the first phase of an mbarrier: one thread arrives there, once, and nobody waits there before
    /// the copy.
    fn is_in_first_phase(self, kernel: &AsyncKernel, filling: &Filling<'_>, at: BarrierPlace) -> bool {
        let Some(body) = &self.module.module.function(filling.function).body else {
            return false;
        };
        let copy = filling.copy.instruction;
        let may_be_there =
            |site: &&AsyncSite| site.barrier_place(self.module).is_none_or(|place| place == at);
        let arrivals = kernel.sites_where(|op| {
            matches!(op, AsyncOp::Mbarrier(op) if !matches!(op, MbarrierOp::Init | MbarrierOp::Wait { .. }))
        });
        let waits = kernel.sites_where(|op| matches!(op, AsyncOp::Mbarrier(MbarrierOp::Wait { .. })));
        let mut arrivals = arrivals.filter(may_be_there);
        let (Some(arrival), None) = (arrivals.next(), arrivals.next()) else {
            return false;
        };
        let paths = Paths::new(body);
        let is_once = |at: InstructionId| !paths.lead(at, at);
        let is_after_wait = |wait: &AsyncSite| {
            wait.function != filling.function || paths.lead(wait.operation.instruction, copy)
        };
        let by = View::distinct_threads(self.module, filling.function);
        matches!(arrival.operation.op, AsyncOp::Mbarrier(MbarrierOp::Arrive { .. }))
            && arrival.function == filling.function
            && is_once(arrival.operation.instruction)
            && is_once(copy)
            && View::thread_executing_alone(&by, arrival.operation.instruction).is_some()
            && !waits.filter(may_be_there).any(is_after_wait)
            && !kernel.has_instruction(self.module, |op| matches!(op, Op::MapShared(_)))
    }

    /// True if a load is of bytes that a copy writes.
    fn is_filled_by_copy(
        self,
        kernel: &AsyncKernel,
        filling: &Filling<'_>,
        (load, loaded): (InstructionId, u64),
    ) -> bool {
        let (module, id, copy) = (self.module, filling.function, filling.copy);
        let Some(destination) = copy.destination() else {
            return false;
        };
        let bytes = self.sizes().certain_bytes(id, copy);
        let extents = |view: &View<'_, '_>| {
            let read = Extent::of_access(&view.at_first_execution_of(load), load, loaded);
            read.zip(Extent::of_access(view, destination, bytes.unwrap_or(0)))
        };
        if filling.is_element_copy() {
            let view = View::any_thread(module, id)
                .filter(|_| constant_variable_and_offset(module, id, destination).is_none());
            return view
                .is_some_and(|view| extents(&view).is_none_or(|(read, copied)| read.may_overlap(&copied)));
        }
        let flow = Flow::new(module, kernel);
        let copied = [(id, copy.instruction)];
        let is_ordered = |meeting| {
            flow.first_instruction_ordered_before(&copied, meeting, (id, load))
                .is_some()
        };
        let is_read = |view: &View<'_, '_>| {
            let extents = extents(view);
            extents.is_some_and(|(read, copied)| read.surely_overlaps(&copied)) && view.may_execute(load)
        };
        bytes.is_some()
            && (kernel.waiting_sites(module).into_iter().any(is_ordered)
                || self.is_handed_over(kernel, filling, load))
            && View::distinct_threads(module, id).iter().any(is_read)
    }

    /// The copies of a kernel that fill variables without other writes; `None` if an address is not known.
    fn copies_filling_variables(self, kernel: &AsyncKernel) -> Option<Vec<Filling<'_>>> {
        let module = self.module;
        let mut all: Vec<Filling<'_>> = Vec::new();
        let mut written = Vec::new();
        for site in &kernel.operations {
            let (function, copy) = (site.function, &site.operation);
            let is_filling = match copy.op {
                AsyncOp::Copy(copy) if copy.writes_shared() => {
                    matches!(copy.kind, CopyKind::Element | CopyKind::Bulk | CopyKind::Tensor)
                        && copy.way == CopyWay::GlobalToShared
                        && !copy.multicast
                }
                // It writes the address of its allocation.
                AsyncOp::TensorMemory(TensorMemory::Allocate { .. }) => false,
                _ => continue,
            };
            let filled = variables_accessed_by(module, function, copy.destination()?)?;
            match filled[..] {
                [symbol] if is_filling => all.push(Filling {
                    function,
                    copy,
                    symbol,
                }),
                _ => written.extend(filled),
            }
        }
        for &id in &kernel.functions {
            let view = View::any_thread(module, id)?;
            for (at, instruction) in view.body.iter() {
                let Op::Access(access) = instruction.op else {
                    continue;
                };
                let is_elsewhere = matches!(
                    access.space,
                    Space::Global | Space::Local | Space::Param | Space::Const | Space::Tensor
                );
                if is_elsewhere || matches!(access.kind, AccessKind::Load | AccessKind::Other) {
                    continue;
                }
                if access.space == Space::Generic
                    && AddressSum::of_access(&view, at)
                        .is_some_and(|address| address.is_of_kernel_param(&view))
                {
                    continue;
                }
                let found = memory_accessed_by(module, id, at)?;
                if matches!(found.space, Space::Shared | Space::SharedCluster) {
                    written.extend(variables_accessed_by(module, id, at)?);
                }
            }
        }
        // A wait for either kind covers a variable that both kinds fill.
        let is_mixed = |one: &Filling<'_>| {
            let mut same = all.iter().filter(|other| other.symbol == one.symbol);
            same.any(|other| other.is_element_copy() != one.is_element_copy())
        };
        written.extend(all.iter().filter(|one| is_mixed(one)).map(|one| one.symbol));
        all.retain(|one| !written.contains(&one.symbol));
        Some(all)
    }
}
