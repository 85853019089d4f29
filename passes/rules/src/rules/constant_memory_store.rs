//! ## What it does
//!
//! Finds stores, reductions and atomics whose address provably points into constant memory, or to a parameter of the
//! kernel, which lies there too.
//!
//! ## Why is this bad?
//!
//! Constant memory is read-only to device code; caches are not told of a write. Compilers warn about it now and then, and
//! then remove the body or the store.
//!
//! ## Example
//!
//! ```cuda
//! __constant__ int limit;
//! __global__ void k() { const_cast<int &>(*&limit) = 1; }
//! ```
//!
//! ## Use instead
//!
//! `cudaMemcpyToSymbol` from the host, or a `__device__` variable. Of a parameter, a copy.
//!
//! ## Limits
//!
//! Pointers that are loaded from memory, or passed by the host, are not known.

use crate::analysis::provenance::ViolationKind;
use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::ir::Space;
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::addresses;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX207",
    name: "constant-memory-store",
    guidelines: &["G-1.12"],
    family: Family::Space,
    summary: "a store or atomic lands in constant memory",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for violation in addresses::of_kind(module, &[ViolationKind::ConstantStore]) {
        let name = addresses::subject(module, violation);
        let object = addresses::object(module, violation);
        let what = if violation.element.space == Space::Param {
            "is read-only"
        } else {
            "can't be written"
        };
        let writes = addresses::by_certainty(violation, "writes", "may write");
        let message = format!("{name} {writes} to {object}, which {what} in device code");
        addresses::report(module, violation, message, report).help(
            "write to a `__device__` variable, or set the constant from the host (`cudaMemcpyToSymbol`)",
        );
    }
}
