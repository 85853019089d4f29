//! Limits of this crate, by name. Exceeding one is a finding or a documented loss of precision, never a panic.

/// Deepest chain of inlined calls that a debug location is followed through.
pub const MAX_INLINE_DEPTH: usize = 64;

/// Most instructions that are passed over on the way up from a guard, for what branches before it decide.
pub const MAX_WAY_INSTRUCTIONS: usize = 256;

/// Most blocks on that way.
pub const MAX_WAY_BLOCKS: usize = 16;

/// Most rounds of cutting edges: cut edges can leave others to be cut.
pub const MAX_SETTLE_ROUNDS: usize = 4;

/// Most names that nothing declares that are kept for one body.
pub const MAX_UNDECLARED: usize = 64;

/// Most words of a virtual function table that is analysed.
pub const MAX_TABLE_WORDS: u64 = 4_096;

/// Most bytes of an initialiser that are kept.
pub const MAX_INITIAL_BYTES: usize = 4_096;

/// Most absolute paths that are kept of one image.
pub const SHOWN_PATHS: usize = 8;

/// Most places that a finding names for the uses of one symbol, the first included; a count stands for the rest.
pub const SHOWN_USES: usize = 9;
