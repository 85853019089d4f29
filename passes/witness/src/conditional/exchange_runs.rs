//! Pairs of accesses that runs of a witness show, and the steps up to them.

use rustc_hash::FxHashMap;

use super::copy_failure::object_of;
use super::hang::FoundHang;
use super::replay::Replay;
use super::scenarios::NEIGHBOUR;
use super::witness::{Awaited, Memory, OBJECT, Witness};
use crate::analysis::lanes::{BlockPair, Object, Pair, PairKind, Site};
use crate::ir::{FunctionId, InstructionId, Module, Op, Space, SymbolId, WARP};
use crate::limits::{
    MAX_BLOCK_THREAD_STEPS, MAX_IDLE_ARRAY_RUNS, MAX_IDLE_BLOCK_RUNS, MAX_IDLE_COPY_RUNS,
    MAX_IDLE_EXCHANGE_RUNS, MAX_IDLE_GRID_RUNS, MAX_IDLE_PROTOCOL_RUNS, MAX_PROTOCOL_THREAD_STEPS,
    MAX_THREAD_STEPS,
};
use ptxcheck_machine::limits::MAX_EXAMPLES;
use ptxcheck_machine::{
    Accessed, AsyncFailure, At, Event, Example, Exchange, ExchangeKind, Exchanges, Hang, Observer, View,
    Watched,
};

/// The threads whose accesses are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Among {
    /// Lanes of one warp.
    Lanes,
    /// Threads of different warps of a block.
    Warps,
    /// Threads of different warps or blocks, in global memory.
    Grid,
    /// Each thread alone, with the array that it accesses: both accesses of a pair are one.
    Array,
    /// All threads of a block, with the barriers that they wait at: both accesses of a pair are one operation on a barrier.
    Protocol,
    /// All threads of a block, with the asynchronous copies that they start: both accesses of a pair are one.
    Copies,
}

/// A pair that is searched for.
#[derive(Clone)]
pub(super) struct Wanted {
    pub(super) object: Object,
    pub(super) write: Site,
    pub(super) other: Site,
    pub(super) kind: PairKind,
    /// It needs a block of more threads than this.
    pub(super) above: u32,
    /// In global memory.
    pub(super) contended: Option<Contended>,
}

/// The properties of a pair in global memory that is searched for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contended {
    /// Both accesses belong to one update: the other one reads what the write overwrites.
    pub(super) is_update: bool,
    /// The value that is written is computed from what is overwritten: it is lost where another thread has read before. Of threads that only
    /// decide by what they read whether they write, any may be the last one.
    pub(super) is_computed: bool,
    /// The place is loaded from memory.
    pub(super) is_at_data: bool,
    /// The block numbers that the kernel reads.
    pub(super) blocks: [bool; 3],
}

impl Wanted {
    /// True if a pair that a run of a witness shows counts. Places that are loaded from memory are all alike in most contents of memory; where
    /// each element is its own index, threads share a place only by what the code does.
    fn does_pair_count_in(&self, witness: &Witness) -> bool {
        let is_at_data = self.contended.is_some_and(|contended| contended.is_at_data);
        // Neighbours are vertices.
        let neighbours = witness.loads.iter();
        let last = neighbours.fold(NEIGHBOUR, |last, load| {
            last.max(load.others).max(load.differing.1)
        });
        let has_neighbour = |value: u64| value == 0 || value > last;
        let are_vertices = || witness.params.iter().all(|param| has_neighbour(param.value));
        !is_at_data || witness.memory == Memory::Ascending && are_vertices()
    }
}

/// Two threads that access one place in global memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContendedPair {
    /// The access that writes; beside an atomic, the atomic.
    pub write: Site,
    /// The other one.
    pub other: Site,
    /// The threads that make them, by their numbers in their blocks.
    pub threads: (u32, u32),
    /// Their blocks, by their numbers in the grid.
    pub blocks: (u32, u32),
}

/// An access of a thread to an array in shared memory that leaves it, or is not aligned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeavingAccess {
    /// The access.
    pub site: Site,
    /// The thread, by its number in the block.
    pub thread: u32,
    /// Bytes from the start of the array to that of the access.
    pub offset: i64,
    /// Bytes that it accesses.
    pub bytes: u64,
    /// It is inside, and not aligned to its size, which the array is.
    pub is_misaligned: bool,
    /// It writes.
    pub is_write: bool,
}

