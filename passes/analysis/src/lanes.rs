//! Where the lanes of a warp go, and what is wrong with the collectives that they meet at.
//!
//! `roots` says where to begin, `slice` what has to be known, `graph`, `order` and `loops` lay out the code of a kernel with its
//! calls in place, `launch` knows the warps, `live` what is read again, `value` and `transfer` what registers hold in each
//! lane, `flow` solves for lanes and values, `placement` says who is where, `shuffle` who is read, `asked` what code may
//! know of that itself, and `verdict` judges.
//!
//! A kernel is first looked at for all its warps at once. Where the index of the warp decides which way lanes go
//! (`threadIdx.x < 16` splits warp 0 only), each warp is looked at by itself. A finding is then definite if it holds in
//! all warps that get there, or in a warp that exists in every launch and certainly gets there.

mod asked;
mod flow;
mod graph;
mod launch;
mod live;
mod loops;
mod order;
mod placement;
mod roots;
mod screen;
mod shuffle;
mod slice;
mod transfer;
mod value;
mod verdict;
mod visible;

use std::collections::BTreeMap;

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::certainty::Certainty;
use crate::limits::{MAX_LIBRARY_BLOCKS, MAX_POTENTIAL_CONTEXTS, MAX_REPEATED_BLOCKS, ROOTS_AT_ONCE};
use crate::shared::Shared;
use flow::Flow;
use graph::{Graph, Kind};
use launch::converges;
use live::Live;
use order::Order;
use ptxcheck_ir::{FunctionId, InstructionId, Special, Value};
use roots::{Calls, Room};
use slice::Slices;
use value::ALL;
use verdict::{Reach, Verdict};

pub(crate) use launch::launch_of;
pub use launch::{Launch, Source};
pub use value::Lanes;
pub use verdict::{Issue, Problem, Spot};

/// What was found in a kernel, or in a function that no kernel of the module calls.
pub struct Root {
    /// The kernel or function.
    pub function: FunctionId,
    /// Its launches, as known or assumed.
    pub launch: Launch,
    /// What is wrong.
    pub findings: Vec<Found>,
    /// Nothing is known of it: too large, not whole, or the analysis did not settle.
    pub is_unknown: bool,
    /// Some collective has an operand that is not known, or is in an irreducible loop or behind one, so that nothing found
    /// does not mean that nothing is wrong.
    pub has_unknown: bool,
    /// It was too much work to say where all lanes are, or what they hold.
    pub is_limited: bool,
}

/// Something that is wrong, over all warps.
pub struct Found {
    /// What, in the first warp where it is.
    pub issue: Issue,
    /// The warps that it is in, if not in all that get there.
    pub warps: Vec<u32>,
    /// How many more like it there are, in other kernels and after other calls, that are left out.
    pub more: usize,
}

impl Root {
    /// Of which nothing is known.
    const fn nothing(function: FunctionId, launch: Launch) -> Self {
        Self {
            function,
            launch,
            findings: Vec::new(),
            is_unknown: true,
            has_unknown: true,
            is_limited: false,
        }
    }
}

/// The roots of a module that have collectives or barriers, in the order of the input: all of them, or those that may
/// have a finding of the certainty asked for.
///
/// What the screen leaves out has no definite finding, whether or not it is looked at for the sake of potential ones.
#[must_use]
pub(crate) fn analyse(module: &Shared<'_>, least: Certainty) -> Vec<Root> {
    let calls = Calls::new(module);
    let mut roots = calls.roots(module);
    if roots.is_empty() {
        return Vec::new();
    }
    let suspects = screen::suspects(module, &roots, &calls.holds);
    if least == Certainty::Definite {
        roots.clone_from(&suspects);
    }
    let suspects: FxHashSet<FunctionId> = suspects.into_iter().collect();
    let visited = calls.visited(module, &roots);
    let slices = Slices::new(module, &visited);
    let room = Room {
        new: MAX_LIBRARY_BLOCKS,
        known: MAX_REPEATED_BLOCKS,
    };
    let affordable = calls.affordable(module, &roots, &visited, room);
    let one = |&function: &FunctionId| {
        let nothing = || {
            Root::nothing(
                function,
                Launch::new(&module.module.function(function).launch, None, true),
            )
        };
        if !affordable[function.index()] || module.deadline.is_over() {
            return nothing();
        }
        let root = root(module, &slices, function, least);
        // What was cut short proves nothing.
        if module.deadline.is_over() {
            nothing()
        } else {
            root
        }
    };
    let mut room = Shown::default();
    let mut all = Vec::with_capacity(roots.len());
    for some in roots.chunks(ROOTS_AT_ONCE) {
        let mut looked_at: Vec<Root> = if some.len() < 4 {
            some.iter().map(one).collect()
        } else {
            some.par_iter().map(one).collect()
        };
        for root in &mut looked_at {
            if !suspects.contains(&root.function) {
                for found in &mut root.findings {
                    found.issue.certainty = Certainty::Potential;
                }
            }
            room.keep(root, all.len());
            all.push(std::mem::replace(root, Root::nothing(root.function, root.launch)));
        }
    }
    room.count(&mut all);
    all
}

