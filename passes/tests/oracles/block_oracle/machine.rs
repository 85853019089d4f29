//! Runs the threads of one block through an abstract program, and writes down their accesses with clocks.
//!
//! ```text
//! epoch   the barriers of the whole block that are over. A thread that has ended counts as one that comes
//! clock   by warp: the named barriers of the warp of which a thread knows that they are over
//! ```
//!
//! An access is ordered before another one if its epoch is earlier, or the other thread knows of a named barrier after it.

use std::collections::BTreeMap;

use super::program::{
    ALL_VARIABLES, Barrier, Comparison, Condition, Expr, Kind, LOCAL, Operation, Place, Program, Shuffle,
    Statement, Variable,
};
use super::world::{EXTERN_BYTES, Order, World, mixed};
use crate::random::Random;

/// Lines of the text: of the call of a function, if it is in one, and of the access.
pub type Lines = Vec<u32>;

/// Threads of a warp.
pub const WARP: usize = 32;

/// Most steps of a run.
const MAX_STEPS: usize = 400_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    Read,
    Write,
    Atomic,
}

/// An access of a thread.
#[derive(Clone, Debug)]
pub struct Accessed {
    pub thread: usize,
    /// Its place among [`Code::sites`].
    pub site: usize,
    pub kind: Access,
    /// Volatile or atomic.
    pub is_strong: bool,
    pub array: usize,
    pub bytes: std::ops::Range<u32>,
    /// What is read, or written.
    pub value: u64,
    pub epoch: u32,
    /// Its place among [`Run::clocks`].
    pub clock: usize,
    /// All loops with barriers around it are in a later round than the first.
    pub is_in_later_round: bool,
    /// The number of the read among those of its thread.
    pub number: usize,
}

/// A read that gets another value.
#[derive(Clone, Copy, Debug)]
pub struct Replaced {
    pub thread: usize,
    pub number: usize,
    pub value: u64,
}

