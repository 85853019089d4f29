//! The bytes that copies access.

use ptxcheck_ir::{AsyncOp, Asynchronous, CopyKind, FunctionId, InstructionId};
use rustc_hash::FxHashMap;

use super::operand::AsyncOperands;
use super::sum::ALL_BYTES;

/// Bytes of the smallest box of a tensor copy (CUDA Driver API, cuTensorMapEncodeTiled: a multiple of 16 in the inner dimension).
const LEAST_BOX: u64 = 16;

/// CTAs of the largest cluster that a mask can name.
const MAX_CLUSTER: u32 = 16;

/// The constant operands of a copy.
#[derive(Clone, Copy)]
struct Known {
    bytes: Option<u64>,
    mask: Option<u64>,
    byte_mask: Option<u64>,
}

/// The sizes and masks of a module's copies, where they are constants.
pub(super) struct Sizes {
    known: FxHashMap<(FunctionId, InstructionId), Known>,
}

/// The CTAs of a cluster that a copy writes into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// The own one is among them, whichever it is.
    Own,
    /// Some are left out, and the own one may be one of these.
    Some,
    /// Not known.
    Unknown,
}

impl Sizes {
    /// Of all copies whose own function decides them, of the operands of a module.
    pub(super) fn new(operands: &[AsyncOperands]) -> Self {
        let own = operands.iter().filter(|one| one.callers.is_empty());
        let known = own.map(|one| {
            let known = Known {
                bytes: one.bytes,
                mask: one.mask,
                byte_mask: one.byte_mask,
            };
            ((one.function, one.operation.instruction), known)
        });
        Self {
            known: known.collect(),
        }
    }

    /// Bytes that a copy certainly accesses, at its source or its destination.
    #[must_use]
    pub(super) fn of(&self, function: FunctionId, one: &Asynchronous) -> Option<u64> {
        match one.op {
            AsyncOp::Copy(copy) if copy.kind == CopyKind::Tensor => Some(LEAST_BOX),
            _ => self.known(function, one),
        }
    }

    /// Bytes that a copy accesses, where that is a constant.
    #[must_use]
    pub(super) fn known(&self, function: FunctionId, one: &Asynchronous) -> Option<u64> {
        match one.op {
            AsyncOp::Copy(_) => {
                let known = self.known.get(&(function, one.instruction))?.bytes?;
                Some(known & 0xffff_ffff).filter(|&bytes| bytes > 0)
            }
            _ => None,
        }
    }

    /// The bytes of each 16 that a copy certainly accesses: all, unless it has a mask.
    #[must_use]
    pub(super) fn byte_mask(&self, function: FunctionId, one: &Asynchronous) -> u16 {
        if one.values.byte_mask.is_none() {
            return ALL_BYTES;
        }
        let known = self.known.get(&(function, one.instruction));
        known.and_then(|known| known.byte_mask).unwrap_or(0) as u16
    }

    /// The CTAs that a copy to shared memory writes into, in a cluster of so many.
    #[must_use]
    pub(super) fn written(&self, function: FunctionId, one: &Asynchronous, cluster: Option<u32>) -> Written {
        if one.values.mask.is_none() {
            return Written::Own;
        }
        let known = self.known.get(&(function, one.instruction));
        let Some(mask) = known.and_then(|known| known.mask) else {
            return Written::Unknown;
        };
        let count = cluster.map_or(MAX_CLUSTER, |count| count.clamp(1, MAX_CLUSTER));
        let all = u64::MAX >> (u64::BITS - count);
        if mask & all == all {
            Written::Own
        } else {
            Written::Some
        }
    }
}
