//! Parameters: loaded on entry, as in PTX, and read from where they lie if they are passed by value.

use super::body::Lowering;
use super::raw::{Opcode, Value as LlvmValue};
use crate::ir::{Access, AccessKind, Op, Space, Value};
use crate::limits::{MAX_CONSTANT_DEPTH, MAX_PARAMETER_USES};

impl<'m> Lowering<'_, '_, 'm> {
    /// Parameters are loaded on entry, as in PTX. What is passed by value lies in memory of the callee's own.
    pub(super) fn parameters(&mut self) {
        for (number, param) in self.function.params().enumerate() {
            let register = Value::Register(self.register(param));
            let bits = self.bits(param.ty());
            let number = number.min(usize::from(u16::MAX)) as u16;
            let is_by_value = self.function.by_value(u32::from(number)).is_some();
            if is_by_value && is_only_read(param) {
                self.by_value.insert(param, number);
            }
            if bits == 0 || is_by_value {
                self.emit(Op::Opaque, &[register], &[]);
                continue;
            }
            let access = Access::one(AccessKind::Load, Space::Param, bits);
            self.emit(
                Op::Access(access),
                &[register],
                &[Value::Param(number, 0), Value::Integer(0)],
            );
        }
    }

    /// The parameter that a pointer points into, and how far, if it is one that is passed by value.
    pub(super) fn parameter_address(&mut self, pointer: LlvmValue<'m>) -> Option<(u16, i32)> {
        if self.by_value.is_empty() {
            return None;
        }
        let (mut current, mut at) = (pointer, 0_i64);
        for _ in 0..MAX_CONSTANT_DEPTH {
            if let Some(&number) = self.by_value.get(&current) {
                return Some((number, i32::try_from(at).ok()?));
            }
            let user = current.user()?;
            match user.opcode() {
                Opcode::LLVMGetElementPtr => {
                    let mut dynamic = Vec::new();
                    let offset = self.offsets(user, &mut dynamic)?;
                    if !dynamic.is_empty() {
                        return None;
                    }
                    at = at.checked_add(offset)?;
                }
                Opcode::LLVMAddrSpaceCast | Opcode::LLVMBitCast => {}
                _ => return None,
            }
            current = user.operand(0)?;
        }
        None
    }
}

/// Whether all that is done with the memory at a pointer is to load from it.
fn is_only_read(pointer: LlvmValue<'_>) -> bool {
    let mut open = vec![pointer];
    let mut left = MAX_PARAMETER_USES;
    while let Some(pointer) = open.pop() {
        for user in pointer.users() {
            left -= 1;
            let Some(user) = user.user().filter(|_| left > 0) else {
                return false;
            };
            match user.opcode() {
                Opcode::LLVMLoad => {}
                Opcode::LLVMGetElementPtr | Opcode::LLVMAddrSpaceCast | Opcode::LLVMBitCast => {
                    open.push(user.value());
                }
                // The source of a copy, not its target.
                Opcode::LLVMCall
                    if user.operand(1) == Some(pointer)
                        && user.operand(0) != Some(pointer)
                        && user.called().is_some_and(|called| {
                            ["llvm.memcpy.", "llvm.memmove."]
                                .iter()
                                .any(|name| called.name().starts_with(name))
                        }) => {}
                _ => return false,
            }
        }
    }
    true
}
#[cfg(test)]
mod tests {
    use super::super::with_module;
    use crate::ir::{Access, AccessKind, Op, Space, Value};

    /// The loads of the first body: the space that each names, and its address.
    fn loads(text: &str) -> Vec<(Space, Value)> {
        with_module(text.as_bytes(), |module| {
            let (_, _, body) = module.bodies().next().unwrap();
            body.instructions
                .iter()
                .filter_map(|instruction| match instruction.op {
                    Op::Access(Access {
                        kind: AccessKind::Load,
                        space,
                        ..
                    }) => Some((space, body.uses(instruction)[0])),
                    _ => None,
                })
                .collect()
        })
        .unwrap()
    }

    const KERNEL: &str = "target triple = \"nvptx64-nvidia-cuda\"
%S = type { ptr, i32, i32 }
define ptx_kernel void @k(ptr byval(%S) align 8 %s) {
  %field = getelementptr inbounds %S, ptr %s, i32 0, i32 2
  %value = load i32, ptr %field, align 4
  %out = load ptr, ptr %s, align 8
  store i32 %value, ptr %out, align 4
  ret void
}
";

    #[test]
    fn a_kernels_structure_is_read_as_a_parameter() {
        let parameter = |at| (Space::Param, Value::Param(0, at));
        assert_eq!(loads(KERNEL), [parameter(12), parameter(0)]);
    }

    #[test]
    fn one_that_is_written_is_memory() {
        let written = KERNEL.replace("  ret void", "  store i32 1, ptr %field, align 4\n  ret void");
        assert!(loads(&written).iter().all(|(space, _)| *space == Space::Generic));
    }
}
