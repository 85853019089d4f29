//! The results of collectives for the lanes that meet (PTX ISA: `shfl.sync`, `vote.sync`, `match.sync`, `redux.sync`,
//! `elect.sync`), written down apart from the analysis.

use ptxcheck_ir::{Collective, Instruction, Match, Register, Shuffle, Value, Vote};

use crate::evaluate::Word;
use crate::launch::{WARP, lane_bit};
use crate::machine::Machine;
use crate::observe::Event;
use crate::outcome::Wrong;
use crate::world::Unmodelled;

/// The lane that a shuffle reads, and whether it lies in range: the algorithm of the PTX ISA (shfl.sync).
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

/// The lanes that meet, with their operands.
struct Group {
    /// By lane: the operands of those that take part.
    uses: [Option<Vec<Word>>; WARP],
    lanes: u32,
}

impl Group {
    /// The operand after the mask, of a lane.
    fn first(&self, lane: usize) -> Word {
        self.uses[lane].as_ref()?.get(1).copied().flatten()
    }

    fn lanes(&self) -> impl Iterator<Item = usize> + '_ {
        (0..WARP).filter(|lane| self.lanes >> lane & 1 == 1)
    }

    /// The lanes whose predicate is true, and those whose is not known.
    fn ballot(&self) -> (u32, u32) {
        self.lanes()
            .fold((0, 0), |(ballot, unknown), lane| match self.first(lane) {
                Some(predicate) => (ballot | ((predicate & 1) as u32) << lane, unknown),
                None => (ballot, unknown | 1 << lane),
            })
    }

    /// The result of a vote, where those that are known decide it.
    fn vote(&self, vote: Vote) -> Word {
        let (yes, unknown) = self.ballot();
        let no = self.lanes & !yes & !unknown;
        let decided = |holds: bool, fails: bool| match (holds, fails) {
            (true, _) => Some(1),
            (_, true) => Some(0),
            (false, false) => None,
        };
        match vote {
            Vote::Ballot => (unknown == 0).then_some(u64::from(yes)),
            Vote::Any => decided(yes != 0, no == self.lanes),
            Vote::All => decided(yes == self.lanes, no != 0),
            Vote::Uniform => decided(yes == self.lanes || no == self.lanes, yes != 0 && no != 0),
        }
    }

    /// The lanes that have the same value as one, at so many bits.
    fn same(&self, lane: usize, bits: u8) -> Word {
        let ones = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        let own = self.first(lane)? & ones;
        self.lanes().try_fold(0, |same, other| {
            Some(same | u64::from(self.first(other)? & ones == own) << other)
        })
    }
}

impl Machine<'_> {
    /// Lets a group of threads of one warp continue from a collective.
    pub(crate) fn complete(&mut self, kind: Collective, mask: u32, threads: &[usize]) {
        if let Some(&first) = threads.first() {
            self.tell(first, &Event::Met(threads));
        }
        let mut group = Group {
            uses: [const { None }; WARP],
            lanes: 0,
        };
        for &thread in threads {
            group.uses[thread % WARP] = Some(self.uses(thread));
            group.lanes |= lane_bit(thread);
        }
        // Only what all lanes share is asked for once.
        let shared = match (kind, threads.first()) {
            // The IR does not say what a reduction computes.
            (Collective::Reduce, Some(&first)) => self.ask(first, Unmodelled::Result(0)),
            (Collective::Elect, _) if group.lanes != 0 => Some(u64::from(self.world.leader(group.lanes))),
            (Collective::Vote(vote), _) => group.vote(vote),
            (
                Collective::Reduce
                | Collective::Elect
                | Collective::Sync
                | Collective::Shuffle(_)
                | Collective::Match(..),
                _,
            ) => None,
        };
        let handed = if self.follows() {
            self.bits_of_sources(kind, &group, threads)
        } else {
            Vec::new()
        };
        for &thread in threads {
            let own = thread % WARP;
            let results = match kind {
                Collective::Sync => [None, None],
                Collective::Vote(_) | Collective::Reduce => [shared, None],
                Collective::Match(Match::Any, bits) => [group.same(own, bits), None],
                Collective::Match(Match::All, bits) => {
                    let is_one = group.same(own, bits).map(|same| same == u64::from(group.lanes));
                    let lanes = is_one.map(|is_one| if is_one { u64::from(group.lanes) } else { 0 });
                    [lanes, is_one.map(u64::from)]
                }
                Collective::Elect => [shared, shared.map(|leader| u64::from(leader == own as u64))],
                Collective::Shuffle(mode) => self.shuffled(thread, mode, mask, &group),
            };
            self.resume(thread, &results);
        }
        for (thread, register, bits) in handed {
            self.set_bits_of_register(thread, register, bits);
        }
    }

    /// By thread that meets others at a shuffle: the register of its first result, and the watched reads that the lane that it reads hands on.
    fn bits_of_sources(
        &self,
        kind: Collective,
        group: &Group,
        threads: &[usize],
    ) -> Vec<(usize, Register, u32)> {
        let Collective::Shuffle(mode) = kind else {
            return Vec::new();
        };
        let handed = threads.iter().filter_map(|&thread| {
            let uses = group.uses[thread % WARP].as_deref()?;
            let &[_, _, Some(b), Some(c), ..] = uses else {
                return None;
            };
            let (from, _) = source(mode, (thread % WARP) as i64, b, c);
            let other = *threads.iter().find(|other| **other % WARP == from)?;
            let (body, instruction) = self.code_of(other)?;
            let bits = self.bits_of(other, *body.uses(instruction).get(1)?);
            let (body, instruction) = self.code_of(thread)?;
            let register = body.results(instruction).first()?.register()?;
            Some((thread, register, bits))
        });
        handed.collect()
    }

    fn shuffled(&mut self, thread: usize, mode: Shuffle, mask: u32, group: &Group) -> [Word; 2] {
        let own = thread % WARP;
        let uses = group.uses[own].as_deref().unwrap_or_default();
        let at = |place: usize| uses.get(place).copied().flatten();
        let (Some(b), Some(c)) = (at(2), at(3)) else {
            return [None, None];
        };
        let (from, is_in_range) = source(mode, own as i64, b, c);
        let is_present = group.lanes >> from & 1 == 1;
        if (!is_present || mask >> from & 1 == 0) && self.is_result_read(thread) {
            self.wrong(thread, Wrong::AbsentSource, lane_bit(thread), Some(mask));
        }
        let word = if is_present {
            group.first(from)
        } else {
            self.ask(thread, Unmodelled::AbsentSource)
        };
        [word, Some(u64::from(is_in_range))]
    }

    /// True if an instruction reads the first result of the one that a thread is at: a result that is never read may be undefined.
    fn is_result_read(&mut self, thread: usize) -> bool {
        let point = self.point(thread);
        let key = (point.function, point.instruction);
        if let Some(&known) = self.read_results.get(&key) {
            return known;
        }
        let is_read = self.code(point).is_some_and(|(body, instruction)| {
            let result = body.results(instruction).first().copied();
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
        });
        self.read_results.insert(key, is_read);
        is_read
    }
}
