//! Accesses to shared memory of other CTAs of the cluster, which may not have started yet, or may have ended.
//!
//! ```text
//! remote    an access at an address that `mapa` maps to a CTA which is not the own one, at least for some CTA that executes it
//! started   a wait for the cluster, or for a signal of other threads, may come before it
//! kept      an arrival at the barrier of the cluster, or a signal to other threads, may come after it; or a wait for the cluster is not on
//!           every path to it: the CTA that is accessed may wait there until the others have arrived or ended
//! ```
//!
//! An allocation of tensor memory with `.cta_group::2` needs both CTAs of the pair, and so has to be *started*, too.
//!
//! Shared memory of a CTA exists while the CTA is executed (CUDA C++ Programming Guide, Distributed Shared Memory). Threads that have ended
//! count as arrived at the barrier of the cluster (PTX ISA, barrier.cluster).

use std::cell::OnceCell;

use ptxcheck_ir::{
    Access, AccessKind, AsyncOp, Body, Guard, InstructionId, MbarrierOp, Op, Rare, Space, Special,
    TensorMemory, Value,
};

use super::conditions::Conditions;
use super::flow::Flow;
use super::kernel::{AsyncKernel, AsyncSite};
use super::own_cta::{CalledInstruction, MappedTo, cluster_size, cta_of_mapped_rank, returned_value};
use super::pending::may_signal_other_threads;
use super::problems::{AsyncAnalysis, AsyncProblem};
use super::sites::Site;
use crate::Analyses;
use crate::call_graph::CallSite;
use crate::limits::{MAX_CALL_DEPTH, MAX_PEER_ACCESSES, MAX_PEER_STEPS};
use crate::place::Place;
use crate::provenance::may_depend_on_cta_rank;
use crate::value::{Atom, Evaluator, Linear, Source};

/// The barrier of the cluster that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingBarrier {
    /// The one before the access: the other CTA may not have started.
    Before,
    /// The one after the access: the other CTA may have ended.
    After,
    /// Both.
    Both,
}

/// The kind of a use of another CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerUse {
    /// An access to its shared memory.
    Access(AccessKind),
    /// An operation on an mbarrier there, or a copy to there: those who wait for it keep that CTA.
    Operation,
    /// An allocation of tensor memory in both CTAs of a pair.
    Allocation,
    /// An operation that frees it in both.
    Free,
}

/// A use of another CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAccess {
    /// The barrier that is missing.
    pub missing: MissingBarrier,
    /// The kind of use.
    pub kind: PeerUse,
    /// It is to the first CTA of the cluster, and it is not known that the cluster has others.
    pub may_be_alone: bool,
    /// Whoever waits for it waits for earlier signals of its kind: it may be one of the last.
    pub waits_lag: bool,
}

/// An access at a mapped address.
pub(super) struct Remote {
    pub(super) site: Site,
    access: Access,
    /// The asynchronous operation that makes it.
    pub(super) operation: Option<AsyncOp>,
    /// The calls that lead to it.
    pub(super) callers: Vec<CallSite>,
    pub(super) map: Place,
    pub(super) is_certain: bool,
    pub(super) may_be_alone: bool,
}

impl AsyncAnalysis<'_, '_> {
    /// The first access of each kernel to another CTA that may not have started, and the first one to a CTA that may have ended, or one to
    /// which both apply; the first signal to a CTA that may have ended; and the first allocation of tensor memory in a pair of CTAs one of which
    /// may not have started, or the first operation that frees it where one may not have allocated it.
    #[must_use]
    pub fn unguarded_peer_accesses(self) -> Vec<AsyncProblem<PeerAccess>> {
        let maps = |kernel: &&AsyncKernel| {
            let mut bodies = kernel.bodies(self.module);
            (bodies.any(|(_, body)| body.has(Rare::MAP_SHARED))
                || kernel.has_operation(allocates_in_pair)
                || kernel.has_operation(|op| op == AsyncOp::Mbarrier(MbarrierOp::ArriveAfterProducts)))
                && cluster_size(self.module, kernel.kernel) != Some(1)
        };
        let kernels = self.kernels_without_unknown_code().filter(maps);
        kernels
            .flat_map(|kernel| self.peer_accesses_of_kernel(kernel))
            .collect()
    }

