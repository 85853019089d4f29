//! The effect of one instruction on the state.

use iced_x86::{Mnemonic, OpAccess, OpKind, Register, UsedMemory};

use super::operands::{Decoded, Stepper, general, is_register, is_same, vector, width};
use super::state::{FRAME_POINTER, STACK_POINTER};
use super::value::Value;
use super::vectors::is_vector_move;

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
            Mnemonic::Movsx | Mnemonic::Movsxd => {
                let value = self.read(decoded, 1).extended(width(code, 1));
                self.write(decoded, 0, value);
            }
            Mnemonic::Cdqe => {
                let value = self.state.registers[0].truncated(4).extended(4);
                self.state.registers[0] = value;
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
            Mnemonic::Leave => {
                let frame = self.state.registers[FRAME_POINTER];
                self.state.registers[FRAME_POINTER] = self.load(frame, 8);
                self.state.registers[STACK_POINTER] = frame.add(Value::exact(8));
            }
            Mnemonic::Add | Mnemonic::Sub | Mnemonic::And | Mnemonic::Or | Mnemonic::Xor => {
                self.arithmetic(decoded);
            }
            Mnemonic::Inc | Mnemonic::Dec => {
                let by = if code.mnemonic() == Mnemonic::Inc {
                    1
                } else {
                    u64::MAX
                };
                let value = self.read(decoded, 0).add(Value::exact(by));
                self.write(decoded, 0, value);
            }
            Mnemonic::Shl | Mnemonic::Shr if code.op1_kind() == OpKind::Immediate8 => {
                let (value, size) = (self.read(decoded, 0), width(code, 0));
                let by = u32::from(code.immediate8()) & if size == 8 { 63 } else { 31 };
                let value = value
                    .truncated(size)
                    .shifted(by, code.mnemonic() == Mnemonic::Shl);
                self.write(decoded, 0, value.truncated(size));
            }
            _ if is_vector_move(code) && self.vector_move(decoded) => {}
            Mnemonic::Xorps | Mnemonic::Xorpd | Mnemonic::Pxor if is_same(code, 0, 1) => {
                self.set_vector(code.op0_register(), [Value::exact(0); 2]);
            }
            Mnemonic::Vxorps | Mnemonic::Vxorpd | Mnemonic::Vpxor
                if is_same(code, 1, 2) && code.op0_register().is_xmm() =>
            {
                self.set_vector(code.op0_register(), [Value::exact(0); 2]);
            }
            Mnemonic::Punpcklqdq | Mnemonic::Movlhps | Mnemonic::Unpcklpd if code.op1_register().is_xmm() => {
                let [low, _] = self.vector(code.op0_register());
                let [high, _] = self.vector(code.op1_register());
                self.set_vector(code.op0_register(), [low, high]);
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
            Mnemonic::Or => a.or(b),
            Mnemonic::Xor if is_same(code, 0, 1) => Value::exact(0),
            Mnemonic::Xor => a.xor(b),
            // A frame that is aligned lies at an offset that is not known, and apart from what was addressed before.
            _ if code.op0_register() == Register::RSP => match (a, b.number()) {
                (Value::Stack(at), Some(_)) => at
                    .checked_sub(ALIGNED_FRAME)
                    .map_or(Value::AnyStack, |at| Value::Stack(at & !0xfff)),
                _ => Value::AnyStack,
            },
            _ => a.and(b),
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
            if is_register(code, operand) && is_read(accesses[operand as usize]) {
                let register = code.op_register(operand);
                for value in self.values(register) {
                    self.leak(value);
                }
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
                self.state.vectors[number] = [Value::UNKNOWN; 2];
            }
        }
    }
}

/// Bytes that a frame of unknown alignment lies below the one before.
const ALIGNED_FRAME: i64 = 1 << 40;
