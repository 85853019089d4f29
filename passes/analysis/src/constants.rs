//! Constants in registers and slots, flow-sensitively, for the few variables that a question depends on.
//!
//! ```text
//! lattice  ⊥ (not written yet) < Known(v) for each v < ⊤ (Unknown), per register of the slice
//! join     ⊥ ⊔ x = x      Known(v) ⊔ Known(v) = Known(v)      else ⊤
//! apply    r := op(uses)  when every use is Known (see `evaluate`), a parameter where the caller's argument is given,
//!          else ⊤; under a guard, the join with what the register held before
//! ```
//!
//! A variable that is written once, without a guard, from such variables alone, and before it is read, holds one
//! value wherever it is read: it is *fixed*. All other variables are flow-sensitive: they *flow*.
//!
//! ```text
//! fixed(r)   one definition, unguarded, of fixed inputs
//! fixed(s)   one store, unguarded, of something fixed, which dominates the loads; nothing else can write the slot
//! ```
//!
//! The slice holds the registers asked about and, backwards, those that interpreted operations compute them from. Nothing is
//! known of the registers of a body with syntax errors: a write may have been lost. Values spilled to `.local` memory are
//! followed through their slots (see `slots`). Masks and similar operands depend on a handful of registers, so a function
//! with ten thousand costs no more than one with ten.

use rustc_hash::FxHashMap;

use super::cfg::Cfg;
use super::dataflow::{Analysis, Cursor, Solution, solve};
use super::definitions::Definitions;
use super::evaluate::{absorbed, evaluate, evaluate_result, is_interpreted, may_absorb, ones};
use super::slots::{Effect, SlotId, Slots};
use crate::function::Analyses;
use crate::limits::{MAX_SLICE_REGISTERS, MAX_SOLUTION_CELLS};
use crate::variable::Variable;
use ptxcheck_common::deadline::Deadline;
use ptxcheck_common::groups::Groups;
use ptxcheck_ir::{BlockId, Body, Instruction, InstructionId, Op, ParamPiece, Register, Value};

/// An element of the lattice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Constant {
    /// Nothing has been written on the paths so far.
    Unwritten,
    /// This bit pattern, zero above the register's width.
    Known(u64),
    /// More than one value, or one that is not interpreted.
    Unknown,
}

impl Constant {
    /// The value, if it is known.
    #[must_use]
    pub const fn known_value(self) -> Option<u64> {
        match self {
            Self::Known(value) => Some(value),
            _ => None,
        }
    }

    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unwritten, value) | (value, Self::Unwritten) => value,
            (Self::Known(a), Self::Known(b)) if a == b => self,
            _ => Self::Unknown,
        }
    }
}

/// Constants that a caller passes, by piece; pieces that are missing are unknown.
pub type Arguments = FxHashMap<ParamPiece, Constant>;

/// The constants of one body that some values depend on.
pub struct Constants<'a> {
    body: &'a Body<'a>,
    slice: Slice<'a>,
    cfg: &'a Cfg,
    extent: Extent,
    /// The parameters that the slice reads.
    pub params: Vec<ParamPiece>,
}

impl<'a> Constants<'a> {
    /// Solves for `seeds` and the variables that they are computed from, given the arguments of a caller.
    #[must_use]
    pub fn new(
        body: &'a Body<'a>,
        analyses: &'a Analyses<'_>,
        seeds: impl Iterator<Item = Value>,
        arguments: &'a Arguments,
    ) -> Self {
        let slice = Slice::of_seeds(body, analyses, arguments, seeds);
        let mut constants = Self::solve_slice(body, analyses, slice);
        let slice = &constants.slice;
        let cells = slice.flowing.saturating_mul(body.blocks.len());
        if slice.flowing > 0
            && cells <= MAX_SOLUTION_CELLS
            && let Some(solution) = solve(body, constants.cfg, slice)
        {
            constants.extent = Extent::Flowing(solution);
        }
        constants
    }

    /// The constants of fixed variables only; those that flow are unknown. Each writer is visited once.
    #[must_use]
    pub fn of_fixed_variables(
        body: &'a Body<'a>,
        analyses: &'a Analyses<'_>,
        seeds: impl Iterator<Item = Value>,
        arguments: &'a Arguments,
    ) -> Self {
        Self::solve_slice(body, analyses, Slice::of_seeds(body, analyses, arguments, seeds))
    }

