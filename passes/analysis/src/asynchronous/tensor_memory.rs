//! Tensor memory that a kernel does not free, or not all of it.
//!
//! ```text
//! never      the kernel has no operation that frees some
//! part       the columns that warp 0 certainly allocates are more than all that warps may free, each operation once
//! per round  each round of a loop of warp 0 allocates, and the kernel frees once; certain, if the loop has a second round
//! early end  a branch that all threads of a block take alike, after an allocation that warp 0 certainly makes, with an edge from which the
//!            kernel ends and no operation that frees some is reached, while one is from the other edge
//! ```

use ptxcheck_ir::paths::{Paths, reached};
use ptxcheck_ir::{AsyncOp, Asynchronous, BlockId, Body, Op, TensorMemory, Value, WARP};

use super::conditions::{Conditions, is_common_in_block};
use super::kernel::{AsyncKernel, AsyncSite};
use super::problems::{AsyncAnalysis, AsyncProblem};
use super::round::loops_of_view;
use super::view::View;
use crate::certain_paths::CertainPaths;
use crate::entered_function::has_guarded_end;
use crate::launches::MAX_BLOCK_THREADS;
use crate::limits::MAX_LEAK_STEPS;
use crate::place::Place;
use crate::threads::Threads;
use crate::value::Elected;

/// The tensor memory that a kernel does not free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leak {
    /// All.
    All,
    /// A part, in columns.
    Part {
        /// What warps certainly allocate.
        allocated: u64,
        /// What they free, at most.
        freed: u64,
    },
    /// All, where the kernel ends early: by one edge of the branch that is the other place.
    EarlyEnd,
    /// All but one, of those that each round of a loop allocates.
    PerRound,
}

impl AsyncAnalysis<'_, '_> {
    /// The first allocation of tensor memory in each kernel that does not free it.
    #[must_use]
    pub fn tensor_memory_leaks(self) -> Vec<AsyncProblem<Leak>> {
        let kernels = self
            .kernels_without_unknown_code()
            .filter(|kernel| kernel.has_operation(allocates));
        kernels
            .filter_map(|kernel| {
                if kernel.has_operation(frees) {
                    self.partial_leak(kernel)
                } else {
                    self.first_problem(kernel, allocates, Leak::All)
                }
            })
            .collect()
    }

    /// A leak of a kernel that frees some tensor memory, if it allocates and frees itself, not in functions.
    fn partial_leak(self, kernel: &AsyncKernel) -> Option<AsyncProblem<Leak>> {
        let (module, id) = (self.module, kernel.kernel);
        let mut sites = kernel.sites_where(|op| allocates(op) || frees(op));
        let body = module.module.function(id).body.as_ref()?;
        if !sites.all(|site| site.function == id)
            || has_guarded_end(body)
            || module.reads_other_dimensions(id)
        {
            return None;
        }
        let analyses = module.function(id);
        let paths = CertainPaths { body, analyses };
        let warp = |number| Threads::of_warp_with_elected(body, analyses, number, Elected::Unknown);
        let first = warp(0);
        if let Some((site, is_definite)) = self.allocation_per_round(kernel, body) {
            let problem = AsyncProblem::of_site(kernel, site, Leak::PerRound);
            return Some(AsyncProblem {
                is_definite,
                ..problem
            });
        }
        let certain: Vec<&AsyncSite> = kernel
            .sites_where(allocates)
            .filter(|site| paths.surely_executes(&first, 0, site.operation.instruction))
            .collect();
        let &allocation = certain.first()?;
        let problem = |detail| AsyncProblem::of_site(kernel, allocation, detail);
        if let Some(branch) = self.early_end(kernel, body, allocation) {
            let last = body.block(branch).next_back()?.0;
            let other = Place::Instruction(id, last, Vec::new());
            return Some(problem(Leak::EarlyEnd).with_other_place(other, true));
        }
        let columns = |site: &AsyncSite, threads: &Threads<'_, '_>| {
            threads.uniform_value(count_of(body, &site.operation)?)
        };
        let allocated = certain
            .iter()
            .map(|site| columns(site, &first))
            .sum::<Option<u64>>()?;
        let mut freed = 0_u64;
        for number in 0..MAX_BLOCK_THREADS / WARP {
            let threads = warp(number);
            let blocks = paths.blocks_possibly_reached(&threads, 0);
            for site in kernel.sites_where(frees) {
                let at = site.operation.instruction;
                if !blocks[body.block_of(at).index()] || paths.guard_holds(&threads, 0, at) == Some(false) {
                    continue;
                }
                if Paths::new(body).lead(at, at) {
                    return None;
                }
                freed = freed.checked_add(columns(site, &threads)?)?;
            }
            if freed >= allocated {
                return None;
            }
        }
        Some(problem(Leak::Part { allocated, freed }))
    }

