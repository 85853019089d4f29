//! ## What it does
//!
//! Finds kernels that write shared memory by ordinary stores and have a bulk copy or a tensor core read it, without a fence between
//! the two ways to memory.
//!
//! ## Why is this bad?
//!
//! A thread's loads and stores go to memory by one way, and copies that the hardware makes by itself by another. PTX calls such a way a
//! *proxy*: ordinary accesses are in the generic proxy, and bulk and tensor copies (TMA) and the operands that `wgmma` and `tcgen05.mma` read
//! from shared memory are in the async proxy. Each sees its own accesses in order. What one wrote, the other sees only behind a
//! *proxy fence* (PTX ISA, Async Proxy); until then the copy may send bytes from before the store. Barriers order threads, not
//! proxies: a `__syncthreads()` or a `__threadfence()` in between does not help, and neither does `fence.proxy.async.global`, which is about another
//! memory. In the machine code the fence is an instruction of its own, which nothing puts there if the source has none.
//!
//! | written by | read by | needs |
//! | --- | --- | --- |
//! | stores, atomics | bulk or tensor copy out of shared memory | `fence.proxy.async.shared::cta` |
//! | stores, atomics | `wgmma`, `tcgen05.mma`, `tcgen05.cp` | the same |
//! | bulk or tensor copy | loads, once the wait has completed | nothing: the completion is a fence |
//! | bulk or tensor copy | another one, once the wait has completed | nothing |
//! | `mbarrier.init` | a copy that names the barrier | nothing: it is accessed in the generic proxy |
//!
//! ## Example
//!
//! ```cuda
//! tile[threadIdx.x] = value;
//! __syncthreads();
//! if (threadIdx.x == 0)
//!     cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared, out, tile, sizeof tile);
//! ```
//!
//! ## Use instead
//!
//! Each thread that wrote puts a fence behind its stores, then all wait, then one sends:
//!
//! ```cuda
//! tile[threadIdx.x] = value;
//! cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
//! __syncthreads();
//! if (threadIdx.x == 0)
//!     cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared, out, tile, sizeof tile);
//! ```
//!
//! Defects of this kind: [FlashKDA#24](https://github.com/MoonshotAI/FlashKDA/pull/24) and
//! [#25](https://github.com/MoonshotAI/FlashKDA/pull/25), where all threads store and one sends behind a `__syncthreads()`;
//! [sglang#39124](https://github.com/sgl-project/sglang/pull/39124), where a tile is widened by stores and read by tensor cores;
//! [ao#4278](https://github.com/pytorch/ao/pull/4278), about the order of fence and barrier.
//!
//! ## Limits
//!
//! A finding is definite: the kernel, with all that it calls, has no fence that covers shared memory, neither by itself nor as part of
//! anything that is not known, and nothing in it but ordinary stores writes shared memory, so what is read can only come from those. A
//! barrier or another `.sync` operation stands between a store and the copy, or the thread that copies has stored itself.
//! Or the thread that copies has certainly stored bytes of what it sends, and from there to the copy is no fence, no wait but that of a barrier,
//! and nothing else that writes. Else any fence makes it silent, whoever executes it and wherever it stands. So does any other writer: a bulk load, a copy from another CTA,
//! `st.async`, and `cp.async`, about which production code and the text of the PTX ISA disagree. So does a call of a function that is not
//! there, or through a pointer. Where copies write shared memory, too, and no fence is anywhere, stores before a copy out of an object that may be theirs
//! are a potential finding. Ordinary *reads* before an asynchronous write are not looked at.

use crate::analysis::asynchronous::{AsyncKernel, AsyncSite, Flow, accessed, leads};
use crate::context::{Draft, ModuleContext, Place, Report};
use crate::ir::{AccessKind, AsyncOp, FunctionId, InstructionId, MbarrierOp, Op, Space};
use crate::rule::{Check, Family, Level, Rule};
use crate::support::asynchronous as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX701",
    name: "proxy-fence-missing",
    aliases: &[],
    guidelines: &[],
    family: Family::Async,
    summary: "the hardware reads shared memory that ordinary stores wrote, with no proxy fence in between",
    definite: Level::Error,
    can_be_definite: true,
    can_be_potential: true,
    check: Check::Module(check),
};

/// The way to mend it.
const HELP: &str = "put `fence.proxy.async.shared::cta` behind the stores, by each thread that makes them, and a barrier behind the fence";

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for kernel in module.asynchronous() {
        if kernel.is_open || !kernel.any(reads) {
            continue;
        }
        if kernel.any(orders_or_writes) {
            if !in_between(module, kernel, report) && !kernel.any(is_fence) {
                perhaps(module, kernel, report);
            }
        } else {
            nowhere(module, kernel, report);
        }
    }
}

