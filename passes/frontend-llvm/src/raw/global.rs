//! Variables, functions and aliases.

use std::ffi::{c_char, c_uint};
use std::iter::successors;
use std::marker::PhantomData;
use std::sync::LazyLock;

use crate::llvm_sys::LLVMUnnamedAddr;
use crate::llvm_sys::core::*;
use crate::llvm_sys::debuginfo::*;
use crate::llvm_sys::prelude::*;

use super::{Block, Linkage, Node, Type, Value, ValueKind, text, wrap};

impl<'m> Value<'m> {
    fn is_function(self) -> bool {
        self.kind() == ValueKind::LLVMFunctionValueKind
    }

    pub(crate) fn is_global(self) -> bool {
        matches!(
            self.kind(),
            ValueKind::LLVMFunctionValueKind
                | ValueKind::LLVMGlobalVariableValueKind
                | ValueKind::LLVMGlobalAliasValueKind
                | ValueKind::LLVMGlobalIFuncValueKind
        )
    }

    pub(crate) fn is_declaration(self) -> bool {
        // SAFETY: a global.
        self.is_global() && unsafe { LLVMIsDeclaration(self.0) != 0 }
    }

    pub(crate) fn linkage(self) -> Option<Linkage> {
        // SAFETY: a global.
        self.is_global().then(|| unsafe { LLVMGetLinkage(self.0) })
    }

    /// True if its address means nothing: a literal, a table that the compiler made.
    pub(crate) fn is_unnamed(self) -> bool {
        // SAFETY: a global.
        self.is_global() && unsafe { LLVMGetUnnamedAddress(self.0) != LLVMUnnamedAddr::LLVMNoUnnamedAddr }
    }

