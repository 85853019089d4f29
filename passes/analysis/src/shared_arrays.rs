//! Uses of shared arrays: conflicts between several that begin at the same address, and reads of what nothing has written, or no thread.
//!
//! ```text
//! use        an access whose address is computed from an array, or a call of a function that has one or is passed such an
//!            address
//! together   one use is on every path through the other, where a use counts for the branch that leads to it if some threads
//!            take it and others do not, or if it is in a loop that goes on there
//! conflict   two uses together, of two arrays, one of them a write, of which one reaches the other past no barrier; or a
//!            read of one array after a write to the other, if nothing writes the first in between
//! behind     a use at a constant distance beyond the base address of its array, plus any index
//! ```
//!
//! An array all of whose uses are beyond its base address does not conflict: the program leaves room there for another one.

mod read_values;
mod uncovered;
mod unwritten;

use std::cell::{Cell, RefCell};

use ptxcheck_ir::ops::Form;
use ptxcheck_ir::paths::Paths;
use ptxcheck_ir::{
    AccessKind, BinaryOp, BlockId, Body, Callee, Collective, FunctionId, InstructionId, Op, Register,
    Special, SymbolId, Value,
};

use rustc_hash::FxHashMap;

use crate::lanes::{Lanes, Launch};
use crate::limits::{MAX_INDEX_STEPS, MAX_SHARED_CALLS, MAX_SHARED_ROUNDS, MAX_SHARED_USES};
use crate::{Analyses, ModuleAnalyses};

/// A set of arrays by their indices, and [`THREAD`].
type ArraySet = u64;

/// The value differs from thread to thread.
const THREAD: ArraySet = 1 << 63;

/// Most arrays that are distinguished.
pub const MAX_ARRAYS: usize = 63;

/// The arrays that a value may be an address in, and [`THREAD`].
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Taint {
    all: ArraySet,
    /// The arrays whose base address it may be, possibly plus an unknown distance alone.
    near: ArraySet,
}

impl Taint {
    const fn of_arrays(all: ArraySet) -> Self {
        Self { all, near: 0 }
    }

    const fn union(self, other: Self) -> Self {
        Self {
            all: self.all | other.all,
            near: self.near | other.near,
        }
    }

    /// The same, at a constant distance from there.
    const fn at_distance(self, distance: i64) -> Self {
        if distance > 0 {
            Self { near: 0, ..self }
        } else if distance < 0 {
            Self {
                near: self.all & !THREAD,
                ..self
            }
        } else {
            self
        }
    }

    const fn arrays(self) -> ArraySet {
        self.all & !THREAD
    }
}

/// A read of an array that nothing has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnwrittenRead {
    /// The array.
    pub array: SymbolId,
    /// The first read, in the order of the input.
    pub at: InstructionId,
    /// When the array is written.
    pub written: Written,
}

/// When an array is written that a thread has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// Nothing writes it.
    Never,
    /// Some instruction writes it, and on every path comes after the read.
    After,
    /// The same for the first round of a loop: later rounds read what earlier ones have written.
    AfterFirstRound,
}

/// A read of a part of an array that no thread of the block stores to.
#[derive(Clone, Copy, Debug)]
pub struct UncoveredRead {
    /// The array.
    pub array: SymbolId,
    /// The read.
    pub at: InstructionId,
    /// The warp that reads such bytes.
    pub warp: u32,
    /// The lanes that do.
    pub lanes: Lanes,
    /// The first and the last byte that they read, from the start of the array.
    pub bytes: (u64, u64),
    /// The store to the array that comes nearest to these bytes, and the first and the last byte that threads store there.
    pub nearest: (InstructionId, (u64, u64)),
    /// The launch that states the shape of the block.
    pub launch: Launch,
}

/// A use of arrays.
#[derive(Clone, Copy, Debug)]
struct Use {
    at: InstructionId,
    reads: ArraySet,
    writes: ArraySet,
    /// Of these, the arrays that are not only used beyond their base address.
    near: ArraySet,
    /// It is a call, which may write the array that it reads.
    is_call: bool,
}