    fn peer_accesses_of_kernel(self, kernel: &AsyncKernel) -> Vec<AsyncProblem<PeerAccess>> {
        let module = self.module;
        let operations = |holds: fn(AsyncOp) -> bool| -> Vec<Site> {
            kernel.sites_where(holds).map(AsyncSite::site).collect()
        };
        let waits = operations(waits_for_others);
        let signals = operations(signals_others);
        let cluster_waits = operations(|op| op == AsyncOp::ClusterWait);
        let mut remote = self.remote_accesses(kernel);
        remote.truncate(MAX_PEER_STEPS / (waits.len() + signals.len() + 1));
        let flow = Flow::new(module, kernel);
        let is_remote = |site: Site| remote.iter().any(|one| one.site == site);
        let strong = OnceCell::new();
        let strong = || -> &[Site] { strong.get_or_init(|| self.signalling_accesses(kernel, is_remote)) };
        // Of very many, one will order an access.
        let are_many = || strong().len() > MAX_PEER_STEPS / MAX_PEER_ACCESSES;
        let is_started = |site: Site| {
            flow.first_instruction_leading_to(&waits, site).is_some()
                || are_many()
                || flow.first_instruction_leading_to(strong(), site).is_some()
        };
        let is_kept = |one: &Remote| {
            let comes_after =
                |&signal: &Site| flow.first_instruction_leading_to(&[one.site], signal).is_some();
            // The stored value may be the signal itself.
            let may_be_signal = one.access.kind != AccessKind::Load && !strong().is_empty();
            may_be_signal
                || are_many()
                || signals.iter().chain(strong()).any(comes_after)
                || cluster_waits
                    .iter()
                    .any(|&wait| !flow.is_on_every_path(wait, one.site))
        };
        let is_early = |one: &&Remote| !is_started(one.site);
        let is_late = |one: &&Remote| one.operation.is_none() && !is_kept(one);
        let found = match remote.iter().find(|one| is_early(one) && is_late(one)) {
            Some(both) => vec![(both, MissingBarrier::Both)],
            None => {
                let early = remote.iter().find(is_early);
                let late = remote.iter().find(is_late);
                let early = early.map(|one| (one, MissingBarrier::Before));
                let late = late.map(|one| (one, MissingBarrier::After));
                early.into_iter().chain(late).collect()
            }
        };
        let problem = |(one, missing): (&Remote, MissingBarrier)| AsyncProblem {
            place: Place::Instruction(one.site.0, one.site.1, one.callers.clone()),
            operation: one.operation.unwrap_or(AsyncOp::ClusterWait),
            root: kernel.kernel,
            is_definite: one.is_certain,
            other: Some(one.map.clone()),
            detail: PeerAccess {
                missing,
                kind: match one.operation {
                    Some(_) => PeerUse::Operation,
                    None => PeerUse::Access(one.access.kind),
                },
                may_be_alone: one.may_be_alone,
                waits_lag: false,
            },
        };
        let mut all: Vec<_> = found.into_iter().map(problem).collect();
        if !are_many() {
            let ordering: Vec<Site> = signals.iter().chain(strong()).copied().collect();
            all.extend(self.late_signal(kernel, &flow, &remote, &ordering));
        }
        let allocation = self.unguarded_allocation(kernel, is_started);
        let waits = || waits.iter().chain(strong()).copied().collect::<Vec<Site>>();
        let free = || (!are_many()).then(|| self.unguarded_free(kernel, &flow, &waits()))?;
        all.extend(allocation.or_else(free));
        all
    }

    /// The accesses of a kernel at addresses that it maps to other CTAs, certain ones first.
    fn remote_accesses(self, kernel: &AsyncKernel) -> Vec<Remote> {
        let module = self.module;
        let count = cluster_size(module, kernel.kernel);
        let mut all = Vec::new();
        for (id, body) in kernel.bodies(module) {
            let Some(source) = Source::of_function(module, id) else {
                continue;
            };
            let mut sums = Evaluator::new(source, Linear::of_unknowns());
            for (at, instruction) in body.iter() {
                let (Op::Access(access), &[address, ..]) = (instruction.op, body.uses(instruction)) else {
                    continue;
                };
                let may_be_remote = matches!(access.space, Space::SharedCluster | Space::Generic);
                if all.len() >= MAX_PEER_ACCESSES || module.deadline.is_over_at_step() {
                    break;
                }
                if !may_be_remote || !kernel.may_reach(module, (id, at)) {
                    continue;
                }
                let Some(callers) = kernel.call_chain_to(module, (id, at)).map(<[CallSite]>::to_vec) else {
                    continue;
                };
                let used = CalledInstruction {
                    function: id,
                    at,
                    callers: &callers,
                };
                let Some((map, mapped)) = self.mapped_cta_of(&mut sums, body, used, address) else {
                    continue;
                };
                let may_be_alone = mapped == MappedTo::Rank(0) && count.is_none();
                let is_certain = match mapped {
                    MappedTo::Own | MappedTo::Unknown => continue,
                    MappedTo::Another => true,
                    MappedTo::Rank(_) => match self.ctas_that_come(used) {
                        Ctas::All => true,
                        Ctas::AllOrNone => false,
                        Ctas::ByRank => continue,
                    },
                };
                all.push(Remote {
                    site: (id, at),
                    access,
                    operation: body.asynchronous_at(at).map(|one| one.op),
                    callers,
                    map,
                    is_certain: is_certain && !may_be_alone,
                    may_be_alone,
                });
            }
        }
        all.sort_by_key(|one| !one.is_certain);
        all
    }

