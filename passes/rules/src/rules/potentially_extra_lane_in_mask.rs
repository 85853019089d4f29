//! ## What it does
//!
//! Finds warp collectives whose mask names lanes that may not execute a matching collective: the branch that leads to
//! it depends on a value that can differ between the lanes, and lanes that go elsewhere still do something visible.
//!
//! ## Why is this bad?
//!
//! See PTX401. The code alone does not show whether the lanes split on some input; often the author knows that they do not.
//!
//! ## Example
//!
//! ```cuda
//! if (in[threadIdx.x] > 0) total = __reduce_add_sync(0xffffffff, in[threadIdx.x]);
//! out[threadIdx.x] = total;               // lanes that skip the reduction get here all the same
//! ```
//!
//! ## Use instead
//!
//! ```cuda
//! unsigned takers = __ballot_sync(0xffffffff, in[threadIdx.x] > 0);
//! if (in[threadIdx.x] > 0) total = __reduce_add_sync(takers, in[threadIdx.x]);
//! out[threadIdx.x] = total;
//! ```
//!
//! ## Limits
//!
//! Off by default; `-W PTX402` switches it on. A condition that is the same in all lanes for a reason that the code
//! does not show (data laid out so) is reported. A condition on kernel parameters, on the index of the block or the
//! warp, or on a value that a vote or a shuffle has given to all lanes is the same in all lanes, and silent. Masks that are
//! not known are silent, but for lanes that they name all the same (`mask | 0x100`), and for ballots of a value that the
//! branch to the call compares with another number: `__ballot_sync(0xffffffff, v > 1)`, passed where `v > 2`.

use crate::analysis::lanes::Problem;
use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::finding::Certainty;
use crate::rule::{Certainties, Family, Level, Rule};

use crate::support::lanes as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX402",
    name: "potentially-extra-lane-in-mask",
    aliases: &["potentially_extra_lane_in_mask"],
    guidelines: &["G-2.1"],
    family: Family::Warp,
    summary: "the mask of a warp collective names lanes that may not take part",
    definite: Level::Error,
    certainties: Certainties::POTENTIAL,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    text::each(module, Problem::Missing, |root, found| {
        let issue = &found.issue;
        if issue.certainty == Certainty::Potential {
            let message = format!(
                "{} of `{}` names {}, {} may not reach a matching {}",
                text::the_mask(issue),
                text::operation(module, issue),
                text::named(issue.lanes),
                text::verb(issue.lanes, "which", "some of which"),
                text::noun(module, issue),
            );
            let draft = text::begin_finding(module, report, found, message);
            text::assumption(draft, module, root.function, &root.launch);
            draft.help(format!(
                "name the lanes that take part: {}",
                text::ballot(&root.launch)
            ));
        }
    });
}
