//! Search for launches and values of parameters with which threads of a block wait for ever at a barrier with a count, or for a phase of a
//! barrier in memory: a client of the search for exchanges.
//!
//! ```text
//! operations on barriers with a count, and on barriers in memory     in the kernel and what it calls
//!   ─► runs of one block      ptxcheck_machine::Outcome::hang
//!   ─► ConditionalHang
//! ```
//!
//! The block is known: it is stated or required, host code shows it, or it is the largest that the bounds of the kernel allow, and no smaller one
//! ends. Nothing else is searched where another block of the cluster may arrive at the barriers, or where the machine does not know what the
//! kernel does with them. No value that a caller chooses is a count, a number of bytes, an address or a parity; of several
//! parameters that decide whether threads reach barriers, those that decide about one operation are among those that decide
//! about another: else they may belong together, as a size and a number of tiles do, and no caller passes others.

use std::collections::BTreeSet;

use super::exchange_runs::{Among, Made, Wanted};
use super::hang::FoundHang;
use super::inputs::{InputSearch, Piece};
use super::kernel_search::Searched;
use super::pair_search::search;
use super::witness::{Witness, WitnessRun};
use crate::analysis::ModuleAnalyses;
use crate::analysis::call_graph::CallSite;
use crate::analysis::lanes::{Object, PairKind, Site};
use crate::assumptions::Assumptions;
use crate::ir::{
    AsyncKinds, AsyncOp, Asynchronous, Body, Completion, CopyKind, CopyWay, FunctionId, InstructionId,
    MbarrierOp, Op, TensorMemory, Value,
};
use crate::limits::{MAX_PROTOCOL_DEPTH, MAX_PROTOCOL_OPERATIONS};

/// Threads that wait for ever, with a witness.
pub struct ConditionalHang {
    /// The kernel.
    pub kernel: FunctionId,
    /// The threads, and what they wait for.
    pub hang: FoundHang,
    /// The launch and the values with which they do.
    pub witness: Witness,
    /// A run with it.
    pub run: WitnessRun,
}

/// Searches for witnesses of threads of a module that wait for ever.
#[must_use]
pub fn search_hangs(module: &ModuleAnalyses<'_>, assumptions: &Assumptions) -> Searched<ConditionalHang> {
    let mut possible = Vec::new();
    if module.module.bodies().any(|(.., body)| has_waits(body)) {
        for (kernel, ..) in module
            .module
            .bodies()
            .filter(|(_, function, _)| function.is_kernel())
        {
            let operations = operations_of(module, kernel, |one| one.is_wait);
            let operations = operations.filter(|all| is_searchable(module, all));
            let wanted = operations.into_iter().flatten().map(|one| Wanted {
                object: Object::Part(0),
                write: one.site.clone(),
                other: one.site,
                kind: PairKind::TwoWrites,
                above: 0,
                contended: None,
            });
            possible.push((kernel, module.common_launch(kernel), wanted.collect()));
        }
    }
    let found = search(
        module,
        assumptions,
        Among::Protocol,
        possible,
        |(kernel, _), shown| {
            let hang = shown.pairs.into_iter().find_map(Made::into_hang);
            (kernel, hang, shown.witness, shown.run)
        },
    );
    let findings = found.findings.into_iter();
    let findings = findings.filter_map(|(kernel, hang, witness, run)| {
        Some(ConditionalHang {
            kernel,
            hang: hang?,
            witness,
            run,
        })
    });
    Searched {
        findings: findings.collect(),
        cut: found.cut,
    }
}

/// An operation on a barrier with a count, or on a barrier in memory.
pub(super) struct Operation {
    site: Site,
    /// Its counts, bytes, addresses and parities.
    values: Vec<Value>,
    is_wait: bool,
}

/// True for a body in which threads wait at a barrier with a count, or for a phase.
fn has_waits(body: &Body<'_>) -> bool {
    let is_wait = |one: &Asynchronous| matches!(one.op, AsyncOp::Mbarrier(MbarrierOp::Wait { .. }));
    let is_counted =
        |op: &Op| matches!(op, Op::Barrier(barrier) if barrier.counted && barrier.waits && !barrier.cluster);
    body.has_async(AsyncKinds::MBARRIER) && body.asynchronous.iter().any(is_wait)
        || body
            .instructions
            .iter()
            .any(|instruction| is_counted(&instruction.op))
}

