//! Screen: the kernels that may lack a barrier of the block, and the warps to look at. On the paths from one point without an ordering of
//! the block, threads of different warps may access the same bytes of shared memory, at least one of them with a write.
//!
//! All paths count, those to later rounds of a loop, too, where the branches of a warp are not decided.

use std::cell::LazyCell;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Cuts, ExchangeScreen, Pieces, word_indices};
use crate::block_size::{self, Compared};
use crate::lanes::exchange::kernels::kernels_that_call;
use crate::lanes::exchange::orderings::{Among, Orderings, relaxed_atomic, unordered_access};
use crate::lanes::launch::{Launch, MAX_WARPS, launches_of};
use crate::lanes::value::{Lanes, WARP, lanes_in_set};
use crate::limits::{MAX_BLOCK_WARPS, MAX_EXCHANGE_INSTRUCTIONS};
use crate::shared::Shared;
use crate::threads::Threads;
use crate::value::{Atom, Terms};
use ptxcheck_ir::{AccessKind, BlockId, Body, Function, FunctionId, InstructionId, Op, Rare, Space, Value};

/// A kernel that may lack a barrier.
pub(crate) struct BlockSuspect {
    /// The kernel.
    pub kernel: FunctionId,
    /// The warps of which accesses may meet, lowest first; at least two.
    pub warps: Vec<u32>,
}

/// The kernels that may lack a barrier of the block, in the order of the input.
pub(crate) fn suspect_kernels(module: &Shared<'_>) -> Vec<BlockSuspect> {
    let suspect = |id, function: &Function<'_>, body: &_| {
        if function.is_damaged || module.deadline.is_over_at_step() {
            return (id, false, None);
        }
        let may_meet = may_meet_by_counts(module, id, body);
        if !may_have_conflict(module, body) {
            return (id, may_meet, None);
        }
        let search = BlockScreen::new(module, id, body, Compared::Single);
        let warps = search.and_then(|mut search| search.meeting_warps());
        (id, may_meet || warps.is_some(), warps)
    };
    let mut marked = vec![false; module.module.functions.len()];
    let mut warps: FxHashMap<FunctionId, Vec<u32>> = FxHashMap::default();
    for (id, is_suspect, of_function) in module.map_bodies(suspect) {
        marked[id.index()] = is_suspect;
        warps.extend(of_function.map(|of_function| (id, of_function)));
    }
    if module.deadline.is_over() {
        return Vec::new();
    }
    suspects_from_marks(module, marked, &warps)
}

/// True if a function writes to memory that may be shared, and accesses it at another place, too.
fn may_have_conflict(module: &Shared<'_>, body: &Body<'_>) -> bool {
    if body.instructions.len() > MAX_EXCHANGE_INSTRUCTIONS {
        return false;
    }
    let (stores, accesses) = count_accesses(body, names_shared(module, body));
    stores > 0 && accesses > 1
}

/// True if a function has a barrier with a count of threads that may be known: it may order some warps of a block, and leave others out.
fn may_meet_by_counts(module: &Shared<'_>, id: FunctionId, body: &Body<'_>) -> bool {
    if !body.has(Rare::BARRIER) || body.instructions.len() > MAX_EXCHANGE_INSTRUCTIONS {
        return false;
    }
    let is_kernel = module.module.function(id).is_kernel();
    let threads = LazyCell::new(|| Threads::of_warp(body, module.function(id), 0));
    body.instructions.iter().any(|instruction| match instruction.op {
        Op::Barrier(barrier) if barrier.counted => {
            let count = body.uses(instruction).get(1);
            // The caller may say it.
            !is_kernel || count.is_some_and(|&count| threads.value_in_lane(count, 0).is_some())
        }
        _ => false,
    })
}

/// True if a function names a variable in shared memory.
fn names_shared(module: &Shared<'_>, body: &Body<'_>) -> bool {
    body.values.iter().any(|value| {
        matches!(value, Value::Symbol(symbol, _) if module.module.symbol(*symbol).space == Space::Shared)
    })
}

