//! The results of collectives for the lanes that meet (PTX ISA: `shfl.sync`, `vote.sync`, `match.sync`, `redux.sync`,
//! `elect.sync`), written down apart from the analysis.

use std::collections::BTreeMap;

use ptxcheck_passes::ir::{Collective, Instruction, InstructionId, Match, Shuffle, Value, Vote};

use super::machine::{Machine, WARP, Wrong, body};

/// The lane that a shuffle reads, and whether it lies in range: the algorithm of the PTX ISA.
fn source(mode: Shuffle, lane: i64, b: u64, c: u64) -> (usize, bool) {
    let (value, clamp, segment) = ((b & 0x1f) as i64, (c & 0x1f) as i64, (c >> 8 & 0x1f) as i64);
    let most = lane & segment | clamp & !segment;
    let least = lane & segment;
    let (from, is_in_range) = match mode {
        Shuffle::Up => (lane - value, lane - value >= most),
        Shuffle::Down => (lane + value, lane + value <= most),
        Shuffle::Butterfly => (lane ^ value, lane ^ value <= most),
        Shuffle::Index => {
            let from = least | value & !segment;
            (from, from <= most)
        }
    };
    (
        if is_in_range { from as usize } else { lane as usize },
        is_in_range,
    )
}

impl Machine<'_> {
    /// Lets a group of lanes go on from a collective.
    pub(super) fn complete(&mut self, kind: Collective, mask: u32, group: &[usize]) {
        let values: BTreeMap<usize, Vec<u64>> =
            group.iter().map(|&lane| (lane % WARP, self.uses(lane))).collect();
        let first = |lane: usize| values[&lane].get(1).copied().unwrap_or(0);
        let ballot = values
            .keys()
            .fold(0, |ballot, &lane| ballot | (first(lane) & 1) << lane);
        let all = values.keys().fold(0_u64, |all, &lane| all | 1 << lane);
        let sum = values
            .keys()
            .fold(0_u64, |sum, &lane| sum.wrapping_add(first(lane)));
        // The same one whenever the same lanes ask.
        let chosen = if self.inputs.seed & 1 == 0 {
            all.trailing_zeros()
        } else {
            63 - all.leading_zeros()
        };
        for &lane in group {
            let own = lane % WARP;
            let results = match kind {
                Collective::Sync => [0, 0],
                Collective::Vote(Vote::Ballot) => [ballot, 0],
                Collective::Vote(Vote::Any) => [u64::from(ballot != 0), 0],
                Collective::Vote(Vote::All) => [u64::from(ballot == all), 0],
                Collective::Vote(Vote::Uniform) => [u64::from(ballot == all || ballot == 0), 0],
                Collective::Match(Match::Any, _) => {
                    let same = values.keys().filter(|&&other| first(other) == first(own));
                    [same.fold(0, |same, other| same | 1 << other), 0]
                }
                Collective::Match(Match::All, _) => {
                    let is_one = values.keys().all(|&other| first(other) == first(own));
                    [if is_one { all } else { 0 }, u64::from(is_one)]
                }
                Collective::Reduce => [sum & 0xffff_ffff, 0],
                Collective::Elect => [u64::from(chosen), u64::from(own as u32 == chosen)],
                Collective::Shuffle(mode) => {
                    let uses = &values[&own];
                    let (from, is_in_range) = source(mode, own as i64, uses[2], uses[3]);
                    if (!values.contains_key(&from) || mask >> from & 1 == 0) && self.is_result_read(lane) {
                        let place = self.place(lane);
                        self.wrong(place, Wrong::AbsentSource);
                    }
                    let got = values.get(&from).map_or(0, |uses| uses[1]);
                    [got, u64::from(is_in_range)]
                }
            };
            self.resume(lane, &results);
        }
    }

    /// True if an instruction reads the first result of the one that a lane is at: a result that nobody reads may be undefined.
    fn is_result_read(&self, lane: usize) -> bool {
        let (_, function, at) = self.place(lane);
        let body = body(self.module, function);
        let result = body
            .results(body.instruction(InstructionId::new(at)))
            .first()
            .copied();
        let Some(Value::Register(result)) = result else {
            return false;
        };
        let reads = |value: &Value| value.register() == Some(result);
        let is_reader = |instruction: &Instruction| {
            instruction.guard.is_some_and(|guard| guard.register == result)
                || body.uses(instruction).iter().any(reads)
        };
        let is_passed = |call| body.arguments(call).iter().any(|argument| reads(&argument.value));
        body.instructions.iter().any(is_reader) || body.calls.iter().any(is_passed)
    }
}
