//! Reads of parts of shared arrays that no thread of the block stores to.
//!
//! ```text
//! stored      the bytes of an array that some thread may store to: each store to the array has a known address in each thread of the block
//!             that may execute it, or nothing is known about the array
//! uncovered   a read that thread t certainly executes, at a known address, of bytes none of which is stored
//! used        thread t certainly stores a value that is computed from it to global memory
//! ```
//!
//! What a value is computed from: see `read_values`. Bytes between the members of a structure are copied with it: a value that is only copied
//! counts if other threads read what is stored by the same instruction.

use std::cell::OnceCell;

use ptxcheck_ir::{Access, AccessKind, Body, FunctionId, InstructionId, Op, Space, SymbolId, Value, WARP};
use rustc_hash::FxHashMap;

use super::read_values::ReadValues;
use super::{ArrayUses, UncoveredRead};
use crate::Analyses;
use crate::certain_paths::CertainPaths;
use crate::entered_function::has_guarded_end;
use crate::lanes::{Lanes, Launch, ShapeSource, launches_of};
use crate::limits::{MAX_COVER_STEPS, MAX_COVERED_BYTES, MAX_SHARED_USES, MAX_UNCOVERED_READS};
use crate::threads::Threads;
use crate::value::{Atom, Evaluator, PassedSums, Source};

impl ArrayUses<'_, '_> {
    /// The first such read of each array in a kernel, in the order of the input. No other function may name these arrays.
    #[must_use]
    pub fn find_uncovered_reads(&self, kernel: FunctionId) -> Vec<UncoveredRead> {
        self.uncovered_reads(kernel).unwrap_or_default()
    }

    fn uncovered_reads(&self, kernel: FunctionId) -> Option<Vec<UncoveredRead>> {
        let function = self.module.module.function(kernel);
        let body = function.body.as_ref().filter(|_| function.is_kernel())?;
        let analyses = self.module.function(kernel);
        let launches = launches_of(self.module, kernel, false);
        let launch = Launch::common_launch(&function.launch, &launches);
        // Blocks may have fewer threads than allowed.
        launch.shape.filter(|_| launch.source != ShapeSource::Bound)?;
        if has_guarded_end(body) {
            return None;
        }
        let taint = self.taint_by_register(kernel, body);
        let uses = self.uses_in_function(kernel, body, &taint);
        if uses.len() >= MAX_SHARED_USES {
            return None;
        }
        let lost = self.lost_arrays(kernel, body, &taint);
        let mut block = Block::new(body, analyses, launch)?;
        let mut found: Vec<UncoveredRead> = Vec::new();
        for (number, &array) in self.arrays.iter().enumerate() {
            let set = 1 << number;
            let size = self.module.module.symbol(array).size;
            let Some(size) = size.filter(|size| (1..=MAX_COVERED_BYTES).contains(size)) else {
                continue;
            };
            let writes: Vec<InstructionId> = uses
                .iter()
                .filter(|used| used.writes & set != 0)
                .map(|used| used.at)
                .collect();
            if lost & set != 0 || writes.is_empty() {
                continue;
            }
            let Some(stored) = block.stored_bytes(array, size, &writes) else {
                continue;
            };
            let reads = uses
                .iter()
                .filter(|used| used.reads & set != 0 && used.writes == 0);
            let reads: Vec<Candidate> = reads
                .filter_map(|used| block.candidate(used.at, array, &stored))
                .take(MAX_UNCOVERED_READS)
                .collect();
            if let Some(read) = self.first_used(kernel, &mut block, &stored, &reads) {
                found.push(UncoveredRead {
                    array,
                    launch,
                    ..read
                });
            }
        }
        found.sort_by_key(|read| read.at);
        Some(found)
    }

