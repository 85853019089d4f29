//! Accesses of threads of different warps to the same bytes with nothing in between that orders them: of one block to shared memory, or of
//! the grid to global memory.
//!
//! ```text
//! phase      the number of barriers that the block has passed, all of its threads that have not ended together
//! unordered  two accesses of threads of different warps of a block in one phase, of which no barrier with a count orders one before the other
//!            two accesses of threads of different blocks of which neither has seen before what others have done
//! ```
//!
//! That is a vector clock for each thread of the block: a barrier of the block raises all clocks alike. A barrier with a count orders the
//! warps that come to it: warps have clocks for these (`clocks`), all lanes of a warp together. What else may order threads (`may_order`)
//! makes a thread's accesses of the rest of its phase comparable with none; of another block's, for good.
//!
//! Of a byte, the accesses of the current phase are kept, and of the grid all: those of a warp with one instruction together (after FastTrack:
//! Flanagan and Freund, PLDI 2009, which keeps the last write and the reads since).

use ptxcheck_ir::{FunctionId, InstructionId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::clocks::{Clock, Clocks, join};
use super::found::{Example, Exchange, ExchangeKind, Found};
use crate::launch::{WARP, lane_bit};
use crate::limits::{MAX_EXAMPLES, MAX_KEPT_ACCESSES, MAX_KEPT_OF_BYTE};
use crate::site::Point;
use crate::world::At;

/// A byte: true for global memory, and the address.
type Byte = (bool, u64);

/// An access of a thread to a byte.
pub(super) struct New {
    pub(super) byte: Byte,
    pub(super) is_store: bool,
    pub(super) is_strong: bool,
    /// An atomic that reads and writes.
    pub(super) is_atomic: bool,
    /// The byte that is written, if it is known.
    pub(super) value: Option<u8>,
    /// The byte of global memory before, if it is known.
    pub(super) before: Option<u8>,
    /// See [`crate::Accessed::number`].
    pub(super) number: u64,
    /// The phase of the first access of the warp at this point.
    pub(super) first_phase: u32,
}

/// The place of a thread in the order of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct When {
    /// The block, by its number among those that run.
    block: u32,
    warp: u32,
    phase: u32,
    /// The epoch of the warp, by the barriers with a count.
    epoch: u32,
    /// Nothing but barriers orders the thread with those of other warps of its block.
    is_free_in_block: bool,
    /// Nothing orders it with threads of other blocks.
    is_free_in_grid: bool,
}

impl When {
    /// True if nothing orders an access of a thread and a later one of a thread of another warp. `known`: the epochs that the latter warp
    /// knows of.
    const fn is_unordered(self, other: Self, known: &Clock) -> bool {
        if self.block == other.block {
            self.warp != other.warp
                && self.phase == other.phase
                && self.epoch > known[self.warp as usize % WARP]
                && self.is_free_in_block
                && other.is_free_in_block
        } else {
            self.is_free_in_grid && other.is_free_in_grid
        }
    }
}

/// The properties in which accesses of a warp to a byte are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Alike {
    when: When,
    point: Point,
    is_store: bool,
    is_strong: bool,
    is_atomic: bool,
    /// The byte that is written or read, if it is known.
    value: Option<u8>,
    /// For a write, it changes the byte, as far as is known.
    is_change: bool,
    /// For a read, the point in which the thread itself wrote the byte last in this phase.
    own: Option<Point>,
}

/// Accesses of one warp to a byte that are alike.
#[derive(Clone, Debug)]
struct Kept {
    alike: Alike,
    /// The lanes, a bit for each.
    mask: u32,
    /// The lanes, with the number of the first such access of each.
    lanes: Vec<(u8, u64)>,
}

/// The last plain write that changed a byte, and the reads of it since.
#[derive(Clone, Debug)]
struct Written {
    when: When,
    lane: u8,
    point: Point,
    /// By thread, with its block: the last one. The others are dropped where they are too many.
    reads: Vec<Read>,
}

/// A read: the block and the number of the thread, the point, and the number of the access.
#[derive(Clone, Copy, Debug)]
struct Read {
    thread: (u32, usize),
    point: Point,
    number: u64,
}

/// A byte of memory.
#[derive(Clone, Debug, Default)]
struct Cell {
    /// The phase of the accesses.
    phase: u32,
    kept: Vec<Kept>,
    /// The byte, if it is known.
    value: Option<u8>,
    /// The block and the warp of the last strong store; in a block, of the phase.
    strong_writer: Option<(u32, u32)>,
    written: Option<Written>,
}

/// The facts that may order a thread with threads of other warps.
#[derive(Clone, Copy, Debug, Default)]
struct Ordered {
    /// Instructions since the last barrier of the block.
    since: u32,
    /// An atomic of it was on what a thread of another warp had written by an atomic or a strong store.
    has_met: bool,
    /// It knows what threads of other blocks have done.
    has_seen: bool,
}

