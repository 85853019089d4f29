//! ## What it does
//!
//! Finds collectives whose mask comes from `__activemask()` and is used after control flow by which some of its lanes
//! may leave.
//!
//! ## Why is this bad?
//!
//! `__activemask()` says which lanes happen to execute it together. After a branch the mask still names lanes that went
//! elsewhere (CUDA C++ Programming Guide, Warp Vote Functions).
//!
//! ## Example
//!
//! ```cuda
//! unsigned mask = __activemask();
//! if (value > 0) value = __shfl_sync(mask, value, 0);
//! ```
//!
//! ## Use instead
//!
//! A ballot before the branch, which says what is meant:
//!
//! ```cuda
//! unsigned mask = __ballot_sync(0xffffffff, value > 0);
//! if (value > 0) value = __shfl_sync(mask, value, __ffs(mask) - 1);
//! ```
//!
//! ## Limits
//!
//! Always a potential finding, off by default (`-W PTX410` switches it on): whether the lanes split depends on data. A
//! mask that is used where all its lanes come together again is silent, as are the coalesced groups of cooperative
//! groups that are used so.

use crate::analysis::lanes::Problem;
use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::rule::{Certainties, Family, Level, Rule};

use crate::support::lanes as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX410",
    name: "stale-activemask",
    guidelines: &["G-2.1"],
    family: Family::Warp,
    summary: "a mask from `__activemask()` is used after lanes may have left",
    definite: Level::Error,
    certainties: Certainties::POTENTIAL,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    text::each(module, Problem::Stale, |_, found| {
        let message = format!(
            "the mask of `{}` comes from `__activemask()`, and lanes may have left since",
            text::operation(module, &found.issue)
        );
        let draft = text::begin_finding(module, report, found, message);
        draft.help("take the mask with `__ballot_sync(0xffffffff, condition)` before the branch");
    });
}
