//! The list of a body's asynchronous operations.

use super::asynchronous::{AsyncAddresses, AsyncKinds, AsyncOp, AsyncValues, Asynchronous};
use super::function::Body;
use super::index::InstructionId;
use super::instruction::Value;
use super::op::Op;

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
