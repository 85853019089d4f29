//! Where threads wait for each other: collectives with a mask, and barriers of the block.
//!
//! A collective completes when all lanes that its mask names have ended or wait at one of the same kind with the same mask
//! (before sm_70: at the same instruction). A barrier completes when all threads of the block have ended or wait at one with
//! the same number. A lane that others wait for, that does something visible meanwhile and ends without arriving, is missing, as the CUDA
//! guide reads the rule; one that ends silently is not. Lanes that wait for each other at places that do not match are missing, too.

use crate::launch::{WARP, lane_bit, warp_of};
use crate::limits::PAIRS_PER_STEP;
use crate::machine::{Machine, Step};
use crate::observe::Event;
use crate::outcome::Wrong;
use crate::schedule::Meeting;
use crate::site::Point;
use crate::thread::State;

impl Machine<'_> {
    /// True if a thread waits at a collective or a barrier.
    fn waits(&self, thread: usize) -> bool {
        matches!(
            self.threads[thread].state,
            State::Waiting(..) | State::AtBarrier { .. }
        )
    }

    /// Notes which threads are kept waiting by others that do something visible.
    pub(crate) fn owe(&mut self, threads: &[usize]) -> Step {
        if threads.is_empty() {
            return Ok(());
        }
        let waiting: Vec<usize> = (0..self.threads.len())
            .filter(|&other| self.waits(other))
            .collect();
        self.owe_all(threads, &waiting)
    }

    /// Notes which threads are kept waiting by others.
    fn owe_all(&mut self, threads: &[usize], waiting: &[usize]) -> Step {
        if !self.counts_later_rounds {
            for &thread in threads {
                for &other in waiting {
                    self.owe_one(thread, other);
                }
            }
            return self.spend(threads.len() as u64 * waiting.len() as u64 / PAIRS_PER_STEP);
        }
        // Threads that wait at one place for the same lanes are owed alike. Without a warp: at a barrier.
        let place = |&other: &usize| match self.threads[other].state {
            State::Waiting(_, mask) => (Some(other / WARP), self.point(other), mask),
            _ => (None, self.point(other), 0),
        };
        let mut places: Vec<(Option<usize>, Point, u32)> = waiting.iter().map(place).collect();
        places.sort_unstable();
        places.dedup();
        for &thread in threads {
            for &(warp, point, mask) in &places {
                if warp.is_none_or(|warp| warp == thread / WARP && mask & lane_bit(thread) != 0) {
                    self.threads[thread].owes.insert((point, mask));
                }
            }
        }
        let pairs = waiting.len() + threads.len() * places.len();
        self.spend(pairs as u64 / PAIRS_PER_STEP)
    }

    fn owe_one(&mut self, thread: usize, other: usize) {
        if let Some(mask) = self.awaits(other, thread)
            && !self.may_still_come(thread, other)
        {
            let point = self.point(other);
            self.threads[thread].owes.insert((point, mask));
        }
    }

    /// The mask with which one thread waits for another, if it does; 0 at a barrier of the block.
    fn awaits(&self, waiting: usize, other: usize) -> Option<u32> {
        match self.threads[waiting].state {
            State::Waiting(_, mask) => {
                (warp_of(waiting).contains(&other) && mask & lane_bit(other) != 0).then_some(mask)
            }
            State::AtBarrier { .. } => Some(0),
            State::Running | State::Poised(_) | State::AtCounted { .. } | State::Ended => None,
        }
    }

    /// True if a thread has not yet left the path to the place where another waits, in this round of the loops around that place:
    /// its actions until then do not show that it will never arrive.
    fn may_still_come(&self, thread: usize, other: usize) -> bool {
        let (own, others) = (&self.threads[thread], &self.threads[other]);
        let (Some(from), Some(to)) = (own.position(), others.position()) else {
            return false;
        };
        let ways = &self.kernel.ways;
        let has_passed = own.frames.len() > 1 || own.state != State::Running;
        let from = (from, own.rounds.as_slice());
        ways.is_behind(from, &others.rounds, to)
            || !ways.is_ahead(from, &others.rounds, to) && ways.lead(from.0, to, has_passed)
    }

    /// Lets one group of lanes meet at a collective, the first that can; true if one could. `is_free`: of lanes alone that are
    /// not held back.
    pub(crate) fn meet(&mut self, meeting: Meeting, is_free: bool) -> Step<bool> {
        let count = self.threads.len();
        for thread in (0..count).map(|number| (meeting.start + number * meeting.step) % count) {
            let State::Waiting(kind, mask) = self.threads[thread].state else {
                continue;
            };
            let point = (!self.converges).then(|| self.point(thread));
            let comes = |other: usize| {
                self.threads[other].state == State::Waiting(kind, mask)
                    && point.is_none_or(|point| self.point(other) == point)
            };
            let is_named = |other: &usize| mask & lane_bit(*other) != 0;
            let mut named = warp_of(thread).filter(is_named);
            if named.all(|other| self.threads[other].state == State::Ended || comes(other)) {
                let named: Vec<usize> = warp_of(thread).filter(is_named).collect();
                let group: Vec<usize> = warp_of(thread)
                    .filter(|&other| comes(other) && (is_named(&other) || other == thread))
                    .collect();
                if is_free && group.iter().any(|&other| self.order.is_held(other)) {
                    continue;
                }
                self.settle(&group, &named, mask)?;
                self.complete(kind, mask, &group);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Lets the block pass a barrier, if all that have not ended wait at one; true if it could.
    pub(crate) fn pass_barrier(&mut self) -> Step<bool> {
        let mut group = Vec::new();
        let mut common = None;
        for (thread, state) in self.threads.iter().map(|thread| thread.state).enumerate() {
            match state {
                State::Ended => {}
                State::AtBarrier { number, .. } if common.is_none_or(|known| known == number) => {
                    common = Some(number);
                    group.push(thread);
                }
                State::AtBarrier { .. }
                | State::AtCounted { .. }
                | State::Waiting(..)
                | State::Running
                | State::Poised(_) => {
                    return Ok(false);
                }
            }
        }
        if group.is_empty() {
            return Ok(false);
        }
        let is_aligned = |machine: &Self, thread: usize| {
            matches!(
                machine.threads[thread].state,
                State::AtBarrier { aligned: true, .. }
            )
        };
        for pair in group.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            let is_apart = warp_of(a).contains(&b) && self.point(a) != self.point(b);
            if is_apart && (is_aligned(self, a) || is_aligned(self, b)) {
                for thread in [a, b] {
                    self.wrong(thread, Wrong::Unaligned, lane_bit(thread), None);
                }
            }
        }
        let all: Vec<usize> = (0..self.threads.len()).collect();
        self.settle(&group, &all, 0)?;
        self.tell(group[0], &Event::Passed(&group));
        for thread in group {
            self.threads[thread].barriers += 1;
            self.ask_results(thread);
            self.advance(thread);
        }
        Ok(true)
    }

    /// Settles the threads that wait for one of `group`, which continues together, and those of `named` that do not continue.
    fn settle(&mut self, group: &[usize], named: &[usize], mask: u32) -> Step {
        let points: Vec<Point> = group.iter().map(|&thread| self.point(thread)).collect();
        let mut is_in_group = vec![false; self.threads.len()];
        for &thread in group {
            is_in_group[thread] = true;
        }
        // For threads that wait in vain, a meeting is a visible effect of the lanes that meet.
        let waiting: Vec<usize> = (0..self.threads.len())
            .filter(|&thread| self.waits(thread) && !is_in_group[thread])
            .collect();
        self.owe_all(group, &waiting)?;
        let mut distinct = points.clone();
        distinct.sort_unstable();
        distinct.dedup();
        for &thread in group {
            let owes = &mut self.threads[thread].owes;
            owes.retain(|(point, with)| *with != mask || distinct.binary_search(point).is_err());
        }
        // All failures here happen at the same time: `is_broken` is set after the loop.
        let mut is_broken = self.record.is_broken;
        for &other in named.iter().filter(|other| !is_in_group[**other]) {
            // It has ended: silently, or after others had begun to wait for it.
            if self.threads[other].owes.is_empty() {
                continue;
            }
            for (&thread, &point) in group.iter().zip(&points) {
                if self.threads[other].owes.contains(&(point, mask)) {
                    self.miss(other, thread);
                    is_broken = true;
                }
            }
        }
        self.record.is_broken = is_broken;
        self.spend(group.len() as u64 / PAIRS_PER_STEP)
    }

    /// No thread can continue: the threads that wait for one that is elsewhere are released. First those at collectives: a thread at a
    /// barrier may be waiting for them, which is not a failure of the barrier unless they wait for it in turn.
    pub(crate) fn deadlock(&mut self) -> Step {
        let at = |wanted: fn(State) -> bool| -> Vec<usize> {
            let threads = 0..self.threads.len();
            threads
                .filter(|&thread| wanted(self.threads[thread].state))
                .collect()
        };
        let at_barriers = at(|state| matches!(state, State::AtBarrier { .. }));
        let at_collectives = at(|state| matches!(state, State::Waiting(..)));
        let is_awaited = |thread: &usize| {
            let mut others = at_collectives.iter();
            at_collectives.is_empty() || others.any(|&other| self.awaits(other, *thread).is_some())
        };
        let blamed: Vec<usize> = at_barriers.iter().copied().filter(is_awaited).collect();
        // True if all lanes of a warp that have not ended wait at one barrier.
        let is_whole = |thread: usize| {
            let mut warp = warp_of(thread).filter(|&other| self.threads[other].state != State::Ended);
            let number = |thread: usize| match self.threads[thread].state {
                State::AtBarrier { number, .. } => Some(number),
                State::Running
                | State::Poised(_)
                | State::Waiting(..)
                | State::AtCounted { .. }
                | State::Ended => None,
            };
            warp.all(|other| number(other).is_some() && number(other) == number(thread))
        };
        let wrong: Vec<(usize, Wrong)> = at_collectives
            .iter()
            .chain(&blamed)
            .map(|&thread| {
                let is_whole = is_whole(thread);
                (
                    thread,
                    if is_whole {
                        Wrong::OtherWarp
                    } else {
                        Wrong::Deadlock
                    },
                )
            })
            .collect();
        let pairs = at_barriers.len() as u64 * (at_collectives.len() as u64 + WARP as u64);
        for (thread, wrong) in wrong {
            let mask = match self.threads[thread].state {
                State::Waiting(_, mask) => Some(mask),
                State::Running
                | State::Poised(_)
                | State::AtBarrier { .. }
                | State::AtCounted { .. }
                | State::Ended => None,
            };
            self.wrong(thread, wrong, lane_bit(thread), mask);
        }
        self.record.is_broken = true;
        let let_go = if at_collectives.is_empty() {
            at_barriers
        } else {
            at_collectives
        };
        for thread in let_go {
            self.tell(thread, &Event::LetGo);
            self.resume(thread, &[Some(0), Some(0)]);
        }
        self.spend(pairs / PAIRS_PER_STEP)
    }

    /// Ends a thread.
    pub(crate) fn end(&mut self, thread: usize) {
        self.threads[thread].state = State::Ended;
        self.tell(thread, &Event::Ended);
        let mut is_broken = self.record.is_broken;
        for other in 0..self.threads.len() {
            if self.threads[thread].owes.is_empty() {
                break;
            }
            if let Some(mask) = self.awaits(other, thread)
                && self.threads[thread].owes.contains(&(self.point(other), mask))
            {
                self.miss(thread, other);
                is_broken = true;
            }
        }
        self.record.is_broken = is_broken;
    }

    /// A thread does not reach the place where another waits for it.
    fn miss(&mut self, missing: usize, waiting: usize) {
        let mask = match self.threads[waiting].state {
            State::Waiting(_, mask) => Some(mask),
            State::Running
            | State::Poised(_)
            | State::AtBarrier { .. }
            | State::AtCounted { .. }
            | State::Ended => None,
        };
        if warp_of(waiting).contains(&missing) {
            self.wrong(waiting, Wrong::Missing, lane_bit(missing), mask);
        } else {
            self.wrong(waiting, Wrong::OtherWarp, lane_bit(waiting), mask);
        }
    }
}
