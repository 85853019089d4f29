//! Releases: what the images of all inputs of a run hold, how one release differs from another, and what may only shrink.
//!
//! ```text
//! inputs ─► contents.rs: Contents ─┬─ diff.rs: Diff of two releases
//!                                  └─ ratchet.rs: Ratchet, the figures that were pinned ─► what is worse, what is better
//! ```

mod contents;
mod diff;
mod ratchet;

pub use contents::{Contents, Form, FormRecord, KernelRecord};
pub use diff::{Change, ChangeKind, Diff, KernelChange, KernelFate, TargetSize};
pub use ratchet::{BadRatchet, Comparison, Moved, Pin, Ratchet};
