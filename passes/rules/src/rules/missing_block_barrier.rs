//! ## What it does
//!
//! Finds threads of different warps of a block that access the same bytes of shared memory, at least one of them with a write, with no
//! barrier of the block in between.
//!
//! ## Why is this bad?
//!
//! Warps of a block run in any order. Two accesses to one location, one of them a write, that no synchronisation orders are a data race,
//! and the result is not defined (PTX ISA, Memory Consistency Model). Such code often works on the GPU on which it was written, where
//! the warps happen to come in a good order, and fails on the next one, under load, or with a larger block.
//!
//! Both orders count: a thread may read before another one has written, and it may write the next value while others still read the
//! last one. The second is the commoner mistake: a tile in shared memory is filled in each round of a loop, a barrier follows, all
//! threads use it, and nothing keeps the fastest warp from filling it again while the slowest still reads.
//!
//! ## Example
//!
//! ```cuda
//! for (int first = 0; first < n; first += 256) {
//!     tile[threadIdx.x] = input[first + threadIdx.x];
//!     __syncthreads();
//!     for (int i = 0; i < 256; ++i) sum += tile[i];
//! }
//! ```
//!
//! ## Use instead
//!
//! A second barrier, at the end of the round:
//!
//! ```cuda
//! for (int first = 0; first < n; first += 256) {
//!     tile[threadIdx.x] = input[first + threadIdx.x];
//!     __syncthreads();
//!     for (int i = 0; i < 256; ++i) sum += tile[i];
//!     __syncthreads();
//! }
//! ```
//!
//! Or two tiles in turn, with one barrier a round.
//!
//! ## Limits
//!
//! A finding is definite: both threads certainly make their accesses after the same barrier (or the start of the kernel) and before the
//! next one, to bytes that are known to be the same. Branches on parameters, constants and the index of the block may lie in between,
//! because all threads of a block take them alike. A pair between rounds is in a loop that all threads leave together; it needs a second
//! round.
//!
//! Where the block size is not stated, the finding says from how many threads on it holds. It is reported if the kernel shows that its
//! blocks have so many: it has a barrier of the block, and the two threads are in the first two warps; or a thread reads what only a
//! thread of the higher warp writes. Blocks of 32 threads need no barrier: `--launch-block`, `.reqntid` or `.maxntid` says so.
//!
//! A read counts only in threads that certainly use its value, because compilers load in all threads what some need. Two writes count only
//! if their values are known to differ and something may read the bytes afterwards.
//!
//! A named barrier (`bar.sync 1, 64;`) orders the warps that come to it, if all numbers and counts of the kernel's barriers are known and its
//! blocks have at most 512 threads, as stated or bounded (`__launch_bounds__`): other warps pass it by, and threads that only arrive wait for
//! nobody. Accesses after two places of one barrier are compared where its count is that of the warps that come to it, each from one place.
//! Otherwise kernels with named barriers are silent.
//!
//! A write of what an operation leaves of the value that others read, such as `n = min(n, limit)`, does not count where all threads do the same:
//! whichever value they read, the same is left.
//!
//! Rows of matrices are accesses like others: `ldmatrix` and `stmatrix` (`.m8n8` with `.b16`, `.m16n16` with `.b8`), where the lanes that give
//! the addresses of rows count; `wmma.load` and `wmma.store`, where the distance between rows is known. What they load counts only if
//! all lanes use all of it, since other lanes than those with the address get the elements of a row.
//!
//! A `cp.async` is a write, and a wait for it orders its own thread alone. Silent are mbarriers, bulk copies, loads that
//! acquire and stores that release, fences in kernels in which something reads strongly (`volatile`, relaxed, an atomic), and loops that
//! wait for another thread: all of these may order the two. So are pairs of strong accesses, atomics, and pairs that a `__syncwarp` or another
//! collective of the warp separates, unless the block size is stated, or the kernel has a barrier of the block and divides the thread number
//! by 32. Threads of one warp are PTX415's.
//!
//! Potential are accesses to one variable of which one is at a place that nothing relates to the other, or that threads make on ways that
//! are not decided: the rounds of a loop that reads the whole tile, for example. Places whose intervals have nothing in common are apart. Branches that all threads take alike keep accesses apart.
//! Loops in which each thread begins at a place of its own and goes on by one step keep threads apart, too. An atomic beside a plain read
//! or write of the same bytes is potential.
//!
//! `-W conditional` searches for launches and values with which threads make a potential pair, in runs of a block of the kernel, and reports
//! the pairs that a run shows, with two threads: nothing orders their accesses, and what is read makes a difference to what the thread does.
//! Places that are loaded from memory or computed from parameters are left out of it, and so are writes of what a thread may have read from
//! shared memory and not changed.
//!
//! Warps 0 and 1 are analysed, and some others where no thread keeps to a place of its own; functions of more than 2,048 instructions are
//! not analysed. Addresses are known as for PTX415.

