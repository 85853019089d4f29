//! Every limit of the parser, by name. Exceeding one is an error with a place, never a panic.

/// Longest source. Offsets are 32 bits; the last value is kept free as a mark for "none".
pub const MAX_SOURCE_BYTES: usize = u32::MAX as usize - 1;

/// Deepest nesting of `{ … }` inside a function. Compilers stay under 20.
pub const MAX_BLOCK_DEPTH: usize = 1_024;

/// Deepest nesting inside one operand: brackets, braces, parentheses of a constant expression.
pub const MAX_OPERAND_DEPTH: usize = 32;

/// Most syntax nodes in one operand, itself included (a call's argument list is one operand).
pub const MAX_OPERAND_NODES: usize = u16::MAX as usize;

/// Most operands of one instruction at the top level.
pub const MAX_OPERANDS: usize = u8::MAX as usize;

/// Longest dotted opcode in bytes. The longest seen in production has 119.
pub const MAX_OPCODE_BYTES: usize = u16::MAX as usize;

/// Most syntax errors kept for one source. Further ones are counted, not kept.
pub const MAX_ERRORS: usize = 100;

/// Bytes of a body that are searched for a `.loc` where the rest of the body is left to others.
pub const MAX_HEAD_BYTES: usize = 4 << 10;

/// Braces that are examined to cut a module into pieces, for each cut.
pub const MAX_CUT_TRIES: usize = 1_024;

/// Bytes after such a brace that are searched for the next directive: compilers put comments with names in between.
pub const MAX_CUT_BYTES: usize = 4 << 10;
