//! The matrices that the lanes of a warp load and store together.

use super::index::InstructionId;

/// The address of each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowAddress {
    /// Lane l has the address of row l; those of further lanes are not used.
    OfLane,
    /// All lanes have the address of row 0. The last use of the instruction is the distance from a row to the next, in elements of so
    /// many bits.
    Strided(u8),
    /// All lanes have the address of row 0, and a row begins where the one before ends.
    Dense,
}

/// Rows of memory that a warp accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rows {
    /// The number of rows, 1 to 32.
    pub count: u8,
    /// Bytes of a row, 4 to 252, in whole words of four.
    pub bytes: u8,
    /// Where they are.
    pub address: RowAddress,
}

impl Rows {
    /// Bytes that the address of a row has to be a multiple of: 16 for rows of lanes (PTX ISA, ldmatrix); the size of what a lane gets for
    /// others (PTX ISA, Matrix Storage for WMMA), at most 16: the functions of CUDA ask for distances between rows of 16 bytes.
    pub(super) const fn unit(self) -> u8 {
        let of_lane = self.count as u16 * self.bytes as u16 / 32;
        match self.address {
            RowAddress::OfLane => 16,
            _ if of_lane >= 16 => 16,
            _ => of_lane as u8,
        }
    }
}

/// An entry of [`super::Body::matrices`]: an [`super::Op::Access`] of an unknown width whose bytes are these rows. Which elements of them a lane loads
/// or stores is not said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Matrix {
    /// The instruction.
    pub instruction: InstructionId,
    /// The rows.
    pub rows: Rows,
}

impl Matrix {
    /// The same where the first instruction of the body is number `base` of another one.
    #[must_use]
    pub fn moved(self, base: usize) -> Self {
        Self {
            instruction: InstructionId::new(self.instruction.index() + base),
            ..self
        }
    }
}
