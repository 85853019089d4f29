//! The bytes that copies access.

use ptxcheck_ir::{AsyncOp, Asynchronous, CopyKind, FunctionId};
use rustc_hash::FxHashMap;

use super::operand::{AsyncOperands, KnownOperands};
use super::sites::Site;
use super::sum::ALL_BYTES;

/// Bytes of the smallest box of a tensor copy (CUDA Driver API, cuTensorMapEncodeTiled: a multiple of 16 in the inner dimension).
const LEAST_BOX: u64 = 16;

/// CTAs of the largest cluster that a mask can name.
const MAX_CLUSTER: u32 = 16;

/// The sizes and masks of a module's copies, where they are constants.
pub(super) struct Sizes {
    known: FxHashMap<Site, KnownOperands>,
}

/// The CTAs of a cluster that a copy writes into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// The own one is among them, for any rank.
    Own,
    /// Some are left out, and the own one may be one of these.
    Some,
    /// The CTAs are not known.
    Unknown,
}

impl Sizes {
    /// For all operations whose own function decides their operands.
    pub(super) fn new(operands: &[AsyncOperands]) -> Self {
        let own = operands.iter().filter(|one| one.callers.is_empty());
        let known = own.map(|one| ((one.function, one.operation.instruction), one.known));
        Self {
            known: known.collect(),
        }
    }

    /// The operands of an operation that its own function decides.
    pub(super) fn known_operands(&self, function: FunctionId, one: &Asynchronous) -> KnownOperands {
        let known = self.known.get(&(function, one.instruction));
        known.copied().unwrap_or_default()
    }

    /// Bytes that a copy certainly accesses, at its source or its destination.
    pub(super) fn certain_bytes(&self, function: FunctionId, one: &Asynchronous) -> Option<u64> {
        match one.op {
            AsyncOp::Copy(copy) if copy.kind == CopyKind::Tensor => Some(LEAST_BOX),
            _ => self.known_bytes(function, one),
        }
    }

    /// Bytes that a copy accesses, where that is a constant.
    pub(super) fn known_bytes(&self, function: FunctionId, one: &Asynchronous) -> Option<u64> {
        match one.op {
            AsyncOp::Copy(_) => {
                let bytes = self.known_operands(function, one).bytes? & 0xffff_ffff;
                (bytes > 0).then_some(bytes)
            }
            _ => None,
        }
    }

    /// The bytes of each 16 that a copy certainly accesses: all, unless it has a mask.
    pub(super) fn byte_mask(&self, function: FunctionId, one: &Asynchronous) -> u16 {
        if one.values.byte_mask.is_none() {
            return ALL_BYTES;
        }
        self.known_operands(function, one).byte_mask.unwrap_or(0) as u16
    }

    /// The CTAs that a copy to shared memory writes into, in a cluster of so many.
    pub(super) fn written_ctas(
        &self,
        function: FunctionId,
        one: &Asynchronous,
        cluster: Option<u32>,
    ) -> Written {
        if one.values.mask.is_none() {
            return Written::Own;
        }
        let Some(mask) = self.known_operands(function, one).mask else {
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
