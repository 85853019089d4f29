//! ## What it does
//!
//! Reports inputs that exceed one of the limits that keep the checker safe from hostile input (nesting, sizes,
//! what packed images unpack to, time), and says which.
//!
//! ## Why is this bad?
//!
//! Code past the limit was not analysed. The limits are far above what compilers write; a file that hits one
//! is broken or made to harm.
//!
//! ## Example
//!
//! ```text
//! error[PTX903] limit-exceeded: blocks are nested deeper than 1,024
//! ```
//!
//! ## Use instead
//!
//! For the time limit, a larger `--timeout`.
//!
//! ## Limits
//!
//! The limits are constants of the libraries (`limits.rs`) and cannot be set, apart from the time: `--timeout` counts from
//! opening an input to its last finding. Without it, only LLVM IR has a limit, 30 s and 1 s more for each MiB of a module,
//! at most 600 s. For one input, at most 65,536 findings are reported, definite ones first.

use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX903",
    name: "limit-exceeded",
    family: Family::Run,
    summary: "an input exceeds a limit of the checker",
    definite: Level::Error,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};
