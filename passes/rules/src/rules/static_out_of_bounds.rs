//! ## What it does
//!
//! Finds accesses at a constant offset from a variable or a parameter that begin before it, end after it, or are not
//! aligned to the size of the access although the object is; and accesses of kernels at an offset that depends on the thread index, if
//! threads of one warp certainly make them outside; and accesses at an address whose low bits are known and wrong for their size, even if
//! the other bits are unknown. LLVM IR states the alignment of each access, and compilers split an access whose alignment is less than its
//! size: the stated alignment is the one checked.
//!
//! ## Why is this bad?
//!
//! Past its end lies another object or nothing. A misaligned access faults. ptxas checks neither.
//!
//! ## Example
//!
//! ```ptx
//! .visible .entry k(.param .align 8 .b8 st[64]) {
//!     ld.param.u32 %r1, [st+64];
//! ```
//!
//! ```cuda
//! __shared__ float sums[8];                    // one for each of 8 warps
//! value = __shfl_xor_sync(0xffffffff, value, 1);
//! if (threadIdx.x < 32) value = sums[threadIdx.x];
//! ```
//!
//! ```cuda
//! __shared__ __align__(16) char packets[4096];
//! value = *reinterpret_cast<float4 *>(&packets[n * 16 + 8]);      // 8 bytes past a multiple of 16, whatever n is
//! ```
//!
//! ## Use instead
//!
//! An offset inside the object:
//!
//! ```cuda
//! if (threadIdx.x < 8) value = sums[threadIdx.x];
//! ```
//!
//! ## Limits
//!
//! An access at a constant offset is definite where it is on every path through each other access of the object that may be inside it, else
//! potential: where a compiler unrolls a loop over an array, it writes accesses past its end after tests that the program never passes.
//! Offsets that are computed at run time are known, outside of global memory, if they depend on `threadIdx.x` and constants alone; they are
//! followed if only conditions of this kind decide whether the thread gets there, and no called function may end the thread. In a loop, that
//! holds for the first time that a thread gets there. Called functions are followed with what they are passed, not through pointers to
//! functions; a finding there names the first call. The threads
//! certainly exist where the shape of the blocks is known (`.reqntid`, --launch-block), or a collective on the way names all 32 lanes: a
//! kernel that is launched with 16 threads and names 32 lanes is reported, and silent once its shape is stated. Elsewhere the finding
//! begins with "in blocks of more than n threads", n being the first thread whose access is outside. It is potential unless the kernel
//! tests the number of a thread against a constant that only blocks of more than n threads need: arrays of as many elements as the block
//! has threads are common. From n = 32 on it is reported only where there is such a test. Where the shape is known, all warps of the first
//! row of a block are analysed, and all of its rows where it is one shape. Not known are the sizes of `extern` arrays and of definitions that another module may replace; their
//! alignment is. Dynamic shared memory has the size that the settings state (`--launch-shared`, `[launch]`) or that all launches in host code show, of several
//! the greatest: an access past it is reported, at a constant offset, too, where threads certainly make it, since a kernel may use that memory only if its parameters say that it has some. Of an address that is computed at run time, the last bits are known where they follow from the alignment of its object,
//! from a mask, or from the sides of the block where a launch states those, and from constants that are added and multiplied with; a branch on the way that may be a test of the same address, or asks a function, makes
//! it potential. The alignment of what a pointer from elsewhere points to is not known. Compilers put all local variables of a function
//! into one object: leaving one of them for the next is not seen.
//!
//! `-W conditional` searches for launches and values of parameters with which a thread leaves an array in shared memory, or accesses it not aligned,
//! and reports the first access of each array with such a witness. The place, or a condition on
//! the way there, has to depend on a parameter, and neither on anything that is loaded.
//!
//! The rows of `ldmatrix` and `stmatrix` are accesses of the lanes that give their addresses, and have to be aligned to 16 bytes; for targets
//! below sm_80, the addresses of the other lanes have to be valid, too. Those of `wmma.load` and `wmma.store` have to be aligned to what a
//! lane gets of the matrix, and to no more than 16 bytes, which is what the functions of CUDA ask for.

