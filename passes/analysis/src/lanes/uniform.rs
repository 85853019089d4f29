//! Uniform branches: those that all lanes of a warp take alike, in every round of the loops around them.
//!
//! ```text
//! varying(x)    a cell with a value from memory or from a thread number, computed from another varying cell, or written at a divided
//!               node or under a varying guard
//! divided(n)    a node between a branch that tests a varying cell and the node at which all paths from it have met again
//! uniform(b)    a branch that is not divided and tests no varying cell
//! ```
//!
//! A cell that does not vary holds a function of the launch, of the kernel's parameters, and of the uniform branches that
//! were taken before. So the uniform branches and the undivided barriers and collectives that a lane passes, each with its
//! outcome, are the same sequence for all lanes of a warp, up to the point where a lane ends. Paths that lead to the end of
//! the thread without a barrier or collective do not divide: a lane that takes one passes none of these any more.
//!
//! `Rest::Uniform` is weaker: for it, a load by all lanes from one address gives one value, which holds for lanes that are
//! together, but not for a value that a lane loads there later.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use super::flow::Flow;
use super::graph::{Context, NONE, NodeKind, Test};
use super::slice::Cell;
use crate::limits::MAX_UNIFORM_STEPS;
use crate::slots::{Effect, SlotId};
use ptxcheck_ir::evaluate::is_interpreted;
use ptxcheck_ir::{AccessKind, Instruction, InstructionId, Op, Space, Special, Value};

/// The uniform branches of a solution.
pub(super) struct UniformBranches {
    /// By node: true if branches that are not uniform decide whether lanes reach it.
    is_divided: Vec<bool>,
    /// By node: it ends with a uniform branch.
    is_uniform: Vec<bool>,
}

/// The paths from a branch that have not met again.
#[derive(Default)]
struct Ways {
    /// The nodes that they have reached, by rank.
    inside: BTreeSet<u32>,
    seen: FxHashSet<u32>,
    /// Edges that leave the loop, one to each target.
    leaving: Vec<(u32, u32)>,
    /// One leads to another round of the loop.
    goes_round: bool,
}

impl Ways {
    fn target_count(&self) -> usize {
        self.inside.len() + self.leaving.len() + usize::from(self.goes_round)
    }
}

/// Reasons for which a value differs from lane to lane.
type Reasons = u8;

/// Thread numbers are in it: the solution may still show that it is one value.
const THREAD: Reasons = 1;

/// Anything else.
const OTHER: Reasons = 2;

impl UniformBranches {
    /// The uniform branches of a solution; `None` if the budget is spent.
    #[must_use]
    pub(super) fn new(flow: &Flow<'_>) -> Option<Self> {
        Self::from_search(UniformSearch::new(flow, ending_nodes(flow), None))
    }

    /// The uniform branches of a solution, those after its last barrier and collective included. Here paths to the end of a thread divide,
    /// but for those that abort the kernel. `None` if the budget is spent.
    #[must_use]
    pub(super) fn including_code_after_last_barrier(flow: &Flow<'_>) -> Option<Self> {
        Self::from_search(UniformSearch::new(flow, flow.graph.aborting_nodes(), None))
    }

