//! ## What it does
//!
//! Finds addresses that `mapa` (`cluster.map_shared_rank`) made, used with `.shared` or `.shared::cta`.
//!
//! ## Why is this bad?
//!
//! `.shared` means the CTA's own shared memory. The access drops which CTA was meant and reads its own memory at the same
//! offset.
//!
//! ## Example
//!
//! ```ptx
//! mapa.shared::cluster.u32 %r2, %r1, 1;
//! ld.shared.u32 %r3, [%r2];
//! ```
//!
//! ## Use instead
//!
//! `ld.shared::cluster`, `st.shared::cluster`, `atom.shared::cluster`.
//!
//! ## Limits
//!
//! If the rank is computed from the number of the CTA (`%ctaid`, `%cluster_ctarank`), is 0, which one CTA of each cluster
//! has, or is given in another function, it may be the CTA's own: a potential finding. The same holds after a branch that depends on such a
//! register, for example a comparison of the rank with `%cluster_ctarank`, and for an address that `isspacep.shared::cluster` has found to
//! be in the cluster's shared memory. With any other constant rank, a CTA of another rank reaches the access, too, and the launch goes
//! wrong there. A conversion with `cvta.to.shared` is silent, and its result is still in the other CTA: `cuda::ptx` makes addresses for
//! `.shared::cluster` in that way.

use crate::analysis::provenance::ViolationKind;
use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::addresses;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX208",
    name: "cluster-address-as-cta",
    family: Family::Space,
    summary: "the shared memory of another CTA is accessed as the own CTA's",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for violation in addresses::of_kind(module, &[ViolationKind::ClusterAsCta]) {
        let name = addresses::subject(module, violation);
        let owner = addresses::shown_symbol(module, violation)
            .map(|name| format!(" of `{name}`"))
            .unwrap_or_default();
        let was = addresses::by_certainty(violation, "was", "may have been");
        let message = format!(
            "{name} accesses the CTA's own shared memory, but this address{owner} {was} mapped to another CTA of the cluster"
        );
        addresses::report(module, violation, message, report).help("access it as `.shared::cluster`");
    }
}
