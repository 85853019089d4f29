//! Limits of this crate, by name. Exceeding one is a finding or a documented loss of precision, never a panic.

/// Most names of functions that the identity of a group of findings has.
pub(crate) const MAX_IDENTITY_NAMES: usize = 16;

/// Longest text of a source line in the identity of a group of findings, in bytes.
pub(crate) const MAX_IDENTITY_LINE: usize = 240;

/// Largest file of a baseline, in bytes.
pub(crate) const MAX_BASELINE_BYTES: usize = 64 << 20;

/// Most entries of a baseline.
pub(crate) const MAX_BASELINE_ENTRIES: usize = 1 << 17;

/// Longest text in an entry of a baseline, in bytes.
pub(crate) const MAX_BASELINE_TEXT: usize = 16 << 10;

/// Longest message that an entry of a baseline keeps for its readers, in bytes.
pub(crate) const MAX_BASELINE_MESSAGE: usize = 240;

/// Most functions of an entry of a baseline that is read.
pub(crate) const MAX_BASELINE_NAMES: usize = 64;

/// Most inputs of an entry of a baseline; a count stands for the rest.
pub(crate) const MAX_BASELINE_INPUTS: usize = 1024;

/// Most bytes of the reports that are kept in a folder from run to run.
pub(crate) const REPORT_CACHE_BYTES: u64 = 1 << 30;

/// Most syntax errors of one input that become findings; a note counts the rest.
pub(crate) const SHOWN_SYNTAX_ERRORS: usize = 20;

/// Most symbols of an input that are exported and should not be. More are not listed.
pub(crate) const MAX_EXPORTED_SYMBOLS: usize = 10_000;

/// Most bytes of a file with metadata about wheel variants that are read.
pub(crate) const MAX_VARIANT_FILE_BYTES: usize = 4 << 20;

/// Largest source file that lines are shown from and comments are looked for in, in bytes.
pub(crate) const SOURCE_BYTES: u64 = 32 << 20;

/// Most bytes of source files that are read for one run; later files count as not available.
pub(crate) const ALL_SOURCE_BYTES: u64 = 1 << 30;

/// Most source files that are read for one run, those that are not there among them.
pub(crate) const MAX_SOURCES: usize = 1 << 16;

/// Most findings that name an exception that no longer counts, each.
pub(crate) const MAX_EXPIRED_NOTES: usize = 4;

/// Most bytes of PTX of a link set in which calls are followed from one text to another: all of it is in memory at once.
pub(crate) const MAX_LINKED_BYTES: usize = 256 << 20;

/// Most instructions of functions of other inputs that are analysed with one text. Further functions count as unknown code.
pub(crate) const MAX_IMPORTED_INSTRUCTIONS: usize = 50_000;

/// Longest time that a process may spend on one module of LLVM IR, in seconds, unless `--timeout` says otherwise: a few for each
/// module…
pub(crate) const WORKER_SECONDS: u64 = 30;

/// … one more for as many of its bytes, which is a tenth of the speed at which LLVM reads text on a slow machine…
pub(crate) const WORKER_BYTES_PER_SECOND: u64 = 1 << 20;

/// … and this at most, in seconds.
pub(crate) const MAX_WORKER_SECONDS: u64 = 600;
