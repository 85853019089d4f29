//! ## What it does
//!
//! Finds device code that refers to a variable of the host: an external variable that no device code of the link set
//! defines and that a host object of it does. In LLVM IR, a global variable that lies in the host's memory.
//!
//! ## Why is this bad?
//!
//! The host's memory is not the device's. In relocatable code (`-rdc=true`) nvlink stops with an "undefined reference"
//! and no line. In a whole program ptxas only warns and gives the kernel a private copy full of zeros: the kernel runs and computes with
//! zeros, regardless of the value that the host has stored.
//!
//! ## Example
//!
//! ```cuda
//! // config.h                         // config.cpp
//! extern __device__ int limit;        int limit = 100;      // a variable of the host
//! // kernel.cu
//! __global__ void k(int *out) { *out = limit; }
//! ```
//!
//! ```text
//! ptxcheck --link-set kernel.o config.o
//! ```
//!
//! ## Use instead
//!
//! `__constant__ int limit` or `__device__ int limit`, set with `cudaMemcpyToSymbol`; `constexpr` for a value that is
//! known at compile time; a kernel parameter for one that is not.
//!
//! ## Limits
//!
//! nvcc reports the direct use of a host variable, and replaces the indirect one (`--expt-relaxed-constexpr`,
//! `__host__ __device__` code) by address 0: see PTX106 and PTX107. What is found here comes from declarations that
//! host and device code see differently, from inline assembly, and from other compilers: clang, Rust, Numba.
//!
//! An executable, a library and an archive are link sets with themselves; objects become one with `--link-set`. A file
//! that is stripped shows only the variables that it exports. Machine code without PTX that was built as a whole
//! program defines the private copy, which then looks like any other variable. Where an image of the link set cannot be
//! read (LTO-IR), the definition may be there: potential. The images of a finished device link are not checked, since nvlink has found
//! everything.

use crate::analysis::references;
use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, ModuleContext, Report};
use crate::ir::SymbolKind;
use crate::link::SymbolClass;
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::symbols;
use ptxcheck_ir::limits::SHOWN_USES;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX101",
    name: "host-variable-reference",
    aliases: &["address_of_host_var_in_device_code"],
    guidelines: &["G-S1.5", "G-S1.6", "G-3.3"],
    family: Family::Host,
    summary: "device code refers to a variable of the host",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Linked(check_module, check_link_set);

const HELP: [&str; 2] = [
    "declare it `__device__` or `__constant__` where it is defined, and set it with `cudaMemcpyToSymbol`",
    "pass its value as a kernel parameter, or make it `constexpr` and use it by value",
];

/// Variables that their own module puts on the host.
fn check_module(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for uses in references::used_symbols_where(module.module, |symbol| symbol.is_host) {
        let symbol = module.module.symbol(uses.symbol);
        if !matches!(symbol.kind, SymbolKind::Variable) {
            continue;
        }
        let mut places = uses.places();
        let Some(first) = places.next() else { continue };
        let message = format!(
            "device code refers to {}, a variable of the host",
            symbols::symbol(symbol.name)
        );
        let draft = report.definite(first, message).data("symbol", symbol.name);
        for place in places.by_ref().take(SHOWN_USES - 1) {
            draft.related(place, "also used here");
        }
        let rest = places.count();
        if rest > 0 {
            draft.note(format!("{rest} more functions and variables refer to it"));
        }
        for help in HELP {
            draft.help(help);
        }
    }
}

/// Variables that the link set has on the host only.
fn check_link_set(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    for missing in context.missing() {
        let Some(host) = missing.host.filter(|_| {
            symbols::is_host_variable(missing)
                && missing.what == SymbolClass::Variable
                && missing.runtime.is_none()
        }) else {
            continue;
        };
        let message = format!(
            "device code refers to {}, a variable of the host: {} defines it, and no device code does",
            symbols::symbol(missing.name),
            symbols::object(&host)
        );
        let draft = symbols::report(context, missing, missing.is_known, message, report);
        draft.note(if missing.stands_alone {
            "ptxas has only warned, and given the kernel a private copy full of zeros"
        } else {
            "nvlink stops with an \"undefined reference\" and no line; without it ptxas only warns, and gives the kernel a \
             private copy full of zeros"
        });
        if !missing.is_known {
            draft.note("some of the device code cannot be read, and may define it");
        }
        for help in HELP {
            draft.help(help);
        }
    }
}
