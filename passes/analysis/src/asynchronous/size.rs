//! The bytes that copies access, and whether two accesses certainly overlap.

use ptxcheck_ir::{AsyncOp, Asynchronous, Body, CopyKind, FunctionId, InstructionId};
use rustc_hash::FxHashMap;

use super::operand::AsyncOperands;
use super::spot::{distance, spot};
use crate::function::Analyses;

/// Bytes of the smallest box of a tensor copy (CUDA Driver API, cuTensorMapEncodeTiled: a multiple of 16 in the inner dimension).
const LEAST_BOX: u64 = 16;

/// The sizes of a module's copies, as far as they are constants.
pub struct Sizes {
    bytes: FxHashMap<(FunctionId, InstructionId), u64>,
}

impl Sizes {
    /// Of all copies whose own function decides them, of the operands of a module.
    pub(crate) fn new(operands: &[AsyncOperands]) -> Self {
        let own = operands.iter().filter(|one| one.callers.is_empty());
        let bytes = own.filter_map(|one| Some(((one.function, one.operation.instruction), one.bytes?)));
        Self {
            bytes: bytes.collect(),
        }
    }

    /// Bytes that a copy certainly accesses, at its source or its destination.
    #[must_use]
    pub fn of(&self, function: FunctionId, one: &Asynchronous) -> Option<u64> {
        match one.op {
            AsyncOp::Copy(copy) if copy.kind == CopyKind::Tensor => Some(LEAST_BOX),
            AsyncOp::Copy(_) => {
                let known = self.bytes.get(&(function, one.instruction))?;
                Some(known & 0xffff_ffff).filter(|&bytes| bytes > 0)
            }
            _ => None,
        }
    }

    /// True if two accesses of so many bytes, the second executed behind the first, certainly overlap.
    #[must_use]
    pub fn overlap(
        &self,
        body: &Body<'_>,
        analyses: &Analyses<'_>,
        (first, first_bytes): (InstructionId, u64),
        (second, second_bytes): (InstructionId, u64),
    ) -> bool {
        let spot_of = |at| Some((at, spot(body, analyses, at)?));
        let distance = spot_of(first)
            .zip(spot_of(second))
            .and_then(|(from, to)| distance(body, analyses, from, to));
        distance.is_some_and(|by| {
            i128::from(by) < i128::from(first_bytes) && i128::from(by) + i128::from(second_bytes) > 0
        })
    }
}
