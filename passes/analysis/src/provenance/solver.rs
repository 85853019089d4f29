//! The values of the address registers of one body, limited to those that some use of an address depends on.
//!
//! Sparse: a node is an instruction that computes a value from others; its inputs are the nodes of the definitions that
//! reach it (see `reaching`). Instructions whose value has no inputs in the body (parameters, symbols, loads) need no node.
//! Nodes are evaluated in the order of the input until nothing changes; without a loop, once. At first all definitions of a
//! register reach all of its uses; if that mixes addresses, reaching definitions are solved.

use std::cell::Cell;

use rustc_hash::{FxHashMap, FxHashSet};

use super::guards::{DecidingTest, Facts};
use super::meeting::registers_meeting_early;
use super::reaching::Reaching;
use super::summary::{Summaries, Summary};
use super::transfer;
use super::value::{Element, ElementKind, Provenance, Trust};
use crate::function::Analyses;
use crate::limits::{MAX_PROVENANCE_ROUNDS, MAX_REACHING_STEPS};
use crate::shared::Shared;
use crate::slots::{Effect, SlotId};
pub(super) use crate::variable::Variable;
use ptxcheck_ir::{Argument, Body, Call, Callee, Function, FunctionId, InstructionId, Op, Value};

pub(super) const NO_NODE: u32 = u32::MAX;

/// Variables with at most so many readers may be visited more than once.
const FEW_READERS: usize = 8;

/// Limit on the rounds of finding variables whose definitions disagree: solving some exposes others.
const MAX_REFINEMENTS: usize = 3;

/// Instructions that write slots without storing one value: by slot, and those through unknown addresses.
pub(super) type Spoils = (FxHashMap<SlotId, Vec<InstructionId>>, Vec<InstructionId>);

/// The values of one body.
pub(super) struct Solver<'a> {
    pub(super) module: &'a Shared<'a>,
    pub(super) function: &'a Function<'a>,
    pub(super) body: &'a Body<'a>,
    pub(super) analyses: &'a Analyses<'a>,
    pub(super) summaries: &'a Summaries<'a>,
    pub(super) facts: Facts,
    pub(super) nodes: Vec<InstructionId>,
    pub(super) node_of: Vec<u32>,
    pub(super) values: Vec<Provenance>,
    pub(super) reaching: FxHashMap<Variable, Reaching>,
    /// Writers of slots other than stores of one value: atomics and vectors, by slot, and writes through unknown addresses.
    pub(super) spoils: Option<Spoils>,
    pub(super) steps: usize,
    /// For each register, computed once a register without a definition is read: true if an opaque instruction names it.
    pub(super) named_in_opaque: Option<Vec<bool>>,
    pub(super) is_complete: bool,
    /// For each variable whose definitions all reach all uses: the join of their values so far.
    pub(super) joined: FxHashMap<Variable, Provenance>,
    /// Some node reads one that comes after it: there is a loop.
    pub(super) reads_ahead: Cell<bool>,
    /// The nodes that read each variable, once there is a loop.
    readers: Option<Readers>,
}

/// The nodes that read each variable.
struct Readers {
    /// For each register, the index of its first entry in `nodes`; then one past the last of all.
    first: Vec<u32>,
    nodes: Vec<u32>,
    of_slot: FxHashMap<SlotId, Vec<u32>>,
}

impl Readers {
    fn readers_of(&self, variable: Variable) -> &[u32] {
        match variable {
            Variable::Register(register) => {
                let (start, end) = (self.first[register.index()], self.first[register.index() + 1]);
                &self.nodes[start as usize..end as usize]
            }
            Variable::Slot(slot) => self.of_slot.get(&slot).map_or(&[], Vec::as_slice),
        }
    }
}

