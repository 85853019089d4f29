//! Phases that lanes go through in step.
//!
//! `phases.rs` follows the callers and the lane in question separately, so that one may seem to leave a loop while the
//! others execute another round. Here, they are *in step* as long as the undivided boundaries that they pass are the same,
//! from the entry on: then they take the same edges of uniform branches (`uniform.rs`) up to the next boundary, and each
//! choice of these edges is analysed separately.
//!
//! A lane is *stuck* in a segment if it cannot end there, or only after a visible effect that follows its exit from the
//! paths to the point where the others wait: then those wait for it, and all that follows is undefined.

use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

use super::phases::{Boundaries, Boundary, ENTRY, Segment};
use crate::lanes::flow::Flow;
use crate::lanes::graph::NodeKind;
use crate::lanes::placement::Placement;
use crate::lanes::uniform::UniformBranches;
use crate::lanes::value::Lanes;
use crate::limits::{MAX_CHOSEN_BRANCHES, MAX_PHASE_STEPS};

/// Branches, each with a mark.
type Branches = Rc<[(u32, bool)]>;

/// A set of nodes.
type Nodes = FxHashSet<u32>;

/// The uniform branches of a solution, and the remaining budget for following lanes in step.
pub(super) struct Lockstep {
    uniform: UniformBranches,
    /// By barrier or collective: the nodes on paths to it, in one round of the loops around it.
    ways: FxHashMap<u32, Rc<Nodes>>,
    /// By node, [`ENTRY`] for the entry, and lanes: the uniform branches up to the next boundary, in order. Those that are
    /// passed once before the next undivided boundary are marked.
    branches: FxHashMap<(u32, Lanes), Branches>,
    steps_left: usize,
}

/// Lanes that wait for another one.
#[derive(Clone, Copy)]
pub(super) struct Wait<'w> {
    /// The collective or barrier.
    pub(super) at: u32,
    /// The waiting lanes.
    pub(super) callers: Lanes,
    /// The other lane.
    pub(super) own: Lanes,
    /// The nodes that certainly have a visible effect.
    pub(super) visible: &'w [bool],
}

/// A choice of edges of uniform branches.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Choice {
    /// Edges that are not taken.
    without: Vec<u32>,
    /// A branch that is passed several times, and the edge that is taken first.
    first: Option<(u32, u32)>,
}

/// The positions of the callers and of the other lane.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Pair {
    callers: u32,
    lane: u32,
    /// They have passed the same undivided boundaries.
    is_in_step: bool,
    /// The edges chosen after the last one of these.
    choice: Choice,
}

impl Lockstep {
    /// For a solution; `None` if nothing is known about its branches.
    pub(super) fn new(flow: &Flow<'_>) -> Option<Self> {
        let uniform = UniformBranches::new(flow)?;
        let mut nodes = flow.order.nodes.iter();
        nodes.any(|&node| uniform.is_branch(node)).then_some(Self {
            uniform,
            ways: FxHashMap::default(),
            branches: FxHashMap::default(),
            steps_left: MAX_PHASE_STEPS,
        })
    }

    /// True if a lane is stuck elsewhere whenever others wait for it. `is_apart` says for a segment of the waiting lanes and
    /// one of the lane whether it is stuck there; `None`: the others do not reach the point where they wait. `None` if the
    /// budget is spent.
    pub(super) fn is_stuck(
        &mut self,
        flow: &Flow<'_>,
        placement: &mut Placement<'_, '_>,
        boundaries: &Boundaries,
        wait: Wait<'_>,
        is_apart: &impl Fn(&Segment, &Segment) -> Option<bool>,
    ) -> Option<bool> {
        let first = Pair {
            callers: ENTRY,
            lane: ENTRY,
            is_in_step: true,
            choice: Choice::default(),
        };
        let mut seen = FxHashSet::from_iter([first.clone()]);
        let mut work = vec![first];
        let mut is_met = false;
        while let Some(pair) = work.pop() {
            for choice in self.common_choices(flow, boundaries, &wait, &pair)? {
                let there =
                    self.segment_after(flow, boundaries, (pair.callers, wait.callers), &choice, None)?;
                let here = self.segment_after(flow, boundaries, (pair.lane, wait.own), &choice, None)?;
                self.spend_steps(1 + there.next.len() * here.next.len())?;
                let apart = is_apart(&there, &here);
                if here.may_end && (apart.is_some() || !there.next.is_empty()) {
                    let waited_at = apart
                        .map(|_| wait.at)
                        .into_iter()
                        .chain(there.next.iter().copied());
                    let ways: Vec<Rc<Nodes>> = waited_at
                        .map(|at| self.nodes_on_paths_to(placement, at))
                        .collect::<Option<_>>()?;
                    let is_seen = |node: u32| {
                        wait.visible[node as usize] && !ways.iter().any(|way| way.contains(&node))
                    };
                    let from = (pair.lane, wait.own);
                    if self
                        .segment_after(flow, boundaries, from, &choice, Some(&is_seen))?
                        .may_end
                    {
                        return Some(false);
                    }
                }
                match apart {
                    Some(true) => is_met = true,
                    Some(false) => return Some(false),
                    None => {}
                }
                for next in self.next_positions(boundaries, &pair, &choice, &there, &here) {
                    if seen.insert(next.clone()) {
                        work.push(next);
                    }
                }
            }
        }
        Some(is_met)
    }

