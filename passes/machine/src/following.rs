//! Follows values that threads have read: whether something that others see depends on them.
//!
//! ```text
//! watched read n   the registers that it defines have bit n
//! computation      the result has the bits of the operands; of a select, those of the predicate and of the chosen operand
//! mask, shift      the result does not have them if it takes only bits of the value that are the same in any order
//! own memory       has the bits of what is stored there
//! shuffle          the result has the bits of the lane that is read
//! used             bits of a stored value, an address, an atomic, a branch, a mask, a vote, an argument of code that is not here
//! ```
//!
//! Compilers make loads before the branch that guards them, and drop the value again: such a read does not count.

use ptxcheck_ir::{
    AccessKind, BinaryOp, Body, Collective, Condition, Instruction, Logic, Op, Register, UnaryOp, Value,
};

use crate::effects::{is_computation, is_returned};
use crate::evaluate::ones;
use crate::launch::WARP;
use crate::machine::Machine;
use crate::site::Context;
use crate::thread::{Act, Changes, HeldIn, PartlyRead, State};

/// The bits of the values that an instruction handles.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bits {
    /// Of the guard.
    guard: u32,
    /// Of what it computes its results from.
    operands: u32,
    /// See [`Machine::changes_of_result`].
    changes: Vec<Changes>,
}

/// True if a comparison with a number depends on the sign alone.
const fn tests_sign(condition: Condition, width: u8, by: u64) -> bool {
    match condition {
        Condition::LessSigned | Condition::GreaterEqualSigned => by & ones(width) == 0,
        Condition::LessEqualSigned | Condition::GreaterSigned => by & ones(width) == ones(width),
        _ => false,
    }
}

fn shifted(bits: u64, by: u64, shift: fn(u64, u32) -> Option<u64>) -> u64 {
    let by = u32::try_from(by).ok();
    by.and_then(|by| shift(bits, by)).unwrap_or(0)
}

