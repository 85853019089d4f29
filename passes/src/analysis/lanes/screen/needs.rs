//! The instructions of a function that the screen looks at.
//!
//! Backwards from the guards of branches and calls, from the masks of collectives, from what is passed to functions and
//! returned. What only data depends on is left out, which is most of a kernel.

use crate::analysis::definitions::Definitions;
use crate::analysis::evaluate::is_interpreted;
use crate::analysis::lanes::slice::returned;
use crate::analysis::slots::{Effect, SlotId, Slots};
use crate::ir::{AccessKind, Body, Collective, Instruction, InstructionId, Op, Register, Value, Vote};

/// In the order of the input.
pub fn needed(body: &Body<'_>, definitions: &Definitions, slots: &Slots) -> Vec<InstructionId> {
    let mut needs = Needs {
        body,
        slots,
        is_step: vec![0; body.instructions.len().div_ceil(64)],
        is_asked: vec![false; body.registers.len()],
        work: Vec::new(),
        is_slot: vec![false; slots.slots.len()],
        open: Vec::new(),
    };
    for (number, instruction) in body.instructions.iter().enumerate() {
        needs.seed(InstructionId::new(number), instruction);
    }
    loop {
        if let Some(register) = needs.work.pop() {
            for &definition in definitions.of(register) {
                needs.definition(definition);
            }
        } else if let Some(slot) = needs.open.pop() {
            for &store in slots.stores(slot) {
                needs.instruction(store, &[2]);
            }
        } else {
            break;
        }
    }
    needs.steps()
}

struct Needs<'a, 'm> {
    body: &'a Body<'m>,
    slots: &'a Slots,
    /// One bit for each instruction.
    is_step: Vec<u64>,
    is_asked: Vec<bool>,
    work: Vec<Register>,
    is_slot: Vec<bool>,
    open: Vec<SlotId>,
}

impl Needs<'_, '_> {
    fn seed(&mut self, id: InstructionId, instruction: &Instruction) {
        match instruction.op {
            Op::Collective(..) => self.instruction(id, &[0]),
            Op::BranchTable => self.instruction(id, &[0]),
            Op::Barrier(_) => self.instruction(id, &[]),
            Op::Branch | Op::Return | Op::Exit | Op::Trap if instruction.guard.is_some() => {
                self.instruction(id, &[]);
            }
            Op::Exit | Op::Trap => self.instruction(id, &[]),
            Op::Call(call) => {
                self.instruction(id, &[]);
                let body = self.body;
                for argument in body.arguments(body.call(call)) {
                    self.value(argument.value);
                }
            }
            Op::Access(_) if returned(self.body, instruction.op, self.body.uses(instruction)).is_some() => {
                self.instruction(id, &[2]);
            }
            _ => {}
        }
    }

    fn is_new(&mut self, id: InstructionId) -> bool {
        let (word, bit) = (id.index() / 64, 1 << (id.index() % 64));
        let is_new = self.is_step[word] & bit == 0;
        self.is_step[word] |= bit;
        is_new
    }

    /// An instruction and some of its operands.
    fn instruction(&mut self, id: InstructionId, operands: &[usize]) {
        let body = self.body;
        let instruction = body.instruction(id);
        if !self.is_new(id) {
            return;
        }
        if let Some(guard) = instruction.guard {
            self.value(Value::Register(guard.register));
        }
        let uses = body.uses(instruction);
        for &value in operands.iter().filter_map(|&place| uses.get(place)) {
            self.value(value);
        }
    }

    fn value(&mut self, value: Value) {
        if let Some(register) = value.register()
            && !std::mem::replace(&mut self.is_asked[register.index()], true)
        {
            self.work.push(register);
        }
    }

    fn definition(&mut self, id: InstructionId) {
        let body = self.body;
        let instruction = body.instruction(id);
        match instruction.op {
            op if is_interpreted(op) => {
                self.instruction(id, &[]);
                body.uses(instruction).iter().for_each(|&value| self.value(value));
            }
            Op::Collective(Collective::Vote(Vote::Ballot), _) => {
                self.instruction(id, &[]);
                body.uses(instruction)
                    .iter()
                    .take(2)
                    .for_each(|&value| self.value(value));
            }
            Op::Access(access) if access.kind == AccessKind::Load => {
                self.instruction(id, &[]);
                if let Effect::Load(slot) = self.slots.effect(id, instruction) {
                    for slot in std::iter::once(slot).chain(self.slots.overlapping(slot)) {
                        if !std::mem::replace(&mut self.is_slot[slot as usize], true) {
                            self.open.push(slot);
                        }
                    }
                }
            }
            _ => self.instruction(id, &[]),
        }
    }

    fn steps(&self) -> Vec<InstructionId> {
        let count = self.is_step.iter().map(|word| word.count_ones() as usize).sum();
        let mut steps = Vec::with_capacity(count);
        for (number, &word) in self.is_step.iter().enumerate() {
            let mut rest = word;
            while rest != 0 {
                steps.push(InstructionId::new(number * 64 + rest.trailing_zeros() as usize));
                rest &= rest - 1;
            }
        }
        steps
    }
}