/// Potential findings of one kind at one instruction, over all roots and calls that lead there.
#[derive(Default)]
struct Shown {
    /// How many there are, and the last that is kept: its root, and its place among that one's.
    of: FxHashMap<(FunctionId, InstructionId, Problem), (usize, [usize; 2])>,
}

impl Shown {
    /// Keeps of the findings of the root with this number what there is room for.
    fn keep(&mut self, root: &mut Root, number: usize) {
        let mut kept = 0;
        root.findings.retain(|found| {
            let issue = &found.issue;
            let is_kept = issue.certainty == Certainty::Definite || {
                let key = (issue.spot.function, issue.spot.instruction, issue.problem);
                let (count, last) = self.of.entry(key).or_default();
                *count += 1;
                if *count <= MAX_POTENTIAL_CONTEXTS {
                    *last = [number, kept];
                }
                *count <= MAX_POTENTIAL_CONTEXTS
            };
            kept += usize::from(is_kept);
            is_kept
        });
    }

    /// Has the last one that is kept of each kind say how many more there are.
    fn count(self, roots: &mut [Root]) {
        for (count, [root, place]) in self.of.into_values() {
            if let Some(found) = roots[root].findings.get_mut(place) {
                found.more = count.saturating_sub(MAX_POTENTIAL_CONTEXTS);
            }
        }
    }
}

