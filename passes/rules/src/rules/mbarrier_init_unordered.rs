//! ## What it does
//!
//! Finds barriers in shared memory (`mbarrier`) that other threads or other CTAs of the cluster use, although nothing makes them wait
//! until they have been initialised.
//!
//! ## Why is this bad?
//!
//! `mbarrier.init` is a write like any other: others see it once something orders it before what they do. In the block that is a barrier of
//! the block. For the other CTAs of a cluster it is a barrier of the cluster whose arrival releases, as `barrier.cluster.arrive` does
//! unless it is `.relaxed`; a relaxed one orders nothing, and needs `fence.mbarrier_init.release.cluster` in the thread that initialised,
//! in front of it (PTX ISA, barrier.cluster, membar/fence). Where an arrival comes before the initialisation, it is lost: the phase never
//! completes, and all that wait hang.
//!
//! | the barrier is used by | needs after `mbarrier.init` |
//! | --- | --- |
//! | threads of the block | `__syncthreads()`, or `__syncwarp()` for the warp that initialised it |
//! | other CTAs of the cluster | a barrier of the cluster, and where its arrival is `.relaxed`, `fence.mbarrier_init` |
//! | a copy of the own block that names it | the same as threads, and no proxy fence |
//!
//! ## Example
//!
//! ```cuda
//! if (threadIdx.x == 0) cuda::ptx::mbarrier_init(&barrier, 2);
//! cuda::ptx::barrier_cluster_arrive(cuda::ptx::sem_relaxed);
//! cuda::ptx::barrier_cluster_wait();
//! cuda::ptx::mbarrier_arrive(..., cuda::ptx::space_cluster, remote(&barrier));     // may come first
//! ```
//!
//! ## Use instead
//!
//! ```cuda
//! if (threadIdx.x == 0) {
//!     cuda::ptx::mbarrier_init(&barrier, 2);
//!     cuda::ptx::fence_mbarrier_init(cuda::ptx::sem_release, cuda::ptx::scope_cluster);
//! }
//! cuda::ptx::barrier_cluster_arrive(cuda::ptx::sem_relaxed);
//! cuda::ptx::barrier_cluster_wait();
//! cuda::ptx::mbarrier_arrive(..., cuda::ptx::space_cluster, remote(&barrier));
//! ```
//!
//! The cluster is the case of [triton#1240](https://github.com/facebookexperimental/triton/pull/1240); a missing barrier of the block that
//! of [Fuser#1552](https://github.com/NVIDIA/Fuser/issues/1552) and [Fuser#1769](https://github.com/NVIDIA/Fuser/pull/1769).
//!
//! ## Limits
//!
//! A finding is definite. Either all arrivals at the barrier of the cluster are relaxed, but for those that each thread reaches only after
//! the use, the kernel has no fence before it that covers the cluster and no access that acquires or releases, and a mapped or multicast
//! barrier is used after such an arrival: not one that `mapa` maps to the own rank, nor in a cluster of one CTA. Where the kernel does not
//! say how many CTAs a cluster has, it is taken to have more than one. Or one thread, which its number picks, initialises a barrier,
//! another one or all threads arrive or wait at it, and no barrier, collective or access that could make them wait comes before. Or all
//! threads arrive at one that is initialised for several arrivals; where these are more than a warp has lanes, a collective of a warp is no
//! order. Blocks are taken to have more than one thread. A `fence.mbarrier_init` by another thread than the one that initialises is a
//! potential finding. No proxy fence is asked for: copies access their barrier in the generic proxy.

use crate::analysis::asynchronous::{AsyncProblem, Users};
use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::ir::{AsyncOp, MbarrierOp};
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::asynchronous as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX709",
    name: "mbarrier-init-unordered",
    family: Family::Async,
    summary: "a barrier in shared memory is used by others that nothing makes wait for its initialisation",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for problem in module.asynchronous().unordered_initialisations() {
        let kernel = text::kernel(module, problem.root);
        match problem.detail {
            Users::Cluster { may_be_alone } => report_in_cluster(problem, &kernel, may_be_alone, report),
            Users::Block => {
                let does = match problem.operation {
                    AsyncOp::Mbarrier(MbarrierOp::Wait { .. }) => "wait at",
                    _ => "arrive at",
                };
                report_in_block(problem, &format!("all threads of {kernel} {does}"), report);
            }
            Users::Thread(thread) => {
                report_in_block(problem, &format!("thread {thread} of {kernel} uses"), report);
            }
        }
    }
}

/// Other CTAs use a barrier after relaxed arrivals.
fn report_in_cluster(
    problem: AsyncProblem<Users>,
    kernel: &str,
    may_be_alone: bool,
    report: &mut Report<'_>,
) {
    let is_fenced = !problem.is_definite;
    let message = format!(
        "this {} of {kernel} {} of the cluster, and no fence or arrival orders that behind the initialisation",
        text::noun(problem.operation),
        match problem.operation {
            AsyncOp::Copy(copy) if copy.multicast => "completes at mbarriers",
            _ => "is at a mapped mbarrier",
        }
    );
    let other = "this arrival is relaxed: it orders nothing";
    let draft = text::report_problem(problem, message, other, report);
    draft
        .in_general("mbarriers of the cluster are used, and nothing orders that behind their initialisation");
    if is_fenced {
        draft.note(
            "`fence.mbarrier_init` orders initialisations by its own thread, and those are another one's",
        );
    }
    if may_be_alone {
        draft.note("clusters are taken to have more than one CTA");
    }
    draft.help(
        "put `fence.mbarrier_init.release.cluster` behind `mbarrier.init`, or arrive without `.relaxed`",
    );
}

/// Threads of the block use a barrier that others initialise, and nothing makes them wait.
fn report_in_block(problem: AsyncProblem<Users>, does: &str, report: &mut Report<'_>) {
    let is_by_all = problem.detail == Users::Block;
    let message = format!("{does} this mbarrier, and nothing makes them wait until it is initialised");
    let draft = text::report_problem(problem, message, "it is initialised here", report);
    draft.kind("block");
    if is_by_all {
        draft.note("blocks are taken to have more than one thread");
    }
    draft.help("have one thread initialise it, and put `__syncthreads()` behind");
}
