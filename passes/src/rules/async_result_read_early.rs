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
//! A finding is definite. Either the thread that loads, or one that the code tells from others by its number, has certainly started the copy, to
//! bytes that certainly overlap what it loads, and on no way in between is a wait that can complete it; groups are counted by constants; on some ways
//! only, it is potential. A multicast copy brings bytes to the own CTA where its mask names all of the cluster; where the mask is not known, it is
//! potential. Or the variable is filled by nothing
//! but `cp.async` in the whole kernel, and no wait for those comes before the load at all. Waits in functions, by other threads with a barrier
//! behind, and copies under a condition that the load is not under make it silent.

use crate::analysis::asynchronous::{
    AddressSum, AsyncKernel, End, Flow, UnderWay, View, Ways, accessed, accesses_under_way, constant_bounds,
    constant_place, leads,
};
use crate::context::{ModuleContext, Place, Report};
use crate::ir::{
    AccessKind, AsyncOp, Asynchronous, Completion, CopyKind, CopyWay, FunctionId, InstructionId, MbarrierOp,
    Op, Space, SymbolId, TensorMemory,
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
    can_be_potential: true,
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
        for one in accesses_under_way(module, module.async_sizes(), id, End::Destination, reads) {
            found.push((id, one.access));
            self::one(module, id, &one, report);
        }
    }
    for kernel in module.asynchronous() {
        if !kernel.is_open && kernel.any(writes) {
            by_others(module, kernel, &mut found, report);
        }
    }
}

fn one(module: &ModuleContext<'_>, id: FunctionId, found: &UnderWay, report: &mut Report<'_>) {
    let copy = &found.copy;
    let noun = text::noun(copy.op);
    let message = format!("this reads what a {noun} brings, and nothing has waited for the copy");
    let Some(draft) = text::under_way(module, id, found, message, report) else {
        return;
    };
    draft.in_general("what asynchronous copies bring is read before anything has waited for them");
    draft.related(
        Place::Instruction(id, copy.instruction, Vec::new()),
        format!("the {noun}, still under way at the read"),
    );
    draft.help(HELP);
}

/// Variables that nothing but copies of one kind fills, and that are read before all waits for those.
fn by_others(
    module: &ModuleContext<'_>,
    kernel: &AsyncKernel,
    found: &mut Vec<(FunctionId, InstructionId)>,
    report: &mut Report<'_>,
) {
    let Some(copies) = filled_by_copies(module, kernel) else {
        return;
    };
    for &(id, copy, symbol) in &copies {
        let Some(body) = &module.module.function(id).body else {
            continue;
        };
        let waits: Vec<(FunctionId, InstructionId)> = kernel
            .operations
            .iter()
            .filter(|site| may_complete(copy.op, site.operation.op))
            .map(|site| (site.function, site.operation.instruction))
            .collect();
        if waits.iter().any(|(function, _)| *function != id) {
            continue;
        }
        let analyses = module.function(id);
        for (at, instruction) in body.iter() {
            let Op::Access(access) = instruction.op else {
                continue;
            };
            if !matches!(access.space, Space::Shared | Space::Generic)
                || access.kind != AccessKind::Load
                || accessed(module, id, at).and_then(|found| found.symbol) != Some(symbol)
                || found.contains(&(id, at))
            {
                continue;
            }
            let is_waited_for = waits
                .iter()
                .any(|&(_, wait)| !analyses.is_before(at, wait) || leads(body, wait, at, wait));
            let is_behind = leads(body, copy.instruction, at, at);
            if !is_waited_for
                && is_behind
                && is_filled(module, kernel, (id, &copy), (at, access.bytes().into()))
                && analyses.is_reached(at)
            {
                found.push((id, at));
                let found = UnderWay {
                    access: at,
                    copy,
                    thread: None,
                    is_elected: false,
                    ways: Ways::All,
                };
                one(module, id, &found, report);
            }
        }
    }
}

/// True for what may complete a copy, or tell that it is complete.
fn may_complete(copy: AsyncOp, op: AsyncOp) -> bool {
    let AsyncOp::Copy(copy) = copy else { return true };
    match op {
        AsyncOp::Wait { .. } | AsyncOp::Mbarrier(MbarrierOp::ArriveAfterCopies { .. }) => {
            copy.completion != Completion::Mbarrier
        }
        AsyncOp::Mbarrier(MbarrierOp::Wait { .. }) | AsyncOp::ClusterWait | AsyncOp::Unknown => {
            copy.completion == Completion::Mbarrier
        }
        _ => false,
    }
}

