//! Mbarriers used by threads, of the block or of other CTAs, that do not certainly wait for their initialisation.

use std::cell::OnceCell;

use ptxcheck_ir::ops::Form;
use ptxcheck_ir::paths::Paths;
use ptxcheck_ir::{
    AsyncOp, Asynchronous, BlockId, Body, Completion, InstructionId, MbarrierOp, Op, Scope, Special, Value,
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
use crate::pointer_passthrough::passes_pointer_through;

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
        let orders_cluster = |op| match op {
            AsyncOp::ClusterArrive { relaxed: false } => true,
            AsyncOp::ThreadFence(scope) => scope >= Scope::Cluster,
            _ => false,
        };
        if !kernel.has_operation(arrives)
            || kernel.has_operation(orders_cluster)
            || kernel.has_instruction(module, may_order_threads)
        {
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
            if remote == MappedTo::Own || !site.is_reached(module) {
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
        let mut others = kernel.functions.iter().filter(|&&other| other != id);
        if !others.all(|&other| passes_pointer_through(module, other))
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
        let views = OnceCell::new();
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
            if may_wait_before(body, one.instruction) {
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

/// The users of a barrier, if some of them do not initialise it before, or if all threads arrive at a barrier that expects
/// several arrivals.
fn unordered_users(
    (body, analyses): (&Body<'_>, &Analyses<'_>),
    views: &[View<'_, '_>],
    (one, init): (&Asynchronous, &Asynchronous),
) -> Option<Users> {
    let block = body.block_of(one.instruction);
    let is_by_all = body.instruction(one.instruction).guard.is_none()
        && analyses.post_dominators().dominates(block, BlockId::new(0));
    let maker = View::thread_executing_alone(views, init.instruction).and_then(View::thread_number);
    if is_by_all {
        let arrives = matches!(one.op, AsyncOp::Mbarrier(MbarrierOp::Arrive { .. }));
        let is_of_several = arrives && expects_several_arrivals(body, analyses, init);
        return (maker.is_some() || is_of_several).then_some(Users::Block);
    }
    let user = View::thread_executing_alone(views, one.instruction)?.thread_number()?;
    (maker? != user).then_some(Users::Thread(user))
}

/// True if an instruction on a path to an instruction may make its threads wait for others.
fn may_wait_before(body: &Body<'_>, to: InstructionId) -> bool {
    body.iter().any(|(at, instruction)| {
        let waits = match instruction.op {
            Op::Barrier(_) | Op::Collective(..) => true,
            Op::Access(access) => may_signal_other_threads(access),
            _ => false,
        };
        let waits = waits || body.asynchronous_at(at).is_some_and(may_make_threads_wait);
        waits && at != to && Paths::new(body).lead(at, to)
    })
}

/// True if a barrier is initialised for more than one arrival.
fn expects_several_arrivals(body: &Body<'_>, analyses: &Analyses<'_>, init: &Asynchronous) -> bool {
    let Some(count) = body.async_value(init, init.values.count) else {
        return false;
    };
    let known = analyses.trace_value(count, Form::moved_number);
    matches!(known, Value::Integer(2..) | Value::Special(Special::Ntid(_)))
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
