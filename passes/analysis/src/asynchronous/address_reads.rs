//! Reads of the address of tensor memory by warps that have not certainly waited for the one that allocates it.
//!
//! ```text
//! allocation  writes the address to shared memory
//! before      waits that come before it: on each path to it and to the read, and never after one of them
//! read        of bytes that certainly overlap the address, by a thread that does not allocate, on a path without other waits
//! ```
//!
//! Such a wait orders nothing: its threads have passed it before the allocation. If the allocation comes after any other wait, the read may
//! come before that, and means another value.

use ptxcheck_ir::paths::Paths;
use ptxcheck_ir::{AccessKind, Body, FunctionId, InstructionId};

use super::kernel::{AsyncKernel, AsyncSite};
use super::overlap::ordinary_accesses;
use super::problems::{AsyncAnalysis, AsyncProblem};
use super::sum::Extent;
use super::tensor_memory::allocates;
use super::unordered::WaitingInstructions;
use super::view::View;
use crate::limits::MAX_ADDRESS_READS;
use crate::place::Place;

/// Bytes of an address in tensor memory (PTX ISA, tcgen05.alloc).
const ADDRESS_BYTES: u64 = 4;

impl<'a> AsyncAnalysis<'a, '_> {
    /// The first read in each kernel of the address of tensor memory by a thread that has not certainly waited for the allocation, which is the
    /// other place. It is definite if no path to it has a wait.
    #[must_use]
    pub fn unordered_address_reads(self) -> Vec<AsyncProblem<()>> {
        let kernels = self
            .kernels_without_unknown_code()
            .filter(|kernel| kernel.has_operation(allocates));
        kernels
            .filter_map(|kernel| self.unordered_address_read(kernel))
            .collect()
    }

    fn unordered_address_read(self, kernel: &'a AsyncKernel) -> Option<AsyncProblem<()>> {
        let (module, id) = (self.module, kernel.kernel);
        let body = module.module.function(id).body.as_ref()?;
        let mut allocations = kernel.sites_where(allocates);
        if !allocations.clone().all(|site| site.function == id) {
            return None;
        }
        let loads: Vec<(InstructionId, u64)> =
            ordinary_accesses(body, |kind| kind == AccessKind::Load).collect();
        let waits = WaitingInstructions::between_warps(module, kernel, body).list();
        if loads.len().saturating_mul(waits.len() + 1) > MAX_ADDRESS_READS {
            return None;
        }
        let search = AddressSearch {
            analysis: self,
            id,
            body,
            loads,
            waits,
            threads: View::first_threads_of_warps(module, id).collect(),
        };
        allocations.find_map(|site| search.problem_of_allocation(kernel, site))
    }
}

struct AddressSearch<'a, 'm> {
    analysis: AsyncAnalysis<'a, 'm>,
    id: FunctionId,
    body: &'a Body<'m>,
    loads: Vec<(InstructionId, u64)>,
    /// The instructions at which warps may wait for each other.
    waits: Vec<InstructionId>,
    /// The first thread of each warp.
    threads: Vec<View<'a, 'm>>,
}

impl AddressSearch<'_, '_> {
    fn problem_of_allocation(&self, kernel: &AsyncKernel, site: &AsyncSite) -> Option<AsyncProblem<()>> {
        let made = site.operation.instruction;
        let analyses = self.analysis.module.function(self.id);
        let any = View::any_thread(self.analysis.module, self.id)?;
        let address = Extent::of_access(&any, site.operation.destination()?, ADDRESS_BYTES)?;
        if !analyses.is_reached(made) {
            return None;
        }
        let paths = Paths::new(self.body);
        let is_read = |&&(load, bytes): &&(InstructionId, u64)| {
            Extent::of_access(&any, load, bytes).is_some_and(|read| read.surely_overlaps(&address))
                && analyses.is_reached(load)
        };
        let found = self.loads.iter().filter(is_read).find_map(|&(load, _)| {
            let is_before_both = |wait: InstructionId| {
                analyses.is_on_every_path_to(wait, made)
                    && analyses.is_on_every_path_to(wait, load)
                    && !paths.lead(made, wait)
                    && !paths.lead(load, wait)
            };
            let mut later = Vec::new();
            for &wait in &self.waits {
                match is_before_both(wait) {
                    true => {}
                    false if paths.lead(wait, made) => return None,
                    false => later.push(wait),
                }
            }
            Some((load, self.is_definite(made, load, &later)?))
        });
        let (load, is_definite) = found?;
        let problem = AsyncProblem::of_site(kernel, site, ()).with_other_place(site.place(), is_definite);
        Some(AsyncProblem {
            place: Place::of_instruction(self.id, load),
            ..problem
        })
    }

    /// True if a thread that does not allocate reaches a load without a wait; false if it may; `None` if none does.
    fn is_definite(&self, made: InstructionId, load: InstructionId, waits: &[InstructionId]) -> Option<bool> {
        let mut marked = vec![false; self.body.instructions.len()];
        for wait in waits {
            marked[wait.index()] = self.body.instruction(*wait).guard.is_none();
        }
        let reads_early = |thread: &&View<'_, '_>| {
            let next = |block| thread.possible_successors(block);
            let paths = Paths::new(self.body).along(&next).without_marked(&marked);
            !thread.possibly_executes(made)
                && thread.may_execute(load)
                && paths.lead_from(&[ptxcheck_ir::BlockId::new(0)], load)
        };
        let is_certain = |thread: &View<'_, '_>| {
            let waits = waits.iter().filter(|&&wait| thread.possibly_executes(wait));
            waits.copied().all(|wait| !thread.is_reachable_from(wait, load))
        };
        let mut early = self.threads.iter().filter(reads_early).peekable();
        early.peek()?;
        Some(early.any(is_certain))
    }
}
