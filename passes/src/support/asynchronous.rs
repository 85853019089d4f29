//! Asynchronous operations in words, and their places.

use crate::analysis::asynchronous::{AsyncKernel, AsyncOperands, AsyncSite, UnderWay, Ways};
use crate::analysis::call_graph::CallSite;
use crate::context::{Draft, ModuleContext, Place, Report};
use crate::ir::{
    AsyncCopy, AsyncOp, CopyKind, CopyWay, FunctionId, InstructionId, Linkage, MatrixAsync, MbarrierOp, Op,
    TensorMemory,
};
use crate::names;

/// A kernel's name, for a message.
pub(crate) fn kernel(module: &ModuleContext<'_>, kernel: &AsyncKernel) -> String {
    let name = module.module.function_name(kernel.kernel);
    format!("`{}`", names::in_message(name))
}

/// True if an operation is certainly not kept from being executed by constants.
pub(crate) fn is_reached(module: &ModuleContext<'_>, site: &AsyncSite) -> bool {
    module
        .function(site.function)
        .is_reached(site.operation.instruction)
}

/// The first operation that a kernel asks for, for which something holds.
pub(crate) fn first(
    module: &ModuleContext<'_>,
    kernel: &AsyncKernel,
    holds: impl Fn(AsyncOp) -> bool,
) -> Option<AsyncSite> {
    let all = kernel.operations.iter();
    let mut reached = all.filter(|site| holds(site.operation.op) && is_reached(module, site));
    reached.find_map(|site| kernel.asked(module, site))
}

/// The chain of calls that leads to an instruction of a function from the first kernel that reaches it; `None` where kernels call the
/// function, and none of them reaches the instruction by what it passes.
pub(crate) fn chain(module: &ModuleContext<'_>, id: FunctionId, at: InstructionId) -> Option<Vec<CallSite>> {
    if let Some(chain) = chain_here(module, id, at) {
        return Some(chain);
    }
    let may_others_call = || {
        let known = module.module.symbol(module.module.function(id).symbol);
        let mut bodies = module.module.bodies();
        known.linkage != Linkage::Local
            || bodies.any(|(.., body)| {
                let mut references = body.references.iter();
                references.any(|one| !one.is_call && module.module.called(one.symbol) == Some(id))
            })
    };
    may_others_call().then(Vec::new)
}

/// The same, where only what this module passes to the function counts.
pub(crate) fn chain_here(
    module: &ModuleContext<'_>,
    id: FunctionId,
    at: InstructionId,
) -> Option<Vec<CallSite>> {
    let kernels = module.asynchronous().iter();
    let mut kernels = kernels.filter(|kernel| kernel.functions.contains(&id)).peekable();
    if kernels.peek().is_none() {
        return Some(Vec::new());
    }
    let mut chains = kernels.filter_map(|kernel| kernel.chain(module, (id, at)));
    Some(chains.next()?.to_vec())
}

/// A finding about an operation with constant operands: potential where a branch may keep the function from it that the constants come
/// from callers of. `None` where no kernel reaches it.
pub(crate) fn operands<'r>(
    module: &ModuleContext<'_>,
    site: &AsyncOperands,
    message: String,
    report: &'r mut Report<'_>,
) -> Option<&'r mut Draft> {
    let at = site.operation.instruction;
    let chain = chain(module, site.function, at)?;
    let is_asked = site.is_asked(module)?;
    let place = match &site.callers[..] {
        [] => Place::Instruction(site.function, at, chain),
        _ => site.place(),
    };
    if is_asked {
        return Some(report.definite(place, message));
    }
    let draft = report.potential(place, message);
    draft.note("it is not known that the function comes to it when it is called so");
    Some(draft)
}

/// A finding about an access to what a copy under way still needs: potential where that takes a second round of a loop which may have
/// only one, or one of several ways.
pub(crate) fn under_way<'r>(
    module: &ModuleContext<'_>,
    id: FunctionId,
    found: &UnderWay,
    message: String,
    report: &'r mut Report<'_>,
) -> Option<&'r mut Draft> {
    let callers = chain(module, id, found.access)?;
    let place = Place::Instruction(id, found.access, callers);
    let draft = if found.ways.is_certain() {
        report.definite(place, message)
    } else {
        report.potential(place, message)
    };
    match found.ways {
        Ways::All => {}
        Ways::LaterRounds | Ways::LaterRoundsIfAny => {
            draft.note("the copy is of the round of the loop before");
        }
        Ways::SomeCtas => {
            draft.note("it is not known that the mask of CTAs names the own one");
        }
        Ways::Some => {
            draft.note("on some ways through the code; it is not known that they are taken");
        }
    }
    if found.is_elected {
        draft.note("the thread that `elect.sync` picks makes both");
    }
    if let Some(thread) = found.thread {
        draft.note(format!("thread {thread} of the block makes both"));
    }
    Some(draft)
}

/// The instructions of a kernel at which threads wait for each other.
pub(crate) fn meetings(module: &ModuleContext<'_>, kernel: &AsyncKernel) -> Vec<(FunctionId, InstructionId)> {
    let mut meetings = Vec::new();
    for &id in &kernel.functions {
        let Some(body) = &module.module.function(id).body else {
            continue;
        };
        let is_meeting =
            |op| matches!(op, Op::Barrier(barrier) if barrier.waits) || matches!(op, Op::Collective(..));
        let all = body.iter().filter(|(_, instruction)| is_meeting(instruction.op));
        let all = all.map(|(at, _)| (id, at));
        meetings.extend(all.filter(|&place| kernel.reaches(module, place)));
    }
    meetings
}

/// An operation as a noun: "bulk copy", "`mbarrier.init`".
pub(crate) const fn noun(op: AsyncOp) -> &'static str {
    match op {
        AsyncOp::Copy(copy) => copied(copy),
        AsyncOp::Mbarrier(op) => match op {
            MbarrierOp::Init => "`mbarrier.init`",
            MbarrierOp::Invalidate => "`mbarrier.inval`",
            MbarrierOp::Arrive { .. } => "`mbarrier.arrive`",
            MbarrierOp::ExpectTx => "`mbarrier.expect_tx`",
            MbarrierOp::CompleteTx => "`mbarrier.complete_tx`",
            MbarrierOp::Wait { .. } => "wait at an mbarrier",
            MbarrierOp::ArriveAfterCopies { .. } => "`cp.async.mbarrier.arrive`",
            MbarrierOp::ArriveAfterProducts => "`tcgen05.commit`",
        },
        AsyncOp::Matrix(MatrixAsync::Wgmma) => "`wgmma.mma_async`",
        AsyncOp::Matrix(MatrixAsync::Tcgen05) => "`tcgen05.mma`",
        AsyncOp::Matrix(MatrixAsync::Copy) => "`tcgen05.cp`",
        AsyncOp::TensorMemory(TensorMemory::Allocate) => "`tcgen05.alloc`",
        AsyncOp::TensorMemory(TensorMemory::Free) => "`tcgen05.dealloc`",
        _ => "operation",
    }
}

const fn copied(copy: AsyncCopy) -> &'static str {
    match (copy.kind, copy.way) {
        (CopyKind::Element, _) => "`cp.async`",
        (_, CopyWay::Prefetch) => "bulk prefetch",
        (CopyKind::Tensor, _) => "tensor copy",
        (CopyKind::Bulk, _) => "bulk copy",
        (CopyKind::Store, _) => "asynchronous store",
        (CopyKind::Answer, _) => "`clusterlaunchcontrol.try_cancel`",
    }
}
