//! Operands of instructions: registers, memory, numbers.

use iced_x86::{ConstantOffsets, Instruction, InstructionInfoFactory, OpKind, Register};

use super::events::{Event, Roles};
use super::program::Program;
use super::state::{STACK_POINTER, State};
use super::value::Value;
use crate::host_code::CodeAddress;

/// An instruction, and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Decoded {
    pub(super) at: CodeAddress,
    pub(super) code: Instruction,
    pub(super) offsets: ConstantOffsets,
}

/// Effects of instructions.
pub(super) struct Stepper<'s, 'e, 'a> {
    pub(super) program: &'s Program<'e, 'a>,
    pub(super) roles: &'s Roles,
    pub(super) state: State,
    pub(super) info: InstructionInfoFactory,
    /// The events so far; not kept while states still change.
    pub(super) events: Option<Vec<Event>>,
}

impl Stepper<'_, '_, '_> {
    /// Others may know what a value is the address of.
    pub(super) fn leak(&mut self, value: Value) {
        self.state.is_leaked |= value.is_frame();
        let event = match value {
            Value::Place(place) => Event::Leaked(place),
            Value::Mixed => Event::LeakedMixed,
            _ => return,
        };
        if let Some(events) = &mut self.events {
            events.push(event);
        }
    }

    pub(super) fn move_stack(&mut self, by: i64) {
        let pointer = &mut self.state.registers[STACK_POINTER];
        *pointer = pointer.add(Value::exact(by.cast_unsigned()));
    }

    /// An operand: a register's value, a number, or what lies in memory.
    pub(super) fn read(&self, decoded: &Decoded, operand: u32) -> Value {
        let code = &decoded.code;
        match code.op_kind(operand) {
            OpKind::Register => {
                let register = code.op_register(operand);
                match general(register) {
                    Some(number) if !is_high(register) => {
                        self.state.registers[number].truncated(register.size())
                    }
                    _ => Value::UNKNOWN,
                }
            }
            OpKind::Memory => {
                let address = self.address(decoded);
                self.load_at(decoded, address, code.memory_size().size())
            }
            _ => {
                let Ok(number) = code.try_immediate(operand) else {
                    return Value::UNKNOWN;
                };
                match self.program.immediate(decoded.at, decoded.offsets) {
                    Some(target) => target.place.map_or(Value::UNKNOWN, Value::Place),
                    None => self.fixed(number).map_or(Value::exact(number), Value::Place),
                }
            }
        }
    }

    /// The place of a function or a handle that a number is the address of, in a program at fixed addresses.
    fn fixed(&self, number: u64) -> Option<CodeAddress> {
        if !self.program.is_fixed {
            return None;
        }
        let place = (0, number);
        (self.roles.kernels.contains_key(&place) || self.program.begins(place)).then_some(place)
    }

    /// The address of the memory operand.
    pub(super) fn address(&self, decoded: &Decoded) -> Value {
        let code = &decoded.code;
        if matches!(code.segment_prefix(), Register::FS | Register::GS) {
            return Value::UNKNOWN;
        }
        if code.is_ip_rel_memory_operand() {
            let target = self.program.operand(decoded.at, code, decoded.offsets);
            return match target.place {
                Some(place) if !target.is_slot => Value::Place(place),
                _ => Value::UNKNOWN,
            };
        }
        let displacement = code.memory_displacement64();
        let (base, index) = (code.memory_base(), code.memory_index());
        if (base, index) == (Register::None, Register::None)
            && let Some(place) = self.fixed(displacement)
        {
            return Value::Place(place);
        }
        self.indexed(base, index, code.memory_index_scale(), displacement)
    }

    pub(super) fn indexed(&self, base: Register, index: Register, scale: u32, displacement: u64) -> Value {
        let of = |register: Register| match general(register) {
            Some(number) => self.state.registers[number].truncated(register.size()),
            None => Value::exact(0),
        };
        let index = match of(index) {
            number if index == Register::None => number,
            Value::Bits { .. } => Value::UNKNOWN,
            address if scale == 1 => address,
            _ => Value::Mixed,
        };
        of(base).add(index).add(Value::exact(displacement))
    }

    /// The content of memory at an address, which the operand of the instruction has.
    pub(super) fn load_at(&self, decoded: &Decoded, address: Value, size: usize) -> Value {
        let code = &decoded.code;
        if code.is_ip_rel_memory_operand() {
            let target = self.program.operand(decoded.at, code, decoded.offsets);
            if target.is_slot {
                return target.place.map_or(Value::UNKNOWN, Value::Place);
            }
        }
        if let Value::Place(place) = address {
            if self.roles.handles.contains(&place) {
                return Value::Place(place);
            }
            let constant = self.program.constant(place, size);
            return constant.map_or(Value::UNKNOWN.truncated(size), |number| {
                Value::of_width(number, u64::MAX, size)
            });
        }
        if matches!(code.segment_prefix(), Register::FS | Register::GS) {
            return Value::UNKNOWN;
        }
        self.load(address, size)
    }

    pub(super) fn load(&self, address: Value, size: usize) -> Value {
        match address {
            Value::Stack(at) => self.state.load(at, size),
            _ => Value::UNKNOWN.truncated(size),
        }
    }

    pub(super) fn store(&mut self, address: Value, size: usize, value: Value) {
        self.leak(value);
        match address {
            Value::Stack(at) => self.state.store(at, size, value),
            _ => self.state.written(address, Some(size)),
        }
    }

    /// Writes an operand.
    pub(super) fn write(&mut self, decoded: &Decoded, operand: u32, value: Value) {
        let code = &decoded.code;
        if let (Value::Place(place), Some(events)) = (value, &mut self.events)
            && self.roles.kernels.contains_key(&place)
        {
            events.push(Event::Taken(place));
        }
        if is_register(code, operand) {
            let register = code.op_register(operand);
            let Some(number) = general(register) else { return };
            let old = self.state.registers[number];
            self.state.registers[number] = match (register.size(), value) {
                (8, _) => value,
                // Addresses of a program that lies in the first gigabytes.
                (4, Value::Place(_)) => value,
                (4, _) => value.truncated(4),
                _ if is_high(register) => old.merged(Value::UNKNOWN, 2),
                (size, _) => old.merged(value, size),
            };
        } else if !matches!(code.segment_prefix(), Register::FS | Register::GS) {
            let address = self.address(decoded);
            self.store(address, code.memory_size().size(), value);
        } else {
            self.leak(value);
        }
    }
}

/// Bytes of an operand.
pub(super) fn width(code: &Instruction, operand: u32) -> usize {
    if is_register(code, operand) {
        code.op_register(operand).size()
    } else {
        code.memory_size().size()
    }
}

pub(super) fn is_register(code: &Instruction, operand: u32) -> bool {
    operand < code.op_count() && code.op_kind(operand) == OpKind::Register
}

pub(super) fn is_same(code: &Instruction, a: u32, b: u32) -> bool {
    is_register(code, a) && is_register(code, b) && code.op_register(a) == code.op_register(b)
}

/// The number of a general register or a part of one.
pub(super) fn general(register: Register) -> Option<usize> {
    let full = register.full_register();
    full.is_gpr64().then(|| full.number())
}

/// The number of a vector register, if it is tracked.
pub(super) fn vector(register: Register) -> Option<usize> {
    (register.is_vector_register() && register.number() < 16).then(|| register.number())
}

/// True for bits 8 to 15 of a register.
const fn is_high(register: Register) -> bool {
    matches!(
        register,
        Register::AH | Register::BH | Register::CH | Register::DH
    )
}
