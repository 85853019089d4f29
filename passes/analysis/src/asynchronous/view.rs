//! The part of a body that one thread executes, or any thread: branches and guards that its number decides.
//!
//! ```text
//! view = any thread | the thread (n, 0, 0) | the thread of the first warp that `elect.sync` picks
//! decided   a branch, or another instruction under a guard, on a predicate whose value depends only on the number of
//!           the thread and constants
//! ```
//!
//! Every block has a thread (0, 0, 0). Others are analysed where the code compares the thread number with a constant: code
//! after such a comparison is executed by that thread or by none.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use ptxcheck_ir::ops::Form;
use ptxcheck_ir::paths::{Paths, taken};
use ptxcheck_ir::{
    BinaryOp, BlockId, Body, Collective, Condition, Function, FunctionId, InstructionId, Logic, Op, Register,
    Special, Value, WARP,
};

use crate::function::Analyses;
use crate::launches::{MAX_BLOCK_THREADS, most_block_threads};
use crate::ranges;
use crate::shared::Shared;
use crate::threads::Threads;
use crate::value::{Elected, Evaluator, Linear, Source, Sum, Terms, Unknowns};

/// Limit on the threads of a body that are analysed separately.
const MAX_VIEWS: usize = 4;

/// Limit on the values that one is computed from, where it is asked whether it is 0 for the first thread alone.
const MAX_UNITED_NUMBERS: usize = 16;

/// Limit on the factor of a thread number there: products with more may wrap.
const MAX_ROW: i64 = 1 << 16;

/// A thread, or any, on its path through a body.
pub(super) struct View<'a, 'm> {
    pub(super) module: &'a Shared<'m>,
    pub(super) function: &'a Function<'m>,
    pub(super) body: &'a Body<'m>,
    pub(super) analyses: &'a Analyses<'m>,
    thread: Option<SingleThread<'a, 'm>>,
    /// By block: true if its branch is taken; empty for any thread.
    taken: Vec<Option<bool>>,
    /// Sums are those of the first time that the thread executes this instruction.
    first_at: Option<InstructionId>,
    /// Operands as sums, computed on first use.
    sums: OnceCell<RefCell<Evaluator<'a, 'm, Linear<'a>>>>,
}

/// A single thread.
#[derive(Clone)]
struct SingleThread<'a, 'm> {
    threads: Rc<Threads<'a, 'm>>,
    /// Its lane; `None` for the one that `elect.sync` picks, about which only the facts common to all lanes are known.
    lane: Option<u32>,
}

impl<'a, 'm> View<'a, 'm> {
    /// Any thread of a function; `None` if it has no body.
    pub(super) fn any_thread(module: &'a Shared<'m>, id: FunctionId) -> Option<Self> {
        let function = module.module.function(id);
        let body = function.body.as_ref()?;
        Some(Self::of_body(module, function, body, module.function(id)))
    }

    const fn of_body(
        module: &'a Shared<'m>,
        function: &'a Function<'m>,
        body: &'a Body<'m>,
        analyses: &'a Analyses<'m>,
    ) -> Self {
        Self {
            module,
            function,
            body,
            analyses,
            thread: None,
            taken: Vec::new(),
            first_at: None,
            sums: OnceCell::new(),
        }
    }

