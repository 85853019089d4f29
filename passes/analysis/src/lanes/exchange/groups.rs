//! Groups of lanes: where the masks of all callers of a collective are known, it orders the accesses of the lanes that a mask names
//! among themselves, and of no others.

use rustc_hash::FxHashSet;

use super::segments::is_ordering;
use crate::lanes::collective_call::call_at_node;
use crate::lanes::flow::Flow;
use crate::lanes::graph::NodeKind;
use crate::lanes::value::{Lanes, WARP, lanes_in_set};

/// Collectives that order only groups of lanes, and the groups that all of them together leave apart.
pub(super) struct Groups {
    /// The nodes of the collectives.
    nodes: FxHashSet<u32>,
    /// By lane: the lanes of its group.
    of: [Lanes; WARP],
}

impl Groups {
    /// The groups of a solution; `None` if all lanes are in one.
    pub(super) fn of_collectives(flow: &mut Flow<'_>) -> Option<Self> {
        let kinds = &flow.graph.nodes;
        let is_collective =
            |&node: &u32| flow.may[node as usize] != 0 && kinds[node as usize].kind == NodeKind::Collective;
        let all: Vec<u32> = flow.order.nodes.iter().copied().filter(is_collective).collect();
        let mut found = Self {
            nodes: FxHashSet::default(),
            of: std::array::from_fn(|lane| 1 << lane),
        };
        for node in all {
            let here = flow.may[node as usize];
            let Some(call) = call_at_node(flow, node) else {
                continue;
            };
            let in_group = |lane: usize| {
                let mask = call.mask_of_lane(lane)?;
                (mask >> lane & 1 == 1 && flow.launch.analysed_lanes() & !mask != 0).then_some(mask)
            };
            let masks: Option<Vec<Lanes>> = lanes_in_set(here).map(in_group).collect();
            for mask in masks.iter().flatten() {
                found.merge_groups_in_mask(*mask);
            }
            if masks.is_some() {
                found.nodes.insert(node);
            }
        }
        let are_apart = flow.launch.analysed_lanes() & !found.of[0] != 0;
        (are_apart && !found.nodes.is_empty()).then_some(found)
    }

    /// Makes one group of all groups with a lane of a mask.
    fn merge_groups_in_mask(&mut self, mask: Lanes) {
        let joined = lanes_in_set(mask).fold(0, |all, lane| all | self.of[lane]);
        for lane in lanes_in_set(joined) {
            self.of[lane] = joined;
        }
    }

    /// True if two lanes are in different groups.
    pub(super) const fn are_in_different_groups(&self, one: usize, other: usize) -> bool {
        self.of[one] >> other & 1 == 0
    }
}

/// True if a node may order accesses of lanes; `between`: of lanes of different groups.
pub(super) fn orders_lanes(flow: &Flow<'_>, node: u32, between: Option<&Groups>) -> bool {
    is_ordering(flow, node) && !between.is_some_and(|groups| groups.nodes.contains(&node))
}
