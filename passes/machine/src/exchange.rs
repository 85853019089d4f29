//! Exchanges in a run: threads that access the same bytes of shared or global memory, one of them to write, in no order.
//!
//! Lanes of one warp have clocks (`clocks`): an access of lane m in its epoch e comes before what lane l does next if l knows of the epoch e
//! of m.
//!
//! Lanes meet at collectives with a mask and at barriers of the block, and nowhere else: two accesses that no chain of meetings orders are
//! unordered, no matter which one the schedule of the run executes first (PTX ISA, Memory Consistency Model: causality order). All warps of
//! a block pass its barriers together, so that a warp has clocks of its own. `block` compares accesses of threads of different warps.

mod block;
mod clocks;
mod found;
mod granules;

pub use self::found::{Example, Exchange, ExchangeKind};

use std::collections::hash_map::Entry;

use rustc_hash::{FxHashMap, FxHashSet};

use self::block::BlockAccesses;
use self::clocks::Clocks;
use self::found::Found;
use self::granules::{Divide, Granule, Granules, part_of};
use crate::evaluate::Word;
use crate::launch::{WARP, lane_bit};
use crate::limits::{MAX_KEPT_ACCESSES, MAX_KEPT_OF_BYTE};
use crate::observe::{Accessed, Event, Observer, View};
use crate::outcome::Wrong;
use crate::site::Point;
use crate::world::At;
use ptxcheck_ir::Site;
use ptxcheck_ir::{AccessKind, FunctionId, InstructionId, Semantics, Space};

/// An access to bytes.
#[derive(Clone, Copy, Debug)]
struct Kept {
    lane: u8,
    is_store: bool,
    is_volatile: bool,
    epoch: u32,
    /// See [`LaneClocks::passed`].
    passed: u32,
    /// See [`LaneClocks::since`].
    since: u32,
    point: Point,
    /// The value that is written, if it is known; for a read, what the lane itself wrote last.
    value: Word,
    /// For a read, the epoch and the point in which the lane itself wrote there last.
    own: Option<(u32, Point)>,
}

/// The accesses of the lanes of a warp to a granule.
#[derive(Clone, Debug, Default)]
struct History(Vec<Kept>);

impl Divide for History {
    fn part(&self, first: u32, bytes: u32) -> Self {
        let part = |kept: &Kept| Kept {
            value: part_of(kept.value, first, bytes),
            ..*kept
        };
        Self(self.0.iter().map(part).collect())
    }

    fn weight(&self) -> usize {
        self.0.len()
    }
}

/// The lanes of a warp.
#[derive(Clone, Debug, Default)]
struct LaneClocks {
    clocks: Clocks,
    /// By lane, the number of passed instructions whose ordering effect is unknown; after a meeting, the most of those who met.
    passed: [u32; WARP],
    /// By lane, the instructions that may order it with others which it has executed since it met others last.
    since: [u32; WARP],
    ended: u32,
}

impl LaneClocks {
    /// True if an access of a lane comes before what another does next.
    fn is_before(&self, (lane, epoch): (u8, u32), other: u8) -> bool {
        epoch <= self.clocks.of(usize::from(other))[usize::from(lane)]
    }

    /// Lanes meet, a bit for each: what each did comes before what all of them do next.
    fn meet(&mut self, lanes: u32) {
        self.clocks.meet(lanes);
        let members = || (0..WARP).filter(|lane| lanes >> lane & 1 == 1);
        let passed = members().map(|member| self.passed[member]).max().unwrap_or(0);
        for member in members() {
            self.passed[member] = passed;
            self.since[member] = 0;
        }
    }

    fn may_order(&mut self, lane: usize) {
        self.passed[lane] += 1;
        self.since[lane] += 1;
    }

    /// True if an access comes before all that other lanes have still to do.
    fn is_over(&self, kept: &Kept) -> bool {
        let open = (0..WARP as u8).filter(|&lane| self.ended >> lane & 1 == 0 && lane != kept.lane);
        open.into_iter()
            .all(|lane| self.is_before((kept.lane, kept.epoch), lane))
    }
}

