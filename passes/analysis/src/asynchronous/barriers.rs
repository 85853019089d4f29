//! Mbarriers that are used without being initialised, are initialised again, or are overwritten.

use std::cell::OnceCell;

use ptxcheck_ir::paths::Paths;
use ptxcheck_ir::{AsyncOp, Completion, InstructionId, MbarrierOp};

use super::flow::Flow;
use super::kernel::{AsyncKernel, AsyncSite};
use super::problems::{AsyncAnalysis, AsyncProblem, is_initialisation};
use super::sites::BarrierPlace;
use super::sum::Extent;
use super::view::View;
use crate::limits::MAX_DATA_OVER_BARRIERS;
use crate::place::Place;

/// Bytes of an mbarrier (PTX ISA, Size and alignment of mbarrier object).
const BARRIER_BYTES: u64 = 8;

/// The initialisations of an mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Initialisation {
    /// The kernel has none of any mbarrier.
    None,
    /// There are only those of other mbarriers; the other place is one of them.
    OfOthers,
    /// It comes after the use; it is the other place.
    Later,
    /// It is initialised again; the other place is the first initialisation.
    Again,
    /// Data is written over it; the other place is its initialisation.
    Overwritten,
}

impl AsyncAnalysis<'_, '_> {
    /// The uses of mbarriers that are not initialised by then, and the initialisations of those that are.
    #[must_use]
    pub fn wrong_initialisations(self) -> Vec<AsyncProblem<Initialisation>> {
        let mut found = Vec::new();
        for kernel in self.kernels_without_unknown_code() {
            if !kernel.has_operation(is_initialisation) {
                found.extend(self.first_problem(kernel, uses_barrier, Initialisation::None));
                continue;
            }
            let inits = kernel.sites_where(is_initialisation);
            let inits: Vec<_> = inits
                .map(|site| (site, site.barrier_place(self.module)))
                .collect();
            let known: Vec<Init<'_>> = inits.iter().filter_map(|&(site, at)| Some((site, at?))).collect();
            // An initialisation at an unknown address may be of any barrier.
            if known.len() == inits.len() {
                self.add_missing_initialisations(kernel, &known, &mut found);
            } else {
                self.add_variables_without_initialisations(kernel, &mut found);
            }
            if !kernel.has_operation(|op| op == AsyncOp::Mbarrier(MbarrierOp::Invalidate)) {
                self.add_repeated_initialisations(kernel, &known, &mut found);
                self.add_data_over_barriers(kernel, &known, &mut found);
            }
        }
        found
    }