    /// The first of the candidates whose value some thread that reads such bytes stores to global memory.
    fn first_used(
        &self,
        kernel: FunctionId,
        block: &mut Block<'_, '_>,
        stored: &Stored,
        candidates: &[Candidate],
    ) -> Option<UncoveredRead> {
        if candidates.is_empty() {
            return None;
        }
        let (body, analyses) = (block.body, block.analyses);
        let reads = candidates.iter().map(|candidate| candidate.at).collect();
        let mut evaluator = Evaluator::new(Source::within_body(body, analyses), ReadValues::of(reads));
        // The threads that store a value computed from each of the candidates.
        let mut used: Vec<FxHashMap<u32, Lanes>> = vec![FxHashMap::default(); candidates.len()];
        for (at, instruction) in body.iter() {
            let Op::Access(access) = instruction.op else {
                continue;
            };
            let uses = body.uses(instruction);
            let is_store = access.kind == AccessKind::Store || access.kind.is_atomic();
            if !is_store || uses.len() < 3 || !self.is_global(kernel, block, at, access, uses[0]) {
                continue;
            }
            for &value in &uses[2..] {
                let Some(sources) = evaluator.description_of(value) else {
                    continue;
                };
                for &(read, is_computed) in &sources {
                    let Some(number) = candidates.iter().position(|candidate| candidate.at == read) else {
                        continue;
                    };
                    let candidate = &candidates[number];
                    if !is_computed && !candidate.reads_stored {
                        continue;
                    }
                    for &(warp, lanes) in &candidate.warps {
                        block.take(WARP as usize)?;
                        *used[number].entry(warp).or_default() |= block.lanes_that_execute(warp, lanes, at);
                    }
                }
            }
        }
        let first = candidates
            .iter()
            .zip(&used)
            .find(|(_, used)| used.values().any(|lanes| *lanes != 0));
        let (candidate, used) = first?;
        let (warp, lanes) = candidate.warps.iter().find_map(|&(warp, _)| {
            let lanes = used.get(&warp).copied().unwrap_or(0);
            (lanes != 0).then_some((warp, lanes))
        })?;
        let bytes = block.bytes_read(candidate, warp, lanes)?;
        Some(UncoveredRead {
            array: candidate.array,
            at: candidate.at,
            warp,
            lanes,
            bytes,
            nearest: stored.nearest(bytes)?,
            launch: block.launch,
        })
    }

    /// True for an access to global memory, as far as is known.
    fn is_global(
        &self,
        kernel: FunctionId,
        block: &Block<'_, '_>,
        at: InstructionId,
        access: Access,
        address: Value,
    ) -> bool {
        match access.space {
            Space::Global => true,
            Space::Generic => {
                let base = block.threads(0).base_and_distances(address);
                !matches!(base, Some((Atom::Symbol(symbol), _)) if self.module.module.symbol(symbol).space != Space::Global)
                    && !self.module.may_be_in_own_frame(kernel, at, address)
            }
            _ => false,
        }
    }
}

/// A read of bytes that are not stored.
struct Candidate {
    at: InstructionId,
    array: SymbolId,
    access: Access,
    address: Value,
    past: i64,
    /// The lanes that certainly read such bytes, by warp.
    warps: Vec<(u32, Lanes)>,
    /// Some thread reads what is stored.
    reads_stored: bool,
}

/// The bytes of an array that threads may store to.
struct Stored {
    is_stored: Vec<bool>,
    /// Each store, with the first and the last byte.
    stores: Vec<(InstructionId, (u64, u64))>,
}

impl Stored {
    /// The bytes of an access at an offset; `None` if they are not all in the array.
    fn bytes_of(&self, start: i64, access: Access) -> Option<&[bool]> {
        let start = usize::try_from(start).ok()?;
        self.is_stored
            .get(start..start.checked_add(access.bytes() as usize)?)
    }

