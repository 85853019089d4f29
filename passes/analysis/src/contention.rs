//! Accesses of several threads to one place in global memory that nothing orders.
//!
//! * `origin` describes values: the thread numbers, the data and the object that they are computed from; `summary` does so for the results
//!   of functions.
//! * `shape` recognises two computations of one address, and `execution` the comparisons that choose the threads.
//! * `facts` collects stores and calls of a function, and `updates` judges the stores of a kernel.

mod execution;
mod facts;
mod origin;
mod shape;
mod summary;
mod updates;

use rustc_hash::{FxHashMap, FxHashSet};

use self::facts::{Facts, facts_of};
use self::origin::{Origin, Set, number, numbers_of_special};
use self::summary::Summaries;
use self::updates::Kernel;
pub use self::updates::{LostUpdate, SharedObject, UpdateKind, Writers};
use crate::lanes::launches_of;
use crate::limits::MAX_CONTENTION_INSTRUCTIONS;
use crate::shared::Shared;
use ptxcheck_ir::{FunctionId, Space, SymbolId, Value};

/// The lost updates of a module, in the order of the input.
pub(crate) fn find_lost_updates(module: &Shared<'_>) -> Vec<LostUpdate> {
    let summaries = Summaries::new(module);
    let result_of = |symbol: SymbolId, arguments: &[Option<Origin>]| summaries.result_of(symbol, arguments);
    let mut facts: FxHashMap<FunctionId, Facts> = FxHashMap::default();
    let mut found = Vec::new();
    for (id, function, _) in module.module.bodies() {
        if !function.is_kernel() || function.is_damaged {
            continue;
        }
        let functions = functions_of(module, id);
        for &function in &functions {
            let Some(body) = &module.module.function(function).body else {
                continue;
            };
            let is_small = body.instructions.len() <= MAX_CONTENTION_INSTRUCTIONS;
            if is_small && !facts.contains_key(&function) {
                facts.insert(function, facts_of(module, function, body, &result_of));
            }
            if module.deadline.is_over_after(body.instructions.len()) {
                return Vec::new();
            }
        }
        let kernel = Kernel {
            id,
            numbers: numbers_read(module, id, &functions),
            functions,
            facts: &facts,
        };
        let is_global = |symbol| module.module.symbol(symbol).space == Space::Global;
        found.extend(kernel.lost_updates(is_global));
    }
    found
}

/// A kernel and the functions that it calls, each after its callers unless they call each other.
fn functions_of(module: &Shared<'_>, kernel: FunctionId) -> Vec<FunctionId> {
    let graph = module.call_graph();
    let callees =
        |id: FunctionId| -> Vec<FunctionId> { graph.calls_of(id).iter().map(|call| call.callee).collect() };
    let mut seen: FxHashSet<FunctionId> = FxHashSet::from_iter([kernel]);
    let mut order = Vec::new();
    let mut open = vec![(kernel, callees(kernel))];
    while let Some((id, left)) = open.last_mut() {
        match left.pop() {
            Some(next) if seen.insert(next) => open.push((next, callees(next))),
            Some(_) => {}
            None => {
                order.push(*id);
                open.pop();
            }
        }
    }
    order.reverse();
    order
}

/// The thread and block numbers that a kernel reads and that differ among the threads of its launches.
fn numbers_read(module: &Shared<'_>, kernel: FunctionId, functions: &[FunctionId]) -> Set {
    let bodies = functions
        .iter()
        .filter_map(|&id| module.module.function(id).body.as_ref());
    let values = bodies.flat_map(|body| &body.values);
    let read = values.fold(Set::NONE, |all, value| match value {
        Value::Special(special) => all.with(numbers_of_special(*special).unwrap_or(Set::NONE)),
        _ => all,
    });
    let launches = launches_of(module, kernel, module.reads_other_dimensions(kernel));
    let has_one = |dimension: usize| {
        let mut shapes = launches.iter().map(|launch| launch.shape);
        shapes.all(|shape| shape.is_some_and(|sides| sides[dimension] == 1))
    };
    let is_single = (0..3).all(has_one);
    let all = if is_single {
        read.without(number::OF_THREAD)
    } else {
        read
    };
    (0..3).fold(all, |all, dimension| match has_one(dimension) {
        true => all.without(number::THREAD[dimension]),
        false => all,
    })
}
