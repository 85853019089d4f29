//! Front ends: one per language, all ending in the device IR.

#[cfg(feature = "ir")]
pub mod llvm;
pub mod ptx;