fn root(module: &Shared<'_>, slices: &Slices, function: FunctionId, least: Certainty) -> Root {
    let nothing = |launch| Root::nothing(function, launch);
    let too_large = |launch| Root {
        is_limited: true,
        ..nothing(launch)
    };
    let kernel = module.module.function(function);
    let assumed = Launch::new(&kernel.launch, None, true);
    let Some(graph) = Graph::new(module, slices, function) else {
        return nothing(assumed);
    };
    let reads_other = graph
        .contexts
        .iter()
        .any(|context| reads_other_dimensions(context.body));
    let launch = launch_of(module, function, reads_other);
    let order = Order::new(&graph);
    let live = Live::new(module, &graph, &order);
    let always = always(&graph, &order);
    let is_kernel = kernel.is_kernel();
    let converges = converges(module);
    let run = |warp: Option<u32>, least: Certainty| -> Option<(Verdict, bool)> {
        let launch = Launch { warp, ..launch };
        let mut flow = Flow::new(module, &graph, &order, &live, launch, always.clone())?;
        let entry = if is_kernel { launch.lanes() } else { 0 };
        let verdict = verdict::judge(&mut flow, entry, converges, least);
        Some((verdict, flow.wants_warp))
    };
    let partial = launch
        .threads()
        .is_some_and(|threads| threads > 32 && threads % 32 != 0);
    // Warp 0 is in every launch, and no other one need be: what is definite in the kernel is so in warp 0, or does not
    // come there.
    let mut first = None;
    if least == Certainty::Definite && launch.shape.is_none() {
        let Some((verdict, _)) = run(Some(0), least) else {
            return too_large(launch);
        };
        let mut issues = verdict.issues.iter();
        let is_clear = issues.all(|issue| issue.certainty == Certainty::Potential);
        if is_clear && has_come_everywhere(&graph, &order, &verdict) {
            return Root {
                function,
                launch,
                findings: Vec::new(),
                is_unknown: false,
                has_unknown: true,
                is_limited: verdict.is_limited,
            };
        }
        first = Some(verdict);
    }
    let mut runs: Vec<(Option<u32>, Verdict)> = Vec::new();
    // What is said of all warps at once, where not each of them is looked at.
    let mut rest: Option<Verdict> = None;
    if !partial {
        let Some((verdict, wants_warp)) = run(None, Certainty::Potential) else {
            return too_large(launch);
        };
        // What holds of all warps at once holds of each: where nothing may be wrong, no warp need be looked at.
        let is = |certainty| verdict.issues.iter().any(|issue| issue.certainty == certainty);
        let by_warp = verdict.reach.iter().filter(|(_, reach)| reach.by_warp);
        let has_barriers = graph.nodes.iter().any(|node| node.kind == Kind::Barrier);
        let mut may_differ = wants_warp
            && (is(Certainty::Potential) || has_barriers && is(Certainty::Definite))
            || verdict.has_asked && is(Certainty::Definite)
            || by_warp.clone().next().is_some();
        if !may_differ && is(Certainty::Definite) && launch.shape.is_none() {
            // What is definite in all warps at once may be left open in one: lanes that certainly stay away from a barrier
            // there may be waited for by those that come to it.
            if first.is_none() {
                first = run(Some(0), Certainty::Definite).map(|(verdict, _)| verdict);
            }
            let Some(first) = &first else {
                return nothing(launch);
            };
            let reached = first.reach.iter().filter(|(_, reach)| reach.maybe);
            let reached: FxHashSet<u32> = reached.map(|(node, _)| *node).collect();
            let settled: FxHashSet<(u32, Problem)> = definite(first).collect();
            may_differ = definite(&verdict)
                .any(|(node, problem)| reached.contains(&node) && !settled.contains(&(node, problem)));
        }
        if !may_differ {
            runs.push((None, verdict));
        } else {
            let issues = verdict.issues.iter().map(|issue| issue.node);
            let mut open: Vec<u32> = issues.chain(by_warp.map(|(node, _)| *node)).collect();
            let whole = verdict;
            open.sort_unstable();
            open.dedup();
            for warp in 0..launch.warps() {
                let Some((found, _)) = run(Some(warp), Certainty::Potential) else {
                    return too_large(launch);
                };
                // A node that is reached in a warp where nothing is definite stays potential, unless another warp
                // that always exists settles it.
                let (reach, definite) = by_node(&found);
                open.retain(|node| {
                    let reach = reach.get(node).copied().unwrap_or_default();
                    let is_definite = definite.contains(node);
                    let is_settled = launch.surely_exists(warp) && is_definite && reach.surely;
                    !reach.maybe || is_definite && !is_settled
                });
                runs.push((Some(warp), found));
                if warp + 1 == launch.warps() {
                    break;
                }
                if open.is_empty() && launch.shape.is_none() {
                    rest = Some(whole);
                    break;
                }
            }
        }
    } else {
        for warp in 0..launch.warps() {
            let Some((verdict, _)) = run(Some(warp), Certainty::Potential) else {
                return too_large(launch);
            };
            runs.push((Some(warp), verdict));
        }
    }
    let mut verdicts = runs.iter().map(|(_, verdict)| verdict).chain(&rest);
    // In which rounds of an irreducible loop lanes meet is not known.
    let mut judged = order
        .nodes
        .iter()
        .filter(|&&node| verdict::is_judged(&graph, node));
    let has_unknown = judged.any(|&node| order.is_tangled(node))
        || verdicts.any(|verdict| verdict.reach.iter().any(|(_, reach)| reach.is_unknown));
    let is_limited = runs
        .iter()
        .map(|(_, verdict)| verdict)
        .chain(&rest)
        .any(|verdict| verdict.is_limited);
    let mut findings = merge(&launch, &mut runs, rest.as_ref());
    let mut known: FxHashSet<(u32, Problem)> = findings
        .iter()
        .map(|found| (found.issue.node, found.issue.problem))
        .collect();
    for mut issue in rest.into_iter().flat_map(|rest| rest.issues) {
        if known.insert((issue.node, issue.problem)) {
            issue.certainty = Certainty::Potential;
            findings.push(Found {
                issue,
                warps: Vec::new(),
                more: 0,
            });
        }
    }
    findings.sort_by(|a, b| key(a).cmp(&key(b)));
    Root {
        function,
        launch,
        findings,
        is_unknown: false,
        has_unknown,
        is_limited,
    }
}

/// Whether the lanes of a run may come to all collectives and barriers that are judged.
fn has_come_everywhere(graph: &Graph<'_>, order: &Order, verdict: &Verdict) -> bool {
    let mut reached = vec![false; graph.nodes.len()];
    for (node, reach) in &verdict.reach {
        reached[*node as usize] |= reach.maybe;
    }
    order
        .nodes
        .iter()
        .all(|&node| reached[node as usize] || !verdict::is_judged(graph, node))
}

/// What is known of each node in a verdict: how it is reached, and where something is definite.
fn by_node(verdict: &Verdict) -> (FxHashMap<u32, Reach>, FxHashSet<u32>) {
    let is_definite = |issue: &&Issue| issue.certainty == Certainty::Definite;
    let definite = verdict.issues.iter().filter(is_definite);
    (
        verdict.reach.iter().copied().collect(),
        definite.map(|issue| issue.node).collect(),
    )
}

/// What is definite in one solution: nodes and problems.
fn definite(verdict: &Verdict) -> impl Iterator<Item = (u32, Problem)> + '_ {
    let issues = verdict.issues.iter();
    issues
        .filter(|issue| issue.certainty == Certainty::Definite)
        .map(|issue| (issue.node, issue.problem))
}

