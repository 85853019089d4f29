//! What a file is, and which pieces of device code it holds.
//!
//! ```text
//! bytes ── form ──┬─ PTX ───────────────────────────────┐
//!                 ├─ ELF, archive ── elf, archive: where │ sections lie; host: what host code registers
//!                 └─ anything ── scan: fat binaries at any offset ── container ── entry ──┐
//!                                        offloading: clang's own bundles ─────────────────┴─ Found
//! Found ── decompress ── PTX for the front end, or cubin: what machine code declares
//! ```
//!
//! Files are hostile: every offset is checked, every size is bounded by [`crate::limits`], and what is wrong with one
//! image leaves the others alone.

mod archive;
mod bitcode;
mod bytes;
mod container;
mod content;
pub mod cubin;
mod debug_paths;
pub mod decompress;
mod elf;
pub mod embedded;
mod entry;
mod foreign;
mod form;
mod host;
pub mod host_names;
pub mod kinds;
pub mod limits;
mod offloading;
mod package;
mod scan;
mod sections;
mod windows;

pub use content::{Content, Unread, map_large_files};
pub use decompress::Packing;
pub use foreign::Foreign;
pub use form::{Form, form};
pub use scan::{Contents, Found, Trouble, scan};
