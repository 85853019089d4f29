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
//! Or the thread that copies, or one that the code tells from others by its number and that comes to a barrier of the block with the others, has
//! certainly stored bytes of what is sent, and from there to the copy is no fence, no wait but that of a barrier,
//! and nothing else that writes. Else any fence makes it silent, whoever executes it and wherever it stands. So does any other writer: a bulk load, a copy from another CTA,
//! `st.async`, and `cp.async`, about which production code and the text of the PTX ISA disagree. So does a call of a function that is not
//! there, or through a pointer. Where copies write shared memory, too, and no fence is anywhere, stores before a copy out of an object that may be theirs
//! are a potential finding; so is a copy of what other threads stored where they come to the barrier without a fence and only the sender has
//! one, as the PTX ISA does not say that this orders their stores. Ordinary *reads* before an asynchronous write are not looked at.

use crate::analysis::asynchronous::{
    AddressSum, AsyncKernel, AsyncSite, Flow, View, accessed, constant_bounds, leads, overlap,
};
use crate::context::{Draft, ModuleContext, Place, Report};
use crate::ir::{
    AccessKind, AsyncOp, BlockId, Body, FunctionId, Instruction, InstructionId, MbarrierOp, Op, Space,
    SymbolId,
};
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
            if !in_between(module, kernel, report) {
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
            known.get_or_insert_with(|| (stores_of(module, kernel), text::meetings(module, kernel)));
        let flow = Flow::new(module, kernel);
        let at = (reader.function, reader.operation.instruction);
        // Where neither orders the two, their threads race, whatever the proxy is.
        let own: Vec<InstructionId> = stores
            .iter()
            .filter(|(of, _)| *of == at.0)
            .map(|(_, at)| *at)
            .collect();
        let senders = Senders::new(module, at.0, &own);
        let by_itself = senders
            .and_then(|senders| senders.stores_before(module, reader).first().copied())
            .map(|store| (at.0, store));
        let behind = || {
            let mut meetings = meetings.iter();
            meetings.find_map(|&meeting| flow.ordered(stores, meeting, at))
        };
        if let Some(store) = by_itself.or_else(behind) {
            return one(module, kernel, reader, store, report);
        }
    }
}

/// Copies of what ordinary stores may have written, without a fence of those who stored: in a kernel without any, or with one behind
/// the barrier.
fn perhaps(module: &ModuleContext<'_>, kernel: &AsyncKernel, report: &mut Report<'_>) {
    let sends = |op| matches!(op, AsyncOp::Copy(copy) if copy.reads_shared());
    let fences: Vec<&AsyncSite> = kernel
        .operations
        .iter()
        .filter(|site| is_fence(site.operation.op))
        .collect();
    let (mut stores, mut meetings) = (None, None);
    for reader in kernel.operations.iter().filter(|site| sends(site.operation.op)) {
        let at = (reader.function, reader.operation.instruction);
        let stores = stores.get_or_insert_with(|| stores_of(module, kernel));
        let near = stores
            .iter()
            .copied()
            .filter(|&store| may_meet(module, store, reader));
        let (store, message) = if fences.is_empty() {
            let near: Vec<_> = near.collect();
            let Some(store) = Flow::new(module, kernel).leads(&near, at) else {
                continue;
            };
            let message = format!(
                "this {} may read shared memory that ordinary stores wrote, and {} has no proxy fence",
                text::noun(reader.operation.op),
                text::kernel(module, kernel)
            );
            (store, message)
        } else {
            let meetings = meetings.get_or_insert_with(|| text::meetings(module, kernel));
            let mut near = near.filter(|store| meet(module, *store, reader) == Some(true));
            let Some(store) = near.find(|store| is_fenced_late(module, *store, reader, (&fences, meetings)))
            else {
                continue;
            };
            let message = format!(
                "this {} may read shared memory that other threads wrote, and they have no proxy fence behind their stores",
                text::noun(reader.operation.op)
            );
            (store, message)
        };
        if text::is_reached(module, reader) {
            let draft = report.potential(text::place(reader), message);
            told(draft, store);
            draft.note(if fences.is_empty() {
                "copies write shared memory, too: it is not known that it reads what the stores wrote"
            } else {
                "a fence that the sender executes behind the barrier orders its own accesses"
            });
            return;
        }
    }
}

/// The variable of shared memory that an access is to.
fn variable(module: &ModuleContext<'_>, (id, at): (FunctionId, InstructionId)) -> Option<SymbolId> {
    accessed(module, id, at)?.symbol
}