/// A pair that threads make in a run.
pub(super) enum Made {
    /// Lanes of this warp.
    Lanes(u32, Pair),
    /// Threads of different warps.
    Threads(BlockPair),
    /// Threads of different warps or blocks.
    Contended(ContendedPair, Wanted),
    /// A thread that leaves an array.
    Leaving(LeavingAccess),
    /// Threads that wait for ever.
    Hanging(FoundHang),
    /// A thread that fails about a copy.
    Failing(AsyncFailure),
}

impl Made {
    pub(super) fn into_pair(self) -> Option<Pair> {
        match self {
            Self::Lanes(_, pair) => Some(pair),
            _ => None,
        }
    }

    pub(super) fn into_block_pair(self) -> Option<BlockPair> {
        match self {
            Self::Threads(pair) => Some(pair),
            _ => None,
        }
    }

    pub(super) fn into_contended(self) -> Option<ContendedPair> {
        match self {
            Self::Contended(pair, _) => Some(pair),
            _ => None,
        }
    }

    pub(super) fn into_leaving(self) -> Option<LeavingAccess> {
        match self {
            Self::Leaving(access) => Some(access),
            _ => None,
        }
    }

    pub(super) fn into_hang(self) -> Option<FoundHang> {
        match self {
            Self::Hanging(hang) => Some(hang),
            _ => None,
        }
    }

    pub(super) fn into_copy_failure(self) -> Option<AsyncFailure> {
        match self {
            Self::Failing(failure) => Some(failure),
            _ => None,
        }
    }

    /// The warp, if it is one.
    pub(super) const fn warp(&self) -> Option<u32> {
        match self {
            Self::Lanes(warp, _) => Some(*warp),
            Self::Threads(_)
            | Self::Contended(..)
            | Self::Leaving(_)
            | Self::Hanging(_)
            | Self::Failing(_) => None,
        }
    }

    /// The witness of the run, about the threads that make the pair.
    pub(super) fn witness(&self, run: &Witness) -> Witness {
        match self {
            Self::Lanes(warp, pair) => Witness {
                warp: *warp,
                lanes: pair.others,
                ..run.clone()
            },
            Self::Threads(pair) => Witness {
                pair: Some(pair.threads),
                ..run.clone()
            },
            Self::Contended(pair, _) => Witness {
                pair: Some(pair.threads),
                pair_blocks: Some(pair.blocks),
                ..run.clone()
            },
            Self::Leaving(access) => Witness {
                warp: access.thread / WARP,
                lanes: 1 << (access.thread % WARP),
                ..run.clone()
            },
            Self::Failing(failure) => Witness {
                warp: failure.thread / WARP,
                lanes: 1 << (failure.thread % WARP),
                ..run.clone()
            },
            Self::Hanging(hang) => Witness {
                warp: hang.warp,
                lanes: hang.lanes,
                ..run.clone()
            },
        }
    }
}

