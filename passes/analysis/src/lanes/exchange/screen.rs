//! Kernels that may have an exchange: those that write to shared memory and access it once more with no ordering in between.
//!
//! ```text
//! piece        the instructions of a block between two orderings
//! region       pieces that edges join: whoever goes from one to another passes no ordering
//! suspect      a kernel with a region in which a write to shared memory is, and an access whose place is not certainly the
//!              same lane's
//! ```
//!
//! Places are what [`Threads`] knows of warp 0. What it does not know, the lane analysis does not know either, but for variables that
//! lie in slots of the stack: those kernels are suspects as soon as a region has a write and another access.

use rustc_hash::FxHashMap;

use super::touches::{orders, touched};
use crate::lanes::value::WARP;
use crate::shared::Shared;
use crate::threads::{Start, Threads};
use ptxcheck_ir::{AccessKind, BlockId, Body, FunctionId, Instruction, Op, Rare, Register, Space, Value};

/// The kernels that may have an exchange, in the order of the input.
pub(super) fn suspects(module: &Shared<'_>) -> Vec<FunctionId> {
    let mut symbols = module.module.symbols.iter();
    if !symbols.any(|symbol| symbol.space == Space::Shared) {
        return Vec::new();
    }
    let count = module.module.functions.len();
    let mut marked = vec![false; count];
    let mut any = false;
    for (id, function, body) in module.module.bodies() {
        if module.deadline.is_over_at_step() {
            return Vec::new();
        }
        if !function.is_damaged && may_exchange(module, id, body) {
            marked[id.index()] = true;
            any = true;
        }
    }
    if !any {
        return Vec::new();
    }
    module.call_graph().mark_callers(&mut marked);
    let kernels = module
        .module
        .bodies()
        .filter(|(id, function, _)| marked[id.index()] && function.is_kernel() && !function.is_damaged);
    kernels.map(|(id, ..)| id).collect()
}

/// True if a function has a region with a write and another access that may be another lane's.
fn may_exchange(module: &Shared<'_>, id: FunctionId, body: &Body<'_>) -> bool {
    let is_write = |instruction: &Instruction| {
        touched(body, instruction).is_some_and(|(access, ..)| access.kind == AccessKind::Store)
    };
    if !body.instructions.iter().any(is_write) {
        return false;
    }
    let refers_to = |space| {
        let mut values = body.values.iter();
        values.any(
            |value| matches!(value, Value::Symbol(symbol, _) if module.module.symbol(*symbol).space == space),
        )
    };
    let is_kernel = module.module.function(id).is_kernel();
    let has_stack = refers_to(Space::Local) || body.has(Rare::STACK_ALLOC);
    let places = Places {
        threads: Threads {
            body,
            definitions: module.function(id).definitions(),
            warp: 0,
        },
        known: FxHashMap::default(),
        others_count: !is_kernel || has_stack || module.reads_other_dimensions(id),
        generic_counts: !is_kernel || has_stack && refers_to(Space::Shared),
    };
    let by_region = regions(body);
    let mut search = places;
    by_region.values().any(|accesses| search.clash(accesses))
}

/// The accesses of each region that has several.
fn regions(body: &Body<'_>) -> FxHashMap<u32, Vec<Access>> {
    let mut regions = Regions::new(body);
    let mut by_region: FxHashMap<u32, Vec<Access>> = FxHashMap::default();
    for (number, block) in body.blocks.iter().enumerate() {
        let mut piece = regions.first[number];
        for instruction in &body.instructions[block.instructions.range()] {
            if cuts(body, instruction) {
                piece += 1;
            } else if let Some((access, address, past)) = touched(body, instruction) {
                by_region.entry(regions.of(piece)).or_default().push(Access {
                    is_store: access.kind == AccessKind::Store,
                    is_shared: access.space == Space::Shared,
                    address,
                    past,
                    bytes: i64::from(access.bytes()),
                });
            }
        }
    }
    by_region.retain(|_, accesses| accesses.iter().any(|access| access.is_store));
    by_region
}

