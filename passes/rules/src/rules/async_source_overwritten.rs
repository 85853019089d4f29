//! ## What it does
//!
//! Finds writes to shared memory that a bulk copy is still reading.
//!
//! ## Why is this bad?
//!
//! A bulk or tensor copy out of shared memory reads it some time after it was started. What is written there before it has read goes out in
//! place of what was meant (PTX ISA, Completion Mechanisms for asynchronous copy operations). The thread that started the copy has to wait
//! for it: `cp.async.bulk.wait_group.read n` until the copies of all but the last `n` groups have *read*, which is all that a buffer needs
//! to be used again; without `.read`, until they have written as well. The wait comes before the buffer is filled again, and leaves no more
//! groups in flight than there are other buffers.
//!
//! ## Example
//!
//! ```cuda
//! cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared, out, tile, sizeof tile);
//! cuda::ptx::cp_async_bulk_commit_group();
//! tile[0] = next;                                                  // the copy may still be reading
//! cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<0>{});
//! ```
//!
//! ## Use instead
//!
//! ```cuda
//! cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared, out, tile, sizeof tile);
//! cuda::ptx::cp_async_bulk_commit_group();
//! cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<0>{});
//! tile[0] = next;
//! ```
//!
//! Defects of this kind: [Fuser#5448](https://github.com/NVIDIA/Fuser/issues/5448), where the wait comes after the store of the next round,
//! and [DeepEP#657](https://github.com/deepseek-ai/DeepEP/pull/657), where it leaves as many groups under way as there are buffers.
//!
//! ## Limits
//!
//! A finding is definite: the thread that writes has certainly started the copy, the bytes certainly overlap, and no path in between has a
//! wait that can complete the copy; groups are counted by constants. Threads that the code selects by their index are analysed separately:
//! if the first one sends and all write, the first one does both. Or another thread writes after a barrier of the block, and whenever the
//! sender reaches that barrier, the copy is in flight: the barrier waits for threads, not for copies. A finding in a loop that certainly
//! has a second round is definite, too, from the copy of one round to the write of the next. It is potential if the loop may have only one
//! round, if some paths have a wait, and for a multicast copy whose CTA mask is not known. Bytes that `.cp_mask` leaves out are not read.
//! Other objects, the other half of a buffer and sizes that are not known make it silent, and a kernel may end with copies in flight.
//!
//! `-W conditional` searches for launches and numbers of rounds with which a thread of one block does this, and shows a run: in loops, and in
//! roles with barriers of their own. It leaves out kernels with volatile accesses or accesses that order others, with copies by
//! tensor maps that complete at an mbarrier, and with barriers of several CTAs.

use crate::checks::Check;
use crate::conditional::AsyncWrong;
use crate::context::{ModuleContext, Place, Report};
use crate::rule::{Certainties, Family, Level, Rule, WitnessSearch};
use crate::support::asynchronous as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX704",
    name: "async-source-overwritten",
    family: Family::Async,
    summary: "shared memory is written while a bulk copy may still be reading it",
    definite: Level::Error,
    certainties: Certainties::DEFINITE
        .or_conditional(WitnessSearch::Copies)
        .or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

const HELP: &str = "wait by `cp.async.bulk.wait_group.read` before the memory is written again";

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    let problems = module.asynchronous().overwritten_sources();
    let known: Vec<Place> = text::definite_places(&problems);
    for problem in problems {
        let noun = text::noun(problem.operation);
        let message = format!("this writes what a {noun} may still be reading");
        text::under_way(problem, message, "write", report)
            .in_general("shared memory is written while a bulk copy may still be reading it")
            .help(HELP);
    }
    let words = (
        "writes what a bulk copy may still be reading",
        "the copy, still in flight",
        HELP,
    );
    text::report_copy_failures(module, AsyncWrong::SourceOverwritten, &known, words, report);
}