/// The exchanges of a run, as an observer of [`crate::Kernel::run`], for a kernel that is not
/// [sliced](crate::Kernel::sliced). They mean something on targets from sm_70 on, where each lane advances on its own.
///
/// No pair are different values that lanes write to global memory, where any of them may do, atomics, loads that acquire and stores that release, accesses of which the IR has no value (bulk copies, `mbarrier`), writes of equal values or of
/// such that are not known, and a read of what the lane itself has written with the same instruction and the same value, in no order with
/// the other write. Lanes that have passed different numbers of instructions with unknown ordering effects ([`Event::MayOrder`]) are taken
/// to be ordered by them. Flags in memory and atomics order nothing here, but see [`Self::without_atomics`]; a fence may order the accesses of a lane that has read strongly before it
/// ([`Event::Fence`]). After lanes have waited in
/// vain, or at places that they have to execute together, no further accesses are compared.
///
/// ```no_run
/// # use ptxcheck_machine::{Exchanges, Given, Kernel, Setup};
/// # fn show(kernel: &Kernel<'_>, setup: &Setup<'_>) -> Result<(), ptxcheck_machine::Refused> {
/// let mut exchanges = Exchanges::default();
/// kernel.run(setup, &mut Given::default(), &mut exchanges)?;
/// for exchange in exchanges.found() {
///     println!("{:?}: {:?} and {:?}", exchange.kind, exchange.first, exchange.second);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Exchanges {
    warps: FxHashMap<u32, LaneClocks>,
    /// By warp, and true for global memory.
    bytes: Granules<(u32, bool), History>,
    kept: usize,
    found: Found,
    /// By warp and point of an access: the number of barriers that the block had passed at the first one.
    points: FxHashMap<(u32, Point), u32>,
    accessed: FxHashSet<(u32, Site)>,
    /// The threads with a strong read, or an atomic: after one, a fence may order what they do with what others have done.
    strong_readers: FxHashSet<usize>,
    is_over: bool,
    is_cut: bool,
    minds_atomics: bool,
    /// Accesses of threads of one warp are not compared.
    leaves_out_lanes: bool,
    /// The accesses of the block, where those of different warps are compared.
    block: Option<BlockAccesses>,
    /// The number of the block that runs.
    grid_block: u32,
}

impl Exchanges {
    /// Only those of lanes that have executed nothing since they met others last that might order them by a way of its own: no
    /// atomic, no fence, no load that acquires. So no turns that lanes take by flags and locks are an exchange.
    #[must_use]
    pub fn without_atomics() -> Self {
        Self {
            minds_atomics: true,
            ..Self::default()
        }
    }

    /// Those of threads of different warps through shared memory, too: see [`Exchange::is_across_warps`]. Threads are ordered by barriers of
    /// the block alone, and those of some warps by barriers with a count. A thread that has executed since the last one what may order it
    /// with others in another way has none: an atomic, a fence, a load that acquires, a barrier whose count is never complete, a bulk copy, a
    /// strong load of what a thread of another warp has written with a strong store, a loop that reads memory and whose end is not known. Nor
    /// are strong accesses any among themselves, accesses of a thread that has ended before the next barrier, and writes of the value that the
    /// byte has already.
    #[must_use]
    pub fn with_block(self) -> Self {
        Self {
            block: Some(BlockAccesses::default()),
            ..self
        }
    }

    /// None of lanes of one warp.
    #[must_use]
    pub fn without_lanes(self) -> Self {
        Self {
            leaves_out_lanes: true,
            ..self
        }
    }

    /// The exchanges, in the order of the run: each pair of sites once for each warp and kind, and of different warps once for each kind.
    #[must_use]
    pub fn found(&self) -> &[Exchange] {
        &self.found.all
    }

    /// True if a lane of a warp executed a load or a store of shared or global memory at a site.
    #[must_use]
    pub fn has_accessed(&self, warp: u32, site: &Site) -> bool {
        self.accessed.contains(&(warp, site.clone()))
    }

