//! Possible exchanges: accesses of lanes of one warp to one variable in shared memory without an ordering in between, where
//! it is not known that the bytes are the same, or that the accesses are made.
//!
//! ```text
//! way(h)       the nodes that lanes may reach from a head h in the same round of the same loop, past no ordering
//! possible     on one way, a write and another access of the same variable
//!                to the same bytes by different lanes, which may make both, or
//!                a read, where for one of them no relation between lanes is known, and the two do not count from an address that each
//!                lane has for itself: a thread's own part of an array
//! ```

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::certain_paths::CertainPaths;
use super::conflicts::{Clash, find_clashes};
use super::found::{Exchange, Object, PossibleExchange, PossiblePair};
use super::harmful_clashes;
use super::kernels::{
    AccessPlace, PairKey, group_by_object, kernels_that_call, position_of_pair, reached_nodes, search_kernels,
};
use super::orderings::Among;
use super::segments;
use super::shared_accesses::{LooseAccess, Touch, Touches};
use crate::lanes::explore::{CommonFindings, InLaunch, Launches, Meet};
use crate::lanes::flow::Flow;
use crate::lanes::launch::{INDEPENDENT_LANES, Launch};
use crate::lanes::layout::LaneLayout;
use crate::lanes::scenario::Fixed;
use crate::lanes::slice::Slices;
use crate::lanes::uses::possible_users_of_load;
use crate::lanes::value::{Lanes, Rest, lanes_in_set};
use crate::limits::{MAX_EXCHANGE_INSTRUCTIONS, MAX_EXCHANGE_PAIRS, MAX_LOOSE_ACCESSES, MAX_USE_STEPS};
use crate::shared::Shared;
use ptxcheck_ir::{AccessKind, Body, FunctionId, Op, Space, Value};

/// All possible exchanges of a module, in the order of the input, in variables that have no definite exchange.
pub(crate) fn find_possible_exchanges(module: &Shared<'_>, definite: &[Exchange]) -> Vec<PossibleExchange> {
    if module.module.target.sm < INDEPENDENT_LANES {
        return Vec::new();
    }
    search_kernels(module, &suspect_kernels(module), |slices, function| {
        let mut found = possible_exchanges_of_kernel(module, slices, function)?;
        found.retain(|possible| {
            let mut known = definite.iter();
            !known
                .any(|exchange| (exchange.function, exchange.object) == (possible.function, possible.object))
        });
        Some(found)
    })
}

/// The kernels that read and write variables in shared memory, themselves or in functions that they call.
fn suspect_kernels(module: &Shared<'_>) -> Vec<FunctionId> {
    let marked = module.marked_functions(|_, function, body| {
        let is_small = body.instructions.len() <= MAX_EXCHANGE_INSTRUCTIONS;
        is_small && !function.is_damaged && reads_and_writes_shared(module, body)
    });
    kernels_that_call(module, marked)
}

fn reads_and_writes_shared(module: &Shared<'_>, body: &Body<'_>) -> bool {
    let has = |kind: AccessKind| {
        body.instructions.iter().any(|instruction| {
            matches!(instruction.op, Op::Access(access)
                if access.kind == kind && matches!(access.space, Space::Shared | Space::Generic))
        })
    };
    let mut named = body.values.iter();
    let is_shared = |value: &Value| matches!(value, Value::Symbol(symbol, _) if module.module.symbol(*symbol).space == Space::Shared);
    named.any(is_shared) && has(AccessKind::Store) && has(AccessKind::Load)
}

/// The pairs of a kernel that are possible in each launch in which lanes reach them; `None` if the budget is spent.
fn possible_exchanges_of_kernel(
    module: &Shared<'_>,
    slices: &Slices,
    function: FunctionId,
) -> Option<Vec<PossibleExchange>> {
    let layout = LaneLayout::new(module, slices, function)?;
    let launches = Launches::new(&layout)?;
    let pairs =
        CommonFindings::find_in_launches(&launches, |launch| possible_pairs_in_launch(&layout, launch))?;
    let pairs = pairs.map(|found| (found.object, found.pair));
    let groups = group_by_object(pairs, |pair: &PossiblePair| {
        (pair.write.clone(), pair.other.clone())
    });
    let exchanges = groups.into_iter().map(|(object, pairs)| PossibleExchange {
        function,
        object,
        pairs,
        launch: launches.shown,
    });
    Some(exchanges.collect())
}

