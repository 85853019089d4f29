//! Exchanges: accesses of lanes of one warp in which one lane reads shared or global memory that another writes, with no
//! ordering between them.
//!
//! Since sm_70 the lanes of a warp advance independently, and only synchronisation orders their accesses to memory. Two
//! accesses to a location, one of them a write, that are not ordered by causality are a race, or, if both are strong, happen
//! in either order (PTX ISA, Memory Consistency Model). Modules:
//!
//! * `screen` leaves out kernels that certainly have no pair.
//! * `shared_accesses` computes the addresses that lanes access, and `segments` the stretches of code without an ordering.
//! * `block` compares the accesses of several warps of a block, on the paths of `certain_paths`, and `block_possible` finds those that
//!   may meet; `screen::block` chooses the kernels and the warps. `waits` finds code in which a thread waits for another one.
//! * `conflicts` finds the lanes that access the same bytes in one stretch, `pairs` the conflicts that are certain, and
//!   `possible` those that may occur.
//!
//! ```text
//! definite(k)    the pairs that are definite in warp 0, which every launch has, in each layout in which its lanes reach the place
//! ```

mod block;
mod block_possible;
mod certain_paths;
mod conflicts;
mod found;
mod groups;
mod harmful_clashes;
mod kernels;
mod named_barriers;
mod orderings;
mod pairs;
mod possible;
mod screen;
mod segments;
mod shared_accesses;
mod variables;
mod waits;
mod warps;

pub(crate) use self::block::find_missing_barriers;
pub(crate) use self::block_possible::find_possible_missing_barriers;
use self::conflicts::Clash;
pub use self::found::{
    BlockPair, Exchange, MissingBarrier, Object, Pair, PairKind, PossibleExchange, PossiblePair,
};
use self::kernels::{PairKey, group_by_object, position_of_pair, reached_nodes, search_kernels};
pub(super) use self::named_barriers::{BarrierStop, is_barrier_of_block, stops_of_warp};
use self::orderings::Among;
pub(super) use self::orderings::may_wait_for_others;
use self::pairs::{Definite, definite_clashes};
pub(crate) use self::possible::find_possible_exchanges;
use self::screen::LoopScreen;
use self::shared_accesses::{ByLane, Touches};
use super::explore::{self, CommonFindings, InLaunch, Launches, Meet};
use super::flow::Flow;
use super::graph::NodeKind;
use super::launch::{INDEPENDENT_LANES, Launch};
use super::layout::LaneLayout;
use super::scenario::{Fixed, Scenario};
use super::slice::Slices;
use crate::limits::{EXCHANGE_ROUNDS, FEW_ROUNDS, MAX_ROUND_NODES};
use crate::shared::Shared;
use ptxcheck_ir::Site;
use ptxcheck_ir::{AccessKind, FunctionId, InstructionId, Semantics, Space, Special, Value};

/// All exchanges of a module, in the order of the input.
pub(crate) fn find_exchanges(module: &Shared<'_>) -> Vec<Exchange> {
    if module.module.target.sm < INDEPENDENT_LANES {
        return Vec::new();
    }
    search_kernels(module, &screen::suspect_kernels(module), |slices, function| {
        exchanges_of_kernel(module, slices, function)
    })
}

/// The pairs of a kernel; `None` if the budget is spent.
fn exchanges_of_kernel(module: &Shared<'_>, slices: &Slices, function: FunctionId) -> Option<Vec<Exchange>> {
    let layout = LaneLayout::new(module, slices, function)?;
    let launches = Launches::new(&layout)?;
    let launch = launches.shown;
    let mut pairs = definite_pairs_in_layout(&layout, &launches)?;
    let loops = loops_with_shared_accesses(&layout);
    explore::for_each_loop(&layout, slices, &loops, |layout, in_states, of| {
        let apart = layout.with_peeled_rounds(in_states, of, EXCHANGE_ROUNDS);
        pairs.extend(definite_pairs_in_layout(&apart, &launches).unwrap_or_default());
    });
    let pairs = pairs
        .into_iter()
        .map(|found| (found.object, (found.space, found.into_pair())));
    let groups = group_by_object(pairs, |(_, pair)| (pair.write.clone(), pair.other.clone()));
    let exchanges = groups.into_iter().map(|(object, pairs)| Exchange {
        function,
        object,
        space: pairs[0].0,
        pairs: pairs.into_iter().map(|(_, pair)| pair).collect(),
        launch,
    });
    Some(exchanges.collect())
}