    fn solve_slice(body: &'a Body<'a>, analyses: &'a Analyses<'_>, mut slice: Slice<'a>) -> Self {
        let params = slice.read_params();
        slice.remove_unknown_variables();
        slice.separate_fixed(analyses);
        Self {
            body,
            slice,
            cfg: analyses.cfg(),
            extent: Extent::Fixed,
            params,
        }
    }

    fn is_reached(&self, instruction: InstructionId) -> bool {
        self.cfg.rank(self.body.block_of(instruction)).is_some()
    }

    /// The constants before each of `instructions`, which should be in the order of the input.
    pub fn visit_before<T>(
        &self,
        instructions: impl Iterator<Item = InstructionId>,
        mut visit: impl FnMut(InstructionId, &dyn Fn(Value) -> Constant) -> T,
    ) -> Vec<T> {
        let nothing = Vec::new();
        let mut cursor = match &self.extent {
            Extent::Fixed => None,
            Extent::Flowing(solution) => Some(Cursor::new(self.body, &self.slice, solution)),
        };
        instructions
            .map(|instruction| {
                let is_reached = self.is_reached(instruction);
                let state = match &mut cursor {
                    Some(cursor) if is_reached => cursor.state_before(instruction).unwrap_or(&nothing),
                    _ => &nothing,
                };
                visit(instruction, &|value| match value {
                    // Nothing is known in unreachable code.
                    Value::Register(_) | Value::Not(_) if !is_reached => Constant::Unknown,
                    _ => self.slice.constant_of_operand(state, value),
                })
            })
            .collect()
    }
}

/// Extent of the solution.
enum Extent {
    /// Fixed variables alone.
    Fixed,
    /// Also flow-sensitive variables: their state at each block's entry.
    Flowing(Solution<Vec<Constant>>),
}

const NO_PLACE: u32 = u32::MAX;

static NO_SLOTS: Slots = Slots::EMPTY;

struct Slice<'a> {
    body: &'a Body<'a>,
    arguments: &'a Arguments,
    cfg: &'a Cfg,
    deadline: &'a Deadline,
    definitions: &'a Definitions,
    /// The slots of the body; set once the slice follows one.
    slots: &'a Slots,
    /// Variables of the slice: first the flow-sensitive ones, whose values are in the states.
    variables: Vec<Variable>,
    flowing: usize,
    /// For each block: whether it writes a flow-sensitive variable; empty if every block may.
    busy: Vec<bool>,
    /// Values of the variables from [`Self::flowing`] on.
    fixed: Vec<Constant>,
    /// For each register its index in `variables`, [`NO_PLACE`] for those that are not followed: a table, because it is used
    /// for every result of the body.
    register_places: Vec<u32>,
    slot_places: FxHashMap<SlotId, u32>,
    /// The loads of slots that it follows.
    loads: Vec<(InstructionId, SlotId)>,
}

impl<'a> Slice<'a> {
    /// Slice of `seeds`.
    fn of_seeds(
        body: &'a Body<'a>,
        analyses: &'a Analyses<'_>,
        arguments: &'a Arguments,
        seeds: impl Iterator<Item = Value>,
    ) -> Self {
        let mut slice = Self {
            body,
            arguments,
            cfg: analyses.cfg(),
            deadline: analyses.deadline(),
            definitions: analyses.definitions(),
            slots: &NO_SLOTS,
            variables: Vec::new(),
            flowing: 0,
            busy: Vec::new(),
            fixed: Vec::new(),
            register_places: Vec::new(),
            slot_places: FxHashMap::default(),
            loads: Vec::new(),
        };
        slice.add_with_inputs(analyses, seeds);
        slice
    }

    /// Adds `seeds`, and the variables that they depend on.
    fn add_with_inputs(&mut self, analyses: &'a Analyses<'_>, seeds: impl Iterator<Item = Value>) {
        for seed in seeds.filter(|_| !analyses.is_damaged()) {
            if let Some(variable) = Variable::of_operand(seed) {
                self.add_variable(variable);
            }
        }
        let mut next = 0;
        while let Some(&variable) = self.variables.get(next) {
            if self.deadline.is_over_at_step() {
                break;
            }
            next += 1;
            for &writer in self.writers(variable) {
                if let Some(slot) = analyses.loaded_slot(writer, self.body.instruction(writer)) {
                    self.slots = analyses.slots();
                    self.loads.push((writer, slot));
                }
                for input in self.inputs_of(writer) {
                    self.add_variable(input);
                }
            }
        }
    }

