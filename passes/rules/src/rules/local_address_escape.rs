//! ## What it does
//!
//! Finds stores and atomics that put the address of a `.local` object (a variable on a thread's stack) into global or
//! shared memory.
//!
//! ## Why is this bad?
//!
//! Local memory is a thread's own. In another thread the same address names that thread's own local memory, and after the
//! function or the kernel has ended it names nothing. What a definite finding states is that the address is stored there, on
//! every execution that reaches the place. That somebody follows it is not certain, hence a warning: a thread that reads back
//! what it has stored itself does nothing wrong.
//!
//! ## Example
//!
//! ```cuda
//! __device__ int *last;
//! __global__ void k() {
//!     int value = threadIdx.x;
//!     last = &value;
//! }
//! ```
//!
//! ## Use instead
//!
//! Store the value, or give the object a place in shared or global memory.
//!
//! ## Limits
//!
//! A store through a pointer of unknown space is not reported, nor are addresses that leave as part of a structure that is
//! copied from local memory. Into a variable in shared memory that each thread accesses at its own `threadIdx.x` alone, in
//! blocks of one dimension, it is a potential finding: there no other thread reads it. So is what need not be an address: half of
//! one (32 bits), and one exclusive-or a number that is not a tag (a constant within bits 0 to 23 and 48 to 63), as in the seed of
//! a random number.

use crate::analysis::provenance::ViolationKind;
use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::addresses;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX206",
    name: "local-address-escape",
    family: Family::Space,
    summary: "the address of a local object is stored where other threads see it",
    definite: Level::Warning,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for violation in addresses::of_kind(module, &[ViolationKind::Escape]) {
        let object = addresses::object(module, violation);
        let to = match violation.used.required_space() {
            crate::ir::Space::Generic => "memory that other threads see",
            space => addresses::memory_in_words(space),
        };
        let verb = addresses::by_certainty(violation, "is", "may be");
        let message =
            format!("the address of {object} {verb} stored in {to}, where it means nothing to other threads");
        let draft = addresses::report(module, violation, message, report);
        if violation.is_definite {
            draft.note("it is certain that the address is stored, but not that another thread uses it");
        }
        draft.help("store the value itself, or keep the object in shared or global memory");
    }
}
