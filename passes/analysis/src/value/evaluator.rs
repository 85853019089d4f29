//! Evaluation of an operand on demand, back through the definitions that compute it.

use smallvec::SmallVec;

use crate::definitions::Definitions;
use crate::function::{Analyses, Kept};
use crate::pointer_passthrough::argument_passed_through;
use crate::shared::Shared;
use ptxcheck_ir::{Access, AccessKind, Body, FunctionId, InstructionId, Op, Register, Value};

/// A way to describe values. A domain may join the descriptions of several definitions: then the description of a register in a loop is the
/// fixpoint that iteration reaches from no description.
pub(crate) trait Domain {
    /// A description.
    type Value: Clone + PartialEq;

    /// True if a definition counts only if it is on each path to its reader: otherwise the value may be that of an earlier
    /// round of a loop.
    fn needs_dominating_definitions(&self) -> bool {
        false
    }

    /// The join of two descriptions; `None` if it contains no information, as always if the domain does not join.
    fn join(&self, _one: &Self::Value, _other: &Self::Value) -> Option<Self::Value> {
        None
    }

    /// True for a domain that joins: registers and slots with several definitions have descriptions then.
    fn joins_descriptions(&self) -> bool {
        false
    }

    /// The description without information, if an operation on an unknown operand may have a known result. Its join with any
    /// other has no information either.
    fn unknown_description(&self) -> Option<Self::Value> {
        None
    }

    /// True if one unknown operand makes the result of an operation unknown.
    fn needs_all_operands(&self, _op: Op) -> bool {
        true
    }

    /// The description of an operand that is no register.
    fn describe_operand(&self, value: Value) -> Option<Self::Value>;

    /// The description of the complement of a predicate.
    fn describe_complement(&self, _value: Self::Value) -> Option<Self::Value> {
        None
    }

    /// The description of a piece of a parameter: the parameter's number and the offset in bytes, with the access that loads it.
    fn describe_param(&self, _piece: (u16, i32), _access: Access) -> Option<Self::Value> {
        None
    }

    /// The description of a register that needs no evaluation.
    fn known_description(&self, _register: Register) -> Option<Self::Value> {
        None
    }

    /// The description of a register whose evaluation gives none.
    fn opaque_description(&self, _register: Register) -> Option<Self::Value> {
        None
    }

    /// True for a domain that describes what accesses read from memory, by the address: in [`Self::describe_access`].
    fn describes_accesses(&self) -> bool {
        false
    }

    /// The description of a result of an access to memory that is neither a parameter nor a slot, by that of the address.
    fn describe_access(
        &self,
        _access: (InstructionId, Access),
        _address: &Self::Value,
    ) -> Option<Self::Value> {
        None
    }

    /// The description of the result of a call, by those of the values that it passes: in the order of [`Body::arguments`], `None` for
    /// an unknown one. It is not asked about calls that return an argument.
    fn describe_call(&self, _call: InstructionId, _arguments: &[Option<Self::Value>]) -> Option<Self::Value> {
        None
    }

    /// True for a domain that describes the results of calls.
    fn describes_calls(&self) -> bool {
        false
    }

    /// The operands among `uses` that results of an operation depend on; `None` if the results are unknown.
    fn relevant_operands<'u>(&self, op: Op, uses: &'u [Value]) -> Option<&'u [Value]>;

    /// The description of a result of an operation. A multiplication with an addition comes as a product, and then a sum; and as itself
    /// if the product has no description.
    fn describe_result(&self, op: Op, result: Result, operands: &[Self::Value]) -> Option<Self::Value>;
}

/// A result of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Result {
    /// The register that holds it.
    pub register: Register,
    /// The index of the result among those of the instruction.
    pub number: usize,
    /// The register's bits; 0 if they are not known.
    pub bits: u8,
    /// It is a step on the way to what the register holds.
    pub is_step: bool,
}

/// The body whose operands are evaluated.
pub(crate) struct Source<'a, 'm> {
    /// The body.
    pub body: &'a Body<'m>,
    /// The definitions of its registers.
    pub definitions: &'a Definitions,
    /// The analyses of the body, if values are followed through slots.
    pub analyses: Option<&'a Analyses<'m>>,
    /// The module, if values are followed through functions that return an argument.
    pub module: Option<&'a Shared<'m>>,
    /// Values are those that a thread has when it executes this instruction for the first time: a definition that the instruction
    /// dominates does not count. They hold for operands of the instruction and of those that dominate it. Needs the analyses.
    pub first_at: Option<InstructionId>,
}

