//! The instructions of a function that are executed if a chain of calls enters it, and those that its caller certainly
//! requests.
//!
//! ```text
//! reached   no branch and no guard that constants decide skips it
//! asked     reached in each execution of the function by some thread: a branch on anything but the thread number may take either
//!           edge. In a kernel itself, which launches choose, only tests of an address's memory are such branches
//! ```

use ptxcheck_ir::{BlockId, Body, Callee, FunctionId, InstructionId, Op, Rare, Value};
use rustc_hash::FxHashSet;

use super::points_to::memory_pointed_to;
use super::sum::has_path_avoiding;
use crate::entered_function::{Entered, KnownArguments};
use crate::limits::{MAX_ASKED_STEPS, MAX_DECIDED_STEPS};
use crate::shared::Shared;

/// A function that is entered, and the instructions of it that are executed.
pub(super) struct FrameView<'a, 'm> {
    module: &'a Shared<'m>,
    function: FunctionId,
    body: &'a Body<'m>,
    entered: Option<Entered<'a>>,
    /// By block, if the arguments decide a branch: true if it is reached.
    blocks: Option<Vec<bool>>,
    is_kernel: bool,
    /// By function: it tests the memory that an address lies in, or calls one that does.
    tests_memory: &'a [bool],
}

/// By function: it tests the memory that an address lies in, or calls one that does.
pub(super) fn functions_testing_memory(module: &Shared<'_>) -> Vec<bool> {
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
        function: FunctionId,
        passed: &KnownArguments,
        body: &'a Body<'m>,
        tests_memory: &'a [bool],
    ) -> Self {
        let has_constants = !passed.is_empty();
        let mut entered = Entered::new(module, function, passed.clone());
        if let Some(entered) = entered.as_mut().filter(|_| has_constants) {
            entered.remove_unreachable_definitions();
        }
        let blocks = entered.as_ref().filter(|_| has_constants);
        Self {
            module,
            function,
            body,
            blocks: blocks.map(Entered::blocks_reached_from_entry),
            entered,
            is_kernel: module.module.function(function).is_kernel(),
            tests_memory,
        }
    }

    /// The constants that a call passes.
    pub(super) fn constants_passed_by(&self, call: InstructionId) -> KnownArguments {
        let mut passed = self
            .entered
            .as_ref()
            .map_or_else(KnownArguments::new, |entered| entered.arguments_passed_by(call));
        passed.sort_unstable();
        passed
    }

    /// The blocks that are reached; `None` if the arguments decide no branch.
    pub(super) fn reached_blocks(&self) -> Option<Vec<bool>> {
        self.blocks.clone()
    }

    pub(super) fn is_reached(&self, at: InstructionId) -> bool {
        let block = self.body.block_of(at).index();
        self.module.function(self.function).may_be_reached(at)
            && self.blocks.as_ref().is_none_or(|blocks| blocks[block])
            && self.outcome_of_guard(at) != Some(false)
    }

    /// True if an instruction is executed, by the arguments: `None` if they do not decide its guard.
    fn outcome_of_guard(&self, at: InstructionId) -> Option<bool> {
        let entered = self.entered.as_ref().filter(|_| self.blocks.is_some());
        match (self.body.instruction(at).guard, entered) {
            (None, _) => Some(true),
            (Some(guard), Some(entered)) => entered.outcome_of_guard(guard),
            (Some(_), None) => None,
        }
    }

    /// True if a reached instruction is certainly requested.
    pub(super) fn is_surely_requested(&self, at: InstructionId) -> bool {
        if self.is_kernel && self.tests_memory.get(self.function.index()) != Some(&true) {
            return true;
        }
        let Some(entered) = &self.entered else {
            return false;
        };
        if let Some(guard) = self.body.instruction(at).guard
            && self.outcome_of_guard(at).is_none()
            && !self.is_decided_by_thread_number(Value::Register(guard.register), at)
        {
            return false;
        }
        let target = self.body.block_of(at);
        let post = self.module.function(self.function).post_dominators();
        post.dominates(target, BlockId::new(0)) || self.surely_reaches(entered, target)
    }

    /// True if some thread certainly reaches a block, for any outcome of branches that are not free: computed as the
    /// greatest set of blocks that each lead on into the set, and from which a path leads to the block.
    fn surely_reaches(&self, entered: &Entered<'_>, target: BlockId) -> bool {
        let count = self.body.blocks.len();
        if count > MAX_ASKED_STEPS {
            return false;
        }
        let next: Vec<(&[BlockId], bool)> = (0..count)
            .map(|block| entered.possible_successors(BlockId::new(block)))
            .collect();
        let is_free: Vec<bool> = (0..count)
            .map(|block| {
                let last = self.body.block(BlockId::new(block)).next_back();
                last.is_some_and(|(at, last)| {
                    let guard = last.guard.filter(|_| last.op.is_terminator());
                    guard.is_some_and(|guard| {
                        self.is_decided_by_thread_number(Value::Register(guard.register), at)
                    })
                })
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

    /// True if the result of a call is free, too.
    fn is_call_result_decided_by_thread_number(&self, call: InstructionId) -> bool {
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
        let is_known = |value| memory_pointed_to(self.module, self.function, value).is_some();
        tests != Some(&true) || arguments.iter().all(|argument| is_known(argument.value))
    }

    /// The predicates of the branches on each path to an instruction, and the branches.
    fn branches_on_every_path_to(
        &self,
        at: InstructionId,
    ) -> impl Iterator<Item = (Value, InstructionId)> + '_ {
        let dominators = self.module.function(self.function).dominators();
        let block = self.body.block_of(at);
        let above =
            std::iter::successors(Some(block), |&block| dominators.immediate_dominator(block)).skip(1);
        above.filter_map(|block| {
            let (branch, last) = self.body.block(block).next_back()?;
            let guard = last.guard.filter(|_| last.op.is_terminator())?;
            Some((Value::Register(guard.register), branch))
        })
    }

    /// True if only the thread number and constants decide a value that an instruction reads; in a kernel, no test of an
    /// address's memory.
    fn is_decided_by_thread_number(&self, value: Value, user: InstructionId) -> bool {
        let analyses = self.module.function(self.function);
        let mut open = vec![(value, user)];
        let mut seen = FxHashSet::default();
        let mut left = MAX_DECIDED_STEPS;
        while let Some((value, user)) = open.pop() {
            let (Value::Register(register) | Value::Not(register)) = value else {
                if matches!(value, Value::Param(..)) && !self.is_kernel {
                    return false;
                }
                continue;
            };
            let comes_there = |&&definition: &&InstructionId| {
                let block = self.body.block_of(definition).index();
                self.blocks.as_ref().is_none_or(|blocks| blocks[block])
                    && has_path_avoiding(self.body, definition, user, definition)
            };
            let all = analyses.definitions().writers_of(register);
            let is_only = all.len() == 1;
            let definitions: Vec<InstructionId> = all
                .iter()
                .filter(|one| is_only || comes_there(one))
                .copied()
                .collect();
            for &definition in &definitions {
                if !seen.insert(definition) {
                    continue;
                }
                if definitions.len() > 1 {
                    // The branches before it decide which definition reaches it.
                    open.extend(self.branches_on_every_path_to(definition));
                }
                let Some(fewer) = left.checked_sub(1) else {
                    return false;
                };
                left = fewer;
                let instruction = self.body.instruction(definition);
                let guard = instruction.guard.map(|guard| Value::Register(guard.register));
                open.extend(guard.map(|guard| (guard, definition)));
                match instruction.op {
                    Op::IsSpace(_) => {
                        let address = self.body.uses(instruction).first();
                        let known =
                            address.and_then(|&value| memory_pointed_to(self.module, self.function, value));
                        if known.is_none() {
                            return false;
                        }
                    }
                    Op::Access(_) => match analyses.store_read_by(definition) {
                        Some(store) => {
                            let stored = self.body.uses(self.body.instruction(store)).get(2);
                            open.extend(stored.map(|&stored| (stored, store)));
                        }
                        None if self.is_kernel => {}
                        None => return false,
                    },
                    Op::CallResult(call) if !self.is_call_result_decided_by_thread_number(call) => {
                        return false;
                    }
                    _ => open.extend(self.body.uses(instruction).iter().map(|&used| (used, definition))),
                }
            }
        }
        true
    }
}