    /// The positions of lanes in the next phase.
    fn next_positions(
        &self,
        boundaries: &Boundaries,
        pair: &Pair,
        choice: &Choice,
        there: &Segment,
        here: &Segment,
    ) -> Vec<Pair> {
        let mut pairs = Vec::new();
        for &callers in &there.next {
            let others = here.next.iter().copied();
            let mut others = others
                .filter(|lane| boundaries.get(callers) == boundaries.get(*lane))
                .peekable();
            let is_common = self.uniform.is_reached_uniformly(callers);
            let is_left = boundaries.get(callers) != Some(Boundary::Barrier) || here.next.is_empty();
            if others.peek().is_none() && is_left {
                // The lane is missing there. If the others continue, it is still at the same position, or has ended.
                let is_in_step = pair.is_in_step && !is_common;
                pairs.push(Pair {
                    callers,
                    lane: pair.lane,
                    is_in_step,
                    choice: if is_in_step {
                        choice.clone()
                    } else {
                        Choice::default()
                    },
                });
            }
            pairs.extend(others.map(|lane| Pair {
                callers,
                lane,
                is_in_step: pair.is_in_step
                    && (callers == lane || !is_common && !self.uniform.is_reached_uniformly(lane)),
                choice: Choice::default(),
            }));
        }
        // Such a collective is not one of the undivided boundaries, so it is not known whether they have passed the same
        // ones.
        let perhaps = boundaries.possible_meetings(there, here).into_iter();
        pairs.extend(perhaps.map(|(callers, lane)| Pair {
            callers,
            lane,
            is_in_step: false,
            choice: Choice::default(),
        }));
        pairs
    }

    /// The nodes on paths to a barrier or collective.
    fn nodes_on_paths_to(&mut self, placement: &mut Placement<'_, '_>, at: u32) -> Option<Rc<Nodes>> {
        if let Some(known) = self.ways.get(&at) {
            return Some(Rc::clone(known));
        }
        let way = Rc::new(placement.nodes_before(at)?);
        self.ways.insert(at, Rc::clone(&way));
        Some(way)
    }

    fn spend_steps(&mut self, steps: usize) -> Option<()> {
        self.steps_left = self.steps_left.checked_sub(steps)?;
        Some(())
    }

    /// The choices between edges that lanes have in common up to the next boundary.
    fn common_choices(
        &mut self,
        flow: &Flow<'_>,
        boundaries: &Boundaries,
        wait: &Wait<'_>,
        pair: &Pair,
    ) -> Option<Vec<Choice>> {
        let mut choices = vec![pair.choice.clone()];
        if !pair.is_in_step {
            return Some(choices);
        }
        let graph = flow.graph;
        let edges_of = |node: u32| graph.nodes[node as usize].edges.clone();
        let is_chosen = |node: u32| {
            pair.choice
                .without
                .iter()
                .any(|edge| edges_of(node).contains(edge))
        };
        let mut branches: Vec<(u32, bool)> = Vec::new();
        for (from, lanes) in [(pair.callers, wait.callers), (pair.lane, wait.own)] {
            for &(node, is_once) in &*self.uniform_branches(flow, boundaries, (from, lanes))? {
                if is_chosen(node) {
                    continue;
                }
                match branches.iter_mut().find(|(known, _)| *known == node) {
                    Some((_, known)) => *known &= is_once,
                    None => branches.push((node, is_once)),
                }
            }
        }
        branches.sort_by_key(|(node, _)| flow.order.rank[*node as usize]);
        let may_be_first = pair.callers == pair.lane;
        let (mut chosen, mut has_first) = (0, false);
        for (branch, is_once) in branches {
            if chosen == MAX_CHOSEN_BRANCHES {
                break;
            }
            // A branch that is passed again before the next undivided boundary may then be decided differently.
            if !is_once && (has_first || !may_be_first) {
                continue;
            }
            has_first |= !is_once;
            chosen += 1;
            let either = choices.into_iter().flat_map(|choice| {
                let edges = edges_of(branch);
                edges.map(move |edge| {
                    let mut choice = choice.clone();
                    if is_once {
                        choice.without.push(edge);
                    } else {
                        choice.first = Some((branch, edge));
                    }
                    choice
                })
            });
            choices = either.collect();
        }
        Some(choices)
    }

