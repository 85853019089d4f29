//! The order in which threads do what others see. Between two such instructions, each runs by itself.

use crate::launch::lane_bit;
use crate::random::Random;
use crate::site::Point;

/// The order of visible instructions of several threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Lanes meet as soon as they can; then the first instruction in the order of the code.
    First,
    /// The last instruction in the order of the code; lanes meet where nothing else is left to be done.
    Last,
    /// Any, by a seed.
    Random(u64),
    /// Any, by a seed; and lanes at one instruction do not all execute it at once.
    Split(u64),
    /// Any, by a seed, but always the same order of two of them; lanes meet as soon as they can.
    Ranked(u64),
    /// These lanes, a bit for each, do nothing visible and do not meet others as long as the rest can continue; lanes meet as soon as
    /// they can.
    Holding(u32),
    /// Each thread runs until it waits or ends, before the next one does; lanes meet as soon as they can.
    InTurn(Turns),
}

/// The order of threads that run one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turns {
    /// The first thread begins.
    Forwards,
    /// The last thread begins.
    Backwards,
}

/// The state of a schedule.
#[derive(Debug)]
pub(crate) struct Order {
    schedule: Schedule,
    random: Random,
}

/// The search for lanes that meet, in a turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meeting {
    /// Before anything visible is done.
    pub(crate) is_first: bool,
    /// The thread with which the search for a group begins, and the order of the others.
    pub(crate) start: usize,
    pub(crate) step: usize,
}

impl Order {
    pub(crate) const fn new(schedule: Schedule) -> Self {
        let seed = match schedule {
            Schedule::Random(seed) | Schedule::Split(seed) => seed ^ 0x5eed,
            Schedule::First
            | Schedule::Last
            | Schedule::Ranked(_)
            | Schedule::Holding(_)
            | Schedule::InTurn(_) => 1,
        };
        Self {
            schedule,
            random: Random::new(seed),
        }
    }

    /// The search for lanes that meet in the next turn, of so many threads.
    pub(crate) const fn meeting(&mut self, threads: usize) -> Meeting {
        let (is_first, start, step) = match self.schedule {
            Schedule::First | Schedule::Ranked(_) | Schedule::Holding(_) | Schedule::InTurn(_) => {
                (true, 0, 1)
            }
            Schedule::Last => (false, threads - 1, threads - 1),
            Schedule::Random(_) | Schedule::Split(_) => {
                (self.random.below(2) == 0, self.random.below(threads), 1)
            }
        };
        Meeting {
            is_first,
            start,
            step,
        }
    }

    /// The order of the threads, where they run one after the other.
    pub(crate) const fn turns(&self) -> Option<Turns> {
        match self.schedule {
            Schedule::InTurn(turns) => Some(turns),
            _ => None,
        }
    }

    /// True if the next asynchronous thing is done now.
    pub(crate) const fn performs(&mut self) -> bool {
        match self.schedule {
            Schedule::First | Schedule::Ranked(_) | Schedule::Holding(_) | Schedule::InTurn(_) => true,
            Schedule::Last => false,
            Schedule::Random(_) | Schedule::Split(_) => self.random.below(3) == 0,
        }
    }

    /// True if a thread does nothing visible as long as others can continue.
    pub(crate) const fn is_held(&self, thread: usize) -> bool {
        matches!(self.schedule, Schedule::Holding(lanes) if lanes & lane_bit(thread) != 0)
    }

    /// One of several points, which are sorted.
    pub(crate) fn pick(&mut self, points: &[Point]) -> Option<Point> {
        match self.schedule {
            Schedule::First | Schedule::Holding(_) | Schedule::InTurn(_) => points.first().copied(),
            Schedule::Last => points.last().copied(),
            Schedule::Random(_) | Schedule::Split(_) => {
                let most = points.len().max(1);
                points.get(self.random.below(most)).copied()
            }
            Schedule::Ranked(seed) => {
                let rank = |point: &&Point| {
                    let number = point.instruction.index() as u64 + 1;
                    Random::new((seed << 32) ^ number).next()
                };
                points.iter().min_by_key(rank).copied()
            }
        }
    }

    /// Leaves those of the threads at a point that execute it now: one at least.
    pub(crate) fn part(&mut self, threads: &mut Vec<usize>) {
        if threads.iter().any(|&thread| !self.is_held(thread)) {
            threads.retain(|&thread| !self.is_held(thread));
        }
        if matches!(self.schedule, Schedule::Split(_)) {
            let some = self.random.next();
            let is_picked = |thread: &usize| some >> (thread % 13) & 1 == 1;
            if threads.iter().any(is_picked) {
                threads.retain(is_picked);
            }
        }
    }
}