/// The uses that a function makes of arrays that it names itself.
#[derive(Clone, Copy, Default)]
struct Effects {
    reads: ArraySet,
    writes: ArraySet,
    near: ArraySet,
    has_barrier: bool,
    /// The arrays that its result is computed from.
    returned: Taint,
}

/// Finds the uses of these arrays in the functions of a module.
pub struct ArrayUses<'m, 'a> {
    module: &'m ModuleAnalyses<'a>,
    arrays: &'m [SymbolId],
    /// The effects of the functions that have been analysed.
    known: RefCell<FxHashMap<FunctionId, Effects>>,
    /// Depth of nested calls at the function being analysed.
    depth: Cell<usize>,
    /// The distance of a use from the base address of its array makes a difference.
    asks_distances: bool,
}

impl<'m, 'a> ArrayUses<'m, 'a> {
    /// For a module, and at most [`MAX_ARRAYS`] of its shared arrays.
    #[must_use]
    pub fn new(module: &'m ModuleAnalyses<'a>, arrays: &'m [SymbolId]) -> Self {
        Self {
            module,
            arrays,
            known: RefCell::default(),
            depth: Cell::new(0),
            asks_distances: true,
        }
    }

    /// The same, where it makes no difference how far from its base address an array is used.
    #[must_use]
    pub fn without_distances(module: &'m ModuleAnalyses<'a>, arrays: &'m [SymbolId]) -> Self {
        Self {
            asks_distances: false,
            ..Self::new(module, arrays)
        }
    }

    /// Two uses in a function that conflict, the earlier first, and the array of each.
    #[must_use]
    pub fn find_conflict(&self, function: FunctionId) -> Option<[(InstructionId, SymbolId); 2]> {
        let body = self.module.module.function(function).body.as_ref()?;
        let analyses = self.module.function(function);
        let taint = self.taint_by_register(function, body);
        let mut uses = self.uses_in_function(function, body, &taint);
        let near = uses.iter().fold(0, |set, used| set | used.near);
        for used in &mut uses {
            used.reads &= near;
            used.writes &= near;
        }
        let paths = ArrayPaths::new(self, body, analyses, &taint);
        for &first in &uses {
            for &second in uses.iter().filter(|second| second.at != first.at) {
                if let Some((one, other)) = self.conflict_between(&paths, first, second, &uses) {
                    return Some([(first.at, one), (second.at, other)]);
                }
            }
        }
        None
    }

    /// The arrays of a use and of a later one, if the two conflict.
    fn conflict_between(
        &self,
        paths: &ArrayPaths<'_, '_>,
        first: Use,
        second: Use,
        uses: &[Use],
    ) -> Option<(SymbolId, SymbolId)> {
        let pair = |one: ArraySet, other: ArraySet| {
            let number = |set: ArraySet| (set != 0).then(|| set.trailing_zeros() as usize);
            let one_array = number(one)?;
            let other_array = number(other & !(1 << one_array))?;
            Some((*self.arrays.get(one_array)?, *self.arrays.get(other_array)?))
        };
        let all = |used: Use| used.reads | used.writes;
        let close = pair(first.writes, all(second)).or_else(|| pair(all(first), second.writes));
        let lost = pair(first.writes, second.reads);
        if close.is_none() && lost.is_none() || !paths.is_one_on_all_paths_of_other(first.at, second.at) {
            return None;
        }
        if close.is_some() && paths.has_path(first.at, second.at, true) {
            return close;
        }
        let (_, read) = lost?;
        let array = self.arrays.iter().position(|&array| array == read)?;
        if second.is_call && second.writes >> array & 1 == 1 {
            return None;
        }
        let is_written_between = uses.iter().any(|used| {
            used.writes >> array & 1 == 1
                && paths.has_path(first.at, used.at, false)
                && paths.has_path(used.at, second.at, false)
        });
        (!is_written_between && paths.has_path(first.at, second.at, false)).then_some(lost?)
    }

