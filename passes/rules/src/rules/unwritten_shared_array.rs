//! ## What it does
//!
//! Finds reads of an array in shared memory that nothing can have written: the kernel does not write the array at all, or only after the
//! read. Where the shape of the block is known, finds reads of a part of an array, too, that no thread of the block stores to (potential).
//!
//! ## Why is this bad?
//!
//! Shared memory holds what the block before left there. Such code gets zeros in a test with one block, and other numbers in a full grid.
//! No compiler says so, since a variable in shared memory has no initial value.
//!
//! ## Example
//!
//! ```cuda
//! __shared__ float sum;
//! if (threadIdx.x < 32) atomicAdd_block(&total, sum * weights[threadIdx.x]);     // nothing has stored to sum
//! ```
//!
//! ```cuda
//! __shared__ float line[129];                    // blocks of 128 threads
//! line[threadIdx.x] = in[threadIdx.x];
//! __syncthreads();
//! out[threadIdx.x] = line[threadIdx.x + 1] - line[threadIdx.x];                  // nobody stores line[128]
//! ```
//!
//! ## Use instead
//!
//! ```cuda
//! __shared__ float sum;
//! if (threadIdx.x == 0) sum = 0;
//! __syncthreads();
//! ```
//!
//! ## Limits
//!
//! A finding about a whole array is definite: no instruction that may write the array comes before the read in any thread, and something uses what is read. An
//! atomic, an asynchronous copy and a barrier in memory count as writes. Silent are arrays of dynamic shared memory, which share their
//! memory; arrays that several functions or modules, or the initial value of a variable, name; and arrays whose address is passed to a function, kept in memory, or computed with in other
//! ways than sums, masks and conversions. An array that only some of the
//! paths to a read write is not looked for. Where the array is read and then written in each round of a loop, the finding is about the first
//! round, and potential: something that is computed from what is read has to be stored.
//!
//! A finding about a part is potential. The block has one known shape (`.reqntid`, `--launch-block`, `[launch]`, launches in host code), and
//! each store to the array has an address that depends on the numbers of the thread and on constants alone: a store in a loop that is not
//! unrolled makes the array unknown, and so does an asynchronous copy or a matrix. The thread certainly reads the bytes, none of which is
//! stored, and certainly stores to global memory what it computes from them: what it leaves out by a selection or a mask, or passes to a
//! collective or a matrix operation, is not reported.

use rustc_hash::FxHashMap;

use crate::analysis::Certainty;
use crate::analysis::shared_arrays::{ArrayUses, MAX_ARRAYS, UncoveredRead, UnwrittenRead, Written};
use crate::checks::Check;
use crate::context::{ModuleContext, Place, Report};
use crate::finding::Value::Numbers;
use crate::ir::{FunctionId, Linkage, Space, Symbol, SymbolId, Value};
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::{addresses, lanes};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX212",
    name: "unwritten-shared-array",
    family: Family::Space,
    summary: "an array in shared memory, or a part of it, is read that nothing has written",
    definite: Level::Warning,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

/// The kind of message about a part of an array.
const UNCOVERED: &str = "uncovered";

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    let wants_potential = module.settings.level(&RULE, Certainty::Potential, RULE.definite) > Level::Allow;
    for (function, arrays) in arrays_by_function(module) {
        for arrays in arrays.chunks(MAX_ARRAYS) {
            let uses = ArrayUses::without_distances(module, arrays);
            let unwritten = uses.find_unwritten_reads(function, wants_potential);
            for read in &unwritten {
                report_unwritten(module, function, read, report);
            }
            if wants_potential {
                for read in uses.find_uncovered_reads(function) {
                    if !unwritten.iter().any(|other| other.array == read.array) {
                        report_uncovered(module, function, &read, report);
                    }
                }
            }
        }
    }
}

