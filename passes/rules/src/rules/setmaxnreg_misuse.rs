//! ## What it does
//!
//! Finds kernels of which `setmaxnreg` asks for more registers than a block has, and `setmaxnreg` that is wrong for the warps that execute it:
//! `inc` to fewer registers than a warp owns, `dec` to more, a number that `ptxas` refuses, one that only a part of a warpgroup executes. A
//! potential finding says that `ptxas` leaves it out.
//!
//! ## Why is this bad?
//!
//! `setmaxnreg.inc` waits until the pool of the block has enough registers. If the warps of a block never give back as many as others take,
//! it waits until other warps have ended, or for ever, and neither `ptxas` nor the launch reports anything. The pool is what the warps have at the
//! start, and that depends on the launch bounds: with `__launch_bounds__(384, 1)` a thread starts with 168 registers, with
//! `__launch_bounds__(384, 2)` with 80.
//!
//! The other misuses are undefined behaviour (PTX ISA, setmaxnreg).
//!
//! ## Example
//!
//! ```cuda
//! __global__ void __launch_bounds__(384, 1) kernel()      // 168 registers at the start: 3 × 168 = 504
//! {
//!     if (threadIdx.x < 128) asm volatile("setmaxnreg.dec.sync.aligned.u32 96;");
//!     else asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");      // 96 + 2 × 232 = 560
//! ```
//!
//! ## Use instead
//!
//! Numbers whose sum over the warpgroups is at most that at the start: 40 and 232, or 24 and 240.
//!
//! ## Limits
//!
//! The number of registers at the start follows from `.maxnreg`, or from `.minnctapersm` with `.reqntid` or `.maxntid`, as `ptxas` 13.5
//! computes it. If neither is there, `ptxas` leaves `setmaxnreg` out (C7508) unless `-maxrregcount` is given: that is a potential finding,
//! and nothing else is said. It also does so in debug builds (`.target sm_90a, debug`), about which the rule says nothing, and in relocatable
//! code (`-rdc=true`), which neither PTX nor LLVM IR shows. Where `.maxntid` alone bounds the block, a finding says above how many threads it holds.
//!
//! A finding about the pool counts for each warp the fewest registers that it may own when it ends, by branches that the number of
//! the thread decides. It is definite if the warps that wait for others before they end (at barriers, also in memory) already own too
//! many: whether warps that end at once give theirs back is not documented. A `setmaxnreg` in a called function counts if the function has no
//! branches. Of a `setmaxnreg` in a part of a warpgroup, the finding is a warning: kernels are known in which it does no harm.

use crate::analysis::Certainty;
use crate::analysis::register_budget::{EntryBound, RegisterIssue, RegisterProblem};
use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::ir::RegisterChange;
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::{lanes, threshold};

/// Most other `setmaxnreg` that a finding shows.
const MAX_SHOWN: usize = 4;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX420",
    name: "setmaxnreg-misuse",
    family: Family::Warp,
    summary: "`setmaxnreg` asks for more registers than a block has, or is wrong for the warps that execute it",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for problem in module.register_problems() {
        report_problem(module, &problem, report);
    }
}

fn report_problem(module: &ModuleContext<'_>, problem: &RegisterProblem, report: &mut Report<'_>) {
    let message = threshold::message(problem.above, message(module, problem));
    let place = lanes::place_of(&problem.site);
    let draft = match problem.certainty {
        Certainty::Definite => report.definite(place, message),
        Certainty::Conditional | Certainty::Potential => report.potential(place, message),
    };
    threshold::tell(draft, problem.above);
    match &problem.issue {
        RegisterIssue::Exceeded {
            entry,
            threads,
            held,
            pool,
            others,
        } => {
            draft.kind("exceeded");
            for (site, change, number) in others.iter().take(MAX_SHOWN) {
                draft.related(lanes::place_of(site), format!("{} {number} here", to(*change)));
            }
            draft.note(format!(
                "each of the {threads} threads starts with {entry} registers, as the launch bounds say"
            ));
            draft
                .data("entry", u64::from(*entry))
                .data("held", *held)
                .data("pool", *pool);
            draft.help(
                "lower other warpgroups by as many registers as this raises, or change the launch bounds",
            );
        }
        RegisterIssue::Direction { .. } => {
            draft.kind("direction");
            draft.help("`inc` names at least the registers that the warp owns, `dec` at most");
        }
        RegisterIssue::PartOfWarp { .. } | RegisterIssue::PartOfWarpgroup { .. } => {
            draft.kind("part").at_most(Level::Warning);
            draft.help("let all four warps of the warpgroup execute it");
        }
        RegisterIssue::Refused { .. } => {
            draft.kind("number");
            draft.help("name a multiple of 8 from 24 to 256");
        }
        RegisterIssue::Ignored { bound } => {
            draft.kind("ignored");
            draft.note("`-maxrregcount` has the same effect as `.maxnreg`");
            draft.help(match bound {
                EntryBound::OutOfRange => "ask for fewer blocks in a multiprocessor",
                _ => "give the kernel `__launch_bounds__` with both numbers, or `__maxnreg__`",
            });
        }
    }
    let is_of_block = matches!(
        problem.issue,
        RegisterIssue::Exceeded { .. }
            | RegisterIssue::PartOfWarp { .. }
            | RegisterIssue::PartOfWarpgroup { .. }
    );
    if is_of_block {
        lanes::assumption(draft, module, problem.kernel, &problem.launch);
    }
}

/// What a direction does.
const fn to(change: RegisterChange) -> &'static str {
    match change {
        RegisterChange::Raise => "raised to",
        RegisterChange::Lower => "lowered to",
    }
}

fn message(module: &ModuleContext<'_>, problem: &RegisterProblem) -> String {
    match problem.issue {
        RegisterIssue::Exceeded { held, pool, .. } => {
            let kernel = crate::names::in_message(module.module.function_name(problem.kernel));
            let may = match problem.certainty {
                Certainty::Definite => "waits",
                Certainty::Conditional | Certainty::Potential => "may wait",
            };
            format!(
                "a block of `{kernel}` has {pool} registers, and its warps ask for {held}: `setmaxnreg.inc` {may} until other warps have ended, or \
                 for ever"
            )
        }
        RegisterIssue::Direction { change, from, to } => match change {
            RegisterChange::Raise => {
                format!("`setmaxnreg.inc` to {to} registers, and the warp owns {from} already")
            }
            RegisterChange::Lower => format!("`setmaxnreg.dec` to {to} registers, and the warp owns {from}"),
        },
        RegisterIssue::PartOfWarp { missing, .. } => format!(
            "{} no `setmaxnreg`, and other lanes of the warp execute this one",
            lanes::subject(missing, "executes", "execute")
        ),
        RegisterIssue::PartOfWarpgroup { warp, missing } => format!(
            "warp {missing} executes no `setmaxnreg`, and warp {warp} of the same warpgroup executes this one"
        ),
        RegisterIssue::Refused { number } => {
            format!("`setmaxnreg` cannot name {number} registers: `ptxas` refuses it")
        }
        RegisterIssue::Ignored { bound } => {
            let why = match bound {
                EntryBound::OutOfRange => "`.minnctapersm` asks for more threads than a multiprocessor has",
                _ => "the kernel states neither `.maxnreg`, nor `.minnctapersm` and the size of the block",
            };
            format!("`ptxas` may leave `setmaxnreg` out: {why}")
        }
    }
}
