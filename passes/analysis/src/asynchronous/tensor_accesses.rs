//! Loads and stores of tensor memory that a thread does not wait for before it tells others that it has made them.
//!
//! ```text
//! pending    paths on which a load (a store) of tensor memory has been made, and no `wait::ld` (`wait::st`) after it; a call of a function
//!            that may wait counts as a wait
//! signal     an arrival at an mbarrier, a barrier of the block or of the cluster, the release of the memory
//! definite   a signal after a store on a pending path, if no such wait may come after the signal either
//! perhaps    a signal on a pending path that leads through `tcgen05.fence::before_thread_sync`, which is written for signals about tensor
//!            memory: the access may be meant for a later one
//! ```
//!
//! A thread that makes such accesses has to wait for them before it synchronises with others (PTX ISA, tcgen05 memory consistency model, Non-pipelined
//! instructions, different thread). A load is also complete when one of its results is used, by the dependence of registers.

use ptxcheck_ir::paths::Paths;
use ptxcheck_ir::{
    AsyncOp, BlockId, Body, FunctionId, InstructionId, MbarrierOp, Op, Register, TensorAccess, TensorMemory,
    Value,
};
use rustc_hash::FxHashMap;

use super::flow::Flow;
use super::kernel::{AsyncKernel, AsyncSite};
use super::problems::{AsyncAnalysis, AsyncProblem};
use super::sites::Site;
use crate::limits::MAX_TENSOR_STEPS;
use crate::place::Place;
use crate::shared::Shared;

/// The way in which a thread tells others of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorSignal {
    /// By an arrival at an mbarrier.
    Mbarrier,
    /// By a barrier of the block or of the cluster.
    Barrier,
    /// By the release of the memory.
    Free,
}

/// The instructions of each function.
type Places = FxHashMap<FunctionId, Vec<InstructionId>>;

impl AsyncAnalysis<'_, '_> {
    /// The first load and the first store of tensor memory of each kernel that a signal comes after, and no wait before the signal; the
    /// other place is the signal.
    #[must_use]
    pub fn unwaited_tensor_accesses(self) -> Vec<AsyncProblem<TensorSignal>> {
        let accesses = |op| {
            matches!(
                op,
                AsyncOp::TensorAccess(TensorAccess::Load | TensorAccess::Store)
            )
        };
        let kernels = self
            .kernels_without_unknown_code()
            .filter(|kernel| kernel.has_operation(accesses));
        kernels
            .flat_map(|kernel| [TensorAccess::Load, TensorAccess::Store].map(|access| (kernel, access)))
            .filter_map(|(kernel, access)| self.unwaited_access(kernel, access))
            .collect()
    }

    fn unwaited_access(
        self,
        kernel: &AsyncKernel,
        access: TensorAccess,
    ) -> Option<AsyncProblem<TensorSignal>> {
        let module = self.module;
        let others = |op| match access {
            TensorAccess::Load => writes_tensor_memory(op),
            _ => reads_tensor_memory(op),
        };
        if !kernel.has_operation(others) {
            return None;
        }
        let wait = match access {
            TensorAccess::Load => TensorAccess::WaitForLoads,
            _ => TensorAccess::WaitForStores,
        };
        let sites = |wanted: TensorAccess| -> Vec<Site> {
            let all = kernel.sites_where(move |op| op == AsyncOp::TensorAccess(wanted));
            all.map(AsyncSite::site).collect()
        };
        let waits = sites(wait);
        let search = Search::new(module, kernel, &waits);
        let fences = sites(TensorAccess::BeforeSignal);
        let flow = Flow::new(module, kernel);
        let mut perhaps = None;
        let mut steps_left = MAX_TENSOR_STEPS;
        for site in kernel.sites_where(move |op| op == AsyncOp::TensorAccess(access)) {
            if !site.is_reached(module) {
                continue;
            }
            if module.deadline.is_over_at_step() {
                break;
            }
            for (signal, kind) in search.signals_after(site.site(), &mut steps_left) {
                let cost = 1 + waits.len() + fences.len();
                let Some(fewer) = steps_left.checked_sub(cost) else {
                    return perhaps;
                };
                steps_left = fewer;
                if access == TensorAccess::Load && self.is_used_between(site.site(), signal) {
                    continue;
                }
                let is_waited_later = || {
                    let leads = |&wait: &Site| flow.first_instruction_leading_to(&[signal], wait).is_some();
                    waits.iter().any(leads)
                };
                let is_definite = access == TensorAccess::Store && !is_waited_later();
                if !is_definite
                    && (perhaps.is_some() || !search.is_fence_between(site.site(), &fences, signal))
                {
                    continue;
                }
                let callers = kernel.call_chain_to(module, signal)?.to_vec();
                let other = Place::Instruction(signal.0, signal.1, callers);
                let problem = AsyncProblem::of_site(kernel, site, kind).with_other_place(other, is_definite);
                if is_definite {
                    return Some(problem);
                }
                perhaps = Some(problem);
            }
        }
        perhaps
    }

    /// True if a result of a load is used on some way to another instruction.
    fn is_used_between(self, (function, load): Site, (other, to): Site) -> bool {
        let Some(body) = self.module.module.function(function).body.as_ref() else {
            return false;
        };
        let results: Vec<Register> = body.defined(body.instruction(load)).collect();
        let paths = Paths::new(body);
        let is_result = |value: &Value| {
            value
                .register()
                .is_some_and(|register| results.contains(&register))
        };
        let mut uses = body
            .iter()
            .filter(|(_, one)| body.uses(one).iter().any(is_result));
        uses.any(|(at, _)| at != load && paths.lead(load, at) && (other != function || paths.lead(at, to)))
    }
}

