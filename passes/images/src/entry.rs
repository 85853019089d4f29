//! The header of one image in a fat binary.
//!
//! ```text
//!  0 u16 kind        2 u16 0x101      4 u32 header size   8 u64 payload size, padded
//! 16 u32 packed size (0: not packed)  20 u32 offset of the options
//! 24 u16 minor      26 u16 major     28 u32 architecture 32 u32 offset and 36 u32 length of the name
//! 40 u64 flags      48 u64           56 u64 unpacked size (0: not packed)
//! ```
//!
//! Headers have 64 bytes or more; the options and the name follow the first 64. Measured on CUDA 11 to 13.

use super::bytes::{slice, u16_at, u32_at, u64_at};
use super::decompress::Compression;
use crate::errors::BadEntry;
use crate::kinds::ImageKind;
use crate::limits::{MAX_ENTRY_HEADER_BYTES, MAX_OPTIONS_BYTES};

/// The second word of every entry.
const VERSION: u16 = 0x101;

/// The smallest header.
const HEADER_BYTES: u32 = 64;

const IS_64_BIT: u64 = 0x1;
const IS_DEBUG: u64 = 0x2;
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
const ARCHITECTURE_SPECIFIC: u64 = 0x10_0000;
const FAMILY_SPECIFIC: u64 = 0x20_0000;

/// An entry, as its header describes it.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) kind: ImageKind,
    pub(super) header: u32,
    /// Payload in the file with its padding, in bytes.
    pub(super) padded: u64,
    /// Payload without padding; 0 where it is not packed.
    pub(super) packed: u32,
    pub(super) compression: Compression,
    pub(super) unpacked: u64,
    /// The PTX ISA version, for PTX.
    pub(super) isa: String,
    pub(super) target: String,
    pub(super) options: String,
    pub(super) is_64_bit: bool,
    pub(super) is_debug: bool,
}

impl Entry {
    /// The entry at the start of `bytes`, which end where its container ends.
    ///
    /// # Errors
    ///
    /// [`BadEntry`], if something is wrong with its header.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, BadEntry> {
        let version = u16_at(bytes, 2).ok_or(BadEntry::Short)?;
        if version != VERSION {
            return Err(BadEntry::NoHeader);
        }
        let header = u32_at(bytes, 4).ok_or(BadEntry::Short)?;
        if !(HEADER_BYTES..=MAX_ENTRY_HEADER_BYTES).contains(&header) {
            return Err(BadEntry::HeaderSize);
        }
        let head = slice(bytes, 0, u64::from(header)).ok_or(BadEntry::Short)?;
        let word = |offset| u32_at(head, offset).ok_or(BadEntry::Short);
        let padded = u64_at(head, 8).ok_or(BadEntry::Short)?;
        if padded > (bytes.len() - head.len()) as u64 {
            return Err(BadEntry::TooLarge);
        }
        let packed = word(16)?;
        if u64::from(packed) > padded {
            return Err(BadEntry::Packed);
        }
        let flags = u64_at(head, 40).ok_or(BadEntry::Short)?;
        let kind = match u16_at(head, 0).ok_or(BadEntry::Short)? {
            1 => ImageKind::Ptx,
            2 => ImageKind::Cubin,
            8 => ImageKind::LtoIr,
            0x100 => ImageKind::Bundle,
            _ => ImageKind::Other,
        };
        let isa = match kind {
            ImageKind::Ptx => {
                let version = |offset| u16_at(head, offset).ok_or(BadEntry::Short);
                format!("{}.{}", version(26)?, version(24)?)
            }
            _ => String::new(),
        };
        let suffix = match flags {
            _ if flags & ARCHITECTURE_SPECIFIC != 0 => "a",
            _ if flags & FAMILY_SPECIFIC != 0 => "f",
            _ => "",
        };
        Ok(Self {
            kind,
            header,
            padded,
            packed,
            compression: match flags {
                _ if packed == 0 => Compression::None,
                _ if flags & LZ4 != 0 => Compression::Lz4,
                _ if flags & ZSTD != 0 => Compression::Zstd,
                _ => Compression::None,
            },
            unpacked: u64_at(head, 56).ok_or(BadEntry::Short)?,
            isa,
            target: match word(28)? {
                0 => String::new(),
                architecture => format!("sm_{architecture}{suffix}"),
            },
            options: options(head, word(20)?),
            is_64_bit: flags & IS_64_BIT != 0,
            is_debug: flags & IS_DEBUG != 0,
        })
    }

    /// Header and payload in the file, in bytes. Does not overflow: `parse` has held it against the container.
    pub(super) fn size(&self) -> usize {
        self.header as usize + self.padded as usize
    }

    /// The payload without padding, where `bytes` begin with the entry.
    pub(super) fn payload<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let size = match self.packed {
            0 => self.padded,
            packed => u64::from(packed),
        };
        slice(bytes, u64::from(self.header), size).unwrap_or_default()
    }
}

/// The options: at `offset`, their own offset and length; empty where there are none or they lie elsewhere.
fn options(head: &[u8], offset: u32) -> String {
    let text = || {
        let offset = usize::try_from(offset).ok().filter(|offset| *offset > 0)?;
        let start = u32_at(head, offset)?;
        let length = u32_at(head, offset.checked_add(4)?)?;
        slice(head, start.into(), length.min(MAX_OPTIONS_BYTES).into())
    };
    text()
        .map(super::bytes::text)
        .unwrap_or_default()
        .trim()
        .to_owned()
}