    /// The branches that all threads of a block take alike, each time. `flows`: the solutions of some of its warps, of one graph;
    /// `are_all`: the block has no others. Here paths to the end of a thread divide, but for those that abort the kernel. `None` if the
    /// budget is spent.
    #[must_use]
    pub(super) fn of_all_warps_in_block(flows: &[&Flow<'_>], are_all: bool) -> Option<Self> {
        let flow = *flows.first()?;
        let is_decided = |node: u32| do_all_lanes_take_one_edge(flows, are_all, node);
        Self::from_search(UniformSearch::new(
            flow,
            flow.graph.aborting_nodes(),
            Some(&is_decided),
        ))
    }

    fn from_search(mut search: UniformSearch<'_, '_>) -> Option<Self> {
        let flow = search.flow;
        while search.visit_all_nodes()? {}
        let is_divided = search.is_divided;
        let is_uniform = (0..flow.graph.nodes.len())
            .map(|node| {
                let has_test = flow.graph.nodes[node].test != Test::None;
                has_test && !is_divided[node] && !search.is_split[node] && !search.is_ending[node]
            })
            .collect();
        Some(Self {
            is_divided,
            is_uniform,
        })
    }

    /// True if a node ends with a uniform branch.
    #[must_use]
    pub(super) fn is_branch(&self, node: u32) -> bool {
        self.is_uniform[node as usize]
    }

    /// True if uniform branches alone decide whether and how often lanes reach a node.
    #[must_use]
    pub(super) fn is_reached_uniformly(&self, node: u32) -> bool {
        !self.is_divided[node as usize]
    }
}

struct UniformSearch<'f, 'a> {
    flow: &'f Flow<'a>,
    /// By cell, those outside of the states first.
    varying: Vec<Reasons>,
    is_divided: Vec<bool>,
    /// By node: its branch is not uniform, and the nodes that it divides are marked.
    is_split: Vec<bool>,
    /// By node: paths that lead to it do not divide.
    is_ending: Vec<bool>,
    /// For threads of several warps: true for a branch at which all of them certainly take the same edge.
    is_decided: Option<&'f dyn Fn(u32) -> bool>,
    steps_left: usize,
}

impl<'f, 'a> UniformSearch<'f, 'a> {
    fn new(flow: &'f Flow<'a>, is_ending: Vec<bool>, is_decided: Option<&'f dyn Fn(u32) -> bool>) -> Self {
        let graph = flow.graph;
        let nodes = graph.nodes.len();
        let cells = (graph.singles + graph.flowing) as usize;
        let varying = (0..cells).map(|cell| if flow.is_read_before_write(cell) { OTHER } else { 0 });
        Self {
            varying: varying.collect(),
            is_divided: vec![false; nodes],
            is_split: vec![false; nodes],
            is_ending,
            is_decided,
            steps_left: MAX_UNIFORM_STEPS,
            flow,
        }
    }

    /// Visits all nodes once; true if more varies than before. `None` if the budget is spent.
    fn visit_all_nodes(&mut self) -> Option<bool> {
        let graph = self.flow.graph;
        let mut has_changed = false;
        for &node in &self.flow.order.nodes {
            let current = &graph.nodes[node as usize];
            let context = graph.context_of_node(node);
            self.spend_steps(1 + current.steps.len())?;
            if let NodeKind::Enter(callee) = current.kind {
                has_changed |= self.join_argument_reasons(node, &graph.contexts[callee as usize]);
            }
            for &step in context.steps_of_node(current) {
                has_changed |= self.visit_step(node, context, step);
            }
            if !self.is_split[node as usize] && self.is_test_varying(node, current.test) {
                // The rounds of such a loop cannot be distinguished.
                if self.flow.order.is_in_or_before_irreducible_loop(node) {
                    return None;
                }
                self.is_split[node as usize] = true;
                self.mark_divided_nodes(node)?;
                has_changed = true;
            }
        }
        Some(has_changed)
    }

    fn spend_steps(&mut self, steps: usize) -> Option<()> {
        self.steps_left = self.steps_left.checked_sub(steps)?;
        (!self.flow.module.deadline.is_over_after(steps)).then_some(())
    }

    fn is_test_varying(&self, node: u32, test: Test) -> bool {
        let context = self.flow.graph.context_of_node(node);
        let reasons = match test {
            Test::None => return false,
            Test::Guard(guard) => self.reasons_of_value(context, Value::Register(guard.register)),
            Test::Table(index, guard) => {
                let guard = guard.map_or(0, |guard| {
                    self.reasons_of_value(context, Value::Register(guard.register))
                });
                self.reasons_of_value(context, index) | guard
            }
        };
        reasons != 0 && !self.is_decided.is_some_and(|is_decided| is_decided(node))
    }

