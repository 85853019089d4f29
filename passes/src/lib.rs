//! The analysis library of ptxcheck: device IR, analyses and rules for compiled GPU code.
//!
//! [`run::check`] takes inputs and [`settings::Settings`] and returns findings. `ARCHITECTURE.md` shows the way of
//! one input through the library.

pub use ptxcheck_analysis as analysis;
pub use ptxcheck_analysis::launches;
pub use ptxcheck_common::{deadline, externs, names, shown};
pub use ptxcheck_images as image;
pub use ptxcheck_ir as ir;

/// Front ends: one per language, all ending in the device IR.
pub mod frontend {
    #[cfg(feature = "ir")]
    pub use ptxcheck_frontend_llvm as llvm;
    pub use ptxcheck_frontend_ptx as ptx;
}

pub mod context;
pub mod driver;
pub mod finding;
mod fingerprint;
pub mod inventory;
pub mod limits;
pub mod link;
mod locate;
pub mod policy;
pub mod registry;
pub mod rule;
pub mod rules;
pub mod run;
pub mod settings;
pub mod toolkit;
#[cfg(feature = "ir")]
pub mod worker;

pub use context::{Draft, FunctionContext, ImagesContext, ModuleContext, Report};
pub use driver::{ModuleReport, check_module};
pub use finding::{Certainty, Finding};
pub use registry::Registry;
pub use rule::{Check, Family, Level, Rule};
pub use run::{Bytes, Input, Outcome, check, check_here};
pub use settings::{Selector, Settings};
