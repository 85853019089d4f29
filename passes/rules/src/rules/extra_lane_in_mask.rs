//! ## What it does
//!
//! Finds warp collectives whose mask names lanes that provably do not execute a matching collective. The analysis
//! follows each of the 32 lanes: through comparisons of thread and lane numbers, calls, loops and early returns.
//!
//! ## Why is this bad?
//!
//! All lanes that a mask names and that have not ended must execute the same operation with the same mask, else the
//! behaviour is undefined (CUDA C++ Programming Guide, Warp Shuffle Functions and Synchronization Functions; guideline
//! G-2.1). In practice the lanes that are there wait for ever, or compute with values that nobody sent.
//!
//! ## Example
//!
//! ```cuda
//! if (threadIdx.x % 32 < 16) value += __shfl_down_sync(0xffffffff, value, 8);
//! out[threadIdx.x] = value;
//! ```
//!
//! ## Use instead
//!
//! The mask of the lanes that take part:
//!
//! ```cuda
//! if (threadIdx.x % 32 < 16) value += __shfl_down_sync(0x0000ffff, value, 8);
//! ```
//!
//! If the condition is not known in advance, a ballot on it, taken before the branch while all lanes are together:
//!
//! ```cuda
//! unsigned takers = __ballot_sync(0xffffffff, wanted);
//! if (wanted) value = __shfl_sync(takers, value, __ffs(takers) - 1);
//! ```
//!
//! ## Limits
//!
//! The threads that share a warp depend on the block: it is taken to be one-dimensional with a multiple of 32 threads,
//! unless `.reqntid`, `--launch-block` or `[launch]` in `ptxcheck.toml` says otherwise; a finding that rests on it has
//! a note.
//! A kernel that reads `threadIdx.y` or `threadIdx.z` has blocks of more dimensions, whose rows fold into warps: it is analysed for many
//! shapes, and each finding holds for all of them.
//!
//! Masks from memory or from kernel parameters are not known. A lane that ends without a further store, atomic, call,
//! collective or barrier counts as ended: `if (i >= n) return;` before a shuffle is silent. A lane that does something visible
//! on its way out is missing: that is the CUDA guide's view (every lane that is named and has not exited executes the call). The
//! PTX ISA, taken literally, lets the others go on once it has ended. A lane that executes the
//! same operation with the same mask anywhere else in the kernel may meet the others there, so PTX402 reports that
//! case. So it does where lanes have asked which of them are there or agree (`__activemask()`, a ballot, a match) and may
//! go another way since for a reason that is not followed: a group of Cooperative Groups, kept in memory, has a way for
//! whole warps that a part of one never takes. Recursion and calls through pointers are not followed.

use crate::analysis::lanes::Problem;
use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::rule::{Certainties, Family, Level, Rule, WitnessSearch};

use crate::support::lanes as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX401",
    name: "extra-lane-in-mask",
    aliases: &["extra_lane_in_mask"],
    guidelines: &["G-2.1"],
    family: Family::Warp,
    summary: "the mask of a warp collective names lanes that do not take part",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_conditional(WitnessSearch::Collectives),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    text::each(module, Problem::Missing, |root, found| {
        let issue = &found.issue;
        if issue.certainty.is_certain() {
            let mask = issue.mask.unwrap_or(0);
            let message = format!(
                "{} of `{}` names {}, which {} not reach a matching {}",
                text::the_mask(issue),
                text::operation(module, issue),
                text::named(issue.lanes),
                text::verb(issue.lanes, "does", "do"),
                text::noun(module, issue),
            );
            let draft = text::begin_finding(module, report, found, message);
            text::assumption(draft, module, root.function, &root.launch);
            let lanes = mask & !issue.lanes | issue.here;
            text::advise_mask(draft, "name the lanes that take part", &root.launch, lanes);
        }
    });
}
