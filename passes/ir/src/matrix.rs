//! The matrices that the lanes of a warp load and store together.

use super::function::Body;
use super::index::InstructionId;
use super::instruction::Value;
use super::op::{Access, AccessKind, Op};

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

/// An entry of [`Body::matrices`]: an [`Op::Access`] of an unknown width whose bytes are these rows. Which elements of them a lane loads
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

impl Body<'_> {
    /// Lists the rows of an instruction, if it is an access that may have them. Instructions are listed in their order.
    pub fn note_matrix(&mut self, matrix: Matrix) {
        if self.is_matrix_access(&matrix) {
            self.matrices.push(matrix);
        }
    }

    /// The rows that a warp accesses by an instruction.
    #[must_use]
    pub fn rows_at(&self, id: InstructionId) -> Option<Rows> {
        let all = &self.matrices;
        let found = all.binary_search_by_key(&id, |one| one.instruction).ok()?;
        all.get(found).map(|one| one.rows)
    }

    /// The access that a lane makes to its row, and the rows.
    #[must_use]
    pub fn row_access_at(&self, id: InstructionId) -> Option<(Access, Rows)> {
        let rows = self.rows_at(id)?;
        let Op::Access(access) = self.instruction(id).op else {
            return None;
        };
        let row = Access {
            bits: 32,
            count: rows.bytes / 4,
            ..access
        };
        Some((row, rows))
    }

    /// The distance between rows in elements, as an operand, and the bits of an element; `None` where the address says it all.
    #[must_use]
    pub fn row_stride(&self, id: InstructionId, rows: Rows) -> Option<(Value, u8)> {
        match rows.address {
            RowAddress::Strided(bits) => {
                let last = self.uses(self.instruction(id)).last();
                Some((last.copied().unwrap_or(Value::Unknown), bits))
            }
            RowAddress::OfLane | RowAddress::Dense => None,
        }
    }

    /// True if an entry is one of a load or store of this body that does not say a width of its own.
    pub(super) fn is_matrix_access(&self, matrix: &Matrix) -> bool {
        let Rows { count, bytes, .. } = matrix.rows;
        let is_access = |op: Op| match op {
            Op::Access(access) => {
                access.bits == 0 && matches!(access.kind, AccessKind::Load | AccessKind::Store)
            }
            _ => false,
        };
        let instruction = self.instructions.get(matrix.instruction.index());
        instruction.is_some_and(|one| is_access(one.op))
            && (1..=32).contains(&count)
            && bytes >= 4
            && bytes % 4 == 0
    }
}
