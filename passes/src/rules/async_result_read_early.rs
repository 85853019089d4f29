//! ## What it does
//!
//! Finds loads of shared memory that an asynchronous copy fills, where nothing has waited for the copy.
//!
//! ## Why is this bad?
//!
//! A copy goes on while its thread does other things. What it brings may be read once the thread has waited for it in the way that
//! the copy completes by, and by other threads once they have waited for that thread (PTX ISA, Completion Mechanisms for asynchronous
//! copy operations):
//!
//! | copy | the thread that started it waits by |
//! | --- | --- |
//! | `cp.async` | `cp.async.wait_group n` for its group, `cp.async.wait_all`, or an mbarrier that tracks it |
//! | bulk and tensor copies to shared memory | a wait at their mbarrier, by any thread |
//!
//! A barrier of the block is no such wait: it makes threads wait for threads, not for copies. And `wait_group n` leaves the last `n`
//! groups under way: a pipeline of two stages that waits with 1 may read the first stage, not the second.
//!
//! ## Example
//!
//! ```cuda
//! __pipeline_memcpy_async(&tile[threadIdx.x], &in[i], sizeof(int));
//! __pipeline_commit();
//! __syncthreads();                        // waits for threads alone
//! int left = tile[threadIdx.x - 1];
//! ```
//!
//! ## Use instead
//!
//! ```cuda
//! __pipeline_memcpy_async(&tile[threadIdx.x], &in[i], sizeof(int));
//! __pipeline_commit();
//! __pipeline_wait_prior(0);               // each thread waits for its own copies,
//! __syncthreads();                        // and then for the other threads
//! int left = tile[threadIdx.x - 1];
//! ```
//!
//! The first is [Fuser#3438](https://github.com/NVIDIA/Fuser/issues/3438); too few stages are waited for in
//! [csarofeen/pytorch#2457](https://github.com/csarofeen/pytorch/pull/2457) and
//! [tilelang#2505](https://github.com/tile-ai/tilelang/issues/2505).
//!
//! ## Limits
//!
//! A finding is definite. Either the thread that loads has certainly started the copy, to bytes at a constant distance from what it
//! loads, and on no way in between is a wait that can complete it; groups are counted by constants. Or the variable is filled by nothing
//! but `cp.async` in the whole kernel, and no wait for those comes before the load at all. Waits in functions, by other threads with a barrier
//! behind, and copies under a condition that the load is not under make it silent.

use crate::analysis::Analyses;
use crate::analysis::asynchronous::{
    AsyncKernel, End, Pending, SpotBase, accessed, accesses_under_way, leads, spot,
};
use crate::context::{ModuleContext, Place, Report};
use crate::ir::{
    AccessKind, AsyncOp, Asynchronous, Body, CopyKind, FunctionId, InstructionId, MbarrierOp, Op, Space,
    SymbolId,
};
use crate::rule::{Check, Family, Level, Rule};
use crate::support::asynchronous as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX702",
    name: "async-result-read-early",
    aliases: &[],
    guidelines: &[],
    family: Family::Async,
    summary: "what an asynchronous copy brings is read before anything has waited for it",
    definite: Level::Error,
    can_be_definite: true,
    can_be_potential: false,
    check: Check::Module(check),
};

/// The way to mend it.
const HELP: &str = "wait for the copy in the thread that started it, then at a barrier for the other threads";

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    let writes = |op| matches!(op, AsyncOp::Copy(copy) if copy.writes_shared());
    if !module.asynchronous().iter().any(|kernel| kernel.any(writes)) {
        return;
    }
    let reads = |kind| matches!(kind, AccessKind::Load | AccessKind::Atomic);
    let mut found: Vec<(FunctionId, InstructionId)> = Vec::new();
    for (id, function, body) in module.module.bodies() {
        if function.is_damaged || module.deadline.is_over_at_step() || body.asynchronous.is_empty() {
            continue;
        }
        let Some(pending) = Pending::new(body) else {
            continue;
        };
        let sizes = module.async_sizes();
        for (load, copy) in accesses_under_way(module, sizes, (id, body), &pending, End::Destination, reads) {
            found.push((id, load));
            one(id, (load, copy), report);
        }
    }
    for kernel in module.asynchronous() {
        if !kernel.is_open && kernel.any(is_element) {
            by_others(module, kernel, &mut found, report);
        }
    }
}