/// False if a store is certainly to other memory than a copy reads: another variable, or another part of it.
fn may_meet(module: &ModuleContext<'_>, store: (FunctionId, InstructionId), reader: &AsyncSite) -> bool {
    let source = reader.operation.source().map(|source| (reader.function, source));
    let (object, other) = (
        source.and_then(|source| variable(module, source)),
        variable(module, store),
    );
    (object.is_none() || other.is_none() || object == other) && meet(module, store, reader) != Some(false)
}

/// True if a store, by any thread, is to a part of a variable that lies in what a copy reads or around its ends; `None` where its bounds are
/// not known.
fn meet(
    module: &ModuleContext<'_>,
    (id, store): (FunctionId, InstructionId),
    reader: &AsyncSite,
) -> Option<bool> {
    let (body, one) = (module.module.function(id).body.as_ref()?, &reader.operation);
    let Op::Access(access) = body.instruction(store).op else {
        return None;
    };
    if reader.function != id {
        return None;
    }
    let view = View::any(module, id)?;
    let bytes = module.async_sizes().known(id, one)?;
    let (of, least, most) = constant_bounds(&view, store)?;
    let (from, first, last) = constant_bounds(&view, one.source()?)?;
    let (end, stored) = (last.saturating_add_unsigned(bytes), access.bytes().into());
    Some(of == from && least < end && most.saturating_add_unsigned(stored) > first)
}

/// True if those who make a store come to a barrier before a fence, and a fence stands between that barrier and the copy alone.
fn is_fenced_late(
    module: &ModuleContext<'_>,
    (id, store): (FunctionId, InstructionId),
    reader: &AsyncSite,
    (fences, meetings): (&[&AsyncSite], &[(FunctionId, InstructionId)]),
) -> bool {
    let (Some(body), copy) = (&module.module.function(id).body, reader.operation.instruction) else {
        return false;
    };
    if reader.function != id || fences.iter().any(|fence| fence.function != id) {
        return false;
    }
    let analyses = module.function(id);
    meetings.iter().any(|&(of, meeting)| {
        of == id
            && analyses.is_before(store, meeting)
            && analyses.is_before(meeting, copy)
            && fences.iter().all(|fence| {
                let fence = fence.operation.instruction;
                !leads(body, store, fence, meeting)
            })
    })
}

/// Copies of what their own thread has stored, with no fence in between, in a kernel that has fences elsewhere; true if there is one.
fn in_between(module: &ModuleContext<'_>, kernel: &AsyncKernel, report: &mut Report<'_>) -> bool {
    let mut is_found = false;
    let mut stores: Option<Vec<_>> = None;
    for &id in &kernel.functions {
        let mut readers = kernel.operations.iter().filter(|site| {
            let one = &site.operation;
            site.function == id && reads(one.op) && one.source().is_some()
        });
        let Some(first) = readers.next() else { continue };
        let stores = stores.get_or_insert_with(|| stores_of(module, kernel));
        let own: Vec<InstructionId> = stores
            .iter()
            .filter(|(of, _)| *of == id)
            .map(|(_, at)| *at)
            .collect();
        let Some(senders) = Senders::new(module, id, &own) else {
            continue;
        };
        for reader in std::iter::once(first).chain(readers) {
            let is_fenced = |store| may_be_fenced(module, kernel, store, reader);
            let own = senders.stores_before(module, reader).into_iter();
            let mut near = own.chain(senders.stores_of_others(module, kernel, reader));
            if let Some(store) = near.find(|&store| !is_fenced(store))
                && text::is_reached(module, reader)
            {
                one(module, kernel, reader, (id, store), report);
                is_found = true;
            }
        }
    }
    is_found
}

/// The stores of a function, as threads come through it that may send what they have stored.
struct Senders<'a, 'm> {
    views: Vec<(View<'a, 'm>, Vec<Store>)>,
}

/// An ordinary store.
struct Store {
    at: InstructionId,
    bytes: u64,
    address: AddressSum,
}

impl<'a, 'm> Senders<'a, 'm> {
    fn new(module: &'a ModuleContext<'m>, id: FunctionId, stores: &[InstructionId]) -> Option<Self> {
        let body = module.module.function(id).body.as_ref()?;
        let store = |view: &View<'_, '_>, at: InstructionId| {
            let Op::Access(access) = body.instruction(at).op else {
                return None;
            };
            Some(Store {
                at,
                bytes: access.bytes().into(),
                address: AddressSum::of(view, at)?,
            })
        };
        let views = View::all(module, id).into_iter();
        let views = views.map(|view| {
            let stores = stores.iter().filter_map(|&at| store(&view, at)).collect();
            (view, stores)
        });
        Some(Self {
            views: views.collect(),
        })
    }

