//! The agent that performs the asynchronous copies of a run, and the rules that they must obey.
//!
//! ```text
//! View of a thread  clock, done, free   what comes before the next thing that it does: epochs of other threads, copies whose results
//!                                       are there, copies that have read their sources
//! meeting of G      all Views in G become one, and then each thread begins an epoch of its own
//! word of memory    stored by (t, e), with the fences (f, e') since; filled by copies; read by copies
//! ```
//!
//! An ordinary store enters the view of the async proxy at a proxy fence that comes after it, in any thread, and a copy that comes after
//! that fence sees it. A copy is in flight until a thread has waited for it, or comes after one that has: until then, its destination may
//! not be read and its source may not be written. Copies that complete at a barrier in memory are performed when the schedule says so, at
//! the latest when nothing else can continue. Source: PTX ISA, Asynchronous copy; Async Proxy; Completion Mechanisms; mbarrier. A copy by
//! `cp.async` is performed in the generic proxy, and owes no fence here.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ptxcheck_ir::{AccessKind, AsyncGroup, Space};
use rustc_hash::FxHashMap;

use crate::async_view::View;
use crate::launch::WARP;
use crate::limits::{MAX_ASYNC_COPIES, MAX_ASYNC_WRONGS, MAX_FENCES_OF_WORD};
use crate::mbarrier::{Effect, Mbarrier, Phase};
use crate::observe::Event;
use crate::outcome::{AsyncFailure, AsyncWrong, Asynchronous, Awaited, Wrong};
use crate::site::{Contexts, Point};

/// Bytes of a word: memory is tracked in such pieces.
pub(crate) const WORD: u64 = 4;

/// An ordinary store that no later one has overwritten.
#[derive(Clone, Debug)]
struct Stored {
    by: (usize, u32),
    /// Fences between the proxies that come after it.
    fences: Vec<(usize, u32)>,
}

/// A word of shared memory.
#[derive(Clone, Debug, Default)]
struct Held {
    stored: Vec<Stored>,
    is_written: bool,
    filled_by: Vec<u32>,
    read_by: Vec<u32>,
}

/// A copy that some thread started.
#[derive(Clone, Copy, Debug)]
struct Started {
    id: u32,
    group: AsyncGroup,
    /// Groups that the thread had committed, with that of the copy; `None` for one that is in no group yet.
    in_group: Option<u32>,
    /// A barrier in memory tracks it.
    is_tracked: bool,
}

/// A pending action of the agent.
#[derive(Clone, Debug)]
enum Later {
    /// The bytes of a copy arrive at a barrier.
    Arrive { barrier: u64, copy: u32, bytes: i64 },
    /// The copies of a thread so far are complete, and it arrives at a barrier.
    Track { barrier: u64, view: View },
}

/// What went wrong first at a place, and the copy that it is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct First {
    pub(crate) thread: usize,
    pub(crate) point: Point,
    pub(crate) wrong: AsyncWrong,
    copy: Option<u32>,
}

/// The state of all asynchronous operations of a run.
#[derive(Debug, Default)]
pub(crate) struct Agent {
    views: Vec<View>,
    words: FxHashMap<u64, Held>,
    barriers: BTreeMap<u64, Mbarrier>,
    /// By thread.
    started: BTreeMap<usize, Vec<Started>>,
    /// Groups that threads have committed, by thread and kind.
    committed: FxHashMap<(usize, AsyncGroup), u32>,
    later: VecDeque<Later>,
    copies: u32,
    /// Threads that have found a phase incomplete: where, the barrier, and the phase.
    stalled: BTreeMap<usize, (Point, u64, Phase)>,
    /// Tests of phases so far.
    pub(crate) tests: u64,
    /// It follows barriers alone, and no memory.
    is_of_barriers: bool,
    wrongs: BTreeSet<(Point, AsyncWrong)>,
    /// The first of each kind at each place that is about a copy: the thread, and the copy.
    firsts: Vec<First>,
    /// Of these, those that observers know of.
    told: usize,
    /// By number of a copy, from 1 on: where it was started.
    copy_points: Vec<Point>,
    reached: BTreeSet<Point>,
    /// Threads have waited for others in vain: the rest is not an execution of the kernel.
    is_over: bool,
    is_cut: bool,
}

impl Agent {
    /// Of a block with so many threads.
    pub(crate) fn new(threads: usize) -> Self {
        let view = |thread: usize| {
            let mut clock = vec![0; threads];
            clock[thread] = 1;
            View {
                clock,
                ..View::default()
            }
        };
        Self {
            views: (0..threads).map(view).collect(),
            ..Self::default()
        }
    }

