//! ## What it does
//!
//! Finds lanes that should meet at a collective but pass different masks: at one instruction, or on the two sides of a
//! branch.
//!
//! ## Why is this bad?
//!
//! Lanes meet only with equal masks (PTX ISA, `shfl.sync`: "the same qualifiers and same membermask"; guideline G-2.4).
//! A lane that the other's mask names but that passes a mask of its own is waited for in vain.
//!
//! ## Example
//!
//! ```cuda
//! if (threadIdx.x % 32 == 0) __syncwarp(~0u);
//! else __syncwarp(~1u);
//! ```
//!
//! ## Use instead
//!
//! One mask for all lanes that it names, in one call behind the branch:
//!
//! ```cuda
//! __syncwarp();
//! ```
//!
//! ## Limits
//!
//! Masks that split the warp into groups (`0xffff << (lane & 16)`, or the results of `__match_any_sync`) are fine and
//! silent. Masks that are not known are
//! not compared.

use crate::analysis::lanes::Problem;
use crate::context::{ModuleContext, Report};
use crate::rule::{Check, Family, Level, Rule};

use super::lane_report as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX406",
    name: "divergent-mask",
    aliases: &["divergent_mask"],
    guidelines: &["G-2.4"],
    family: Family::Warp,
    summary: "lanes that should meet at a warp collective pass different masks",
    definite: Level::Error,
    can_be_definite: true,
    can_be_potential: true,
    check: Check::Module(check),
};

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    text::each(module, Problem::DifferentMasks, |root, found| {
        let issue = &found.issue;
        let message = format!(
            "the mask {} of `{}` names {}, which {} another mask",
            text::mask(issue.mask.unwrap_or(0)),
            text::operation(issue),
            text::named(issue.lanes),
            text::verb(issue.lanes, "passes", "pass"),
        );
        let draft = text::begin(module, report, found, message);
        text::relate_other(draft, issue);
        text::assumption(draft, &root.launch);
        draft.help("let all lanes that the mask names pass the same mask");
    });
}