impl<'a, 'm> Source<'a, 'm> {
    /// A body with its analyses: values are followed through slots, and not into functions.
    pub(crate) fn within_body(body: &'a Body<'m>, analyses: &'a Analyses<'m>) -> Self {
        Self {
            body,
            definitions: analyses.definitions(),
            analyses: Some(analyses),
            module: None,
            first_at: None,
        }
    }

    /// A function of a module, with values followed through slots and functions that pass on an argument; `None` if it has
    /// no body.
    pub(crate) fn of_function(module: &'a Shared<'m>, function: FunctionId) -> Option<Self> {
        let body = module.module.function(function).body.as_ref()?;
        Some(Self {
            module: Some(module),
            ..Self::within_body(body, module.function(function))
        })
    }
}

/// The descriptions of the registers of a body, evaluated on demand.
pub(crate) struct Evaluator<'a, 'm, D: Domain> {
    source: Source<'a, 'm>,
    domain: D,
    states: States<D::Value>,
    /// An open register was read: a register that is computed from itself.
    has_read_open: bool,
    /// Memory for the registers that are being evaluated, and for those evaluated since a value was requested.
    open: Vec<Register>,
    visited: Vec<Register>,
}

enum State<V> {
    /// It is being evaluated, and no definition has a description so far.
    Open,
    Known(V),
    Unknown,
}

/// The states of registers.
struct States<V> {
    /// By register: [`Self::NONE`] and so on, or the index of its description, plus [`Self::FIRST`].
    places: Vec<u32>,
    known: Vec<V>,
}

impl<V: PartialEq> States<V> {
    /// It has not been evaluated.
    const NONE: u32 = 0;
    const OPEN: u32 = 1;
    const UNKNOWN: u32 = 2;
    const FIRST: u32 = 3;

    fn new(registers: usize) -> Self {
        Self {
            places: vec![Self::NONE; registers],
            known: Vec::new(),
        }
    }

    /// The state of a register that has been evaluated.
    fn get(&self, register: Register) -> Option<State<&V>> {
        match self.places[register.index()] {
            Self::NONE => None,
            Self::OPEN => Some(State::Open),
            Self::UNKNOWN => Some(State::Unknown),
            place => Some(State::Known(&self.known[(place - Self::FIRST) as usize])),
        }
    }

    /// Forgets that a register is being evaluated.
    fn forget(&mut self, register: Register) {
        self.places[register.index()] = Self::NONE;
    }

    /// Sets a state; true if it differs from the previous one.
    fn set(&mut self, register: Register, state: State<V>) -> bool {
        let place = &mut self.places[register.index()];
        let new = match state {
            State::Open => Self::OPEN,
            State::Unknown => Self::UNKNOWN,
            State::Known(known) if *place >= Self::FIRST => {
                let old = &mut self.known[(*place - Self::FIRST) as usize];
                let has_changed = *old != known;
                *old = known;
                return has_changed;
            }
            State::Known(known) => {
                self.known.push(known);
                Self::FIRST + self.known.len() as u32 - 1
            }
        };
        std::mem::replace(place, new) != new
    }
}

/// The outcome of a step.
enum Step<V> {
    Found(State<V>),
    /// Another register has to be evaluated before.
    Needs(Register),
}

/// Limit on the recursion depth of evaluation.
const MAX_DEPTH: u8 = 32;

/// Limit on the definitions of a register or of a slot that are joined.
const MAX_DEFINITIONS: usize = 64;

/// Limit on the rounds of evaluating a register that is computed from itself: beyond, it is unknown.
const MAX_ROUNDS: usize = 16;

impl<'a, 'm, D: Domain> Evaluator<'a, 'm, D> {
    pub(crate) fn new(source: Source<'a, 'm>, domain: D) -> Self {
        let states = States::new(source.body.registers.len());
        Self {
            source,
            domain,
            states,
            has_read_open: false,
            open: Vec::new(),
            visited: Vec::new(),
        }
    }

    pub(crate) const fn domain(&self) -> &D {
        &self.domain
    }

    /// The description of a value; `None` if it is unknown. The total time is bounded by the operands of the body and the
    /// rounds in its loops, for any number of requested values.
    pub(crate) fn description_of(&mut self, value: Value) -> Option<D::Value> {
        self.description_for_reader(value, None)
    }

    /// The same for an operand that an instruction reads.
    pub(crate) fn description_at_read(&mut self, value: Value, reader: InstructionId) -> Option<D::Value> {
        self.description_for_reader(value, Some(reader))
    }

