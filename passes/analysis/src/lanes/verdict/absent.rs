//! Lanes that a mask names and that do not arrive, and the branches where they left.

use std::rc::Rc;

use super::phases::Segment;
use super::{Issue, Judge, Problem, Site, definite_if};
use crate::lanes::collective_call::Call;
use crate::lanes::placement::{Departure, Departures, Exits};
use crate::lanes::value::{Lanes, lane_set, lanes_in_set};
use crate::limits::MAX_SHOWN_DEPARTURES;
use ptxcheck_ir::{Collective, InstructionId};

/// A mask, the lanes that it certainly names, and those that pass it.
#[derive(Clone, Copy)]
pub(super) struct Passed {
    /// The mask, if all of it is known.
    pub(super) mask: Option<Lanes>,
    pub(super) named: Lanes,
    pub(super) callers: Lanes,
}

/// Lanes that a mask names and that do not arrive.
pub(super) struct Absent {
    pub(super) surely: Lanes,
    pub(super) perhaps: Lanes,
    pub(super) departures: Option<Rc<Departures>>,
}

impl Judge<'_, '_> {
    /// Lanes that the mask of `passed` names and that do not reach `call`; `None` if the budget is spent.
    pub(super) fn absent_lanes(&mut self, call: &Call, passed: Passed) -> Option<Absent> {
        let Passed { mask, callers, .. } = passed;
        let here = self.flow.may[call.node as usize];
        let mut named = passed.named & self.flow.launch.analysed_lanes();
        if callers.is_power_of_two() {
            // The calling lane is there.
            named &= !callers;
        }
        let other_mask = match mask {
            Some(_) => here & call.mask.exact & !callers,
            None => 0,
        };
        let mut absent = Absent {
            surely: 0,
            perhaps: 0,
            departures: None,
        };
        // A shuffle may read lanes that have ended, which do not count as missing.
        let apart = named & (!here | other_mask);
        let never_here = self.lanes_that_never_match(call, mask, callers, apart);
        let mut stuck = self.lanes_stuck_elsewhere(call, mask, callers, apart & !never_here);
        if !matches!(call.kind, Collective::Shuffle(_)) && self.is_no_finding_possible(never_here | stuck) {
            return Some(absent);
        }
        let along = self.placement.lanes_that_must_reach(call.node, Exits::NotSilent) & here & callers;
        let open = named & !along;
        if open == 0 {
            return Some(absent);
        }
        let departures = self.placement.departures_before(call.node)?;
        let Departures {
            leaving,
            may_act,
            may_end_silently,
            ..
        } = *departures;
        absent.departures = Some(departures);
        // Ended without a visible effect, by any exit: a collective waits for no lane that has ended.
        let gone = open & !may_act & (!here | callers) & !other_mask;
        let mut gone = gone & (leaving | !here);
        let headers: Vec<u32> = self
            .flow
            .order
            .loops_around(call.node)
            .map(|of| self.flow.order.loops[of as usize].header)
            .collect();
        gone &= !self.lanes_acting_in_later_round(call.node);
        let open = open & !gone;
        let mut surely = never_here & open & !may_end_silently & !self.unknown;
        if !headers.is_empty() {
            let left = self.placement.silent_loop_exits(call.node);
            if surely & left != 0 {
                let together = headers.into_iter().fold(u32::MAX, |all, header| {
                    all & self.placement.lanes_that_must_reach(header, Exits::All)
                });
                if here & !together != 0 {
                    surely &= !left;
                } else {
                    surely &= !left | together;
                }
            }
        }
        stuck |= self.lanes_stuck_elsewhere(call, mask, callers, never_here & open & !surely);
        surely |= stuck & open & !self.unknown;
        absent.surely = surely;
        absent.perhaps = open & !surely;
        Some(absent)
    }

    /// Lanes that may leave a loop around a node later, with a visible effect: they are missing in the next round.
    pub(super) fn lanes_acting_in_later_round(&mut self, node: u32) -> Lanes {
        let order = self.flow.order;
        let rounds = order.loops_around(node).fold(None, |all, of| {
            let header = order.loops[of as usize].header;
            Some(all.unwrap_or(u32::MAX) & self.placement.lanes_that_must_reach(header, Exits::NotSilent))
        });
        rounds.map_or(0, |rounds| self.placement.acting_loop_exits(node) & !rounds)
    }

    /// Lanes of `open` that are stuck elsewhere whenever `callers` wait at `call` with `mask`.
    fn lanes_stuck_elsewhere(
        &mut self,
        call: &Call,
        mask: Option<Lanes>,
        callers: Lanes,
        open: Lanes,
    ) -> Lanes {
        let (calls, rank) = (self.calls, &self.flow.order.rank);
        let is_apart = |there: &Segment, here: &Segment, lane: usize| {
            let is_called = there.collectives.binary_search(&call.node).is_ok();
            let may_meet = |&node: &u32| may_match(calls, rank, call, mask, (node, lane));
            is_called.then(|| !here.collectives.iter().any(may_meet))
        };
        self.stuck_lanes((call.node, callers), open, &is_apart)
    }