    fn uses_in_function(&self, function: FunctionId, body: &Body<'_>, taint: &[Taint]) -> Vec<Use> {
        let analyses = self.module.function(function);
        let mut uses = Vec::new();
        for (at, instruction) in body.iter() {
            let (mut reads, mut writes, mut near) = (0, 0, 0);
            let is_call = matches!(instruction.op, Op::Call(_));
            match instruction.op {
                Op::Access(access) => {
                    let address = match *body.uses(instruction) {
                        [base, Value::Integer(offset), ..] => self.taint_of(taint, base).at_distance(offset),
                        [base, ..] => self.taint_of(taint, base),
                        [] => Taint::default(),
                    };
                    near = address.near;
                    match access.kind {
                        AccessKind::Load => reads = address.arrays(),
                        AccessKind::Store => writes = address.arrays(),
                        _ => (reads, writes) = (address.arrays(), address.arrays()),
                    }
                }
                Op::Call(call) => {
                    let own = self.effects_of_callee(body.call(call).callee);
                    let passed = body.arguments(body.call(call)).iter();
                    let passed = passed.fold(Taint::default(), |set, argument| {
                        set.union(self.taint_of(taint, argument.value))
                    });
                    (reads, writes) = (own.reads | passed.arrays(), own.writes | passed.arrays());
                    near = own.near | passed.near;
                }
                _ => {}
            }
            if reads | writes != 0 && analyses.is_reached(at) {
                uses.push(Use {
                    at,
                    reads,
                    writes,
                    near,
                    is_call,
                });
            }
            if uses.len() == MAX_SHARED_USES {
                break;
            }
        }
        uses
    }

    /// The uses of a function that is called, and of those that it calls.
    fn effects_of_callee(&self, callee: Callee) -> Effects {
        let unknown = Effects {
            has_barrier: true,
            ..Effects::default()
        };
        let Callee::Direct(symbol) = callee else {
            return unknown;
        };
        let called = self.module.module.called(symbol);
        let body =
            called.and_then(|called| Some((called, self.module.module.function(called).body.as_ref()?)));
        let Some((called, body)) = body else {
            return unknown;
        };
        if let Some(&known) = self.known.borrow().get(&called) {
            return known;
        }
        // A recursive function may have any effect.
        self.known.borrow_mut().insert(called, unknown);
        if self.depth.get() == MAX_SHARED_CALLS {
            return unknown;
        }
        self.depth.set(self.depth.get() + 1);
        let taint = self.taint_by_register(called, body);
        let mut effects = Effects::default();
        for used in self.uses_in_function(called, body, &taint) {
            effects.reads |= used.reads;
            effects.writes |= used.writes;
            effects.near |= used.near;
        }
        for (_, instruction) in body.iter() {
            effects.has_barrier |= match instruction.op {
                Op::Call(call) => self.effects_of_callee(body.call(call).callee).has_barrier,
                op => is_barrier(op),
            };
            if let Some((_, value)) = body.returned(instruction) {
                effects.returned = effects.returned.union(self.taint_of(&taint, value));
            }
        }
        self.depth.set(self.depth.get() - 1);
        self.known.borrow_mut().insert(called, effects);
        effects
    }

    /// For each register: the arrays that its content may be an address in.
    fn taint_by_register(&self, function: FunctionId, body: &Body<'_>) -> Vec<Taint> {
        let mut taint = vec![Taint::default(); body.registers.len()];
        for _ in 0..MAX_SHARED_ROUNDS {
            let mut has_changed = false;
            for (at, instruction) in body.iter() {
                let set = self.taint_of_result(function, body, at, &taint);
                for register in body.defined(instruction) {
                    let known = &mut taint[register.index()];
                    has_changed |= known.union(set) != *known;
                    *known = known.union(set);
                }
            }
            if !has_changed {
                break;
            }
        }
        taint
    }

