//! What stands around a run: before it, its settings and where its inputs are; after it, what becomes of its findings.

pub mod baseline;
pub mod candidates;
pub(crate) mod comments;
pub mod exceptions;
pub mod group;
pub mod packages;
pub mod progress;
pub mod report_cache;
pub mod scope;
pub mod settings;
pub mod shard;
pub(crate) mod shard_assignment;
pub mod sources;
