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
//! One mask for all lanes that it names, in one call after the branch:
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

use crate::analysis::lanes::{Issue, LaneFinding, Problem, Root};
use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::finding::Value;
use crate::rule::{Certainties, Family, Level, Rule, WitnessSearch};

use crate::support::lanes as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX406",
    name: "divergent-mask",
    aliases: &["divergent_mask"],
    guidelines: &["G-2.4"],
    family: Family::Warp,
    summary: "lanes that should meet at a warp collective pass different masks",
    definite: Level::Error,
    certainties: Certainties::DEFINITE
        .or_conditional(WitnessSearch::Collectives)
        .or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

/// More masks than this of one call are one finding.
const SEPARATE_MASKS: usize = 4;

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for root in module.lane_roots() {
        let unnamed = text::UnnamedCallers::of(module, root);
        let mut by_call: Vec<Vec<&LaneFinding>> = Vec::new();
        for found in unnamed.others(Problem::DifferentMasks) {
            let is_same = |known: &&mut Vec<&LaneFinding>| {
                known
                    .first()
                    .is_some_and(|first| is_one_call(&first.issue, &found.issue))
            };
            match by_call.iter_mut().find(is_same) {
                Some(known) => known.push(found),
                None => by_call.push(vec![found]),
            }
        }
        for call in by_call {
            if call.len() > SEPARATE_MASKS {
                report_many_masks(module, report, root, &call);
            } else {
                call.iter()
                    .for_each(|found| report_finding(module, report, root, found));
            }
        }
    }
}

fn is_one_call(one: &Issue, other: &Issue) -> bool {
    let place = |issue: &Issue| (issue.site.function, issue.site.instruction, issue.certainty);
    place(one) == place(other) && one.site.callers == other.site.callers
}

/// Lanes that pass many masks to one call.
fn report_many_masks(
    module: &ModuleContext<'_>,
    report: &mut Report<'_>,
    root: &Root,
    call: &[&LaneFinding],
) {
    let Some(&first) = call.first() else { return };
    let operation = text::operation(module, &first.issue);
    let here = call.iter().fold(0, |lanes, found| lanes | found.issue.here);
    // The mask of one lane may be such that it names no other.
    let who = if call.len() + 1 >= here.count_ones() as usize {
        "each lane passes its own mask".to_owned()
    } else {
        format!("lanes pass {} different masks", call.len())
    };
    let message = format!("{who} to `{operation}`, and they name lanes that pass another");
    let lanes = call.iter().fold(0, |lanes, found| lanes | found.issue.lanes);
    let draft = text::begin_finding(module, report, first, message);
    draft.data("lanes", Value::Numbers(text::numbers(lanes)));
    text::assumption(draft, module, root.function, &root.launch);
    draft.help("let all lanes that the mask names pass the same mask");
}

fn report_finding(module: &ModuleContext<'_>, report: &mut Report<'_>, root: &Root, found: &LaneFinding) {
    let issue = &found.issue;
    let message = format!(
        "{} of `{}` names {}, which {} another mask",
        text::the_mask(issue),
        text::operation(module, issue),
        text::named(issue.lanes),
        text::verb(issue.lanes, "passes", "pass"),
    );
    let draft = text::begin_finding(module, report, found, message);
    text::relate_other(draft, issue);
    text::assumption(draft, module, root.function, &root.launch);
    draft.help("let all lanes that the mask names pass the same mask");
}
