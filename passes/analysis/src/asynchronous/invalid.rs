//! Constants and addresses that the operands of asynchronous operations may not be.

use ptxcheck_ir::{AsyncOp, Asynchronous, CopyKind, InstructionId, MbarrierOp, Op, Space, TensorMemory};

use super::operand::AsyncOperands;
use super::problems::{AsyncAnalysis, AsyncProblem};
use super::tensor_map::AddressedObject;
use crate::misaligned::{Misaligned, misaligned_async_addresses};
use crate::place::Place;

/// The most arrivals of an mbarrier (PTX ISA, Contents of the mbarrier object).
pub const MAX_ARRIVALS: u32 = (1 << 20) - 1;

/// A constant operand that is not allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidOperand {
    /// The bytes of a bulk copy, which are not a multiple of 16.
    Size(u32),
    /// A `cp.async` that reads more bytes than it writes.
    ReadsMore {
        /// Bytes that it reads.
        read: u32,
        /// Bytes that it writes.
        written: u32,
    },
    /// The arrivals that `mbarrier.init` or an arrival names: 0, or more than [`MAX_ARRIVALS`].
    Arrivals(u32),
    /// The columns of tensor memory that are allocated or freed: no power of two from 32 to 512.
    Columns(u32),
}

impl AsyncAnalysis<'_, '_> {
    /// The operations with a size or a count that is not allowed.
    #[must_use]
    pub fn invalid_operands(self) -> Vec<AsyncProblem<InvalidOperand>> {
        let all = self.operands().iter();
        all.filter_map(|one| self.problem_of_operands(one, invalid_operand(one)?))
            .collect()
    }

    /// The addresses of asynchronous operations that are not aligned as the operation requires, with the object of each.
    #[must_use]
    pub fn misaligned_addresses(self) -> Vec<AsyncProblem<(Misaligned, AddressedObject)>> {
        let module = self.module.module;
        let all = misaligned_async_addresses(self.module, required_alignment).into_iter();
        all.filter_map(|(operation, one)| {
            let (id, at) = (one.function, one.instruction);
            let accessed = match module.function(id).body.as_ref()?.instruction(at).op {
                Op::Access(access) => access.space,
                _ => Space::Generic,
            };
            let object = AddressedObject {
                space: one.symbol.map_or(accessed, |symbol| module.symbol(symbol).space),
                symbol: one.symbol,
            };
            Some(AsyncProblem {
                place: Place::Instruction(id, at, self.call_chain_to(id, at)?),
                operation,
                root: id,
                is_definite: one.is_definite,
                other: None,
                detail: (one, object),
            })
        })
        .collect()
    }
}

/// The constant that is not allowed.
fn invalid_operand(one: &AsyncOperands) -> Option<InvalidOperand> {
    // Sizes and counts have 32 bits.
    let number = |value: Option<u64>| value.map(|value| value as u32);
    let (bytes, count) = (number(one.known.bytes), number(one.known.count));
    match one.operation.op {
        AsyncOp::Copy(copy) if copy.kind == CopyKind::Bulk => {
            let bytes = bytes.filter(|bytes| !bytes.is_multiple_of(16))?;
            Some(InvalidOperand::Size(bytes))
        }
        AsyncOp::Copy(copy) if copy.kind == CopyKind::Element => {
            let (read, written) = (number(one.known.source_bytes)?, bytes?);
            (read > written).then_some(InvalidOperand::ReadsMore { read, written })
        }
        AsyncOp::Mbarrier(MbarrierOp::Init | MbarrierOp::Arrive { expects: false, .. }) => {
            let count = count.filter(|count| !(1..=MAX_ARRIVALS).contains(count))?;
            Some(InvalidOperand::Arrivals(count))
        }
        AsyncOp::TensorMemory(TensorMemory::Allocate { .. } | TensorMemory::Free) => {
            let columns = count.filter(|count| !(count.is_power_of_two() && (32..=512).contains(count)))?;
            Some(InvalidOperand::Columns(columns))
        }
        _ => None,
    }
}

/// The alignment in bytes that an operation requires of an address.
fn required_alignment(one: &Asynchronous, at: InstructionId) -> Option<u32> {
    if one.barrier() == Some(at) {
        return Some(8);
    }
    match one.op {
        AsyncOp::Copy(copy) => match copy.kind {
            CopyKind::Bulk => Some(16),
            CopyKind::Tensor => Some(128),
            CopyKind::Element | CopyKind::Store | CopyKind::Answer => None,
        },
        _ => None,
    }
}
