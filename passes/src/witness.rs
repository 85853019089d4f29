//! The search for launches and values with which a kernel goes wrong, and what is assumed of them.

pub mod assumptions;
pub mod conditional;
