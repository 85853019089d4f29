//! ## What it does
//!
//! Finds loads of shared memory that an asynchronous copy fills, where nothing has waited for the copy, and loads of the address of tensor
//! memory by warps that have not waited for the one that allocates it.
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
//! A finding is definite. Either the thread that loads, or one that the code selects by its index, has certainly started the copy, to bytes
//! that certainly overlap the loaded ones, and no path in between has a wait that can complete the copy; groups are counted by constants.
//! If some paths have such a wait, the finding is potential. A multicast copy brings bytes to the own CTA where its mask names all of the
//! cluster; where the mask is not known, it is potential. Or nothing but copies of one kind fills the variable in the whole kernel, and
//! when a thread loads for the first time, no wait that can complete one of them has come before: none at all, none but waits at other
//! mbarriers or for a phase that a new mbarrier has passed already, or waits that leave all groups in flight. In a loop, the last is
//! potential: the first round may load other elements, and not use them. There is no finding for waits in functions, for waits of other
//! threads followed by a barrier, and for copies under a condition that does not apply to the load.
//!
//! The address of an allocation (`tcgen05.alloc`) is found in kernels that allocate themselves: definite where no path to the load has a wait
//! after the allocation, potential where one has none ([cutlass#2835](https://github.com/NVIDIA/cutlass/pull/2835): the way with no tiles).
//!
//! `-W conditional` searches for launches and numbers of rounds with which a thread of one block does this, and shows a run: in loops, and in
//! roles with barriers of their own. It leaves out kernels with volatile accesses or accesses that order others, with copies by
//! tensor maps that complete at an mbarrier, and with barriers of several CTAs.

use crate::checks::Check;
use crate::conditional::AsyncWrong;
use crate::context::{ModuleContext, Place, Report};
use crate::ir::{AsyncOp, CopyKind};
use crate::rule::{Certainties, Family, Level, Rule, WitnessSearch};
use crate::sanitizer::Sanitizer;
use crate::support::asynchronous as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX702",
    name: "async-result-read-early",
    family: Family::Async,
    summary: "what an asynchronous copy brings is read before anything has waited for it",
    definite: Level::Error,
    certainties: Certainties::DEFINITE
        .or_conditional(WitnessSearch::Copies)
        .or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

const HELP: &str = "wait for the copy in the thread that started it, then at a barrier for the other threads";

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    let problems = module.asynchronous().early_reads();
    let known: Vec<Place> = text::definite_places(&problems);
    for problem in problems {
        let noun = text::noun(problem.operation);
        let message = format!("this reads what a {noun} brings, and nothing has waited for the copy");
        let is_in_groups = matches!(problem.operation, AsyncOp::Copy(copy) if copy.kind == CopyKind::Element);
        let draft = text::under_way(problem, message, "read", report);
        if is_in_groups {
            draft.seen_by(Sanitizer::Racecheck);
        }
        draft
            .in_general("what asynchronous copies bring is read before anything has waited for them")
            .help(HELP);
    }
    for problem in module.asynchronous().unordered_address_reads() {
        let message = match problem.is_definite {
            true => {
                "this reads the address of tensor memory that another warp allocates, and nothing has waited for that"
            }
            false => {
                "this may read the address of tensor memory before another warp has allocated it: by one way, nothing waits for that"
            }
        };
        text::report_problem(
            problem,
            message.to_owned(),
            "the allocation, which writes the address",
            report,
        )
        .kind("address")
        .in_general("the address of tensor memory is read before anything has waited for its allocation")
        .help("put a barrier that both warps reach between the allocation and the load, on each path");
    }
    let words = (
        "reads what an asynchronous copy brings, and does not know that it is complete",
        "the copy, still in flight",
        HELP,
    );
    text::report_copy_failures(module, AsyncWrong::ReadEarly, &known, words, report);
}
