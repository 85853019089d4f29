//! ## What it does
//!
//! Reports modules for an architecture that is newer than this release knows.
//!
//! ## Why is this bad?
//!
//! The module was analysed all the same, by the rules of the newest architecture that is known. What is new there (limits,
//! instructions, spaces) is not in them.
//!
//! ## Example
//!
//! ```ptx
//! .target sm_250a
//! ```
//!
//! ## Use instead
//!
//! A newer release of ptxcheck.
//!
//! ## Limits
//!
//! PTX and LLVM IR that name their architecture. Machine code is not analysed, so nothing is said of it.

use crate::checks::Check;
use crate::context::{ModuleContext, Place, Report};
use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX907",
    name: "unknown-target",
    family: Family::Run,
    summary: "a module is for an architecture that this release does not know",
    definite: Level::Warning,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

/// The newest architecture that CUDA 13.5 and LLVM 22 know.
const NEWEST: u32 = 121;

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    let target = module.module.target;
    // The name in a malformed directive means nothing.
    if target.sm > NEWEST && !module.module.is_damaged {
        report
            .definite(
                Place::Module,
                format!(
                    "the module is for {}, which this release does not know",
                    target.name
                ),
            )
            .note(format!("it was analysed as if it were for sm_{NEWEST}"))
            .data("target", target.name);
    }
}
