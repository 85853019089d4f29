//! Runs 32 lanes of a kernel in the device IR, one schedule at a time, and says which collectives went wrong.
//!
//! A collective completes when all lanes that its mask names have ended or wait at one of the same kind with the same
//! mask (before sm_70: at the same instruction). A lane that others wait for, that does something visible meanwhile and
//! ends without coming, violates the rule as the CUDA guide reads it; one that ends silently does not. So do lanes that
//! wait for each other at collectives that do not match. What follows a violation goes on with results of 0.
//!
//! Lanes run on silently as far as they can; only when none can, those at one visible instruction take a step. The
//! schedule says which instruction that is.

use std::collections::BTreeMap;

use ptxcheck_passes::analysis::cfg::Cfg;
use ptxcheck_passes::analysis::dominators::Dominators;
use ptxcheck_passes::analysis::evaluate::evaluate;
use ptxcheck_passes::analysis::lanes::shuffle;
use ptxcheck_passes::ir::{
    Access, AccessKind, BlockId, Body, Callee, Collective, FunctionId, Instruction, InstructionId, Module,
    Op, Special, Value,
};

use super::generator::Random;

/// What a run is given.
#[derive(Clone, Copy)]
pub struct Inputs {
    pub seed: u64,
    pub n: u64,
    pub mask: u64,
    pub ctaid: u64,
    pub ntid: u64,
    pub warp: u64,
}

/// Which of several visible instructions goes first.
#[derive(Clone, Copy, Debug)]
pub enum Schedule {
    First,
    Last,
    Random(u64),
}

/// The calls that lead to an instruction, outermost first, and the instruction.
pub type Place = (Vec<(usize, usize)>, usize, usize);

/// What came of a run.
#[derive(Default)]
pub struct Outcome {
    /// The collectives that some lane executed.
    pub reached: BTreeMap<Place, u32>,
    /// The collectives that went wrong.
    pub violated: BTreeMap<Place, &'static str>,
    /// Lanes waited in vain, and what came after is no run of the kernel any more.
    pub is_broken: bool,
    /// It took too long: nothing can be said.
    pub is_cut: bool,
}

#[derive(Clone)]
struct Frame {
    function: FunctionId,
    next: usize,
    registers: Vec<u64>,
    arguments: Vec<u64>,
}

#[derive(Clone, PartialEq, Eq)]
enum State {
    Running,
    /// Before a visible instruction.
    Poised,
    Waiting(Collective, u32),
    Ended,
}

struct Lane {
    frames: Vec<Frame>,
    state: State,
    /// Collectives of others that named this lane when it did something visible.
    owes: Vec<(Place, u32)>,
    /// The round that it is in, of each loop.
    rounds: Vec<u32>,
}

struct Machine<'m> {
    ways: &'m Ways,
    module: &'m Module<'m>,
    inputs: Inputs,
    lanes: Vec<Lane>,
    outcome: Outcome,
    converges: bool,
    fuel: usize,
}

const FUEL: usize = 60_000;

/// Runs the kernel.
pub fn run(
    module: &Module<'_>,
    ways: &Ways,
    kernel: FunctionId,
    inputs: Inputs,
    schedule: Schedule,
) -> Outcome {
    let body = body(module, kernel);
    let lanes = (0..32)
        .map(|_| Lane {
            frames: vec![Frame {
                function: kernel,
                next: 0,
                registers: vec![0; body.registers.len()],
                arguments: vec![0x1000, inputs.n, inputs.mask],
            }],
            state: State::Running,
            owes: Vec::new(),
            rounds: vec![0; ways.loops.len()],
        })
        .collect();
    let mut machine = Machine {
        ways,
        module,
        inputs,
        lanes,
        outcome: Outcome::default(),
        converges: module.target.sm >= 70,
        fuel: FUEL,
    };
    machine.go(schedule);
    machine.outcome
}

/// Which blocks of the kernel lead to which, within one round of the loops around the latter.
pub struct Ways {
    /// By target block: the blocks that lead to it.
    to: Vec<Vec<bool>>,
    /// The loops: a header and what is inside.
    loops: Vec<(usize, Vec<bool>)>,
    block_of: Vec<usize>,
}

