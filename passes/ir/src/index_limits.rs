//! Indexes that wrap in 32 bits: plain data, for reports.

use serde::{Deserialize, Serialize};

use crate::places::Located;

/// An index that a kernel computes in 32 bits, and that does not fit there from some size on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexLimit {
    /// The place that computes it.
    pub index: Located,
    /// The place of an access that uses it.
    pub access: Located,
    /// The largest index, as if nothing wrapped: a sum of products.
    pub largest: Vec<IndexTerm>,
    /// The first value that does not fit: 2³¹ for an index that is widened with its sign, 2³² for another.
    pub limit: u64,
    /// If one factor alone decides: the factor, and its least value at which the index of some thread does not fit.
    pub least: Option<(IndexFactor, u64)>,
    /// Bytes of an element.
    pub element_bytes: u32,
    /// Elements before the first whose index does not fit.
    pub elements: u64,
}

/// A product.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexTerm {
    /// The number among its factors.
    pub by: i64,
    /// The others.
    pub factors: Vec<IndexFactor>,
}

/// A value that a launch or its data decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IndexFactor {
    /// `blockIdx`, by dimension.
    BlockIndex(u8),
    /// `gridDim`
    GridSide(u8),
    /// `threadIdx`
    ThreadIndex(u8),
    /// `blockDim`
    BlockSide(u8),
    /// A parameter of the kernel, from 0, or the integer at this byte of one.
    Param {
        /// Its number.
        number: u16,
        /// Bytes before the integer.
        offset: u32,
        /// Its name in the source, where it is known.
        name: Option<String>,
    },
    /// A value that is loaded here.
    Loaded(Box<Located>),
    /// A value that is computed here.
    Computed(Box<Located>),
}
