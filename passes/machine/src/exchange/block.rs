//! Accesses of threads of different warps to the same bytes of shared memory with no barrier of the block between.
//!
//! ```text
//! phase      the number of barriers that the block has passed, all of its threads that have not ended together
//! unordered  two accesses of threads of different warps in one phase
//! ```
//!
//! That is a vector clock for each thread of the block: nothing but a barrier of the block makes a thread of one warp wait for one of
//! another warp here, and it raises all clocks alike. What else may order threads (`may_order`) makes a thread's accesses of the rest of its
//! phase comparable with none.
//!
//! Of a byte, the accesses of the current phase are kept: those of a warp with one instruction together (after FastTrack: Flanagan and
//! Freund, PLDI 2009, which keeps the last write and the reads since).

use rustc_hash::FxHashMap;

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
    /// See [`crate::Accessed::number`].
    pub(super) number: u64,
    /// The phase of the first access of the warp at this point.
    pub(super) first_phase: u32,
}

/// The properties in which accesses of a warp to a byte are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Alike {
    warp: u32,
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

/// A byte of memory.
#[derive(Clone, Debug, Default)]
struct Cell {
    /// The phase of the accesses.
    phase: u32,
    kept: Vec<Kept>,
    /// The byte, if it is known.
    value: Option<u8>,
    /// The warp of the last strong store of the phase.
    strong_writer: Option<u32>,
}

/// The accesses of a block.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockAccesses {
    phase: u32,
    /// By thread, the instructions since the last barrier of the block that may order it with threads of other warps; after a meeting, the
    /// most of those who met.
    since: Vec<u32>,
    bytes: FxHashMap<Byte, Cell>,
    kept: usize,
    is_cut: bool,
}

impl BlockAccesses {
    /// Treats a thread as ordered by the instruction that it executes.
    pub(super) fn may_order(&mut self, thread: usize) {
        if self.since.len() <= thread {
            self.since.resize(thread + 1, 0);
        }
        self.since[thread] = self.since[thread].saturating_add(1);
    }

    fn since(&self, thread: usize) -> u32 {
        self.since.get(thread).copied().unwrap_or(0)
    }

    /// Threads meet: what orders one of them orders all of them.
    pub(super) fn meet(&mut self, threads: &[usize]) {
        for warp in threads.chunk_by(|&one, &other| one / WARP == other / WARP) {
            let most = warp.iter().map(|&thread| self.since(thread)).max().unwrap_or(0);
            for &thread in warp.iter().filter(|_| most > 0) {
                if self.since.len() <= thread {
                    self.since.resize(thread + 1, 0);
                }
                self.since[thread] = most;
            }
        }
    }

    /// The number of barriers that the block has passed.
    pub(super) const fn phase(&self) -> u32 {
        self.phase
    }

    /// The block passes a barrier.
    pub(super) fn pass(&mut self) {
        self.phase += 1;
        self.since.clear();
    }

    /// Compares an access with those before in its phase, and keeps it.
    pub(super) fn access(&mut self, at: &At<'_>, new: &New, found: &mut Found) {
        let (is_global, address) = new.byte;
        if self.is_cut || is_global && !new.is_strong {
            return;
        }
        let (thread, warp, phase) = (at.thread, (at.thread / WARP) as u32, self.phase);
        let count = self.bytes.len();
        let cell = self.bytes.entry(new.byte).or_default();
        if cell.phase != phase {
            cell.phase = phase;
            self.kept -= cell.kept.iter().map(|kept| kept.lanes.len()).sum::<usize>();
            cell.kept.clear();
            cell.strong_writer = None;
        }
        let before = cell.value;
        if new.is_store {
            cell.value = new.value;
            cell.strong_writer = new.is_strong.then_some(warp);
        } else if new.is_strong && cell.strong_writer.is_some_and(|writer| writer != warp) {
            // A flag: the thread knows what the other one has done.
            self.may_order(thread);
            return;
        }
        if is_global || self.since.get(thread).is_some_and(|&since| since > 0) {
            return;
        }
        let lane = (thread % WARP) as u8;
        let bit = lane_bit(thread);
        let is_own = |kept: &&Kept| kept.alike.warp == warp && kept.alike.is_store && kept.mask & bit != 0;
        let own = cell.kept.iter().rev().find(is_own).map(|kept| kept.alike.point);
        let value = if new.is_store { new.value } else { before };
        let alike = Alike {
            warp,
            point: at.point,
            is_store: new.is_store,
            is_strong: new.is_strong,
            is_atomic: new.is_atomic,
            value,
            is_change: value.is_none() || before != value,
            own: own.filter(|_| !new.is_store),
        };
        for kept in &cell.kept {
            if let Some(kind) = kind_of(&kept.alike, &alike) {
                let is_in_next_round = new.is_store && new.first_phase < phase;
                let new = (kind, lane, new.number, is_in_next_round);
                self.is_cut |= !add(found, at, address, kept, new);
            }
        }
        let is_full = cell.kept.len() >= MAX_KEPT_OF_BYTE;
        let known = cell.kept.iter_mut().find(|kept| kept.alike == alike);
        let is_new = match known {
            Some(known) if known.mask & bit != 0 => false,
            Some(known) => {
                known.mask |= bit;
                known.lanes.push((lane, new.number));
                true
            }
            None if is_full => false,
            None => {
                cell.kept.push(Kept {
                    alike,
                    mask: bit,
                    lanes: vec![(lane, new.number)],
                });
                true
            }
        };
        self.kept += usize::from(is_new);
        self.is_cut |= self.kept + count > MAX_KEPT_ACCESSES;
    }
}

/// The kind of a pair of accesses in one phase, if they are of different warps and their order matters.
fn kind_of(old: &Alike, new: &Alike) -> Option<ExchangeKind> {
    if old.warp == new.warp || old.is_strong && new.is_strong {
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

/// Adds a pair with examples; false if there are too many.
fn add(
    found: &mut Found,
    at: &At<'_>,
    address: u64,
    old: &Kept,
    (kind, lane, number, is_in_next_round): (ExchangeKind, u8, u64, bool),
) -> bool {
    let (warp, second_warp) = (old.alike.warp, (at.thread / WARP) as u32);
    let key = (old.alike.point, at.point, kind, None);
    let Some(&(first, _)) = old.lanes.first() else {
        return true;
    };
    let exchange = found.entry(key, || Exchange {
        kind,
        first: at.contexts.site(old.alike.point),
        second: at.site(),
        warp,
        second_warp,
        first_lanes: 0,
        second_lanes: 0,
        example: (first, lane),
        address,
        is_volatile: false,
        is_in_next_round,
        examples: Vec::new(),
    });
    let Some(exchange) = exchange else {
        return false;
    };
    if (exchange.warp, exchange.second_warp) == (warp, second_warp) {
        exchange.first_lanes |= old.mask;
        exchange.second_lanes |= lane_bit(usize::from(lane));
    }
    for &(first, earlier) in &old.lanes {
        let threads = (warp * WARP as u32 + u32::from(first), at.thread as u32);
        let (reader, read): (fn(&Example) -> u32, _) = match kind {
            ExchangeKind::ReadAfterWrite => (|example| example.threads.1, Some(number)),
            ExchangeKind::WriteAfterRead => (|example| example.threads.0, Some(earlier)),
            ExchangeKind::TwoWrites => (|_| 0, None),
        };
        let example = Example { threads, read };
        let mut known = exchange.examples.iter();
        if exchange.examples.len() < MAX_EXAMPLES && !known.any(|known| reader(known) == reader(&example)) {
            exchange.examples.push(example);
        }
    }
    true
}
