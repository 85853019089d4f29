//! Screen: the kernels that may have an exchange. In these, two lanes may access the same bytes of memory, at least one of
//! them with a write, on paths from one point without an ordering.
//!
//! ```text
//! piece        the instructions of a block between two orderings
//! way(h, l)    the pieces that lane l may reach from the piece h past no ordering
//! suspect      a kernel, or one that calls a function, with a piece from which the paths of two lanes lead to such accesses
//! ```
//!
//! Addresses and branch conditions are known as far as [`Linear`] knows them for warp 0. The lane analysis may know more:
//! values that are computed only from constants, thread numbers and variables in shared memory, through slots of the stack
//! and parameters of functions; other dimensions; and the shape of blocks where it is stated. Such an address counts as any
//! address, and lanes may take either edge of such a branch.

pub(super) mod block;

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::kernels::kernels_that_call;
use super::orderings::{Among, Orderings, stored_value, unordered_access};
use crate::function::Analyses;
use crate::lanes::launch::launches_of;
use crate::lanes::rows::{LaneRows, lanes_of_rows};
use crate::lanes::value::{Lanes, WARP, lane_set, lanes_in_set};
use crate::limits::{MAX_EXCHANGE_INSTRUCTIONS, MAX_EXCHANGE_STEPS};
use crate::shared::Shared;
use crate::slots::Effect;
use crate::value::{Evaluator, Linear, Parts, Source, Sum, Unknowns};
use ptxcheck_ir::evaluate::is_interpreted;
use ptxcheck_ir::{
    AccessKind, AsyncKinds, BlockId, Body, FunctionId, Guard, Instruction, InstructionId, MemberMask, Op,
    Rare, Register, Space, Special, Value,
};

/// The kernels that may have an exchange, in the order of the input.
pub(super) fn suspect_kernels(module: &Shared<'_>) -> Vec<FunctionId> {
    let marked = module.marked_functions(|id, function, body| {
        !function.is_damaged && !module.deadline.is_over_at_step() && may_exchange(module, id, body)
    });
    if module.deadline.is_over() {
        return Vec::new();
    }
    kernels_that_call(module, marked)
}

/// False if no two threads may access the same bytes of global memory in a function, one of them with a write, whatever is between: there,
/// addresses are as they are in the first block, where no index wraps.
pub(super) fn may_clash_in_global_memory(module: &Shared<'_>, id: FunctionId, body: &Body<'_>) -> bool {
    let mut search = ExchangeScreen::new(module, id, body);
    let all = &search.pieces.all;
    let places: Vec<usize> = (0..all.len()).filter(|&number| !all[number].is_shared).collect();
    search.may_clash_in_sample_lanes(&places)
}

/// The accesses in loops of a kernel that may be made by two lanes to the same bytes, in one round or in different rounds.
pub(super) struct LoopScreen<'a, 'm> {
    module: &'a Shared<'m>,
    /// By function that the kernel calls, itself included.
    searches: FxHashMap<FunctionId, ExchangeScreen<'a, 'm>>,
}

impl<'a, 'm> LoopScreen<'a, 'm> {
    /// A screen in which no loop has been examined yet.
    pub(super) fn new(module: &'a Shared<'m>) -> Self {
        Self {
            module,
            searches: FxHashMap::default(),
        }
    }

    /// False if analysing rounds separately certainly adds nothing about these accesses of a loop: none of their addresses
    /// is known, or each lane has an address of its own, the same in all rounds.
    pub(super) fn may_clash(&mut self, accesses: &[(FunctionId, InstructionId)]) -> bool {
        let Some(&(function, _)) = accesses.first() else {
            return false;
        };
        if accesses.iter().any(|&(other, _)| other != function) {
            return true;
        }
        let module = self.module;
        let Some(body) = &module.module.function(function).body else {
            return true;
        };
        let search = self.searches.entry(function).or_insert_with(|| ExchangeScreen {
            follows_parts: true,
            ..ExchangeScreen::new(module, function, body)
        });
        let all = &search.pieces.all;
        let places = accesses
            .iter()
            .filter_map(|(_, at)| all.binary_search_by_key(at, |access| access.at).ok());
        let places: Vec<usize> = places.collect();
        search.may_clash_at_unknown_address(places.iter().copied())
            || search.may_clash_in_sample_lanes(&places) && search.may_overlap(&places)
    }
}

