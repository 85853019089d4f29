//! Loops that each lane leaves after a number of rounds that depends on its thread number.
//!
//! A loop is *counted by lane* if a collective or a barrier is in it, and one of its exits is decided by constants and
//! thread numbers alone: `for (i = lane; i < 100; i += 32)`, `if (lane < 16 && i == 2) break;`. A loop over constants that
//! runs equally often for all lanes (`for (s = 16; s > 0; s /= 2)`) does not count, unless another exit of it depends on
//! thread numbers.

use rustc_hash::FxHashSet;

use crate::dominators::Dominators;
use crate::limits::MAX_EXIT_STEPS;
use crate::shared::Shared;
use crate::slots::Effect;
use crate::variable::Variable;
use ptxcheck_ir::evaluate::is_interpreted;
use ptxcheck_ir::{
    AccessKind, BlockId, Body, Callee, Collective, FunctionId, Guard, Instruction, InstructionId, Op,
    Register, Special, Value, Vote,
};

/// The loops of a module that are counted by lane, by function.
pub(super) struct LaneCountedLoops {
    is_in: Vec<bool>,
}

impl LaneCountedLoops {
    /// Marks the functions with such a loop, and those that call them. `meets`: the functions that reach a collective or a
    /// barrier; `has_shape`: the shape of some CTA is known.
    #[must_use]
    pub(super) fn new(module: &Shared<'_>, meets: &[bool], has_shape: bool) -> Self {
        let mut is_in = module.marked_functions(|id, _, body| {
            meets[id.index()]
                && !module.deadline.is_over_at_step()
                && LoopExitSearch::new(module, id, body, has_shape).has_counted_loop(meets)
        });
        module.call_graph().mark_callers(&mut is_in);
        Self { is_in }
    }

    /// True if a function, or a function that it calls directly or indirectly, has such a loop.
    #[must_use]
    pub(super) fn has_counted_loop(&self, function: FunctionId) -> bool {
        self.is_in[function.index()]
    }
}

/// Search for the values that decide the branches of one function.
pub(super) struct LoopExitSearch<'a, 'm> {
    module: &'a Shared<'m>,
    function: FunctionId,
    body: &'a Body<'m>,
    has_shape: bool,
    /// Sets of lanes, and results of collectives computed from known values, count as known.
    follows_sets: bool,
}

/// The blocks of the loops of one function.
struct LoopBlocks {
    /// By block: lanes meet in it.
    holds: Vec<bool>,
    /// By block: the number of the last loop that it is in.
    last_loop: Vec<u32>,
    loops: u32,
    /// The blocks of that loop, its header first.
    inside: Vec<BlockId>,
}

impl LoopBlocks {
    /// Begins another loop.
    fn begin_loop(&mut self, header: BlockId) {
        self.loops += 1;
        self.inside.clear();
        self.add_block(header);
    }

    fn add_block(&mut self, block: BlockId) {
        if std::mem::replace(&mut self.last_loop[block.index()], self.loops) != self.loops {
            self.inside.push(block);
        }
    }

    fn contains(&self, block: BlockId) -> bool {
        self.last_loop[block.index()] == self.loops
    }
}

/// Classification of the values that a branch depends on, if these are only constants and thread numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// The values are the same for all lanes.
    Alike,
    /// Thread numbers are among the values, or decide which definition of a variable a lane sees.
    ByLane,
}

/// The reason why a value does not count as computed from constants and thread numbers.
enum UnknownReason {
    /// The value depends on values other than constants and thread numbers.
    OfOthers,
    /// The search budget is spent.
    TooMuchWork,
}

/// A definition of a variable.
#[derive(Default)]
struct Written {
    /// The variables that the written value depends on.
    reads: Vec<Variable>,
    /// The written value depends on thread numbers, arguments of callers or results of callees.
    by_lane: bool,
}

impl<'a, 'm> LoopExitSearch<'a, 'm> {
    /// The search in a function with this body. `has_shape`: the shape of some CTA is known.
    pub(super) const fn new(
        module: &'a Shared<'m>,
        function: FunctionId,
        body: &'a Body<'m>,
        has_shape: bool,
    ) -> Self {
        Self {
            module,
            function,
            body,
            has_shape,
            follows_sets: false,
        }
    }

