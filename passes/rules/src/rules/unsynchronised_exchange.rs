//! ## What it does
//!
//! Finds lanes of a warp that read in shared or global memory what other lanes of the warp write, or write other values to the same place, with
//! no `__syncwarp`, barrier or other `.sync` operation in between. Targets from sm_70 on.
//!
//! ## Why is this bad?
//!
//! Since sm_70 each lane advances on its own: none waits for another but where the code says so. Two accesses of two threads to one
//! location, one of them a write, that no synchronisation orders are a data race, and the result is not defined (PTX ISA, Memory
//! Consistency Model). `volatile` makes the compiler access memory each time, and orders no lanes: what is read may be the old
//! value or the new one. Both orders count: in the unrolled end of a reduction, a lane may read before the other has written, and may
//! write the next value before the other has read the last one.
//!
//! Such code seems to work as long as the compiler and the scheduler happen to keep the lanes together. The CUDA C++ Programming
//! Guide (Independent Thread Scheduling) asks for `__syncwarp()` there. NVIDIA's racecheck reports what one run shows.
//!
//! ## Example
//!
//! ```cuda
//! if (threadIdx.x < 32) {
//!     volatile float *v = sums;
//!     v[threadIdx.x] += v[threadIdx.x + 16];
//!     v[threadIdx.x] += v[threadIdx.x + 8];
//! }
//! ```
//!
//! ## Use instead
//!
//! A shuffle, which needs no memory:
//!
//! ```cuda
//! if (threadIdx.x < 32) {
//!     float sum = sums[threadIdx.x];
//!     for (int by = 16; by > 0; by /= 2) sum += __shfl_down_sync(0xffffffff, sum, by);
//! }
//! ```
//!
//! Or a `__syncwarp()` after the reads and one after the write of each step:
//!
//! ```cuda
//! float sum = sums[lane];
//! sum += sums[lane + 16]; __syncwarp();
//! sums[lane] = sum;       __syncwarp();
//! ```
//!
//! ## Limits
//!
//! A finding is definite: both lanes certainly make their accesses, to bytes that are known to be the same. Branches that all lanes take
//! alike (on parameters, say), branches whose paths meet again, and loops may stand between the two. The first four rounds of a loop
//! without a barrier are analysed one by one. An address is known if it is a variable, or a parameter of the kernel, plus an offset that
//! depends on the thread index and constants; the index and the dimensions of the block may be added, equally in both accesses, and in
//! global memory unequally if the first block shows a pair.
//!
//! A read counts only in lanes that certainly use its value: compilers load in all lanes what one lane needs, and drop it again by a
//! select, a branch or a shuffle from another lane. Two writes count only where something may read the bytes afterwards. Two strong
//! accesses to the same bytes are not a data race: relaxed ones are silent, and volatile ones count where a lane uses what it reads for
//! more than to end the loop that it reads in; an election, in which lanes write different values to a volatile variable, is silent. A
//! function that is called and too large to be followed may wait for other lanes.
//!
//! A fence orders what its own lane does, and waits for nobody: it separates accesses only in kernels in which something reads strongly
//! (`volatile`, relaxed, acquiring, an atomic), since a lane cannot learn otherwise what another one has done before its fence. A `cp.async`
//! is a write of its lane, and a wait for it orders that lane alone. A collective whose masks are known orders the lanes that a mask names.
//!
//! A lane that reads and then writes the same bytes makes a pair with another lane that writes them, unless all lanes write one value
//! (`flags |= 1`), or add to one place in global memory: such a kernel may be for one thread.
//!
//! Silent are atomics, loads that acquire and stores that release, bulk copies, matrix operations, equal values that several
//! lanes write, different ones that they write to global memory (any may do), and accesses that a collective or a barrier separates, though
//! a collective other than `__syncwarp` orders no memory.
//!
//! Potential are accesses to one variable in shared memory of which one is at a place that nothing relates to the other, or that lanes
//! make on ways that are not decided: places that are read from memory, or taken from a counter. A thread's own part of an array is left
//! out if the code computes its base once.
//!
//! `-W conditional` searches for launches and values with which lanes make a potential one, and those that only the value of a parameter
//! keeps apart (`sums[lane + count]`), and reports the ones that a run shows. Places that are loaded from memory are left out of it.
//!
//! Warp 0, which every block has, is analysed. Lanes of different warps are not compared, and functions of more than 2,048 instructions are
//! not analysed.

