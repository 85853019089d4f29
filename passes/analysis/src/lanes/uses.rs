//! Uses of one value: whether the value that an instruction has read is used.
//!
//! A value that a shuffle reads from a lane that does not take part is undefined; the behaviour is defined as long as the
//! value is not used (PTX ISA, `shfl.sync`). A load that lanes execute too early is no defect if none of them uses the
//! loaded value: compilers load before they branch, and drop the value with a select. A use is: an address, a mask, a source
//! lane, a branch, a value stored to memory that other threads see, an argument of a function outside of the module.
//!
//! ```text
//! on(n)       lanes that may be at n, having passed the origin and used nothing since
//! held(n, x)  of these, the lanes in which x certainly holds a value that was computed from the value that was read
//! used(n)     of these, the lanes that use some x at n in which they hold it
//! on(s)     ∪= edge ∩ on(n) ∖ used(n)          held(s, x) ∩= held(n, x), for the lanes that arrive along the edge
//! ```
//!
//! A lane that comes to the origin again has a second state at each node from there on: in a loop, a lane holds the value
//! that it has just read, and later a sum that the value was added to, and no place holds it in both rounds.
//!
//! Lanes for which `on` reaches the end need not use it. A further shuffle passes the value on: lane l holds its result if
//! the lane s that l reads holds the operand, s is at that shuffle whenever l is, and all paths there lead through the
//! origin.
//!
//! [`Need::Possible`] is the dual question with the same walk: `held` is a union, and any use counts.

mod dependence;
mod format;
mod held_values;
mod use_point;

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use self::held_values::{HeldValues, Loaded, Need, Origin, SourceLanes};
use self::use_point::Point;
use super::collective_call::Call;
use super::flow::Flow;
use super::graph::{NONE, Test};
use super::peeled_rounds::Rounds;
use super::placement::{Exits, Placement};
use super::shuffle;
use super::value::{Lanes, lanes_in_set};
use crate::variable::FrameVariable;
use ptxcheck_ir::{Collective, InstructionId, Value};

/// Further shuffles, which pass values on.
pub(super) struct Shuffles<'s, 'f, 'p> {
    /// The shuffles, in order; other collectives among them are ignored.
    pub calls: &'s [Call],
    /// The lanes that are there.
    pub placement: &'s mut Placement<'f, 'p>,
}

/// The lanes that certainly use an undefined value, among those that pass a shuffle, each time or a later time that they
/// pass it: lanes of `readers`, which read an undefined value there, and lanes to which further shuffles pass it. `None` if
/// `steps`, which count instructions and cells, are used up.
pub(super) fn users_of_undefined(
    flow: &Flow<'_>,
    shuffles: Shuffles<'_, '_, '_>,
    (shuffle, readers): (u32, Lanes),
    steps: &mut usize,
) -> Option<Lanes> {
    let origin = Origin::Shuffle(shuffle, readers);
    let mut walk = UseWalk::new(flow, Some(shuffles), (origin, Need::Undefined), steps);
    walk.follow_uses()?;
    Some(walk.used & flow.may[shuffle as usize] & !walk.lost)
}

/// The lanes that use the value of a load.
#[derive(Clone, Copy, Default)]
pub(super) struct LoadUsers {
    /// The reading lanes whose value is used by themselves or by lanes to which shuffles pass it.
    pub lanes: Lanes,
    /// Those of them that may only use it to leave a loop around the load.
    pub ending: Lanes,
}

/// The lanes whose loaded value is certainly used, as far as the budget allows. `None` if it is spent before any is known.
pub(super) fn certain_users_of_load(
    flow: &Flow<'_>,
    placement: &mut Placement<'_, '_>,
    calls: &[Call],
    (node, at, lanes): (u32, InstructionId, Lanes),
    steps: &mut usize,
) -> Option<LoadUsers> {
    if is_matrix(flow, node, at) {
        let matrix = (node, at, flow.may[node as usize]);
        return uses_whole_matrix(flow, placement, matrix, steps).then_some(LoadUsers { lanes, ending: 0 });
    }
    let loaded = Loaded {
        node,
        at,
        lanes,
        result: None,
    };
    certain_users_of_results(flow, placement, calls, loaded, steps)
}

/// True if a load reads rows of a matrix: all lanes have elements of each row.
fn is_matrix(flow: &Flow<'_>, node: u32, at: InstructionId) -> bool {
    flow.graph.context_of_node(node).body.rows_at(at).is_some()
}

