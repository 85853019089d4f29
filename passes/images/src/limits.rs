//! Limits of this crate, by name. Exceeding one is a finding or a documented loss of precision, never a panic.

/// Most bytes around `.version` that are searched for the beginning of a text in the data of a host file.
pub(crate) const MAX_RAW_HEAD_BYTES: usize = 4096;

/// Largest image, unpacked, in bytes. The largest seen in production has 94 MB.
pub const MAX_IMAGE_BYTES: u64 = 512 << 20;

/// Images that unpack to more are analysed one after the other, so that memory does not grow with the threads.
pub const LARGE_IMAGE_BYTES: u64 = 64 << 20;

/// Largest buffer that a thread keeps for its next image, in bytes.
pub(crate) const KEPT_BUFFER_BYTES: usize = 16 << 20;

/// Files from this size on are mapped into memory, smaller ones are read. In bytes.
pub(crate) const MIN_MAPPED_BYTES: u64 = 4 << 20;

/// Most files that are mapped at a time; more are read.
pub(crate) const MAX_MAPPED_FILES: usize = 256;

/// Largest file that is analysed, in bytes. The largest library known has some 3 GB.
pub(crate) const MAX_FILE_BYTES: u64 = 16 << 30;

/// Most that is read into memory of what cannot be mapped: standard input, a pipe, a device. In bytes.
pub(crate) const MAX_READ_BYTES: u64 = 1 << 30;

/// Bytes between two reads of the clock while an input is read.
pub(crate) const READ_STEP_BYTES: u64 = 4 << 20;

/// Bytes between two reads of the clock while a file is searched for images.
pub(crate) const SEARCH_STEP_BYTES: usize = 64 << 20;

/// Most bytes that all images of one input unpack to, as a multiple of the input's size…
pub(crate) const MAX_UNPACKED_RATIO: u64 = 64;

/// … and what is allowed on top of that, in bytes.
pub(crate) const MAX_UNPACKED_BYTES: u64 = 1 << 30;

/// Most bytes that one byte of an LZ4 block stands for.
pub(crate) const MAX_LZ4_RATIO: u64 = 255;

/// Most bytes that one byte of a zstd frame stands for: a block of 128 KiB takes four bytes.
pub(crate) const MAX_ZSTD_RATIO: u64 = 32 << 10;

/// Largest window of a zstd frame, as a power of two: 128 MiB, which is what `zstd --long` writes. nvcc stays under 8 MiB.
pub(crate) const MAX_ZSTD_WINDOW_LOG: u32 = 27;

/// Most images of one input. cuFFT, the richest library known, has some 26,000.
pub(crate) const MAX_IMAGES: usize = 1 << 17;

/// Largest header of an entry of a fat binary, in bytes. Real ones stay under 512.
pub(crate) const MAX_ENTRY_HEADER_BYTES: u32 = 4_096;

/// Most bytes of compiler options that are kept of an entry.
pub(crate) const MAX_OPTIONS_BYTES: u32 = 1_024;

/// Most problems of one kind of trouble in a file that become findings; a last one counts the rest.
pub(crate) const SHOWN_FILE_PROBLEMS: usize = 20;

/// Longest name in a host file that is read, in bytes.
pub(crate) const MAX_SYMBOL_BYTES: usize = 16 * 1024;

/// Most bytes of a section with debug information of machine code that are read.
pub(crate) const MAX_DEBUG_BYTES: usize = 16 << 20;

/// Most bytes of the section that says how that information is laid out.
pub(crate) const MAX_ABBREVIATION_BYTES: usize = 1 << 20;

/// Most units of that information that are read.
pub(crate) const MAX_DEBUG_UNITS: usize = 64;

/// Most bytes of names, attributes and code that are read in an ELF file, as a multiple of its size. In honest files
/// they do not overlap.
pub(crate) const MAX_OVERLAP: u64 = 16;

/// Most bytes of a frame of host code that are known at a time.
pub(crate) const MAX_FRAME_BYTES: usize = 1_024;

/// Most instructions of a function of host code that is searched for launches.
pub(crate) const MAX_FUNCTION_INSTRUCTIONS: usize = 1 << 16;

/// Most targets of branches in such a function: each has a state of some kilobytes.
pub(crate) const MAX_FUNCTION_BLOCKS: usize = 4_096;

/// Most instructions that are gone over for the launches of a file, each as often as states change.
pub(crate) const MAX_WALK_STEPS: usize = 8 << 20;

/// Most launches of a file that are kept.
pub(crate) const MAX_HOST_LAUNCHES: usize = 1 << 16;

/// Most instructions that are gone over for the names that the code of a linked file registers.
pub(crate) const MAX_REGISTRATION_STEPS: usize = 8 << 20;

/// Most libraries that a file can need, and most versions of their symbols. Large programs need some hundred.
pub(crate) const MAX_NEEDED_LIBRARIES: usize = 4096;
