//! Values and constants.

use std::borrow::Cow;
use std::iter::successors;
use std::marker::PhantomData;

use crate::llvm_sys::core::*;

use super::{Type, Value, ValueKind, text, wrap};
use ptxcheck_common::shown;

impl<'m> Value<'m> {
    pub(crate) fn kind(self) -> ValueKind {
        // SAFETY: a live value.
        unsafe { LLVMGetValueKind(self.0) }
    }

    pub(crate) fn ty(self) -> Type<'m> {
        // SAFETY: a live value.
        Type(unsafe { LLVMTypeOf(self.0) }, PhantomData)
    }

    pub(crate) fn name(self) -> &'m str {
        let mut length = 0;
        // SAFETY: a live value; its name is a part of the module, which nothing here renames.
        unsafe {
            let name = LLVMGetValueName2(self.0, &raw mut length);
            text(name, length)
        }
    }

    /// The name as it is shown: no two that are not UTF-8 become one.
    pub(crate) fn shown_name(self) -> Cow<'m, str> {
        let mut length = 0;
        // SAFETY: as above, and the bytes are there.
        unsafe {
            let name = LLVMGetValueName2(self.0, &raw mut length);
            if name.is_null() {
                return Cow::Borrowed("");
            }
            shown::name(std::slice::from_raw_parts(name.cast::<u8>(), length))
        }
    }

    /// A number that no other value has.
    pub(crate) fn address(self) -> usize {
        self.0.addr()
    }

    /// Number of operands of a user or of a constant that is written out; 0 for anything else.
    pub(crate) fn operands(self) -> u32 {
        if matches!(
            self.kind(),
            ValueKind::LLVMInstructionValueKind
                | ValueKind::LLVMConstantExprValueKind
                | ValueKind::LLVMConstantArrayValueKind
                | ValueKind::LLVMConstantStructValueKind
                | ValueKind::LLVMConstantVectorValueKind
        ) {
            // SAFETY: these kinds are users of operands.
            u32::try_from(unsafe { LLVMGetNumOperands(self.0) }).unwrap_or(0)
        } else {
            0
        }
    }

    pub(crate) fn operand(self, number: u32) -> Option<Value<'m>> {
        // SAFETY: a user with more operands than that.
        (number < self.operands())
            .then(|| wrap(unsafe { LLVMGetOperand(self.0, number) }))
            .flatten()
    }

    /// The low 64 bits of an integer constant, from its sign on; 1 for true.
    pub(crate) fn int(self) -> Option<i64> {
        if self.kind() != ValueKind::LLVMConstantIntValueKind {
            return None;
        }
        // SAFETY: an integer constant of at most 64 bits; wider ones do not fit the answer.
        match self.ty().int_bits() {
            Some(1) => Some(unsafe { LLVMConstIntGetZExtValue(self.0) } as i64),
            Some(2..=64) => Some(unsafe { LLVMConstIntGetSExtValue(self.0) }),
            _ => None,
        }
    }

    pub(crate) fn is_undef(self) -> bool {
        matches!(
            self.kind(),
            ValueKind::LLVMUndefValueValueKind | ValueKind::LLVMPoisonValueKind
        )
    }

    /// True for a constant structure, array or vector, written out or not.
    pub(crate) fn is_constant_aggregate(self) -> bool {
        matches!(
            self.kind(),
            ValueKind::LLVMConstantStructValueKind
                | ValueKind::LLVMConstantArrayValueKind
                | ValueKind::LLVMConstantVectorValueKind
                | ValueKind::LLVMConstantDataArrayValueKind
                | ValueKind::LLVMConstantDataVectorValueKind
                | ValueKind::LLVMConstantAggregateZeroValueKind
        ) || self.is_undef()
    }

    /// An element of such a constant.
    pub(crate) fn element(self, number: u32) -> Option<Value<'m>> {
        // SAFETY: a constant; the answer is null for an element that it does not have.
        self.is_constant_aggregate()
            .then(|| wrap(unsafe { LLVMGetAggregateElement(self.0, number) }))
            .flatten()
    }

    /// The text and the constraints of inline assembly.
    pub(crate) fn assembly(self) -> Option<(&'m str, &'m str)> {
        if self.kind() != ValueKind::LLVMInlineAsmValueKind {
            return None;
        }
        let (mut a, mut b) = (0, 0);
        // SAFETY: inline assembly, whose strings live as long as the context does.
        unsafe {
            let assembly = LLVMGetInlineAsmAsmString(self.0, &raw mut a);
            let constraints = LLVMGetInlineAsmConstraintString(self.0, &raw mut b);
            Some((text(assembly, a), text(constraints, b)))
        }
    }

    /// The users of a value.
    pub(crate) fn users(self) -> impl Iterator<Item = Value<'m>> {
        // SAFETY: a live value; each use leads to the next.
        let first = unsafe { LLVMGetFirstUse(self.0) };
        successors((!first.is_null()).then_some(first), |&one| {
            let next = unsafe { LLVMGetNextUse(one) };
            (!next.is_null()).then_some(next)
        })
        .filter_map(|one| wrap(unsafe { LLVMGetUser(one) }))
    }
}
