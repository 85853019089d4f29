//! Accesses of several threads to one place in global memory that nothing orders.
//!
//! * `origin` describes values: the thread numbers, the data and the object that they are computed from; `summary` does so for the results
//!   of functions.
//! * `shape` recognises two computations of one address, and `execution` the comparisons that choose the threads.
//! * `facts` collects stores, atomics and calls of a function, `contexts` adds what the callers pass and which threads call.
//! * `updates` finds stores that may be lost, and `beside` plain accesses to what atomics change.

mod beside;
mod contexts;
mod execution;
mod facts;
mod origin;
mod shape;
mod summary;
mod updates;

use rustc_hash::FxHashSet;

pub use self::beside::PlainBesideAtomic;
use self::beside::plain_beside_atomics;
use self::contexts::{Entered, Kernel};
pub use self::contexts::{KernelLaunch, SharedObject};
use self::facts::{AllFacts, facts_of};
use self::origin::{Origin, Set, number, numbers_of_special};
use self::summary::Summaries;
use self::updates::lost_updates;
pub use self::updates::{LostUpdate, UpdateKind, Writers};
use crate::lanes::{Launch, launches_of};
use crate::limits::MAX_CONTENTION_INSTRUCTIONS;
use crate::shared::Shared;
use ptxcheck_ir::{AccessKind, Body, FunctionId, Op, Space, SymbolId, Value};

/// The accesses of a module that nothing orders, each in the order of the input.
#[derive(Debug, Default)]
pub struct Contention {
    /// Stores that may be lost.
    pub lost_updates: Vec<LostUpdate>,
    /// Plain accesses to what atomics change.
    pub beside_atomics: Vec<PlainBesideAtomic>,
}

/// The accesses of a module that nothing orders.
pub(crate) fn find(module: &Shared<'_>) -> Contention {
    let summaries = Summaries::new(module);
    let result_of = |symbol: SymbolId, arguments: &[Option<Origin>]| summaries.result_of(symbol, arguments);
    let mut facts = AllFacts::default();
    let mut found = Contention::default();
    for (id, function, _) in module.module.bodies() {
        if !function.is_kernel() || function.is_damaged {
            continue;
        }
        let functions = functions_of(module, id);
        // Callees first.
        for &function in functions.iter().rev() {
            let Some(body) = &module.module.function(function).body else {
                continue;
            };
            let is_small = body.instructions.len() <= MAX_CONTENTION_INSTRUCTIONS;
            if is_small && !facts.contains_key(&function) {
                let known = facts_of(module, (function, body), &facts, &result_of);
                facts.insert(function, known);
            }
            if module.deadline.is_over_after(body.instructions.len()) {
                return Contention::default();
            }
        }
        let launches = launches_of(module, id, module.reads_other_dimensions(id));
        let Some(&block) = launches.first() else {
            continue;
        };
        let numbers = numbers_read(module, &launches, &functions);
        let kernel = Kernel {
            id,
            numbers,
            launch: KernelLaunch {
                block,
                blocks: number::BLOCK.map(|block| numbers.has_any(block)),
            },
            functions,
            facts: &facts,
        };
        kernel.for_each_function(|entered| add_findings(module, entered, &mut found));
    }
    found
}

fn add_findings(module: &Shared<'_>, entered: &Entered<'_, '_>, found: &mut Contention) {
    let is_global = |object: SharedObject| match object {
        SharedObject::Variable(symbol) => module.module.symbol(symbol).space == Space::Global,
        SharedObject::Parameter(_) => true,
    };
    let lost = lost_updates(entered).filter(|lost| is_global(lost.object));
    found.lost_updates.extend(lost);
    if let Some(body) = &module.module.function(entered.function).body {
        found
            .beside_atomics
            .extend(plain_beside_atomics(entered, body, is_global));
    }
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
fn numbers_read(module: &Shared<'_>, launches: &[Launch], functions: &[FunctionId]) -> Set {
    let bodies = functions
        .iter()
        .filter_map(|&id| Some((id, module.module.function(id).body.as_ref()?)));
    let read = bodies.clone().flat_map(|(_, body)| &body.values);
    let read = read.fold(Set::NONE, |all, value| match value {
        Value::Special(special) => all.with(numbers_of_special(*special).unwrap_or(Set::NONE)),
        _ => all,
    });
    // Threads may take their numbers from a counter.
    let has_counter = || bodies.clone().any(|(id, body)| uses_atomic(module, id, body));
    let read = match read.is_empty() && has_counter() {
        true => number::THREAD[0].with(number::BLOCK[0]),
        false => read,
    };
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

/// True if a function uses what an atomic returns.
fn uses_atomic(module: &Shared<'_>, function: FunctionId, body: &Body<'_>) -> bool {
    let mut atomics = body.instructions.iter().filter(|instruction| {
        matches!(instruction.op, Op::Access(access)
            if matches!(access.kind, AccessKind::Atomic | AccessKind::ReadModifyWrite))
    });
    atomics.any(|atomic| {
        let mut results = body.defined(atomic);
        results.any(|result| module.function(function).is_read(result))
    })
}
