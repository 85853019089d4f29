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
//! A finding is definite: the kernel, with all that it calls, has operations on barriers and no `mbarrier.init` that may be executed; or
//! it initialises barriers at constant places of variables alone, and uses one at another such place, or uses one on each way to the only
//! place that initialises it. A call of a function that is not there, or through a pointer, makes it silent, since that may initialise the
//! barrier. So does a barrier that is initialised in a loop, at a computed address. An operation counts if the kernel asks for it: not
//! after a branch that what it passes to a function decides against, or may decide against, nor after a test that the barrier lies in shared
//! memory, as `cuda::barrier` has one. Initialising a barrier twice without `mbarrier.inval` is
//! not allowed, and a potential finding: production code does it.

use crate::analysis::asynchronous::{AsyncKernel, AsyncSite, constant_place, leads};
use crate::context::{ModuleContext, Report};
use crate::ir::{AsyncOp, Completion, MbarrierOp, SymbolId};
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
    can_be_potential: true,
    check: Check::Module(check),
};

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for kernel in module.asynchronous() {
        let initialises = |op| op == AsyncOp::Mbarrier(MbarrierOp::Init);
        if kernel.is_open {
            continue;
        }
        if kernel.any(initialises) {
            others(module, kernel, report);
            again(module, kernel, report);
            continue;
        }
        let Some(first) = text::first(module, kernel, uses_one) else {
            continue;
        };
        let message = format!(
            "this {} of {} uses an mbarrier, and nothing in the kernel initialises one",
            text::noun(first.operation.op),
            text::kernel(module, kernel)
        );
        let draft = report.definite(first.place(), message);
        draft.in_general("kernels use an mbarrier that nothing initialises");
        draft.help("have one thread execute `mbarrier.init`, and all wait at a barrier until it has");
    }
}

/// True for operations on an mbarrier, and copies that complete at one.
const fn uses_one(op: AsyncOp) -> bool {
    match op {
        AsyncOp::Mbarrier(_) => true,
        AsyncOp::Copy(copy) => matches!(copy.completion, Completion::Mbarrier),
        _ => false,
    }
}

/// The constant place of the barrier of an operation, in a variable of the module.
fn place(module: &ModuleContext<'_>, site: &AsyncSite) -> Option<(SymbolId, i64)> {
    let known = constant_place(module, site.function, site.operation.barrier()?)?;
    // The begin of dynamic shared memory has several names.
    Some(known).filter(|(symbol, _)| !module.module.symbol(*symbol).is_dynamic_shared())
}

/// Barriers that are left out while others are initialised, or that are used before they are.
fn others(module: &ModuleContext<'_>, kernel: &AsyncKernel, report: &mut Report<'_>) {
    let is_init = |site: &&AsyncSite| site.operation.op == AsyncOp::Mbarrier(MbarrierOp::Init);
    let inits = kernel.operations.iter().filter(is_init);
    let known: Option<Vec<(&AsyncSite, (SymbolId, i64))>> =
        inits.map(|site| Some((site, place(module, site)?))).collect();
    let Some(known) = known else { return };
    let mut said: Vec<(SymbolId, i64)> = Vec::new();
    for site in &kernel.operations {
        if !uses_one(site.operation.op) || is_init(&site) {
            continue;
        }
        let Some(used) = place(module, site).filter(|used| !said.contains(used)) else {
            continue;
        };
        let mut of_it = known
            .iter()
            .filter(|(_, at)| *at == used)
            .map(|(init, _)| *init)
            .peekable();
        let is_late = of_it.peek().is_some();
        if !of_it.all(|init| comes_first(module, site, init)) || !text::is_reached(module, site) {
            continue;
        }
        let Some(site) = kernel.asked(module, site) else {
            continue;
        };
        said.push(used);
        let noun = text::noun(site.operation.op);
        let kernel_name = text::kernel(module, kernel);
        let message = if is_late {
            format!("this {noun} of {kernel_name} uses an mbarrier that is initialised only later")
        } else {
            format!("this {noun} of {kernel_name} uses an mbarrier that nothing initialises: only others are")
        };
        let draft = report.definite(site.place(), message);
        draft.kind(if is_late { "later" } else { "others" });
        let init = known.iter().find(|(_, at)| !is_late || *at == used);
        if let Some((init, _)) = init {
            draft.related(
                init.place(),
                if is_late {
                    "it is initialised here"
                } else {
                    "another is initialised here"
                },
            );
        }
        draft.help("initialise each mbarrier by `mbarrier.init` before its first use, and wait at a barrier");
    }
}

/// Barriers that are initialised again, with nothing that ends their use in between.
fn again(module: &ModuleContext<'_>, kernel: &AsyncKernel, report: &mut Report<'_>) {
    let invalidates = |op| op == AsyncOp::Mbarrier(MbarrierOp::Invalidate);
    if kernel.any(invalidates) {
        return;
    }
    let is_init = |site: &&AsyncSite| site.operation.op == AsyncOp::Mbarrier(MbarrierOp::Init);
    let inits: Vec<(&AsyncSite, (SymbolId, i64))> = kernel
        .operations
        .iter()
        .filter(is_init)
        .filter_map(|site| Some((site, place(module, site)?)))
        .collect();
    for (number, (second, at)) in inits.iter().enumerate() {
        let mut before = inits[..number].iter();
        let first = before.find(|(first, of)| {
            let body = module.module.function(first.function).body.as_ref();
            let (from, to) = (first.operation.instruction, second.operation.instruction);
            of == at
                && first.function == second.function
                && body.is_some_and(|body| leads(body, from, to, from))
        });
        if let Some((first, _)) = first
            && text::is_reached(module, second)
        {
            let message = format!(
                "this {} of {} initialises an mbarrier again",
                text::noun(second.operation.op),
                text::kernel(module, kernel)
            );
            let draft = report.potential(second.place(), message);
            draft.kind("again");
            draft.related(first.place(), "it is initialised here, too");
            draft.help("put `mbarrier.inval` before, and let all threads wait at a barrier on both sides");
        }
    }
}

/// True if a use is on each way to an initialisation, and none leads back from there.
fn comes_first(module: &ModuleContext<'_>, used: &AsyncSite, init: &AsyncSite) -> bool {
    let Some(body) = module.module.function(used.function).body.as_ref() else {
        return false;
    };
    let (at, init_at) = (used.operation.instruction, init.operation.instruction);
    used.function == init.function
        && body.instruction(at).guard.is_none()
        && module.function(used.function).is_before(at, init_at)
        && !leads(body, init_at, at, init_at)
}
