//! Waits at which a thread certainly comes after what others have done: barriers of the block or the cluster, and those at which one role
//! hands over to another.
//!
//! ```text
//! handover     a wait on each path to what comes after it, and the arrivals that it waits for
//!   block      of all threads, on each path to the end of the kernel: each thread's own wait is its arrival
//!   cluster    likewise; the arrival is an instruction of its own
//!   named      a barrier with a number and a count, which are constants: the barriers with this number
//!   mbarrier   the arrivals at its mbarrier, whose place is constant
//! needed       where roles hand over, as many arrive at the most as are counted, so that the wait needs each of them
//! ```

use std::cell::{OnceCell, RefCell};

use ptxcheck_ir::ops::Form;
use ptxcheck_ir::paths::Paths;
use ptxcheck_ir::{
    AsyncOp, BlockId, Body, FunctionId, Instruction, InstructionId, MbarrierOp, Op, Value, WARP,
};

use rustc_hash::FxHashMap;

use super::kernel::{AsyncKernel, AsyncSite};
use super::view::View;
use crate::certain_paths::CertainPaths;
use crate::function::Analyses;
use crate::lanes::is_full_barrier;
use crate::launches::most_block_threads;
use crate::limits::MAX_HANDOVER_STEPS;
use crate::shared::Shared;
use crate::threads::Threads;
use crate::value::{Elected, PassedSums, Source};

/// A wait, and the arrivals that it waits for.
#[derive(Clone)]
pub(super) struct Handover {
    /// The wait.
    pub(super) wait: InstructionId,
    arrivals: Vec<InstructionId>,
}

impl Handover {
    /// The only arrival that a thread may make.
    pub(super) fn only_arrival_of(&self, view: &View<'_, '_>) -> Option<InstructionId> {
        let mut own = self
            .arrivals
            .iter()
            .filter(|&&arrival| view.possibly_executes(arrival));
        let arrival = own.next().copied();
        arrival.filter(|_| own.next().is_none())
    }

    /// True if a thread makes its only arrival after an instruction on each path, which is on each path to the arrival.
    pub(super) fn is_surely_after(&self, view: &View<'_, '_>, at: InstructionId) -> bool {
        let arrival = self.only_arrival_of(view);
        arrival.is_some_and(|arrival| view.is_surely_before(at, arrival))
    }

    /// The arrivals that it waits for.
    pub(super) fn arrivals(&self) -> &[InstructionId] {
        &self.arrivals
    }

    /// True for a barrier whose wait is the arrival.
    pub(super) fn is_common(&self) -> bool {
        self.arrivals == [self.wait]
    }
}

/// The handovers of a kernel.
pub(super) struct Handovers<'a, 'm> {
    module: &'a Shared<'m>,
    kernel: &'a AsyncKernel,
    id: FunctionId,
    body: &'a Body<'m>,
    analyses: &'a Analyses<'m>,
    /// The waits at which roles may hand over.
    waits: Vec<InstructionId>,
    /// The barriers of the block on each path to the end of the kernel.
    common: Vec<InstructionId>,
    /// By wait; computed on first use.
    known: RefCell<FxHashMap<InstructionId, Option<Handover>>>,
}

impl<'a, 'm> Handovers<'a, 'm> {
    /// Those of a kernel; `None` if it has no body.
    pub(super) fn new(module: &'a Shared<'m>, kernel: &'a AsyncKernel) -> Option<Self> {
        let id = kernel.kernel;
        let body = module.module.function(id).body.as_ref()?;
        let mut all = Self {
            module,
            kernel,
            id,
            body,
            analyses: module.function(id),
            waits: Vec::new(),
            common: Vec::new(),
            known: RefCell::default(),
        };
        for (at, instruction) in body.iter().filter(|(_, instruction)| instruction.guard.is_none()) {
            if all.may_hand_over(at, instruction) {
                all.waits.push(at);
            } else if is_full_barrier(instruction) && all.is_reached_by_all(at) {
                all.common.push(at);
            }
        }
        Some(all)
    }
}

impl Handovers<'_, '_> {
    /// The handovers on each path to an instruction, the last barrier of the block first.
    pub(super) fn before(&self, to: InstructionId) -> Vec<Handover> {
        let mut all = Vec::new();
        all.extend(self.last_barrier_of_block(to));
        let waits = self.waits.iter().copied();
        for wait in waits.filter(|&wait| self.analyses.is_on_every_path_to(wait, to)) {
            let mut known = self.known.borrow_mut();
            let handover = known.entry(wait).or_insert_with(|| self.handover_at(wait));
            all.extend(handover.clone());
        }
        all
    }

