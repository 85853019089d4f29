//! The passes of the barriers of a block by warps with known sequences, in any order of their steps.
//!
//! ```text
//! pass        the arrivals that complete a barrier once: as many warps as it counts
//! before      an arrival comes before what its warp does later; all arrivals of a pass come before what the warps do that wait in it
//! unordered   an arrival at a barrier that does not certainly come after all arrivals of the pass before: in another run it belongs to that pass
//! stuck       no warp can go on, and none whose path is not known may reach the barriers where the others wait
//! ```
//!
//! As long as nothing is unordered, each arrival belongs to the same pass in each run, whatever else the warps wait for, so that one order of
//! steps shows all (Sharma, Bauer, Aiken:
//! Verification of Producer-Consumer Synchronization in GPU Programs, PLDI 2015). An arrival at a barrier that a warp of unknown path may reach,
//! too, is followed only while that warp has still to wait there itself. Where something is unordered, and some warp may have waited for others in
//! another way, the order may come from there.

use std::collections::BTreeMap;

use super::sequences::{Event, Rounds, Sequence, Tail};
use crate::lanes::value::WARP;

/// A stop of a warp: its index among the analysed ones, and the place in its sequence.
pub(super) type Step = (usize, usize);

/// The first thing that goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// An arrival, and another one that it is not ordered with and that counts other threads.
    Mixed(Step, Step),
    /// An arrival, and another one of a pass that it is not ordered with.
    Unordered(Step, Step),
    /// Warps that wait for ever, lowest first.
    Stuck(Vec<Step>),
}

struct Arrival {
    warp: usize,
    place: usize,
    /// By warp: the number of stops that came before.
    known: Vec<usize>,
}

#[derive(Default)]
struct Barrier {
    arrived: Vec<Arrival>,
    /// The pass before.
    last: Vec<Arrival>,
}

/// The warps of a block on their way.
pub(super) struct Passes<'s> {
    sequences: &'s [Sequence],
    rounds: Rounds,
    position: Vec<usize>,
    is_waiting: Vec<bool>,
    /// The warps whose further path is not known, with the barriers that they may reach.
    open: Vec<Option<Tail>>,
    /// By warp: of each warp, the number of stops that certainly came before.
    known: Vec<Vec<usize>>,
    barriers: BTreeMap<u64, Barrier>,
    /// Some warp may have waited for others in another way than at a barrier.
    has_waited: bool,
}

impl<'s> Passes<'s> {
    pub(super) fn new(sequences: &'s [Sequence], rounds: Rounds) -> Self {
        let warps = sequences.len();
        Self {
            sequences,
            rounds,
            position: vec![0; warps],
            is_waiting: vec![false; warps],
            open: vec![None; warps],
            known: vec![vec![0; warps]; warps],
            barriers: BTreeMap::new(),
            has_waited: false,
        }
    }

    /// The first thing that goes wrong in each run; with rounds, in some run.
    pub(super) fn run(mut self) -> Option<Wrong> {
        loop {
            let mut has_moved = false;
            for warp in 0..self.sequences.len() {
                while !self.is_waiting[warp] && self.open[warp].is_none() {
                    let Some(&event) = self.sequences[warp].events.get(self.position[warp]) else {
                        self.finish(warp);
                        break;
                    };
                    has_moved = true;
                    if !self.may_follow(&event) {
                        self.leave(warp);
                        break;
                    }
                    if let Some(wrong) = self.arrive(warp, &event) {
                        return Some(wrong);
                    }
                }
            }
            let has_passed = self.pass_barriers();
            if !has_moved && !has_passed {
                return self.stuck();
            }
        }
    }

    /// A warp has reached the end of its sequence.
    fn finish(&mut self, warp: usize) {
        let tail = &self.sequences[warp].tail;
        if *tail != Tail::default() && self.rounds == Rounds::None {
            self.open[warp] = Some(tail.clone());
        }
    }

    fn has_ended(&self, warp: usize) -> bool {
        !self.is_waiting[warp] && self.open[warp].is_none()
    }

    /// The path of a warp is not known from here on. Where others have reached a barrier that it would have reached, it may have been there at
    /// the same time.
    fn leave(&mut self, warp: usize) {
        let later = &self.sequences[warp].events[self.position[warp]..];
        let is_used = |event: &Event| self.barriers.contains_key(&event.stop.number);
        if later.iter().any(is_used) {
            self.give_up();
            return;
        }
        let mut tail = self.sequences[warp].tail.clone();
        let events = &self.sequences[warp].events[self.position[warp]..];
        tail.numbers.extend(events.iter().map(|event| event.stop.number));
        self.open[warp] = Some(tail);
    }

