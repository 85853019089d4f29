//! Findings of the lane analysis: lanes, masks and launches in words, for the rules about warp collectives.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::analysis::lanes::{
    Issue, LaneFinding, Lanes, Launch, Problem, Root, ShapeSource, Site, is_full_warp,
};
use crate::conditional::Conditional;
use crate::context::{Draft, ModuleContext, Place, Report};
use crate::finding::Certainty;
use crate::ir::{Collective, FunctionId, Value};
use crate::launches::Shape;
use crate::rule::Question;
use crate::sanitizer::Sanitizer;

use super::lane_words::sides;
pub(crate) use super::lane_words::{
    group, mask_as_code, mask_in_words, mask_with_lanes, named, numbers, place_of, subject, verb,
};
use super::{threshold, witness, wording};

/// Most accesses of one finding that are shown.
const MAX_SHOWN: usize = 6;

/// Adds further accesses with what is said of each, each place once, without those that are `shown`.
pub(crate) fn add_further_sites<'s, W: Into<String>>(
    draft: &mut Draft,
    mut shown: Vec<&'s Site>,
    further: impl Iterator<Item = (&'s Site, W)>,
) {
    for (site, words) in further {
        if !shown.contains(&site) && shown.len() < MAX_SHOWN {
            draft.related(place_of(site), words);
            shown.push(site);
        }
    }
}

/// Says how many more pairs of accesses to the same memory are not ordered.
pub(crate) fn note_further_pairs(draft: &mut Draft, count: usize) {
    let words = match count {
        0 => return,
        1 => "pair of accesses to this memory is",
        _ => "pairs of accesses to this memory are",
    };
    draft.note(format!("{count} more {words} not ordered either"));
}

/// Calls `write` with every finding of one kind, but for those that follow from another finding about the same call.
pub(crate) fn each(module: &ModuleContext<'_>, problem: Problem, mut write: impl FnMut(&Root, &LaneFinding)) {
    for root in module.lane_roots() {
        let unnamed = UnnamedCallers::of(module, root);
        for found in unnamed.others(problem) {
            write(root, found);
        }
    }
}

/// The lanes that certainly execute a call with a mask that does not name them. That they pass different masks, or the mask 0, or
/// take no part in the shuffle of others, follows from it.
pub(crate) struct UnnamedCallers<'a> {
    root: &'a Root,
    calls: FxHashMap<&'a Site, Unnamed>,
}

/// The lanes of one call.
#[derive(Clone, Copy, Default)]
struct Unnamed {
    /// Lanes whose masks are different or not known, and certainly do not name them.
    own_masks: Lanes,
    /// Lanes whose mask is 0.
    zero: Lanes,
    /// Lanes whose mask is one that is known.
    one_mask: Lanes,
}

impl<'a> UnnamedCallers<'a> {
    /// Those of one kernel; none where the settings do not want the findings about them.
    pub(crate) fn of(module: &ModuleContext<'_>, root: &'a Root) -> Self {
        let mut calls: FxHashMap<&Site, Unnamed> = FxHashMap::default();
        let is_wanted = module.settings.is_asked(Question::CallersOutsideMask);
        let issues = root.findings.iter().map(|found| &found.issue);
        for issue in issues.filter(|issue| is_wanted && issue.certainty.is_certain()) {
            let lanes = match (issue.problem, issue.mask) {
                (Problem::NotNamed, None) => &mut calls.entry(&issue.site).or_default().own_masks,
                (Problem::NotNamed, Some(_)) => &mut calls.entry(&issue.site).or_default().one_mask,
                (Problem::ZeroMask, _) => &mut calls.entry(&issue.site).or_default().zero,
                _ => continue,
            };
            *lanes |= issue.lanes;
        }
        Self { root, calls }
    }

    /// The findings of one kind that do not follow from those about callers without a name.
    pub(crate) fn others(&self, problem: Problem) -> impl Iterator<Item = &'a LaneFinding> {
        let findings = self.root.findings.iter();
        findings.filter(move |found| found.issue.problem == problem && !self.explain(&found.issue))
    }

    /// True if the finding about callers without a name covers an issue.
    fn explain(&self, issue: &Issue) -> bool {
        let Some(call) = self.calls.get(&issue.site) else {
            return false;
        };
        let zero = if call.own_masks == 0 { 0 } else { call.zero };
        let unnamed = call.own_masks | call.one_mask | zero;
        match issue.problem {
            Problem::ZeroMask => zero != 0 && issue.lanes & !zero == 0,
            Problem::DifferentMasks => (issue.here | issue.lanes) & !unnamed == 0,
            Problem::AbsentSource => issue.lanes & !unnamed == 0,
            _ => false,
        }
    }

    /// The lanes of a call whose mask is 0, for the finding about the other lanes with masks of their own.
    pub(crate) fn with_zero(&self, issue: &Issue) -> Lanes {
        let is_about_own_masks = issue.mask.is_none() && issue.certainty.is_certain();
        let call = self.calls.get(&issue.site).filter(|_| is_about_own_masks);
        call.map_or(0, |call| call.zero)
    }
}

