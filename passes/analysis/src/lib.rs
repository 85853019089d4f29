//! Analyses: computed once per function, on first demand, and shared by all rules.

pub mod call_graph;
pub mod certainty;
pub mod collectives;
pub mod constants;
pub mod dataflow;
pub mod definitions;
pub mod dominators;
pub mod function;
pub mod lanes;
pub mod launches;
pub mod limits;
pub mod module;
pub mod place;
pub mod predicates;
pub mod provenance;
mod ranges;
pub mod reached;
pub mod references;
pub mod shared;
pub mod slots;
#[cfg(test)]
mod testing;

pub use certainty::Certainty;
pub use function::Analyses;
pub use module::ModuleAnalyses;
pub use place::Place;
pub use ptxcheck_ir::{cfg, evaluate, params};
pub use shared::Shared;
