//! How the findings of the lane analysis are written: shared by the rules about warp collectives.

use crate::analysis::lanes::launch::{Launch, Source};
use crate::analysis::lanes::value::Lanes;
use crate::analysis::lanes::verdict::{Issue, Problem, Spot};
use crate::analysis::lanes::{Found, Root, is_full, ranges};
use crate::context::{Draft, ModuleContext, Place, Report};
use crate::finding::Certainty;
use crate::ir::{Collective, FunctionId, Value};

/// Calls `write` with every finding of one kind.
pub(super) fn each(module: &ModuleContext<'_>, problem: Problem, mut write: impl FnMut(&Root, &Found)) {
    for root in module.lanes() {
        for found in root
            .findings
            .iter()
            .filter(|found| found.issue.problem == problem)
        {
            write(root, found);
        }
    }
}

/// Begins a finding at the place of an issue, with what all of them say.
pub(super) fn begin<'r>(
    module: &ModuleContext<'_>,
    report: &'r mut Report<'_>,
    found: &Found,
    message: String,
) -> &'r mut Draft {
    let issue = &found.issue;
    let place = place(&issue.spot);
    let draft = match issue.certainty {
        Certainty::Definite => report.definite(place, message),
        Certainty::Potential => report.potential(place, message),
    };
    draft.finished();
    if let Some(kind) = issue.kind {
        draft.data("operation", kind.cuda_name());
    }
    if let Some(mask) = issue.mask {
        draft.data("mask", u64::from(mask));
    }
    draft.data("lanes", crate::finding::Value::Numbers(numbers(issue.lanes)));
    if let Some((spot, lanes)) = &issue.split {
        draft.related(
            place_of(spot),
            format!("{} here", goes(*lanes, "take another way")),
        );
    }
    if let Some(passed) = passed_mask(module, issue) {
        draft.related(passed, "the mask is passed here");
    }
    match found.warps.as_slice() {
        [] => {}
        [warp] => {
            draft.note(format!("this is so in warp {warp} of a block"));
        }
        warps => {
            let warps: Vec<String> = warps.iter().map(u32::to_string).collect();
            draft.note(format!("this is so in the warps {} of a block", warps.join(", ")));
        }
    }
    if found.more > 0 {
        draft.note(format!(
            "{} more like this, in other kernels or after other calls, are left out",
            found.more
        ));
    }
    draft
}

/// Adds what is taken for granted about launches.
pub(super) fn assumption(draft: &mut Draft, launch: &Launch) {
    draft.note(match (launch.source, launch.shape) {
        (Source::Required, Some([x, y, z])) => format!("`.reqntid` makes every block {x} × {y} × {z} threads"),
        (Source::Settings, Some([x, y, z])) => {
            format!("the settings make every block of this kernel {x} × {y} × {z} threads")
        }
        (Source::Bound, Some([x, ..])) => format!("`.maxntid` allows no more than {x} threads a block"),
        _ if launch.is_folded => "the kernel reads `%tid.y` or `%tid.z`, so nothing is taken for granted about which \
                                  threads share a warp (--launch-block X,Y,Z tells)"
            .to_owned(),
        _ => "blocks are taken to be one-dimensional with a multiple of 32 threads (`.reqntid` or --launch-block X,Y,Z \
              says otherwise)"
            .to_owned(),
    });
    if let Some([x, y, z]) = launch.overruled {
        let bound = match launch.source {
            Source::Required => "`.reqntid`",
            _ => "`.maxntid`, which allows fewer threads",
        };
        draft.note(format!(
            "the settings say {x} × {y} × {z} threads: they give way to {bound}"
        ));
    }
}

/// "lane 3", "lanes 0-15".
pub(super) fn named(lanes: Lanes) -> String {
    format!("{} {}", verb(lanes, "lane", "lanes"), ranges(lanes))
}

/// The form of a word that goes with one lane, or with several.
pub(super) const fn verb(lanes: Lanes, one: &'static str, more: &'static str) -> &'static str {
    if lanes.count_ones() == 1 { one } else { more }
}

/// "lane 3 does", "lanes 0-15 do".
pub(super) fn subject(lanes: Lanes, one: &'static str, more: &'static str) -> String {
    format!("{} {}", named(lanes), verb(lanes, one, more))
}

fn goes(lanes: Lanes, verb: &str) -> String {
    let verb = if lanes.count_ones() == 1 {
        verb.replacen("take", "takes", 1)
    } else {
        verb.to_owned()
    };
    format!("{} {verb}", named(lanes))
}

/// Adds the place where other lanes make the call that does not fit.
pub(super) fn relate_other(draft: &mut Draft, issue: &Issue) {
    if let Some((other, lanes)) = &issue.other {
        draft.related(
            place_of(other),
            format!("{} here", subject(*lanes, "calls", "call")),
        );
    }
}

/// "within {function} in {kernel}", as the guideline's checker words it.
pub(super) fn within(module: &ModuleContext<'_>, root: &Root, issue: &Issue) -> String {
    let function = issue
        .spot
        .callers
        .first()
        .map_or(issue.spot.function, |call| call.caller);
    format!(
        "within {} in {}",
        name(module, function),
        name(module, root.function)
    )
}

fn name(module: &ModuleContext<'_>, function: FunctionId) -> String {
    crate::names::told(module.module.function_name(function))
}

/// A mask in binary.
pub(super) fn binary(mask: Lanes) -> String {
    format!("0b{mask:032b}")
}

/// The CUDA spelling of an issue's operation.
pub(super) fn operation(issue: &Issue) -> &'static str {
    issue.kind.map_or("__syncthreads", Collective::cuda_name)
}

/// The mask that names exactly the lanes that are there.
pub(super) fn right_mask(issue: &Issue) -> String {
    if is_full(issue.here) {
        "`__ballot_sync(0xffffffff, condition)`, taken before the branch".to_owned()
    } else {
        format!("`{:#x}`", issue.here)
    }
}

pub(super) fn place_of(spot: &Spot) -> Place {
    place(spot)
}

fn place(spot: &Spot) -> Place {
    Place::Instruction(spot.function, spot.instruction, spot.callers.clone())
}

fn numbers(lanes: Lanes) -> Vec<u64> {
    (0..32).filter(|lane| lanes >> lane & 1 == 1).collect()
}

/// The call that passes the mask, where the function that executes the collective only hands it on.
fn passed_mask(module: &ModuleContext<'_>, issue: &Issue) -> Option<Place> {
    let call = issue.spot.callers.first()?;
    let body = module.module.function(issue.spot.function).body.as_ref()?;
    let mask = body.uses(body.instruction(issue.spot.instruction)).first()?;
    let Value::Register(register) = mask else {
        return None;
    };
    let definitions = module.function(issue.spot.function).definitions();
    let is_param = definitions.of(*register).iter().any(|&definition| {
        body.uses(body.instruction(definition))
            .iter()
            .any(|value| matches!(value, Value::Param(..)))
    });
    is_param.then(|| Place::call(*call))
}
