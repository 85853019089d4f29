//! ## What it does
//!
//! Finds tensor copies whose tensor map lies in local or in shared memory.
//!
//! ## Why is this bad?
//!
//! The hardware that makes tensor copies (TMA) reads the map, a `CUtensorMap` of 128 bytes, by itself, and reaches only memory that is the
//! same for all threads: kernel parameters, constant and global memory (PTX ISA, cp.async.bulk.tensor). Given an address in a thread's
//! stack or in shared memory, the copy faults. Neither nvcc nor ptxas says a word.
//!
//! One line makes it happen. A `CUtensorMap` that is passed by value lies among the kernel's parameters, where the hardware finds it.
//! But a parameter of C++ is a variable that the function may change: as soon as its address is taken, the compiler copies it to the
//! stack, and the copy is given that address. `__grid_constant__` says that the parameter is never changed, so its own address is taken.
//!
//! ## Example
//!
//! ```cuda
//! __global__ void load(const CUtensorMap map) {                      // copied to the stack
//!     cuda::ptx::cp_async_bulk_tensor(..., &map, ...);
//! }
//! ```
//!
//! ## Use instead
//!
//! ```cuda
//! __global__ void load(const __grid_constant__ CUtensorMap map) {    // stays where it was passed
//!     cuda::ptx::cp_async_bulk_tensor(..., &map, ...);
//! }
//! ```
//!
//! The same goes for a map inside of a structure: the structure is the parameter. A map in a variable of a kernel, or one that was put
//! into shared memory to be changed by `tensormap.replace`, has to be copied to global memory first. The CUDA C++ Programming Guide
//! (Tensor Memory Accelerator) lists the ways to pass one. Users meet this as an illegal instruction or address that no source line
//! explains: [fast.cu#8](https://github.com/pranjalssh/fast.cu/issues/8) is about the other ways.
//!
//! ## Limits
//!
//! A finding is definite: all that the address may be computed from, through selects, the stack and parameters of functions, lies in
//! that memory. Of a map that is chosen among several, one that does is a potential finding. In LLVM IR from before the code
//! generator, a parameter is still where it was passed.

use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::ir::Space;
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::asynchronous as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX708",
    name: "tensor-map-in-local-memory",
    family: Family::Async,
    summary: "a tensor copy is given a tensor map in local or shared memory",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for problem in module.asynchronous().misplaced_tensor_maps() {
        let object = problem.detail;
        let message = format!(
            "the tensor map of this {} {} {}, where the hardware does not find it",
            text::noun(problem.operation),
            if problem.is_definite { "is" } else { "may be" },
            text::object(module, object)
        );
        text::report_problem(problem, message, "its address is taken here", report)
            .in_general("the tensor map lies where the hardware does not find it")
            .note("tensor maps lie in kernel parameters, constant or global memory")
            .help(if object.space == Space::Local {
                "declare the kernel's parameter `const __grid_constant__ CUtensorMap`, so that it is not copied to the stack"
            } else {
                "copy the map to global memory, and pass that address"
            });
    }
}