impl Ordered {
    fn joined(self, other: Self) -> Self {
        Self {
            since: self.since.max(other.since),
            has_met: self.has_met || other.has_met,
            has_seen: self.has_seen || other.has_seen,
        }
    }
}

/// The accesses of a block, or of a grid.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockAccesses {
    /// The instructions whose accesses to global memory are compared; `None`: the accesses to shared memory are.
    of_grid: Option<FxHashSet<(FunctionId, InstructionId)>>,
    block: u32,
    phase: u32,
    /// By thread; after a meeting, alike for those who met.
    threads: Vec<Ordered>,
    /// The clocks of the warps of the block.
    clocks: Clocks,
    /// By number of a barrier with a count: what those know who have come to it without waiting, since it was complete last.
    signals: FxHashMap<u64, Clock>,
    bytes: FxHashMap<Byte, Cell>,
    kept: usize,
    is_cut: bool,
}

impl BlockAccesses {
    /// Those of a grid, with these instructions.
    pub(super) fn of_grid(instructions: FxHashSet<(FunctionId, InstructionId)>) -> Self {
        Self {
            of_grid: Some(instructions),
            ..Self::default()
        }
    }

    /// True if an access of this instruction is compared, or may order threads.
    pub(super) fn minds(&self, at: &At<'_>, is_strong: bool) -> bool {
        let of_grid = self.of_grid.as_ref();
        is_strong || of_grid.is_none_or(|wanted| wanted.contains(&(at.function, at.instruction)))
    }

    fn is_compared(&self, at: &At<'_>, is_global: bool) -> bool {
        let is_wanted = |wanted: &FxHashSet<_>| wanted.contains(&(at.function, at.instruction));
        is_global == self.of_grid.is_some() && self.of_grid.as_ref().is_none_or(is_wanted)
    }

    fn ordered(&self, thread: usize) -> Ordered {
        self.threads.get(thread).copied().unwrap_or_default()
    }

    fn ordered_mut(&mut self, thread: usize) -> &mut Ordered {
        if self.threads.len() <= thread {
            self.threads.resize(thread + 1, Ordered::default());
        }
        &mut self.threads[thread]
    }

    /// Treats a thread as ordered by the instruction that it executes.
    pub(super) fn may_order(&mut self, thread: usize) {
        let ordered = self.ordered_mut(thread);
        ordered.since = ordered.since.saturating_add(1);
        // A fence after an atomic acquires.
        ordered.has_seen |= ordered.has_met;
    }

    /// A thread executes an access that acquires or releases.
    pub(super) fn acquire(&mut self, thread: usize) {
        self.ordered_mut(thread).has_seen = true;
    }

    /// Threads meet: what orders one of them orders all of them.
    pub(super) fn meet(&mut self, threads: &[usize]) {
        for warp in threads.chunk_by(|&one, &other| one / WARP == other / WARP) {
            self.join(warp);
        }
    }

    fn join(&mut self, threads: &[usize]) {
        let each = threads.iter().map(|&thread| self.ordered(thread));
        let joined = each.fold(Ordered::default(), Ordered::joined);
        if joined.since > 0 || joined.has_met || joined.has_seen {
            for &thread in threads {
                *self.ordered_mut(thread) = joined;
            }
        }
    }

    /// The number of barriers that the block has passed.
    pub(super) const fn phase(&self) -> u32 {
        self.phase
    }

    /// The block passes a barrier, by these threads.
    pub(super) fn pass(&mut self, threads: &[usize]) {
        self.phase += 1;
        if self.of_grid.is_some() {
            self.join(threads);
        }
        for ordered in &mut self.threads {
            ordered.since = 0;
        }
    }

    /// A thread comes to a barrier with a count without waiting there.
    pub(super) fn signal(&mut self, thread: usize, number: u64) {
        if self.of_grid.is_some() {
            return self.may_order(thread);
        }
        let clock = self.clocks.signal(thread / WARP % WARP);
        join(self.signals.entry(number).or_insert([0; WARP]), &clock);
    }

    /// Threads pass a barrier with a count.
    pub(super) fn pass_counted(&mut self, number: u64, threads: &[usize]) {
        if self.of_grid.is_some() {
            threads.iter().for_each(|&thread| self.may_order(thread));
            return;
        }
        let warps = threads
            .iter()
            .fold(0_u32, |warps, &thread| warps | 1 << (thread / WARP % WARP));
        let heard = self.signals.remove(&number).unwrap_or([0; WARP]);
        self.clocks.wait(warps, &heard);
    }

    /// The threads of another block begin.
    pub(super) fn enter(&mut self, block: u32) {
        (self.block, self.phase) = (block, 0);
        self.threads.clear();
        self.clocks = Clocks::default();
        self.signals.clear();
    }

