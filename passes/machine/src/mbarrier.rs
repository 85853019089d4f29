//! Barriers in memory: their phases, arrivals and bytes. Source: PTX ISA, mbarrier.

use crate::async_view::View;
use crate::outcome::Awaited;
use crate::site::Point;

/// A barrier in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mbarrier {
    /// Arrivals that a phase takes.
    pub(crate) arrivals: i64,
    /// Those that the current phase still takes.
    pub(crate) pending: i64,
    /// Bytes that the current phase still expects.
    pub(crate) bytes: i64,
    /// Phases that are complete.
    pub(crate) phase: u64,
    /// All that its arrivals release.
    pub(crate) gathered: View,
    /// The same, when the last phase was completed.
    pub(crate) complete: View,
    /// Where it was initialised.
    pub(crate) point: Option<Point>,
}

impl Mbarrier {
    /// One that takes so many arrivals in each phase.
    pub(crate) fn new(point: Point, arrivals: i64) -> Self {
        Self {
            arrivals,
            pending: arrivals,
            point: Some(point),
            ..Self::default()
        }
    }

    /// Completes the phase if nothing of it is missing.
    pub(crate) fn settle(&mut self) -> Effect {
        let is_exceeded = self.pending < 0;
        if self.pending <= 0 && self.bytes == 0 {
            self.phase += 1;
            self.pending = self.arrivals;
            self.complete = self.gathered.clone();
        }
        if is_exceeded { Effect::Open } else { Effect::Known }
    }

    /// A phase that a thread waits for at the barrier with this address.
    pub(crate) const fn awaited(&self, address: u64, phase: Phase) -> Awaited {
        Awaited::Phase {
            address,
            parity: match phase {
                Phase::Parity(parity) => parity & 1,
                Phase::After(complete) => complete & 1,
            },
            complete: self.phase,
            arrivals: self.arrivals,
            pending: self.pending,
            bytes: self.bytes,
        }
    }
}

/// A phase that a thread asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// By its parity.
    Parity(u64),
    /// By the number of phases that were complete when the thread arrived.
    After(u64),
}

impl Phase {
    /// True if it is complete, after so many complete phases.
    pub(crate) const fn is_complete(self, complete: u64) -> bool {
        match self {
            Self::Parity(parity) => complete & 1 != parity & 1,
            Self::After(known) => complete > known,
        }
    }
}

/// The effect of an operation on a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The operation is what the PTX ISA says.
    Known,
    /// It is not defined, or not known: the barrier has no object, or more arrivals than it takes.
    Open,
}