    /// Adds the first use of each barrier that is not initialised while others are, or that is used before its
    /// initialisation.
    fn add_missing_initialisations(
        self,
        kernel: &AsyncKernel,
        inits: &[Init<'_>],
        found: &mut Vec<AsyncProblem<Initialisation>>,
    ) {
        let mut said: Vec<BarrierPlace> = Vec::new();
        for site in kernel.sites_where(|op| uses_barrier(op) && !is_initialisation(op)) {
            let Some(used) = site
                .barrier_place(self.module)
                .filter(|used| !said.contains(used))
            else {
                continue;
            };
            let mut own = inits.iter().filter(|(_, at)| *at == used).map(|(init, _)| *init);
            let first = own.clone().next();
            if !own.all(|init| self.is_always_before(site, init)) || !site.is_reached(self.module) {
                continue;
            }
            let Some(site) = kernel.requested_site(self.module, site) else {
                continue;
            };
            said.push(used);
            let how = first.map_or(Initialisation::OfOthers, |_| Initialisation::Later);
            let init = first.or_else(|| Some(inits.first()?.0));
            found.push(AsyncProblem {
                other: init.map(AsyncSite::place),
                ..AsyncProblem::of_site(kernel, &site, how)
            });
        }
    }

    /// Adds the first use of each variable with barriers of which none is initialised, while some of other variables are.
    fn add_variables_without_initialisations(
        self,
        kernel: &AsyncKernel,
        found: &mut Vec<AsyncProblem<Initialisation>>,
    ) {
        let inits = kernel
            .sites_where(is_initialisation)
            .map(|site| site.barrier_variables(self.module));
        let Some(inits) = inits.collect::<Option<Vec<_>>>() else {
            return;
        };
        let mut said = inits.concat();
        for site in kernel.sites_where(|op| uses_barrier(op) && !is_initialisation(op)) {
            let Some(&[used]) = site.barrier_variables(self.module).as_deref() else {
                continue;
            };
            if said.contains(&used) {
                continue;
            }
            let requested = kernel.requested_site(self.module, site);
            let Some(site) = requested.filter(|site| site.is_reached(self.module)) else {
                continue;
            };
            said.push(used);
            let init = kernel.sites_where(is_initialisation).next();
            found.push(AsyncProblem {
                other: init.map(AsyncSite::place),
                ..AsyncProblem::of_site(kernel, &site, Initialisation::OfOthers)
            });
        }
    }

    /// Adds the initialisations of barriers that are already initialised, with no operation in between that ends their use.
    fn add_repeated_initialisations(
        self,
        kernel: &AsyncKernel,
        inits: &[Init<'_>],
        found: &mut Vec<AsyncProblem<Initialisation>>,
    ) {
        for (number, (second, at)) in inits.iter().enumerate() {
            let mut before = inits[..number].iter();
            let first = before.find(|(first, of)| {
                let body = self.module.module.function(first.function).body.as_ref();
                let (from, to) = (first.operation.instruction, second.operation.instruction);
                of == at
                    && first.function == second.function
                    && body.is_some_and(|body| Paths::new(body).lead(from, to))
            });
            if let Some((first, _)) = first
                && second.is_reached(self.module)
            {
                let again = AsyncProblem::of_site(kernel, second, Initialisation::Again);
                found.push(again.with_other_place(first.place(), false));
            }
        }
    }

    /// Adds the first write of data over each barrier that the kernel has certainly initialised before.
    fn add_data_over_barriers(
        self,
        kernel: &AsyncKernel,
        inits: &[Init<'_>],
        found: &mut Vec<AsyncProblem<Initialisation>>,
    ) {
        let id = kernel.kernel;
        let Some(body) = &self.module.module.function(id).body else {
            return;
        };
        let writes = self.shared_writes(id, body);
        if inits.len().saturating_mul(writes.len()) > MAX_DATA_OVER_BARRIERS {
            return;
        }
        let views = View::distinct_threads(self.module, id);
        let flow = Flow::new(self.module, kernel);
        let meetings = OnceCell::new();
        for (init, (symbol, offset)) in inits {
            let barrier = Extent::at_place(*symbol, *offset, BARRIER_BYTES);
            let is_over = |&&(at, bytes): &&(InstructionId, u64)| {
                let overlaps = |view: &View<'_, '_>| {
                    let written = Extent::of_access(view, at, bytes);
                    view.thread_number().is_some()
                        && written.is_some_and(|written| written.surely_overlaps(&barrier))
                        && view.may_execute(at)
                };
                let is_after = |meeting| {
                    let before = flow.first_instruction_ordered_before(&[init.site()], meeting, (id, at));
                    before.is_some()
                };
                let meetings = || {
                    meetings
                        .get_or_init(|| kernel.waiting_sites(self.module))
                        .iter()
                        .copied()
                };
                views.iter().any(overlaps)
                    && meetings().any(is_after)
                    && self.module.function(id).is_reached(at)
            };
            if let Some(&(at, _)) = writes.iter().find(is_over) {
                let of_init = AsyncProblem::of_site(kernel, init, Initialisation::Overwritten);
                found.push(AsyncProblem {
                    place: Place::of_instruction(id, at),
                    other: Some(init.place()),
                    ..of_init
                });
            }
        }
    }

    /// True if a use is on each path to an initialisation, and no path leads back from there.
    fn is_always_before(self, used: &AsyncSite, init: &AsyncSite) -> bool {
        let Some(body) = self.module.module.function(used.function).body.as_ref() else {
            return false;
        };
        let (at, init_at) = (used.operation.instruction, init.operation.instruction);
        used.function == init.function
            && body.instruction(at).guard.is_none()
            && self
                .module
                .function(used.function)
                .is_on_every_path_to(at, init_at)
            && !Paths::new(body).lead(init_at, at)
    }
}

/// An initialisation, and the place of its barrier.
type Init<'k> = (&'k AsyncSite, BarrierPlace);

/// True for operations on an mbarrier, and copies that complete at one.
const fn uses_barrier(op: AsyncOp) -> bool {
    match op {
        AsyncOp::Mbarrier(_) => true,
        AsyncOp::Copy(copy) => matches!(copy.completion, Completion::Mbarrier),
        _ => false,
    }
}
