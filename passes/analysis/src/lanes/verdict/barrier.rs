//! Barriers of the CTA that lanes skip.

use super::lockstep::{Lockstep, Wait};
use super::phases::Segment;
use super::{Issue, Judge, Problem, Reach, definite_if, is_judged};
use crate::lanes::graph::NodeKind;
use crate::lanes::placement::Exits;
use crate::lanes::value::{Lanes, lane_set, lanes_in_set};
use crate::lanes::visible;

impl Judge<'_, '_> {
    pub(super) fn judge_barrier(&mut self, node: u32) {
        let graph = self.flow.graph;
        if !is_judged(graph, node) {
            return;
        }
        let here = self.flow.may[node as usize];
        let existing = self.flow.launch.analysed_lanes();
        let elsewhere = self.waiting.twice | self.waiting.once & !here;
        let open = existing & !here;
        let never_here = open & !elsewhere | self.lanes_skipping_barrier(node, here, open & elsewhere);
        let mut stuck = self.lanes_stuck_at_barrier(node, here, open & !never_here);
        if self.is_no_finding_possible(never_here | stuck) {
            let reach = Reach {
                maybe: true,
                ..Reach::default()
            };
            return self.verdict.reach.push((node, reach));
        }
        let (Some(departures), Some(certain)) = (
            self.placement.departures_before(node),
            self.placement.lanes_certain_to_reach(node),
        ) else {
            return;
        };
        let along = self.placement.lanes_that_must_reach(node, Exits::NotSilent);
        let mut surely = never_here & !departures.may_end_silently & !self.unknown & !along;
        if self.flow.order.loops_around(node).next().is_some() {
            surely &= !self.placement.silent_loop_exits(node);
        }
        stuck |= self.lanes_stuck_at_barrier(node, here, never_here & !surely);
        surely |= stuck & !self.unknown & !along;
        let perhaps = existing & !along & (departures.may_act | self.lanes_acting_in_later_round(node));
        // Also recorded for warps that do not skip the barrier: they contradict a finding that holds in others.
        self.verdict.reach.push((
            node,
            Reach {
                maybe: true,
                surely: certain != 0,
                ..Reach::default()
            },
        ));
        if surely == 0 && perhaps == 0 && !departures.by_warp {
            return;
        }
        let set = if surely != 0 { surely } else { perhaps };
        let split = self.branch_where_most_left(&departures.all, set);
        self.verdict.issues.push(Issue {
            problem: Problem::SkippedBarrier,
            certainty: definite_if(surely != 0),
            site: self.site_of_node(node),
            lanes: set,
            mask: None,
            kind: None,
            here,
            split,
            other: None,
            node,
        });
    }

    /// Lanes of `open` that are stuck elsewhere, and reach no barrier, whenever the lanes `here` wait at one.
    fn lanes_stuck_at_barrier(&mut self, node: u32, here: Lanes, open: Lanes) -> Lanes {
        let is_apart = |there: &Segment, here: &Segment, _: usize| {
            let is_called = there.next.contains(&node);
            is_called.then_some(here.next.is_empty())
        };
        self.stuck_lanes((node, here), open, &is_apart)
    }

    /// Lanes of `open` that are stuck elsewhere whenever others wait. `is_apart`: see [`Lockstep::is_stuck`], with the number of the
    /// lane.
    pub(super) fn stuck_lanes(
        &mut self,
        (at, callers): (u32, Lanes),
        open: Lanes,
        is_apart: &impl Fn(&Segment, &Segment, usize) -> Option<bool>,
    ) -> Lanes {
        let (true, Some(phases)) = (open != 0, &self.phases) else {
            return 0;
        };
        let flow = self.flow;
        let Some(in_step) = self.in_step.get_or_insert_with(|| Lockstep::new(flow)) else {
            return 0;
        };
        let visible = self.visible.get_or_insert_with(|| {
            let is_sign = |node: u32| {
                let is_collective = flow.graph.nodes[node as usize].kind == NodeKind::Collective;
                visible::effect_of_node(flow, node).surely && (!is_collective || self.signs.contains(&node))
            };
            (0..flow.graph.nodes.len() as u32).map(is_sign).collect()
        });
        let mut stuck = 0;
        let mut last: Option<usize> = None;
        for lane in lanes_in_set(open) {
            let goes_alike = |other: usize| {
                flow.edges
                    .iter()
                    .all(|edge| edge >> lane & 1 == edge >> other & 1)
            };
            if let Some(last) = last
                && goes_alike(last)
            {
                stuck |= (stuck >> last & 1) << lane;
                continue;
            }
            last = Some(lane);
            let wait = Wait {
                at,
                callers,
                own: 1 << lane,
                visible,
            };
            let is_apart = |there: &Segment, here: &Segment| is_apart(there, here, lane);
            if in_step.is_stuck(flow, &mut self.placement, &phases.boundaries, wait, &is_apart) == Some(true)
            {
                stuck |= 1 << lane;
            }
        }
        stuck
    }

    /// Lanes of `open` that surely reach no further barrier when the lanes `here` wait at one.
    fn lanes_skipping_barrier(&mut self, node: u32, here: Lanes, open: Lanes) -> Lanes {
        let Some(phases) = self.phases.as_mut().filter(|_| open != 0) else {
            return 0;
        };
        let (flow, placement) = (self.flow, &self.placement);
        let skips = |&lane: &usize| phases.surely_skips(flow, placement, (node, here), lane) == Some(true);
        lane_set(lanes_in_set(open).filter(skips))
    }
}
