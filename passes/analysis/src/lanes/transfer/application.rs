//! An operation that is applied to vectors.

use crate::lanes::meaning::Around;
use crate::lanes::value::Lanes;

/// Limit on the uses of an interpreted operation.
pub(crate) const MAX_USES: usize = 8;

/// An operation to apply: the lanes that execute it, and the key of the unknown value it makes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Application {
    /// The lanes that may be here.
    pub here: Lanes,
    /// Two operations with equal keys make the same unknown value.
    pub key: (u64, u64),
    /// The innermost loop around it.
    pub around: Around,
}
