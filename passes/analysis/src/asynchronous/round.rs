//! The loops of a body with asynchronous operations, and whether they certainly have a second round.
//!
//! ```text
//! loop             the blocks that lead to an edge back to a block that is on each path to them
//! second round     all branches out of the loop are decided to stay in it in the first round: by constants, the number of the
//!                  thread, and the values of registers before the loop
//! ```

use ptxcheck_ir::evaluate::{evaluate_result, is_interpreted, ones};
use ptxcheck_ir::paths::reached;
use ptxcheck_ir::{BlockId, InstructionId, Op, Register, Value};

use super::view::View;
use crate::limits::{MAX_ASYNC_LOOPS, MAX_SUM_STEPS};

/// A loop.
#[derive(Debug)]
pub(super) struct LoopOfView {
    /// Its blocks, the header first.
    pub(super) blocks: Vec<BlockId>,
}

/// The loops of a body, on the paths of one thread: at most [`MAX_ASYNC_LOOPS`].
pub(super) fn loops_of_view(view: &View<'_, '_>) -> Vec<LoopOfView> {
    let count = view.body.blocks.len();
    let is_reached = reached(view.body, [BlockId::new(0)], |block| {
        view.possible_successors(block)
    });
    let mut predecessors: Vec<Vec<BlockId>> = vec![Vec::new(); count];
    for block in (0..count).filter(|&block| is_reached[block]).map(BlockId::new) {
        for next in view.possible_successors(block) {
            predecessors[next.index()].push(block);
        }
    }
    let dominators = view.analyses.dominators();
    let mut found = Vec::new();
    for header in (0..count).map(BlockId::new) {
        let latches = predecessors[header.index()].iter().copied();
        let latches: Vec<BlockId> = latches
            .filter(|&latch| dominators.dominates(header, latch))
            .collect();
        if latches.is_empty() || found.len() == MAX_ASYNC_LOOPS {
            continue;
        }
        let is_inside = reached(view.body, latches, |block| {
            if block == header {
                &[]
            } else {
                &predecessors[block.index()]
            }
        });
        let others = (0..count).filter(|&block| is_inside[block] && block != header.index());
        let blocks = std::iter::once(header).chain(others.map(BlockId::new)).collect();
        found.push(LoopOfView { blocks });
    }
    found
}

impl LoopOfView {
    /// True if a thread that reaches the loop certainly executes at least a second round.
    pub(super) fn has_certain_second_round(&self, view: &View<'_, '_>) -> bool {
        self.blocks.iter().all(|&block| {
            let next = view.possible_successors(block);
            let leaves = next.iter().any(|next| !self.blocks.contains(next));
            if !leaves {
                return !next.is_empty();
            }
            let Some((id, branch)) = view.body.block(block).next_back() else {
                return false;
            };
            let (Op::Branch, Some(guard), &[taken, other]) = (branch.op, branch.guard, next) else {
                return false;
            };
            let mut left = MAX_SUM_STEPS;
            let value = self.value_in_first_round(view, (Value::Register(guard.register), id), &mut left);
            value.is_some_and(|value| {
                let chosen = if (value & 1 == 1) != guard.negated {
                    taken
                } else {
                    other
                };
                self.blocks.contains(&chosen)
            })
        })
    }

    /// An operand of an instruction of the loop in the first round.
    fn value_in_first_round(
        &self,
        view: &View<'_, '_>,
        (value, user): (Value, InstructionId),
        left: &mut usize,
    ) -> Option<u64> {
        *left = left.checked_sub(1)?;
        if let Some(known) = view.known_value(value) {
            return Some(known);
        }
        let (register, is_complement) = match value {
            Value::Integer(value) => return Some(value as u64),
            Value::Register(register) => (register, false),
            Value::Not(register) => (register, true),
            _ => return None,
        };
        let writer = self.writer_in_first_round(view, register, user)?;
        let instruction = view.body.instruction(writer);
        if !is_interpreted(instruction.op) {
            return None;
        }
        let mut values = Vec::new();
        for &operand in view.body.uses(instruction) {
            values.push(self.value_in_first_round(view, (operand, writer), left)?);
        }
        let number = view.body.result_number(instruction, register)?;
        let bits = match view.body.registers.bits(register) {
            0 => 64,
            bits => bits,
        };
        let result = evaluate_result(instruction.op, number, &values)? & ones(bits);
        Some(if is_complement { result & 1 ^ 1 } else { result })
    }

    /// The instruction whose result an instruction reads in the first round: the only one in the loop that writes the register, if that
    /// comes before it in each round, or else the only one outside.
    fn writer_in_first_round(
        &self,
        view: &View<'_, '_>,
        register: Register,
        user: InstructionId,
    ) -> Option<InstructionId> {
        let is_inside = |id: InstructionId| self.blocks.contains(&view.body.block_of(id));
        let writers = view.analyses.definitions().writers_of(register);
        if writers
            .iter()
            .any(|&id| view.body.instruction(id).guard.is_some())
        {
            return None;
        }
        let is_before = |first, second| view.analyses.is_on_every_path_to(first, second);
        let inside: Vec<InstructionId> = writers.iter().copied().filter(|&id| is_inside(id)).collect();
        if is_inside(user) {
            match inside[..] {
                [] => {}
                [only] if only != user && is_before(only, user) => return Some(only),
                // The reader precedes each write in the first round, or is the write.
                _ if inside
                    .iter()
                    .all(|&write| write == user || is_before(user, write)) => {}
                _ => return None,
            }
        }
        let mut outside = writers.iter().copied().filter(|&id| !is_inside(id));
        let first = outside.next()?;
        (outside.next().is_none() && is_before(first, user)).then_some(first)
    }
}
