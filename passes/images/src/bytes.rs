//! Little-endian numbers and texts at offsets that a file claims.

use crate::limits::MAX_OVERLAP;
use ptxcheck_common::shown;

/// The `N` bytes at `offset`, if they are there.
fn array<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk().copied()
}

pub(super) fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    array(bytes, offset).map(u16::from_le_bytes)
}

pub(super) fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    array(bytes, offset).map(u32::from_le_bytes)
}

pub(super) fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    array(bytes, offset).map(u64::from_le_bytes)
}

/// `offset..offset + size`, if it lies in `bytes`.
pub(super) fn slice(bytes: &[u8], offset: u64, size: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(size).ok()?)?;
    bytes.get(start..end)
}

/// The text up to the first NUL, invalid UTF-8 escaped.
pub(super) fn text(bytes: &[u8]) -> String {
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    shown::name(&bytes[..end]).into_owned()
}

/// A bound for the bytes that are read of a file whose parts can overlap: names that all begin in one long string, functions that all
/// cover one section. Without it a small file makes work that grows with the square of its size.
pub(super) struct Budget(u64);

impl Budget {
    /// For a file.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self((bytes.len() as u64).saturating_mul(MAX_OVERLAP))
    }

    /// Takes some, if that much is left.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        let left = self.0.checked_sub(bytes as u64);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}

/// The lines that are not empty, without the white space around them.
pub(crate) fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(head)
        .split(|byte| matches!(byte, b'\n' | b'\r'))
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_none() {
        let bytes = [1, 2, 3, 4, 5];
        assert_eq!(u16_at(&bytes, 3), Some(0x0504));
        assert_eq!(u16_at(&bytes, 4), None);
        assert_eq!(u32_at(&bytes, usize::MAX), None);
        assert_eq!(slice(&bytes, 4, 1), Some(&[5][..]));
        assert_eq!(slice(&bytes, 4, 2), None);
        assert_eq!(slice(&bytes, u64::MAX, u64::MAX), None);
        assert_eq!(text(b"ab\0c"), "ab");
    }
}
