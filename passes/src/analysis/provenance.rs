//! Which memory an address points into, and which use of an address is wrong for it.
//!
//! ```text
//! value.rs      the lattice            reaching.rs   which definitions reach a use
//! transfer.rs   the operations         guards.rs     what `isspacep` says, and where
//! solver.rs     one body               judge.rs      use × address → what is wrong
//! summary.rs    one function           here          one module: the functions that are called first
//! ```

mod function;
pub mod guards;
pub mod judge;
pub mod reaching;
pub mod solver;
pub mod summary;
pub mod transfer;
pub mod value;

use std::sync::OnceLock;

use rayon::prelude::*;

use crate::context::ModuleContext;
use crate::ir::FunctionId;
use crate::limits::PARALLEL_STATEMENTS;
pub use judge::{Effect, Use, Wrong};
pub use summary::{Summary, Violation};
pub use value::{Base, Element, Form};

/// What is wrong in a module, in the order of the input; of each place and kind the first only.
#[must_use]
pub fn violations(module: &ModuleContext<'_>) -> Vec<Violation> {
    let summaries: Vec<OnceLock<Summary>> = module.module.functions.iter().map(|_| OnceLock::new()).collect();
    let size: usize = module
        .module
        .bodies()
        .map(|(_, _, body)| body.instructions.len())
        .sum();
    for level in levels(module) {
        let finished = |id: FunctionId| summaries[id.index()].get();
        let one = |&id: &FunctionId| (id, function::summarize(module, id, &finished));
        let made: Vec<_> = if size < PARALLEL_STATEMENTS {
            level.iter().map(one).collect()
        } else {
            level.par_iter().map(one).collect()
        };
        for (id, summary) in made {
            let _ = summaries[id.index()].set(summary);
        }
    }
    let mut all: Vec<Violation> = summaries
        .into_iter()
        .filter_map(OnceLock::into_inner)
        .flat_map(|summary| summary.violations)
        .collect();
    // A definite finding says more than a potential one of the same place, a short way more than a long one.
    all.sort_by_key(|violation| {
        let place = (violation.function, violation.instruction, violation.wrong);
        (place, !violation.is_definite, violation.callers.len())
    });
    all.dedup_by_key(|violation| (violation.function, violation.instruction, violation.wrong));
    all
}

/// The functions with bodies, those that are called before those that call them; functions in a cycle, and what calls
/// them, are last.
fn levels(module: &ModuleContext<'_>) -> Vec<Vec<FunctionId>> {
    let graph = module.call_graph();
    let bodies: Vec<FunctionId> = module.module.bodies().map(|(id, ..)| id).collect();
    let has_body = |id: FunctionId| module.module.function(id).body.is_some();
    let mut waiting = vec![0_u32; module.module.functions.len()];
    for &id in &bodies {
        waiting[id.index()] = graph
            .calls_of(id)
            .iter()
            .filter(|site| has_body(site.callee))
            .count() as u32;
    }
    let mut level: Vec<FunctionId> = bodies
        .iter()
        .copied()
        .filter(|id| waiting[id.index()] == 0)
        .collect();
    let mut is_done = vec![false; module.module.functions.len()];
    let mut levels = Vec::new();
    while !level.is_empty() {
        let mut next = Vec::new();
        for &id in &level {
            is_done[id.index()] = true;
            for site in graph.calls_to(id) {
                let left = &mut waiting[site.caller.index()];
                *left -= 1;
                if *left == 0 {
                    next.push(site.caller);
                }
            }
        }
        next.sort_unstable();
        levels.push(std::mem::replace(&mut level, next));
    }
    let rest: Vec<FunctionId> = bodies.into_iter().filter(|id| !is_done[id.index()]).collect();
    if !rest.is_empty() {
        levels.push(rest);
    }
    levels
}