    /// The store that comes nearest to these bytes.
    fn nearest(&self, (first, last): (u64, u64)) -> Option<(InstructionId, (u64, u64))> {
        let distance = |&(_, (from, to)): &(InstructionId, (u64, u64))| {
            from.saturating_sub(last).max(first.saturating_sub(to))
        };
        self.stores.iter().min_by_key(|store| distance(store)).copied()
    }
}

/// The threads of a block of a known shape.
struct Block<'a, 'm> {
    body: &'a Body<'m>,
    analyses: &'a Analyses<'m>,
    launch: Launch,
    /// The threads of each warp.
    warps: Vec<OnceCell<Threads<'a, 'm>>>,
    /// The blocks of code that a thread may execute, by its number.
    reachable: FxHashMap<u32, Vec<bool>>,
    steps_left: usize,
}

impl<'a, 'm> Block<'a, 'm> {
    fn new(body: &'a Body<'m>, analyses: &'a Analyses<'m>, launch: Launch) -> Option<Self> {
        let threads = launch.thread_count()?;
        let mut warps = Vec::new();
        warps.resize_with(threads.div_ceil(WARP) as usize, OnceCell::new);
        Some(Self {
            body,
            analyses,
            launch,
            warps,
            reachable: FxHashMap::default(),
            steps_left: MAX_COVER_STEPS,
        })
    }

    fn threads(&self, warp: u32) -> &Threads<'a, 'm> {
        let (body, analyses, block) = (self.body, self.analyses, self.launch.shape);
        self.warps[warp as usize].get_or_init(|| {
            let source = Source::within_body(body, analyses);
            Threads::of_warp_in_block(source, warp, block, PassedSums::default())
        })
    }

    fn warp_numbers(&self) -> std::ops::Range<u32> {
        0..self.warps.len() as u32
    }

    /// Takes steps from the budget; `None` if it has not so many left.
    fn take(&mut self, steps: usize) -> Option<()> {
        self.steps_left = self.steps_left.checked_sub(steps)?;
        Some(())
    }

    /// The bytes that instructions may store to; `None` if the address of one is not known in some thread.
    fn stored_bytes(&mut self, array: SymbolId, size: u64, writes: &[InstructionId]) -> Option<Stored> {
        let mut stored = Stored {
            is_stored: vec![false; usize::try_from(size).ok()?],
            stores: Vec::new(),
        };
        for &at in writes {
            let (access, address, past) = self.plain_access(at)?;
            let mut range: Option<(u64, u64)> = None;
            for warp in self.warp_numbers() {
                self.take(WARP as usize * access.bytes() as usize)?;
                let (base, distances) = self.threads(warp).base_and_distances(address)?;
                let Atom::Symbol(base) = base else {
                    return None;
                };
                if base != array {
                    continue;
                }
                let existing = self.launch.existing_lanes(warp);
                let lanes = self.lanes_that_may_execute(warp, existing, at)?;
                for lane in lanes_in(lanes) {
                    let start = (distances.number_in_lane(lane)? as i64).checked_add(past)?;
                    let end = start.checked_add(access.bytes().into())?;
                    // What lies outside of the array is another finding.
                    let (start, end) = (start.clamp(0, size as i64), end.clamp(0, size as i64));
                    stored.is_stored[start as usize..end as usize].fill(true);
                    if start < end {
                        let (first, last) = (start as u64, end as u64 - 1);
                        let known = range.get_or_insert((first, last));
                        *known = (known.0.min(first), known.1.max(last));
                    }
                }
            }
            stored.stores.extend(range.map(|range| (at, range)));
        }
        Some(stored)
    }

    /// The access, the address and the offset of an instruction that accesses as many bytes as it says, each thread on its own.
    fn plain_access(&self, at: InstructionId) -> Option<(Access, Value, i64)> {
        let instruction = self.body.instruction(at);
        let (Op::Access(access), &[address, Value::Integer(past), ..]) =
            (instruction.op, self.body.uses(instruction))
        else {
            return None;
        };
        let is_plain = access.kind != AccessKind::Other
            && access.bytes() > 0
            && self.body.rows_at(at).is_none()
            && self.body.asynchronous_at(at).is_none();
        is_plain.then_some((access, address, past))
    }