    fn description_for_reader(&mut self, value: Value, reader: Option<InstructionId>) -> Option<D::Value> {
        loop {
            match self.operand_step(value, reader, 0) {
                Step::Found(State::Known(known)) => return Some(known),
                Step::Found(State::Open | State::Unknown) => return None,
                Step::Needs(register) => self.evaluate_until_stable(register),
            }
        }
    }

    fn evaluate_until_stable(&mut self, register: Register) {
        self.visited.clear();
        self.has_read_open = false;
        self.evaluate_with_inputs(register);
        let mut has_changed = self.has_read_open;
        if !has_changed {
            return;
        }
        for round in 0.. {
            has_changed = false;
            let mut next = 0;
            while let Some(&register) = self.visited.get(next) {
                next += 1;
                let state = self.evaluated_state(register);
                has_changed |= self.states.set(register, state);
            }
            if !has_changed || round == MAX_ROUNDS {
                break;
            }
        }
        // The remaining registers depend only on themselves, or have changed too often.
        for &register in &self.visited {
            if has_changed || matches!(self.states.get(register), Some(State::Open)) {
                let state = self
                    .domain
                    .opaque_description(register)
                    .map_or(State::Unknown, State::Known);
                self.states.set(register, state);
            }
        }
    }

    /// Evaluates a register and all registers that it depends on, once each, in the order of computation. Chains of
    /// definitions may have any length: beyond a limit, evaluation is not recursive.
    fn evaluate_with_inputs(&mut self, register: Register) {
        let bottom = self.open.len();
        self.states.set(register, State::Open);
        self.open.push(register);
        while self.open.len() > bottom
            && let Some(&register) = self.open.last()
        {
            match self.register_step(register, MAX_DEPTH) {
                Step::Found(state) => {
                    self.open.pop();
                    self.visited.push(register);
                    self.states.set(register, state);
                }
                Step::Needs(register) => {
                    self.open.push(register);
                    self.states.set(register, State::Open);
                }
            }
        }
    }

    /// The state of a register, after all registers that it depends on have been evaluated.
    fn evaluated_state(&mut self, register: Register) -> State<D::Value> {
        loop {
            match self.register_step(register, MAX_DEPTH) {
                Step::Found(state) => return state,
                Step::Needs(needed) => self.evaluate_with_inputs(needed),
            }
        }
    }

    fn operand_step(&mut self, value: Value, reader: Option<InstructionId>, depth: u8) -> Step<D::Value> {
        let (register, is_complement) = match value {
            Value::Register(register) => (register, false),
            Value::Not(register) => (register, true),
            value => return Self::step_of(self.domain.describe_operand(value)),
        };
        if self.domain.needs_dominating_definitions()
            && let Some(reader) = reader
            && let Some(analyses) = self.source.analyses
            && let Some(definition) = self.source.definitions.only_writer(self.source.body, register)
            && !analyses.is_on_every_path_to(definition, reader)
        {
            let known = self.domain.known_description(register);
            let known = known.or_else(|| self.domain.opaque_description(register));
            return Self::step_of(known.filter(|_| !is_complement));
        }
        if depth > 0 && self.states.get(register).is_none() {
            self.states.set(register, State::Open);
            match self.register_step(register, depth - 1) {
                Step::Found(state) => {
                    self.visited.push(register);
                    self.states.set(register, state);
                }
                needs => {
                    self.states.forget(register);
                    return needs;
                }
            }
        }
        match self.states.get(register) {
            None => Step::Needs(register),
            Some(State::Open) => {
                self.has_read_open = true;
                Step::Found(State::Open)
            }
            Some(State::Unknown) => Self::step_of(self.domain.unknown_description()),
            Some(State::Known(known)) if is_complement => {
                Self::step_of(self.domain.describe_complement(known.clone()))
            }
            Some(State::Known(known)) => Step::Found(State::Known(known.clone())),
        }
    }

    /// True for a register that has been evaluated and is unknown.
    fn is_unknown(&self, value: Value) -> bool {
        let state = value.register().map(|register| self.states.get(register));
        matches!(state, Some(Some(State::Unknown)))
    }

    fn step_of(known: Option<D::Value>) -> Step<D::Value> {
        Step::Found(known.map_or(State::Unknown, State::Known))
    }