/// The stores to memory that may be shared, and the loads and stores. `has_generic`: accesses with generic addresses count.
fn count_accesses(body: &Body<'_>, has_generic: bool) -> (usize, usize) {
    let (mut stores, mut accesses) = (0, 0);
    for (at, instruction) in body.iter() {
        if let Some((access, ..)) = unordered_access(body, at, instruction, Among::Warps)
            && (access.space == Space::Shared || access.space == Space::Generic && has_generic)
        {
            accesses += 1;
            stores += usize::from(access.kind == AccessKind::Store);
        }
    }
    (stores, accesses)
}

/// True if a kernel and the functions that it calls name shared memory, write to it, and access it at another place, too.
fn may_have_conflict_with_callees(module: &Shared<'_>, kernel: FunctionId) -> bool {
    if module.call_graph().calls_of(kernel).is_empty() {
        return false;
    }
    let mut reached = vec![false; module.module.functions.len()];
    reached[kernel.index()] = true;
    module.call_graph().mark_callees(&mut reached, |_| true);
    let (mut stores, mut accesses, mut is_named) = (0, 0, false);
    for (_, _, body) in module.module.bodies().filter(|(id, ..)| reached[id.index()]) {
        let (of_body, all) = count_accesses(body, true);
        (stores, accesses) = (stores + of_body, accesses + all);
        is_named |= names_shared(module, body);
        if of_body > 0 && body.instructions.len() > MAX_EXCHANGE_INSTRUCTIONS {
            return false;
        }
    }
    is_named && stores > 0 && accesses > 1
}

/// True if a function changes shared memory with atomics, and accesses it in other ways, too.
fn has_atomic_beside_plain(body: &Body<'_>) -> bool {
    let has_atomic = || {
        body.instructions
            .iter()
            .any(|one| relaxed_atomic(body, one).is_some())
    };
    let is_plain = |(at, instruction)| {
        unordered_access(body, at, instruction, Among::Warps)
            .is_some_and(|(access, ..)| access.space != Space::Global)
    };
    has_atomic() && body.iter().any(is_plain)
}

/// The warps whose accesses are compared: most pairs are pairs of two of these.
const WARPS: [u32; 9] = [0, 1, 2, 3, 4, 7, 8, 15, 16];

/// So many of them are compared in each case, and the others if not each thread keeps to a place of its own.
const FIRST_WARPS: usize = 2;

/// The kernels with code in which the barriers of the block do not separate a write to shared memory from a read, in the order of the
/// input, with the first two warps and those whose accesses may meet.
pub(crate) fn possible_suspect_kernels(module: &Shared<'_>) -> Vec<BlockSuspect> {
    let mut marked = vec![false; module.module.functions.len()];
    let mut warps: FxHashMap<FunctionId, Vec<u32>> = FxHashMap::default();
    for (id, function, body) in module.module.bodies() {
        if function.is_damaged || body.instructions.len() > MAX_EXCHANGE_INSTRUCTIONS {
            continue;
        }
        marked[id.index()] |= may_meet_by_counts(module, id, body);
        let is_mixed = has_atomic_beside_plain(body);
        if (is_mixed || may_have_conflict(module, body))
            && let Some(mut search) = BlockScreen::new(module, id, body, Compared::Any)
        {
            let heads = search.heads();
            marked[id.index()] |= is_mixed || heads.into_iter().any(|head| search.may_lead_to_pair(head));
            if marked[id.index()] {
                let mut found = search.meeting_warps().unwrap_or_default();
                found.extend([0, 1]);
                found.sort_unstable();
                found.dedup();
                warps.insert(id, found);
            }
        }
        marked[id.index()] |= function.is_kernel() && may_have_conflict_with_callees(module, id);
    }
    suspects_from_marks(module, marked, &warps)
}

/// The kernels that are marked or call a marked function, each with these warps, or the first two.
fn suspects_from_marks(
    module: &Shared<'_>,
    marked: Vec<bool>,
    warps: &FxHashMap<FunctionId, Vec<u32>>,
) -> Vec<BlockSuspect> {
    let kernels = kernels_that_call(module, marked);
    let suspects = kernels.into_iter().map(|kernel| BlockSuspect {
        kernel,
        warps: warps.get(&kernel).cloned().unwrap_or_else(|| vec![0, 1]),
    });
    suspects.collect()
}

