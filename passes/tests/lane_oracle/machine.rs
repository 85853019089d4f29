//! Runs the lanes of a block of threads in the device IR, one schedule at a time, and says which collectives and
//! barriers went wrong.
//!
//! A collective completes when all lanes that its mask names have ended or wait at one of the same kind with the same
//! mask (before sm_70: at the same instruction). A barrier of the block completes when all its threads have ended or
//! wait at one with the same number. A lane that others wait for, that does something visible meanwhile and ends
//! without coming, violates the rule as the CUDA guide reads it; one that ends silently does not. So do lanes that wait
//! for each other at places that do not match. What follows a violation goes on with results of 0.
//!
//! Lanes run on silently as far as they can; only when none can, those at one visible instruction take a step. The
//! schedule says which instruction that is.

use std::collections::{BTreeMap, BTreeSet};

use ptxcheck_passes::ir::{
    Access, AccessKind, Body, Collective, FunctionId, InstructionId, Module, Op, Value,
};

use super::generator::Random;
use super::ways::Ways;

/// Lanes of a warp.
pub const WARP: usize = 32;

/// The inputs of a run.
#[derive(Clone, Copy, Debug)]
pub struct Inputs {
    pub seed: u64,
    pub n: u64,
    pub mask: u64,
    pub ctaid: u64,
    /// Threads of the block in x, y and z.
    pub block: [u64; 3],
}

/// The order of visible instructions of several lanes.
#[derive(Clone, Copy, Debug)]
pub enum Schedule {
    First,
    Last,
    Random(u64),
    /// Random, but always the same order of two of them; lanes meet as soon as they can.
    Ranked(u64),
    /// These lanes do nothing visible as long as others can go on; lanes meet as soon as they can.
    Holding(u32),
}

/// The calls that lead to an instruction, outermost first, and the instruction.
pub type Place = (Vec<(usize, usize)>, usize, usize);

/// A failure at a collective or a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wrong {
    /// A lane that is waited for has gone, and did something visible.
    Missing,
    /// Lanes wait for each other at places that do not match.
    Deadlock,
    /// The mask does not name the lane.
    NotNamed,
    /// The mask names lanes that the block does not have.
    BeyondBlock,
    /// The lane that is read does not take part.
    AbsentSource,
    /// A warp of the block has gone, or waits at a barrier with another number, as a whole.
    OtherWarp,
    /// Lanes of a warp wait at different instructions that they have to execute together (`.aligned`).
    Unaligned,
}

/// The outcome of a run.
#[derive(Default)]
pub struct Outcome {
    /// The collectives and barriers that some lane executed before anything broke.
    pub reached: BTreeSet<Place>,
    /// Those that went wrong, and how.
    pub violated: BTreeMap<Place, BTreeSet<Wrong>>,
    /// Lanes waited in vain, and what came after is no run of the kernel any more.
    pub is_broken: bool,
    /// It took too long: nothing can be said.
    pub is_cut: bool,
}

#[derive(Default)]
pub(super) struct Frame {
    pub function: usize,
    pub next: usize,
    pub registers: Vec<u64>,
    pub arguments: Vec<u64>,
    /// The values that it has stored to be returned, by byte offset.
    pub returned: BTreeMap<u64, u64>,
    /// The values that its calls returned.
    pub results: BTreeMap<usize, BTreeMap<u64, u64>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Running,
    /// Before a visible instruction.
    Poised,
    Waiting(Collective, u32),
    AtBarrier(u64, bool),
    Ended,
}

pub(super) struct Lane {
    pub frames: Vec<Frame>,
    pub state: State,
    /// Collectives and barriers of others that waited for this lane when it did something visible, with their mask.
    owes: Vec<(Place, u32)>,
    /// The round that it is in, of each loop.
    pub rounds: Vec<u32>,
    pub local: BTreeMap<u64, u64>,
    pub atomics: u64,
}

pub(super) struct Machine<'m> {
    pub ways: &'m Ways,
    pub module: &'m Module<'m>,
    pub inputs: Inputs,
    pub lanes: Vec<Lane>,
    pub outcome: Outcome,
    converges: bool,
    random: Random,
    schedule: Schedule,
}

const FUEL: usize = 200_000;