    fn register_step(&mut self, register: Register, depth: u8) -> Step<D::Value> {
        let Source {
            body, definitions, ..
        } = self.source;
        if let Some(known) = self.domain.known_description(register) {
            return Step::Found(State::Known(known));
        }
        let mut all = definitions.writers_of(register);
        let before = self.writers_before_first(all);
        if let Some(before) = &before {
            all = before;
        }
        let is_one = matches!(*all, [one] if body.instruction(one).guard.is_none());
        let is_visited = is_one || self.domain.joins_descriptions() && all.len() <= MAX_DEFINITIONS;
        let all = if is_visited { all } else { &[] };
        let step = self.joined_step(all, |evaluator, definition| {
            evaluator.result_step(definition, register, depth)
        });
        match step {
            Step::Found(State::Unknown) if !all.is_empty() => {
                Self::step_of(self.domain.opaque_description(register))
            }
            step => step,
        }
    }

    /// Of several writers, those that may come before the first execution of [`Source::first_at`]; `None` where all count.
    fn writers_before_first(&self, all: &[InstructionId]) -> Option<SmallVec<[InstructionId; 4]>> {
        let first = self.source.first_at.filter(|_| all.len() > 1)?;
        let analyses = self.source.analyses?;
        let is_before = |writer: &InstructionId| !analyses.is_on_every_path_to(first, *writer);
        let mut before: SmallVec<[InstructionId; 4]> = all.iter().copied().filter(is_before).collect();
        if let [only] = before[..]
            && !analyses.is_on_every_path_to(only, first)
        {
            before.clear();
        }
        Some(before)
    }

    /// The only one of several stores to the slot of a load that may come before the first execution of [`Source::first_at`], if each path to
    /// the load leads through it.
    fn only_store_before_first(&self, load: InstructionId) -> Option<InstructionId> {
        let analyses = self.source.analyses?;
        let stores = analyses.stores_for(load);
        let before = self.writers_before_first(stores)?;
        let &[store] = before.as_slice() else { return None };
        let is_unguarded = self.source.body.instruction(store).guard.is_none();
        (is_unguarded && analyses.is_on_every_path_to(store, load)).then_some(store)
    }

    /// The join over instructions, without those that have no description so far.
    fn joined_step(
        &mut self,
        all: &[InstructionId],
        mut find: impl FnMut(&mut Self, InstructionId) -> Step<D::Value>,
    ) -> Step<D::Value> {
        if let &[one] = all {
            return find(self, one);
        }
        let mut joined = None;
        for &one in all {
            let one = match find(self, one) {
                Step::Found(State::Known(one)) => one,
                Step::Found(State::Open) => continue,
                step => return step,
            };
            let both = match joined {
                None => Some(one),
                Some(known) => self.domain.join(&known, &one),
            };
            match both {
                Some(both) if self.domain.unknown_description().as_ref() != Some(&both) => {
                    joined = Some(both);
                }
                _ => return Step::Found(State::Unknown),
            }
        }
        match joined {
            Some(joined) => Step::Found(State::Known(joined)),
            None if all.is_empty() => Step::Found(State::Unknown),
            None => Step::Found(State::Open),
        }
    }

    /// The description of the value that an instruction writes to a register.
    fn result_step(&mut self, definition: InstructionId, register: Register, depth: u8) -> Step<D::Value> {
        let body = self.source.body;
        let instruction = body.instruction(definition);
        let Some(number) = body.result_number(instruction, register) else {
            return Step::Found(State::Unknown);
        };
        let bits = body.registers.bits(register);
        let result = Result {
            register,
            number,
            bits,
            is_step: false,
        };
        match instruction.op {
            Op::Access(access) => self.load_step(definition, access, result, depth),
            Op::CallResult(call) => {
                let passed = self
                    .source
                    .module
                    .and_then(|module| argument_passed_through(module, body, call));
                match passed {
                    Some(value) => self.operation_step(Op::Copy, result, (&[value], call), depth),
                    None if self.domain.describes_calls() => self.call_step(call, depth),
                    None => Step::Found(State::Unknown),
                }
            }
            op => match self.relevant_operands(op, body.uses(instruction)) {
                Some(inputs) => self.operation_step(op, result, (inputs, definition), depth),
                None => Step::Found(State::Unknown),
            },
        }
    }

