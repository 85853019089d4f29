//! ## What it does
//!
//! Finds device code that reads a `const` variable of the host whose type is neither integral nor floating-point, or is
//! `long double`.
//!
//! ## Why is this bad?
//!
//! Only numbers are copied into device code. A pointer, a class or an array stays in the host's memory, and `long double`
//! has another format on the device.
//!
//! ## Example
//!
//! ```cuda
//! struct Limits { int low, high; };
//! const Limits limits = { 1, 9 };
//! __global__ void k(int *out) { *out = limits.high; }
//! ```
//!
//! nvcc and clang reject such reads where they see them, copy the value of a member, and clang copies whole constants with a
//! constant initializer. Generators of LLVM IR, and modules that were linked from code of the host, have them all the same.
//!
//! ## Use instead
//!
//! `constexpr`, or a `__constant__` or `__device__` variable that the host sets with `cudaMemcpyToSymbol`.
//!
//! ## Limits
//!
//! Needs LLVM IR with debug information, which has the qualifiers and the type; PTX has neither. The module must be
//! CUDA's, and the variable in the generic address space, where no compiler puts variables of the device. What a compiler
//! has folded into a number leaves no trace.

use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::ir::HostConstant;
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::host_constants;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX103",
    name: "host-const-type",
    aliases: &["device_uses_const_host_var_of_invalid_type"],
    guidelines: &["G-S1.5"],
    family: Family::Host,
    summary: "device code reads a constant of the host that is no number",
    definite: Level::Error,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    let judge = |constant: HostConstant, name: &str| {
        let wrong = !constant.is_number && !constant.is_volatile;
        wrong.then(|| {
            format!("device code reads `{name}`, a constant of the host whose type is no built-in number")
        })
    };
    host_constants::report(
        module,
        report,
        judge,
        "device code may use constants of the host of built-in integral and floating-point types only",
    );
}
