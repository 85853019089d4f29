//! Limits of this crate, by name. Exceeding one is a finding or a documented loss of precision, never a panic.

/// Deepest nesting of scopes in the debug information of LLVM IR that a name is looked for in.
pub(crate) const MAX_SCOPE_DEPTH: usize = 256;

/// Most uses of a parameter passed by value in LLVM IR that are analysed.
pub(crate) const MAX_PARAMETER_USES: usize = 10_000;

/// Most types that a variable's type is followed through in the debug information of LLVM IR.
pub(crate) const MAX_TYPE_DEPTH: usize = 64;

/// Most parts of one initializer, or of one constant expression, in LLVM IR that are visited.
pub(crate) const MAX_INITIALIZER_NODES: usize = 100_000;

/// Deepest constant expression in LLVM IR that is followed.
pub(crate) const MAX_CONSTANT_DEPTH: usize = 64;

/// Most cases of a `switch` in LLVM IR that become comparisons; one with more is a jump to one of its targets.
pub(crate) const MAX_SWITCH_COMPARISONS: usize = 64;

/// Most elements of a structure in LLVM IR that are followed one by one.
pub(crate) const MAX_AGGREGATE_PARTS: usize = 32;

/// Longest inline assembly that is read, in bytes.
pub(crate) const MAX_ASSEMBLY_BYTES: usize = 1 << 20;
