//! The analysis library of ptxcheck: device IR, analyses and rules for compiled GPU code.
//!
//! [`run::check`] takes inputs and [`settings::Settings`] and returns findings. `ARCHITECTURE.md` shows the way of
//! one input through the library.

pub mod analysis;
pub mod context;
pub mod deadline;
pub mod externs;
pub mod finding;
mod fingerprint;
pub mod frontend;
mod groups;
pub mod image;
pub mod inventory;
pub mod ir;
pub mod launches;
pub mod limits;
pub mod link;
mod locate;
pub mod names;
pub mod policy;
pub mod rule;
pub mod rules;
pub mod run;
pub mod settings;
pub mod shown;
#[cfg(test)]
mod testing;
pub mod toolkit;
#[cfg(feature = "ir")]
pub mod worker;
