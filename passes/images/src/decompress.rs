//! Unpacking, with the size of the result bounded before and while it is made.

use std::cell::{Cell, RefCell};
use std::io::Read as _;
use std::ops::Deref;

use zstd::bulk::Decompressor;

pub use crate::errors::Refusal;
use crate::limits::{
    KEPT_BUFFER_BYTES, LARGE_IMAGE_BYTES, MAX_IMAGE_BYTES, MAX_LZ4_RATIO, MAX_UNPACKED_BYTES,
    MAX_UNPACKED_RATIO, MAX_ZSTD_RATIO, MAX_ZSTD_WINDOW_LOG,
};

/// The compression of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all.
    None,
    /// As one LZ4 block.
    Lz4,
    /// As a zstd frame.
    Zstd,
}

const LZ4: &str = "LZ4";
const ZSTD: &str = "zstd";

impl Compression {
    /// The word in documents.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Lz4 => Some("lz4"),
            Self::Zstd => Some("zstd"),
        }
    }
}

/// Most bytes that the images of a file of this size unpack to, all together.
#[must_use]
pub const fn allowance(file: u64) -> u64 {
    file.saturating_mul(MAX_UNPACKED_RATIO)
        .saturating_add(MAX_UNPACKED_BYTES)
}

/// The content of an image whose header says that it has `size` bytes (0 if it does not say).
///
/// # Errors
///
/// [`Refusal`]: nothing of it is used.
pub fn unpack(compression: Compression, packed: &[u8], size: u64) -> Result<Unpacked<'_>, Refusal> {
    if compression == Compression::None {
        return Ok(Unpacked::InPlace(packed));
    }
    if size > MAX_IMAGE_BYTES {
        return Err(Refusal::ClaimsTooMuch(size));
    }
    match compression {
        Compression::Lz4 => lz4(packed, size),
        _ => zstd(packed, size),
    }
    .map(Unpacked::Made)
}

/// The content of an image.
#[derive(Debug)]
pub enum Unpacked<'a> {
    /// It lies in the file as it is.
    InPlace(&'a [u8]),
    /// It lay in the file as it is, and was copied.
    Copied(Vec<u8>),
    /// It was unpacked.
    Made(Buffer),
}

impl Deref for Unpacked<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::InPlace(bytes) => bytes,
            Self::Copied(bytes) => bytes,
            Self::Made(buffer) => &buffer.bytes[..buffer.length],
        }
    }
}

/// Memory that the thread's next image uses again: most of a fresh buffer's cost is the kernel's, which hands out its
/// pages one by one.
#[derive(Debug)]
pub struct Buffer {
    bytes: Vec<u8>,
    /// Length of the content. The bytes after it are from earlier images.
    length: usize,
}