/// True for fences over shared memory, and for operations that write it and are no ordinary stores.
const fn orders_or_writes(op: AsyncOp) -> bool {
    match op {
        AsyncOp::Copy(copy) => copy.writes_shared(),
        AsyncOp::Unknown => true,
        _ => is_fence(op),
    }
}

/// True for fences over shared memory.
const fn is_fence(op: AsyncOp) -> bool {
    matches!(op, AsyncOp::ProxyFence(fence) if fence.shared)
}

/// True for operations that read shared memory through the async proxy.
const fn reads(op: AsyncOp) -> bool {
    match op {
        AsyncOp::Copy(copy) => copy.reads_shared(),
        AsyncOp::Matrix(_) => true,
        _ => false,
    }
}

/// A kernel without any fence, in which only ordinary stores write shared memory.
fn nowhere(module: &ModuleContext<'_>, kernel: &AsyncKernel, report: &mut Report<'_>) {
    let readers = kernel.operations.iter().filter(|site| reads(site.operation.op));
    let mut known = None;
    for reader in readers.filter(|site| text::is_reached(module, site)) {
        let (stores, meetings) =
            known.get_or_insert_with(|| (stores_of(module, kernel), meetings_of(module, kernel)));
        let flow = Flow::new(module, kernel);
        let at = (reader.function, reader.operation.instruction);
        // Where neither orders the two, their threads race, whatever the proxy is.
        let by_itself = stores
            .iter()
            .copied()
            .find(|&store| is_of_thread(module, store, reader));
        let behind = || {
            let mut meetings = meetings.iter();
            meetings.find_map(|&meeting| flow.ordered(stores, meeting, at))
        };
        if let Some(store) = by_itself.or_else(behind) {
            return one(module, kernel, reader, store, report);
        }
    }
}

/// A kernel without any fence, of which ordinary stores and asynchronous writes may write what a copy reads.
fn perhaps(module: &ModuleContext<'_>, kernel: &AsyncKernel, report: &mut Report<'_>) {
    let sends = |op| matches!(op, AsyncOp::Copy(copy) if copy.reads_shared());
    let flow = Flow::new(module, kernel);
    let variable = |(id, at): (FunctionId, InstructionId)| accessed(module, id, at)?.symbol;
    let mut stores = None;
    for reader in kernel.operations.iter().filter(|site| sends(site.operation.op)) {
        let stores = stores.get_or_insert_with(|| stores_of(module, kernel));
        let object = reader
            .operation
            .source()
            .and_then(|source| variable((reader.function, source)));
        let may_meet = |store: &(FunctionId, InstructionId)| {
            let other = variable(*store);
            object.is_none() || other.is_none() || object == other
        };
        let near: Vec<_> = stores.iter().copied().filter(may_meet).collect();
        let at = (reader.function, reader.operation.instruction);
        if let Some(store) = flow.leads(&near, at)
            && text::is_reached(module, reader)
        {
            let message = format!(
                "this {} may read shared memory that ordinary stores wrote, and {} has no proxy fence",
                text::noun(reader.operation.op),
                text::kernel(module, kernel)
            );
            let draft = report.potential(text::place(reader), message);
            told(draft, store);
            draft
                .note("copies write shared memory, too: it is not known that it reads what the stores wrote");
            return;
        }
    }
}

/// Copies of what their own thread has stored, with no fence in between, in a kernel that has fences elsewhere; true if there is one.
fn in_between(module: &ModuleContext<'_>, kernel: &AsyncKernel, report: &mut Report<'_>) -> bool {
    let mut is_found = false;
    let mut known = None;
    for reader in kernel.operations.iter().filter(|site| reads(site.operation.op)) {
        let stores = known.get_or_insert_with(|| stores_of(module, kernel));
        let mut stores = stores.iter().copied();
        let store = stores.find(|&store| {
            is_of_thread(module, store, reader) && !may_be_fenced(module, kernel, store.1, reader)
        });
        if let Some(store) = store.filter(|_| text::is_reached(module, reader)) {
            one(module, kernel, reader, store, report);
            is_found = true;
        }
    }
    is_found
}