/// True if the paths of two lanes through a function may lead to such accesses.
fn may_exchange(module: &Shared<'_>, id: FunctionId, body: &Body<'_>) -> bool {
    if body.instructions.len() > MAX_EXCHANGE_INSTRUCTIONS {
        return false;
    }
    let is_write = |instruction: &Instruction| {
        matches!(instruction.op, Op::Access(access)
            if access.kind == AccessKind::Store
                && matches!(access.space, Space::Shared | Space::Global | Space::Generic))
    };
    if !body.has_async(AsyncKinds::COPY) && !body.instructions.iter().any(is_write) {
        return false;
    }
    let mut search = ExchangeScreen::new(module, id, body);
    // In most functions, no two accesses have related addresses.
    let all: Vec<usize> = (0..search.pieces.all.len()).collect();
    (search.may_clash_at_unknown_address(all.iter().copied()) || search.may_clash_in_sample_lanes(&all))
        && search.finds_exchange()
}

/// The lanes whose addresses are compared first: two of one group of four, and one of the other half of the warp.
const FIRST: [usize; 3] = [4, 5, 20];

/// Limit on the length of a chain of operations that is followed.
const MAX_DEPTH: usize = 48;

/// Limit on the accesses of a loop that are compared with each other.
const MAX_COMPARED: usize = 256;

/// Limit on the definitions of a register that are followed.
const MAX_DEFINITIONS: usize = 8;

/// An access of a piece.
struct Access {
    at: InstructionId,
    is_store: bool,
    /// The access names global memory.
    is_global: bool,
    /// The access names shared memory.
    is_shared: bool,
    address: Value,
    past: i64,
    bytes: i64,
    guard: Option<Guard>,
    /// The value that a store of one element writes.
    stored: Option<Value>,
}

/// The pieces of a body.
#[derive(Default)]
struct Pieces {
    /// By block, the number of its first piece; the others follow.
    first: Vec<u32>,
    /// By piece: the range of its accesses.
    accesses: Vec<Range<usize>>,
    all: Vec<Access>,
}

impl Pieces {
    fn new(body: &Body<'_>, cuts: &Cuts) -> Self {
        let mut pieces = Self {
            first: Vec::with_capacity(body.blocks.len()),
            accesses: Vec::new(),
            all: Vec::new(),
        };
        for block in &body.blocks {
            pieces.first.push(pieces.accesses.len() as u32);
            let mut start = pieces.all.len();
            for number in block.instructions.range() {
                let (at, instruction) = (InstructionId::new(number), &body.instructions[number]);
                if cuts.ends_piece(body, at, instruction) {
                    pieces.accesses.push(start..pieces.all.len());
                    start = pieces.all.len();
                } else if let Some((access, address, past)) =
                    unordered_access(body, at, instruction, cuts.orderings.among)
                {
                    pieces.all.push(Access {
                        at,
                        is_store: access.kind == AccessKind::Store,
                        is_global: access.space == Space::Global,
                        is_shared: access.space == Space::Shared,
                        address,
                        past,
                        bytes: i64::from(access.bytes()),
                        guard: instruction.guard,
                        stored: stored_value(body, instruction),
                    });
                }
            }
            pieces.accesses.push(start..pieces.all.len());
        }
        pieces
    }

    /// The pieces of a block.
    fn pieces_of(&self, block: usize) -> Range<usize> {
        let end = self.first.get(block + 1).copied();
        self.first[block] as usize..end.map_or(self.accesses.len(), |end| end as usize)
    }
}

/// Where pieces end.
struct Cuts {
    /// At orderings of this kind. What callees read is left out, so that there are fewer than in a kernel.
    orderings: Orderings,
    /// At collectives.
    at_collectives: bool,
    /// But for these, which may order only groups of lanes, in order.
    of_groups: Vec<InstructionId>,
}

impl Cuts {
    /// Where the lanes of a warp may be ordered.
    fn of_warp(body: &Body<'_>) -> Self {
        Self {
            orderings: Orderings::of_body(body, Among::Lanes),
            at_collectives: true,
            of_groups: Vec::new(),
        }
    }

    /// True if a piece ends at an instruction.
    fn ends_piece(&self, body: &Body<'_>, at: InstructionId, instruction: &Instruction) -> bool {
        match instruction.op {
            Op::Collective(..) => self.at_collectives && self.of_groups.binary_search(&at).is_err(),
            Op::Barrier(_) => true,
            _ => self.orderings.may_order(body, at, instruction),
        }
    }
}

