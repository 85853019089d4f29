//! Threads that wait for ever: at a barrier with a count, or for a phase of a barrier in memory.
//!
//! Threads wait for a phase in a loop that tests it. Such a loop may also end otherwise: after so many rounds, or by what it reads elsewhere.
//! So, before a run says that nobody can go on, the threads test again, until each of them is where it was, with the same content of
//! registers and memory of its own, and none of them has done anything else or read global memory, where other blocks and the host write.
//! What the machine does not model leaves the run open from there on ([`crate::Outcome::open`]): it shows no such failure any more.

use std::hash::BuildHasher as _;

use rustc_hash::FxBuildHasher;

use crate::launch::{WARP, lane_bit, warp_of};
use crate::limits::MAX_POLLS;
use crate::machine::{Machine, Step};
use crate::outcome::{Awaited, Hang, HangKind, Stuck};
use crate::thread::{Numbered, State};
use crate::waits::Standing;

impl Machine<'_> {
    /// The thread is at an instruction that the machine does not model, and that may let others go on.
    pub(crate) fn leave_open(&mut self, thread: usize) {
        if self.record.open.is_none() {
            self.record.open = Some(self.point(thread));
        }
    }

    /// True if a failure of a protocol would be one of the kernel.
    pub(crate) const fn shows_hangs(&self) -> bool {
        self.record.hang.is_none() && self.record.open.is_none() && !self.record.is_broken
    }

    /// Lets threads that wait for phases test them again; true if they have to show what they do then.
    pub(crate) fn poll_again(&mut self) -> Step<bool> {
        let stalled: Vec<usize> = (0..self.threads.len())
            .filter(|&thread| self.is_stalled(thread))
            .collect();
        let Some(&first) = stalled.first().filter(|_| self.shows_hangs()) else {
            return Ok(false);
        };
        let tests = self.agent.as_ref().map_or(0, |agent| agent.tests);
        let standing = Standing {
            threads: stalled
                .iter()
                .map(|&thread| (thread, self.signature(thread)))
                .collect(),
            acts: self.polls.acts - tests.min(self.polls.acts),
            global_loads: self.polls.global_loads,
        };
        self.spend(stalled.len() as u64)?;
        if self.polls.last.as_ref() == Some(&standing) {
            return Ok(false);
        }
        if self.polls.rounds >= MAX_POLLS {
            self.leave_open(first);
            return Ok(false);
        }
        self.polls.rounds += 1;
        self.polls.last = Some(standing);
        if let Some(agent) = &mut self.agent {
            agent.wake();
        }
        Ok(true)
    }

    /// A number for where a thread is, and the content of its registers and its own memory.
    fn signature(&self, thread: usize) -> u64 {
        let own = &self.threads[thread];
        let frames = own.frames.iter().map(|frame| {
            let registers = self.banks[thread / WARP].of(frame.context);
            let registers = registers.map_or(0, |bank| bank.signature(thread % WARP));
            FxBuildHasher.hash_one((frame.point(), registers))
        });
        let frames: Vec<u64> = frames.collect();
        FxBuildHasher.hash_one((frames, own.own.signature()))
    }

    /// Notes that no thread can go on, if some wait at a barrier with a count or for a phase.
    pub(crate) fn note_hang(&mut self) {
        if !self.shows_hangs() {
            return;
        }
        let alive: Vec<usize> = (0..self.count)
            .filter(|&thread| self.threads[thread].state != State::Ended)
            .collect();
        let mut waits = Vec::new();
        for &thread in &alive {
            match self.awaited(thread) {
                Some(awaits) => self.add_stuck(&mut waits, thread, awaits),
                // It is at a barrier of the cluster, or at one that not all of its warp have reached.
                None => return self.leave_open(thread),
            }
        }
        let is_protocol =
            |awaits: Option<Awaited>| matches!(awaits, Some(Awaited::Count { .. } | Awaited::Phase { .. }));
        let mut awaited = waits.iter().map(|stuck| Some(stuck.awaits));
        if !awaited.any(is_protocol) {
            return;
        }
        // Lanes at a collective wait for some that are at such a barrier; else the collective is what goes wrong.
        for &thread in &alive {
            if let State::Waiting(_, mask) = self.threads[thread].state {
                let mut named = warp_of(thread).filter(|&other| mask & lane_bit(other) != 0);
                if !named.any(|other| is_protocol(self.awaited(other))) {
                    return;
                }
            }
        }
        self.record.hang = Some(Hang {
            kind: HangKind::NobodyGoesOn,
            waits,
        });
    }

    /// What a thread that cannot go on waits for; `None` if that is not known.
    fn awaited(&self, thread: usize) -> Option<Awaited> {
        match self.threads[thread].state {
            State::Waiting(_, mask) => Some(Awaited::Lanes(mask)),
            State::AtBarrier {
                number: Numbered::Cta(number),
                ..
            } => Some(Awaited::Block(number)),
            State::AtCounted { number, count } => Some(Awaited::Count {
                number,
                count,
                arrived: self.arrived_at(number)?,
            }),
            State::Poised(_) if self.is_stalled(thread) => self.agent.as_ref()?.awaited(thread),
            State::Running
            | State::Poised(_)
            | State::AtBarrier {
                number: Numbered::Cluster,
                ..
            }
            | State::Ended => None,
        }
    }

    /// Adds a thread to those of its warp that wait for the same at one place.
    fn add_stuck(&self, waits: &mut Vec<Stuck>, thread: usize, awaits: Awaited) {
        let warp = (thread / WARP) as u32;
        let site = self.contexts.site(self.point(thread));
        let is_like = |one: &&mut Stuck| one.warp == warp && one.awaits == awaits && one.site == site;
        match waits.iter_mut().rev().take(WARP).find(is_like) {
            Some(known) => known.lanes |= lane_bit(thread),
            None => waits.push(Stuck {
                site,
                warp,
                lanes: lane_bit(thread),
                awaits,
            }),
        }
    }

    /// The threads that wait at the barrier with this number.
    pub(crate) fn stuck_at(&self, barrier: u64) -> Vec<Stuck> {
        let mut waits = Vec::new();
        for thread in 0..self.count {
            let awaits = match self.threads[thread].state {
                State::AtCounted { number, count } if number == barrier => Awaited::Count {
                    number,
                    count,
                    arrived: self.arrived_at(number).unwrap_or_default(),
                },
                State::AtBarrier {
                    number: Numbered::Cta(number),
                    ..
                } if number == barrier => Awaited::Block(number),
                _ => continue,
            };
            self.add_stuck(&mut waits, thread, awaits);
        }
        waits
    }
}
