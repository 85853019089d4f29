//! The effect of one instruction on the state.

use iced_x86::{Mnemonic, OpAccess, OpKind, Register, UsedMemory};

use super::operands::{Decoded, Stepper, general, is_register, is_same, vector, width};
use super::state::{FRAME_POINTER, STACK_POINTER};
use super::value::Value;

impl Stepper<'_, '_, '_> {
    /// Goes over an instruction that is neither a branch nor a call.
    pub(super) fn step(&mut self, decoded: &Decoded) {
        let code = &decoded.code;
        match code.mnemonic() {
            Mnemonic::Nop | Mnemonic::Endbr64 | Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Pause => {}
            Mnemonic::Mov => {
                let value = self.read(decoded, 1);
                self.write(decoded, 0, value);
            }
            Mnemonic::Movzx => {
                let value = self.read(decoded, 1);
                self.write(decoded, 0, value.truncated(width(code, 1)));
            }
            Mnemonic::Lea => {
                let value = self.address(decoded);
                self.write(decoded, 0, value);
            }
            Mnemonic::Push => {
                let value = self.read(decoded, 0);
                self.move_stack(-8);
                self.store(self.state.registers[STACK_POINTER], 8, value);
            }
            Mnemonic::Pop => {
                let value = self.load(self.state.registers[STACK_POINTER], 8);
                self.move_stack(8);
                self.write(decoded, 0, value);
            }
            Mnemonic::Add | Mnemonic::Sub | Mnemonic::Or => self.arithmetic(decoded),
            Mnemonic::Xor if is_same(code, 0, 1) => self.write(decoded, 0, Value::exact(0)),
            Mnemonic::Shr if code.op1_kind() == OpKind::Immediate8 => {
                let (value, size) = (self.read(decoded, 0), width(code, 0));
                let by = u32::from(code.immediate8()) & if size == 8 { 63 } else { 31 };
                let value = value.truncated(size).shifted_right(by);
                self.write(decoded, 0, value.truncated(size));
            }
            // Zeros for the frame, 16 bytes at a time.
            Mnemonic::Xorps if is_same(code, 0, 1) => {
                if let Some(number) = vector(code.op0_register()) {
                    self.state.is_zero[number] = true;
                }
            }
            Mnemonic::Movups
                if !is_register(code, 0)
                    && vector(code.op1_register()).is_some_and(|number| self.state.is_zero[number]) =>
            {
                let address = self.address(decoded);
                for past in [0, 8] {
                    self.store(address.add(Value::exact(past)), 8, Value::exact(0));
                }
            }
            _ => self.unknown(decoded),
        }
    }

    fn arithmetic(&mut self, decoded: &Decoded) {
        let code = &decoded.code;
        let size = width(code, 0);
        let (a, b) = (self.read(decoded, 0), self.read(decoded, 1));
        let value = match code.mnemonic() {
            Mnemonic::Add => a.add(b),
            Mnemonic::Sub => a.subtract(b),
            _ => a.or(b),
        };
        self.write(decoded, 0, if size == 8 { value } else { value.truncated(size) });
    }

    /// An instruction of which only the read and written registers and memory are known.
    fn unknown(&mut self, decoded: &Decoded) {
        let code = &decoded.code;
        // A register that is written under a condition keeps its value else.
        let is_read = |access| {
            matches!(
                access,
                OpAccess::Read
                    | OpAccess::CondRead
                    | OpAccess::ReadWrite
                    | OpAccess::ReadCondWrite
                    | OpAccess::CondWrite
            )
        };
        let is_written = |access| {
            matches!(
                access,
                OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
            )
        };
        let info = self.info.info(code);
        let accesses: Vec<OpAccess> = (0..code.op_count())
            .map(|operand| info.op_access(operand))
            .collect();
        let registers: Vec<Register> = info
            .used_registers()
            .iter()
            .filter(|used| is_written(used.access()))
            .map(iced_x86::UsedRegister::register)
            .collect();
        let written: Vec<UsedMemory> = info
            .used_memory()
            .iter()
            .filter(|used| is_written(used.access()))
            .copied()
            .collect();
        for operand in 0..code.op_count() {
            if is_register(code, operand)
                && is_read(accesses[operand as usize])
                && let Some(number) = general(code.op_register(operand))
            {
                self.leak(self.state.registers[number]);
            }
        }
        let is_repeated = code.has_rep_prefix() || code.has_repne_prefix();
        for used in written {
            if matches!(used.segment(), Register::FS | Register::GS) {
                continue;
            }
            let address = match used.base() {
                Register::RIP | Register::EIP => continue,
                Register::None if used.index() == Register::None => Value::exact(used.displacement()),
                _ => self.indexed(used.base(), used.index(), used.scale(), used.displacement()),
            };
            let size = used.memory_size().size();
            self.state
                .written(address, Some(size).filter(|size| *size > 0 && !is_repeated));
        }
        for register in registers {
            if let Some(number) = general(register) {
                let known = matches!(number, STACK_POINTER | FRAME_POINTER)
                    && self.state.registers[number].is_frame();
                self.state.registers[number] = if known { Value::Mixed } else { Value::UNKNOWN };
            } else if let Some(number) = vector(register) {
                self.state.is_zero[number] = false;
            }
        }
    }
}
