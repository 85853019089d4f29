//! Solver: the lanes that take each edge, and the values that they hold.
//!
//! ```text
//! may(entry)    the lanes that exist
//! may(e)        for an edge e that a guard g picks: the lanes of may(source) in which g may hold
//! may(n)        ⋃ may(e) over the edges into n
//! state(n)      ⨆ of the states along those edges, lane by lane
//! ```
//!
//! Rounds in reverse postorder over the nodes whose input has changed, until there are none. A branch at which lanes may
//! disagree makes the joins that it reaches along two paths *divergent* (lanes arrive along both), and also the loops that
//! some lanes leave while others stay inside: outside of such a loop, a value that it computes is no longer one value.

mod cells;
mod collectives;
mod divergence;
mod state;
mod steps;

use rustc_hash::FxHashMap;

use self::divergence::BranchWalk;
use self::state::State;
use super::graph::Graph;
use super::graph::NONE;
use super::launch::Launch;
use super::layout::LaneLayout;
use super::live::Liveness;
use super::meaning::{Meanings, Name};
use super::order::Order;
use super::readonly_memory::ReadonlyParams;
use super::scenario::Fixed;
use super::slice::Cell;
use super::value::{ALL, Lanes, Pool, ValueId, Vector, Way, lane_set, lanes_in_set};
use crate::limits::{
    LANE_ROUNDS_TO_WIDEN, MAX_LANE_CELLS, MAX_LANE_ROUNDS, MAX_LANE_VECTORS, MAX_LANE_VISITS, MAX_SYNC_STEPS,
};
use crate::shared::Shared;
use ptxcheck_ir::{InstructionId, Register, Value};

/// The solution for one graph and launch.
pub(super) struct Flow<'a> {
    /// The module.
    pub module: &'a Shared<'a>,
    /// The graph.
    pub graph: &'a Graph<'a>,
    /// The orders of the nodes of the graph.
    pub order: &'a Order,
    live: &'a Liveness,
    /// The launch.
    pub launch: Launch,
    /// The values that a scenario fixes.
    fixed: &'a Fixed<'a>,
    /// The memory that the kernel does not write.
    lasting: &'a ReadonlyParams<'a>,
    /// The vectors.
    pub pool: Pool,
    /// The lanes that may take each edge.
    pub edges: Vec<Lanes>,
    /// The lanes that may be at each node.
    pub may: Vec<Lanes>,
    /// Value of each test: the guard, or the index of a table.
    pub tests: Vec<ValueId>,
    /// A branch would be decided if the warp were known.
    pub wants_warp: bool,
    /// The node of each `activemask`, by the number of its base.
    pub active: FxHashMap<u32, u32>,
    singles: Vec<ValueId>,
    out: Vec<Option<State>>,
    input: Vec<Option<State>>,
    is_followed: Vec<bool>,
    walk: BranchWalk,
    is_divergent_join: Vec<bool>,
    is_divergent_loop: Vec<bool>,
    has_divergent_loop: bool,
    /// Loops that have become divergent in this round.
    left: Vec<u32>,
    /// The edges out of each loop.
    exits: Vec<Vec<(u32, u32)>>,
    single_loop: Vec<u32>,
    always: &'a [bool],
    /// The worklist: nodes to visit again.
    is_dirty: Vec<bool>,
    /// The nodes that have read each cell outside of the states.
    readers: Vec<Vec<u32>>,
    /// The cells outside of the states that were read before they were written.
    is_read_early: Vec<bool>,
    /// The cells in which two states that are being joined differ, with both values.
    differing: Vec<(usize, ValueId, ValueId)>,
    steps_left: usize,
}

