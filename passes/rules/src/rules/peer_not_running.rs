//! ## What it does
//!
//! Finds accesses to shared memory of another CTA of the cluster that nothing orders behind the start of that CTA, or before its end, and
//! operations on tensor memory of a pair of CTAs that come too early: `tcgen05.alloc.cta_group::2` before both have certainly started,
//! `tcgen05.dealloc.cta_group::2` before both have certainly allocated.
//!
//! ## Why is this bad?
//!
//! Shared memory of a CTA exists while the CTA is executed: an access before it has started, or after it has ended, is undefined, and
//! faults or reads what another block has left. Nothing but the barrier of the cluster says that all CTAs have started, and a CTA
//! that has nothing more to do does not wait for those that read from it (CUDA C++ Programming Guide, Distributed Shared Memory; PTX ISA,
//! barrier.cluster). Both depend on how the CTAs happen to be scheduled: tests pass, and some launches fail.
//!
//! ## Example
//!
//! ```cuda
//! cluster.sync();
//! int first = *cluster.map_shared_rank(&number, 0);
//! out[blockIdx.x * blockDim.x + threadIdx.x] = first;
//! }                                                     // CTA 0 may have come here before the others have read
//! ```
//!
//! ## Use instead
//!
//! ```cuda
//! cluster.sync();                                       // all have started, and the number is written
//! int first = *cluster.map_shared_rank(&number, 0);
//! cluster.sync();                                       // all have read it
//! ```
//!
//! The end is the case of [triton#11730](https://github.com/triton-lang/triton/pull/11730), the start that of
//! [triton#2292](https://github.com/facebookexperimental/triton/pull/2292), the allocation that of
//! [cutlass#3316](https://github.com/NVIDIA/cutlass/issues/3316), the operation that frees tensor memory that of
//! [cutlass#3435](https://github.com/NVIDIA/cutlass/issues/3435), the signals at the end those of
//! [sglang#32954](https://github.com/sgl-project/sglang/pull/32954).
//!
//! ## Limits
//!
//! A finding is definite where the kernel declares a cluster of several CTAs, or maps to one that is not the first, and certainly some other CTA
//! than the mapped one makes the access: the rank is a constant, and only numbers of threads and parameters decide whether a CTA comes
//! there, or a comparison with the own rank leads there; or the rank is computed from the own one, as `rank ^ 1` or `(rank + 1) % n`. Where
//! something else decides, a finding is potential. Silent are other ranks, and kernels that call unknown code. Of asynchronous
//! copies to other CTAs, only the start is examined: those who wait for them are there. Of arrivals at mbarriers of other CTAs, the end is
//! examined, too: a finding is definite where no wait of the kernel may be at that mbarrier, and potential where each of them passes at once
//! for the first time, in a loop: then nobody waits for the last arrivals. So it is with `tcgen05.commit` in several CTAs.
//!
//! Of the start, nothing is reported where a wait at the barrier of the cluster or at an mbarrier, a volatile access, one that acquires or
//! releases, or an atomic may come before the access. Of the end, nothing where an arrival at the barrier of the cluster, an operation of an
//! mbarrier, a copy, a fence or such an access may come after it, where a wait for the cluster is not on every path to it (the CTA that is
//! accessed may wait there, and threads that have ended count as arrived), nor for a store or an atomic in a kernel with such accesses
//! elsewhere: the other CTA may wait for what is stored.
//!
//! An operation that frees tensor memory of a pair is found where all waits of the kernel come before the only allocation; and, as potential
//! unless it is reached in no other way, where a branch on parameters and numbers of the block leads there without a wait.

use crate::analysis::asynchronous::{AsyncProblem, MissingBarrier, PeerAccess, PeerUse};
use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::ir::AccessKind;
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::asynchronous as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX711",
    name: "peer-not-running",
    family: Family::Async,
    summary: "another CTA of the cluster is accessed that may not have started, or may have ended",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for problem in module.asynchronous().unguarded_peer_accesses() {
        let kernel = text::kernel(module, problem.root);
        let PeerAccess {
            missing,
            kind,
            may_be_alone,
            waits_lag,
        } = problem.detail;
        let noun = match kind {
            PeerUse::Access(AccessKind::Load) => "load",
            PeerUse::Access(AccessKind::Store) => "store",
            PeerUse::Access(_) => "atomic",
            PeerUse::Operation => text::noun(problem.operation),
            PeerUse::Allocation => "allocation of tensor memory",
            PeerUse::Free => {
                report_free(problem, report);
                continue;
            }
        };
        let where_to = if kind == PeerUse::Allocation {
            "also in"
        } else {
            "to"
        };
        let (state, why, kind, place) = match missing {
            MissingBarrier::Before => (
                "may not have started",
                "nothing before it waits for that CTA",
                "start",
                "before the first such access",
            ),
            MissingBarrier::After => (
                "may have ended",
                "nothing keeps that CTA until then",
                "end",
                "after the last such access",
            ),
            MissingBarrier::Both => (
                "may not have started, or may have ended",
                "nothing waits for that CTA, or keeps it until then",
                "both",
                "before the first such access, and again after the last one",
            ),
        };
        let message =
            format!("this {noun} of {kernel} is {where_to} another CTA of the cluster, which {state}: {why}");
        let draft = text::report_problem(problem, message, "its address is mapped here", report);
        draft.kind(kind);
        draft.in_general(format!("another CTA of the cluster is accessed, which {state}"));
        if may_be_alone {
            draft.note("clusters are taken to have more than one CTA");
        }
        if waits_lag {
            draft.note("the waits at this mbarrier pass at once in the first rounds: they are for earlier signals, and none is for the last ones");
        }
        draft.help(format!(
            "let all CTAs pass `cluster.sync()`, or `barrier.cluster.arrive` and `.wait`, {place}"
        ));
    }
}

fn report_free(problem: AsyncProblem<PeerAccess>, report: &mut Report<'_>) {
    let message = match problem.is_definite {
        true => {
            "this frees tensor memory of both CTAs of a pair, and nothing waits for the other CTA after it was allocated"
        }
        false => {
            "this may free tensor memory of both CTAs of a pair before the other CTA has allocated it: by one way, nothing waits for that"
        }
    };
    let other = match problem.is_definite {
        true => "allocated here, in both",
        false => "by one way from this branch",
    };
    text::report_problem(problem, message.to_owned(), other, report)
        .kind("free")
        .in_general("tensor memory of a pair is freed, and nothing waits for the other CTA")
        .help("let both CTAs pass `cluster.sync()`, or `barrier.cluster.arrive` and `.wait`, before one of them frees it");
}