/// The search in one function.
struct BlockScreen<'a, 'm> {
    module: &'a Shared<'m>,
    id: FunctionId,
    body: &'a Body<'m>,
    cuts: Cuts,
    pieces: Rc<Pieces>,
    has_barrier: bool,
    /// Most warps of a block.
    most: u32,
    /// The warps that are compared, lowest first.
    warps: Vec<u32>,
    /// Those of them with threads that comparisons of the thread number pick out.
    compared: Vec<u32>,
    /// By block: the number of the last search that has reached it.
    seen: Vec<u32>,
    searches: u32,
    /// The screens of single warps, each with the number of its warp.
    screens: Vec<(u32, ExchangeScreen<'a, 'm>)>,
}

/// A block, and the piece in it.
type Head = (BlockId, usize);

impl<'a, 'm> BlockScreen<'a, 'm> {
    /// The search in a function; `None` if its blocks have one warp.
    fn new(module: &'a Shared<'m>, id: FunctionId, body: &'a Body<'m>, compared: Compared) -> Option<Self> {
        let (most, may_be_stated) = match module.module.function(id).is_kernel() {
            true => {
                let launches = launches_of(module, id, module.reads_other_dimensions(id));
                let most = launches.iter().map(Launch::warp_count).max()?;
                (most, launches.iter().any(|launch| launch.shape.is_some()))
            }
            false => (MAX_WARPS, true),
        };
        let counts_warps =
            || body.has(Rare::BARRIER) && block_size::computes_warp_number(body, module.function(id));
        let cuts = Cuts {
            orderings: Orderings::of_body(body, Among::Warps),
            at_collectives: !(may_be_stated || body.collectives.is_empty() || counts_warps()),
            of_groups: Vec::new(),
        };
        let mut warps = WARPS.to_vec();
        let mut compared = block_size::compared_warps(body, compared);
        compared.truncate(MAX_BLOCK_WARPS);
        warps.extend(&compared);
        warps.sort_unstable();
        warps.dedup();
        (most > 1).then(|| Self {
            module,
            id,
            body,
            pieces: Rc::new(Pieces::new(body, &cuts)),
            cuts,
            has_barrier: body.has(Rare::BARRIER),
            most,
            warps,
            compared,
            seen: vec![0; body.blocks.len()],
            searches: 0,
            screens: Vec::new(),
        })
    }

    /// The entry, and the pieces that follow barriers, or collectives that are cuts.
    fn heads(&mut self) -> Vec<Head> {
        let (body, cuts) = (self.body, &self.cuts);
        let pieces = Rc::clone(&self.pieces);
        let mut heads = vec![(BlockId::new(0), 0)];
        let order = self.module.function(self.id).cfg().reverse_postorder();
        for &block in order {
            let mut piece = pieces.pieces_of(block.index()).start;
            for number in body.blocks[block.index()].instructions.range() {
                let (at, instruction) = (InstructionId::new(number), &body.instructions[number]);
                if cuts.ends_piece(body, at, instruction) {
                    piece += 1;
                    if matches!(instruction.op, Op::Barrier(_) | Op::Collective(..)) {
                        heads.push((block, piece));
                    }
                }
            }
        }
        heads
    }

    /// The warps whose accesses may meet, the lowest first; `None` if there are none.
    fn meeting_warps(&mut self) -> Option<Vec<u32>> {
        let mut found: Vec<u32> = Vec::new();
        for head in self.heads() {
            if let Some((lower, higher)) = self.meeting_warp_pair(head) {
                found.extend([lower, higher]);
            }
        }
        if !found.is_empty() {
            // Where the branch that picks a thread out is not known here, the search stops at the first warps.
            found.extend(self.compared.iter().filter(|&&warp| warp < self.most));
        }
        found.sort_unstable();
        found.dedup();
        found.truncate(MAX_BLOCK_WARPS);
        (found.len() > 1).then_some(found)
    }

