//! ## What it does
//!
//! Finds barriers with a number and a count of threads (`bar.sync 1, 64`, `bar.arrive`, `barrier.sync`, `bar.red`) that the warps of the block
//! cannot pass, or not in one order: fewer warps come than a barrier counts, more come or come again before others have passed, one barrier is
//! used with two counts, warps wait for each other in crossed order, lanes of one warp reach different barriers.
//!
//! ## Why is this bad?
//!
//! Warps that a barrier waits for in vain hang, with the whole kernel. Where more warps come than it counts, or one of them twice, those
//! that come first complete it: the others wait for the next time, or pass before the data is there, and it depends on the order in which
//! warps advance. Neither `ptxas` nor the launch reports anything.
//!
//! ## Example
//!
//! ```cuda
//! // Blocks of 96 threads: one of three warps waits for ever.
//! asm volatile("bar.sync 1, 64;" ::: "memory");
//! ```
//!
//! ```cuda
//! // Warps 0 and 1 may arrive twice before the others have passed.
//! for (int i = 0; i < tiles; i++) {
//!     if (warp < 2) asm volatile("bar.arrive 1, 128;" ::: "memory");
//!     else asm volatile("bar.sync 1, 128;" ::: "memory");
//! }
//! ```
//!
//! ## Use instead
//!
//! A count of just the threads that come, a number of its own for each group of warps, and for each round of a loop the other one of two
//! numbers, or a second barrier through which the warps that wait tell that they have passed.
//!
//! ## Limits
//!
//! The shape of the block has to be known (`.reqntid`, `--launch-block`, launches in the same file), and it has up to 512 threads; but no block
//! has more threads than `.maxntid` says. The numbers and counts of all barriers have to be known, too, and no code may be called that is not.
//! A barrier that too few warps can reach is found anywhere, and one that all warps certainly reach as often as is known, if these are no
//! multiple of what it counts. For the rest, each warp is followed from barrier to barrier until its path
//! depends on data, or a loop begins; a finding is definite if it is so for all orders in which the warps may advance, as far as barriers order
//! them. Where a warp has waited for others in another way before (at a barrier in memory, for a flag), nothing is said about their order. That
//! more warps may come at a time than a barrier counts is a potential finding, since it may not matter which of them meet, and so is all that is
//! found with two rounds of loops.

use crate::analysis::Certainty;
use crate::analysis::lanes::{CountIssue, CountProblem};
use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::lanes;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX419",
    name: "barrier-count-mismatch",
    family: Family::Warp,
    summary: "a barrier counts other threads than reach it, or warps wait for each other for ever",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for problem in module.count_problems() {
        report_problem(module, &problem, report);
    }
}

fn report_problem(module: &ModuleContext<'_>, problem: &CountProblem, report: &mut Report<'_>) {
    let place = lanes::place_of(&problem.site);
    let message = message(problem);
    let draft = match problem.certainty {
        Certainty::Definite => report.definite(place, message),
        Certainty::Conditional | Certainty::Potential => report.potential(place, message),
    };
    draft.data("barrier", problem.number);
    if let Some(count) = problem.count {
        draft.data("count", count);
    }
    match &problem.issue {
        CountIssue::NotWhole => {
            draft.kind("not-whole");
            draft.help("count whole warps: the threads of a warp count together");
        }
        CountIssue::TooFew { threads } => {
            draft.kind("too-few").data("threads", u64::from(*threads));
            draft.help("count the threads that reach the barrier");
        }
        CountIssue::Left { threads } => {
            draft.kind("left").data("threads", u64::from(*threads));
            draft.help("count the threads that reach the barrier");
        }
        CountIssue::Split { other, .. } => {
            draft.kind("split");
            draft.related(lanes::place_of(other), "the other lanes reach this barrier");
            draft.help("move the barrier to where all lanes of the warp reach it together");
        }
        CountIssue::Mixed {
            warps: [_, warp],
            other,
            other_count,
        } => {
            draft.kind("mixed");
            let said = format!("warp {warp} reaches it for {} here", threads(*other_count));
            draft.related(lanes::place_of(other), said);
            draft.help("give each group of warps a barrier with a number of its own");
        }
        CountIssue::Unordered {
            warps: [_, warp],
            other,
        } => {
            draft.kind("unordered");
            if *other != problem.site {
                draft.related(lanes::place_of(other), format!("warp {warp} reaches it here"));
            }
            draft.help("count all threads that come, or use another number until the others have passed");
        }
        CountIssue::Stuck { other, threads, .. } => {
            draft.kind("stuck").data("threads", u64::from(*threads));
            if let Some((warp, number, other)) = other {
                let said = format!("warp {warp} waits at barrier {number} here, for ever, too");
                draft.related(lanes::place_of(other), said);
            }
            draft.help("let as many threads reach each barrier as it counts, and all warps in one order");
        }
    }
    lanes::assumption(draft, module, problem.kernel, &problem.launch);
}

/// The threads that a barrier counts.
fn threads(count: Option<u64>) -> String {
    match count {
        Some(count) => format!("{count} threads"),
        None => "all threads of the block".to_owned(),
    }
}

fn message(problem: &CountProblem) -> String {
    let (number, count) = (problem.number, threads(problem.count));
    let may = |surely: &'static str, perhaps: &'static str| match problem.certainty {
        Certainty::Definite => surely,
        Certainty::Conditional | Certainty::Potential => perhaps,
    };
    match &problem.issue {
        CountIssue::NotWhole => format!("the barrier counts {count}, which is no multiple of 32"),
        CountIssue::TooFew { threads } => {
            format!("barrier {number} counts {count}, and at most {threads} reach it: they wait for ever")
        }
        CountIssue::Split {
            warp, lanes: here, ..
        } => format!(
            "{} of warp {warp} {} this barrier, and the other lanes to another one",
            lanes::named(*here),
            lanes::verb(*here, "reaches", "reach")
        ),
        CountIssue::Left { threads } => format!(
            "barrier {number} counts {count}, and {threads} reach it in all, which is no multiple: some of them wait for ever"
        ),
        CountIssue::Mixed {
            warps: [warp, other],
            other_count,
            ..
        } => format!(
            "warp {warp} {} barrier {number} for {count}, warp {other} for {}, and nothing orders the two",
            may("reaches", "may reach"),
            threads(*other_count)
        ),
        CountIssue::Unordered {
            warps: [warp, other], ..
        } => format!(
            "barrier {number} counts {count}, and more may come: warp {warp} comes in no order with warp {other}, which may already complete it"
        ),
        CountIssue::Stuck {
            warp, threads: here, ..
        } => {
            format!("barrier {number} counts {count}, and {here} reach it: warp {warp} waits for ever")
        }
    }
}