/// Runs the kernel.
pub fn run(
    module: &Module<'_>,
    ways: &Ways,
    kernel: FunctionId,
    inputs: Inputs,
    schedule: Schedule,
) -> Outcome {
    let body = body(module, kernel.index());
    let threads = inputs.block.iter().product::<u64>() as usize;
    let lane = |number: usize| Lane {
        frames: vec![Frame {
            function: kernel.index(),
            registers: vec![0; body.registers.len()],
            arguments: vec![0x1000, inputs.n, inputs.mask],
            ..Frame::default()
        }],
        state: if number < threads {
            State::Running
        } else {
            State::Ended
        },
        owes: Vec::new(),
        rounds: vec![0; ways.loops.len()],
        local: BTreeMap::new(),
        atomics: 0,
    };
    let mut machine = Machine {
        ways,
        module,
        inputs,
        lanes: (0..threads.next_multiple_of(WARP)).map(lane).collect(),
        outcome: Outcome::default(),
        converges: module.target.sm >= 70,
        random: match schedule {
            Schedule::Random(seed) => Random::new(seed ^ 0x5eed),
            _ => Random::new(1),
        },
        schedule,
    };
    machine.go();
    machine.outcome
}

pub(super) fn body<'m>(module: &'m Module<'_>, function: usize) -> &'m Body<'m> {
    let function = module.function(FunctionId::new(function));
    function.body.as_ref().expect("functions have bodies")
}

/// The lanes of the warp of a lane.
pub(super) fn warp_of(lane: usize) -> std::ops::Range<usize> {
    let first = lane / WARP * WARP;
    first..first + WARP
}

impl<'m> Machine<'m> {
    fn go(&mut self) {
        let count = self.lanes.len();
        let mut fuel = FUEL;
        loop {
            for lane in 0..count {
                while self.lanes[lane].state == State::Running {
                    if fuel == 0 {
                        self.outcome.is_cut = true;
                        return;
                    }
                    fuel -= 1;
                    self.silent_step(lane);
                }
            }
            let (meets_first, first, step) = match self.schedule {
                Schedule::First => (true, 0, 1),
                Schedule::Last => (false, count - 1, count - 1),
                Schedule::Random(_) => (self.random.chance(2), self.random.below(count), 1),
                Schedule::Ranked(_) | Schedule::Holding(_) => (true, 0, 1),
            };
            if meets_first && (self.meet(first, step) || self.pass_barrier()) {
                continue;
            }
            let mut poised: Vec<usize> = (0..count)
                .filter(|&lane| self.lanes[lane].state == State::Poised)
                .collect();
            if poised.iter().any(|&lane| !self.is_held(lane)) {
                poised.retain(|&lane| !self.is_held(lane));
            }
            let mut poised: Vec<Place> = poised.into_iter().map(|lane| self.place(lane)).collect();
            poised.sort();
            poised.dedup();
            if poised.is_empty() {
                if self.meet(first, step) || self.pass_barrier() {
                    continue;
                }
                if self.lanes.iter().all(|lane| lane.state == State::Ended) {
                    return;
                }
                self.deadlock();
                continue;
            }
            let chosen = match self.schedule {
                Schedule::First | Schedule::Holding(_) => 0,
                Schedule::Last => poised.len() - 1,
                Schedule::Random(_) => self.random.below(poised.len()),
                Schedule::Ranked(seed) => {
                    let rank = |&at: &usize| Random::new((seed << 32) ^ (poised[at].2 as u64 + 1)).next();
                    (0..poised.len()).min_by_key(rank).unwrap_or(0)
                }
            };
            self.visible_step(&poised[chosen]);
        }
    }

    /// The lanes at a place execute its visible instruction: those of a warp together or, under some schedules, not.
    fn visible_step(&mut self, place: &Place) {
        let mut there: Vec<usize> = (0..self.lanes.len())
            .filter(|&lane| self.lanes[lane].state == State::Poised && self.place(lane) == *place)
            .collect();
        if there.iter().any(|&lane| !self.is_held(lane)) {
            there.retain(|&lane| !self.is_held(lane));
        }
        if matches!(self.schedule, Schedule::Random(3)) {
            let some = self.random.next() as usize;
            let picked = |lane: &usize| some >> (lane % 13) & 1 == 1;
            if there.iter().any(picked) {
                there.retain(picked);
            }
        }
        let module = self.module;
        let instruction = body(module, place.1).instruction(InstructionId::new(place.2));
        for &lane in &there {
            let together = there.iter().filter(|other| warp_of(lane).contains(other));
            let active = together.fold(0, |mask, other| mask | 1_u64 << (other % WARP));
            let result = match instruction.op {
                Op::ActiveMask => Some(active),
                Op::Access(Access {
                    kind: AccessKind::Atomic,
                    ..
                }) => {
                    self.lanes[lane].atomics += 1;
                    let count = self.lanes[lane].atomics;
                    let seed = self.inputs.seed ^ (lane as u64 + 1).wrapping_mul(911) ^ count << 40;
                    Some(Random::new(seed).next() % 40)
                }
                _ => None,
            };
            if instruction.op != Op::ActiveMask {
                self.owe(lane);
            }
            if let Some(result) = result {
                self.define(lane, 0, result);
            }
            self.frame(lane).next += 1;
            self.lanes[lane].state = State::Running;
        }
    }

