//! Which memory an address points into, and which use of an address is wrong for it.
//!
//! ```text
//! value.rs      the lattice            reaching.rs   which definitions reach a use
//! transfer.rs   the operations         guards.rs     what `isspacep` says, and where
//! aliases.rs    equal registers        judge.rs      use × address → what is wrong
//! discover.rs   what a solution needs  sources.rs    values that come from outside
//! solver.rs     one body               survey.rs     what in a body uses addresses
//! function.rs   one body's uses        objects.rs    offsets in objects, escapes
//! calls.rs      arguments and results  nulls.rs      address 0
//! entered.rs    uses that calls reach  own_slot.rs   shared memory of one thread
//! meeting.rs    where no reaching is needed               screen.rs    which functions need a look
//! extent.rs     sizes of objects       suspects.rs  what of a function needs a look
//! results.rs    casts that matter          decided.rs   where control comes
//! own_cta.rs    ranks in a cluster
//! summary.rs    one function           here          one module: the functions that are called first
//! ```

mod aliases;
mod calls;
mod decided;
mod discover;
mod entered;
pub(crate) mod extent;
mod function;
mod guards;
mod judge;
mod meeting;
mod nulls;
mod objects;
mod own_cta;
mod own_slot;
mod reaching;
mod results;
mod screen;
mod solver;
mod sources;
mod summary;
mod survey;
mod suspects;
mod transfer;
mod value;

use std::sync::OnceLock;

use rayon::prelude::*;

use crate::limits::MAX_CALL_CHAINS;
use crate::reached;
use crate::shared::Shared;
pub use judge::{Effect, Use, Wrong};
use ptxcheck_common::limits::PARALLEL_STATEMENTS;
use ptxcheck_ir::{FunctionId, InstructionId, Linkage};
use summary::Summary;
pub use summary::Violation;
use suspects::Suspects;
pub use value::{Base, Element, Form, Trust};

/// What is wrong in a module, in the order of the input; what is wrong for several callers once for each.
#[must_use]
pub(crate) fn violations(module: &Shared<'_>) -> Vec<Violation> {
    let size: usize = module
        .module
        .bodies()
        .map(|(_, _, body)| body.instructions.len())
        .sum();
    let levels = levels(module);
    let in_parallel = size >= PARALLEL_STATEMENTS;
    let suspects = screen::suspects(module, &levels, in_parallel);
    found(module, &levels, in_parallel, &suspects)
}

/// What is wrong as far as it is looked at.
fn found(
    module: &Shared<'_>,
    levels: &[Vec<FunctionId>],
    in_parallel: bool,
    suspects: &[Suspects],
) -> Vec<Violation> {
    let summaries: Vec<OnceLock<Summary>> = module.module.functions.iter().map(|_| OnceLock::new()).collect();
    for level in levels {
        let is_suspect = |id: &&FunctionId| !matches!(suspects[id.index()], Suspects::None);
        let looked_at: Vec<FunctionId> = level.iter().filter(is_suspect).copied().collect();
        let finished = |id: FunctionId| {
            let summary = summaries[id.index()].get();
            summary.filter(|_| !is_replaceable(module, id))
        };
        let one = |&id: &FunctionId| {
            let suspects = &suspects[id.index()];
            if module.deadline.is_over_at_step() {
                return (id, Summary::default());
            }
            (id, function::summarize(module, id, &finished, suspects))
        };
        let made: Vec<_> = if in_parallel {
            looked_at.par_iter().map(one).collect()
        } else {
            looked_at.iter().map(one).collect()
        };
        for (id, summary) in made {
            let _ = summaries[id.index()].set(summary);
        }
    }
    let mut all: Vec<Violation> = summaries
        .into_iter()
        .filter_map(OnceLock::into_inner)
        .flat_map(|summary| summary.violations)
        .filter(|violation| is_reached(module, violation))
        .collect();
    all.sort_by_cached_key(order);
    all.dedup_by(|a, b| place(a) == place(b) && a.callers == b.callers);
    // The same place can be wrong for very many callers.
    let mut ways = 0;
    let mut last = None;
    all.retain(|violation| {
        ways = if last == Some(place(violation)) {
            ways + 1
        } else {
            0
        };
        last = Some(place(violation));
        ways < MAX_CALL_CHAINS
    });
    doubt_never_called(module, &mut all);
    all
}

/// True if a link may put another body in the place of a function's. Compilers make inline functions and instances of templates
/// weak, too, all definitions of which are the same: those have names with a scope or arguments, or that are reserved, as the
/// toolkit's.
fn is_replaceable(module: &Shared<'_>, id: FunctionId) -> bool {
    let symbol = module.module.symbol(module.module.function(id).symbol);
    symbol.linkage == Linkage::Weak && !is_instance(symbol.name)
}

/// True if a name, mangled as in the Itanium C++ ABI, is that of a member, of what lies in a namespace, or of an instance of a
/// template: `_ZN…`, `_Z3maxIiE…`; or one that a program does not take: `__shfl_sync`.
fn is_instance(name: &str) -> bool {
    let Some(encoding) = name.strip_prefix("_Z") else {
        return name.starts_with("__");
    };
    let identifier = encoding.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let length = encoding[..encoding.len() - identifier.len()].parse::<usize>();
    match length {
        Ok(length) => {
            let rest = identifier.get(length..);
            identifier.starts_with("__") || rest.is_some_and(|rest| rest.starts_with('I'))
        }
        // Of a nested name, an operator, or the like.
        Err(_) => true,
    }
}

/// Whether anything comes to what is wrong, by the calls that lead there.
fn is_reached(module: &Shared<'_>, violation: &Violation) -> bool {
    module
        .function(violation.function)
        .is_reached(violation.instruction)
        && violation.callers.iter().all(|call| module.may_call(call))
}

/// What nobody executes, as far as that is known, is not definite.
fn doubt_never_called(module: &Shared<'_>, all: &mut [Violation]) {
    if !all.iter().any(|violation| violation.is_definite) {
        return;
    }
    let is_reached = reached::functions(module);
    for violation in all {
        violation.is_uncalled = violation.is_definite && !is_reached[violation.of.index()];
        violation.is_definite &= !violation.is_uncalled;
    }
}

fn place(violation: &Violation) -> (FunctionId, InstructionId, Wrong) {
    (violation.function, violation.instruction, violation.wrong)
}

fn order(violation: &Violation) -> impl Ord + use<> {
    let callers: Vec<_> = violation
        .callers
        .iter()
        .map(|site| (site.caller, site.instruction))
        .collect();
    (place(violation), callers.len(), callers, !violation.is_definite)
}

/// The functions with bodies, those that are called before those that call them; functions in a cycle, and what calls
/// them, are last.
fn levels(module: &Shared<'_>) -> Vec<Vec<FunctionId>> {
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
