//! What images declare, what GPUs load of them, and what a policy demands.

pub mod drivers;
pub(crate) mod empty_kernels;
pub mod forecast;
pub(crate) mod index_limits;
pub mod inventory;
pub(crate) mod link;
pub mod occupancy;
pub mod policy;
pub mod reach;
pub mod recompile;
pub mod release;
pub mod variants;
