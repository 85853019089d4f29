//! ## What it does
//!
//! Finds kernels that write shared memory by ordinary stores and have a bulk copy or a tensor core read it, without a fence between
//! the two ways to memory.
//!
//! ## Why is this bad?
//!
//! A thread's loads and stores go to memory by one way, and copies that the hardware makes by itself by another. PTX calls such a way a
//! *proxy*: ordinary accesses are in the generic proxy, and bulk and tensor copies (TMA) and the operands that `wgmma` and `tcgen05.mma`
//! read from shared memory are in the async proxy. Each sees its own accesses in order. Writes of one proxy are visible to the other only
//! after a *proxy fence* (PTX ISA, Async Proxy); until then the copy may send bytes from before the store. Barriers order threads, not
//! proxies: a `__syncthreads()` or a `__threadfence()` in between does not help, and neither does `fence.proxy.async.global`, which is
//! about another memory. In the machine code the fence is an instruction of its own, which nothing puts there if the source has none.
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
//! Each thread that wrote executes a fence after its stores, then all wait, then one sends:
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
//! [#25](https://github.com/MoonshotAI/FlashKDA/pull/25), where all threads store and one sends after a `__syncthreads()`;
//! [sglang#39124](https://github.com/sgl-project/sglang/pull/39124), where a tile is widened by stores and read by tensor cores;
//! [ao#4278](https://github.com/pytorch/ao/pull/4278), about the order of fence and barrier.
//!
//! ## Limits
//!
//! A finding is definite: the kernel, with all that it calls, has no fence that covers shared memory, neither by itself nor as part of
//! anything that is not known, and nothing in it but ordinary stores writes shared memory, so what is read can only come from those. A
//! barrier or another `.sync` operation stands between a store and the copy, or the thread that copies has stored itself. Or the thread
//! that copies, or one that the code selects by its index and that arrives where the thread that copies waits for it, has certainly stored
//! some of the bytes that are sent (also by `stmatrix`), and from there to the copy there is no wait except barriers, no other writer, and
//! no fence of any thread. Such an arrival is one at a barrier of the block or of the cluster that all threads reach, or one outside of
//! loops at a named barrier or an mbarrier that counts as many threads as may come. For the fences holds: each fence of the kernel comes
//! before the store or after the copy, and all threads reach the same barriers in between. A named barrier for some warps lets others be
//! elsewhere, so that a fence that stands further up or down may be executed in between: with one, any fence makes it silent. A fence of
//! another thread than those that store and send counts. So does any other writer: a bulk load, a copy from another CTA, `st.async`, and
//! `cp.async`, about which production code and the text of the PTX ISA disagree. So does a call of a function that is not there, or through
//! a pointer. Where copies write shared memory, too, and no fence is anywhere, stores before a copy out of an object that may be theirs are
//! a potential finding; so is a copy of bytes that other threads stored if they reach the barrier without a fence and only the sender
//! executes one, as the PTX ISA does not say that this orders their stores. A copy of a function that a branch on what its callers pass may
//! keep from being made is silent where only a missing fence speaks against it. Ordinary *reads* before an asynchronous write are not
//! analysed.
//!
//! `-W conditional` searches for launches and numbers of rounds with which a thread of one block does this, and shows a run: in loops, and in
//! roles with barriers of their own. It leaves out kernels with volatile accesses or accesses that order others, with copies by
//! tensor maps that complete at an mbarrier, and with barriers of several CTAs.

use crate::analysis::asynchronous::{FenceGap, Late};
use crate::checks::Check;
use crate::conditional::AsyncWrong;
use crate::context::{ModuleContext, Place, Report};
use crate::ir::AsyncOp;
use crate::rule::{Certainties, Family, Level, Rule, WitnessSearch};
use crate::sanitizer::Sanitizer;
use crate::support::asynchronous as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX701",
    name: "proxy-fence-missing",
    family: Family::Async,
    summary: "the hardware reads shared memory that ordinary stores wrote, with no proxy fence in between",
    definite: Level::Error,
    certainties: Certainties::DEFINITE
        .or_conditional(WitnessSearch::Copies)
        .or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

const HELP: &str = "put `fence.proxy.async.shared::cta` behind the stores, by each thread that makes them, and a barrier behind the fence";

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    let problems = module.asynchronous().unfenced_reads();
    let known: Vec<Place> = text::definite_places(&problems);
    for problem in problems {
        let (noun, kernel) = (text::noun(problem.operation), text::kernel(module, problem.root));
        let gap = problem.detail;
        let (reads, end) = match gap {
            FenceGap::None => ("reads", format!("and {kernel} has no proxy fence")),
            FenceGap::NoneBetween => ("reads", format!("and {kernel} has no proxy fence in between")),
            FenceGap::NoneAmongCopies => ("may read", format!("and {kernel} has no proxy fence")),
            FenceGap::NoneBefore(_) => (
                "may read",
                "with no proxy fence between their stores and the barrier".to_owned(),
            ),
        };
        let writers = match gap {
            FenceGap::NoneBefore(_) => "other threads",
            _ => "ordinary stores",
        };
        let message = format!("this {noun} {reads} shared memory that {writers} wrote, {end}");
        let is_copy = matches!(problem.operation, AsyncOp::Copy(_));
        let draft = text::report_problem(problem, message, "a store", report);
        if is_copy {
            draft.seen_by(Sanitizer::Racecheck);
        }
        draft.note(
            "barriers and thread fences do not order ordinary stores before what copies and tensor cores read",
        );
        match gap {
            FenceGap::None | FenceGap::NoneBetween => draft.in_general(
                "the hardware reads shared memory that ordinary stores wrote, and there is no proxy fence",
            ),
            FenceGap::NoneAmongCopies => draft
                .note("copies write shared memory, too: it is not known that it reads what the stores wrote"),
            FenceGap::NoneBefore(Late::Behind) => {
                draft.note("a fence that the sender executes behind the barrier orders its own accesses")
            }
            FenceGap::NoneBefore(Late::Never) => draft.note("nor is there one between the barrier and this"),
        };
        draft.help(HELP);
    }
    let words = (
        "starts a copy of what ordinary stores wrote, with no proxy fence in between",
        "the copy",
        HELP,
    );
    text::report_copy_failures(module, AsyncWrong::Unfenced, &known, words, report);
}
