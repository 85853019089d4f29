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
    /// Of so many numbers; `members` lists them twice, with their instructions.
    pub(super) fn new<I: Iterator<Item = (usize, InstructionId)>>(
        count: usize,
        members: impl Fn() -> I,
    ) -> Self {
        let mut starts = vec![0_u32; count + 1];
        for (number, _) in members() {
            starts[number + 1] += 1;
        }
        for number in 0..count {
            starts[number + 1] += starts[number];
        }
        let mut next = starts.clone();
        let mut instructions = vec![InstructionId::new(0); starts[count] as usize];
        for (number, instruction) in members() {
            let place = &mut next[number];
            instructions[*place as usize] = instruction;
            *place += 1;
        }
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
        let written = || {
            let instructions = body.instructions.iter().enumerate();
            instructions.flat_map(|(number, instruction)| {
                let id = InstructionId::new(number);
                body.defined(instruction)
                    .map(move |register| (register.index(), id))
            })
        };
        Self(Groups::new(body.registers.len(), written))
    }

    /// The instructions that write `register`.
    #[must_use]
    pub fn of(&self, register: Register) -> &[InstructionId] {
        self.0.of(register.index())
    }
}