    /// The description of the value that a load writes to a register: a piece of a parameter, or a value stored in a slot.
    fn load_step(
        &mut self,
        load: InstructionId,
        access: Access,
        result: Result,
        depth: u8,
    ) -> Step<D::Value> {
        let body = self.source.body;
        let instruction = body.instruction(load);
        if let Some((param, at, bytes)) = body.loaded_param_pieces(instruction) {
            let by = i32::try_from(result.number)
                .ok()
                .and_then(|number| number.checked_mul(bytes.into()));
            let at = by.and_then(|by| at.checked_add(by));
            return Self::step_of(at.and_then(|at| self.domain.describe_param((param, at), access)));
        }
        let Some(analyses) = self.source.analyses else {
            return Step::Found(State::Unknown);
        };
        if self.domain.describes_accesses() && (access.kind != AccessKind::Load || !analyses.loads_slot(load))
        {
            return self.access_step(load, access, depth);
        }
        if let Some(store) = self.only_store_before_first(load) {
            let extension = access.extension(result.bits);
            return match analyses.value_stored_by(store) {
                Some(value) => self.operation_step(extension, result, (&[value], store), depth),
                None => Step::Found(State::Unknown),
            };
        }
        if !self.domain.joins_descriptions() {
            return match analyses.value_kept_in_slot(load, result.register) {
                Some(Kept {
                    value,
                    store,
                    extension,
                }) => self.operation_step(extension, result, (&[value], store), depth),
                None => Step::Found(State::Unknown),
            };
        }
        let stores = analyses.stores_for(load);
        if stores.len() > MAX_DEFINITIONS || access.bits == 0 {
            return Step::Found(State::Unknown);
        }
        let extension = access.extension(result.bits);
        self.joined_step(stores, |evaluator, store| match analyses.value_stored_by(store) {
            Some(value) => evaluator.operation_step(extension, result, (&[value], store), depth),
            None => Step::Found(State::Unknown),
        })
    }

    /// The description of what an access reads from memory.
    fn access_step(&mut self, at: InstructionId, access: Access, depth: u8) -> Step<D::Value> {
        let body = self.source.body;
        let Some(&address) = body.uses(body.instruction(at)).first() else {
            return Step::Found(State::Unknown);
        };
        match self.operand_step(address, Some(at), depth) {
            Step::Found(State::Known(address)) => {
                Self::step_of(self.domain.describe_access((at, access), &address))
            }
            step => step,
        }
    }

    /// The description of what a call returns.
    fn call_step(&mut self, call: InstructionId, depth: u8) -> Step<D::Value> {
        let body = self.source.body;
        let Op::Call(number) = body.instruction(call).op else {
            return Step::Found(State::Unknown);
        };
        let mut passed = Vec::new();
        let mut is_open = false;
        for argument in body.arguments(body.call(number)) {
            match self.operand_step(argument.value, Some(call), depth) {
                Step::Found(State::Known(one)) => passed.push(Some(one)),
                Step::Found(State::Open) => is_open = true,
                Step::Found(State::Unknown) => passed.push(None),
                step @ Step::Needs(_) => return step,
            }
        }
        if is_open {
            return Step::Found(State::Open);
        }
        Self::step_of(self.domain.describe_call(call, &passed))
    }

    /// The description of an operation's result.
    fn operation_step(
        &mut self,
        op: Op,
        result: Result,
        (inputs, reader): (&[Value], InstructionId),
        depth: u8,
    ) -> Step<D::Value> {
        let mut operands: SmallVec<[D::Value; 4]> = SmallVec::new();
        let mut is_open = false;
        let needs_all = self.domain.needs_all_operands(op);
        if needs_all && inputs.iter().any(|&input| self.is_unknown(input)) {
            return Step::Found(State::Unknown);
        }
        for &input in inputs {
            match self.operand_step(input, Some(reader), depth) {
                Step::Found(State::Known(operand)) => {
                    if needs_all && self.domain.unknown_description().as_ref() == Some(&operand) {
                        return Step::Found(State::Unknown);
                    }
                    operands.push(operand);
                }
                Step::Found(State::Open) => is_open = true,
                step => return step,
            }
        }
        if is_open {
            return Step::Found(State::Open);
        }
        let known = self.describe_result(op, result, &operands);
        Self::step_of(known.filter(|known| self.domain.unknown_description().as_ref() != Some(known)))
    }

    fn relevant_operands<'u>(&self, op: Op, uses: &'u [Value]) -> Option<&'u [Value]> {
        let Some((product, _)) = op.product_and_sum() else {
            return self.domain.relevant_operands(op, uses);
        };
        self.domain.relevant_operands(product, uses.get(..2)?)?;
        uses.get(..3)
    }

    fn describe_result(&self, op: Op, result: Result, operands: &[D::Value]) -> Option<D::Value> {
        match (op.product_and_sum(), operands) {
            (Some((product, sum)), [factors @ .., last]) => {
                let step = Result {
                    is_step: true,
                    ..result
                };
                match self.domain.describe_result(product, step, factors) {
                    Some(product) => self.domain.describe_result(sum, result, &[product, last.clone()]),
                    None => self.domain.describe_result(op, result, operands),
                }
            }
            _ => self.domain.describe_result(op, result, operands),
        }
    }
}
