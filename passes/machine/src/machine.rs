//! The state of a run, and what all of its parts do with it.

use std::collections::{BTreeMap, BTreeSet};

use ptxcheck_common::deadline::Deadline;
use ptxcheck_ir::{BlockId, Body, FunctionId, Instruction, InstructionId, Register};
use rustc_hash::FxHashMap;

use crate::agent::Agent;
use crate::evaluate::{Word, ones};
use crate::kernel::Kernel;
use crate::launch::{Launch, WARP};
use crate::limits::{MAX_FAILURES, MAX_SNAPSHOTS};
use crate::memory::Memory;
use crate::observe::{Event, Observer, View, Watched};
use crate::outcome::{End, Group, Hang, Unknown, Wrong};
use crate::registers::{Bank, Banks};
use crate::rows::Row;
use crate::schedule::Order;
use crate::site::{Context, Contexts, Point};
use crate::stop::Stop;
use crate::thread::{Changes, Frame, State, Thread};
use crate::waits::{Polls, Signals};
use crate::ways::Position;
use crate::world::{At, Unmodelled, World};

/// A step of a run; the error is the run's end.
pub(crate) type Step<T = ()> = Result<T, End>;

/// The memory that the threads of the block share, by generic address, and whether something that the machine does not
/// model may have written there.
#[derive(Debug, Default)]
pub(crate) struct Room {
    pub(crate) memory: Memory,
    pub(crate) is_forgotten: bool,
}

/// The room of global memory.
pub(crate) const GLOBAL: usize = 0;
/// The room of shared memory.
pub(crate) const SHARED: usize = 1;

/// A failure, as it is kept during the run.
#[derive(Debug)]
pub(crate) struct Noted {
    pub(crate) point: Point,
    pub(crate) wrong: Wrong,
    pub(crate) warp: u32,
    pub(crate) lanes: u32,
    pub(crate) mask: Option<u32>,
    pub(crate) is_after_break: bool,
    pub(crate) lanes_then: Vec<Group>,
}

/// All that has been noted of the run.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) reached: BTreeSet<Point>,
    pub(crate) failures: Vec<Noted>,
    /// See [`crate::Outcome::uneven_warps`].
    pub(crate) uneven_warps: BTreeSet<u32>,
    /// The failures, by the properties that distinguish them.
    numbers: FxHashMap<(Point, u32, Wrong), usize>,
    pub(crate) is_broken: bool,
    pub(crate) has_passed_counted: bool,
    /// Shifts by an amount that is computed: true if none was executed with one below the number of bits.
    pub(crate) shifts: FxHashMap<(FunctionId, InstructionId), bool>,
    /// See [`crate::Outcome::breaks_assumption`].
    pub(crate) breaks_assumption: bool,
    /// See [`crate::Outcome::has_waited`].
    pub(crate) has_waited: bool,
    /// See [`crate::Outcome::hang`].
    pub(crate) hang: Option<Hang>,
    /// See [`crate::Outcome::open`].
    pub(crate) open: Option<Point>,
}

