//! Limits of this crate, by name. Exceeding one is a finding or a documented loss of precision, never a panic.

/// Longest mangled name that is demangled, in bytes. Real kernels of template libraries stay under 8 KiB.
pub const MANGLED_NAME_BYTES: usize = 16 * 1024;

/// Longest demangled name, in bytes.
pub const DEMANGLED_NAME_BYTES: usize = 64 * 1024;

/// Deepest nesting of a name that is demangled.
pub const DEMANGLE_DEPTH: u32 = 96;

/// Most pieces that a demangled name is put together from.
pub const DEMANGLE_STEPS: usize = 64 * 1024;

/// Statements from which on the functions of one module are lowered and checked in parallel.
pub const PARALLEL_STATEMENTS: usize = 20_000;

/// Steps of loops in analyses between two reads of the clock: some ten microseconds.
pub const STEPS_BETWEEN_CLOCKS: u32 = 4_096;

/// Most functions and references that are gone over for what leads to the uses of an image.
pub const MAX_CALLER_STEPS: usize = 1 << 22;

/// Longest piece of a symbol's name in a message, in bytes. The payload has up to [`MANGLED_NAME_BYTES`] of it.
pub const SHOWN_NAME_BYTES: usize = 400;

/// Longest pattern, in bytes.
pub const PATTERN_BYTES: usize = 1024;

/// Most memory that a regular expression may take once it is compiled, in bytes.
pub const REGEX_BYTES: usize = 1 << 20;
