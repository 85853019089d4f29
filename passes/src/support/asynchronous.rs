//! Asynchronous operations in words, and their places.

use crate::analysis::asynchronous::{AsyncKernel, AsyncSite, UnderWay, Ways};
use crate::context::{Draft, ModuleContext, Place, Report};
use crate::ir::{
    AsyncCopy, AsyncOp, CopyKind, CopyWay, FunctionId, InstructionId, MatrixAsync, MbarrierOp, Op,
    TensorMemory,
};
use crate::names;

/// The place of an operation.
pub(crate) fn place(site: &AsyncSite) -> Place {
    Place::Instruction(site.function, site.operation.instruction, Vec::new())
}

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

/// The first operation of a kernel for which something holds, and which constants do not keep from being executed.
pub(crate) fn first<'k>(
    module: &ModuleContext<'_>,
    kernel: &'k AsyncKernel,
    holds: impl Fn(AsyncOp) -> bool,
) -> Option<&'k AsyncSite> {
    let mut all = kernel.operations.iter();
    all.find(|site| holds(site.operation.op) && is_reached(module, site))
}

/// A finding about an access to what a copy under way still needs: potential where that takes a second round of a loop which may have
/// only one, or one of several ways.
pub(crate) fn under_way<'r>(
    id: FunctionId,
    found: &UnderWay,
    message: String,
    report: &'r mut Report<'_>,
) -> &'r mut Draft {
    let place = Place::Instruction(id, found.access, Vec::new());
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
        Ways::Some => {
            draft.note("on some ways through the code; it is not known that they are taken");
        }
    }
    if let Some(thread) = found.thread {
        draft.note(format!("thread {thread} of the block makes both"));
    }
    draft
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
        meetings.extend(all.map(|(at, _)| (id, at)));
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
