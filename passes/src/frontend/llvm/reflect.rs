//! `__nvvm_reflect`: what the module is compiled for. The code generator puts the answer in place of the call, and takes out
//! the code that is for other targets (LLVM, User Guide for NVPTX: NVVM Reflect Pass).

use super::body::Lowering;
use super::raw::{Predicate, User};
use super::symbols;
use crate::ir::{BlockId, Op, Value};

/// The names that it goes by.
pub(super) const NAMES: [&str; 3] = ["__nvvm_reflect", "__nvvm_reflect_ocl", "llvm.nvvm.reflect"];

impl<'m> Lowering<'_, '_, 'm> {
    /// A call of it: a number where that is known, else anything.
    pub(super) fn reflect(&mut self, call: User<'m>) {
        if let Some(answer) = self.answer(call) {
            self.scratch.callees.has_answers = true;
            self.keep(call.value(), Value::Integer(answer));
            return;
        }
        let bits = self.bits(call.ty());
        let result = Value::Register(self.defined(call, bits));
        self.emit(Op::Opaque, &[result], &[]);
    }

    fn answer(&mut self, call: User<'m>) -> Option<i64> {
        let question = symbols::base(call.operand(0)?).initializer()?.bytes()?;
        if question != b"__CUDA_ARCH" {
            return None;
        }
        let module = self.symbols.module;
        let known = &mut self.scratch.callees.architecture;
        let sm = *known.get_or_insert_with(|| symbols::architecture(symbols::target(module).0));
        (sm > 0).then(|| i64::from(sm) * 10)
    }

    /// A comparison of an answer with a number is one, too. False where it is another.
    pub(super) fn compares_numbers(&mut self, comparison: User<'m>) -> bool {
        let (Some(predicate), Some(a), Some(b)) = (
            comparison.predicate(),
            comparison.operand(0),
            comparison.operand(1),
        ) else {
            return false;
        };
        let (Some(a), Some(b)) = (self.integer(a), self.integer(b)) else {
            return false;
        };
        self.keep(
            comparison.value(),
            Value::Integer(i64::from(holds(predicate, a, b))),
        );
        true
    }

    /// Leaves out the collectives of blocks that only other targets come to.
    pub(super) fn forget_unreached(&mut self) {
        let body = &mut *self.body;
        let mut is_reached = vec![false; body.blocks.len()];
        let mut work = vec![BlockId::new(0)];
        while let Some(block) = work.pop() {
            if let Some(reached @ false) = is_reached.get_mut(block.index()) {
                *reached = true;
                work.extend(body.successors(block));
            }
        }
        let mut collectives = std::mem::take(&mut body.collectives);
        collectives.retain(|&id| {
            let is_kept = is_reached[body.block_of(id).index()];
            if !is_kept {
                body.instructions[id.index()].op = Op::Opaque;
            }
            is_kept
        });
        body.collectives = collectives;
    }
}

/// Whether a comparison holds of two numbers of one width, extended by their signs.
const fn holds(predicate: Predicate, a: i64, b: i64) -> bool {
    use Predicate as P;
    let (first, second) = (a.cast_unsigned(), b.cast_unsigned());
    match predicate {
        P::LLVMIntEQ => a == b,
        P::LLVMIntNE => a != b,
        P::LLVMIntSLT => a < b,
        P::LLVMIntSLE => a <= b,
        P::LLVMIntSGT => a > b,
        P::LLVMIntSGE => a >= b,
        P::LLVMIntULT => first < second,
        P::LLVMIntULE => first <= second,
        P::LLVMIntUGT => first > second,
        P::LLVMIntUGE => first >= second,
    }
}
