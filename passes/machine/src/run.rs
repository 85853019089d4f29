//! A run of a block, or of several one after the other, from its launch to its end.
//!
//! Threads run without visible effects as long as they can; only when none can, those at one visible instruction take a step. The schedule
//! says which instruction that is.

use std::collections::BTreeMap;

use ptxcheck_common::deadline::Deadline;
use ptxcheck_ir::Body;
use rustc_hash::FxHashMap;

use crate::agent::Agent;
use crate::kernel::Kernel;
use crate::launch::{Launch, WARP, Warps, lane_bit};
use crate::limits::{MAX_REGISTERS, MAX_STEPS, MAX_TURN, PAIRS_PER_STEP};
use crate::machine::{Machine, Record, Room, SHARED, Step};
use crate::memory::Memory;
use crate::observe::{Observer, Watched};
use crate::outcome::{End, Failure, Outcome, Refused, Unknown};
use crate::registers::Banks;
use crate::schedule::{Order, Schedule, Turns};
use crate::site::{Context, Contexts, Point};
use crate::stop::Stop;
use crate::thread::{Act, Frame, State, Thread};
use crate::waits::Polls;
use crate::world::World;

/// The asynchronous operations that a run follows; it passes the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// None of them.
    Nothing,
    /// Barriers in memory, and the copies that complete there: threads wait at them.
    Barriers,
    /// Copies, their groups, barriers in memory and fences between proxies. What goes wrong with them is in
    /// [`Outcome::asynchronous`].
    All,
}

/// The launch, order and limits of a run.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The launch, and the block that runs.
    pub launch: Launch,
    /// Blocks that run after it, one after the other, by their places in the grid. Global memory goes on from one to the next; runs that
    /// follow asynchronous copies leave them out.
    pub further: &'a [[u32; 3]],
    /// The order of visible instructions.
    pub schedule: Schedule,
    /// Most instructions of all threads.
    pub steps: u64,
    /// When the run has to end.
    pub deadline: &'a Deadline,
    /// Actions of a thread while others wait for it count against it even where it could still have come, in a later round of a loop,
    /// if in the end it does not.
    pub counts_later_rounds: bool,
    /// When the run ends early.
    pub stop: Stop<'a>,
    /// The asynchronous operations that it follows.
    pub follow: Follow,
    /// Reads whose values are followed, at most 32: see [`Outcome::used`].
    pub watched: &'a [Watched],
}

impl Setup<'_> {
    /// With the usual limit of steps, and without a deadline.
    #[must_use]
    pub const fn new(launch: Launch, schedule: Schedule) -> Self {
        Self {
            launch,
            further: &[],
            schedule,
            steps: MAX_STEPS,
            deadline: Deadline::NEVER,
            counts_later_rounds: false,
            stop: Stop::Never,
            follow: Follow::Nothing,
            watched: &[],
        }
    }
}

impl Kernel<'_> {
    /// Runs a block of the kernel.
    ///
    /// # Errors
    ///
    /// [`Refused::Launch`], [`Refused::NoBody`].
    pub fn run(
        &self,
        setup: &Setup<'_>,
        world: &mut dyn World,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Refused> {
        let launch = setup.launch;
        let count = launch.threads().ok_or(Refused::Launch(launch))?;
        let body = self.body(self.function).ok_or(Refused::NoBody)?;
        let registers = (body.registers.len() * count.next_multiple_of(WARP)) as u64;
        let mut machine = Machine {
            kernel: self,
            launch,
            block: 0,
            count,
            threads: Vec::new(),
            signals: BTreeMap::new(),
            has_counts: false,
            banks: Vec::new(),
            registers,
            contexts: Contexts::default(),
            rooms: std::array::from_fn(|_| Room::default()),
            forgotten_words: 0,
            world,
            observer,
            record: Record::default(),
            order: Order::new(setup.schedule),
            deadline: setup.deadline,
            counts_later_rounds: setup.counts_later_rounds,
            stop: setup.stop,
            steps: 0,
            accesses: 0,
            watched: setup.watched,
            loaded: 0,
            stored: 0,
            loaded_changes: Vec::new(),
            stored_changes: Vec::new(),
            used: 0,
            most_steps: setup.steps,
            converges: self.module.0.target.sm >= 70,
            operands: Vec::new(),
            rows: Vec::new(),
            read_results: FxHashMap::default(),
            agent: match setup.follow {
                Follow::Nothing => None,
                Follow::Barriers => Some(Agent::of_barriers()),
                Follow::All => Some(Agent::new(count.next_multiple_of(WARP))),
            },
            polls: Polls::default(),
        };
        let end = if registers > MAX_REGISTERS {
            End::Unknown(Unknown::Memory)
        } else {
            machine.go_all(body, setup).err().unwrap_or(End::Complete)
        };
        Ok(machine.outcome(end))
    }
}

