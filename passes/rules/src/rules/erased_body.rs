//! ## What it does
//!
//! Finds kernels whose code the compiler has removed because it reached undefined behaviour: a body without any
//! instruction (not even `ret`), a body that is only `trap`, or one that ends in nothing on every path.
//! Potential: a kernel one path of which ends in nothing, and one with parameters whose body is only `ret`.
//!
//! ## Why is this bad?
//!
//! The kernel launches, does nothing or traps, and nobody has said why. What the source did is gone. The usual causes
//! pass the compiler without a message, or with a warning among others:
//!
//! * a `constexpr` table, `std::max` on a static member, `std::array` or `std::string_view` of the host, used in
//!   device code under `--expt-relaxed-constexpr`: the reference to it becomes address 0;
//! * a call of a host function from `constexpr` code under that option, or from `__host__ __device__` code;
//! * `throw`, `.at()` or `.value()` in `constexpr` code;
//! * a store to `__constant__` memory from device code: what leads to it is undefined, and goes with it (nvcc warns "Cannot
//!   store to pointer that points to constant memory space");
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
//! `__device__ constexpr` or `__constant__` for tables that device code indexes at run time, and scalars by value. Functions
//! that device code calls are `__device__`, or `constexpr` in all that they call. What kernels write is `__device__`.
//!
//! ## Limits
//!
//! The cause is not visible in the compiled form. A kernel that is one `trap` is definite only where the module says
//! that NVIDIA's compiler wrote it, which marks a deliberate `__trap()` or `asm("trap;")` as inline assembly: that is
//! silent. Clang does not, so there, and where the comments of the compiler are lost, it is potential.
//!
//! A path that ends in nothing beside code that remains may be a precondition, `if (n < 0) __builtin_unreachable();`, which
//! is right as long as it holds: that is potential. So it is where a call, a trap or an `exit` comes before the end, which
//! may end the thread: a failed `assert`, or a function that never returns.
//!
//! A kernel that is only `ret` may have been empty in the source, or left to other architectures by a guard. It is potential,
//! and silent where it has no parameters or another image of the run has code for a kernel of that name. In machine code that
//! is seen only where there is more of it than an empty kernel takes. A kernel with a syntax error in it is not judged.

use crate::ir::Span;

use rustc_hash::FxHashSet;

use crate::checks::Check;
use crate::context::{Draft, ImagePlace, ImagesContext, ModuleContext, Place, Report};
use crate::finding::Located;
use crate::inventory::{Kernel, Stub};
use crate::ir::{BlockId, Body, FunctionId, Op, Producer};
use crate::names::normalised;
use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX107",
    name: "erased-body",
    guidelines: &["G-S1.5", "G-S1.6"],
    family: Family::Host,
    summary: "the compiler reached undefined behaviour in a kernel and removed its code",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Linked(check, check_empty_kernels);

/// Most bytes of machine code that a kernel without code takes: with nvcc 13.5, 128 for sm_75 and 256 from sm_90 on.
const MAX_BARE_CODE_BYTES: u64 = 256;

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for (id, function, body) in module.module.bodies() {
        if function.is_kernel() && !function.is_damaged {
            check_kernel(module, id, body, report);
        }
    }
}

fn check_kernel(module: &ModuleContext<'_>, id: FunctionId, body: &Body<'_>, report: &mut Report<'_>) {
    let kernel = Place::Function(id);
    let end = label_of_empty_end(module, id, body);
    let (finding, left) = match body.instructions.as_slice() {
        [] => {
            let message = "the kernel has no code, not even a return: the compiler removed its body";
            (report.definite(kernel, message), KernelRemains::Nothing)
        }
        [_] if Stub::of(module.module.function(id)) == Some(Stub::Trapping) => {
            if module.module.origin.is_in_assembly(body.places[0].span) {
                return;
            }
            // Of the compilers that are known, this one alone marks a deliberate trap.
            let finding = if module.module.producer == Producer::Nvvm {
                report.definite(kernel, "the kernel only traps: the compiler removed its body")
            } else {
                report.potential(
                    kernel,
                    "the kernel only traps: the compiler may have removed its body",
                )
            };
            (finding, KernelRemains::Trap)
        }
        _ if end.is_some() && is_last_block_only_end(module, id, body) => {
            let message = "the kernel ends in nothing: the compiler removed what stood there";
            (report.definite(kernel, message), KernelRemains::Nothing)
        }
        _ if end.is_some() => {
            let message =
                "a path of the kernel ends in nothing: the compiler may have removed code that runs";
            (report.potential(kernel, message), KernelRemains::Path)
        }
        _ => return,
    };
    if let Some(end) = end {
        let debug = body
            .places
            .last()
            .map_or(module.module.function(id).declared, |last| last.debug);
        finding.related(Place::Text(id, end, debug), "nothing follows this label");
    }
    explain(finding, left, module.module.function_name(id));
}