/// A possible pair and its variable.
struct FoundPair {
    object: Object,
    pair: PossiblePair,
}

impl Meet for FoundPair {
    fn meet(&mut self, _: &Self) -> bool {
        true
    }
}

/// The possible pairs in one launch.
fn possible_pairs_in_launch(layout: &LaneLayout<'_>, launch: Launch) -> Option<InLaunch<PairKey, FoundPair>> {
    let launch = Launch {
        warp: Some(0),
        ..launch
    };
    let fixed = Fixed::default();
    let mut flow = Flow::new(layout, launch, &fixed, layout.reusable_pool())?;
    let touches = Touches::with_loose(&mut flow);
    let (mut found, mut steps) = (BTreeMap::new(), MAX_USE_STEPS);
    for possible in possible_pairs(&flow, &touches) {
        let (write, other) = (
            possible.write.node_and_instruction(&touches),
            possible.other.node_and_instruction(&touches),
        );
        if !possible.is_store {
            let load = (other.0, other.1, possible.others);
            if possible_users_of_load(&flow, load, &mut steps) & possible.others == 0 {
                continue;
            }
        }
        let placed = position_of_pair(layout, write, other, possible.is_store);
        let pair = PossiblePair {
            write: placed.write,
            other: placed.other,
            kind: placed.kind,
            is_likely: possible.is_likely,
        };
        let object = possible.object;
        found.insert(placed.key, FoundPair { object, pair });
    }
    let reached = reached_nodes(&flow);
    layout.keep_pool(flow.pool);
    Some(InLaunch { found, reached })
}

/// An access with a known or an unknown address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Access {
    Known(usize),
    Loose(usize),
}

impl Access {
    /// Whether it writes, and whether it is atomic.
    pub(super) fn is_write_and_is_atomic(self, touches: &Touches) -> (bool, bool) {
        match self {
            Self::Known(number) => (touches.all[number].is_store, touches.all[number].is_atomic),
            Self::Loose(number) => (touches.loose[number].is_store, touches.loose[number].is_atomic),
        }
    }

    /// The object that is accessed.
    pub(super) fn object(self, touches: &Touches) -> Object {
        match self {
            Self::Known(number) => touches.all[number].object,
            Self::Loose(number) => touches.loose[number].object,
        }
    }

    /// The node and the instruction of the access.
    pub(super) fn node_and_instruction(self, touches: &Touches) -> AccessPlace {
        match self {
            Self::Known(number) => (touches.all[number].node, touches.all[number].at),
            Self::Loose(number) => (touches.loose[number].node, touches.loose[number].at),
        }
    }
}

/// A write and another access that may be to the same bytes.
struct Possible {
    object: Object,
    write: Access,
    other: Access,
    /// The other access is a write, too.
    is_store: bool,
    /// The lanes that may make the other access to bytes that another lane writes.
    others: Lanes,
    /// See [`PossiblePair::is_likely`].
    is_likely: bool,
}

