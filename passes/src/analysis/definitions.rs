//! Which instructions write a register.

use crate::ir::{Body, InstructionId, Register};

/// The instructions that write each register, in the order of the input.
#[derive(Debug)]
pub struct Definitions {
    instructions: Vec<InstructionId>,
    starts: Vec<u32>,
}

impl Definitions {
    /// Of `body`; time and memory are linear in it.
    #[must_use]
    pub fn new(body: &Body<'_>) -> Self {
        let mut starts = vec![0_u32; body.registers.len() + 1];
        for instruction in &body.instructions {
            for register in body.defined(instruction) {
                starts[register.index() + 1] += 1;
            }
        }
        for register in 0..body.registers.len() {
            starts[register + 1] += starts[register];
        }
        let mut next = starts.clone();
        let mut instructions = vec![InstructionId::new(0); starts[body.registers.len()] as usize];
        for (number, instruction) in body.instructions.iter().enumerate() {
            for register in body.defined(instruction) {
                let place = &mut next[register.index()];
                instructions[*place as usize] = InstructionId::new(number);
                *place += 1;
            }
        }
        Self { instructions, starts }
    }

    /// The instructions that write `register`.
    #[must_use]
    pub fn of(&self, register: Register) -> &[InstructionId] {
        let index = register.index();
        &self.instructions[self.starts[index] as usize..self.starts[index + 1] as usize]
    }
}
