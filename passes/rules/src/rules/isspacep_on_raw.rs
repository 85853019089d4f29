//! ## What it does
//!
//! Finds `isspacep` (`__isShared`, `__isGlobal` and their like) on an address that is not generic, and accesses and casts
//! that contradict the test that guards them.
//!
//! ## Why is this bad?
//!
//! `isspacep` compares a generic address with the window of a space. A raw address is in the wrong window, or in none, so
//! the answer says nothing. After a test that says "shared", a cast to global is wrong each time it is reached.
//!
//! ## Example
//!
//! ```cuda
//! if (__isShared(p)) {
//!     size_t address = __cvta_generic_to_global(p);
//!     asm volatile("st.global.u32 [%0], 1;" :: "l"(address));
//! }
//! ```
//!
//! ## Use instead
//!
//! Test the generic pointer, before it is converted, and convert it to the space that was tested.
//!
//! ## Limits
//!
//! A test is understood where its predicate decides a branch or guards an instruction, also through complements and
//! conjunctions; not where it is kept in memory or returned by a function. An address in global memory is the same number
//! as its generic one, so a test of it answers rightly and is not reported.

use crate::analysis::provenance::ViolationKind;
use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::addresses;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX209",
    name: "isspacep-on-raw",
    family: Family::Space,
    summary: "a test of an address's space that can't be right",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for violation in addresses::of_kind(module, &[ViolationKind::TestOfRaw, ViolationKind::AgainstTest]) {
        let name = addresses::subject(module, violation);
        let wanted = violation.used.required_space();
        if violation.wrong == ViolationKind::AgainstTest {
            let message = format!(
                "{name} is for {}, but the test before it says that the address points to {}",
                addresses::memory_in_words(wanted),
                addresses::memory_in_words(violation.element.space)
            );
            addresses::report(module, violation, message, report)
                .help("convert the pointer to the space that was tested, or test the other one");
            continue;
        }
        let object = addresses::object(module, violation);
        let verb = addresses::by_certainty(violation, "is", "may be");
        let message = format!(
            "{name} tests generic addresses, but this one, of {object}, {verb} one inside its window"
        );
        addresses::report(module, violation, message, report)
            .help("test the generic address, before it is converted");
    }
}
