//! clang's own bundles, in the section `.llvm.offloading` of objects that are to be linked for the device.
//!
//! ```text
//! header  0 u8[4] 10 FF 10 AD   4 u32 version   8 u64 size   16 u64 offset of the entries
//!        24 u64 version 1: size of the one entry; version 2: number of entries
//! entry   0 u16 image kind   2 u16 offload kind   4 u32 flags   8 u64 offset and 16 u64 number of strings
//!        24 u64 offset and 32 u64 size of the image
//! string  0 u64 offset of the key   8 u64 offset of the value   (version 2: 16 u64 size of the value)
//! ```
//!
//! Kinds: 1 object, 2 bitcode, 3 cubin, 4 fat binary, 5 PTX, 6 SPIR-V; 0 for a file whose name says nothing to the packager,
//! such as one that ends in `.ptx`. Offsets count from the header, keys and values end with a NUL.

use super::bytes::{slice, text, u16_at, u32_at, u64_at};
use super::format::{self, FileFormat};
use super::readers::Container;
use crate::kinds::ImageKind;

pub(super) const MAGIC: &[u8] = b"\x10\xff\x10\xad";
pub(super) const SECTION: &str = ".llvm.offloading";

const ENTRY_BYTES: u64 = 40;

/// Most strings of an entry that are read.
const MAX_STRINGS: u64 = 64;

/// An image in a bundle.
pub(super) struct BundledImage<'a> {
    pub(super) kind: ImageKind,
    pub(super) target: String,
    /// Offset in the bytes given, in bytes.
    pub(super) offset: usize,
    pub(super) payload: &'a [u8],
}

/// The images of all bundles that stand back to back in `bytes`.
///
/// # Errors
///
/// The images of bundles; if a bundle is malformed, those before the error, and a sentence about it.
pub(super) fn images(bytes: &[u8]) -> (Vec<BundledImage<'_>>, Option<&'static str>) {
    let mut images = Vec::new();
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| rest.starts_with(MAGIC)) {
        let Some((size, bundle)) = bundle(rest) else {
            return (
                images,
                Some("a bundle of clang's claims more bytes than there are"),
            );
        };
        if read(bundle, at, &mut images).is_none() {
            return (
                images,
                Some("a bundle of clang's has an entry that lies elsewhere"),
            );
        }
        at += size;
        // Bundles are aligned to 8 bytes.
        at += bytes[at..].iter().take(7).take_while(|byte| **byte == 0).count();
    }
    (images, None)
}

fn bundle(rest: &[u8]) -> Option<(usize, &[u8])> {
    let size = usize::try_from(u64_at(rest, 8)?)
        .ok()
        .filter(|size| *size >= 32)?;
    Some((size, rest.get(..size)?))
}

fn read<'a>(bundle: &'a [u8], base: usize, images: &mut Vec<BundledImage<'a>>) -> Option<()> {
    let entries = u64_at(bundle, 16)?;
    let count = match u32_at(bundle, 4)? {
        0 | 1 => 1,
        _ => u64_at(bundle, 24)?,
    };
    let has_value_sizes = u32_at(bundle, 4)? > 1;
    let table = slice(bundle, entries, count.checked_mul(ENTRY_BYTES)?)?;
    for entry in table.chunks_exact(ENTRY_BYTES as usize) {
        let offset = u64_at(entry, 24)?;
        let payload = slice(bundle, offset, u64_at(entry, 32)?)?;
        let step = if has_value_sizes { 24 } else { 16 };
        let (strings, number) = (u64_at(entry, 8)?, u64_at(entry, 16)?);
        let value = |key| value(bundle, strings, number, step, key);
        // Code for other GPUs and hosts is not this program's.
        if value("triple").is_some_and(|triple| !triple.starts_with("nvptx")) {
            continue;
        }
        let kind = match u16_at(entry, 0)? {
            2 => ImageKind::LlvmIr,
            1 | 3 => ImageKind::Cubin,
            5 => ImageKind::Ptx,
            // clang's packager does not know the kind of each file that it is given.
            _ => match format::file_format("", payload) {
                FileFormat::Ptx => ImageKind::Ptx,
                FileFormat::Container(container) if container == Container::ELF => ImageKind::Cubin,
                FileFormat::LlvmBitcode | FileFormat::LlvmText => ImageKind::LlvmIr,
                FileFormat::LtoIr => ImageKind::LtoIr,
                // It is found like all others.
                FileFormat::Container(container) if container == Container::FAT_BINARY => continue,
                _ => ImageKind::Other,
            },
        };
        images.push(BundledImage {
            kind,
            target: value("arch").unwrap_or_default(),
            offset: base + usize::try_from(offset).ok()?,
            payload,
        });
    }
    Some(())
}