    /// Marks the nodes between a branch and the node at which all paths from it have met again.
    fn mark_divided_nodes(&mut self, branch: u32) -> Option<()> {
        let (graph, order) = (self.flow.graph, self.flow.order);
        let mut scope = order.loop_of[branch as usize];
        let mut edges: Vec<(u32, u32)> = graph.successors(branch).map(|next| (branch, next)).collect();
        loop {
            let mut ways = Ways::default();
            for (source, target) in edges {
                self.add_edge_to_open_paths(&mut ways, scope, source, target);
            }
            while ways.target_count() > 1
                && let Some(rank) = ways.inside.pop_first()
            {
                let node = order.nodes[rank as usize];
                self.spend_steps(1 + graph.nodes[node as usize].edges.len())?;
                self.is_divided[node as usize] = true;
                for target in graph.successors(node) {
                    self.add_edge_to_open_paths(&mut ways, scope, node, target);
                }
            }
            if ways.target_count() <= 1 || !ways.inside.is_empty() || scope == NONE {
                return Some(());
            }
            edges = ways.leaving;
            if ways.goes_round {
                // Lanes leave the loop in different rounds, at any of its exits.
                self.spend_steps(order.nodes.len())?;
                edges = Vec::new();
                for &node in order.nodes.iter().filter(|&&node| order.is_in_loop(node, scope)) {
                    self.is_divided[node as usize] = true;
                    let left = graph
                        .successors(node)
                        .filter(|&next| !order.is_in_loop(next, scope));
                    edges.extend(left.map(|next| (node, next)));
                }
            }
            scope = order.loops[scope as usize].parent;
        }
    }

    /// Adds an edge to the paths from a branch. `scope`: the loop in which they are followed, [`NONE`] for none.
    fn add_edge_to_open_paths(&self, ways: &mut Ways, scope: u32, source: u32, target: u32) {
        let order = self.flow.order;
        if self.is_ending[target as usize] {
            return;
        }
        if scope != NONE && !order.is_in_loop(target, scope) {
            if !ways.leaving.iter().any(|&(_, known)| known == target) {
                ways.leaving.push((source, target));
            }
        } else if scope != NONE && order.loops[scope as usize].header == target {
            ways.goes_round = true;
        } else if !order.is_back_edge(source, target) && ways.seen.insert(target) {
            ways.inside.insert(order.rank[target as usize]);
        }
    }

    /// Joins the reasons of the values that a call passes into those of the parameters; true if that changes any.
    fn join_argument_reasons(&mut self, node: u32, callee: &Context<'_>) -> bool {
        let graph = self.flow.graph;
        let context = graph.context_of_node(node);
        let instruction = context.body.instruction(graph.instruction_of_node(node));
        let Op::Call(call) = instruction.op else {
            return false;
        };
        let mut has_changed = false;
        for (number, offset, place) in callee.slice.param_cells() {
            let mut arguments = context.body.arguments(context.body.call(call)).iter();
            let passed = arguments
                .find(|argument| argument.param == number && i32::try_from(argument.offset) == Ok(offset));
            let reasons = passed.map_or(OTHER, |passed| self.reasons_of_value(context, passed.value));
            has_changed |= self.write_reasons(node, callee, Some(place), reasons);
        }
        has_changed
    }

