//! The commands, one file each.

pub mod check;
pub mod explain;
pub mod rules;
pub mod worker;
