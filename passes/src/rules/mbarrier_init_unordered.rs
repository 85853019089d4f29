//! ## What it does
//!
//! Finds barriers in shared memory (`mbarrier`) that other threads or other CTAs of the cluster use, although nothing makes them wait
//! until they have been initialised.
//!
//! ## Why is this bad?
//!
//! `mbarrier.init` is a write like any other: others see it once something orders it before what they do. In the block that is a
//! barrier of the block. For the other CTAs of a cluster it is a barrier of the cluster whose arrival releases, as
//! `barrier.cluster.arrive` does unless it is `.relaxed`; a relaxed one orders nothing, and needs `fence.mbarrier_init.release.cluster` in the
//! thread that initialised, in front of it (PTX ISA, barrier.cluster, membar/fence). Where an arrival comes before the initialisation,
//! it is lost: the phase never completes, and all that wait hang.
//!
//! | the barrier is used by | needs behind `mbarrier.init` |
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
//! The cluster is the case of [triton#1240](https://github.com/facebookexperimental/triton/pull/1240); a missing barrier of the block that of
//! [Fuser#1552](https://github.com/NVIDIA/Fuser/issues/1552) and [Fuser#1769](https://github.com/NVIDIA/Fuser/pull/1769).
//!
//! ## Limits
//!
//! A finding is definite. Either all arrivals at the barrier of the cluster are relaxed, the kernel has no fence that covers the cluster and no
//! access that acquires or releases, and a mapped or multicast barrier is used behind such an arrival. Or all threads arrive at one barrier,
//! the kernel initialises one for several arrivals, and no barrier, collective, fence or access that could make them wait comes before.
//! Blocks are taken to have more than one thread. No
//! proxy fence is asked for: copies access their barrier in the generic proxy.

use crate::analysis::asynchronous::{AsyncKernel, AsyncSite, Flow, SpotBase, leads, spot};
use crate::context::{ModuleContext, Report};
use crate::ir::{
    AccessKind, AsyncOp, Asynchronous, BinaryOp, BlockId, Body, Completion, FunctionId, InstructionId,
    MbarrierOp, Op, Scope, Value,
};
use crate::rule::{Check, Family, Level, Rule};
use crate::support::asynchronous as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX709",
    name: "mbarrier-init-unordered",
    aliases: &[],
    guidelines: &[],
    family: Family::Async,
    summary: "a barrier in shared memory is used by others that nothing makes wait for its initialisation",
    definite: Level::Error,
    can_be_definite: true,
    can_be_potential: false,
    check: Check::Module(check),
};

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for kernel in module.asynchronous() {
        let initialises = |op| op == AsyncOp::Mbarrier(MbarrierOp::Init);
        if !kernel.is_open && kernel.any(initialises) {
            in_cluster(module, kernel, report);
            in_block(module, kernel, report);
        }
    }
}

/// True for an access that may order what threads do.
fn orders(op: Op) -> bool {
    matches!(op, Op::Access(access) if access.orders || access.volatile)
}

fn any_instruction(module: &ModuleContext<'_>, kernel: &AsyncKernel, holds: impl Fn(Op) -> bool) -> bool {
    let bodies = kernel
        .functions
        .iter()
        .filter_map(|&id| module.module.function(id).body.as_ref());
    bodies
        .flat_map(|body| &body.instructions)
        .any(|instruction| holds(instruction.op))
}

/// Other CTAs use a barrier behind relaxed arrivals.
fn in_cluster(module: &ModuleContext<'_>, kernel: &AsyncKernel, report: &mut Report<'_>) {
    let arrives = |op| matches!(op, AsyncOp::ClusterArrive { .. });
    let orders_cluster = |op| match op {
        AsyncOp::InitFence | AsyncOp::ClusterArrive { relaxed: false } => true,
        AsyncOp::ThreadFence(scope) => scope >= Scope::Cluster,
        _ => false,
    };
    if !kernel.any(arrives) || kernel.any(orders_cluster) || any_instruction(module, kernel, orders) {
        return;
    }
    let at = |site: &AsyncSite| (site.function, site.operation.instruction);
    let sites = |holds: fn(AsyncOp) -> bool| {
        kernel
            .operations
            .iter()
            .filter(move |site| holds(site.operation.op))
    };
    let inits: Vec<_> = sites(|op| op == AsyncOp::Mbarrier(MbarrierOp::Init))
        .map(at)
        .collect();
    let flow = Flow::new(module, kernel);
    for site in &kernel.operations {
        if !is_remote(module, site) || !text::is_reached(module, site) {
            continue;
        }
        let mut arrivals = sites(|op| matches!(op, AsyncOp::ClusterArrive { .. }));
        let arrival = arrivals.find(|arrival| {
            flow.leads(&inits, at(arrival)).is_some() && flow.leads(&[at(arrival)], at(site)).is_some()
        });
        let Some(arrival) = arrival else { continue };
        let message = format!(
            "this {} of {} is at an mbarrier of another CTA, whose initialisation no fence or arrival makes it wait for",
            text::noun(site.operation.op),
            text::kernel(module, kernel)
        );
        let draft = report.definite(text::place(site), message);
        draft.in_general(
            "mbarriers of other CTAs are used, and nothing orders that behind their initialisation",
        );
        draft.related(text::place(arrival), "this arrival is relaxed: it orders nothing");
        draft.help(
            "put `fence.mbarrier_init.release.cluster` behind `mbarrier.init`, or arrive without `.relaxed`",
        );
        return;
    }
}