pub(crate) struct Machine<'r> {
    pub(crate) kernel: &'r Kernel<'r>,
    pub(crate) launch: Launch,
    /// The number of the block among those that run.
    pub(crate) block: u32,
    /// Threads of the block; [`Self::threads`] has whole warps.
    pub(crate) count: usize,
    pub(crate) threads: Vec<Thread>,
    /// By number of a barrier with a count: what threads that do not wait have told it since it was complete last.
    pub(crate) signals: BTreeMap<u64, Signals>,
    /// A thread has reached a barrier with a count.
    pub(crate) has_counts: bool,
    /// By warp.
    pub(crate) banks: Vec<Banks>,
    /// Registers of all of them, of all lanes.
    pub(crate) registers: u64,
    pub(crate) contexts: Contexts,
    /// Global, shared, and what kernels only read: constants and parameters.
    pub(crate) rooms: [Room; 3],
    /// Words of 8 bytes that have been forgotten since.
    pub(crate) forgotten_words: u64,
    pub(crate) world: &'r mut dyn World,
    pub(crate) observer: &'r mut dyn Observer,
    pub(crate) record: Record,
    pub(crate) order: Order,
    pub(crate) deadline: &'r Deadline,
    /// See [`crate::Setup`].
    pub(crate) counts_later_rounds: bool,
    pub(crate) stop: Stop<'r>,
    pub(crate) steps: u64,
    /// Accesses to memory that an observer was told of.
    pub(crate) accesses: u64,
    /// See [`crate::Setup::watched`].
    pub(crate) watched: &'r [Watched],
    /// The watched reads that the value of the load that is executed depends on, a bit for each.
    pub(crate) loaded: u32,
    /// The same of what is stored.
    pub(crate) stored: u32,
    /// The bits of the loaded value that may be others because of watched reads, and those of the stored one.
    pub(crate) loaded_changes: Vec<Changes>,
    pub(crate) stored_changes: Vec<Changes>,
    /// See [`crate::Outcome::used`].
    pub(crate) used: u32,
    pub(crate) most_steps: u64,
    /// Collectives meet across instructions (from sm_70 on).
    pub(crate) converges: bool,
    /// The operands of an instruction, to be filled anew.
    pub(crate) operands: Vec<Word>,
    /// The same of several lanes.
    pub(crate) rows: Vec<Row>,
    /// The shuffles whose first result is read by an instruction, and those without such a reader.
    pub(crate) read_results: FxHashMap<(FunctionId, InstructionId), bool>,
    /// Performs asynchronous copies, where the run follows them.
    pub(crate) agent: Option<Agent>,
    pub(crate) polls: Polls,
}

impl<'r> Machine<'r> {
    /// Counts steps.
    pub(crate) fn spend(&mut self, steps: u64) -> Step {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > self.most_steps {
            return Err(End::Unknown(Unknown::Steps));
        }
        if self.deadline.is_over_after(steps as usize) {
            return Err(End::Unknown(Unknown::Time));
        }
        Ok(())
    }

    pub(crate) fn frame(&mut self, thread: usize) -> Option<&mut Frame> {
        self.threads[thread].frames.last_mut()
    }

    /// The point of a thread; one that has ended is nowhere.
    pub(crate) fn point(&self, thread: usize) -> Point {
        self.threads[thread].point().unwrap_or(Point {
            context: Context::default(),
            function: self.kernel.function,
            instruction: InstructionId::new(u32::MAX as usize),
        })
    }

    /// The code at a point.
    pub(crate) fn code(&self, point: Point) -> Option<(&'r Body<'r>, &'r Instruction)> {
        let body = self.kernel.body(point.function)?;
        let instruction = body.instructions.get(point.instruction.index())?;
        Some((body, instruction))
    }

    /// The code that a thread is about to execute.
    pub(crate) fn code_of(&self, thread: usize) -> Option<(&'r Body<'r>, &'r Instruction)> {
        self.code(self.threads[thread].point()?)
    }

    /// The end of a run at the instruction of a thread.
    pub(crate) fn unknown(&self, thread: usize, why: fn(ptxcheck_ir::Site) -> Unknown) -> End {
        End::Unknown(why(self.contexts.site(self.point(thread))))
    }

    /// Asks the world for a value that the machine does not compute.
    pub(crate) fn ask(&mut self, thread: usize, value: Unmodelled) -> Word {
        let point = self.point(thread);
        let at = at(self.block, thread, point, &self.contexts);
        self.world.unmodelled(&at, value)
    }

    /// Tells the observer of an event at the instruction of a thread.
    pub(crate) fn tell(&mut self, thread: usize, event: &Event<'_>) {
        self.tell_at(self.point(thread), thread, event);
    }

    /// The same, where the point of the thread is known.
    pub(crate) fn tell_at(&mut self, point: Point, thread: usize, event: &Event<'_>) {
        if let Some(agent) = &mut self.agent {
            agent.on(thread, point, event);
        }
        let view = View {
            threads: &self.threads,
            contexts: &self.contexts,
            count: self.count,
            global: &self.rooms[GLOBAL].memory,
        };
        let told = at(self.block, thread, point, &self.contexts);
        self.observer.on(&told, event, &view);
        let failures = self.agent.as_mut().map(Agent::new_failures);
        for first in failures.into_iter().flatten() {
            let told = at(self.block, first.thread, first.point, &self.contexts);
            self.observer.on(&told, &Event::AsyncWrong(first.wrong), &view);
        }
    }