    /// True if a lane of some warp did.
    #[must_use]
    pub fn is_accessed(&self, site: &Site) -> bool {
        self.accessed.iter().any(|(_, other)| other == site)
    }

    /// True if there were more than the limits allow to keep, so that some may not have been found.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Those of threads of different warps or blocks through global memory, with these instructions, and no others. Barriers of the block order
    /// threads of one block, and so does what [`Self::with_block`] lists. Threads of different blocks are ordered from where one of them
    /// has seen what the other has done: by a strong load of what a thread of another warp has written with a strong store or an atomic, by
    /// an access that acquires or releases, or by an atomic on what others have written so and a fence after it. A barrier hands that
    /// on to the whole block, and lanes that meet to each other. Atomics alone order nothing.
    #[must_use]
    pub fn of_grid(instructions: impl IntoIterator<Item = (FunctionId, InstructionId)>) -> Self {
        Self {
            leaves_out_lanes: true,
            block: Some(BlockAccesses::of_grid(instructions.into_iter().collect())),
            ..Self::default()
        }
    }

    /// Treats a lane as ordered by the instruction that it executes.
    fn may_order(&mut self, thread: usize) {
        if let Some(block) = &mut self.block {
            block.may_order(thread);
        }
        let clocks = self.warps.entry((thread / WARP) as u32).or_default();
        clocks.may_order(thread % WARP);
    }

    /// The threads of another block begin.
    fn enter_block(&mut self, number: u32) {
        self.grid_block = number;
        self.strong_readers.clear();
        self.warps.clear();
        self.points.clear();
        if let Some(block) = &mut self.block {
            block.enter(number);
        }
    }

    fn meet(&mut self, threads: &[usize]) {
        if let Some(block) = &mut self.block {
            block.meet(threads);
        }
        for warp in threads.chunk_by(|&one, &other| one / WARP == other / WARP) {
            let lanes = warp.iter().fold(0, |lanes, &thread| lanes | lane_bit(thread));
            let number = (warp[0] / WARP) as u32;
            self.warps.entry(number).or_default().meet(lanes);
        }
    }

    fn access(&mut self, at: &At<'_>, view: &View<'_>, access: Accessed, stored: &[Word]) {
        if access.kind != AccessKind::Store
            && (access.kind != AccessKind::Load || access.semantics != Semantics::Weak)
        {
            self.strong_readers.insert(at.thread);
        }
        let is_store = match access.kind {
            AccessKind::Load => false,
            AccessKind::Store => true,
            AccessKind::Atomic | AccessKind::Reduction | AccessKind::ReadModifyWrite | AccessKind::Other => {
                self.access_of_atomic(at, access);
                if self.minds_atomics {
                    self.may_order(at.thread);
                }
                return;
            }
        };
        let is_shared = matches!(access.space, Space::Shared | Space::Global);
        let is_strong = access.semantics != Semantics::Weak;
        if let Some(block) = &mut self.block {
            if access.is_ordering {
                block.acquire(at.thread);
            }
            if !block.minds(at, is_strong) {
                return;
            }
        }
        if !is_shared || access.is_ordering {
            return;
        }
        let is_global = access.space == Space::Global;
        let first_phase = self.first_phase(at);
        let stored = |granule: Granule| {
            let element = access.element.max(1);
            let word = stored.get((granule.offset / element) as usize).copied().flatten();
            let first = (granule.offset % element) as u32;
            part_of(word.filter(|_| element <= 8), first, granule.bytes)
        };
        if let Some(block) = &mut self.block {
            let new = block::New {
                access: &access,
                is_store,
                is_strong,
                is_atomic: false,
                first_phase,
            };
            let before = |granule: Granule| {
                let word = view.global_word(granule.address, granule.bytes.into());
                word.filter(|_| is_global)
            };
            block.access(at, &new, stored, before, &mut self.found);
        }
        if !self.leaves_out_lanes {
            let kept = Kept {
                lane: (at.thread % WARP) as u8,
                is_store,
                is_volatile: access.semantics == Semantics::Volatile,
                epoch: 0,
                passed: 0,
                since: 0,
                point: at.point,
                value: None,
                own: None,
            };
            self.access_of_lane(at, &access, kept, stored);
        }
    }

