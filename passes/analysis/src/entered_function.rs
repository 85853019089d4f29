//! Execution of an instruction of a function when the function is entered: always, for the arguments of some callers, or
//! depending on values in memory.
//!
//! ```text
//! known      a number, a parameter with a known argument, and values computed from these
//! way        a path from the entry to an end of the function, on which decided branches take their known edge
//! always     each way passes the instruction, whose own guard is known to hold
//! never      no way does
//! as passed  else, if a branch or a guard that decides it depends on an argument
//! perhaps    else
//! ```
//!
//! Calls are followed inwards: the arguments of a call are known in the callee, and the callee's arguments for its own calls
//! in the next function.

use crate::function::Analyses;
use crate::limits::{MAX_DECIDED_STEPS, MAX_DECIDED_USES, MAX_SETTLE_ROUNDS};
use crate::shared::Shared;
use ptxcheck_ir::evaluate::{absorbed, evaluate, evaluate_result, is_interpreted, may_absorb, ones};
use ptxcheck_ir::paths::{reached, taken};
use ptxcheck_ir::{
    BlockId, Body, FunctionId, Guard, Instruction, InstructionId, Logic, Op, Register, Value, registers,
};

/// True if an instruction is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Executed {
    Always,
    Never,
    AsPassed,
    Perhaps,
}

impl Executed {
    /// True if a wrong use is worth reporting: another argument of the call may be what keeps it from being executed.
    pub(crate) const fn is_wrong_use_reportable(self) -> bool {
        matches!(self, Self::Always | Self::Perhaps)
    }
}

/// Known values of parameters, by number and byte offset.
pub(crate) type KnownArguments = Vec<((u16, u32), u64)>;

/// A function that is entered.
pub(crate) struct Entered<'a> {
    body: &'a Body<'a>,
    analyses: &'a Analyses<'a>,
    passed: KnownArguments,
    /// The blocks that control reaches, once they are known: definitions in other blocks are ignored.
    live: Option<Vec<bool>>,
}

/// True if an instruction is executed whenever an earlier one is.
pub(crate) fn execution_implies(
    body: &Body<'_>,
    analyses: &Analyses<'_>,
    first: InstructionId,
    second: InstructionId,
) -> bool {
    let (dominators, post) = (analyses.dominators(), analyses.post_dominators());
    let (from, to) = (body.block_of(first), body.block_of(second));
    let may_leave = |end: BlockId| dominators.dominates(from, end) && !dominators.dominates(to, end);
    let is_free = match (body.instruction(first).guard, body.instruction(second).guard) {
        (_, None) => true,
        // Both under one predicate.
        (Some(one), Some(other)) => {
            one == other && analyses.definitions().writers_of(one.register).len() == 1
        }
        (None, Some(_)) => false,
    };
    is_free
        && (from != to || first < second)
        && post.dominates(to, from)
        && !blocks_with_guarded_end(body).any(may_leave)
}

/// Blocks at whose end some threads may leave the function, and others not.
pub(crate) fn blocks_with_guarded_end<'b>(body: &'b Body<'_>) -> impl Iterator<Item = BlockId> + 'b {
    (0..body.blocks.len()).map(BlockId::new).filter(|&block| {
        let last = body.terminator(block);
        last.is_some_and(|last| may_leave_function_after(last) && last.guard.is_some())
    })
}

/// True if some threads may leave the function at an instruction, and others not: that is no branch, and post-dominators do not see it.
pub(crate) fn has_guarded_end(body: &Body<'_>) -> bool {
    blocks_with_guarded_end(body).next().is_some()
}

/// Result number `result` of an operation with some unknown operands.
fn known_result(op: Op, result: usize, values: &[Option<u64>]) -> Option<u64> {
    let mut known = [0; MAX_DECIDED_USES];
    let known = known.get_mut(..values.len())?;
    if values.iter().all(Option::is_some) {
        for (known, value) in known.iter_mut().zip(values) {
            *known = (*value)?;
        }
        return evaluate_result(op, result, known);
    }
    if let (Op::Compare(condition, bits, logic @ (Logic::And | Logic::Or)), &[Some(a), Some(b), None]) =
        (op, values)
    {
        // If the comparison alone decides it.
        let holds = evaluate_result(Op::Compare(condition, bits, Logic::None), result, &[a, b])?;
        return (holds & 1 == u64::from(logic == Logic::Or)).then_some(holds);
    }
    absorbed(op, result, |place| values.get(place).copied().flatten())
}

