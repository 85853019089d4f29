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
//! A lone module or object need not be the whole program: what it leaves open is *potential*, unless `--whole-program`
//! says that the inputs are all there is. PTX that the driver loads as it is (in `.nv_fatbin`) is linked with nothing,
//! so there a missing symbol is definite. A variable that host code defines is PTX101, one of the C++ runtime PTX108.
//! That host code defines a *function* of this name proves nothing: libraries have the same functions for both sides.
//! Names that are not declared are definite always. What the driver and ptxas provide (`vprintf`, `malloc`, `free`,
//! `__assertfail`, …), dynamic shared memory and declarations that are not used are silent, and so are variables that
//! LLVM IR declares weak (`threadIdx` in a debug build of clang): the code generator defines them, in this module
//! alone. So are the images of a finished device link, since nvlink has found everything, and functions that OptiX provides (`_optix_*`).
//!
//! A device linker drops functions that neither a kernel nor a variable leads to, and does not ask for the functions that
//! those call; of an archive, other linkers take the members that are needed only. What only such functions use is potential
//! with `--whole-program`, too. So is what the device runtime has (`cudaStreamDestroy`, `__cudaCDP2LaunchDeviceV2`): nvcc
//! links it without being told to. A lone PTX text is compiled as it stands, all of it. Where some of the device code cannot be read
//! (syntax errors, LTO-IR), the definition may be there, and nothing is definite.

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, ModuleContext, Place, Report};
use crate::externs;
use crate::link::{HostKind, SymbolClass};
use crate::names;
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::symbols;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX105",
    name: "unresolved-device-symbol",
    guidelines: &["G-3.1", "G-3.3"],
    family: Family::Host,
    summary: "device code uses a symbol that nothing defines",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Linked(report_undeclared, check_link_set);

/// Reports the symbols that no image of the link set defines.
fn check_link_set(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    for missing in context.missing() {
        let is_others = symbols::is_host_variable(missing) && missing.what == SymbolClass::Variable;
        if is_others || missing.runtime.is_some() {
            continue;
        }
        // nvcc links the device runtime without being told to.
        let is_default = externs::is_in_default_library(missing.name) && !missing.stands_alone;
        let is_definite = missing.is_settled && missing.is_known && !is_default;
        let message = format!(
            "the {} {} is used here, and {}nothing in the {} defines it",
            missing.what.as_str(),
            symbols::symbol(missing.name),
            if is_definite { "" } else { "may be undefined: " },
            if context.inputs.len() > 1 && context.is_one_program {
                "link set"
            } else {
                "input"
            }
        );
        let draft = symbols::report(context, missing, is_definite, message, report);
        match externs::library(missing.name) {
            Some(library) => draft.help(format!("{library} has it: link with it")),
            None => draft.help("define it in device code, or link the object that does"),
        };
        if let Some(host) = missing.host.filter(|host| host.kind == HostKind::Function) {
            draft.note(format!("{} defines it for the host", symbols::object(&host)));
        }
        if missing.what == SymbolClass::Variable {
            draft.note("ptxas only warns about it, and gives the kernel a private copy full of zeros");
        }
        if missing.is_settled && !missing.is_known {
            draft.note("some of the device code cannot be read, and may define it");
        }
    }
}

/// Names that the module does not even declare.
fn report_undeclared(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    if module.module.is_damaged {
        return;
    }
    for (function, _, body) in module.module.bodies() {
        let unknown = body.undeclared.iter();
        for unknown in unknown.filter(|unknown| !externs::is_of_loader(unknown.name)) {
            report
                .definite(
                    Place::of_instruction(function, unknown.instruction),
                    format!(
                        "`{}` is declared neither in this module nor in this function",
                        names::shown(unknown.name)
                    ),
                )
                .note("ptxas and the driver reject the module")
                .kind("undeclared")
                .caused_by_symbol()
                .help("declare it, or correct the inline assembly that names it")
                .data("symbol", unknown.name);
        }
    }
}
