//! Mbarriers used by threads, of the block or of other CTAs, that do not certainly wait for their initialisation.

use std::cell::OnceCell;

use ptxcheck_ir::ops::Form;
use ptxcheck_ir::paths::Paths;
use ptxcheck_ir::{
    AsyncOp, Asynchronous, BlockId, Body, Completion, Instruction, InstructionId, MbarrierOp, Op, Scope,
    Special, Value, WARP,
};

use super::flow::Flow;
use super::kernel::{AsyncKernel, AsyncSite, barrier_place_of};
use super::own_cta::{CalledInstruction, MappedTo, cluster_size, cta_of_mapped_rank};
use super::pending::may_signal_other_threads;
use super::problems::{AsyncAnalysis, AsyncProblem, is_initialisation};
use super::sites::Site;
use super::unfenced_stores::may_order_threads;
use super::view::View;
use crate::function::Analyses;
use crate::pointer_passthrough::argument_passed_through;
use crate::shared::Shared;

/// The users of an mbarrier that do not certainly wait for its initialisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Users {
    /// Other CTAs of the cluster, after a relaxed arrival, which is the other place.
    Cluster {
        /// True if it is not known that the cluster has other CTAs.
        may_be_alone: bool,
    },
    /// All threads of the block; the other place is the initialisation.
    Block,
    /// This thread of the block; the other place is the initialisation.
    Thread(u32),
}

impl AsyncAnalysis<'_, '_> {
    /// The uses of mbarriers that are not ordered after their initialisation by other threads.
    #[must_use]
    pub fn unordered_initialisations(self) -> Vec<AsyncProblem<Users>> {
        let kernels = self
            .kernels_without_unknown_code()
            .filter(|kernel| kernel.has_operation(is_initialisation));
        kernels
            .flat_map(|kernel| [self.problem_in_cluster(kernel), self.problem_in_block(kernel)])
            .flatten()
            .collect()
    }

    /// The first use by other CTAs that comes after a relaxed arrival.
    fn problem_in_cluster(self, kernel: &AsyncKernel) -> Option<AsyncProblem<Users>> {
        let module = self.module;
        let arrives = |op| matches!(op, AsyncOp::ClusterArrive { .. });
        if !kernel.has_operation(arrives) || kernel.has_instruction(module, may_order_threads) {
            return None;
        }
        let inits: Vec<Site> = kernel
            .sites_where(is_initialisation)
            .map(AsyncSite::site)
            .collect();
        let flow = Flow::new(module, kernel);
        let mut fences = kernel.sites_where(|op| op == AsyncOp::InitFence).peekable();
        let is_fenced = fences.peek().is_some();
        if is_fenced && !fences.all(|fence| self.is_fence_by_other_threads(&inits, fence.site())) {
            return None;
        }
        kernel.operations.iter().find_map(|site| {
            let remote = self.cta_of_barrier(kernel, site);
            if remote == MappedTo::Own
                || !site.is_reached(module)
                || !kernel
                    .sites_where(orders_cluster)
                    .all(|other| self.comes_first(site, other))
            {
                return None;
            }
            let arrival = kernel.sites_where(arrives).find(|arrival| {
                flow.first_instruction_leading_to(&inits, arrival.site())
                    .is_some()
                    && flow
                        .first_instruction_leading_to(&[arrival.site()], site.site())
                        .is_some()
            })?;
            let may_be_alone = remote == MappedTo::Rank(0) && cluster_size(module, kernel.kernel).is_none();
            let users = Users::Cluster { may_be_alone };
            let site = kernel.requested_site(module, site)?;
            Some(AsyncProblem::of_site(kernel, &site, users).with_other_place(arrival.place(), !is_fenced))
        })
    }

    /// True if a thread that reaches an operation has reached another one before.
    fn comes_first(self, first: &AsyncSite, second: &AsyncSite) -> bool {
        let ((id, first), (other, second)) = (first.site(), second.site());
        let body = self.module.module.function(id).body.as_ref();
        id == other
            && body.is_some_and(|body| body.instruction(first).guard.is_none())
            && self.module.function(id).is_on_every_path_to(first, second)
    }

    /// True if no thread that initialises a barrier, by its number, reaches a fence afterwards.
    fn is_fence_by_other_threads(self, inits: &[Site], (id, fence): Site) -> bool {
        let views = View::distinct_threads(self.module, id);
        inits.iter().all(|&(of, init)| {
            let maker = View::thread_executing_alone(&views, init);
            of == id && maker.is_some_and(|maker| !maker.is_reachable_from(init, fence))
        })
    }

