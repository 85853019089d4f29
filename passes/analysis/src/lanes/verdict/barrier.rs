//! Barriers of the CTA that lanes skip.

use super::{Issue, Judge, Problem, Reach, certainty, is_judged};
use crate::lanes::placement::Exits;

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
        let (Some(departures), Some(certain)) =
            (self.placement.departures(node), self.placement.certain(node))
        else {
            return;
        };
        let along = self.placement.must(node, Exits::NotSilent);
        let mut surely = never_here & !departures.may_end_silently & !self.unknown & !along;
        if self.flow.order.loops_of(node).next().is_some() {
            surely &= !self.placement.silent_loop_exits(node);
        }
        let perhaps = existing & !along & departures.may_act;
        // Warps in which nobody skips it speak against what holds in others.
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
        let split = self.parting(&departures.all, set);
        self.verdict.issues.push(Issue {
            problem: Problem::SkippedBarrier,
            certainty: certainty(surely != 0),
            site: self.site(node),
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