/// True for a use of an mbarrier in another CTA: at a mapped address, or of several CTAs.
fn is_remote(module: &ModuleContext<'_>, site: &AsyncSite) -> bool {
    let one = &site.operation;
    match one.op {
        AsyncOp::Mbarrier(MbarrierOp::Init | MbarrierOp::Invalidate | MbarrierOp::Wait { .. }) => {
            return false;
        }
        AsyncOp::Copy(copy) if copy.completion != Completion::Mbarrier => return false,
        AsyncOp::Copy(copy) if copy.multicast => return true,
        AsyncOp::Mbarrier(_) | AsyncOp::Copy(_) => {}
        _ => return false,
    }
    let Some(body) = &module.module.function(site.function).body else {
        return false;
    };
    one.barrier()
        .is_some_and(|at| is_mapped(module, site.function, body, at))
}

/// True if an access is at an address that `mapa` made.
fn is_mapped(module: &ModuleContext<'_>, id: FunctionId, body: &Body<'_>, at: InstructionId) -> bool {
    let Some(&address) = body.uses(body.instruction(at)).first() else {
        return false;
    };
    let definitions = module.function(id).definitions();
    let end = definitions.trace(body, address, |at| {
        let instruction = body.instruction(at);
        match (instruction.op, body.uses(instruction)) {
            (Op::Copy | Op::Convert { .. } | Op::ToGeneric(..) | Op::FromGeneric(..), &[from])
            | (Op::Binary(BinaryOp::Add, _), &[from, Value::Integer(_)]) => Some(from),
            _ => None,
        }
    });
    let writer = end
        .register()
        .and_then(|register| definitions.only(body, register));
    writer.is_some_and(|writer| matches!(body.instruction(writer).op, Op::MapShared(_)))
}

/// All threads of the block use a barrier that one of them initialises.
fn in_block(module: &ModuleContext<'_>, kernel: &AsyncKernel, report: &mut Report<'_>) {
    let function = module.module.function(kernel.kernel);
    let Some(body) = &function.body else { return };
    let is_one_thread =
        |shape: Option<[u32; 3]>| shape.is_some_and(|shape| shape.iter().all(|&side| side == 1));
    if kernel.functions.len() > 1
        || is_one_thread(function.launch.max_threads)
        || is_one_thread(function.launch.required_threads)
    {
        return;
    }
    let analyses = module.function(kernel.kernel);
    let post = analyses.post_dominators();
    let entry = BlockId::new(0);
    let init = body.asynchronous.iter().find(|one| {
        one.op == AsyncOp::Mbarrier(MbarrierOp::Init) && expects_several(module, kernel.kernel, body, one)
    });
    for one in &body.asynchronous {
        let AsyncOp::Mbarrier(MbarrierOp::Arrive { .. }) = one.op else {
            continue;
        };
        let block = body.block_of(one.instruction);
        let is_by_all = body.instruction(one.instruction).guard.is_none() && post.dominates(block, entry);
        if !is_by_all || !is_one_object(module, kernel.kernel, body, one) {
            continue;
        }
        let may_wait = body.iter().any(|(at, instruction)| {
            let waits = match instruction.op {
                Op::Barrier(_) | Op::Collective(..) => true,
                Op::Access(access) => {
                    orders(instruction.op)
                        || matches!(
                            access.kind,
                            AccessKind::Atomic | AccessKind::Reduction | AccessKind::ReadModifyWrite
                        )
                }
                _ => false,
            };
            let waits = waits || body.asynchronous_at(at).is_some_and(is_order);
            waits && leads(body, at, one.instruction, one.instruction)
        });
        let Some(init) = init.filter(|_| !may_wait && analyses.is_reached(one.instruction)) else {
            continue;
        };
        if !leads(body, init.instruction, one.instruction, one.instruction) {
            continue;
        }
        let site = AsyncSite {
            function: kernel.kernel,
            operation: *one,
        };
        let message = format!(
            "all threads of {} arrive at this mbarrier, and nothing makes them wait until it is initialised",
            text::kernel(module, kernel)
        );
        let draft = report.definite(text::place(&site), message);
        draft.kind("block");
        draft.related(
            text::place(&AsyncSite {
                function: kernel.kernel,
                operation: *init,
            }),
            "it is initialised here",
        );
        draft.note("it is initialised for several arrivals: blocks are taken to have more than one thread");
        draft.help("have one thread initialise it, and put `__syncthreads()` behind");
        return;
    }
}

/// True if a barrier is initialised for more than one arrival.
fn expects_several(module: &ModuleContext<'_>, id: FunctionId, body: &Body<'_>, init: &Asynchronous) -> bool {
    let Some(count) = body.async_value(init, init.values.count) else {
        return false;
    };
    let known = module.function(id).definitions().trace(body, count, |at| {
        let instruction = body.instruction(at);
        let is_copy = instruction.op == Op::Copy;
        body.uses(instruction).first().copied().filter(|_| is_copy)
    });
    matches!(known, Value::Integer(2..))
}

/// True for operations that may order what threads do.
const fn is_order(one: &Asynchronous) -> bool {
    matches!(
        one.op,
        AsyncOp::Mbarrier(MbarrierOp::Wait { .. })
            | AsyncOp::ClusterWait
            | AsyncOp::ClusterArrive { .. }
            | AsyncOp::ThreadFence(_)
            | AsyncOp::InitFence
            | AsyncOp::ProxyFence(_)
            | AsyncOp::Unknown
    )
}

/// True if a barrier is the same for all threads.
fn is_one_object(module: &ModuleContext<'_>, id: FunctionId, body: &Body<'_>, one: &Asynchronous) -> bool {
    let known = one.barrier().and_then(|at| spot(body, module.function(id), at));
    known.is_some_and(|spot| matches!(spot.base, SpotBase::Symbol(_)))
}
