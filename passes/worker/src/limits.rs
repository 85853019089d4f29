//! Limits of the processes, by name.

use std::time::Duration;

/// Most memory of a process, in bytes of address space.
pub(crate) const MAX_BYTES: u64 = 16 << 30;

/// Additional time for analyses, which end by themselves when the time is over. LLVM does not.
pub(crate) const GRACE: Duration = Duration::from_millis(500);

/// … and for the process itself to say that it is over, before it is ended from outside.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(2);

/// Longest greeting of a process, in bytes.
pub(crate) const MAX_GREETING: usize = 256;

/// Longest that a process may take to start.
pub(crate) const START: Duration = Duration::from_secs(30);