    /// That follows barriers in memory alone.
    pub(crate) fn of_barriers() -> Self {
        Self {
            is_of_barriers: true,
            ..Self::default()
        }
    }

    /// True if it follows barriers in memory alone.
    pub(crate) const fn is_of_barriers(&self) -> bool {
        self.is_of_barriers
    }

    /// The failures, and the places that were reached.
    pub(crate) fn outcome(&self, contexts: &Contexts) -> Asynchronous {
        let failures = self.wrongs.iter();
        Asynchronous {
            reached: self.reached.iter().map(|&point| contexts.site(point)).collect(),
            failures: failures
                .map(|&(point, wrong)| (contexts.site(point), wrong))
                .collect(),
            firsts: self
                .firsts
                .iter()
                .map(|first| self.failure(first, contexts))
                .collect(),
            is_cut: self.is_cut,
        }
    }

    fn failure(&self, first: &First, contexts: &Contexts) -> AsyncFailure {
        let started = first
            .copy
            .and_then(|copy| self.copy_points.get(copy as usize - 1));
        AsyncFailure {
            site: contexts.site(first.point),
            wrong: first.wrong,
            thread: first.thread as u32,
            copy: started.map(|&point| contexts.site(point)),
        }
    }

    /// What went wrong since this was asked last.
    pub(crate) fn new_failures(&mut self) -> Vec<First> {
        let told = std::mem::replace(&mut self.told, self.firsts.len());
        self.firsts.get(told..).unwrap_or_default().to_vec()
    }

    /// An event of the run at the instruction of a thread.
    pub(crate) fn on(&mut self, thread: usize, point: Point, event: &Event<'_>) {
        if self.is_of_barriers {
            return;
        }
        match *event {
            Event::Met(threads) | Event::Passed(threads) => self.meet(threads),
            Event::PassedCounted(_, waiting, arrived) => {
                let threads: Vec<usize> = arrived.iter().chain(waiting).copied().collect();
                self.meet(&threads);
            }
            Event::Access(access, _) if access.space == Space::Shared => {
                let words = words(access.address, access.bytes);
                match access.kind {
                    AccessKind::Load => self.load(thread, point, &words),
                    AccessKind::Other => {}
                    AccessKind::Store
                    | AccessKind::Atomic
                    | AccessKind::Reduction
                    | AccessKind::ReadModifyWrite => self.store(thread, point, &words),
                }
            }
            Event::LetGo
            | Event::Wrong(Wrong::Missing | Wrong::Deadlock | Wrong::OtherWarp | Wrong::Unaligned) => {
                self.is_over = true;
            }
            Event::Access(..)
            | Event::Wrong(_)
            | Event::AsyncWrong(_)
            | Event::Visible(_)
            | Event::Branch(_)
            | Event::Fence
            | Event::MayOrder
            | Event::MayWait
            | Event::Arrived(..)
            | Event::AtBarrier
            | Event::Signals(_)
            | Event::Ended => {}
        }
    }

    fn wrong(&mut self, point: Point, wrong: AsyncWrong) {
        if self.is_over {
            return;
        }
        if self.wrongs.len() >= MAX_ASYNC_WRONGS {
            self.is_cut = true;
            return;
        }
        self.wrongs.insert((point, wrong));
    }

    /// The same, about a copy, with the thread that it went wrong in.
    fn wrong_of_copy(&mut self, (thread, point): (usize, Point), wrong: AsyncWrong, copy: Option<u32>) {
        let is_new = !self.is_over && !self.wrongs.contains(&(point, wrong));
        self.wrong(point, wrong);
        if is_new && self.wrongs.contains(&(point, wrong)) {
            self.firsts.push(First {
                thread,
                point,
                wrong,
                copy,
            });
        }
    }

    pub(crate) fn reach(&mut self, point: Point) {
        if !self.is_over {
            self.reached.insert(point);
        }
    }

    fn now(&self, thread: usize) -> (usize, u32) {
        let epoch = self
            .views
            .get(thread)
            .and_then(|view| view.clock.get(thread))
            .copied();
        (thread, epoch.unwrap_or(0))
    }

    /// Begins a new epoch, which separates the thread's released actions from its later ones.
    fn next_epoch(&mut self, thread: usize) {
        if let Some(epoch) = self
            .views
            .get_mut(thread)
            .and_then(|view| view.clock.get_mut(thread))
        {
            *epoch += 1;
        }
    }

    /// Threads have met.
    pub(crate) fn meet(&mut self, threads: &[usize]) {
        let mut all = View::default();
        for &thread in threads {
            if let Some(view) = self.views.get(thread) {
                all.join(view);
            }
        }
        for &thread in threads {
            if let Some(view) = self.views.get_mut(thread) {
                *view = all.clone();
            }
            self.next_epoch(thread);
        }
    }

