//! ## What it does
//!
//! Finds loads and stores of tensor memory (`tcgen05.ld`, `tcgen05.st`) that a thread does not wait for before it tells others that they
//! are made: by an arrival, a barrier, or the release of the memory.
//!
//! ## Why is this bad?
//!
//! Both are asynchronous. Other threads that have waited for the signal may read tensor memory before the store has reached it, or
//! overwrite what the load has not read yet. `tcgen05.wait::st` and `tcgen05.wait::ld` wait for all stores and loads of the thread;
//! `tcgen05.fence::before_thread_sync` orders, and waits for nothing (PTX ISA, tcgen05 memory consistency model: who makes such accesses
//! has to wait for them before it synchronises with other threads).
//!
//! ## Example
//!
//! ```ptx
//! tcgen05.st.sync.aligned.32x32b.x1.b32 [%column], {%value};
//! tcgen05.fence::before_thread_sync;
//! mbarrier.arrive.shared::cta.b64 _, [%full];        // those who wait there load the same column
//! ```
//!
//! ## Use instead
//!
//! ```ptx
//! tcgen05.st.sync.aligned.32x32b.x1.b32 [%column], {%value};
//! tcgen05.wait::st.sync.aligned;
//! tcgen05.fence::before_thread_sync;
//! mbarrier.arrive.shared::cta.b64 _, [%full];
//! ```
//!
//! Two such waits were missing in an example of CUTLASS ([cutlass#2687](https://github.com/NVIDIA/cutlass/pull/2687)).
//!
//! ## Limits
//!
//! A finding is definite for a store where some path leads to the signal with no wait, no wait for stores may come after the signal
//! either, and the kernel reads tensor memory. Where a wait comes later, and for loads, it is potential, and reported only if
//! `tcgen05.fence::before_thread_sync` lies between the access and the signal: the signal may be about other columns, and the access meant for
//! a later one. A load one of whose results is used before the signal is complete by then. A call of a function that may wait counts as
//! a wait. Silent are kernels that call unknown code, and the `commit` of products and copies.

use crate::analysis::asynchronous::TensorSignal;
use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::ir::{AsyncOp, TensorAccess};
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::asynchronous as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX712",
    name: "tensor-access-not-waited",
    family: Family::Async,
    summary: "an access to tensor memory is not waited for before others are told of it",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for problem in module.asynchronous().unwaited_tensor_accesses() {
        let kernel = text::kernel(module, problem.root);
        let (noun, wait) = match problem.operation {
            AsyncOp::TensorAccess(TensorAccess::Load) => ("load", "tcgen05.wait::ld"),
            _ => ("store", "tcgen05.wait::st"),
        };
        let signal = match problem.detail {
            TensorSignal::Mbarrier => "an arrival at an mbarrier",
            TensorSignal::Barrier => "a barrier",
            TensorSignal::Free => "the release of the memory",
        };
        let is_definite = problem.is_definite;
        let does = if is_definite { "does" } else { "may" };
        let message =
            format!("{kernel} {does} not wait for this {noun} of tensor memory before {signal} (`{wait}`)");
        let draft = text::report_problem(problem, message, "this tells others of it", report);
        draft.kind(noun);
        draft.in_general(format!(
            "others are told of a {noun} of tensor memory that nothing has waited for"
        ));
        if !is_definite {
            draft.note(
                "a wait that comes later may be the one for this access, if others are told of it only then",
            );
        }
        draft.help(format!("put `{wait}.sync.aligned` before it"));
    }
}
