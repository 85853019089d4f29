//! Events in host code that concern kernels, and the places that stand for kernels.

use rustc_hash::{FxHashMap, FxHashSet};

use super::state::Dims;
use crate::host_code::CodeAddress;

/// An event in a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A kernel is launched: by the place of its stub, or of the function that stands for it.
    Launch(CodeAddress, Dims),
    /// The runtime is asked for the handle of a kernel: the function by which it knows the kernel, and the variable that receives the
    /// handle.
    Handle(CodeAddress, CodeAddress),
    /// A register or memory gets the address that stands for a kernel.
    Taken(CodeAddress),
    /// Others may know this address.
    Leaked(CodeAddress),
    /// Others may know any address that the function has.
    LeakedMixed,
}

/// The places that stand for kernels.
#[derive(Default)]
pub(super) struct Roles {
    /// Stubs, functions that stand for kernels, and variables with handles of kernels, with the number of the kernel.
    pub(super) kernels: FxHashMap<CodeAddress, usize>,
    /// Those of them that are variables.
    pub(super) handles: FxHashSet<CodeAddress>,
}