use crate::analysis::lanes::{BlockPair, Exchange, MissingBarrier, Object, PairKind, Site};
use crate::checks::Check;
use crate::conditional::ConditionalBarrier;
use crate::context::{ModuleContext, Report};
use crate::finding::{Certainty, Value};
use crate::rule::{Certainties, Family, Level, Rule, WitnessSearch};
use crate::sanitizer::Sanitizer;
use crate::support::{addresses, lanes as text, witness};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX416",
    name: "missing-block-barrier",
    family: Family::Warp,
    summary: "threads of different warps access the same shared memory, and no barrier orders them",
    definite: Level::Warning,
    certainties: Certainties::DEFINITE
        .or_conditional(WitnessSearch::Barriers)
        .or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for missing in module.missing_barriers() {
        report_variable(module, missing, Certainty::Definite, None, report);
    }
    let conditional = module.conditional_barriers();
    for shown in conditional {
        report_variable(module, &shown.found, Certainty::Conditional, Some(shown), report);
    }
    for missing in module.possible_barriers() {
        let mut known = conditional.iter().map(|shown| &shown.found);
        if !known.any(|shown| (shown.function, shown.object) == (missing.function, missing.object)) {
            report_variable(module, missing, Certainty::Potential, None, report);
        }
    }
}

/// True if lanes of one warp make a pair, too, or may make it: it is PTX415's.
fn is_reported_for_one_warp(
    module: &ModuleContext<'_>,
    missing: &MissingBarrier,
    pair: &BlockPair,
    certainty: Certainty,
) -> bool {
    let is_it = |write: &Site, other: &Site| (write, other) == (&pair.write, &pair.other);
    let is_in = |found: &Exchange| {
        found.function == missing.function && found.pairs.iter().any(|pair| is_it(&pair.write, &pair.other))
    };
    let is_known = module.exchanges().iter().any(is_in);
    let is_shown = || {
        module
            .conditional_exchanges()
            .iter()
            .any(|shown| is_in(&shown.found))
    };
    let is_possible = || {
        module.possible_exchanges().iter().any(|found| {
            found.function == missing.function
                && found.pairs.iter().any(|pair| is_it(&pair.write, &pair.other))
        })
    };
    is_known
        || match certainty {
            Certainty::Definite => false,
            Certainty::Conditional => is_shown(),
            Certainty::Potential => is_possible(),
        }
}

