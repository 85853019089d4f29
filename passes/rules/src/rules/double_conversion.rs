//! ## What it does
//!
//! Finds `cvta.X` of an address that is generic already, and `cvta.to.X` of one that is in X already.
//!
//! ## Why is this bad?
//!
//! The base of the window is added or subtracted again. For shared and local memory the result is another address; for
//! constant memory and parameters it is at best the same (a warning); for global memory it is the same number (off unless
//! the rule is named).
//!
//! ## Example
//!
//! ```cuda
//! size_t once = __cvta_shared_to_generic(offset);
//! size_t twice = __cvta_shared_to_generic(once);
//! ```
//!
//! ## Use instead
//!
//! One conversion. An integer that holds an address should say in its name which kind it is.
//!
//! ## Limits
//!
//! The result of a second conversion does no harm until it is used: definite is one whose result is accessed on every path from it, or
//! passed to a function that accesses it or has no body here; else it is potential.
//!
//! Addresses that are loaded from memory are not known.

use crate::analysis::provenance::ViolationKind;
use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::ir::Space;
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::addresses;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX205",
    name: "double-conversion",
    family: Family::Space,
    summary: "an address is converted to or from generic twice",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for violation in addresses::of_kind(module, &[ViolationKind::Twice]) {
        let name = addresses::subject(module, violation);
        let object = addresses::object(module, violation);
        let space = violation.used.required_space();
        let already = match violation.element.kind {
            crate::analysis::provenance::ElementKind::Generic => "generic already",
            _ => "inside its window already",
        };
        let verb = addresses::by_certainty(violation, "is", "may be");
        let message = format!("{name} is given an address of {object} that {verb} {already}");
        let draft = addresses::report(module, violation, message, report);
        draft.help("convert the address only once");
        match space {
            Space::Shared | Space::SharedCluster | Space::Local => {}
            Space::Global => {
                draft.at_most(Level::Allow);
            }
            _ => {
                draft.at_most(Level::Warning);
            }
        }
    }
}