impl<'a> Flow<'a> {
    /// Solves. `None` if the graph is too large or the solution does not settle.
    #[must_use]
    pub(super) fn new(
        layout: &'a LaneLayout<'a>,
        launch: Launch,
        fixed: &'a Fixed<'a>,
        pool: Pool,
    ) -> Option<Self> {
        let (module, graph, order) = (layout.module, &layout.graph, &layout.order);
        let vectors = pool.vector_count();
        let nodes = graph.nodes.len();
        if nodes.saturating_mul(graph.flowing as usize) > MAX_LANE_CELLS {
            return None;
        }
        let mut flow = Self {
            module,
            graph,
            order,
            live: &layout.live,
            launch,
            fixed,
            lasting: &layout.lasting,
            pool,
            edges: vec![0; graph.targets.len()],
            may: vec![0; nodes],
            tests: vec![ValueId::NONE; nodes],
            wants_warp: false,
            active: FxHashMap::default(),
            singles: vec![ValueId::NONE; graph.singles as usize],
            out: vec![None; nodes],
            input: vec![None; nodes],
            is_followed: vec![false; nodes],
            walk: BranchWalk::default(),
            is_divergent_join: vec![false; nodes],
            is_divergent_loop: vec![false; order.loops.len()],
            has_divergent_loop: false,
            left: Vec::new(),
            exits: loop_exit_edges(graph, order),
            single_loop: vec![NONE; graph.singles as usize],
            always: &layout.always,
            is_dirty: vec![true; nodes],
            readers: vec![Vec::new(); graph.singles as usize],
            is_read_early: vec![false; graph.singles as usize],
            differing: Vec::new(),
            steps_left: MAX_SYNC_STEPS.saturating_add(nodes.saturating_mul(8)),
        };
        let mut visits_left = nodes.saturating_mul(MAX_LANE_VISITS);
        for round in 0..MAX_LANE_ROUNDS {
            for &node in &order.nodes {
                if !std::mem::replace(&mut flow.is_dirty[node as usize], false) {
                    continue;
                }
                flow.visit_node(node, round);
                visits_left = visits_left.checked_sub(1)?;
                if flow.pool.vector_count() - vectors > MAX_LANE_VECTORS || module.deadline.is_over_at_step()
                {
                    return None;
                }
            }
            flow.revisit_after_divergent_loops();
            if order.nodes.iter().all(|&node| !flow.is_dirty[node as usize]) {
                return Some(flow);
            }
        }
        None
    }

    fn visit_node(&mut self, node: u32, round: usize) {
        let index = node as usize;
        let (here, entry) = if node == 0 {
            (self.launch.analysed_lanes(), Some(State::default()))
        } else {
            (0, None)
        };
        let Some((here, mut state)) = self.entry_lanes_and_state(node, here, entry, round) else {
            return;
        };
        self.may[index] = here;
        self.input[index] = Some(state.clone());
        self.run_steps(node, here, &mut state, round);
        self.split_lanes_at_branch(node, here, &state);
        let live = self.live;
        let is_alive = |cell| live.is_live_at_exit(node, cell);
        let is_new = self.out[index]
            .as_ref()
            .is_none_or(|old| !old.agrees_on_cells(&state, is_alive));
        if is_new {
            let has_changed = self.input[index]
                .as_ref()
                .is_none_or(|input| !input.shares_allocation(&state));
            self.out[index] = Some(if has_changed {
                state.restricted_to(is_alive)
            } else {
                state
            });
            let graph = self.graph;
            for next in graph.successors(node) {
                self.is_dirty[next as usize] = true;
            }
        }
    }

    /// Join of the states along the edges into a node.
    fn entry_lanes_and_state(
        &mut self,
        node: u32,
        here: Lanes,
        entry: Option<State>,
        round: usize,
    ) -> Option<(Lanes, State)> {
        let graph = self.graph;
        let (mut here, mut state, mut owner) = (here, entry, ALL);
        // The state from before the loop comes first, and rounds of the loop are joined into it, in any order of the edges:
        // with the other order, a value that grows from round to round would never settle.
        let is_back = |edge: &&u32| self.order.is_back_edge(graph.sources[**edge as usize], node);
        let incoming = graph.incoming_edges(node).iter();
        let (forward, back) = (
            incoming.clone().filter(|edge| !is_back(edge)),
            incoming.filter(is_back),
        );
        for &edge in forward.chain(back) {
            let along = self.edges[edge as usize];
            let source = graph.sources[edge as usize];
            if along == 0 {
                continue;
            }
            let Some(from) = self.out[source as usize].clone() else {
                continue;
            };
            let from = self.state_along_edge(source, node, from);
            match &mut state {
                None => {
                    state = Some(from);
                    owner = along;
                }
                Some(known) => {
                    if !known.shares_allocation(&from) {
                        let from = (&from, along);
                        self.join_edge_state(
                            node,
                            known,
                            owner,
                            from,
                            self.loop_continued_by_edge(source, node),
                            round,
                        );
                    }
                    owner |= along;
                }
            }
            here |= along;
        }
        Some((here, state?)).filter(|_| here != 0)
    }

