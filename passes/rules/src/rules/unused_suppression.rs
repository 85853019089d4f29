//! ## What it does
//!
//! With `--strict-config`, reports what the configuration and comments say of findings that are not there: exceptions (`[[allow]]`,
//! `// ptxcheck: allow(…)`) that suppress nothing, comments that do not count because they have no reason or name no rule,
//! patterns of paths and kernels that nothing fits, assumptions about parameters that no kernel has, and lines of a baseline
//! (`--baseline`) that no longer occur. `audit`, which has the option, too, reports exceptions for rules about images, lines of a baseline that
//! an audit wrote, and parts of the policy that nothing is for: patterns that no kernel fits, budgets that limit nothing or are for targets without
//! machine code, GPUs that are not among `gpus`, and `by-design` for kernels that load everywhere.
//!
//! ## Why is this bad?
//!
//! An exception outlives the code that it was made for, and then hides the next defect in its place. A pattern that nothing
//! fits is misspelt, or for something that has been renamed. A line of a baseline for a fixed finding covers the same defect when it comes
//! back.
//!
//! ## Example
//!
//! ```toml
//! [[allow]]
//! rule = "PTX403"
//! kernel = "legacy_reduce"     # renamed last year
//! reason = "ticket 1234"
//! ```
//!
//! ## Use instead
//!
//! Remove it, or say what is there now.
//!
//! ## Limits
//!
//! It holds for a run over all that the configuration is for: a run over a part of it has no use for the rest. Comments
//! are looked for in PTX and LLVM IR, and in the sources that findings and kernels point to. An exception for rules about images alone
//! is left to audits. A line of a baseline is judged only if each of its inputs was analysed in full by the command that it is
//! of, with its rule on.

use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX906",
    name: "unused-suppression",
    family: Family::Run,
    summary: "an exception or a pattern of the configuration matches nothing",
    definite: Level::Warning,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};