    /// The first thread of each warp that a block of the function may have, which `elect.sync` may pick.
    pub(super) fn first_threads_of_warps(
        module: &'a Shared<'m>,
        id: FunctionId,
    ) -> impl Iterator<Item = Self> + 'a {
        let warps = 0..most_block_threads(&module.module.function(id).launch).div_ceil(WARP);
        warps.filter_map(move |warp| Self::of_thread(module, id, warp * WARP, false))
    }

    /// The thread of a function with this number, which `elect.sync` does not pick, or may pick.
    pub(super) fn of_thread(
        module: &'a Shared<'m>,
        id: FunctionId,
        number: u32,
        is_passed: bool,
    ) -> Option<Self> {
        let elected = if is_passed {
            Elected::Passed
        } else {
            Elected::Unknown
        };
        let any = Self::any_thread(module, id)?;
        Some(any.single_thread(number / WARP, Some(number % WARP), elected))
    }

    /// Any thread of a function, and then those single threads that take a path of their own through it.
    pub(super) fn distinct_threads(module: &'a Shared<'m>, id: FunctionId) -> Vec<Self> {
        let Some(any) = Self::any_thread(module, id) else {
            return Vec::new();
        };
        let numbers = compared_thread_numbers(any.body, any.analyses).into_iter();
        let of_one =
            numbers.map(|number| any.single_thread(number / WARP, Some(number % WARP), Elected::Unknown));
        let mut all: Vec<Self> = of_one.collect();
        let elected = any
            .has_elect()
            .then(|| any.single_thread(0, None, Elected::Picked));
        all.extend(elected.filter(|view| view.taken.iter().any(Option::is_some)));
        all.insert(0, any);
        all
    }

    /// A single thread of a warp.
    fn single_thread(&self, warp: u32, lane: Option<u32>, elected: Elected) -> Self {
        let (body, analyses) = (self.body, self.analyses);
        let threads = Rc::new(Threads::of_warp_with_elected(body, analyses, warp, elected));
        let mut view = Self {
            thread: Some(SingleThread { threads, lane }),
            ..self.for_any_thread()
        };
        let last = |block| body.block(BlockId::new(block)).next_back();
        let is_taken = |block| {
            let (id, branch) = last(block)?;
            (branch.op == Op::Branch).then(|| view.executes(id)).flatten()
        };
        let taken = (0..body.blocks.len()).map(is_taken).collect();
        view.taken = taken;
        view
    }

    /// The same thread if `elect.sync` picks another one; `None` if nothing is picked, or the number of this thread is not
    /// known.
    pub(super) fn with_other_elected(&self) -> Option<Self> {
        let SingleThread { threads, lane, .. } = self.thread.as_ref()?;
        let lane = Some((*lane)?);
        self.has_elect()
            .then(|| self.single_thread(threads.warp, lane, Elected::Passed))
    }

    /// The same thread when it executes an instruction for the first time: for operands of that instruction.
    pub(super) fn at_first_execution_of(&self, at: InstructionId) -> Self {
        Self {
            thread: self.thread.clone(),
            taken: self.taken.clone(),
            first_at: Some(at),
            ..self.for_any_thread()
        }
    }

    fn has_elect(&self) -> bool {
        let mut collectives = self.body.collectives.iter();
        let op = |&id| self.body.instruction(id).op;
        collectives.any(|id| matches!(op(id), Op::Collective(Collective::Elect, _)))
    }

    /// The number of the thread, if it is a single thread with a known number.
    pub(super) fn thread_number(&self) -> Option<u32> {
        let SingleThread { threads, lane, .. } = self.thread.as_ref()?;
        Some(threads.warp * WARP + (*lane)?)
    }

    /// True for a single thread, false for any.
    pub(super) const fn is_single_thread(&self) -> bool {
        self.thread.is_some()
    }

    /// True for the thread that `elect.sync` picks.
    pub(super) fn is_elected(&self) -> bool {
        self.thread.as_ref().is_some_and(|alone| alone.lane.is_none())
    }

    /// The possible successors of a block.
    pub(super) fn possible_successors(&self, block: BlockId) -> &'a [BlockId] {
        taken(self.body, block, self.taken.get(block.index()).copied().flatten())
    }

    /// True if a reached instruction is executed, false if its guard skips it; `None` if unknown.
    pub(super) fn executes(&self, id: InstructionId) -> Option<bool> {
        let Some(guard) = self.body.instruction(id).guard else {
            return Some(true);
        };
        let value = self.known_value(Value::Register(guard.register))?;
        Some((value & 1 == 1) != guard.negated)
    }

    /// A value, if the thread number decides it.
    pub(super) fn known_value(&self, value: Value) -> Option<u64> {
        let alone = self.thread.as_ref()?;
        alone.threads.value_in_lane_or_uniform(value, alone.lane)
    }

    /// A value that an instruction reads, as a sum: its atoms and the number that is added to them. `None` for a register with several
    /// definitions.
    pub(super) fn value_as_sum(&self, value: Value, reader: InstructionId) -> Option<(Terms, i64)> {
        let sums = self.sums.get_or_init(|| RefCell::new(self.evaluator_of_sums()));
        let Sum { parts, by } = sums.borrow_mut().description_at_read(value, reader)?;
        Some((
            sums.borrow().domain().terms_of(parts),
            by.uniform_number()? as i64,
        ))
    }

    fn evaluator_of_sums(&self) -> Evaluator<'a, 'm, Linear<'a>> {
        let source = Source {
            module: Some(self.module),
            first_at: self.first_at,
            ..Source::within_body(self.body, self.analyses)
        };
        let thread = self
            .thread
            .as_ref()
            .map(|alone| (Rc::clone(&alone.threads), alone.lane));
        let known = move |value| {
            let (threads, lane) = thread.as_ref()?;
            threads.value_in_lane_or_uniform(value, *lane)
        };
        Evaluator::new(source, Linear::new(None, None, Unknowns::All(Rc::new(known))))
    }

    /// The least and the greatest number that a special register may have.
    pub(super) fn special_range(&self, special: Special) -> Option<(u64, u64)> {
        let Special::Tid(dimension) = special else {
            return (special == Special::LaneId).then_some((0, u64::from(WARP) - 1));
        };
        // For every block shape, the first warp has the first threads of its rows.
        if self.is_elected() && dimension == 0 {
            return Some((0, u64::from(WARP) - 1));
        }
        // The bound is one of the whole block, with any number of dimensions.
        let most = if dimension < 3 {
            most_block_threads(&self.function.launch)
        } else {
            MAX_BLOCK_THREADS
        };
        Some((0, u64::from(most) - 1))
    }

    /// The same for a register with this number of bits.
    pub(super) fn register_range(&self, register: Register) -> Option<(u64, u64)> {
        let bits = self.body.registers.bits(register);
        let definitions = self.analyses.definitions();
        ranges::range_of_operand(self.body, definitions, Value::Register(register), bits.max(1))
    }

    /// True if an instruction is reached, and each path to it passes another one before, which is executed.
    pub(super) fn is_surely_before(&self, first: InstructionId, second: InstructionId) -> bool {
        let start = [BlockId::new(0)];
        self.executes(first) == Some(true)
            && self.executes(second) != Some(false)
            && self.reaches_avoiding(&start, second, None)
            && !self.reaches_avoiding(&start, second, Some(first))
    }

    /// True if only threads with the number of this one execute an instruction: after a comparison of the number, or, for
    /// any thread, always.
    pub(super) fn is_executed_by_this_alone(&self, id: InstructionId) -> bool {
        let Some(number) = self.thread_number() else {
            return !self.is_elected();
        };
        let dominators = self.analyses.dominators();
        let all = Self::for_any_thread(self);
        let is_come_to = self.reaches_avoiding(&[BlockId::new(0)], id, None);
        is_come_to
            && self.taken.iter().enumerate().any(|(block, taken)| {
                let block = BlockId::new(block);
                let of = self.body.block_of(id);
                if block == of || !dominators.dominates(block, of) {
                    return false;
                }
                let (Some(taken), &[first, second]) = (taken, self.body.successors(block)) else {
                    return false;
                };
                let Some((branch, instruction)) = self.body.block(block).next_back() else {
                    return false;
                };
                let is_number = instruction.guard.is_some_and(|guard| {
                    threads_compared_by_predicate(self.body, self.analyses, guard.register)
                        == Some((number, 1))
                });
                let others = [if *taken { second } else { first }];
                is_number && !all.reaches_avoiding(&others, id, Some(branch))
            })
    }

    /// The first of some single threads that alone executes an instruction.
    pub(super) fn thread_executing_alone(views: &[Self], id: InstructionId) -> Option<&Self> {
        let mut threads = views.iter().filter(|view| view.thread_number().is_some());
        threads.find(|view| view.is_executed_by_this_alone(id))
    }

    /// True if the thread may reach an instruction, and executes it there.
    pub(super) fn may_execute(&self, id: InstructionId) -> bool {
        self.executes(id) == Some(true) && self.reaches_avoiding(&[BlockId::new(0)], id, None)
    }

    /// True if the thread may reach an instruction, and nothing is known that keeps it from executing it there.
    pub(super) fn possibly_executes(&self, id: InstructionId) -> bool {
        self.executes(id) != Some(false) && self.reaches_avoiding(&[BlockId::new(0)], id, None)
    }

    /// True if a path leads from one reached instruction to another.
    pub(super) fn is_reachable_from(&self, first: InstructionId, second: InstructionId) -> bool {
        let block = self.body.block_of(first);
        self.reaches_avoiding(&[BlockId::new(0)], first, None)
            && self.executes(first) != Some(false)
            && self.executes(second) != Some(false)
            && ((block == self.body.block_of(second) && first < second)
                || self.reaches_avoiding(self.possible_successors(block), second, None))
    }

    /// The same body, for any thread.
    const fn for_any_thread(&self) -> Self {
        Self::of_body(self.module, self.function, self.body, self.analyses)
    }

    /// True if a path leads from the start of some blocks to an instruction without passing another one.
    fn reaches_avoiding(&self, from: &[BlockId], to: InstructionId, without: Option<InstructionId>) -> bool {
        let next = |block| self.possible_successors(block);
        let paths = Paths::new(self.body).along(&next);
        match without {
            Some(without) => paths.without(without).lead_from(from, to),
            None => paths.lead_from(from, to),
        }
    }
}