/// Begins a finding at the place of an issue, with the data and notes that all of them have.
pub(crate) fn begin_finding<'r>(
    module: &ModuleContext<'_>,
    report: &'r mut Report<'_>,
    found: &LaneFinding,
    message: String,
) -> &'r mut Draft {
    let issue = &found.issue;
    let place = place_of(&issue.site);
    let message = threshold::message(found.above, message);
    let draft = match issue.certainty {
        Certainty::Definite => report.definite(place, message),
        Certainty::Conditional => report.conditional(place, message),
        Certainty::Potential => report.potential(place, message),
    };
    draft.finished();
    threshold::tell(draft, found.above);
    if let Some(kind) = issue.kind {
        draft.data("operation", kind.cuda_name());
        // It checks the callers of `__syncwarp`, and not whether all lanes of a mask arrive.
        if kind == Collective::Sync && matches!(issue.problem, Problem::NotNamed | Problem::ZeroMask) {
            draft.seen_by(Sanitizer::Synccheck);
        }
    }
    if let Some(mask) = issue.mask {
        draft.data("mask", u64::from(mask));
    }
    draft.data("lanes", crate::finding::Value::Numbers(numbers(issue.lanes)));
    draft.data("here", crate::finding::Value::Numbers(numbers(issue.here)));
    if let Some((site, lanes)) = &issue.split {
        let message = if is_full_warp(*lanes) {
            "lanes may go different ways here".to_owned()
        } else if found.round.is_some() {
            format!(
                "{} the loop, or go another way, here",
                subject(*lanes, "leaves", "leave")
            )
        } else {
            format!("{} another way here", subject(*lanes, "goes", "go"))
        };
        let place = place_of(site);
        match issue.certainty {
            Certainty::Definite | Certainty::Conditional => draft.related(place, message),
            Certainty::Potential => draft.caused_at(place, message),
        };
    }
    if let Some(passed) = passed_mask(module, issue) {
        draft.related(passed, "the mask is passed here");
    }
    if let Some(conditional) = module.conditional_of(issue) {
        let Conditional {
            function,
            witness,
            general,
            run,
            ..
        } = conditional;
        witness::tell(module, draft, *function, witness, general.as_ref());
        witness::tell_run(module, draft, run);
        return draft;
    }
    if let Some(round) = found.round {
        draft.note(format!(
            "in round {} of the loop around it",
            round.saturating_add(1)
        ));
        draft.data("round", u64::from(round) + 1);
    }
    match found.warps.as_slice() {
        [] => {}
        [warp] => {
            let only = if found.are_others_right { "only " } else { "" };
            draft.note(format!("{only}in warp {warp} of each block"));
        }
        warps => {
            let warps: Vec<String> = warps.iter().map(u32::to_string).collect();
            let only = if found.are_others_right { "only " } else { "" };
            draft.note(format!("{only}in the warps {} of each block", warps.join(", ")));
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

/// Adds the assumption about launches that a finding rests on, after all other notes; a conditional one names its launch.
pub(crate) fn assumption(draft: &mut Draft, module: &ModuleContext<'_>, kernel: FunctionId, launch: &Launch) {
    if draft.finding.certainty == Certainty::Conditional {
        return;
    }
    draft.finding.assumes_block = launch.source == ShapeSource::Assumed;
    let mut notes = vec![match (launch.source, launch.shape) {
        (ShapeSource::Required, Some([x, y, z])) => format!("`.reqntid` makes every block {x} × {y} × {z} threads"),
        (ShapeSource::Settings, Some([x, y, z])) => {
            format!("the settings make every block of this kernel {x} × {y} × {z} threads")
        }
        (ShapeSource::Settings, None) => {
            "what is certain here is so with each of the blocks that the settings state for this kernel".to_owned()
        }
        (ShapeSource::Launched, Some([x, y, z])) => format!(
            "the launches in this file make every block {x} × {y} × {z} threads (those in other files are not seen; --launch-block X,Y,Z \
             wins over them)"
        ),
        (ShapeSource::Launched, None) => "what is certain here is so with each of the blocks that the launches in this file make (those \
                                         in other files are not seen; --launch-block X,Y,Z wins over them)"
            .to_owned(),
        (ShapeSource::Bound, Some([x, ..])) => format!("`.maxntid` allows no more than {x} threads a block"),
        _ if launch.is_multidimensional => "the kernel reads `threadIdx.y` or `threadIdx.z`: what is certain here is so in blocks with \
                                  rows of 1, 2, 3, 4, 8, 16, 20, 32 and more threads alike, if they have a multiple of 32 \
                                  threads, and one layer where `threadIdx.z` is not read (--launch-block X,Y,Z gives their \
                                  real shape)"
            .to_owned(),
        // A threshold says how many threads they have.
        _ if draft.finding.data.get("above").is_some() => {
            "blocks are assumed to be one-dimensional".to_owned()
        }
        _ => "blocks are assumed to be one-dimensional, with a multiple of 32 threads (--launch-block X,Y,Z or `.reqntid` \
              gives their real shape)"
            .to_owned(),
    }];
    let shown = module
        .shown_launches(kernel)
        .filter(|shown| launch.source == ShapeSource::Launched && shown.is_all);
    if let Some(shown) = shown {
        let of_this = |shape: Shape| launch.shape.is_none_or(|this| this == shape);
        for (shape, place) in shown.shapes.iter().zip(&shown.places) {
            if of_this(*shape) {
                notes.push(format!(
                    "launched with blocks of {} threads by {place}",
                    sides(*shape)
                ));
            }
        }
    }
    if let Some([x, y, z]) = launch.overruled {
        let bound = match launch.source {
            ShapeSource::Required => "`.reqntid`",
            _ => "`.maxntid`, which allows fewer threads",
        };
        notes.push(format!(
            "the settings say {x} × {y} × {z} threads: they give way to {bound}"
        ));
    }
    draft.launch_notes.append(&mut notes);
}

/// Adds the place where other lanes make the call that does not fit.
pub(crate) fn relate_other(draft: &mut Draft, issue: &Issue) {
    if let Some((other, lanes)) = &issue.other {
        draft.related(
            place_of(other),
            format!("{} here", subject(*lanes, "calls", "call")),
        );
    }
}

/// The mask of a finding: `the mask 0x0000ffff`, or no number where not all of it is known.
pub(crate) fn the_mask(issue: &Issue) -> String {
    issue.mask.map_or_else(
        || "the mask".to_owned(),
        |known| format!("the mask {}", mask_in_words(known)),
    )
}

/// The noun for a place that lanes execute the operation at: "call", or "instruction" if CUDA has no function for it.
pub(crate) fn noun(module: &ModuleContext<'_>, issue: &Issue) -> &'static str {
    if operation(module, issue).starts_with("__") {
        "call"
    } else {
        "instruction"
    }
}

/// An issue's operation, as its source has it.
pub(crate) fn operation(module: &ModuleContext<'_>, issue: &Issue) -> Cow<'static, str> {
    let (function, at) = (issue.site.function, issue.site.instruction);
    issue.kind.map_or(Cow::Borrowed("__syncthreads"), |kind| {
        wording::collective(module, function, at, kind)
    })
}

/// The mask to write where these lanes take part; a ballot where that is known no better than "any".
pub(crate) fn right_mask(launch: &Launch, lanes: Lanes) -> String {
    if lanes == launch.analysed_lanes() {
        ballot(launch)
    } else {
        mask_as_code(lanes)
    }
}

/// Adds the advice to name these lanes in the mask, and the mask itself where it is a constant.
pub(crate) fn advise_mask(draft: &mut Draft, advice: &str, launch: &Launch, lanes: Lanes) {
    draft.help(format!("{advice}: {}", right_mask(launch, lanes)));
    if lanes != launch.analysed_lanes() {
        draft.data("right_mask", u64::from(lanes));
    }
}

/// The code with which a kernel asks which lanes are going to take part.
pub(crate) fn ballot(launch: &Launch) -> String {
    format!(
        "`__ballot_sync({}, condition)`, taken before the branch",
        mask_in_words(launch.analysed_lanes())
    )
}

/// The call that passes the mask, where the function that executes the collective only hands it on.
fn passed_mask(module: &ModuleContext<'_>, issue: &Issue) -> Option<Place> {
    let call = issue.site.callers.first()?;
    let body = module.module.function(issue.site.function).body.as_ref()?;
    let mask = body.uses(body.instruction(issue.site.instruction)).first()?;
    let Value::Register(register) = mask else {
        return None;
    };
    let definitions = module.function(issue.site.function).definitions();
    let is_param = definitions.writers_of(*register).iter().any(|&definition| {
        body.uses(body.instruction(definition))
            .iter()
            .any(|value| matches!(value, Value::Param(..)))
    });
    is_param.then(|| Place::of_call(*call))
}
