//! ## What it does
//!
//! Finds kernels that use two arrays of dynamic shared memory (`extern __shared__ T name[]`) at a time, in their own code or
//! in functions that they call.
//!
//! ## Why is this bad?
//!
//! All such arrays begin at the same address, the end of the static ones. What is written to one overwrites the other,
//! and no compiler or assembler says so.
//!
//! ## Example
//!
//! ```cuda
//! extern __shared__ int counts[];
//! extern __shared__ float sums[];     // the same memory
//! ```
//!
//! ## Use instead
//!
//! One array, and pointers into it: `float *sums = reinterpret_cast<float *>(counts + blockDim.x);`
//!
//! ## Limits
//!
//! One array after the other is right, and silent: where a barrier lies between their uses, and what is read of an array was
//! written to it since the other was last written. Two arrays that are used on different paths, of which no thread takes both, are silent
//! as well. An array that is only used at a constant offset from its start is silent, too: it leaves room for another one. Uses are
//! compared within one function, where a call stands for what the function does that is called. Addresses that are kept in memory are not
//! followed beyond variables on the stack, nor are calls through pointers.

use rustc_hash::FxHashSet;

use crate::checks::Check;
use crate::context::{ModuleContext, Place, Report};
use crate::ir::{FunctionId, SymbolId};
use crate::names::in_message;
use crate::rule::{Certainties, Family, Level, Rule};

use crate::analysis::shared_arrays::{ArrayUses, MAX_ARRAYS};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX605",
    name: "overlapping-extern-shared",
    family: Family::Device,
    summary: "a kernel uses two dynamic shared arrays, which are the same memory",
    definite: Level::Warning,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    let arrays: Vec<SymbolId> = (0..module.module.symbols.len())
        .map(SymbolId::new)
        .filter(|&symbol| module.module.symbol(symbol).is_dynamic_shared())
        .take(MAX_ARRAYS)
        .collect();
    if arrays.len() < 2 {
        return;
    }
    let uses = ArrayUses::new(module, &arrays);
    for (id, function, _) in module.module.bodies() {
        if !function.is_kernel() {
            continue;
        }
        let found = kernel_and_callees_with_arrays(module, id)
            .into_iter()
            .find_map(|function| Some((function, uses.find_conflict(function)?)));
        let Some((function, [(first_use, first), (second_use, second)])) = found else {
            continue;
        };
        let name = |symbol: SymbolId| in_message(module.module.symbol(symbol).name);
        report
            .definite(
                Place::of_instruction(function, second_use),
                format!(
                    "`{}` and `{}` are both dynamic shared arrays of one kernel: they begin at the same address",
                    name(first),
                    name(second)
                ),
            )
            .related(
                Place::of_instruction(function, first_use),
                format!("`{}` is used here", name(first)),
            )
            .help("declare one array, and compute pointers to its parts")
            // The symbol does not depend on the order of the uses.
            .data("symbol", module.module.symbol(first.max(second)).name);
    }
}

/// A kernel, and the functions that it calls if it uses several arrays.
fn kernel_and_callees_with_arrays(module: &ModuleContext<'_>, kernel: FunctionId) -> Vec<FunctionId> {
    let mut used: FxHashSet<SymbolId> = FxHashSet::default();
    let mut found = vec![kernel];
    let mut is_found = vec![false; module.module.functions.len()];
    is_found[kernel.index()] = true;
    let mut next = 0;
    while let Some(&function) = found.get(next) {
        next += 1;
        let body = module.module.function(function).body.as_ref();
        let references = body.into_iter().flat_map(|body| &body.references);
        used.extend(
            references
                .map(|reference| reference.symbol)
                .filter(|&symbol| module.module.symbol(symbol).is_dynamic_shared()),
        );
        for site in module.call_graph().calls_of(function) {
            if module.may_call(site) && !std::mem::replace(&mut is_found[site.callee.index()], true) {
                found.push(site.callee);
            }
        }
    }
    if used.len() < 2 { Vec::new() } else { found }
}