/// Reports a read of an array that nothing has written.
fn report_unwritten(
    module: &ModuleContext<'_>,
    function: FunctionId,
    read: &UnwrittenRead,
    report: &mut Report<'_>,
) {
    let name = addresses::named(module, Space::Shared, read.array);
    let place = Place::of_instruction(function, read.at);
    let left = "its content is what another block has left";
    let draft = match read.written {
        Written::Never => {
            let message = format!("{name} is read here, and nothing writes it: {left}");
            report.definite(place, message)
        }
        Written::After => {
            let message = format!("{name} is read here, and nothing writes it before: {left}");
            report.definite(place, message)
        }
        Written::AfterFirstRound => {
            let message =
                format!("{name} may be read here in the first round before anything writes it: {left}");
            report.potential(place, message)
        }
    };
    draft
        .help("store to it, and pass a barrier, before it is read")
        .data("symbol", module.module.symbol(read.array).name);
}

/// Reports a read of bytes that no thread stores to.
fn report_uncovered(
    module: &ModuleContext<'_>,
    function: FunctionId,
    read: &UncoveredRead,
    report: &mut Report<'_>,
) {
    let name = addresses::named(module, Space::Shared, read.array);
    let bytes = |(first, last): (u64, u64)| format!("bytes {first} to {last}");
    let (nearest, stored) = read.nearest;
    let draft = report.potential(
        Place::of_instruction(function, read.at),
        format!(
            "{} {} of {name}, and no thread of the block stores there",
            lanes::subject(read.lanes, "may read", "may read"),
            bytes(read.bytes)
        ),
    );
    draft.kind(UNCOVERED);
    draft.note(format!("this is so in warp {} of each block", read.warp));
    draft.related(
        Place::of_instruction(function, nearest),
        format!("the nearest store: {} of it", bytes(stored)),
    );
    lanes::assumption(draft, module, function, &read.launch);
    draft
        .help("store to all of the array that is read, or read only what is stored")
        .data("symbol", module.module.symbol(read.array).name)
        .data("warp", u64::from(read.warp))
        .data("lanes", Numbers(lanes::numbers(read.lanes)));
}

/// The arrays of a known size in shared memory that one function of one module alone names, by function, in the order of the input.
fn arrays_by_function(module: &ModuleContext<'_>) -> Vec<(FunctionId, Vec<SymbolId>)> {
    let is_array = |known: &Symbol<'_>| {
        known.space == Space::Shared
            && known.linkage == Linkage::Local
            && known.size.is_some_and(|size| size > 0)
            && !known.is_dynamic_shared()
    };
    let is_array: Vec<bool> = module.module.symbols.iter().map(is_array).collect();
    if !is_array.contains(&true) {
        return Vec::new();
    }
    // A variable that is initialised with an address passes it on.
    let passed_on = module.module.initializers.iter().map(|&symbol| (symbol, None));
    let mut names: FxHashMap<SymbolId, Option<FunctionId>> = passed_on.collect();
    for (id, function, body) in module.module.bodies() {
        let passed = body.arguments.iter().map(|argument| &argument.value);
        let symbols = body.values.iter().chain(passed).filter_map(|value| match value {
            Value::Symbol(symbol, _) => Some(*symbol),
            _ => None,
        });
        // What a damaged function does is not known.
        let by = Some(id).filter(|_| !function.is_damaged);
        for symbol in symbols.filter(|symbol| is_array[symbol.index()]) {
            let known = names.entry(symbol).or_insert(by);
            *known = known.filter(|&known| known == id);
        }
    }
    let mut by_function: FxHashMap<FunctionId, Vec<SymbolId>> = FxHashMap::default();
    for (symbol, function) in names {
        if let Some(function) = function {
            by_function.entry(function).or_default().push(symbol);
        }
    }
    let mut all: Vec<_> = by_function.into_iter().collect();
    all.sort_unstable_by_key(|(function, _)| *function);
    for (_, arrays) in &mut all {
        arrays.sort_unstable();
    }
    all
}