/// The part of an address that lanes share, and the number that is added to it by lane.
type LanePlaces = (Parts, [i64; WARP]);

/// The search in one function.
struct ExchangeScreen<'a, 'm> {
    body: &'a Body<'m>,
    pieces: Rc<Pieces>,
    module: &'a Shared<'m>,
    id: FunctionId,
    /// Addresses as sums of what threads share and of a number in each lane of warp 0.
    sums: Evaluator<'a, 'm, Linear<'a>>,
    analyses: &'a Analyses<'m>,
    is_kernel: bool,
    /// Addresses without a known sum may be in shared memory.
    may_be_shared: bool,
    /// It has variables on the stack.
    has_slots: bool,
    /// Also searches for addresses in any memory that count from an address shared by all threads of a block.
    follows_parts: bool,
    /// The shape of its blocks is known, or assumed to be one of several. Computed on first use.
    has_shape: Option<bool>,
    /// The lanes in which a predicate holds, where it is known in all lanes.
    predicates: FxHashMap<Register, Option<Lanes>>,
    /// By register: the lane analysis may know more about it than [`Linear`].
    knowable: FxHashMap<Register, bool>,
    /// The addresses of accesses, once they have been asked for; `None` for one that is not known in all lanes.
    places: Vec<Option<Option<Rc<LanePlaces>>>>,
    /// The words that the accesses of a piece write; its memory is used again.
    written: FxHashMap<(Parts, i64), Written>,
    steps: usize,
}

impl<'a, 'm> ExchangeScreen<'a, 'm> {
    fn new(module: &'a Shared<'m>, id: FunctionId, body: &'a Body<'m>) -> Self {
        let mut search = Self::of_warp(module, id, body, 0, Rc::default());
        let mut cuts = Cuts::of_warp(body);
        cuts.of_groups = search.collectives_of_groups();
        search.pieces = Rc::new(Pieces::new(body, &cuts));
        search
    }

    /// The collectives with a mask that is known and does not name all lanes, in order.
    fn collectives_of_groups(&mut self) -> Vec<InstructionId> {
        let body = self.body;
        let mut found = Vec::new();
        for &at in &body.collectives {
            let instruction = body.instruction(at);
            let (Op::Collective(_, MemberMask::Operand), [mask, ..]) =
                (instruction.op, body.uses(instruction))
            else {
                continue;
            };
            let is_whole = |mask: u64| mask as u32 == u32::MAX;
            let is_of_group = match *mask {
                Value::Integer(mask) => !is_whole(mask as u64),
                mask => {
                    let masks = self.value_in_each_lane(mask);
                    masks.is_some_and(|masks| !masks.into_iter().all(is_whole))
                }
            };
            if is_of_group {
                found.push(at);
            }
        }
        found
    }

    /// The search for accesses of a warp.
    fn of_warp(
        module: &'a Shared<'m>,
        id: FunctionId,
        body: &'a Body<'m>,
        warp: u32,
        pieces: Rc<Pieces>,
    ) -> Self {
        let (mut names_shared, mut names_local) = (false, false);
        for value in &body.values {
            if let Value::Symbol(symbol, _) = value {
                let space = module.module.symbol(*symbol).space;
                names_shared |= space == Space::Shared;
                names_local |= space == Space::Local;
            }
        }
        let is_kernel = module.module.function(id).is_kernel();
        let analyses = module.function(id);
        let has_slots = names_local || body.has(Rare::STACK_ALLOC);
        let source = Source {
            analyses: has_slots.then_some(analyses),
            ..Source::within_body(body, analyses)
        };
        Self {
            body,
            pieces,
            module,
            id,
            analyses,
            is_kernel,
            may_be_shared: names_shared || !is_kernel,
            has_slots,
            has_shape: None,
            sums: Evaluator::new(
                source,
                Linear::new(Some(warp), None, Unknowns::Shared { is_kernel }),
            ),
            follows_parts: false,
            predicates: FxHashMap::default(),
            knowable: FxHashMap::default(),
            places: Vec::new(),
            written: FxHashMap::default(),
            steps: MAX_EXCHANGE_STEPS,
        }
    }
}

