//! Guards that the path to an instruction decides: after `@p bra L`, on the path where it is not taken, `@!p` holds until `p` is written.
//! Done once, where code is lowered, so that all analyses see the same edges.
//!
//! ```text
//! tracked    the guard's predicate, followed up through moves and complements
//! learned    what branches on the way up have decided on other predicates; forgotten where those are written
//! way up     over blocks with one edge that leads to them; ends where the tracked predicate is written otherwise
//!
//! branch     plain, to the one side        return, exit, trap    plain, or a branch to what follows
//! otherwise  without its guard, or without effect; of a call that is never made, [`never_holds`] says so
//! ```

use super::{
    BinaryOp, BlockId, Body, Guard, Instruction, InstructionId, Logic, Op, Register, Slots, UnaryOp, Value,
};
use crate::limits::{MAX_SETTLE_ROUNDS, MAX_WAY_BLOCKS, MAX_WAY_INSTRUCTIONS};

/// For each block: its predecessor, if it has only one.
struct SinglePredecessors(Vec<u32>);

const NONE: u32 = u32::MAX;
const SEVERAL: u32 = u32::MAX - 1;

impl SinglePredecessors {
    /// By the edges of blocks that the entry may reach.
    fn of(body: &Body<'_>) -> Self {
        let mut above = vec![NONE; body.blocks.len()];
        let mut is_seen = vec![false; body.blocks.len()];
        let mut open = vec![BlockId::new(0)];
        // The entry is also reached from outside.
        above[0] = SEVERAL;
        is_seen[0] = true;
        while let Some(block) = open.pop() {
            for &next in body.successors(block) {
                let known = &mut above[next.index()];
                *known = if *known == NONE {
                    block.index() as u32
                } else {
                    SEVERAL
                };
                if !std::mem::replace(&mut is_seen[next.index()], true) {
                    open.push(next);
                }
            }
        }
        Self(above)
    }

    fn get(&self, block: BlockId) -> Option<BlockId> {
        match self.0[block.index()] {
            NONE | SEVERAL => None,
            number => Some(BlockId::new(number as usize)),
        }
    }
}

/// Settles what the ways through a body decide.
pub fn settle(body: &mut Body<'_>) {
    for _ in 0..MAX_SETTLE_ROUNDS {
        let mut above = None;
        let mut has_cut = false;
        for number in 0..body.blocks.len() {
            let block = BlockId::new(number);
            for at in body.blocks[number].instructions.range() {
                let Some(guard) = body.instructions[at].guard else {
                    continue;
                };
                let id = InstructionId::new(at);
                if let Some(value) = decided_guard(body, &mut above, block, id, guard) {
                    has_cut |= apply_known_guard(body, block, id, value != guard.negated);
                }
            }
        }
        // Blocks that are not reached any more leave others with a single predecessor.
        if !has_cut {
            break;
        }
    }
    // Operations whose guard never holds are not executed, and have lost their operands.
    let mut listed = std::mem::take(&mut body.asynchronous);
    listed.retain(|one| body.is_sound(one));
    body.asynchronous = listed;
    let mut matrices = std::mem::take(&mut body.matrices);
    matrices.retain(|one| body.is_matrix_access(one));
    body.matrices = matrices;
}

/// True if an instruction's guard is false on each path to it, by the branches on the way.
pub fn never_holds(body: &Body<'_>, block: BlockId, id: InstructionId) -> bool {
    let decided = |guard: Guard| Some(decided_guard(body, &mut None, block, id, guard)? == guard.negated);
    body.instruction(id).guard.and_then(decided) == Some(true)
}

/// Makes an instruction unconditional, or removes its effect; true if that cuts an edge.
fn apply_known_guard(body: &mut Body<'_>, block: BlockId, id: InstructionId, holds: bool) -> bool {
    let edges = body.blocks[block.index()].successors;
    let (start, end) = (edges.start as usize, edges.end as usize);
    let instruction = &mut body.instructions[id.index()];
    let cut = match (instruction.op, end - start) {
        (Op::Branch, 2) if holds => Slots::new(start, start + 1),
        (Op::Branch, 2) => Slots::new(start + 1, end),
        (Op::Return | Op::Exit | Op::Trap, 1) if holds => Slots::new(end, end),
        (Op::Return | Op::Exit | Op::Trap, 1) => {
            instruction.op = Op::Branch;
            // In case it is written with operands: it has none.
            instruction.results = 0;
            instruction.values =
                Slots::new(instruction.values.range().start, instruction.values.range().start);
            edges
        }
        (op, _) if op.is_terminator() => return false,
        // Lists of the body name it.
        (Op::Call(_), _) if !holds => return false,
        (op, _) => {
            instruction.guard = None;
            if !holds {
                instruction.op = Op::Opaque;
                instruction.results = 0;
                instruction.values =
                    Slots::new(instruction.values.range().start, instruction.values.range().start);
                if matches!(op, Op::Collective(..)) {
                    body.collectives.retain(|&known| known != id);
                }
            }
            return false;
        }
    };
    instruction.guard = None;
    body.blocks[block.index()].successors = cut;
    cut != edges
}