/// The thread numbers to analyse: 0, if anything depends on the number, and those that it is compared with.
fn compared_thread_numbers(body: &Body<'_>, analyses: &Analyses<'_>) -> Vec<u32> {
    let is_number = |value: &Value| matches!(value, Value::Special(Special::Tid(0) | Special::LaneId));
    if !body.values.iter().any(is_number) {
        return Vec::new();
    }
    let mut numbers = vec![0];
    for id in (0..body.instructions.len()).map(InstructionId::new) {
        if let Some((number, _)) = compared_threads(body, analyses, id)
            && !numbers.contains(&number)
            && numbers.len() < MAX_VIEWS
        {
            numbers.push(number);
        }
    }
    numbers
}

/// The first thread whose number an instruction compares for equality with a constant, and the number of threads in a row that are equal
/// to it.
fn compared_threads(body: &Body<'_>, analyses: &Analyses<'_>, id: InstructionId) -> Option<(u32, u32)> {
    let instruction = body.instruction(id);
    let (
        Op::Compare(Condition::Equal | Condition::NotEqual, _, Logic::None),
        &[number, Value::Integer(with)],
    ) = (instruction.op, body.uses(instruction))
    else {
        return None;
    };
    if with == 0 && is_zero_for_first_thread_alone(body, analyses, number) {
        return Some((0, 1));
    }
    let unit = threads_per_number(analyses, number)?;
    let first = u32::try_from(with).ok()?.checked_mul(unit)?;
    (first < MAX_BLOCK_THREADS).then_some((first, unit))
}

