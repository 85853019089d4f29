//! ## What it does
//!
//! Finds accesses to shared, local, constant or parameter memory whose address is a generic one: the `cvta.to` is missing.
//!
//! ## Why is this bad?
//!
//! The instruction takes an offset into its own window. A generic address is not one, even if it points into the same
//! space; that the hardware drops the upper half of a shared address is an accident that no manual promises.
//!
//! ## Example
//!
//! ```cuda
//! __shared__ int tile[32];
//! asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "l"(tile));
//! ```
//!
//! ## Use instead
//!
//! `"r"((unsigned)__cvta_generic_to_shared(tile))` as the operand.
//!
//! ## Limits
//!
//! A kernel's pointer parameter used so is a potential finding: what the host passes is not seen. So is a generic address that is
//! cut to 32 bits (a conversion, or `& 0xffffffff`): hardware has windows whose lower half is 0. Addresses that are loaded from
//! memory are not known.

use crate::analysis::provenance::ViolationKind;
use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::ir::Space;
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::addresses;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX204",
    name: "generic-address-as-raw",
    family: Family::Space,
    summary: "a generic address is used where one inside the window of a space is due",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for violation in addresses::of_kind(module, &[ViolationKind::GenericAsRaw]) {
        let name = addresses::subject(module, violation);
        let object = addresses::object(module, violation);
        let wanted = violation.used.required_space();
        let verb = addresses::by_certainty(violation, "is", "may be");
        let message = format!(
            "{name} takes an address inside the window of {}, but this {verb} a generic one, of {object}",
            addresses::memory_in_words(wanted)
        );
        let draft = addresses::report(module, violation, message, report);
        addresses::seen_by_memcheck(module, violation, draft);
        draft.help(format!(
            "convert it with `cvta.to.{}`{}",
            wanted.as_str(),
            conversion_intrinsic(wanted)
        ));
    }
}

/// The function of CUDA that converts a pointer to an address in a space, if there is one.
const fn conversion_intrinsic(space: Space) -> &'static str {
    match space {
        Space::Shared => " (`__cvta_generic_to_shared` in CUDA)",
        Space::Global => " (`__cvta_generic_to_global` in CUDA)",
        Space::Local => " (`__cvta_generic_to_local` in CUDA)",
        Space::Const => " (`__cvta_generic_to_constant` in CUDA)",
        _ => "",
    }
}
