//! LLVM's C interface wrapped in safe handles. This file and those in `raw/` are the only ones of the front
//! end with `unsafe` code: `module.rs`, `types.rs`, `value.rs`, `instruction.rs`, `global.rs` and `metadata.rs` have what
//! can be asked of each handle.
//!
//! Invariants that every block rests on:
//!
//! * A [`Value`], [`Type`], [`Block`] or [`Node`] with lifetime `'m` is made only from a module that is borrowed for
//!   `'m` (see [`Module::new`]) or from another such handle. Nothing here changes or frees a part of a module, so the
//!   pointer in a handle is valid for `'m`.
//! * LLVM checks the kind of its arguments with assertions at most. A function whose callee wants a certain kind
//!   checks the kind first, and returns `None` for another.
#![allow(unsafe_code)]

mod declarations;
mod global;
mod instruction;
mod metadata;
mod module;
mod types;
mod value;

pub(super) use declarations::read_declarations;
pub(super) use instruction::is_pointer_to_address;
pub(super) use metadata::NodeKind;

use std::ffi::{CStr, c_char};
use std::iter::successors;
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use crate::llvm_sys::prelude::*;
use crate::llvm_sys::support::LLVMParseCommandLineOptions;
use crate::llvm_sys::target::*;
pub(super) use crate::llvm_sys::{
    LLVMIntPredicate as Predicate, LLVMLinkage as Linkage, LLVMOpcode as Opcode, LLVMTypeKind as TypeKind,
    LLVMValueKind as ValueKind,
};

use ptxcheck_ir::SymbolId;

/// A value: an instruction, argument, constant, global or function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Value<'m>(LLVMValueRef, PhantomData<&'m ()>);

/// A value that is an instruction or a constant expression, with the properties that are read most often: reading LLVM's memory each time
/// costs more than the work with the result.
///
/// `opcode`, `operands` and `is_instruction` are as LLVM says.
#[derive(Clone, Copy, Debug)]
pub(super) struct User<'m> {
    value: Value<'m>,
    opcode: Opcode,
    operands: u32,
    is_instruction: bool,
}

/// A type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Type<'m>(LLVMTypeRef, PhantomData<&'m ()>);

/// A basic block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Block<'m>(LLVMBasicBlockRef, PhantomData<&'m ()>);

/// A metadata node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node<'m>(LLVMMetadataRef, PhantomData<&'m ()>);

/// A module, and how it lays out types.
#[derive(Clone, Copy)]
pub(super) struct Module<'m> {
    module: LLVMModuleRef,
    layout: LLVMTargetDataRef,
    context: LLVMContextRef,
    /// Bits of a pointer into each of the first address spaces.
    pointer_bits: [u8; 8],
    lifetime: PhantomData<&'m ()>,
}

/// The handles of a module for questions after the lowering, by threads that take turns.
pub(super) struct SharedHandles<'m>(Mutex<Handles<'m>>);

/// A module, the functions that have a body, and the debug locations and memory on the stack that the lowering came by.
pub(super) struct Handles<'m> {
    pub(super) module: Module<'m>,
    pub(super) functions: Vec<Value<'m>>,
    pub(super) locations: Vec<Node<'m>>,
    pub(super) stack: Vec<(SymbolId, Value<'m>)>,
}

// SAFETY: LLVM allows any thread to use a context, as long as they take turns. All readers take this lock, of which each module has one,
// and the lowering, the only other reader of a module, is finished when the lock is made.
unsafe impl Send for SharedHandles<'_> {}
// SAFETY: as above.
unsafe impl Sync for SharedHandles<'_> {}

impl<'m> SharedHandles<'m> {
    pub(super) fn new(handles: Handles<'m>) -> Self {
        Self(Mutex::new(handles))
    }

    pub(super) fn read<R: Send>(&self, work: impl FnOnce(&Handles<'m>) -> R) -> R {
        work(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The bytes at `text`, as far as they are UTF-8.
///
/// # Safety
///
/// `text` is null, or points to `length` bytes that stay for `'m`.
unsafe fn text<'m>(text: *const c_char, length: usize) -> &'m str {
    if text.is_null() {
        return "";
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) };
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
}

/// Switches off the rewriting of old debug information, which aborts on malformed bitcode. Once a process.
pub(super) fn set_options() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let arguments: [&CStr; 2] = [c"ptxcheck", c"-disable-auto-upgrade-debug-info"];
        let pointers = arguments.map(CStr::as_ptr);
        // SAFETY: two C strings that outlive the call; LLVM copies the data that it keeps, and the lock excludes other threads.
        unsafe { LLVMParseCommandLineOptions(2, pointers.as_ptr(), std::ptr::null()) }
    });
}

fn wrap<'m>(value: LLVMValueRef) -> Option<Value<'m>> {
    (!value.is_null()).then_some(Value(value, PhantomData))
}

fn chain<'m>(
    first: LLVMValueRef,
    next: impl Fn(LLVMValueRef) -> LLVMValueRef,
) -> impl Iterator<Item = Value<'m>> {
    successors(wrap(first), move |value| wrap(next(value.0)))
}