    /// Writes result `number` of the instruction that a thread is at.
    pub(crate) fn define(&mut self, thread: usize, number: usize, word: Word) {
        if let Some((body, instruction)) = self.code_of(thread) {
            self.define_in(thread, (body, instruction), number, word);
        }
    }

    /// Writes result `number` of the instruction that a thread is at, which is this one.
    pub(crate) fn define_in(
        &mut self,
        thread: usize,
        (body, instruction): (&Body<'_>, &Instruction),
        number: usize,
        word: Word,
    ) {
        let result = body.results(instruction).get(number);
        let Some(register) = result.and_then(|result| result.register()) else {
            return;
        };
        let ones = ones_of(body, register);
        self.set_register(thread, register, word.map(|word| word & ones));
    }

    /// The registers of the innermost frame of a thread, with those of other lanes of its warp.
    pub(crate) fn bank(&self, thread: usize) -> Option<&Bank> {
        let frame = self.threads[thread].frames.last()?;
        self.banks[thread / WARP].of(frame.context)
    }

    pub(crate) fn bank_mut(&mut self, thread: usize) -> Option<&mut Bank> {
        let frame = self.threads[thread].frames.last()?;
        self.banks[thread / WARP].of_mut(frame.context)
    }

    /// The content of a register of the innermost frame of a thread.
    pub(crate) fn register(&self, thread: usize, register: Register) -> Word {
        self.bank(thread)?.get(register, thread % WARP)
    }

    pub(crate) fn set_register(&mut self, thread: usize, register: Register, word: Word) {
        if let Some(bank) = self.bank_mut(thread) {
            bank.set(register, thread % WARP, word);
        }
    }

    /// Writes the first results of the instruction that a thread is at, and goes on to the next.
    pub(crate) fn resume(&mut self, thread: usize, results: &[Word]) {
        for (number, &word) in results.iter().enumerate() {
            self.define(thread, number, word);
        }
        self.advance(thread);
    }

    /// Goes on to the next instruction.
    pub(crate) fn advance(&mut self, thread: usize) {
        if let Some((body, _)) = self.code_of(thread) {
            self.advance_in(thread, body);
        }
        self.threads[thread].state = State::Running;
    }

    /// Goes on to the next instruction of a body.
    pub(crate) fn advance_in(&mut self, thread: usize, body: &Body<'_>) {
        let kernel = self.kernel;
        if let Some(frame) = self.frame(thread) {
            frame.position = frame.position.advanced(body, kernel.slice_of(frame.function));
        }
    }

    /// Goes on to a block of a body.
    pub(crate) fn enter_in(&mut self, thread: usize, body: &Body<'_>, block: BlockId) {
        let kernel = self.kernel;
        if let Some(frame) = self.frame(thread) {
            frame.position = Position::of_block(body, kernel.slice_of(frame.function), block);
        }
    }

    /// Notes a failure at the instruction of a thread, with the lanes that it concerns.
    pub(crate) fn wrong(&mut self, thread: usize, wrong: Wrong, lanes: u32, mask: Option<u32>) {
        self.tell(thread, &Event::Wrong(wrong));
        let point = self.point(thread);
        let warp = (thread / WARP) as u32;
        let record = &mut self.record;
        if let Some(&known) = record.numbers.get(&(point, warp, wrong)) {
            record.failures[known].lanes |= lanes;
            return;
        }
        let number = record.failures.len();
        if number >= MAX_FAILURES {
            return;
        }
        let view = View {
            threads: &self.threads,
            contexts: &self.contexts,
            count: self.count,
            global: &self.rooms[GLOBAL].memory,
        };
        let is_shown = number < MAX_SNAPSHOTS;
        record.numbers.insert((point, warp, wrong), number);
        record.failures.push(Noted {
            point,
            wrong,
            warp,
            lanes,
            mask,
            is_after_break: record.is_broken,
            lanes_then: if is_shown { view.groups() } else { Vec::new() },
        });
    }
}

/// A thread of a block at a point.
pub(crate) const fn at(block: u32, thread: usize, point: Point, contexts: &Contexts) -> At<'_> {
    At {
        thread,
        block,
        function: point.function,
        instruction: point.instruction,
        point,
        contexts,
    }
}

/// All bits of a register.
pub(crate) fn ones_of(body: &Body<'_>, register: Register) -> u64 {
    ones(body.registers.bits(register))
}
