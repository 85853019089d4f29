//! Signals to mbarriers of other CTAs that may have ended when they come.
//!
//! ```text
//! signal      an arrival at an mbarrier that `mapa` maps to another CTA, or one of `tcgen05.commit` in several CTAs
//! unheard     no wait of the kernel may be at that mbarrier
//! lagging     each wait that may be there passes at once when a thread executes it for the first time, and may come again: of as many waits as
//!             arrivals, the last ones are for earlier arrivals
//! kept        an arrival at the barrier of the cluster, or another signal that the thread does not repeat, may come after it; or a wait for
//!             the cluster is not on every path to it
//! ```
//!
//! A CTA that waits for each signal is there when it comes. All CTAs execute the same code.

use ptxcheck_ir::{AsyncOp, InstructionId, MbarrierOp, SymbolId};

use super::flow::Flow;
use super::kernel::{AsyncKernel, AsyncSite, canonical_variable};
use super::peers::{MissingBarrier, PeerAccess, PeerUse, Remote};
use super::points_to::{memories_possibly_pointed_to, memory_pointed_to};
use super::problems::{AsyncAnalysis, AsyncProblem};
use super::sites::{BarrierPlace, Site};
use super::view::View;
use crate::limits::MAX_PEER_STEPS;
use crate::place::Place;
use crate::value::Atom;

/// A signal to other CTAs.
struct Signal {
    site: Site,
    operation: AsyncOp,
    place: Place,
    /// The place that maps its address.
    map: Option<Place>,
    /// The variables that its mbarrier may be in.
    variables: Vec<SymbolId>,
    /// The constant place of its mbarrier.
    at: Option<BarrierPlace>,
    is_certain: bool,
    may_be_alone: bool,
}

/// The waits that may be at the mbarrier of a signal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    None,
    Lagging,
    Some,
}

impl AsyncAnalysis<'_, '_> {
    /// The first signal of a kernel to another CTA which that may not wait for; certain ones first. `ordering`: the operations and accesses by
    /// which threads may tell others that they are there.
    pub(super) fn late_signal(
        self,
        kernel: &AsyncKernel,
        flow: &Flow<'_, '_>,
        remote: &[Remote],
        ordering: &[Site],
    ) -> Option<AsyncProblem<PeerAccess>> {
        let mut signals = self.mapped_signals(kernel, remote);
        signals.extend(self.commits_in_several_ctas(kernel));
        signals.truncate(MAX_PEER_STEPS / (ordering.len() + 1));
        let leads = |from: Site, to: Site| flow.first_instruction_leading_to(&[from], to).is_some();
        let cluster_waits: Vec<Site> = kernel
            .sites_where(|op| op == AsyncOp::ClusterWait)
            .map(AsyncSite::site)
            .collect();
        let mut found: Option<AsyncProblem<PeerAccess>> = None;
        for signal in &signals {
            let waits = self.waits_for(kernel, flow, signal);
            let is_certain = signal.is_certain && waits == Waits::None;
            let is_later = |&other: &Site| other != signal.site && leads(signal.site, other);
            let is_repeated = |&other: &Site| leads(other, signal.site);
            let mut later = ordering.iter().filter(|other| is_later(other));
            if waits == Waits::Some
                || found
                    .as_ref()
                    .is_some_and(|known| known.is_definite || !is_certain)
                || later.any(|other| waits == Waits::None || !is_repeated(other))
                || cluster_waits
                    .iter()
                    .any(|&wait| !flow.is_on_every_path(wait, signal.site))
                || cluster_waits.iter().any(is_later)
            {
                continue;
            }
            found = Some(AsyncProblem {
                place: signal.place.clone(),
                operation: signal.operation,
                root: kernel.kernel,
                is_definite: is_certain,
                other: signal.map.clone(),
                detail: PeerAccess {
                    missing: MissingBarrier::After,
                    kind: PeerUse::Operation,
                    may_be_alone: signal.may_be_alone,
                    waits_lag: waits == Waits::Lagging,
                },
            });
        }
        found
    }