thread_local! {
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl Buffer {
    /// A buffer of this many bytes, whose content is left over from others.
    fn of(length: usize) -> Self {
        let spare = SPARE.take();
        let bytes = if spare.len() >= length {
            spare
        } else {
            vec![0; length]
        };
        Self { bytes, length }
    }
}

impl Buffer {
    /// Itself, if `length` bytes were written to it.
    fn holds(self, length: usize) -> Result<Self, Refusal> {
        if length == self.length {
            return Ok(self);
        }
        Err(Refusal::OtherSize {
            unpacked: length,
            claimed: self.length,
        })
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        // Large images come one after the other, on one thread; `tidy` is for what they leave.
        if bytes.len() <= KEPT_BUFFER_BYTES || bytes.len() as u64 > LARGE_IMAGE_BYTES {
            // A thread that ends takes no more.
            let _ = SPARE.try_with(|spare| spare.set(bytes));
        }
    }
}

/// Gives back the memory that this thread keeps of large images. To be called after the last of a file.
pub fn tidy() {
    let bytes = SPARE.take();
    if bytes.len() <= KEPT_BUFFER_BYTES {
        SPARE.set(bytes);
    }
}

fn lz4(packed: &[u8], size: u64) -> Result<Buffer, Refusal> {
    // A block cannot say more with its bytes, so the claim is wrong, and nothing is allocated for it.
    if size > (packed.len() as u64).saturating_mul(MAX_LZ4_RATIO) {
        return Err(Refusal::Impossible {
            format: LZ4,
            packed: packed.len(),
            claimed: size,
        });
    }
    let mut buffer = Buffer::of(usize::try_from(size).unwrap_or(usize::MAX));
    let whole = &mut buffer.bytes[..buffer.length];
    let length =
        lz4_flex::block::decompress_into(packed, whole).map_err(|error| Refusal::broken(LZ4, error))?;
    buffer.holds(length)
}

thread_local! {
    /// Its tables are larger than most images.
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

fn zstd(packed: &[u8], size: u64) -> Result<Buffer, Refusal> {
    if size == 0 {
        return zstd_of_unknown_size(packed);
    }
    if size > (packed.len() as u64).saturating_mul(MAX_ZSTD_RATIO) {
        return Err(Refusal::Impossible {
            format: ZSTD,
            packed: packed.len(),
            claimed: size,
        });
    }
    let mut buffer = Buffer::of(usize::try_from(size).unwrap_or(usize::MAX));
    let whole = &mut buffer.bytes[..buffer.length];
    let length = DECOMPRESSOR.with_borrow_mut(|kept| {
        let decompressor = match kept {
            Some(decompressor) => decompressor,
            None => {
                let mut new = Decompressor::new()?;
                new.window_log_max(MAX_ZSTD_WINDOW_LOG)?;
                kept.insert(new)
            }
        };
        // Fails where there is more than there is room for.
        decompressor.decompress_to_buffer(packed, whole)
    });
    let length = length.map_err(|error| Refusal::broken(ZSTD, error))?;
    buffer.holds(length)
}

/// The vector grows with what is there, up to the limit.
fn zstd_of_unknown_size(packed: &[u8]) -> Result<Buffer, Refusal> {
    let mut decoder = zstd::Decoder::with_buffer(packed).map_err(|error| Refusal::broken(ZSTD, error))?;
    decoder
        .window_log_max(MAX_ZSTD_WINDOW_LOG)
        .map_err(|error| Refusal::broken(ZSTD, error))?;
    let mut bytes = Vec::new();
    decoder
        .take(MAX_IMAGE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Refusal::broken(ZSTD, error))?;
    match bytes.len() as u64 {
        0 => Err(Refusal::Empty),
        length if length > MAX_IMAGE_BYTES => Err(Refusal::TooLarge),
        _ => Ok(Buffer {
            length: bytes.len(),
            bytes,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(compression: Compression, packed: &[u8], size: u64) -> Vec<u8> {
        unpack(compression, packed, size).unwrap().to_vec()
    }

    /// Memory is used again, and what was in it is not seen.
    #[test]
    fn buffers_are_used_again() {
        let large = [&[0xf0, 255, 255 - 15][..], &[b'x'; 510 - 15 + 15]].concat();
        assert_eq!(content(Compression::Lz4, &large, 510), [b'x'; 510]);
        let first = unpack(Compression::Lz4, &[0x10, b'a'], 1).unwrap();
        let second = unpack(Compression::Lz4, &[0x20, b'b', b'c'], 2).unwrap();
        assert_eq!((&first[..], &second[..]), (&b"a"[..], &b"bc"[..]));
        assert_eq!(SPARE.take().len(), 0);
        drop(first);
        assert_eq!(SPARE.take().len(), 510);
        drop(Buffer::of(KEPT_BUFFER_BYTES + 1));
        assert_eq!(SPARE.take().len(), 0);
        drop(Buffer::of(LARGE_IMAGE_BYTES as usize + 1));
        tidy();
        assert_eq!(SPARE.take().len(), 0);
        drop(second);
    }

    #[test]
    fn claims_are_not_believed() {
        assert!(matches!(
            unpack(Compression::Lz4, b"\0", u64::MAX),
            Err(Refusal::ClaimsTooMuch(u64::MAX))
        ));
        assert!(matches!(
            unpack(Compression::Lz4, b"\0", MAX_IMAGE_BYTES),
            Err(Refusal::Impossible { packed: 1, .. })
        ));
        assert!(matches!(
            unpack(Compression::Zstd, b"no frame", 10),
            Err(Refusal::Broken { format: "zstd", .. })
        ));
        assert!(matches!(
            unpack(Compression::Zstd, b"", 0),
            Err(Refusal::Broken { .. })
        ));
        assert_eq!(content(Compression::None, b"x", u64::MAX), b"x");
    }

    #[test]
    fn an_lz4_block_has_the_size_that_is_said() {
        // Four literals.
        let block = [0x40, b'a', b'b', b'c', b'd'];
        assert_eq!(content(Compression::Lz4, &block, 4), b"abcd");
        assert!(unpack(Compression::Lz4, &block, 5).is_err());
        assert!(unpack(Compression::Lz4, &block, 3).is_err());
    }
}