enum Step<'p> {
    Assign(Variable, &'p Expr),
    Argument(&'p Expr),
    Load(Variable, &'p Place, usize),
    Store(&'p Place, &'p Expr, usize),
    Atomic(Option<Variable>, &'p Place, &'p Expr, usize),
    LoadData(Variable, &'p Expr),
    StoreOut(&'p Expr, &'p Expr),
    /// Goes on elsewhere unless the condition holds.
    Unless {
        condition: &'p Condition,
        to: usize,
        /// What is compared matters: it is a branch, or guards an effect.
        is_effect: bool,
    },
    UnlessBelow {
        counter: Variable,
        to: usize,
    },
    Jump(usize),
    Clear(Variable),
    Increment(Variable),
    /// Begins a loop; true for one with a barrier.
    Enter(bool),
    Round,
    Leave,
    Barrier(Option<(Variable, &'p Condition)>),
    Named {
        barrier: u32,
        threads: u32,
        waits: bool,
    },
    WarpSync,
    Shuffle(Variable, Shuffle, &'p Expr),
    Nothing,
    End,
}

/// The steps of a program.
pub struct Code<'p> {
    program: &'p Program,
    steps: Vec<Step<'p>>,
    pub sites: Vec<Lines>,
}

impl<'p> Code<'p> {
    /// `lines`: by statement, its line.
    pub fn new(program: &'p Program, lines: &BTreeMap<usize, u32>) -> Self {
        let mut code = Self {
            program,
            steps: Vec::new(),
            sites: Vec::new(),
        };
        code.add(&program.body, lines, None);
        code.steps.push(Step::End);
        code
    }

    fn site(&mut self, statement: usize, lines: &BTreeMap<usize, u32>, call: Option<u32>) -> usize {
        let site: Lines = call.into_iter().chain(lines.get(&statement).copied()).collect();
        match self.sites.iter().position(|known| *known == site) {
            Some(known) => known,
            None => {
                self.sites.push(site);
                self.sites.len() - 1
            }
        }
    }

    fn add(&mut self, statements: &'p [Statement], lines: &BTreeMap<usize, u32>, call: Option<u32>) {
        for statement in statements {
            let site = self.site(statement.id, lines, call);
            match &statement.kind {
                Kind::Assign(variable, value) => self.steps.push(Step::Assign(*variable, value)),
                Kind::Load(into, place) => self.steps.push(Step::Load(*into, place, site)),
                Kind::Store(place, value) => self.steps.push(Step::Store(place, value, site)),
                Kind::Atomic(into, place, value) => self.steps.push(Step::Atomic(*into, place, value, site)),
                Kind::LoadData(into, index) => self.steps.push(Step::LoadData(*into, index)),
                Kind::StoreOut(index, value) => self.steps.push(Step::StoreOut(index, value)),
                Kind::If {
                    condition,
                    is_guard,
                    then,
                    otherwise,
                } => {
                    let branch = self.steps.len();
                    self.steps.push(Step::Nothing);
                    self.add(then, lines, call);
                    let jump = self.steps.len();
                    self.steps.push(Step::Nothing);
                    self.steps[branch] = Step::Unless {
                        condition,
                        to: self.steps.len(),
                        is_effect: !is_guard || then.iter().any(has_effect),
                    };
                    self.add(otherwise, lines, call);
                    self.steps[jump] = Step::Jump(self.steps.len());
                }
                Kind::Repeat {
                    counter,
                    bound,
                    is_tested_last,
                    body,
                } => {
                    self.steps.push(Step::Assign(counter + 1, bound));
                    self.steps.push(Step::Clear(*counter));
                    self.steps.push(Step::Enter(self.waits(body)));
                    let head = self.steps.len();
                    self.steps.push(Step::Round);
                    let test = self.steps.len();
                    self.steps.push(Step::Nothing);
                    self.add(body, lines, call);
                    self.steps.push(Step::Increment(*counter));
                    let last = self.steps.len();
                    self.steps.push(Step::Nothing);
                    if *is_tested_last {
                        let to = self.steps.len() + 1;
                        self.steps[last] = Step::UnlessBelow {
                            counter: *counter,
                            to,
                        };
                        self.steps.push(Step::Jump(head));
                    } else {
                        self.steps[last] = Step::Jump(head);
                        let to = self.steps.len();
                        self.steps[test] = Step::UnlessBelow {
                            counter: *counter,
                            to,
                        };
                    }
                    self.steps.push(Step::Leave);
                }
                Kind::Barrier(Barrier::Count(into, condition)) => {
                    self.steps.push(Step::Barrier(Some((*into, condition))));
                }
                Kind::Barrier(_) => self.steps.push(Step::Barrier(None)),
                Kind::Named {
                    barrier,
                    threads,
                    waits,
                } => self.steps.push(Step::Named {
                    barrier: *barrier,
                    threads: *threads,
                    waits: *waits,
                }),
                Kind::WarpSync => self.steps.push(Step::WarpSync),
                Kind::Shuffle(into, shuffle, value) => self.steps.push(Step::Shuffle(*into, *shuffle, value)),
                Kind::Fence(_) => {}
                Kind::End => self.steps.push(Step::End),
                Kind::Call(into, function, argument) => {
                    self.steps.push(Step::Argument(argument));
                    let of_function = &self.program.functions[*function];
                    for local in LOCAL {
                        self.steps.push(Step::Clear(local));
                    }
                    let line = lines.get(&statement.id).copied();
                    self.add(&of_function.body, lines, line);
                    self.steps.push(Step::Assign(*into, &of_function.result));
                }
            }
        }
    }

    /// True if a barrier of the block is in these statements, and in no loop of theirs.
    fn waits(&self, statements: &[Statement]) -> bool {
        statements.iter().any(|statement| match &statement.kind {
            Kind::Barrier(_) => true,
            Kind::Call(_, function, _) => self.waits(&self.program.functions[*function].body),
            Kind::If { then, otherwise, .. } => self.waits(then) || self.waits(otherwise),
            _ => false,
        })
    }
}

/// True if a statement does more than to set a variable.
const fn has_effect(statement: &Statement) -> bool {
    !matches!(
        statement.kind,
        Kind::Assign(..) | Kind::Load(..) | Kind::LoadData(..)
    )
}

/// Where a thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    AtBarrier,
    AtNamed(u32),
    AtWarp,
    Ended,
}

struct Thread {
    state: State,
    next: usize,
    variables: [u32; ALL_VARIABLES],
    argument: u32,
    rounds: Vec<(bool, u32)>,
    clock: usize,
    reads: usize,
    effects: u64,
    /// What it brings to the place where it waits.
    brought: u32,
}

/// Why a run tells nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// An access is outside of its array.
    Outside,
    /// Threads wait forever.
    Waits,
    /// It takes too long.
    Long,
}

/// What a run has done.
pub struct Run {
    pub world: World,
    pub accesses: Vec<Accessed>,
    pub clocks: Vec<Vec<u16>>,
    /// By thread: a number that stands for what it has stored, and how it has branched.
    pub effects: Vec<u64>,
}

/// Runs one block.
pub fn run(code: &Code<'_>, world: World, replaced: Option<Replaced>) -> Result<Run, Broken> {
    let count = world.threads() as usize;
    let arrays = code.program.arrays.iter().enumerate();
    let mut machine = Machine {
        code,
        world,
        replaced,
        random: Random::new(world.seed),
        memory: arrays
            .map(|(number, array)| world.unwritten(number, array.bytes.unwrap_or(EXTERN_BYTES)))
            .collect(),
        threads: (0..count)
            .map(|_| Thread {
                state: State::Ready,
                next: 0,
                variables: [0; ALL_VARIABLES],
                argument: 0,
                rounds: Vec::new(),
                clock: 0,
                reads: 0,
                effects: 0,
                brought: 0,
            })
            .collect(),
        arrived: BTreeMap::new(),
        epoch: 0,
        steps: 0,
        accesses: Vec::new(),
        clocks: vec![vec![0; count.div_ceil(WARP)]],
    };
    machine.run()?;
    Ok(Run {
        world,
        accesses: machine.accesses,
        clocks: machine.clocks,
        effects: machine.threads.iter().map(|thread| thread.effects).collect(),
    })
}

struct Machine<'c, 'p> {
    code: &'c Code<'p>,
    world: World,
    replaced: Option<Replaced>,
    random: Random,
    memory: Vec<Vec<u8>>,
    threads: Vec<Thread>,
    /// By named barrier: the threads that have arrived, with their clocks.
    arrived: BTreeMap<u32, Vec<(usize, usize)>>,
    epoch: u32,
    steps: usize,
    accesses: Vec<Accessed>,
    clocks: Vec<Vec<u16>>,
}

impl Machine<'_, '_> {
    fn run(&mut self) -> Result<(), Broken> {
        loop {
            let mut ready: Vec<usize> = (0..self.threads.len())
                .filter(|&thread| self.threads[thread].state == State::Ready)
                .collect();
            if ready.is_empty() {
                if self.threads.iter().all(|thread| thread.state == State::Ended) {
                    return Ok(());
                }
                self.release()?;
                continue;
            }
            let seed = self.random.next();
            match self.world.order {
                Order::Ascending => {}
                Order::Descending => ready.reverse(),
                Order::Warps => ready.sort_by_key(|&thread| (mixed(seed ^ (thread / WARP) as u64), thread)),
                Order::Steps => ready.sort_by_key(|&thread| mixed(seed ^ thread as u64)),
            }
            for thread in ready {
                let steps = match self.world.order {
                    Order::Steps => 1 + self.random.below(12),
                    _ => usize::MAX,
                };
                for _ in 0..steps {
                    if self.threads[thread].state != State::Ready {
                        break;
                    }
                    self.steps += 1;
                    if self.steps > MAX_STEPS {
                        return Err(Broken::Long);
                    }
                    self.step(thread)?;
                }
            }
        }
    }

    /// Lets the threads go on that wait for each other.
    fn release(&mut self) -> Result<(), Broken> {
        let mut is_released = false;
        for first in (0..self.threads.len()).step_by(WARP) {
            is_released |= self.release_warp(first);
        }
        for (barrier, arrived) in std::mem::take(&mut self.arrived) {
            let mut waiting = arrived
                .iter()
                .filter(|(thread, _)| self.threads[*thread].state == State::AtNamed(barrier));
            let wanted = waiting
                .next()
                .map(|&(thread, _)| self.threads[thread].brought as usize);
            if wanted != Some(arrived.len()) {
                self.arrived.insert(barrier, arrived);
                continue;
            }
            is_released = true;
            for &(thread, _) in &arrived {
                if self.threads[thread].state == State::AtNamed(barrier) {
                    self.threads[thread].state = State::Ready;
                    let clocks = arrived.iter().map(|(_, clock)| *clock);
                    self.threads[thread].clock = self.joined(self.threads[thread].clock, clocks);
                }
            }
        }
        let all_wait = || {
            let mut threads = self.threads.iter();
            threads.all(|thread| matches!(thread.state, State::AtBarrier | State::Ended))
        };
        if !is_released && all_wait() {
            is_released = true;
            self.epoch += 1;
            let at_barrier = |thread: &&Thread| thread.state == State::AtBarrier;
            let sum: u32 = self
                .threads
                .iter()
                .filter(at_barrier)
                .map(|thread| thread.brought)
                .sum();
            for thread in &mut self.threads {
                if thread.state == State::AtBarrier {
                    thread.state = State::Ready;
                    if let Step::Barrier(Some((into, _))) = self.code.steps[thread.next - 1] {
                        thread.variables[into] = sum;
                    }
                }
            }
        }
        if is_released { Ok(()) } else { Err(Broken::Waits) }
    }

    fn release_warp(&mut self, first: usize) -> bool {
        let lanes = first..(first + WARP).min(self.threads.len());
        let mut states = self.threads[lanes.clone()].iter().map(|thread| thread.state);
        if !states.all(|state| state == State::AtWarp) {
            return false;
        }
        let brought: Vec<u32> = self.threads[lanes.clone()]
            .iter()
            .map(|thread| thread.brought)
            .collect();
        for (lane, thread) in self.threads[lanes].iter_mut().enumerate() {
            thread.state = State::Ready;
            if let Step::Shuffle(into, shuffle, _) = self.code.steps[thread.next - 1] {
                let source = match shuffle {
                    Shuffle::From(source) => source as usize,
                    Shuffle::Xor(lanes) => lane ^ lanes as usize,
                    Shuffle::Down(lanes) if lane + (lanes as usize) < WARP => lane + lanes as usize,
                    Shuffle::Down(_) => lane,
                };
                thread.variables[into] = brought[source];
            }
        }
        true
    }

    /// The clock that knows what all of these know.
    fn joined(&mut self, one: usize, others: impl Iterator<Item = usize>) -> usize {
        let mut clock = self.clocks[one].clone();
        for other in others {
            for (mine, its) in clock.iter_mut().zip(&self.clocks[other]) {
                *mine = (*mine).max(*its);
            }
        }
        self.clock(clock)
    }

    fn clock(&mut self, clock: Vec<u16>) -> usize {
        match self.clocks.iter().position(|known| *known == clock) {
            Some(known) => known,
            None => {
                self.clocks.push(clock);
                self.clocks.len() - 1
            }
        }
    }

    fn step(&mut self, at: usize) -> Result<(), Broken> {
        let code = self.code;
        let number = self.threads[at].next;
        self.threads[at].next += 1;
        match &code.steps[number] {
            Step::Assign(into, value) => self.threads[at].variables[*into] = self.value(at, value),
            Step::Argument(value) => self.threads[at].argument = self.value(at, value),
            Step::Load(into, place, site) => {
                let value = self.access(at, place, *site, Access::Read, None)?;
                let value = match place.width {
                    8 => (value as u32).wrapping_add((value >> 32) as u32),
                    _ => value as u32,
                };
                self.threads[at].variables[*into] = value;
            }
            Step::Store(place, value, site) => {
                let value = u64::from(self.value(at, value));
                self.access(at, place, *site, Access::Write, Some(value << 32 | value))?;
            }
            Step::Atomic(into, place, value, site) => {
                let value = u64::from(self.value(at, value));
                let old = self.access(at, place, *site, Access::Atomic, Some(value))?;
                if let Some(into) = into {
                    self.threads[at].variables[*into] = old as u32;
                }
            }
            Step::LoadData(into, index) => {
                let index = self.value(at, index) & 1023;
                self.effect(at, number, u64::from(index));
                self.threads[at].variables[*into] = self.world.number(index);
            }
            Step::StoreOut(index, value) => {
                let (index, value) = (self.value(at, index) & 1023, self.value(at, value));
                self.effect(at, number, u64::from(index) << 32 | u64::from(value));
            }
            Step::Unless {
                condition,
                to,
                is_effect,
            } => {
                let holds = self.holds(at, condition);
                if !holds {
                    self.threads[at].next = *to;
                }
                if *is_effect {
                    let operands = self.operands(at, condition);
                    self.effect(at, number, operands);
                }
            }
            Step::UnlessBelow { counter, to } => {
                let variables = &self.threads[at].variables;
                let (round, bound) = (variables[*counter], variables[*counter + 1]);
                if round >= bound {
                    self.threads[at].next = *to;
                }
                self.effect(at, number, u64::from(round) << 32 | u64::from(bound));
            }
            Step::Jump(to) => self.threads[at].next = *to,
            Step::Clear(variable) => self.threads[at].variables[*variable] = 0,
            Step::Increment(variable) => {
                let counter = &mut self.threads[at].variables[*variable];
                *counter = counter.wrapping_add(1);
            }
            Step::Enter(waits) => self.threads[at].rounds.push((*waits, 0)),
            Step::Round => {
                if let Some((_, round)) = self.threads[at].rounds.last_mut() {
                    *round += 1;
                }
            }
            Step::Leave => drop(self.threads[at].rounds.pop()),
            Step::Barrier(count) => {
                self.threads[at].state = State::AtBarrier;
                let holds = count.is_some_and(|(_, condition)| self.holds(at, condition));
                self.threads[at].brought = u32::from(holds);
                if let Some((_, condition)) = count {
                    let operands = self.operands(at, condition);
                    self.effect(at, number, operands);
                }
            }
            Step::Named {
                barrier,
                threads,
                waits,
            } => {
                let mut clock = self.clocks[self.threads[at].clock].clone();
                clock[at / WARP] += 1;
                let clock = self.clock(clock);
                self.threads[at].clock = clock;
                self.arrived.entry(*barrier).or_default().push((at, clock));
                if *waits {
                    self.threads[at].brought = *threads;
                    self.threads[at].state = State::AtNamed(*barrier);
                }
            }
            Step::WarpSync => self.threads[at].state = State::AtWarp,
            Step::Shuffle(_, _, value) => {
                self.threads[at].brought = self.value(at, value);
                self.threads[at].state = State::AtWarp;
            }
            Step::Nothing => {}
            Step::End => self.threads[at].state = State::Ended,
        }
        Ok(())
    }

    fn effect(&mut self, at: usize, step: usize, what: u64) {
        let thread = &mut self.threads[at];
        thread.effects = mixed(thread.effects.rotate_left(9) ^ mixed(what ^ (step as u64) << 48) ^ 1);
    }

    /// Makes an access, and returns what was there.
    fn access(
        &mut self,
        at: usize,
        place: &Place,
        site: usize,
        kind: Access,
        written: Option<u64>,
    ) -> Result<u64, Broken> {
        let index = u64::from(self.value(at, &place.index));
        // Generic addresses have 64 bits, others 32.
        let first = match place.is_generic {
            true => index * u64::from(place.width),
            false => u64::from((index as u32).wrapping_mul(place.width)),
        };
        let first = first + u64::from(place.offset * place.width);
        let memory = &mut self.memory[place.array];
        let last = first + u64::from(place.width);
        if last > memory.len() as u64 {
            return Err(Broken::Outside);
        }
        let bytes = first as usize..last as usize;
        let mut value = [0; 8];
        value[..bytes.len()].copy_from_slice(&memory[bytes.clone()]);
        let mut value = u64::from_le_bytes(value);
        let thread = &mut self.threads[at];
        if kind == Access::Read {
            thread.reads += 1;
            let replaced = self
                .replaced
                .filter(|replaced| (replaced.thread, replaced.number) == (at, thread.reads));
            value = replaced.map_or(value, |replaced| replaced.value);
        }
        let all = u64::MAX >> (64 - 8 * place.width);
        let operand = written;
        let written = written.map(|written| match kind {
            Access::Atomic => value.wrapping_add(written) & all,
            _ => written & all,
        });
        if let Some(written) = written {
            memory[bytes.clone()].copy_from_slice(&written.to_le_bytes()[..bytes.len()]);
        }
        let mut waiting = thread.rounds.iter().filter(|(waits, _)| *waits).peekable();
        let is_in_later_round = waiting.peek().is_some() && waiting.all(|(_, round)| *round > 1);
        let accessed = Accessed {
            thread: at,
            site,
            kind,
            is_strong: place.is_volatile || kind == Access::Atomic,
            array: place.array,
            bytes: bytes.start as u32..bytes.end as u32,
            value: written.unwrap_or(value),
            epoch: self.epoch,
            clock: thread.clock,
            is_in_later_round,
            number: thread.reads,
        };
        self.accesses.push(accessed);
        // An address counts, whatever becomes of what is read there.
        let what = mixed(first ^ (place.array as u64) << 40) ^ operand.unwrap_or(0) & all;
        self.effect(at, site, what);
        Ok(value)
    }

    /// A number that stands for what a condition compares.
    fn operands(&self, at: usize, condition: &Condition) -> u64 {
        match condition {
            Condition::Compare(_, left, right) => {
                mixed(u64::from(self.value(at, left)) << 32 | u64::from(self.value(at, right)))
            }
            Condition::Both(one, other) => {
                mixed(self.operands(at, one)).wrapping_add(self.operands(at, other))
            }
            Condition::Not(inner) => self.operands(at, inner),
        }
    }

    fn holds(&self, at: usize, condition: &Condition) -> bool {
        match condition {
            Condition::Compare(comparison, left, right) => {
                let (left, right) = (self.value(at, left), self.value(at, right));
                match comparison {
                    Comparison::Equal => left == right,
                    Comparison::NotEqual => left != right,
                    Comparison::Less => left < right,
                    Comparison::GreaterOrEqual => left >= right,
                    Comparison::SignedLess => (left as i32) < right as i32,
                }
            }
            Condition::Both(one, other) => self.holds(at, one) && self.holds(at, other),
            Condition::Not(inner) => !self.holds(at, inner),
        }
    }

    fn value(&self, at: usize, expr: &Expr) -> u32 {
        let width = self.world.block[0];
        match expr {
            Expr::Number(number) => *number,
            Expr::Thread => at as u32,
            Expr::X => at as u32 % width,
            Expr::Y => at as u32 / width,
            Expr::Lane => at as u32 % WARP as u32,
            Expr::Block => self.world.ctaid,
            Expr::Width => width,
            Expr::Param(number) => self.world.params[*number],
            Expr::Variable(variable) => self.threads[at].variables[*variable],
            Expr::Argument => self.threads[at].argument,
            Expr::Binary(operation, left, right) => {
                let (left, right) = (self.value(at, left), self.value(at, right));
                match operation {
                    Operation::Add => left.wrapping_add(right),
                    Operation::Subtract => left.wrapping_sub(right),
                    Operation::Multiply => left.wrapping_mul(right),
                    Operation::And => left & right,
                    Operation::Xor => left ^ right,
                    Operation::ShiftLeft => left.checked_shl(right).unwrap_or(0),
                    Operation::ShiftRight => left.checked_shr(right).unwrap_or(0),
                    Operation::Remainder => left.checked_rem(right).unwrap_or(0),
                }
            }
            Expr::Select(condition, left, right) => match self.holds(at, condition) {
                true => self.value(at, left),
                false => self.value(at, right),
            },
        }
    }
}
