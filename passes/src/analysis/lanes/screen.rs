//! Which kernels may have a definite finding at all: the others need no lane by lane analysis where potential findings
//! are not asked for.
//!
//! First `witness` looks for collectives that all lanes may come to: they speak for all others of their kind, and most
//! kernels need no more. The kernels that it leaves open are looked at whole.
//!
//! Nothing is definite at a collective or barrier that no branch keeps some lanes of a warp from, and where lanes pass
//! the full mask or one that nothing is known of. So two questions are left, and both may be answered by "perhaps":
//!
//! ```text
//! kind(v)          what may be known of a version of a register, see `kind`; where versions meet, what they have in
//!                  common, or either of them if a branch that may be known decides which one it is
//! restricted(b)    a branch that may tell lanes apart decides whether a block is reached, through other branches too
//! ```
//!
//! Each depends on the other. `needs` says which instructions count, backwards from branches, masks and calls; `pass`
//! sweeps over them until nothing changes; `regions` knows what a branch decides. `reader` is what the two ways of looking
//! at instructions share. Functions are looked at callees first
//! for what they return, whatever they are called with, then callers first, with what is passed to them.

mod calls;
mod exact;
mod kind;
mod look;
mod needs;
mod pass;
mod reader;
mod regions;
#[cfg(test)]
mod tests;
mod witness;

use rustc_hash::FxHashMap;

use self::calls::Calls;
use self::kind::Kind;
use self::pass::{Outcome, Pass};
use super::launch_of;
use super::value::WARP;
use crate::analysis::call_graph::CallGraph;
use crate::context::ModuleContext;
use crate::ir::{Body, Call, Callee, Function, FunctionId, Instruction, Op, Special};
use crate::limits::MAX_SCREEN_STEPS;

/// Of `roots`, those that may have a definite finding. `meets`: the functions that reach a collective or a barrier.
#[must_use]
pub fn suspects(module: &ModuleContext<'_>, roots: &[FunctionId], meets: &[bool]) -> Vec<FunctionId> {
    let has_shape = roots
        .iter()
        .any(|&root| launch_of(module, root, false).shape.is_some());
    let basis = Basis {
        module,
        meets,
        ends: ends(module),
        has_shape,
        calls: Calls::default(),
    };
    let mut left = MAX_SCREEN_STEPS;
    let is_open =
        |&root: &FunctionId| !has_whole_rows(module, root) || !witness::speaks_for(&basis, root, &mut left);
    let roots: Vec<FunctionId> = roots.iter().copied().filter(is_open).collect();
    if roots.is_empty() {
        return roots;
    }
    let order = callees_first(module, &roots);
    let mut screen = Screen {
        module,
        basis: &basis,
        states: module.module.functions.iter().map(|_| State::default()).collect(),
    };
    screen.cycles();
    left = MAX_SCREEN_STEPS;
    // What functions return, whatever they are called with.
    for &function in &order {
        if !module.module.function(function).results.is_empty()
            && !module.call_graph().calls_to(function).is_empty()
        {
            screen.returns(function, &mut left);
        }
    }
    for &function in order.iter().rev() {
        screen.function(function, &mut left);
    }
    let is_suspect = screen.with_callers();
    roots
        .into_iter()
        .filter(|&root| is_suspect[root.index()] || !has_whole_rows(module, root))
        .collect()
}

/// What `roots` call, directly or through others, and the roots: those that are called come before their callers.
fn callees_first(module: &ModuleContext<'_>, roots: &[FunctionId]) -> Vec<FunctionId> {
    let graph = module.call_graph();
    let mut is_seen = vec![false; module.module.functions.len()];
    let mut order = Vec::new();
    for &root in roots {
        // Each entry: a function and how many of its calls have been entered.
        let mut stack = vec![(root, 0)];
        if std::mem::replace(&mut is_seen[root.index()], true) {
            continue;
        }
        while let Some((function, entered)) = stack.last_mut() {
            match graph.calls_of(*function).get(*entered) {
                Some(site) => {
                    *entered += 1;
                    if !std::mem::replace(&mut is_seen[site.callee.index()], true) {
                        stack.push((site.callee, 0));
                    }
                }
                None => {
                    order.push(*function);
                    stack.pop();
                }
            }
        }
    }
    order
}

