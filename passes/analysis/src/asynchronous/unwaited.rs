//! Reads of shared memory that only copies fill, in a kernel that waits for no copy of their kind before the read.
//!
//! ```text
//! filled   the variable is written by copies of one kind from global memory, and by no other instruction in the kernel
//! read     after a copy: by some thread, for a bulk copy, after a barrier that comes after it; a `cp.async` is by all threads, to bytes
//!          of their own
//! ```

use ptxcheck_ir::paths::Paths;
use ptxcheck_ir::{
    AccessKind, AsyncOp, Asynchronous, Completion, CopyKind, CopyWay, FunctionId, InstructionId, MbarrierOp,
    Op, Space, SymbolId, TensorMemory,
};

use super::flow::Flow;
use super::kernel::AsyncKernel;
use super::overlap::{CopyInFlight, Overlap, Ways};
use super::points_to::memory_accessed_by;
use super::problems::AsyncAnalysis;
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
        for filling in self.copies_filling_variables(kernel).unwrap_or_default() {
            let (id, copy) = (filling.function, filling.copy);
            let Some(body) = &self.module.module.function(id).body else {
                continue;
            };
            let waits = kernel.sites_where(|op| filling.may_be_completed_by(op));
            if waits.clone().any(|wait| wait.function != id) {
                continue;
            }
            let (analyses, paths) = (self.module.function(id), Paths::new(body));
            for (at, instruction) in body.iter() {
                let Op::Access(access) = instruction.op else {
                    continue;
                };
                if !matches!(access.space, Space::Shared | Space::Generic)
                    || access.kind != AccessKind::Load
                    || memory_accessed_by(self.module, id, at).and_then(|found| found.symbol)
                        != Some(filling.symbol)
                    || found
                        .iter()
                        .any(|known| (known.function, known.access) == (id, at))
                {
                    continue;
                }
                let is_waited_for = waits.clone().any(|wait| {
                    let wait = wait.operation.instruction;
                    !analyses.is_on_every_path_to(at, wait) || paths.lead(wait, at)
                });
                if !is_waited_for
                    && paths.lead(copy.instruction, at)
                    && self.is_filled_by_copy(kernel, &filling, (at, access.bytes().into()))
                    && analyses.is_reached(at)
                {
                    found.push(Overlap {
                        function: id,
                        access: at,
                        copy: *copy,
                        under_way: CopyInFlight {
                            thread: None,
                            is_elected: false,
                            ways: Ways::All,
                        },
                    });
                }
            }
        }
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
            let read = Extent::of_access(view, load, loaded);
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
            && kernel.waiting_sites(module).into_iter().any(is_ordered)
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
            let symbol = memory_accessed_by(module, function, copy.destination()?)?.symbol?;
            if is_filling {
                all.push(Filling {
                    function,
                    copy,
                    symbol,
                });
            } else {
                written.push(symbol);
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
                    written.push(found.symbol?);
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
