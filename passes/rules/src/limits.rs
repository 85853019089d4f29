//! Limits of this crate, by name. Exceeding one is a finding or a documented loss of precision, never a panic.

pub(crate) use ptxcheck_release::limits::SHOWN_NAMES;

/// Fewest branches, calls, barriers and collectives of functions that count as instances of one source for their potential findings
/// because they have the same in the same order.
pub(crate) const LEAST_CODE: usize = 64;

/// Longest piece of an input's line that a finding carries for showing, in bytes.
pub(crate) const SHOWN_LINE_BYTES: usize = 240;

/// Definitions that are followed from the address of a load to a parameter.
pub(crate) const MAX_POINTER_STEPS: usize = 32;

/// Most findings of one input; a count stands for the rest. Each takes about 2 KB, and makes as much of a report.
pub(crate) const MAX_FINDINGS: usize = 1 << 16;

/// Most calls, one within the other, that the operands of a warp collective are followed through to those who pass them…
pub(crate) const MAX_OPERAND_CALLS: usize = 4;

/// … and most such calls in total that are followed for one collective.
pub(crate) const MAX_OPERAND_CHAINS: usize = 256;

/// Most kernels of a finding whose images are named in it.
pub(crate) const MAX_NAMED_FORMS: usize = 64;
