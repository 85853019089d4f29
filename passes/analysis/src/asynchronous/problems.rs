//! The problems of asynchronous operations: their common form, and the parts that several questions about a module need.
//!
//! Each question is a method of [`AsyncAnalysis`] that finds the problems of one kind when it is called.

use std::sync::OnceLock;

use ptxcheck_ir::{AsyncOp, FunctionId, InstructionId, Linkage, MbarrierOp};

use super::kernel::{AsyncKernel, AsyncSite, find_kernels};
use super::operand::{AsyncOperands, find_constant_operands};
use super::size::Sizes;
use crate::call_graph::CallSite;
use crate::place::Place;
use crate::shared::Shared;

/// A defect of an asynchronous operation.
#[derive(Clone, Debug)]
pub struct AsyncProblem<D> {
    /// The location of the wrong operation or access, with the calls that lead to it.
    pub place: Place,
    /// The wrong operation, or the one that is missing; for an access, the copy that is in flight there.
    pub operation: AsyncOp,
    /// The kernel in which it is wrong, or the function that holds it where no kernel matters.
    pub root: FunctionId,
    /// True if it is wrong on each execution, false if it may be.
    pub is_definite: bool,
    /// A second place that explains it.
    pub other: Option<Place>,
    /// Details of the defect.
    pub detail: D,
}

impl<D> AsyncProblem<D> {
    /// A definite problem of an operation of a kernel.
    pub(super) fn of_site(kernel: &AsyncKernel, site: &AsyncSite, detail: D) -> Self {
        Self {
            place: site.place(),
            operation: site.operation.op,
            root: kernel.kernel,
            is_definite: true,
            other: None,
            detail,
        }
    }

    /// The same with a second place; `is_definite` is its certainty.
    pub(super) fn with_other_place(self, other: Place, is_definite: bool) -> Self {
        Self {
            other: Some(other),
            is_definite,
            ..self
        }
    }
}

/// The parts that several questions need, each computed on first demand.
#[derive(Default)]
pub(crate) struct AsyncParts {
    kernels: OnceLock<Vec<AsyncKernel>>,
    operands: OnceLock<Vec<AsyncOperands>>,
    sizes: OnceLock<Sizes>,
}

/// The questions about the asynchronous operations of a module.
#[derive(Clone, Copy)]
pub struct AsyncAnalysis<'a, 'm> {
    pub(super) module: &'a Shared<'m>,
    parts: &'a AsyncParts,
}

impl<'a, 'm> AsyncAnalysis<'a, 'm> {
    pub(crate) const fn new(module: &'a Shared<'m>, parts: &'a AsyncParts) -> Self {
        Self { module, parts }
    }

    /// The kernels with asynchronous copies, barriers in memory, products of tensor cores, tensor memory or addresses in other CTAs, in
    /// them or in their callees, in the order of the input.
    pub(super) fn kernels(self) -> &'a [AsyncKernel] {
        self.parts.kernels.get_or_init(|| find_kernels(self.module))
    }

    /// The kernels without unknown code.
    pub(super) fn kernels_without_unknown_code(self) -> impl Iterator<Item = &'a AsyncKernel> {
        self.kernels().iter().filter(|kernel| !kernel.is_open)
    }

    /// The constants among the operands of asynchronous operations, by function and in the order of the input.
    pub(super) fn operands(self) -> &'a [AsyncOperands] {
        self.parts
            .operands
            .get_or_init(|| find_constant_operands(self.module))
    }

    /// The sizes of asynchronous copies, if they are constants.
    pub(super) fn sizes(self) -> &'a Sizes {
        self.parts.sizes.get_or_init(|| Sizes::new(self.operands()))
    }

    /// The chain of calls that leads to an instruction of a function from the first kernel that reaches it; `None` if
    /// kernels call the function, and none of them reaches the instruction with its arguments.
    pub(super) fn call_chain_to(self, id: FunctionId, at: InstructionId) -> Option<Vec<CallSite>> {
        let may_others_call = || {
            let module = self.module.module;
            let known = module.symbol(module.function(id).symbol);
            let mut references = module.bodies().flat_map(|(.., body)| &body.references);
            known.linkage != Linkage::Local
                || references.any(|one| !one.is_call && module.called(one.symbol) == Some(id))
        };
        let chain = self.call_chain_within_module(id, at);
        chain.or_else(|| may_others_call().then(Vec::new))
    }

    /// The same, considering only the arguments that this module passes to the function.
    pub(super) fn call_chain_within_module(self, id: FunctionId, at: InstructionId) -> Option<Vec<CallSite>> {
        let kernels = self.kernels().iter();
        let mut kernels = kernels.filter(|kernel| kernel.functions.contains(&id)).peekable();
        if kernels.peek().is_none() {
            return Some(Vec::new());
        }
        let mut chains = kernels.filter_map(|kernel| kernel.call_chain_to(self.module, (id, at)));
        Some(chains.next()?.to_vec())
    }

    /// A problem of an operation with constant operands: not definite if callers pass the constants, and a branch may skip
    /// the operation in its function. `None` if no kernel reaches it.
    pub(super) fn problem_of_operands<D>(self, one: &AsyncOperands, detail: D) -> Option<AsyncProblem<D>> {
        let at = one.operation.instruction;
        let mut callers = self.call_chain_to(one.function, at)?;
        let is_definite = one.is_surely_requested(self.module)?;
        if !one.callers.is_empty() {
            callers.clone_from(&one.callers);
        }
        Some(AsyncProblem {
            place: Place::Instruction(one.function, at, callers),
            operation: one.operation.op,
            root: one.function,
            is_definite,
            other: None,
            detail,
        })
    }

    /// The first operation that a kernel certainly requests, for which the condition holds.
    pub(super) fn first_problem<D>(
        self,
        kernel: &AsyncKernel,
        holds: fn(AsyncOp) -> bool,
        detail: D,
    ) -> Option<AsyncProblem<D>> {
        let mut reached = kernel
            .sites_where(holds)
            .filter(|site| site.is_reached(self.module));
        let site = reached.find_map(|site| kernel.requested_site(self.module, site))?;
        Some(AsyncProblem::of_site(kernel, &site, detail))
    }
}

/// True for the initialisation of an mbarrier.
pub(super) fn is_initialisation(op: AsyncOp) -> bool {
    op == AsyncOp::Mbarrier(MbarrierOp::Init)
}
