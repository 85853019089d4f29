//! ## What it does
//!
//! Lists every external variable and function that device code uses and that nothing defines, each with the functions
//! that refer to it, and every name that the module does not even declare.
//!
//! ## Why is this bad?
//!
//! ptxas stops at the first missing function and only warns about variables: in a whole program the kernel gets a
//! private copy of the variable, full of zeros, and what the host writes to the real one never arrives. nvlink stops
//! too, without a place. A name that is not declared (from inline assembly) passes `nvcc -ptx` below sm_90 and fails
//! when the driver compiles the module.
//!
//! ## Example
//!
//! ```ptx
//! .extern .global .u32 limit;
//! .visible .entry k(.param .u64 out) {
//!     …
//!     ld.global.u32 %r1, [limit];
//! ```
//!
//! ## Use instead
//!
//! Define the symbol in device code (`__device__`, `__constant__`), pass its value as a kernel parameter, or link the
//! library that has it (`-lcudadevrt` for the device runtime).
//!
//! ## Limits
//!
//! A lone module need not be the whole program: what it leaves open is *potential* unless `--whole-program` says that
//! the inputs are all there is. Names that are not declared are definite always. What the driver and ptxas provide
//! (`vprintf`, `malloc`, `free`, `__assertfail`, …) and dynamic shared memory are silent. A module with syntax errors
//! is not judged: the definition may be what was lost.

use crate::analysis::references;
use crate::context::{ModuleContext, Place, Report};
use crate::externs;
use crate::ir::SymbolKind;
use crate::names;
use crate::rule::{Check, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX105",
    name: "unresolved-device-symbol",
    aliases: &[],
    guidelines: &["G-3.1", "G-3.3"],
    family: Family::Host,
    summary: "device code uses a symbol that nothing defines",
    definite: Level::Error,
    can_be_definite: true,
    can_be_potential: true,
    check: Check::Module(check),
};

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    if module.module.is_damaged {
        return;
    }
    for reference in references::undefined(module.module) {
        let symbol = module.module.symbol(reference.symbol);
        let name = symbol.name;
        if externs::is_provided(name) || externs::host_runtime(name).is_some() || symbol.is_dynamic_shared() {
            continue;
        }
        let what = if matches!(symbol.kind, SymbolKind::Function(_)) {
            "function"
        } else {
            "variable"
        };
        let message = format!(
            "the {what} `{}` is used here, and nothing in the input defines it",
            names::shown(name)
        );
        let finding = if module.settings.whole_program {
            report.definite(reference.place(), message)
        } else {
            report.potential(reference.place(), message)
        };
        finding.data("symbol", name);
        references::list_others(finding, &reference, "also used here");
        match externs::library(name) {
            Some(library) => finding.help(format!("{library} has it: link with it")),
            None => finding.help("define it in device code, or link the object that does"),
        };
        if what == "variable" {
            finding.note("ptxas only warns about it, and gives the kernel a private copy full of zeros");
        }
    }
    for (function, _, body) in module.module.bodies() {
        for unknown in &body.undeclared {
            report
                .definite(
                    Place::instruction(function, unknown.instruction),
                    format!(
                        "`{}` is declared neither in this module nor in this function",
                        names::shown(unknown.name)
                    ),
                )
                .note("ptxas and the driver reject the module")
                .help("declare it, or correct the inline assembly that names it")
                .data("symbol", unknown.name);
        }
    }
}