impl Ways {
    pub fn new(body: &Body<'_>) -> Self {
        let cfg = Cfg::new(body);
        let dominators = Dominators::new(body, &cfg);
        let count = body.blocks.len();
        let backwards = |from: usize, keep: &dyn Fn(usize, usize) -> bool| {
            let mut seen = vec![false; count];
            let mut work = vec![from];
            seen[from] = true;
            while let Some(block) = work.pop() {
                for before in cfg.predecessors(BlockId::new(block)) {
                    let before = before.index();
                    if keep(before, block) && !std::mem::replace(&mut seen[before], true) {
                        work.push(before);
                    }
                }
            }
            seen
        };
        let is_back = |from: usize, to: usize| {
            cfg.rank(BlockId::new(from)).is_some()
                && dominators.dominates(BlockId::new(to), BlockId::new(from))
        };
        // The natural loop of a back edge: what leads to its source without passing the header.
        let mut loops: Vec<(usize, Vec<bool>)> = Vec::new();
        for from in 0..count {
            for header in body.successors(BlockId::new(from)) {
                let header = header.index();
                if is_back(from, header) {
                    let mut inside = backwards(from, &|_, block| block != header);
                    inside[header] = true;
                    loops.push((header, inside));
                }
            }
        }
        let to = (0..count)
            .map(|target| {
                let around: Vec<usize> = loops
                    .iter()
                    .filter(|(_, inside)| inside[target])
                    .map(|one| one.0)
                    .collect();
                backwards(target, &|from, block| {
                    !(around.contains(&block) && is_back(from, block))
                })
            })
            .collect();
        let block_of = (0..body.instructions.len())
            .map(|number| body.block_of(InstructionId::new(number)).index())
            .collect();
        Self { to, loops, block_of }
    }

    /// Counts a step to a block: entering a header begins a round of its loop, and of those inside anew.
    fn enter(&self, rounds: &mut [u32], block: usize) {
        for (number, (header, inside)) in self.loops.iter().enumerate() {
            if *header == block {
                rounds[number] += 1;
                for (other, (inner, _)) in self.loops.iter().enumerate() {
                    if inside[*inner] && inner != header {
                        rounds[other] = 0;
                    }
                }
            }
        }
    }

    /// Whether the lane of `rounds` is in an earlier round of a loop around an instruction than the one of `others`.
    fn is_behind(&self, (from, rounds): (usize, &[u32]), others: &[u32], at: usize) -> bool {
        let (Some(&own_block), Some(&block)) = (self.block_of.get(from), self.block_of.get(at)) else {
            return false;
        };
        self.loops
            .iter()
            .zip(rounds.iter().zip(others))
            .any(|((_, inside), (own, other))| inside[block] && inside[own_block] && own < other)
    }

    /// Whether control may get from an instruction to another; `passed`: the first has been executed.
    fn lead(&self, from: usize, to: usize, passed: bool) -> bool {
        let (Some(&start), Some(&end)) = (self.block_of.get(from), self.block_of.get(to)) else {
            return false;
        };
        if start == end {
            return from < to || from == to && !passed;
        }
        self.to[end][start]
    }
}

fn body<'m>(module: &'m Module<'_>, function: FunctionId) -> &'m Body<'m> {
    module
        .function(function)
        .body
        .as_ref()
        .expect("kernels have bodies")
}