/// True if lanes may be ordered at an instruction.
fn cuts(body: &Body<'_>, instruction: &Instruction) -> bool {
    matches!(instruction.op, Op::Collective(..) | Op::Barrier(_) | Op::Call(_)) || orders(body, instruction)
}

/// The pieces of a body, joined to regions.
struct Regions {
    /// By block, the number of its first piece; the others follow.
    first: Vec<u32>,
    /// By piece, one that it is joined to; itself for one of each region.
    joined: Vec<u32>,
}

impl Regions {
    fn new(body: &Body<'_>) -> Self {
        let (mut first, mut last, mut count) = (Vec::new(), Vec::new(), 0);
        for block in &body.blocks {
            let instructions = &body.instructions[block.instructions.range()];
            first.push(count);
            count += instructions.iter().filter(|one| cuts(body, one)).count() as u32;
            last.push(count);
            count += 1;
        }
        let mut regions = Self {
            first,
            joined: (0..count).collect(),
        };
        for (number, &last) in last.iter().enumerate() {
            for next in body.successors(BlockId::new(number)) {
                let (one, other) = (regions.of(last), regions.of(regions.first[next.index()]));
                regions.joined[one as usize] = other;
            }
        }
        regions
    }

    /// The region of a piece.
    fn of(&mut self, mut piece: u32) -> u32 {
        while self.joined[piece as usize] != piece {
            let next = self.joined[self.joined[piece as usize] as usize];
            self.joined[piece as usize] = next;
            piece = next;
        }
        piece
    }
}

/// An access of a region.
struct Access {
    is_store: bool,
    is_shared: bool,
    address: Value,
    past: i64,
    bytes: i64,
}

/// The number of a variable, and the offset in it by lane.
type Place = (usize, [i64; WARP]);

/// The places that a function accesses.
struct Places<'a, 'm> {
    threads: Threads<'a, 'm>,
    /// By the register that holds the address.
    known: FxHashMap<Register, Option<Place>>,
    /// The lane analysis may know places in shared memory that [`Threads`] does not.
    others_count: bool,
    /// It may know generic ones.
    generic_counts: bool,
}

impl Places<'_, '_> {
    fn of(&mut self, access: &Access) -> Option<Place> {
        let threads = &self.threads;
        let find = |value| match threads.addresses(value)? {
            (Start::Symbol(symbol), by) => Some((symbol.index(), by)),
            (Start::Param(_), _) => None,
        };
        let (symbol, by) = match access.address {
            Value::Register(register) => *self.known.entry(register).or_insert_with(|| find(access.address)),
            address => find(address),
        }?;
        Some((symbol, by.map(|by| by.saturating_add(access.past))))
    }

    /// True if two accesses of a region may be those of different lanes to the same bytes.
    fn clash(&mut self, accesses: &[Access]) -> bool {
        let granule = accesses.iter().map(|access| access.bytes).min().unwrap_or(1);
        let words =
            |at: i64, bytes: i64| at.div_euclid(granule)..=at.saturating_add(bytes - 1).div_euclid(granule);
        // By variable and word, the first lane that writes it, and that others do, too.
        let mut writers: FxHashMap<(usize, i64), (usize, bool)> = FxHashMap::default();
        let mut unknown = 0;
        for access in accesses {
            let Some((symbol, by)) = self.of(access) else {
                let counts = if access.is_shared {
                    self.others_count
                } else {
                    self.generic_counts
                };
                unknown += usize::from(counts);
                continue;
            };
            for (lane, at) in by.into_iter().enumerate().filter(|_| access.is_store) {
                for word in words(at, access.bytes) {
                    let entry = writers.entry((symbol, word)).or_insert((lane, false));
                    entry.1 |= entry.0 != lane;
                }
            }
        }
        if unknown > 0 && accesses.len() > 1 {
            return true;
        }
        accesses.iter().any(|access| {
            let Some((symbol, by)) = self.of(access) else {
                return false;
            };
            by.into_iter().enumerate().any(|(lane, at)| {
                words(at, access.bytes).any(|word| {
                    let writer = writers.get(&(symbol, word));
                    writer.is_some_and(|&(first, several)| several || first != lane)
                })
            })
        })
    }
}
