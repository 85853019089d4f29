//! The instructions of functions that a kernel comes to by a chain of calls, given the constants that these pass.
//!
//! ```text
//! frame     a function, entered by a chain of calls from the kernel, with the constants that the last of them passes
//! reached   in a frame: no branch and no guard that constants decide keeps it away
//! asked     reached, by a call that is asked, and in each execution of the function by some thread: a branch on anything but the
//!           number of the thread may go either way. In the kernel itself, which launches choose, only tests of an address's
//!           memory are such branches
//! ```
//!
//! A function that is shared by kernels has operations that one of them never asks for. What they lack is no defect of that kernel.

use std::sync::Arc;

use ptxcheck_ir::{BlockId, Body, Callee, FunctionId, InstructionId, Op, Rare, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::pointed::pointed;
use crate::call_graph::CallSite;
use crate::entered::{Entered, Executed, KnownArguments};
use crate::limits::{MAX_ASKED_STEPS, MAX_ASYNC_CHAIN, MAX_ASYNC_FRAMES, MAX_DECIDED_STEPS};
use crate::shared::Shared;

/// A function that a chain of calls enters.
#[derive(Clone)]
pub(super) struct Frame {
    pub(super) function: FunctionId,
    /// The calls, innermost first.
    pub(super) callers: Arc<[CallSite]>,
    passed: KnownArguments,
    is_asked: bool,
}

/// The frames of a kernel, each function with the same constants once.
pub(super) struct Frames {
    all: Vec<Frame>,
    seen: FxHashSet<(FunctionId, KnownArguments, bool)>,
    next: usize,
}

impl Frames {
    pub(super) fn of(kernel: FunctionId) -> Self {
        let first = Frame {
            function: kernel,
            callers: Arc::default(),
            passed: Vec::new(),
            is_asked: true,
        };
        Self {
            all: vec![first],
            seen: FxHashSet::default(),
            next: 0,
        }
    }

    pub(super) fn next(&mut self) -> Option<Frame> {
        let frame = self.all.get(self.next)?.clone();
        self.next += 1;
        Some(frame)
    }

    /// Adds the function that a call of a frame enters, with the constants that it passes if `with_constants`.
    pub(super) fn enter(&mut self, view: &FrameView<'_, '_>, call: CallSite, with_constants: bool) {
        let from = view.frame;
        let is_asked = with_constants && view.is_asked(call.instruction);
        let is_small = self.all.len() < MAX_ASYNC_FRAMES && from.callers.len() < MAX_ASYNC_CHAIN;
        let mut passed = Vec::new();
        if let Some(entered) = view.entered.as_ref().filter(|_| with_constants && is_small) {
            passed = entered.passes(call.instruction);
            passed.sort_unstable();
        }
        if self.seen.insert((call.callee, passed.clone(), is_asked)) {
            let callers = std::iter::once(call).chain(from.callers.iter().copied());
            self.all.push(Frame {
                function: call.callee,
                callers: callers.collect(),
                passed,
                is_asked,
            });
        }
    }
}

/// A frame, and what is executed in it.
pub(super) struct FrameView<'a, 'm> {
    module: &'a Shared<'m>,
    frame: &'a Frame,
    body: &'a Body<'m>,
    entered: Option<Entered<'a>>,
    /// By block, where what is passed decides a branch.
    blocks: Option<Vec<bool>>,
    is_kernel: bool,
    /// By function: it tests the memory that an address lies in, or calls one that does.
    tests_memory: &'a [bool],
}

/// By function: it tests the memory that an address lies in, or calls one that does.
pub(super) fn tests_memory(module: &Shared<'_>) -> Vec<bool> {
    let mut tests = vec![false; module.module.functions.len()];
    for (id, _, body) in module.module.bodies() {
        tests[id.index()] = body.has(Rare::IS_SPACE);
    }
    module.call_graph().mark_callers(&mut tests);
    tests
}

impl<'a, 'm> FrameView<'a, 'm> {
    pub(super) fn new(
        module: &'a Shared<'m>,
        frame: &'a Frame,
        body: &'a Body<'m>,
        tests_memory: &'a [bool],
    ) -> Self {
        let mut entered = Entered::new(module, frame.function, frame.passed.clone());
        if let Some(entered) = entered.as_mut().filter(|_| !frame.passed.is_empty()) {
            entered.settle();
        }
        let blocks = entered.as_ref().filter(|_| !frame.passed.is_empty());
        Self {
            module,
            frame,
            body,
            blocks: blocks.map(Entered::blocks),
            entered,
            is_kernel: module.module.function(frame.function).is_kernel(),
            tests_memory,
        }
    }

    /// The blocks that are reached; `None` where what is passed decides nothing.
    pub(super) fn blocks(&self) -> Option<&[bool]> {
        self.blocks.as_deref()
    }

    pub(super) fn is_reached(&self, at: InstructionId) -> bool {
        let block = self.body.block_of(at).index();
        self.module.function(self.frame.function).may_be_reached(at)
            && self.blocks.as_ref().is_none_or(|blocks| blocks[block])
            && self.guard(at) != Some(false)
    }

    /// True if an instruction is executed, by what is passed: `None` where that does not decide its guard.
    fn guard(&self, at: InstructionId) -> Option<bool> {
        let entered = self.entered.as_ref().filter(|_| !self.frame.passed.is_empty());
        match (self.body.instruction(at).guard, entered) {
            (None, _) => Some(true),
            (Some(guard), Some(entered)) => entered.holds(guard),
            (Some(_), None) => None,
        }
    }

    /// True if an instruction that is reached is asked for.
    pub(super) fn is_asked(&self, at: InstructionId) -> bool {
        if !self.frame.is_asked {
            return false;
        }
        if self.is_kernel && self.tests_memory.get(self.frame.function.index()) != Some(&true) {
            return true;
        }
        let Some(entered) = &self.entered else {
            return false;
        };
        if let Some(guard) = self.body.instruction(at).guard
            && self.guard(at).is_none()
            && !self.is_free(Value::Register(guard.register))
        {
            return false;
        }
        let target = self.body.block_of(at);
        let post = self.module.function(self.frame.function).post_dominators();
        post.dominates(target, BlockId::new(0)) || self.comes_to(entered, target)
    }

    /// True if some thread certainly comes to a block, whatever branches that are not free do: the greatest set of blocks that each
    /// lead on into it, and from which a way leads to the block.
    fn comes_to(&self, entered: &Entered<'_>, target: BlockId) -> bool {
        let count = self.body.blocks.len();
        if count > MAX_ASKED_STEPS {
            return false;
        }
        let next: Vec<(Vec<BlockId>, bool)> = (0..count)
            .map(|block| entered.successors(BlockId::new(block)))
            .collect();
        let is_free: Vec<bool> = (0..count)
            .map(|block| {
                let last = self.body.terminator(BlockId::new(block));
                let guard = last.and_then(|last| last.guard);
                guard.is_some_and(|guard| self.is_free(Value::Register(guard.register)))
            })
            .collect();
        let ends_elsewhere = |block: usize| {
            let last = self.body.terminator(BlockId::new(block));
            last.is_some_and(|last| last.op == Op::Trap)
        };
        let mut certain = vec![true; count];
        loop {
            let mut leads = vec![false; count];
            leads[target.index()] = true;
            let mut grows = true;
            while grows {
                grows = false;
                for block in (0..count).rev() {
                    let on = ends_elsewhere(block) || next[block].0.iter().any(|next| leads[next.index()]);
                    if certain[block] && on && !leads[block] {
                        leads[block] = true;
                        grows = true;
                    }
                }
            }
            let mut left = leads.clone();
            for block in (0..count).filter(|&block| block != target.index() && leads[block]) {
                let (next, may_leave) = &next[block];
                let mut on = next.iter().map(|next| leads[next.index()]);
                left[block] = ends_elsewhere(block)
                    || if is_free[block] {
                        on.any(|is_in| is_in)
                    } else {
                        !may_leave && on.all(|is_in| is_in)
                    };
            }
            if left == certain {
                return certain[0];
            }
            certain = left;
        }
    }

    /// True if the same may be said of what a call returns.
    fn returns_free(&self, call: InstructionId) -> bool {
        let instruction = self.body.instruction(call);
        let Op::Call(number) = instruction.op else {
            return false;
        };
        let arguments = self.body.arguments(self.body.call(number));
        if !self.is_kernel {
            return arguments.is_empty();
        }
        let callee = match self.body.callee(instruction) {
            Some(Callee::Direct(symbol)) => self.module.module.called(symbol),
            _ => None,
        };
        let tests = callee.and_then(|callee| self.tests_memory.get(callee.index()));
        let is_known = |value| pointed(self.module, self.frame.function, value).is_some();
        tests != Some(&true) || arguments.iter().all(|argument| is_known(argument.value))
    }

    /// The predicates of the branches that stand on each way to an instruction.
    fn branches_above(&self, at: InstructionId) -> impl Iterator<Item = Value> + '_ {
        let dominators = self.module.function(self.frame.function).dominators();
        let block = self.body.block_of(at);
        let above = std::iter::successors(Some(block), |&block| dominators.immediate(block)).skip(1);
        above
            .filter_map(|block| self.body.terminator(block)?.guard)
            .map(|guard| Value::Register(guard.register))
    }

    /// True if nothing but the number of the thread, and constants, decides a value; in a kernel, no test of an address's memory.
    fn is_free(&self, value: Value) -> bool {
        let analyses = self.module.function(self.frame.function);
        let mut open = vec![value];
        let mut seen = FxHashSet::default();
        let mut left = MAX_DECIDED_STEPS;
        while let Some(value) = open.pop() {
            let (Value::Register(register) | Value::Not(register)) = value else {
                if matches!(value, Value::Param(..)) && !self.is_kernel {
                    return false;
                }
                continue;
            };
            if !seen.insert(register) {
                continue;
            }
            let definitions = analyses.definitions().of(register);
            for &definition in definitions {
                if definitions.len() > 1 {
                    // The branches in front of it decide whether it is the one.
                    open.extend(self.branches_above(definition));
                }
                let Some(fewer) = left.checked_sub(1) else {
                    return false;
                };
                left = fewer;
                let instruction = self.body.instruction(definition);
                open.extend(instruction.guard.map(|guard| Value::Register(guard.register)));
                match instruction.op {
                    Op::IsSpace(_) => {
                        let address = self.body.uses(instruction).first();
                        let known =
                            address.and_then(|&value| pointed(self.module, self.frame.function, value));
                        if known.is_none() {
                            return false;
                        }
                    }
                    Op::Access(_) => match analyses.store_for(definition) {
                        Some(store) => open.extend(self.body.uses(self.body.instruction(store)).get(2)),
                        None if self.is_kernel => {}
                        None => return false,
                    },
                    Op::CallResult(call) if !self.returns_free(call) => return false,
                    _ => open.extend(self.body.uses(instruction)),
                }
            }
        }
        true
    }
}

