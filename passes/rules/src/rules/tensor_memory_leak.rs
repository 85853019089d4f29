//! ## What it does
//!
//! Finds kernels that allocate tensor memory and never free it, or not all of it, or not where they end early.
//!
//! ## Why is this bad?
//!
//! Tensor memory (Blackwell, `tcgen05`) belongs to a multiprocessor, not to a CTA: what one CTA allocates, no other can have. A kernel
//! has to free it before it ends (PTX ISA, Tensor Memory Allocation). If it does not, `tcgen05.alloc` of later CTAs waits for columns that never
//! come free, or the driver ends the program with an error of its own for the leak.
//!
//! ## Example
//!
//! ```ptx
//! tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], 128;
//! // …
//! ret;
//! ```
//!
//! ## Use instead
//!
//! Once all warps are done with it, the warp that allocated it frees it:
//!
//! ```ptx
//! bar.sync 0;
//! @%allocates tcgen05.dealloc.cta_group::1.sync.aligned.b32 %columns, 128;
//! ret;
//! ```
//!
//! ## Limits
//!
//! A finding is definite, but for one: where each round of a loop allocates and the kernel frees once, it is potential unless the loop certainly has
//! a second round. The kernel, with all that it calls, has `tcgen05.alloc` and no `tcgen05.dealloc` that may be executed; or it allocates
//! and frees in the kernel itself, and either warp 0 certainly allocates more columns than all warps may free, or after such an
//! allocation a branch on parameters and numbers of the block leads all threads to the end without freeing any. A call
//! of a function that is not there, or through a pointer, makes it silent, and so does a branch in a function on what the kernel passes. Other
//! ways that do not free what they allocate are not looked for: other warps may, or the same under a condition that is asked twice.

use crate::analysis::asynchronous::Leak;
use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::asynchronous as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX710",
    name: "tensor-memory-leak",
    family: Family::Async,
    summary: "a kernel allocates tensor memory and does not free it, or not all of it",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for problem in module.asynchronous().tensor_memory_leaks() {
        let kernel = text::kernel(module, problem.root);
        let leak = problem.detail;
        let (message, kind) = match leak {
            Leak::All => (
                format!("{kernel} allocates tensor memory here, and never frees it"),
                "all",
            ),
            Leak::Part { allocated, freed } => (
                format!(
                    "{kernel} allocates {allocated} columns of tensor memory, here first, and frees {} of them",
                    if freed == 0 {
                        "none".to_owned()
                    } else {
                        freed.to_string()
                    }
                ),
                "part",
            ),
            Leak::EarlyEnd => (
                format!("{kernel} allocates tensor memory here, and does not free it where it ends early"),
                "early-end",
            ),
            Leak::PerRound => (
                format!(
                    "{kernel} allocates tensor memory here in each round of a loop, and frees that of one round"
                ),
                "per-round",
            ),
        };
        let draft = text::report_problem(problem, message, "by one way from this branch", report);
        draft.kind(kind);
        if leak == Leak::All {
            draft.in_general("kernels allocate tensor memory, and never free it");
        }
        draft.help(
            "free all of it by `tcgen05.dealloc` in the warp that allocated it, before the kernel ends",
        );
    }
}