/// Kernels that only return, and have code in no image.
fn check_empty_kernels(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    let images = || {
        let numbered = context.inputs.iter().enumerate();
        numbered
            .flat_map(|(number, input)| input.counting().map(move |(index, image)| (number, index, image)))
    };
    if images().all(|(.., image)| image.facts.bare.is_empty()) {
        return;
    }
    let identity = |kernel: &Located| {
        kernel
            .function
            .as_deref()
            .map(|name| normalised(name).into_owned())
    };
    let mut with_code: FxHashSet<&str> = FxHashSet::default();
    for (.., image) in images() {
        let bare: FxHashSet<_> = image.facts.bare.iter().filter_map(identity).collect();
        let has_code = |kernel: &&Kernel| match kernel.code_bytes {
            Some(bytes) => bytes > MAX_BARE_CODE_BYTES,
            None => !bare.contains(&kernel.identity),
        };
        let kernels = image.facts.kernels.iter().filter(has_code);
        with_code.extend(kernels.map(|kernel| kernel.identity.as_str()));
    }
    for (number, index, image) in images() {
        for bare in &image.facts.bare {
            let (Some(name), Some(identity)) = (&bare.function, identity(bare)) else {
                continue;
            };
            if with_code.contains(identity.as_str()) {
                continue;
            }
            let place = ImagePlace {
                function: Some(name.clone()),
                located: Some(Box::new(bare.clone())),
                ..ImagePlace::image(number, index)
            };
            let message =
                "the kernel takes parameters and only returns: the compiler may have removed its body";
            explain(report.potential(place, message), KernelRemains::Return, name);
        }
    }
}

/// The remains of a kernel.
#[derive(Clone, Copy)]
enum KernelRemains {
    Nothing,
    Trap,
    Return,
    /// All but what one path led to.
    Path,
}

/// Adds the causes that leave such a kernel, and what to do about them.
fn explain<P>(finding: &mut Draft<P>, left: KernelRemains, kernel: &str) {
    const TABLES: &str = "tables that device code indexes are `__device__ constexpr` or `__constant__`, what it writes is `__device__`";
    const FUNCTIONS: &str =
        "functions that it calls are `__device__`, or `constexpr` with all that they call";
    let (causes, help) = match left {
        KernelRemains::Nothing => (
            "this happens when device code uses a host table, a reference to a host constant or a host function through \
             `constexpr` or `__host__ __device__` code (`--expt-relaxed-constexpr`), or accesses a null pointer",
            &[TABLES, FUNCTIONS][..],
        ),
        KernelRemains::Trap => (
            "this happens when device code uses a host table or a reference to a host constant through `constexpr` code \
             (`--expt-relaxed-constexpr`), stores to `__constant__` memory, or accesses a null pointer",
            &[TABLES][..],
        ),
        KernelRemains::Return => (
            "this happens when what the kernel stores comes from a host function or a host pointer, through `constexpr` or \
             `__host__ __device__` code (`--expt-relaxed-constexpr`), or goes to `__constant__` memory",
            &[TABLES, FUNCTIONS][..],
        ),
        KernelRemains::Path => (
            "this happens where code throws (`throw`, `.at()`, `.value()`) or calls a host function through `constexpr` or \
             `__host__ __device__` code (`--expt-relaxed-constexpr`), and where it says so itself: \
             `__builtin_unreachable()`, `__builtin_assume()`, a function that is said not to return",
            &[
                "a path that is meant to be taken needs code that the device can execute; a precondition is right as long as it \
               holds",
            ][..],
        ),
    };
    finding.note(causes);
    for help in help {
        finding.help(*help);
    }
    finding.data("symbol", kernel);
}

/// True if every thread reaches the last block: the kernel ends nowhere else, has no loop, and executes nothing that may end a thread.
fn is_last_block_only_end(module: &ModuleContext<'_>, id: FunctionId, body: &Body<'_>) -> bool {
    let cfg = module.function(id).cfg();
    let may_end = |op| matches!(op, Op::Return | Op::Exit | Op::Trap | Op::Call(_));
    body.blocks.iter().enumerate().all(|(number, _)| {
        let block = BlockId::new(number);
        let goes_on = |rank| {
            let mut next = body.successors(block).iter();
            next.all(|&next| cfg.rank(next) > Some(rank))
                && body.block(block).all(|(_, instruction)| !may_end(instruction.op))
        };
        cfg.rank(block).is_none_or(goes_on)
    })
}

/// The label of the last block, if nothing follows it and control reaches it from elsewhere.
fn label_of_empty_end(module: &ModuleContext<'_>, id: FunctionId, body: &Body<'_>) -> Option<Span> {
    let last = BlockId::new(body.blocks.len().checked_sub(1)?);
    let is_empty = body.block(last).next().is_none() && !body.instructions.is_empty();
    let is_reached = module.function(id).cfg().rank(last).is_some();
    (is_empty && is_reached).then(|| body.blocks[last.index()].span)
}