    /// The CTA whose mbarrier an operation is at: a mapped one, or that of several CTAs.
    fn cta_of_barrier(self, kernel: &AsyncKernel, site: &AsyncSite) -> MappedTo {
        if cluster_size(self.module, kernel.kernel) == Some(1) {
            return MappedTo::Own;
        }
        match site.operation.op {
            AsyncOp::Mbarrier(MbarrierOp::Init | MbarrierOp::Invalidate | MbarrierOp::Wait { .. }) => {
                MappedTo::Own
            }
            AsyncOp::Copy(copy) if copy.completion != Completion::Mbarrier => MappedTo::Own,
            AsyncOp::Copy(copy) if copy.multicast => MappedTo::Unknown,
            AsyncOp::Mbarrier(_) | AsyncOp::Copy(_) => self.mapped_cta(site).unwrap_or(MappedTo::Own),
            _ => MappedTo::Own,
        }
    }

    /// The CTA that `mapa` has mapped the address of a barrier to, if it has.
    fn mapped_cta(self, site: &AsyncSite) -> Option<MappedTo> {
        let (id, at) = (site.function, site.operation.barrier()?);
        let body = self.module.module.function(id).body.as_ref()?;
        let &address = body.uses(body.instruction(at)).first()?;
        let analyses = self.module.function(id);
        let end = analyses.trace_value(address, |form| {
            form.beside().map(|(from, _)| from).or_else(|| form.moved())
        });
        let map = body.instruction(analyses.only_writer(end)?);
        match (map.op, body.uses(map)) {
            (Op::MapShared(_), &[_, rank]) => {
                let spot = CalledInstruction {
                    function: id,
                    at,
                    callers: &site.callers,
                };
                Some(cta_of_mapped_rank(self.module, rank, spot, spot))
            }
            _ => None,
        }
    }

    /// The first use by threads of the block that others initialise a barrier for.
    fn problem_in_block(self, kernel: &AsyncKernel) -> Option<AsyncProblem<Users>> {
        let (module, id) = (self.module, kernel.kernel);
        let function = module.module.function(id);
        let body = function.body.as_ref()?;
        let is_one_thread = |shape: Option<[u32; 3]>| shape == Some([1; 3]);
        if kernel.operations.iter().any(|site| site.function != id)
            || is_one_thread(function.launch.max_threads)
            || is_one_thread(function.launch.required_threads)
        {
            return None;
        }
        let analyses = module.function(id);
        let place = |one: &Asynchronous| barrier_place_of(module, id, one);
        let inits = body.asynchronous.iter().filter(|one| is_initialisation(one.op));
        // An initialisation at an unknown address may be of any barrier.
        let inits: Vec<_> = inits.map(|one| Some((one, place(one)?))).collect::<Option<_>>()?;
        let (views, waiting) = (OnceCell::new(), OnceCell::new());
        body.asynchronous.iter().find_map(|one| {
            let is_use = matches!(
                one.op,
                AsyncOp::Mbarrier(MbarrierOp::Arrive { .. } | MbarrierOp::Wait { .. } | MbarrierOp::ExpectTx)
            );
            let at = is_use.then(|| place(one))??;
            let mut own = inits.iter().filter(|(_, of)| *of == at).map(|(init, _)| *init);
            let (Some(init), None) = (own.next(), own.next()) else {
                return None;
            };
            // Lanes that wait for each other order no other warps.
            let is_of_warps = is_made_by_all(body, analyses, one)
                && arrives_once(one)
                && matches!(expected_arrivals(body, analyses, init), Some(Value::Integer(count)) if count > WARP.into());
            let [of_threads, of_warps] = waiting
                .get_or_init(|| [Waits::OfThreads, Waits::OfWarps].map(|waits| WaitingInstructions::new(module, kernel, body, waits)));
            let waiting = if is_of_warps { of_warps } else { of_threads };
            let waits = |(at, instruction): (InstructionId, &Instruction)| {
                at != one.instruction
                    && waiting.contains(at, instruction)
                    && Paths::new(body).lead(at, one.instruction)
            };
            if body.iter().any(waits) {
                return None;
            }
            let views = views.get_or_init(|| View::distinct_threads(module, id));
            let users = unordered_users((body, analyses), views, (one, init))?;
            let comes_later = !Paths::new(body).lead(init.instruction, one.instruction);
            if (comes_later && users == Users::Block) || !analyses.is_reached(one.instruction) {
                return None;
            }
            let site = |operation| AsyncSite::in_kernel(id, operation);
            Some(AsyncProblem::of_site(kernel, &site(one), users).with_other_place(site(init).place(), true))
        })
    }
}

/// True for operations that order what a thread has done before what other CTAs of the cluster do after a barrier of the cluster.
fn orders_cluster(op: AsyncOp) -> bool {
    match op {
        AsyncOp::ClusterArrive { relaxed: false } => true,
        AsyncOp::ThreadFence(scope) => scope >= Scope::Cluster,
        _ => false,
    }
}