    /// The number of barriers that the block had passed at the first access of the warp there, which may be this one.
    fn first_phase(&mut self, at: &At<'_>) -> u32 {
        let warp = (at.thread / WARP) as u32;
        match self.points.entry((warp, at.point)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let phase = self.block.as_ref().map_or(0, BlockAccesses::phase);
                self.accessed.insert((warp, at.site()));
                *new.insert(phase)
            }
        }
    }

    /// An atomic beside plain accesses of other warps is a write of an unknown value.
    fn access_of_atomic(&mut self, at: &At<'_>, access: Accessed) {
        if !matches!(access.space, Space::Shared | Space::Global) {
            return;
        }
        if self.block.is_none() {
            return;
        }
        let first_phase = self.first_phase(at);
        if let Some(block) = &mut self.block {
            if access.is_ordering {
                block.acquire(at.thread);
            }
            let new = block::New {
                access: &access,
                is_store: true,
                is_strong: true,
                is_atomic: true,
                first_phase,
            };
            block.access(at, &new, |_| None, |_| None, &mut self.found);
        }
    }

    /// Holds an access against those before of lanes of the warp, and keeps it. `stored`: the value that is written to a granule.
    fn access_of_lane(
        &mut self,
        at: &At<'_>,
        access: &Accessed,
        new: Kept,
        stored: impl Fn(Granule) -> Word,
    ) {
        let warp = (at.thread / WARP) as u32;
        let is_global = access.space == Space::Global;
        let clocks = self.warps.entry(warp).or_default();
        let lane = usize::from(new.lane);
        let new = Kept {
            epoch: clocks.clocks.epoch(lane),
            passed: clocks.passed[lane],
            since: clocks.since[lane],
            ..new
        };
        let mut pairs: Vec<(u64, Kept, Kept, ExchangeKind)> = Vec::new();
        let minds_atomics = self.minds_atomics;
        let (mut added, mut dropped) = (0, 0);
        let place = (access.address, access.bytes, access.element);
        let divided = self
            .bytes
            .each((warp, is_global), place, |granule, History(known)| {
                let mut new = Kept {
                    value: stored(granule),
                    ..new
                };
                if !new.is_store {
                    let own = known.iter().filter(|kept| kept.is_store && kept.lane == new.lane);
                    if let Some(last) = own.max_by_key(|kept| kept.epoch) {
                        (new.own, new.value) = (Some((last.epoch, last.point)), last.value);
                    }
                }
                let open = known
                    .iter()
                    .filter(|kept| kept.lane != new.lane && kept.passed == new.passed)
                    .filter(|kept| !minds_atomics || (kept.since, new.since) == (0, 0))
                    .filter(|kept| !clocks.is_before((kept.lane, kept.epoch), new.lane))
                    .filter_map(|kept| Some((granule.address, *kept, new, kind_of(clocks, kept, &new)?)))
                    .filter(|(.., kind)| !(is_global && *kind == ExchangeKind::TwoWrites));
                pairs.extend(open);
                let same = |kept: &Kept| {
                    let of = |kept: &Kept| (kept.lane, kept.point, kept.passed, kept.since);
                    let is_one = of(kept) == of(&new);
                    is_one && (kept.epoch == new.epoch || !kept.is_store)
                };
                dropped += known.len();
                // The last write of an epoch stays the last of those with equal epochs: the lane reads it next.
                known.retain(|kept| !same(kept));
                if known.len() >= MAX_KEPT_OF_BYTE {
                    known.retain(|kept| !clocks.is_over(kept));
                }
                known.push(new);
                added += known.len();
            });
        self.kept = (self.kept + added + divided).saturating_sub(dropped);
        if self.kept + self.points.len() > MAX_KEPT_ACCESSES {
            self.is_cut = true;
        }
        for (address, old, new, kind) in pairs {
            self.add(at, address, (old, new), kind);
        }
    }

    fn add(&mut self, at: &At<'_>, address: u64, (old, new): (Kept, Kept), kind: ExchangeKind) {
        let warp = (at.thread / WARP) as u32;
        let key = (old.point, new.point, kind, Some(warp));
        let found = self.found.entry(key, || Exchange {
            kind,
            first: at.contexts.site(old.point),
            second: at.site(),
            warp,
            second_warp: warp,
            blocks: (at.block, at.block),
            first_lanes: 0,
            second_lanes: 0,
            example: (old.lane, new.lane),
            address,
            is_volatile: old.is_volatile && new.is_volatile,
            is_in_next_round: false,
            examples: Vec::new(),
        });
        match found {
            Some(found) => {
                found.first_lanes |= lane_bit(usize::from(old.lane));
                found.second_lanes |= lane_bit(usize::from(new.lane));
            }
            None => self.is_cut = true,
        }
    }
}

