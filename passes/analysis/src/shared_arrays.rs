//! ArrayUses of several shared arrays that begin at the same address, and which of them come into each other's way.
//!
//! ```text
//! use        an access whose address is computed from an array, or a call of a function that has one or is passed such an
//!            address
//! together   one use is on every path through the other, where a use counts for the branch that leads to it if some threads
//!            take it and others do not, or if it is in a loop that goes on there
//! conflict   two uses together, of two arrays, one of them a write, of which one reaches the other past no barrier; or a
//!            read of one array behind a write to the other, where nothing writes the first in between
//! ```

use std::cell::{Cell, RefCell};

use ptxcheck_ir::{
    AccessKind, BinaryOp, BlockId, Body, Callee, Collective, FunctionId, InstructionId, Op, Register,
    Special, SymbolId, Value,
};

use rustc_hash::FxHashMap;

use crate::limits::{MAX_SHARED_CALLS, MAX_SHARED_ROUNDS, MAX_SHARED_USES};
use crate::{Analyses, ModuleAnalyses};

/// A set of arrays by their numbers, and [`THREAD`].
type ArraySet = u64;

/// The value differs from thread to thread.
const THREAD: ArraySet = 1 << 63;

/// Most arrays that are told apart.
pub const MAX_ARRAYS: usize = 63;

/// A use of arrays.
#[derive(Clone, Copy, Debug)]
struct Use {
    at: InstructionId,
    reads: ArraySet,
    writes: ArraySet,
    /// It is a call, which may write what it reads.
    is_call: bool,
}

/// The uses that a function makes of arrays that it names itself.
#[derive(Clone, Copy, Default)]
struct Effects {
    reads: ArraySet,
    writes: ArraySet,
    has_barrier: bool,
    /// The arrays that its result is computed from.
    returned: ArraySet,
}

/// Finds the uses of these arrays in the functions of a module.
pub struct ArrayUses<'m, 'a> {
    module: &'m ModuleAnalyses<'a>,
    arrays: &'m [SymbolId],
    /// The effects of the functions that have been analysed.
    known: RefCell<FxHashMap<FunctionId, Effects>>,
    /// Depth of nested calls at the function being analysed.
    depth: Cell<usize>,
}

impl<'m, 'a> ArrayUses<'m, 'a> {
    /// For a module, and at most [`MAX_ARRAYS`] of its dynamic shared arrays.
    #[must_use]
    pub fn new(module: &'m ModuleAnalyses<'a>, arrays: &'m [SymbolId]) -> Self {
        Self {
            module,
            arrays,
            known: RefCell::default(),
            depth: Cell::new(0),
        }
    }

    /// Two uses in a function that conflict, the earlier first, and the array of each.
    #[must_use]
    pub fn conflict(&self, function: FunctionId) -> Option<[(InstructionId, SymbolId); 2]> {
        let body = self.module.module.function(function).body.as_ref()?;
        let analyses = self.module.function(function);
        let taint = self.taint(function, body);
        let uses = self.uses(function, body, &taint);
        let paths = Paths::new(self, body, analyses, &taint);
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
        paths: &Paths<'_, '_>,
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
        if close.is_none() && lost.is_none() || !paths.are_together(first.at, second.at) {
            return None;
        }
        if close.is_some() && paths.reaches(first.at, second.at, true) {
            return close;
        }
        let (_, read) = lost?;
        let array = self.arrays.iter().position(|&array| array == read)?;
        if second.is_call && second.writes >> array & 1 == 1 {
            return None;
        }
        let is_written_between = uses.iter().any(|used| {
            used.writes >> array & 1 == 1
                && paths.reaches(first.at, used.at, false)
                && paths.reaches(used.at, second.at, false)
        });
        (!is_written_between && paths.reaches(first.at, second.at, false)).then_some(lost?)
    }