/// The same, by the values of some results of a load, or of all.
fn certain_users_of_results(
    flow: &Flow<'_>,
    placement: &mut Placement<'_, '_>,
    calls: &[Call],
    loaded: Loaded,
    steps: &mut usize,
) -> Option<LoadUsers> {
    let readers = loaded.lanes;
    let mut users = |lanes: Lanes, calls: &[Call]| {
        let shuffles = Shuffles {
            calls,
            placement: &mut *placement,
        };
        let origin = Origin::Load(Loaded { lanes, ..loaded });
        let mut walk = UseWalk::new(flow, Some(shuffles), (origin, Need::Certain), steps);
        walk.follow_uses()?;
        let lanes = walk.used & flow.may[loaded.node as usize] & !walk.lost;
        Some(LoadUsers {
            lanes,
            ending: lanes & walk.ending,
        })
    };
    let mut all = users(readers, &[])?;
    all.lanes &= readers;
    let left = readers & !all.lanes;
    if left == 0 || calls.is_empty() || users(left, calls).is_none_or(|users| users.lanes == 0) {
        return Some(all);
    }
    for lane in lanes_in_set(left) {
        match users(1 << lane, calls) {
            // Then it is used by another lane.
            Some(users) if users.lanes != 0 => all.lanes |= 1 << lane,
            Some(_) => {}
            // What is known so far holds.
            None => break,
        }
    }
    Some(all)
}

/// True if all of these lanes certainly use each result of a load of a matrix, so that each of its rows is used: which lanes have the
/// elements of a row, and in which results, is not known.
fn uses_whole_matrix(
    flow: &Flow<'_>,
    placement: &mut Placement<'_, '_>,
    (node, at, lanes): (u32, InstructionId, Lanes),
    steps: &mut usize,
) -> bool {
    let body = flow.graph.context_of_node(node).body;
    let mut results = 0..body.results(body.instruction(at)).len();
    results.all(|result| {
        let loaded = Loaded {
            node,
            at,
            lanes,
            result: Some(result),
        };
        let users = certain_users_of_results(flow, placement, &[], loaded, steps);
        users.is_some_and(|users| users.lanes == lanes)
    })
}

/// The lanes that may use the value that a load reads in the lanes `readers`; all of them if the budget is spent. All lanes have elements
/// of each row of a matrix.
pub(super) fn possible_users_of_load(
    flow: &Flow<'_>,
    (node, at, readers): (u32, InstructionId, Lanes),
    steps: &mut usize,
) -> Lanes {
    let is_matrix = is_matrix(flow, node, at);
    let origin = Origin::Load(Loaded {
        node,
        at,
        lanes: if is_matrix { Lanes::MAX } else { readers },
        result: None,
    });
    let mut walk = UseWalk::new(flow, None, (origin, Need::Possible), steps);
    match walk.follow_uses() {
        Some(()) if is_matrix && walk.used == 0 => 0,
        Some(()) if !is_matrix => walk.used,
        _ => Lanes::MAX,
    }
}

/// How often a lane has come to the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Round {
    /// Once.
    First,
    /// More often.
    Later,
}

struct UseWalk<'w, 'a, 'f, 'p> {
    flow: &'w Flow<'a>,
    shuffles: Option<Shuffles<'w, 'f, 'p>>,
    origin: Origin,
    need: Need,
    /// The lanes that need not use it.
    lost: Lanes,
    /// The lanes that have reached a use.
    used: Lanes,
    /// The lanes that have reached a branch out of a loop around the origin that depends on it.
    ending: Lanes,
    held: FxHashMap<(Round, u32), HeldValues>,
    /// The nodes to visit, by round and rank.
    pending: BTreeSet<(Round, u32)>,
    steps: &'w mut usize,
}

impl<'w, 'a, 'f, 'p> UseWalk<'w, 'a, 'f, 'p> {
    fn new(
        flow: &'w Flow<'a>,
        shuffles: Option<Shuffles<'w, 'f, 'p>>,
        (origin, need): (Origin, Need),
        steps: &'w mut usize,
    ) -> Self {
        Self {
            flow,
            shuffles,
            origin,
            need,
            lost: 0,
            used: 0,
            ending: 0,
            held: FxHashMap::default(),
            pending: BTreeSet::new(),
            steps,
        }
    }
}

impl UseWalk<'_, '_, '_, '_> {
    /// Follows the value to all of its uses; `None` if the steps are used up.
    fn follow_uses(&mut self) -> Option<()> {
        let flow = self.flow;
        let here = flow.may[self.origin.node() as usize];
        let start = HeldValues {
            on: here,
            cells: FxHashMap::default(),
        };
        match self.origin {
            Origin::Shuffle(node, _) => {
                self.held.insert((Round::First, node), start);
                self.pending
                    .insert((Round::First, flow.order.rank[node as usize]));
            }
            Origin::Load(loaded) => self.continue_after_load(loaded, start)?,
        }
        while here & !self.lost != 0
            && let Some((round, rank)) = self.pending.pop_first()
        {
            self.visit_node(round, flow.order.nodes[rank as usize])?;
        }
        Some(())
    }

    fn visit_node(&mut self, round: Round, node: u32) -> Option<()> {
        let held = self.held.get(&(round, node))?.clone();
        let all = self.flow.graph.nodes[node as usize].instructions.clone();
        self.visit_instructions((round, node), held, all)
    }

