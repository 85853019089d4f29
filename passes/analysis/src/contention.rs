//! Accesses of several threads to one place in global memory that nothing orders.
//!
//! * `origin` describes values: the thread numbers, the data and the object that they are computed from; `summary` does so for the results
//!   of functions.
//! * `shape_numbers` recognises two computations of one address, and `execution` the comparisons that choose the threads.
//! * `facts` collects stores, atomics and calls of a function, `contexts` adds what the callers pass and which threads call.
//! * `updates` finds stores that may be lost, and `plain_beside_atomics` plain accesses to what atomics change.

mod contexts;
mod execution;
mod facts;
mod origin;
mod plain_beside_atomics;
mod shape_numbers;
mod summary;
mod updates;

use rustc_hash::FxHashSet;

use self::contexts::{Entered, Kernel};
pub use self::contexts::{KernelLaunch, SharedObject};
use self::facts::{AllFacts, facts_of};
use self::origin::{Origin, SmallSet, number, numbers_of_special, property};
pub use self::plain_beside_atomics::PlainBesideAtomic;
use self::plain_beside_atomics::plain_accesses_beside_atomics;
use self::summary::{Summaries, origin_evaluator};
use self::updates::lost_updates;
pub use self::updates::{LostUpdate, UpdateKind, Writers};
use crate::lanes::{Launch, launches_of};
use crate::limits::MAX_CONTENTION_INSTRUCTIONS;
use crate::shared::Shared;
use ptxcheck_ir::ops::Form;
use ptxcheck_ir::{
    AccessKind, BinaryOp, Body, Condition, FunctionId, InstructionId, Op, Register, Scope, Space, SymbolId,
    Value,
};

/// The accesses of a module that nothing orders, each in the order of the input.
#[derive(Debug, Default)]
pub struct Contention {
    /// Stores that may be lost.
    pub lost_updates: Vec<LostUpdate>,
    /// Plain accesses to what atomics change.
    pub beside_atomics: Vec<PlainBesideAtomic>,
}