    fn uses(&self, function: FunctionId, body: &Body<'_>, taint: &[ArraySet]) -> Vec<Use> {
        let analyses = self.module.function(function);
        let mut uses = Vec::new();
        for (at, instruction) in body.iter() {
            let (mut reads, mut writes) = (0, 0);
            let is_call = matches!(instruction.op, Op::Call(_));
            match instruction.op {
                Op::Access(access) => {
                    let address = body.uses(instruction).first();
                    let arrays = address.map_or(0, |&address| self.arrays_of(taint, address)) & !THREAD;
                    match access.kind {
                        AccessKind::Load => reads = arrays,
                        AccessKind::Store => writes = arrays,
                        _ => (reads, writes) = (arrays, arrays),
                    }
                }
                Op::Call(call) => {
                    let own = self.effects(body.call(call).callee);
                    let passed = body.arguments(body.call(call)).iter();
                    let passed =
                        passed.fold(0, |set, argument| set | self.arrays_of(taint, argument.value)) & !THREAD;
                    (reads, writes) = (own.reads | passed, own.writes | passed);
                }
                _ => {}
            }
            if reads | writes != 0 && analyses.is_reached(at) {
                uses.push(Use {
                    at,
                    reads,
                    writes,
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
    fn effects(&self, callee: Callee) -> Effects {
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
        // A function that calls itself may do anything.
        self.known.borrow_mut().insert(called, unknown);
        if self.depth.get() == MAX_SHARED_CALLS {
            return unknown;
        }
        self.depth.set(self.depth.get() + 1);
        let taint = self.taint(called, body);
        let mut effects = Effects::default();
        for used in self.uses(called, body, &taint) {
            effects.reads |= used.reads;
            effects.writes |= used.writes;
        }
        for (_, instruction) in body.iter() {
            effects.has_barrier |= match instruction.op {
                Op::Call(call) => self.effects(body.call(call).callee).has_barrier,
                op => is_barrier(op),
            };
            if let Some((_, value)) = body.returned(instruction) {
                effects.returned |= self.arrays_of(&taint, value);
            }
        }
        self.depth.set(self.depth.get() - 1);
        self.known.borrow_mut().insert(called, effects);
        effects
    }

    /// For each register: the arrays that its content may be an address in.
    fn taint(&self, function: FunctionId, body: &Body<'_>) -> Vec<ArraySet> {
        let analyses = self.module.function(function);
        let mut taint = vec![0; body.registers.len()];
        for _ in 0..MAX_SHARED_ROUNDS {
            let mut has_changed = false;
            for (at, instruction) in body.iter() {
                let uses = body.uses(instruction);
                let used = || {
                    uses.iter()
                        .fold(0, |set, &value| set | self.arrays_of(&taint, value))
                };
                let set = match instruction.op {
                    Op::Copy
                    | Op::Select
                    | Op::Convert { .. }
                    | Op::ToGeneric(..)
                    | Op::FromGeneric(..)
                    | Op::MapShared(_)
                    | Op::MulAdd(..)
                    | Op::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::And | BinaryOp::Or, _) => used(),
                    Op::Access(_) => match analyses.store_for(at) {
                        Some(store) => body
                            .uses(body.instruction(store))
                            .get(2)
                            .map_or(0, |&value| self.arrays_of(&taint, value)),
                        None => used() & THREAD,
                    },
                    Op::Call(call) => self.effects(body.call(call).callee).returned,
                    Op::CallResult(call) => match body.callee(body.instruction(call)) {
                        Some(callee) => self.effects(callee).returned,
                        None => 0,
                    },
                    Op::Collective(..) | Op::ActiveMask => THREAD,
                    _ => used() & THREAD,
                };
                for register in body.defined(instruction) {
                    has_changed |= taint[register.index()] | set != taint[register.index()];
                    taint[register.index()] |= set;
                }
            }
            if !has_changed {
                break;
            }
        }
        taint
    }

    /// The arrays that a value may be an address in.
    fn arrays_of(&self, taint: &[ArraySet], value: Value) -> ArraySet {
        match value {
            Value::Symbol(symbol, _) => {
                let number = self.arrays.iter().position(|&array| array == symbol);
                number.map_or(0, |number| 1 << number)
            }
            Value::Register(Register { .. }) | Value::Not(_) => {
                value.register().map_or(0, |register| taint[register.index()])
            }
            Value::Special(Special::Tid(_) | Special::LaneId | Special::WarpId | Special::Other) => THREAD,
            _ => 0,
        }
    }
}

/// True if an operation separates the uses before it from those behind it.
const fn is_barrier(op: Op) -> bool {
    match op {
        Op::Barrier(barrier) => barrier.waits,
        // Enough between the threads of one warp.
        Op::Collective(Collective::Sync, _) => true,
        _ => false,
    }
}

/// The paths through a body.
struct Paths<'f, 'b> {
    body: &'f Body<'b>,
    analyses: &'f Analyses<'b>,
    /// For each instruction: true if all threads wait there.
    waits: Vec<bool>,
    /// For each block: true if its branch may diverge.
    diverges: Vec<bool>,
}

impl<'f, 'b> Paths<'f, 'b> {
    fn new(
        uses: &ArrayUses<'_, '_>,
        body: &'f Body<'b>,
        analyses: &'f Analyses<'b>,
        taint: &[ArraySet],
    ) -> Self {
        let waits = body.iter().map(|(_, instruction)| match instruction.op {
            Op::Call(call) => uses.effects(body.call(call).callee).has_barrier,
            op => is_barrier(op),
        });
        let diverges = (0..body.blocks.len()).map(|number| {
            let guard = body.terminator(BlockId::new(number)).and_then(|last| last.guard);
            guard.is_some_and(|guard| taint[guard.register.index()] & THREAD != 0)
        });
        Self {
            body,
            analyses,
            waits: waits.collect(),
            diverges: diverges.collect(),
        }
    }

    /// True if a path leads from one instruction to another; `without_barrier`: past no barrier.
    fn reaches(&self, from: InstructionId, to: InstructionId, without_barrier: bool) -> bool {
        let is_free = |range: std::ops::Range<usize>| !without_barrier || !self.waits[range].contains(&true);
        let range = |block: BlockId| self.body.blocks[block.index()].instructions.range();
        let (start, end) = (self.body.block_of(from), self.body.block_of(to));
        if start == end && from < to && is_free(from.index()..to.index()) {
            return true;
        }
        let mut seen = vec![false; self.body.blocks.len()];
        let mut open = Vec::new();
        if is_free(from.index()..range(start).end) {
            open.extend_from_slice(self.body.successors(start));
        }
        while let Some(block) = open.pop() {
            if std::mem::replace(&mut seen[block.index()], true) {
                continue;
            }
            if block == end && is_free(range(block).start..to.index()) {
                return true;
            }
            if is_free(range(block)) {
                open.extend_from_slice(self.body.successors(block));
            }
        }
        false
    }

    /// True if one of two instructions is on every path through the other, loops and branches of threads aside.
    fn are_together(&self, first: InstructionId, second: InstructionId) -> bool {
        let (first, second) = (self.anchor(first), self.anchor(second));
        let (dominators, post) = (self.analyses.dominators(), self.analyses.post_dominators());
        first == second
            || dominators.dominates(first, second)
            || dominators.dominates(second, first)
            || post.dominates(first, second)
            || post.dominates(second, first)
    }

    /// The block that decides whether an instruction is executed, loops and divergent branches aside.
    fn anchor(&self, at: InstructionId) -> BlockId {
        let (dominators, post) = (self.analyses.dominators(), self.analyses.post_dominators());
        let mut block = self.body.block_of(at);
        while let Some(above) = dominators.immediate(block).filter(|&above| above != block) {
            let is_loop = || self.leads(block, above);
            if !post.dominates(block, above) && !self.diverges[above.index()] && !is_loop() {
                break;
            }
            block = above;
        }
        block
    }

    /// True if a path leads from the end of one block to another.
    fn leads(&self, from: BlockId, to: BlockId) -> bool {
        let mut seen = vec![false; self.body.blocks.len()];
        let mut open = self.body.successors(from).to_vec();
        while let Some(block) = open.pop() {
            if block == to {
                return true;
            }
            if !std::mem::replace(&mut seen[block.index()], true) {
                open.extend_from_slice(self.body.successors(block));
            }
        }
        false
    }
}
