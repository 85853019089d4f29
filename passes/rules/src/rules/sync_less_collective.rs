//! ## What it does
//!
//! Finds `shfl` and `vote` without `.sync` in modules for sm_70 and newer.
//!
//! ## Why is this bad?
//!
//! These forms exchange values among the lanes that happen to execute them together. Since sm_70 the lanes of a warp
//! are scheduled on their own, so which lanes those are is not defined. From PTX ISA 6.4 on ptxas rejects them for
//! these targets, at the latest when the driver compiles the module on a user's machine; before, it accepts them and
//! the result is unpredictable (PTX ISA, `shfl` and `vote`: removed).
//!
//! ## Example
//!
//! ```ptx
//! .version 7.0
//! .target sm_70
//! …
//! shfl.down.b32 %r2, %r1, 16, 31;
//! ```
//!
//! ## Use instead
//!
//! The `.sync` form with the mask of the lanes that take part: `shfl.sync.down.b32 %r2, %r1, 16, 31, 0xffffffff;`.
//!
//! ## Limits
//!
//! Modules for older targets are silent, although the driver may compile them for a newer GPU: there the old form is
//! the only one.

use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::ir::{Collective, IsaVersion};
use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX408",
    name: "sync-less-collective",
    family: Family::Warp,
    summary: "a shuffle or vote without `.sync` for sm_70 or newer",
    definite: Level::Error,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

/// The first target that schedules lanes on their own.
const INDEPENDENT_LANES: u32 = 70;

/// The first version in which ptxas rejects the old forms.
const REMOVED: IsaVersion = IsaVersion { major: 6, minor: 4 };

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    let target = module.module.target;
    if target.sm < INDEPENDENT_LANES {
        return;
    }
    let rejected = module.module.isa.is_none_or(|isa| isa >= REMOVED);
    for site in module
        .collectives()
        .iter()
        .filter(|site| !site.is_sync() && site.callers.is_empty())
        // ptxas rejects the operation even where it is not reached.
        .filter(|site| rejected || site.is_reached(module))
    {
        let word = if matches!(site.kind, Collective::Vote(_)) {
            "vote"
        } else {
            "shfl"
        };
        let finding = report.definite(
            site.place(),
            format!("`{word}` without `.sync` is not defined for {}", target.name),
        );
        if rejected {
            finding.note(format!(
                "ptxas and the driver reject it from PTX ISA {REMOVED} on"
            ));
        } else {
            finding.at_most(Level::Warning).note(format!(
                "before PTX ISA {REMOVED} it is accepted, and the result is unpredictable"
            ));
        }
        finding
            .help(format!(
                "use `{word}.sync` with the mask of the lanes that take part"
            ))
            .data("operation", word);
    }
}
