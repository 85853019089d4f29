//! What images declare, what GPUs load of them, and what a policy demands.

pub(crate) mod comments;
pub mod drivers;
pub mod forecast;
pub mod inventory;
pub(crate) mod link;
pub mod occupancy;
pub mod policy;
pub mod reach;
pub mod recompile;
pub mod release;
pub mod variants;
