//! The commands, one file each.

pub mod audit;
pub mod check;
pub mod explain;
pub mod extract;
pub mod rules;
pub mod worker;
