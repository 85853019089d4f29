//! Why files and parts of them can't be read, as sentences that a user can act on.
//!
//! Errors of other crates about the bytes are kept as text: their types are not part of this interface.

use std::fmt::Display;

use crate::limits::MAX_IMAGE_BYTES;

/// Why a file, or a member of an archive, is not what its first bytes say.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadFile {
    /// The headers of an archive, or of one of its members.
    #[error("the archive is broken: {0}")]
    Archive(String),
    /// An archive that only lists files.
    #[error("a thin archive holds nothing itself: name the objects that it lists")]
    ThinArchive,
    /// The headers of an ELF file.
    #[error("its ELF headers are broken: {0}")]
    Elf(String),
    /// The headers of a COFF or PE file.
    #[error("its headers are broken: {0}")]
    Windows(String),
    /// Machine code that is not an ELF file.
    #[error("it is said to be machine code, and is no ELF file")]
    NoElf,
    /// Machine code that is an ELF file for no GPU.
    #[error("it is said to be machine code for a GPU, and is an ELF file for another machine")]
    OtherMachine,
}

impl BadFile {
    /// An error of the reader of archives.
    pub(crate) fn archive(said: impl Display) -> Self {
        Self::Archive(said.to_string())
    }

    /// An error of the reader of ELF files.
    pub(crate) fn elf(said: impl Display) -> Self {
        Self::Elf(said.to_string())
    }

    /// An error of the readers of COFF and PE files.
    pub(crate) fn windows(said: impl Display) -> Self {
        Self::Windows(said.to_string())
    }
}

/// Why a container of images is not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadContainer {
    /// It says that it has more bytes than the file.
    #[error("it claims {claimed} bytes, and the file has {left} more")]
    TooLong { claimed: u64, left: u64 },
    /// A container begins inside an image.
    #[error("an entry holds the beginning of another fat binary")]
    Nested,
    /// The header of an image in it.
    #[error(transparent)]
    Entry(#[from] BadEntry),
}

/// An error in the header of an image in a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadEntry {
    #[error("it is cut off inside the header of an entry")]
    Short,
    #[error("an entry does not begin with a header")]
    NoHeader,
    #[error("an entry has a header of impossible size")]
    HeaderSize,
    #[error("an entry is larger than what is left of its container")]
    TooLarge,
    #[error("an entry has more packed bytes than bytes")]
    Packed,
}

/// Why an image could not be unpacked. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Its header says that it has more than [`MAX_IMAGE_BYTES`].
    #[error("it unpacks to {0} bytes; the limit is {MAX_IMAGE_BYTES}")]
    ClaimsTooMuch(u64),
    /// It has more than [`MAX_IMAGE_BYTES`], which its header does not say.
    #[error("it unpacks to more than {MAX_IMAGE_BYTES} bytes")]
    TooLarge,
    /// No data of `packed` bytes in this format can have as many as the header says.
    #[error("{packed} bytes of {format} cannot unpack to {claimed}")]
    Impossible {
        /// `LZ4` or `zstd`.
        format: &'static str,
        /// Bytes in the file.
        packed: usize,
        /// Bytes that the header says.
        claimed: u64,
    },
    /// It has another size than its header says.
    #[error("it unpacks to {unpacked} bytes, its header says {claimed}")]
    OtherSize {
        /// Bytes that there are.
        unpacked: usize,
        /// Bytes that the header says.
        claimed: usize,
    },
    /// It is no such data.
    #[error("its {format} data is broken: {said}")]
    Broken {
        /// `LZ4` or `zstd`.
        format: &'static str,
        /// The message of the decompressor.
        said: String,
    },
    /// It is such data, and holds no byte.
    #[error("its zstd data holds nothing")]
    Empty,
}

impl Refusal {
    /// True if it exceeds a limit, false if its bytes are wrong.
    #[must_use]
    pub const fn is_limit(&self) -> bool {
        matches!(self, Self::ClaimsTooMuch(_) | Self::TooLarge)
    }

    /// An error of a decompressor.
    pub(crate) fn broken(format: &'static str, said: impl Display) -> Self {
        Self::Broken {
            format,
            said: said.to_string(),
        }
    }
}
