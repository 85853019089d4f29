//! Liveness of the flow-sensitive cells.
//!
//! ```text
//! entry(n) = read(n) ∪ (exit(n) ∖ written(n))        exit(n) = ⋃ entry(s) over the successors s
//! ```
//!
//! A kernel has thousands of cells that change, most of them alive in a few nodes: states are joined and compared over
//! those alone.

use std::sync::Arc;

use super::graph::{Context, Graph, NodeKind, Test};
use super::order::Order;
use super::slice::Cell;
use crate::shared::Shared;
use crate::slots::Effect;
use ptxcheck_ir::{AccessKind, InstructionId, Op, Register, Value};

/// The cells that are alive, by node, and those that loops may write.
pub(super) struct Liveness {
    sets: Arc<Sets>,
    /// By node: its index in the sets.
    places: Vec<u32>,
    /// By loop: the cells that it may write, inner loops included.
    changed: Vec<u64>,
}

/// Sets of cells by node.
struct Sets {
    /// Words of one set.
    words: usize,
    /// Alive when control reaches a node.
    entry: Vec<u64>,
    /// Alive when control leaves a node.
    exit: Vec<u64>,
    /// Cells that a node may write.
    changed: Vec<u64>,
}

impl Liveness {
    /// Liveness of the cells of a graph.
    #[must_use]
    pub(super) fn new(module: &Shared<'_>, graph: &Graph<'_>, order: &Order) -> Self {
        let sets = Arc::new(Sets::new(module, graph, order));
        Self::from_sets(sets, (0..graph.nodes.len() as u32).collect(), order)
    }

    /// Liveness in a graph with peeled rounds of a loop, derived from that of the original graph: each path through one
    /// graph is a path through the other, so that the copies of a node have the same live cells as the node.
    #[must_use]
    pub(super) fn with_peeled_rounds(&self, graph: &Graph<'_>, order: &Order) -> Self {
        let origin = graph
            .rounds
            .iter()
            .flat_map(|rounds| rounds.origin.iter().copied());
        Self::from_sets(Arc::clone(&self.sets), origin.collect(), order)
    }

    fn from_sets(sets: Arc<Sets>, places: Vec<u32>, order: &Order) -> Self {
        let words = sets.words;
        let mut changed = vec![0; order.loops.len() * words];
        for (&place, node) in places.iter().zip(0..) {
            let own = &sets.changed[place as usize * words..][..words];
            for of in order.loops_around(node) {
                let all = &mut changed[of as usize * words..][..words];
                all.iter_mut().zip(own).for_each(|(all, own)| *all |= own);
            }
        }
        Self {
            sets,
            places,
            changed,
        }
    }

    /// True if a cell is alive when control reaches a node.
    pub(super) fn is_live_at_entry(&self, node: u32, cell: usize) -> bool {
        self.sets
            .contains_cell(&self.sets.entry, self.places[node as usize], cell)
    }

    /// True if a loop may write a cell.
    pub(super) fn is_changed_in_loop(&self, of: u32, cell: usize) -> bool {
        self.sets.contains_cell(&self.changed, of, cell)
    }

    /// True if a cell is alive when control leaves a node.
    pub(super) fn is_live_at_exit(&self, node: u32, cell: usize) -> bool {
        self.sets
            .contains_cell(&self.sets.exit, self.places[node as usize], cell)
    }
}

impl Sets {
    /// A cell is in one of several sets.
    fn contains_cell(&self, sets: &[u64], number: u32, cell: usize) -> bool {
        sets[number as usize * self.words + cell / 64] >> (cell % 64) & 1 == 1
    }

    fn new(module: &Shared<'_>, graph: &Graph<'_>, order: &Order) -> Self {
        let words = (graph.flowing as usize).div_ceil(64);
        let nodes = graph.nodes.len();
        let mut sets = Self {
            words,
            entry: vec![0; nodes * words],
            exit: vec![0; nodes * words],
            changed: vec![0; nodes * words],
        };
        // Read before written, stored in `entry` initially.
        let mut written = vec![0; nodes * words];
        for node in 0..nodes {
            let range = node * words..(node + 1) * words;
            let mut scan = NodeScan {
                module,
                graph,
                node: node as u32,
                read: &mut sets.entry[range.clone()],
                written: &mut written[range.clone()],
                changed: &mut sets.changed[range],
            };
            scan.scan_node();
        }
        sets.solve(module, graph, order, &written);
        sets
    }

    /// Nodes are visited again while one of their successors has changed.
    fn solve(&mut self, module: &Shared<'_>, graph: &Graph<'_>, order: &Order, written: &[u64]) {
        let words = self.words;
        let mut is_open = vec![true; graph.nodes.len()];
        let mut is_any_open = true;
        while is_any_open {
            is_any_open = false;
            for &node in order.nodes.iter().rev() {
                if !std::mem::replace(&mut is_open[node as usize], false) {
                    continue;
                }
                if module.deadline.is_over_after(words + 1) {
                    return;
                }
                let own = node as usize * words;
                for next in graph.successors(node) {
                    let next = next as usize * words;
                    for word in 0..words {
                        self.exit[own + word] |= self.entry[next + word];
                    }
                }
                let mut is_new = false;
                for word in 0..words {
                    let entry = &mut self.entry[own + word];
                    let all = *entry | self.exit[own + word] & !written[own + word];
                    is_new |= all != *entry;
                    *entry = all;
                }
                if is_new {
                    for before in graph.predecessors(node) {
                        is_open[before as usize] = true;
                        is_any_open |= order.rank[before as usize] >= order.rank[node as usize];
                    }
                }
            }
        }
    }
}