    fn of_warp(&mut self, warp: u32) -> &mut ExchangeScreen<'a, 'm> {
        let place = self.screens.iter().position(|(known, _)| *known == warp);
        let place = place.unwrap_or_else(|| {
            let pieces = Rc::clone(&self.pieces);
            let screen = ExchangeScreen::of_warp(self.module, self.id, self.body, warp, pieces);
            self.screens.push((warp, screen));
            self.screens.len() - 1
        });
        &mut self.screens[place].1
    }

    /// True if code after a head, before an ordering of the block, has a write and a read, or two writes of values that are known,
    /// whatever threads execute it.
    fn may_lead_to_pair(&mut self, (block, piece): Head) -> bool {
        self.searches += 1;
        let mut open = vec![(block, piece)];
        let (mut stores, mut has_load) = (Vec::new(), false);
        while let Some((block, piece)) = open.pop() {
            for access in &self.pieces.all[self.pieces.accesses[piece].clone()] {
                match access.is_store {
                    _ if access.is_global => {}
                    true => stores.push(access.stored),
                    false => has_load = true,
                }
            }
            if has_load && !stores.is_empty() {
                return true;
            }
            if piece + 1 == self.pieces.pieces_of(block.index()).end {
                for &next in self.body.successors(block) {
                    if std::mem::replace(&mut self.seen[next.index()], self.searches) != self.searches {
                        open.push((next, self.pieces.first[next.index()] as usize));
                    }
                }
            }
        }
        let screen = self.of_warp(0);
        let mut stored = stores.into_iter().flatten();
        stored.any(|value| screen.value_in_each_lane(value).is_some())
    }

    /// Two warps whose accesses after a head may meet.
    fn meeting_warp_pair(&mut self, head: Head) -> Option<(u32, u32)> {
        if !self.may_lead_to_pair(head) {
            return None;
        }
        let first: Vec<usize> = (0..FIRST_WARPS).collect();
        let groups = match self.access_groups_after(head, &first) {
            Some(groups) => groups,
            None => return Some((0, 1)),
        };
        if groups.iter().any(|group| self.meets_lower_warp(group, 1)) {
            return Some((0, 1));
        }
        let further = || (FIRST_WARPS..self.warps.len()).filter(|&place| self.warps[place] < self.most);
        let mut predicted: Vec<(usize, usize)> = Vec::new();
        for mut group in groups.into_iter().filter(|group| !group.is_thread_private()) {
            let Some(steps) = group.offset_steps_between_warps() else {
                predicted.extend(further().map(|place| (0, place)));
                continue;
            };
            let warps = further().map(|place| self.warps[place]);
            if !group.may_meet_in_further_warps(&steps, warps) {
                continue;
            }
            for place in further() {
                group.add_extrapolated_accesses(&steps, place, self.warps[place]);
                let met = group.lower_warp_meeting(place, self.is_warp_known_to_exist(place));
                predicted.extend(met.map(|other| (other, place)));
            }
        }
        let is_compared = |place: &usize| self.compared.contains(&self.warps[*place]);
        predicted.extend(further().filter(is_compared).map(|place| (0, place)));
        predicted.sort_unstable_by_key(|&(other, place)| (place, other));
        let mut compared: Vec<usize> = first;
        for (other, place) in predicted {
            compared.extend([other, place]);
            compared.sort_unstable();
            compared.dedup();
            let groups = self.access_groups_after(head, &compared)?;
            if let Some(met) = groups
                .iter()
                .find_map(|group| group.lower_warp_meeting(place, self.is_warp_known_to_exist(place)))
            {
                return Some((self.warps[met], self.warps[place]));
            }
        }
        None
    }

    /// The accesses after a head of the warps at these places of [`Self::warps`], where they may be pairs; `None` if the lane analysis may know
    /// an address that is not known here.
    fn access_groups_after(&mut self, head: Head, places: &[usize]) -> Option<Vec<Group>> {
        let mut groups: Vec<Group> = Vec::new();
        for &place in places {
            let screen = self.of_warp(self.warps[place]);
            let made = screen.accesses_after(head);
            if screen.add_to_groups(&made, place, &mut groups) == KnownAddresses::NotAll {
                return None;
            }
        }
        for group in &mut groups {
            for number in group.stores_that_may_meet() {
                let access = group.all[number];
                let screen = self.of_warp(self.warps[access.warp]);
                let stored = screen.pieces.all[access.access].stored;
                group.all[number].values = stored.and_then(|value| screen.value_in_each_lane(value));
            }
        }
        groups.retain(Group::may_have_conflict);
        Some(groups)
    }