    /// An ordinary load of shared memory.
    pub(crate) fn load(&mut self, thread: usize, point: Point, words: &[u64]) {
        self.reach(point);
        if let Some(copy) = self.copy_filling(thread, words) {
            self.wrong_of_copy((thread, point), AsyncWrong::ReadEarly, Some(copy));
        }
    }

    /// A copy that may be in flight and fills one of the words.
    fn copy_filling(&self, thread: usize, words: &[u64]) -> Option<u32> {
        let view = self.views.get(thread)?;
        let mut held = words.iter().filter_map(|word| self.words.get(word));
        held.find_map(|held| {
            held.filled_by
                .iter()
                .copied()
                .find(|copy| !view.done.contains(copy))
        })
    }

    /// An ordinary store to shared memory, or an atomic.
    pub(crate) fn store(&mut self, thread: usize, point: Point, words: &[u64]) {
        self.reach(point);
        self.overwrite(thread, point, words);
        let by = self.now(thread);
        let Some(view) = self.views.get(thread) else {
            return;
        };
        for &word in words {
            let held = self.words.entry(word).or_default();
            held.is_written = true;
            held.stored.retain(|stored| !view.has(stored.by));
            held.stored.push(Stored {
                by,
                fences: Vec::new(),
            });
        }
    }

    /// A store overwrites bytes that copies may still read.
    fn overwrite(&mut self, thread: usize, point: Point, words: &[u64]) {
        let Some(view) = self.views.get(thread) else {
            return;
        };
        let mut held = words.iter().filter_map(|word| self.words.get(word));
        let copy = held.find_map(|held| {
            held.read_by
                .iter()
                .copied()
                .find(|copy| !view.free.contains(copy))
        });
        if copy.is_some() {
            self.wrong_of_copy((thread, point), AsyncWrong::SourceOverwritten, copy);
        }
    }

    /// A fence between the proxies that covers shared memory.
    pub(crate) fn fence(&mut self, thread: usize) {
        let now = self.now(thread);
        let Some(view) = self.views.get(thread) else {
            return;
        };
        for held in self.words.values_mut() {
            for stored in &mut held.stored {
                if view.has(stored.by) && stored.fences.len() < MAX_FENCES_OF_WORD {
                    stored.fences.push(now);
                }
            }
        }
    }

    fn new_copy(&mut self, point: Point) -> u32 {
        self.copies += 1;
        self.copy_points.push(point);
        self.is_cut |= self.copies > MAX_ASYNC_COPIES;
        self.copies
    }

    /// A copy begins that reads these words of shared memory.
    pub(crate) fn reads(&mut self, thread: usize, point: Point, group: AsyncGroup, words: &[u64]) {
        self.reach(point);
        if let Some(copy) = self.copy_filling(thread, words) {
            self.wrong_of_copy((thread, point), AsyncWrong::ReadEarly, Some(copy));
        }
        let mut found = Vec::new();
        if let Some(view) = self.views.get(thread) {
            for word in words {
                let Some(held) = self.words.get(word).filter(|held| held.is_written) else {
                    found.push(AsyncWrong::Unwritten);
                    continue;
                };
                let is_seen = |stored: &Stored| {
                    let mut fences = stored.fences.iter();
                    fences.any(|&fence| fence.0 == thread || view.has(fence))
                };
                // If a store does not come before the copy, neither does its fence.
                if held.stored.iter().any(|stored| !is_seen(stored)) {
                    found.push(AsyncWrong::Unfenced);
                }
            }
        }
        for wrong in found {
            self.wrong_of_copy((thread, point), wrong, None);
        }
        let id = self.new_copy(point);
        for &word in words {
            self.words.entry(word).or_default().read_by.push(id);
        }
        self.started.entry(thread).or_default().push(Started {
            id,
            group,
            in_group: None,
            is_tracked: false,
        });
    }

    /// A copy begins that writes these words of shared memory. `at`: the barrier at which it completes, and the bytes.
    pub(crate) fn fills_words(&mut self, thread: usize, point: Point, words: &[u64], at: Option<(u64, i64)>) {
        self.reach(point);
        self.overwrite(thread, point, words);
        let id = self.new_copy(point);
        if let Some(view) = self.views.get(thread) {
            for &word in words {
                let held = self.words.entry(word).or_default();
                held.is_written = true;
                held.stored.retain(|stored| !view.has(stored.by));
                held.filled_by.push(id);
            }
        }
        match at {
            Some((barrier, bytes)) => {
                if self.barriers.contains_key(&barrier) {
                    self.later.push_back(Later::Arrive {
                        barrier,
                        copy: id,
                        bytes,
                    });
                } else {
                    self.wrong(point, AsyncWrong::Uninitialised);
                }
            }
            None => self.started.entry(thread).or_default().push(Started {
                id,
                group: AsyncGroup::Element,
                in_group: None,
                is_tracked: false,
            }),
        }
    }

