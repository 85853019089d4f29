//! ## What it does
//!
//! In modules for targets below sm_70, finds collectives whose mask names lanes that execute a matching collective
//! elsewhere in the program, but not this instruction.
//!
//! ## Why is this bad?
//!
//! Before sm_70 all lanes of a mask must execute the same instruction in convergence (PTX ISA, `bar.warp.sync` and
//! `shfl.sync`, for sm_6x and below; guideline G-2.4). Only later targets let lanes meet across instructions.
//!
//! ## Example
//!
//! ```cuda
//! if (threadIdx.x % 32 < 16) a = __shfl_sync(0xffffffff, x, 0);
//! else a = __shfl_sync(0xffffffff, y, 0);
//! ```
//!
//! ## Use instead
//!
//! One call that all lanes of the mask reach:
//!
//! ```cuda
//! a = __shfl_sync(0xffffffff, threadIdx.x % 32 < 16 ? x : y, 0);
//! ```
//!
//! ## Limits
//!
//! Those of PTX401. Modules for sm_70 and newer are silent: there this is allowed.

use crate::analysis::lanes::Problem;
use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::rule::{Certainties, Family, Level, Rule};

use crate::support::lanes as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX409",
    name: "unconverged-collective",
    guidelines: &["G-2.4"],
    family: Family::Warp,
    summary: "below sm_70, the lanes of a mask do not execute the same instruction",
    definite: Level::Error,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    text::each(module, Problem::Unconverged, |root, found| {
        let issue = &found.issue;
        if !issue.certainty.is_certain() {
            return;
        }
        let message = format!(
            "the mask {} of `{}` names {}, which {} it at another instruction: on {} that does not match",
            text::mask_in_words(issue.mask.unwrap_or(0)),
            text::operation(module, issue),
            text::named(issue.lanes),
            text::verb(issue.lanes, "executes", "execute"),
            module.module.target.name,
        );
        let draft = text::begin_finding(module, report, found, message);
        text::relate_other(draft, issue);
        text::assumption(draft, module, root.function, &root.launch);
        draft.help("move the call to where the lanes are together again, or compile for sm_70 or newer");
    });
}