/// The functions of a kernel, with the places that wait.
struct Search<'a, 'm> {
    module: &'a Shared<'m>,
    kernel: &'a AsyncKernel,
    /// By function: true for each instruction that may wait, itself or by a call.
    waits: FxHashMap<FunctionId, Vec<bool>>,
}

impl<'a, 'm> Search<'a, 'm> {
    fn new(module: &'a Shared<'m>, kernel: &'a AsyncKernel, waits: &[Site]) -> Self {
        let mut search = Self {
            module,
            kernel,
            waits: FxHashMap::default(),
        };
        for (function, places) in search.places_of(waits, |_, _| true) {
            let Some(body) = search.body(function) else {
                continue;
            };
            let mut marked = vec![false; body.instructions.len()];
            for place in places {
                marked[place.index()] = true;
            }
            search.waits.insert(function, marked);
        }
        search
    }

    fn body(&self, function: FunctionId) -> Option<&'a Body<'m>> {
        self.module.module.function(function).body.as_ref()
    }

    /// The paths of a function that pass no wait.
    fn paths<'s>(&'s self, function: FunctionId, body: &'s Body<'m>) -> Paths<'s, 'm> {
        let marked = self.waits.get(&function).map_or(&[][..], Vec::as_slice);
        Paths::new(body).without_marked(marked)
    }

    /// By function: these instructions, and calls of functions that contain some, if `goes_on` holds for the places of the callee.
    fn places_of(&self, sites: &[Site], goes_on: impl Fn(FunctionId, &[InstructionId]) -> bool) -> Places {
        let mut places = Places::default();
        let mut open = Vec::new();
        for &(function, at) in sites {
            places.entry(function).or_default().push(at);
            open.push(function);
        }
        while let Some(callee) = open.pop() {
            if !goes_on(callee, &places[&callee]) {
                continue;
            }
            for call in self.module.call_graph().calls_to(callee) {
                if self.kernel.functions.contains(&call.caller) {
                    let of_caller = places.entry(call.caller).or_default();
                    if !of_caller.contains(&call.instruction) {
                        of_caller.push(call.instruction);
                        open.push(call.caller);
                    }
                }
            }
        }
        places
    }

    /// Where an access is pending: the access, and calls of functions that end with it pending.
    fn pending(&self, access: Site) -> Places {
        self.places_of(&[access], |function, places| {
            let Some(body) = self.body(function) else {
                return false;
            };
            let paths = self.paths(function, body);
            let mut ends = body.iter().filter(|(_, one)| one.op == Op::Return);
            ends.any(|(end, _)| places.iter().any(|&place| paths.lead(place, end)))
        })
    }

    /// Where an instruction may be the first one after a wait: the instruction, and calls of functions that come to it first.
    fn entered(&self, site: Site) -> Places {
        self.places_of(&[site], |function, places| {
            let Some(body) = self.body(function) else {
                return false;
            };
            let paths = self.paths(function, body);
            places
                .iter()
                .any(|&place| paths.lead_from(&[BlockId::new(0)], place))
        })
    }

    /// True if a path without a wait leads from one of some places to one of others.
    fn lead(&self, from: &Places, to: &Places) -> bool {
        from.iter().any(|(function, starts)| {
            let (Some(ends), Some(body)) = (to.get(function), self.body(*function)) else {
                return false;
            };
            let paths = self.paths(*function, body);
            starts
                .iter()
                .any(|&start| ends.iter().any(|&end| paths.lead(start, end)))
        })
    }

    /// The signals to which a path without a wait leads from an access, in the order of the input: those that so many steps find.
    fn signals_after(&self, access: Site, steps_left: &mut usize) -> Vec<(Site, TensorSignal)> {
        let pending = self.pending(access);
        let mut found = Vec::new();
        for (id, body) in self.kernel.bodies(self.module) {
            for (at, instruction) in body.iter() {
                let kind = match instruction.op {
                    Op::Barrier(_) => Some(TensorSignal::Barrier),
                    _ => body.asynchronous_at(at).and_then(|one| signal_of(one.op)),
                };
                let Some(kind) = kind else {
                    continue;
                };
                let Some(fewer) = steps_left.checked_sub(1) else {
                    return found;
                };
                *steps_left = fewer;
                if self.kernel.may_reach(self.module, (id, at))
                    && self.lead(&pending, &self.entered((id, at)))
                {
                    found.push(((id, at), kind));
                }
            }
        }
        found
    }

    /// True if one of these fences is on a path without a wait from an access to a signal.
    fn is_fence_between(&self, access: Site, fences: &[Site], signal: Site) -> bool {
        let (pending, entered) = (self.pending(access), self.entered(signal));
        fences.iter().any(|&fence| {
            self.lead(&pending, &self.entered(fence)) && self.lead(&self.pending(fence), &entered)
        })
    }
}

/// The signal that an operation is.
const fn signal_of(op: AsyncOp) -> Option<TensorSignal> {
    match op {
        AsyncOp::Mbarrier(MbarrierOp::Arrive { .. }) => Some(TensorSignal::Mbarrier),
        AsyncOp::ClusterArrive { .. } => Some(TensorSignal::Barrier),
        AsyncOp::TensorMemory(TensorMemory::Free) => Some(TensorSignal::Free),
        _ => None,
    }
}

/// True for an operation that may write tensor memory.
const fn writes_tensor_memory(op: AsyncOp) -> bool {
    matches!(
        op,
        AsyncOp::Matrix(_) | AsyncOp::TensorAccess(TensorAccess::Store)
    )
}

/// True for an operation that may read tensor memory.
const fn reads_tensor_memory(op: AsyncOp) -> bool {
    matches!(op, AsyncOp::Matrix(_) | AsyncOp::TensorAccess(TensorAccess::Load))
}
