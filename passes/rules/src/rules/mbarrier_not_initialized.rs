//! ## What it does
//!
//! Finds kernels that use a barrier in shared memory (`mbarrier`, `cuda::barrier`) which nothing initialises, and writes of data over a
//! barrier that is in use.
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
//! Shared memory that was a barrier is data again only after `mbarrier.inval`
//! ([triton#3858](https://github.com/triton-lang/triton/issues/3858)): until then it is the hardware's.
//!
//! A class that holds a barrier may have two constructors of which one forgets it:
//! [cccl#2229](https://github.com/NVIDIA/cccl/issues/2229) is about the operand of such a barrier.
//!
//! ## Limits
//!
//! A finding is definite: the kernel, with all that it calls, has operations on barriers and no `mbarrier.init` that may be executed; or it
//! initialises barriers at constant places of variables alone, and uses one at another such place, or uses one on each way to the only
//! place that initialises it. A call of a function that is not there, or through a pointer, makes it silent, since that may initialise the
//! barrier. Where barriers are initialised at computed places, only the use of a variable counts in which none is initialised. An operation
//! counts if the kernel asks for it: not after a branch that what it passes to a function decides against, or may decide against, nor after
//! a test that the barrier lies in shared memory, as `cuda::barrier` has one. Initialising a barrier twice without `mbarrier.inval` is not
//! allowed, and a potential finding: production code does it. A write over a barrier counts if a thread that its number distinguishes
//! certainly writes there, after a barrier of threads that comes after the initialisation, in a kernel without `mbarrier.inval`.

use crate::analysis::asynchronous::Initialisation;
use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::rule::{Certainties, Family, Level, Rule};
use crate::sanitizer::Sanitizer;
use crate::support::asynchronous as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX705",
    name: "mbarrier-not-initialized",
    family: Family::Async,
    summary: "a barrier in shared memory is used that nothing initialises",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for problem in module.asynchronous().wrong_initialisations() {
        let how = problem.detail;
        let (does, kind, other) = match how {
            Initialisation::None => (
                "uses an mbarrier, and nothing in the kernel initialises one",
                "",
                "",
            ),
            Initialisation::OfOthers => (
                "uses an mbarrier that nothing initialises: only others are",
                "others",
                "another is initialised here",
            ),
            Initialisation::Later => (
                "uses an mbarrier that is initialised only later",
                "later",
                "it is initialised here",
            ),
            Initialisation::Again => (
                "initialises an mbarrier again",
                "again",
                "it is initialised here, too",
            ),
            Initialisation::Overwritten => (
                "writes data over an mbarrier that is initialised, and not invalidated",
                "overwritten",
                "it is initialised here",
            ),
        };
        let kernel = text::kernel(module, problem.root);
        let operation = match how {
            Initialisation::Overwritten => "access",
            _ => text::noun(problem.operation),
        };
        let message = format!("this {operation} of {kernel} {does}");
        let draft = text::report_problem(problem, message, other, report);
        draft.seen_by(Sanitizer::Synccheck);
        match how {
            Initialisation::None => draft
                .in_general("kernels use an mbarrier that nothing initialises")
                .help("have one thread execute `mbarrier.init`, and all wait at a barrier until it has"),
            Initialisation::OfOthers | Initialisation::Later => draft.kind(kind).help(
                "initialise each mbarrier by `mbarrier.init` before its first use, and wait at a barrier",
            ),
            Initialisation::Again | Initialisation::Overwritten => draft
                .kind(kind)
                .help("put `mbarrier.inval` before, and let all threads wait at a barrier on both sides"),
        };
    }
}
