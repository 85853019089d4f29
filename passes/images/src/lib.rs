//! The format of a file, and the images of device code in it.
//!
//! ```text
//! bytes ─ format ─┬─ PTX, LLVM IR, MLIR ───────────────────────────────────────────────────┐
//!                 ├─ ELF, archive, COFF, PE: where sections lie; host: what host code registers │
//!                 └─ anything: fat binaries at any offset ── container ── entry ───────────┤
//!                                   offloading: clang's own bundles ───────────────────────┤
//!                                   raw: what lies in the data of host files ──────────────┴─► PackedImage
//! PackedImage ── decompress ── PTX for a front end, or cubin: what machine code declares
//! ```
//!
//! Files are hostile: every offset is checked, every size is bounded in `limits.rs`, and errors in one image do not affect the others.
//!
//! Declarations of an image leave as [`ptxcheck_ir::facts`], the same as those of a module, so that rules compare both. This crate knows
//! no PTX and no LLVM IR beyond their first bytes: it hands texts out, and the caller parses them.
//!
//! ```
//! use ptxcheck_images::{FileFormat, kinds::ImageKind, scan};
//!
//! let contents = scan("kernel.ptx", b".version 8.8\n.target sm_90\n.address_size 64\n", &|| false);
//! assert_eq!(contents.format, FileFormat::Ptx);
//! assert_eq!(contents.images[0].kind, ImageKind::Ptx);
//! assert_eq!(contents.images[0].offset, 0);
//! ```

#![warn(unreachable_pub, unnameable_types)]

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
mod errors;
mod exports;
mod foreign;
mod format;
mod host;
mod host_code;
pub mod host_names;
pub mod kinds;
mod launch_shapes;
mod launches;
mod limits;
mod link_time;
mod mlir;
mod named;
mod needed;
mod offload_entries;
mod offloading;
mod package;
mod packed;
mod raw;
mod reader;
mod readers;
mod scan;
mod sections;
mod stubs;
mod windows;

pub use content::{Content, Mapped, ReadError, map_large_files};
pub use decompress::Compression;
pub use errors::{BadFile, Refusal};
pub use exports::exports;
pub use foreign::Foreign;
pub use format::{FileFormat, file_format};
pub use launch_shapes::host_launches;
pub use limits::{LARGE_IMAGE_BYTES, MAX_IMAGE_BYTES};
pub use packed::{InputError, PackedImage};
pub use reader::{Found, Reader};
pub use readers::{Container, READERS};
pub use scan::{Contents, scan, scan_with};