    /// The arrays that the results of an instruction may be addresses in.
    fn taint_of_result(
        &self,
        function: FunctionId,
        body: &Body<'_>,
        at: InstructionId,
        taint: &[Taint],
    ) -> Taint {
        let instruction = body.instruction(at);
        let uses = body.uses(instruction);
        let used = || {
            uses.iter().fold(Taint::default(), |set, &value| {
                set.union(self.taint_of(taint, value))
            })
        };
        let form = Form::of(instruction.op, uses);
        match (instruction.op, form) {
            (_, Form::Sum(base, Value::Integer(distance)) | Form::Sum(Value::Integer(distance), base)) => {
                self.taint_of(taint, base).at_distance(distance)
            }
            // The index may have a constant part.
            (_, Form::Sum(one, other))
                if self.asks_distances
                    && (self.is_index_past_base(function, body, one)
                        || self.is_index_past_base(function, body, other)) =>
            {
                used().at_distance(1)
            }
            (_, Form::ProductSum(index, Value::Integer(1..), _))
                if self.asks_distances && self.is_index_past_base(function, body, index) =>
            {
                used().at_distance(1)
            }
            (_, Form::Moved(..) | Form::Choice(..) | Form::ProductSum(..) | Form::Sum(..))
            | (Op::MapShared(_), _) => used(),
            // The base address may be reached again.
            (_, Form::Difference(..) | Form::Bits(..)) => used().at_distance(-1),
            (Op::Access(_), _) => match self.module.function(function).stored_value_read_by(at) {
                Some(value) => self.taint_of(taint, value),
                None => Taint::of_arrays(used().all & THREAD),
            },
            (Op::Call(call), _) => self.effects_of_callee(body.call(call).callee).returned,
            (Op::CallResult(call), _) => match body.callee(body.instruction(call)) {
                Some(callee) => self.effects_of_callee(callee).returned,
                None => Taint::default(),
            },
            (Op::Collective(..) | Op::ActiveMask, _) => Taint::of_arrays(THREAD),
            _ => Taint::of_arrays(used().all & THREAD),
        }
    }

    /// True if a value is a sum with a positive number or a parameter of the kernel in it, as indices relative to the base
    /// of an array are: a parameter may be the start of the array. Other parts are assumed to be positive or 0.
    fn is_index_past_base(&self, function: FunctionId, body: &Body<'_>, value: Value) -> bool {
        let analyses = self.module.function(function);
        let is_kernel = self.module.module.function(function).is_kernel();
        // With each value: it is a summand, not a factor.
        let mut open = vec![(value, true)];
        for _ in 0..MAX_INDEX_STEPS {
            let Some((value, is_summand)) = open.pop() else {
                break;
            };
            let Some(only) = analyses.only_writer(value) else {
                continue;
            };
            let instruction = body.instruction(only);
            if is_summand && is_kernel && body.loaded_param(instruction).is_some() {
                return true;
            }
            let is_or = matches!(instruction.op, Op::Binary(BinaryOp::Or, _));
            match analyses.form_of_result(only) {
                // Compilers use `or` to add to a multiple of a power of two.
                Form::Bits(..) if !is_or => {}
                Form::Sum(_, Value::Integer(by))
                | Form::Sum(Value::Integer(by), _)
                | Form::Bits(_, Value::Integer(by))
                | Form::Bits(Value::Integer(by), _)
                    if by > 0 =>
                {
                    return true;
                }
                Form::Sum(one, other) | Form::Bits(one, other) => {
                    open.extend([(one, is_summand), (other, is_summand)]);
                }
                Form::ProductSum(_, _, Value::Integer(1..)) => return true,
                // A constant factor scales a sum.
                Form::ProductSum(_, _, from) | Form::Product(from, Value::Integer(_)) => {
                    open.push((from, is_summand));
                }
                Form::Product(one, other) => open.extend([(one, false), (other, false)]),
                form => open.extend(form.moved_number().map(|from| (from, is_summand))),
            }
        }
        false
    }

