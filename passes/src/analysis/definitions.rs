//! Which instructions write a register.

use crate::ir::{Body, InstructionId, Register};

/// Instructions by a number, those of each in the order that they were given in.
#[derive(Debug, Default)]
pub(super) struct Groups {
    instructions: Vec<InstructionId>,
    /// Where each number's begin, and the end of all.
    starts: Vec<u32>,
}

impl Groups {
    /// Of so many numbers; `members` gives all of them with their instructions, and is asked twice.
    pub(super) fn new(count: usize, members: impl Fn(&mut dyn FnMut(usize, InstructionId))) -> Self {
        let mut starts = vec![0_u32; count + 1];
        members(&mut |number, _| starts[number + 1] += 1);
        for number in 0..count {
            starts[number + 1] += starts[number];
        }
        let mut next = starts.clone();
        let mut instructions = vec![InstructionId::new(0); starts[count] as usize];
        members(&mut |number, instruction| {
            let place = &mut next[number];
            instructions[*place as usize] = instruction;
            *place += 1;
        });
        Self { instructions, starts }
    }

    pub(super) fn of(&self, number: usize) -> &[InstructionId] {
        &self.instructions[self.starts[number] as usize..self.starts[number + 1] as usize]
    }
}

/// The instructions that write each register, in the order of the input.
#[derive(Debug)]
pub struct Definitions(Groups);

impl Definitions {
    /// Of `body`; time and memory are linear in it.
    #[must_use]
    pub fn new(body: &Body<'_>) -> Self {
        let count = body.registers.len();
        Self(Groups::new(count, |add| {
            for (number, instruction) in body.instructions.iter().enumerate() {
                for register in body.defined(instruction) {
                    add(register.index(), InstructionId::new(number));
                }
            }
        }))
    }

    /// The instructions that write `register`.
    #[must_use]
    pub fn of(&self, register: Register) -> &[InstructionId] {
        self.0.of(register.index())
    }
}
