//! Every limit of the analysis library, by name. Exceeding one is a finding or a documented loss of precision,
//! never a panic.

/// Longest piece of an input's line that a finding carries for showing, in bytes.
pub const SHOWN_LINE_BYTES: usize = 240;

/// Most syntax errors of one input that become findings; a note counts the rest.
pub const SHOWN_SYNTAX_ERRORS: usize = 20;

/// Longest mangled name that is demangled, in bytes. Real kernels of template libraries stay under 8 KiB.
pub const MANGLED_NAME_BYTES: usize = 16 * 1024;

/// Longest demangled name, in bytes.
pub const DEMANGLED_NAME_BYTES: usize = 64 * 1024;

/// Deepest nesting of a name that is demangled.
pub const DEMANGLE_DEPTH: u32 = 96;

/// Most pieces that a demangled name is put together from.
pub const DEMANGLE_STEPS: usize = 64 * 1024;
