//! Variables of a function: the places that hold a value from one instruction to another.

use crate::definitions::Definitions;
use crate::slots::{SlotId, Slots};
use ptxcheck_ir::{InstructionId, Register, Value};

/// A place in a function's body that instructions write and read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Variable {
    /// A register.
    Register(Register),
    /// A slot of `.local` memory.
    Slot(SlotId),
}

impl Variable {
    /// The variable that an operand reads, if it is a register.
    pub(crate) fn of_operand(value: Value) -> Option<Self> {
        value.register().map(Self::Register)
    }

    /// The instructions that write it, in the order of the input; for a slot, those that store one value to it. `slots` is
    /// called only for a slot.
    pub(crate) fn writers_of<'a>(
        self,
        definitions: &'a Definitions,
        slots: impl FnOnce() -> &'a Slots,
    ) -> &'a [InstructionId] {
        match self {
            Self::Register(register) => definitions.writers_of(register),
            Self::Slot(slot) => slots().stores_to(slot),
        }
    }
}

/// A variable that holds a value in one call of a function, including those that the caller sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FrameVariable {
    /// A variable of the body.
    Own(Variable),
    /// A piece of a parameter: its number, and its byte offset.
    Param(u32, i32),
    /// The piece of the return value at a byte offset.
    Result(i32),
}

impl FrameVariable {
    /// A register of the body.
    pub(crate) const fn of_register(register: Register) -> Self {
        Self::Own(Variable::Register(register))
    }

    /// A slot of the body.
    pub(crate) const fn of_slot(slot: SlotId) -> Self {
        Self::Own(Variable::Slot(slot))
    }
}
