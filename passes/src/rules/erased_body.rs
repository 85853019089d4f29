//! ## What it does
//!
//! Finds kernels whose code the compiler has removed because it reached undefined behaviour: a body without any
//! instruction (not even `ret`), a body that is only `trap`, or a branch to a last label after which nothing comes.
//!
//! ## Why is this bad?
//!
//! The kernel launches, does nothing or traps, and nobody has said why. What the source did is gone. The usual causes
//! pass the compiler without a message:
//!
//! * a `constexpr` table, `std::max` on a static member, `std::array` or `std::string_view` of the host, used in
//!   device code under `--expt-relaxed-constexpr`: the reference to it becomes address 0;
//! * a call of a host function from `__host__ __device__` code;
//! * `throw`, `.at()` or `.value()` in `constexpr` code;
//! * a null access, an endless loop without effect, a missing `return`.
//!
//! ## Example
//!
//! ```cuda
//! constexpr int table[4] = {1, 2, 4, 8};
//! constexpr int pick(int i) { return table[i]; }           // host table, indexed at run time
//! __global__ void k(int *out) { *out = pick(threadIdx.x); }
//! ```
//!
//! ## Use instead
//!
//! `__device__ constexpr` or `__constant__` for tables that device code indexes at run time, and scalars by value.
//!
//! ## Limits
//!
//! The cause is not visible in the compiled form. A kernel that is one `trap` is definite only where the module says
//! that NVIDIA's compiler wrote it, which ends a deliberate `__trap()` with a return; clang does not, so there, and
//! where the comment with the compiler's name is lost, it is potential. Kernels that are only `ret` are silent: guards on the architecture
//! leave such stubs, and so does an erased body whose end the compiler kept. A kernel with a syntax error in it is
//! not judged.

use ptxcheck_ptx_parser::Span;

use crate::context::{FunctionContext, Place, Report};
use crate::ir::{BlockId, Op, Producer};
use crate::rule::{Check, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX107",
    name: "erased-body",
    aliases: &[],
    guidelines: &["G-S1.5", "G-S1.6"],
    family: Family::Host,
    summary: "the compiler reached undefined behaviour in a kernel and removed its code",
    definite: Level::Error,
    can_be_definite: true,
    can_be_potential: true,
    check: Check::Function(check),
};

fn check(function: &FunctionContext<'_>, report: &mut Report<'_>) {
    if !function.function.is_kernel() || function.function.is_damaged {
        return;
    }
    let kernel = Place::Function(function.id);
    let end = empty_end(function);
    let finding = match function.body.instructions.as_slice() {
        [] => report.definite(
            kernel,
            "the kernel has no code, not even a return: the compiler removed its body",
        ),
        [only] if only.op == Op::Trap && only.guard.is_none() => {
            let message = "the kernel only traps: the compiler removed its body";
            // Of the compilers that are known, this one alone never writes a lone trap for `__trap()`.
            if function.module.module.producer == Producer::Nvvm {
                report.definite(kernel, message)
            } else {
                report.potential(kernel, message)
            }
        }
        _ if end.is_some() => report.definite(
            kernel,
            "a path of the kernel ends in nothing: the compiler removed what stood there",
        ),
        _ => return,
    };
    if let Some(end) = end {
        let debug = function
            .body
            .instructions
            .last()
            .map_or(function.function.declared, |last| last.debug);
        finding.related(Place::Text(function.id, end, debug), "nothing follows this label");
    }
    finding
        .note(
            "this happens without a message when device code uses a host table, a reference to a host constant or a \
             host function through `constexpr` or `__host__ __device__` code (`--expt-relaxed-constexpr`), throws in \
             such code, or accesses a null pointer",
        )
        .help("declare tables that device code indexes as `__device__ constexpr` or `__constant__`")
        .help("pass scalars by value")
        .data("symbol", function.name());
}

/// The label of the last block, if nothing follows it and control comes to it from elsewhere.
fn empty_end(function: &FunctionContext<'_>) -> Option<Span> {
    let body = function.body;
    let last = BlockId::new(body.blocks.len().checked_sub(1)?);
    let is_empty = body.block(last).next().is_none() && !body.instructions.is_empty();
    let is_reached = function.analyses().cfg().rank(last).is_some();
    (is_empty && is_reached).then(|| body.blocks[last.index()].span)
}
