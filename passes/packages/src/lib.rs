//! The members of packages: wheels, conda and Debian packages, zip and tar archives.
//!
//! ```text
//! bytes ─ recognise ─┬─ zip: a directory; members are unpacked when asked for ───────────┐
//!                    │   └─ conda: the tar archives in it ─┐                             │
//!                    ├─ deb: the tar archive in it ────────┤                             │
//!                    └─ tar, compressed or not ────────────┴─ read once: what is wanted  ├─► Entry ── unpack ─► bytes
//!                                     is kept, in memory or in a file without a name ────┘
//! ```
//!
//! Packages are hostile: sizes and names are checked, what is unpacked is bounded in [`limits`], nothing is ever written under the
//! name of a member, and errors in one member do not affect the others.
//!
//! ```
//! use std::sync::Arc;
//!
//! use ptxcheck_packages::{Select, Source, recognise};
//!
//! assert_eq!(recognise(&Source::memory(Arc::new(b"\x7fELF".to_vec()))), None);
//! ```

#![warn(unreachable_pub, unnameable_types)]

mod bounds;
mod compressed;
mod deb;
mod keep;
mod kind;
pub mod limits;
mod names;
mod open;
mod source;
mod tar;
mod trouble;
mod zip;

pub use compressed::Compression;
pub use keep::Unpacked;
pub use kind::{PackageKind, is_installed_package, recognise};
pub use open::{Entry, Member, Select, open};
pub use source::Source;
pub use trouble::Trouble;