impl Machine<'_> {
    /// True if some reads are followed.
    pub(crate) const fn follows(&self) -> bool {
        !self.watched.is_empty()
    }

    fn bits_of_register(&self, thread: usize, register: Register) -> u32 {
        self.bank(thread)
            .map_or(0, |bank| bank.bits_of(register, thread % WARP))
    }

    /// Says which watched reads the content of a register depends on, with all of their bits.
    pub(crate) fn set_bits_of_register(&mut self, thread: usize, register: Register, bits: u32) {
        if let Some(context) = self.context_of(thread) {
            let place = HeldIn::Register(context, register);
            self.threads[thread].partly_read.retain(|one| one.place != place);
        }
        if let Some(bank) = self.bank_mut(thread) {
            bank.set_bits(register, thread % WARP, bits);
        }
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
        self.loaded_changes.clear();
        let mut operands = joined(&each);
        self.stored_changes = match (instruction.op, body.uses(instruction)) {
            (Op::Access(access), &[_, _, value]) if access.kind == AccessKind::Store => {
                self.changes_of(thread, value)
            }
            _ => Vec::new(),
        };
        let is_followed = operands != 0 && runs == Some(true) && is_computation(instruction.op);
        let changes = if is_followed && !matches!(instruction.op, Op::Access(_)) {
            self.changes_of_result(thread, (body, instruction), &each)
        } else {
            Vec::new()
        };
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
        Bits {
            guard,
            operands,
            changes,
        }
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
        let mut of_operands = match runs {
            Some(false) => 0,
            Some(true) | None => bits.operands | self.loaded,
        };
        let mut changes = bits.changes;
        if let Op::Access(access) = instruction.op {
            let is_word = access.count == 1 && !access.signed && runs == Some(true);
            changes.clear();
            changes.extend(self.loaded_changes.iter().filter(|_| is_word));
        }
        // Of some reads, the result has bits that are the same in any order.
        for of_read in changes.iter().filter(|of_read| of_read.bits == 0) {
            of_operands &= !(1 << of_read.read);
        }
        for result in body.results(instruction) {
            let Some(register) = result.register() else {
                continue;
            };
            let old = match runs {
                Some(false) => self.bits_of_register(thread, register),
                Some(true) | None => 0,
            };
            self.set_bits_of_register(thread, register, old | bits.guard | of_operands);
            let Some(context) = self.context_of(thread) else {
                continue;
            };
            let place = HeldIn::Register(context, register);
            self.note_changes(thread, place, &changes);
        }
    }

    /// A thread makes its access with this number: if it is a watched read, what it loads has a bit.
    pub(crate) fn note_read(&mut self, number: u64) {
        for (place, watched) in (0_u32..).zip(self.watched) {
            if watched.number == number {
                self.loaded |= 1_u32.checked_shl(place).unwrap_or(0);
                self.loaded_changes.push(Changes {
                    read: place,
                    bits: watched.changes,
                });
            }
        }
    }

    /// A thread loads bytes of its own memory.
    pub(crate) fn note_own_load(&mut self, thread: usize, address: u64, bytes: u64) {
        let known = &self.threads[thread].partly_read;
        let known = known
            .iter()
            .filter(|one| one.place == HeldIn::Own(address, bytes));
        self.loaded_changes.extend(known.map(|one| one.changes));
    }

    /// A thread stores to bytes of its own memory.
    pub(crate) fn note_own_store(&mut self, thread: usize, address: u64, bytes: u64) {
        let overlaps = |place| match place {
            HeldIn::Own(other, length) => {
                other < address.saturating_add(bytes) && address < other.saturating_add(length)
            }
            HeldIn::Register(..) => false,
        };
        self.threads[thread]
            .partly_read
            .retain(|one| !overlaps(one.place));
        let changes = std::mem::take(&mut self.stored_changes);
        self.note_changes(thread, HeldIn::Own(address, bytes), &changes);
    }

    fn note_changes(&mut self, thread: usize, place: HeldIn, changes: &[Changes]) {
        let some = changes.iter().filter(|changes| changes.bits != 0);
        let some = some.map(|&changes| PartlyRead { place, changes });
        self.threads[thread].partly_read.extend(some);
    }

    fn context_of(&self, thread: usize) -> Option<Context> {
        Some(self.threads[thread].frames.last()?.context)
    }

    /// The bits of an operand that may be others because of watched reads, where the operand is nothing but what they have read.
    fn changes_of(&self, thread: usize, value: Value) -> Vec<Changes> {
        let (Value::Register(register), Some(context)) = (value, self.context_of(thread)) else {
            return Vec::new();
        };
        let place = HeldIn::Register(context, register);
        let known = self.threads[thread].partly_read.iter();
        let known = known.filter(|one| one.place == place);
        known.map(|one| one.changes).collect()
    }

    /// The watched reads on which an operand of an instruction alone depends, with the bits of the result in which it may be another one
    /// for that: of copies, masks, shifts and conversions, which take some bits. The instruction is not yet executed.
    fn changes_of_result(
        &mut self,
        thread: usize,
        (body, instruction): (&Body<'_>, &Instruction),
        each: &[u32],
    ) -> Vec<Changes> {
        let uses = body.uses(instruction);
        let (Some(&first), by) = (uses.first(), uses.get(1).copied()) else {
            return Vec::new();
        };
        let is_commutative = matches!(
            instruction.op,
            Op::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, _)
        );
        let (read, by) = match (each, by) {
            ([0, ..], Some(by)) if is_commutative => (by, Some(first)),
            _ => (first, by),
        };
        let bits = self.bits_of(thread, read);
        if by.is_some_and(|by| self.bits_of(thread, by) & bits != 0) || bits == 0 {
            return Vec::new();
        }
        let by = by.and_then(|by| self.value(thread, by));
        let taken = |changes: u64| match (instruction.op, by) {
            (Op::Copy | Op::Unary(UnaryOp::Not, _) | Op::Binary(BinaryOp::Xor, _), _) => changes,
            (Op::Binary(BinaryOp::And, _), Some(by)) => changes & by,
            (Op::Binary(BinaryOp::Or, _), Some(by)) => changes & !by,
            (Op::Binary(BinaryOp::Shl, _), Some(by)) => shifted(changes, by, u64::checked_shl),
            (Op::Binary(BinaryOp::ShrUnsigned, width), Some(by)) => {
                shifted(changes & ones(width), by, u64::checked_shr)
            }
            (Op::Compare(condition, width, Logic::None), Some(by)) if tests_sign(condition, width, by) => {
                let sign = ones(width) ^ ones(width) >> 1;
                if changes & sign == 0 { 0 } else { u64::MAX }
            }
            (
                Op::Convert {
                    from,
                    signed: false,
                    to,
                },
                _,
            ) => changes & ones(from) & ones(to),
            _ => u64::MAX,
        };
        let changes = self.changes_of(thread, read).into_iter();
        changes
            .map(|one| Changes {
                bits: taken(one.bits),
                ..one
            })
            .filter(|one| one.bits != u64::MAX)
            .collect()
    }
}
