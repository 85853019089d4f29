//! Barriers of the block with a number and a count of threads.
//!
//! Such a barrier is complete when as many threads as it counts have come to it, whether they wait or not; all lanes of a warp count as soon as
//! those that have not ended are there (PTX ISA, `barrier.cta`: a warp counts as a whole). Then those that wait go on. Where a
//! count is never complete, as with a block of another size than the one that the code is meant for, the threads go on without an order, so
//! that the run shows the rest of the kernel.

use std::collections::BTreeSet;

use crate::launch::{WARP, warp_of};
use crate::machine::{Machine, Step};
use crate::observe::Event;
use crate::thread::State;

impl Machine<'_> {
    /// Lets threads pass a barrier, with a count or without; true if some could.
    pub(crate) fn pass_any_barrier(&mut self) -> Step<bool> {
        Ok(self.pass_barrier()? || self.pass_counted()?)
    }

    /// Lets threads pass a barrier whose count is complete, the first that is; true if some could.
    fn pass_counted(&mut self) -> Step<bool> {
        for thread in 0..self.threads.len() {
            let State::AtCounted { number, count } = self.threads[thread].state else {
                continue;
            };
            let is_there = |other: &usize| matches!(self.threads[*other].state, State::AtCounted { number: same, .. } if same == number);
            // The first thread at each barrier stands for all of them.
            if (0..thread).any(|other| is_there(&other)) {
                continue;
            }
            let waiting: Vec<usize> = (0..self.threads.len()).filter(is_there).collect();
            let arrived = self.signals.get(&number).cloned().unwrap_or_default();
            let mut here = self.count_arrived(&arrived);
            let mut group = Vec::new();
            // Those who come after the count is complete wait for the next time.
            for warp in waiting.chunk_by(|&one, &other| warp_of(one) == warp_of(other)) {
                if here < count && self.is_whole(warp) {
                    here += WARP as u64;
                    group.extend_from_slice(warp);
                }
            }
            if here < count || group.is_empty() {
                continue;
            }
            self.signals.remove(&number);
            self.owe(&group)?;
            self.tell(group[0], &Event::PassedCounted(number, &group, &arrived));
            for thread in group {
                self.ask_results(thread);
                self.advance(thread);
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// True if all other lanes of the warp of these threads have ended.
    fn is_whole(&self, warp: &[usize]) -> bool {
        let mut others = warp_of(warp[0]).filter(|other| !warp.contains(other));
        others.all(|other| self.threads[other].state == State::Ended)
    }

    /// The number of threads that have come to a barrier without waiting, with the other lanes of their warps that have ended.
    fn count_arrived(&self, arrived: &[usize]) -> u64 {
        let warps: BTreeSet<usize> = arrived.iter().map(|&thread| thread / WARP).collect();
        let lanes = warps.into_iter().flat_map(|warp| warp_of(warp * WARP));
        let has_only_ended =
            |lane: &usize| self.threads[*lane].state == State::Ended && !arrived.contains(lane);
        (arrived.len() + lanes.filter(has_only_ended).count()) as u64
    }

    /// A thread comes to a barrier with a count, and goes on without waiting.
    pub(crate) fn signal(&mut self, thread: usize, number: u64) {
        self.tell(thread, &Event::Signals(number));
        self.signals.entry(number).or_default().push(thread);
        self.ask_results(thread);
        self.advance(thread);
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