/// The operations of a kernel and what it calls; `None` if there are too many, or another block of the cluster may take part, or the machine
/// does not know what some of them do.
pub(super) fn operations_of(
    module: &ModuleAnalyses<'_>,
    kernel: FunctionId,
    is_needed: fn(&Operation) -> bool,
) -> Option<Vec<Operation>> {
    let mut operations = Vec::new();
    for (function, body, callers) in bodies_of(module, kernel)? {
        add_operations(&mut operations, body, (function, &callers))?;
        if operations.len() > MAX_PROTOCOL_OPERATIONS {
            return None;
        }
    }
    (operations.is_empty() || operations.iter().any(is_needed)).then_some(operations)
}

/// The bodies of a kernel and of what it calls, once for each chain of calls; `None` if there are too many or one is damaged.
pub(super) fn bodies_of<'a, 'm>(
    module: &'a ModuleAnalyses<'m>,
    kernel: FunctionId,
) -> Option<Vec<(FunctionId, &'a Body<'m>, Vec<CallSite>)>> {
    let mut bodies = Vec::new();
    let mut open: Vec<(FunctionId, Vec<CallSite>)> = vec![(kernel, Vec::new())];
    let mut contexts = 0;
    while let Some((function, callers)) = open.pop() {
        contexts += 1;
        let known = module.module.function(function);
        if contexts > MAX_PROTOCOL_OPERATIONS || callers.len() > MAX_PROTOCOL_DEPTH || known.is_damaged {
            return None;
        }
        // What calls of functions that are not here do, the machine asks the world.
        let Some(body) = known.body.as_ref() else {
            continue;
        };
        for &call in module.call_graph().calls_of(function) {
            let mut callers = callers.clone();
            callers.insert(0, call);
            open.push((call.callee, callers));
        }
        bodies.push((function, body, callers));
    }
    Some(bodies)
}

/// Adds the operations of a body that is called so; `None` if the machine does not model one.
fn add_operations(
    operations: &mut Vec<Operation>,
    body: &Body<'_>,
    (function, callers): (FunctionId, &[CallSite]),
) -> Option<()> {
    if body.has_async(AsyncKinds::UNKNOWN) {
        return None;
    }
    let mut add = |instruction: InstructionId, values: Vec<Value>, is_wait| {
        let site = Site {
            function,
            instruction,
            callers: callers.to_vec(),
        };
        operations.push(Operation {
            site,
            values,
            is_wait,
        });
    };
    for (id, instruction) in body.iter() {
        match instruction.op {
            // Another block's memory.
            Op::MapShared(_) => return None,
            Op::Barrier(barrier) if barrier.counted && !barrier.cluster => {
                add(id, body.uses(instruction).to_vec(), barrier.waits);
            }
            _ => {}
        }
    }
    for one in &body.asynchronous {
        let first = body.instruction(one.instruction);
        match one.op {
            AsyncOp::Mbarrier(MbarrierOp::ArriveAfterProducts) if one.values.mask.is_some() => return None,
            AsyncOp::Mbarrier(op) => {
                let is_wait = matches!(op, MbarrierOp::Wait { .. });
                add(one.instruction, body.uses(first).to_vec(), is_wait);
            }
            AsyncOp::Copy(copy) if copy.completion == Completion::Mbarrier => {
                let is_known =
                    copy.kind == CopyKind::Bulk && copy.way == CopyWay::GlobalToShared && !copy.multicast;
                let barrier = one.barrier().filter(|_| is_known)?;
                let mut values: Vec<Value> = body.uses(body.instruction(barrier)).to_vec();
                values.extend(body.async_value(one, one.values.bytes));
                add(one.instruction, values, false);
            }
            AsyncOp::TensorMemory(TensorMemory::Allocate { pair: true }) => return None,
            _ => {}
        }
    }
    Some(())
}

/// True if a run with values that the search makes up shows what the kernel does with values that callers pass.
pub(super) fn is_searchable(module: &ModuleAnalyses<'_>, operations: &[Operation]) -> bool {
    let mut deciding: Vec<BTreeSet<Piece>> = Vec::new();
    for one in operations {
        let mut search = InputSearch::new(module).with_all_stores();
        search.add_values(&one.site, &one.values);
        if !search.is_complete() || search.finish().len() > 0 {
            return false;
        }
        let mut search = InputSearch::new(module).with_all_stores();
        search.add(&one.site);
        search.add_controls(&one.site);
        if !search.is_complete() {
            return false;
        }
        deciding.push(search.finish().params);
    }
    deciding.sort_by_key(BTreeSet::len);
    deciding.windows(2).all(|pair| pair[0].is_subset(&pair[1]))
}
