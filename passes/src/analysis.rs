//! Analyses: computed once per function, on first demand, and shared by all rules.

pub mod call_graph;
pub mod cfg;
pub mod collectives;
pub mod constants;
pub mod dataflow;
pub mod definitions;
pub mod dominators;
pub mod evaluate;
pub mod lanes;
pub mod params;
pub mod predicates;
pub mod provenance;
mod ranges;
pub mod reached;
pub mod references;
pub mod slots;
