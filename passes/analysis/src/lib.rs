//! The analyses: facts about a module of device IR, computed on first demand and shared by all rules.
//!
//! ```text
//! Module ─► function::Analyses   of one function: CFG, dominators, definitions, slots, reachable code
//!        ─► shared::Shared       of all functions, with the call graph and the requested analyses
//!        ─► lanes, provenance, collectives      of the module; they take Shared, and not each other's results
//!        ─► out_of_bounds, misaligned, asynchronous, contention, register_budget  of the module, each on its own
//!        ─► module::ModuleAnalyses              keeps all of that for the rules
//! ```
//!
//! It sees the device IR alone: the same code gives the same results in PTX and in LLVM IR, and no front end is among its
//! dependencies (tests write their code as PTX). It knows no rule, no file and no message: its results are instructions,
//! values and a certainty ([`Certainty`]). Every loop over an input has a limit in `limits.rs` or checks the deadline, and
//! an unfinished analysis proves nothing.
//!
//! ```
//! use ptxcheck_analysis::{AnalysisOptions, ModuleAnalyses};
//! use ptxcheck_frontend_ptx::{PtxOrigin, lower};
//!
//! let text = b".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\tbar.warp.sync 0;\n\tret;\n}\n";
//! let tree = ptxcheck_ptx_parser::parse(text).expect("a module");
//! let origin = PtxOrigin::new(&tree);
//! let module = lower(&tree, &origin);
//! let analyses = ModuleAnalyses::new(&module, AnalysisOptions::default());
//!
//! // Where the lanes go: no lane that reaches this barrier is in its member mask.
//! let root = &analyses.lanes()[0];
//! assert_eq!(root.findings.len(), 1);
//! // The control-flow graph of the kernel, already computed by the analysis of lanes or by this call.
//! assert_eq!(analyses.function(root.function).cfg().reverse_postorder().len(), 1);
//! ```

#![warn(unreachable_pub, unnameable_types)]

mod addresses;
pub mod asynchronous;
mod block_size;
pub mod call_graph;
pub mod capacity;
mod certain_paths;
mod certainty;
pub mod collectives;
pub mod constant_objects;
pub mod constants;
pub mod contention;
mod contexts;
pub mod dataflow;
pub mod definitions;
pub mod dominators;
mod entered_function;
mod frame_alias;
mod function;
pub mod lanes;
pub mod launches;
mod limits;
pub mod mask_source;
pub mod misaligned;
mod module;
pub mod out_of_bounds;
mod param_objects;
pub mod param_sources;
mod place;
mod pointer_passthrough;
mod predicates;
pub mod provenance;
mod ranges;
mod reached;
pub mod references;
pub mod register_budget;
mod shared;
pub mod shared_arrays;
mod slots;
#[cfg(test)]
mod testing;
mod thread_ends;
mod threads;
mod value;
mod variable;

pub use certainty::Certainty;
pub use function::Analyses;
pub use module::ModuleAnalyses;
pub use place::Place;
pub use ptxcheck_ir::{cfg, evaluate, params};
pub use shared::{AnalysisOptions, Shared};
