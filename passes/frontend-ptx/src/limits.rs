//! Limits of this crate, by name. Exceeding one is a finding or a documented loss of precision, never a panic.

/// Most comments in front of an instruction that are looked at for the one that begins its inline assembly.
pub(crate) const MAX_ASSEMBLY_COMMENTS: usize = 1_024;

/// Most labels of a table that each jump through it gets an edge to. Of a longer one, only the first does, and the others
/// share one block that goes to any of them.
pub(crate) const MAX_COPIED_TARGETS: usize = 16;