/// True if no instruction of the function need follow an instruction.
const fn may_leave_function_after(last: &Instruction) -> bool {
    matches!(last.op, Op::Return | Op::Exit | Op::Trap)
}

impl<'a> Entered<'a> {
    /// `None` if the function has no complete body.
    pub(crate) fn new(module: &'a Shared<'_>, function: FunctionId, passed: KnownArguments) -> Option<Self> {
        let known = module.module.function(function);
        Some(Self {
            body: known.body.as_ref().filter(|_| !known.is_damaged)?,
            analyses: module.function(function),
            passed,
            live: None,
        })
    }

    /// Removes the definitions in unreachable blocks, if that decides more branches.
    pub(crate) fn remove_unreachable_definitions(&mut self) {
        for _ in 0..MAX_SETTLE_ROUNDS {
            let live = Some(self.blocks_reached_from(BlockId::new(0), None));
            if live == self.live {
                break;
            }
            self.live = live;
        }
    }

    /// The known arguments of a call.
    pub(crate) fn arguments_passed_by(&self, call: InstructionId) -> KnownArguments {
        let Op::Call(number) = self.body.instruction(call).op else {
            return Vec::new();
        };
        let arguments = self.body.arguments(self.body.call(number)).iter();
        arguments
            .filter_map(|argument| {
                let number = self.known_number(argument.value)?;
                Some(((argument.param as u16, argument.offset), number))
            })
            .collect()
    }

    pub(crate) fn execution_of(&self, at: InstructionId) -> Executed {
        let target = self.body.block_of(at);
        let own = self.body.instruction(at).guard;
        let own_holds = own.map(|guard| self.outcome_of_guard(guard));
        let comes = self.blocks_reached_from(BlockId::new(0), None);
        if !comes[target.index()] || own_holds == Some(Some(false)) {
            return Executed::Never;
        }
        let past = self.blocks_reached_from(BlockId::new(0), Some(target));
        let avoids = (0..past.len())
            .any(|number| past[number] && self.may_leave_function_at_end(BlockId::new(number)));
        if !avoids && own_holds != Some(None) {
            return Executed::Always;
        }
        let is_open = |&number: &usize| past[number] && self.only_successor(BlockId::new(number)).is_none();
        let deciding = (0..past.len())
            .filter(is_open)
            .filter_map(|number| self.body.terminator(BlockId::new(number)));
        let depends = |last: &Instruction| {
            let index = registers(self.body.uses(last)).map(Value::Register);
            let guard = last.guard.map(|guard| Value::Register(guard.register));
            index.chain(guard).any(|value| self.depends_on_argument(value))
        };
        let is_guard_of_passed = own.is_some_and(|guard| {
            own_holds == Some(None) && self.depends_on_argument(Value::Register(guard.register))
        });
        if is_guard_of_passed || deciding.into_iter().any(depends) {
            Executed::AsPassed
        } else {
            Executed::Perhaps
        }
    }

    /// The blocks that control reaches from a block without passing `end`, which is left out.
    fn blocks_reached_from(&self, from: BlockId, end: Option<BlockId>) -> Vec<bool> {
        let next = |block| {
            if Some(block) == end {
                &[]
            } else {
                self.possible_successors(block).0
            }
        };
        let mut past = reached(self.body, [from], next);
        if let Some(end) = end.and_then(|end| past.get_mut(end.index())) {
            *end = false;
        }
        past
    }

    /// The blocks that control reaches from the entry.
    pub(crate) fn blocks_reached_from_entry(&self) -> Vec<bool> {
        self.blocks_reached_from(BlockId::new(0), None)
    }

    /// The possible successors of a block, and true if control may leave the function there.
    pub(crate) fn possible_successors(&self, block: BlockId) -> (&[BlockId], bool) {
        let next = self
            .only_successor(block)
            .unwrap_or_else(|| self.body.successors(block));
        (next, self.may_leave_function_at_end(block))
    }

