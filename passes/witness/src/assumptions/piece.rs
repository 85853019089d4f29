//! The bytes of a kernel's parameters that an assumption is about.

/// Some bytes of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The parameter, from 0.
    pub number: u16,
    /// Bytes before it in the parameter.
    pub offset: u32,
    /// Bytes, 1 to 8; `None` for as many as the kernel loads there.
    pub bytes: Option<u8>,
}
