//! Search for launches and values of parameters with which threads use shared memory while an asynchronous copy does: a client of the search
//! for exchanges.
//!
//! ```text
//! accesses to shared memory, and copies out of it     in the kernel and what it calls
//!   ─► runs of one block      ptxcheck_machine::Asynchronous::firsts
//!   ─► ConditionalCopyFailure
//! ```
//!
//! As for threads that wait for ever, the machine has to know what the kernel does with its barriers, and nothing that a caller passes may be
//! an address, a size, or a parity there. In a kernel with volatile accesses, or with accesses that order others, threads may know by those
//! that a copy is complete.

use super::copy_failure::{KINDS, object_of};
use super::exchange_runs::{Among, Made, Wanted};
use super::hangs::{bodies_of, is_searchable, operations_of};
use super::kernel_search::Searched;
use super::pair_search::search;
use super::witness::{Witness, WitnessRun};
use crate::analysis::ModuleAnalyses;
use crate::analysis::lanes::{Object, PairKind, Site};
use crate::assumptions::Assumptions;
use crate::ir::{AccessKind, AsyncKinds, AsyncOp, Body, FunctionId, InstructionId, Op, Space};
use crate::limits::MAX_COPY_ACCESSES;
use ptxcheck_machine::{AsyncFailure, AsyncWrong};

/// Threads that fail about asynchronous copies, with a witness.
pub struct ConditionalCopyFailure {
    /// The kernel.
    pub kernel: FunctionId,
    /// The failures of one kind: the first is that of the witness, the others have witnesses of their own.
    pub failures: Vec<AsyncFailure>,
    /// The launch and the values with which a thread fails.
    pub witness: Witness,
    /// A run with it.
    pub run: WitnessRun,
}

/// Searches for witnesses of failures of a module about asynchronous copies.
#[must_use]
pub fn search_copy_failures(
    module: &ModuleAnalyses<'_>,
    assumptions: &Assumptions,
) -> Searched<ConditionalCopyFailure> {
    let mut possible = Vec::new();
    let has_copies = |body: &Body<'_>| body.has_async(AsyncKinds::COPY);
    if module.module.bodies().any(|(.., body)| has_copies(body)) {
        let kernels = module
            .module
            .bodies()
            .filter(|(_, function, _)| function.is_kernel());
        for (kernel, ..) in kernels {
            let wanted = accesses_of(module, kernel).unwrap_or_default();
            possible.push((kernel, module.common_launch(kernel), wanted));
        }
    }
    search(
        module,
        assumptions,
        Among::Copies,
        possible,
        |(kernel, _), shown| {
            let failures = shown.pairs.into_iter().filter_map(Made::into_copy_failure);
            ConditionalCopyFailure {
                kernel,
                failures: failures.collect(),
                witness: shown.witness,
                run: shown.run,
            }
        },
    )
}

/// What may fail in a kernel; `None` if the machine does not know all that it does with copies, or there is too much.
fn accesses_of(module: &ModuleAnalyses<'_>, kernel: FunctionId) -> Option<Vec<Wanted>> {
    let operations = operations_of(module, kernel, |_| true)?;
    if !is_searchable(module, &operations) {
        return None;
    }
    let mut wanted = Vec::new();
    let mut has_copies = false;
    for (function, body, callers) in bodies_of(module, kernel)? {
        has_copies |= body.has_async(AsyncKinds::COPY);
        for (id, ..) in body.iter() {
            for wrong in possible_failures(body, id)? {
                let site = Site {
                    function,
                    instruction: id,
                    callers: callers.clone(),
                };
                wanted.push(wanted_failure(site, object_of(wrong)));
            }
        }
        if wanted.len() > MAX_COPY_ACCESSES {
            return None;
        }
    }
    has_copies.then_some(wanted)
}

fn wanted_failure(site: Site, object: Object) -> Wanted {
    Wanted {
        object,
        other: site.clone(),
        write: site,
        kind: PairKind::TwoWrites,
        above: 0,
        contended: None,
    }
}

/// The ways in which an instruction may fail; `None` for one by which threads may know that a copy is complete, in a way that the machine
/// does not follow.
fn possible_failures(body: &Body<'_>, id: InstructionId) -> Option<Vec<AsyncWrong>> {
    let [early, overwritten, unfenced] = KINDS;
    if let Some(one) = body.asynchronous_at(id) {
        return Some(match one.op {
            AsyncOp::Copy(copy) if copy.reads_shared() => vec![early, unfenced],
            AsyncOp::Copy(copy) if copy.writes_shared() => vec![overwritten],
            _ => Vec::new(),
        });
    }
    let Op::Access(access) = body.instruction(id).op else {
        return Some(Vec::new());
    };
    let may_be_shared = matches!(access.space, Space::Shared | Space::Generic);
    if access.is_volatile() || access.is_ordering() || may_be_shared && access.kind.is_atomic() {
        return None;
    }
    Some(match access.kind {
        AccessKind::Load if may_be_shared => vec![early],
        AccessKind::Store if may_be_shared => vec![overwritten],
        _ => Vec::new(),
    })
}