use rustc_hash::FxHashSet;

use crate::analysis::launches::DynamicShared;
use crate::analysis::misaligned::Misaligned;
use crate::analysis::out_of_bounds::OutOfBoundsAccess;
use crate::analysis::provenance::{Base, Violation, ViolationKind};
use crate::checks::Check;
use crate::conditional::{ConditionalLeaving, LeavingAccess};
use crate::context::{ModuleContext, Place, Report};
use crate::ir::{FunctionId, InstructionId};
use crate::rule::{Certainties, Family, Level, Rule, WitnessSearch};
use crate::sanitizer::Sanitizer;
use crate::support::{addresses, lanes, threshold, witness, wording};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX211",
    name: "static-out-of-bounds",
    family: Family::Space,
    summary: "a known offset lies outside its object, or is misaligned for the access",
    definite: Level::Warning,
    certainties: Certainties::DEFINITE
        .or_conditional(WitnessSearch::Bounds)
        .or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

/// The kind of message about the alignment of an offset.
const MISALIGNED: &str = "misaligned";

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for violation in addresses::of_kind(module, &[ViolationKind::OutOfBounds, ViolationKind::Misaligned]) {
        let Some(offset) = violation.element.offset else {
            continue;
        };
        let name = object_name(module, violation);
        let is_aligned = addresses::by_certainty(violation, "is not aligned", "may not be aligned");
        let is_inside = addresses::by_certainty(violation, "is not inside", "may lie outside");
        let message = match (violation.wrong, object_size(module, violation)) {
            (ViolationKind::Misaligned, _) => {
                format!("the offset {offset} in {name} {is_aligned} to the size of the access")
            }
            (_, Some(size)) => format!(
                "the access at offset {offset} {is_inside} {name}, which has {}",
                wording::bytes(size)
            ),
            (_, None) => format!("the access at offset {offset} {is_inside} {name}"),
        };
        let draft = addresses::report(module, violation, message, report);
        addresses::seen_by_memcheck(module, violation, draft);
        if violation.wrong == ViolationKind::Misaligned {
            draft.kind(MISALIGNED);
        }
        draft.help("keep the offset inside the object, and a multiple of the size of the access");
        if !violation.is_certain() {
            draft.note("the object is also accessed on paths that do not come here: this may be code that is never reached");
        }
        if let Some(size) = object_size(module, violation) {
            draft.data("size", size);
        }
    }
    let known = addresses::of_kind(module, &[ViolationKind::OutOfBounds, ViolationKind::Misaligned])
        .map(|violation| (violation.function, violation.instruction))
        .collect::<FxHashSet<_>>();
    let whatever: Vec<&Misaligned> = module
        .misaligned()
        .iter()
        .filter(|one| !known.contains(&(one.function, one.instruction)))
        .collect();
    for misaligned in &whatever {
        report_misaligned(module, misaligned, report);
    }
    for outside in module.out_of_bounds() {
        let place = (outside.site.function, outside.site.instruction);
        // All threads are said to, not only those of one warp.
        let is_said = |one: &&Misaligned| one.is_definite && (one.function, one.instruction) == place;
        let is_new = outside.wrong != ViolationKind::Misaligned || !whatever.iter().any(is_said);
        // A constant address may be misaligned as well.
        if is_new && !known.contains(&place) {
            report_out_of_bounds(module, outside, report);
        }
    }
    let outside = module
        .out_of_bounds()
        .iter()
        .map(|one| (one.site.function, one.site.instruction));
    let known = known.into_iter().chain(outside).collect();
    for leaving in module.conditional_leaving() {
        report_leaving(module, leaving, &known, report);
    }
}

