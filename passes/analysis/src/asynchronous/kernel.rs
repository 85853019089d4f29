//! The asynchronous operations that a kernel may execute, itself or in functions that it calls.

use std::sync::Arc;

use ptxcheck_ir::{
    AsyncKinds, AsyncOp, Asynchronous, Body, Callee, FunctionId, Instruction, InstructionId, Module, Op,
    Rare, Symbol, SymbolId,
};
use rustc_hash::FxHashMap;

use super::frame_view::FrameView;
use super::frames::Frames;
use super::points_to::variables_accessed_by;
use super::sites::{BarrierPlace, Site};
use super::sum::constant_variable_and_offset;
use crate::call_graph::CallSite;
use crate::place::Place;
use crate::shared::Shared;

/// An asynchronous operation, its function, and the calls by which a kernel reaches it.
#[derive(Clone, Debug)]
pub(super) struct AsyncSite {
    /// The function.
    pub(super) function: FunctionId,
    /// The operation.
    pub(super) operation: Asynchronous,
    /// The calls that lead from the kernel to the function, innermost first.
    pub(super) callers: Arc<[CallSite]>,
}

impl AsyncSite {
    /// An operation in the body of the kernel itself, with no calls before it.
    pub(super) fn in_kernel(kernel: FunctionId, operation: &Asynchronous) -> Self {
        Self {
            function: kernel,
            operation: *operation,
            callers: Arc::default(),
        }
    }

    /// Its function and its instruction.
    pub(super) const fn site(&self) -> Site {
        (self.function, self.operation.instruction)
    }

    /// True if constants do not certainly keep it from being executed.
    pub(super) fn is_reached(&self, module: &Shared<'_>) -> bool {
        module
            .function(self.function)
            .is_reached(self.operation.instruction)
    }

    /// The constant place of its mbarrier.
    pub(super) fn barrier_place(&self, module: &Shared<'_>) -> Option<BarrierPlace> {
        barrier_place_of(module, self.function, &self.operation)
    }

    /// The variables that its mbarrier may be in; `None` if they are not known.
    pub(super) fn barrier_variables(&self, module: &Shared<'_>) -> Option<Vec<SymbolId>> {
        let all = variables_accessed_by(module, self.function, self.operation.barrier()?)?;
        let all = all.iter().map(|&symbol| canonical_variable(module, symbol));
        let mut all: Vec<SymbolId> = all.collect::<Option<_>>()?;
        all.sort_unstable();
        all.dedup();
        Some(all)
    }

    /// Its location, with the calls that lead to it.
    pub(super) fn place(&self) -> Place {
        Place::Instruction(self.function, self.operation.instruction, self.callers.to_vec())
    }
}

/// The constant place of the mbarrier of an operation, in a variable of the module.
pub(super) fn barrier_place_of(
    module: &Shared<'_>,
    id: FunctionId,
    one: &Asynchronous,
) -> Option<BarrierPlace> {
    let (symbol, offset) = constant_variable_and_offset(module, id, one.barrier()?)?;
    Some((canonical_variable(module, symbol)?, offset))
}

/// The first name of a variable: dynamic shared memory has one start, whatever names it has (CUDA C++ Programming Guide, __shared__).
pub(super) fn canonical_variable(module: &Shared<'_>, symbol: SymbolId) -> Option<SymbolId> {
    if !module.module.symbol(symbol).is_dynamic_shared() {
        return Some(symbol);
    }
    let first = module.module.symbols.iter().position(Symbol::is_dynamic_shared)?;
    Some(SymbolId::new(first))
}

/// A kernel with asynchronous operations, in it or in its callees.
#[derive(Debug)]
pub(super) struct AsyncKernel {
    /// The kernel.
    pub(super) kernel: FunctionId,
    /// The kernel and the functions that it may call, in the order in which they were reached.
    pub(super) functions: Vec<FunctionId>,
    /// It contains unknown code: a call of a function without a body or through a pointer, an unknown opcode, unreadable
    /// text. Then the absence of an operation proves nothing.
    pub(super) is_open: bool,
    /// The operations that may be executed, by function and in the order of the input.
    pub(super) operations: Vec<AsyncSite>,
    frames: Frames,
}