use crate::analysis::lanes::{Exchange, Object, PairKind, PossibleExchange, PossiblePair};
use crate::checks::Check;
use crate::conditional::{ConditionalExchange, searchable_pairs};
use crate::context::{ModuleContext, Report};
use crate::ir::Space;
use crate::rule::{Certainties, Family, Level, Rule, WitnessSearch};
use crate::sanitizer::Sanitizer;
use crate::support::{addresses, lanes as text, witness, wording};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX415",
    name: "unsynchronised-exchange",
    family: Family::Warp,
    summary: "lanes read what others write to memory, and nothing orders the two",
    definite: Level::Warning,
    certainties: Certainties::DEFINITE
        .or_conditional(WitnessSearch::Exchanges)
        .or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

/// The fix for a pair.
fn fix_for(kind: PairKind, is_across_warps: bool) -> String {
    let between = match kind {
        PairKind::ReadAfterWrite => "the write and the read",
        PairKind::WriteAfterRead => "the read and the write",
        PairKind::TwoWrites => {
            return "let one thread write, or give each thread a place of its own".to_owned();
        }
    };
    if is_across_warps {
        format!(
            "threads of other warps access the same bytes: put `__syncthreads()` between {between}, where all threads of the block come; \
             `__syncwarp()` orders the lanes of one warp alone"
        )
    } else {
        format!("put `__syncwarp()` between {between}, or use a shuffle")
    }
}

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for exchange in module.exchanges() {
        report_exchange(module, exchange, None, report);
    }
    let conditional = module.conditional_exchanges();
    for one_of in conditional {
        report_exchange(module, &one_of.found, Some(one_of), report);
    }
    for exchange in module.possible_exchanges() {
        let mut known = conditional.iter().map(|conditional| &conditional.found);
        if !known.any(|found| (found.function, found.object) == (exchange.function, exchange.object)) {
            report_possible(module, exchange, report);
        }
    }
}

/// Reports accesses that may be to the same bytes.
fn report_possible(module: &ModuleContext<'_>, exchange: &PossibleExchange, report: &mut Report<'_>) {
    let mut pairs: Vec<&PossiblePair> = exchange.pairs.iter().filter(|pair| pair.is_likely).collect();
    if pairs.is_empty() {
        // A parameter may bring them together: `-W conditional` searches for its value.
        let searched = searchable_pairs(module, exchange).into_iter();
        pairs = searched.map(|number| &exchange.pairs[number]).collect();
    }
    let mut pairs = pairs.into_iter();
    let Some(first) = pairs.next() else {
        return;
    };
    let Object::Variable(symbol) = exchange.object else {
        return;
    };
    let name = addresses::named(module, module.module.symbol(symbol).space, symbol);
    let message = match first.kind {
        PairKind::ReadAfterWrite => {
            format!(
                "lanes may read what others write to {name}, and nothing in between makes them wait for it"
            )
        }
        PairKind::WriteAfterRead => {
            format!(
                "lanes may read in {name} where others write next, and nothing in between makes those wait"
            )
        }
        PairKind::TwoWrites => format!("lanes may write different values to the same bytes of {name}"),
    };
    let draft = report.potential(text::place_of(&first.other), message);
    draft.seen_by(Sanitizer::Racecheck);
    draft.finished();
    draft.about_two_places();
    if first.write != first.other {
        draft.related(text::place_of(&first.write), "they may be written here");
    }
    let further = pairs.map(|pair| (&pair.other, words_about_further_pairs(pair.kind)));
    text::add_further_sites(draft, vec![&first.other, &first.write], further);
    draft.note("it is not known that the accesses are to the same bytes, or that lanes make both");
    text::assumption(draft, module, exchange.function, &exchange.launch);
    draft.help(fix_for(first.kind, false));
}

