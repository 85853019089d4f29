//! Kernels that may have an exchange: those in which two lanes may access the same bytes of shared memory, one of them to write, on
//! their ways from one place, past no ordering.
//!
//! ```text
//! piece        the instructions of a block between two orderings
//! way(h, l)    the pieces that lane l comes to from the piece h past no ordering, while its branches are decided
//! suspect      a kernel, or one that calls a function, with a piece from which the ways of two lanes lead to such accesses
//! ```
//!
//! Places and branches are what [`Threads`] knows of warp 0. The lane analysis may know more of what is computed from constants, the number
//! of the thread and variables alone, through slots of the stack and parameters of functions, from other
//! dimensions, and from the shape of blocks where that is stated: such a place may be any, and lanes may go either way at such a branch.

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::touches::{orders, stored, touched};
use crate::function::Analyses;
use crate::lanes::launch::launches_of;
use crate::lanes::value::{Lanes, WARP, lanes};
use crate::limits::{MAX_EXCHANGE_INSTRUCTIONS, MAX_EXCHANGE_STEPS};
use crate::shared::Shared;
use crate::slots::Effect;
use crate::threads::{Start, Threads};
use ptxcheck_ir::cfg::Cfg;
use ptxcheck_ir::evaluate::is_interpreted;
use ptxcheck_ir::{
    AccessKind, BlockId, Body, FunctionId, Guard, Instruction, Op, Rare, Register, Space, Special, Value,
};

/// The kernels that may have an exchange, in the order of the input.
pub(super) fn suspects(module: &Shared<'_>) -> Vec<FunctionId> {
    let mut symbols = module.module.symbols.iter();
    if !symbols.any(|symbol| symbol.space == Space::Shared) {
        return Vec::new();
    }
    let mut marked = vec![false; module.module.functions.len()];
    for (id, function, body) in module.module.bodies() {
        if module.deadline.is_over_at_step() {
            return Vec::new();
        }
        marked[id.index()] = !function.is_damaged && may_exchange(module, id, body);
    }
    if !marked.contains(&true) {
        return Vec::new();
    }
    module.call_graph().mark_callers(&mut marked);
    let kernels = module
        .module
        .bodies()
        .filter(|(id, function, _)| marked[id.index()] && function.is_kernel() && !function.is_damaged);
    kernels.map(|(id, ..)| id).collect()
}

/// True if the ways of two lanes through a function may lead to such accesses.
fn may_exchange(module: &Shared<'_>, id: FunctionId, body: &Body<'_>) -> bool {
    if body.instructions.len() > MAX_EXCHANGE_INSTRUCTIONS {
        return false;
    }
    let is_write = |instruction: &Instruction| {
        matches!(instruction.op, Op::Access(access)
            if access.kind == AccessKind::Store && matches!(access.space, Space::Shared | Space::Generic))
    };
    if !body.instructions.iter().any(is_write) {
        return false;
    }
    let (mut names_shared, mut names_local) = (false, false);
    for value in &body.values {
        if let Value::Symbol(symbol, _) = value {
            let space = module.module.symbol(*symbol).space;
            names_shared |= space == Space::Shared;
            names_local |= space == Space::Local;
        }
    }
    let is_kernel = module.module.function(id).is_kernel();
    if is_kernel && !names_shared {
        return false;
    }
    let analyses = module.function(id);
    let reads_other = module.reads_other_dimensions(id);
    let has_shape = || {
        let launches = launches_of(module, id, reads_other);
        launches.iter().any(|launch| launch.shape.is_some())
    };
    let search = Search {
        body,
        pieces: Pieces::new(body),
        order: analyses.cfg().reverse_postorder(),
        predecessors: analyses.cfg(),
        analyses,
        is_kernel,
        has_slots: names_local || body.has(Rare::STACK_ALLOC),
        has_shape: has_shape(),
        threads: Threads {
            body,
            definitions: analyses.definitions(),
            memory: None,
            warp: 0,
        },
        places: FxHashMap::default(),
        predicates: FxHashMap::default(),
        knowable: FxHashMap::default(),
        steps: MAX_EXCHANGE_STEPS,
    };
    search.finds()
}

/// Most operations one behind the other that are looked through.
const MAX_DEPTH: usize = 48;

/// Most definitions of a register that is looked through.
const MAX_DEFINITIONS: usize = 8;

/// An access of a piece.
struct Access {
    is_store: bool,
    address: Value,
    past: i64,
    bytes: i64,
    guard: Option<Guard>,
    /// The value that a store of one element writes.
    stored: Option<Value>,
}

/// The pieces of a body.
struct Pieces {
    /// By block, the number of its first piece; the others follow.
    first: Vec<u32>,
    /// By piece, its accesses.
    accesses: Vec<Range<usize>>,
    all: Vec<Access>,
}

