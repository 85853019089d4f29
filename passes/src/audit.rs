//! The declarations of images, the code that GPUs load, and the demands of a policy.

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
