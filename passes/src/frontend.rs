//! Front ends: one per language, all ending in the device IR.

pub mod ptx;