impl AsyncKernel {
    /// The operations for which `holds` is true.
    pub(super) fn sites_where<'k>(
        &'k self,
        holds: impl Fn(AsyncOp) -> bool + Clone + 'k,
    ) -> impl Iterator<Item = &'k AsyncSite> + Clone + 'k {
        self.operations
            .iter()
            .filter(move |site| holds(site.operation.op))
    }

    /// The bodies of its functions.
    pub(super) fn bodies<'b, 'm>(
        &self,
        module: &'b Shared<'m>,
    ) -> impl Iterator<Item = (FunctionId, &'b Body<'m>)> {
        let functions = self.functions.iter();
        functions.filter_map(|&id| Some((id, module.module.function(id).body.as_ref()?)))
    }

    /// True if `holds` is true for an instruction of its functions.
    pub(super) fn has_instruction(&self, module: &Shared<'_>, holds: impl Fn(Op) -> bool) -> bool {
        let mut all = self.bodies(module).flat_map(|(_, body)| &body.instructions);
        all.any(|instruction| holds(instruction.op))
    }

    /// The instructions that it may reach and at which threads wait for each other.
    pub(super) fn waiting_sites(&self, module: &Shared<'_>) -> Vec<Site> {
        let is_meeting =
            |op| matches!(op, Op::Barrier(barrier) if barrier.waits) || matches!(op, Op::Collective(..));
        let all = self.bodies(module).flat_map(|(id, body)| {
            let meetings = body.iter().filter(|(_, instruction)| is_meeting(instruction.op));
            meetings.map(move |(at, _)| (id, at))
        });
        all.filter(|&place| self.may_reach(module, place)).collect()
    }

    /// True if the kernel may reach an instruction of a function, given its own arguments: other kernels may pass others.
    pub(super) fn may_reach(&self, module: &Shared<'_>, (id, at): (FunctionId, InstructionId)) -> bool {
        let Some(body) = &module.module.function(id).body else {
            return false;
        };
        module.function(id).may_be_reached(at) && self.frames.call_chain_to(id, body.block_of(at)).is_some()
    }

    /// The first chain of calls, innermost first, by which the kernel reaches an instruction of a function.
    pub(super) fn call_chain_to(
        &self,
        module: &Shared<'_>,
        (id, at): (FunctionId, InstructionId),
    ) -> Option<&[CallSite]> {
        let body = module.module.function(id).body.as_ref()?;
        self.frames.call_chain_to(id, body.block_of(at))
    }

    /// An operation, with a chain of calls by which the kernel certainly requests it: no function in the chain has a branch
    /// that may skip it, unless the thread number decides that branch.
    pub(super) fn requested_site(&self, module: &Shared<'_>, site: &AsyncSite) -> Option<AsyncSite> {
        let chain = self
            .frames
            .call_chain_to_request(module, site.function, site.operation.instruction)?;
        Some(AsyncSite {
            callers: chain.into(),
            ..*site
        })
    }

    /// True if `holds` is true for an operation.
    pub(super) fn has_operation(&self, holds: impl Fn(AsyncOp) -> bool) -> bool {
        self.operations.iter().any(|site| holds(site.operation.op))
    }
}

/// The kinds of operations for which a kernel is analysed: fences and barriers of the cluster alone do not count.
const OF_INTEREST: AsyncKinds = AsyncKinds::COPY
    .union(AsyncKinds::COMMIT)
    .union(AsyncKinds::WAIT)
    .union(AsyncKinds::MBARRIER)
    .union(AsyncKinds::MATRIX)
    .union(AsyncKinds::TENSOR_MEMORY)
    .union(AsyncKinds::GRID_WAIT);