    /// Compares an access with those before that nothing orders with it, and keeps it.
    pub(super) fn access(&mut self, at: &At<'_>, new: &New, found: &mut Found) {
        let (is_global, address) = new.byte;
        let is_compared = self.is_compared(at, is_global);
        if self.is_cut || !is_compared && !new.is_strong {
            return;
        }
        let (thread, warp, phase, block) = (at.thread, (at.thread / WARP) as u32, self.phase, self.block);
        let is_of_grid = self.of_grid.is_some();
        let count = self.bytes.len();
        let cell = self.bytes.entry(new.byte).or_default();
        if cell.phase != phase && !is_of_grid {
            cell.phase = phase;
            self.kept -= cell.kept.iter().map(|kept| kept.lanes.len()).sum::<usize>();
            cell.kept.clear();
            cell.strong_writer = None;
        }
        let before = if is_of_grid { new.before } else { cell.value };
        let others = cell.strong_writer.filter(|writer| *writer != (block, warp));
        if new.is_store {
            cell.value = new.value;
            cell.strong_writer = new.is_strong.then_some((block, warp));
        }
        if others.is_some() && new.is_strong {
            if new.is_atomic {
                self.ordered_mut(thread).has_met = true;
            } else if !new.is_store {
                // A flag: the thread knows what the other one has done.
                self.may_order(thread);
                self.acquire(thread);
                return;
            }
        }
        let ordered = self.ordered(thread);
        let when = When {
            block,
            warp,
            phase,
            epoch: self.clocks.epoch(warp as usize % WARP),
            is_free_in_block: ordered.since == 0,
            is_free_in_grid: is_of_grid && !ordered.has_seen,
        };
        if !is_compared || !when.is_free_in_block && !when.is_free_in_grid {
            return;
        }
        let known = self.clocks.of(warp as usize % WARP);
        let Some(cell) = self.bytes.get_mut(&new.byte) else {
            return;
        };
        let lane = (thread % WARP) as u8;
        let bit = lane_bit(thread);
        let is_own = |kept: &&Kept| {
            let own = &kept.alike;
            own.is_store && kept.mask & bit != 0 && (own.when.block, own.when.warp) == (block, warp)
        };
        let own = cell.kept.iter().rev().find(is_own).map(|kept| kept.alike.point);
        let value = if new.is_store { new.value } else { before };
        let alike = Alike {
            when,
            point: at.point,
            is_store: new.is_store,
            is_strong: new.is_strong,
            is_atomic: new.is_atomic,
            value,
            is_change: value.is_none() || before != value,
            own: own.filter(|_| !new.is_store),
        };
        for kept in &cell.kept {
            if let Some(kind) = kind_of(&kept.alike, &alike, known) {
                let is_in_next_round = new.is_store && new.first_phase < phase;
                let pair = Pair {
                    kind,
                    second: at.point,
                    lane,
                    read: match kind {
                        ExchangeKind::ReadAfterWrite => Some(new.number),
                        _ => None,
                    },
                    is_in_next_round,
                };
                self.is_cut |= !add(found, at, address, kept, pair);
            }
        }
        if is_of_grid {
            self.is_cut |= !cell.update((at, new, &alike), known, found);
        }
        self.kept += usize::from(cell.keep(alike, lane, new.number));
        self.is_cut |= self.kept + count > MAX_KEPT_ACCESSES;
    }
}

impl Cell {
    /// Keeps an access; true if it needs more memory.
    fn keep(&mut self, alike: Alike, lane: u8, number: u64) -> bool {
        let bit = lane_bit(usize::from(lane));
        let is_full = self.kept.len() >= MAX_KEPT_OF_BYTE;
        let known = self.kept.iter_mut().find(|kept| kept.alike == alike);
        match known {
            Some(known) if known.mask & bit != 0 => false,
            Some(known) => {
                known.mask |= bit;
                known.lanes.push((lane, number));
                true
            }
            None if is_full => false,
            None => {
                self.kept.push(Kept {
                    alike,
                    mask: bit,
                    lanes: vec![(lane, number)],
                });
                true
            }
        }
    }

