//! ## What it does
//!
//! Finds shuffles that read a lane that their mask leaves out, or that does not take part: it went another way, it has
//! ended, or it does not exist.
//!
//! ## Why is this bad?
//!
//! The value is undefined if the source lane is inactive or not in the mask (PTX ISA, `shfl.sync`; guideline G-2.3).
//!
//! ## Example
//!
//! ```cuda
//! if (threadIdx.x == 0) return;
//! value = __shfl_sync(0xffffffff, value, 0);
//! ```
//!
//! ## Use instead
//!
//! The shuffle before the lane leaves:
//!
//! ```cuda
//! value = __shfl_sync(0xffffffff, value, 0);
//! if (threadIdx.x == 0) return;
//! ```
//!
//! Or a source that takes part, such as the first lane of the mask:
//!
//! ```cuda
//! value = __shfl_sync(mask, value, __ffs(mask) - 1);
//! ```
//!
//! ## Limits
//!
//! The last steps of a reduction let some lanes read beyond the mask and discard what they get. So a shuffle is
//! reported as definite only if a lane certainly reads an absent one and the value is certainly used: as an address, a mask,
//! a source lane, in a branch, in a store to memory that others see, or by code outside the module, directly or through
//! copies, arithmetic, the stack and calls; by that lane, or by one that a further shuffle with known source lanes hands it
//! to. Of the values that `printf` prints, the first is known to be used. A use that depends on an unknown condition, factor or mask is not
//! certain. Otherwise it is a potential finding: after `if (i >= n) return;` a butterfly reads lanes that may have ended, which matters
//! where `n` is not a multiple of 32. There is no finding if nothing reads the result of the shuffle. Source lanes that are computed from
//! data are not known.

use crate::analysis::lanes::Problem;
use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::finding::Certainty;
use crate::rule::{Certainties, Family, Level, Rule, WitnessSearch};

use crate::support::lanes as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX404",
    name: "shuffle-from-absent-lane",
    guidelines: &["G-2.3"],
    family: Family::Warp,
    summary: "a shuffle reads a lane that does not take part",
    definite: Level::Error,
    certainties: Certainties::DEFINITE
        .or_conditional(WitnessSearch::Collectives)
        .or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    text::each(module, Problem::AbsentSource, |root, found| {
        let issue = &found.issue;
        let operation = text::operation(module, issue);
        let outside = issue.mask.is_some_and(|mask| issue.lanes & mask == 0);
        let reason = match (outside, issue.mask) {
            (true, Some(mask)) => format!("which its mask {} does not name", text::mask_with_lanes(mask)),
            _ if issue.certainty.is_certain() => {
                format!("which {} not take part", text::verb(issue.lanes, "does", "do"))
            }
            _ => format!(
                "{} may not take part",
                text::verb(issue.lanes, "which", "some of which")
            ),
        };
        let reads = match issue.certainty {
            Certainty::Potential => "may read",
            _ => "reads",
        };
        let message = format!(
            "`{operation}` {reads} from {}, {reason}",
            text::named(issue.lanes)
        );
        let draft = text::begin_finding(module, report, found, message);
        text::assumption(draft, module, root.function, &root.launch);
        draft.note(format!(
            "{} from there",
            text::subject(issue.here, "reads", "read")
        ));
        draft.help("read from a lane that takes part and that the mask names");
    });
}
