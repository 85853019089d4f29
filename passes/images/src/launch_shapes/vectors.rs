//! Moves of vector registers: compilers copy a `dim3`, or two, through them.

use iced_x86::{Instruction, Mnemonic, OpKind};

use super::operands::{Decoded, Stepper, is_register, is_wide};
use super::value::Value;

impl Stepper<'_, '_, '_> {
    /// A move from or to a vector register of 16 bytes.
    ///
    /// False if it is none of these.
    pub(super) fn vector_move(&mut self, decoded: &Decoded) -> bool {
        let code = &decoded.code;
        let is_high = matches!(code.mnemonic(), Mnemonic::Movhps | Mnemonic::Movhpd);
        let is_to_vector = is_register(code, 0) && code.op0_register().is_xmm();
        if is_to_vector {
            let old = self.vector(code.op0_register());
            let source = match code.op1_kind() {
                OpKind::Register if code.op1_register().is_xmm() => self.vector(code.op1_register()),
                OpKind::Register => [self.read(decoded, 1), Value::exact(0)],
                _ => {
                    let address = self.address(decoded);
                    let size = code.memory_size().size();
                    let low = self.load_at(decoded, address, size.min(8));
                    let high = match size {
                        16 => self.load_at(decoded, address.add(Value::exact(8)), 8),
                        _ => Value::exact(0),
                    };
                    [low, high]
                }
            };
            let whole = match code.mnemonic() {
                _ if is_high => [old[0], source[0]],
                Mnemonic::Movlps | Mnemonic::Movlpd => [source[0], old[1]],
                Mnemonic::Movss | Mnemonic::Movsd if code.op1_kind() == OpKind::Register => {
                    [Value::UNKNOWN.join(source[0]).join(old[0]), old[1]]
                }
                Mnemonic::Movq | Mnemonic::Vmovq => [source[0], Value::exact(0)],
                _ => source,
            };
            self.set_vector(code.op0_register(), whole);
            return true;
        }
        let source = if is_register(code, 1) && code.op1_register().is_xmm() {
            self.vector(code.op1_register())
        } else {
            return false;
        };
        let low = source[usize::from(is_high)];
        if is_register(code, 0) {
            self.write(decoded, 0, low);
            return true;
        }
        let address = self.address(decoded);
        let size = code.memory_size().size();
        self.store(address, size.min(8), low);
        if size == 16 {
            self.store(address.add(Value::exact(8)), 8, source[1]);
        }
        true
    }
}

/// True for a move between vector registers of 16 bytes, or between one and memory or a general register.
pub(super) fn is_vector_move(code: &Instruction) -> bool {
    matches!(
        code.mnemonic(),
        Mnemonic::Movd
            | Mnemonic::Movq
            | Mnemonic::Movaps
            | Mnemonic::Movups
            | Mnemonic::Movapd
            | Mnemonic::Movupd
            | Mnemonic::Movdqa
            | Mnemonic::Movdqu
            | Mnemonic::Movss
            | Mnemonic::Movsd
            | Mnemonic::Movlps
            | Mnemonic::Movlpd
            | Mnemonic::Movhps
            | Mnemonic::Movhpd
            | Mnemonic::Vmovq
            | Mnemonic::Vmovd
            | Mnemonic::Vmovaps
            | Mnemonic::Vmovups
            | Mnemonic::Vmovapd
            | Mnemonic::Vmovupd
            | Mnemonic::Vmovdqa
            | Mnemonic::Vmovdqu
    ) && code.op_count() == 2
        && (0..2).all(|operand| !is_register(code, operand) || !is_wide(code.op_register(operand)))
}
