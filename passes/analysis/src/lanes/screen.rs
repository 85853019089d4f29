//! Which kernels may have a definite finding at all: the others need no lane by lane analysis where potential findings
//! are not asked for.
//!
//! Nothing is definite about a collective where another of its kind and mask may be executed by the lanes that it misses,
//! nor where lanes come to it as whole warps. `witness` searches for that, in a kernel and what it calls, with `look`:
//! what all lanes may come to, and what may be known at most of the values that decide it. `basis` is what is known before,
//! `kind` says what a value may be, and `calls` what functions are passed and return.
//! Whatever is found on the way holds at any time of the search, so limits end it anywhere; the kernels that it leaves
//! open are solved lane by lane.

mod basis;
mod calls;
mod kind;
mod look;
mod meetings;
#[cfg(test)]
mod tests;
mod witness;

use self::basis::Basis;
use self::witness::Search;
use super::launch::launch_of;
use super::value::WARP;
use crate::shared::Shared;
use ptxcheck_ir::FunctionId;

/// Of `roots`, those that may have a definite finding. `holds`: the functions with collectives or barriers.
#[must_use]
pub(super) fn suspects(module: &Shared<'_>, roots: &[FunctionId], holds: &[bool]) -> Vec<FunctionId> {
    let has_shape = roots
        .iter()
        .any(|&root| launch_of(module, root, false).shape.is_some());
    let basis = Basis::new(module, has_shape);
    let mut search = Search::new(&basis, holds);
    // When the time is over, nobody is looked at any more.
    let is_open = |root: &FunctionId| {
        module.deadline.is_over_at_step() || !has_whole_rows(module, *root) || !search.speaks_for(*root)
    };
    roots.iter().copied().filter(is_open).collect()
}

/// Whether the threads of each warp are the lanes 0 to 31 of one row of the CTA, in every launch.
fn has_whole_rows(module: &Shared<'_>, root: FunctionId) -> bool {
    launch_of(module, root, false)
        .shape
        .is_none_or(|[x, ..]| x % WARP as u32 == 0)
}