impl<'a> Solver<'a> {
    /// Solves for `seeds`: values and the instructions that use them.
    #[must_use]
    pub(super) fn new(
        module: &'a Shared<'a>,
        id: FunctionId,
        summaries: &'a Summaries<'a>,
        facts: Facts,
        seeds: impl Iterator<Item = Value>,
    ) -> Option<Self> {
        let function = module.module.function(id);
        let body = function.body.as_ref()?;
        let mut solver = Self {
            module,
            function,
            body,
            analyses: module.function(id),
            summaries,
            facts,
            nodes: Vec::new(),
            node_of: vec![NO_NODE; body.instructions.len()],
            values: Vec::new(),
            reaching: FxHashMap::default(),
            spoils: None,
            steps: MAX_REACHING_STEPS,
            named_in_opaque: None,
            is_complete: true,
            joined: FxHashMap::default(),
            reads_ahead: Cell::new(false),
            readers: None,
        };
        solver.discover_inputs_of(seeds);
        solver.number_nodes();
        solver.values = vec![Provenance::Bottom; solver.nodes.len()];
        let all = vec![true; solver.nodes.len()];
        let mut touched: Vec<Variable> = solver.reaching.keys().copied().collect();
        solver.begin_joins(&touched);
        solver.evaluate_until_stable(all);
        for _ in 0..MAX_REFINEMENTS {
            let finer = solver.solve_disagreeing(touched);
            if finer.is_empty() {
                break;
            }
            let affected;
            (affected, touched) = solver.reset_dependents(finer);
            solver.begin_joins(&touched);
            solver.evaluate_until_stable(affected);
        }
        solver.raise_self_dependent_nodes();
        Some(solver)
    }

    /// Raises to ⊤ the nodes that are computed only from themselves, in a loop: their initial value may be anything.
    fn raise_self_dependent_nodes(&mut self) {
        let values = self.values.iter_mut();
        let mut unentered = vec![false; values.len()];
        let mut has_any = false;
        for (value, is_unentered) in values.zip(&mut unentered) {
            if *value == Provenance::Bottom {
                (*value, *is_unentered, has_any) = (Provenance::Top, true, true);
            }
        }
        if !has_any {
            return;
        }
        for number in (0..unentered.len()).filter(|&number| unentered[number]) {
            self.join_into_variables(number);
        }
        // All their readers are evaluated again.
        self.reads_ahead.set(true);
        self.evaluate_until_stable(vec![true; unentered.len()]);
    }

    /// Puts the nodes in the order of the input.
    fn number_nodes(&mut self) {
        self.nodes.clear();
        for (number, node) in self.node_of.iter_mut().enumerate() {
            if *node != NO_NODE {
                *node = self.nodes.len() as u32;
                self.nodes.push(InstructionId::new(number));
            }
        }
    }

    /// The value of an operand where `at` reads it, and the space test that decides it there.
    #[must_use]
    pub(super) fn value_at(&self, value: Value, at: InstructionId) -> (Provenance, DecidingTest) {
        let Value::Register(register) = value else {
            return (self.value_of_constant(value, at), DecidingTest::Untested);
        };
        let held = self.value_before(Variable::Register(register), at);
        if self.facts.is_empty() {
            return (held, DecidingTest::Untested);
        }
        self.facts
            .refine_value(register, held, at, self.body, self.analyses)
    }

    /// Solves the reaching definitions of the variables among `touched` whose definitions disagree; returns those that it
    /// could solve.
    fn solve_disagreeing(&mut self, touched: Vec<Variable>) -> Vec<Variable> {
        let is_candidate = |variable: &Variable| {
            let reaching = self.reaching.get(variable);
            reaching.is_some_and(|reaching| {
                reaching.may_be_refined() && self.gives_different_addresses(*variable, reaching)
            })
        };
        let mut open = touched;
        open.retain(is_candidate);
        open.sort_unstable();
        self.mark_definitions_meeting_early(&open);
        let (body, cfg, steps) = (self.body, self.analyses.cfg(), &mut self.steps);
        let reaching = &mut self.reaching;
        open.retain(|variable| {
            let known = reaching.get_mut(variable);
            known.is_some_and(|known| known.may_be_refined() && known.solve(body, cfg, steps))
        });
        open
    }