    /// Notes the last write and the last read, and finds a thread that changes what it has read, and what another one had written with the
    /// same instruction. False if there are too many.
    fn update(
        &mut self,
        (at, new, alike): (&At<'_>, &New, &Alike),
        known: &Clock,
        found: &mut Found,
    ) -> bool {
        let thread = (alike.when.block, at.thread);
        if new.is_atomic || new.is_strong {
            self.written = None;
            return true;
        }
        if !new.is_store {
            if let Some(written) = &mut self.written {
                written.reads.retain(|read| read.thread != thread);
                if written.when.is_unordered(alike.when, known) && written.reads.len() < MAX_KEPT_OF_BYTE {
                    written.reads.push(Read {
                        thread,
                        point: at.point,
                        number: new.number,
                    });
                }
            }
            return true;
        }
        if !alike.is_change {
            return true;
        }
        let mut is_complete = true;
        if let Some(written) = &self.written
            && let Some(read) = written.reads.iter().find(|read| read.thread == thread)
            && written.point == at.point
            && written.when.is_unordered(alike.when, known)
        {
            let first = Kept {
                alike: Alike {
                    when: written.when,
                    point: written.point,
                    ..*alike
                },
                mask: lane_bit(usize::from(written.lane)),
                lanes: vec![(written.lane, 0)],
            };
            let pair = Pair {
                kind: ExchangeKind::Updated,
                second: read.point,
                lane: (at.thread % WARP) as u8,
                read: Some(read.number),
                is_in_next_round: false,
            };
            is_complete = add(found, at, new.byte.1, &first, pair);
        }
        self.written = Some(Written {
            when: alike.when,
            lane: (at.thread % WARP) as u8,
            point: at.point,
            reads: Vec::new(),
        });
        is_complete
    }
}

/// The kind of a pair of accesses that nothing orders, if they are of different warps and their order matters. `known`: the epochs that the
/// warp of the latter knows of.
fn kind_of(old: &Alike, new: &Alike, known: &Clock) -> Option<ExchangeKind> {
    if !old.when.is_unordered(new.when, known) || old.is_strong && new.is_strong {
        return None;
    }
    let are_equal = old.value.is_some() && old.value == new.value;
    // Threads that all write the same with one instruction may read it.
    let is_own = |read: &Alike, write: &Alike| are_equal && read.own == Some(write.point);
    match (old.is_store, new.is_store) {
        (false, false) => None,
        (true, true) => {
            let are_known = old.value.is_some() && new.value.is_some();
            let is_read = old.is_atomic || new.is_atomic;
            (is_read || are_known && !are_equal).then_some(ExchangeKind::TwoWrites)
        }
        (true, false) => (old.is_change && !is_own(new, old)).then_some(ExchangeKind::ReadAfterWrite),
        (false, true) => (new.is_change && !is_own(old, new)).then_some(ExchangeKind::WriteAfterRead),
    }
}

/// A pair that a thread makes with an earlier access.
#[derive(Clone, Copy)]
struct Pair {
    kind: ExchangeKind,
    /// The point of the second access.
    second: Point,
    /// The lane that makes it.
    lane: u8,
    /// The number of the read, if it is the second access.
    read: Option<u64>,
    is_in_next_round: bool,
}

/// The block and the number of the thread that reads.
type Reader = fn(&Example) -> (u32, u32);

/// Adds a pair with examples; false if there are too many.
fn add(found: &mut Found, at: &At<'_>, address: u64, old: &Kept, pair: Pair) -> bool {
    let Pair { kind, lane, .. } = pair;
    let (warp, second_warp) = (old.alike.when.warp, (at.thread / WARP) as u32);
    let blocks = (old.alike.when.block, at.block);
    let key = (old.alike.point, pair.second, kind, None);
    let Some(&(first, _)) = old.lanes.first() else {
        return true;
    };
    let exchange = found.entry(key, || Exchange {
        kind,
        first: at.contexts.site(old.alike.point),
        second: at.contexts.site(pair.second),
        warp,
        second_warp,
        blocks,
        first_lanes: 0,
        second_lanes: 0,
        example: (first, lane),
        address,
        is_volatile: false,
        is_in_next_round: pair.is_in_next_round,
        examples: Vec::new(),
    });
    let Some(exchange) = exchange else {
        return false;
    };
    if (exchange.warp, exchange.second_warp, exchange.blocks) == (warp, second_warp, blocks) {
        exchange.first_lanes |= old.mask;
        exchange.second_lanes |= lane_bit(usize::from(lane));
    }
    for &(first, earlier) in &old.lanes {
        let threads = (warp * WARP as u32 + u32::from(first), at.thread as u32);
        let (reader, read): (Reader, _) = match kind {
            ExchangeKind::ReadAfterWrite | ExchangeKind::Updated => {
                (|example| (example.blocks.1, example.threads.1), pair.read)
            }
            ExchangeKind::WriteAfterRead => (|example| (example.blocks.0, example.threads.0), Some(earlier)),
            ExchangeKind::TwoWrites => (|_| (0, 0), None),
        };
        let example = Example {
            threads,
            blocks,
            read,
        };
        let mut known = exchange.examples.iter();
        if exchange.examples.len() < MAX_EXAMPLES && !known.any(|known| reader(known) == reader(&example)) {
            exchange.examples.push(example);
        }
    }
    true
}
