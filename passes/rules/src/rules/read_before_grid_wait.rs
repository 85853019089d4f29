//! ## What it does
//!
//! Finds accesses to global memory before `griddepcontrol.wait` (`cudaGridDependencySynchronize`), through a pointer that the kernel uses after
//! the wait, too.
//!
//! ## Why is this bad?
//!
//! With programmatic dependent launch, a kernel begins before the kernel that it depends on has ended. Only after `griddepcontrol.wait` is
//! what that one has written there, and only then may its memory be overwritten (PTX ISA, griddepcontrol; CUDA C++ Programming Guide,
//! Programmatic Dependent Launch and Synchronization). Before the wait, only what no earlier kernel writes may be read: weights, for
//! example. A pointer that is used on both sides is hardly one to such data: the early access reads old values in some runs.
//!
//! ## Example
//!
//! ```cuda
//! int rows = sizes[0];                 // the kernel before may not have written it yet
//! cudaGridDependencySynchronize();
//! for (int group = 1; group < groups; ++group) rows += sizes[group];
//! ```
//!
//! ## Use instead
//!
//! ```cuda
//! cudaGridDependencySynchronize();
//! int rows = sizes[0];
//! for (int group = 1; group < groups; ++group) rows += sizes[group];
//! ```
//!
//! Defects of this kind: [cutlass#2962](https://github.com/NVIDIA/cutlass/issues/2962), where the constructor of a scheduler reads the sizes of
//! groups, and [cutlass#3279](https://github.com/NVIDIA/cutlass/issues/3279).
//!
//! ## Limits
//!
//! A finding is potential: the host says whether a kernel is launched so, and which kernels write what it reads. The wait and the accesses have to be
//! in the kernel itself, with one wait, and the pointer a parameter or a part of one. A read counts if the pointer is used again after
//! the wait; a write, if it is written through again.

use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::asynchronous as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX713",
    name: "read-before-grid-wait",
    family: Family::Async,
    summary: "global memory is accessed before the wait for the kernel that may write it",
    definite: Level::Warning,
    certainties: Certainties::POTENTIAL,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for problem in module.asynchronous().accesses_before_grid_waits() {
        let message = if problem.detail.is_write {
            "this may write memory that the kernel before still uses"
        } else {
            "this may read memory that the kernel before has not written yet"
        };
        text::report_problem(
            problem,
            message.to_owned(),
            "only this waits for that kernel",
            report,
        )
        .in_general("global memory is accessed before the wait for the kernel that may write it")
        .note("behind the wait, the kernel uses the same pointer")
        .help("put `griddepcontrol.wait` (`cudaGridDependencySynchronize`) before the access");
    }
}
