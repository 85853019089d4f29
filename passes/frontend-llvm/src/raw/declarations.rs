//! Bitcode without the bodies of its functions.

use std::ffi::c_char;
use std::mem::ManuallyDrop;

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;

use crate::llvm_sys::bit_reader;
use crate::llvm_sys::core::LLVMDisposeMessage;

/// The module that LLVM reads the declarations of, leaving each body in the buffer; `None` if LLVM refuses it.
///
/// The function that is deprecated hands out the message of a failure. Its successor writes it to standard error, and ends the process.
#[allow(
    deprecated,
    reason = "its successor ends the process when bitcode is malformed"
)]
pub(crate) fn read_declarations<'c>(context: &'c Context, bytes: &[u8]) -> Option<Module<'c>> {
    // LLVM owns the buffer from here on if it reads the module, and not if it refuses.
    let mut buffer = ManuallyDrop::new(MemoryBuffer::create_from_memory_range_copy(bytes, "input"));
    let mut module = std::ptr::null_mut();
    let mut message: *mut c_char = std::ptr::null_mut();
    // SAFETY: the context and the buffer are alive, and both results have a place.
    let is_refused = unsafe {
        bit_reader::LLVMGetBitcodeModuleInContext(
            context.raw(),
            buffer.as_mut_ptr(),
            &raw mut module,
            &raw mut message,
        )
    } != 0;
    if !message.is_null() {
        // SAFETY: LLVM made the message for its caller.
        unsafe { LLVMDisposeMessage(message) }
    }
    if is_refused || module.is_null() {
        // SAFETY: the buffer is still this function's, and is not used after this.
        unsafe { ManuallyDrop::drop(&mut buffer) }
        return None;
    }
    // SAFETY: the module is a new one, lies in the context, and has no other owner.
    Some(unsafe { Module::new(module) })
}
