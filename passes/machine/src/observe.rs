//! The events of a run, as they happen.

use ptxcheck_ir::{AccessKind, BlockId, Collective, Scope, Semantics, Space};

use crate::evaluate::Word;
use crate::launch::{WARP, lane_bit};
use crate::memory::Memory;
use crate::outcome::{AsyncWrong, Group, Standing, Wrong};
use crate::site::Contexts;
use crate::thread::{State, Thread};
use crate::world::At;
use ptxcheck_ir::Site;

/// A piece of memory that a thread accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accessed {
    /// Its number among the accesses of the run, which is the same in another run with the same values and schedule.
    pub number: u64,
    /// The kind of the access.
    pub kind: AccessKind,
    /// The space that it lies in, which is not [`Space::Generic`].
    pub space: Space,
    /// The address in that space.
    pub address: u64,
    /// Bytes; 0 where the instruction does not say.
    pub bytes: u64,
    /// Bytes of one of its elements, which divide them; 0 where the instruction does not say.
    pub element: u64,
    /// The bits of each element that it may change: none for a load; for an atomic and, or, xor those that its operand says; else all.
    pub changes: u64,
    /// See [`ptxcheck_ir::Access::semantics`].
    pub semantics: Semantics,
    /// See [`ptxcheck_ir::Access::scope`].
    pub scope: Scope,
    /// See [`ptxcheck_ir::Access::is_ordering`].
    pub is_ordering: bool,
}

/// A read whose value is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Its number, see [`Accessed::number`].
    pub number: u64,
    /// The bits of each element in which the value may be another one.
    pub changes: u64,
}

/// An event of a run, at the instruction of a thread. Threads are numbered in their block: 32 times the number of the warp, plus
/// the lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// Threads at the instruction execute it, and others see it; those of a warp do so together.
    Visible(&'a [usize]),
    /// The thread goes to a block, where a predicate or an index decides that.
    Branch(BlockId),
    /// The thread accesses memory; of a store, with the values of its elements, or none where the instruction does not say.
    Access(Accessed, &'a [Word]),
    /// The thread executes an instruction that may wait for others or order its actions with theirs, in a way that the machine does not
    /// model: a matrix operation, an asynchronous copy, a barrier with a count that is not known or never complete, code that is not here.
    MayOrder,
    /// The thread executes a fence: what it does from here on comes after what it has seen of others by strong reads.
    Fence,
    /// The thread is taken past a loop that reads memory, and whose end is not known: it may wait there for what another thread writes.
    MayWait,
    /// The thread reaches a collective with a mask, and waits.
    Arrived(Collective, u32),
    /// The thread reaches a barrier, and waits.
    AtBarrier,
    /// Threads, of which this is the first, continue from a collective at which they have met, or from several that match.
    Met(&'a [usize]),
    /// Threads, of which this is the first, continue from a barrier.
    Passed(&'a [usize]),
    /// The thread comes to a barrier with this number and a count, and goes on without waiting.
    Signals(u64),
    /// Threads, of which this is the first, continue from a barrier with this number whose count is complete; and those who have come to it
    /// without waiting.
    PassedCounted(u64, &'a [usize], &'a [usize]),
    /// Something went wrong there.
    Wrong(Wrong),
    /// Something went wrong with a copy there, for the first time.
    AsyncWrong(AsyncWrong),
    /// The thread waits in vain, and is released with results of 0.
    LetGo,
    /// The thread has ended, and is at no instruction any more.
    Ended,
}

/// The state of a run, for an observer.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub(crate) threads: &'a [Thread],
    pub(crate) contexts: &'a Contexts,
    /// Threads of the block.
    pub(crate) count: usize,
    pub(crate) global: &'a Memory,
}

impl View<'_> {
    /// The lanes of the block by where they are, sorted by warp and first lane.
    #[must_use]
    pub fn groups(&self) -> Vec<Group> {
        let mut groups = Vec::new();
        let standing = |thread: &Thread| match thread.state {
            State::Running => Standing::Running,
            State::Poised(_) => Standing::Poised,
            State::Waiting(_, mask) => Standing::Waiting(mask),
            State::AtBarrier { .. } | State::AtCounted { .. } => Standing::AtBarrier,
            State::Ended => Standing::Ended,
        };
        for (number, warp) in self.threads[..self.count].chunks(WARP).enumerate() {
            let mut found: Vec<(Standing, _, u32)> = Vec::new();
            for (lane, thread) in warp.iter().enumerate() {
                let at = (standing(thread), thread.point());
                match found.iter_mut().find(|one| (one.0, one.1) == at) {
                    Some((.., lanes)) => *lanes |= lane_bit(lane),
                    None => found.push((at.0, at.1, lane_bit(lane))),
                }
            }
            groups.extend(found.into_iter().map(|(standing, point, lanes)| Group {
                warp: number as u32,
                lanes,
                standing,
                site: point.map(|point| self.contexts.site(point)),
            }));
        }
        groups
    }

    /// So many bytes of global memory, at most 8, if all of them are known by now: nothing is known of bytes that no thread has read
    /// or written.
    #[must_use]
    pub fn global_word(&self, address: u64, bytes: u64) -> Word {
        self.global.read(address, bytes)
    }

    /// The site of a thread, by its number; `None` for one that has ended.
    #[must_use]
    pub fn site(&self, thread: usize) -> Option<Site> {
        let point = self.threads.get(thread)?.point()?;
        Some(self.contexts.site(point))
    }
}

/// Observes a run.
pub trait Observer {
    /// An event, before it has its effect.
    fn on(&mut self, at: &At<'_>, event: &Event<'_>, view: &View<'_>);
}

/// Observes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn on(&mut self, _at: &At<'_>, _event: &Event<'_>, _view: &View<'_>) {}
}