    /// The stores that the thread which starts a copy has certainly made to bytes that it reads.
    fn stores_before(&self, module: &ModuleContext<'_>, reader: &AsyncSite) -> Vec<InstructionId> {
        let (sizes, one) = (module.async_sizes(), &reader.operation);
        let mut found = Vec::new();
        let Some((source, bytes)) = one.source().zip(sizes.of(reader.function, one)) else {
            return found;
        };
        for (view, stores) in &self.views {
            let Some(read) = AddressSum::of(view, source) else {
                continue;
            };
            let mut is_own = None;
            for store in stores {
                if overlap(
                    view,
                    (store.at, &store.address, store.bytes),
                    (source, &read, bytes),
                ) && *is_own.get_or_insert_with(|| view.is_by_this(one.instruction))
                    && view.is_surely_before(store.at, one.instruction)
                {
                    found.push(store.at);
                }
            }
        }
        found
    }
}

impl Senders<'_, '_> {
    /// The stores that single threads, by their numbers, have certainly made to bytes that a copy reads, whoever starts it: behind a barrier of
    /// the block that all threads come to.
    fn stores_of_others(
        &self,
        module: &ModuleContext<'_>,
        kernel: &AsyncKernel,
        reader: &AsyncSite,
    ) -> Vec<InstructionId> {
        let (id, one, mut found) = (kernel.kernel, &reader.operation, Vec::new());
        let (Some(body), Some((any, _))) = (&module.module.function(id).body, self.views.first()) else {
            return found;
        };
        let source = one.source().filter(|_| reader.function == id);
        let read = source.and_then(|source| constant_bounds(any, source));
        let (Some((object, first, last)), Some(bytes)) = (read, module.async_sizes().of(id, one)) else {
            return found;
        };
        let (analyses, post) = (module.function(id), module.function(id).post_dominators());
        let meetings: Vec<InstructionId> = body
            .iter()
            .filter(|(at, instruction)| {
                let is_of_block =
                    matches!(instruction.op, Op::Barrier(barrier) if barrier.waits && !barrier.counted);
                is_of_block
                    && instruction.guard.is_none()
                    && analyses.is_before(*at, one.instruction)
                    && post.dominates(body.block_of(*at), BlockId::new(0))
            })
            .map(|(at, _)| at)
            .collect();
        if meetings.is_empty() {
            return found;
        }
        for (view, stores) in self.views.iter().filter(|(view, _)| view.thread().is_some()) {
            for store in stores {
                let is_read = constant_bounds(view, store.at).is_some_and(|(of, least, most)| {
                    of == object
                        && least.saturating_add_unsigned(store.bytes) > last
                        && most < first.saturating_add_unsigned(bytes)
                });
                if is_read
                    && meetings
                        .iter()
                        .any(|&meeting| view.is_surely_before(store.at, meeting))
                {
                    found.push(store.at);
                }
            }
        }
        found
    }
}

/// True if something may order a store before the copy behind it, or write what the copy reads: between the two, any fence, wait but that at a
/// barrier, call or asynchronous write; and a fence that no way leads from to the store, nor from the copy to it, as that of another
/// warp may be executed at any time.
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
    let is_between =
        |at: InstructionId| at != copy && leads(body, store, at, copy) && leads(body, at, copy, store);
    let comes_before = |from, to| leads(body, from, to, from) && !leads(body, to, from, to);
    let mut all = kernel
        .operations
        .iter()
        .filter(|site| is_fence(site.operation.op));
    let is_apart = |fence: &AsyncSite| {
        let at = fence.operation.instruction;
        fence.function == id
            && !is_between(at)
            && (analyses.is_before(at, store) || comes_before(at, store) || comes_before(copy, at))
    };
    let others = kernel.functions.iter().filter(|&&function| function != id);
    let may_others_order = others
        .filter_map(|&function| module.module.function(function).body.as_ref())
        .any(|body| {
            body.iter()
                .any(|(at, instruction)| may_order(body, at, instruction))
        });
    !all.all(is_apart)
        || body.iter().any(|(at, instruction)| {
            let orders = match instruction.op {
                Op::Call(_) => may_others_order,
                _ => may_order(body, at, instruction),
            };
            orders && is_between(at)
        })
}

/// True for an instruction that may order a store before a copy, or write what the copy reads: any access or wait but that at a barrier.
fn may_order(body: &Body<'_>, at: InstructionId, instruction: &Instruction) -> bool {
    let is_ordered = matches!(instruction.op, Op::Access(access) if access.orders || access.volatile);
    let waits = |op| {
        matches!(
            op,
            AsyncOp::Wait { .. } | AsyncOp::ClusterWait | AsyncOp::Mbarrier(MbarrierOp::Wait { .. })
        )
    };
    let one = body.asynchronous_at(at);
    is_ordered || one.is_some_and(|one| waits(one.op) || orders_or_writes(one.op))
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