/// The value of a guard's predicate at the guarded instruction, if the path there decides it.
fn decided_guard(
    body: &Body<'_>,
    above: &mut Option<SinglePredecessors>,
    block: BlockId,
    id: InstructionId,
    guard: Guard,
) -> Option<bool> {
    let mut walk = WalkUp {
        body,
        tracked: guard.register,
        is_complement: false,
        learned: Vec::new(),
    };
    let mut left = MAX_WAY_INSTRUCTIONS;
    let (mut block, mut end) = (block, id.index());
    for _ in 0..MAX_WAY_BLOCKS {
        let start = body.blocks[block.index()].instructions.range().start;
        for at in (start..end).rev() {
            left = left.checked_sub(1)?;
            match walk.step_above(&body.instructions[at]) {
                Step::On => {}
                Step::Known(value) => return Some(value),
                Step::Unknown => return None,
            }
        }
        let from = above
            .get_or_insert_with(|| SinglePredecessors::of(body))
            .get(block)?;
        if let Some((register, value)) = predicate_decided_by_edge(body, from, block)
            && let Some(value) = walk.record_predicate(register, value)
        {
            return Some(value);
        }
        (block, end) = (from, body.blocks[from.index()].instructions.range().end);
    }
    None
}

/// The predicate that the edge between two blocks decides, and its value there.
fn predicate_decided_by_edge(body: &Body<'_>, from: BlockId, to: BlockId) -> Option<(Register, bool)> {
    let last = body.terminator(from)?;
    let guard = last.guard?;
    let holds = match (last.op, body.successors(from)) {
        (Op::Branch, &[taken, other]) if taken != other => taken == to,
        (Op::Return | Op::Exit | Op::Trap, &[_]) => false,
        _ => return None,
    };
    Some((guard.register, holds != guard.negated))
}

/// The known predicates at one point of the walk up the chain of single predecessors.
struct WalkUp<'b> {
    body: &'b Body<'b>,
    tracked: Register,
    /// The predicate that is asked for is the complement of the tracked one.
    is_complement: bool,
    /// Predicates, and their known values here.
    learned: Vec<(Register, bool)>,
}

enum Step {
    On,
    Known(bool),
    Unknown,
}

impl WalkUp<'_> {
    /// Notes what a predicate is; what is asked for, if that says it.
    fn record_predicate(&mut self, register: Register, value: bool) -> Option<bool> {
        if register == self.tracked {
            return Some(value != self.is_complement);
        }
        self.learned.push((register, value));
        None
    }

    fn known_predicate(&self, register: Register) -> Option<bool> {
        let found = self.learned.iter().find(|(known, _)| *known == register);
        found.map(|(_, value)| *value)
    }

    /// Goes up past an instruction.
    fn step_above(&mut self, instruction: &Instruction) -> Step {
        if !self
            .body
            .defined(instruction)
            .any(|register| register == self.tracked)
        {
            return self.step_above_untracked_write(instruction);
        }
        if instruction.guard.is_some() {
            return Step::Unknown;
        }
        if let (Op::Compare(_, _, Logic::None), &[Value::Register(one), Value::Register(other)]) =
            (instruction.op, self.body.results(instruction))
        {
            let partner = if one == self.tracked { other } else { one };
            return match self.known_predicate(partner) {
                Some(value) if one != other => Step::Known(value == self.is_complement),
                _ => Step::Unknown,
            };
        }
        let value = match moved_predicate(instruction.op, self.body.uses(instruction)) {
            Some(Value::Register(register)) => (register, false),
            Some(Value::Not(register)) => (register, true),
            Some(Value::Integer(value)) => return Step::Known((value & 1 == 1) != self.is_complement),
            _ => return Step::Unknown,
        };
        self.tracked = value.0;
        self.is_complement ^= value.1;
        match self.known_predicate(self.tracked) {
            Some(value) => Step::Known(value != self.is_complement),
            None => self.step_above_untracked_write(instruction),
        }
    }

    /// Forgets what an instruction writes that is not tracked, but for what it says of its source.
    fn step_above_untracked_write(&mut self, instruction: &Instruction) -> Step {
        for register in self.body.defined(instruction) {
            let Some(value) = self.known_predicate(register) else {
                continue;
            };
            self.learned.retain(|(known, _)| *known != register);
            let uses = self.body.uses(instruction);
            let source = moved_predicate(instruction.op, uses).filter(|_| instruction.guard.is_none());
            let learned = match source {
                Some(Value::Register(source)) => self.record_predicate(source, value),
                Some(Value::Not(source)) => self.record_predicate(source, !value),
                _ => None,
            };
            if let Some(value) = learned {
                return Step::Known(value);
            }
        }
        Step::On
    }
}

/// The predicate that an instruction moves to its result, as it is or as its complement.
fn moved_predicate(op: Op, uses: &[Value]) -> Option<Value> {
    match (op, uses) {
        (Op::Copy, &[from]) => Some(from),
        (Op::Unary(UnaryOp::Not, 1), &[from]) => Some(complement(from)),
        (Op::Binary(BinaryOp::Xor, 1), &[from, Value::Integer(with)]) => {
            Some(if with & 1 == 1 { complement(from) } else { from })
        }
        _ => None,
    }
}

const fn complement(value: Value) -> Value {
    match value {
        Value::Register(register) => Value::Not(register),
        Value::Not(register) => Value::Register(register),
        Value::Integer(value) => Value::Integer(value & 1 ^ 1),
        other => other,
    }
}