/// Reports the accesses to an array that leave it with a witness, but for those that are known to be wrong. One finding has all of an array.
fn report_leaving(
    module: &ModuleContext<'_>,
    leaving: &ConditionalLeaving,
    known: &FxHashSet<(FunctionId, InstructionId)>,
    report: &mut Report<'_>,
) {
    let place = |access: &LeavingAccess| (access.site.function, access.site.instruction);
    let Some(first) = leaving
        .accesses
        .first()
        .filter(|first| !known.contains(&place(first)))
    else {
        return;
    };
    let symbol = module.module.symbol(leaving.array);
    let name = addresses::named(module, symbol.space, leaving.array);
    let thread = first.thread;
    let message = if first.is_misaligned {
        format!(
            "thread {thread} accesses {name} at offset {}, which is not aligned to the size of the access",
            first.offset
        )
    } else {
        format!(
            "thread {thread} accesses {name} at offset {}, and it has {}",
            first.offset,
            wording::bytes(symbol.size.unwrap_or_default())
        )
    };
    let at = Place::of_instruction(first.site.function, first.site.instruction);
    let draft = report.conditional(at, message);
    draft.seen_by(Sanitizer::Memcheck);
    if first.is_misaligned {
        draft.kind(MISALIGNED);
    }
    for other in leaving.accesses.iter().skip(1) {
        let at = Place::of_instruction(other.site.function, other.site.instruction);
        draft.related(at, "so does this access");
    }
    draft
        .data("symbol", symbol.name)
        .data("offset", first.offset.to_string());
    if let Some(size) = symbol.size {
        draft.data("size", size);
    }
    witness::tell(module, draft, leaving.kernel, &leaving.witness, None);
    witness::tell_run(module, draft, &leaving.run);
}

/// Reports an access at an address whose low bits are wrong for it.
fn report_misaligned(module: &ModuleContext<'_>, misaligned: &Misaligned, report: &mut Report<'_>) {
    let Misaligned { unit, past, .. } = *misaligned;
    let object = misaligned.symbol.map(|symbol| {
        let known = module.module.symbol(symbol);
        addresses::named(module, known.space, symbol)
    });
    let to = object.map(|object| format!(" to {object}")).unwrap_or_default();
    let begins = if misaligned.is_definite {
        "begins"
    } else {
        "may begin"
    };
    let message = format!(
        "this access{to} {begins} {} past a multiple of {unit} whatever the rest of its address is, and has to be aligned to {}",
        wording::bytes(past.into()),
        wording::bytes(unit.into())
    );
    let place = Place::of_instruction(misaligned.function, misaligned.instruction);
    let draft = if misaligned.is_definite {
        report.definite(place, message)
    } else {
        report.potential(place, message)
    };
    draft.kind(MISALIGNED);
    draft.seen_by(Sanitizer::Memcheck);
    if misaligned.is_uncalled {
        draft.note(addresses::UNCALLED);
    } else if !misaligned.is_definite {
        draft.note("a branch on the way hangs off an address, or off what a function returns: it may be a test for alignment");
    }
    if let Some(launch) = &misaligned.launch {
        lanes::assumption(draft, module, misaligned.function, launch);
    }
    draft.help(
        "access elements at multiples of the size of the access, or align the object and its rows to it",
    );
    draft.data("unit", u64::from(unit)).data("past", u64::from(past));
}