    /// The arrivals at mbarriers that `mapa` maps to other CTAs.
    fn mapped_signals(self, kernel: &AsyncKernel, remote: &[Remote]) -> Vec<Signal> {
        let module = self.module;
        let signal = |one: &Remote| {
            let operation = one.operation.filter(|&op| arrives(op))?;
            let Place::Instruction(function, map, _) = &one.map else {
                return None;
            };
            let body = module.module.function(*function).body.as_ref()?;
            let &address = body.uses(body.instruction(*map)).first()?;
            memory_pointed_to(module, *function, address)?;
            let pointed = memories_possibly_pointed_to(module, *function, address);
            let view = View::any_thread(module, *function)?;
            let at = match view.value_as_sum(address, *map) {
                Some((terms, offset)) => match terms[..] {
                    [(Atom::Symbol(symbol), 1)] => Some((canonical_variable(module, symbol)?, offset)),
                    _ => None,
                },
                None => None,
            };
            let variables = pointed.iter().map(|one| canonical_variable(module, one.symbol?));
            Some(Signal {
                site: one.site,
                operation,
                place: Place::Instruction(one.site.0, one.site.1, one.callers.clone()),
                map: Some(one.map.clone()),
                variables: variables.collect::<Option<_>>()?,
                at,
                is_certain: one.is_certain,
                may_be_alone: one.may_be_alone,
            })
        };
        let signals = remote.iter().filter_map(signal);
        let signals = signals.filter(|one| kernel.may_reach(module, one.site));
        signals.collect()
    }

    /// The arrivals of products in several CTAs. Whether others are among them, the mask says, which is not followed.
    fn commits_in_several_ctas(self, kernel: &AsyncKernel) -> Vec<Signal> {
        let commits = kernel.sites_where(|op| op == AsyncOp::Mbarrier(MbarrierOp::ArriveAfterProducts));
        let commits =
            commits.filter(|site| site.operation.values.mask.is_some() && site.is_reached(self.module));
        let signal = |site: &AsyncSite| {
            Some(Signal {
                site: site.site(),
                operation: site.operation.op,
                place: site.place(),
                map: None,
                variables: site.barrier_variables(self.module)?,
                at: site.barrier_place(self.module),
                is_certain: false,
                may_be_alone: false,
            })
        };
        commits.filter_map(signal).collect()
    }

    /// The waits that may be at the mbarrier of a signal.
    fn waits_for(self, kernel: &AsyncKernel, flow: &Flow<'_, '_>, signal: &Signal) -> Waits {
        let module = self.module;
        let waits = kernel.sites_where(|op| matches!(op, AsyncOp::Mbarrier(MbarrierOp::Wait { .. })));
        let is_there = |wait: &&AsyncSite| match (wait.barrier_place(module), signal.at) {
            (Some(waited), Some(at)) => waited == at,
            _ => {
                let variables = wait.barrier_variables(module);
                variables.is_none_or(|all| all.iter().any(|one| signal.variables.contains(one)))
            }
        };
        let mut found = Waits::None;
        for wait in waits.filter(is_there) {
            let again = flow.first_instruction_leading_to(&[wait.site()], wait.site());
            if wait.barrier_variables(module).is_none() || again.is_none() || !self.passes_at_first(wait) {
                return Waits::Some;
            }
            found = Waits::Lagging;
        }
        found
    }

    /// True if a wait is for the phase before the first one when a thread executes it for the first time.
    fn passes_at_first(self, wait: &AsyncSite) -> bool {
        let Some(view) = View::any_thread(self.module, wait.function) else {
            return false;
        };
        let at: InstructionId = wait.operation.instruction;
        let phase = view
            .body
            .async_value(&wait.operation, wait.operation.values.phase);
        let known = phase.and_then(|phase| view.at_first_execution_of(at).value_as_sum(phase, at));
        matches!(
            wait.operation.op,
            AsyncOp::Mbarrier(MbarrierOp::Wait { parity: true, .. })
        ) && known.is_some_and(|(terms, phase)| terms.is_empty() && phase & 1 == 1)
    }
}

/// True for an arrival.
const fn arrives(op: AsyncOp) -> bool {
    matches!(
        op,
        AsyncOp::Mbarrier(MbarrierOp::Arrive { .. } | MbarrierOp::ArriveAfterProducts)
    )
}