    /// True if no warp can reach a barrier at a time that is not known: each that may do so later has still to wait there.
    fn may_follow(&self, event: &Event) -> bool {
        let number = event.stop.number;
        (0..self.sequences.len()).all(|warp| {
            let sequence = &self.sequences[warp];
            match &self.open[warp] {
                Some(tail) => !tail.has(number),
                None if self.rounds != Rounds::None || !sequence.tail.has(number) => true,
                None => sequence.events[self.position[warp]..]
                    .iter()
                    .any(|event| event.stop.number == number && event.stop.waits),
            }
        })
    }

    fn arrive(&mut self, warp: usize, event: &Event) -> Option<Wrong> {
        let place = self.position[warp];
        let barrier = self.barriers.entry(event.stop.number).or_default();
        let threads = (self.sequences.len() * WARP) as u64;
        let count = event.stop.count.unwrap_or(threads);
        let count_of = |other: &Arrival| {
            let stop = &self.sequences[other.warp].events[other.place].stop;
            stop.count.unwrap_or(threads)
        };
        let mut others = barrier.arrived.iter();
        let mixed = others.find(|other| count_of(other) != count);
        let is_unordered = |other: &&Arrival| self.known[warp][other.warp] <= other.place;
        let unordered = barrier.last.iter().find(is_unordered);
        let wrong = match (mixed, unordered) {
            (Some(other), _) => Some(Wrong::Mixed((warp, place), (other.warp, other.place))),
            (None, Some(other)) if count_of(other) != count => {
                Some(Wrong::Mixed((warp, place), (other.warp, other.place)))
            }
            (None, Some(other)) => Some(Wrong::Unordered((warp, place), (other.warp, other.place))),
            (None, None) => None,
        };
        self.has_waited |= event.waits_before;
        if wrong.is_some() {
            // Warps may know of each other by something else.
            if self.has_waited {
                self.give_up();
                return None;
            }
            return wrong;
        }
        self.known[warp][warp] = place + 1;
        let known = self.known[warp].clone();
        barrier.arrived.push(Arrival { warp, place, known });
        if event.stop.waits {
            self.is_waiting[warp] = true;
        } else {
            self.position[warp] += 1;
        }
        self.pass_barriers();
        None
    }

    /// Nothing more is known.
    fn give_up(&mut self) {
        for warp in 0..self.sequences.len() {
            self.open[warp] = Some(Tail {
                is_unknown: true,
                ..Tail::default()
            });
        }
    }

    /// Lets warps pass the barriers that are complete; true if some did.
    fn pass_barriers(&mut self) -> bool {
        // A barrier of all threads does not wait for warps that have ended.
        let ended = |warp: &usize| {
            self.has_ended(*warp) && self.position[*warp] >= self.sequences[*warp].events.len()
        };
        let left = self.sequences.len() - (0..self.sequences.len()).filter(ended).count();
        let sequences = self.sequences;
        let is_complete = |barrier: &Barrier| {
            let first = barrier.arrived.first()?;
            let count = sequences[first.warp].events[first.place].stop.count;
            let here = barrier.arrived.len();
            Some(match count {
                Some(count) => here as u64 * WARP as u64 >= count,
                None => here >= left,
            })
        };
        let complete: Vec<u64> = self
            .barriers
            .iter()
            .filter(|(_, barrier)| is_complete(barrier) == Some(true))
            .map(|(number, _)| *number)
            .collect();
        for number in &complete {
            let Some(barrier) = self.barriers.get_mut(number) else {
                continue;
            };
            let arrived = std::mem::take(&mut barrier.arrived);
            let mut all = vec![0; sequences.len()];
            for one in &arrived {
                for (all, known) in all.iter_mut().zip(&one.known) {
                    *all = (*all).max(*known);
                }
            }
            for one in &arrived {
                if sequences[one.warp].events[one.place].stop.waits {
                    self.known[one.warp].clone_from(&all);
                    self.is_waiting[one.warp] = false;
                    self.position[one.warp] += 1;
                }
            }
            barrier.last = arrived;
        }
        !complete.is_empty()
    }

    /// The warps that wait for ever, if no warp goes on.
    fn stuck(&self) -> Option<Wrong> {
        let may_come = |number: u64| self.open.iter().flatten().any(|tail| tail.has(number));
        let waiting = (0..self.sequences.len()).filter(|warp| self.is_waiting[*warp]);
        let steps: Vec<Step> = waiting.map(|warp| (warp, self.position[warp])).collect();
        let is_lost = |&(warp, place): &Step| {
            let stop = &self.sequences[warp].events[place].stop;
            // All threads of the block have to reach a barrier without a count, or to end.
            let has_open = self.open.iter().any(Option::is_some);
            !may_come(stop.number) && (stop.count.is_some() || !has_open)
        };
        let lost: Vec<Step> = steps.into_iter().filter(is_lost).collect();
        (!lost.is_empty() && self.rounds == Rounds::None).then_some(Wrong::Stuck(lost))
    }
}
