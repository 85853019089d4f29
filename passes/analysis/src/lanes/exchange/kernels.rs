//! Code that the searches for definite and for possible exchanges share.

use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::found::{Object, PairKind};
use crate::lanes::explore;
use crate::lanes::flow::Flow;
use crate::lanes::layout::LaneLayout;
use crate::lanes::roots::Calls;
use crate::lanes::slice::Slices;
use crate::lanes::verdict;
use crate::shared::Shared;
use ptxcheck_ir::Site;
use ptxcheck_ir::{FunctionId, InstructionId};

/// The marked kernels, and the kernels that call a marked function directly or indirectly, in the order of the input.
pub(super) fn kernels_that_call(module: &Shared<'_>, mut marked: Vec<bool>) -> Vec<FunctionId> {
    if !marked.contains(&true) {
        return Vec::new();
    }
    module.call_graph().mark_callers(&mut marked);
    let kernels = module
        .module
        .bodies()
        .filter(|(id, function, _)| marked[id.index()] && function.is_kernel() && !function.is_damaged);
    kernels.map(|(id, ..)| id).collect()
}

/// All findings in kernels, in the order of the kernels. `of_kernel`: the search of one kernel, with slices that hold
/// addresses; `None` if the budget is spent.
pub(super) fn search_kernels<T: Send>(
    module: &Shared<'_>,
    kernels: &[FunctionId],
    of_kernel: impl Fn(&Slices, FunctionId) -> Option<Vec<T>> + Sync,
) -> Vec<T> {
    if kernels.is_empty() {
        return Vec::new();
    }
    let visited = Calls::new(module).visited_functions(module, kernels);
    let slices = Slices::with_addresses(module, &visited);
    let of_one = |&function: &FunctionId| {
        let found = of_kernel(&slices, function).unwrap_or_default();
        // A search that the deadline cut short proves nothing.
        if module.deadline.is_over() {
            Vec::new()
        } else {
            found
        }
    };
    kernels.par_iter().map(of_one).flatten().collect()
}

/// An access: its node and its instruction.
pub(super) type AccessPlace = (u32, InstructionId);

/// Sort key of a pair: the order of the code.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PairKey {
    /// (node rank, instruction) of both accesses, the later one first.
    both: [(u32, u32); 2],
    /// The other access comes after the write.
    is_behind: bool,
    /// The node of the other access, where the pair is reported.
    node: u32,
}

impl PairKey {
    /// The same pair, reported at another node.
    pub(super) const fn reported_at(self, node: u32) -> Self {
        Self { node, ..self }
    }
}

impl explore::Place for PairKey {
    fn node(&self) -> u32 {
        self.node
    }
}

/// A write and another access in the code.
pub(super) struct Placed {
    /// Position of both accesses.
    pub key: PairKey,
    /// The kind of the other access.
    pub kind: PairKind,
    /// The write.
    pub write: Site,
    /// The other access.
    pub other: Site,
}

/// The position of a pair. `is_store`: the other access writes, too.
pub(super) fn position_of_pair(
    layout: &LaneLayout<'_>,
    write: AccessPlace,
    other: AccessPlace,
    is_store: bool,
) -> Placed {
    let place = |(node, at): AccessPlace| (layout.order.rank[node as usize], at.index() as u32);
    let site = |(node, at): AccessPlace| Site {
        instruction: at,
        ..verdict::site_of_node(&layout.graph, node)
    };
    let is_behind = place(other) > place(write);
    let kind = match is_store {
        true => PairKind::TwoWrites,
        false if is_behind => PairKind::ReadAfterWrite,
        false => PairKind::WriteAfterRead,
    };
    let mut both = [place(write), place(other)];
    both.sort_unstable_by(|a, b| b.cmp(a));
    Placed {
        key: PairKey {
            both,
            is_behind,
            node: other.0,
        },
        kind,
        write: site(write),
        other: site(other),
    }
}

/// Groups pairs by their object, with each pair of sites once. `sites`: the write and the other access of a pair.
pub(super) fn group_by_object<P>(
    pairs: impl Iterator<Item = (Object, P)>,
    sites: impl Fn(&P) -> (Site, Site),
) -> Vec<(Object, Vec<P>)> {
    let mut known: FxHashSet<(Site, Site)> = FxHashSet::default();
    let mut groups: Vec<(Object, Vec<P>)> = Vec::new();
    for (object, pair) in pairs {
        if !known.insert(sites(&pair)) {
            continue;
        }
        match groups.iter_mut().find(|(known, _)| *known == object) {
            Some((_, group)) => group.push(pair),
            None => groups.push((object, vec![pair])),
        }
    }
    groups
}

/// The nodes that lanes may reach in a solution.
pub(super) fn reached_nodes(flow: &Flow<'_>) -> FxHashSet<u32> {
    let nodes = 0..flow.may.len() as u32;
    nodes.filter(|&node| flow.may[node as usize] != 0).collect()
}
