//! A module: its contents, and its layout of types.

use std::ffi::CStr;
use std::marker::PhantomData;

use crate::llvm_sys::core::*;
use crate::llvm_sys::target::*;

use super::{Module, Node, Type, TypeKind, Value, chain, text, wrap};

impl<'m> Module<'m> {
    pub(crate) fn new(module: &'m inkwell::module::Module<'_>) -> Self {
        let module = module.as_mut_ptr();
        // SAFETY: inkwell's module is alive for 'm, and its layout and context are as long.
        unsafe {
            let mut new = Self {
                module,
                layout: LLVMGetModuleDataLayout(module),
                context: LLVMGetModuleContext(module),
                pointer_bits: [0; 8],
                lifetime: PhantomData,
            };
            new.pointer_bits = std::array::from_fn(|space| new.asked_pointer_bits(space as u32));
            new
        }
    }

    pub(crate) fn functions(self) -> impl Iterator<Item = Value<'m>> {
        // SAFETY: the module is alive, and each function leads to the next.
        let first = unsafe { LLVMGetFirstFunction(self.module) };
        chain(first, |value| unsafe { LLVMGetNextFunction(value) })
    }

    pub(crate) fn globals(self) -> impl Iterator<Item = Value<'m>> {
        // SAFETY: as for functions.
        let first = unsafe { LLVMGetFirstGlobal(self.module) };
        chain(first, |value| unsafe { LLVMGetNextGlobal(value) })
    }

    pub(crate) fn aliases(self) -> impl Iterator<Item = Value<'m>> {
        // SAFETY: as for functions.
        let first = unsafe { LLVMGetFirstGlobalAlias(self.module) };
        chain(first, |value| unsafe { LLVMGetNextGlobalAlias(value) })
    }

    /// Bytes that a value of this type takes in memory; 0 for a type without a size.
    pub(crate) fn size(self, ty: Type<'m>) -> u64 {
        // SAFETY: only types with a size may be asked for it, and this one is checked first.
        unsafe {
            if ty.is_plain() && LLVMTypeIsSized(ty.0) != 0 {
                LLVMABISizeOfType(self.layout, ty.0)
            } else {
                0
            }
        }
    }

    /// The alignment of a type in bytes, at least 1.
    pub(crate) fn align(self, ty: Type<'m>) -> u32 {
        // SAFETY: as for the size.
        unsafe {
            if ty.is_plain() && LLVMTypeIsSized(ty.0) != 0 {
                LLVMABIAlignmentOfType(self.layout, ty.0).max(1)
            } else {
                1
            }
        }
    }

    /// Bits of a pointer into this address space.
    pub(crate) fn pointer_bits(self, space: u32) -> u8 {
        match self.pointer_bits.get(space as usize) {
            Some(bits) => *bits,
            None => self.asked_pointer_bits(space),
        }
    }

    fn asked_pointer_bits(self, space: u32) -> u8 {
        // SAFETY: the layout answers for every number.
        let bytes = unsafe { LLVMPointerSizeForAS(self.layout, space) };
        u8::try_from(bytes.saturating_mul(8)).unwrap_or(64)
    }

    /// The byte offset of a structure's element.
    pub(crate) fn element_offset(self, ty: Type<'m>, element: u32) -> Option<u64> {
        // SAFETY: a structure with a size and this many elements.
        unsafe {
            let fits = ty.kind() == TypeKind::LLVMStructTypeKind
                && LLVMTypeIsSized(ty.0) != 0
                && element < LLVMCountStructElementTypes(ty.0);
            fits.then(|| LLVMOffsetOfElement(self.layout, ty.0, element))
        }
    }

    /// The operand of a node: a node or string itself, or a value.
    pub(crate) fn operand(self, node: Node<'m>, number: u32) -> Option<Value<'m>> {
        // SAFETY: a node of the module's context is wrapped as a value.
        let value = wrap(unsafe { LLVMMetadataAsValue(self.context, node.0) })?;
        value.node_operands().get(number as usize).copied().flatten()
    }

    /// The assembly outside functions.
    pub(crate) fn assembly(self) -> &'m str {
        let mut length = 0;
        // SAFETY: the module is alive, and nothing here changes its assembly.
        unsafe {
            let assembly = LLVMGetModuleInlineAsm(self.module, &raw mut length);
            text(assembly, length)
        }
    }

    /// True if the module has a flag of this name. LLVM's own search for one takes the second operand of each flag for a
    /// string, and only its verifier, which does not run here, sees to it that it is one.
    pub(crate) fn has_flag(self, name: &str) -> bool {
        let named = |flag: &Vec<Option<Value<'m>>>| {
            flag.get(1).copied().flatten().and_then(Value::string) == Some(name)
        };
        self.named_metadata(c"llvm.module.flags").iter().any(named)
    }

    /// The nodes of named metadata, each as its operands.
    pub(crate) fn named_metadata(self, name: &CStr) -> Vec<Vec<Option<Value<'m>>>> {
        // SAFETY: LLVM writes exactly as many nodes as it announces.
        let nodes = unsafe {
            let count = LLVMGetNamedMetadataNumOperands(self.module, name.as_ptr());
            let mut nodes = vec![std::ptr::null_mut(); count as usize];
            LLVMGetNamedMetadataOperands(self.module, name.as_ptr(), nodes.as_mut_ptr());
            nodes
        };
        nodes
            .into_iter()
            .filter_map(wrap)
            .map(Value::node_operands)
            .collect()
    }
}
