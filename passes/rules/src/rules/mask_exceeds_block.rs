//! ## What it does
//!
//! Finds warp collectives whose mask names lanes that do not exist: the kernel's `.reqntid` or `.maxntid`
//! (`__launch_bounds__`, `__block_size__`), or the block given by `--launch-block` or `[launch]` in `ptxcheck.toml`,
//! makes the warp smaller.
//!
//! ## Why is this bad?
//!
//! It need not be. Lanes that do not exist take no part, as if they had ended, and a collective waits for lanes that have
//! not ended: NVIDIA's libraries run code for whole warps in blocks of 8 and 16 threads. But the mask says that somebody
//! counted on them: the reduction of a warp that is not there, or launch bounds that do not fit the code.
//!
//! ## Example
//!
//! ```cuda
//! __global__ void __launch_bounds__(16) sum(int *out) { out[0] = __reduce_add_sync(0xffffffff, threadIdx.x); }
//! ```
//!
//! ## Use instead
//!
//! The lanes of the block:
//!
//! ```cuda
//! __global__ void __launch_bounds__(16) sum(int *out) { out[0] = __reduce_add_sync(0x0000ffff, threadIdx.x); }
//! ```
//!
//! ## Limits
//!
//! Off by default; `-W PTX413` asks for what is definite, `-W potential:PTX413` for the rest. Definite where no warp of the block
//! has these lanes; potential where only the last warp lacks them, or where the lanes that pass the mask may stay away. Without a
//! known block, silent. `.maxntid` is an upper bound: below 32 threads it is taken for the block.

use crate::analysis::lanes::Problem;
use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::finding::Certainty;
use crate::rule::{Certainties, Family, Level, Rule};

use crate::support::lanes as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX413",
    name: "mask-exceeds-block",
    guidelines: &["G-2.1"],
    family: Family::Warp,
    summary: "the mask of a warp collective names lanes that the block does not have",
    definite: Level::Allow,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    text::each(module, Problem::BeyondBlock, |root, found| {
        let issue = &found.issue;
        let message = format!(
            "the mask {} of `{}` names {}, which {} not exist in this block",
            text::mask_in_words(issue.mask.unwrap_or(0)),
            text::operation(module, issue),
            text::named(issue.lanes),
            match issue.certainty {
                Certainty::Potential => "may",
                _ => text::verb(issue.lanes, "does", "do"),
            },
        );
        let right = issue.mask.unwrap_or(0) & !issue.lanes;
        let draft = text::begin_finding(module, report, found, message);
        text::assumption(draft, module, root.function, &root.launch);
        draft.help(format!(
            "name only lanes that exist: `{}`",
            text::mask_in_words(right)
        ));
    });
}
