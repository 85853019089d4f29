//! ## What it does
//!
//! Finds generic accesses, and conversions out of the generic space, whose address is still a number inside the window of
//! shared, local, constant or parameter memory: `cvta` is missing.
//!
//! ## Why is this bad?
//!
//! The window of shared memory begins at 0 and the generic address of it does not, so the access goes to a small address
//! in global memory, and faults if one is lucky. The usual way there is an integer: the result of
//! `__cvta_generic_to_shared` cast back to a pointer.
//!
//! ## Example
//!
//! ```cuda
//! __shared__ int tile[32];
//! size_t address = __cvta_generic_to_shared(tile);
//! int value = *reinterpret_cast<int *>(address);
//! ```
//!
//! ## Use instead
//!
//! The pointer itself, or `__cvta_shared_to_generic(address)`.
//!
//! ## Limits
//!
//! Addresses of global memory are the same number either way, and are not reported. A symbol that stands in the operand
//! itself is fine: ptxas sees its space. Addresses that are loaded from memory are not known.

use crate::analysis::provenance::ViolationKind;
use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::addresses;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX203",
    name: "raw-address-as-generic",
    family: Family::Space,
    summary: "an address that was never converted to generic is used as a generic one",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for violation in addresses::of_kind(module, &[ViolationKind::RawAsGeneric]) {
        let name = addresses::subject(module, violation);
        let object = addresses::object(module, violation);
        let space = violation.element.space.as_str();
        let was = addresses::by_certainty(violation, "was never", "may never have been");
        let message =
            format!("{name} takes a generic address, but this one, of {object}, {was} converted to generic");
        let draft = addresses::report(module, violation, message, report);
        addresses::seen_by_memcheck(module, violation, draft);
        draft.help(format!(
            "convert it with `cvta.{space}`, or access it as `.{space}`"
        ));
    }
}