    fn visit_step(&mut self, node: u32, context: &Context<'_>, step: InstructionId) -> bool {
        let (body, slice) = (context.body, context.slice);
        let instruction = body.instruction(step);
        let slots = self.flow.module.function(context.function).slots();
        // Lanes that do not write keep their value.
        let is_kept = instruction
            .guard
            .is_some_and(|guard| self.reasons_of_value(context, Value::Register(guard.register)) != 0);
        let kept = if is_kept { OTHER } else { 0 };
        let mut has_changed = false;
        let mut result = None;
        for register in body.defined(instruction) {
            let reasons =
                *result.get_or_insert_with(|| self.reasons_of_result(node, context, step, instruction));
            has_changed |=
                self.write_reasons(node, context, slice.cell_of_register(register), reasons | kept);
        }
        if let Some((offset, value)) = body.returned(instruction) {
            let reasons = self.reasons_of_value(context, value) | kept;
            has_changed |= self.write_reasons(node, context, slice.cell_of_result(offset), reasons);
        }
        let graph = self.flow.graph;
        if let Op::Access(access) = instruction.op
            && access.kind != AccessKind::Load
            && let Some((owner, slot)) = graph.accessed_slot(node, step)
        {
            let stored = body.stored(instruction).unwrap_or(Value::Unknown);
            let is_one = access.kind == AccessKind::Store && access.count == 1;
            let reasons = if is_one {
                self.reasons_of_value(context, stored) | kept
            } else {
                OTHER
            };
            return has_changed | self.store_to_slot(node, owner, slot, reasons);
        }
        let is_opaque_call = matches!(instruction.op, Op::Call(_))
            && !matches!(graph.nodes[node as usize].kind, NodeKind::Enter(_));
        match slots.effect_on_slots(step, instruction) {
            effect @ (Effect::Store(slot) | Effect::Spoil(slot)) => {
                let stored = body.stored(instruction).unwrap_or(Value::Unknown);
                let reasons = match effect {
                    Effect::Store(_) => self.reasons_of_value(context, stored) | kept,
                    _ => OTHER,
                };
                has_changed |= self.store_to_slot(node, context, slot, reasons);
            }
            Effect::SpoilEscaped => {
                for &slot in &slice.escaping {
                    if slots.may_be_written_elsewhere(slot) || is_opaque_call {
                        has_changed |= self.write_reasons(node, context, slice.cell_of_slot(slot), OTHER);
                    }
                }
            }
            Effect::Load(_) | Effect::None => {}
        }
        if is_opaque_call {
            for &(owner, symbol) in graph.objects.passed_objects(context.home, step) {
                let owner = &graph.contexts[owner as usize];
                let slots = self.flow.module.function(owner.function).slots();
                for slot in slots.slots_of_symbol(symbol) {
                    has_changed |= self.write_reasons(node, owner, owner.slice.cell_of_slot(slot), OTHER);
                }
            }
        }
        has_changed
    }

    /// Joins the reasons of a store into those of a slot, which may be that of a caller; true if that changes any.
    fn store_to_slot(&mut self, node: u32, owner: &Context<'_>, slot: SlotId, reasons: Reasons) -> bool {
        let slots = self.flow.module.function(owner.function).slots();
        let mut has_changed = false;
        for slot in std::iter::once(slot).chain(slots.slots_overlapping(slot)) {
            has_changed |= self.write_reasons(node, owner, owner.slice.cell_of_slot(slot), reasons);
        }
        has_changed
    }

    /// Reasons for which the results of an instruction vary.
    fn reasons_of_result(
        &self,
        node: u32,
        context: &Context<'_>,
        step: InstructionId,
        instruction: &Instruction,
    ) -> Reasons {
        let body = context.body;
        let uses = body.uses(instruction);
        match instruction.op {
            op if is_interpreted(op) || matches!(op, Op::ToGeneric(..) | Op::FromGeneric(..)) => uses
                .iter()
                .fold(0, |all, &value| all | self.reasons_of_value(context, value)),
            Op::Access(access) if access.kind == AccessKind::Load => {
                let slots = self.flow.module.function(context.function).slots();
                if let Effect::Load(slot) = slots.effect_on_slots(step, instruction) {
                    return self.reasons_of_cell(context, context.slice.cell_of_slot(slot));
                }
                if let Some((owner, slot)) = self.flow.graph.accessed_slot(node, step) {
                    return self.reasons_of_cell(owner, owner.slice.cell_of_slot(slot));
                }
                let is_kernel = self.flow.module.module.function(context.function).is_kernel();
                match (access.space, uses) {
                    (Space::Param, &[Value::Param(number, offset), Value::Integer(0), ..]) => {
                        if context.caller.is_some() {
                            self.reasons_of_cell(context, context.slice.cell_of_param(number, offset))
                        } else if is_kernel {
                            0
                        } else {
                            OTHER
                        }
                    }
                    (Space::Const, &[address, Value::Integer(_), ..]) if !access.is_volatile() => {
                        self.reasons_of_value(context, address)
                    }
                    _ => OTHER,
                }
            }
            Op::CallResult(call) => {
                let here = self.flow.graph.nodes[node as usize].context;
                let callee = self.flow.graph.callee_of(here, call);
                let offset = match uses.first() {
                    Some(&Value::Integer(offset)) => i32::try_from(offset).ok(),
                    _ => None,
                };
                match (callee, offset) {
                    (Some(callee), Some(offset)) => {
                        self.reasons_of_cell(callee, callee.slice.cell_of_result(offset))
                    }
                    _ => OTHER,
                }
            }
            _ => OTHER,
        }
    }

