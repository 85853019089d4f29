//! Findings of the lane analysis: lanes, masks and launches in words, for the rules about warp collectives.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::analysis::lanes::{
    FixedParam, Issue, LaneFinding, Lanes, Launch, Problem, Root, ShapeSource, Site, is_full, ranges,
};
use crate::conditional::{Conditional, Doing, Memory, Witness, WitnessRun, WitnessStep};
use crate::context::{Draft, ModuleContext, Place, Report};
use crate::finding::Certainty;
use crate::ir::{FunctionId, Value};
use crate::launches::Shape;
use crate::rule::Level;

use super::wording;

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
        let settings = module.settings;
        let is_wanted = settings
            .registry
            .find("PTX403")
            .is_some_and(|rule| settings.level(rule, Certainty::Definite, rule.definite) > Level::Allow);
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

    /// True if an issue is told by the finding about callers without a name.
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
pub(crate) fn begin<'r>(
    module: &ModuleContext<'_>,
    report: &'r mut Report<'_>,
    found: &LaneFinding,
    message: String,
) -> &'r mut Draft {
    let issue = &found.issue;
    let place = place(&issue.site);
    let draft = match issue.certainty {
        Certainty::Definite => report.definite(place, message),
        Certainty::Conditional => report.conditional(place, message),
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
    draft.data("here", crate::finding::Value::Numbers(numbers(issue.here)));
    if let Some((site, lanes)) = &issue.split {
        let message = if is_full(*lanes) {
            "lanes may go different ways here".to_owned()
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
        tell(module, draft, conditional);
        let shown = module.shown_launches(conditional.function);
        if let Some(place) = shown.and_then(|shown| shown.place(conditional.witness.block)) {
            draft.note(format!("launched so by {place}"));
        }
        tell_run(module, draft, &conditional.run);
        return draft;
    }
    match found.warps.as_slice() {
        [] => {}
        [warp] => {
            draft.note(format!("only in warp {warp} of each block"));
        }
        warps => {
            let warps: Vec<String> = warps.iter().map(u32::to_string).collect();
            draft.note(format!("only in the warps {} of each block", warps.join(", ")));
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

/// The sides of a block, but for the last that are 1.
fn sides([x, y, z]: Shape) -> String {
    match (y, z) {
        (1, 1) => format!("{x}"),
        (_, 1) => format!("{x} × {y}"),
        _ => format!("{x} × {y} × {z}"),
    }
}

/// Adds the launch and the values with which something goes wrong.
fn tell(module: &ModuleContext<'_>, draft: &mut Draft, conditional: &Conditional) {
    let witness = &conditional.witness;
    let Witness {
        block,
        grid,
        block_index,
        warp,
        ..
    } = *witness;
    let mut given = vec![format!("blocks of {} threads", sides(block))];
    if grid != [1; 3] {
        given.push(format!("block {block_index:?} of a grid of {grid:?}"));
    }
    let names = match witness.params[..] {
        [] => Vec::new(),
        _ => module.module.parameter_names(conditional.function),
    };
    let mut params = Vec::new();
    for param in &witness.params {
        let piece = match param.offset {
            0 => String::new(),
            offset => format!(" at byte {offset}"),
        };
        let text = format!("parameter {}{piece} = {}", param.number, param.value);
        given.push(match names.get(usize::from(param.number)) {
            Some(Some(name)) => {
                let name = ptxcheck_common::names::shown(name);
                format!("`{name}` (parameter {}){piece} = {}", param.number, param.value)
            }
            _ => text.clone(),
        });
        params.push(text);
    }
    let mut loads = Vec::new();
    for load in &witness.loads {
        let (lanes, value) = load.differing;
        loads.push(if lanes == 0 {
            format!("{} loaded", load.others)
        } else {
            format!(
                "{value} loaded in {}, {} in the others",
                named(lanes),
                load.others
            )
        });
        draft.related(place_of(&load.site), "the value is loaded here");
    }
    given.extend(loads.iter().cloned());
    let memory = match witness.memory {
        Memory::Unknown => None,
        Memory::Zero => Some("0"),
        Memory::Counting => Some("1 to 8, and so on again"),
    };
    given.extend(memory.map(|memory| format!("all other memory {memory}")));
    draft.note(format!(
        "when: {}: warp {warp} of the first block",
        given.join(", ")
    ));
    draft.note(
        "a run of this in the machine of ptxcheck goes wrong here (`ptxcheck replay` shows it step by step); parameters count from 0, as \
         in PTX",
    );
    let numbers = |sides: Shape| crate::finding::Value::Numbers(sides.map(u64::from).to_vec());
    draft.data("block", numbers(witness.block));
    draft.data("grid", numbers(witness.grid));
    draft.data("block_index", numbers(witness.block_index));
    draft.data("warp", u64::from(warp));
    draft.data("parameters", crate::finding::Value::Texts(params));
    if names.iter().any(Option::is_some) {
        let of_one = |param: &FixedParam| {
            names
                .get(usize::from(param.number))
                .cloned()
                .flatten()
                .unwrap_or_default()
        };
        let names = witness.params.iter().map(of_one).collect();
        draft.data("parameter_names", crate::finding::Value::Texts(names));
    }
    draft.data("loads", crate::finding::Value::Texts(loads));
    if let Some(memory) = memory {
        draft.data("memory", memory);
    }
    if let Some(assumption) = ruling_out(module, conditional, &names) {
        draft.help(format!(
            "if it is never called so, say it: `{assumption}` in ptxcheck.toml"
        ));
    }
}

/// An assumption that rules a witness out, as the configuration has it: a parameter is a multiple of the threads of a block, or is not
/// the value with which something goes wrong. `None` if that depends on no parameter.
fn ruling_out(
    module: &ModuleContext<'_>,
    conditional: &Conditional,
    names: &[Option<String>],
) -> Option<String> {
    let Witness { block, params, .. } = &conditional.witness;
    let threads: u64 = block.iter().copied().map(u64::from).product();
    let is_tail = |param: &&FixedParam| !param.value.is_multiple_of(threads.max(1));
    let param = params.iter().find(is_tail).or(params.first())?;
    let condition = if is_tail(&param) {
        format!("% {threads}")
    } else {
        format!("!= {}", signed(param))
    };
    let (number, offset) = (param.number, param.offset);
    let function = module.module.function(conditional.function);
    let is_whole = function.params.get(usize::from(number))?.size == u64::from(param.bytes);
    let name = names.get(usize::from(number)).and_then(Option::as_deref);
    let parameter = match name {
        _ if !is_whole => format!("\"{number}+{offset}\""),
        Some(name)
            if name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') =>
        {
            name.to_owned()
        }
        _ => number.to_string(),
    };
    let spellings = ptxcheck_common::names::spellings(module.module.function_name(conditional.function));
    let kernel = spellings.iter().min_by_key(|name| name.len())?;
    Some(format!("[assume.{kernel:?}] {parameter} = \"{condition}\""))
}

/// The value of a piece of a parameter as an integer.
const fn signed(param: &FixedParam) -> i64 {
    let bits = param.bytes as u32 * 8;
    if bits == 0 || bits > 64 {
        return 0;
    }
    (param.value << (64 - bits)).cast_signed() >> (64 - bits)
}

/// Adds the steps of a run that goes wrong.
fn tell_run(module: &ModuleContext<'_>, draft: &mut Draft, run: &WitnessRun) {
    for (number, step) in run.steps.iter().enumerate() {
        let before = match run.left_out {
            more if more > 0 && number == run.first => format!("{more} steps later, "),
            _ => String::new(),
        };
        let times = match step.times {
            0 | 1 => String::new(),
            times => format!(", {times} times"),
        };
        draft.step(
            place_of(&step.site),
            format!("{before}{}{times}", act(module, step)),
        );
    }
}

/// The act of lanes in a step of a run, in words.
fn act(module: &ModuleContext<'_>, step: &WitnessStep) -> String {
    let by = |one, many| subject(step.lanes, one, many);
    match step.doing {
        Doing::Goes(block) => {
            let body = module.module.function(step.site.function).body.as_ref();
            let is_jump = body.is_some_and(|body| {
                let from = body.block_of(step.site.instruction);
                body.successors(from).last() != Some(&block)
            });
            if is_jump {
                by("jumps from here", "jump from here")
            } else {
                by("goes on here", "go on here")
            }
        }
        Doing::Arrives(mask) => {
            let waits = by("comes here and waits", "come here and wait");
            format!("{waits}, with the mask {mask:#010x}")
        }
        Doing::ArrivesAtBarrier => by("comes to the barrier and waits", "come to the barrier and wait"),
        Doing::Acts => by("does this, which others can see", "do this, which others can see"),
        Doing::Meets => by("meets its like and goes on", "meet and go on"),
        Doing::Passes => by("passes the barrier", "pass the barrier"),
        Doing::Fails(_) => by("goes wrong here", "go wrong here"),
        Doing::LetGo => by("waits in vain", "wait in vain"),
        Doing::Ends => by("ends here", "end here"),
    }
}

/// Adds the assumption about launches that a finding rests on; a conditional one names its launch.
pub(crate) fn assumption(draft: &mut Draft, module: &ModuleContext<'_>, kernel: FunctionId, launch: &Launch) {
    if draft.certainty == Certainty::Conditional {
        return;
    }
    draft.note(match (launch.source, launch.shape) {
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
        _ => "blocks are assumed to be one-dimensional, with a multiple of 32 threads (--launch-block X,Y,Z or `.reqntid` \
              gives their real shape)"
            .to_owned(),
    });
    let shown = module
        .shown_launches(kernel)
        .filter(|shown| launch.source == ShapeSource::Launched && shown.is_all);
    if let Some(shown) = shown {
        let of_this = |shape: Shape| launch.shape.is_none_or(|this| this == shape);
        for (shape, place) in shown.shapes.iter().zip(&shown.places) {
            if of_this(*shape) {
                draft.note(format!(
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
        draft.note(format!(
            "the settings say {x} × {y} × {z} threads: they give way to {bound}"
        ));
    }
}

/// More runs of lanes than this are told as a pattern, if they are one.
const LISTED_RUNS: usize = 4;

/// "lane 3", "lanes 0-15", "lanes 1, 3, 5, …, 31", "all lanes".
pub(crate) fn named(lanes: Lanes) -> String {
    if is_full(lanes) {
        return "all lanes".to_owned();
    }
    let is_first = |lane: &u32| lanes >> lane & 1 == 1 && (*lane == 0 || lanes >> (lane - 1) & 1 == 0);
    if (0..32).filter(is_first).count() <= LISTED_RUNS {
        return format!("{} {}", verb(lanes, "lane", "lanes"), listed(lanes));
    }
    let numbers: Vec<u64> = numbers(lanes);
    if let [first, second, third, .., last] = numbers[..]
        && numbers.windows(2).all(|pair| pair[1] - pair[0] == second - first)
    {
        return format!("lanes {first}, {second}, {third}, …, {last}");
    }
    // One pattern in all groups of four: a run of two or three lanes.
    let (first, last) = (
        lanes.trailing_zeros(),
        3_u32.saturating_sub((lanes & 15).leading_zeros() - 28),
    );
    if lanes.rotate_left(4) == lanes && (lanes & 15).count_ones() == last + 1 - first {
        return format!(
            "lanes {first}-{last}, {}-{}, …, {}-{}",
            first + 4,
            last + 4,
            first + 28,
            last + 28
        );
    }
    format!("lanes {}", listed(lanes))
}

/// "3", "0 and 16", "0, 2-5 and 31".
fn listed(lanes: Lanes) -> String {
    let list = ranges(lanes);
    match list.rsplit_once(", ") {
        Some((before, last)) => format!("{before} and {last}"),
        None => list,
    }
}

/// The form of a word that goes with one lane, or with several.
pub(crate) const fn verb(lanes: Lanes, one: &'static str, more: &'static str) -> &'static str {
    if lanes.count_ones() == 1 { one } else { more }
}

/// "lane 3 does", "lanes 0-15 do".
pub(crate) fn subject(lanes: Lanes, one: &'static str, more: &'static str) -> String {
    format!("{} {}", named(lanes), verb(lanes, one, more))
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

/// A mask as it is written in CUDA: `0x0000ffff`.
pub(crate) fn mask(mask: Lanes) -> String {
    format!("{mask:#010x}")
}

/// The mask of a finding: `the mask 0x0000ffff`, or no number where not all of it is known.
pub(crate) fn the_mask(issue: &Issue) -> String {
    issue.mask.map_or_else(
        || "the mask".to_owned(),
        |known| format!("the mask {}", mask(known)),
    )
}

/// A mask with the lanes that it names: `0x0000ffff (lanes 0-15)`.
pub(crate) fn mask_with_lanes(lanes: Lanes) -> String {
    match lanes {
        0 => mask(lanes),
        _ if is_full(lanes) => mask(lanes),
        _ => format!("{} ({})", mask(lanes), named(lanes)),
    }
}

/// A mask to write: `0x0000ffff` in quotes for code, with the lanes behind it.
pub(crate) fn mask_as_code(lanes: Lanes) -> String {
    if is_full(lanes) {
        format!("`{}`", mask(lanes))
    } else {
        format!("`{}` ({})", mask(lanes), named(lanes))
    }
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
    if lanes == launch.lanes() {
        ballot(launch)
    } else {
        mask_as_code(lanes)
    }
}

/// The code with which a kernel asks which lanes are going to take part.
pub(crate) fn ballot(launch: &Launch) -> String {
    format!(
        "`__ballot_sync({}, condition)`, taken before the branch",
        mask(launch.lanes())
    )
}

/// The lanes of a group, if a mask names one group of several: 2, 4, 8 or 16 lanes next to each other.
pub(crate) fn group(mask: Lanes) -> Option<u32> {
    let size = mask.count_ones();
    let first = mask.trailing_zeros();
    let is_group =
        matches!(size, 2 | 4 | 8 | 16) && first.is_multiple_of(size) && mask >> first == (1 << size) - 1;
    is_group.then_some(size)
}

pub(crate) fn place_of(site: &Site) -> Place {
    place(site)
}

fn place(site: &Site) -> Place {
    Place::Instruction(site.function, site.instruction, site.callers.clone())
}

pub(crate) fn numbers(lanes: Lanes) -> Vec<u64> {
    (0..32).filter(|lane| lanes >> lane & 1 == 1).collect()
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
    let is_param = definitions.of(*register).iter().any(|&definition| {
        body.uses(body.instruction(definition))
            .iter()
            .any(|value| matches!(value, Value::Param(..)))
    });
    is_param.then(|| Place::call(*call))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_told_in_words() {
        for (lanes, words) in [
            (1 << 3, "lane 3"),
            (0x8000_8000, "lanes 15 and 31"),
            (0xffff, "lanes 0-15"),
            (0xffff_fffd, "lanes 0 and 2-31"),
            (0x0101_0101, "lanes 0, 8, 16 and 24"),
            (0xaaaa_aaaa, "lanes 1, 3, 5, …, 31"),
            (0x1111_1111, "lanes 0, 4, 8, …, 28"),
            (0x3333_3333, "lanes 0-1, 4-5, …, 28-29"),
            (0xeeee_eeee, "lanes 1-3, 5-7, …, 29-31"),
            (0x0001_2345, "lanes 0, 2, 6, 8, 9, 13 and 16"),
            (u32::MAX, "all lanes"),
        ] {
            assert_eq!(named(lanes), words);
        }
        assert_eq!(mask_with_lanes(0xff), "0x000000ff (lanes 0-7)");
        assert_eq!(mask_with_lanes(u32::MAX), "0xffffffff");
    }

    #[test]
    fn a_mask_may_be_that_of_one_group() {
        for (mask, size) in [
            (0xff, Some(8)),
            (0xffff_0000, Some(16)),
            (0xc, Some(2)),
            (0x6, None),
            (0x1, None),
            (u32::MAX, None),
            (0, None),
            (0xff0, None),
        ] {
            assert_eq!(group(mask), size, "{mask:#x}");
        }
    }
}