/// The kind of a pair of accesses of two lanes in no order, if it is one.
fn kind_of(clocks: &LaneClocks, old: &Kept, new: &Kept) -> Option<ExchangeKind> {
    let is_known = old.value.is_some() && new.value.is_some();
    let are_equal = is_known && old.value == new.value;
    // Lanes that all write the same with one instruction, in no order, may read it.
    let is_own = |read: &Kept, write: &Kept| {
        read.own.is_some_and(|(epoch, point)| {
            are_equal && point == write.point && !clocks.is_before((read.lane, epoch), write.lane)
        })
    };
    match (old.is_store, new.is_store) {
        (false, false) => None,
        (true, true) => (is_known && !are_equal).then_some(ExchangeKind::TwoWrites),
        (true, false) => (!is_own(new, old)).then_some(ExchangeKind::ReadAfterWrite),
        (false, true) => (!is_own(old, new)).then_some(ExchangeKind::WriteAfterRead),
    }
}

impl Observer for Exchanges {
    fn on(&mut self, at: &At<'_>, event: &Event<'_>, view: &View<'_>) {
        if self.is_over || self.is_cut {
            return;
        }
        if self.grid_block != at.block {
            self.enter_block(at.block);
        }
        let warp = (at.thread / WARP) as u32;
        match *event {
            Event::Access(access, stored) => self.access(at, view, access, stored),
            Event::Met(threads) => self.meet(threads),
            Event::Passed(threads) => {
                self.meet(threads);
                if let Some(block) = &mut self.block {
                    block.pass(threads);
                }
            }
            Event::Signals(number) => {
                let clocks = self.warps.entry(warp).or_default();
                clocks.may_order(at.thread % WARP);
                if let Some(block) = &mut self.block {
                    block.signal(at.thread, number);
                }
            }
            Event::PassedCounted(number, threads, _) => {
                self.meet(threads);
                if let Some(block) = &mut self.block {
                    block.pass_counted(number, threads);
                }
            }
            Event::Fence if !self.strong_readers.contains(&at.thread) => {}
            Event::Fence | Event::MayOrder => self.may_order(at.thread),
            Event::MayWait => {
                if let Some(block) = &mut self.block {
                    block.may_order(at.thread);
                    block.acquire(at.thread);
                }
            }
            Event::Ended => self.warps.entry(warp).or_default().ended |= lane_bit(at.thread),
            Event::LetGo
            | Event::Wrong(Wrong::Missing | Wrong::Deadlock | Wrong::OtherWarp | Wrong::Unaligned) => {
                self.is_over = true;
            }
            Event::Wrong(_)
            | Event::AsyncWrong(_)
            | Event::Visible(_)
            | Event::Branch(_)
            | Event::Arrived(..)
            | Event::AtBarrier => {}
        }
    }
}
