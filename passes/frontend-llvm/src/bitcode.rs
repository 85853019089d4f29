//! The first bytes of bitcode.

/// True if IR is bitcode, with or without a wrapper (LLVM Bitcode File Format).
pub(super) fn is_bitcode(bytes: &[u8]) -> bool {
    bytes.starts_with(b"BC") || bytes.starts_with(&[0xde, 0xc0, 0x17, 0x0b])
}