impl ExchangeScreen<'_, '_> {
    fn finds_exchange(mut self) -> bool {
        let order = self.analyses.cfg().reverse_postorder();
        let mut rank = vec![u32::MAX; self.body.blocks.len()];
        for (number, block) in (0..).zip(order) {
            rank[block.index()] = number;
        }
        let mut made = Vec::new();
        let mut is_passed = vec![false; self.body.blocks.len()];
        for &block in order {
            for piece in self.pieces.pieces_of(block.index()) {
                let is_first = piece == self.pieces.first[block.index()] as usize;
                if is_first && is_passed[block.index()] {
                    continue;
                }
                made.clear();
                self.collect_accesses_on_paths(block, piece, &rank, &mut made, &mut is_passed);
                let has_store = made.iter().any(|&(access, _)| self.pieces.all[access].is_store);
                if self.steps == 0 || has_store && self.has_clash(&made) {
                    return true;
                }
            }
        }
        false
    }

    /// The accesses on the paths of all lanes from a piece, with the lanes that make them. Marks blocks that lanes reach
    /// only on such paths.
    fn collect_accesses_on_paths(
        &mut self,
        head: BlockId,
        piece: usize,
        rank: &[u32],
        made: &mut Vec<(usize, Lanes)>,
        is_passed: &mut [bool],
    ) {
        let cfg = self.analyses.cfg();
        let order = cfg.reverse_postorder();
        let mut open = BTreeMap::new();
        let (mut at, mut here, mut piece) = (head, Lanes::MAX, piece);
        loop {
            self.steps = self.steps.saturating_sub(1);
            for access in self.pieces.accesses[piece].clone() {
                let guard = self.pieces.all[access].guard;
                let set = here
                    & guard.map_or(Lanes::MAX, |guard| {
                        self.lanes_where_guard_holds(guard).unwrap_or(Lanes::MAX)
                    });
                if set != 0 {
                    made.push((access, set));
                }
            }
            if piece + 1 == self.pieces.pieces_of(at.index()).end {
                for (next, set) in self.successors_with_lanes(at, here).into_iter().flatten() {
                    is_passed[next.index()] |= cfg.predecessors(next).len() == 1;
                    let next = rank[next.index()];
                    if set != 0 && next > rank[at.index()] && next != u32::MAX {
                        *open.entry(next).or_insert(0) |= set;
                    }
                }
            }
            let Some((next, set)) = open.pop_first() else {
                return;
            };
            if self.steps == 0 {
                return;
            }
            (at, here) = (order[next as usize], set);
            piece = self.pieces.first[at.index()] as usize;
        }
    }

    /// The blocks that lanes continue to, and the lanes of each: all of them to both where the branch is not decided, since they may take
    /// it alike, or meet again.
    fn successors_with_lanes(&mut self, block: BlockId, here: Lanes) -> [Option<(BlockId, Lanes)>; 2] {
        let body = self.body;
        let test = body.terminator(block).and_then(|last| last.guard);
        match (test, body.successors(block)) {
            (_, &[next]) => [Some((next, here)), None],
            (Some(guard), &[one, other]) => match self.lanes_where_guard_holds(guard) {
                Some(holds) => [Some((one, here & holds)), Some((other, here & !holds))],
                None => [Some((one, here)), Some((other, here))],
            },
            _ => [None, None],
        }
    }

    fn has_shape(&mut self) -> bool {
        let (module, id) = (self.module, self.id);
        *self.has_shape.get_or_insert_with(|| {
            let reads_other = module.reads_other_dimensions(id);
            let launches = launches_of(module, id, reads_other);
            // A block of several dimensions is analysed in some layouts, with known sides.
            reads_other || launches.iter().any(|launch| launch.shape.is_some())
        })
    }

    /// The lanes in which a guard holds, where it is known in all lanes.
    fn lanes_where_guard_holds(&mut self, guard: Guard) -> Option<Lanes> {
        let value = Value::Register(guard.register);
        let holds = match self.predicates.get(&guard.register) {
            Some(&known) => known,
            None => {
                let values = self.value_in_each_lane(value);
                let holds = values.map(|values| lane_set((0..WARP).filter(|&lane| values[lane] & 1 == 1)));
                self.predicates.insert(guard.register, holds);
                holds
            }
        };
        holds.map(|holds| if guard.negated { !holds } else { holds })
    }