impl<'m> Machine<'m> {
    fn go(&mut self, schedule: Schedule) {
        let mut random = match schedule {
            Schedule::Random(seed) => Random::new(seed ^ 0x5eed),
            _ => Random::new(1),
        };
        loop {
            for lane in 0..32 {
                while self.lanes[lane].state == State::Running {
                    if self.fuel == 0 {
                        self.outcome.is_cut = true;
                        return;
                    }
                    self.fuel -= 1;
                    self.silent_step(lane);
                }
            }
            let (meets_first, first, step) = match schedule {
                Schedule::First => (true, 0, 1),
                Schedule::Last => (false, 31, 31),
                Schedule::Random(_) => (random.chance(2), random.below(32), 1),
            };
            if meets_first && self.meet(first, step) {
                continue;
            }
            let mut poised: Vec<Place> = (0..32)
                .filter(|&lane| self.lanes[lane].state == State::Poised)
                .map(|lane| self.place(lane))
                .collect();
            poised.sort();
            poised.dedup();
            if poised.is_empty() {
                if self.meet(first, step) {
                    continue;
                }
                if self.lanes.iter().all(|lane| lane.state == State::Ended) {
                    return;
                }
                self.deadlock();
                continue;
            }
            let chosen = match schedule {
                Schedule::First => poised[0].clone(),
                Schedule::Last => poised[poised.len() - 1].clone(),
                Schedule::Random(_) => poised[random.below(poised.len())].clone(),
            };
            for lane in 0..32 {
                if self.lanes[lane].state == State::Poised && self.place(lane) == chosen {
                    self.owe(lane);
                    let frame = self.frame(lane);
                    frame.next += 1;
                    self.lanes[lane].state = State::Running;
                }
            }
        }
    }

    fn place(&self, lane: usize) -> Place {
        let frames = &self.lanes[lane].frames;
        let (last, outer) = frames.split_last().expect("a lane has a frame");
        let calls = outer
            .iter()
            .map(|frame| (frame.function.index(), frame.next - 1))
            .collect();
        (calls, last.function.index(), last.next)
    }

    fn frame(&mut self, lane: usize) -> &mut Frame {
        self.lanes[lane].frames.last_mut().expect("a lane has a frame")
    }

    /// Notes whom a lane keeps waiting while it does something visible.
    fn owe(&mut self, lane: usize) {
        for other in (0..32).filter(|other| *other != lane) {
            self.owe_one(lane, other);
        }
    }

    fn owe_one(&mut self, lane: usize, other: usize) {
        if let State::Waiting(_, mask) = self.lanes[other].state
            && mask >> lane & 1 == 1
            && !self.may_still_come(lane, other)
        {
            let place = (self.place(other), mask);
            if !self.lanes[lane].owes.contains(&place) {
                self.lanes[lane].owes.push(place);
            }
        }
    }

