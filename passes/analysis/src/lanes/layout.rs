//! Layout of a kernel: all data that a solution needs and that does not depend on the launch or the input. It is computed
//! once and solved for many scenarios.

use std::cell::Cell;

use super::graph::{self, Graph, NodeKind};
use super::launch::{Launch, lanes_may_meet_across_instructions, launches_of};
use super::live::Liveness;
use super::meaning::Meanings;
use super::order::Order;
use super::readonly_memory::ReadonlyParams;
use super::slice::Slices;
use super::value::Pool;
use crate::limits::MAX_SHARED_VECTORS;
use crate::shared::Shared;
use ptxcheck_ir::{FunctionId, Value};

/// The layout of one kernel, or of a function that no kernel reaches.
pub struct LaneLayout<'k> {
    pub(super) module: &'k Shared<'k>,
    pub(super) function: FunctionId,
    pub(super) is_kernel: bool,
    pub(super) converges: bool,
    pub(super) graph: Graph<'k>,
    pub(super) order: Order,
    pub(super) live: Liveness,
    /// The nodes that every lane passes exactly once.
    pub(super) always: Vec<bool>,
    pub(super) lasting: ReadonlyParams<'k>,
    /// Some mask is computed, or thread numbers may be computed from coordinates.
    follows_meanings: bool,
    /// Addresses in shared memory are followed.
    follows_addresses: bool,
    /// The vectors of earlier solutions, because the next solution shares much of the computation.
    pool: Cell<Pool>,
}

/// A kernel with all cells in the states.
pub(super) struct InStates<'k> {
    graph: Graph<'k>,
    live: Liveness,
}

impl<'k> LaneLayout<'k> {
    pub(super) fn new(module: &'k Shared<'k>, slices: &'k Slices, function: FunctionId) -> Option<Self> {
        let graph = Graph::new(module, slices, function)?;
        let order = Order::new(&graph);
        let computes_mask = |node: &u32| {
            let body = graph.context_of_node(*node).body;
            let is_collective = graph.nodes[*node as usize].kind == NodeKind::Collective;
            let mask = || {
                body.uses(body.instruction(graph.instruction_of_node(*node)))
                    .first()
            };
            is_collective && !matches!(mask(), Some(Value::Integer(_)))
        };
        let reads = module.read_dimensions(function);
        Some(Self {
            follows_meanings: reads[0] || reads[1] || order.nodes.iter().any(computes_mask),
            lasting: ReadonlyParams::new(module, function),
            follows_addresses: slices.has_addresses,
            module,
            function,
            is_kernel: module.module.function(function).is_kernel(),
            converges: lanes_may_meet_across_instructions(module),
            live: Liveness::new(module, &graph, &order),
            always: nodes_passed_by_all_lanes(&graph, &order),
            pool: Cell::default(),
            graph,
            order,
        })
    }

    /// The launches that the kernel is analysed for.
    pub(super) fn launches(&self) -> Vec<Launch> {
        let reads_other = self.module.reads_other_dimensions(self.function);
        launches_of(self.module, self.function, reads_other)
    }

    /// The launch that findings about several launches name.
    pub(super) fn common_launch(&self) -> Launch {
        Launch::common_launch(
            &self.module.module.function(self.function).launch,
            &self.launches(),
        )
    }

    /// The slices of the functions of the contexts, with all cells in the states.
    pub(super) fn slices_in_states(&self, slices: &Slices) -> Slices {
        slices.with_cells_in_states(self.graph.contexts.iter().map(|context| context.function))
    }

    /// The kernel with all cells in the states, which is the input for layouts with peeled rounds. `slices`:
    /// [`Self::slices_in_states`].
    pub(super) fn with_cells_in_states(&self, slices: &'k Slices) -> Option<InStates<'k>> {
        let graph = Graph::new(self.module, slices, self.function)?;
        let live = Liveness::new(self.module, &graph, &self.order);
        Some(InStates { graph, live })
    }

    /// The layout of the same kernel with peeled rounds of one of its loops ([`Graph::with_peeled_rounds`]).
    pub(super) fn with_peeled_rounds(&self, in_states: &InStates<'k>, of: u32, rounds: u32) -> Self {
        let nodes = &self.order.nodes;
        let mut inside: Vec<u32> = nodes
            .iter()
            .copied()
            .filter(|&node| self.order.is_in_loop(node, of))
            .collect();
        inside.sort_unstable();
        let header = self.order.loops[of as usize].header;
        let graph = in_states.graph.with_peeled_rounds(&inside, header, rounds);
        let order = Order::new(&graph);
        Self {
            live: in_states.live.with_peeled_rounds(&graph, &order),
            always: nodes_passed_by_all_lanes(&graph, &order),
            lasting: ReadonlyParams::new(self.module, self.function),
            pool: Cell::default(),
            graph,
            order,
            ..*self
        }
    }

    /// The vectors of an earlier solution, if they are not too many: the next solution shares much of the computation.
    pub(super) fn reusable_pool(&self) -> Pool {
        let pool = Some(self.pool.take()).filter(|pool| pool.vector_count() <= MAX_SHARED_VECTORS);
        let mut pool = pool.unwrap_or_default();
        pool.follows_addresses = self.follows_addresses;
        if self.follows_meanings {
            let reads = self.module.read_dimensions(self.function);
            pool.meanings.get_or_insert_with(|| Meanings::new(reads));
        }
        pool
    }

    /// Keeps the vectors of a solution for the next one.
    pub(super) fn keep_pool(&self, pool: Pool) {
        self.pool.set(pool);
    }
}

/// The nodes that every lane passes: nodes outside of loops that dominate the exit.
fn nodes_passed_by_all_lanes(graph: &Graph<'_>, order: &Order) -> Vec<bool> {
    let mut always = vec![false; graph.nodes.len()];
    let mut node = graph.exit;
    if order.rank[node as usize] == graph::NONE {
        return always;
    }
    loop {
        always[node as usize] = order.loop_of[node as usize] == graph::NONE;
        if node == 0 {
            return always;
        }
        node = order.immediate_dominator(node);
    }
}
