//! ## What it does
//!
//! Finds warp collectives that are executed by lanes that their mask does not name.
//!
//! ## Why is this bad?
//!
//! The behaviour is undefined if the executing lane is not in the mask (PTX ISA, `bar.warp.sync`, `shfl.sync`,
//! `vote.sync`, `match.sync`, `redux.sync`, `elect.sync`; guideline G-2.3). Where the warp is converged the compiler
//! drops the mask and the program seems to work. MLIR makes such a shuffle: `gpu.shuffle` among 8 lanes becomes one with
//! the mask of the first 8, which all 32 execute (LLVM 22, `convert-gpu-to-nvvm`).
//!
//! ## Example
//!
//! ```cuda
//! __syncwarp(1u);                        // called by all lanes
//! ```
//!
//! ## Use instead
//!
//! A mask with all lanes that call, or the call under the condition that the mask stands for:
//!
//! ```cuda
//! __syncwarp();
//! if (threadIdx.x % 32 < 8) __syncwarp(0x000000ff);
//! ```
//!
//! ## Limits
//!
//! A definite finding names lanes that certainly execute the collective whenever it is reached; lanes that only may
//! do so are a potential finding. Masks from memory or kernel parameters are not known, but for bits that are certainly 0:
//! no lane above 15 is named by `mask & 0xffff`. A ballot names the lanes in which its predicate holds: in the other arm of
//! a branch on that predicate it names none of those that come, which is definite. Where ballot and branch compare one
//! value with different numbers, a finding is potential. The mask 0 is PTX407.
//!
//! The mask of the first n lanes is right in a block of n threads. Where every collective of the kernel is, and nobody states the block, the
//! finding begins with "in blocks of more than n threads", and is a warning unless the kernel tests the number of a thread against a constant
//! that only larger blocks need. A collective that all lanes reach with a full mask shows that blocks have a warp.

use crate::analysis::lanes::{LaneFinding, Lanes, Problem, Root};
use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::finding::{Certainty, Value};
use crate::rule::{Certainties, Family, Level, Question, Rule, WitnessSearch};

use crate::support::lanes as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX403",
    name: "caller-not-in-mask",
    guidelines: &["G-2.3"],
    family: Family::Warp,
    summary: "a lane executes a warp collective whose mask does not name it",
    definite: Level::Error,
    certainties: Certainties::DEFINITE
        .or_conditional(WitnessSearch::Collectives)
        .or_potential(),
    question: Some(Question::CallersOutsideMask),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for root in module.lane_roots() {
        let unnamed = text::UnnamedCallers::of(module, root);
        for found in unnamed.others(Problem::NotNamed) {
            report_finding(module, report, root, found, unnamed.with_zero(&found.issue));
        }
    }
}

/// Writes a finding; `zero` are the lanes of the same call whose mask is 0.
fn report_finding(
    module: &ModuleContext<'_>,
    report: &mut Report<'_>,
    root: &Root,
    found: &LaneFinding,
    zero: Lanes,
) {
    let issue = &found.issue;
    let (lanes, here) = (issue.lanes | zero, issue.here | zero);
    let operation = text::operation(module, issue);
    let callers = match issue.certainty {
        Certainty::Definite | Certainty::Conditional => text::subject(lanes, "executes", "execute"),
        Certainty::Potential => format!("{} may execute", text::named(issue.lanes)),
    };
    let message = match issue.mask {
        Some(mask) => format!(
            "{callers} `{operation}` with the mask {}, which does not name {}",
            text::mask_with_lanes(mask),
            pronoun_for_lanes(issue.lanes)
        ),
        None if issue.certainty == Certainty::Potential => {
            format!(
                "{callers} `{operation}` with a mask that need not name {}",
                pronoun_for_lanes(issue.lanes)
            )
        }
        None if lanes.count_ones() == 1 => format!(
            "{callers} `{operation}`, and bit {} of its mask is always 0",
            lanes.trailing_zeros()
        ),
        None => {
            format!("{callers} `{operation}`, and the bit of each is always 0 in the mask that it passes")
        }
    };
    let draft = text::begin_finding(module, report, found, message);
    text::assumption(draft, module, root.function, &root.launch);
    draft.data("lanes", Value::Numbers(text::numbers(lanes)));
    draft.data("here", Value::Numbers(text::numbers(here)));
    let group = issue.mask.and_then(text::group);
    // Those of one launch may not be the lanes that the code is meant for.
    if issue.mask.is_none() {
        // Which of them come is another set in each run: a mask with all that may names lanes that do not.
        draft.help(format!(
            "where all lanes come here, pass {}; in an arm of a branch, a ballot of that arm's condition, taken before the branch (`~mask` in the \
             other arm of the one that `mask` was asked for)",
            text::mask_as_code(here)
        ));
    } else if issue.certainty != Certainty::Conditional || group.is_none() {
        draft.help(format!("name the lanes that call: {}", text::mask_as_code(here)));
    }
    if let Some(size) = group {
        let first = 32 - size;
        let group = text::mask_in_words((1 << size) - 1);
        draft.help(format!(
                "if each group of {size} lanes is meant to act on its own, let each lane name its group: `{group} << (lane & {first})`"
            ));
    }
}

const fn pronoun_for_lanes(lanes: u32) -> &'static str {
    if lanes.count_ones() == 1 { "it" } else { "them" }
}
