//! Screen: the kernels that may have a definite finding. The others need no analysis lane by lane unless potential findings
//! are requested.
//!
//! Nothing is definite about a collective if the lanes that it misses may execute another one of its kind and mask, or if
//! lanes reach it as whole warps. `witness` searches for that in a kernel and its callees; `optimistic_reach` finds the code
//! that all lanes may reach, `knowable` is an upper bound of what the lane analysis can know of the values that decide it,
//! `calls` bounds arguments and results, and `facts` holds for the module as a whole. Any intermediate result is sound, so
//! limits may end the search anywhere; kernels that it leaves open are solved lane by lane.

mod calls;
mod collective_kinds;
#[cfg(test)]
mod corpus_tests;
mod facts;
mod knowable;
mod optimistic_reach;
mod same_name;
#[cfg(test)]
mod tests;
mod witness;

use std::sync::Arc;

use ptxcheck_common::limits::PARALLEL_STATEMENTS;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use self::facts::ModuleFacts;
use self::witness::WitnessSearch;
use super::lane_counted_loops::LaneCountedLoops;
use super::launch::representative_launch;
use super::roots::Calls;
use super::value::WARP;
use crate::block_size;
use crate::limits::SEARCHES_PER_THREAD;
use crate::shared::Shared;
use ptxcheck_ir::FunctionId;

/// Roots that may have a definite finding.
#[must_use]
pub(super) fn suspect_roots(module: &Shared<'_>, roots: &[FunctionId], calls: &Calls) -> Vec<FunctionId> {
    let has_shape = roots
        .iter()
        .any(|&root| representative_launch(module, root, false).shape.is_some());
    let facts = ModuleFacts::new(module, has_shape);
    let counted = LaneCountedLoops::new(module, &calls.meets, has_shape);
    let mut search = WitnessSearch::new(&facts, &calls.holds);
    let known = search_unshared_roots(&facts, &search, roots);
    // If lanes leave a loop one after the other, a witness in it is not reached by all lanes in all rounds.
    let is_known_open = |root: &FunctionId| {
        let known = known.get(root).copied();
        counted.has_counted_loop(*root)
            || known.unwrap_or_else(|| may_have_definite_finding(module, &mut search, *root))
            || splits_only_later_warps(module, *root)
    };
    roots.iter().copied().filter(is_known_open).collect()
}

/// True if a kernel tests a thread number in a way that splits a warp which only larger blocks have: the test distinguishes
/// warps, and a definite finding in that warp has a threshold.
fn splits_only_later_warps(module: &Shared<'_>, root: FunctionId) -> bool {
    let is_beyond = |test: &u32| *test > WARP as u32;
    module.module.function(root).is_kernel()
        && block_size::tested_thread_counts(module, root)
            .iter()
            .any(is_beyond)
}

/// True if a root may have a definite finding. After the deadline, no root is analysed any more.
fn may_have_definite_finding(
    module: &Shared<'_>,
    search: &mut WitnessSearch<'_, '_>,
    root: FunctionId,
) -> bool {
    module.deadline.is_over_at_step() || !has_whole_rows(module, root) || !search.has_witnesses(root)
}

/// The same for roots that share nothing with others; they are searched in parallel in a large module.
fn search_unshared_roots<'m>(
    facts: &ModuleFacts<'_, 'm>,
    search: &WitnessSearch<'_, 'm>,
    roots: &[FunctionId],
) -> FxHashMap<FunctionId, bool> {
    let module = facts.module;
    let threads = rayon::current_num_threads();
    let size = |&root: &FunctionId| {
        let body = module.module.function(root).body.as_ref();
        body.map_or(0, |body| body.instructions.len())
    };
    if threads == 1 || roots.iter().map(size).sum::<usize>() < PARALLEL_STATEMENTS {
        return FxHashMap::default();
    }
    let alone: Vec<FunctionId> = roots
        .iter()
        .copied()
        .filter(|&root| facts.is_outside_call_graph(root))
        .collect();
    let share = alone.len().div_ceil(SEARCHES_PER_THREAD * threads).max(1);
    let shares: Vec<_> = alone
        .chunks(share)
        .map(|some| (some, facts.unshared_copy()))
        .collect();
    let tables = search.shared_tables();
    let of_share = |(some, facts): (&[FunctionId], ModuleFacts<'_, '_>)| {
        let mut search = WitnessSearch::with_tables(&facts, Arc::clone(&tables));
        let one = |&root: &FunctionId| (root, may_have_definite_finding(facts.module, &mut search, root));
        some.iter().map(one).collect::<Vec<_>>()
    };
    shares.into_par_iter().flat_map_iter(of_share).collect()
}

/// True if, in every launch, the threads of each warp are lanes 0 to 31 of one row of the CTA.
fn has_whole_rows(module: &Shared<'_>, root: FunctionId) -> bool {
    representative_launch(module, root, false)
        .shape
        .is_none_or(|[x, ..]| x % WARP as u32 == 0)
}
