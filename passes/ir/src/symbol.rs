//! Symbols: names for memory or code.

use ptxcheck_ptx_parser::Span;

use super::index::{FunctionId, Slots};
use super::op::Space;

/// The linkage of a symbol: the modules that see it, and the one that defines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Linkage {
    /// This module alone.
    Local,
    /// Other modules too.
    External,
    /// Other modules too; theirs may win.
    Weak,
    /// Merged with those of other modules.
    Common,
    /// Defined elsewhere.
    Undefined,
}

/// The kind of entity that a symbol names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// Memory.
    Variable,
    /// A texture, sampler or surface reference.
    TextureReference,
    /// A function or kernel.
    Function(FunctionId),
}

/// A `const` variable of the host that device code reads and does nothing else with, as LLVM IR with debug information
/// declares it. The device may use its value where it is a number known at compile time (guideline G-S1.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostConstant {
    /// Its type is volatile, or it is read so.
    pub is_volatile: bool,
    /// It has a built-in integral or floating-point type, other than `long double`.
    pub is_number: bool,
    /// The module knows its value.
    pub is_initialized: bool,
    /// It lies in constant memory: a copy that the compiler made, or a `__constant__` variable.
    pub is_copy: bool,
}

/// A name for memory or code.
#[derive(Clone, Debug)]
pub struct Symbol<'s> {
    /// As the module writes it; empty for memory on the stack in LLVM IR: [`super::Module::symbol_name`] has that too.
    pub name: &'s str,
    /// The kind of entity that it names.
    pub kind: SymbolKind,
    /// The space that it lies in; [`Space::Generic`] for functions.
    pub space: Space,
    /// Linkage; never [`Linkage::Undefined`] where the module itself has a definition.
    pub linkage: Linkage,
    /// Bytes; `None` for functions and for `x[]`.
    pub size: Option<u64>,
    /// Alignment in bytes, at least 1.
    pub align: u32,
    /// The driver keeps it in managed memory.
    pub managed: bool,
    /// It lies in the host's memory, by what its own module says of it: LLVM IR has such globals, PTX has none.
    pub is_host: bool,
    /// The function it is declared in, if it is.
    pub owner: Option<FunctionId>,
    /// Symbols that its initializer refers to, in [`super::Module::initializers`].
    pub initializer: Slots,
    /// Its declaration in its own module, if it is a constant of the host that device code reads by value.
    pub host_constant: Option<HostConstant>,
    /// Its declaration in the input.
    pub span: Span,
}

impl Symbol<'_> {
    /// True if this module has no definition of it.
    #[must_use]
    pub fn is_undefined(&self) -> bool {
        self.linkage == Linkage::Undefined
    }

    /// True if bodies keep references to it (see [`super::Reference`]).
    pub fn has_references(&self) -> bool {
        self.is_undefined()
            || self.is_host
            || self.host_constant.is_some()
            || matches!(self.kind, SymbolKind::Function(_))
    }

    /// True for shared memory sized at launch (`extern __shared__ x[]`), which nobody defines.
    #[must_use]
    pub fn is_dynamic_shared(&self) -> bool {
        self.space == Space::Shared && self.linkage == Linkage::Undefined && self.size.is_none()
    }
}
