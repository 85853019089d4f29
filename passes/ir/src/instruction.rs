//! Instructions and their operands.

use ptxcheck_ptx_parser::Span;

use super::index::{DebugId, Register, Slots, SymbolId};
use super::op::{Op, Special};

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// The content of a register.
    Register(Register),
    /// The complement of a predicate register.
    Not(Register),
    /// The low 64 bits of an integer.
    Integer(i64),
    /// The address of a symbol, in the symbol's own space, plus a byte offset.
    Symbol(SymbolId, i32),
    /// The address of the function's parameter with this number, plus a byte offset.
    Param(u16, i32),
    /// The address of the function's return value with this number, plus a byte offset.
    ReturnSlot(u16, i32),
    /// The content of a special register.
    Special(Special),
    /// Not interpreted.
    Unknown,
}

impl Value {
    /// The register whose content, or complement, it is.
    #[must_use]
    pub const fn register(self) -> Option<Register> {
        match self {
            Self::Register(register) | Self::Not(register) => Some(register),
            _ => None,
        }
    }
}

/// The registers whose content is among values.
pub fn registers(values: &[Value]) -> impl Iterator<Item = Register> + Clone + '_ {
    values.iter().filter_map(|value| match value {
        Value::Register(register) => Some(*register),
        _ => None,
    })
}

/// The predicate under which an instruction is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The predicate register.
    pub register: Register,
    /// Executed where the predicate is false.
    pub negated: bool,
}

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    /// The operation.
    pub op: Op,
    /// The predicate under which it is executed.
    pub guard: Option<Guard>,
    /// Results and uses in [`super::Body::values`]: the first `results` are registers written
    /// ([`Value::Unknown`] for a sink), the others are read.
    pub values: Slots,
    /// Number of results among them.
    pub results: u16,
}

/// Two in a line of the cache: analyses pass over instructions many times, and few ask for their places.
const _: () = assert!(size_of::<Instruction>() == 32);

/// The place of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourcePlace {
    /// The number of its debug location, or [`DebugId::NONE`].
    pub debug: DebugId,
    /// Its place in the input, for [`super::Origin`].
    pub span: Span,
}

impl SourcePlace {
    /// The place of an instruction that is nowhere in the input.
    pub const NONE: Self = Self {
        debug: DebugId::NONE,
        span: Span::new(0, 0),
    };
}
