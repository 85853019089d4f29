//! Releases: the contents of the images of all inputs of a run, the differences between two releases, and figures that may only shrink.
//!
//! ```text
//! inputs ─┬─► contents.rs: Contents of all files ─► diff.rs: Diff of two releases
//!         └─► files.rs: Files, the contents of each ─┬─ ratchet.rs: Ratchet, the figures that were pinned
//!                                                    └─ held.rs: what is worse, what is better
//! ```

mod contents;
mod diff;
mod files;
mod held;
mod ratchet;

pub use contents::{Contents, Form, FormRecord, KernelRecord};
pub use diff::{Change, ChangeKind, Diff, KernelChange, KernelFate, TargetSize};
pub use files::{FileRecord, Files};
pub use held::{Comparison, Figure, Moved};
pub use ratchet::{BadRatchet, Pin, Ratchet};