impl Among {
    /// Observes the pairs of these threads. `sites`: the accesses of the pairs that are wanted.
    pub(super) fn exchanges<'w>(self, sites: impl IntoIterator<Item = &'w Site>) -> Exchanges {
        match self {
            Self::Grid | Self::Array | Self::Copies => {
                Exchanges::of_grid(sites.into_iter().map(|site| (site.function, site.instruction)))
            }
            Self::Protocol => Exchanges::of_grid([]),
            Self::Lanes => Exchanges::without_atomics(),
            Self::Warps => Exchanges::without_atomics().with_block().without_lanes(),
        }
    }

    /// Most instructions of a thread, on average, in a run that shows them.
    pub(super) const fn thread_steps(self) -> u64 {
        match self {
            Self::Lanes => MAX_THREAD_STEPS,
            Self::Warps | Self::Grid | Self::Array => MAX_BLOCK_THREAD_STEPS,
            Self::Protocol | Self::Copies => MAX_PROTOCOL_THREAD_STEPS,
        }
    }

    /// Runs in a row that show nothing new, after which no more are made with a block.
    pub(super) const fn idle_runs(self) -> usize {
        match self {
            Self::Lanes => MAX_IDLE_EXCHANGE_RUNS,
            Self::Warps => MAX_IDLE_BLOCK_RUNS,
            Self::Array => MAX_IDLE_ARRAY_RUNS,
            Self::Grid => MAX_IDLE_GRID_RUNS,
            Self::Copies => MAX_IDLE_COPY_RUNS,
            Self::Protocol => MAX_IDLE_PROTOCOL_RUNS,
        }
    }

    /// The wanted pairs that a run shows, of lanes in some warp or in this one, with their numbers. `used`: those of these reads, by their
    /// numbers, whose value something depends on, a bit for each.
    pub(super) fn made(
        self,
        witness: &Witness,
        exchanges: &Exchanges,
        wanted: &[(usize, &Wanted)],
        warp: Option<u32>,
        used: &dyn Fn(&[Watched]) -> u32,
    ) -> Vec<(usize, Made)> {
        let of = |wanted: &Wanted| {
            let found = exchanges.found().iter().filter(|exchange| {
                let is_of_warp = warp.is_none_or(|warp| warp == exchange.warp);
                is_of_warp
                    && exchange.is_across_warps() == (self != Self::Lanes)
                    && wanted.does_pair_count_in(witness)
            });
            let found = found.filter_map(|exchange| Some((exchange, is_first_write(exchange, wanted)?)));
            found.collect::<Vec<_>>()
        };
        let found = wanted
            .iter()
            .map(|&(number, wanted)| (number, wanted, of(wanted)));
        let found: Vec<_> = found.filter(|(.., found)| !found.is_empty()).collect();
        if self == Self::Lanes {
            let pairs = found.into_iter().map(|(number, wanted, found)| {
                let (exchange, is_first_write) = found[0];
                let pair = pair_of_lanes(exchange, wanted, is_first_write);
                (number, Made::Lanes(exchange.warp, pair))
            });
            return pairs.collect();
        }
        // As many reads of each pair as one run follows of all.
        let most = (MAX_EXAMPLES / found.len().max(1)).max(1);
        let examples = found.into_iter().map(|(number, wanted, found)| {
            let all = found.iter().flat_map(|&(exchange, is_first_write)| {
                exchange.examples.iter().map(move |&example| Candidate {
                    example,
                    kind: exchange.kind,
                    is_first_write,
                    is_in_next_round: exchange.is_in_next_round && !is_first_write,
                })
            });
            (number, wanted, evenly_spaced(&all.collect::<Vec<_>>(), most))
        });
        let examples: Vec<_> = examples.collect();
        let mut made = Vec::new();
        for pairs in examples.chunks(MAX_EXAMPLES / most) {
            let all = pairs.iter().flat_map(|(.., candidates)| candidates);
            let reads: Vec<Watched> = all.filter_map(|candidate| candidate.watched()).collect();
            let used = if reads.is_empty() { 0 } else { used(&reads) };
            let is_used = |candidate: &&Candidate| {
                candidate.watched().is_none_or(|read| {
                    let mut places = reads.iter().enumerate().filter(|(_, known)| **known == read);
                    places.any(|(place, _)| used >> place & 1 == 1)
                })
            };
            for (number, wanted, candidates) in pairs {
                let candidate = candidates.iter().find(is_used);
                made.extend(candidate.map(|one| (*number, one.made(self, witness, wanted))));
            }
        }
        made
    }
}

/// An example of a wanted pair of threads of different warps.
#[derive(Clone, Copy)]
struct Candidate {
    example: Example,
    kind: ExchangeKind,
    is_first_write: bool,
    is_in_next_round: bool,
}

impl Candidate {
    /// Its read, if one of the accesses reads.
    fn watched(&self) -> Option<Watched> {
        let Example { read, changes, .. } = self.example;
        read.map(|number| Watched { number, changes })
    }

