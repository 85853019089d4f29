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

use ptxcheck_ir::{FunctionId, InstructionId, Space};
use rustc_hash::{FxHashMap, FxHashSet};

use super::clocks::{Clock, Clocks, join};
use super::found::{Example, Exchange, ExchangeKind, Found};
use super::granules::{Divide, Granule, Granules, part_of};
use crate::evaluate::Word;
use crate::launch::{WARP, lane_bit};
use crate::limits::{MAX_EXAMPLES, MAX_KEPT_ACCESSES, MAX_KEPT_OF_BYTE};
use crate::observe::Accessed;
use crate::site::Point;
use crate::world::At;

/// An access of a thread.
pub(super) struct New<'a> {
    pub(super) access: &'a Accessed,
    pub(super) is_store: bool,
    pub(super) is_strong: bool,
    /// An atomic that reads and writes.
    pub(super) is_atomic: bool,
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

/// The properties in which accesses of a warp to a granule are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Alike {
    when: When,
    point: Point,
    is_store: bool,
    is_strong: bool,
    is_atomic: bool,
    /// The value that is written or read, if it is known.
    value: Word,
    /// For a write, it changes the value, as far as is known.
    is_change: bool,
    /// The bits of an element that it may change: see [`Accessed::changes`].
    changes: u64,
    /// For a read, the point in which the thread itself wrote there last in this phase.
    own: Option<Point>,
}

/// Accesses of one warp to a granule that are alike.
#[derive(Clone, Debug)]
struct Kept {
    alike: Alike,
    /// The lanes, a bit for each.
    mask: u32,
    /// The lanes, with the number of the first such access of each.
    lanes: Vec<(u8, u64)>,
}

/// The last plain write that changed a value, and the reads of it since.
#[derive(Clone, Debug)]
struct Written {
    when: When,
    lane: u8,
    point: Point,
    /// By thread, with its block: the last one. The oldest are dropped where they are too many.
    reads: Vec<Read>,
    /// The reads before it that nothing orders with it, of threads that have not written since.
    stale: Vec<Read>,
}

/// A read: the block and the number of the thread, the point, and the number of the access.
#[derive(Clone, Copy, Debug)]
struct Read {
    thread: (u32, usize),
    point: Point,
    number: u64,
}

/// A granule of memory.
#[derive(Clone, Debug, Default)]
struct Cell {
    /// The phase of the accesses.
    phase: u32,
    kept: Vec<Kept>,
    /// The content, if it is known.
    value: Word,
    /// The block and the warp of the last strong store; in a block, of the phase.
    strong_writer: Option<(u32, u32)>,
    written: Option<Written>,
    /// In a grid, the plain reads since the content has changed last, by thread, each with its place in the order of the run.
    readers: Vec<(Read, When)>,
}

impl Divide for Cell {
    fn part(&self, first: u32, bytes: u32) -> Self {
        let mut part = self.clone();
        part.value = part_of(self.value, first, bytes);
        for kept in &mut part.kept {
            kept.alike.value = part_of(kept.alike.value, first, bytes);
        }
        part
    }

    fn weight(&self) -> usize {
        self.kept.iter().map(|kept| kept.lanes.len()).sum()
    }
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

/// The same of each thread; after a meeting, alike for those who met.
#[derive(Clone, Debug, Default)]
struct Orders(Vec<Ordered>);

impl Orders {
    fn of(&self, thread: usize) -> Ordered {
        self.0.get(thread).copied().unwrap_or_default()
    }

    fn of_mut(&mut self, thread: usize) -> &mut Ordered {
        if self.0.len() <= thread {
            self.0.resize(thread + 1, Ordered::default());
        }
        &mut self.0[thread]
    }

    fn may_order(&mut self, thread: usize) {
        let ordered = self.of_mut(thread);
        ordered.since = ordered.since.saturating_add(1);
        // A fence after an atomic acquires.
        ordered.has_seen |= ordered.has_met;
    }
}

/// The accesses of a block, or of a grid.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockAccesses {
    /// The instructions whose accesses to global memory are compared; `None`: the accesses to shared memory are.
    of_grid: Option<FxHashSet<(FunctionId, InstructionId)>>,
    block: u32,
    phase: u32,
    orders: Orders,
    /// The clocks of the warps of the block.
    clocks: Clocks,
    /// By number of a barrier with a count: what those know who have come to it without waiting, since it was complete last.
    signals: FxHashMap<u64, Clock>,
    /// True for global memory.
    bytes: Granules<bool, Cell>,
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

    /// Treats a thread as ordered by the instruction that it executes.
    pub(super) fn may_order(&mut self, thread: usize) {
        self.orders.may_order(thread);
    }

    /// A thread executes an access that acquires or releases.
    pub(super) fn acquire(&mut self, thread: usize) {
        self.orders.of_mut(thread).has_seen = true;
    }