    /// Whether a lane has not yet left the way to where another waits, in this round of the loops around that place:
    /// what it does until then is no sign that it will not come.
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
        for lane in (0..32).map(|number| (first + number * step) % 32) {
            let State::Waiting(kind, mask) = self.lanes[lane].state else {
                continue;
            };
            let place = self.place(lane);
            let comes = |other: usize| {
                self.lanes[other].state == State::Waiting(kind, mask)
                    && (self.converges || self.place(other) == place)
            };
            let group: Vec<usize> = (0..32)
                .filter(|&other| comes(other) && (mask >> other & 1 == 1 || other == lane))
                .collect();
            let complete = (0..32)
                .filter(|other| mask >> other & 1 == 1)
                .all(|other| comes(other) || self.lanes[other].state == State::Ended);
            if complete {
                self.complete(kind, mask, &group);
                return true;
            }
        }
        false
    }

    fn complete(&mut self, kind: Collective, mask: u32, group: &[usize]) {
        let place_of: Vec<Place> = group.iter().map(|&lane| self.place(lane)).collect();
        // To meet some is a sign to those who wait in vain.
        for &lane in group {
            for other in (0..32).filter(|other| !group.contains(other)) {
                self.owe_one(lane, other);
            }
        }
        for other in 0..32 {
            if group.contains(&other) {
                self.lanes[other]
                    .owes
                    .retain(|(place, with)| *with != mask || !place_of.contains(place));
            } else if mask >> other & 1 == 1 {
                // It has ended: silently, or after others had begun to wait for it.
                for place in &place_of {
                    if self.lanes[other].owes.contains(&(place.clone(), mask)) {
                        self.outcome.is_broken = true;
                        self.outcome.violated.insert(place.clone(), "missing");
                    }
                }
            }
        }
        let values: BTreeMap<usize, Vec<u64>> = group.iter().map(|&lane| (lane, self.uses(lane))).collect();
        let ballot = values.iter().fold(0, |ballot, (lane, uses)| match kind {
            Collective::Vote(_) => ballot | (uses[1] & 1) << lane,
            _ => 0,
        });
        let sum = values.values().fold(0_u64, |sum, uses| {
            sum.wrapping_add(uses.get(1).copied().unwrap_or(0))
        });
        for &lane in group {
            let result = match kind {
                Collective::Vote(_) => ballot,
                Collective::Reduce => sum & 0xffff_ffff,
                Collective::Shuffle(mode) => {
                    let uses = &values[&lane];
                    let source = shuffle::source(mode, lane, uses[2], uses[3]);
                    match values.get(&source) {
                        Some(uses) => uses[1],
                        None => {
                            self.outcome.violated.insert(self.place(lane), "absent source");
                            0
                        }
                    }
                }
                _ => 0,
            };
            if let Collective::Shuffle(mode) = kind {
                let uses = &values[&lane];
                let source = shuffle::source(mode, lane, uses[2], uses[3]);
                if mask >> source & 1 == 0 {
                    self.outcome.violated.insert(self.place(lane), "absent source");
                }
            }
            self.resume(lane, result);
        }
    }

    fn resume(&mut self, lane: usize, result: u64) {
        let module = self.module;
        let frame = self.frame(lane);
        let body = body(module, frame.function);
        let instruction = body.instruction(InstructionId::new(frame.next));
        if let Some(Value::Register(register)) = body.results(instruction).first() {
            frame.registers[register.index()] = result;
        }
        frame.next += 1;
        self.lanes[lane].state = State::Running;
    }

    /// Nobody can go on: the lanes that wait for one that is elsewhere are let go.
    fn deadlock(&mut self) {
        let waiting: Vec<usize> = (0..32)
            .filter(|&lane| matches!(self.lanes[lane].state, State::Waiting(..)))
            .collect();
        for &lane in &waiting {
            let place = self.place(lane);
            self.outcome.violated.entry(place).or_insert("deadlock");
        }
        self.outcome.is_broken = true;
        for lane in waiting {
            self.resume(lane, 0);
        }
    }

    fn end(&mut self, lane: usize) {
        self.lanes[lane].state = State::Ended;
        let owes = self.lanes[lane].owes.clone();
        let waited: Vec<(Place, u32)> = (0..32)
            .filter_map(|other| match self.lanes[other].state {
                State::Waiting(_, mask) if mask >> lane & 1 == 1 => Some((self.place(other), mask)),
                _ => None,
            })
            .collect();
        for key in owes.into_iter().filter(|key| waited.contains(key)) {
            self.outcome.is_broken = true;
            self.outcome.violated.insert(key.0, "missing");
        }
    }

    fn uses(&self, lane: usize) -> Vec<u64> {
        let frame = self.lanes[lane].frames.last().expect("a lane has a frame");
        let body = body(self.module, frame.function);
        let instruction = body.instruction(InstructionId::new(frame.next));
        body.uses(instruction)
            .iter()
            .map(|&value| self.value(lane, frame, value))
            .collect()
    }

    fn value(&self, lane: usize, frame: &Frame, value: Value) -> u64 {
        let input = &self.inputs;
        let number = lane as u64;
        match value {
            Value::Register(register) => frame.registers[register.index()],
            Value::Not(register) => frame.registers[register.index()] & 1 ^ 1,
            Value::Integer(value) => value as u64,
            Value::Special(Special::Tid(0)) => input.warp * 32 + number,
            Value::Special(Special::LaneId) => number,
            Value::Special(Special::Ctaid(0)) => input.ctaid,
            Value::Special(Special::Ntid(0)) => input.ntid,
            Value::Special(Special::LaneMaskGe) => u64::from(u32::MAX << number),
            _ => 0,
        }
    }

    fn silent_step(&mut self, lane: usize) {
        let module = self.module;
        let frame = self.lanes[lane].frames.last().expect("a lane has a frame");
        let (function, next) = (frame.function, frame.next);
        let body = body(module, function);
        if next >= body.instructions.len() {
            return self.end(lane);
        }
        let id = InstructionId::new(next);
        let instruction = body.instruction(id);
        let block = body.block_of(id);
        if self.lanes[lane].frames.len() == 1
            && body.blocks[block.index()].instructions.start as usize == id.index()
        {
            self.ways.enter(&mut self.lanes[lane].rounds, block.index());
        }
        let frame = self.lanes[lane].frames.last().expect("a lane has a frame");
        let runs = instruction
            .guard
            .is_none_or(|guard| (frame.registers[guard.register.index()] & 1 == 1) != guard.negated);
        if !runs {
            if instruction.op == Op::Branch {
                let next = body.successors(block)[1];
                self.frame(lane).next = body.blocks[next.index()].instructions.start as usize;
            } else {
                self.frame(lane).next += 1;
            }
            return;
        }
        match instruction.op {
            Op::Branch => {
                let target = body.successors(block)[0];
                self.frame(lane).next = body.blocks[target.index()].instructions.start as usize;
            }
            Op::Return | Op::Exit => {
                self.lanes[lane].frames.pop();
                if self.lanes[lane].frames.is_empty() {
                    // Its places are asked for no more.
                    self.lanes[lane].frames.push(Frame {
                        function: FunctionId::new(0),
                        next: 0,
                        registers: Vec::new(),
                        arguments: Vec::new(),
                    });
                    self.end(lane);
                }
            }
            Op::Collective(kind, _) => self.arrive(lane, kind),
            Op::Call(call) => {
                let call = body.call(call);
                let Callee::Direct(symbol) = call.callee else {
                    panic!("no pointers here")
                };
                let callee = module.function_of(symbol).expect("a function");
                let arguments = body
                    .arguments(call)
                    .iter()
                    .map(|argument| self.value(lane, frame, argument.value))
                    .collect();
                let registers = vec![0; self::body(module, callee).registers.len()];
                self.frame(lane).next += 1;
                self.lanes[lane].frames.push(Frame {
                    function: callee,
                    next: 0,
                    registers,
                    arguments,
                });
            }
            Op::Access(Access {
                kind: AccessKind::Store,
                ..
            }) => self.lanes[lane].state = State::Poised,
            _ => self.compute(lane, instruction, body),
        }
    }

    fn arrive(&mut self, lane: usize, kind: Collective) {
        let mask = self.uses(lane)[0] as u32;
        let place = self.place(lane);
        if !self.outcome.is_broken {
            *self.outcome.reached.entry(place.clone()).or_default() |= 1 << lane;
        }
        if mask >> lane & 1 == 0 {
            self.outcome.violated.insert(place, "not named");
        }
        self.lanes[lane].state = State::Waiting(kind, mask);
    }

    fn compute(&mut self, lane: usize, instruction: &Instruction, body: &Body<'_>) {
        let uses = self.uses(lane);
        let operands = body.uses(instruction);
        let result = match instruction.op {
            Op::Access(access) if access.kind == AccessKind::Load => match operands[0] {
                Value::Param(number, _) => {
                    let frame = self.lanes[lane].frames.last().expect("a lane has a frame");
                    frame.arguments.get(usize::from(number)).copied().unwrap_or(0)
                }
                // Memory holds small numbers, always the same ones.
                _ => {
                    Random::new(self.inputs.seed ^ uses[0].wrapping_add(uses[1]).wrapping_mul(77)).next() % 40
                }
            },
            Op::ActiveMask => {
                let place = self.place(lane);
                (0..32)
                    .filter(|&other| self.lanes[other].state != State::Ended && self.place(other) == place)
                    .fold(0, |mask, other| mask | 1_u64 << other)
            }
            op => evaluate(op, &uses).unwrap_or(0),
        };
        let frame = self.frame(lane);
        if let Some(Value::Register(register)) = body.results(instruction).first() {
            let bits = body.registers[register.index()].bits;
            let width = if bits == 0 || bits >= 64 {
                u64::MAX
            } else {
                (1 << bits) - 1
            };
            frame.registers[register.index()] = result & width;
        }
        frame.next += 1;
    }
}