    /// The same search, but sets of lanes, and results of collectives computed from known values, count as known.
    pub(super) const fn with_lane_sets(self) -> Self {
        Self {
            follows_sets: true,
            ..self
        }
    }

    fn has_counted_loop(&self, meets: &[bool]) -> bool {
        let cfg = self.module.function(self.function).cfg();
        let mut found: Option<LoopBlocks> = None;
        for &block in cfg.reverse_postorder() {
            for &header in self.body.successors(block) {
                if cfg.rank(header) <= cfg.rank(block) {
                    let blocks = found.get_or_insert_with(|| self.loop_blocks(meets));
                    if self.is_lane_counted_loop(header, block, blocks) {
                        return true;
                    }
                }
            }
        }
        false
    }

    fn loop_blocks(&self, meets: &[bool]) -> LoopBlocks {
        let blocks = (0..self.body.blocks.len()).map(BlockId::new);
        let holds = |block: BlockId| {
            let mut instructions = self.body.block(block);
            instructions.any(|(_, instruction)| self.lanes_meet_at(instruction, meets))
        };
        LoopBlocks {
            holds: blocks.map(holds).collect(),
            last_loop: vec![0; self.body.blocks.len()],
            loops: 0,
            inside: Vec::new(),
        }
    }

    /// True if the loop with this back edge is counted by lane.
    fn is_lane_counted_loop(&self, header: BlockId, latch: BlockId, blocks: &mut LoopBlocks) -> bool {
        let (cfg, body) = (self.module.function(self.function).cfg(), self.body);
        blocks.begin_loop(header);
        blocks.add_block(latch);
        let mut next = 1;
        while let Some(&block) = blocks.inside.get(next) {
            next += 1;
            for &before in cfg.predecessors(block) {
                match cfg.rank(before) {
                    None => {}
                    // The back edge closes no natural loop: the header does not dominate its source.
                    rank if rank < cfg.rank(header) => return false,
                    _ => blocks.add_block(before),
                }
            }
        }
        if !blocks.inside.iter().any(|block| blocks.holds[block.index()]) {
            return false;
        }
        let leaves = |block: BlockId| {
            let is_end = body
                .terminator(block)
                .is_some_and(|last| matches!(last.op, Op::Return | Op::Exit));
            is_end || body.successors(block).iter().any(|&next| !blocks.contains(next))
        };
        let mut exits = blocks.inside.iter().copied().filter(|&block| leaves(block));
        exits.any(|exit| {
            let guard = body.terminator(exit).and_then(|last| last.guard);
            let is_passed = || self.dominators().dominates(exit, latch);
            guard.is_some_and(|guard| self.may_guard_count_rounds(guard, is_passed))
        })
    }

