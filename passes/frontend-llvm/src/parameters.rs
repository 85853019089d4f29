//! Parameters: loaded on entry, as in PTX, and read from where they lie if they are passed by value.

use super::body::Lowering;
use super::raw::{Opcode, User, Value as LlvmValue};
use crate::limits::MAX_PARAMETER_USES;
use ptxcheck_ir::{Access, AccessKind, Op, Space, Value};

impl<'m> Lowering<'_, '_, 'm> {
    /// Parameters are loaded on entry, as in PTX. An argument passed by value lies in memory of the callee.
    pub(super) fn parameters(&mut self) {
        for (number, param) in self.function.params().enumerate() {
            let register = Value::Register(self.register(param));
            let bits = self.bits(param.ty());
            let number = number.min(usize::from(u16::MAX)) as u16;
            let is_by_value = self.function.by_value(u32::from(number)).is_some();
            if is_by_value && let Some(pointers) = self.only_read(param) {
                let known = pointers.into_iter().filter_map(|(pointer, at)| {
                    let at = i32::try_from(at?).ok()?;
                    Some((pointer, (number, at)))
                });
                self.by_value.extend(known);
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

    /// The parameter that a pointer points into, and how far, if it is one that is passed by value and only read.
    pub(super) fn parameter_address(&self, pointer: LlvmValue<'m>) -> Option<(u16, i32)> {
        self.by_value.get(&pointer).copied()
    }

    /// The pointers into the memory of a parameter, each with its offset where that is constant, if all that is done with
    /// them is to load from them.
    fn only_read(&mut self, param: LlvmValue<'m>) -> Option<Vec<(LlvmValue<'m>, Option<i64>)>> {
        let mut pointers = vec![(param, Some(0))];
        let mut left = MAX_PARAMETER_USES;
        let mut next = 0;
        while let Some(&(pointer, at)) = pointers.get(next) {
            next += 1;
            for user in pointer.users() {
                left -= 1;
                let user = user.user().filter(|_| left > 0)?;
                match user.opcode() {
                    Opcode::LLVMLoad => {}
                    Opcode::LLVMGetElementPtr => {
                        let at = at.and_then(|at| self.constant_offset(user)?.checked_add(at));
                        pointers.push((user.value(), at));
                    }
                    Opcode::LLVMAddrSpaceCast | Opcode::LLVMBitCast => pointers.push((user.value(), at)),
                    Opcode::LLVMCall if is_copied_from(user, pointer) => {}
                    _ => return None,
                }
            }
        }
        Some(pointers)
    }
}

/// True if a call copies from a pointer, and not to it.
fn is_copied_from(call: User<'_>, pointer: LlvmValue<'_>) -> bool {
    let is_copy = |called: LlvmValue<'_>| {
        ["llvm.memcpy.", "llvm.memmove."]
            .iter()
            .any(|name| called.name().starts_with(name))
    };
    call.operand(1) == Some(pointer) && call.operand(0) != Some(pointer) && call.called().is_some_and(is_copy)
}

#[cfg(test)]
mod tests {
    use super::super::with_module;
    use ptxcheck_ir::{Access, AccessKind, Op, Space, Value};

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