    /// The place that maps an address, and the CTA that it maps to.
    fn mapped_cta_of(
        self,
        sums: &mut Evaluator<'_, '_, Linear<'_>>,
        body: &Body<'_>,
        used: CalledInstruction<'_>,
        address: Value,
    ) -> Option<(Place, MappedTo)> {
        let sum = sums.description_at_read(address, used.at)?;
        let terms = sums.domain().terms_of(sum.parts);
        terms.iter().find_map(|&(atom, factor)| match atom {
            Atom::Register(register) if factor == 1 => {
                let writer = self
                    .module
                    .function(used.function)
                    .definitions()
                    .only_writer(body, register)?;
                self.map_of_result((used.function, writer), used.callers.to_vec(), used)
            }
            _ => None,
        })
    }

    /// The same for the result of an instruction: `mapa`, or a call of a function that returns such a result.
    fn map_of_result(
        self,
        (function, writer): Site,
        callers: Vec<CallSite>,
        used: CalledInstruction<'_>,
    ) -> Option<(Place, MappedTo)> {
        let module = self.module;
        let body = module.module.function(function).body.as_ref()?;
        let instruction = body.instruction(writer);
        match (instruction.op, body.uses(instruction)) {
            (Op::MapShared(_), &[_, rank]) => {
                let map = CalledInstruction {
                    function,
                    at: writer,
                    callers: &callers,
                };
                let mapped = cta_of_mapped_rank(module, rank, map, used);
                Some((Place::Instruction(function, writer, callers), mapped))
            }
            (Op::CallResult(call), _) if callers.len() < MAX_CALL_DEPTH => {
                let (callee, value) = returned_value(module, body, call)?;
                let analyses = module.function(callee);
                let value = analyses.trace_value(value, |form| form.moved());
                let writer = analyses.only_writer(value)?;
                let site = CallSite {
                    caller: function,
                    instruction: call,
                    callee,
                };
                let callers = std::iter::once(site).chain(callers).collect();
                self.map_of_result((callee, writer), callers, used)
            }
            _ => None,
        }
    }

    /// The CTAs that execute an instruction, by the branches and guards that decide it.
    fn ctas_that_come(self, used: CalledInstruction<'_>) -> Ctas {
        let mut all = Ctas::All;
        for spot in used.with_calls() {
            let module = self.module;
            let known = module.module.function(spot.function);
            let (Some(mut conditions), Some(body)) = (Conditions::new(module, spot.function), &known.body)
            else {
                return Ctas::ByRank;
            };
            let is_common = |atom: &Atom| match atom {
                Atom::Param(..) => known.is_kernel(),
                Atom::Special(special) => {
                    special.is_of_thread() || matches!(special, Special::Ntid(_) | Special::Nctaid(_))
                }
                _ => false,
            };
            for guard in guards_before(body, module.function(spot.function), spot.at) {
                if may_depend_on_cta_rank(module, spot.function, Value::Register(guard.register)) {
                    return Ctas::ByRank;
                }
                if !conditions.is_decided_by(guard, is_common) {
                    all = Ctas::AllOrNone;
                }
            }
        }
        all
    }

    /// The accesses by which threads may signal each other, other than these.
    fn signalling_accesses(self, kernel: &AsyncKernel, is_remote: impl Fn(Site) -> bool) -> Vec<Site> {
        let all = kernel.bodies(self.module).flat_map(|(id, body)| {
            let signals = body.iter().filter(
                |(_, instruction)| matches!(instruction.op, Op::Access(access) if may_signal_other_threads(access)),
            );
            signals.map(move |(at, _)| (id, at))
        });
        all.filter(|&site| !is_remote(site)).collect()
    }
}

/// The CTAs of a cluster that execute an instruction.
enum Ctas {
    /// All: the numbers of the threads and parameters of the kernel alone decide it.
    All,
    /// As far as is known, all or none.
    AllOrNone,
    /// Their rank may decide it.
    ByRank,
}

/// The guard of an instruction, and those of the branches that decide whether it is executed.
fn guards_before(body: &Body<'_>, analyses: &Analyses<'_>, at: InstructionId) -> Vec<Guard> {
    let (dominators, post) = (analyses.dominators(), analyses.post_dominators());
    let mut guards: Vec<Guard> = body.instruction(at).guard.into_iter().collect();
    let mut below = body.block_of(at);
    while let Some(above) = dominators.immediate_dominator(below) {
        if !post.dominates(below, above) {
            guards.extend(body.terminator(above).and_then(|last| last.guard));
        }
        below = above;
    }
    guards
}

/// True for an allocation in both CTAs of a pair.
pub(super) const fn allocates_in_pair(op: AsyncOp) -> bool {
    matches!(op, AsyncOp::TensorMemory(TensorMemory::Allocate { pair: true }))
}

/// True for an operation that may wait for other CTAs.
const fn waits_for_others(op: AsyncOp) -> bool {
    matches!(
        op,
        AsyncOp::ClusterWait | AsyncOp::Mbarrier(MbarrierOp::Wait { .. })
    )
}

/// True for an operation that may tell others that a thread has executed it.
const fn signals_others(op: AsyncOp) -> bool {
    match op {
        AsyncOp::ClusterArrive { .. } | AsyncOp::ThreadFence(_) | AsyncOp::Copy(_) => true,
        AsyncOp::Mbarrier(op) => !matches!(op, MbarrierOp::Init | MbarrierOp::Invalidate),
        _ => false,
    }
}
