//! ## What it does
//!
//! Finds kernels that use a barrier in shared memory (`mbarrier`, `cuda::barrier`) which nothing initialises.
//!
//! ## Why is this bad?
//!
//! An mbarrier is eight bytes of shared memory that the hardware counts in: how many threads have still to arrive, and how many bytes
//! of copies are still on their way. `mbarrier.init` writes the number of arrivals that make a phase complete. Without it, the bytes
//! hold what the last kernel left there, and every operation on them is undefined (PTX ISA, Lifecycle of the mbarrier object):
//! threads wait for ever, or not at all, and read what a copy has not brought yet.
//!
//! ## Example
//!
//! ```cuda
//! __shared__ uint64_t barrier;
//! cuda::ptx::mbarrier_arrive_expect_tx(..., &barrier, bytes);
//! while (!cuda::ptx::mbarrier_try_wait_parity(&barrier, 0)) {}
//! ```
//!
//! ## Use instead
//!
//! One thread initialises the barrier, and all wait until it has:
//!
//! ```cuda
//! __shared__ uint64_t barrier;
//! if (threadIdx.x == 0) cuda::ptx::mbarrier_init(&barrier, 1);
//! __syncthreads();
//! ```
//!
//! A class that holds a barrier may have two constructors of which one forgets it:
//! [cccl#2229](https://github.com/NVIDIA/cccl/issues/2229) is about the operand of such a barrier.
//!
//! ## Limits
//!
//! A finding is definite: the kernel, with all that it calls, has operations on barriers and no `mbarrier.init` that may be executed. A
//! call of a function that is not there, or through a pointer, makes it silent, since that may initialise the barrier. One barrier
//! among several that is left out is not seen.

use crate::context::{ModuleContext, Report};
use crate::ir::{AsyncOp, Completion, MbarrierOp};
use crate::rule::{Check, Family, Level, Rule};
use crate::support::asynchronous as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX705",
    name: "mbarrier-not-initialized",
    aliases: &[],
    guidelines: &[],
    family: Family::Async,
    summary: "a barrier in shared memory is used that nothing initialises",
    definite: Level::Error,
    can_be_definite: true,
    can_be_potential: false,
    check: Check::Module(check),
};

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for kernel in module.asynchronous() {
        let initialises = |op| op == AsyncOp::Mbarrier(MbarrierOp::Init);
        if kernel.is_open || kernel.any(initialises) {
            continue;
        }
        let uses_one = |op| match op {
            AsyncOp::Mbarrier(_) => true,
            AsyncOp::Copy(copy) => copy.completion == Completion::Mbarrier,
            _ => false,
        };
        let Some(first) = text::first(module, kernel, uses_one) else {
            continue;
        };
        let message = format!(
            "this {} of {} uses an mbarrier, and nothing in the kernel initialises one",
            text::noun(first.operation.op),
            text::kernel(module, kernel)
        );
        let draft = report.definite(text::place(first), message);
        draft.in_general("kernels use an mbarrier that nothing initialises");
        draft.help("have one thread execute `mbarrier.init`, and all wait at a barrier until it has");
    }
}
