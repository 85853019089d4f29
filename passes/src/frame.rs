//! The frame of a run: the settings, the places of inputs, and the causes of findings.

pub mod candidates;
pub mod exceptions;
pub mod group;
pub mod packages;
pub mod progress;
pub mod report_cache;
pub mod scope;
pub mod settings;
pub(crate) mod shard_assignment;
pub mod sources;
