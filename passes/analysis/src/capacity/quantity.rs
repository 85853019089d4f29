//! The values that decide how large an index is.

use ptxcheck_ir::Register;

/// A value that a launch or its data decide. None is negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantity {
    /// `blockIdx`, by dimension.
    BlockIndex(u8),
    /// `gridDim`
    GridSide(u8),
    /// `threadIdx`
    ThreadIndex(u8),
    /// `blockDim`
    BlockSide(u8),
    /// A piece of a parameter: its number, the offset in bytes and its bits.
    Param {
        /// The number of the parameter, from 0.
        number: u16,
        /// Bytes before the piece.
        offset: i32,
        /// Bits of the piece.
        bits: u8,
    },
    /// What a register holds: a loaded value, or one that is computed in another way.
    Register(Register),
    /// What a function returns: no index with it is in the results.
    Returned,
}
