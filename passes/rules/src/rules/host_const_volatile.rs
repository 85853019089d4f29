//! ## What it does
//!
//! Finds device code that reads a `const volatile` variable of the host, or reads a constant of the host through a volatile
//! access.
//!
//! ## Why is this bad?
//!
//! `volatile` says that the value may change without a store of the program. The device sees a copy from the time of compilation,
//! or nothing at all.
//!
//! ## Example
//!
//! ```cuda
//! const volatile int limit = 3;
//! __global__ void k(int *out) { *out = limit; }      // clang makes a copy in constant memory
//! ```
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
//!
//! clang copies such a variable into constant memory, where it cannot be distinguished from one that is declared `__constant__`:
//! potential.

use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::ir::HostConstant;
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::host_constants;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX104",
    name: "host-const-volatile",
    aliases: &["device_uses_volatile_const_host_var"],
    guidelines: &["G-S1.5"],
    family: Family::Host,
    summary: "device code reads a volatile constant of the host",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    let judge = |constant: HostConstant, name: &str| {
        let is = if constant.is_copy { "which may be " } else { "" };
        constant
            .is_volatile
            .then(|| format!("device code reads `{name}`, {is}a volatile constant of the host"))
    };
    host_constants::report(
        module,
        report,
        judge,
        "the value of a constant of the host may be used only if its type is not volatile",
    );
}