/// The pairs of a solution, in the order of its heads.
fn possible_pairs(flow: &Flow<'_>, touches: &Touches) -> Vec<Possible> {
    let is_shared = |object: Object| match object {
        Object::Variable(symbol) => flow.module.module.symbol(symbol).space == Space::Shared,
        Object::Parameter(_) | Object::Part(_) => false,
    };
    let mut known: FxHashSet<(Access, Access)> = FxHashSet::default();
    let aborts = flow.graph.aborting_nodes();
    let mut paths = CertainPaths::new(flow, touches, Among::Lanes, None, &aborts);
    let mut found = Vec::new();
    for head in segments::segment_heads(flow, touches) {
        if flow.module.deadline.is_over_at_step() || found.len() >= MAX_EXCHANGE_PAIRS {
            break;
        }
        let (mut exact, mut loose) = (Vec::new(), Vec::new());
        for stretch in segments::stretches_after_head(flow, touches, head) {
            let here = |part: u32, may: Lanes| match part == stretch.part {
                true => may & stretch.lanes,
                false => 0,
            };
            let all = touches
                .accesses_in_node(stretch.node)
                .map(|number| (number, &touches.all[number]));
            let lanes = all.map(|(number, touch)| (number, here(touch.part, touch.may)));
            exact
                .extend(lanes.filter(|&(number, lanes)| lanes != 0 && is_shared(touches.all[number].object)));
            let all = touches
                .loose_accesses_in_node(stretch.node)
                .map(|number| (number, &touches.loose[number]));
            let lanes = all.map(|(number, access)| (number, here(access.part, access.may)));
            loose.extend(lanes.filter(|&(_, lanes)| lanes != 0));
        }
        let mut add = |object, write, (other, others), is_store, is_likely| {
            if known.insert((write, other)) {
                found.push(Possible {
                    object,
                    write,
                    other,
                    is_store,
                    others,
                    is_likely,
                });
            }
        };
        if exact.iter().any(|&(number, _)| touches.all[number].is_store) {
            let certain = paths.certain_code_after(head);
            // If a lane certainly writes the bytes itself, the pair is reported for the writes.
            let own = |number: usize, _| {
                let touch = &touches.all[number];
                let mut certain = certain.iter();
                let code = certain.find(|code| (code.node, code.part) == (touch.node, touch.part));
                code.map_or(0, |code| code.lanes & touch.lanes)
            };
            let all = find_clashes(touches, &flow.pool, &exact, own, |_, _| true, |_, _| Some(false));
            // A write by a single instruction is usually executed by the one lane that its branch lets through.
            let is_settled = |clash: &Clash| {
                let (write, other) = (&touches.all[clash.write], &touches.all[clash.other]);
                !other.is_store && harmful_clashes::is_idempotent_update(flow, write, other)
            };
            for clash in all.iter().filter(|clash| {
                clash.write != clash.other
                    && !is_settled(clash)
                    && !leaves_one_value_at_one_address(flow, &touches.all[clash.write])
            }) {
                let (object, is_store) = (touches.all[clash.write].object, touches.all[clash.other].is_store);
                let others = clash.lanes.iter().fold(0, |all, lanes| all | lanes);
                add(
                    object,
                    Access::Known(clash.write),
                    (Access::Known(clash.other), others),
                    is_store,
                    true,
                );
            }
        }
        if exact.len() + loose.len() > MAX_LOOSE_ACCESSES {
            continue;
        }
        for &(one, lanes) in &loose {
            let access = &touches.loose[one];
            for &(other, of) in &loose {
                let second = &touches.loose[other];
                let is_pair = access.is_store && !second.is_store && access.object == second.object;
                if is_pair
                    && may_be_distinct_lanes(lanes, of)
                    && !have_thread_private_parts(access, second)
                    && !access.is_disjoint_from_loose(second)
                {
                    let is_likely =
                        is_lane_relation_unknown(flow, access) || is_lane_relation_unknown(flow, second);
                    add(
                        access.object,
                        Access::Loose(one),
                        (Access::Loose(other), of),
                        false,
                        is_likely,
                    );
                }
            }
            for &(other, of) in &exact {
                let second = &touches.all[other];
                let is_pair = access.is_store != second.is_store && access.object == second.object;
                if is_pair
                    && may_be_distinct_lanes(lanes, of)
                    && !leaves_one_value_at_one_address(flow, second)
                    && !access.is_disjoint_from(second)
                {
                    let (loose, exact) = (Access::Loose(one), Access::Known(other));
                    let is_likely = is_lane_relation_unknown(flow, access);
                    match access.is_store {
                        true => add(access.object, loose, (exact, of), false, is_likely),
                        false => add(access.object, exact, (loose, lanes), false, is_likely),
                    }
                }
            }
        }
    }
    found
}

/// True if accesses of these lanes may be made by two different lanes.
const fn may_be_distinct_lanes(one: Lanes, other: Lanes) -> bool {
    (one | other).count_ones() > 1
}

/// True if all lanes that reach a write leave one value at one address, so that each lane has itself written the value that
/// it reads there later.
fn leaves_one_value_at_one_address(flow: &Flow<'_>, touch: &Touch) -> bool {
    let mut places = lanes_in_set(touch.may).map(|lane| touch.places[lane]);
    let first = places.next();
    let value = touch.stored.map(|stored| flow.pool.get(stored));
    touch.is_store
        && value.is_some_and(|value| value.is_uniform_among(touch.may))
        && places.all(|place| Some(place) == first)
}

/// True if no relation between the addresses of an access in different lanes is known.
fn is_lane_relation_unknown(flow: &Flow<'_>, access: &LooseAccess) -> bool {
    !matches!(flow.pool.get(access.address).rest, Rest::Uniform(_))
}

/// True if each thread has a private part of the array that the two accesses are to.
pub(super) fn have_thread_private_parts(one: &LooseAccess, other: &LooseAccess) -> bool {
    one.own.iter().any(|part| other.own.contains(part))
}
