//! What stands around a run: the rules that there are, its settings, where its inputs are, and the causes of its findings.

pub mod candidates;
mod confirm;
pub mod exceptions;
pub mod group;
pub mod packages;
pub mod progress;
pub mod registry;
pub mod report_cache;
pub mod scope;
pub mod selector;
pub mod settings;
pub(crate) mod shard_assignment;
pub mod sources;