/// Reports an access at an offset that the number of the thread decides.
fn report_out_of_bounds(module: &ModuleContext<'_>, outside: &OutOfBoundsAccess, report: &mut Report<'_>) {
    let function = module.module.function(outside.kernel);
    let (name, size) = match (outside.symbol, outside.param) {
        (Some(symbol), _) => {
            let known = module.module.symbol(symbol);
            let dynamic = outside.dynamic.map(|memory| memory.bytes);
            (
                addresses::named(module, known.space, symbol),
                dynamic.or(known.size),
            )
        }
        (None, Some(number)) => {
            let number = usize::from(number);
            let Some(param) = function.params.get(number) else {
                return;
            };
            let kernel = module.module.function_name(outside.kernel);
            (wording::parameter(kernel, number, param.name), Some(param.size))
        }
        (None, None) => return,
    };
    let offsets = match outside.offsets {
        (one, other) if one == other => format!("offset {one}"),
        (least, most) => format!("offsets {least} to {most}"),
    };
    // Arrays of as many elements as the block has threads are common.
    let is_potential = outside.above.is_some_and(|above| !above.is_exceeded);
    let access = match is_potential {
        true => lanes::subject(outside.lanes, "may access", "may access"),
        false => lanes::subject(outside.lanes, "accesses", "access"),
    };
    let message = match (outside.wrong, size) {
        (ViolationKind::OutOfBounds, Some(size)) if outside.is_same_in_all && !is_potential => format!(
            "the access at {offsets} is not inside {name}, which has {}",
            wording::bytes(size)
        ),
        (ViolationKind::Misaligned, _) => {
            format!("{access} {name} at {offsets}, not aligned to the size of the access")
        }
        (_, Some(size)) => format!(
            "{access} {name} at {offsets}, and it has {}",
            wording::bytes(size)
        ),
        (_, None) => format!("{access} {name} at {offsets}, outside of it"),
    };
    let place = lanes::place_of(&outside.site);
    let message = threshold::message(outside.above, message);
    let draft = match is_potential {
        true => report.potential(place, message),
        false => report.definite(place, message),
    };
    if outside.wrong == ViolationKind::Misaligned {
        draft.kind(MISALIGNED);
    }
    threshold::tell(draft, outside.above);
    draft.seen_by(Sanitizer::Memcheck);
    if outside.is_first_time {
        draft.note(format!(
            "this is so in warp {} of each block, the first time that its threads come here",
            outside.warp
        ));
    } else if !outside.is_same_in_all {
        draft.note(format!("this is so in warp {} of each block", outside.warp));
    }
    if let Some(memory) = outside.dynamic {
        draft.note(origin_of_dynamic_size(module, outside.kernel, memory));
    }
    // Thread 0 exists in blocks of any shape.
    if outside.is_same_in_all && outside.above.is_none() {
        draft.help("keep the offset inside the object");
    } else {
        lanes::assumption(draft, module, outside.kernel, &outside.launch);
        draft.help("let only those threads come here whose offset is inside the object");
    }
    draft.data("warp", u64::from(outside.warp));
    draft.data(
        "lanes",
        crate::finding::Value::Numbers(lanes::numbers(outside.lanes)),
    );
    if let Some(size) = size {
        draft.data("size", size);
    }
}

/// The place that says how much dynamic shared memory a kernel has.
fn origin_of_dynamic_size(module: &ModuleContext<'_>, kernel: FunctionId, memory: DynamicShared) -> String {
    let bytes = wording::bytes(memory.bytes);
    let shown = module.shown_launches(kernel).filter(|_| memory.is_of_host);
    match shown {
        Some(shown) => format!(
            "the launches in this file give this kernel at most {bytes} of dynamic shared memory ({}; those in other files are not seen; \
             --launch-shared BYTES wins over them)",
            shown.shared_place
        ),
        None => format!("the settings give this kernel {bytes} of dynamic shared memory"),
    }
}

/// The object, for messages: compilers leave the names of local variables out of their IR.
fn object_name(module: &ModuleContext<'_>, violation: &Violation) -> String {
    let named = addresses::shown_symbol(module, violation);
    match (named, violation.element.base) {
        (Some(_), Base::Param(..)) => addresses::parameter(module, violation),
        (Some(name), _) => format!("`{name}`"),
        (None, Base::Param(..)) => addresses::parameter(module, violation),
        (None, _) => format!(
            "an object in {}",
            addresses::memory_in_words(violation.element.space)
        ),
    }
}

fn object_size(module: &ModuleContext<'_>, violation: &Violation) -> Option<u64> {
    match violation.element.base {
        Base::Symbol(symbol) => module.module.symbol(symbol).size,
        Base::Param(number, _) => {
            let parameter = module
                .module
                .function(violation.of)
                .params
                .get(usize::from(number))?;
            Some(parameter.size)
        }
        _ => None,
    }
}
