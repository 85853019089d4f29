//! ## What it does
//!
//! Finds conversions of a generic pointer to a state space (`cvta.to.shared`, which is what `__cvta_generic_to_shared`
//! becomes) where the pointer provably points into another one, however far back that was decided; and conversions to
//! generic (`cvta.global`) of an address that lies in another space than the one named.
//!
//! ## Why is this bad?
//!
//! A cast from one specific space to another has no meaning, even through a generic address: the result is some number in the window of the
//! wrong space. No tool reports it. LLVM removes such a cast and leaves a register that nothing writes.
//!
//! ## Example
//!
//! ```cuda
//! __global__ void k(int *p) {
//!     unsigned address = __cvta_generic_to_shared(p);       // p points to global memory
//!     asm volatile("st.shared.u32 [%0], %1;" :: "r"(address), "r"(1));
//! }
//! ```
//!
//! ## Use instead
//!
//! `__cvta_generic_to_shared` for pointers to `__shared__` variables only, after a test with `__isShared(p)` if the pointer may be of
//! either kind.
//!
//! A parameter that a function (not a kernel) is passed by value has no generic address at all: `cvta.param` is for parameters of
//! kernels (PTX ISA, cvta). Copy it to local memory first.
//!
//! ## Limits
//!
//! A kernel's pointer parameter can't point to shared or local memory, so casting it there is a definite finding. Whether
//! it points to global or constant memory only the host knows. Pointers that are loaded from memory are not known. After a test of the
//! space, only the spaces that the test leaves are considered. A use of a pointer that a function is passed is definite if the call
//! certainly executes it: with any other arguments, or because the passed arguments lead there. It is potential if memory decides, and
//! silent if another argument may.
//!
//! A cast alone does no harm: of a pointer outside the window, the result is undefined (PTX ISA, cvta). So it is definite
//! where the result is used on every path from the cast: by an access, by an operation that is not interpreted, or by a function
//! that is passed it and certainly accesses it; else potential.

use crate::analysis::provenance::ViolationKind;
use crate::checks::Check;
use crate::context::{ModuleContext, Place, Report};
use crate::ir::ops::{Change, Form};
use crate::ir::{Body, FunctionId, Op, Space, Value};
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::{addresses, wording};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX202",
    name: "wrong-space-cast",
    family: Family::Space,
    summary: "a pointer is cast to a state space that it does not point into",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for violation in addresses::of_kind(module, &[ViolationKind::Cast]) {
        let name = addresses::subject(module, violation);
        let object = addresses::object(module, violation);
        let wanted = violation.used.required_space();
        let points = addresses::by_certainty(violation, "points", "may point");
        let message = format!(
            "{name} takes a pointer to {}, but this one {points} to {object}",
            addresses::memory_in_words(wanted)
        );
        addresses::report(module, violation, message, report).help(format!(
            "convert pointers to {} only; where several can come, test with `isspacep` (`__isShared`, `__isGlobal`) first",
            addresses::memory_in_words(wanted)
        ));
    }
    for (id, function, body) in module.module.bodies() {
        if !function.is_kernel() {
            report_parameters(module, id, body, report);
        }
    }
}

/// Generic addresses of parameters that a function is passed by value. LLVM wrote them (llvm/llvm-project, pull request
/// 112278), ptxas says nothing, and the address is one in the kernel's parameters.
fn report_parameters(module: &ModuleContext<'_>, id: FunctionId, body: &Body<'_>, report: &mut Report<'_>) {
    let analyses = module.function(id);
    for (at, instruction) in body.iter() {
        let (Op::ToGeneric(Space::Param, _), &[from, ..]) = (instruction.op, body.uses(instruction)) else {
            continue;
        };
        // Copies and additions lead from an address to its parameter.
        let value = analyses.trace_value(from, |form| match form {
            Form::Moved(next, Change::Nothing) | Form::Sum(next, _) => Some(next),
            _ => None,
        });
        if let Value::Param(number, _) = value
            && analyses.is_reached(at)
        {
            let name = module.module.function(id).params.get(usize::from(number));
            let shown = wording::parameter(
                module.module.function_name(id),
                usize::from(number),
                name.map_or("", |param| param.name),
            );
            report
                .definite(
                    Place::of_instruction(id, at),
                    format!("{shown} of a function that is no kernel has no generic address"),
                )
                .help("copy the parameter to local memory, and convert that address")
                .data("param", u64::from(number));
        }
    }
}
