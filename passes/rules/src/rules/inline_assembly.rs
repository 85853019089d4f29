//! ## What it does
//!
//! Reports inline assembly, as nvcc marks it in PTX (`// begin inline asm`).
//!
//! ## Why is this bad?
//!
//! It need not be. The compiler takes it as it is: types, address spaces and what it changes are up to its author. Rules for
//! critical code forbid it.
//!
//! ## Example
//!
//! ```cuda
//! asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
//! ```
//!
//! ## Use instead
//!
//! Intrinsics, or a function that is allowed to have assembly (`-A PTX606` for its file).
//!
//! ## Limits
//!
//! Off by default; `-D PTX606` forbids it. The toolkit's headers have assembly, too: such findings name the line that calls them.
//! One is reported for each place in the source, or, without line information, for each stretch of assembly. The marks are comments, which
//! fat binaries lose, and LLVM IR is not checked.

use crate::checks::Check;
use crate::context::{FunctionContext, Place, Report};
use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX606",
    name: "inline-assembly",
    guidelines: &["G-S1.2"],
    family: Family::Device,
    summary: "device code has inline assembly",
    definite: Level::Allow,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Function(check);

fn check(function: &FunctionContext<'_>, report: &mut Report<'_>) {
    let origin = function.module.module.origin;
    let mut last = None;
    for (id, _) in function.body.iter() {
        let place = function.body.place(id);
        if !origin.is_in_assembly(place.span) {
            last = None;
            continue;
        }
        if last.replace(place.debug) != Some(place.debug) {
            report.definite(Place::of_instruction(function.id, id), "this is inline assembly");
        }
    }
}
