//! ## What it does
//!
//! Finds accesses at a constant offset from a variable or a parameter that begin before it, end after it, or are not
//! aligned to the size of the access although the object is. LLVM IR says of each access how its address is aligned, and
//! compilers take it apart where that is less than its size: it is held to what it says.
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
//! ## Use instead
//!
//! An offset inside the object.
//!
//! ## Limits
//!
//! Definite where the access is on every path through each other access of the object that may be inside it, else potential:
//! where a compiler unrolls a loop over an array, it writes accesses past its end behind tests that the program never
//! passes. Offsets that are computed at run time are not known, nor are the sizes of `extern` arrays and of definitions that
//! another module may replace. Compilers put all local variables of a function into one object: leaving one of them for
//! the next is not seen.

use super::{address, wording};
use crate::analysis::provenance::{Base, Violation, Wrong};
use crate::context::{ModuleContext, Report};
use crate::rule::{Check, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX211",
    name: "static-out-of-bounds",
    aliases: &[],
    guidelines: &[],
    family: Family::Space,
    summary: "a constant offset lies outside its object, or is misaligned for the access",
    definite: Level::Warning,
    can_be_definite: true,
    can_be_potential: true,
    check: Check::Module(check),
};

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for violation in address::of_kind(module, &[Wrong::OutOfBounds, Wrong::Misaligned]) {
        let Some(offset) = violation.element.offset else {
            continue;
        };
        let name = name(module, violation);
        let message = match (violation.wrong, size(module, violation)) {
            (Wrong::Misaligned, _) => {
                format!("the offset {offset} in {name} is not aligned to the size of the access")
            }
            (_, Some(size)) => format!(
                "the access at offset {offset} is not inside {name}, which has {}",
                wording::bytes(size)
            ),
            (_, None) => format!("the access at offset {offset} is not inside {name}"),
        };
        let draft = address::report(module, violation, message, report);
        draft.help("keep the offset inside the object, and a multiple of the size of the access");
        if !violation.is_certain() {
            draft.note("the object is also accessed on paths that do not come here: this may be code that is never reached");
        }
        if let Some(size) = size(module, violation) {
            draft.data("size", size);
        }
    }
}

/// The object, for messages: compilers leave the names of local variables out of their IR.
fn name(module: &ModuleContext<'_>, violation: &Violation) -> String {
    let named = address::told(module, violation);
    match (named, violation.element.base) {
        (Some(_), Base::Param(..)) => address::parameter(module, violation),
        (Some(name), _) => format!("`{name}`"),
        (None, Base::Param(..)) => address::parameter(module, violation),
        (None, _) => format!("an object in {}", address::memory(violation.element.space)),
    }
}

fn size(module: &ModuleContext<'_>, violation: &Violation) -> Option<u64> {
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
