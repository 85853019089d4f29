//! The tools of compute-sanitizer, which show findings in runs on a GPU.
//!
//! Which tool sees what is in NVIDIA's "Compute Sanitizer" of CUDA 13.5. Synccheck checks barriers of a block, the callers of
//! `__syncwarp` against its mask, and mbarriers; not whether all lanes of a mask arrive, and no shuffle or vote. Racecheck sees shared
//! memory, with copies in groups and missing proxy fences before bulk copies, and no global memory. Memcheck sees accesses out of
//! allocations, and misaligned ones.

use serde::{Deserialize, Serialize};

/// A tool of compute-sanitizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Sanitizer {
    /// Accesses out of bounds, and misaligned ones.
    Memcheck,
    /// Races on shared memory.
    Racecheck,
    /// Wrong uses of barriers.
    Synccheck,
}

impl Sanitizer {
    /// The value of `--tool`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Memcheck => "memcheck",
            Self::Racecheck => "racecheck",
            Self::Synccheck => "synccheck",
        }
    }
}
