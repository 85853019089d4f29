//! The analysis library of ptxcheck: device IR, analyses and rules for compiled GPU code.
//!
//! [`run::check`] takes inputs and [`settings::Settings`] and returns findings. `ARCHITECTURE.md` shows the way of
//! one input through the library.

pub mod context;
pub mod finding;
pub mod limits;
pub mod names;
pub mod rule;
pub mod rules;
pub mod run;
pub mod settings;