/// Reports the pairs about one variable.
fn report_variable(
    module: &ModuleContext<'_>,
    missing: &MissingBarrier,
    certainty: Certainty,
    shown: Option<&ConditionalBarrier>,
    report: &mut Report<'_>,
) {
    let is_new = |pair: &&BlockPair| !is_reported_for_one_warp(module, missing, pair, certainty);
    let pairs: Vec<&BlockPair> = missing.pairs.iter().filter(is_new).collect();
    let Some((&first, further)) = pairs.split_first() else {
        return;
    };
    // The witness is about the first pair.
    if shown.is_some() && Some(first) != missing.pairs.first() {
        return;
    }
    let Object::Variable(symbol) = missing.object else {
        return;
    };
    let name = addresses::named(module, module.module.symbol(symbol).space, symbol);
    let place = text::place_of(later_site(first));
    let draft = match certainty {
        Certainty::Potential => report.potential(place, possible_message(first, &name)),
        Certainty::Conditional => report.conditional(place, message_about(first, &name)),
        Certainty::Definite => report.definite(place, message_about(first, &name)),
    };
    draft.finished();
    draft.about_two_places();
    draft.seen_by(Sanitizer::Racecheck);
    if first.write != first.other {
        let (place, words) = match (first.is_at_write, first.kind) {
            (true, PairKind::TwoWrites) => (&first.other, "the other writes here"),
            (true, _) => (&first.other, "the other reads here"),
            (false, _) => (&first.write, "the other writes here"),
        };
        draft.related(text::place_of(place), words);
    }
    match certainty {
        Certainty::Potential => {
            draft.note("it is not known that the accesses are to the same bytes, or that threads make both");
            text::assumption(draft, module, missing.function, &missing.launch);
        }
        Certainty::Definite | Certainty::Conditional => {
            draft.note(example_threads(first));
        }
    }
    if let Some(above) = first.above {
        draft.data("above", u64::from(above)).note(format!(
            "it holds in each block of more than {above} threads; `--launch-block X,Y,Z` or `.reqntid` says how many the blocks have"
        ));
    }
    text::note_further_pairs(draft, further.len());
    if let Some(shown) = shown {
        witness::tell(module, draft, missing.function, &shown.witness, None);
        witness::tell_run(module, draft, &shown.run);
    }
    let further = further.iter().map(|pair| (later_site(pair), "so is this access"));
    text::add_further_sites(draft, vec![&first.other, &first.write], further);
    let (writer, other) = first.threads;
    draft.help(fix_for(first)).data(
        "threads",
        Value::Numbers(vec![u64::from(writer), u64::from(other)]),
    );
}

/// The later access of a pair, where it is reported.
fn later_site(pair: &BlockPair) -> &Site {
    if pair.is_at_write {
        &pair.write
    } else {
        &pair.other
    }
}

fn message_about(pair: &BlockPair, name: &str) -> String {
    let blocks = pair.above.map_or(String::new(), |above| {
        format!("in blocks of more than {above} threads, ")
    });
    let what = match (pair.kind, pair.is_in_next_round) {
        (PairKind::ReadAfterWrite, false) => {
            format!(
                "threads read what threads of another warp write to {name}, and no barrier makes them wait for it"
            )
        }
        (PairKind::ReadAfterWrite, true) => format!(
            "threads read in the next round what threads of another warp write to {name} in this one, and no barrier makes them wait for it"
        ),
        (PairKind::WriteAfterRead, false) => format!(
            "threads write to {name} where threads of another warp may still read, and no barrier makes them wait"
        ),
        (PairKind::WriteAfterRead, true) => format!(
            "threads write to {name} in the next round where threads of another warp may still read in this one, and no barrier makes them \
             wait"
        ),
        (PairKind::TwoWrites, _) => {
            format!(
                "threads of different warps write different values to the same bytes of {name}, and no barrier orders them"
            )
        }
    };
    format!("{blocks}{what}")
}

fn possible_message(pair: &BlockPair, name: &str) -> String {
    match pair.kind {
        PairKind::ReadAfterWrite => {
            format!(
                "threads may read what threads of another warp write to {name}, and no barrier makes them wait for it"
            )
        }
        PairKind::WriteAfterRead => {
            format!(
                "threads may write to {name} where threads of another warp still read, and no barrier makes them wait"
            )
        }
        PairKind::TwoWrites => {
            format!(
                "threads of different warps may write different values to the same bytes of {name}, and no barrier orders them"
            )
        }
    }
}

fn example_threads(pair: &BlockPair) -> String {
    let (writer, other) = pair.threads;
    match pair.kind {
        PairKind::ReadAfterWrite => {
            format!(
                "thread {other} reads what thread {writer} writes, for example, and may read before it is written"
            )
        }
        PairKind::WriteAfterRead => {
            format!(
                "thread {writer} writes what thread {other} reads, for example, and may write before it is read"
            )
        }
        PairKind::TwoWrites => format!("threads {writer} and {other} write different values, for example"),
    }
}

fn fix_for(pair: &BlockPair) -> String {
    let place = match (pair.kind, pair.is_in_next_round) {
        (PairKind::TwoWrites, _) => {
            return "let one thread write, or give each thread a place of its own".to_owned();
        }
        (_, true) => "at the end of the round, or use two buffers in turn",
        (PairKind::ReadAfterWrite, false) => "between the write and the read",
        (PairKind::WriteAfterRead, false) => "between the read and the write",
    };
    format!("put `__syncthreads()` {place}, where all threads of the block come")
}