    /// The loop whose next round an edge begins.
    fn loop_continued_by_edge(&self, source: u32, target: u32) -> Option<u32> {
        let of = self.order.loop_of[target as usize];
        self.order
            .is_edge_to_next_round_around(source, target, target)
            .then_some(of)
    }

    /// Joins the state along another edge. `of`: the loop whose next round the edge begins: a cell that the loop does not
    /// write keeps the value with which lanes entered the loop.
    fn join_edge_state(
        &mut self,
        node: u32,
        into: &mut State,
        had: Lanes,
        (from, along): (&State, Lanes),
        of: Option<u32>,
        round: usize,
    ) {
        let way = Way {
            together: !self.is_divergent_join[node as usize]
                && !self.order.is_in_or_before_irreducible_loop(node),
            is_round: of.is_some(),
        };
        let live = self.live;
        // A value that is halved round after round may be equal on both edges in every other round.
        let is_wide = round >= LANE_ROUNDS_TO_WIDEN;
        let is_joined =
            |cell| live.is_live_at_entry(node, cell) && of.is_none_or(|of| live.is_changed_in_loop(of, cell));
        let mut differing = std::mem::take(&mut self.differing);
        into.visit_values_in_both(from, is_joined, |cell, a, b| {
            if (a != b || is_wide) && b != ValueId::NONE {
                differing.push((cell, a, b));
            }
        });
        for (cell, a, b) in differing.drain(..) {
            let b = match of {
                Some(of) => self.value_in_next_round(b, of),
                None => b,
            };
            let key = (u64::from(node) << 32 | JOIN, cell as u64);
            let mut joined = self.pool.join((a, had), (b, along), way, key);
            if is_wide
                && self.input[node as usize]
                    .as_ref()
                    .is_some_and(|old| old.get(cell) != joined)
            {
                joined = ValueId::UNKNOWN;
            }
            into.set(cell, joined);
        }
        self.differing = differing;
    }

    /// A value that is passed to the next round of a loop: it is no longer the current result of the instructions in the
    /// loop.
    fn value_in_next_round(&mut self, value: ValueId, of: u32) -> ValueId {
        let (name, order) = (self.pool.get(value).name, self.order);
        let is_inside = |inner: u32| order.is_in_loop(order.loops[inner as usize].header, of);
        let is_of = |meanings: &Meanings| meanings.is_computed_in_loop(name, is_inside);
        if self.pool.meanings.as_ref().is_some_and(is_of) {
            self.pool.with_name(value, Name::NONE)
        } else {
            value
        }
    }

    /// The state along an edge: a value computed in a loop that lanes leave one by one is not one value outside.
    fn state_along_edge(&mut self, source: u32, target: u32, state: State) -> State {
        if !self.has_divergent_loop {
            return state;
        }
        // An outer loop also writes the cells that its inner loops write.
        let left = self.order.loops_left_by_edge(source, target);
        let Some(of) = left.filter(|&of| self.is_divergent_loop[of as usize]).last() else {
            return state;
        };
        let live = self.live;
        let is_changed = |cell| live.is_live_at_entry(target, cell) && live.is_changed_in_loop(of, cell);
        let mut blurred = state.clone();
        for (cell, value) in state.values_of(is_changed) {
            if value != ValueId::NONE {
                blurred.set(cell as usize, self.without_uniform_part(value));
            }
        }
        blurred
    }

    /// The lanes in which a predicate is known to be true before an instruction of a node, and to be false.
    #[must_use]
    pub(super) fn lanes_true_and_false(
        &self,
        node: u32,
        before: InstructionId,
        predicate: Register,
    ) -> (Lanes, Lanes) {
        let Some(vector) = self.known_vector_before(node, before, Value::Register(predicate)) else {
            return (0, 0);
        };
        let holds = lanes_in_set(vector.exact).filter(|&lane| vector.bits[lane] & 1 == 1);
        let holds = lane_set(holds);
        (holds, vector.exact & !holds)
    }