    /// Continues after the load that is the origin, with the loaded value.
    fn continue_after_load(&mut self, loaded: Loaded, start: HeldValues) -> Option<()> {
        let Loaded { node, at, lanes, .. } = loaded;
        let mut held = start;
        let context = self.flow.graph.context_of_node(node);
        let results = context.body.results(context.body.instruction(at));
        for (number, result) in results.iter().enumerate() {
            if let Value::Register(register) = *result
                && loaded.result.is_none_or(|one| one == number)
            {
                let cell = (context.home, FrameVariable::of_register(register));
                held.cells.insert(cell, lanes);
            }
        }
        let end = self.flow.graph.nodes[node as usize].instructions.end;
        self.visit_instructions((Round::First, node), held, at.index() as u32 + 1..end)
    }

    /// Passes instructions of a node, and propagates the values that lanes hold at its end to its successors.
    fn visit_instructions(
        &mut self,
        (round, node): (Round, u32),
        held: HeldValues,
        range: std::ops::Range<u32>,
    ) -> Option<()> {
        let flow = self.flow;
        let graph = flow.graph;
        let cost = 1 + range.len() + held.cells.len();
        *self.steps = self.steps.checked_sub(cost)?;
        let handed = self.further_shuffle_sources(node);
        let mut point = Point::new(flow, node, (self.origin, self.need), handed, held);
        for number in range {
            point.visit_instruction(InstructionId::new(number as usize));
        }
        let current = &graph.nodes[node as usize];
        let used_before = point.used;
        match current.test {
            Test::None => {}
            Test::Guard(guard) => point.mark_operand_used(Value::Register(guard.register)),
            Test::Table(index, guard) => {
                point.mark_operand_used(index);
                if let Some(guard) = guard {
                    point.mark_operand_used(Value::Register(guard.register));
                }
            }
        }
        if self.leaves_loop_around_origin(node) {
            self.ending |= point.used & !used_before;
        }
        self.used |= point.used;
        let mut held = point.held;
        held.drop_unheld_cells();
        if held.cells.is_empty() {
            self.lost |= held.on;
        }
        held.on &= !self.lost;
        for edge in current.edges.clone() {
            let lanes = flow.edges[edge as usize] & held.on;
            let target = graph.targets[edge as usize];
            if lanes == 0 {
                continue;
            }
            let rank = flow.order.rank[target as usize];
            if target == graph.exit || rank == NONE {
                self.lost |= lanes;
                continue;
            }
            *self.steps = self.steps.checked_sub(1 + held.cells.len())?;
            let next = match target == self.origin.node() {
                true => Round::Later,
                false => round,
            };
            let into = self.held.entry((next, target)).or_default();
            let has_changed = match self.need {
                Need::Possible => into.join_possible_holders(lanes, &held),
                Need::Undefined | Need::Certain => into.join_certain_holders(lanes, &held),
            };
            if has_changed {
                self.pending.insert((next, rank));
            }
        }
        Some(())
    }

    /// True if an edge of a node leaves a loop around the origin.
    fn leaves_loop_around_origin(&self, node: u32) -> bool {
        let (graph, order, origin) = (self.flow.graph, self.flow.order, self.origin.node());
        graph.successors(node).any(|target| {
            let is_apart = |rounds: &Rounds| {
                rounds.is_in_round(origin) && rounds.is_in_round(node) && !rounds.is_in_round(target)
            };
            order
                .loops_left_by_edge(node, target)
                .any(|of| order.is_in_loop(origin, of))
                || graph.rounds.as_ref().is_some_and(is_apart)
        })
    }

    /// By lane, the lane that it reads through a further shuffle, if the node is one.
    fn further_shuffle_sources(&mut self, node: u32) -> Option<SourceLanes> {
        let order = self.flow.order;
        let rank = |node: u32| order.rank[node as usize];
        let origin = self.origin.node();
        // It comes after the origin in the same round.
        let is_behind =
            order.loop_of[origin as usize] == order.loop_of[node as usize] && rank(origin) < rank(node);
        if node == origin || !is_behind && !order.dominates(origin, node) {
            return None;
        }
        let shuffles = self.shuffles.as_mut()?;
        let number = shuffles
            .calls
            .binary_search_by_key(&rank(node), |call| rank(call.node))
            .ok()?;
        let call = &shuffles.calls[number];
        let (Collective::Shuffle(mode), Some(source), Some(control)) =
            (call.kind, &call.source, &call.control)
        else {
            return None;
        };
        let must = shuffles.placement.lanes_that_must_reach(node, Exits::All);
        Some(std::array::from_fn(|lane| {
            let from = shuffle::source_lane(
                mode,
                lane,
                source.value_in_lane(lane)?,
                control.value_in_lane(lane)?,
            );
            (from == lane || must >> from & 1 == 1).then_some(from as u8)
        }))
    }
}
