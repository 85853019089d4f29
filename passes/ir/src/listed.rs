//! The lists of a body's asynchronous operations and matrices.

use super::asynchronous::{AsyncAddresses, AsyncKinds, AsyncOp, AsyncValues, Asynchronous};
use super::function::Body;
use super::index::InstructionId;
use super::instruction::Value;
use super::matrix::{Matrix, RowAddress, Rows};
use super::op::{Access, AccessKind, Op};

impl Body<'_> {
    /// Adds an operation to the list: as [`AsyncOp::Unknown`] where its operands are none that it takes.
    pub fn note_asynchronous(&mut self, one: Asynchronous) {
        if one.instruction.index() >= self.instructions.len() {
            return;
        }
        let one = if self.is_sound(&one) {
            one
        } else {
            Asynchronous {
                op: AsyncOp::Unknown,
                addresses: AsyncAddresses::default(),
                values: AsyncValues::default(),
                ..one
            }
        };
        self.async_kinds |= AsyncKinds::of(one.op);
        self.asynchronous.push(one);
    }

    /// True if one of these operations is among the instructions; takes no pass over them.
    #[must_use]
    pub const fn has_async(&self, kinds: AsyncKinds) -> bool {
        self.async_kinds.intersects(kinds)
    }

    /// The operation that begins with an instruction.
    #[inline]
    #[must_use]
    pub fn asynchronous_at(&self, id: InstructionId) -> Option<&Asynchronous> {
        let all = &self.asynchronous;
        let found = all.binary_search_by_key(&id, |one| one.instruction).ok()?;
        all.get(found)
    }

    /// One of the values of an operation, by its number in [`Asynchronous::values`].
    #[must_use]
    pub fn async_value(&self, one: &Asynchronous, number: Option<u8>) -> Option<Value> {
        let uses = self.uses(self.instruction(one.instruction));
        uses.get(usize::from(number?)).copied()
    }

    /// True if the instructions and uses that an operation names are there, and its addresses are accesses.
    pub(super) fn is_sound(&self, one: &Asynchronous) -> bool {
        let AsyncAddresses {
            destination,
            source,
            tensor_map,
            barrier,
        } = one.addresses;
        let AsyncValues {
            bytes,
            source_bytes,
            count,
            mask,
            byte_mask,
            phase,
        } = one.values;
        let mut addresses = [destination, source, tensor_map, barrier].into_iter();
        let values = [bytes, source_bytes, count, mask, byte_mask, phase];
        let is_access = |id: InstructionId| {
            let instruction = self.instructions.get(id.index());
            instruction.is_some_and(|one| matches!(one.op, Op::Access(_)))
        };
        one.instruction.index() < self.instructions.len()
            && addresses.all(|number| one.access(number).is_none_or(is_access))
            && values
                .into_iter()
                .all(|number| number.is_none() || self.async_value(one, number).is_some())
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
            align: rows.unit(),
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
