//! Barriers of the block with a number and a count of threads.
//!
//! Such a barrier is complete when as many threads as it counts have reached it, whether they wait or not; a warp counts as a whole, as soon
//! as all of its lanes that have not ended are there (PTX ISA, `barrier.cta`). Then those that wait go on, and the barrier begins anew, also
//! where none waits. Where a
//! count is never complete, as with a block of another size than the one that the code is meant for, the threads go on without an order, so
//! that the run shows the rest of the kernel; [`crate::Outcome::hang`] says that they wait in vain.
//!
//! The PTX ISA does not say what happens where threads reach one barrier with two counts. The run goes on as if each count were that of a
//! barrier of its own, and [`crate::Outcome::hang`] says so.

use std::collections::BTreeSet;

use crate::launch::{WARP, lane_bit, warp_of};
use crate::machine::{Machine, Step};
use crate::observe::Event;
use crate::outcome::{Hang, HangKind};
use crate::thread::{Numbered, State};

/// Barriers of a block with a number (PTX ISA, `barrier.cta`).
const BARRIERS: u64 = 16;

impl Machine<'_> {
    /// Lets threads pass a barrier, with a count or without; true if some could.
    pub(crate) fn pass_any_barrier(&mut self) -> Step<bool> {
        Ok(self.pass_barrier()? || self.pass_counted()?)
    }

    /// Lets threads pass a barrier whose count is complete, the first that is; true if some could.
    fn pass_counted(&mut self) -> Step<bool> {
        let mut seen = BTreeSet::new();
        for thread in 0..self.threads.len() {
            // The first thread at each barrier stands for all of them.
            if let State::AtCounted { number, count } = self.threads[thread].state
                && seen.insert(number)
                && self.pass_counted_number(number, count)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Lets threads pass the barrier with this number if its count is complete; true if some could.
    fn pass_counted_number(&mut self, number: u64, count: u64) -> Step<bool> {
        let mut here = self.count_signals(number);
        let mut group = Vec::new();
        // Those who come after the count is complete wait for the next time.
        for warp in self
            .waiting_at(number)
            .chunk_by(|&one, &other| warp_of(one) == warp_of(other))
        {
            if here < count && self.is_whole(warp) {
                here += WARP as u64;
                group.extend_from_slice(warp);
            }
        }
        if here < count || group.is_empty() {
            return Ok(false);
        }
        let arrived = self.signals.remove(&number).unwrap_or_default().threads;
        self.owe(&group)?;
        self.record.has_waited = true;
        self.tell(group[0], &Event::PassedCounted(number, &group, &arrived));
        for thread in group {
            self.ask_results(thread);
            self.advance(thread);
        }
        Ok(true)
    }

    /// The threads that wait at the barrier with this number and a count.
    fn waiting_at(&self, number: u64) -> Vec<usize> {
        let is_there = |other: &usize| matches!(self.threads[*other].state, State::AtCounted { number: same, .. } if same == number);
        (0..self.threads.len()).filter(is_there).collect()
    }

    /// True if all other lanes of the warp of these threads have ended.
    fn is_whole(&self, warp: &[usize]) -> bool {
        let mut others = warp_of(warp[0]).filter(|other| !warp.contains(other));
        others.all(|other| self.threads[other].state == State::Ended)
    }

    /// The threads of the warps that have reached a barrier without waiting, as often as they have.
    fn count_signals(&self, number: u64) -> u64 {
        let warps = self.signals_by_warp(number).into_iter();
        warps.map(|(least, _)| least * WARP as u64).sum()
    }

    /// For each warp that has reached a barrier without waiting, the least and the greatest number of times that its lanes have done so. Lanes
    /// that have ended before count as the others do.
    fn signals_by_warp(&self, number: u64) -> Vec<(u64, u64)> {
        let Some(signals) = self.signals.get(&number) else {
            return Vec::new();
        };
        let warps: BTreeSet<usize> = signals.threads.iter().map(|thread| thread / WARP).collect();
        let times = |warp: usize| {
            let mut times = [0_u64; WARP];
            for thread in signals.threads.iter().filter(|thread| **thread / WARP == warp) {
                times[thread % WARP] += 1;
            }
            let lanes = warp_of(warp * WARP).zip(times);
            let counted = lanes
                .filter(|&(thread, times)| times > 0 || self.threads[thread].state != State::Ended)
                .map(|(_, times)| times);
            counted.fold((u64::MAX, 0), |(least, most), times| {
                (least.min(times), most.max(times))
            })
        };
        warps.into_iter().map(times).collect()
    }

    /// The threads of whole warps that are at a barrier, or have reached it, since it was complete last; `None` if only some lanes of a
    /// warp are there.
    pub(crate) fn arrived_at(&self, number: u64) -> Option<u64> {
        let mut arrived = 0;
        for (least, most) in self.signals_by_warp(number) {
            if least != most {
                return None;
            }
            arrived += least * WARP as u64;
        }
        for warp in self
            .waiting_at(number)
            .chunk_by(|&one, &other| warp_of(one) == warp_of(other))
        {
            if !self.is_whole(warp) {
                return None;
            }
            arrived += WARP as u64;
        }
        Some(arrived)
    }

    /// A thread comes to a barrier with a count, and goes on without waiting.
    pub(crate) fn signal(&mut self, thread: usize, number: u64, count: u64) {
        self.tell(thread, &Event::Signals(number));
        self.compare_count(thread, number, Some(count));
        let signals = self.signals.entry(number).or_default();
        signals.count = count;
        signals.threads.push(thread);
        self.ask_results(thread);
        self.advance(thread);
    }

    /// After threads have reached a barrier without waiting: the barrier begins anew, if its count is complete.
    pub(crate) fn complete_by_signals(&mut self, number: u64) -> Step {
        let Some(count) = self.signals.get(&number).map(|signals| signals.count) else {
            return Ok(());
        };
        if !self.pass_counted_number(number, count)? && self.count_signals(number) >= count {
            self.signals.remove(&number);
        }
        Ok(())
    }

    /// Notes a thread that reaches a barrier while others are there with another count. `None`: with all threads of the block.
    pub(crate) fn compare_count(&mut self, thread: usize, number: u64, count: Option<u64>) {
        let all = self.count.next_multiple_of(WARP) as u64;
        let own = count.unwrap_or(all);
        let is_odd = |count: u64| count == 0 || !count.is_multiple_of(WARP as u64);
        if number >= BARRIERS || count.is_some_and(is_odd) {
            self.leave_open(thread);
            return;
        }
        let mine = |other: usize| match self.threads[other].state {
            State::AtCounted { number: same, count } if same == number => Some(Some(count)),
            State::AtBarrier {
                number: Numbered::Cta(same),
                ..
            } if same == number => Some(None),
            _ => None,
        };
        // The first lane of a warp stands for all of them.
        if warp_of(thread).any(|other| other != thread && mine(other) == Some(count)) {
            return;
        }
        let signals = self.signals.get(&number).map(|signals| signals.count);
        let waiting = (0..self.threads.len()).filter_map(mine);
        let mut others: BTreeSet<Option<u64>> = waiting.chain(signals.map(Some)).collect();
        others.remove(&count);
        // Threads at a barrier whose count is complete are about to go on.
        let is_complete = |other: &u64| self.arrived_at(number).is_some_and(|here| here >= *other);
        let Some(&other) = others
            .iter()
            .find(|other| !other.as_ref().is_some_and(is_complete))
        else {
            return;
        };
        let counts = (own, other.unwrap_or(all));
        if counts.0 == counts.1 {
            // They match, which the run does not show.
            self.leave_open(thread);
            return;
        }
        if self.shows_hangs() {
            let point = self.point(thread);
            self.record.hang = Some(Hang {
                kind: HangKind::OtherCount {
                    site: self.contexts.site(point),
                    warp: (thread / WARP) as u32,
                    lanes: lane_bit(thread),
                    number,
                    counts,
                },
                waits: self.stuck_at(number),
            });
        }
    }

    /// A thread passes a barrier that may order it with others, and with which is not known.
    pub(crate) fn pass_unordered(&mut self, thread: usize) {
        self.tell(thread, &Event::MayOrder);
        self.record.has_passed_counted = true;
        self.ask_results(thread);
        self.advance(thread);
    }

    /// Lets all threads go on that wait at a barrier with a count; true if there are any.
    pub(crate) fn pass_incomplete(&mut self) -> Step<bool> {
        let threads = 0..self.threads.len();
        let waiting: Vec<usize> = threads
            .filter(|&thread| matches!(self.threads[thread].state, State::AtCounted { .. }))
            .collect();
        self.owe(&waiting)?;
        for &thread in &waiting {
            self.pass_unordered(thread);
        }
        Ok(!waiting.is_empty())
    }
}