/// The loops that contain a write to memory shared between threads and another access to that memory. Their rounds are
/// analysed one by one: lanes may pass from one round to the next without an ordering.
fn loops_with_shared_accesses(layout: &LaneLayout<'_>) -> Vec<u32> {
    let (graph, order) = (&layout.graph, &layout.order);
    let count = order.loops.len();
    let (mut nodes, mut writes) = (vec![0_usize; count], vec![0_u32; count]);
    let mut accesses: Vec<Vec<(FunctionId, InstructionId)>> = vec![Vec::new(); count];
    let mut waits = vec![false; count];
    for &node in &order.nodes {
        let (mut written, mut accessed) = (0, Vec::new());
        let context = graph.context_of_node(node);
        let body = context.body;
        if graph.nodes[node as usize].kind == NodeKind::Plain {
            for number in graph.nodes[node as usize].instructions.clone() {
                let at = InstructionId::new(number as usize);
                if let Some((access, ..)) =
                    orderings::unordered_access(body, at, body.instruction(at), Among::Lanes)
                {
                    written += u32::from(access.kind == AccessKind::Store);
                    accessed.push((context.function, at));
                }
            }
        }
        for of in order.loops_around(node) {
            nodes[of as usize] += 1;
            writes[of as usize] += written;
            accesses[of as usize].extend(&accessed);
            // A block passes a barrier in each round together.
            waits[of as usize] |= graph.nodes[node as usize].kind == NodeKind::Barrier;
        }
    }
    let is_fit = |of: &u32| {
        let index = *of as usize;
        let own = &order.loops[index];
        let is_plain =
            own.is_natural && own.header != 0 && !order.is_in_or_before_irreducible_loop(own.header);
        let is_small = nodes[index] * FEW_ROUNDS as usize <= MAX_ROUND_NODES;
        is_plain && is_small && !waits[index] && writes[index] > 0 && accesses[index].len() > 1
    };
    let mut screen = LoopScreen::new(layout.module);
    (0..count as u32)
        .filter(is_fit)
        .filter(|&of| screen.may_clash(&accesses[of as usize]))
        .collect()
}

/// The pairs of a layout that are definite in each launch in which lanes reach them, in the order of the code. No pairs if
/// the first launch has none; `None` if the budget is spent.
fn definite_pairs_in_layout(layout: &LaneLayout<'_>, launches: &Launches) -> Option<Vec<DefinitePair>> {
    let kernel = ExchangeKernel { layout };
    Some(CommonFindings::find_in_launches(launches, |launch| kernel.pairs_in_launch(launch))?.collect())
}

/// A definite pair of one launch, or of several.
struct DefinitePair {
    object: Object,
    space: Space,
    write: Site,
    other: Site,
    kind: PairKind,
    lanes: ByLane,
    is_volatile: bool,
    is_between_rounds: bool,
    is_across_warps: bool,
    is_at_write: bool,
}

impl Meet for DefinitePair {
    fn meet(&mut self, other: &Self) -> bool {
        self.is_across_warps &= other.is_across_warps;
        self.is_at_write |= other.is_at_write;
        for (lanes, too) in self.lanes.iter_mut().zip(other.lanes) {
            *lanes &= too;
        }
        self.lanes.iter().any(|lanes| *lanes != 0)
    }
}

impl DefinitePair {
    fn into_pair(self) -> Pair {
        let writers = || (0..).zip(self.lanes).filter(|(_, lanes)| *lanes != 0);
        let example = writers().next();
        Pair {
            write: self.write,
            other: self.other,
            kind: self.kind,
            writers: writers().fold(0, |all, (lane, _)| all | 1 << lane),
            others: writers().fold(0, |all, (_, lanes)| all | lanes),
            example: example.map_or((0, 0), |(lane, lanes)| (lane, lanes.trailing_zeros() as u8)),
            is_volatile: self.is_volatile,
            is_between_rounds: self.is_between_rounds,
            is_across_warps: self.is_across_warps,
            is_at_write: self.is_at_write,
        }
    }
}

/// The pairs of a solution.
struct InBlock {
    found: InLaunch<PairKey, DefinitePair>,
    /// Some addresses may be known where the index of the block is: each launch has the first block.
    depends_on_block: bool,
}

struct ExchangeKernel<'k> {
    layout: &'k LaneLayout<'k>,
}

