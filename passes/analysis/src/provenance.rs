//! The address-space analysis: the memory that each address points into, and the uses of addresses that are wrong for it.
//! `SPACES.md`, beside the crate's manifest, explains the analysis.
//!
//! ```text
//! here              one module: the screen, then the functions, callees first
//! screen.rs         the functions and instructions that can be wrong at all; suspects.rs: its result
//! function.rs       one function: its uses of addresses, solved and judged; survey.rs: those uses
//! solver.rs         the values of one body; discover.rs: its nodes
//! value.rs          the lattice; transfer.rs: operations; sources.rs: parameters, symbols, constants, results of calls
//! reaching.rs       reaching definitions; meeting.rs: registers that do not need them
//! guards.rs         facts from space tests; aliases.rs: equal registers
//! judge.rs          use × address → violation
//! objects.rs        offsets outside objects, escapes; extent.rs: sizes; own_slot.rs: shared memory of one thread
//! nulls.rs          address 0
//! summary.rs        the summary of a function; calls.rs: arguments and results
//! decided.rs        conditions under which an instruction is executed
//! results.rs        casts whose result is used; own_cta.rs: ranks in a cluster
//! ```

mod aliases;
mod calls;
mod decided;
mod discover;
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
pub use judge::{Effect, Use, ViolationKind};
pub(crate) use own_cta::may_depend_on_cta_rank;
use ptxcheck_ir::{FunctionId, InstructionId, Linkage};
use summary::Summary;
pub use summary::Violation;
use suspects::Suspects;
pub use value::{Base, Element, ElementKind, Trust};

/// The violations in a module, in the order of the input; one for each chain of callers.
#[must_use]
pub(crate) fn find_violations(module: &Shared<'_>) -> Vec<Violation> {
    let levels = call_levels(module);
    let in_parallel = module.is_for_several_threads();
    let suspects = screen::suspects(module, &levels, in_parallel);
    find_violations_among(module, &levels, in_parallel, &suspects)
}

/// The violations among the suspects.
fn find_violations_among(
    module: &Shared<'_>,
    levels: &[Vec<FunctionId>],
    in_parallel: bool,
    suspects: &[Suspects],
) -> Vec<Violation> {
    let summaries: Vec<OnceLock<Summary>> = module.module.functions.iter().map(|_| OnceLock::new()).collect();
    for level in levels {
        let is_suspect = |id: &&FunctionId| !matches!(suspects[id.index()], Suspects::None);
        let suspected: Vec<FunctionId> = level.iter().filter(is_suspect).copied().collect();
        let finished = |id: FunctionId| {
            let summary = summaries[id.index()].get();
            summary.filter(|_| !is_replaceable(module, id))
        };
        let summarize = |&id: &FunctionId| {
            let suspects = &suspects[id.index()];
            if module.deadline.is_over_at_step() {
                return (id, Summary::default());
            }
            (id, function::summarize(module, id, &finished, suspects))
        };
        let made: Vec<_> = if in_parallel {
            suspected.par_iter().map(summarize).collect()
        } else {
            suspected.iter().map(summarize).collect()
        };
        for (id, summary) in made {
            let _ = summaries[id.index()].set(summary);
        }
    }
    let mut violations: Vec<Violation> = summaries
        .into_iter()
        .filter_map(OnceLock::into_inner)
        .flat_map(|summary| summary.violations)
        .filter(|violation| is_reached(module, violation))
        .collect();
    violations.sort_by_cached_key(sort_key);
    violations.dedup_by(|a, b| site_of_violation(a) == site_of_violation(b) && a.callers == b.callers);
    // One instruction can be wrong for very many callers.
    let mut chains = 0;
    let mut last = None;
    violations.retain(|violation| {
        chains = if last == Some(site_of_violation(violation)) {
            chains + 1
        } else {
            0
        };
        last = Some(site_of_violation(violation));
        chains < MAX_CALL_CHAINS
    });
    make_uncalled_potential(module, &mut violations);
    violations
}

/// True if the linker may replace the body of a function. Compilers also make inline functions and instances of templates
/// weak, whose definitions are all the same: those have names with a scope or arguments, or names reserved like the
/// toolkit's.
pub(crate) fn is_replaceable(module: &Shared<'_>, id: FunctionId) -> bool {
    let symbol = module.module.symbol(module.module.function(id).symbol);
    symbol.linkage == Linkage::Weak && !is_template_instance(symbol.name)
}

/// True if a name, mangled as in the Itanium C++ ABI, is that of a member, of an entity in a namespace, or of an instance of
/// a template: `_ZN…`, `_Z3maxIiE…`; or a reserved name that a program does not use: `__shfl_sync`.
fn is_template_instance(name: &str) -> bool {
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
        // A nested name, an operator, or the like.
        Err(_) => true,
    }
}

/// True if the violation, and each call that leads to it, may be executed.
fn is_reached(module: &Shared<'_>, violation: &Violation) -> bool {
    module
        .function(violation.function)
        .is_reached(violation.instruction)
        && violation.callers.iter().all(|call| module.may_call(call))
}

/// Makes violations in functions that nothing calls not definite.
fn make_uncalled_potential(module: &Shared<'_>, violations: &mut [Violation]) {
    if !violations.iter().any(|violation| violation.is_definite) {
        return;
    }
    let is_reached = reached::callable_functions(module);
    for violation in violations {
        violation.is_uncalled = violation.is_definite && !is_reached[violation.of.index()];
        violation.is_definite &= !violation.is_uncalled;
    }
}

fn site_of_violation(violation: &Violation) -> (FunctionId, InstructionId, ViolationKind) {
    (violation.function, violation.instruction, violation.wrong)
}

fn sort_key(violation: &Violation) -> impl Ord + use<> {
    let callers: Vec<_> = violation
        .callers
        .iter()
        .map(|site| (site.caller, site.instruction))
        .collect();
    (
        site_of_violation(violation),
        callers.len(),
        callers,
        !violation.is_definite,
    )
}

/// The functions with bodies, callees before their callers; functions in a cycle, and their callers, are last.
fn call_levels(module: &Shared<'_>) -> Vec<Vec<FunctionId>> {
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