/// The accesses of a module that nothing orders.
pub(crate) fn find_contention(module: &Shared<'_>) -> Contention {
    let summaries = Summaries::new(module);
    let result_of = |symbol: SymbolId, arguments: &[Option<Origin>]| summaries.result_of(symbol, arguments);
    let mut facts = AllFacts::default();
    let mut found = Contention::default();
    for (id, function, _) in module.module.bodies() {
        if !function.is_kernel() || function.is_damaged {
            continue;
        }
        let functions = kernel_and_callees(module, id);
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
        let numbers = thread_numbers_read_by(module, &launches, &functions);
        let kernel = Kernel {
            id,
            numbers,
            launch: KernelLaunch {
                block,
                blocks: number::BLOCK.map(|block| numbers.intersects(block)),
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
            .extend(plain_accesses_beside_atomics(entered, body, is_global));
    }
}

/// True if threads of a block may have different values where an instruction reads one.
pub(crate) fn varies_in_block(
    module: &Shared<'_>,
    function: FunctionId,
    value: Value,
    reader: InstructionId,
) -> bool {
    let Some(body) = &module.module.function(function).body else {
        return true;
    };
    let result_of = |_: SymbolId, _: &[Option<Origin>]| None;
    let mut origins = origin_evaluator(module, function, body, &result_of);
    let varies = property::VARIES_IN_BLOCK.union(property::UNCLEAR);
    origins.description_at_read(value, reader).is_none_or(|origin| {
        origin.variance().intersects(property::VARIES_IN_BLOCK)
            || origin.has_property(varies)
            || origin.arguments != 0
    })
}

/// A kernel and the functions that it calls, each after its callers unless they call each other.
fn kernel_and_callees(module: &Shared<'_>, kernel: FunctionId) -> Vec<FunctionId> {
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

/// True if a function does nothing with the number of a block but compare it with constants for equality: no block has a part of the work
/// of its own, and the kernel is meant for one.
fn only_compares_block_number(body: &Body<'_>, numbers_of: impl Fn(&Value) -> SmallSet) -> bool {
    let mut of_block: FxHashSet<Register> = FxHashSet::default();
    loop {
        let known = of_block.len();
        for instruction in &body.instructions {
            let uses = body.uses(instruction);
            let is_of_block = |value: &Value| {
                numbers_of(value).intersects(number::OF_BLOCK)
                    || value
                        .register()
                        .is_some_and(|register| of_block.contains(&register))
            };
            if !uses.iter().any(is_of_block) {
                continue;
            }
            match instruction.op {
                // `blockIdx.x == 0 && threadIdx.x == 0` is `(blockIdx.x | threadIdx.x) == 0`.
                _ if Form::of(instruction.op, uses).moved().is_some() => {
                    of_block.extend(body.defined(instruction));
                }
                Op::Binary(BinaryOp::Or, _) => of_block.extend(body.defined(instruction)),
                Op::Compare(Condition::Equal | Condition::NotEqual, ..)
                    if uses.iter().any(|value| matches!(value, Value::Integer(_))) => {}
                _ => return false,
            }
        }
        if of_block.len() == known {
            return true;
        }
    }
}

/// The thread and block numbers that a kernel reads and that differ among the threads of its launches.
fn thread_numbers_read_by(module: &Shared<'_>, launches: &[Launch], functions: &[FunctionId]) -> SmallSet {
    let bodies = functions
        .iter()
        .filter_map(|&id| Some((id, module.module.function(id).body.as_ref()?)));
    let numbers_of = |value: &Value| match value {
        Value::Special(special) => numbers_of_special(*special).unwrap_or(SmallSet::NONE),
        _ => SmallSet::NONE,
    };
    let read = bodies.clone().flat_map(|(_, body)| &body.values);
    let read = read.fold(SmallSet::NONE, |all, value| all.union(numbers_of(value)));
    // Threads may take their numbers from a counter.
    let has_counter = || {
        bodies
            .clone()
            .any(|(id, body)| uses_atomic_result(module, id, body))
    };
    let only_picks = || {
        bodies
            .clone()
            .all(|(_, body)| only_compares_block_number(body, numbers_of))
    };
    // An atomic that is not among the threads of a block is meant for several blocks.
    let has_atomic = || {
        bodies
            .clone()
            .any(|(id, body)| has_grid_wide_atomic(module, id, body))
    };
    let read = match read.intersects(number::OF_BLOCK) && only_picks() && !has_atomic() {
        true => read.difference(number::OF_BLOCK),
        false => read,
    };
    let read = match read.is_empty() && has_counter() {
        true => number::THREAD[0].union(number::BLOCK[0]),
        false => read,
    };
    let has_one = |dimension: usize| {
        let mut shapes = launches.iter().map(|launch| launch.shape);
        shapes.all(|shape| shape.is_some_and(|sides| sides[dimension] == 1))
    };
    let is_single = (0..3).all(has_one);
    let all = if is_single {
        read.difference(number::OF_THREAD)
    } else {
        read
    };
    (0..3).fold(all, |all, dimension| match has_one(dimension) {
        true => all.difference(number::THREAD[dimension]),
        false => all,
    })
}

/// True if a function has an atomic that is neither to shared memory, as far as is known, nor among the threads of a block.
fn has_grid_wide_atomic(module: &Shared<'_>, function: FunctionId, body: &Body<'_>) -> bool {
    body.instructions.iter().any(|instruction| {
        let (Op::Access(access), &[address, ..]) = (instruction.op, body.uses(instruction)) else {
            return false;
        };
        let is_shared = || {
            let variable = module.function(function).variable_and_distance(address);
            access.space == Space::Shared
                || variable.is_some_and(|(symbol, _)| module.module.symbol(symbol).space == Space::Shared)
        };
        access.kind.is_atomic() && access.scope > Scope::Cta && !is_shared()
    })
}

/// True if a function uses what an atomic returns.
fn uses_atomic_result(module: &Shared<'_>, function: FunctionId, body: &Body<'_>) -> bool {
    let mut atomics = body.instructions.iter().filter(|instruction| {
        matches!(instruction.op, Op::Access(access)
            if matches!(access.kind, AccessKind::Atomic | AccessKind::ReadModifyWrite))
    });
    atomics.any(|atomic| {
        let mut results = body.defined(atomic);
        results.any(|result| module.function(function).is_read(result))
    })
}
