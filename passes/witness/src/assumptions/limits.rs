//! Limits of assumptions, by name. Exceeding one is an error of the configuration.

/// Most values that a condition of an assumption lists.
pub(super) const MAX_ASSUMED_VALUES: usize = 64;

/// Most assumptions of a run.
pub const MAX_ASSUMPTIONS: usize = 1_000;

/// Longest text of an assumption, in bytes.
pub(super) const ASSUMPTION_BYTES: usize = 4_096;