    /// A value that is known in all lanes.
    fn value_in_each_lane(&mut self, value: Value) -> Option<[u64; WARP]> {
        self.sums.description_of(value)?.numbers()?.number_in_each_lane()
    }

    /// The address of an access, if it is known in all lanes.
    fn lane_addresses(&mut self, access: usize) -> Option<Rc<LanePlaces>> {
        if self.places.is_empty() {
            self.places.resize(self.pieces.all.len(), None);
        }
        if let Some(known) = &self.places[access] {
            return known.clone();
        }
        let found = self.computed_lane_addresses(access).map(Rc::new);
        self.places[access] = Some(found.clone());
        found
    }

    fn computed_lane_addresses(&mut self, access: usize) -> Option<LanePlaces> {
        let access = &self.pieces.all[access];
        let Sum { parts, by } = self.sums.description_of(access.address)?;
        let by = by.number_in_each_lane()?;
        let (at, past) = (access.at, access.past);
        let places = by.map(|by| (by as i64).saturating_add(past));
        let rows = LaneRows::of_access(self.body, at, |stride| {
            self.sums.description_of(stride)?.constant()
        })?;
        Some((parts, rows.places(places)))
    }

    /// The lanes that access a row of a matrix, or all of them where an access is none to a matrix.
    fn lanes_with_rows(&self, access: usize) -> Lanes {
        let at = self.pieces.all[access].at;
        self.body.rows_at(at).map_or(Lanes::MAX, lanes_of_rows)
    }

    /// True if the lane analysis may know an address that has no known sum.
    fn is_knowable_address(&mut self, access: usize) -> bool {
        let access = &self.pieces.all[access];
        let (address, is_global) = (access.address, access.is_global);
        let may_be_known = self.follows_parts || !is_global && self.may_be_shared;
        may_be_known && self.is_knowable(address, MAX_DEPTH)
    }

    /// True if the lane analysis may know an address that [`Linear`] does not, and may find there, or at another of these
    /// addresses, a value that one lane writes and another reads, or two different values that two lanes write.
    fn may_clash_at_unknown_address(
        &mut self,
        mut made: impl ExactSizeIterator<Item = usize> + Clone,
    ) -> bool {
        if made.len() < 2 {
            return false;
        }
        let pieces = Rc::clone(&self.pieces);
        // By whether they write: the accesses that name shared memory, global memory, or neither.
        let mut counts = [[0_usize; 3]; 2];
        let memory = |access: &Access| match (access.is_shared, access.is_global) {
            (true, _) => 0,
            (_, true) => 1,
            _ => 2,
        };
        for number in made.clone() {
            let access = &pieces.all[number];
            counts[usize::from(access.is_store)][memory(access)] += 1;
        }
        let has_other = |of: [usize; 3], access: &Access| match memory(access) {
            own @ (0 | 1) => of[own] + of[2] > 0,
            _ => of != [0; 3],
        };
        let all = made.clone();
        let mut may_differ = None;
        made.any(|number| {
            let access = &pieces.all[number];
            let may_meet = match access.is_store {
                true => {
                    has_other(counts[0], access)
                        || *may_differ.get_or_insert_with(|| self.may_write_different_values(all.clone()))
                }
                false => has_other(counts[1], access),
            };
            may_meet && self.lane_addresses(number).is_none() && self.is_knowable_address(number)
        })
    }

    /// True if stores among these accesses may write different values that the lane analysis may know: not all of those that it may know are
    /// one constant.
    fn may_write_different_values(&mut self, mut made: impl Iterator<Item = usize>) -> bool {
        let mut one = None;
        made.any(|number| {
            let access = &self.pieces.all[number];
            let (bytes, stored) = (access.bytes, access.stored);
            let Some(stored) = stored.filter(|_| access.is_store) else {
                return false;
            };
            let description = self.sums.description_of(stored);
            match description.and_then(|sum| sum.constant()) {
                Some(constant) => *one.get_or_insert((constant, bytes)) != (constant, bytes),
                None => self.value_in_each_lane(stored).is_some() || self.is_knowable(stored, MAX_DEPTH),
            }
        })
    }

