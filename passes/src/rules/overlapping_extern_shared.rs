//! ## What it does
//!
//! Finds kernels that use two arrays of dynamic shared memory (`extern __shared__ T name[]`), in their own code or in
//! functions that they call.
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
//! A kernel may mean two names for the same memory, one after the other: then allow the rule. Only arrays that code in
//! the module uses are seen, and calls through pointers are not followed.

use std::collections::BTreeMap;

use crate::context::{ModuleContext, Place, Report};
use crate::ir::{FunctionId, InstructionId, SymbolId};
use crate::names::told;
use crate::rule::{Check, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX605",
    name: "overlapping-extern-shared",
    aliases: &[],
    guidelines: &[],
    family: Family::Device,
    summary: "a kernel uses two dynamic shared arrays, which are the same memory",
    definite: Level::Warning,
    can_be_definite: true,
    can_be_potential: false,
    check: Check::Module(check),
};

/// The first use of an array.
type Use = (FunctionId, InstructionId);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    let arrays = module.module.symbols.iter();
    if arrays.filter(|symbol| symbol.is_dynamic_shared()).count() < 2 {
        return;
    }
    for (id, function, _) in module.module.bodies() {
        if !function.is_kernel() {
            continue;
        }
        // In the order of declaration.
        let uses: Vec<(SymbolId, Use)> = used(module, id).into_iter().collect();
        let [(first, first_use), (second, second_use), ..] = uses[..] else {
            continue;
        };
        let name = |symbol: SymbolId| told(module.module.symbol(symbol).name);
        report
            .definite(
                Place::instruction(second_use.0, second_use.1),
                format!(
                    "`{}` and `{}` are both dynamic shared arrays of one kernel: they begin at the same address",
                    name(first),
                    name(second)
                ),
            )
            .related(
                Place::instruction(first_use.0, first_use.1),
                format!("`{}` is used here", name(first)),
            )
            .help("declare one array, and compute pointers to its parts")
            .data("symbol", module.module.symbol(second).name);
    }
}

/// The dynamic shared arrays that a kernel uses, with the first use of each.
fn used(module: &ModuleContext<'_>, kernel: FunctionId) -> BTreeMap<SymbolId, Use> {
    let mut found = BTreeMap::new();
    let mut reached = vec![false; module.module.functions.len()];
    let mut open = vec![kernel];
    reached[kernel.index()] = true;
    while let Some(function) = open.pop() {
        if let Some(body) = &module.module.function(function).body {
            let analyses = module.function(function);
            for reference in &body.references {
                let is_array = module.module.symbol(reference.symbol).is_dynamic_shared();
                if is_array && analyses.is_reached(reference.instruction) {
                    found
                        .entry(reference.symbol)
                        .or_insert((function, reference.instruction));
                }
            }
        }
        for site in module.call_graph().calls_of(function) {
            if module.may_call(site) && !std::mem::replace(&mut reached[site.callee.index()], true) {
                open.push(site.callee);
            }
        }
    }
    found
}
