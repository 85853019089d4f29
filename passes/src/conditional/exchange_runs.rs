//! Pairs of accesses that runs of a witness show, and the steps up to them.

use rustc_hash::FxHashMap;

use super::replay::{add_moment, machine_site};
use super::witness::{Witness, WitnessRun};
use crate::analysis::lanes::{BlockPair, Object, Pair, PairKind, Site};
use crate::ir::{FunctionId, InstructionId, Module, Space, SymbolId, WARP};
use crate::limits::{MAX_BLOCK_THREAD_STEPS, MAX_IDLE_BLOCK_RUNS, MAX_IDLE_EXCHANGE_RUNS, MAX_THREAD_STEPS};
use ptxcheck_machine::limits::MAX_EXAMPLES;
use ptxcheck_machine::{
    At, Doing, Event, Example, Exchange, ExchangeKind, Exchanges, Kernel, Observer, Trace, View,
};

/// The threads whose accesses are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Among {
    /// Lanes of one warp.
    Lanes,
    /// Threads of different warps of a block.
    Warps,
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
}

/// A pair that threads make in a run.
pub(super) enum Made {
    /// Lanes of this warp.
    Lanes(u32, Pair),
    /// Threads of different warps.
    Threads(BlockPair),
}

impl Made {
    pub(super) fn into_pair(self) -> Option<Pair> {
        match self {
            Self::Lanes(_, pair) => Some(pair),
            Self::Threads(_) => None,
        }
    }

    pub(super) fn into_block_pair(self) -> Option<BlockPair> {
        match self {
            Self::Threads(pair) => Some(pair),
            Self::Lanes(..) => None,
        }
    }

    /// The warp, if it is one.
    pub(super) const fn warp(&self) -> Option<u32> {
        match self {
            Self::Lanes(warp, _) => Some(*warp),
            Self::Threads(_) => None,
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
        }
    }
}

impl Among {
    /// Observes the pairs of these threads.
    pub(super) fn exchanges(self) -> Exchanges {
        match self {
            Self::Lanes => Exchanges::without_atomics(),
            Self::Warps => Exchanges::without_atomics().with_block().without_lanes(),
        }
    }

    /// Most instructions of a thread, on average, in a run that shows them.
    pub(super) const fn thread_steps(self) -> u64 {
        match self {
            Self::Lanes => MAX_THREAD_STEPS,
            Self::Warps => MAX_BLOCK_THREAD_STEPS,
        }
    }

    /// Runs in a row that show nothing new, after which no more are made with a block.
    pub(super) const fn idle_runs(self) -> usize {
        match self {
            Self::Lanes => MAX_IDLE_EXCHANGE_RUNS,
            Self::Warps => MAX_IDLE_BLOCK_RUNS,
        }
    }

    /// The wanted pairs that a run shows, of lanes in some warp or in this one, with their numbers. `used`: those of these reads, by their
    /// numbers, whose value something depends on, a bit for each.
    pub(super) fn made(
        self,
        exchanges: &Exchanges,
        wanted: &[(usize, &Wanted)],
        warp: Option<u32>,
        used: &dyn Fn(&[u64]) -> u32,
    ) -> Vec<(usize, Made)> {
        let of = |wanted: &Wanted| {
            let found = exchanges.found().iter().filter(|exchange| {
                let is_of_warp = warp.is_none_or(|warp| warp == exchange.warp);
                is_of_warp && exchange.is_across_warps() == (self == Self::Warps)
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
                    is_first_write,
                    is_in_next_round: exchange.is_in_next_round && !is_first_write,
                })
            });
            (number, wanted, some_of(&all.collect::<Vec<_>>(), most))
        });
        let examples: Vec<_> = examples.collect();
        let mut made = Vec::new();
        for pairs in examples.chunks(MAX_EXAMPLES / most) {
            let all = pairs.iter().flat_map(|(.., candidates)| candidates);
            let reads: Vec<u64> = all.filter_map(|candidate| candidate.example.read).collect();
            let used = if reads.is_empty() { 0 } else { used(&reads) };
            let is_used = |candidate: &&Candidate| {
                candidate.example.read.is_none_or(|read| {
                    let mut places = reads.iter().enumerate().filter(|(_, known)| **known == read);
                    places.any(|(place, _)| used >> place & 1 == 1)
                })
            };
            for (number, wanted, candidates) in pairs {
                let candidate = candidates.iter().find(is_used);
                made.extend(candidate.map(|one| (*number, Made::Threads(one.pair(wanted)))));
            }
        }
        made
    }
}

/// An example of a wanted pair of threads of different warps.
#[derive(Clone, Copy)]
struct Candidate {
    example: Example,
    is_first_write: bool,
    is_in_next_round: bool,
}

