//! Barriers of the CTA that lanes skip.

use super::{Issue, Judge, Problem, Reach, certainty, is_judged};
use crate::analysis::lanes::placement::Exits;
use crate::analysis::lanes::value::ValueId;
use crate::ir::{Instruction, Op};

/// Whether an instruction is a barrier that waits for all threads of the CTA.
#[must_use]
pub fn is_full_barrier(instruction: &Instruction) -> bool {
    matches!(instruction.op, Op::Barrier(barrier) if barrier.waits && !barrier.counted && !barrier.cluster)
}

impl Judge<'_, '_> {
    pub(super) fn barrier(&mut self, node: u32) {
        let graph = self.flow.graph;
        if !is_judged(graph, node) {
            return;
        }
        let here = self.flow.may[node as usize];
        let existing = self.flow.launch.lanes();
        let elsewhere = self.waiting.twice | self.waiting.once & !here;
        let never_here = existing & !here & !elsewhere;
        if self.need_not_look(never_here) {
            let reach = Reach {
                maybe: true,
                ..Reach::default()
            };
            return self.verdict.reach.push((node, reach));
        }
        let Some(departures) = self.placement.departures(node) else {
            return;
        };
        let along = self.placement.must(node, Exits::Loud);
        let (mut loud, mut not_noisy, mut by_warp) = (0, 0, false);
        for departure in departures.iter() {
            let target = graph.targets[departure.edge as usize];
            let heard = departure.lanes & !self.placement.quiet(target);
            loud |= heard;
            not_noisy |= departure.lanes & !self.placement.noisy(target);
            let test = self.flow.tests[departure.source as usize];
            by_warp |= heard != 0 && test != ValueId::NONE && self.flow.pool.get(test).warp;
        }
        let mut surely = never_here & !not_noisy & !self.unknown & !along;
        if self.flow.order.loops_of(node).next().is_some() {
            surely &= !self.placement.quiet_loop_exits(node);
        }
        let perhaps = existing & !along & loud;
        // Warps in which nobody skips it speak against what holds in others.
        let leaving = departures.iter().fold(0, |all, departure| all | departure.lanes);
        self.verdict.reach.push((
            node,
            Reach {
                maybe: true,
                surely: here & !leaving != 0,
                ..Reach::default()
            },
        ));
        if surely == 0 && perhaps == 0 && !by_warp {
            return;
        }
        let set = if surely != 0 { surely } else { perhaps };
        let split = self.parting(&departures, set);
        self.verdict.issues.push(Issue {
            problem: Problem::SkippedBarrier,
            certainty: certainty(surely != 0),
            spot: self.spot(node),
            lanes: set,
            mask: None,
            kind: None,
            here,
            split,
            other: None,
            node,
        });
    }
}
