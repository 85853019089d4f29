//! The outcome of a run: what was reached, what went wrong and how, and why the run ended.

use std::collections::{BTreeMap, BTreeSet};

use crate::launch::Launch;
use ptxcheck_ir::Site;

/// A kernel that cannot run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// It has no code here, or none that could be read.
    #[error("the kernel has no code that could be read")]
    NoBody,
    /// The analysis of its control flow takes too long.
    #[error("the kernel has too many blocks and loops")]
    TooLarge,
    /// No block can be launched so.
    #[error("no block can be launched so: {0:?}")]
    Launch(Launch),
}

/// A failure at a collective or a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wrong {
    /// A lane that is waited for has left, and did something visible.
    Missing,
    /// Lanes wait for each other at places that do not match.
    Deadlock,
    /// The mask does not name the lane.
    NotNamed,
    /// The mask names lanes that the block does not have.
    BeyondBlock,
    /// The lane that is read does not take part.
    AbsentSource,
    /// A whole warp of the block has left, or waits at a barrier with another number.
    OtherWarp,
    /// Lanes of a warp wait at different instructions that they have to execute together (`.aligned`).
    Unaligned,
}

/// The standing of lanes at a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// About to execute the instruction.
    Running,
    /// About to execute the instruction, which others see.
    Poised,
    /// They wait at a collective, with this mask.
    Waiting(u32),
    /// They wait at a barrier.
    AtBarrier,
    /// They have ended.
    Ended,
}

/// Lanes of a warp that are at one site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The warp, by its number in the block.
    pub warp: u32,
    /// The lanes, a bit for each.
    pub lanes: u32,
    /// Their standing there.
    pub standing: Standing,
    /// The site; `None` for those that have ended.
    pub site: Option<Site>,
}

/// A failure of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The collective or barrier.
    pub site: Site,
    /// The kind of the failure.
    pub wrong: Wrong,
    /// The warp in which it did, by its number in the block.
    pub warp: u32,
    /// The lanes that it concerns, of that warp: those that do not come ([`Wrong::Missing`]), that the block lacks
    /// ([`Wrong::BeyondBlock`]), or else that executed the instruction and for which it went wrong.
    pub lanes: u32,
    /// The member mask, at a collective.
    pub mask: Option<u32>,
    /// Lanes had waited in vain before, so this is not an execution of the kernel any more.
    pub is_after_break: bool,
    /// The lanes of the block when it first went wrong.
    pub lanes_then: Vec<Group>,
}

/// The reason why a run stopped early, so that the rest of the execution is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unknown {
    /// A branch, a guard or the index of a table is not known.
    Branch(Site),
    /// The mask of a collective is not known.
    Mask(Site),
    /// The number of a barrier is not known.
    Barrier(Site),
    /// The address of an access is not known, or lies outside of the space that the instruction names.
    Address(Site),
    /// The index of a table is beyond its end: not defined.
    BeyondTable(Site),
    /// Code is called that the module does not hold, or that is not known.
    Callee(Site),
    /// [`crate::limits::MAX_CALL_DEPTH`] or [`crate::limits::MAX_CONTEXTS`] was exceeded, or [`crate::limits::MAX_REGISTERS`].
    Depth(Site),
    /// [`crate::limits::MAX_STEPS`] was exceeded.
    Steps,
    /// [`crate::limits::MAX_WORDS`] was exceeded.
    Memory,
    /// Time was over.
    Time,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// All threads have ended.
    Complete,
    /// A thread has ended the grid with an error.
    Trap(Site),
    /// No more was asked of the run: see [`crate::Stop`].
    Stopped,
    /// The rest of the execution is unknown.
    Unknown(Unknown),
}

/// A failure of asynchronous operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AsyncWrong {
    /// A copy reads what an ordinary store has written, and no fence between the proxies comes between.
    Unfenced,
    /// A copy reads memory that nothing has written.
    Unwritten,
    /// The destination of a copy is read, and the copy may be in flight.
    ReadEarly,
    /// The source of a copy is written, and the copy may be in flight.
    SourceOverwritten,
    /// A wait for groups waits for no copy, though there are some, in no group or of another kind.
    IdleWait,
    /// An operation on a barrier in memory that nothing has initialised.
    Uninitialised,
    /// The bytes that have arrived at a barrier in memory are others than those that are expected.
    OtherBytes,
    /// The thread waits for a phase that never completes.
    NeverComplete,
}

/// A failure that is about a copy, where it came first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsyncFailure {
    /// The access, or the copy that reads.
    pub site: Site,
    /// The kind of the failure.
    pub wrong: AsyncWrong,
    /// The thread, by its number in the block.
    pub thread: u32,
    /// Where the copy was started that is in flight, if one is.
    pub copy: Option<Site>,
}

