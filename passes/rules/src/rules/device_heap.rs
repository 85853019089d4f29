//! ## What it does
//!
//! Reports allocations in device code: `malloc`, `free`, `new`, `delete`, and `cudaMalloc` called by a kernel.
//!
//! ## Why is this bad?
//!
//! It need not be. The heap has a size that is set before the first launch (`cudaLimitMallocHeapSize`, 8 MB by default); where it
//! is full, `malloc` returns 0 and `new` does too, which is rarely tested. Allocations of many threads wait for each other.
//!
//! ## Example
//!
//! ```cuda
//! __global__ void k(int **rows) { rows[threadIdx.x] = new int[16]; }
//! ```
//!
//! ## Use instead
//!
//! Memory that the host allocates, or an array of fixed size.
//!
//! ## Limits
//!
//! Off by default; `-D PTX607` forbids them. What a compiler turned into memory on the stack leaves no call. Code that a
//! constant keeps from being executed is not reported.

use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::names::in_message;
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::calls;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX607",
    name: "device-heap",
    family: Family::Device,
    summary: "device code uses the heap",
    definite: Level::Allow,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

/// Functions that allocate and free memory.
const HEAP: &[&str] = &[
    "malloc",
    "free",
    "cudaMalloc",
    "cudaFree",
    "__cudaCDP2Malloc",
    "__cudaCDP2Free",
    // operator new, new[], delete, delete[], where no header for devices defines them.
    "_Znwm",
    "_Znam",
    "_ZdlPv",
    "_ZdlPvm",
    "_ZdaPv",
    "_ZdaPvm",
];

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    calls::report(module, HEAP, report, |name| {
        format!("device code calls `{}`", in_message(name))
    });
}
