//! ## What it does
//!
//! Finds kernels that allocate tensor memory and never free it.
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
//! A finding is definite: the kernel, with all that it calls, has `tcgen05.alloc` and no `tcgen05.dealloc` that may be executed. A call
//! of a function that is not there, or through a pointer, makes it silent, and so does a branch in a function on what the kernel passes. Which ways free what they allocate is not analysed: it is
//! other warps that do, or the same under a condition that is asked twice.

use crate::context::{ModuleContext, Report};
use crate::rule::{Check, Family, Level, Rule};
use crate::support::asynchronous as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX710",
    name: "tensor-memory-leak",
    aliases: &[],
    guidelines: &[],
    family: Family::Async,
    summary: "a kernel allocates tensor memory and never frees it",
    definite: Level::Error,
    can_be_definite: true,
    can_be_potential: false,
    check: Check::Module(check),
};

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for problem in module.asynchronous().tensor_memory_leaks() {
        let kernel = text::kernel(module, problem.root);
        let message = format!("{kernel} allocates tensor memory here, and never frees it");
        text::report_problem(problem, message, "", report)
            .in_general("kernels allocate tensor memory, and never free it")
            .help("free it by `tcgen05.dealloc` in the warp that allocated it, before the kernel ends");
    }
}