    fn lanes_meet_at(&self, instruction: &Instruction, meets: &[bool]) -> bool {
        match instruction.op {
            Op::Collective(..) | Op::Barrier(_) => true,
            Op::Call(_) => match self.body.callee(instruction) {
                Some(Callee::Direct(symbol)) => {
                    let callee = self.module.module.called(symbol);
                    callee.is_some_and(|callee| meets[callee.index()])
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// True if a guard may let lanes leave a loop after a number of rounds that the analysis can compute. `is_passed` says
    /// whether lanes reach the guard in every round.
    pub(super) fn may_guard_count_rounds(&self, guard: Guard, is_passed: impl Fn() -> bool) -> bool {
        match self.classify_predicate(guard.register) {
            Some(Decision::ByLane) => true,
            Some(Decision::Alike) => !is_passed(),
            None => false,
        }
    }

    /// Classification of the values that a predicate depends on; `None` if it depends on values other than constants and
    /// thread numbers.
    fn classify_predicate(&self, predicate: Register) -> Option<Decision> {
        let (by_lane, several) = self.inputs_of_register(predicate).ok()?;
        // Lanes that diverge by their thread numbers see different definitions of such a variable.
        let is_split = |write: &InstructionId| {
            let block = self.body.block_of(*write);
            let mut above =
                std::iter::successors(Some(block), |&at| self.dominators().immediate_dominator(at)).skip(1);
            let guard = above.find_map(|at| self.body.terminator(at)?.guard);
            guard
                .and_then(|guard| self.inputs_of_register(guard.register).ok())
                .is_some_and(|(by_lane, _)| by_lane)
        };
        let is_by_lane = by_lane || several.iter().any(is_split);
        Some(if is_by_lane {
            Decision::ByLane
        } else {
            Decision::Alike
        })
    }

    fn dominators(&self) -> &'a Dominators {
        self.module.function(self.function).dominators()
    }

    /// What a value is computed from, if that is only constants and thread numbers: whether thread numbers are among its
    /// inputs, and the definitions of those variables that have several.
    fn inputs_of_register(&self, register: Register) -> Result<(bool, Vec<InstructionId>), UnknownReason> {
        let analyses = self.module.function(self.function);
        let (mut by_lane, mut several) = (false, Vec::new());
        let mut left = MAX_EXIT_STEPS;
        let mut work = vec![Variable::Register(register)];
        let mut seen = FxHashSet::from_iter(work.iter().copied());
        while let Some(variable) = work.pop() {
            let writers = variable.writers_of(analyses.definitions(), || analyses.slots());
            if writers.is_empty() {
                // A callee may store a known value. No other value of a variable without a definition is known.
                match variable {
                    Variable::Slot(slot) if analyses.slots().is_written_by_callees(slot) => by_lane = true,
                    _ => return Err(UnknownReason::OfOthers),
                }
            }
            left = left
                .checked_sub(writers.len())
                .ok_or(UnknownReason::TooMuchWork)?;
            if writers.len() > 1 {
                several.extend(writers);
            }
            for &write in writers {
                let written = self
                    .written_value(variable, write)
                    .ok_or(UnknownReason::OfOthers)?;
                by_lane |= written.by_lane;
                work.extend(written.reads.into_iter().filter(|read| seen.insert(*read)));
            }
        }
        Ok((by_lane, several))
    }

    /// False if a value depends on anything but constants, thread numbers and sets of lanes, so that it is not known in any
    /// round of a loop.
    pub(super) fn may_be_known(&self, register: Register) -> bool {
        !matches!(self.inputs_of_register(register), Err(UnknownReason::OfOthers))
    }

    /// A definition of a variable; `None` if the value depends on anything but constants, thread numbers and variables.
    fn written_value(&self, variable: Variable, write: InstructionId) -> Option<Written> {
        let instruction = self.body.instruction(write);
        let uses = self.body.uses(instruction);
        let mut written = Written::default();
        let read: &[Value] = match (variable, instruction.op) {
            (Variable::Slot(_), _) => uses.get(2..3)?,
            (_, op) if is_interpreted(op) => uses,
            (_, Op::Access(access)) if access.kind == AccessKind::Load => {
                match self
                    .module
                    .function(self.function)
                    .slots()
                    .effect_on_slots(write, instruction)
                {
                    Effect::Load(slot) => written.reads.push(Variable::Slot(slot)),
                    _ if self.loads_caller_param(instruction) => written.by_lane = true,
                    _ => return None,
                }
                &[]
            }
            (_, Op::CallResult(_)) => {
                written.by_lane = true;
                &[]
            }
            // Of a ballot of any predicate, the bits of lanes that are not there are known, and of those in which it is decided.
            (_, Op::ActiveMask | Op::Collective(Collective::Vote(Vote::Ballot), _)) if self.follows_sets => {
                written.by_lane = true;
                &[]
            }
            (_, Op::Collective(..)) if self.follows_sets => uses,
            _ => return None,
        };
        let guard = instruction.guard.map(|guard| Value::Register(guard.register));
        for &value in read.iter().chain(&guard) {
            match value {
                Value::Integer(_) => {}
                Value::Register(register) | Value::Not(register) => {
                    written.reads.push(Variable::Register(register));
                }
                Value::Special(special) => written.by_lane |= self.distinguishes_lanes(special)?,
                _ => return None,
            }
        }
        Some(written)
    }

    /// True if a function loads a parameter whose value its callers pass.
    fn loads_caller_param(&self, load: &Instruction) -> bool {
        let is_kernel = self.module.module.function(self.function).is_kernel();
        !is_kernel && self.body.loaded_param(load).is_some()
    }

    /// True if a special register differs between lanes, false if it holds one known value; `None` if neither is certain.
    fn distinguishes_lanes(&self, special: Special) -> Option<bool> {
        match special {
            of_thread if of_thread.is_of_thread() => Some(true),
            Special::Ntid(_) if self.has_shape => Some(false),
            _ => None,
        }
    }
}
