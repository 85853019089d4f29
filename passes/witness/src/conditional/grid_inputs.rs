//! Inputs of places in global memory: loads and pointers that addresses are computed from.

use std::collections::BTreeSet;

use super::inputs::{InputSearch, Piece};
use crate::analysis::ModuleAnalyses;
use crate::analysis::lanes::Site;
use crate::ir::paths::Paths;
use crate::ir::{FunctionId, Op};

/// The loads that the place of an access is computed from.
pub(super) fn loads_of_place(module: &ModuleAnalyses<'_>, site: &Site) -> BTreeSet<Site> {
    let mut search = InputSearch::new(module).with_all_stores();
    search.add_address(site);
    search.finish().loads
}

/// The loads that the places of accesses are computed from, and that threads make in the rounds of a loop, from places that other loads begin
/// with: the neighbours at the ends of the edges in the row of a vertex.
pub(super) fn neighbouring_loads<'s>(
    module: &ModuleAnalyses<'_>,
    sites: impl IntoIterator<Item = &'s Site>,
) -> Vec<Site> {
    let sites = sites.into_iter();
    let loads: BTreeSet<Site> = sites.flat_map(|site| loads_of_place(module, site)).collect();
    loads.into_iter().filter(|load| is_in_row(module, load)).collect()
}

/// True if a load is in a loop, and from a place that is computed from loads before the loop.
fn is_in_row(module: &ModuleAnalyses<'_>, load: &Site) -> bool {
    let Some(body) = module.module.function(load.function).body.as_ref() else {
        return false;
    };
    let begins = loads_of_place(module, load);
    let begins: Vec<&Site> = begins.iter().filter(|begin| *begin != load).collect();
    let mut marked = vec![false; body.instructions.len()];
    for begin in begins.iter().filter(|begin| begin.function == load.function) {
        marked[begin.instruction.index()] = true;
    }
    let paths = Paths::new(body).without_marked(&marked);
    !begins.is_empty() && paths.lead(load.instruction, load.instruction)
}

/// The pieces of a kernel's parameters, as wide as pointers, that its addresses are computed from.
pub(super) fn pointer_pieces(module: &ModuleAnalyses<'_>, kernel: FunctionId) -> BTreeSet<Piece> {
    let mut search = InputSearch::new(module).with_all_stores();
    let body = module.module.function(kernel).body.as_ref();
    for (instruction, one) in body.iter().flat_map(|body| body.iter()) {
        if matches!(one.op, Op::Access(_)) {
            search.add_address(&Site::of_kernel(kernel, instruction));
        }
    }
    let pieces = search.finish().params.into_iter();
    pieces.filter(|piece| piece.bytes == 8).collect()
}
