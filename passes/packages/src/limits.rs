//! Limits of this crate, by name. Exceeding one is a finding about the package or the member, never a panic.

/// Most packages that lie in one another and are opened: a wheel in a zip archive is 2.
pub const MAX_DEPTH: usize = 4;

/// Most members of one package that are analysed, including those of packages in it.
pub const MAX_MEMBERS: usize = 1 << 18;

/// Largest member, unpacked, in bytes. The largest library known has some 3 GB.
pub const MAX_MEMBER_BYTES: u64 = 16 << 30;

/// Most bytes that the members of one package unpack to, as a multiple of the package's size…
pub const MAX_UNPACKED_RATIO: u64 = 64;

/// … and what is allowed on top of that, in bytes.
pub const MAX_UNPACKED_BYTES: u64 = 1 << 30;

/// Largest member of a zip archive that is unpacked in memory, in bytes: larger ones go to a temporary file. As many are in memory
/// as there are threads.
pub const MAX_IN_MEMORY_BYTES: u64 = 32 << 20;

/// Largest member of an archive read in one pass that is kept in memory, in bytes…
pub(crate) const MAX_KEPT_MEMBER_BYTES: u64 = 1 << 20;

/// … and most bytes of all those of one package. The rest goes to a temporary file.
pub(crate) const MAX_KEPT_BYTES: u64 = 64 << 20;

/// Most bytes of the names of a package's members that are kept.
pub(crate) const MAX_NAMES_BYTES: usize = 128 << 20;

/// Most members of a package whose troubles are reported one by one; a last entry counts the rest.
pub const MAX_TROUBLES: usize = 1_000;

/// Longest name of a member, or of what a link leads to, in bytes.
pub(crate) const MAX_NAME_BYTES: u64 = 16 << 10;

/// Largest extended header of tar, in bytes.
pub(crate) const MAX_PAX_BYTES: u64 = 1 << 20;

/// Most headers of tar before a member that say something about it.
pub(crate) const MAX_HEADERS_BEFORE: usize = 64;

/// Most bytes at the end of a zip archive that are searched for its directory: a comment has at most 65,535.
pub(crate) const MAX_ZIP_END_BYTES: u64 = 66 << 10;

/// Most memory of the decoder of xz, in KiB. `xz -9` takes 64 MiB.
pub(crate) const MAX_XZ_KIB: u32 = 192 << 10;

/// Largest window of a zstd frame, as a power of two: 128 MiB, which is what `zstd --long` writes.
pub(crate) const MAX_ZSTD_WINDOW_LOG: u32 = 27;

/// Most members of a Debian package that are searched for its data.
pub(crate) const MAX_DEB_MEMBERS: usize = 16;

/// Bytes that are read at a time.
pub(crate) const STEP_BYTES: usize = 128 << 10;

/// Bytes between two reads of the clock.
pub(crate) const CLOCK_BYTES: u64 = 4 << 20;
