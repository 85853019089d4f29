//! Limits of this crate, by name.

/// Deepest nesting of brackets in a text. MLIR's parser and passes take stack for each: twenty thousand regions in each other
/// overflow it.
pub const MAX_DEPTH: usize = 512;

/// Deepest nesting of a location: aliases, names, fused ones and call sites.
pub(crate) const MAX_LOCATION_DEPTH: usize = 64;

/// Most frames of a location.
pub(crate) const MAX_FRAMES: usize = 64;

/// Most parts of a text.
pub const MAX_PARTS: usize = 4096;

/// Longest name of the program that wrote bytecode, in bytes.
pub(crate) const MAX_WRITER_BYTES: usize = 64;