impl Pieces {
    fn new(body: &Body<'_>) -> Self {
        let mut pieces = Self {
            first: Vec::with_capacity(body.blocks.len()),
            accesses: Vec::new(),
            all: Vec::new(),
        };
        for block in &body.blocks {
            pieces.first.push(pieces.accesses.len() as u32);
            let mut start = pieces.all.len();
            for instruction in &body.instructions[block.instructions.range()] {
                if cuts(body, instruction) {
                    pieces.accesses.push(start..pieces.all.len());
                    start = pieces.all.len();
                } else if let Some((access, address, past)) = touched(body, instruction) {
                    pieces.all.push(Access {
                        is_store: access.kind == AccessKind::Store,
                        address,
                        past,
                        bytes: i64::from(access.bytes()),
                        guard: instruction.guard,
                        stored: stored(body, instruction),
                    });
                }
            }
            pieces.accesses.push(start..pieces.all.len());
        }
        pieces
    }

    /// The pieces of a block.
    fn of(&self, block: usize) -> Range<usize> {
        let end = self.first.get(block + 1).copied();
        self.first[block] as usize..end.map_or(self.accesses.len(), |end| end as usize)
    }
}

/// True if lanes may be ordered at an instruction.
fn cuts(body: &Body<'_>, instruction: &Instruction) -> bool {
    matches!(instruction.op, Op::Collective(..) | Op::Barrier(_)) || orders(body, instruction)
}

/// The number of a variable, and the offset in it by lane.
type Place = (usize, [i64; WARP]);

/// The search in one function.
struct Search<'a, 'm> {
    body: &'a Body<'m>,
    pieces: Pieces,
    /// The blocks, in reverse postorder.
    order: &'a [BlockId],
    predecessors: &'a Cfg,
    threads: Threads<'a, 'm>,
    analyses: &'a Analyses<'m>,
    is_kernel: bool,
    /// It has variables on the stack.
    has_slots: bool,
    /// The shape of its blocks is known.
    has_shape: bool,
    /// By the register that holds the address.
    places: FxHashMap<Register, Option<Place>>,
    /// The lanes in which a predicate holds, where that is known of all.
    predicates: FxHashMap<Register, Option<Lanes>>,
    /// The registers of which the lane analysis may know more than [`Threads`].
    knowable: FxHashMap<Register, bool>,
    steps: usize,
}

impl Search<'_, '_> {
    fn finds(mut self) -> bool {
        let mut rank = vec![u32::MAX; self.body.blocks.len()];
        for (number, block) in (0..).zip(self.order) {
            rank[block.index()] = number;
        }
        let mut made = Vec::new();
        let mut is_passed = vec![false; self.body.blocks.len()];
        for &block in self.order {
            for piece in self.pieces.of(block.index()) {
                let is_first = piece == self.pieces.first[block.index()] as usize;
                if is_first && is_passed[block.index()] {
                    continue;
                }
                made.clear();
                self.way(block, piece, &rank, &mut made, &mut is_passed);
                let has_store = made.iter().any(|&(access, _)| self.pieces.all[access].is_store);
                if self.steps == 0 || has_store && self.clash(&made) {
                    return true;
                }
            }
        }
        false
    }

