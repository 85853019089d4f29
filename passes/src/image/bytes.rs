//! Little-endian numbers and texts at offsets that a file claims.

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

/// The text up to the first NUL, invalid UTF-8 replaced.
pub(super) fn text(bytes: &[u8]) -> String {
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
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