/// All kernels of a module with such operations, or with addresses in other CTAs, in the order of the input.
pub(super) fn find_kernels(module: &Shared<'_>) -> Vec<AsyncKernel> {
    let mut has_any = vec![false; module.module.functions.len()];
    for (id, _, body) in module.module.bodies() {
        has_any[id.index()] = body.has_async(OF_INTEREST) || body.has(Rare::MAP_SHARED);
    }
    if !has_any.contains(&true) {
        return Vec::new();
    }
    module.call_graph().mark_callers(&mut has_any);
    let mut found = Vec::new();
    for (id, function, _) in module.module.bodies() {
        if function.is_kernel() && has_any[id.index()] && !module.deadline.is_over_at_step() {
            found.push(build_kernel(module, id, &has_any));
        }
    }
    found
}

fn build_kernel(module: &Shared<'_>, kernel: FunctionId, has_any: &[bool]) -> AsyncKernel {
    let mut all = AsyncKernel {
        kernel,
        functions: vec![kernel],
        is_open: false,
        operations: Vec::new(),
        frames: Frames::default(),
    };
    let mut sites: FxHashMap<(FunctionId, InstructionId), AsyncSite> = FxHashMap::default();
    let mut frames = Frames::of_kernel(kernel);
    let mut number = 0;
    while let Some(frame) = frames.frame_at(number) {
        let (id, callers) = (frame.function, Arc::clone(&frame.callers));
        let function = module.module.function(id);
        let Some(body) = &function.body else {
            all.is_open = true;
            number += 1;
            continue;
        };
        all.is_open |= function.is_damaged || module.deadline.is_over_after(body.instructions.len());
        let view = FrameView::new(module, id, &frame.passed, body, &[]);
        frames.set_reached_blocks(number, view.reached_blocks());
        for operation in &body.asynchronous {
            if view.is_reached(operation.instruction) {
                all.is_open |= operation.op == AsyncOp::Unknown;
                sites
                    .entry((id, operation.instruction))
                    .or_insert_with(|| AsyncSite {
                        function: id,
                        operation: *operation,
                        callers: Arc::clone(&callers),
                    });
            }
        }
        for call in &body.calls {
            if !view.is_reached(call.instruction) {
                continue;
            }
            let Some(callee) = direct_callee(module.module, body, body.instruction(call.instruction)) else {
                all.is_open |=
                    !calls_toolchain_function(module.module, body, body.instruction(call.instruction));
                continue;
            };
            if !all.functions.contains(&callee) {
                all.functions.push(callee);
            }
            let site = CallSite {
                caller: id,
                instruction: call.instruction,
                callee,
            };
            // The arguments matter only if there is an operation.
            let is_followed = has_any[callee.index()] && frames.may_pass_constants(number);
            let passed = is_followed.then(|| view.constants_passed_by(call.instruction));
            frames.add_callee_frame(number, site, passed.unwrap_or_default());
        }
        number += 1;
    }
    all.frames = frames;
    let operations = all
        .bodies(module)
        .flat_map(|(id, body)| body.asynchronous.iter().map(move |one| (id, one.instruction)));
    all.operations = operations.filter_map(|at| sites.remove(&at)).collect();
    all
}

/// The function with a body that a call enters.
fn direct_callee(module: &Module<'_>, body: &Body<'_>, call: &Instruction) -> Option<FunctionId> {
    let Some(Callee::Direct(symbol)) = body.callee(call) else {
        return None;
    };
    let called = module.called(symbol)?;
    module.function(called).body.as_ref().map(|_| called)
}

/// True for a call of a function that the toolchain provides.
fn calls_toolchain_function(module: &Module<'_>, body: &Body<'_>, call: &Instruction) -> bool {
    matches!(body.callee(call), Some(Callee::Direct(symbol)) if HARMLESS.contains(&module.symbol(symbol).name))
}

/// Functions of the toolchain that neither copy nor wait.
const HARMLESS: [&str; 6] = [
    "vprintf",
    "__assertfail",
    "malloc",
    "free",
    "__trap",
    "__nanosleep",
];