/// The users of a barrier, if some of them do not initialise it before, or if all threads arrive at a barrier that expects
/// several arrivals.
fn unordered_users(
    (body, analyses): (&Body<'_>, &Analyses<'_>),
    views: &[View<'_, '_>],
    (one, init): (&Asynchronous, &Asynchronous),
) -> Option<Users> {
    let maker = View::thread_executing_alone(views, init.instruction).and_then(View::thread_number);
    if is_made_by_all(body, analyses, one) {
        let arrives = matches!(one.op, AsyncOp::Mbarrier(MbarrierOp::Arrive { .. }));
        let expected = expected_arrivals(body, analyses, init);
        let is_of_several = arrives
            && matches!(
                expected,
                Some(Value::Integer(2..) | Value::Special(Special::Ntid(_)))
            );
        return (maker.is_some() || is_of_several).then_some(Users::Block);
    }
    let user = View::thread_executing_alone(views, one.instruction)?.thread_number()?;
    (maker? != user).then_some(Users::Thread(user))
}

/// The waits of threads for each other that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    /// All.
    OfThreads,
    /// All but those of the lanes of a warp.
    OfWarps,
}

/// The instructions of a kernel at which threads may wait for others.
pub(super) struct WaitingInstructions<'a, 'm> {
    module: &'a Shared<'m>,
    body: &'a Body<'m>,
    waits: Waits,
    /// A function that it calls has such an instruction.
    has_waiting_callee: bool,
}

impl<'a, 'm> WaitingInstructions<'a, 'm> {
    /// Those of a kernel with this body, without unknown code.
    pub(super) fn of_threads(module: &'a Shared<'m>, kernel: &AsyncKernel, body: &'a Body<'m>) -> Self {
        Self::new(module, kernel, body, Waits::OfThreads)
    }

    /// The same, but for those at which lanes of one warp wait for each other.
    pub(super) fn between_warps(module: &'a Shared<'m>, kernel: &AsyncKernel, body: &'a Body<'m>) -> Self {
        Self::new(module, kernel, body, Waits::OfWarps)
    }

    fn new(module: &'a Shared<'m>, kernel: &AsyncKernel, body: &'a Body<'m>, waits: Waits) -> Self {
        let mut all = Self {
            module,
            body,
            waits,
            has_waiting_callee: false,
        };
        let mut callees = kernel.bodies(module).filter(|(id, _)| *id != kernel.kernel);
        all.has_waiting_callee =
            callees.any(|(_, body)| body.iter().any(|(at, one)| all.is_wait(body, at, one)));
        all
    }

    /// True if threads may wait for others at an instruction of the kernel, or in a function that it calls.
    pub(super) fn contains(&self, at: InstructionId, instruction: &Instruction) -> bool {
        self.is_wait(self.body, at, instruction)
            || self.has_waiting_callee
                && matches!(instruction.op, Op::Call(_))
                && argument_passed_through(self.module, self.body, at).is_none()
    }

    /// These instructions, in the order of the body.
    pub(super) fn list(&self) -> Vec<InstructionId> {
        let all = self.body.iter();
        let waiting = all.filter(|&(at, instruction)| self.contains(at, instruction));
        waiting.map(|(at, _)| at).collect()
    }

    fn is_wait(&self, body: &Body<'_>, at: InstructionId, instruction: &Instruction) -> bool {
        let is_wait = match instruction.op {
            Op::Barrier(_) => true,
            Op::Collective(..) => self.waits == Waits::OfThreads,
            Op::Access(access) => may_signal_other_threads(access),
            _ => false,
        };
        is_wait || body.asynchronous_at(at).is_some_and(may_make_threads_wait)
    }
}

/// True if all threads of the block execute an operation.
fn is_made_by_all(body: &Body<'_>, analyses: &Analyses<'_>, one: &Asynchronous) -> bool {
    let block = body.block_of(one.instruction);
    body.instruction(one.instruction).guard.is_none()
        && analyses.post_dominators().dominates(block, BlockId::new(0))
}

/// True for one arrival.
const fn arrives_once(one: &Asynchronous) -> bool {
    matches!(one.op, AsyncOp::Mbarrier(MbarrierOp::Arrive { .. })) && one.values.count.is_none()
}

/// The arrivals that a barrier is initialised for.
fn expected_arrivals(body: &Body<'_>, analyses: &Analyses<'_>, init: &Asynchronous) -> Option<Value> {
    let count = body.async_value(init, init.values.count)?;
    Some(analyses.trace_value(count, Form::moved_number))
}

/// True for operations at which threads may wait for others. A fence alone does not count: a flag that the other thread
/// reads is needed, too.
const fn may_make_threads_wait(one: &Asynchronous) -> bool {
    matches!(
        one.op,
        AsyncOp::Mbarrier(MbarrierOp::Wait { .. })
            | AsyncOp::ClusterWait
            | AsyncOp::ClusterArrive { .. }
            | AsyncOp::Unknown
    )
}