impl Candidate {
    fn pair(self, wanted: &Wanted) -> BlockPair {
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
fn some_of<T: Copy>(all: &[T], most: usize) -> Vec<T> {
    let count = all.len().min(most);
    (0..count)
        .map(|number| all[(2 * number + 1) * all.len() / (2 * count)])
        .collect()
}

/// True if an exchange is a wanted pair and its first access is the write, false if it is the other one; `None` if it is another pair.
fn is_first_write(exchange: &Exchange, wanted: &Wanted) -> Option<bool> {
    let sites = [machine_site(&wanted.write), machine_site(&wanted.other)];
    let is_store = wanted.kind == PairKind::TwoWrites;
    let is_first_write = match exchange.kind {
        ExchangeKind::TwoWrites => exchange.first == sites[0],
        ExchangeKind::ReadAfterWrite => true,
        ExchangeKind::WriteAfterRead => false,
    };
    let both = if is_first_write {
        [&exchange.first, &exchange.second]
    } else {
        [&exchange.second, &exchange.first]
    };
    let is_it = (exchange.kind == ExchangeKind::TwoWrites) == is_store && both == [&sites[0], &sites[1]];
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

/// The bytes of shared memory that accesses lie in.
pub(super) struct Bounds {
    /// The first byte of each variable, and the one after the last.
    variables: Vec<(u64, u64)>,
    /// By instruction of a wanted access: the variables that it may access, from different callers.
    of_access: FxHashMap<(FunctionId, InstructionId), Vec<(u64, u64)>>,
}

impl Bounds {
    pub(super) fn new(module: &Module<'_>, kernel: &Kernel<'_>, wanted: &[Wanted]) -> Self {
        let range = |symbol| {
            let start = kernel.address_of(symbol);
            let size = module.symbol(symbol).size;
            (start, size.map_or(u64::MAX, |size| start.saturating_add(size)))
        };
        let symbols = (0..module.symbols.len()).map(SymbolId::new);
        let shared = symbols.filter(|&symbol| module.symbol(symbol).space == Space::Shared);
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
        Self {
            variables: shared.map(range).collect(),
            of_access,
        }
    }

    /// Observes exchanges, and accesses that lie outside.
    pub(super) const fn observed(&self, exchanges: Exchanges) -> Bounded<'_> {
        Bounded {
            bounds: self,
            exchanges,
            is_outside: false,
        }
    }
}

/// The exchanges of a run, and whether a thread accesses shared memory beyond its variable.
pub(super) struct Bounded<'b> {
    bounds: &'b Bounds,
    exchanges: Exchanges,
    is_outside: bool,
}

impl Bounded<'_> {
    pub(super) fn finish(self) -> (Exchanges, bool) {
        (self.exchanges, self.is_outside)
    }
}

impl Observer for Bounded<'_> {
    fn on(&mut self, at: &At<'_>, event: &Event<'_>, view: &View<'_>) {
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
        self.exchanges.on(at, event, view);
    }
}

/// A run up to a pair.
pub(super) struct UpTo<'p> {
    made: &'p Made,
    wanted: Wanted,
    among: Among,
    trace: Trace,
    exchanges: Exchanges,
    is_there: bool,
    pairs: usize,
}

impl<'p> UpTo<'p> {
    pub(super) fn new(among: Among, made: &'p Made) -> Self {
        let (write, other, kind, warps) = match made {
            Made::Lanes(warp, pair) => (&pair.write, &pair.other, pair.kind, vec![*warp]),
            Made::Threads(pair) => {
                let (writer, other) = pair.threads;
                (
                    &pair.write,
                    &pair.other,
                    pair.kind,
                    vec![writer / WARP, other / WARP],
                )
            }
        };
        Self {
            made,
            wanted: Wanted {
                object: Object::Part(0),
                write: write.clone(),
                other: other.clone(),
                kind,
                above: 0,
            },
            among,
            trace: Trace::of_warps(&warps),
            exchanges: among.exchanges(),
            is_there: false,
            pairs: 0,
        }
    }

    /// True if the run has made the pair.
    fn has_made(&self) -> bool {
        let mut found = self.exchanges.found().iter();
        found.any(
            |exchange| match (self.made, is_first_write(exchange, &self.wanted)) {
                (Made::Lanes(warp, _), Some(_)) => !exchange.is_across_warps() && exchange.warp == *warp,
                (Made::Threads(pair), Some(is_first_write)) => {
                    let (writer, other) = pair.threads;
                    let threads = if is_first_write {
                        (writer, other)
                    } else {
                        (other, writer)
                    };
                    let mut examples = exchange.examples.iter();
                    exchange.is_across_warps() && examples.any(|example| example.threads == threads)
                }
                (_, None) => false,
            },
        )
    }

    /// The steps of the warps up to the pair, and its two accesses, the one that the code has first first.
    pub(super) fn steps(&self) -> WitnessRun {
        let mut run = WitnessRun {
            left_out: self.trace.left_out(),
            ..WitnessRun::default()
        };
        let is_of_block = self.among == Among::Warps;
        for moment in self.trace.moments() {
            add_moment(&mut run, moment, is_of_block);
        }
        let lane = |thread: u32| (Some(thread / WARP), 1 << (thread % WARP));
        let (writers, others) = match self.made {
            Made::Lanes(_, pair) => ((None, pair.writers), (None, pair.others)),
            Made::Threads(pair) => (lane(pair.threads.0), lane(pair.threads.1)),
        };
        let write = (&self.wanted.write, Doing::Writes, writers);
        let is_store = self.wanted.kind == PairKind::TwoWrites;
        let doing = if is_store { Doing::Writes } else { Doing::Reads };
        let other = (&self.wanted.other, doing, others);
        let both = match self.wanted.kind {
            PairKind::ReadAfterWrite | PairKind::TwoWrites => [write, other],
            PairKind::WriteAfterRead => [other, write],
        };
        for (site, doing, (warp, lanes)) in both {
            run.add(site.clone(), doing, warp, lanes);
        }
        run.shorten();
        run
    }
}

impl Observer for UpTo<'_> {
    fn on(&mut self, at: &At<'_>, event: &Event<'_>, view: &View<'_>) {
        self.exchanges.on(at, event, view);
        if self.is_there {
            return;
        }
        let pairs = self
            .exchanges
            .found()
            .iter()
            .map(|one| 1 + one.examples.len())
            .sum();
        if pairs > self.pairs {
            self.pairs = pairs;
            self.is_there = self.has_made();
        }
        self.trace.on(at, event, view);
    }
}