/// Whether `%tid.y` or `%tid.z` is read.
pub(crate) fn reads_other_dimensions(body: &ptxcheck_ir::Body<'_>) -> bool {
    body.instructions.iter().any(|instruction| {
        body.uses(instruction)
            .iter()
            .any(|value| matches!(value, Value::Special(Special::Tid(1 | 2))))
    })
}

/// The nodes that every lane passes: those that dominate the exit, in no loop.
fn always(graph: &Graph<'_>, order: &Order) -> Vec<bool> {
    let mut always = vec![false; graph.nodes.len()];
    let mut node = graph.exit;
    if order.rank[node as usize] == graph::NONE {
        return always;
    }
    loop {
        always[node as usize] = order.loop_of[node as usize] == graph::NONE;
        if node == 0 {
            return always;
        }
        node = order.dominator(node);
    }
}

/// One finding for each node and problem, over the warps that were looked at. `rest`: what is said of all at once, if others
/// were not.
fn merge(launch: &Launch, runs: &mut [(Option<u32>, Verdict)], rest: Option<&Verdict>) -> Vec<Found> {
    let mut by_node: BTreeMap<(u32, Problem), Vec<(usize, Issue)>> = BTreeMap::new();
    let mut reach: BTreeMap<u32, Vec<Reach>> = BTreeMap::new();
    let count = runs.len();
    for (number, (_, verdict)) in runs.iter_mut().enumerate() {
        for (node, found) in &verdict.reach {
            reach
                .entry(*node)
                .or_insert_with(|| vec![Reach::default(); count])[number] = *found;
        }
        for issue in verdict.issues.drain(..) {
            by_node
                .entry((issue.node, issue.problem))
                .or_default()
                .push((number, issue));
        }
    }
    let mut found = Vec::new();
    for ((node, problem), issues) in by_node {
        let nothing = vec![Reach::default(); count];
        let reach = reach.get(&node).unwrap_or(&nothing);
        let is_definite_in = |number: usize| {
            issues
                .iter()
                .any(|(run, issue)| *run == number && issue.certainty == Certainty::Definite)
        };
        let reached: Vec<usize> = (0..count).filter(|&number| reach[number].maybe).collect();
        let is_definite = if count == 1 {
            is_definite_in(0)
        } else {
            reached.iter().all(|&number| is_definite_in(number))
                // The last warp of a block may lack lanes that the mask names for the sake of the others.
                || problem != Problem::BeyondBlock && reached.iter().any(|&number| {
                    let exists = runs[number].0.is_some_and(|warp| launch.surely_exists(warp));
                    exists && reach[number].surely && is_definite_in(number)
                })
        };
        let mut warps: Vec<u32> = issues
            .iter()
            .filter(|(_, issue)| !is_definite || issue.certainty == Certainty::Definite)
            .filter_map(|(number, _)| runs[*number].0)
            .collect();
        warps.dedup();
        let is_alike = |rest: &Verdict| {
            let mut alike = rest
                .issues
                .iter()
                .filter(|issue| (issue.node, issue.problem) == (node, problem));
            alike.any(|issue| issue.certainty == Certainty::Definite || !is_definite)
        };
        if warps.len() == reached.len() && rest.is_none_or(is_alike) {
            warps.clear();
        }
        let is_shown = |issue: &Issue| !is_definite || issue.certainty == Certainty::Definite;
        // In the first warp that has it; several groups of lanes of that warp give several findings.
        let first = issues
            .iter()
            .find(|(_, issue)| is_shown(issue))
            .map(|(number, _)| *number);
        for (number, mut issue) in issues {
            if Some(number) == first && is_shown(&issue) {
                if !is_definite {
                    issue.certainty = Certainty::Potential;
                }
                found.push(Found {
                    issue,
                    warps: warps.clone(),
                    more: 0,
                });
            }
        }
    }
    // Most kernels have one, if any.
    found.shrink_to_fit();
    found
}

/// The order of findings.
fn key(found: &Found) -> (&verdict::Spot, Problem, Lanes) {
    (&found.issue.spot, found.issue.problem, found.issue.lanes)
}

/// All lanes, as numbers and ranges: "0, 16-31".
#[must_use]
pub fn ranges(set: Lanes) -> String {
    let mut text = String::new();
    let mut lane = 0;
    while lane < 32 {
        if set >> lane & 1 == 0 {
            lane += 1;
            continue;
        }
        let length = (!(set >> lane)).trailing_zeros().min(32 - lane);
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(&lane.to_string());
        if length > 1 {
            text.push_str(if length == 2 { ", " } else { "-" });
            text.push_str(&(lane + length - 1).to_string());
        }
        lane += length;
    }
    text
}

/// Whether a set is a whole warp.
#[must_use]
pub const fn is_full(set: Lanes) -> bool {
    set == ALL
}

#[cfg(test)]
mod tests;
