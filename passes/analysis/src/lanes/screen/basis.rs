//! What is known of a module before any function is looked at.

use super::calls::Calls;
use crate::call_graph::CallGraph;
use crate::shared::Shared;
use ptxcheck_common::externs;
use ptxcheck_ir::{Body, Call, Callee, Function, FunctionId, Instruction, Rare};

/// What is known of a module before any function is looked at.
pub(super) struct Basis<'a, 'm> {
    pub(super) module: &'a Shared<'m>,
    /// By function: lanes may not come back from a call of it.
    pub(super) ends: Vec<bool>,
    /// The shape of some CTA is known.
    pub(super) has_shape: bool,
    pub(super) calls: Calls,
}

impl<'a, 'm> Basis<'a, 'm> {
    /// Of a module. `has_shape`: the shape of some CTA is known.
    pub(super) fn new(module: &'a Shared<'m>, has_shape: bool) -> Self {
        Self {
            module,
            ends: ends(module),
            has_shape,
            calls: Calls::default(),
        }
    }

    /// The function that an instruction calls, if it has a name here.
    pub(super) fn callee(&self, body: &Body<'_>, instruction: &Instruction) -> Option<FunctionId> {
        let Some(Callee::Direct(symbol)) = body.callee(instruction) else {
            return None;
        };
        self.module.module.called(symbol)
    }

    /// Whether a call is one of a failed assertion, or of something that is known to do no more than return.
    pub(super) fn is_quiet_call(&self, body: &Body<'_>, call: &Instruction) -> bool {
        let module = self.module.module;
        self.callee(body, call).is_some_and(|callee| {
            let name = module.function_name(callee);
            module.function(callee).body.is_none()
                && (name == externs::ASSERT_FAIL || externs::is_provided(name))
        })
    }

    /// Whether lanes may not come back from a call.
    pub(super) fn may_end_lanes(&self, body: &Body<'_>, call: &Instruction) -> bool {
        self.callee(body, call)
            .is_some_and(|callee| self.ends[callee.index()])
    }
}

/// By function: lanes may not come back from a call of it, or from one that it makes.
fn ends(module: &Shared<'_>) -> Vec<bool> {
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
pub(super) fn with_callers(graph: &CallGraph, found: &mut [bool]) {
    let mut work: Vec<usize> = (0..found.len()).filter(|&function| found[function]).collect();
    while let Some(function) = work.pop() {
        for site in graph.calls_to(FunctionId::new(function)) {
            if !std::mem::replace(&mut found[site.caller.index()], true) {
                work.push(site.caller.index());
            }
        }
    }
}
