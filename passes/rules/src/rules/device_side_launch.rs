//! ## What it does
//!
//! Reports launches of kernels by device code (CUDA dynamic parallelism).
//!
//! ## Why is this bad?
//!
//! It need not be. Rules for critical code forbid it: memory for launches is reserved while the program runs, a launch can
//! fail there, and when its grid runs is not known.
//!
//! ## Example
//!
//! ```cuda
//! __global__ void parent(int *data) { child<<<1, 32>>>(data); }
//! ```
//!
//! ## Use instead
//!
//! Launches from the host, or one kernel whose blocks take work from a queue.
//!
//! ## Limits
//!
//! Off by default; `-D PTX603` forbids them. A launch is a call of the device runtime, by its names in CUDA 5 to 13. Code that
//! a constant keeps from being executed is not reported.

use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::calls;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX603",
    name: "device-side-launch",
    guidelines: &["G-S3.2"],
    family: Family::Device,
    summary: "device code launches a kernel",
    definite: Level::Allow,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

/// Functions of the device runtime that launch a grid.
const LAUNCHES: &[&str] = &[
    "cudaLaunchDevice",
    "cudaLaunchDeviceV2",
    "__cudaCDP2LaunchDevice",
    "__cudaCDP2LaunchDeviceV2",
];

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    calls::report(module, LAUNCHES, report, |_| {
        "device code launches a kernel here".to_owned()
    });
}