    fn is_held(&self, lane: usize) -> bool {
        matches!(self.schedule, Schedule::Holding(lanes) if lanes >> (lane % WARP) & 1 == 1)
    }

    pub(super) fn place(&self, lane: usize) -> Place {
        let frames = &self.lanes[lane].frames;
        let (last, outer) = frames.split_last().expect("a lane has a frame");
        let calls = outer
            .iter()
            .map(|frame| (frame.function, frame.next - 1))
            .collect();
        (calls, last.function, last.next)
    }

    pub(super) fn frame(&mut self, lane: usize) -> &mut Frame {
        self.lanes[lane].frames.last_mut().expect("a lane has a frame")
    }

    pub(super) fn wrong(&mut self, place: Place, wrong: Wrong) {
        self.outcome.violated.entry(place).or_default().insert(wrong);
    }

    /// Writes result `number` of the instruction that a lane is at.
    pub(super) fn define(&mut self, lane: usize, number: usize, value: u64) {
        let module = self.module;
        let frame = self.frame(lane);
        let body = body(module, frame.function);
        let instruction = body.instruction(InstructionId::new(frame.next));
        if let Some(Value::Register(register)) = body.results(instruction).get(number) {
            let bits = body.registers[register.index()].bits;
            let width = if bits == 0 || bits >= 64 {
                u64::MAX
            } else {
                (1 << bits) - 1
            };
            frame.registers[register.index()] = value & width;
        }
    }

    /// Notes whom a lane keeps waiting while it does something visible.
    fn owe(&mut self, lane: usize) {
        for other in (0..self.lanes.len()).filter(|other| *other != lane) {
            self.owe_one(lane, other);
        }
    }

    pub(super) fn owe_one(&mut self, lane: usize, other: usize) {
        if let Some(mask) = self.awaits(other, lane)
            && !self.may_still_come(lane, other)
        {
            let place = (self.place(other), mask);
            if !self.lanes[lane].owes.contains(&place) {
                self.lanes[lane].owes.push(place);
            }
        }
    }

    /// The mask with which one lane waits for another, if it does; 0 at a barrier of the block.
    fn awaits(&self, waiting: usize, other: usize) -> Option<u32> {
        match self.lanes[waiting].state {
            State::Waiting(_, mask) => {
                (warp_of(waiting).contains(&other) && mask >> (other % WARP) & 1 == 1).then_some(mask)
            }
            State::AtBarrier(..) => Some(0),
            _ => None,
        }
    }

    /// True if a lane has not yet left the way to the place where another waits, in this round of the loops around that place:
    /// its actions until then are no sign that it will not come.
    fn may_still_come(&self, lane: usize, other: usize) -> bool {
        let at =
            |lane: usize| self.lanes[lane].frames[0].next - usize::from(self.lanes[lane].frames.len() > 1);
        let (from, to) = (at(lane), at(other));
        if self
            .ways
            .is_behind((from, &self.lanes[lane].rounds), &self.lanes[other].rounds, to)
        {
            return true;
        }
        self.ways.lead(
            from,
            to,
            self.lanes[lane].frames.len() > 1 || self.lanes[lane].state != State::Running,
        )
    }

    /// Lets one group of lanes meet, the first that can; true if one could.
    fn meet(&mut self, first: usize, step: usize) -> bool {
        let count = self.lanes.len();
        for lane in (0..count).map(|number| (first + number * step) % count) {
            let State::Waiting(kind, mask) = self.lanes[lane].state else {
                continue;
            };
            let place = (!self.converges).then(|| self.place(lane));
            let comes = |other: usize| {
                self.lanes[other].state == State::Waiting(kind, mask)
                    && place.as_ref().is_none_or(|place| self.place(other) == *place)
            };
            let is_named = |other: &usize| mask >> (other % WARP) & 1 == 1;
            let mut named = warp_of(lane).filter(is_named);
            if named.all(|other| self.lanes[other].state == State::Ended || comes(other)) {
                let named: Vec<usize> = warp_of(lane).filter(is_named).collect();
                let group: Vec<usize> = warp_of(lane)
                    .filter(|&other| comes(other) && (is_named(&other) || other == lane))
                    .collect();
                self.settle(&group, &named, mask);
                self.complete(kind, mask, &group);
                return true;
            }
        }
        false
    }