    /// The known facts about a register before an instruction of a node, if there are any. A register that the node itself
    /// has written before counts as unknown, if it is written elsewhere, too.
    #[must_use]
    pub(super) fn known_vector_before(
        &self,
        node: u32,
        before: InstructionId,
        value: Value,
    ) -> Option<&Vector> {
        let Value::Register(register) = value else {
            return None;
        };
        let context = self.graph.context_of_node(node);
        let id = match context.slice.cell_of_register(register)? {
            Cell::Single(cell) => self.singles[(context.singles + cell) as usize],
            Cell::Flowing(cell) => {
                let first = self.graph.nodes[node as usize].instructions.start as usize;
                let mut written = context.body.instructions[first..before.index()].iter();
                if written.any(|write| context.body.defined(write).any(|defined| defined == register)) {
                    return None;
                }
                let state = self.input[node as usize].as_ref();
                state.map_or(ValueId::NONE, |state| {
                    state.get((context.flowing + cell) as usize)
                })
            }
        };
        (id != ValueId::NONE).then(|| self.pool.get(id))
    }

    /// True if a cell may be read on a path that has not written it. Cells outside of the states come first.
    #[must_use]
    pub(super) fn is_read_before_write(&self, cell: usize) -> bool {
        match cell.checked_sub(self.is_read_early.len()) {
            None => self.is_read_early[cell],
            Some(flowing) => self.live.is_live_at_entry(0, flowing),
        }
    }

    /// True if a cell outside of the states holds one value for all lanes that are together at a point.
    #[must_use]
    pub(super) fn is_single_uniform_cell(&self, cell: usize) -> bool {
        let id = self.singles[cell];
        id != ValueId::NONE && self.pool.get(id).is_uniform_among(self.launch.analysed_lanes())
    }

    /// The value of an operand before an instruction of a node.
    pub(super) fn value_before(&mut self, node: u32, before: InstructionId, value: Value) -> Vector {
        let index = node as usize;
        let Some(mut state) = self.input[index].clone() else {
            return Vector::UNKNOWN;
        };
        let steps = self
            .graph
            .context_of_node(node)
            .steps_of_node(&self.graph.nodes[index]);
        for &step in steps.iter().take_while(|step| **step < before) {
            self.run_step(node, self.may[index], &mut state, step, 0);
        }
        let id = self.operand_value(node, &state, value);
        self.pool.get(id).clone()
    }

    /// The values of operands before instructions of a node. `asked` is in the order of the instructions.
    pub(super) fn values_before(&mut self, node: u32, asked: &[(InstructionId, Value)]) -> Vec<ValueId> {
        let index = node as usize;
        let Some(mut state) = self.input[index].clone() else {
            return vec![ValueId::UNKNOWN; asked.len()];
        };
        let steps = self
            .graph
            .context_of_node(node)
            .steps_of_node(&self.graph.nodes[index]);
        let mut steps = steps.iter().copied().peekable();
        let mut values = Vec::with_capacity(asked.len());
        for &(before, value) in asked {
            while let Some(step) = steps.next_if(|step| *step < before) {
                self.run_step(node, self.may[index], &mut state, step, 0);
            }
            values.push(self.operand_value(node, &state, value));
        }
        values
    }

    /// The value of an operand of the instruction of a collective, barrier or call node.
    pub(super) fn operand_of_node(&mut self, node: u32, value: Value) -> ValueId {
        match self.input[node as usize].clone() {
            Some(state) => self.operand_value(node, &state, value),
            None => ValueId::UNKNOWN,
        }
    }
}

/// By loop, the edges that leave it.
fn loop_exit_edges(graph: &Graph<'_>, order: &Order) -> Vec<Vec<(u32, u32)>> {
    let mut exits = vec![Vec::new(); order.loops.len()];
    for &node in &order.nodes {
        for next in graph.successors(node) {
            for of in order.loops_left_by_edge(node, next) {
                exits[of as usize].push((node, next));
            }
        }
    }
    exits
}

/// Marks the keys of the unknown values that joins make.
const JOIN: u64 = 1 << 31;