    /// Resets the nodes that depend on these variables; returns a flag for each node (true if reset) and the variables that
    /// those write.
    fn reset_dependents(&mut self, finer: Vec<Variable>) -> (Vec<bool>, Vec<Variable>) {
        let readers = self.readers.take().unwrap_or_else(|| self.readers());
        let mut affected = vec![false; self.nodes.len()];
        let mut open = finer;
        let mut touched = Vec::new();
        // Each variable with many readers once, regardless of the number of its writers.
        let mut is_done = FxHashSet::default();
        while let Some(variable) = open.pop() {
            if readers.readers_of(variable).len() > FEW_READERS && !is_done.insert(variable) {
                continue;
            }
            if self.joined.remove(&variable).is_some() {
                touched.push(variable);
            }
            for &reader in readers.readers_of(variable) {
                if !std::mem::replace(&mut affected[reader as usize], true) {
                    self.values[reader as usize] = Provenance::Bottom;
                    self.for_each_written_variable(reader as usize, |written| open.push(written));
                }
            }
        }
        self.readers = Some(readers);
        (affected, touched)
    }

    /// Marks the registers among these that solving would not refine, because their definitions meet.
    fn mark_definitions_meeting_early(&mut self, open: &[Variable]) {
        let asked = open.iter().filter_map(|variable| match variable {
            Variable::Register(register) => Some((*register, self.reaching.get(variable)?.definitions())),
            Variable::Slot(_) => None,
        });
        for register in registers_meeting_early(self.body, self.analyses.cfg(), asked) {
            if let Some(reaching) = self.reaching.get_mut(&Variable::Register(register)) {
                reaching.assume_all_reach_everywhere();
            }
        }
    }

    /// True if the definitions give different addresses, so that it matters which of them reaches a use.
    fn gives_different_addresses(&self, variable: Variable, reaching: &Reaching) -> bool {
        let (mut joined, mut brings_anything) = (Provenance::Bottom, false);
        for definition in reaching.definitions() {
            let value = self.written_value(definition.at, variable);
            if value == Provenance::Top {
                brings_anything = true;
                continue;
            }
            let is_loose = value.elements().iter().any(|element| element.offset.is_none());
            let is_more = joined.join(&value);
            let has_lost = joined.elements().iter().any(|element| element.offset.is_none());
            if is_more && (joined.elements().len() > 1 || has_lost && !is_loose && !joined.is_number()) {
                return true;
            }
        }
        brings_anything
            && joined
                .elements()
                .iter()
                .any(|element| element.kind != ElementKind::Number)
    }

    /// Evaluates these nodes, which include all their readers, in order, then the readers of all changed variables, until
    /// nothing changes.
    fn evaluate_until_stable(&mut self, mut stale: Vec<bool>) {
        let mut changed = Vec::new();
        for (number, is_stale) in stale.iter_mut().enumerate() {
            if self.module.deadline.is_over_at_step() {
                return self.give_up();
            }
            if std::mem::take(is_stale) && self.join_new_value(number) {
                changed.push(number as u32);
            }
        }
        if changed.is_empty() || !self.reads_ahead.get() {
            return;
        }
        let readers = self.readers.take().unwrap_or_else(|| self.readers());
        // The last writer of a variable first: the others have no readers that it has not.
        let mut is_done = FxHashSet::default();
        for number in changed.into_iter().rev() {
            // The later ones have already read it.
            self.for_each_written_variable(number as usize, |variable| {
                let readers = readers.readers_of(variable);
                if readers.len() > FEW_READERS && !is_done.insert(variable) {
                    return;
                }
                for &reader in readers.iter().take_while(|reader| **reader <= number) {
                    stale[reader as usize] = true;
                }
            });
        }
        let is_settled = (1..MAX_PROVENANCE_ROUNDS).any(|_| {
            let mut changed = false;
            // The last node of this round that has changed each variable with many readers.
            let mut last: FxHashMap<Variable, u32> = FxHashMap::default();
            for number in 0..self.nodes.len() {
                if self.module.deadline.is_over_at_step() {
                    return false;
                }
                if std::mem::take(&mut stale[number]) && self.join_new_value(number) {
                    changed = true;
                    self.for_each_written_variable(number, |variable| {
                        let mut readers = readers.readers_of(variable);
                        // Readers that have not been evaluated since the previous change are already stale.
                        if readers.len() > FEW_READERS
                            && let Some(before) = last.insert(variable, number as u32)
                        {
                            let evaluated = readers.partition_point(|reader| *reader <= before)
                                ..readers.partition_point(|reader| *reader <= number as u32);
                            readers = &readers[evaluated];
                        }
                        for &reader in readers {
                            stale[reader as usize] = true;
                        }
                    });
                }
            }
            !changed
        });
        self.readers = Some(readers);
        if !is_settled {
            self.give_up();
        }
    }