impl Machine<'_> {
    /// Runs the blocks of a setup.
    fn go_all(&mut self, body: &Body<'_>, setup: &Setup<'_>) -> Step {
        self.enter_block_of_grid(body);
        let mut end = self.go();
        for &ctaid in setup.further.iter().filter(|_| setup.follow == Follow::Nothing) {
            end?;
            self.note_uneven_warps();
            self.launch.ctaid = ctaid;
            self.block += 1;
            self.enter_block_of_grid(body);
            end = self.go();
        }
        self.note_uneven_warps();
        end
    }

    /// Lets the threads of a block begin.
    fn enter_block_of_grid(&mut self, body: &Body<'_>) {
        let (kernel, count, launch) = (self.kernel, self.count, self.launch);
        let unwritten = self.world.unwritten();
        let runs = |number: usize| {
            let is_of_warp = match launch.warps {
                Warps::All => true,
                Warps::One(warp) => number / WARP == warp as usize,
            };
            number < count && is_of_warp
        };
        let bank = |warp: usize| {
            let lanes = (warp * WARP..(warp + 1) * WARP).filter(|&number| runs(number));
            match lanes.fold(0, |lanes, number| lanes | lane_bit(number)) {
                0 => Banks::default(),
                lanes => Banks::new(body.registers.len(), lanes, unwritten),
            }
        };
        self.banks = (0..count.div_ceil(WARP)).map(bank).collect();
        let thread = |number: usize| {
            let runs = runs(number);
            let frame = || {
                let slice = kernel.slice.as_ref();
                Frame::new(kernel.function, Context::default(), body, slice)
            };
            Thread {
                frames: runs.then(frame).into_iter().collect(),
                state: if runs { State::Running } else { State::Ended },
                owes: std::collections::BTreeSet::new(),
                barriers: 0,
                rounds: vec![0; if runs { kernel.ways.loops() } else { 0 }],
                own: Memory::default(),
                own_bits: FxHashMap::default(),
                partly_read: Vec::new(),
                is_own_forgotten: false,
            }
        };
        self.threads = (0..count.next_multiple_of(WARP)).map(thread).collect();
        self.registers = (body.registers.len() * count.next_multiple_of(WARP)) as u64;
        self.rooms[SHARED] = Room::default();
        self.signals.clear();
    }

    fn note_uneven_warps(&mut self) {
        let is_uneven = |warp: &[Thread]| warp.iter().any(|thread| thread.barriers != warp[0].barriers);
        let warps = (0_u32..).zip(self.threads[..self.count].chunks(WARP));
        let uneven = warps.filter(|(_, warp)| is_uneven(warp));
        let numbers = uneven.map(|(number, _)| number);
        self.record.uneven_warps.extend(numbers);
    }

    fn go(&mut self) -> Step {
        let count = self.threads.len();
        loop {
            if self.is_stopped() {
                return Err(End::Stopped);
            }
            let is_running = match self.order.turns() {
                Some(turns) => self.run_in_turn(turns)?,
                None => self.run_silently()?,
            };
            self.perform_some();
            let meeting = self.order.meeting(count);
            if meeting.is_first && (self.meet(meeting, true)? || self.pass_any_barrier()?) {
                continue;
            }
            let mut points = self.poised(false);
            if points.is_empty() {
                if meeting.is_first && self.meet(meeting, false)? {
                    continue;
                }
                points = self.poised(true);
            }
            match self.order.pick(&points) {
                Some(point) => self.visible_step(point)?,
                None if self.meet(meeting, false)? || self.pass_any_barrier()? || is_running => {}
                None if self.threads.iter().all(|thread| thread.state == State::Ended) => return Ok(()),
                None if self.perform_next() => {}
                None if self.poll_again()? => {}
                None => self.go_on_after_hang()?,
            }
        }
    }

    /// No thread can go on: notes that, and releases threads that wait in vain.
    fn go_on_after_hang(&mut self) -> Step {
        self.note_hang();
        if self.is_stopped() || self.agent.as_mut().is_some_and(Agent::is_hung) {
            return Err(End::Stopped);
        }
        if self.pass_incomplete()? {
            return Ok(());
        }
        self.deadlock()
    }

    /// True if no more is asked of the run.
    fn is_stopped(&self) -> bool {
        let is_broken = self.record.is_broken;
        match self.stop {
            Stop::Never => false,
            Stop::WhenBroken => is_broken,
            Stop::AtHang => is_broken || self.record.hang.is_some(),
            Stop::AtFailure(site, warp) => {
                let mut failures = self.record.failures.iter();
                is_broken || failures.any(|one| one.warp == warp && self.contexts.site(one.point) == *site)
            }
        }
    }

    /// Lets each thread continue by itself; true if one could continue.
    fn run_silently(&mut self) -> Step<bool> {
        self.spend(1 + self.threads.len() as u64 / PAIRS_PER_STEP)?;
        let mut is_running = false;
        for warp in 0..self.banks.len() {
            is_running |= self.run_warp(warp)?;
        }
        Ok(is_running)
    }

    /// Lets each thread continue until it waits or ends, before the next one does; true if one could continue.
    fn run_in_turn(&mut self, turns: Turns) -> Step<bool> {
        let count = self.threads.len();
        self.spend(1 + count as u64 / PAIRS_PER_STEP)?;
        let mut is_running = false;
        for number in 0..count {
            let thread = match turns {
                Turns::Forwards => number,
                Turns::Backwards => count - 1 - number,
            };
            let mut left = MAX_TURN;
            while left > 0 {
                left -= 1;
                match self.threads[thread].state {
                    State::Running => {
                        self.spend(1)?;
                        self.silent_step(thread)?;
                    }
                    // Lanes execute these together.
                    State::Poised(Act::ActiveMask | Act::Together(_)) => break,
                    State::Poised(_) if !self.is_stalled(thread) => self.visible_steps(&[thread])?,
                    State::Poised(_)
                    | State::Waiting(..)
                    | State::AtBarrier { .. }
                    | State::AtCounted { .. }
                    | State::Ended => break,
                }
            }
            is_running |= self.threads[thread].state == State::Running;
        }
        Ok(is_running)
    }

    /// The points at which threads are poised, in order: those that are held back, or the others.
    fn poised(&self, is_held: bool) -> Vec<Point> {
        let is_poised = |thread: &usize| {
            let is_at = matches!(self.threads[*thread].state, State::Poised(_));
            is_at && self.order.is_held(*thread) == is_held && !self.is_stalled(*thread)
        };
        let poised = (0..self.threads.len()).filter(is_poised);
        let mut points: Vec<Point> = poised.map(|thread| self.point(thread)).collect();
        points.sort_unstable();
        points.dedup();
        points
    }

    fn outcome(mut self, end: End) -> Outcome {
        let mut asynchronous = self.agent.take();
        if let Some(agent) = asynchronous.as_mut().filter(|_| end == End::Complete) {
            agent.finish();
        }
        let site = |point: Point| self.contexts.site(point);
        let reached = self.record.reached.iter().map(|&point| site(point)).collect();
        let failures = self.record.failures.into_iter();
        let failures = failures.map(|failure| Failure {
            site: site(failure.point),
            wrong: failure.wrong,
            warp: failure.warp,
            lanes: failure.lanes,
            mask: failure.mask,
            is_after_break: failure.is_after_break,
            lanes_then: failure.lanes_then,
        });
        Outcome {
            reached,
            failures: failures.collect(),
            is_broken: self.record.is_broken,
            has_passed_counted: self.record.has_passed_counted,
            uneven_warps: self.record.uneven_warps,
            has_shifted_beyond: self.record.shifts.values().any(|all| *all),
            breaks_assumption: self.record.breaks_assumption,
            has_waited: self.record.has_waited,
            hang: self.record.hang,
            open: self.record.open.map(site),
            asynchronous: asynchronous.map(|agent| agent.outcome(&self.contexts)),
            end,
            steps: self.steps,
            used: self.used,
        }
    }
}