/// The asynchronous operations of a run, and accesses of shared memory, up to where threads waited in vain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asynchronous {
    /// The instructions that some thread executed.
    pub reached: BTreeSet<Site>,
    /// The failures.
    pub failures: BTreeSet<(Site, AsyncWrong)>,
    /// Of those that are about copies, the first of each kind at each site.
    pub firsts: Vec<AsyncFailure>,
    /// There were more than the limits allow to keep, so that some may not have been found.
    pub is_cut: bool,
}

/// What a thread that cannot go on waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Awaited {
    /// Lanes of its warp at a collective, with this mask.
    Lanes(u32),
    /// All threads of the block, at the barrier with this number.
    Block(u64),
    /// A barrier with a number and a count.
    Count {
        /// The number of the barrier.
        number: u64,
        /// The threads that it counts.
        count: u64,
        /// The threads that have reached it since it was complete last.
        arrived: u64,
    },
    /// A phase of a barrier in shared memory.
    Phase {
        /// The address of the barrier in shared memory.
        address: u64,
        /// The parity of the phase.
        parity: u64,
        /// Phases that are complete.
        complete: u64,
        /// Arrivals that each phase takes.
        arrivals: i64,
        /// Arrivals that the current phase still takes.
        pending: i64,
        /// Bytes that the current phase still expects.
        bytes: i64,
    },
}

/// Lanes of a warp that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The instruction at which they wait.
    pub site: Site,
    /// The warp, by its number in the block.
    pub warp: u32,
    /// The lanes, a bit for each.
    pub lanes: u32,
    /// What they wait for.
    pub awaits: Awaited,
}

/// The way in which a protocol between threads of a block fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HangKind {
    /// No thread can go on, and some wait at a barrier with a count, or for a phase of a barrier in memory.
    NobodyGoesOn,
    /// Lanes reach a barrier with another count than threads that are there: which of them it releases, nobody knows.
    OtherCount {
        /// The instruction with which they come.
        site: Site,
        /// Their warp.
        warp: u32,
        /// The lanes.
        lanes: u32,
        /// The number of the barrier.
        number: u64,
        /// Their count, and that of the threads that are there.
        counts: (u64, u64),
    },
}

/// A failure of a protocol between the threads of a block, which no unknown value has decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hang {
    /// The kind of the failure.
    pub kind: HangKind,
    /// All lanes that have not ended, or those that are at the barrier, sorted by warp.
    pub waits: Vec<Stuck>,
}

/// The outcome of a run. Failures before the end of the run are failures of its launch, world and schedule, for any kind of end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The collectives and barriers that some thread executed before lanes waited in vain.
    pub reached: BTreeSet<Site>,
    /// The failures, in order; each site once for each warp and kind of failure.
    pub failures: Vec<Failure>,
    /// Lanes waited in vain. The run went on without those that they waited for, with results of 0, and the rest is not an execution of the
    /// kernel any more.
    pub is_broken: bool,
    /// A barrier that only some threads of the block take part in, or none waits at, was passed: nobody waited there.
    pub has_passed_counted: bool,
    /// The warps whose lanes have passed different numbers of barriers of the block.
    pub uneven_warps: BTreeSet<u32>,
    /// Some shift was executed with a computed amount, and each time with one of at least as many bits as the number has: PTX
    /// defines it, C++ does not, so that the code is hardly meant for such values.
    pub has_shifted_beyond: bool,
    /// A thread executed an [`ptxcheck_ir::Op::Assume`] whose predicate does not hold: the code excludes the values of the run.
    pub breaks_assumption: bool,
    /// Threads have passed a barrier with a count that was complete, or found a phase complete.
    pub has_waited: bool,
    /// The first failure of a protocol between threads. None is shown after [`Self::open`], or after lanes have waited in vain. Where a run
    /// does not follow barriers in memory, it shows none that has to do with them.
    pub hang: Option<Hang>,
    /// The first instruction, if any, that the machine does not model and that may let threads go on which wait in this run.
    pub open: Option<Site>,
    /// The asynchronous operations of the run; `None` where it did not follow them.
    pub asynchronous: Option<Asynchronous>,
    /// The end.
    pub end: End,
    /// Instructions that were executed, by all threads.
    pub steps: u64,
    /// Of the reads that were watched, those whose value something depended on that others see, or a branch: a bit for each.
    pub used: u32,
}

impl Outcome {
    /// The sites that went wrong, and how.
    #[must_use]
    pub fn wrongs(&self) -> BTreeMap<Site, BTreeSet<Wrong>> {
        let mut wrongs: BTreeMap<Site, BTreeSet<Wrong>> = BTreeMap::new();
        for failure in &self.failures {
            let at = wrongs.entry(failure.site.clone()).or_default();
            at.insert(failure.wrong);
        }
        wrongs
    }

    /// True if the rest of the execution after its end is unknown.
    #[must_use]
    pub const fn is_unknown(&self) -> bool {
        matches!(self.end, End::Unknown(_) | End::Stopped)
    }
}