/// True if an instruction of a function is asked for when a chain of calls, innermost first, enters the function, false if a branch
/// there may keep it away; `None` if what is passed keeps it away.
pub(super) fn is_asked_through(
    module: &Shared<'_>,
    callers: &[CallSite],
    (function, at): (FunctionId, InstructionId),
) -> Option<bool> {
    let mut passed = KnownArguments::new();
    for call in callers.iter().rev() {
        let Some(mut entered) = Entered::new(module, call.caller, passed) else {
            return Some(false);
        };
        entered.settle();
        if entered.comes_to(call.instruction) == Executed::Never {
            return None;
        }
        passed = entered.passes(call.instruction);
    }
    let body = module.module.function(function).body.as_ref()?;
    let frame = Frame {
        function,
        callers: callers.into(),
        passed,
        is_asked: true,
    };
    let view = FrameView::new(module, &frame, body, &[]);
    view.is_reached(at).then(|| view.is_asked(at))
}

/// The frames of a kernel by function: the chain of calls, and the blocks that are reached if what is passed leaves some out. The last one
/// of a function is the only one that may reach all.
pub(super) type ReachedBlocks = FxHashMap<FunctionId, Vec<(Arc<[CallSite]>, Option<Vec<bool>>)>>;

/// Adds what one more frame reaches.
pub(super) fn join(all: &mut ReachedBlocks, frame: &Frame, blocks: Option<&[bool]>) {
    let of_it = all.entry(frame.function).or_default();
    if of_it.last().is_none_or(|(_, blocks)| blocks.is_some()) {
        of_it.push((Arc::clone(&frame.callers), blocks.map(<[bool]>::to_vec)));
    }
}