impl ExchangeKernel<'_> {
    /// The pairs that are definite in warp 0 with one launch; `None` if the budget is spent.
    fn pairs_in_launch(&self, launch: Launch) -> Option<InLaunch<PairKey, DefinitePair>> {
        let launch = Launch {
            warp: Some(0),
            ..launch
        };
        let mut all = self.definite_pairs_in_solution(launch, &Fixed::default())?;
        if std::mem::take(&mut all.depends_on_block) {
            let first = Scenario {
                block_index: Some([0; 3]),
                ..Scenario::default()
            };
            let in_first = self.definite_pairs_in_solution(launch, &Fixed::new(&self.layout.graph, &first));
            for (key, pair) in in_first.into_iter().flat_map(|first| first.found.found) {
                all.found.found.entry(key).or_insert(pair);
            }
        }
        Some(all.found)
    }

    /// The definite pairs in a solution of warp 0; `None` if the budget is spent.
    fn definite_pairs_in_solution(&self, launch: Launch, fixed: &Fixed<'_>) -> Option<InBlock> {
        let mut flow = Flow::new(self.layout, launch, fixed, self.layout.reusable_pool())?;
        let found = definite_clashes(&mut flow, launch.analysed_lanes());
        let pairs = found
            .clashes
            .iter()
            .map(|clash| self.pair_of_clash(&found.touches, clash));
        let mut pairs: Vec<(PairKey, DefinitePair)> = pairs.collect();
        let reached = reached_nodes(&flow);
        self.layout.keep_pool(flow.pool);
        if launch.warp_count() > 1 && !found.clashes.is_empty() {
            self.mark_pairs_across_warps(launch, fixed, &found, &mut pairs);
        }
        let depends_on_block = found.touches.has_unplaced_global_write && self.may_depend_on_block_index();
        let found = pairs.into_iter().collect();
        Some(InBlock {
            found: InLaunch { found, reached },
            depends_on_block,
        })
    }

    /// True if the kernel reads the index of the block, and may have pairs in global memory. Rounds of loops are not examined in the first
    /// block.
    fn may_depend_on_block_index(&self) -> bool {
        let contexts = &self.layout.graph.contexts;
        let reads = |value: &Value| matches!(value, Value::Special(Special::Ctaid(_)));
        let reads_index = contexts
            .iter()
            .any(|context| context.body.values.iter().any(reads));
        let mut places = contexts.iter();
        self.layout.graph.rounds.is_none()
            && reads_index
            && places.any(|context| {
                screen::may_clash_in_global_memory(self.layout.module, context.function, context.body)
            })
    }

    /// Marks the pairs, one for each clash, whose bytes are also accessed by threads of warp 1 with the same instructions.
    fn mark_pairs_across_warps(
        &self,
        launch: Launch,
        fixed: &Fixed<'_>,
        found: &Definite,
        pairs: &mut [(PairKey, DefinitePair)],
    ) {
        let second = Launch {
            warp: Some(1),
            ..launch
        };
        let Some(mut flow) = Flow::new(self.layout, second, fixed, self.layout.reusable_pool()) else {
            return;
        };
        let there = Touches::new(&mut flow);
        for (clash, (_, known)) in found.clashes.iter().zip(pairs) {
            let write = &found.touches.all[clash.write];
            let own = [write, &found.touches.all[clash.other]].map(|touch| (touch.node, touch.at));
            known.is_across_warps = there.all.iter().any(|touch| {
                own.contains(&(touch.node, touch.at))
                    && touch.object == write.object
                    && touch.may_overlap_writes(write, &clash.lanes)
            });
        }
        self.layout.keep_pool(flow.pool);
    }

    fn pair_of_clash(&self, touches: &Touches, clash: &Clash) -> (PairKey, DefinitePair) {
        let (write, other) = (&touches.all[clash.write], &touches.all[clash.other]);
        let place = |touch: &shared_accesses::Touch| (touch.node, touch.at);
        let placed = position_of_pair(self.layout, place(write), place(other), other.is_store);
        let rounds = self.layout.graph.rounds.as_ref();
        let round =
            |touch: &shared_accesses::Touch| rounds.and_then(|rounds| rounds.round_of_node(touch.node));
        let known = DefinitePair {
            object: write.object,
            space: write.space,
            write: placed.write,
            other: placed.other,
            kind: placed.kind,
            lanes: clash.lanes,
            is_between_rounds: round(write) != round(other),
            is_across_warps: false,
            is_at_write: clash.is_at_write,
            is_volatile: [write, other]
                .iter()
                .all(|touch| touch.semantics == Semantics::Volatile),
        };
        let later = if clash.is_at_write { write } else { other };
        (placed.key.reported_at(later.node), known)
    }
}
