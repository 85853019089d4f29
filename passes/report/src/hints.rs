//! What helps on after a run, a line each: where findings have no lines of a source, what explains a rule, whose blocks are assumed, what
//! another level would search.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ptxcheck_passes::finding::Finding;
use ptxcheck_passes::names::{demangle, readable};
use ptxcheck_passes::run::Outcome;

use crate::amounts::plural;
use crate::causes::Cause;
use crate::{escape, packed_image};

/// Kernels that a line names.
const NAMED_KERNELS: usize = 3;

/// The lines for a run. `searchable`: the number of kernels that `-W conditional` would search and this run did not.
#[must_use]
pub fn render(outcome: &Outcome, searchable: usize) -> String {
    let causes = Cause::worst_first(outcome);
    let lines = [
        lines_of_sources(outcome, &causes),
        explanation(&causes),
        assumed_blocks(&causes),
        search(searchable),
    ];
    let mut text = String::new();
    for line in lines.into_iter().flatten() {
        let _ = writeln!(text, "{line}");
    }
    text
}

/// Says that the compiler can keep the lines of the source, if findings have none.
fn lines_of_sources(outcome: &Outcome, causes: &[Cause<'_>]) -> Option<String> {
    let count = causes
        .iter()
        .filter(|cause| lacks_lines(outcome, cause.first))
        .count();
    (count > 0).then(|| {
        let have = if count == 1 { "has" } else { "have" };
        format!(
            "compile with -lineinfo for source lines (clang: -gline-tables-only): {} {have} none",
            plural(count as u64, "finding")
        )
    })
}

/// True if a finding has a line of compiled code alone. PTX that is written by hand has no other line: its names are not C++.
fn lacks_lines(outcome: &Outcome, finding: &Finding) -> bool {
    let is_compiled = || {
        let names = [finding.kernel.as_deref(), finding.function.as_deref()];
        names.into_iter().flatten().any(|name| demangle(name).is_some())
    };
    finding.source.is_none()
        && finding.location.is_some()
        && (packed_image(outcome, finding).is_some() || is_compiled())
}

/// Names the command that explains the rule of the most severe finding.
fn explanation(causes: &[Cause<'_>]) -> Option<String> {
    let first = causes.first()?.group.rule.code;
    let codes: BTreeSet<&str> = causes.iter().map(|cause| cause.group.rule.code).collect();
    let others = match codes.len() {
        1 => "",
        _ => ", and likewise the other codes",
    };
    Some(format!("`ptxcheck explain {first}` explains {first}{others}"))
}

/// Names kernels with findings that rest on assumed blocks.
fn assumed_blocks(causes: &[Cause<'_>]) -> Option<String> {
    let findings = causes.iter().flat_map(Cause::findings);
    let assumed = findings.filter(|finding| finding.assumes_block);
    let kernels: BTreeSet<&str> = assumed
        .filter_map(|finding| finding.kernel.as_deref().or(finding.function.as_deref()))
        .collect();
    let named: Vec<String> = kernels
        .iter()
        .take(NAMED_KERNELS)
        .map(|kernel| escape::name(&readable(kernel)).into_owned())
        .collect();
    let more = match kernels.len().saturating_sub(NAMED_KERNELS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!kernels.is_empty()).then(|| {
        format!(
            "findings in {} depend on the block that is assumed ({}{more}): --launch-block X,Y,Z states it",
            plural(kernels.len() as u64, "kernel"),
            named.join(", ")
        )
    })
}

/// Says what the search for launches would do.
fn search(kernels: usize) -> Option<String> {
    let of = plural(kernels as u64, "kernel");
    (kernels > 0).then(|| format!("`-W conditional` searches {of} for launches with which they go wrong"))
}

#[cfg(test)]
mod tests {
    use ptxcheck_passes::inventory::Role;

    use super::render;
    use crate::samples;

    #[test]
    fn a_run_without_findings_names_the_search_alone() {
        let outcome = samples::outcome_of([]);
        assert_eq!(render(&outcome, 0), "");
        assert_eq!(
            render(&outcome, 2),
            "`-W conditional` searches 2 kernels for launches with which they go wrong\n"
        );
    }

    #[test]
    fn compiled_code_without_lines_is_named_once() {
        let mut own = samples::finding();
        own.kernel = Some("by_hand".to_owned());
        own.function = None;
        let mut outcome = samples::outcome_of([own.clone(), samples::finding_at(3)]);
        assert!(!render(&outcome, 0).contains("-lineinfo"));
        // A name of C++, then text inside a file.
        let compiled = samples::outcome_of([samples::finding(), samples::finding_at(3)]);
        assert!(render(&compiled, 0).starts_with(
            "compile with -lineinfo for source lines (clang: -gline-tables-only): 1 finding has none\n"
        ));
        outcome.inputs[0].images[0].section = Some(".nv_fatbin".to_owned());
        outcome.inputs[0].images[0].role = Role::Loadable;
        assert!(render(&outcome, 0).contains(": 1 finding has none\n"));
    }

    #[test]
    fn kernels_with_assumed_blocks_are_named() {
        let mut findings = vec![samples::finding_at(1)];
        for number in 0..5_u32 {
            let mut finding = samples::finding_at(2 + number);
            finding.kernel = Some(format!("k{}", number % 4));
            finding.assumes_block = true;
            findings.push(finding);
        }
        let text = render(&samples::outcome_of(findings), 0);
        assert!(
            text.contains("findings in 4 kernels depend on the block that is assumed (k0, k1, k2 and 1 more): --launch-block X,Y,Z states it\n"),
            "{text}"
        );
        assert!(
            text.contains("`ptxcheck explain PTX407` explains PTX407\n"),
            "{text}"
        );
    }
}