    /// The end of a group.
    pub(crate) fn commit(&mut self, thread: usize, group: AsyncGroup) {
        let committed = self.committed.entry((thread, group)).or_default();
        *committed += 1;
        for one in self.started.entry(thread).or_default() {
            if one.group == group && one.in_group.is_none() {
                one.in_group = Some(*committed);
            }
        }
    }

    /// A wait until at most so many groups are in flight; `None`: for all copies of the kind.
    pub(crate) fn wait(
        &mut self,
        thread: usize,
        point: Point,
        group: AsyncGroup,
        under_way: Option<u32>,
        read_only: bool,
    ) {
        self.reach(point);
        let committed = self.committed.get(&(thread, group)).copied().unwrap_or(0);
        let started = self.started.get(&thread).map_or(&[][..], Vec::as_slice);
        let view = self.views.get(thread);
        let is_under_way =
            |one: &&Started| !one.is_tracked && view.is_some_and(|view| !view.done.contains(&one.id));
        let of_kind = || started.iter().filter(|one| one.group == group);
        let complete: Vec<u32> = of_kind()
            .filter(|one| match (under_way, one.in_group) {
                (None, _) => true,
                (Some(_), None) => false,
                (Some(under_way), Some(number)) => number + under_way <= committed,
            })
            .map(|one| one.id)
            .collect();
        let is_idle = match of_kind().next() {
            None => started.iter().any(|one| is_under_way(&one)),
            Some(_) => {
                let known = view.map(|view| if read_only { &view.free } else { &view.done });
                let mut new = complete.iter();
                let completes = new.any(|copy| known.is_some_and(|known| !known.contains(copy)));
                let mut open = of_kind().filter(|one| one.in_group.is_none());
                !completes && open.any(|one| is_under_way(&one))
            }
        };
        if is_idle && under_way.is_some() {
            self.wrong(point, AsyncWrong::IdleWait);
        }
        if let Some(view) = self.views.get_mut(thread) {
            view.free.extend(&complete);
            if !read_only {
                view.done.extend(&complete);
            }
        }
    }

    /// Initialises a barrier.
    pub(crate) fn init(&mut self, point: Point, barrier: u64, arrivals: i64) {
        self.reach(point);
        self.barriers.insert(barrier, Mbarrier::new(point, arrivals));
    }

    /// Ends a barrier: its object is memory like any other from here on.
    pub(crate) fn invalidate(&mut self, barrier: u64) {
        self.barriers.remove(&barrier);
    }

    /// Arrives so many times at a barrier, and lets it expect bytes. `drops`: later phases take as many arrivals less.
    pub(crate) fn arrive(
        &mut self,
        (thread, point): (usize, Point),
        barrier: u64,
        (times, drops): (i64, bool),
        bytes: i64,
    ) -> Effect {
        self.reach(point);
        let Some(known) = self.barriers.get_mut(&barrier) else {
            self.wrong(point, AsyncWrong::Uninitialised);
            return Effect::Open;
        };
        if times > 0
            && let Some(view) = self.views.get(thread)
        {
            known.gathered.join(view);
        }
        known.bytes += bytes;
        known.pending -= times;
        if drops {
            known.arrivals -= times;
        }
        let effect = known.settle();
        if times > 0 {
            self.next_epoch(thread);
        }
        effect
    }

    /// The number of phases of a barrier that are complete: the state that an arrival returns.
    pub(crate) fn phases(&self, barrier: u64) -> Option<u64> {
        self.barriers.get(&barrier).map(|known| known.phase)
    }

    /// `cp.async.mbarrier.arrive`.
    pub(crate) fn track(&mut self, thread: usize, point: Point, barrier: u64, increments: bool) -> Effect {
        self.reach(point);
        let Some(known) = self.barriers.get_mut(&barrier) else {
            self.wrong(point, AsyncWrong::Uninitialised);
            return Effect::Open;
        };
        if increments {
            known.pending += 1;
        }
        let mut view = View::default();
        for one in self.started.entry(thread).or_default() {
            if one.group == AsyncGroup::Element {
                one.is_tracked = true;
                view.done.insert(one.id);
            }
        }
        self.later.push_back(Later::Track { barrier, view });
        Effect::Known
    }