    /// True if the accesses of a group by the warp at a place of [`BlockScreen::warps`] meet those of a lower warp.
    fn meets_lower_warp(&self, group: &Group, place: usize) -> bool {
        group
            .lower_warp_meeting(place, self.is_warp_known_to_exist(place))
            .is_some()
    }

    /// True if something shows that blocks have the warp at a place of [`BlockScreen::warps`].
    fn is_warp_known_to_exist(&self, place: usize) -> bool {
        !self.cuts.at_collectives || self.has_barrier && place == 1
    }
}

/// Whether all addresses are known that the lane analysis may know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KnownAddresses {
    All,
    NotAll,
}

/// An access of the lanes of one warp.
#[derive(Clone, Copy)]
struct GroupAccess {
    /// The access.
    access: usize,
    /// The place of the warp in [`BlockScreen::warps`].
    warp: usize,
    is_store: bool,
    /// The values that are written, where known in all lanes, of a store that may meet one of another warp.
    values: Option<[u64; WARP]>,
    bytes: i64,
    lanes: Lanes,
    /// By lane.
    offsets: [i64; WARP],
    /// The least offset of a lane, and the end of the greatest.
    range: (i64, i64),
}

/// The least offset of some lanes, and the end of the greatest, for accesses of this size.
fn byte_range(offsets: &[i64; WARP], set: Lanes, bytes: i64) -> (i64, i64) {
    let (least, most) = lanes_in_set(set).fold((i64::MAX, i64::MIN), |(least, most), lane| {
        (least.min(offsets[lane]), most.max(offsets[lane]))
    });
    (least, most.saturating_add(bytes))
}

/// The accesses of some warps that count from one base.
struct Group {
    base: Terms,
    all: Vec<GroupAccess>,
}

impl Group {
    /// True if one access may be a write, and another one a read, or a write of another value.
    fn may_have_conflict(&self) -> bool {
        let mut stores = self.all.iter().filter(|access| access.is_store);
        let has_load = self.all.iter().any(|access| !access.is_store);
        stores.any(|store| has_load || store.values.is_some())
    }

    /// The writes with offsets in the range of those of a write by another warp.
    fn stores_that_may_meet(&self) -> Vec<usize> {
        let stores = || self.all.iter().enumerate().filter(|(_, access)| access.is_store);
        let may_meet = |one: &GroupAccess| {
            stores().any(|(_, other)| {
                one.warp != other.warp && one.range.0 < other.range.1 && other.range.0 < one.range.1
            })
        };
        stores()
            .filter(|(_, access)| may_meet(access))
            .map(|(number, _)| number)
            .collect()
    }

    /// True if each thread has a place of its own for all of these accesses, as far as the first warps show.
    fn is_thread_private(&self) -> bool {
        let first_of = |warp: usize| self.all.iter().find(|access| access.warp == warp);
        self.all.iter().all(|access| {
            first_of(access.warp)
                .is_some_and(|first| first.offsets == access.offsets && first.bytes == access.bytes)
        })
    }

    /// By access of warp 1: how much larger its offsets are than those of warp 0, if that is one number for all lanes. Then they are likely
    /// to be as far apart in the further warps.
    fn offset_steps_between_warps(&self) -> Option<Vec<i64>> {
        let of_warp = |warp: usize| self.all.iter().filter(move |access| access.warp == warp);
        let step = |second: &GroupAccess| {
            let first = of_warp(0).find(|first| first.access == second.access)?;
            let step = second.offsets[0].wrapping_sub(first.offsets[0]);
            let mut lanes = 0..WARP;
            lanes
                .all(|lane| second.offsets[lane].wrapping_sub(first.offsets[lane]) == step)
                .then_some(step)
        };
        of_warp(1).map(step).collect()
    }

