//! Mbarriers that are used without being initialised, or are initialised again.

use ptxcheck_ir::paths::Paths;
use ptxcheck_ir::{AsyncOp, Completion, MbarrierOp};

use super::kernel::{AsyncKernel, AsyncSite};
use super::problems::{AsyncAnalysis, AsyncProblem, is_initialisation};
use super::sites::BarrierPlace;

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
            }
            if !kernel.has_operation(|op| op == AsyncOp::Mbarrier(MbarrierOp::Invalidate)) {
                self.add_repeated_initialisations(kernel, &known, &mut found);
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