    /// False if a few sample lanes show that no two lanes access the same address: the accesses count from different bases,
    /// or each lane has an address of its own.
    fn may_clash_in_sample_lanes(&mut self, made: &[usize]) -> bool {
        let mut groups: FxHashMap<Parts, Group> = FxHashMap::default();
        for &number in made {
            let Some(places) = self.lane_addresses(number) else {
                continue;
            };
            let (parts, by) = &*places;
            let by = FIRST.map(|lane| by[lane]);
            let is_own = (1..FIRST.len()).all(|lane| !by[..lane].contains(&by[lane]));
            let group = groups.entry(*parts).or_insert(Group {
                by,
                has_store: false,
                is_apart: true,
            });
            let stored = self.pieces.all[number].stored;
            let values = stored.and_then(|value| self.value_in_each_lane(value));
            let values = values.map(|values| FIRST.map(|lane| values[lane]));
            let access = &self.pieces.all[number];
            group.has_store |= access.is_store;
            group.is_apart &= is_own && group.by == by;
            // Several lanes may reach a store, and may write different values to one address.
            let writes_apart = values.is_some_and(|values| values.iter().any(|value| *value != values[0]));
            if group.has_store && (!group.is_apart || writes_apart && !is_own) {
                return true;
            }
        }
        false
    }

    /// True if two lanes may access the same bytes, if each lane makes these accesses, and one access is a write: the other
    /// is a read, or a write of a different value.
    fn may_overlap(&mut self, made: &[usize]) -> bool {
        if made.len() > MAX_COMPARED {
            return true;
        }
        let mut places = Vec::with_capacity(made.len());
        for &number in made {
            places.extend(self.lane_addresses(number).map(|place| (number, place)));
        }
        let all = &self.pieces.all;
        let bytes = places.iter().map(|&(number, _)| all[number].bytes);
        let granule = bytes.min().unwrap_or(1);
        let words = |at, bytes| word_indices(granule, at, bytes);
        let mut writers: FxHashMap<(Parts, i64), Lanes> = FxHashMap::default();
        for (number, place) in places.iter().filter(|(number, _)| all[*number].is_store) {
            let (parts, by) = &**place;
            for (lane, &at) in by.iter().enumerate() {
                for word in words(at, all[*number].bytes) {
                    *writers.entry((*parts, word)).or_default() |= 1 << lane;
                }
            }
        }
        places.into_iter().any(|(number, place)| {
            let (parts, by) = &*place;
            let (is_store, stored, bytes) = {
                let access = &self.pieces.all[number];
                (access.is_store, access.stored, access.bytes)
            };
            let meets = by.iter().enumerate().any(|(lane, &at)| {
                words(at, bytes).any(|word| {
                    let lanes = writers.get(&(*parts, word)).copied().unwrap_or(0);
                    lanes & !(1 << lane) != 0
                })
            });
            meets
                && (!is_store
                    || stored.is_some_and(|value| {
                        self.value_in_each_lane(value).is_some() || self.is_knowable(value, MAX_DEPTH)
                    }))
        })
    }

    /// True if an instruction accesses an object whose address a caller passes.
    fn is_in_object_of_caller(&self, id: InstructionId) -> bool {
        let used = self.module.param_use(self.id);
        used.is_some_and(|used| used.access_through_param(id).is_some())
    }

    /// True if a value is computed only from values that the lane analysis may know; `depth`: operations followed so far.
    fn is_knowable(&mut self, value: Value, depth: usize) -> bool {
        let register = match value {
            Value::Integer(_) | Value::Symbol(..) => return true,
            Value::Special(Special::Ntid(_)) => return self.follows_parts || self.has_shape(),
            Value::Special(Special::Ctaid(_) | Special::Nctaid(_)) => return self.follows_parts,
            Value::Special(Special::Tid(_) | Special::LaneId) => return true,
            Value::Param(..) => return self.follows_parts || !self.is_kernel,
            Value::Register(register) | Value::Not(register) => register,
            _ => return false,
        };
        if let Some(&known) = self.knowable.get(&register) {
            return known;
        }
        let body = self.body;
        // For a register that is computed from itself, the other operands decide.
        self.knowable.insert(register, true);
        let definitions = self.analyses.definitions().writers_of(register);
        let is_knowable = depth > 0
            && (1..=MAX_DEFINITIONS).contains(&definitions.len())
            && definitions.iter().all(|&definition| {
                let instruction = body.instruction(definition);
                let is_computed = match instruction.op {
                    Op::ToGeneric(..) | Op::FromGeneric(..) => true,
                    Op::Access(access) => match access.space {
                        Space::Param => true,
                        _ if access.kind != AccessKind::Load => false,
                        _ if self.is_in_object_of_caller(definition) => return true,
                        _ if !self.has_slots => false,
                        _ => {
                            return matches!(
                                self.analyses.slots().effect_on_slots(definition, instruction),
                                Effect::Load(_)
                            );
                        }
                    },
                    op => is_interpreted(op),
                };
                is_computed
                    && body
                        .uses(instruction)
                        .iter()
                        .all(|&used| self.is_knowable(used, depth - 1))
            });
        self.knowable.insert(register, is_knowable);
        is_knowable
    }

