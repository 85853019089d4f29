//! ## What it does
//!
//! Finds warp collectives whose member mask is 0: a literal, a register that holds 0 on every path, or an argument
//! that a call passes (intrinsics are functions of their own in `-G` builds).
//!
//! ## Why is this bad?
//!
//! The behaviour of a collective is undefined if the executing lane is not in its mask (PTX ISA, `bar.warp.sync`,
//! `shfl.sync`, `vote.sync`, `match.sync`, `redux.sync`, `elect.sync`). Nobody is in mask 0. No compiler says so: in
//! converged code the mask is dropped and the program seems to work; under divergence it hangs or computes with
//! stale values.
//!
//! ## Example
//!
//! ```cuda
//! unsigned mask = 0;                      // to be filled in later
//! int sum = __shfl_down_sync(mask, value, 16);
//! ```
//!
//! ## Use instead
//!
//! The lanes that take part: all of them where the warp is converged, or the mask that `__ballot_sync` gives for the
//! branch's condition, taken before the branch.
//!
//! ```cuda
//! int sum = __shfl_down_sync(0xffffffff, value, 16);
//! ```
//!
//! ## Limits
//!
//! A mask that is loaded from memory or comes from a kernel parameter is not known. Chains of calls are followed
//! eight calls deep, calls through pointers not at all.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::collectives::CollectiveSite;
use crate::analysis::lanes::{Lanes, Problem, is_full_warp};
use crate::checks::Check;
use crate::context::{ModuleContext, Place, Report};
use crate::finding::Certainty;
use crate::ir::{FunctionId, InstructionId};
use crate::rule::{Certainties, Family, Level, Rule, WitnessSearch};
use crate::support::{lanes, wording};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX407",
    name: "zero-mask",
    guidelines: &["G-2.3"],
    family: Family::Warp,
    summary: "the member mask of a warp collective is 0",
    definite: Level::Error,
    certainties: Certainties::DEFINITE
        .or_conditional(WitnessSearch::Collectives)
        .or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    let zero = |site: &&CollectiveSite| site.is_sync() && site.known_mask() == Some(0);
    let zeros = module.collectives().iter().filter(zero);
    let at: FxHashSet<_> = zeros
        .clone()
        .map(|site| (site.function, site.instruction))
        .collect();
    let arriving = arriving_lanes(module);
    for site in zeros {
        if !site.is_reached(module) {
            continue;
        }
        let operation = wording::collective(module, site.function, site.instruction, site.kind);
        let right = match arriving.get(&(site.function, site.instruction)) {
            Some(Some(lanes)) if !is_full_warp(*lanes) => lanes::mask_as_code(*lanes),
            _ => "`0xffffffff` in converged code, or `__ballot_sync(0xffffffff, condition)` taken before the branch".to_owned(),
        };
        let finding = report
            .definite(
                site.place(),
                format!("the member mask of `{operation}` is 0, so it does not name the lane that calls"),
            )
            .help(format!("name the lanes that reach this `{operation}`: {right}"))
            .data("operation", site.kind.cuda_name())
            .data("mask", 0);
        if let Some(call) = site.callers.last() {
            finding.related(Place::of_call(*call), "the mask is passed here");
        }
    }
    // Masks that are 0 in some lanes only, or as the analysis of lanes alone shows.
    lanes::each(module, Problem::ZeroMask, |root, found| {
        let site = &found.issue.site;
        if at.contains(&(site.function, site.instruction)) {
            return;
        }
        let lanes = found.issue.lanes;
        let passes = match found.issue.certainty {
            Certainty::Definite | Certainty::Conditional => lanes::subject(lanes, "passes", "pass"),
            Certainty::Potential => format!("{} may pass", lanes::named(lanes)),
        };
        let message = format!(
            "{passes} the mask 0 to `{}`, so it does not name the lane that calls",
            lanes::operation(module, &found.issue),
        );
        let draft = lanes::begin_finding(module, report, found, message);
        lanes::assumption(draft, module, root.function, &root.launch);
        draft.help("name the lanes that take part");
    });
}

/// The lanes that may reach each collective with the mask 0; `None` if other lanes reach it in other kernels or warps.
fn arriving_lanes(module: &ModuleContext<'_>) -> FxHashMap<(FunctionId, InstructionId), Option<Lanes>> {
    let mut arriving = FxHashMap::default();
    lanes::each(module, Problem::ZeroMask, |_, found| {
        let site = &found.issue.site;
        let lanes = arriving
            .entry((site.function, site.instruction))
            .or_insert(Some(0));
        *lanes = lanes
            .filter(|_| found.more == 0 && found.warps.is_empty())
            .map(|lanes: Lanes| lanes | found.issue.here);
    });
    arriving
}