    /// The variable that a global is in the source, by its debug information.
    pub(crate) fn source_variable(self) -> Option<Node<'m>> {
        if self.kind() != ValueKind::LLVMGlobalVariableValueKind {
            return None;
        }
        let mut count = 0;
        // SAFETY: a global; the entries are a copy, freed here, of pointers to metadata that stays.
        unsafe {
            let entries = LLVMGlobalCopyAllMetadata(self.0, &raw mut count);
            let found = (0..count as c_uint)
                .map(|number| LLVMValueMetadataEntriesGetMetadata(entries, number))
                .find(|node| {
                    matches!(
                        LLVMGetMetadataKind(*node),
                        LLVMMetadataKind::LLVMDIGlobalVariableExpressionMetadataKind
                    )
                })
                .map(|node| LLVMDIGlobalVariableExpressionGetVariable(node));
            LLVMDisposeValueMetadataEntries(entries);
            found
                .filter(|node| !node.is_null())
                .map(|node| Node(node, PhantomData))
        }
    }

    /// The type of what a global names.
    pub(crate) fn value_type(self) -> Option<Type<'m>> {
        // SAFETY: a global.
        self.is_global()
            .then(|| Type(unsafe { LLVMGlobalGetValueType(self.0) }, PhantomData))
    }

    pub(crate) fn initializer(self) -> Option<Value<'m>> {
        // SAFETY: a global variable; the answer is null where it has no initializer.
        (self.kind() == ValueKind::LLVMGlobalVariableValueKind)
            .then(|| wrap(unsafe { LLVMGetInitializer(self.0) }))
            .flatten()
    }

    /// The bytes of a constant string, without the zero at its end.
    pub(crate) fn bytes(self) -> Option<&'m [u8]> {
        if self.kind() != ValueKind::LLVMConstantDataArrayValueKind {
            return None;
        }
        // SAFETY: constant data; its bytes are as long as the module.
        unsafe {
            let mut length = 0;
            (LLVMIsConstantString(self.0) != 0)
                .then(|| LLVMGetAsString(self.0, &raw mut length))
                .filter(|text| !text.is_null())
                .map(|text| std::slice::from_raw_parts(text.cast(), length))
                .map(|text: &[u8]| text.strip_suffix(&[0]).unwrap_or(text))
        }
    }

    pub(crate) fn aliasee(self) -> Option<Value<'m>> {
        // SAFETY: an alias.
        (self.kind() == ValueKind::LLVMGlobalAliasValueKind)
            .then(|| wrap(unsafe { LLVMAliasGetAliasee(self.0) }))
            .flatten()
    }

    pub(crate) fn calling_convention(self) -> u32 {
        // SAFETY: a function.
        if self.is_function() {
            unsafe { LLVMGetFunctionCallConv(self.0) }
        } else {
            0
        }
    }

    pub(crate) fn params(self) -> impl Iterator<Item = Value<'m>> {
        // SAFETY: a function, asked for as many parameters as it says that it has.
        let count = if self.is_function() {
            unsafe { LLVMCountParams(self.0) }
        } else {
            0
        };
        (0..count).filter_map(move |number| wrap(unsafe { LLVMGetParam(self.0, number) }))
    }

    pub(crate) fn blocks(self) -> impl Iterator<Item = Block<'m>> {
        let first = if self.is_function() {
            // SAFETY: a function; each block leads to the next, and the last to null.
            unsafe { LLVMGetFirstBasicBlock(self.0) }
        } else {
            std::ptr::null_mut()
        };
        successors((!first.is_null()).then_some(first), |&block| {
            let next = unsafe { LLVMGetNextBasicBlock(block) };
            (!next.is_null()).then_some(next)
        })
        .map(|block| Block(block, PhantomData))
    }

    pub(crate) fn subprogram(self) -> Option<Node<'m>> {
        if !self.is_function() {
            return None;
        }
        // SAFETY: a function.
        let node = unsafe { LLVMGetSubprogram(self.0) };
        (!node.is_null()).then_some(Node(node, PhantomData))
    }

    /// A string attribute of a function (`"nvvm.maxntid"`).
    pub(crate) fn string_attribute(self, name: &str) -> Option<&'m str> {
        if !self.is_function() {
            return None;
        }
        let mut length = 0;
        // SAFETY: a function; the name is given with its length, and the value lives as long as the context.
        unsafe {
            let attribute = LLVMGetStringAttributeAtIndex(
                self.0,
                FUNCTION_ATTRIBUTES,
                name.as_ptr().cast::<c_char>(),
                name.len() as c_uint,
            );
            if attribute.is_null() {
                return None;
            }
            let value = LLVMGetStringAttributeValue(attribute, &raw mut length);
            Some(text(value, length as usize))
        }
    }

    pub(crate) fn is_noreturn(self) -> bool {
        static KIND: LazyLock<u32> = LazyLock::new(|| attribute_kind("noreturn"));
        self.attribute(FUNCTION_ATTRIBUTES, *KIND).is_some()
    }

    fn attribute(self, place: u32, kind: u32) -> Option<LLVMAttributeRef> {
        if kind == 0 || !self.is_function() {
            return None;
        }
        // SAFETY: a function, and a kind of attribute that LLVM knows.
        let attribute = unsafe { LLVMGetEnumAttributeAtIndex(self.0, place, kind) };
        (!attribute.is_null()).then_some(attribute)
    }

    /// The type that a parameter's memory has, where it is passed by value.
    pub(crate) fn by_value(self, param: u32) -> Option<Type<'m>> {
        static KIND: LazyLock<u32> = LazyLock::new(|| attribute_kind("byval"));
        let attribute = self.attribute(param + 1, *KIND)?;
        // SAFETY: `byval` has a type.
        let ty = unsafe { LLVMGetTypeAttributeValue(attribute) };
        (!ty.is_null()).then_some(Type(ty, PhantomData))
    }

    /// The alignment that a parameter's attributes give its memory.
    pub(crate) fn param_align(self, param: u32) -> Option<u32> {
        static KIND: LazyLock<u32> = LazyLock::new(|| attribute_kind("align"));
        let attribute = self.attribute(param + 1, *KIND)?;
        // SAFETY: `align` has a number.
        u32::try_from(unsafe { LLVMGetEnumAttributeValue(attribute) }).ok()
    }
}

/// LLVM's number for a kind of attribute; 0 for one that it does not know.
fn attribute_kind(name: &str) -> u32 {
    // SAFETY: the name is given with its length.
    unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast::<c_char>(), name.len()) }
}

/// LLVM's index for the attributes of the function itself (parameters begin at 1, the return value is 0).
const FUNCTION_ATTRIBUTES: u32 = u32::MAX;
