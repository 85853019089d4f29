//! The bytes that copies access.

use ptxcheck_ir::{AsyncOp, Asynchronous, CopyKind, FunctionId, InstructionId};
use rustc_hash::FxHashMap;

use super::operand::AsyncOperands;

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
            _ => self.known(function, one),
        }
    }

    /// Bytes that a copy accesses, where that is a constant.
    #[must_use]
    pub fn known(&self, function: FunctionId, one: &Asynchronous) -> Option<u64> {
        match one.op {
            AsyncOp::Copy(_) => {
                let known = self.bytes.get(&(function, one.instruction))?;
                Some(known & 0xffff_ffff).filter(|&bytes| bytes > 0)
            }
            _ => None,
        }
    }
}
