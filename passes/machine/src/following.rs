//! Follows values that threads have read: whether something that others see depends on them.
//!
//! ```text
//! watched read n   the registers that it defines have bit n
//! computation      the result has the bits of the operands; of a select, those of the predicate and of the chosen operand
//! own memory       has the bits of what is stored there
//! shuffle          the result has the bits of the lane that is read
//! used             bits of a stored value, an address, an atomic, a branch, a mask, a vote, an argument of code that is not here
//! ```
//!
//! Compilers make loads before the branch that guards them, and drop the value again: such a read does not count.

use ptxcheck_ir::{AccessKind, Body, Collective, Instruction, Op, Register, Value};

use crate::effects::{is_computation, is_returned};
use crate::machine::Machine;
use crate::thread::{Act, State};

/// The bits of the values that an instruction handles.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bits {
    /// Of the guard.
    guard: u32,
    /// Of what it computes its results from.
    operands: u32,
}

impl Machine<'_> {
    /// True if some reads are followed.
    pub(crate) const fn follows(&self) -> bool {
        !self.watched.is_empty()
    }

    fn bits_of_register(&self, thread: usize, register: Register) -> u32 {
        let frame = self.threads[thread].frames.last();
        frame.map_or(0, |frame| frame.registers.bits_of(register))
    }

    /// The bits of an operand.
    pub(crate) fn bits_of(&self, thread: usize, value: Value) -> u32 {
        match value {
            Value::Register(register) | Value::Not(register) => self.bits_of_register(thread, register),
            _ => 0,
        }
    }

    /// Notes what a thread uses with the instruction that it is about to execute, or not.
    pub(crate) fn note_uses(
        &mut self,
        thread: usize,
        body: &Body<'_>,
        instruction: &Instruction,
        runs: Option<bool>,
    ) -> Bits {
        let guard = instruction
            .guard
            .map_or(0, |guard| self.bits_of_register(thread, guard.register));
        let each: Vec<u32> = body
            .uses(instruction)
            .iter()
            .map(|&value| self.bits_of(thread, value))
            .collect();
        let joined = |bits: &[u32]| bits.iter().fold(0, |all, bits| all | bits);
        let (address, stored) = each.split_at(each.len().min(2));
        (self.loaded, self.stored) = (0, 0);
        let mut operands = joined(&each);
        let used = match instruction.op {
            // What a function returns counts as used.
            Op::Access(access) if access.kind == AccessKind::Load || access.kind == AccessKind::Store => {
                if !is_returned(body, instruction) {
                    self.stored = joined(stored);
                    operands = 0;
                }
                joined(address)
                    | if is_returned(body, instruction) {
                        joined(stored)
                    } else {
                        0
                    }
            }
            Op::Select if runs == Some(true) => {
                let predicate = body.uses(instruction).get(2).copied();
                if let Some(holds) = predicate.and_then(|predicate| self.value(thread, predicate)) {
                    let chosen = usize::from(holds & 1 == 0);
                    operands = each.get(chosen).copied().unwrap_or(0) | joined(&each[2..]);
                }
                0
            }
            Op::Opaque if instruction.results == 0 => joined(&each),
            Op::Assume => 0,
            // The second operand is what lanes hand on.
            Op::Collective(Collective::Shuffle(_), _) => {
                each.get(..1).map_or(0, joined) | each.get(2..).map_or(0, joined)
            }
            op if is_computation(op) => 0,
            _ => joined(&each),
        };
        // Only the instruction's results depend on the guard of a computation.
        let guarded = if is_computation(instruction.op) { 0 } else { guard };
        let used = if runs == Some(true) { used } else { 0 };
        self.used |= used | guarded;
        Bits { guard, operands }
    }

    /// Hands bits on to the results of an instruction that a thread has executed, or not.
    pub(crate) fn hand_on(
        &mut self,
        thread: usize,
        (body, instruction): (&Body<'_>, &Instruction),
        runs: Option<bool>,
        bits: Bits,
    ) {
        if let State::Poised(act) = self.threads[thread].state {
            self.used |= match (act, instruction.op) {
                (Act::Access(_), _) => self.stored,
                (Act::Outside(_), Op::Call(call)) => {
                    let arguments = body.arguments(body.call(call)).iter();
                    arguments.fold(0, |all, argument| all | self.bits_of(thread, argument.value))
                }
                _ => 0,
            };
        }
        if !is_computation(instruction.op) {
            return;
        }
        let of_operands = match runs {
            Some(false) => 0,
            Some(true) | None => bits.operands | self.loaded,
        };
        for result in body.results(instruction) {
            let Some(register) = result.register() else {
                continue;
            };
            let old = match runs {
                Some(false) => self.bits_of_register(thread, register),
                Some(true) | None => 0,
            };
            if let Some(frame) = self.frame(thread) {
                frame.registers.set_bits(register, old | bits.guard | of_operands);
            }
        }
    }

    /// A thread makes its access with this number: if it is a watched read, what it loads has a bit.
    pub(crate) fn note_read(&mut self, number: u64) {
        if let Some(place) = self.watched.iter().position(|&watched| watched == number) {
            self.loaded |= u32::try_from(place).map_or(0, |place| 1_u32.checked_shl(place).unwrap_or(0));
        }
    }
}