    /// Instructions that write a variable.
    fn writers(&self, variable: Variable) -> &'a [InstructionId] {
        variable.writers_of(self.definitions, || self.slots)
    }

    /// Variables that the outcome of an instruction depends on.
    fn inputs_of(&self, id: InstructionId) -> impl Iterator<Item = Variable> + use<'a> {
        let instruction = self.body.instruction(id);
        let uses = self.body.uses(instruction);
        let (slot, read) = match self.slots.effect_on_slots(id, instruction) {
            Effect::Load(slot) => (Some(Variable::Slot(slot)), &[][..]),
            Effect::Store(_) => (None, uses.get(2..3).unwrap_or_default()),
            _ if is_interpreted(instruction.op) => (None, uses),
            _ => (None, &[][..]),
        };
        let guard = instruction.guard.map(|guard| Variable::Register(guard.register));
        let read = read.iter().filter_map(|&value| Variable::of_operand(value));
        guard.into_iter().chain(slot).chain(read)
    }

    /// Removes the variables that hold no constant anywhere, because none of their writers ever computes one from values
    /// that the slice knows. They are most of those that branches depend on.
    fn remove_unknown_variables(&mut self) {
        let count = self.variables.len();
        let writers = |place: usize| {
            let writers = self.writers(self.variables[place]).iter();
            writers.map(move |&id| (place, id))
        };
        let mut open: Vec<(usize, InstructionId)> = (0..count).flat_map(writers).collect();
        let mut dependents = Vec::with_capacity(open.len());
        for &(place, id) in &open {
            let inputs = self.inputs_of(id).filter_map(|input| self.index_of(input));
            dependents.extend(inputs.map(|input| (input, (place, id))));
        }
        let dependents = Groups::new(count, dependents.iter().copied());
        let mut may_be_known = vec![false; count];
        while let Some((place, id)) = open.pop() {
            if !may_be_known[place] && self.may_write_constant(self.variables[place], id, &may_be_known) {
                may_be_known[place] = true;
                open.extend(dependents.of(place));
            }
        }
        let left_out = (0..count).filter(|&place| !may_be_known[place]);
        for variable in left_out.map(|place| self.variables[place]).collect::<Vec<_>>() {
            self.set_index(variable, NO_PLACE);
        }
        let mut is_kept = may_be_known.into_iter();
        self.variables.retain(|_| is_kept.next() == Some(true));
        for place in 0..self.variables.len() {
            self.set_index(self.variables[place], place as u32);
        }
    }

    /// True if an instruction may write a constant into a variable, if only those variables for which `may_be_known` holds
    /// may hold one.
    fn may_write_constant(&self, variable: Variable, id: InstructionId, may_be_known: &[bool]) -> bool {
        let instruction = self.body.instruction(id);
        let is_known = |variable| self.index_of(variable).is_some_and(|place| may_be_known[place]);
        let may_be = |value: &Value| match *value {
            Value::Integer(_) => true,
            value => Variable::of_operand(value).is_some_and(is_known),
        };
        let uses = self.body.uses(instruction);
        if let Some(piece) = self.body.loaded_piece(instruction) {
            return self.arguments.contains_key(&piece);
        }
        match (self.slots.effect_on_slots(id, instruction), variable) {
            (Effect::Load(slot), _) => is_known(Variable::Slot(slot)),
            (_, Variable::Slot(_)) => uses.get(2).is_some_and(may_be),
            _ if !is_interpreted(instruction.op) => false,
            _ if may_absorb(instruction.op) => uses.iter().any(may_be),
            _ => uses.iter().all(may_be),
        }
    }

    /// By variable: true if it flows, because its value may differ between places in the code.
    fn flowing_variables(&self, analyses: &Analyses<'_>) -> Vec<bool> {
        let mut flows: Vec<bool> = self
            .variables
            .iter()
            .map(|&variable| !self.may_be_fixed(variable))
            .collect();
        for &(load, slot) in &self.loads {
            if let (&[store], Some(place)) = (
                self.writers(Variable::Slot(slot)),
                self.index_of(Variable::Slot(slot)),
            ) && !flows[place]
            {
                flows[place] = !analyses.is_on_every_path_to(store, load);
            }
        }
        // Variables that depend on a flow-sensitive one are flow-sensitive.
        let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); self.variables.len()];
        for (place, &variable) in self.variables.iter().enumerate() {
            let inputs = self.writers(variable).iter().flat_map(|&id| self.inputs_of(id));
            for input in inputs.filter_map(|input| self.index_of(input)) {
                dependents[input].push(place);
            }
        }
        let mut open: Vec<usize> = (0..flows.len()).filter(|&place| flows[place]).collect();
        while let Some(place) = open.pop() {
            for &dependent in &dependents[place] {
                if !std::mem::replace(&mut flows[dependent], true) {
                    open.push(dependent);
                }
            }
        }
        flows
    }

    /// By block: whether it writes a variable that flows; empty if all may.
    fn blocks_writing_flowing(&self) -> Vec<bool> {
        let flowing = &self.variables[..self.flowing];
        let is_spoiled = |variable: &Variable| match *variable {
            Variable::Slot(slot) => self.slots.has_foreign_writes(slot),
            Variable::Register(_) => false,
        };
        if flowing.iter().any(is_spoiled) {
            return Vec::new();
        }
        let mut busy = vec![false; self.body.blocks.len()];
        for &id in flowing.iter().flat_map(|&variable| self.writers(variable)) {
            busy[self.body.block_of(id).index()] = true;
        }
        busy
    }

    /// Separates fixed variables from those that flow, and computes the values of the former.
    fn separate_fixed(&mut self, analyses: &Analyses<'_>) {
        let flows = self.flowing_variables(analyses);
        self.put_flowing_first(&flows);
        self.busy = self.blocks_writing_flowing();
        // In this order, dominators come first: a later write is not visible to an earlier read.
        let rank = |&id: &InstructionId| Some((self.cfg.rank(self.body.block_of(id))?, id));
        let fixed = &self.variables[self.flowing..];
        let mut steps: Vec<_> = fixed
            .iter()
            .flat_map(|&variable| self.writers(variable))
            .filter_map(rank)
            .collect();
        steps.sort_unstable();
        steps.dedup();
        self.fixed = vec![Constant::Unwritten; fixed.len()];
        for (_, id) in steps {
            let instruction = self.body.instruction(id);
            for number in 0..usize::from(instruction.results) {
                if let Value::Register(register) = self.body.results(instruction)[number]
                    && let Some(place) = self.fixed_index(Variable::Register(register))
                {
                    self.fixed[place] = self.constant_written(&[], id, instruction, number, register);
                }
            }
            if let Effect::Store(slot) = self.slots.effect_on_slots(id, instruction)
                && let Some(place) = self.fixed_index(Variable::Slot(slot))
            {
                self.fixed[place] = self.constant_stored(&[], slot, instruction);
            }
        }
    }

    /// True if it is written once, unguarded, and by nothing else.
    fn may_be_fixed(&self, variable: Variable) -> bool {
        let is_guarded = |id: InstructionId| self.body.instruction(id).guard.is_some();
        match (variable, self.writers(variable)) {
            (Variable::Register(_), []) => true,
            (Variable::Register(_), &[one]) => !is_guarded(one),
            (Variable::Slot(slot), _) => self.slots.only_store(self.body, slot).is_some(),
            _ => false,
        }
    }

    /// Puts variables that flow first.
    fn put_flowing_first(&mut self, flows: &[bool]) {
        let (mut variables, mut fixed) = (Vec::new(), Vec::new());
        for (&variable, &flows) in self.variables.iter().zip(flows) {
            if flows { &mut variables } else { &mut fixed }.push(variable);
        }
        self.flowing = variables.len();
        variables.append(&mut fixed);
        for (place, &variable) in (0..).zip(&variables) {
            self.set_index(variable, place);
        }
        self.variables = variables;
    }

    /// Adds a variable; past the limit it is left out, and so unknown.
    fn add_variable(&mut self, variable: Variable) {
        if self.variables.len() < MAX_SLICE_REGISTERS && self.index_of(variable).is_none() {
            self.set_index(variable, self.variables.len() as u32);
            self.variables.push(variable);
        }
    }

    fn set_index(&mut self, variable: Variable, place: u32) {
        match variable {
            Variable::Register(register) => {
                if self.register_places.is_empty() {
                    self.register_places = vec![NO_PLACE; self.body.registers.len()];
                }
                self.register_places[register.index()] = place;
            }
            Variable::Slot(slot) => {
                self.slot_places.insert(slot, place);
            }
        }
    }

    /// Its number among the variables.
    fn index_of(&self, variable: Variable) -> Option<usize> {
        let place = match variable {
            Variable::Register(register) => *self.register_places.get(register.index())?,
            Variable::Slot(slot) => self.slot_places.get(&slot).copied().unwrap_or(NO_PLACE),
        };
        (place != NO_PLACE).then_some(place as usize)
    }

    /// Index of its value in the states, if it flows.
    fn flowing_index(&self, variable: Variable) -> Option<usize> {
        self.index_of(variable).filter(|&place| place < self.flowing)
    }

    /// Index of its value in [`Self::fixed`].
    fn fixed_index(&self, variable: Variable) -> Option<usize> {
        self.index_of(variable)?.checked_sub(self.flowing)
    }

    fn read_params(&self) -> Vec<ParamPiece> {
        let registers = self
            .variables
            .iter()
            .filter(|variable| matches!(variable, Variable::Register(_)));
        let mut params: Vec<_> = registers
            .flat_map(|&variable| self.writers(variable))
            .filter_map(|definition| self.body.loaded_piece(self.body.instruction(*definition)))
            .collect();
        params.sort_unstable();
        params.dedup();
        params
    }

    fn constant_in_variable(&self, state: &[Constant], variable: Variable) -> Constant {
        let known = self.index_of(variable).and_then(|place| {
            let fixed = || self.fixed.get(place.checked_sub(self.flowing)?);
            fixed().or_else(|| state.get(place))
        });
        known.copied().unwrap_or(Constant::Unknown)
    }

    fn constant_in_register(&self, state: &[Constant], register: Register) -> Constant {
        self.constant_in_variable(state, Variable::Register(register))
    }

    fn constant_of_operand(&self, state: &[Constant], value: Value) -> Constant {
        match value {
            Value::Integer(value) => Constant::Known(value as u64),
            Value::Register(register) => self.constant_in_register(state, register),
            Value::Not(register) => match self.constant_in_register(state, register) {
                Constant::Known(value) => Constant::Known(value & 1 ^ 1),
                other => other,
            },
            _ => Constant::Unknown,
        }
    }

    /// The result with this index.
    fn result_constant(
        &self,
        state: &[Constant],
        id: InstructionId,
        instruction: &Instruction,
        number: usize,
    ) -> Constant {
        if let Some(piece) = self.body.loaded_piece(instruction) {
            let passed = self.arguments.get(&piece).copied().unwrap_or(Constant::Unknown);
            return extended_constant(instruction, passed);
        }
        if let Effect::Load(slot) = self.slots.effect_on_slots(id, instruction) {
            return match self.constant_in_variable(state, Variable::Slot(slot)) {
                // Memory without a store on the path holds anything.
                Constant::Unwritten => Constant::Unknown,
                held => extended_constant(instruction, held),
            };
        }
        if !is_interpreted(instruction.op) {
            return Constant::Unknown;
        }
        let mut values = [0; MAX_INTERPRETED_USES];
        let uses = self.body.uses(instruction);
        if uses.len() > values.len() {
            return Constant::Unknown;
        }
        for (value, &operand) in values.iter_mut().zip(uses) {
            match self.constant_of_operand(state, operand) {
                Constant::Known(known) => *value = known,
                // A register without a definition on the path holds anything.
                _ if may_absorb(instruction.op) => {
                    let known =
                        |place: usize| self.constant_of_operand(state, *uses.get(place)?).known_value();
                    return absorbed(instruction.op, number, known)
                        .map_or(Constant::Unknown, Constant::Known);
                }
                _ => return Constant::Unknown,
            }
        }
        let outcome = evaluate_result(instruction.op, number, &values[..uses.len()]);
        outcome.map_or(Constant::Unknown, Constant::Known)
    }
}

