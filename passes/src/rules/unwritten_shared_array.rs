//! ## What it does
//!
//! Finds reads of an array in shared memory that nothing can have written: the kernel does not write the array at all, or only after the
//! read.
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
//! A finding is definite: no instruction that may write the array comes before the read in any thread, and something uses what is read. An
//! atomic, an asynchronous copy and a barrier in memory count as writes. Silent are arrays of dynamic shared memory, which share their
//! memory; arrays that several functions or modules, or the initial value of a variable, name; and arrays whose address is passed to a function, kept in memory, or computed with in other
//! ways than sums, masks and conversions. A part of an array that no thread writes is not looked for, nor is an array that only some of the
//! paths to a read write.

use rustc_hash::FxHashMap;

use crate::analysis::shared_arrays::{ArrayUses, MAX_ARRAYS};
use crate::context::{ModuleContext, Place, Report};
use crate::ir::{FunctionId, Linkage, Space, Symbol, SymbolId, Value};
use crate::rule::{Check, Family, Level, Rule};
use crate::support::addresses;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX212",
    name: "unwritten-shared-array",
    aliases: &[],
    guidelines: &[],
    family: Family::Space,
    summary: "an array in shared memory is read that nothing has written",
    definite: Level::Warning,
    can_be_definite: true,
    can_be_potential: false,
    check: Check::Module(check),
};

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for (function, arrays) in arrays_by_function(module) {
        for arrays in arrays.chunks(MAX_ARRAYS) {
            let uses = ArrayUses::without_distances(module, arrays);
            for read in uses.find_unwritten_reads(function) {
                let name = addresses::named(module, Space::Shared, read.array);
                let why = if read.is_written_later {
                    "and nothing writes it before"
                } else {
                    "and nothing writes it"
                };
                report
                    .definite(
                        Place::of_instruction(function, read.at),
                        format!("{name} is read here, {why}: its content is what another block has left"),
                    )
                    .help("store to it, and pass a barrier, before it is read")
                    .data("symbol", module.module.symbol(read.array).name);
            }
        }
    }
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
