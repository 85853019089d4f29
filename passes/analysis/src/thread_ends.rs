//! Functions from which threads may not return.

use ptxcheck_common::externs;
use ptxcheck_ir::{Body, Call, Callee, Function, FunctionId, Rare};
use rustc_hash::FxHashSet;

use crate::shared::Shared;

/// For each function: true if threads may end in a call of it, or in one that it makes. Functions of other modules are
/// assumed to return.
pub(crate) fn functions_that_may_end_threads(module: &Shared<'_>) -> Vec<bool> {
    let graph = module.call_graph();
    let may_end = |(number, function): (usize, &Function<'_>)| {
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
    let mut may_end: Vec<bool> = module.module.functions.iter().enumerate().map(may_end).collect();
    for function in graph.cycles(|_| true).into_iter().flatten() {
        may_end[function.index()] = true;
    }
    graph.mark_callers(&mut may_end);
    may_end
}

/// True if threads may not return from some call in a body, or in a function that it calls; no branch shows that.
pub(crate) fn may_end_in_call(module: &Shared<'_>, body: &Body<'_>, ends: &[bool]) -> bool {
    let mut known = FxHashSet::default();
    let mut bodies = vec![body];
    while let Some(body) = bodies.pop() {
        for call in &body.calls {
            let callee = match call.callee {
                Callee::Direct(symbol) => module.module.called(symbol),
                Callee::Indirect(_) => None,
            };
            let Some(callee) = callee.filter(|callee| !ends[callee.index()]) else {
                return true;
            };
            match &module.module.function(callee).body {
                Some(body) if known.insert(callee) => bodies.push(body),
                Some(_) => {}
                None if externs::is_provided(module.module.function_name(callee)) => {}
                None => return true,
            }
        }
    }
    false
}