    /// The handovers by waits at mbarriers.
    pub(super) fn of_mbarriers(&self) -> Vec<Handover> {
        let waits = self
            .body
            .asynchronous
            .iter()
            .filter(|one| matches!(one.op, AsyncOp::Mbarrier(MbarrierOp::Wait { .. })));
        let all = waits.filter_map(|one| {
            let arrivals = self.arrivals_at_mbarrier(one.instruction)?;
            Some(Handover {
                wait: one.instruction,
                arrivals,
            })
        });
        all.collect()
    }

    /// True for waits other than barriers of all threads.
    fn may_hand_over(&self, at: InstructionId, instruction: &Instruction) -> bool {
        match instruction.op {
            Op::Barrier(barrier) if !barrier.cluster => barrier.waits && barrier.counted,
            _ => self.body.asynchronous_at(at).is_some_and(|one| {
                matches!(
                    one.op,
                    AsyncOp::ClusterWait | AsyncOp::Mbarrier(MbarrierOp::Wait { .. })
                )
            }),
        }
    }

    /// The last barrier of the block on each path to an instruction that all threads reach, on each path to the end of the kernel.
    fn last_barrier_of_block(&self, to: InstructionId) -> Option<Handover> {
        let common = self.common.iter().copied();
        // They are on one path, so that each two have an order.
        let meetings = common.filter(|&at| self.analyses.is_on_every_path_to(at, to));
        let last = meetings.reduce(|last, at| {
            if self.analyses.is_on_every_path_to(last, at) {
                at
            } else {
                last
            }
        });
        last.map(|at| Handover {
            wait: at,
            arrivals: vec![at],
        })
    }

    /// True if an instruction is on each path to the end of the kernel.
    fn is_reached_by_all(&self, at: InstructionId) -> bool {
        let post = self.analyses.post_dominators();
        post.dominates(self.body.block_of(at), BlockId::new(0))
    }

    /// The handover that a wait is.
    fn handover_at(&self, at: InstructionId) -> Option<Handover> {
        let arrivals = match self.body.asynchronous_at(at).map(|one| one.op) {
            Some(AsyncOp::ClusterWait) => self.arrivals_of_cluster(at),
            Some(AsyncOp::Mbarrier(MbarrierOp::Wait { .. })) => self.arrivals_at_mbarrier(at),
            _ => self.arrivals_at_named_barrier(self.body.instruction(at)),
        };
        arrivals.map(|arrivals| Handover { wait: at, arrivals })
    }

    /// A wait at the barrier of the cluster, with the only arrival that may come before it.
    fn arrivals_of_cluster(&self, wait: InstructionId) -> Option<Vec<InstructionId>> {
        let arrivals = self
            .kernel
            .sites_where(|op| matches!(op, AsyncOp::ClusterArrive { .. }));
        let mut before = Vec::new();
        for arrival in arrivals {
            let at = arrival.operation.instruction;
            if arrival.function != self.id {
                return None;
            }
            if Paths::new(self.body).lead(at, wait) {
                before.push(at);
            }
        }
        let &[arrival] = &before[..] else { return None };
        let is_plain = self.body.instruction(arrival).guard.is_none();
        (is_plain && self.is_reached_by_all(arrival) && self.is_reached_by_all(wait)).then_some(before)
    }

    /// A barrier with a number and a count, if all that may reach it are needed.
    fn arrivals_at_named_barrier(&self, wait: &Instruction) -> Option<Vec<InstructionId>> {
        let constant = |value: &Value| match self.analyses.trace_value(*value, Form::moved_number) {
            Value::Integer(number) => Some(number),
            _ => None,
        };
        let operands = |of: &Instruction| {
            let uses = self.body.uses(of);
            Some((constant(uses.first()?)?, uses.get(1).map(constant)))
        };
        let (number, Some(Some(count))) = operands(wait)? else {
            return None;
        };
        let mut arrivals = Vec::new();
        for (at, instruction) in self.body.iter() {
            let Op::Barrier(barrier) = instruction.op else {
                continue;
            };
            if barrier.cluster {
                continue;
            }
            let (other, counted) = operands(instruction)?;
            if other == number {
                counted?.filter(|same| *same == count)?;
                arrivals.push(at);
            }
        }
        let is_elsewhere = |(id, body): (FunctionId, &Body<'_>)| {
            id != self.id
                && body
                    .instructions
                    .iter()
                    .any(|one| matches!(one.op, Op::Barrier(_)))
        };
        if self.kernel.bodies(self.module).any(is_elsewhere) {
            return None;
        }
        // The threads of a warp count together.
        let counted = self
            .most_arrivals(&arrivals, true)?
            .checked_mul(i64::from(WARP))?;
        (counted == count).then_some(arrivals)
    }

