//! ## What it does
//!
//! Finds loads, stores, atomics and indirect calls whose address is the constant 0, or up to 4095 bytes more, on every
//! path that leads there: through moves, selects, the stack, calls inside the module and what they return.
//!
//! ## Why is this bad?
//!
//! Address 0 is what nvcc puts where device code names an entity that only the host has, and it says nothing: a host
//! table or a reference to a host constant in a `constexpr` function (`--expt-relaxed-constexpr`), a host function
//! called from `__host__ __device__` code. The kernel faults with "illegal memory access" there, or with an invalid
//! program counter. Optimised code has often lost the access altogether (PTX107), or the values that depended on it.
//!
//! ## Example
//!
//! ```cuda
//! struct Limits { static constexpr int least = 16; };
//! constexpr int at_least(int n) { return std::max(Limits::least, n); }   // takes the address of `least`
//! __global__ void clamp(int *out) { *out = at_least(*out); }             // in a debug build: std::max(0, &n)
//! ```
//!
//! ## Use instead
//!
//! * tables: `__device__ constexpr` or `__constant__`, or `cuda::std::array` that is filled in device code;
//! * scalars: by value (`int{Limits::least}`), or `cuda::std::max`;
//! * functions: `__host__ __device__`, or an `if` on `__CUDA_ARCH__` around what only the host does.
//!
//! Without `--expt-relaxed-constexpr` nvcc reports the uses in `constexpr` functions. Its warnings 20011 and 20014 name
//! the host functions; `#pragma nv_exec_check_disable` silences them.
//!
//! ## Limits
//!
//! Address 0 that is merely passed on, stored or compared is silent, and so is a function that lets something depend on
//! a comparison of such an address with 0. An access that depends on another argument, such as a count beside the pointer, is silent unless
//! the call passes a value that leads there. Not definite: an access after a branch, or under a guard of its own, that memory decides; an
//! address that is 0 on some paths only, even if the access stands on one of these, as with a search that returns `nullptr` where it finds
//! nothing and whose caller does not test for that; a volatile store to 0, which is how code crashes on purpose, and an access with a
//! `trap` right after it, which is what GCC makes of a path on which a pointer is null; an address that is an index alone, which is what an
//! element of a table at address 0 looks like once 0 has been folded (`shl`, then `ld`); what stands in an inline function or an instance
//! of a template that nothing in the module calls, which debug builds keep. Prefetches and asynchronous copies are not judged. Addresses
//! that are loaded from memory are not known, nor are calls through tables. What the compiler removed cannot be found: optimised code
//! mostly has neither the call nor the access.

use crate::analysis::provenance::{Effect, Use, Violation, ViolationKind};
use crate::checks::Check;
use crate::context::{ModuleContext, Place, Report};
use crate::names;
use crate::rule::{Certainties, Family, Level, Question, Rule};
use crate::sanitizer::Sanitizer;
use crate::support::addresses;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX106",
    name: "null-host-reference",
    aliases: &["incorrect_deduced_host_exec_space"],
    guidelines: &["G-S1.5", "G-S1.6", "G-S2.1", "G-3.1", "G-3.2", "G-3.3"],
    family: Family::Host,
    summary: "device code accesses or calls address 0, which nvcc puts where it named an entity of the host",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    question: Some(Question::NullAddresses),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for violation in addresses::of_kind(module, &[ViolationKind::Null, ViolationKind::Baseless]) {
        let access = Place::of_instruction(violation.function, violation.instruction);
        let (place, message) = match violation.callers.last() {
            // The argument of the call is wrong, however deep the access lies.
            Some(call) => (Place::of_call(*call), message_about_call(module, violation)),
            None => (access.clone(), message_about(module, violation)),
        };
        let draft = if violation.is_definite {
            report.definite(place, message)
        } else {
            report.potential(place, message)
        };
        addresses::note_doubt(violation, draft);
        if violation.used != Use::Call {
            draft.seen_by(Sanitizer::Memcheck);
        }
        if let Some(offset) = violation
            .element
            .offset
            .and_then(|offset| u64::try_from(offset).ok())
        {
            draft.data("address", offset);
        }
        if let Some((_, between)) = violation.callers.split_last() {
            for call in between.iter().rev() {
                draft.related(Place::of_call(*call), "it is passed on here");
            }
            draft.related(access, "and used here");
        }
        if violation.used == Use::Call {
            draft
                .note(
                    "nvcc puts 0 where `constexpr` or `__host__ __device__` code calls a function of the host, throws, \
                     or takes the address of one",
                )
                .help("make the function `__host__ __device__`, or leave the call to the host with `#ifndef __CUDA_ARCH__`");
        } else {
            draft
                .note(
                    "nvcc puts 0 where `constexpr` code refers to a table or constant of the host \
                     (`--expt-relaxed-constexpr`), or `__host__ __device__` code to what a host function returns",
                )
                .help("declare tables that device code reads as `__device__ constexpr` or `__constant__`")
                .help("pass scalars by value; `cuda::std::` has the algorithms that work in device code");
        }
    }
}

/// The message about an access or a call.
fn message_about(module: &ModuleContext<'_>, violation: &Violation) -> String {
    if violation.used == Use::Call {
        let goes = addresses::by_certainty(violation, "goes", "may go");
        return format!("this call {goes} to address 0");
    }
    let name = addresses::instruction_as_noun(module, violation);
    if violation.wrong == ViolationKind::Baseless {
        let is = addresses::by_certainty(violation, "is", "may be");
        return format!("the address of this {name} {is} an index without a base, added to 0");
    }
    let does = match violation.used {
        Use::Access(_, Effect::Writes) => addresses::by_certainty(violation, "writes to", "may write to"),
        Use::Access(_, Effect::Updates) => addresses::by_certainty(violation, "updates", "may update"),
        _ => addresses::by_certainty(violation, "reads from", "may read from"),
    };
    match violation.element.offset {
        Some(offset @ 1..) => {
            format!("this {name} {does} address {offset}, which is a part of an object at address 0")
        }
        _ => format!("this {name} {does} address 0"),
    }
}

/// The message about a call that passes the address.
fn message_about_call(module: &ModuleContext<'_>, violation: &Violation) -> String {
    let passes = addresses::by_certainty(violation, "passes", "may pass");
    let callee = names::in_message(module.module.function_name(violation.function));
    match violation.used {
        Use::Call => format!("this call {passes} address 0 as a function, and `{callee}` calls it"),
        Use::Access(_, Effect::Reads) => {
            format!("this call {passes} address 0, and `{callee}` reads from there")
        }
        _ => format!("this call {passes} address 0, and `{callee}` writes there"),
    }
}
