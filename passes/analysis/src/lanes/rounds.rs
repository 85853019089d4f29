//! Loops that each lane leaves after its own number of rounds, analysed round by round.
//!
//! Each such loop ([`LoopExitSearch`]) is analysed in a graph of its own with peeled first rounds. A definite finding there is
//! definite in the code, and is added to the findings about the kernel.

use rustc_hash::FxHashSet;

use super::explore::for_each_loop;
use super::finding::{Root, sort_key};
use super::flow::Flow;
use super::graph::{NodeKind, Test};
use super::kernel::LaneKernel;
use super::lane_counted_loops::LoopExitSearch;
use super::launch::{Launch, launches_of};
use super::layout::{InStates, LaneLayout};
use super::scenario::Fixed;
use super::slice::Slices;
use super::undecided::undecided_nodes;
use super::verdict;
use crate::certainty::Certainty;
use crate::limits::{FEW_ROUNDS, MAX_ROUND_NODES, MAX_ROUNDS};
use crate::shared::Shared;
use ptxcheck_ir::FunctionId;

/// Analyses a kernel, or a function that no kernel reaches.
pub(super) fn analyse(module: &Shared<'_>, slices: &Slices, function: FunctionId, least: Certainty) -> Root {
    let Some(layout) = LaneLayout::new(module, slices, function) else {
        let bounds = &module.module.function(function).launch;
        return Root::unknown(function, Launch::new(bounds, None, true));
    };
    let fixed = Fixed::default();
    let kernel = LaneKernel::new(&layout, &fixed);
    let mut loops = counted_loops(&layout);
    if !loops.is_empty()
        && let Some(open) = undecided_nodes(&kernel)
    {
        if open.is_empty() && least == Certainty::Definite {
            return kernel.root_without_findings();
        }
        loops.retain(|&of| open.iter().any(|&node| layout.order.is_in_loop(node, of)));
    }
    let mut root = kernel.analyse(least);
    if !root.is_unknown {
        for_each_loop(&layout, slices, &loops, |layout, in_states, of| {
            if let Some((peeled, are_all)) = peel_rounds(layout, in_states, of) {
                let fixed = Fixed::default();
                let found = LaneKernel::new(&peeled, &fixed).analyse(least);
                add_definite_findings_of_rounds(&mut root, &peeled, are_all, found);
            }
        });
    }
    kernel.add_thresholds(&mut root);
    root
}

/// The loops of a kernel that each lane may leave after its own number of rounds.
fn counted_loops(layout: &LaneLayout<'_>) -> Vec<u32> {
    let (graph, order) = (&layout.graph, &layout.order);
    let count = order.loops.len();
    let mut holds = vec![false; count];
    let mut latches: Vec<Vec<u32>> = vec![Vec::new(); count];
    for &node in &order.nodes {
        if matches!(
            graph.nodes[node as usize].kind,
            NodeKind::Collective | NodeKind::Barrier
        ) {
            order.loops_around(node).for_each(|of| holds[of as usize] = true);
        }
        for target in graph.successors(node) {
            let of = order.loop_of[target as usize];
            if order.is_edge_to_next_round_around(node, target, target) {
                latches[of as usize].push(node);
            }
        }
    }
    if !holds.contains(&true) {
        return Vec::new();
    }
    let mut is_counted = vec![false; count];
    let has_shape = launches_of(layout.module, layout.function, false)
        .iter()
        .any(|launch| launch.shape.is_some());
    for &node in &order.nodes {
        let Test::Guard(guard) = graph.nodes[node as usize].test else {
            continue;
        };
        for of in graph
            .successors(node)
            .flat_map(|target| order.loops_left_by_edge(node, target))
        {
            let index = of as usize;
            if !holds[index] || is_counted[index] {
                continue;
            }
            let is_passed = || latches[index].iter().all(|&latch| order.dominates(node, latch));
            let context = graph.context_of_node(node);
            let exits = LoopExitSearch::new(layout.module, context.function, context.body, has_shape);
            is_counted[index] = exits.may_guard_count_rounds(guard, is_passed);
        }
    }
    let is_fit = |of: &u32| {
        let of = &order.loops[*of as usize];
        of.is_natural && of.header != 0 && !order.is_in_or_before_irreducible_loop(of.header)
    };
    (0..count as u32)
        .filter(|&of| is_counted[of as usize])
        .filter(is_fit)
        .collect()
}

/// The layout with peeled rounds of a loop: as many rounds as lanes execute, if that number is known. The second result says
/// that these are all.
fn peel_rounds<'k>(
    layout: &LaneLayout<'k>,
    in_states: &InStates<'k>,
    of: u32,
) -> Option<(LaneLayout<'k>, bool)> {
    let size = layout
        .order
        .nodes
        .iter()
        .filter(|&&node| layout.order.is_in_loop(node, of))
        .count();
    let with = |rounds: u32| {
        let is_small = size * rounds as usize <= MAX_ROUND_NODES;
        let peeled = is_small.then(|| layout.with_peeled_rounds(in_states, of, rounds))?;
        let is_exceeded = may_exceed_peeled_rounds(&peeled)?;
        Some((peeled, is_exceeded))
    };
    let (few, is_exceeded) = with(FEW_ROUNDS)?;
    if is_exceeded && let Some((all, false)) = with(MAX_ROUNDS) {
        return Some((all, true));
    }
    Some((few, !is_exceeded))
}

/// True if lanes of warp 0 may execute more rounds of a loop than are peeled.
fn may_exceed_peeled_rounds(peeled: &LaneLayout<'_>) -> Option<bool> {
    let mut launch = *peeled.launches().first()?;
    launch.warp = Some(0);
    let fixed = Fixed::default();
    let flow = Flow::new(peeled, launch, &fixed, peeled.reusable_pool())?;
    let rest = peeled.graph.rounds.as_ref()?.original_header();
    let is_exceeded = flow.may[rest as usize] != 0;
    peeled.keep_pool(flow.pool);
    Some(is_exceeded)
}

/// Adds the definite findings of single rounds, once for each instruction and problem.
fn add_definite_findings_of_rounds(root: &mut Root, peeled: &LaneLayout<'_>, are_all: bool, found: Root) {
    let Some(rounds) = &peeled.graph.rounds else {
        return;
    };
    if found.is_unknown {
        return;
    }
    let is_definite = |certainty| certainty == Certainty::Definite;
    if are_all && !found.is_limited {
        // If nothing may be wrong in any round, nothing is wrong in the loop.
        let open: FxHashSet<_> = found
            .findings
            .iter()
            .map(|found| (&found.issue.site, found.issue.problem))
            .collect();
        let is_looked_at = |node: u32| rounds.is_in_round(node);
        root.findings.retain(|known| {
            let issue = &known.issue;
            is_definite(issue.certainty)
                || !is_looked_at(issue.node)
                || open.contains(&(&issue.site, issue.problem))
        });
    }
    let mut known: FxHashSet<(verdict::Site, verdict::Problem)> = FxHashSet::default();
    for found in &root.findings {
        if is_definite(found.issue.certainty) {
            known.insert((found.issue.site.clone(), found.issue.problem));
        }
    }
    for mut found in found.findings {
        let at = (found.issue.site.clone(), found.issue.problem);
        if !is_definite(found.issue.certainty) || known.contains(&at) {
            continue;
        }
        root.findings
            .retain(|other| (&other.issue.site, other.issue.problem) != (&at.0, at.1));
        found.round = rounds.round_of_node(found.issue.node);
        found.issue.node = rounds.origin[found.issue.node as usize];
        root.findings.push(found);
        known.insert(at);
    }
    root.findings.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)));
}
