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
//! access that acquires or releases, and a mapped or multicast barrier is used after such an arrival: not one that `mapa` maps to the own rank,
//! nor in a cluster of one CTA. Where the kernel does not say how many CTAs a cluster has, it is taken to have more than one. Or one thread, which its number picks,
//! initialises a barrier, another one or all threads arrive or wait at it, and no barrier, collective or access that could make them wait
//! comes before. Or all threads arrive at one that is initialised for several arrivals. Blocks are taken to have more than one thread. A `fence.mbarrier_init`
//! by another thread than the one that initialises is a potential finding. No proxy fence is asked for: copies access their barrier in the generic proxy.

use std::cell::OnceCell;

use crate::analysis::asynchronous::{
    AsyncKernel, AsyncSite, Flow, MappedTo, View, cluster_size, constant_place, hands_on, leads, mapped_to,
};
use crate::context::{ModuleContext, Report};
use crate::ir::ops::Form;
use crate::ir::{
    AccessKind, AsyncOp, Asynchronous, BlockId, Body, Completion, FunctionId, InstructionId, MbarrierOp, Op,
    Scope, Special, SymbolId, Value,
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
    can_be_potential: true,
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
    matches!(op, Op::Access(access) if access.is_ordering() || access.is_volatile())
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
        AsyncOp::ClusterArrive { relaxed: false } => true,
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
    let mut fences = sites(|op| op == AsyncOp::InitFence).map(at).peekable();
    let is_fenced = fences.peek().is_some();
    if is_fenced && !fences.all(|fence| is_of_others(module, &inits, fence)) {
        return;
    }
    for site in &kernel.operations {
        let remote = remote(module, kernel.kernel, site);
        if remote == MappedTo::Own || !text::is_reached(module, site) {
            continue;
        }
        let mut arrivals = sites(|op| matches!(op, AsyncOp::ClusterArrive { .. }));
        let arrival = arrivals.find(|arrival| {
            flow.leads(&inits, at(arrival)).is_some() && flow.leads(&[at(arrival)], at(site)).is_some()
        });
        let Some(arrival) = arrival else { continue };
        let Some(site) = kernel.asked(module, site) else {
            continue;
        };
        let message = format!(
            "this {} of {} {} of the cluster, and no fence or arrival orders that behind the initialisation",
            text::noun(site.operation.op),
            text::kernel(module, kernel),
            match site.operation.op {
                AsyncOp::Copy(copy) if copy.multicast => "completes at mbarriers",
                _ => "is at a mapped mbarrier",
            }
        );
        let may_be_own = remote == MappedTo::First && cluster_size(module, kernel.kernel).is_none();
        let draft = if is_fenced {
            report.potential(site.place(), message)
        } else {
            report.definite(site.place(), message)
        };
        draft.in_general(
            "mbarriers of the cluster are used, and nothing orders that behind their initialisation",
        );
        if is_fenced {
            draft.note(
                "`fence.mbarrier_init` orders initialisations by its own thread, and those are another one's",
            );
        }
        if may_be_own {
            draft.note("clusters are taken to have more than one CTA");
        }
        draft.related(arrival.place(), "this arrival is relaxed: it orders nothing");
        draft.help(
            "put `fence.mbarrier_init.release.cluster` behind `mbarrier.init`, or arrive without `.relaxed`",
        );
        return;
    }
}

/// True if no thread that initialises a barrier, by its number, comes to a fence behind that.
fn is_of_others(
    module: &ModuleContext<'_>,
    inits: &[(FunctionId, InstructionId)],
    (id, fence): (FunctionId, InstructionId),
) -> bool {
    let views = View::all(module, id);
    inits.iter().all(|&(of, init)| {
        let mut threads = views.iter().filter(|view| view.thread().is_some());
        let maker = threads.find(|view| view.is_by_this(init));
        of == id && maker.is_some_and(|maker| !maker.is_behind(init, fence))
    })
}

/// The CTA whose mbarrier an operation is at: a mapped one, or that of several CTAs.
fn remote(module: &ModuleContext<'_>, kernel: FunctionId, site: &AsyncSite) -> MappedTo {
    let one = &site.operation;
    if cluster_size(module, kernel) == Some(1) {
        return MappedTo::Own;
    }
    match one.op {
        AsyncOp::Mbarrier(MbarrierOp::Init | MbarrierOp::Invalidate | MbarrierOp::Wait { .. }) => {
            return MappedTo::Own;
        }
        AsyncOp::Copy(copy) if copy.completion != Completion::Mbarrier => return MappedTo::Own,
        AsyncOp::Copy(copy) if copy.multicast => return MappedTo::Other,
        AsyncOp::Mbarrier(_) | AsyncOp::Copy(_) => {}
        _ => return MappedTo::Own,
    }
    let mapped = one.barrier().and_then(|at| mapped(module, site, at));
    mapped.unwrap_or(MappedTo::Own)
}

/// The CTA that `mapa` has mapped the address of an access to, if it has.
fn mapped(module: &ModuleContext<'_>, site: &AsyncSite, at: InstructionId) -> Option<MappedTo> {
    let id = site.function;
    let body = module.module.function(id).body.as_ref()?;
    let &address = body.uses(body.instruction(at)).first()?;
    let analyses = module.function(id);
    let end = analyses.trace(address, |form| {
        form.beside().map(|(from, _)| from).or_else(|| form.moved())
    });
    let map = body.instruction(analyses.writer(end)?);
    match (map.op, body.uses(map)) {
        (Op::MapShared(_), &[_, rank]) => Some(mapped_to(module, rank, (id, at), &site.callers)),
        _ => None,
    }
}