    /// False if the ranges of the accesses that these warps are likely to make show that none meets one of another warp. `steps`:
    /// [`Self::offset_steps_between_warps`].
    fn may_meet_in_further_warps(&self, steps: &[i64], warps: impl Iterator<Item = u32>) -> bool {
        let known = self.all.iter().map(|access| (access.is_store, access.range));
        let mut known: Vec<(bool, (i64, i64))> = known.collect();
        let second: Vec<&GroupAccess> = self.all.iter().filter(|access| access.warp == 1).collect();
        for warp in warps {
            let end = known.len();
            for (access, step) in second.iter().zip(steps) {
                let by = step.saturating_mul(i64::from(warp) - 1);
                let (from, to) = access.range;
                let (from, to) = (from.saturating_add(by), to.saturating_add(by));
                let mut lower = known[..end].iter();
                if lower.any(|&(is_store, (first, last))| {
                    (is_store || access.is_store) && first < to && from < last
                }) {
                    return true;
                }
                known.push((access.is_store, (from, to)));
            }
        }
        false
    }

    /// Adds the accesses that the warp at a place of [`BlockScreen::warps`] is likely to make. `steps`: [`Self::offset_steps_between_warps`].
    fn add_extrapolated_accesses(&mut self, steps: &[i64], place: usize, warp: u32) {
        let second = self.all.iter().filter(|access| access.warp == 1);
        let likely = second.zip(steps).map(|(access, &step)| {
            let by = step.saturating_mul(i64::from(warp) - 1);
            let (from, to) = access.range;
            GroupAccess {
                warp: place,
                values: None,
                offsets: access.offsets.map(|offset| offset.saturating_add(by)),
                range: (from.saturating_add(by), to.saturating_add(by)),
                ..*access
            }
        });
        let likely: Vec<GroupAccess> = likely.collect();
        self.all.extend(likely);
    }

    /// The place in [`BlockScreen::warps`] of a lower warp whose accesses meet those of a warp. `is_shown`: other code shows that blocks have
    /// the higher warp; else the lower one has to read what no lower warp writes.
    fn lower_warp_meeting(&self, warp: usize, is_shown: bool) -> Option<usize> {
        let granule = self.all.iter().map(|access| access.bytes).min()?;
        let new = self.all.iter().filter(|access| access.warp == warp);
        for one in new {
            let (from, to) = one.range;
            let met = self.all.iter().find(|other| {
                other.range.0 < to
                    && from < other.range.1
                    && other.warp != warp
                    && (is_shown || one.is_store && !other.is_store)
                    && are_conflicting_kinds(one, other)
                    && self.have_common_bytes(one, other, granule, is_shown)
            });
            if let Some(other) = met {
                return Some(other.warp);
            }
        }
        None
    }

    /// True if lanes of two accesses access a common word of so many bytes. `is_shown`: see [`Self::lower_warp_meeting`].
    fn have_common_bytes(
        &self,
        one: &GroupAccess,
        other: &GroupAccess,
        granule: i64,
        is_shown: bool,
    ) -> bool {
        let words_of = |access: &GroupAccess| -> Vec<i64> {
            let words = lanes_in_set(access.lanes)
                .flat_map(|lane| word_indices(granule, access.offsets[lane], access.bytes));
            words.collect()
        };
        let mut words = words_of(one);
        words.sort_unstable();
        let mut common = words_of(other);
        common.retain(|word| words.binary_search(word).is_ok());
        if !is_shown && !common.is_empty() {
            let lower = self
                .all
                .iter()
                .filter(|access| access.warp != one.warp && access.is_store);
            let written: FxHashSet<i64> = lower.flat_map(words_of).collect();
            common.retain(|word| !written.contains(word));
        }
        !common.is_empty()
    }
}

/// True if one of two accesses is a write, and the other a read, or if they are writes of values that are known and may differ.
fn are_conflicting_kinds(one: &GroupAccess, other: &GroupAccess) -> bool {
    match (one.is_store, other.is_store) {
        (false, false) => false,
        (true, true) => one
            .values
            .zip(other.values)
            .is_some_and(|(one, other)| one != other || one[0] != one[1]),
        _ => true,
    }
}