const fn is_element(op: AsyncOp) -> bool {
    matches!(op, AsyncOp::Copy(copy) if matches!(copy.kind, CopyKind::Element))
}

fn one(id: FunctionId, (load, copy): (InstructionId, Asynchronous), report: &mut Report<'_>) {
    let noun = text::noun(copy.op);
    let message = format!("this reads what a {noun} brings, and nothing has waited for the copy");
    let draft = report.definite(Place::Instruction(id, load, Vec::new()), message);
    draft.in_general("what asynchronous copies bring is read before anything has waited for them");
    draft.related(
        Place::Instruction(id, copy.instruction, Vec::new()),
        format!("the {noun}, still under way at the read"),
    );
    draft.help(HELP);
}

/// Variables that nothing but `cp.async` fills, and that are read before all waits for those.
fn by_others(
    module: &ModuleContext<'_>,
    kernel: &AsyncKernel,
    found: &mut Vec<(FunctionId, InstructionId)>,
    report: &mut Report<'_>,
) {
    let Some(copies) = filled_by_copies(module, kernel) else {
        return;
    };
    let waits: Vec<(FunctionId, InstructionId)> = kernel
        .operations
        .iter()
        .filter(|site| {
            matches!(
                site.operation.op,
                AsyncOp::Wait { .. } | AsyncOp::Mbarrier(MbarrierOp::ArriveAfterCopies { .. })
            )
        })
        .map(|site| (site.function, site.operation.instruction))
        .collect();
    for &(id, copy, symbol) in &copies {
        let Some(body) = &module.module.function(id).body else {
            continue;
        };
        if waits.iter().any(|(function, _)| *function != id) {
            return;
        }
        let analyses = module.function(id);
        for (at, instruction) in body.iter() {
            let is_read = matches!(instruction.op, Op::Access(access)
                if access.space == Space::Shared && access.kind == AccessKind::Load);
            if !is_read
                || accessed(module, id, at).and_then(|found| found.symbol) != Some(symbol)
                || found.contains(&(id, at))
            {
                continue;
            }
            let is_waited_for = waits
                .iter()
                .any(|&(_, wait)| !analyses.is_before(at, wait) || leads(body, wait, at, wait));
            let is_behind = leads(body, copy.instruction, at, at);
            if !is_waited_for && is_behind && is_by_thread(body, analyses, &copy) && analyses.is_reached(at) {
                found.push((id, at));
                one(id, (at, copy), report);
            }
        }
    }
}

/// False if a copy fills the same bytes in all threads: a load may be of others.
fn is_by_thread(body: &Body<'_>, analyses: &Analyses<'_>, copy: &Asynchronous) -> bool {
    let base = copy.destination().and_then(|at| spot(body, analyses, at));
    !matches!(base.map(|spot| spot.base), Some(SpotBase::Symbol(_)))
}

/// The `cp.async` of a kernel that fill variables which nothing else writes; `None` where something is not known.
fn filled_by_copies(
    module: &ModuleContext<'_>,
    kernel: &AsyncKernel,
) -> Option<Vec<(FunctionId, Asynchronous, SymbolId)>> {
    let mut copies = Vec::new();
    let mut written = Vec::new();
    for site in &kernel.operations {
        let AsyncOp::Copy(copy) = site.operation.op else {
            continue;
        };
        if !copy.writes_shared() {
            continue;
        }
        let symbol = accessed(module, site.function, site.operation.destination()?)?.symbol?;
        if copy.kind == CopyKind::Element {
            copies.push((site.function, site.operation, symbol));
        } else {
            written.push(symbol);
        }
    }
    for &id in &kernel.functions {
        let body = module.module.function(id).body.as_ref()?;
        for (at, instruction) in body.iter() {
            let Op::Access(access) = instruction.op else {
                continue;
            };
            let is_elsewhere = matches!(
                access.space,
                Space::Global | Space::Local | Space::Param | Space::Const | Space::Tensor
            );
            if is_elsewhere || matches!(access.kind, AccessKind::Load | AccessKind::Other) {
                continue;
            }
            let found = accessed(module, id, at)?;
            if matches!(found.space, Space::Shared | Space::SharedCluster) {
                written.push(found.symbol?);
            }
        }
    }
    copies.retain(|(.., symbol)| !written.contains(symbol));
    Some(copies)
}