    /// Raises all values to ⊤.
    fn give_up(&mut self) {
        self.values.fill(Provenance::Top);
        self.joined.clear();
    }

    /// Joins the newly computed value of a node into its value; true if that changed it.
    fn join_new_value(&mut self, number: usize) -> bool {
        let outcome = self.value_of_node(self.nodes[number]);
        let has_changed = self.values[number].join(&outcome);
        if has_changed {
            self.join_into_variables(number);
        }
        has_changed
    }

    fn readers(&self) -> Readers {
        let mut pairs = Vec::new();
        let mut of_slot: FxHashMap<SlotId, Vec<u32>> = FxHashMap::default();
        let mut first = vec![0_u32; self.body.registers.len() + 1];
        let mut read = Vec::new();
        for (number, &id) in self.nodes.iter().enumerate() {
            self.add_inputs(id, &mut read);
            for variable in read.drain(..) {
                match variable {
                    Variable::Register(register) => {
                        pairs.push((register, number as u32));
                        first[register.index()] += 1;
                    }
                    Variable::Slot(slot) => of_slot.entry(slot).or_default().push(number as u32),
                }
            }
        }
        let mut end = 0;
        for entry in &mut first {
            end += *entry;
            *entry = end;
        }
        // From the last on, so that each register's entries end up in order, and `first` at the first of them.
        let mut nodes = vec![0; pairs.len()];
        for (register, number) in pairs.into_iter().rev() {
            let place = &mut first[register.index()];
            *place -= 1;
            nodes[*place as usize] = number;
        }
        Readers {
            first,
            nodes,
            of_slot,
        }
    }

    /// The variables that a node writes.
    fn for_each_written_variable(&self, number: usize, mut with: impl FnMut(Variable)) {
        let id = self.nodes[number];
        let instruction = self.body.instruction(id);
        for register in self.body.defined(instruction) {
            with(Variable::Register(register));
        }
        if let Effect::Store(slot) = self.slot_effect(id, instruction) {
            with(Variable::Slot(slot));
        }
    }

    /// Initialises the joins of these variables' definitions, unless their reaching definitions are solved.
    fn begin_joins(&mut self, variables: &[Variable]) {
        for &variable in variables {
            let Some(reaching) = self.reaching.get(&variable).filter(|known| !known.is_solved()) else {
                continue;
            };
            let mut value = Provenance::Bottom;
            for definition in reaching.definitions() {
                value.join(&self.written_value(definition.at, variable));
            }
            self.joined.insert(variable, value);
        }
    }

    /// Propagates a node's new value to the variables that it writes.
    fn join_into_variables(&mut self, number: usize) {
        let id = self.nodes[number];
        let instruction = self.body.instruction(id);
        let body = self.body;
        let written = match self.slot_effect(id, instruction) {
            Effect::Store(slot) => Some(Variable::Slot(slot)),
            _ => None,
        };
        let registers = body.defined(instruction).map(Variable::Register);
        for variable in registers.chain(written) {
            if let Some(joined) = self.joined.get_mut(&variable) {
                joined.join(&self.values[number]);
            }
        }
    }

