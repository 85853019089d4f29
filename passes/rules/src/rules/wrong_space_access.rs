//! ## What it does
//!
//! Finds memory accesses whose state space is not the one that their address points into: the address of a variable of
//! another space, or a generic pointer to another space used with `.global`. The address is followed through moves,
//! arithmetic, selects, loops, integers, spills and calls.
//!
//! ## Why is this bad?
//!
//! The address is a number in one window and is used in another: the access reads or writes unrelated memory, or faults.
//! ptxas checks the operand alone. As soon as the address goes through a register, it says nothing.
//!
//! ## Example
//!
//! ```cuda
//! __device__ int table[64];
//! asm("ld.shared.u32 %0, [%1];" : "=r"(value) : "l"(table));
//! ```
//!
//! ## Use instead
//!
//! The access that fits (`ld.global`), or plain C++, which picks it.
//!
//! ## Limits
//!
//! Addresses that are loaded from memory, other than from the stack, are not known. A kernel's pointer parameter is
//! taken for one to global memory, and what rests on that alone is a potential finding. Calls through pointers are not
//! followed, nor are functions that call each other in a cycle. What a function does for some of its callers alone is
//! judged as by PTX202. LLVM's `atomicrmw` on a local variable of the same
//! function is a potential finding: optimised, it becomes a plain load and store.

use crate::analysis::provenance::{Effect, Use, ViolationKind};
use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::ir::{AccessKind, Op, Space};
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::addresses;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX201",
    name: "wrong-space-access",
    family: Family::Space,
    summary: "a memory access names another space than the one its address points into",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for violation in addresses::of_kind(module, &[ViolationKind::Access]) {
        let name = addresses::subject(module, violation);
        let object = addresses::object(module, violation);
        let wanted = match violation.used {
            Use::Access(Space::Generic, Effect::Updates) => "global or shared memory only",
            used => addresses::memory_in_words(used.required_space()),
        };
        let points = addresses::by_certainty(violation, "points", "may point");
        let message = if wanted == addresses::memory_in_words(Space::Generic) {
            format!("{name} does not work on this memory: its address {points} to {object}")
        } else {
            format!("{name} accesses {wanted}, but its address {points} to {object}")
        };
        let draft = addresses::report(module, violation, message, report);
        addresses::seen_by_memcheck(module, violation, draft);
        draft.help(format!(
            "access it as `.{}`, or use a generic access, which finds the state space itself",
            violation.element.space.as_str()
        ));
        let is_modification = matches!(
            addresses::op(module, violation),
            Some(Op::Access(access)) if access.kind == AccessKind::ReadModifyWrite
        );
        if is_modification && !violation.is_certain() {
            draft.note("LLVM makes a plain load and store of it where it sees the variable; nvcc removes the kernel's code");
        }
    }
}
