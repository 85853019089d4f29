//! Limits of this crate, by name. Exceeding one is a finding or a documented loss of precision, never a panic.

/// Most labels of a table that each jump through it gets an edge to. Of a longer one, only the first does, and the others
/// share one block that goes to any of them.
pub(crate) const MAX_COPIED_TARGETS: usize = 16;

/// Most bytes of a section of debug data that inlined calls are read from. Of a longer one, none are.
pub(crate) const MAX_DEBUG_BYTES: usize = 256 << 20;

/// Most inlined calls that are read from the debug data of a module.
pub(crate) const MAX_INLINED_CALLS: usize = 4 << 20;

/// Most parameters whose names are read from the debug data of a module.
pub(crate) const MAX_NAMED_PARAMETERS: usize = 1 << 20;

/// Bodies of kernels with no more bytes are read where only declarations are, to see if there is an instruction in them.
pub(crate) const SHORT_BODY_BYTES: usize = 256;

/// Bytes of a text from which on it is parsed in pieces.
pub(crate) const PARALLEL_BYTES: usize = 4 << 20;

/// Longest opcode, in bytes, of an instruction that is lowered without a tree.
pub(crate) const MAX_SIMPLE_OPCODE_BYTES: u32 = 1 << 10;

/// Most elements of a vector in such an instruction. PTX has vectors of 8 elements, and lists of 64 registers for matrices.
pub(crate) const MAX_SIMPLE_ELEMENTS: usize = 64;

/// Bytes of code from which on functions are read in parallel.
pub(crate) const PARALLEL_CODE_BYTES: usize = 768 << 10;

/// Bytes of an average statement, blanks among them.
pub(crate) const BYTES_OF_STATEMENT: usize = 32;

/// Numbers at the ends of labels for which a body's table has a place, for each of its labels. With a greater one, labels are found by name.
pub(crate) const LABEL_NUMBERS: usize = 16;
