//! ## What it does
//!
//! Reports a defect of ptxcheck itself: the analysis of this input panicked. The other inputs are unharmed.
//!
//! ## Why is this bad?
//!
//! Nothing is known about this input.
//!
//! ## Example
//!
//! ```text
//! error[PTX904] internal-error: the analysis failed: …
//! ```
//!
//! ## Use instead
//!
//! Please report it, with the input if you can.
//!
//! ## Limits
//!
//! None.

use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX904",
    name: "internal-error",
    family: Family::Run,
    summary: "the analysis of an input failed",
    definite: Level::Error,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};