    /// `tcgen05.commit`: arrives once the products of a thread so far are complete.
    pub(crate) fn track_products(&mut self, thread: usize, point: Point, barrier: u64) -> Effect {
        self.reach(point);
        if !self.barriers.contains_key(&barrier) {
            self.wrong(point, AsyncWrong::Uninitialised);
            return Effect::Open;
        }
        let view = self.views.get(thread).cloned().unwrap_or_default();
        self.next_epoch(thread);
        self.later.push_back(Later::Track { barrier, view });
        Effect::Known
    }

    /// A copy begins that completes at a barrier, of which nothing else is followed.
    pub(crate) fn copies_to(&mut self, point: Point, barrier: u64, bytes: i64) -> Effect {
        if !self.barriers.contains_key(&barrier) {
            self.wrong(point, AsyncWrong::Uninitialised);
            return Effect::Open;
        }
        self.later.push_back(Later::Arrive {
            barrier,
            copy: 0,
            bytes,
        });
        Effect::Known
    }

    /// True if the phase is complete; then what came before it comes before what the thread does next. `None` if there is no barrier.
    pub(crate) fn test(&mut self, thread: usize, point: Point, barrier: u64, phase: Phase) -> Option<bool> {
        self.reach(point);
        self.tests += 1;
        self.stalled.remove(&thread);
        let Some(known) = self.barriers.get(&barrier) else {
            self.wrong(point, AsyncWrong::Uninitialised);
            return None;
        };
        if !phase.is_complete(known.phase) {
            self.stalled.insert(thread, (point, barrier, phase));
            return Some(false);
        }
        if let Some(view) = self.views.get_mut(thread) {
            view.join(&known.complete);
        }
        Some(true)
    }

    /// True for a thread that has tested a phase at this point, which is still incomplete.
    pub(crate) fn is_stalled(&self, thread: usize, at: Point) -> bool {
        let stalled = self.stalled.get(&thread);
        stalled.is_some_and(|&(point, barrier, phase)| {
            let known = self.barriers.get(&barrier);
            point == at && known.is_some_and(|known| !phase.is_complete(known.phase))
        })
    }

    /// Lets threads that have found phases incomplete test them again.
    pub(crate) fn wake(&mut self) {
        self.stalled.clear();
    }

    /// The phase that a thread waits for.
    pub(crate) fn awaited(&self, thread: usize) -> Option<Awaited> {
        let &(_, address, phase) = self.stalled.get(&thread)?;
        let known = self.barriers.get(&address)?;
        Some(known.awaited(address, phase))
    }

    /// Performs the next pending action; `None` if there is none.
    pub(crate) fn perform(&mut self) -> Option<Effect> {
        let next = self.later.pop_front()?;
        Some(match next {
            Later::Arrive { barrier, copy, bytes } => match self.barriers.get_mut(&barrier) {
                Some(known) => {
                    if copy != 0 {
                        known.gathered.done.insert(copy);
                        known.gathered.free.insert(copy);
                    }
                    known.bytes -= bytes;
                    known.settle()
                }
                None => Effect::Open,
            },
            Later::Track { barrier, view } => match self.barriers.get_mut(&barrier) {
                Some(known) => {
                    known.gathered.join(&view);
                    known.pending -= 1;
                    known.settle()
                }
                None => Effect::Open,
            },
        })
    }

    /// True if an action is pending.
    pub(crate) fn has_work(&self) -> bool {
        !self.later.is_empty()
    }

    /// Only threads that wait for phases can continue; true if there are any.
    pub(crate) fn is_hung(&mut self) -> bool {
        let stalled: Vec<Point> = self.stalled.values().map(|&(point, ..)| point).collect();
        for &point in &stalled {
            self.wrong(point, AsyncWrong::NeverComplete);
        }
        !stalled.is_empty()
    }

    /// The run is over: pending copies are performed, and barriers are checked.
    pub(crate) fn finish(&mut self) {
        while self.perform().is_some() {}
        let unequal = self.barriers.values().filter(|barrier| barrier.bytes != 0);
        let points: Vec<Point> = unequal.filter_map(|barrier| barrier.point).collect();
        for point in points {
            self.wrong(point, AsyncWrong::OtherBytes);
        }
    }
}

/// The words that so many bytes from an address on occupy.
pub(crate) fn words(start: u64, bytes: u64) -> Vec<u64> {
    let most = (WARP as u64) << 10;
    let last = start.saturating_add(bytes.clamp(1, most) - 1);
    (start / WORD..=last / WORD).collect()
}

#[cfg(test)]
mod tests;
