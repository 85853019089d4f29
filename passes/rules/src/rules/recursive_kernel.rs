//! ## What it does
//!
//! Finds kernels in a cycle of the call graph: a kernel that calls itself, or functions that call back into the
//! kernel that called them.
//!
//! ## Why is this bad?
//!
//! A kernel is launched, not called: PTX has no calling convention for an entry function, and recursion through one is
//! not supported (CUDA C++ Programming Guide, Function Parameters and Recursion). Front ends reject it in source;
//! generated PTX and IR get here unchecked.
//!
//! ## Example
//!
//! ```ptx
//! .visible .entry k(.param .u32 n) {
//!     …
//!     call k, (n1);
//! ```
//!
//! ## Use instead
//!
//! A device function that holds the recursive part, called by the kernel, or a loop; a launch from the device where
//! new threads are wanted.
//!
//! ## Limits
//!
//! Calls through pointers are not followed.

use crate::analysis::call_graph::CallSite;
use crate::checks::Check;
use crate::context::{ModuleContext, Place, Report};
use crate::names;
use crate::rule::{Certainties, Family, Level, Rule};

/// Number of further calls of a kernel that a finding shows.
const NAMED: usize = 8;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX601",
    name: "recursive-kernel",
    family: Family::Device,
    summary: "a kernel is part of a cycle of calls",
    definite: Level::Error,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for cycle in module.call_cycles() {
        for &kernel in cycle
            .iter()
            .filter(|&&member| module.module.function(member).is_kernel())
        {
            let calls = module.call_graph().calls_to(kernel);
            let into: Vec<CallSite> = calls
                .iter()
                .filter(|site| cycle.binary_search(&site.caller).is_ok() && module.may_call(site))
                .copied()
                .collect();
            let Some((first, others)) = into.split_first() else {
                continue;
            };
            let name = module.module.function_name(kernel);
            let finding = report.definite(
                Place::of_call(*first),
                format!("the kernel `{}` is called recursively", names::in_message(name)),
            );
            finding
                .data("symbol", name)
                .help("move the recursive part into a device function, or make it a loop");
            for site in others.iter().take(NAMED) {
                finding.related(Place::of_call(*site), "and here");
            }
        }
    }
}
