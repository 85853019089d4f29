//! `__nvvm_reflect`: what the module is compiled for. The code generator puts the answer in place of the call, and takes out
//! the code that is for other targets (LLVM, User Guide for NVPTX: NVVM Reflect Pass).

use super::body::Lowering;
use super::instructions::condition;
use super::raw::User;
use super::symbols;
use super::target::target;
use ptxcheck_ir::cfg::Cfg;
use ptxcheck_ir::evaluate;
use ptxcheck_ir::{Op, Value};

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
        let sm = *known.get_or_insert_with(|| target(module).0.sm);
        (sm > 0).then(|| i64::from(sm) * 10)
    }

    /// A comparison of an answer with a number is one, too. False where it is another.
    pub(super) fn compares_numbers(&mut self, comparison: User<'m>) -> bool {
        let (Some(predicate), Some(first), Some(second)) = (
            comparison.predicate(),
            comparison.operand(0),
            comparison.operand(1),
        ) else {
            return false;
        };
        let (Some(a), Some(b)) = (self.integer(first), self.integer(second)) else {
            return false;
        };
        let (a, b) = (a.cast_unsigned(), b.cast_unsigned());
        let holds = evaluate::compare(condition(predicate), self.bits(first.ty()), a, b);
        self.keep(comparison.value(), Value::Integer(i64::from(holds)));
        true
    }

    /// Removes the collectives of blocks that only other targets reach.
    pub(super) fn forget_unreached(&mut self) {
        let body = &mut *self.body;
        let cfg = Cfg::new(body);
        let mut collectives = std::mem::take(&mut body.collectives);
        collectives.retain(|&id| {
            let is_kept = cfg.rank(body.block_of(id)).is_some();
            if !is_kept {
                body.instructions[id.index()].op = Op::Opaque;
            }
            is_kept
        });
        body.collectives = collectives;
    }
}
