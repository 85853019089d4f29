//! The header of bytecode (MLIR, Bytecode Format): the magic number, the version of the format as a number of variable length,
//! and the name of the writer, which a NUL ends: `MLIR22.1.8`.

use crate::limits::MAX_WRITER_BYTES;

/// The first bytes of bytecode.
pub const MAGIC: &[u8] = b"ML\xefR";

/// The major version of MLIR that is read.
pub const MLIR_VERSION: u32 = 22;

/// The writer of bytecode, and its major version where it says one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    /// As the header has it.
    pub name: String,
    /// 22 of `MLIR22.1.8`.
    pub major: Option<u32>,
}

/// True if bytes are bytecode.
#[must_use]
pub fn is_bytecode(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// The writer that the header of bytecode names; `None` where the header is cut off, or is none.
#[must_use]
pub fn writer(bytes: &[u8]) -> Option<Writer> {
    let rest = bytes.strip_prefix(MAGIC)?;
    // The zeros at the end of the first byte count the bytes that follow it; with eight of them, eight follow.
    let first = *rest.first()?;
    let rest = rest.get(1 + first.trailing_zeros().min(8) as usize..)?;
    let end = memchr::memchr(0, &rest[..rest.len().min(MAX_WRITER_BYTES)])?;
    let name = String::from_utf8_lossy(&rest[..end]).into_owned();
    let major = name.strip_prefix("MLIR").and_then(|version| {
        let end = version
            .find(|letter: char| !letter.is_ascii_digit())
            .unwrap_or(version.len());
        version[..end].parse().ok()
    });
    Some(Writer { name, major })
}

#[cfg(test)]
mod tests {
    use super::writer;

    #[test]
    fn the_header_names_its_writer() {
        let of = |bytes: &[u8]| writer(bytes).map(|writer| (writer.name, writer.major));
        assert_eq!(
            of(b"ML\xefR\x0dMLIR22.1.8\0\x1f"),
            Some(("MLIR22.1.8".to_owned(), Some(22)))
        );
        assert_eq!(
            of(b"ML\xefR\x0dMLIR23.0.0git\0"),
            Some(("MLIR23.0.0git".to_owned(), Some(23)))
        );
        assert_eq!(of(b"ML\xefR\x0dother\0"), Some(("other".to_owned(), None)));
        // A version of two bytes.
        assert_eq!(
            of(b"ML\xefR\x02\x01MLIR22\0"),
            Some(("MLIR22".to_owned(), Some(22)))
        );
        for cut in [
            &b""[..],
            b"ML\xefR",
            b"ML\xefR\x0d",
            b"ML\xefR\x0dMLIR22",
            b"ML\xefR\0\0",
            b"MLIR",
        ] {
            assert_eq!(of(cut), None, "{cut:?}");
        }
        let long = [b"ML\xefR\x0d".to_vec(), vec![b'x'; 1000], vec![0]].concat();
        assert_eq!(of(&long), None);
    }
}
