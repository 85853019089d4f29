//! Archives and compressed streams that are not looked into: what lies in one is several files, packed or not, and to search
//! it as if it were one would mix them up.

/// Bytes at an offset, and what a file is that has them there.
const MAGIC: &[(usize, &[u8], &str)] = &[
    (0, b"PK\x03\x04", ZIP),
    (0, b"PK\x05\x06", ZIP),
    (0, b"PK\x07\x08", ZIP),
    (0, b"!<arch>\ndebian-binary", "a Debian package"),
    (0, b"\xed\xab\xee\xdb", "an RPM package"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (0, b"070701", "a cpio archive"),
    (0, b"070702", "a cpio archive"),
    (0, b"070707", "a cpio archive"),
    (0, b"\xc7\x71", "a cpio archive"),
    (0, b"\x71\xc7", "a cpio archive"),
    (0, b"\x1f\x8b\x08", "compressed by gzip"),
    (0, b"\xfd7zXZ\0", "compressed by xz"),
    (0, b"\x28\xb5\x2f\xfd", "compressed by zstd"),
    (0, b"\x04\x22\x4d\x18", "compressed by lz4"),
    (257, b"ustar", TAR),
];

const ZIP: &str = "a zip archive, as wheels and conda packages are";
const TAR: &str = "a tar archive";

/// The digits of pi, after the size of the blocks.
const BZIP2: (&[u8], &[u8]) = (b"BZh", b"\x31\x41\x59\x26\x53\x59");

/// Bytes of a header of tar, and of the field in it that has their sum.
const TAR_HEADER_BYTES: usize = 512;
const TAR_SUM: std::ops::Range<usize> = 148..156;

/// A noun for `bytes`, the content of a file, if it is one of those.
pub(super) fn recognise(bytes: &[u8]) -> Option<&'static str> {
    let has = |at: &usize, magic: &[u8]| bytes.get(*at..).is_some_and(|rest| rest.starts_with(magic));
    if let Some((.., what)) = MAGIC.iter().find(|(at, magic, _)| has(at, magic)) {
        return Some(what);
    }
    if has(&0, BZIP2.0) && has(&4, BZIP2.1) {
        return Some("compressed by bzip2");
    }
    is_old_tar(bytes).then_some(TAR)
}

/// The oldest tars have no magic number, but the sum of their first header, its own field counted as spaces, in octal.
fn is_old_tar(bytes: &[u8]) -> bool {
    let Some(header) = bytes.first_chunk::<TAR_HEADER_BYTES>() else {
        return false;
    };
    let digits = header[TAR_SUM].trim_ascii_start();
    let end = digits.iter().position(|digit| !(b'0'..=b'7').contains(digit));
    let claimed = digits[..end.unwrap_or(digits.len())]
        .iter()
        .fold(0_u32, |sum, digit| sum * 8 + u32::from(digit - b'0'));
    let counted = |(at, byte): (usize, &u8)| u32::from(if TAR_SUM.contains(&at) { b' ' } else { *byte });
    header[0] != 0 && claimed == header.iter().enumerate().map(counted).sum::<u32>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header as tar wrote it before 1988.
    fn old_tar() -> Vec<u8> {
        let mut header = vec![0; TAR_HEADER_BYTES];
        header[..5].copy_from_slice(b"a.ptx");
        header[100..107].copy_from_slice(b"0000644");
        header[TAR_SUM].fill(b' ');
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[TAR_SUM][..7].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        header
    }

    #[test]
    fn packages_are_known_by_their_bytes() {
        let mut tar = vec![0; 1024];
        tar[0] = b'a';
        tar[257..262].copy_from_slice(b"ustar");
        assert_eq!(recognise(&tar), Some(TAR));
        assert_eq!(recognise(&old_tar()), Some(TAR));
        assert_eq!(recognise(b"PK\x03\x04rest"), Some(ZIP));
        assert_eq!(
            recognise(b"BZh9\x31\x41\x59\x26\x53\x59"),
            Some("compressed by bzip2")
        );
        assert_eq!(recognise(b"!<arch>\ndebian-binary   "), Some("a Debian package"));
    }

    #[test]
    fn nothing_else_is_one() {
        let mut wrong = old_tar();
        wrong[3] ^= 1;
        for other in [
            &wrong[..],
            b"",
            b"!<arch>\n",
            b"BZh9",
            b"PK",
            b".version 8.0\n",
            &[0; 1024],
        ] {
            assert_eq!(recognise(other), None);
        }
    }
}