    /// The accesses on the ways of all lanes from a piece, with the lanes that make them. Marks blocks that lanes come to on such ways
    /// alone.
    fn way(
        &mut self,
        head: BlockId,
        piece: usize,
        rank: &[u32],
        made: &mut Vec<(usize, Lanes)>,
        is_passed: &mut [bool],
    ) {
        let mut open = BTreeMap::new();
        let (mut at, mut here, mut piece) = (head, Lanes::MAX, piece);
        loop {
            self.steps = self.steps.saturating_sub(1);
            for access in self.pieces.accesses[piece].clone() {
                let guard = self.pieces.all[access].guard;
                let set = here & guard.map_or(Lanes::MAX, |guard| self.holds(guard).unwrap_or(Lanes::MAX));
                if set != 0 {
                    made.push((access, set));
                }
            }
            if piece + 1 == self.pieces.of(at.index()).end {
                for (next, set) in self.successors(at, here).into_iter().flatten() {
                    is_passed[next.index()] |= self.predecessors.predecessors(next).len() == 1;
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
            (at, here) = (self.order[next as usize], set);
            piece = self.pieces.first[at.index()] as usize;
        }
    }

    /// The blocks that lanes go on to where that is decided, and the lanes of each.
    fn successors(&mut self, block: BlockId, here: Lanes) -> [Option<(BlockId, Lanes)>; 2] {
        let body = self.body;
        let test = body.terminator(block).and_then(|last| last.guard);
        match (test, body.successors(block)) {
            (_, &[next]) => [Some((next, here)), None],
            (Some(guard), &[one, other]) => match self.holds(guard) {
                Some(holds) => [Some((one, here & holds)), Some((other, here & !holds))],
                None if self.is_knowable(Value::Register(guard.register), MAX_DEPTH) => {
                    [Some((one, here)), Some((other, here))]
                }
                None => [None, None],
            },
            _ => [None, None],
        }
    }

    /// The lanes in which a guard holds, where that is known of all of them.
    fn holds(&mut self, guard: Guard) -> Option<Lanes> {
        let threads = &self.threads;
        let holds = *self.predicates.entry(guard.register).or_insert_with(|| {
            let values = threads.by_lane(Value::Register(guard.register))?;
            let set = values.iter().enumerate().filter(|(_, value)| **value & 1 == 1);
            Some(set.fold(0, |set, (lane, _)| set | 1 << lane))
        });
        holds.map(|holds| if guard.negated { !holds } else { holds })
    }

    fn place(&mut self, access: usize) -> Option<Place> {
        let access = &self.pieces.all[access];
        let threads = &self.threads;
        let find = |value| match threads.addresses(value)? {
            (Start::Symbol(symbol), by) => Some((symbol.index(), by)),
            (Start::Param(_), _) => None,
        };
        let (symbol, by) = match access.address {
            Value::Register(register) => *self
                .places
                .entry(register)
                .or_insert_with(|| find(access.address)),
            address => find(address),
        }?;
        Some((symbol, by.map(|by| by.saturating_add(access.past))))
    }

    /// True if a value is computed from what the lane analysis may know alone; `depth`: of operations that are looked through.
    fn is_knowable(&mut self, value: Value, depth: usize) -> bool {
        let register = match value {
            Value::Integer(_) | Value::Symbol(..) => return true,
            Value::Special(Special::Ntid(_)) => return self.has_shape,
            Value::Special(Special::Tid(_) | Special::LaneId) => return true,
            Value::Param(..) => return !self.is_kernel,
            Value::Register(register) | Value::Not(register) => register,
            _ => return false,
        };
        if let Some(&known) = self.knowable.get(&register) {
            return known;
        }
        let body = self.body;
        // A register that is computed from itself depends on the rest.
        self.knowable.insert(register, true);
        let definitions = self.threads.definitions.of(register);
        let is_knowable = depth > 0
            && (1..=MAX_DEFINITIONS).contains(&definitions.len())
            && definitions.iter().all(|&definition| {
                let instruction = body.instruction(definition);
                let is_computed = match instruction.op {
                    Op::ToGeneric(..) | Op::FromGeneric(..) => true,
                    Op::Access(access) => match access.space {
                        Space::Param => true,
                        _ if access.kind != AccessKind::Load || !self.has_slots => false,
                        _ => {
                            return matches!(
                                self.analyses.slots().effect(definition, instruction),
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

    /// True if two of these accesses may be those of different lanes to the same bytes.
    fn clash(&mut self, made: &[(usize, Lanes)]) -> bool {
        let bytes = made.iter().map(|&(access, _)| self.pieces.all[access].bytes);
        let granule = bytes.min().unwrap_or(1);
        let words =
            |at: i64, bytes: i64| at.div_euclid(granule)..=at.saturating_add(bytes - 1).div_euclid(granule);
        let mut written: FxHashMap<(usize, i64), Written> = FxHashMap::default();
        let mut unknown = 0;
        for &(number, set) in made {
            let place = self.place(number);
            let access = &self.pieces.all[number];
            let Some((symbol, by)) = place else {
                let address = access.address;
                unknown += usize::from(self.is_knowable(address, MAX_DEPTH));
                continue;
            };
            let values = access.stored.and_then(|value| self.threads.by_lane(value));
            for lane in lanes(set).filter(|_| access.is_store) {
                let value = values.map(|values| values[lane]);
                for word in words(by[lane], access.bytes) {
                    let entry = written.entry((symbol, word)).or_insert(Written {
                        lanes: 0,
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
        if unknown > 0 && made.len() > 1 {
            return true;
        }
        made.iter().any(|&(number, set)| {
            let Some((symbol, by)) = self.place(number) else {
                return false;
            };
            let access = &self.pieces.all[number];
            !access.is_store
                && lanes(set).any(|lane| {
                    words(by[lane], access.bytes).any(|word| {
                        // A read where the lane writes itself is a matter of the writes.
                        let written = written.get(&(symbol, word));
                        written.is_some_and(|written| written.lanes >> lane & 1 == 0)
                    })
                })
        })
    }
}

/// The writes to a word.
struct Written {
    lanes: Lanes,
    /// The first one: its lane, and its value, where that is known.
    first: (usize, Option<u64>),
}
