//! ## What it does
//!
//! Finds memory accesses whose address comes from a register that no instruction of the function writes, by way of moves,
//! arithmetic and conversions.
//!
//! ## Why is this bad?
//!
//! The register holds an arbitrary value. Compilers write this if the address is undefined: after an impossible cast between state spaces,
//! a division by a constant zero, or for a variable that nothing has set. LLVM drops the computation and keeps the access. The text
//! assembles without a message.
//!
//! ## Example
//!
//! The code that LLVM makes of a pointer to global memory that is cast to shared memory:
//!
//! ```ptx
//! .reg .b64 %rd<2>;
//! st.shared.u32 [%rd1], 1;
//! ```
//!
//! ## Use instead
//!
//! Find the cast (see PTX202) or the undefined value in the source, and remove it.
//!
//! ## Limits
//!
//! Only registers that nothing in the function writes are judged, and only as addresses; compilers leave undefined values
//! that do not matter in data. A register that an unknown opcode names is taken for written. An access under a guard that
//! a constant makes false is never executed, and not reported. After a comparison of the addresses of two variables, which never holds,
//! nvcc leaves accesses through registers that nothing writes: those are reported, as the finding holds for any thread that gets there.

use crate::analysis::provenance::{Base, ViolationKind};
use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::addresses;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX210",
    name: "undefined-register",
    family: Family::Space,
    summary: "an address comes from a register that nothing writes",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for violation in addresses::of_kind(module, &[ViolationKind::Undefined]) {
        let name = addresses::instruction_as_noun(module, violation);
        let register = match (
            violation.element.base,
            module.module.function(violation.of).body.as_ref(),
        ) {
            (Base::Register(register), Some(body)) => {
                let span = body.registers.name(register);
                String::from_utf8_lossy(module.module.origin.text(span)).into_owned()
            }
            _ => String::new(),
        };
        let from = if register.is_empty() {
            "a register that nothing writes".to_owned()
        } else {
            format!("`{register}`, which nothing writes")
        };
        let comes = addresses::by_certainty(violation, "comes", "may come");
        let message = if addresses::is_call(module, violation) {
            format!("the address that this call passes {comes} from {from}")
        } else {
            format!("the address of this {name} {comes} from {from}")
        };
        let draft = addresses::report(module, violation, message, report);
        draft
            .note(
                "compilers leave such a register where the source computes an undefined address: a cast to a space that the \
                 pointer can't point into, a division by zero, a variable that nothing has set",
            )
            .help("look at how the source of this access computes its address, at casts between state spaces first");
        if !register.is_empty() {
            draft.data("register", register);
        }
    }
}