    fn reasons_of_value(&self, context: &Context<'_>, value: Value) -> Reasons {
        match value {
            Value::Integer(_) | Value::Param(..) | Value::Symbol(..) => 0,
            Value::Register(register) | Value::Not(register) => {
                self.reasons_of_cell(context, context.slice.cell_of_register(register))
            }
            Value::Special(special) => match special {
                Special::Ntid(_) | Special::Ctaid(_) | Special::Nctaid(_) | Special::Uniform => 0,
                of_thread if of_thread.is_of_thread() => THREAD,
                _ => OTHER,
            },
            Value::ReturnSlot(..) | Value::Unknown => OTHER,
        }
    }

    fn reasons_of_cell(&self, context: &Context<'_>, place: Option<Cell>) -> Reasons {
        place.map_or(OTHER, |place| self.varying[self.index_of_cell(context, place)])
    }

    fn index_of_cell(&self, context: &Context<'_>, place: Cell) -> usize {
        match place {
            Cell::Single(cell) => (context.singles + cell) as usize,
            Cell::Flowing(cell) => (self.flow.graph.singles + context.flowing + cell) as usize,
        }
    }

    fn write_reasons(
        &mut self,
        node: u32,
        context: &Context<'_>,
        place: Option<Cell>,
        reasons: Reasons,
    ) -> bool {
        let Some(place) = place else { return false };
        let number = self.index_of_cell(context, place);
        let mut reasons = reasons;
        if reasons == THREAD
            && self.is_decided.is_none()
            && matches!(place, Cell::Single(_))
            && self.flow.is_single_uniform_cell(number)
        {
            reasons = 0;
        }
        if self.is_divided[node as usize] {
            reasons |= OTHER;
        }
        let known = &mut self.varying[number];
        let has_changed = reasons & !*known != 0;
        *known |= reasons;
        has_changed
    }
}

/// True if all lanes of these solutions that reach a branch certainly take the same edge, and lanes of other warps, unless these are
/// all, take it, too, or end.
fn do_all_lanes_take_one_edge(flows: &[&Flow<'_>], are_all: bool, node: u32) -> bool {
    let Some(graph) = flows.first().map(|flow| flow.graph) else {
        return false;
    };
    let edges = graph.nodes[node as usize].edges.clone();
    let is_taken = |edge: &u32| flows.iter().any(|flow| flow.edges[*edge as usize] != 0);
    let (taken, others): (Vec<u32>, Vec<u32>) = edges.partition(is_taken);
    let ends = |edge: &u32| {
        let target = graph.targets[*edge as usize];
        target == graph.exit || graph.is_end_node(target)
    };
    taken.len() <= 1 && (are_all || others.iter().all(ends))
}

/// By node: no barrier, no collective and no unknown code comes after it, nor is it one.
fn ending_nodes(flow: &Flow<'_>) -> Vec<bool> {
    let graph = flow.graph;
    let mut is_ending = vec![true; graph.nodes.len()];
    let mut work: Vec<u32> = flow.order.nodes.clone();
    work.retain(|&node| {
        let kind = graph.nodes[node as usize].kind;
        matches!(kind, NodeKind::Collective | NodeKind::Barrier | NodeKind::Unknown)
    });
    for &node in &work {
        is_ending[node as usize] = false;
    }
    while let Some(node) = work.pop() {
        for before in graph.predecessors(node) {
            if std::mem::replace(&mut is_ending[before as usize], false) {
                work.push(before);
            }
        }
    }
    is_ending
}
