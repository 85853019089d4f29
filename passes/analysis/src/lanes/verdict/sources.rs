//! The lanes that shuffles read.

use super::absent::Absent;
use super::meet::Call;
use super::{Judge, Problem, certainty, used};
use crate::lanes::shuffle;
use crate::lanes::value::{ALL, Lanes, lanes};
use ptxcheck_ir::{Shuffle, Value};

impl Judge<'_, '_> {
    /// Looks at the lanes that a shuffle reads. True if some of them are not known.
    pub(super) fn sources(
        &mut self,
        call: &Call,
        mode: Shuffle,
        here: Lanes,
        must: Lanes,
        missing: &[(Lanes, Lanes, Absent)],
    ) -> bool {
        let (Some(from), Some(control)) = (&call.source, &call.control) else {
            return true;
        };
        let existing = self.flow.launch.lanes();
        let (mut absent, mut perhaps, mut unknown) = (0, 0, 0);
        let mut sources: Lanes = 0;
        let mut maybe_sources: Lanes = 0;
        for lane in lanes(here) {
            let (Some(mask), Some(b), Some(c)) = (call.mask_of(lane), from.at(lane), control.at(lane)) else {
                unknown |= 1 << lane;
                continue;
            };
            if mask == 0 {
                continue;
            }
            let source = shuffle::source(mode, lane, b, c);
            if source == lane {
                continue;
            }
            let bit: Lanes = 1 << source;
            let (missing, sibling) = missing
                .iter()
                .find(|group| group.0 == mask)
                // The budget is spent: they may all be missing.
                .map_or((ALL, 0), |group| {
                    (group.2.surely | group.2.perhaps, self.elsewhere(call, mask))
                });
            if mask & bit == 0
                || existing & bit == 0
                || here & bit == 0 && sibling & bit == 0 && missing & bit == 0 && self.unknown & bit == 0
            {
                absent |= 1 << lane;
                sources |= bit;
            } else if must & bit == 0 && missing & bit == 0 {
                perhaps |= 1 << lane;
                maybe_sources |= bit;
            }
        }
        let is_one_source = mode == Shuffle::Index && from.is_splat(here) && control.is_splat(here);
        let may_be_definite =
            absent != 0 && unknown == 0 && (absent == here || is_one_source && absent & must != 0);
        if absent | perhaps == 0 || !self.is_result_read(call) {
            return unknown != 0;
        }
        // The value is undefined, not what happens: somebody has to use it.
        let users = if may_be_definite {
            used::certainly(self.flow, call.node, absent, &mut self.use_steps).unwrap_or(0)
        } else {
            0
        };
        let is_definite = may_be_definite && (users == here || users & must != 0);
        let set = if is_definite {
            sources
        } else {
            sources | maybe_sources
        };
        let readers = if is_definite { absent } else { absent | perhaps };
        let mut masks = lanes(readers).filter_map(|lane| call.mask_of(lane));
        let first = masks.next();
        let mask = first.filter(|_| masks.all(|other| Some(other) == first));
        let mut issue = self.issue(Problem::AbsentSource, call, set, mask);
        issue.here = readers;
        issue.certainty = certainty(is_definite);
        self.verdict.issues.push(issue);
        unknown != 0
    }

    /// Whether anything reads the value that a shuffle gives.
    fn is_result_read(&self, call: &Call) -> bool {
        let context = self.flow.graph.context(call.node);
        let shuffle = context.body.instruction(self.flow.graph.instruction(call.node));
        let analyses = self.flow.module.function(context.function);
        let result = context.body.results(shuffle).first();
        result
            .is_some_and(|result| matches!(result, Value::Register(register) if analyses.is_read(*register)))
    }
}
