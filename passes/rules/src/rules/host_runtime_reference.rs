//! ## What it does
//!
//! Finds device code that refers to the C++ runtime of the host: exception handling (`__cxa_*`, `_Unwind_*`,
//! personality routines), run-time type information (`_ZTI*`, `_ZTS*`, the `__cxxabiv1` classes, `__dynamic_cast`),
//! the iostream objects, guards of function-local statics (`_ZGV*`), `__dso_handle`.
//!
//! ## Why is this bad?
//!
//! No device library has them. In a relocatable build the link fails late and far from the cause; for a variable in a
//! whole program ptxas only warns and gives the kernel a private copy full of zeros.
//!
//! ## Example
//!
//! ```cuda
//! extern "C" __device__ int __cxa_guard_acquire(void *);
//! __device__ void *guard;
//! __global__ void k(int *out) { *out = __cxa_guard_acquire(guard); }
//! ```
//!
//! ## Use instead
//!
//! Device code without exceptions, `typeid` and `dynamic_cast` (guideline G-S1.3), and `printf` or a buffer in place
//! of streams.
//!
//! ## Limits
//!
//! Names that are declared and not used are silent, and so are those that device code of the link set defines. Where
//! some of that cannot be read, it is potential. Modules that GCC wrote are silent, too: it has a C library and a C++
//! runtime for devices (PTX105 reports what is missing there).

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::symbols;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX108",
    name: "host-runtime-reference",
    guidelines: &["G-S1.3", "G-1.13"],
    family: Family::Host,
    summary: "device code refers to the C++ runtime of the host",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    for missing in context.missing() {
        let Some(what) = missing.runtime else {
            continue;
        };
        let message = format!(
            "{} belongs to the C++ runtime of the host ({what}), which device code does not have",
            symbols::symbol(missing.name)
        );
        symbols::report(context, missing, missing.is_known, message, report);
    }
}
