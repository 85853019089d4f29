//! An image as its file describes it, and what is wrong with a file.

use super::decompress::Compression;
use crate::kinds::{ImageKind, ProblemKind, Role};

/// An image, as the file describes it.
#[derive(Debug)]
pub struct PackedImage<'a> {
    /// The format of its code.
    pub kind: ImageKind,
    /// The consumer it is for: driver, linker, debugger or none.
    pub role: Role,
    /// Its bytes in the file.
    pub payload: &'a [u8],
    /// Their compression.
    pub compression: Compression,
    /// Size that the file claims for it, unpacked, in bytes; 0 if it does not say.
    pub unpacked: u64,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// The container it lies in.
    pub container: Option<u32>,
    /// The section it lies in.
    pub section: Option<String>,
    /// The member of the archive it lies in.
    pub member: Option<String>,
    /// `sm_90a`; empty if the file does not say.
    pub target: String,
    /// PTX ISA version; empty if the file does not say.
    pub isa: String,
    /// Options of the compiler.
    pub options: String,
    /// It is for hosts with 64-bit addresses.
    pub is_64_bit: bool,
    /// Built for debugging.
    pub is_debug: bool,
}

impl<'a> PackedImage<'a> {
    /// PTX for a target that lies in no file.
    #[must_use]
    pub fn made(text: &'a [u8], target: String) -> Self {
        Self {
            target,
            ..Self::whole(ImageKind::Ptx, text)
        }
    }

    /// An image of these bytes, which are all of a file or lie in it as they are.
    #[must_use]
    pub fn whole(kind: ImageKind, bytes: &'a [u8]) -> Self {
        Self {
            kind,
            role: Role::Loadable,
            payload: bytes,
            compression: Compression::None,
            unpacked: 0,
            offset: 0,
            container: None,
            section: None,
            member: None,
            target: String::new(),
            isa: String::new(),
            options: String::new(),
            is_64_bit: true,
            is_debug: false,
        }
    }
}

/// An error in an input, or in one of its images, that is not a place in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// The kind: it decides which rule reports it.
    pub kind: ProblemKind,
    /// One sentence.
    pub message: String,
}

impl InputError {
    /// An error of this kind.
    #[must_use]
    pub fn new(kind: ProblemKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }
}