    /// An allocation that warp 0 makes in each round of a loop, where one warp frees once; and whether the loop certainly has a second round.
    fn allocation_per_round<'k>(
        self,
        kernel: &'k AsyncKernel,
        body: &Body<'_>,
    ) -> Option<(&'k AsyncSite, bool)> {
        let (module, id) = (self.module, kernel.kernel);
        let paths = Paths::new(body);
        let mut frees = kernel.sites_where(frees).map(|site| site.operation.instruction);
        let (Some(free), None) = (frees.next(), frees.next()) else {
            return None;
        };
        let may_free_again = paths.lead(free, free);
        let mut allocations = kernel.sites_where(allocates).filter(|site| {
            let made = site.operation.instruction;
            paths.lead(made, made) && site.is_reached(module)
        });
        let repeated = allocations.next().filter(|_| !may_free_again)?;
        let made = repeated.operation.instruction;
        let freeing = View::first_threads_of_warps(module, id).filter(|view| view.possibly_executes(free));
        let view = View::of_thread(module, id, 0, false)?;
        if freeing.count() != 1 || !view.may_execute(made) {
            return None;
        }
        let next = |block| view.possible_successors(block);
        let round = loops_of_view(&view)
            .into_iter()
            .filter(|one| one.blocks.contains(&body.block_of(made)))
            .min_by_key(|one| one.blocks.len())?;
        let header = round.blocks[0];
        let is_in_each_round = || {
            let (start, _) = body.block(header).next()?;
            let without = Paths::new(body).along(&next).without(made);
            (made == start || !without.lead(start, start)).then_some(())
        };
        is_in_each_round()?;
        Some((repeated, round.has_certain_second_round(&view)))
    }

    /// The block that ends with a branch by which all threads of a block leave the kernel without freeing an allocation.
    fn early_end(self, kernel: &AsyncKernel, body: &Body<'_>, allocation: &AsyncSite) -> Option<BlockId> {
        let paths = Paths::new(body);
        let mut conditions = Conditions::new(self.module, kernel.kernel)?;
        let frees: Vec<_> = kernel
            .sites_where(frees)
            .map(|site| site.operation.instruction)
            .collect();
        let made = allocation.operation.instruction;
        let blocks = body.blocks.len();
        if blocks.saturating_mul(blocks).saturating_mul(frees.len() + 4) > MAX_LEAK_STEPS {
            return None;
        }
        (0..body.blocks.len()).map(BlockId::new).find(|&block| {
            let Some((last, instruction)) = body.block(block).next_back() else {
                return false;
            };
            let (Some(guard), &[one, other]) = (instruction.guard, body.successors(block)) else {
                return false;
            };
            if instruction.op != Op::Branch
                || !paths.lead(made, last)
                || paths.lead(last, made)
                || frees.iter().any(|&free| paths.lead(free, last))
                || !conditions.is_decided_by(guard, is_common_in_block)
            {
                return false;
            }
            let has_free = |reached: &[bool]| frees.iter().any(|&free| reached[body.block_of(free).index()]);
            let ends = |reached: &[bool]| {
                let mut all = body.iter();
                all.any(|(at, one)| {
                    matches!(one.op, Op::Return | Op::Exit) && reached[body.block_of(at).index()]
                })
            };
            let sides = [one, other].map(|side| reached(body, [side], |block| body.successors(block)));
            let leaks =
                |from: usize| ends(&sides[from]) && !has_free(&sides[from]) && has_free(&sides[1 - from]);
            leaks(0) || leaks(1)
        })
    }
}

/// The operand with the columns.
fn count_of(body: &Body<'_>, one: &Asynchronous) -> Option<Value> {
    let uses = body.uses(body.instruction(one.instruction));
    uses.get(usize::from(one.values.count?)).copied()
}

/// True for an allocation.
pub(super) fn allocates(op: AsyncOp) -> bool {
    matches!(op, AsyncOp::TensorMemory(TensorMemory::Allocate { .. }))
}

/// True for an operation that frees memory.
pub(super) fn frees(op: AsyncOp) -> bool {
    op == AsyncOp::TensorMemory(TensorMemory::Free)
}
