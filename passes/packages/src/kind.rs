//! The kind of a package, by its name or its first bytes.

use crate::compressed::Compression;
use crate::source::Source;

/// The kind of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PackageKind {
    /// A zip archive; wheels and conda packages are such.
    Zip,
    /// A tar archive.
    Tar,
    /// A tar archive, compressed.
    CompressedTar(Compression),
    /// A Debian package.
    Deb,
}

/// Endings of packages that are installed as they are: the files in a folder of packages.
const INSTALLED: [&str; 2] = [".conda", ".whl"];

/// Endings of other archives.
const ARCHIVES: [&str; 12] = [
    ".deb", ".tar", ".tar.bz2", ".tar.gz", ".tar.xz", ".tar.zst", ".tbz", ".tbz2", ".tgz", ".txz", ".tzst",
    ".zip",
];

/// True if a file of this name is a wheel or a conda package: those are opened wherever they lie.
#[must_use]
pub fn is_installed_package(name: &str) -> bool {
    ends_with(name, &INSTALLED)
}

/// True if a file of this name is an archive of another kind.
pub(crate) fn is_archive(name: &str) -> bool {
    ends_with(name, &ARCHIVES)
}

fn ends_with(name: &str, endings: &[&str]) -> bool {
    let ends = |ending: &&str| {
        let start = name.len().checked_sub(ending.len());
        let end = start.and_then(|start| name.get(start..));
        end.is_some_and(|end| end.eq_ignore_ascii_case(ending)) && name.len() > ending.len()
    };
    endings.iter().any(ends)
}

/// The kind of a package, by its bytes; `None` if they are none of a package that this crate opens. A compressed stream is one if
/// a tar archive lies in it.
#[must_use]
pub fn recognise(source: &Source) -> Option<PackageKind> {
    let start = source.start(TAR_BLOCK_BYTES);
    if start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06") {
        return Some(PackageKind::Zip);
    }
    if start.starts_with(b"!<arch>\ndebian-binary") {
        return Some(PackageKind::Deb);
    }
    if let Some(compression) = Compression::of(&start) {
        let first = compression.start(source, TAR_BLOCK_BYTES);
        return is_tar(&first).then_some(PackageKind::CompressedTar(compression));
    }
    is_tar(&start).then_some(PackageKind::Tar)
}

/// Bytes of a header of tar.
pub(crate) const TAR_BLOCK_BYTES: usize = 512;

/// True if a file begins with a header of tar: by its magic number or, as the oldest have none, by its checksum.
fn is_tar(start: &[u8]) -> bool {
    let Some(block) = start.first_chunk::<TAR_BLOCK_BYTES>() else {
        return false;
    };
    block[0] != 0 && (block[MAGIC_AT..].starts_with(b"ustar") || has_right_sum(block))
}

/// Bytes of the field with the checksum of a header.
const SUM: std::ops::Range<usize> = 148..156;

/// True if the checksum of a header is that of its bytes.
pub(crate) fn has_right_sum(block: &[u8; TAR_BLOCK_BYTES]) -> bool {
    let counted = |(at, byte): (usize, &u8)| u32::from(if SUM.contains(&at) { b' ' } else { *byte });
    let sum: u32 = block.iter().enumerate().map(counted).sum();
    tar::Header::from_byte_slice(block)
        .cksum()
        .is_ok_and(|claimed| claimed == sum)
}

/// Place of the magic number in a header of tar.
const MAGIC_AT: usize = 257;

#[cfg(test)]
mod tests {
    use super::{is_archive, is_installed_package};

    #[test]
    fn names_tell_packages() {
        assert!(is_installed_package("a-1.0-py3-none-any.whl") && is_installed_package("b/A.CONDA"));
        assert!(!is_installed_package(".whl") && !is_installed_package("é"));
        for name in ["a.tar.gz", "a.TGZ", "a.deb", "x/a.zip"] {
            assert!(is_archive(name) && !is_installed_package(name), "{name}");
        }
        assert!(!is_archive("a.gz") && !is_archive("a.so") && !is_archive("a.whl"));
    }
}