/// One node: the cells that it reads before it writes them, those that it always writes, and those that it may write.
struct NodeScan<'a, 'g> {
    module: &'a Shared<'a>,
    graph: &'a Graph<'g>,
    node: u32,
    read: &'a mut [u64],
    written: &'a mut [u64],
    changed: &'a mut [u64],
}

impl<'g> NodeScan<'_, 'g> {
    fn scan_node(&mut self) {
        let graph = self.graph;
        let context = graph.context_of_node(self.node);
        for number in graph.nodes[self.node as usize].instructions.clone() {
            self.scan_instruction(context, InstructionId::new(number as usize));
        }
        let (value, guard) = match graph.nodes[self.node as usize].test {
            Test::None => (None, None),
            Test::Guard(guard) => (None, Some(guard)),
            Test::Table(index, guard) => (Some(index), guard),
        };
        let guard = guard.map(|guard| guard.register);
        for register in value.and_then(Value::register).into_iter().chain(guard) {
            self.scan_register(context, register);
        }
    }

    fn scan_instruction(&mut self, context: &Context<'g>, id: InstructionId) {
        let graph = self.graph;
        let (body, slice) = (context.body, context.slice);
        let instruction = body.instruction(id);
        let slots = self.module.function(context.function).slots();
        let uses = body.uses(instruction);
        let is_guarded = instruction.guard.is_some();
        if let Some(guard) = instruction.guard {
            self.scan_register(context, guard.register);
        }
        for value in uses {
            self.scan_value(context, *value);
        }
        if let Op::Call(call) = instruction.op {
            for argument in body.arguments(body.call(call)) {
                self.scan_value(context, argument.value);
            }
        }
        if let NodeKind::Enter(callee) = graph.nodes[self.node as usize].kind {
            let callee = &graph.contexts[callee as usize];
            for (_, _, place) in callee.slice.param_cells() {
                self.note_write(callee, Some(place), false);
            }
        }
        if context.caller.is_some()
            && let Some((number, offset)) = body.loaded_param(instruction)
        {
            self.note_read(context, slice.cell_of_param(number, offset));
        }
        if let (Op::CallResult(call), Some(&Value::Integer(offset))) = (instruction.op, uses.first())
            && let Some(callee) = graph.callee_of(graph.nodes[self.node as usize].context, call)
            && let Ok(offset) = i32::try_from(offset)
        {
            self.note_read(callee, callee.slice.cell_of_result(offset));
        }
        if let Op::Access(access) = instruction.op
            && let Some((owner, slot)) = graph.accessed_slot(self.node, id)
        {
            if access.kind == AccessKind::Load {
                self.note_read(owner, owner.slice.cell_of_slot(slot));
            } else {
                let slots = self.module.function(owner.function).slots();
                for slot in std::iter::once(slot).chain(slots.slots_overlapping(slot)) {
                    self.note_write(owner, owner.slice.cell_of_slot(slot), is_guarded);
                }
            }
        }
        match slots.effect_on_slots(id, instruction) {
            Effect::Load(slot) => self.note_read(context, slice.cell_of_slot(slot)),
            Effect::Store(slot) | Effect::Spoil(slot) => {
                for slot in std::iter::once(slot).chain(slots.slots_overlapping(slot)) {
                    self.note_write(context, slice.cell_of_slot(slot), is_guarded);
                }
            }
            // A slot without an unknown write keeps its value.
            Effect::SpoilEscaped => {
                for &slot in &slice.escaping {
                    self.note_possible_write(context, slice.cell_of_slot(slot));
                }
            }
            Effect::None => {}
        }
        for &(owner, symbol) in graph.objects.passed_objects(context.home, id) {
            let owner = &graph.contexts[owner as usize];
            let slots = self.module.function(owner.function).slots();
            for slot in slots.slots_of_symbol(symbol) {
                self.note_possible_write(owner, owner.slice.cell_of_slot(slot));
            }
        }
        for register in body.defined(instruction) {
            self.note_write(context, slice.cell_of_register(register), is_guarded);
        }
        if let Some((offset, _)) = body.returned(instruction) {
            self.note_write(context, slice.cell_of_result(offset), is_guarded);
        }
    }

    fn scan_value(&mut self, context: &Context<'g>, value: Value) {
        if let Some(register) = value.register() {
            self.scan_register(context, register);
        }
    }

    fn scan_register(&mut self, context: &Context<'g>, register: Register) {
        self.note_read(context, context.slice.cell_of_register(register));
    }

    fn note_read(&mut self, context: &Context<'g>, place: Option<Cell>) {
        if let Some(Cell::Flowing(cell)) = place {
            let cell = (context.flowing + cell) as usize;
            let (word, bit) = (cell / 64, 1 << (cell % 64));
            if self.written[word] & bit == 0 {
                self.read[word] |= bit;
            }
        }
    }

    /// A cell that may be written, or keep its value.
    fn note_possible_write(&mut self, context: &Context<'g>, place: Option<Cell>) {
        if let Some(Cell::Flowing(cell)) = place {
            let cell = (context.flowing + cell) as usize;
            self.changed[cell / 64] |= 1 << (cell % 64);
        }
    }

    /// Under a guard, a cell that is not written keeps its value, and counts as read.
    fn note_write(&mut self, context: &Context<'g>, place: Option<Cell>, is_guarded: bool) {
        self.note_possible_write(context, place);
        if is_guarded {
            self.note_read(context, place);
        } else if let Some(Cell::Flowing(cell)) = place {
            let cell = (context.flowing + cell) as usize;
            self.written[cell / 64] |= 1 << (cell % 64);
        }
    }
}