    fn made(self, among: Among, witness: &Witness, wanted: &Wanted) -> Made {
        if among != Among::Grid {
            return Made::Threads(self.block_pair_of(wanted));
        }
        let of_write_first = |(first, second)| {
            if self.is_first_write {
                (first, second)
            } else {
                (second, first)
            }
        };
        let (first, second) = self.example.blocks;
        let blocks = (witness.number_in_grid(first), witness.number_in_grid(second));
        let pair = ContendedPair {
            write: wanted.write.clone(),
            other: wanted.other.clone(),
            threads: of_write_first(self.example.threads),
            blocks: of_write_first(blocks),
        };
        let kind = match self.kind {
            ExchangeKind::Overwritten => PairKind::WriteAfterRead,
            _ => wanted.kind,
        };
        Made::Contended(
            pair,
            Wanted {
                kind,
                ..wanted.clone()
            },
        )
    }

    fn block_pair_of(self, wanted: &Wanted) -> BlockPair {
        let (first, second) = self.example.threads;
        let kind = match wanted.kind {
            PairKind::ReadAfterWrite if self.is_in_next_round => PairKind::WriteAfterRead,
            kind => kind,
        };
        BlockPair {
            write: wanted.write.clone(),
            other: wanted.other.clone(),
            kind,
            threads: if self.is_first_write {
                (first, second)
            } else {
                (second, first)
            },
            above: None,
            is_in_next_round: kind != wanted.kind,
            is_at_write: kind == PairKind::WriteAfterRead,
        }
    }
}

/// At most so many of a list, evenly spaced.
fn evenly_spaced<T: Copy>(all: &[T], most: usize) -> Vec<T> {
    let count = all.len().min(most);
    (0..count)
        .map(|number| all[(2 * number + 1) * all.len() / (2 * count)])
        .collect()
}

/// True if an exchange is a wanted pair and its first access is the write, false if it is the other one; `None` if it is another pair.
pub(super) fn is_first_write(exchange: &Exchange, wanted: &Wanted) -> Option<bool> {
    let is_store = wanted.kind == PairKind::TwoWrites;
    let is_admitted = match exchange.kind {
        ExchangeKind::Updated => wanted.contended.is_some_and(|contended| contended.is_update),
        ExchangeKind::Overwritten => wanted
            .contended
            .is_some_and(|contended| contended.is_update && contended.is_computed),
        ExchangeKind::ReadAfterWrite | ExchangeKind::WriteAfterRead | ExchangeKind::TwoWrites => {
            wanted.contended.is_none_or(|contended| !contended.is_update)
        }
    };
    if !is_admitted {
        return None;
    }
    let is_first_write = match exchange.kind {
        ExchangeKind::TwoWrites => exchange.first == wanted.write,
        ExchangeKind::ReadAfterWrite | ExchangeKind::Updated | ExchangeKind::Overwritten => true,
        ExchangeKind::WriteAfterRead => false,
    };
    let both = if is_first_write {
        [&exchange.first, &exchange.second]
    } else {
        [&exchange.second, &exchange.first]
    };
    let is_it =
        (exchange.kind == ExchangeKind::TwoWrites) == is_store && both == [&wanted.write, &wanted.other];
    is_it.then_some(is_first_write)
}

fn pair_of_lanes(exchange: &Exchange, wanted: &Wanted, is_first_write: bool) -> Pair {
    let (first, second) = exchange.example;
    let (writers, others, example) = if is_first_write {
        (exchange.first_lanes, exchange.second_lanes, (first, second))
    } else {
        (exchange.second_lanes, exchange.first_lanes, (second, first))
    };
    // No lane makes both, so that none has one first.
    let kind = match wanted.kind {
        PairKind::WriteAfterRead if writers & others == 0 => PairKind::ReadAfterWrite,
        kind => kind,
    };
    Pair {
        write: wanted.write.clone(),
        other: wanted.other.clone(),
        kind,
        writers,
        others,
        example,
        is_volatile: exchange.is_volatile,
        is_between_rounds: false,
        is_across_warps: false,
        is_at_write: false,
    }
}

/// The bytes of an array that an access is made to.
#[derive(Clone, Copy)]
struct ArrayBytes {
    start: u64,
    after: u64,
    /// Its start is aligned to this, and the access has to be.
    unit: u64,
}