    /// True if two of these accesses may be made by different lanes to the same bytes.
    fn has_clash(&mut self, made: &[(usize, Lanes)]) -> bool {
        let bytes = made.iter().map(|&(access, _)| self.pieces.all[access].bytes);
        let granule = bytes.min().unwrap_or(1);
        let mut written = std::mem::take(&mut self.written);
        written.clear();
        let has_clash = self.has_clash_of_known_writes(made, granule, &mut written)
            || self.may_clash_at_unknown_address(made.iter().map(|&(access, _)| access))
            || self.has_clash_with_reads(made, granule, &mut written);
        self.written = written;
        has_clash
    }

    /// Notes the words that accesses write where their addresses are known. True if two lanes write different values to one of them.
    fn has_clash_of_known_writes(
        &mut self,
        made: &[(usize, Lanes)],
        granule: i64,
        written: &mut FxHashMap<(Parts, i64), Written>,
    ) -> bool {
        for &(number, set) in made {
            if !self.pieces.all[number].is_store {
                continue;
            }
            let Some(places) = self.lane_addresses(number) else {
                continue;
            };
            let (parts, by) = &*places;
            let access = &self.pieces.all[number];
            let (stored, bytes) = (access.stored, access.bytes);
            let values = stored.and_then(|value| self.value_in_each_lane(value));
            for lane in lanes_in_set(set) {
                let value = values.map(|values| values[lane]);
                for word in word_indices(granule, by[lane], bytes) {
                    let entry = written.entry((*parts, word)).or_insert(Written {
                        lanes: 0,
                        before: 0,
                        first: (lane, value),
                    });
                    entry.lanes |= 1 << lane;
                    let (first, known) = entry.first;
                    if first != lane && known.zip(value).is_some_and(|(known, value)| known != value) {
                        return true;
                    }
                }
            }
        }
        self.steps = self.steps.saturating_sub(made.len());
        false
    }

    /// True if a lane reads a word that another lane writes, and that it has not written itself before: then the clash is reported for the
    /// writes.
    fn has_clash_with_reads(
        &mut self,
        made: &[(usize, Lanes)],
        granule: i64,
        written: &mut FxHashMap<(Parts, i64), Written>,
    ) -> bool {
        let is_read = |access: usize| !self.pieces.all[access].is_store;
        let Some(last) = made.iter().rposition(|&(access, _)| is_read(access)) else {
            return false;
        };
        made[..=last].iter().any(|&(number, set)| {
            let Some(places) = self.lane_addresses(number) else {
                return false;
            };
            let (parts, by) = &*places;
            let access = &self.pieces.all[number];
            lanes_in_set(set).any(|lane| {
                word_indices(granule, by[lane], access.bytes).any(|word| {
                    let Some(written) = written.get_mut(&(*parts, word)) else {
                        return false;
                    };
                    if access.is_store {
                        written.before |= 1 << lane;
                        return false;
                    }
                    written.before >> lane & 1 == 0 && written.lanes & !(1 << lane) != 0
                })
            })
        })
    }
}

/// The indices of the words of `granule` bytes that an access of this size touches.
fn word_indices(granule: i64, at: i64, bytes: i64) -> RangeInclusive<i64> {
    at.div_euclid(granule)..=at.saturating_add(bytes - 1).div_euclid(granule)
}

/// Accesses that count from the same base.
struct Group {
    /// The offset of the first access, in the sample lanes.
    by: [i64; FIRST.len()],
    has_store: bool,
    /// All accesses are to one offset, which differs between lanes.
    is_apart: bool,
}

/// The writes to a word.
struct Written {
    lanes: Lanes,
    /// The lanes that have written it before an access that is examined.
    before: Lanes,
    /// The first write: its lane, and its value, where known.
    first: (usize, Option<u64>),
}