/// Most operands of an interpreted operation: a vector of 8 that is packed.
const MAX_INTERPRETED_USES: usize = 8;

impl Analysis for Slice<'_> {
    type State = Vec<Constant>;

    fn entry(&self) -> Self::State {
        vec![Constant::Unwritten; self.flowing]
    }

    fn join(&self, into: &mut Self::State, from: &Self::State) -> bool {
        let mut changed = false;
        for (into, from) in into.iter_mut().zip(from) {
            if into != from {
                let joined = into.join(*from);
                changed |= joined != *into;
                *into = joined;
            }
        }
        changed
    }

    fn deadline(&self) -> &Deadline {
        self.deadline
    }

    fn is_idle(&self, block: BlockId) -> bool {
        self.busy.get(block.index()) == Some(&false)
    }

    fn apply(&self, state: &mut Self::State, id: InstructionId, instruction: &Instruction) {
        let executed = instruction.guard.map(|guard| {
            self.constant_in_register(state, guard.register)
                .known_value()
                .map(|value| (value & 1 == 1) != guard.negated)
        });
        for (number, result) in self.body.results(instruction).iter().enumerate() {
            if let Value::Register(register) = *result
                && let Some(place) = self.flowing_index(Variable::Register(register))
            {
                let outcome = self.constant_written(state, id, instruction, number, register);
                write_under_guard(&mut state[place], outcome, executed);
            }
        }
        self.apply_to_slots(state, id, instruction, executed);
    }
}