    /// Lanes of `open`, which do not execute `call` with `mask`, that execute no matching collective while `callers` wait.
    fn lanes_that_never_match(
        &mut self,
        call: &Call,
        mask: Option<Lanes>,
        callers: Lanes,
        open: Lanes,
    ) -> Lanes {
        if open == 0 {
            return 0;
        }
        // Without barriers, a lane that executes no matching collective at all needs no search.
        let nowhere = if self.has_barriers {
            0
        } else {
            open & !self.lanes_at_matching_collectives(call, mask)
        };
        let open = open & !nowhere;
        let Some(phases) = self.phases.as_mut().filter(|_| open != 0) else {
            return match self.parts_at_barrier {
                true => 0,
                false => nowhere | open & !self.lanes_at_matching_collectives(call, mask),
            };
        };
        let (flow, calls) = (self.flow, self.calls);
        let misses = |&lane: &usize| {
            let may_meet = |node: u32| may_match(calls, &flow.order.rank, call, mask, (node, lane));
            let found = phases.surely_misses(flow, &self.placement, (call.node, callers), lane, &may_meet);
            found.unwrap_or(false)
        };
        nowhere | lane_set(lanes_in_set(open).filter(misses))
    }

    pub(super) fn report_missing_lanes(
        &mut self,
        number: usize,
        missing: &[(Passed, Absent)],
        here: Lanes,
        must: Lanes,
    ) {
        let call = &self.calls[number];
        let covered = missing
            .iter()
            .filter(|(_, absent)| absent.surely != 0)
            .fold(0, |all, (passed, _)| all | passed.callers);
        let is_definite = covered & must != 0 || covered == here;
        for (Passed { mask, callers, .. }, absent) in missing {
            let sure = is_definite && absent.surely != 0 && (callers & must != 0 || covered == here);
            let set = if sure {
                absent.surely
            } else {
                absent.surely | absent.perhaps
            };
            if set == 0 {
                continue;
            }
            let different = set & here & call.mask.exact & !callers;
            let (mut problem, mut other) = (Problem::Missing, None);
            if different == set {
                problem = Problem::DifferentMasks;
            } else if sure
                && !self.converges
                && let Some((found, found_lanes)) =
                    mask.and_then(|mask| self.best_matching_collective(number, mask, set))
            {
                problem = Problem::Unconverged;
                other = Some((self.site_of_node(found), found_lanes));
            } else if sure
                && let Some(mask) = *mask
                && let Some((found, found_lanes)) = self.sibling_call(number, mask, set)
            {
                problem = Problem::DifferentMasks;
                other = Some((self.site_of_node(found), found_lanes));
            }
            let departures = absent.departures.as_deref();
            let split = departures.and_then(|departures| self.branch_where_most_left(&departures.all, set));
            let issue = self.issue_at_call(problem, call, set, *mask);
            self.verdict.issues.push(Issue {
                certainty: definite_if(sure),
                split,
                other,
                ..issue
            });
        }
    }

    /// The branch at which most of `set` left, and those lanes.
    pub(super) fn branch_where_most_left(
        &self,
        departures: &[Departure],
        set: Lanes,
    ) -> Option<(Site, Lanes)> {
        let leaving = |departure: &&Departure| departure.lanes & set;
        let most = departures
            .iter()
            .take(MAX_SHOWN_DEPARTURES)
            .filter(|departure| leaving(departure) != 0)
            .max_by_key(|departure| (leaving(departure).count_ones(), std::cmp::Reverse(departure.edge)))?;
        Some((self.branch_site(most.source)?, leaving(&most)))
    }

    /// The branch that a node ends with.
    fn branch_site(&self, node: u32) -> Option<Site> {
        let site = &self.flow.graph.nodes[node as usize];
        let context = self.flow.graph.context_of_node(node);
        // The guard of a collective, a barrier or a call is on that instruction itself.
        let last = if site.instructions.is_empty() || !self.ends_with_conditional_branch(node) {
            site.instructions.end
        } else {
            site.instructions.end - 1
        };
        ((last as usize) < context.body.instructions.len()).then(|| Site {
            function: context.function,
            instruction: InstructionId::new(last as usize),
            callers: self.flow.graph.calls_leading_to(site.context),
        })
    }

    fn ends_with_conditional_branch(&self, node: u32) -> bool {
        let site = &self.flow.graph.nodes[node as usize];
        let body = self.flow.graph.context_of_node(node).body;
        site.instructions
            .end
            .checked_sub(1)
            .is_some_and(|last| body.instructions[last as usize].op.is_terminator())
    }
}

/// True if a lane may execute a collective, given by its node, where it meets `call` with `mask`. `rank`: the order of `calls`.
fn may_match(
    calls: &[Call],
    rank: &[u32],
    call: &Call,
    mask: Option<Lanes>,
    (node, lane): (u32, usize),
) -> bool {
    let rank = |node: u32| rank[node as usize];
    let number = calls.binary_search_by_key(&rank(node), |other| rank(other.node));
    number.is_ok_and(|number| {
        let other = &calls[number];
        let differs = |own| mask.is_some_and(|mask| own != mask);
        other.kind == call.kind && !other.mask_of_lane(lane).is_some_and(differs)
    })
}
