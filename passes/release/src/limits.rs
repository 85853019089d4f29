//! Limits of this crate, by name. Exceeding one is a finding or a documented loss of precision, never a panic.

/// Most kernels, images or names that one finding lists; a count stands for the rest.
pub const SHOWN_NAMES: usize = 8;

/// Most images of one container that are compared with each other. Real ones have as many as there are targets.
pub(crate) const MAX_COMPARED_IMAGES: usize = 256;

/// Most files of a package that are named as not what the policy allows. More are counted.
pub(crate) const MAX_POLICY_VIOLATIONS: usize = 1_000;

/// Most faults of such a file that are reported.
pub(crate) const MAX_VARIANT_FAULTS: usize = 32;

/// Most comments of one text that say that a finding does not count. Later ones are not seen.
pub(crate) const MAX_COMMENTS: usize = 1 << 14;

/// Longest reason of such a comment that is kept, in bytes.
pub(crate) const MAX_REASON_BYTES: usize = 1024;

/// Largest file of a ratchet, in bytes.
pub(crate) const MAX_RATCHET_BYTES: usize = 256 << 20;

/// Most pinnings that the file of a ratchet keeps the reasons of.
pub(crate) const MAX_RATCHET_PINS: usize = 100;