    fn value_of_node(&self, id: InstructionId) -> Provenance {
        let instruction = self.body.instruction(id);
        let uses = self.body.uses(instruction);
        match instruction.op {
            Op::CallResult(call) => self.value_returned_by(call, uses, id),
            Op::Access(access) => match self.slot_effect(id, instruction) {
                Effect::Load(slot) => {
                    let held = self.value_before(Variable::Slot(slot), id);
                    let result = self.body.defined(instruction).next();
                    let to = result.map(|result| self.body.registers.bits(result));
                    let to = to.filter(|&bits| bits > 0).unwrap_or(access.bits);
                    transfer::value_of_result(access.extension(to), &[held], id)
                }
                Effect::Store(_) => uses
                    .get(2)
                    .map_or(Provenance::Top, |&stored| self.value_at(stored, id).0),
                _ => match self.preceding_store(id, instruction) {
                    Some((store, stored)) => self.value_at(stored, store).0.map(|element| Element {
                        trust: Trust::Weak,
                        ..*element
                    }),
                    None => Provenance::Top,
                },
            },
            op => {
                let relevant = transfer::relevant_operands(op, uses).unwrap_or_default();
                let mut inputs: [Provenance; 3] = Default::default();
                for (input, &operand) in inputs.iter_mut().zip(relevant) {
                    *input = self.value_at(operand, id).0;
                }
                transfer::value_of_result(op, &inputs[..relevant.len()], id)
            }
        }
    }

    /// The value of a variable before `at`.
    pub(super) fn value_before(&self, variable: Variable, at: InstructionId) -> Provenance {
        if !self.is_complete {
            return Provenance::Top;
        }
        if let Variable::Register(register) = variable {
            match self.analyses.definitions().writers_of(register) {
                [] => return self.value_of_undefined(register),
                [definition] => {
                    self.record_order(*definition, at);
                    return self.written_value(*definition, variable);
                }
                _ => {}
            }
        }
        let Some(reaching) = self.reaching.get(&variable) else {
            return Provenance::Top;
        };
        if !reaching.is_solved() {
            if let Some(last) = reaching.definitions().last() {
                self.record_order(last.at, at);
            }
            return self.joined.get(&variable).cloned().unwrap_or(Provenance::Top);
        }
        let block = self.body.block_of(at);
        let (mut joined, mut is_written) = (Provenance::Bottom, false);
        for definition in reaching.definitions_before(at, block, self.body) {
            self.record_order(definition, at);
            joined.join(&self.written_value(definition, variable));
            is_written = true;
        }
        // A variable that has not been written yet may hold anything.
        if is_written { joined } else { Provenance::Top }
    }

    fn record_order(&self, definition: InstructionId, at: InstructionId) {
        if definition >= at {
            self.reads_ahead.set(true);
        }
    }

    /// The value that an instruction writes to a variable.
    pub(super) fn written_value(&self, id: InstructionId, variable: Variable) -> Provenance {
        let instruction = self.body.instruction(id);
        if let Variable::Slot(slot) = variable {
            return match self.slot_effect(id, instruction) {
                Effect::Store(own) if own == slot => match self.node_of[id.index()] {
                    NO_NODE => Provenance::Top,
                    node => self.values[node as usize].clone(),
                },
                _ => Provenance::Top,
            };
        }
        match self.node_of[id.index()] {
            NO_NODE => self.source_value(id, instruction, variable),
            node => self.values[node as usize].clone(),
        }
    }

    /// The summary of the function that a call names, and the arguments of the call.
    pub(super) fn callee_summary(&self, call: InstructionId) -> Option<(&'a Summary, &'a [Argument])> {
        callee_summary(self.module, self.body, self.summaries, call)
    }
}

/// The summary of the function that a call names, and the arguments of the call.
#[must_use]
pub(super) fn callee_summary<'a>(
    module: &Shared<'_>,
    body: &'a Body<'_>,
    summaries: &Summaries<'a>,
    call: InstructionId,
) -> Option<(&'a Summary, &'a [Argument])> {
    let Op::Call(call) = body.instruction(call).op else {
        return None;
    };
    let call: &Call = body.call(call);
    let Callee::Direct(symbol) = call.callee else {
        return None;
    };
    let callee = module.module.called(symbol)?;
    Some((summaries(callee)?, body.arguments(call)))
}

pub(super) fn variable_read_by(value: Value) -> Option<Variable> {
    match value {
        Value::Register(register) => Some(Variable::Register(register)),
        _ => None,
    }
}