    /// The set of one array; empty for other symbols.
    fn set_of_symbol(&self, symbol: SymbolId) -> ArraySet {
        let number = self.arrays.iter().position(|&array| array == symbol);
        number.map_or(0, |number| 1 << number)
    }

    /// The arrays that a value may be an address in.
    fn taint_of(&self, taint: &[Taint], value: Value) -> Taint {
        match value {
            Value::Symbol(symbol, offset) => {
                let array = self.set_of_symbol(symbol);
                Taint {
                    all: array,
                    near: array,
                }
                .at_distance(i64::from(offset))
            }
            Value::Register(Register { .. }) | Value::Not(_) => value
                .register()
                .map_or_else(Taint::default, |register| taint[register.index()]),
            Value::Special(Special::Tid(_) | Special::LaneId | Special::WarpId | Special::Other) => {
                Taint::of_arrays(THREAD)
            }
            _ => Taint::default(),
        }
    }
}

/// True if an operation separates the uses before it from those after it.
const fn is_barrier(op: Op) -> bool {
    match op {
        Op::Barrier(barrier) => barrier.waits,
        // This is enough between the threads of one warp.
        Op::Collective(Collective::Sync, _) => true,
        _ => false,
    }
}

/// The paths through a body.
struct ArrayPaths<'f, 'b> {
    body: &'f Body<'b>,
    analyses: &'f Analyses<'b>,
    /// For each instruction: true if all threads wait there.
    waits: Vec<bool>,
    /// For each block: true if its branch may diverge.
    diverges: Vec<bool>,
}

impl<'f, 'b> ArrayPaths<'f, 'b> {
    fn new(
        uses: &ArrayUses<'_, '_>,
        body: &'f Body<'b>,
        analyses: &'f Analyses<'b>,
        taint: &[Taint],
    ) -> Self {
        let waits = body.iter().map(|(_, instruction)| match instruction.op {
            Op::Call(call) => uses.effects_of_callee(body.call(call).callee).has_barrier,
            op => is_barrier(op),
        });
        let diverges = (0..body.blocks.len()).map(|number| {
            let guard = body.terminator(BlockId::new(number)).and_then(|last| last.guard);
            guard.is_some_and(|guard| taint[guard.register.index()].all & THREAD != 0)
        });
        Self {
            body,
            analyses,
            waits: waits.collect(),
            diverges: diverges.collect(),
        }
    }

    /// True if a path leads from one instruction to another; `without_barrier`: without passing a barrier.
    fn has_path(&self, from: InstructionId, to: InstructionId, without_barrier: bool) -> bool {
        let paths = Paths::new(self.body);
        if without_barrier {
            // In a call, the barrier may come after the use, or before it.
            let is_apart = self.waits[from.index()] || self.waits[to.index()];
            !is_apart && paths.without_marked(&self.waits).lead(from, to)
        } else {
            paths.lead(from, to)
        }
    }

    /// True if one of two instructions is on every path through the other, ignoring loops and branches that threads take
    /// differently.
    fn is_one_on_all_paths_of_other(&self, first: InstructionId, second: InstructionId) -> bool {
        let (first, second) = (self.deciding_block(first), self.deciding_block(second));
        let (dominators, post) = (self.analyses.dominators(), self.analyses.post_dominators());
        first == second
            || dominators.dominates(first, second)
            || dominators.dominates(second, first)
            || post.dominates(first, second)
            || post.dominates(second, first)
    }

    /// The block that decides whether an instruction is executed, ignoring loops and divergent branches.
    fn deciding_block(&self, at: InstructionId) -> BlockId {
        let (dominators, post) = (self.analyses.dominators(), self.analyses.post_dominators());
        let mut block = self.body.block_of(at);
        while let Some(above) = dominators
            .immediate_dominator(block)
            .filter(|&above| above != block)
        {
            let is_loop = || Paths::new(self.body).lead_between(block, above);
            if !post.dominates(block, above) && !self.diverges[above.index()] && !is_loop() {
                break;
            }
            block = above;
        }
        block
    }
}