/// The bytes of shared memory that accesses lie in.
pub(super) struct Bounds {
    /// The first byte of each variable, and the one after the last.
    variables: Vec<(u64, u64)>,
    /// The variables, in the same order.
    symbols: Vec<SymbolId>,
    /// By instruction of a wanted access: the variables that it may access, from different callers.
    of_access: FxHashMap<(FunctionId, InstructionId), Vec<(u64, u64)>>,
    /// Where threads are compared with arrays: by instruction, the bytes of its array, and the alignment that it has and needs.
    arrays: FxHashMap<(FunctionId, InstructionId), ArrayBytes>,
    /// The same for variables in global memory, where accesses to it are compared, and the number of arrays of the witness.
    global: Option<(Vec<(u64, u64)>, u64)>,
}

impl Bounds {
    pub(super) fn new(module: &Module<'_>, replay: &Replay<'_>, among: Among, wanted: &[Wanted]) -> Self {
        let kernel = replay.kernel();
        let range = |symbol| {
            let start = kernel.address_of(symbol);
            let size = module.symbol(symbol).size;
            (start, size.map_or(u64::MAX, |size| start.saturating_add(size)))
        };
        let of_space = |space| {
            let symbols = (0..module.symbols.len()).map(SymbolId::new);
            symbols.filter(move |&symbol| module.symbol(symbol).space == space)
        };
        let mut of_access: FxHashMap<_, Vec<(u64, u64)>> = FxHashMap::default();
        for wanted in wanted {
            if let Object::Variable(symbol) = wanted.object {
                for site in [&wanted.write, &wanted.other] {
                    let ranges = of_access.entry((site.function, site.instruction)).or_default();
                    if !ranges.contains(&range(symbol)) {
                        ranges.push(range(symbol));
                    }
                }
            }
        }
        let mut arrays = FxHashMap::default();
        for wanted in wanted.iter().filter(|_| among == Among::Array) {
            let Object::Variable(symbol) = wanted.object else {
                continue;
            };
            let (start, after) = range(symbol);
            let site = (wanted.write.function, wanted.write.instruction);
            let body = module.function(site.0).body.as_ref();
            let unit = match body.map(|body| body.instruction(site.1).op) {
                Some(Op::Access(access)) => u64::from(access.unit()).max(1),
                _ => 1,
            };
            let is_aligned = u64::from(module.symbol(symbol).align).is_multiple_of(unit);
            let unit = if is_aligned { unit } else { 1 };
            arrays.insert(site, ArrayBytes { start, after, unit });
        }
        Self {
            variables: of_space(Space::Shared).map(range).collect(),
            symbols: of_space(Space::Shared).collect(),
            arrays,
            of_access,
            global: (among == Among::Grid)
                .then(|| (of_space(Space::Global).map(range).collect(), replay.array_count())),
        }
    }

    /// The variable that an address in shared memory lies in, and the bytes before it there.
    pub(super) fn variable_at(&self, address: u64) -> Option<(SymbolId, u64)> {
        let is_in = |(start, after): &(u64, u64)| *start <= address && address < *after;
        let number = self.variables.iter().position(is_in)?;
        Some((*self.symbols.get(number)?, address - self.variables[number].0))
    }

    /// True if an access to global memory lies in a variable, or in an array of the witness and not before it. A pointer that is loaded from
    /// memory is a small number, which no caller passes.
    fn is_in_global(&self, start: u64, end: u64) -> bool {
        let Some((variables, arrays)) = &self.global else {
            return true;
        };
        let is_array = (1..=*arrays).contains(&(start / OBJECT)) && start % OBJECT < OBJECT / 2;
        is_array
            || variables
                .iter()
                .any(|(first, after)| *first <= start && end <= *after)
    }

    /// Observes exchanges, and accesses that lie outside.
    pub(super) const fn with_bounds_observed(&self, exchanges: Exchanges) -> Bounded<'_> {
        Bounded {
            bounds: self,
            exchanges,
            is_outside: false,
            leaving: Vec::new(),
        }
    }
}

/// The exchanges of a run, and whether a thread accesses shared memory beyond its variable.
pub(super) struct Bounded<'b> {
    bounds: &'b Bounds,
    exchanges: Exchanges,
    is_outside: bool,
    leaving: Vec<LeavingAccess>,
}

/// What a run shows.
pub(super) struct Observed {
    pub(super) exchanges: Exchanges,
    /// A thread accesses shared memory beyond its variable.
    pub(super) is_outside: bool,
    /// The first access of each instruction that leaves its array, where that is looked for.
    pub(super) leaving: Vec<LeavingAccess>,
    /// The threads that wait for ever, where that is looked for.
    pub(super) hang: Option<Hang>,
    /// The failures about copies, where those are looked for.
    pub(super) failures: Vec<AsyncFailure>,
}

