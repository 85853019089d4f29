//! The lanes that shuffles read.

use super::absent::{Absent, Passed};
use super::{Judge, Problem, Reach, definite_if};
use crate::lanes::collective_call::Call;
use crate::lanes::shuffle;
use crate::lanes::uses::{Shuffles, users_of_undefined};
use crate::lanes::value::{ALL, Lanes, WARP, lanes_in_set};
use crate::limits::MAX_USE_STEPS_OF_ONE;
use ptxcheck_ir::{Shuffle, Value};

impl Judge<'_, '_> {
    /// Examines the lanes that a shuffle reads, and notes if some of them are not known.
    pub(super) fn judge_sources(
        &mut self,
        call: &Call,
        mode: Shuffle,
        here: Lanes,
        must: Lanes,
        missing: &[(Passed, Absent)],
        reach: &mut Reach,
    ) {
        let (Some(from), Some(control)) = (&call.source, &call.control) else {
            reach.is_unknown = true;
            return;
        };
        let existing = self.flow.launch.analysed_lanes();
        let (mut absent, mut perhaps, mut unknown) = (0, 0, 0);
        // Absent source lanes of lanes whose mask is unknown, but certainly does not name the lane that they read.
        let mut in_part = 0;
        // For each lane, the one that it reads.
        let mut read: [Lanes; WARP] = [0; WARP];
        for lane in lanes_in_set(here) {
            let (Some(b), Some(c)) = (from.value_in_lane(lane), control.value_in_lane(lane)) else {
                unknown |= 1 << lane;
                continue;
            };
            let source = shuffle::source_lane(mode, lane, b, c);
            let bit: Lanes = 1 << source;
            let Some(mask) = call.mask_of_lane(lane) else {
                if source != lane && call.mask.bits_possibly_set(1 << lane) as Lanes & bit == 0 {
                    absent |= 1 << lane;
                    in_part |= 1 << lane;
                    read[lane] = bit;
                } else {
                    unknown |= 1 << lane;
                }
                continue;
            };
            if mask == 0 || source == lane {
                continue;
            }
            read[lane] = bit;
            let (missing, sibling) = missing
                .iter()
                .find(|group| group.0.mask == Some(mask))
                // The budget is spent: they may all be missing.
                .map_or((ALL, 0), |group| {
                    (
                        group.1.surely | group.1.perhaps,
                        self.lanes_at_matching_collectives(call, Some(mask)),
                    )
                });
            if mask & bit == 0
                || existing & bit == 0
                || here & bit == 0 && sibling & bit == 0 && missing & bit == 0 && self.unknown & bit == 0
            {
                absent |= 1 << lane;
            } else if must & bit == 0 && missing & bit == 0 {
                perhaps |= 1 << lane;
            }
        }
        reach.is_unknown |= unknown != 0;
        if absent | perhaps == 0 || !self.is_result_read(call) {
            return;
        }
        // Only the value is undefined, not the behaviour: it must be used to matter.
        let (flow, calls) = (self.flow, self.calls);
        let given = self.use_steps.min(MAX_USE_STEPS_OF_ONE);
        let mut left = given;
        let users = match absent {
            0 => None,
            _ => {
                let placement = &mut self.placement;
                users_of_undefined(
                    flow,
                    Shuffles { calls, placement },
                    (call.node, absent),
                    &mut left,
                )
            }
        };
        self.use_steps -= given - left;
        let users = users.unwrap_or(0);
        let is_definite = users != 0 && (users == here || users & must != 0);
        let readers = match (is_definite, absent & users) {
            // Code that reads beyond a mask that it has computed itself usually discards such values.
            (false, _) => absent & !in_part | perhaps,
            (true, 0) => absent,
            (true, own) => own,
        };
        if readers == 0 {
            reach.is_unknown |= in_part != 0;
            reach.reads_beyond = in_part != 0;
            return;
        }
        let set = lanes_in_set(readers).fold(0, |set, lane| set | read[lane]);
        let mut masks = lanes_in_set(readers).filter_map(|lane| call.mask_of_lane(lane));
        let first = masks.next();
        let mask = first.filter(|_| masks.all(|other| Some(other) == first));
        let mut issue = self.issue_at_call(Problem::AbsentSource, call, set, mask);
        issue.here = readers;
        issue.certainty = definite_if(is_definite);
        self.verdict.issues.push(issue);
    }

    /// True if some instruction reads the value that a shuffle returns.
    fn is_result_read(&self, call: &Call) -> bool {
        let context = self.flow.graph.context_of_node(call.node);
        let shuffle = context
            .body
            .instruction(self.flow.graph.instruction_of_node(call.node));
        let analyses = self.flow.module.function(context.function);
        let result = context.body.results(shuffle).first();
        result
            .is_some_and(|result| matches!(result, Value::Register(register) if analyses.is_read(*register)))
    }
}