    /// The uniform branches with two edges that lanes may reach after a node and before the next boundary; true for those
    /// that they pass once before the next undivided boundary.
    fn uniform_branches(
        &mut self,
        flow: &Flow<'_>,
        boundaries: &Boundaries,
        (from, of): (u32, Lanes),
    ) -> Option<Branches> {
        if let Some(known) = self.branches.get(&(from, of)) {
            return Some(Rc::clone(known));
        }
        let mut nodes = Vec::new();
        Self::visit_reachable(
            &mut self.steps_left,
            flow,
            (from, of),
            &Choice::default(),
            |node| {
                nodes.push(node);
                !boundaries.is_boundary(node)
            },
        )?;
        let mut found = Vec::new();
        for node in nodes {
            if self.uniform.is_branch(node) && flow.graph.nodes[node as usize].edges.len() == 2 {
                found.push((node, !self.may_return_to(flow, boundaries, (node, of))?));
            }
        }
        let found: Branches = found.into();
        self.branches.insert((from, of), Rc::clone(&found));
        Some(found)
    }

    /// True if lanes may return to a node without passing an undivided boundary.
    fn may_return_to(
        &mut self,
        flow: &Flow<'_>,
        boundaries: &Boundaries,
        (node, of): (u32, Lanes),
    ) -> Option<bool> {
        let mut is_met = false;
        Self::visit_reachable(
            &mut self.steps_left,
            flow,
            (node, of),
            &Choice::default(),
            |next| {
                is_met |= next == node;
                !boundaries.is_boundary(next) || !self.uniform.is_reached_uniformly(next)
            },
        )?;
        Some(is_met)
    }

    /// All nodes that lanes may reach after a node and before the next boundary, with these edges, and not past nodes for
    /// which `ends` holds.
    fn segment_after(
        &mut self,
        flow: &Flow<'_>,
        boundaries: &Boundaries,
        from: (u32, Lanes),
        choice: &Choice,
        ends: Option<&dyn Fn(u32) -> bool>,
    ) -> Option<Segment> {
        let graph = flow.graph;
        let mut segment = Segment::default();
        Self::visit_reachable(&mut self.steps_left, flow, from, choice, |node| {
            if node == graph.exit {
                segment.may_end = true;
                return false;
            }
            if graph.nodes[node as usize].kind == NodeKind::Collective {
                segment.collectives.push(node);
            }
            if boundaries.is_boundary(node) {
                segment.next.push(node);
                return false;
            }
            ends.is_none_or(|ends| !ends(node))
        })?;
        segment.collectives.sort_unstable();
        Some(segment)
    }

    /// Calls `visit` for each node that lanes may reach, and continues after those for which it returns true. A node may be
    /// visited twice.
    fn visit_reachable(
        steps_left: &mut usize,
        flow: &Flow<'_>,
        (from, of): (u32, Lanes),
        choice: &Choice,
        mut visit: impl FnMut(u32) -> bool,
    ) -> Option<()> {
        let graph = flow.graph;
        let mut seen = FxHashSet::default();
        let mut work = Vec::new();
        let mut reach = |node: u32, seen: &mut FxHashSet<u32>, work: &mut Vec<u32>| {
            if seen.insert(node) && visit(node) {
                work.push(node);
            }
        };
        if from == ENTRY {
            reach(0, &mut seen, &mut work);
        } else {
            work.push(from);
        }
        let (mut first, mut is_first_met) = (choice.first, false);
        loop {
            while let Some(node) = work.pop() {
                if first.is_some_and(|(branch, _)| branch == node) {
                    is_first_met = true;
                    continue;
                }
                let edges = graph.nodes[node as usize].edges.clone();
                *steps_left = steps_left.checked_sub(1 + edges.len())?;
                let is_taken =
                    |edge: &u32| flow.edges[*edge as usize] & of != 0 && !choice.without.contains(edge);
                for edge in edges.filter(is_taken) {
                    reach(graph.targets[edge as usize], &mut seen, &mut work);
                }
            }
            // From the first branch on, by the edge that is taken first.
            match first.take() {
                Some((_, edge)) if is_first_met && flow.edges[edge as usize] & of != 0 => {
                    seen.clear();
                    reach(graph.targets[edge as usize], &mut seen, &mut work);
                }
                _ => return Some(()),
            }
        }
    }
}
