//! Unpacking, with the size of the result bounded before and while it is made.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::Read as _;

use zstd::bulk::Decompressor;

use crate::limits::{MAX_IMAGE_BYTES, MAX_LZ4_RATIO, MAX_ZSTD_RATIO, MAX_ZSTD_WINDOW_LOG};

/// How an image is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Not at all.
    None,
    /// As one LZ4 block.
    Lz4,
    /// As a zstd frame.
    Zstd,
}

impl Packing {
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

/// Why an image could not be unpacked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is no such data.
    Malformed(String),
    /// It is larger than [`MAX_IMAGE_BYTES`], or claims to be.
    TooLarge(String),
}

/// The content of an image whose header says that it has `size` bytes (0 if it does not say).
///
/// # Errors
///
/// [`Refusal`]: nothing of it is used.
pub fn unpack(packing: Packing, packed: &[u8], size: u64) -> Result<Cow<'_, [u8]>, Refusal> {
    if packing == Packing::None {
        return Ok(Cow::Borrowed(packed));
    }
    if size > MAX_IMAGE_BYTES {
        return Err(Refusal::TooLarge(format!(
            "it unpacks to {size} bytes; the limit is {MAX_IMAGE_BYTES}"
        )));
    }
    match packing {
        Packing::Lz4 => lz4(packed, size),
        _ => zstd(packed, size),
    }
    .map(Cow::Owned)
}

fn lz4(packed: &[u8], size: u64) -> Result<Vec<u8>, Refusal> {
    // A block cannot say more with its bytes, so the claim is wrong, and nothing is allocated for it.
    if size > (packed.len() as u64).saturating_mul(MAX_LZ4_RATIO) {
        return Err(Refusal::Malformed(format!(
            "{} bytes of LZ4 cannot unpack to {size}",
            packed.len()
        )));
    }
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
    let length = lz4_flex::block::decompress_into(packed, &mut bytes)
        .map_err(|error| Refusal::Malformed(format!("its LZ4 data is broken: {error}")))?;
    if length != bytes.len() {
        return Err(Refusal::Malformed(format!(
            "it unpacks to {length} bytes, its header says {size}"
        )));
    }
    Ok(bytes)
}

thread_local! {
    /// Its tables are larger than most images.
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

fn zstd(packed: &[u8], size: u64) -> Result<Vec<u8>, Refusal> {
    if size == 0 {
        return zstd_of_unknown_size(packed);
    }
    if size > (packed.len() as u64).saturating_mul(MAX_ZSTD_RATIO) {
        return Err(Refusal::Malformed(format!(
            "{} bytes of zstd cannot unpack to {size}",
            packed.len()
        )));
    }
    let length = usize::try_from(size).unwrap_or(usize::MAX);
    let unpacked = DECOMPRESSOR.with_borrow_mut(|kept| {
        let decompressor = match kept {
            Some(decompressor) => decompressor,
            None => {
                let mut new = Decompressor::new()?;
                new.window_log_max(MAX_ZSTD_WINDOW_LOG)?;
                kept.insert(new)
            }
        };
        // Fails where there is more than `length`.
        decompressor.decompress(packed, length)
    });
    let bytes = unpacked.map_err(|error| broken(&error))?;
    if bytes.len() == length {
        Ok(bytes)
    } else {
        Err(Refusal::Malformed(format!(
            "it unpacks to {} bytes, its header says {size}",
            bytes.len()
        )))
    }
}

/// The vector grows with what is there, up to the limit.
fn zstd_of_unknown_size(packed: &[u8]) -> Result<Vec<u8>, Refusal> {
    let mut decoder = zstd::Decoder::with_buffer(packed).map_err(|error| broken(&error))?;
    decoder
        .window_log_max(MAX_ZSTD_WINDOW_LOG)
        .map_err(|error| broken(&error))?;
    let mut bytes = Vec::new();
    decoder
        .take(MAX_IMAGE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| broken(&error))?;
    match bytes.len() as u64 {
        0 => Err(Refusal::Malformed("its zstd data holds nothing".to_owned())),
        length if length > MAX_IMAGE_BYTES => Err(Refusal::TooLarge(format!(
            "it unpacks to more than {MAX_IMAGE_BYTES} bytes"
        ))),
        _ => Ok(bytes),
    }
}

fn broken(error: &std::io::Error) -> Refusal {
    Refusal::Malformed(format!("its zstd data is broken: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_not_believed() {
        assert!(matches!(
            unpack(Packing::Lz4, b"\0", u64::MAX),
            Err(Refusal::TooLarge(_))
        ));
        assert!(matches!(
            unpack(Packing::Lz4, b"\0", MAX_IMAGE_BYTES),
            Err(Refusal::Malformed(_))
        ));
        assert!(matches!(
            unpack(Packing::Zstd, b"no frame", 10),
            Err(Refusal::Malformed(_))
        ));
        assert!(matches!(
            unpack(Packing::Zstd, b"", 0),
            Err(Refusal::Malformed(_))
        ));
        assert_eq!(unpack(Packing::None, b"x", u64::MAX).as_deref(), Ok(&b"x"[..]));
    }

    #[test]
    fn an_lz4_block_has_the_size_that_is_said() {
        // Four literals.
        let block = [0x40, b'a', b'b', b'c', b'd'];
        assert_eq!(unpack(Packing::Lz4, &block, 4).as_deref(), Ok(&b"abcd"[..]));
        assert!(unpack(Packing::Lz4, &block, 5).is_err());
        assert!(unpack(Packing::Lz4, &block, 3).is_err());
    }
}
