//! Limits of a check within a compilation.

use std::time::Duration;

/// Longest that `ptxcheck` may take for a module, where `PTXCHECK_PASS_TIMEOUT` says nothing else. It ends by itself long before,
/// unless it hangs: LLVM IR has 30 s and 1 s more for each MiB.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(600);

/// Longest time between two checks whether it has ended. The first interval is a hundredth of it.
pub(crate) const LONGEST_NAP: Duration = Duration::from_millis(20);

/// Largest JSON document that is read, in bytes.
pub(crate) const DOCUMENT_BYTES: u64 = 256 << 20;

/// The most of what it writes to standard error that a warning repeats, in bytes.
pub(crate) const SAID_BYTES: usize = 400;

/// Most findings of a module that become diagnostics; a warning stands for the rest.
pub(crate) const DIAGNOSTICS: usize = 1000;

/// Most further places of a finding that its message names; a number stands for the rest.
pub(crate) const FURTHER_PLACES: usize = 4;