impl ExchangeScreen<'_, '_> {
    /// Adds accesses of the warp of this screen to the groups of their bases. `warp`: its place in [`BlockScreen::warps`].
    fn add_to_groups(
        &mut self,
        made: &[(usize, Lanes)],
        warp: usize,
        groups: &mut Vec<Group>,
    ) -> KnownAddresses {
        for &(access, set) in made {
            let Some(places) = self.lane_addresses(access) else {
                if self.is_unknown_but_knowable(access) {
                    return KnownAddresses::NotAll;
                }
                continue;
            };
            let (parts, offsets) = *places;
            let base = self.sums.domain().terms_of(parts);
            if !self.is_in_shared_memory(access, &base) {
                continue;
            }
            let (is_store, bytes) = {
                let access = &self.pieces.all[access];
                (access.is_store, access.bytes)
            };
            let new = GroupAccess {
                access,
                warp,
                is_store,
                values: None,
                bytes,
                lanes: set,
                offsets,
                range: byte_range(&offsets, set, bytes),
            };
            match groups.iter_mut().find(|group| group.base == base) {
                Some(group) => group.all.push(new),
                // Groups that the first warps lack have been left out.
                None if warp < FIRST_WARPS => groups.push(Group { base, all: vec![new] }),
                None => {}
            }
        }
        KnownAddresses::All
    }

    /// The accesses that lanes may make after a head before an ordering of the block, with these lanes.
    fn accesses_after(&mut self, (block, piece): Head) -> Vec<(usize, Lanes)> {
        let mut made: FxHashMap<usize, Lanes> = FxHashMap::default();
        let mut known: FxHashMap<BlockId, Lanes> = FxHashMap::default();
        let mut open = vec![(block, piece, Lanes::MAX)];
        while let Some((block, piece, here)) = open.pop() {
            self.steps = self.steps.saturating_sub(1);
            if self.steps == 0 {
                break;
            }
            for access in self.pieces.accesses[piece].clone() {
                let guard = self.pieces.all[access].guard;
                if self.pieces.all[access].is_global {
                    continue;
                }
                let holds = guard.and_then(|guard| self.lanes_where_guard_holds(guard));
                let set = here & holds.unwrap_or(Lanes::MAX) & self.lanes_with_rows(access);
                if set != 0 {
                    *made.entry(access).or_default() |= set;
                }
            }
            if piece + 1 != self.pieces.pieces_of(block.index()).end {
                continue;
            }
            let test = self.body.terminator(block).and_then(|last| last.guard);
            let holds = test.and_then(|guard| self.lanes_where_guard_holds(guard));
            let next = self.body.successors(block);
            for (way, &next_block) in next.iter().enumerate() {
                let set = match (holds, next.len(), way) {
                    (Some(holds), 2, 0) => here & holds,
                    (Some(holds), 2, 1) => here & !holds,
                    _ => here,
                };
                let known = known.entry(next_block).or_default();
                if set & !*known != 0 {
                    *known |= set;
                    let first = self.pieces.first[next_block.index()] as usize;
                    open.push((next_block, first, *known));
                }
            }
        }
        let mut made: Vec<(usize, Lanes)> = made.into_iter().collect();
        made.sort_unstable();
        made
    }

    /// True if an access names shared memory, or its address counts from a variable there.
    fn is_in_shared_memory(&self, access: usize, terms: &[(Atom, i64)]) -> bool {
        self.pieces.all[access].is_shared
            || terms.iter().any(|(atom, _)| {
                matches!(atom, Atom::Symbol(symbol) if self.module.module.symbol(*symbol).space == Space::Shared)
            })
    }

    /// True if the lane analysis may know an address that has no known sum, because the shape of blocks is stated or assumed.
    fn is_unknown_but_knowable(&mut self, access: usize) -> bool {
        self.pieces.all[access].is_shared && self.has_shape() && self.is_knowable_address(access)
    }
}