/// Threads of the block use a barrier that others initialise, and nothing makes them wait.
fn in_block(module: &ModuleContext<'_>, kernel: &AsyncKernel, report: &mut Report<'_>) {
    let function = module.module.function(kernel.kernel);
    let Some(body) = &function.body else { return };
    let is_one_thread =
        |shape: Option<[u32; 3]>| shape.is_some_and(|shape| shape.iter().all(|&side| side == 1));
    let mut others = kernel.functions.iter().filter(|&&id| id != kernel.kernel);
    if !others.all(|&id| hands_on(module, id))
        || is_one_thread(function.launch.max_threads)
        || is_one_thread(function.launch.required_threads)
    {
        return;
    }
    let analyses = module.function(kernel.kernel);
    // The begin of dynamic shared memory has several names.
    let is_static = |(symbol, _): &(SymbolId, i64)| !module.module.symbol(*symbol).is_dynamic_shared();
    let place = |one: &Asynchronous| constant_place(module, kernel.kernel, one.barrier()?).filter(is_static);
    let inits: Option<Vec<_>> = body
        .asynchronous
        .iter()
        .filter(|one| one.op == AsyncOp::Mbarrier(MbarrierOp::Init))
        .map(|one| Some((one, place(one)?)))
        .collect();
    // An initialisation at an address that is not known may be of any barrier.
    let Some(inits) = inits else { return };
    let views = OnceCell::new();
    for one in &body.asynchronous {
        let is_use = matches!(
            one.op,
            AsyncOp::Mbarrier(MbarrierOp::Arrive { .. } | MbarrierOp::Wait { .. } | MbarrierOp::ExpectTx)
        );
        let Some(at) = place(one).filter(|_| is_use) else {
            continue;
        };
        let mut own = inits.iter().filter(|(_, of)| *of == at).map(|(init, _)| *init);
        let (Some(init), None) = (own.next(), own.next()) else {
            continue;
        };
        if may_wait(body, one.instruction) {
            continue;
        }
        let views = views.get_or_init(|| View::all(module, kernel.kernel));
        let Some(users) = users(module, kernel, views, (one, init)) else {
            continue;
        };
        let comes_later = !leads(body, init.instruction, one.instruction, one.instruction);
        if (comes_later && matches!(users, Users::All)) || !analyses.is_reached(one.instruction) {
            continue;
        }
        let site = |operation: &Asynchronous| AsyncSite::in_kernel(kernel.kernel, operation);
        let (does, note) = match (users, one.op) {
            (Users::Thread(thread), _) => (
                format!("thread {thread} of {} uses", text::kernel(module, kernel)),
                None,
            ),
            (Users::All, AsyncOp::Mbarrier(MbarrierOp::Wait { .. })) => (
                format!("all threads of {} wait at", text::kernel(module, kernel)),
                Some("blocks are taken to have more than one thread"),
            ),
            (Users::All, _) => (
                format!("all threads of {} arrive at", text::kernel(module, kernel)),
                Some("blocks are taken to have more than one thread"),
            ),
        };
        let message = format!("{does} this mbarrier, and nothing makes them wait until it is initialised");
        let draft = report.definite(site(one).place(), message);
        draft.kind("block");
        draft.related(site(init).place(), "it is initialised here");
        if let Some(note) = note {
            draft.note(note);
        }
        draft.help("have one thread initialise it, and put `__syncthreads()` behind");
        return;
    }
}

/// The threads that use a barrier which others initialise.
#[derive(Clone, Copy)]
enum Users {
    All,
    Thread(u32),
}

/// The users of a barrier, if there are such as do not initialise it before, or whose use comes before that of others counts.
fn users(
    module: &ModuleContext<'_>,
    kernel: &AsyncKernel,
    views: &[View<'_, '_>],
    (one, init): (&Asynchronous, &Asynchronous),
) -> Option<Users> {
    let body = module.module.function(kernel.kernel).body.as_ref()?;
    let analyses = module.function(kernel.kernel);
    let block = body.block_of(one.instruction);
    let is_by_all = body.instruction(one.instruction).guard.is_none()
        && analyses.post_dominators().dominates(block, BlockId::new(0));
    let only = |of: InstructionId| {
        let mut threads = views.iter().filter(|view| view.thread().is_some());
        threads.find(|view| view.is_by_this(of)).and_then(View::thread)
    };
    let maker = only(init.instruction);
    if is_by_all {
        let arrives = matches!(one.op, AsyncOp::Mbarrier(MbarrierOp::Arrive { .. }));
        let is_of_several = arrives && expects_several(module, kernel.kernel, body, init);
        return (maker.is_some() || is_of_several).then_some(Users::All);
    }
    let user = only(one.instruction)?;
    (maker? != user).then_some(Users::Thread(user))
}

/// True if something on a way to an instruction may make its threads wait for others.
fn may_wait(body: &Body<'_>, to: InstructionId) -> bool {
    body.iter().any(|(at, instruction)| {
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
        waits && at != to && leads(body, at, to, to)
    })
}

/// True if a barrier is initialised for more than one arrival.
fn expects_several(module: &ModuleContext<'_>, id: FunctionId, body: &Body<'_>, init: &Asynchronous) -> bool {
    let Some(count) = body.async_value(init, init.values.count) else {
        return false;
    };
    let known = module.function(id).trace(count, Form::moved_number);
    matches!(known, Value::Integer(2..) | Value::Special(Special::Ntid(_)))
}

/// True for operations at which threads may wait for others. A fence alone is none: it takes a flag that one reads.
const fn is_order(one: &Asynchronous) -> bool {
    matches!(
        one.op,
        AsyncOp::Mbarrier(MbarrierOp::Wait { .. })
            | AsyncOp::ClusterWait
            | AsyncOp::ClusterArrive { .. }
            | AsyncOp::Unknown
    )
}
