//! Types.

use std::marker::PhantomData;

use crate::llvm_sys::core::*;

use super::{Type, TypeKind};

impl<'m> Type<'m> {
    /// A number that no other type has.
    pub(crate) fn address(self) -> usize {
        self.0.addr()
    }

    pub(crate) fn kind(self) -> TypeKind {
        // SAFETY: a live type.
        unsafe { LLVMGetTypeKind(self.0) }
    }

    /// Types whose size is a fixed number of bytes, if they have one.
    pub(super) fn is_plain(self) -> bool {
        !matches!(
            self.kind(),
            TypeKind::LLVMScalableVectorTypeKind
                | TypeKind::LLVMTargetExtTypeKind
                | TypeKind::LLVMX86_AMXTypeKind
        )
    }

    /// Bits of a value that is one number, given those of pointers by address space; 0 for anything else.
    pub(crate) fn number_bits(self, pointer: impl FnOnce(u32) -> u8) -> u8 {
        // SAFETY: each branch is taken for the kind that its callee wants.
        match self.kind() {
            TypeKind::LLVMIntegerTypeKind => match unsafe { LLVMGetIntTypeWidth(self.0) } {
                bits @ 0..=64 => bits as u8,
                _ => 0,
            },
            TypeKind::LLVMPointerTypeKind => pointer(unsafe { LLVMGetPointerAddressSpace(self.0) }),
            TypeKind::LLVMHalfTypeKind | TypeKind::LLVMBFloatTypeKind => 16,
            TypeKind::LLVMFloatTypeKind => 32,
            TypeKind::LLVMDoubleTypeKind => 64,
            _ => 0,
        }
    }

    pub(crate) fn int_bits(self) -> Option<u32> {
        // SAFETY: an integer type.
        (self.kind() == TypeKind::LLVMIntegerTypeKind).then(|| unsafe { LLVMGetIntTypeWidth(self.0) })
    }

    pub(crate) fn space(self) -> Option<u32> {
        // SAFETY: a pointer type.
        (self.kind() == TypeKind::LLVMPointerTypeKind).then(|| unsafe { LLVMGetPointerAddressSpace(self.0) })
    }

    /// The elements of an array or vector, and how many.
    pub(crate) fn sequence(self) -> Option<(Type<'m>, u64)> {
        // SAFETY: each branch is taken for the kind that its callees want.
        unsafe {
            match self.kind() {
                TypeKind::LLVMArrayTypeKind => Some((
                    Type(LLVMGetElementType(self.0), PhantomData),
                    LLVMGetArrayLength2(self.0),
                )),
                TypeKind::LLVMVectorTypeKind => Some((
                    Type(LLVMGetElementType(self.0), PhantomData),
                    u64::from(LLVMGetVectorSize(self.0)),
                )),
                _ => None,
            }
        }
    }

    /// The type of a structure's element.
    pub(crate) fn field(self, number: u32) -> Option<Type<'m>> {
        (number < self.fields()).then(|| {
            // SAFETY: a structure with more elements than that.
            Type(unsafe { LLVMStructGetTypeAtIndex(self.0, number) }, PhantomData)
        })
    }

    /// Number of elements of a structure; 0 for other types.
    pub(crate) fn fields(self) -> u32 {
        if self.kind() == TypeKind::LLVMStructTypeKind {
            // SAFETY: a structure.
            unsafe { LLVMCountStructElementTypes(self.0) }
        } else {
            0
        }
    }

    /// The return type of a function type.
    pub(crate) fn returned(self) -> Option<Type<'m>> {
        // SAFETY: a function type.
        (self.kind() == TypeKind::LLVMFunctionTypeKind)
            .then(|| Type(unsafe { LLVMGetReturnType(self.0) }, PhantomData))
    }
}