    /// A read of bytes that no thread stores to, if it is one for some thread.
    fn candidate(&mut self, at: InstructionId, array: SymbolId, stored: &Stored) -> Option<Candidate> {
        let (access, address, past) = self.plain_access(at)?;
        let mut candidate = Candidate {
            at,
            array,
            access,
            address,
            past,
            warps: Vec::new(),
            reads_stored: false,
        };
        for warp in self.warp_numbers() {
            self.take(WARP as usize * access.bytes() as usize)?;
            let threads = self.threads(warp);
            let Some((Atom::Symbol(base), distances)) = threads.base_and_distances(address) else {
                continue;
            };
            if base != array {
                continue;
            }
            let mut lanes = 0;
            for lane in lanes_in(self.launch.existing_lanes(warp)) {
                let start = distances
                    .number_in_lane(lane)
                    .and_then(|by| (by as i64).checked_add(past));
                let Some(bytes) = start.and_then(|start| stored.bytes_of(start, access)) else {
                    continue;
                };
                if bytes.contains(&true) {
                    candidate.reads_stored = true;
                } else {
                    lanes |= 1 << lane;
                }
            }
            lanes = self.lanes_that_execute(warp, lanes, at);
            if lanes != 0 {
                candidate.warps.push((warp, lanes));
            }
        }
        (!candidate.warps.is_empty()).then_some(candidate)
    }

    /// The first and the last byte that lanes read.
    fn bytes_read(&self, read: &Candidate, warp: u32, lanes: Lanes) -> Option<(u64, u64)> {
        let (_, distances) = self.threads(warp).base_and_distances(read.address)?;
        let starts = lanes_in(lanes).filter_map(|lane| {
            let start = (distances.number_in_lane(lane)? as i64).checked_add(read.past)?;
            u64::try_from(start).ok()
        });
        let (first, last) = starts.fold((u64::MAX, 0), |(first, last), start| {
            (first.min(start), last.max(start))
        });
        Some((first, last.checked_add(read.access.bytes().into())? - 1))
    }

    const fn paths(&self) -> CertainPaths<'a, 'm> {
        CertainPaths {
            body: self.body,
            analyses: self.analyses,
        }
    }

    /// Of these lanes, those that may execute an instruction; `None` if it takes too many steps to know.
    fn lanes_that_may_execute(&mut self, warp: u32, lanes: Lanes, at: InstructionId) -> Option<Lanes> {
        let block = self.body.block_of(at);
        let mut found = 0;
        for lane in lanes_in(lanes) {
            let thread = warp * WARP + lane as u32;
            if !self.reachable.contains_key(&thread) {
                self.take(self.body.blocks.len())?;
                let reachable = self
                    .paths()
                    .blocks_possibly_reached(self.threads(warp), lane as u32);
                self.reachable.insert(thread, reachable);
            }
            let is_reached = self.reachable[&thread][block.index()];
            let holds = self.paths().guard_holds(self.threads(warp), lane as u32, at);
            if is_reached && holds != Some(false) {
                found |= 1 << lane;
            }
        }
        Some(found)
    }

    /// Of these lanes, those that certainly execute an instruction.
    fn lanes_that_execute(&self, warp: u32, lanes: Lanes, at: InstructionId) -> Lanes {
        let (threads, paths) = (self.threads(warp), self.paths());
        lanes_in(lanes)
            .filter(|&lane| paths.surely_executes(threads, lane as u32, at))
            .fold(0, |all, lane| all | 1 << lane)
    }
}

fn lanes_in(lanes: Lanes) -> impl Iterator<Item = usize> {
    (0..WARP as usize).filter(move |lane| lanes >> lane & 1 == 1)
}