impl Observed {
    /// The operations on barriers at which threads wait for ever, with their numbers.
    pub(super) fn hanging(&self, bounds: &Bounds, wanted: &[(usize, &Wanted)]) -> Vec<(usize, Made)> {
        let number_of = |site: &Site| {
            let mut all = wanted.iter();
            all.find(|(_, one)| one.write == *site).map(|(number, _)| *number)
        };
        let found = self
            .hang
            .as_ref()
            .and_then(|hang| FoundHang::new(hang, number_of));
        let Some((number, mut hang)) = found else {
            return Vec::new();
        };
        if let Some(Awaited::Phase { address, .. }) = hang.awaits {
            hang.barrier = bounds.variable_at(address);
        }
        vec![(number, Made::Hanging(hang))]
    }

    /// The wanted failures about copies, with their numbers.
    pub(super) fn failing(&self, wanted: &[(usize, &Wanted)]) -> Vec<(usize, Made)> {
        let found = wanted.iter().filter_map(|(number, wanted)| {
            let mut failures = self.failures.iter();
            let failure =
                failures.find(|one| one.site == wanted.write && object_of(one.wrong) == wanted.object)?;
            Some((*number, Made::Failing(failure.clone())))
        });
        found.collect()
    }

    /// The wanted accesses that leave their arrays, with their numbers.
    pub(super) fn leaving(&self, wanted: &[(usize, &Wanted)]) -> Vec<(usize, Made)> {
        let found = wanted.iter().filter_map(|(number, wanted)| {
            let mut all = self.leaving.iter();
            let own = all.find(|access| access.site == wanted.write)?;
            Some((*number, Made::Leaving(own.clone())))
        });
        found.collect()
    }
}

impl Bounded<'_> {
    pub(super) fn finish(self) -> Observed {
        Observed {
            exchanges: self.exchanges,
            is_outside: self.is_outside,
            leaving: self.leaving,
            hang: None,
            failures: Vec::new(),
        }
    }

    /// Keeps an access that leaves its array, the first one of its instruction.
    fn add_if_leaving(&mut self, at: &At<'_>, access: &Accessed) {
        let place = (at.function, at.instruction);
        let Some(array) = self.bounds.arrays.get(&place).filter(|_| access.bytes > 0) else {
            return;
        };
        let is_known = |known: &LeavingAccess| (known.site.function, known.site.instruction) == place;
        let end = access.address.saturating_add(access.bytes);
        let is_inside = access.address >= array.start && end <= array.after;
        let is_misaligned = access.address.wrapping_sub(array.start) % array.unit != 0;
        if (!is_inside || is_misaligned) && !self.leaving.iter().any(is_known) {
            self.leaving.push(LeavingAccess {
                site: Site::of_kernel(at.function, at.instruction),
                thread: at.thread as u32,
                offset: access.address.wrapping_sub(array.start).cast_signed(),
                bytes: access.bytes,
                is_misaligned: is_inside,
                is_write: access.changes != 0,
            });
        }
    }
}

impl Observer for Bounded<'_> {
    fn on(&mut self, at: &At<'_>, event: &Event<'_>, view: &View<'_>) {
        if let Event::Access(access, _) = event
            && access.space == Space::Global
            && !self.is_outside
        {
            let end = access.address.saturating_add(access.bytes);
            self.is_outside = !self.bounds.is_in_global(access.address, end);
        }
        if let Event::Access(access, _) = event
            && access.space == Space::Shared
            && !self.is_outside
        {
            let end = access.address.saturating_add(access.bytes);
            let is_in = |(start, after): &(u64, u64)| *start <= access.address && end <= *after;
            let of_access = self.bounds.of_access.get(&(at.function, at.instruction));
            let ranges = of_access.unwrap_or(&self.bounds.variables);
            self.is_outside = !ranges.iter().any(is_in);
        }
        if let Event::Access(access, _) = event
            && access.space == Space::Shared
        {
            self.add_if_leaving(at, access);
        }
        self.exchanges.on(at, event, view);
    }
}