/// True if a load is of bytes that a copy brings: it is by some thread, for a bulk copy, behind a barrier that comes behind the copy; and a
/// `cp.async` is by all threads, to bytes of their own.
fn is_filled(
    module: &ModuleContext<'_>,
    kernel: &AsyncKernel,
    (id, copy): (FunctionId, &Asynchronous),
    (load, loaded): (InstructionId, i64),
) -> bool {
    let Some(destination) = copy.destination() else {
        return false;
    };
    if matches!(copy.op, AsyncOp::Copy(copy) if copy.kind == CopyKind::Element) {
        return constant_place(module, id, destination).is_none()
            && is_near(module, id, (load, loaded), copy);
    }
    let Some(bytes) = module.async_sizes().of(id, copy) else {
        return false;
    };
    let flow = Flow::new(module, kernel);
    let is_behind = |meeting| {
        flow.ordered(&[(id, copy.instruction)], meeting, (id, load))
            .is_some()
    };
    if !text::meetings(module, kernel).into_iter().any(is_behind) {
        return false;
    }
    View::all(module, id).iter().any(|view| {
        let bounds = |at| constant_bounds(view, at);
        let (Some((from, least, most)), Some((to, first, last))) = (bounds(load), bounds(destination)) else {
            return false;
        };
        let is_inside = least.saturating_add(loaded) > last && most < first.saturating_add_unsigned(bytes);
        from == to && is_inside && view.comes_to(load)
    })
}

/// False if a load is certainly of another part of the variable than all threads' copies fill.
fn is_near(
    module: &ModuleContext<'_>,
    id: FunctionId,
    (load, loaded): (InstructionId, i64),
    copy: &Asynchronous,
) -> bool {
    let (Some(view), Some(destination)) = (View::any(module, id), copy.destination()) else {
        return false;
    };
    let bounds = |at| constant_bounds(&view, at);
    let (Some((_, least, most)), Some((_, first, last))) = (bounds(load), bounds(destination)) else {
        return true;
    };
    let bytes = module.async_sizes().of(id, copy).unwrap_or(0);
    least < last.saturating_add_unsigned(bytes) && most.saturating_add(loaded) > first
}

/// The copies of a kernel that fill variables which nothing else writes; `None` where something is not known.
fn filled_by_copies(
    module: &ModuleContext<'_>,
    kernel: &AsyncKernel,
) -> Option<Vec<(FunctionId, Asynchronous, SymbolId)>> {
    let mut copies = Vec::new();
    let mut written = Vec::new();
    for site in &kernel.operations {
        let copy = match site.operation.op {
            AsyncOp::Copy(copy) => copy,
            // It writes the address of what it allocates.
            AsyncOp::TensorMemory(TensorMemory::Allocate) => {
                written.push(accessed(module, site.function, site.operation.destination()?)?.symbol?);
                continue;
            }
            _ => continue,
        };
        if !copy.writes_shared() {
            continue;
        }
        let symbol = accessed(module, site.function, site.operation.destination()?)?.symbol?;
        let is_from_here = matches!(copy.kind, CopyKind::Element | CopyKind::Bulk | CopyKind::Tensor);
        if is_from_here && copy.way == CopyWay::GlobalToShared && !copy.multicast {
            copies.push((site.function, site.operation, symbol));
        } else {
            written.push(symbol);
        }
    }
    for &id in &kernel.functions {
        let body = module.module.function(id).body.as_ref()?;
        let view = View::any(module, id)?;
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
            if access.space == Space::Generic
                && AddressSum::of(&view, at).is_some_and(|address| address.is_of_kernel_param(&view))
            {
                continue;
            }
            let found = accessed(module, id, at)?;
            if matches!(found.space, Space::Shared | Space::SharedCluster) {
                written.push(found.symbol?);
            }
        }
    }
    // One that both kinds fill is waited for by either.
    let of_other_kind = |(_, copy, symbol): &(FunctionId, Asynchronous, SymbolId)| {
        let kind =
            |one: &Asynchronous| matches!(one.op, AsyncOp::Copy(copy) if copy.kind == CopyKind::Element);
        copies
            .iter()
            .any(|(_, other, name)| name == symbol && kind(other) != kind(copy))
    };
    let is_mixed: Vec<bool> = copies.iter().map(of_other_kind).collect();
    let mut is_mixed = is_mixed.into_iter();
    copies.retain(|(.., symbol)| is_mixed.next() == Some(false) && !written.contains(symbol));
    Some(copies)
}