/// Whether the threads of each warp are the lanes 0 to 31 of one row of the CTA, in every launch.
fn has_whole_rows(module: &ModuleContext<'_>, root: FunctionId) -> bool {
    launch_of(module, root, false)
        .shape
        .is_none_or(|[x, ..]| x % WARP as u32 == 0)
}

/// What is known of the pieces of a function's parameters, by number and byte offset.
type Params = FxHashMap<(u32, i32), Kind>;

/// What is known of a function.
#[derive(Default)]
struct State {
    /// From all its callers.
    params: Params,
    /// Whatever it is called with; anything if there is none.
    result: Option<Kind>,
    is_suspect: bool,
}

/// It cannot be told in time: something may be definite.
struct Suspect;

/// What is known of a module before any function is looked at.
struct Basis<'a, 'm> {
    module: &'a ModuleContext<'m>,
    /// By function: it reaches a collective or a barrier.
    meets: &'a [bool],
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

    /// Whether lanes may not come back from a call.
    fn may_end_lanes(&self, body: &Body<'_>, call: &Instruction) -> bool {
        self.callee(body, call)
            .is_some_and(|callee| self.ends[callee.index()])
    }
}

/// By function: lanes may not come back from a call of it, or from one that it makes.
fn ends(module: &ModuleContext<'_>) -> Vec<bool> {
    let graph = module.call_graph();
    let of = |(number, function): (usize, &Function<'_>)| {
        let id = FunctionId::new(number);
        if function.noreturn {
            return true;
        }
        let Some(body) = &function.body else {
            return module.module.function_name(id) == "__assertfail";
        };
        let is_end = |instruction: &Instruction| matches!(instruction.op, Op::Exit | Op::Trap);
        let is_unknown = |call: &Call| match call.callee {
            Callee::Direct(symbol) => module.module.called(symbol).is_none(),
            Callee::Indirect(_) => true,
        };
        !graph.calls_to(id).is_empty()
            && (body.calls.iter().any(is_unknown) || body.instructions.iter().any(is_end))
    };
    let mut found: Vec<bool> = module.module.functions.iter().enumerate().map(of).collect();
    for function in graph.cycles().into_iter().flatten() {
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

struct Screen<'a, 'm> {
    module: &'a ModuleContext<'m>,
    basis: &'a Basis<'a, 'm>,
    /// By function.
    states: Vec<State>,
}

impl Screen<'_, '_> {
    /// Functions that call each other in a cycle are suspects.
    fn cycles(&mut self) {
        for function in self.module.call_graph().cycles().into_iter().flatten() {
            self.states[function.index()].is_suspect = true;
        }
    }

    fn run(&self, id: FunctionId, params: Option<&Params>, left: &mut usize) -> Result<Outcome, Suspect> {
        let module = self.module.module;
        let Some(body) = &module.function(id).body else {
            return Ok(Outcome::default());
        };
        *left = left.checked_sub(body.instructions.len()).ok_or(Suspect)?;
        Pass::run(self, id, body, params)
    }

    fn returns(&mut self, id: FunctionId, left: &mut usize) {
        let outcome = self.run(id, None, left);
        self.states[id.index()].result = outcome.ok().map(|outcome| outcome.result);
    }

    fn function(&mut self, id: FunctionId, left: &mut usize) {
        let outcome = self.run(id, Some(&self.states[id.index()].params), left);
        match outcome {
            Ok(outcome) => {
                for (callee, piece, kind) in outcome.passed {
                    let known = self.states[callee.index()].params.entry(piece).or_default();
                    *known = known.join(kind);
                }
                self.states[id.index()].is_suspect |= outcome.is_suspect;
            }
            Err(Suspect) => self.states[id.index()].is_suspect = true,
        }
    }

    /// What a function returns.
    fn result_of(&self, callee: FunctionId) -> Kind {
        if self.module.module.function(callee).body.is_none() {
            return Kind::UNKNOWN;
        }
        match self.states[callee.index()].result {
            Some(kind) if kind.is_defined => kind,
            Some(_) => Kind::UNKNOWN,
            None => Kind::LANE,
        }
    }

    /// The suspects and all that call them.
    fn with_callers(&self) -> Vec<bool> {
        let mut found: Vec<bool> = self.states.iter().map(|state| state.is_suspect).collect();
        with_callers(self.module.call_graph(), &mut found);
        found
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