/// True if something may order a store before the copy behind it, or write what the copy reads: a fence that is not certainly before the
/// store or behind the copy, and between the two any wait but that at a barrier, call or asynchronous write.
fn may_be_fenced(
    module: &ModuleContext<'_>,
    kernel: &AsyncKernel,
    store: InstructionId,
    reader: &AsyncSite,
) -> bool {
    let (id, copy) = (reader.function, reader.operation.instruction);
    let Some(body) = &module.module.function(id).body else {
        return true;
    };
    let analyses = module.function(id);
    let is_between = |at: InstructionId| at != copy && leads(body, store, at, copy);
    let mut all = kernel
        .operations
        .iter()
        .filter(|site| is_fence(site.operation.op));
    let is_apart = |fence: &AsyncSite| {
        let at = fence.operation.instruction;
        fence.function == id
            && !is_between(at)
            && (analyses.is_before(at, store) || analyses.is_before(copy, at))
    };
    !all.all(is_apart)
        || body.iter().any(|(at, instruction)| {
            let orders = match instruction.op {
                Op::Call(_) => true,
                Op::Access(access) => access.orders || access.volatile,
                _ => false,
            };
            let waits_or_writes = |op| {
                matches!(
                    op,
                    AsyncOp::Wait { .. } | AsyncOp::ClusterWait | AsyncOp::Mbarrier(MbarrierOp::Wait { .. })
                ) || orders_or_writes(op)
            };
            let one = body.asynchronous_at(at);
            (orders || one.is_some_and(|one| waits_or_writes(one.op))) && is_between(at)
        })
}

/// True if the thread that starts a copy has certainly stored what it reads.
fn is_of_thread(
    module: &ModuleContext<'_>,
    (function, store): (FunctionId, InstructionId),
    reader: &AsyncSite,
) -> bool {
    let Some(body) = &module.module.function(function).body else {
        return false;
    };
    let Op::Access(access) = body.instruction(store).op else {
        return false;
    };
    let (analyses, sizes) = (module.function(function), module.async_sizes());
    let one = &reader.operation;
    let Some(read) = one
        .source()
        .zip(sizes.of(function, one))
        .filter(|_| function == reader.function)
    else {
        return false;
    };
    body.instruction(store).guard.is_none()
        && analyses.is_before(store, one.instruction)
        && sizes.overlap(body, analyses, (store, access.bytes().into()), read)
}

/// The instructions of a kernel at which threads wait for each other.
fn meetings_of(module: &ModuleContext<'_>, kernel: &AsyncKernel) -> Vec<(FunctionId, InstructionId)> {
    let mut meetings = Vec::new();
    for &id in &kernel.functions {
        let Some(body) = &module.module.function(id).body else {
            continue;
        };
        let is_meeting =
            |op| matches!(op, Op::Barrier(barrier) if barrier.waits) || matches!(op, Op::Collective(..));
        let all = body.iter().filter(|(_, instruction)| is_meeting(instruction.op));
        meetings.extend(all.map(|(at, _)| (id, at)));
    }
    meetings
}

/// The ordinary writes to shared memory that a kernel may execute.
fn stores_of(module: &ModuleContext<'_>, kernel: &AsyncKernel) -> Vec<(FunctionId, InstructionId)> {
    let mut stores = Vec::new();
    for &id in &kernel.functions {
        let Some(body) = &module.module.function(id).body else {
            continue;
        };
        for (at, instruction) in body.iter() {
            let Op::Access(access) = instruction.op else {
                continue;
            };
            if matches!(access.kind, AccessKind::Load | AccessKind::Other) {
                continue;
            }
            let is_shared = match access.space {
                Space::Shared | Space::SharedCluster => true,
                Space::Generic => accessed(module, id, at).is_some_and(|found| found.space == Space::Shared),
                _ => false,
            };
            if is_shared && module.function(id).may_be_reached(at) && body.asynchronous_at(at).is_none() {
                stores.push((id, at));
            }
        }
    }
    stores
}

fn one(
    module: &ModuleContext<'_>,
    kernel: &AsyncKernel,
    reader: &AsyncSite,
    store: (FunctionId, InstructionId),
    report: &mut Report<'_>,
) {
    let message = format!(
        "this {} reads shared memory that ordinary stores wrote, and {} has no proxy fence{}",
        text::noun(reader.operation.op),
        text::kernel(module, kernel),
        if kernel.any(orders_or_writes) {
            " in between"
        } else {
            ""
        }
    );
    let draft = report.definite(text::place(reader), message);
    draft.in_general(
        "the hardware reads shared memory that ordinary stores wrote, and there is no proxy fence",
    );
    told(draft, store);
}

/// Adds what all findings say.
fn told(draft: &mut Draft, store: (FunctionId, InstructionId)) {
    draft.related(Place::Instruction(store.0, store.1, Vec::new()), "a store");
    draft.note(
        "barriers and thread fences do not order ordinary stores before what copies and tensor cores read",
    );
    draft.help(HELP);
}
