//! Search for launches and values with which threads update one place in global memory and one update is lost, or access plainly what atomics
//! change: a client of the search for exchanges.
//!
//! ```text
//! lost updates, plain accesses beside atomics      analysis::contention
//!   ─► runs of two blocks, one thread after the other     a thread reads what another one has written, in no order, and writes something else
//!      or block by block                                  a thread reads, another one writes, and then the first one writes
//!   ─► ConditionalContention
//! ```
//!
//! A place without data in its address is one for all threads that get there. A place that is loaded from memory is searched for only where
//! the elements of arrays are their own indices, so that a list or a permutation gives each thread a place of its own, and only if a thread
//! loads it in the rounds of a loop that begins at a loaded number: the neighbours at the ends of the edges in the row of a vertex. Several
//! vertices have equal neighbours, and those loads give one number to all threads, or to all but one. A place that a thread loads at its own index, or at the start of a
//! segment, gets no witness: whether its array is a permutation the code does not say.

use super::exchange_runs::{Among, Contended, ContendedPair, Made, Wanted};
use super::grid_inputs::{loads_of_place, neighbouring_loads};
use super::inputs::InputSearch;
use super::kernel_search::Searched;
use super::pair_search::search;
use super::witness::{Witness, WitnessRun};
use crate::analysis::ModuleAnalyses;
use crate::analysis::contention::{KernelLaunch, LostUpdate, PlainBesideAtomic, SharedObject, UpdateKind};
use crate::analysis::lanes::{Launch, Object, PairKind};
use crate::assumptions::Assumptions;
use crate::ir::{Body, FunctionId, Op};

/// Threads that access one place in global memory, with a witness.
pub struct ConditionalContention {
    /// The kernel.
    pub kernel: FunctionId,
    /// The pairs of threads in one object: the first is that of the witness, the others have witnesses of their own.
    pub pairs: Vec<ContendedPair>,
    /// The launch and the values with which threads make the first pair.
    pub witness: Witness,
    /// A run with it.
    pub run: WitnessRun,
}

/// Searches for witnesses of the updates that may be lost in a module.
#[must_use]
pub fn search_lost_updates(
    module: &ModuleAnalyses<'_>,
    assumptions: &Assumptions,
) -> Searched<ConditionalContention> {
    let all = module.contention().lost_updates.iter();
    let wanted = all.filter_map(|lost| Some((lost.kernel, lost.launch, wanted_update(module, lost)?)));
    search_all(module, assumptions, &wanted.collect::<Vec<_>>())
}

/// Searches for witnesses of the plain accesses of a module to what atomics change.
#[must_use]
pub fn search_beside_atomics(
    module: &ModuleAnalyses<'_>,
    assumptions: &Assumptions,
) -> Searched<ConditionalContention> {
    let all = module.contention().beside_atomics.iter();
    let wanted =
        all.filter_map(|beside| Some((beside.kernel, beside.launch, wanted_beside(module, beside)?)));
    search_all(module, assumptions, &wanted.collect::<Vec<_>>())
}

fn search_all(
    module: &ModuleAnalyses<'_>,
    assumptions: &Assumptions,
    wanted: &[(FunctionId, KernelLaunch, Wanted)],
) -> Searched<ConditionalContention> {
    let by_kernel = wanted.chunk_by(|one, other| one.0 == other.0);
    let by_kernel = by_kernel.filter(|of_kernel| !waits_for_cluster(module, of_kernel[0].0));
    let possible: Vec<(FunctionId, Launch, Vec<Wanted>)> = by_kernel
        .map(|of_kernel| {
            let (kernel, launch, _) = &of_kernel[0];
            let wanted = of_kernel.iter().map(|(.., wanted)| wanted.clone()).collect();
            (*kernel, launch.block, wanted)
        })
        .collect();
    search(
        module,
        assumptions,
        Among::Grid,
        possible,
        |(kernel, _), shown| ConditionalContention {
            kernel,
            pairs: shown.pairs.into_iter().filter_map(Made::into_contended).collect(),
            witness: shown.witness,
            run: shown.run,
        },
    )
}

const fn object_of(shared: SharedObject) -> Object {
    match shared {
        SharedObject::Variable(symbol) => Object::Variable(symbol),
        SharedObject::Parameter(number) => Object::Parameter(number),
    }
}

/// The pair of accesses that shows that an update is lost; `None` if none is searched for. Different values that threads write count where
/// loaded values do not decide which threads do: one of them may be the only one.
fn wanted_update(module: &ModuleAnalyses<'_>, lost: &LostUpdate) -> Option<Wanted> {
    let (other, kind) = match (lost.kind, &lost.read) {
        (UpdateKind::ReadModifyWrite, Some(read)) => (read, PairKind::ReadAfterWrite),
        (UpdateKind::ReadModifyWrite, None) => return None,
        (UpdateKind::Chased, _) => (&lost.write, PairKind::TwoWrites),
        (UpdateKind::Different, _) => {
            let mut search = InputSearch::new(module);
            search.add(&lost.write);
            search.add_controls(&lost.write);
            if !search.finish().loads.is_empty() {
                return None;
            }
            (&lost.write, PairKind::TwoWrites)
        }
    };
    if lost.is_at_data && neighbouring_loads(module, [&lost.write]).is_empty() {
        return None;
    }
    Some(Wanted {
        object: object_of(lost.object),
        write: lost.write.clone(),
        other: other.clone(),
        kind,
        above: 0,
        contended: Some(Contended {
            is_update: kind == PairKind::ReadAfterWrite,
            is_computed: lost.is_computed,
            is_at_data: lost.is_at_data,
            blocks: lost.launch.blocks,
        }),
    })
}

fn wanted_beside(module: &ModuleAnalyses<'_>, beside: &PlainBesideAtomic) -> Option<Wanted> {
    let sites = [&beside.atomic, &beside.plain];
    let mut each = sites.into_iter();
    let is_at_data = each.any(|site| !loads_of_place(module, site).is_empty());
    if is_at_data && neighbouring_loads(module, sites).is_empty() {
        return None;
    }
    Some(Wanted {
        object: object_of(beside.object),
        write: beside.atomic.clone(),
        other: beside.plain.clone(),
        kind: match beside.is_store {
            true => PairKind::TwoWrites,
            false => PairKind::ReadAfterWrite,
        },
        above: 0,
        contended: Some(Contended {
            is_update: false,
            is_computed: false,
            is_at_data,
            blocks: beside.launch.blocks,
        }),
    })
}

/// True if a kernel, or a function that it may call, has a barrier of the cluster, which orders threads of several blocks.
fn waits_for_cluster(module: &ModuleAnalyses<'_>, kernel: FunctionId) -> bool {
    let has_barrier = |body: &Body<'_>| {
        let mut all = body.instructions.iter();
        all.any(|instruction| matches!(instruction.op, Op::Barrier(barrier) if barrier.cluster))
    };
    let mut bodies = module.module.bodies();
    bodies.any(|(id, function, _)| {
        (id == kernel || !function.is_kernel()) && function.body.as_ref().is_some_and(has_barrier)
    })
}
