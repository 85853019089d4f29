//! Screen: the kernels that may have a definite finding at all. The others need no lane by lane analysis unless potential
//! findings are asked for.
//!
//! Nothing is definite about a collective if the lanes that it misses may execute another one of its kind and mask, or if
//! lanes come to it as whole warps. `witness` searches for that in a kernel and its callees; `optimistic_reach` finds the code
//! that all lanes may come to, `knowable` bounds the knowledge of the values that decide it, `calls` bounds arguments and
//! results, and `facts` holds for the module as a whole. Any intermediate result is sound, so limits may end the search
//! anywhere; kernels that it leaves open are solved lane by lane.

mod calls;
mod collective_kinds;
mod facts;
mod knowable;
mod optimistic_reach;
#[cfg(test)]
mod tests;
mod witness;

use self::facts::ModuleFacts;
use self::witness::WitnessSearch;
use super::launch::launch_of;
use super::value::WARP;
use crate::shared::Shared;
use ptxcheck_ir::FunctionId;

/// Roots that may have a definite finding. `holds`: the functions with collectives or barriers.
#[must_use]
pub(super) fn suspects(module: &Shared<'_>, roots: &[FunctionId], holds: &[bool]) -> Vec<FunctionId> {
    let has_shape = roots
        .iter()
        .any(|&root| launch_of(module, root, false).shape.is_some());
    let facts = ModuleFacts::new(module, has_shape);
    let mut search = WitnessSearch::new(&facts, holds);
    // When the time is over, nobody is looked at any more.
    let is_open = |root: &FunctionId| {
        module.deadline.is_over_at_step() || !has_whole_rows(module, *root) || !search.has_witnesses(*root)
    };
    roots.iter().copied().filter(is_open).collect()
}

/// True if, in every launch, the threads of each warp are lanes 0 to 31 of one row of the CTA.
fn has_whole_rows(module: &Shared<'_>, root: FunctionId) -> bool {
    launch_of(module, root, false)
        .shape
        .is_none_or(|[x, ..]| x % WARP as u32 == 0)
}