/// The same for the source of a predicate: unoptimised code branches on the complement.
fn threads_compared_by_predicate(
    body: &Body<'_>,
    analyses: &Analyses<'_>,
    predicate: Register,
) -> Option<(u32, u32)> {
    let (test, _) = analyses.source_of_predicate(Value::Register(predicate))?;
    compared_threads(body, analyses, test)
}

/// True if a value is 0 for thread (0, 0, 0) alone: thread numbers, of which `%tid.x` is one, that are added, or whose bits are united.
fn is_zero_for_first_thread_alone(body: &Body<'_>, analyses: &Analyses<'_>, value: Value) -> bool {
    let (mut open, mut has_column, mut left) = (vec![value], false, MAX_UNITED_NUMBERS);
    while let Some(value) = open.pop() {
        let Some(fewer) = left.checked_sub(1) else {
            return false;
        };
        left = fewer;
        let end = analyses.trace_value(value, Form::moved_number);
        if let Value::Special(Special::Tid(dimension)) = end {
            has_column |= dimension == 0;
            continue;
        }
        let Some(writer) = analyses.only_writer(end) else {
            return false;
        };
        let instruction = body.instruction(writer);
        match (instruction.op, Form::of(instruction.op, body.uses(instruction))) {
            (Op::Binary(BinaryOp::Or, _), Form::Bits(a, b)) | (_, Form::Sum(a, b)) => open.extend([a, b]),
            (_, Form::Product(a, Value::Integer(1..=MAX_ROW))) => open.push(a),
            (_, Form::ProductSum(a, Value::Integer(1..=MAX_ROW), b)) => open.extend([a, b]),
            _ => return false,
        }
    }
    has_column
}

/// Threads to one number of a register: 1 of `%tid.x`, 32 of `%tid.x >> 5`.
fn threads_per_number(analyses: &Analyses<'_>, value: Value) -> Option<u32> {
    let mut shift = 0_u32;
    let end = analyses.trace_value(value, |form| match form {
        Form::ShiftedRight(from, Value::Integer(by @ 0..10)) => {
            shift += by as u32;
            Some(from)
        }
        form => form.moved_number(),
    });
    matches!(end, Value::Special(Special::Tid(0))).then(|| 1_u32.checked_shl(shift))?
}
