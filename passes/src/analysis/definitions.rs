//! Which instructions write a register.

use crate::groups::Groups;
use crate::ir::{Body, InstructionId, Register};

/// The instructions that write each register, in the order of the input.
#[derive(Debug)]
pub struct Definitions(Groups<InstructionId>);

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