    /// Threads meet: what orders one of them orders all of them.
    pub(super) fn meet(&mut self, threads: &[usize]) {
        for warp in threads.chunk_by(|&one, &other| one / WARP == other / WARP) {
            self.join(warp);
        }
    }

    fn join(&mut self, threads: &[usize]) {
        let each = threads.iter().map(|&thread| self.orders.of(thread));
        let joined = each.fold(Ordered::default(), Ordered::joined);
        if joined.since > 0 || joined.has_met || joined.has_seen {
            for &thread in threads {
                *self.orders.of_mut(thread) = joined;
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
        for ordered in &mut self.orders.0 {
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
        self.orders.0.clear();
        self.clocks = Clocks::default();
        self.signals.clear();
    }

    /// Compares an access with those before that nothing orders with it, and keeps it. `stored`: the value that is written to a granule;
    /// `global`: the content of a granule of global memory before.
    pub(super) fn access(
        &mut self,
        at: &At<'_>,
        new: &New<'_>,
        stored: impl Fn(Granule) -> Word,
        global: impl Fn(Granule) -> Word,
        found: &mut Found,
    ) {
        let is_global = new.access.space == Space::Global;
        let is_compared = self.is_compared(at, is_global);
        if self.is_cut || !is_compared && !new.is_strong {
            return;
        }
        let (thread, warp, phase, block) = (at.thread, (at.thread / WARP) as u32, self.phase, self.block);
        let is_of_grid = self.of_grid.is_some();
        let (orders, kept, is_cut) = (&mut self.orders, &mut self.kept, &mut self.is_cut);
        let known = self.clocks.of(warp as usize % WARP);
        let epoch = self.clocks.epoch(warp as usize % WARP);
        let place = (new.access.address, new.access.bytes, new.access.element);
        let divided = self.bytes.each(is_global, place, |granule, cell| {
            if cell.phase != phase && !is_of_grid {
                cell.phase = phase;
                *kept = kept.saturating_sub(cell.weight());
                cell.kept.clear();
                cell.strong_writer = None;
            }
            let before = if is_of_grid { global(granule) } else { cell.value };
            let value = stored(granule);
            let others = cell.strong_writer.filter(|writer| *writer != (block, warp));
            if new.is_store {
                cell.value = value;
                cell.strong_writer = new.is_strong.then_some((block, warp));
            }
            if others.is_some() && new.is_strong {
                if new.is_atomic {
                    orders.of_mut(thread).has_met = true;
                } else if !new.is_store {
                    // A flag: the thread knows what the other one has done.
                    orders.may_order(thread);
                    orders.of_mut(thread).has_seen = true;
                    return;
                }
            }
            let ordered = orders.of(thread);
            let when = When {
                block,
                warp,
                phase,
                epoch,
                is_free_in_block: ordered.since == 0,
                is_free_in_grid: is_of_grid && !ordered.has_seen,
            };
            if !is_compared || !when.is_free_in_block && !when.is_free_in_grid {
                return;
            }
            let alike = cell.alike((at, granule), new, (when, value, before));
            for old in &cell.kept {
                if let Some(kind) = kind_of(&old.alike, &alike, known) {
                    let pair = Pair::new(kind, at, (new, &alike), phase);
                    *is_cut |= !add(found, at, granule.address, old, pair);
                }
            }
            if is_of_grid {
                let access = (at, new, &alike);
                *is_cut |= !cell.update(granule.address, access, known, found);
            }
            *kept += usize::from(cell.keep(alike, (thread % WARP) as u8, new.access.number));
        });
        self.kept += divided;
        self.is_cut |= self.kept + self.bytes.len() > MAX_KEPT_ACCESSES;
    }
}

impl Cell {
    /// The properties of an access: when it is made, the value that it writes, and the value before.
    fn alike(
        &self,
        (at, granule): (&At<'_>, Granule),
        new: &New<'_>,
        (when, stored, before): (When, Word, Word),
    ) -> Alike {
        let bit = lane_bit(at.thread);
        let is_own = |kept: &&Kept| {
            let own = &kept.alike;
            own.is_store && kept.mask & bit != 0 && (own.when.block, own.when.warp) == (when.block, when.warp)
        };
        let own = || self.kept.iter().rev().find(is_own).map(|kept| kept.alike.point);
        let value = if new.is_store { stored } else { before };
        Alike {
            when,
            point: at.point,
            is_store: new.is_store,
            is_strong: new.is_strong,
            is_atomic: new.is_atomic,
            value,
            is_change: value.is_none() || before != value,
            // Bits are those of an element where the granule is one.
            changes: if u64::from(granule.bytes) == new.access.element {
                new.access.changes
            } else {
                u64::MAX
            },
            own: if new.is_store { None } else { own() },
        }
    }

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

    /// Notes the last write and the last reads, and finds a thread that changes what it has read, and what another one has written with the
    /// same instruction, before that read or after it. False if there are too many.
    fn update(
        &mut self,
        address: u64,
        (at, new, alike): (&At<'_>, &New<'_>, &Alike),
        known: &Clock,
        found: &mut Found,
    ) -> bool {
        if new.is_atomic || new.is_strong {
            self.written = None;
            self.readers.clear();
            return true;
        }
        let thread = (alike.when.block, at.thread);
        let own = self.take_reads(thread);
        if !new.is_store {
            let read = Read {
                thread,
                point: at.point,
                number: new.access.number,
            };
            self.note_read(read, alike.when, known);
            return true;
        }
        if !alike.is_change {
            return true;
        }
        let mut is_complete = true;
        if let (Some(written), Some((read, kind))) = (&self.written, own)
            && written.point == at.point
            && written.when.is_unordered(alike.when, known)
        {
            let first = Kept {
                alike: Alike {
                    when: written.when,
                    point: written.point,
                    changes: u64::MAX,
                    ..*alike
                },
                mask: lane_bit(usize::from(written.lane)),
                lanes: vec![(written.lane, 0)],
            };
            let pair = Pair {
                kind,
                second: read.point,
                lane: (at.thread % WARP) as u8,
                read: Some(read.number),
                changes: 0,
                is_in_next_round: false,
            };
            is_complete = add(found, at, address, &first, pair);
        }
        self.note_change(at, alike.when, known);
        is_complete
    }

    /// Takes the reads of a thread away; the one since the last change, or before it, with the kind of pair that a write after it makes.
    fn take_reads(&mut self, thread: (u32, usize)) -> Option<(Read, ExchangeKind)> {
        self.readers.retain(|(read, _)| read.thread != thread);
        let written = self.written.as_mut()?;
        let take = |reads: &mut Vec<Read>| {
            let place = reads.iter().position(|read| read.thread == thread)?;
            Some(reads.remove(place))
        };
        let stale = take(&mut written.stale).map(|read| (read, ExchangeKind::Overwritten));
        let read = take(&mut written.reads).map(|read| (read, ExchangeKind::Updated));
        read.or(stale)
    }

    /// Notes a plain read.
    fn note_read(&mut self, read: Read, when: When, known: &Clock) {
        push_of_few(&mut self.readers, (read, when));
        if let Some(written) = &mut self.written
            && written.when.is_unordered(when, known)
        {
            push_of_few(&mut written.reads, read);
        }
    }

    /// Notes a plain write that changes the content.
    fn note_change(&mut self, at: &At<'_>, when: When, known: &Clock) {
        let before = self.written.take().map_or_else(Vec::new, |before| before.stale);
        let mut stale = before;
        for (read, of_read) in std::mem::take(&mut self.readers) {
            if of_read.is_unordered(when, known) {
                push_of_few(&mut stale, read);
            }
        }
        self.written = Some(Written {
            when,
            lane: (at.thread % WARP) as u8,
            point: at.point,
            reads: Vec::new(),
            stale,
        });
    }
}

/// Adds to a list of which the oldest is dropped where it is full.
fn push_of_few<T>(all: &mut Vec<T>, new: T) {
    if all.len() >= MAX_KEPT_OF_BYTE {
        all.remove(0);
    }
    all.push(new);
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
    /// The bits of an element that the second access may change.
    changes: u64,
    is_in_next_round: bool,
}

impl Pair {
    /// A pair in which the second access is one of a phase.
    fn new(kind: ExchangeKind, at: &At<'_>, (new, alike): (&New<'_>, &Alike), phase: u32) -> Self {
        Self {
            kind,
            second: at.point,
            lane: (at.thread % WARP) as u8,
            read: match kind {
                ExchangeKind::ReadAfterWrite => Some(new.access.number),
                _ => None,
            },
            changes: alike.changes,
            is_in_next_round: new.is_store && new.first_phase < phase,
        }
    }
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
            ExchangeKind::ReadAfterWrite | ExchangeKind::Updated | ExchangeKind::Overwritten => {
                (|example| (example.blocks.1, example.threads.1), pair.read)
            }
            ExchangeKind::WriteAfterRead => (|example| (example.blocks.0, example.threads.0), Some(earlier)),
            ExchangeKind::TwoWrites => (|_| (0, 0), None),
        };
        let example = Example {
            threads,
            blocks,
            read,
            changes: old.alike.changes | pair.changes,
        };
        let mut known = exchange.examples.iter();
        if exchange.examples.len() < MAX_EXAMPLES
            && !known.any(|known| (reader(known), known.changes) == (reader(&example), example.changes))
        {
            exchange.examples.push(example);
        }
    }
    true
}