    /// Lets the block pass a barrier, if all that have not ended wait at one; true if it could.
    fn pass_barrier(&mut self) -> bool {
        let mut group = Vec::new();
        let mut number = None;
        for (lane, state) in self.lanes.iter().map(|lane| lane.state).enumerate() {
            match state {
                State::Ended => {}
                State::AtBarrier(id, _) if number.is_none_or(|known| known == id) => {
                    number = Some(id);
                    group.push(lane);
                }
                _ => return false,
            }
        }
        if group.is_empty() {
            return false;
        }
        for pair in group.windows(2) {
            let (a, b) = (self.place(pair[0]), self.place(pair[1]));
            let is_aligned = |lane: usize| matches!(self.lanes[lane].state, State::AtBarrier(_, true));
            if a != b && warp_of(pair[0]).contains(&pair[1]) && (is_aligned(pair[0]) || is_aligned(pair[1])) {
                self.wrong(a, Wrong::Unaligned);
            }
        }
        let all: Vec<usize> = (0..self.lanes.len()).collect();
        self.settle(&group, &all, 0);
        for lane in group {
            self.resume(lane, &[]);
        }
        true
    }

    /// Settles the lanes that wait for one of `group`, which goes on together, and those of `named` that do not go on.
    fn settle(&mut self, group: &[usize], named: &[usize], mask: u32) {
        let places: Vec<Place> = group.iter().map(|&lane| self.place(lane)).collect();
        // To meet some is a sign to those who wait in vain.
        let is_waiting =
            |lane: &usize| matches!(self.lanes[*lane].state, State::Waiting(..) | State::AtBarrier(..));
        let waiting: Vec<usize> = (0..self.lanes.len())
            .filter(|lane| is_waiting(lane) && !group.contains(lane))
            .collect();
        for &lane in group {
            for &other in &waiting {
                self.owe_one(lane, other);
            }
        }
        for &lane in group {
            let owes = &mut self.lanes[lane].owes;
            owes.retain(|(place, with)| *with != mask || !places.contains(place));
        }
        for &other in named.iter().filter(|other| !group.contains(other)) {
            // It has ended: silently, or after others had begun to wait for it.
            for (&lane, place) in group.iter().zip(&places) {
                if self.lanes[other].owes.contains(&(place.clone(), mask)) {
                    self.miss(other, lane);
                }
            }
        }
    }

    pub(super) fn resume(&mut self, lane: usize, results: &[u64]) {
        for (number, &result) in results.iter().enumerate() {
            self.define(lane, number, result);
        }
        self.frame(lane).next += 1;
        self.lanes[lane].state = State::Running;
    }

    /// Nobody can go on: the lanes that wait for one that is elsewhere are let go. First those at collectives: who
    /// waits at a barrier may do so for them, which is no fault of the barrier unless they wait for it in turn.
    fn deadlock(&mut self) {
        let at = |wanted: fn(State) -> bool| -> Vec<usize> {
            let lanes = 0..self.lanes.len();
            lanes.filter(|&lane| wanted(self.lanes[lane].state)).collect()
        };
        let at_barriers = at(|state| matches!(state, State::AtBarrier(..)));
        let at_collectives = at(|state| matches!(state, State::Waiting(..)));
        let is_awaited = |lane: &usize| {
            let mut others = at_collectives.iter();
            at_collectives.is_empty() || others.any(|&other| self.awaits(other, *lane).is_some())
        };
        let blamed: Vec<usize> = at_barriers.iter().copied().filter(is_awaited).collect();
        // True if all lanes of a warp that have not ended wait at one barrier.
        let is_whole = |lane: usize| {
            let mut warp = warp_of(lane).filter(|&other| self.lanes[other].state != State::Ended);
            let number = |lane: usize| match self.lanes[lane].state {
                State::AtBarrier(number, _) => Some(number),
                _ => None,
            };
            warp.all(|other| number(other).is_some() && number(other) == number(lane))
        };
        let wrong: Vec<(Place, Wrong)> = at_collectives
            .iter()
            .chain(&blamed)
            .map(|&lane| {
                let wrong = if is_whole(lane) {
                    Wrong::OtherWarp
                } else {
                    Wrong::Deadlock
                };
                (self.place(lane), wrong)
            })
            .collect();
        for (place, wrong) in wrong {
            self.wrong(place, wrong);
        }
        self.outcome.is_broken = true;
        let let_go = if at_collectives.is_empty() {
            at_barriers
        } else {
            at_collectives
        };
        for lane in let_go {
            self.resume(lane, &[0, 0]);
        }
    }

    pub(super) fn end(&mut self, lane: usize) {
        self.lanes[lane].state = State::Ended;
        for other in 0..self.lanes.len() {
            if let Some(mask) = self.awaits(other, lane)
                && self.lanes[lane].owes.contains(&(self.place(other), mask))
            {
                self.miss(lane, other);
            }
        }
    }

    /// A lane does not come to where another waits for it.
    fn miss(&mut self, missing: usize, waiting: usize) {
        self.outcome.is_broken = true;
        let is_own = warp_of(waiting).contains(&missing);
        let place = self.place(waiting);
        self.wrong(place, if is_own { Wrong::Missing } else { Wrong::OtherWarp });
    }
}
