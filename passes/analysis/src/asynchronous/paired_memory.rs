//! Tensor memory in both CTAs of a pair (`.cta_group::2`): allocated before both have certainly started, or freed before both have certainly
//! allocated.
//!
//! ```text
//! allocated   nothing at which threads may wait for others leads to it
//! freed       after the only allocation; all waits of the kernel are on each path to that, and none comes after it
//! by a branch waits come after it, but not from one side of a branch that all threads of a block take alike
//! ```
//!
//! Waits before the allocation say nothing about the allocation of the other CTA, which executes the same code. Both CTAs take part in
//! both operations (PTX ISA, tcgen05.alloc, tcgen05.dealloc).

use ptxcheck_ir::paths::{Paths, reached};
use ptxcheck_ir::{BlockId, InstructionId, Op};

use super::conditions::{Conditions, is_common_in_block};
use super::flow::Flow;
use super::kernel::{AsyncKernel, AsyncSite};
use super::peers::{MissingBarrier, PeerAccess, PeerUse, allocates_in_pair};
use super::problems::{AsyncAnalysis, AsyncProblem};
use super::sites::Site;
use super::tensor_memory::frees;
use crate::limits::{MAX_LEAK_STEPS, MAX_PEER_ACCESSES, MAX_PEER_STEPS};
use crate::place::Place;

impl AsyncAnalysis<'_, '_> {
    /// The first allocation in a pair of CTAs of which nothing has waited for the other one. `is_started`: something may have.
    pub(super) fn unguarded_allocation(
        self,
        kernel: &AsyncKernel,
        is_started: impl Fn(Site) -> bool,
    ) -> Option<AsyncProblem<PeerAccess>> {
        let mut allocations = kernel.sites_where(allocates_in_pair);
        let site = allocations.find(|site| site.is_reached(self.module) && !is_started(site.site()))?;
        let site = kernel.requested_site(self.module, site)?;
        Some(AsyncProblem::of_site(kernel, &site, detail(PeerUse::Allocation)))
    }

    /// The first operation that frees memory of a pair before anything has waited for the allocation of the other CTA, which is the other
    /// place; or the branch by which that comes about. `waits`: where threads may wait for other CTAs.
    pub(super) fn unguarded_free(
        self,
        kernel: &AsyncKernel,
        flow: &Flow<'_, '_>,
        waits: &[Site],
    ) -> Option<AsyncProblem<PeerAccess>> {
        let mut allocations = kernel.sites_where(allocates_in_pair);
        let (Some(allocation), None) = (allocations.next(), allocations.next()) else {
            return None;
        };
        if waits.len() > MAX_PEER_STEPS / MAX_PEER_ACCESSES {
            return None;
        }
        let made = allocation.site();
        let frees = || {
            let sites = kernel
                .sites_where(frees)
                .filter(|site| site.is_reached(self.module));
            sites.filter(|site| flow.first_instruction_leading_to(&[made], site.site()).is_some())
        };
        let mut later = Vec::new();
        for &wait in waits {
            if flow.first_instruction_leading_to(&[made], wait).is_some() {
                later.push(wait);
            } else if !flow.is_on_every_path(wait, made) {
                return None;
            }
        }
        let problem = |site: &AsyncSite, other: Place, is_definite| {
            let problem = AsyncProblem::of_site(kernel, site, detail(PeerUse::Free));
            problem.with_other_place(other, is_definite)
        };
        if later.is_empty() {
            let site = kernel.requested_site(self.module, frees().next()?)?;
            return Some(problem(&site, allocation.place(), true));
        }
        let (branch, free, is_definite) = self.side_without_waits(kernel, allocation, &later)?;
        let site = frees().find(|site| site.operation.instruction == free)?;
        Some(problem(
            site,
            Place::of_instruction(kernel.kernel, branch),
            is_definite,
        ))
    }

    /// A branch after an allocation, by one side of which all threads of a block reach an operation that frees memory without a wait; and
    /// whether they reach it by that side alone.
    fn side_without_waits(
        self,
        kernel: &AsyncKernel,
        allocation: &AsyncSite,
        waits: &[Site],
    ) -> Option<(InstructionId, InstructionId, bool)> {
        let id = kernel.kernel;
        let body = self.module.module.function(id).body.as_ref()?;
        let frees = || kernel.sites_where(frees);
        let is_here = |&(function, _): &Site| function == id;
        let blocks = body.blocks.len();
        let steps = blocks
            .saturating_mul(blocks)
            .saturating_mul(waits.len() + frees().count());
        if !waits.iter().all(is_here)
            || !frees().all(|site| site.function == id)
            || allocation.function != id
            || steps > MAX_LEAK_STEPS
        {
            return None;
        }
        let made = allocation.operation.instruction;
        let paths = Paths::new(body);
        let mut conditions = Conditions::new(self.module, id)?;
        (0..blocks).map(BlockId::new).find_map(|block| {
            let (last, instruction) = body.block(block).next_back()?;
            let (Some(guard), &[one, other]) = (instruction.guard, body.successors(block)) else {
                return None;
            };
            if instruction.op != Op::Branch
                || !paths.lead(made, last)
                || paths.lead(last, made)
                || waits.iter().any(|&(_, wait)| paths.lead(wait, last))
                || !conditions.is_decided_by(guard, is_common_in_block)
            {
                return None;
            }
            let sides = [one, other].map(|side| reached(body, [side], |block| body.successors(block)));
            let is_in = |side: usize, at: InstructionId| sides[side][body.block_of(at).index()];
            let bare = [0, 1]
                .into_iter()
                .find(|&side| !waits.iter().any(|&(_, wait)| is_in(side, wait)))?;
            let mut freed = frees().map(|site| site.operation.instruction);
            let free = freed.find(|&free| is_in(bare, free))?;
            Some((last, free, !is_in(1 - bare, free)))
        })
    }
}

/// A use of the other CTA of a pair that something has to come before.
const fn detail(kind: PeerUse) -> PeerAccess {
    PeerAccess {
        missing: MissingBarrier::Before,
        kind,
        may_be_alone: false,
        waits_lag: false,
    }
}
