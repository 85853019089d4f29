//! ## What it does
//!
//! Finds device code that reads a `const` variable of the host which has no constant initializer in its module. Potential:
//! device code that needs the address of a constant which its module knows the value of and does not define.
//!
//! ## Why is this bad?
//!
//! Device code may use the value of such a variable only where the compiler knows it. Here it would have to read the host's
//! memory at run time, which the device cannot. Of a constant that is not defined, ptxas makes a private copy that is 0, with
//! a warning; with relocatable device code the link fails.
//!
//! ## Example
//!
//! ```cuda
//! struct Limits { static const int low = 5; };      // a value, and no definition
//! __global__ void k(int *out, int i) { *out = std::max(Limits::low, i); }
//! ```
//!
//! clang 22 compiles this. Optimised code has the value in it; a debug build reads `Limits::low` from constant memory, where
//! nobody puts it. nvcc rejects it.
//!
//! An `extern const int` that is initialized elsewhere is rejected by both; generators of LLVM IR, and modules that were
//! linked from code of the host, have such reads all the same.
//!
//! ## Use instead
//!
//! `constexpr` (from C++17 on, a static member is defined where it is declared so), or a `__constant__` or `__device__`
//! variable that the host sets with `cudaMemcpyToSymbol`.
//!
//! ## Limits
//!
//! Reads need LLVM IR with debug information, which has the qualifiers and the type; PTX has neither. The module must be
//! CUDA's, and the variable in the generic address space, where no compiler puts variables of the device. What a compiler
//! has folded into a number leaves no trace. A constant without a definition may have one in another module of a link.

use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::ir::HostConstant;
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::host_constants;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX102",
    name: "host-const-uninitialized",
    aliases: &["const_host_var_not_initialized_before_use"],
    guidelines: &["G-S1.5"],
    family: Family::Host,
    summary: "device code reads a constant of the host whose value is not known there",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    let judge = |constant: HostConstant, name: &str| {
        let wrong = !constant.is_initialized && !constant.is_volatile && constant.is_number;
        wrong.then(|| {
            if constant.is_copy {
                format!(
                    "device code takes the address of `{name}`, which may be a constant of the host: its module does not define it"
                )
            } else {
                format!(
                    "device code reads `{name}`, a constant of the host whose value its module does not have"
                )
            }
        })
    };
    host_constants::report(
        module,
        report,
        judge,
        "the value of a constant of the host may be used where it is initialized with a constant expression before",
    );
}
