//! The collectives that lanes may meet at.

use rustc_hash::FxHashMap;

use super::Judge;
use crate::lanes::collective_call::Call;
use crate::lanes::flow::Flow;
use crate::lanes::value::{Lanes, lane_set, lanes_in_set};
use crate::limits::MAX_NEIGHBOURS;
use ptxcheck_ir::Collective;

/// Lanes that do something at one or more instructions, and at two or more.
#[derive(Clone, Copy, Default)]
pub(super) struct Passers {
    pub(super) once: Lanes,
    pub(super) twice: Lanes,
}

pub(super) fn passers_by_mask(
    flow: &Flow<'_>,
    calls: &[Call],
) -> FxHashMap<(Collective, Option<Lanes>), Passers> {
    let mut all: FxHashMap<(Collective, Option<Lanes>), Passers> = FxHashMap::default();
    for call in calls {
        let mut left = flow.may[call.node as usize];
        while let Some(lane) = lanes_in_set(left).next() {
            let mask = call.mask_of_lane(lane);
            let alike = lane_set(lanes_in_set(left).filter(|&other| call.mask_of_lane(other) == mask));
            let known = all.entry((call.kind, mask)).or_default();
            known.twice |= known.once & alike;
            known.once |= alike;
            left &= !alike;
        }
    }
    all
}

/// The lanes that may reach one barrier, and two.
pub(super) fn barrier_passers(flow: &Flow<'_>, barriers: &[u32]) -> Passers {
    let mut all = Passers::default();
    for &node in barriers {
        let here = flow.may[node as usize];
        all.twice |= all.once & here;
        all.once |= here;
    }
    all
}

/// The lanes that may execute another collective that meets `call` with `mask`.
pub(super) fn lanes_at_other_collectives(
    flow: &Flow<'_>,
    passers: &FxHashMap<(Collective, Option<Lanes>), Passers>,
    call: &Call,
    mask: Lanes,
) -> Lanes {
    let here = flow.may[call.node as usize];
    let own =
        lane_set(lanes_in_set(here).filter(|&lane| call.mask_of_lane(lane).is_none_or(|own| own == mask)));
    let same = passers.get(&(call.kind, Some(mask))).copied().unwrap_or_default();
    let any = passers.get(&(call.kind, None)).copied().unwrap_or_default();
    let twice = same.twice | any.twice | same.once & any.once;
    twice | (same.once | any.once) & !own
}

/// The collectives that all lanes of the warp meet at, with their masks.
pub(super) fn whole_warp_collectives(flow: &Flow<'_>, calls: &[Call]) -> Vec<(u32, Collective, Lanes)> {
    let whole = calls
        .iter()
        .filter_map(|call| Some((call.node, call.kind, whole_mask(flow, call)?)));
    whole.collect()
}

/// The other collectives that lanes may execute with a mask that names all lanes of the warp.
pub(super) fn possible_whole_warp_collectives(flow: &Flow<'_>, calls: &[Call]) -> Vec<(u32, Collective)> {
    let may_be = |call: &&Call| {
        let is_whole = |mask: Lanes| flow.launch.analysed_lanes() & !mask == 0;
        let mut here = lanes_in_set(flow.may[call.node as usize]);
        whole_mask(flow, call).is_none() && here.any(|lane| call.mask_of_lane(lane).is_none_or(is_whole))
    };
    let calls = calls.iter().filter(may_be);
    calls.map(|call| (call.node, call.kind)).collect()
}

/// The mask of a collective, if it is known, the same for all lanes that may arrive, and names all lanes of the warp.
fn whole_mask(flow: &Flow<'_>, call: &Call) -> Option<Lanes> {
    let here = flow.may[call.node as usize];
    let mask = call.mask_of_lane(here.trailing_zeros().min(31) as usize)?;
    let is_whole = flow.launch.analysed_lanes() & !mask == 0;
    (is_whole && lanes_in_set(here).all(|lane| call.mask_of_lane(lane) == Some(mask))).then_some(mask)
}

impl Judge<'_, '_> {
    /// The lanes that may execute another collective that meets `call` with `mask`, or with some mask.
    pub(super) fn lanes_at_matching_collectives(&self, call: &Call, mask: Option<Lanes>) -> Lanes {
        if !self.converges {
            return 0;
        }
        if let Some(mask) = mask {
            return lanes_at_other_collectives(self.flow, &self.passers, call, mask);
        }
        let alike = self.calls.iter();
        let alike = alike.filter(|other| other.kind == call.kind && other.node != call.node);
        alike.fold(0, |all, other| all | self.flow.may[other.node as usize])
    }

    /// The collectives around the one with this index, in the order of the graph, without itself.
    fn neighbouring_calls(&self, number: usize) -> impl Iterator<Item = &Call> {
        let start = number.saturating_sub(MAX_NEIGHBOURS);
        let end = number.saturating_add(MAX_NEIGHBOURS).min(self.calls.len());
        let (own, all) = (&self.calls[number], &self.calls[start..end]);
        all.iter()
            .filter(|other| other.node != own.node && other.kind == own.kind)
    }

    /// The other collectives that may meet this one with `mask`, and the lanes that may execute them with it.
    fn matching_calls(&self, number: usize, mask: Lanes) -> impl Iterator<Item = (&Call, Lanes)> {
        self.neighbouring_calls(number)
            .map(move |other| {
                let here = self.flow.may[other.node as usize];
                let differs = lane_set(
                    lanes_in_set(here & other.mask.exact)
                        .filter(|&lane| other.mask_of_lane(lane) != Some(mask)),
                );
                (other, here & !differs)
            })
            .filter(|(_, lanes)| *lanes != 0)
    }

    /// The instruction that most of `set` execute instead, where that would match.
    pub(super) fn best_matching_collective(
        &self,
        number: usize,
        mask: Lanes,
        set: Lanes,
    ) -> Option<(u32, Lanes)> {
        self.matching_calls(number, mask)
            .map(|(other, lanes)| (other.node, lanes & set))
            .filter(|(_, lanes)| *lanes != 0)
            .max_by_key(|(node, lanes)| (lanes.count_ones(), std::cmp::Reverse(*node)))
    }

    /// A collective of the same kind on the other side of a branch, where all of `set` pass another mask.
    pub(super) fn sibling_call(&mut self, number: usize, mask: Lanes, set: Lanes) -> Option<(u32, Lanes)> {
        let own = self.calls[number].node;
        let is_other = |lane: usize, other: &Call| {
            let other = other.mask_of_lane(lane);
            other.is_some_and(|other| other != mask && other != 0)
        };
        let candidates: Vec<u32> = self
            .neighbouring_calls(number)
            .filter(|other| set & !(self.flow.may[other.node as usize] & other.mask.exact) == 0)
            .filter(|other| lanes_in_set(set).all(|lane| is_other(lane, other)))
            .map(|other| other.node)
            .collect();
        let found = candidates
            .into_iter()
            .find(|&other| !self.placement.are_on_one_path(own, other))?;
        Some((found, set))
    }
}