/// Reports an exchange that lanes certainly make, or make with a witness.
fn report_exchange(
    module: &ModuleContext<'_>,
    exchange: &Exchange,
    conditional: Option<&ConditionalExchange>,
    report: &mut Report<'_>,
) {
    let Some((first, further)) = exchange.pairs.split_first() else {
        return;
    };
    let name = memory_in_words(module, exchange);
    let (writers, writes) = (
        text::named(first.writers),
        text::verb(first.writers, "writes", "write"),
    );
    let readers = text::subject(first.others, "reads", "read");
    let message = match first.kind {
        PairKind::ReadAfterWrite => format!(
            "{readers} what {writers} {writes} to {name}, and nothing in between makes them wait for it"
        ),
        PairKind::WriteAfterRead => format!(
            "{readers} in {name} where {writers} {writes} next, and nothing in between makes those wait"
        ),
        PairKind::TwoWrites if first.write == first.other => format!(
            "{writers} write different values to the same bytes of {name}: which of them stays is open"
        ),
        PairKind::TwoWrites => format!(
            "{writers} and {} write different values to the same bytes of {name}, and nothing in between makes any wait",
            text::named(first.others)
        ),
    };
    let [later, earlier] = first.sites_later_first();
    let place = text::place_of(later);
    let draft = match conditional {
        Some(_) => report.conditional(place, message),
        None => report.definite(place, message),
    };
    draft.finished();
    draft.about_two_places();
    // It sees nothing in global memory.
    if is_in_shared_memory(module, exchange) {
        draft.seen_by(Sanitizer::Racecheck);
    }
    if first.write != first.other {
        let words = match (first.is_at_write, first.kind) {
            (true, PairKind::ReadAfterWrite | PairKind::WriteAfterRead) => {
                text::subject(first.others, "reads", "read")
            }
            (true, PairKind::TwoWrites) => text::subject(first.others, "writes", "write"),
            (false, _) => text::subject(first.writers, "writes", "write"),
        };
        draft.related(text::place_of(earlier), format!("{words} here"));
    }
    let (writer, other) = first.example;
    draft.note(match first.kind {
        PairKind::ReadAfterWrite => {
            format!("lane {other} reads what lane {writer} writes, for example, and may read before it is written")
        }
        PairKind::WriteAfterRead => format!(
            "lane {other} reads the old value, for example, and may read after lane {writer} has written the new one"
        ),
        PairKind::TwoWrites => format!("lanes {writer} and {other} write different values, for example"),
    });
    if first.is_between_rounds {
        draft.note("the one is in a round of the loop, the other in a later round");
    }
    text::note_further_pairs(draft, further.len());
    match conditional {
        Some(conditional) => {
            witness::tell(module, draft, exchange.function, &conditional.witness, None);
            witness::tell_run(module, draft, &conditional.run);
        }
        None => {
            draft.note("shown for warp 0 of the block; the other warps execute the same code");
        }
    }
    let further = further.iter().map(|pair| {
        let words = if pair.is_at_write {
            "so is this write"
        } else {
            words_about_further_pairs(pair.kind)
        };
        (pair.sites_later_first()[0], words)
    });
    text::add_further_sites(draft, vec![&first.other, &first.write], further);
    if first.is_volatile {
        draft.note("`volatile` orders no lanes: it only makes the compiler access memory each time");
    }
    if conditional.is_none() {
        text::assumption(draft, module, exchange.function, &exchange.launch);
    }
    draft
        .help(fix_for(first.kind, first.is_across_warps))
        .data(
            "readers",
            crate::finding::Value::Numbers(text::numbers(first.others)),
        )
        .data(
            "writers",
            crate::finding::Value::Numbers(text::numbers(first.writers)),
        );
}

/// True if the memory is certainly shared.
fn is_in_shared_memory(module: &ModuleContext<'_>, exchange: &Exchange) -> bool {
    let space = match exchange.object {
        Object::Variable(symbol) => module.module.symbol(symbol).space,
        Object::Parameter(_) | Object::Part(_) => exchange.space,
    };
    space == Space::Shared
}

/// The memory, for a message.
fn memory_in_words(module: &ModuleContext<'_>, exchange: &Exchange) -> String {
    match exchange.object {
        Object::Variable(symbol) => addresses::named(module, module.module.symbol(symbol).space, symbol),
        Object::Parameter(number) => {
            let function = exchange.function;
            let number = usize::from(number);
            let params = &module.module.function(function).params;
            let name = params.get(number).map_or("", |param| param.name);
            let parameter = wording::parameter(module.module.function_name(function), number, name);
            format!("memory that {parameter} points to")
        }
        Object::Part(_) if exchange.space == Space::Generic => "memory".to_owned(),
        Object::Part(_) => addresses::memory_in_words(exchange.space).to_owned(),
    }
}

const fn words_about_further_pairs(kind: PairKind) -> &'static str {
    match kind {
        PairKind::TwoWrites => "so is this write",
        PairKind::ReadAfterWrite | PairKind::WriteAfterRead => "so is this read",
    }
}
