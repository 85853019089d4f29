//! Asynchronous operations in words, and findings about them.

use super::{addresses, lanes as lane_words, witness};
use crate::analysis::asynchronous::{AddressedObject, AsyncProblem, CopyInFlight, Ways};
use crate::conditional::{AsyncFailure, AsyncWrong};
use crate::context::{Draft, ModuleContext, Place, Report};
use crate::ir::{AsyncCopy, AsyncOp, CopyKind, CopyWay, FunctionId, MatrixAsync, MbarrierOp, TensorMemory};
use crate::names;

/// A kernel's name, for a message.
pub(crate) fn kernel(module: &ModuleContext<'_>, kernel: FunctionId) -> String {
    format!("`{}`", names::in_message(module.module.function_name(kernel)))
}

/// An object that an address points into.
pub(crate) fn object(module: &ModuleContext<'_>, object: AddressedObject) -> String {
    object.symbol.map_or_else(
        || addresses::memory_in_words(object.space).to_owned(),
        |symbol| addresses::named(module, object.space, symbol),
    )
}

/// A finding about a problem, with these words about its other place if it has one.
pub(crate) fn report_problem<'r, D>(
    problem: AsyncProblem<D>,
    message: String,
    other: impl Into<String>,
    report: &'r mut Report<'_>,
) -> &'r mut Draft {
    let draft = if problem.is_definite {
        report.definite(problem.place, message)
    } else {
        report.potential(problem.place, possibly(message))
    };
    if let Some(place) = problem.other {
        draft.related(place, other);
    }
    draft
}

/// The places of definite problems.
pub(crate) fn definite_places<D>(problems: &[AsyncProblem<D>]) -> Vec<Place> {
    let definite = problems.iter().filter(|problem| problem.is_definite);
    definite.map(|problem| problem.place.clone()).collect()
}

/// Reports the failures about copies of this kind that have a witness, but for those at places that are `known` to be wrong. One finding
/// has all of a kernel.
pub(crate) fn report_copy_failures(
    module: &ModuleContext<'_>,
    kind: AsyncWrong,
    known: &[Place],
    (message, other, help): (&str, &str, &str),
    report: &mut Report<'_>,
) {
    let is_known = |failure: &AsyncFailure| {
        let mut known = known.iter();
        let own = (failure.site.function, failure.site.instruction);
        known.any(|place| matches!(place, Place::Instruction(id, at, _) if (*id, *at) == own))
    };
    for found in module.conditional_copy_failures() {
        let of_kind = found.failures.iter().filter(|one| one.wrong == kind);
        let mut new = of_kind.filter(|one| !is_known(one));
        // The witness is that of the first one.
        let Some(first) = new.next().filter(|first| found.failures.first() == Some(first)) else {
            continue;
        };
        let message = format!("thread {} {message}", first.thread);
        let draft = report.conditional(lane_words::place_of(&first.site), message);
        if let Some(copy) = &first.copy {
            draft.related(lane_words::place_of(copy), other);
        }
        for further in new {
            draft.related(lane_words::place_of(&further.site), "and so here");
        }
        draft.help(help);
        witness::tell(module, draft, found.kernel, &found.witness, None);
        witness::tell_run(module, draft, &found.run);
    }
}

/// A message about what is not certain, unless it says so.
fn possibly(message: String) -> String {
    let mut words = message.split(' ');
    if words.any(|word| word == "may") {
        message
    } else {
        format!("it may be that {message}")
    }
}

/// A finding about a constant operand.
pub(crate) fn of_operand<'r, D>(
    problem: AsyncProblem<D>,
    message: String,
    report: &'r mut Report<'_>,
) -> &'r mut Draft {
    let is_definite = problem.is_definite;
    let draft = report_problem(problem, message, "", report);
    if !is_definite {
        draft.note("it is not known that the function comes to it when it is called so");
    }
    draft
}

/// A finding about an access, in this word, to what a copy under way still needs.
pub(crate) fn under_way<'r>(
    problem: AsyncProblem<CopyInFlight>,
    message: String,
    access: &str,
    report: &'r mut Report<'_>,
) -> &'r mut Draft {
    let (noun, found) = (noun(problem.operation), problem.detail);
    let other = format!("the {noun}, still under way at the {access}");
    let draft = report_problem(problem, message, other, report);
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
    if found.is_of_other_thread {
        draft.note(
            "another thread has started the copy; the barrier in between waits for threads, not for copies",
        );
    }
    if found.is_elected {
        draft.note("the thread that `elect.sync` picks makes both");
    }
    if let Some(thread) = found.thread {
        draft.note(format!("thread {thread} of the block makes both"));
    }
    draft
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
        AsyncOp::TensorMemory(TensorMemory::Allocate { .. }) => "`tcgen05.alloc`",
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