    /// A wait at an mbarrier, if all that may arrive there are needed.
    fn arrivals_at_mbarrier(&self, wait: InstructionId) -> Option<Vec<InstructionId>> {
        let place = |site: &AsyncSite| site.barrier_place(self.module);
        let is_at = |site: &&AsyncSite, at| place(site).is_none_or(|known| known == at);
        let mut waits = self
            .kernel
            .sites_where(|op| matches!(op, AsyncOp::Mbarrier(MbarrierOp::Wait { .. })));
        let wait = waits.find(|site| site.site() == (self.id, wait))?;
        let at = place(wait)?;
        // A phase with another parity may be complete from the beginning.
        let parity = self
            .body
            .async_value(&wait.operation, wait.operation.values.phase)?;
        let is_first = matches!(
            wait.operation.op,
            AsyncOp::Mbarrier(MbarrierOp::Wait { parity: true, .. })
        );
        if !is_first || self.analyses.trace_value(parity, Form::moved_number) != Value::Integer(0) {
            return None;
        }
        let mut expected = None;
        let mut arrivals = Vec::new();
        for site in self.kernel.operations.iter().filter(|site| is_at(site, at)) {
            let (one, instruction) = (&site.operation, site.operation.instruction);
            match one.op {
                AsyncOp::Mbarrier(MbarrierOp::Wait { .. }) => {}
                AsyncOp::Mbarrier(op) if site.function == self.id && place(site).is_some() => match op {
                    MbarrierOp::Init => {
                        let count = self.body.async_value(one, one.values.count)?;
                        let Value::Integer(count) = self.analyses.trace_value(count, Form::moved_number)
                        else {
                            return None;
                        };
                        if expected.replace(count).is_some() {
                            return None;
                        }
                    }
                    MbarrierOp::Arrive {
                        drops: false,
                        expects: false,
                        ..
                    } if one.values.count.is_none() => {
                        arrivals.push(instruction);
                    }
                    _ => return None,
                },
                AsyncOp::Mbarrier(_) | AsyncOp::Unknown => return None,
                _ => {}
            }
        }
        let has_peers = self
            .kernel
            .has_instruction(self.module, |op| matches!(op, Op::MapShared(_)));
        (!has_peers && self.most_arrivals(&arrivals, false) == expected).then_some(arrivals)
    }

    /// Most lanes that reach some instructions, once each, or most warps; `None` if one of them is in a loop, or it takes too long.
    fn most_arrivals(&self, arrivals: &[InstructionId], of_warps: bool) -> Option<i64> {
        let paths = Paths::new(self.body);
        if arrivals.iter().any(|&at| paths.lead(at, at)) {
            return None;
        }
        let launch = &self.module.module.function(self.id).launch;
        let threads = most_block_threads(launch);
        let lanes = if of_warps { 1 } else { WARP };
        let steps = self
            .body
            .blocks
            .len()
            .checked_mul((threads.div_ceil(WARP) * lanes) as usize)?;
        if steps > MAX_HANDOVER_STEPS {
            return None;
        }
        let certain = CertainPaths {
            body: self.body,
            analyses: self.analyses,
        };
        let mut most = 0;
        for warp in 0..threads.div_ceil(WARP) {
            let source = || Source::within_body(self.body, self.analyses);
            let known = |elected| match launch.required_threads {
                Some(shape) if shape[1..] != [1, 1] => {
                    Threads::of_warp_in_block(source(), warp, Some(shape), PassedSums::default())
                }
                _ => Threads::of_warp_with_elected(self.body, self.analyses, warp, elected),
            };
            // One lane of each warp is picked, whichever.
            let (picked, passed) = (known(Elected::Picked), known(Elected::Passed));
            for lane in 0..lanes {
                let of_warp = if lane == 0 { &picked } else { &passed };
                let reached = OnceCell::new();
                let comes = |&&at: &&InstructionId| {
                    let reached = reached.get_or_init(|| certain.blocks_possibly_reached(of_warp, lane));
                    reached[self.body.block_of(at).index()]
                        && certain.guard_holds(of_warp, lane, at) != Some(false)
                };
                most += arrivals.iter().filter(comes).count();
            }
        }
        i64::try_from(most).ok()
    }
}