/// A write under a guard: no guard, a known guard, or an unknown one.
fn write_under_guard(held: &mut Constant, outcome: Constant, executed: Option<Option<bool>>) {
    *held = match executed {
        None | Some(Some(true)) => outcome,
        Some(Some(false)) => *held,
        // If it was not written before, it holds anything where the guard is false.
        Some(None) if *held == Constant::Unwritten => Constant::Unknown,
        Some(None) => held.join(outcome),
    };
}

/// A loaded value, extended to 64 bits as the load says.
fn extended_constant(instruction: &Instruction, value: Constant) -> Constant {
    let Op::Access(access) = instruction.op else {
        return value;
    };
    match value {
        Constant::Known(bits) => {
            evaluate(access.extension(64), &[bits]).map_or(Constant::Unknown, Constant::Known)
        }
        other => other,
    }
}

impl Slice<'_> {
    /// Value of a result, at the width of its register.
    fn constant_written(
        &self,
        state: &[Constant],
        id: InstructionId,
        instruction: &Instruction,
        number: usize,
        register: Register,
    ) -> Constant {
        let width = match self.body.registers.bits(register) {
            0 => 64,
            bits => bits,
        };
        match self.result_constant(state, id, instruction, number) {
            Constant::Known(value) => Constant::Known(value & ones(width)),
            other => other,
        }
    }

    /// Value of a slot after its store.
    fn constant_stored(&self, state: &[Constant], slot: SlotId, store: &Instruction) -> Constant {
        let bits = ones((self.slots.slots[slot as usize].bytes * 8) as u8);
        let value = self.body.uses(store).get(2);
        match value.map(|&value| self.constant_of_operand(state, value)) {
            Some(Constant::Known(value)) => Constant::Known(value & bits),
            _ => Constant::Unknown,
        }
    }

    fn apply_to_slots(
        &self,
        state: &mut [Constant],
        id: InstructionId,
        instruction: &Instruction,
        executed: Option<Option<bool>>,
    ) {
        match self.slots.effect_on_slots(id, instruction) {
            effect @ (Effect::Store(slot) | Effect::Spoil(slot)) => {
                for other in self.slots.slots_overlapping(slot) {
                    if let Some(place) = self.flowing_index(Variable::Slot(other)) {
                        write_under_guard(&mut state[place], Constant::Unknown, executed);
                    }
                }
                if let Some(place) = self.flowing_index(Variable::Slot(slot)) {
                    let value = match effect {
                        Effect::Store(_) => self.constant_stored(state, slot, instruction),
                        _ => Constant::Unknown,
                    };
                    write_under_guard(&mut state[place], value, executed);
                }
            }
            Effect::SpoilEscaped => {
                for (variable, held) in self.variables.iter().zip(state) {
                    if let Variable::Slot(slot) = *variable
                        && self.slots.escapes(slot)
                    {
                        *held = Constant::Unknown;
                    }
                }
            }
            Effect::Load(_) | Effect::None => {}
        }
    }
}