fn value(bundle: &[u8], strings: u64, count: u64, step: u64, key: &str) -> Option<String> {
    let at = |offset: u64| bundle.get(usize::try_from(offset).ok()?..).map(text);
    for number in 0..count.min(MAX_STRINGS) {
        let pair = slice(bundle, strings.checked_add(number * step)?, 16)?;
        if at(u64_at(pair, 0)?)? == key {
            return at(u64_at(pair, 8)?);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bundle with one image, as version 1 lays it out.
    fn one(kind: u16, payload: &[u8]) -> Vec<u8> {
        let strings = b"arch\0sm_90\0";
        let (pairs, text) = (32 + 40, 32 + 40 + 16);
        let image = text + strings.len();
        let size = (image + payload.len()) as u64;
        let mut bytes = MAGIC.to_vec();
        bytes.extend(1_u32.to_le_bytes());
        for number in [size, 32, 40] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(kind.to_le_bytes());
        bytes.extend([2, 0, 0, 0, 0, 0]);
        for number in [pairs, 1, image, payload.len(), text, text + 5] {
            bytes.extend((number as u64).to_le_bytes());
        }
        bytes.extend(strings);
        bytes.extend(payload);
        bytes
    }

    #[test]
    fn bundles_stand_back_to_back() {
        let mut bytes = one(2, b"BC\xc0\xde12");
        while !bytes.len().is_multiple_of(8) {
            bytes.push(0);
        }
        bytes.extend(one(5, b".version"));
        let (images, trouble) = images(&bytes);
        assert_eq!(trouble, None);
        assert_eq!(images.len(), 2);
        assert_eq!(
            (images[0].kind, images[1].kind),
            (ImageKind::LlvmIr, ImageKind::Ptx)
        );
        assert_eq!(
            (images[1].target.as_str(), images[1].payload),
            ("sm_90", &b".version"[..])
        );
        assert_eq!(&bytes[images[1].offset..][..8], b".version");
    }

    #[test]
    fn what_the_packager_does_not_know_is_told_by_its_bytes() {
        let told = |kind: u16, payload: &[u8]| -> Vec<ImageKind> {
            let bytes = one(kind, payload);
            images(&bytes).0.iter().map(|image| image.kind).collect()
        };
        assert_eq!(told(0, b"// x\n.version 8.0\n.target sm_90\n"), [ImageKind::Ptx]);
        assert_eq!(told(0, b"BC\xc0\xde12"), [ImageKind::LlvmIr]);
        assert_eq!(told(0, b"\x7fELF\x02\x01"), [ImageKind::Cubin]);
        assert_eq!(told(4, b"\x50\xed\x55\xba\x01\x00\x10\x00"), []);
        assert_eq!(told(0, b"?"), [ImageKind::Other]);
        assert_eq!(told(6, b"\x03\x02\x23\x07"), [ImageKind::Other]);
    }

    #[test]
    fn images_for_other_gpus_are_passed_over() {
        let mut bytes = one(2, b"BC\xc0\xde12");
        let key = memchr::memmem::find(&bytes, b"arch\0sm_90").unwrap();
        bytes[key..key + 10].copy_from_slice(b"triple\0am\0");
        // The value begins after the longer key.
        let pair = 32 + ENTRY_BYTES as usize + 8;
        bytes[pair..pair + 8].copy_from_slice(&(key as u64 + 7).to_le_bytes());
        assert_eq!(images(&bytes).0.len(), 0);
    }

    #[test]
    fn no_offset_is_believed() {
        let bytes = one(5, b".version");
        for at in (8..bytes.len() - 8).step_by(4) {
            let mut mutant = bytes.clone();
            mutant[at..at + 8].copy_from_slice(&u64::MAX.to_le_bytes());
            let _ = images(&mutant);
        }
        for length in 0..bytes.len() {
            let _ = images(&bytes[..length]);
        }
    }
}