    /// The only successor that control takes from a block, if it is known: none if control leaves the function.
    fn only_successor(&self, block: BlockId) -> Option<&[BlockId]> {
        let successors = self.body.successors(block);
        let last = self.body.terminator(block);
        match (last.map(|last| (last.op, last.guard)), successors) {
            (Some((Op::Branch, Some(guard))), [_, _]) => {
                Some(taken(self.body, block, Some(self.outcome_of_guard(guard)?)))
            }
            (Some((Op::Return | Op::Exit | Op::Trap, Some(guard))), [_]) => {
                Some(if self.outcome_of_guard(guard)? {
                    &[]
                } else {
                    successors
                })
            }
            (_, []) | (None | Some((Op::Branch, None)), [_]) => Some(successors),
            _ => None,
        }
    }

    /// True if control may leave the function at the end of a block.
    fn may_leave_function_at_end(&self, block: BlockId) -> bool {
        match self.only_successor(block) {
            Some(next) => next.is_empty(),
            None => self.body.terminator(block).is_some_and(may_leave_function_after),
        }
    }

    /// True if a guard holds, where that is known.
    pub(crate) fn outcome_of_guard(&self, guard: Guard) -> Option<bool> {
        let number = self.known_number(Value::Register(guard.register))?;
        Some((number & 1 == 1) != guard.negated)
    }

    /// The number that a value is, if known.
    pub(crate) fn known_number(&self, value: Value) -> Option<u64> {
        self.known_number_within_steps(value, &mut MAX_DECIDED_STEPS.clone())
    }

    fn known_number_within_steps(&self, value: Value, left: &mut usize) -> Option<u64> {
        *left = left.checked_sub(1)?;
        let (register, is_complement) = match value {
            Value::Integer(number) => return Some(number as u64),
            Value::Register(register) => (register, false),
            Value::Not(register) => (register, true),
            _ => return None,
        };
        let definition = self.reachable_definition(register)?;
        let instruction = self.body.instruction(definition);
        let result = self.body.result_number(instruction, register)?;
        let known = match instruction.op {
            Op::Access(access) if result == 0 => {
                let loaded = self.loaded_number(definition, instruction, left)?;
                evaluate(access.extension(64), &[loaded])?
            }
            op if is_interpreted(op) => {
                let uses = self.body.uses(instruction);
                let mut values = [None; MAX_DECIDED_USES];
                let values = values.get_mut(..uses.len())?;
                for (value, &operand) in values.iter_mut().zip(uses) {
                    *value = self.known_number_within_steps(operand, left);
                    if value.is_none() && !may_absorb(op) {
                        return None;
                    }
                }
                known_result(op, result, values)?
            }
            _ => return None,
        };
        let bits = self.body.registers.bits(register);
        let known = if bits == 0 { known } else { known & ones(bits) };
        Some(if is_complement { (known & 1) ^ 1 } else { known })
    }

    /// The only definition of a register, or the only one that control reaches.
    fn reachable_definition(&self, register: Register) -> Option<InstructionId> {
        let definitions = self.analyses.definitions();
        let only = definitions.only_writer(self.body, register);
        let Some(live) = self.live.as_ref().filter(|_| only.is_none()) else {
            return only;
        };
        let is_live = |at: &&InstructionId| live[self.body.block_of(**at).index()];
        let mut all = definitions.writers_of(register).iter().filter(is_live);
        match (all.next(), all.next()) {
            (Some(&one), None) if self.body.instruction(one).guard.is_none() => Some(one),
            _ => None,
        }
    }

    /// The value that a load reads: an argument, or a value stored on the stack.
    fn loaded_number(&self, at: InstructionId, load: &Instruction, left: &mut usize) -> Option<u64> {
        if let Some(piece) = self.body.loaded_piece(load) {
            let passed = self.passed.iter().find(|(known, _)| *known == piece)?;
            return Some(passed.1);
        }
        self.known_number_within_steps(self.analyses.stored_value_read_by(at)?, left)
    }

    /// True if a value depends on an argument.
    fn depends_on_argument(&self, value: Value) -> bool {
        let mut open = vec![value];
        let mut left = MAX_DECIDED_STEPS;
        while let (Some(value), Some(fewer)) = (open.pop(), left.checked_sub(1)) {
            left = fewer;
            match value {
                Value::Param(..) => return true,
                Value::Register(register) | Value::Not(register) => {
                    for &definition in self.analyses.definitions().writers_of(register) {
                        let instruction = self.body.instruction(definition);
                        open.extend_from_slice(self.body.uses(instruction));
                        if let Some(store) = self.analyses.store_read_by(definition) {
                            open.extend_from_slice(self.body.uses(self.body.instruction(store)));
                        }
                    }
                }
                _ => {}
            }
        }
        false
    }
}
