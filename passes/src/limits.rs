//! Every limit of the analysis library, by name. Exceeding one is a finding or a documented loss of precision,
//! never a panic.

/// Longest piece of an input's line that a finding carries for showing, in bytes.
pub const SHOWN_LINE_BYTES: usize = 240;

/// Most syntax errors of one input that become findings; a note counts the rest.
pub const SHOWN_SYNTAX_ERRORS: usize = 20;
