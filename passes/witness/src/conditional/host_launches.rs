//! The blocks with which the compiled host code launches kernels, for the search.

use std::collections::BTreeSet;

use crate::analysis::lanes::{LaneLayout, Launch, Root, ShapeSource, Site};
use crate::analysis::launches::Shape;
use crate::analysis::{Certainty, ModuleAnalyses};
use crate::ir::{FunctionId, WARP};
use crate::launches::ShownKernel;

/// The launches of a kernel that the compiled host code shows, unless its blocks are stated.
pub(super) fn shown_kernel_without_launch<'m>(
    module: &'m ModuleAnalyses<'_>,
    kernel: FunctionId,
    launch: &Launch,
) -> Option<&'m ShownKernel> {
    let name = module.module.function_name(kernel);
    let shown = module.options.launches.shown_kernel(name);
    shown.filter(|_| launch.shape.is_none() && launch.source == ShapeSource::Assumed)
}

/// True if one of these launches has a layout in which potential findings were not searched for: a last warp that lacks lanes, or rows that
/// end within a warp.
pub(super) fn is_shown_otherwise(module: &ModuleAnalyses<'_>, root: &Root) -> bool {
    let is_other = |[x, y, z]: &Shape| {
        let rows = if root.launch.is_multidimensional { 1 } else { WARP };
        !x.is_multiple_of(rows) || !(x * y * z).is_multiple_of(WARP)
    };
    shown_kernel_without_launch(module, root.function, &root.launch)
        .is_some_and(|shown| shown.shapes.iter().any(is_other))
}

/// The collectives and barriers of a kernel with no definite finding.
pub(super) fn all_but_definite(root: &Root, layout: &LaneLayout<'_>) -> BTreeSet<Site> {
    let issues = root.findings.iter().map(|found| &found.issue);
    let definite = issues.filter(|issue| issue.certainty == Certainty::Definite);
    let definite: BTreeSet<&Site> = definite.map(|issue| &issue.site).collect();
    layout
        .judged_sites()
        .filter(|site| !definite.contains(site))
        .collect()
}
