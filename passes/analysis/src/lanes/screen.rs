//! Which kernels may have a definite finding at all: the others need no lane by lane analysis where potential findings
//! are not asked for.
//!
//! Nothing is definite about a collective where another of its kind and mask may be executed by the lanes that it misses,
//! nor where lanes come to it as whole warps. `witness` searches for that, in a kernel and what it calls, with `look`:
//! what all lanes may come to, and what may be known at most of the values that decide it. `kind` says what that is,
//! `calls` what functions are passed and return, and `exact` what the threads of one warp compute from their numbers.
//! Whatever is found on the way holds at any time of the search, so limits end it anywhere; the kernels that it leaves
//! open are solved lane by lane.

mod calls;
mod exact;
mod kind;
mod look;
mod meetings;
#[cfg(test)]
mod tests;
mod witness;

use self::calls::Calls;
use self::kind::Kind;
use self::witness::Search;
use super::launch_of;
use super::value::WARP;
use crate::call_graph::CallGraph;
use crate::module::ModuleAnalyses;
use ptxcheck_common::externs;
use ptxcheck_ir::{Body, Call, Callee, Function, FunctionId, Instruction, Rare, Special};

/// Of `roots`, those that may have a definite finding. `holds`: the functions with collectives or barriers.
#[must_use]
pub fn suspects(module: &ModuleAnalyses<'_>, roots: &[FunctionId], holds: &[bool]) -> Vec<FunctionId> {
    let has_shape = roots
        .iter()
        .any(|&root| launch_of(module, root, false).shape.is_some());
    let basis = Basis {
        module,
        ends: ends(module),
        has_shape,
        calls: Calls::default(),
    };
    let mut search = Search::new(&basis, holds);
    // When the time is over, nobody is looked at any more.
    let is_open = |root: &FunctionId| {
        module.deadline.is_over_at_step() || !has_whole_rows(module, *root) || !search.speaks_for(*root)
    };
    roots.iter().copied().filter(is_open).collect()
}

/// Whether the threads of each warp are the lanes 0 to 31 of one row of the CTA, in every launch.
fn has_whole_rows(module: &ModuleAnalyses<'_>, root: FunctionId) -> bool {
    launch_of(module, root, false)
        .shape
        .is_none_or(|[x, ..]| x % WARP as u32 == 0)
}

/// What is known of a module before any function is looked at.
struct Basis<'a, 'm> {
    module: &'a ModuleAnalyses<'m>,
    /// By function: lanes may not come back from a call of it.
    ends: Vec<bool>,
    /// The shape of some CTA is known.
    has_shape: bool,
    calls: Calls,
}

impl Basis<'_, '_> {
    /// The function that an instruction calls, if it has a name here.
    fn callee(&self, body: &Body<'_>, instruction: &Instruction) -> Option<FunctionId> {
        let Some(Callee::Direct(symbol)) = body.callee(instruction) else {
            return None;
        };
        self.module.module.called(symbol)
    }

    /// Whether a call is one of a failed assertion, or of something that is known to do no more than return.
    fn is_quiet_call(&self, body: &Body<'_>, call: &Instruction) -> bool {
        let module = self.module.module;
        self.callee(body, call).is_some_and(|callee| {
            let name = module.function_name(callee);
            module.function(callee).body.is_none()
                && (name == externs::ASSERT_FAIL || externs::is_provided(name))
        })
    }

    /// Whether lanes may not come back from a call.
    fn may_end_lanes(&self, body: &Body<'_>, call: &Instruction) -> bool {
        self.callee(body, call)
            .is_some_and(|callee| self.ends[callee.index()])
    }
}

/// By function: lanes may not come back from a call of it, or from one that it makes.
fn ends(module: &ModuleAnalyses<'_>) -> Vec<bool> {
    let graph = module.call_graph();
    let of = |(number, function): (usize, &Function<'_>)| {
        let id = FunctionId::new(number);
        if function.noreturn {
            return true;
        }
        let Some(body) = &function.body else {
            return module.module.function_name(id) == externs::ASSERT_FAIL;
        };
        let is_unknown = |call: &Call| match call.callee {
            Callee::Direct(symbol) => module.module.called(symbol).is_none(),
            Callee::Indirect(_) => true,
        };
        !graph.calls_to(id).is_empty() && (body.has(Rare::END) || body.calls.iter().any(is_unknown))
    };
    let mut found: Vec<bool> = module.module.functions.iter().enumerate().map(of).collect();
    for function in graph.cycles(|_| true).into_iter().flatten() {
        found[function.index()] = true;
    }
    with_callers(graph, &mut found);
    found
}

/// Marks what calls the functions that are marked, directly or through others.
fn with_callers(graph: &CallGraph, found: &mut [bool]) {
    let mut work: Vec<usize> = (0..found.len()).filter(|&function| found[function]).collect();
    while let Some(function) = work.pop() {
        for site in graph.calls_to(FunctionId::new(function)) {
            if !std::mem::replace(&mut found[site.caller.index()], true) {
                work.push(site.caller.index());
            }
        }
    }
}

/// Of a special register. `has_shape`: the shape of some CTA is known.
fn special(special: Special, has_shape: bool) -> Kind {
    match special {
        Special::Tid(0) => Kind::THREAD,
        Special::LaneId => Kind::LANE_ID,
        Special::LaneMaskEq
        | Special::LaneMaskLe
        | Special::LaneMaskLt
        | Special::LaneMaskGe
        | Special::LaneMaskGt => Kind::LANE,
        Special::Tid(_) | Special::Ntid(_) if has_shape => Kind::CONSTANT,
        Special::Ntid(0) => Kind::THREADS,
        _ => Kind::UNKNOWN,
    }
}
