//! The values of one body's address registers, for those that some use of an address depends on.
//!
//! Sparse: a node is an instruction that computes a value from others; its inputs are the nodes of the definitions
//! that reach it (see `reaching`). Instructions that bring a value from nowhere (parameters, symbols, loads) need no
//! node. Nodes are evaluated in the order of the input until nothing changes; without a loop, once. At first all
//! definitions of a register reach all of its uses; where that mixes addresses, it is found out which do.

use std::cell::Cell;

use rustc_hash::FxHashMap;

use super::guards::{Facts, Tested};
use super::reaching::{Definition, Reaching};
use super::summary::Summary;
use super::transfer;
use super::value::{Base, Element, Form, Provenance, Trust};
use crate::analysis::slots::{Effect, SlotId};
use crate::context::{Analyses, ModuleContext};
use crate::ir::{
    Access, AccessKind, Argument, BinaryOp, Body, Call, Callee, Function, FunctionId, Instruction,
    InstructionId, Op, Register, Space, SymbolKind, Value,
};
use crate::limits::{MAX_PROVENANCE_NODES, MAX_PROVENANCE_ROUNDS, MAX_REACHING_STEPS, MAX_RELOAD_DISTANCE};

/// What holds a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Variable {
    Register(Register),
    Slot(SlotId),
}

const NO_NODE: u32 = u32::MAX;

/// Times that variables whose definitions disagree are looked for: solving some shows others.
const MAX_REFINEMENTS: usize = 3;

/// Finished summaries of other functions.
pub type Summaries<'a> = dyn Fn(FunctionId) -> Option<&'a Summary> + Sync + 'a;

/// The values of one body.
pub struct Solver<'a> {
    module: &'a ModuleContext<'a>,
    function: &'a Function<'a>,
    pub(super) body: &'a Body<'a>,
    analyses: &'a Analyses<'a>,
    summaries: &'a Summaries<'a>,
    facts: Facts,
    nodes: Vec<InstructionId>,
    node_of: Vec<u32>,
    values: Vec<Provenance>,
    reaching: FxHashMap<Variable, Reaching>,
    /// Slot writers that no store names: atomics and vectors, by slot, and writes through unknown addresses.
    spoils: Option<(FxHashMap<SlotId, Vec<InstructionId>>, Vec<InstructionId>)>,
    steps: usize,
    /// Registers that nothing writes, once asked for: whether an opcode that is not interpreted names them.
    named_in_opaque: Option<Vec<bool>>,
    is_complete: bool,
    /// Some node reads one that comes after it: there is a loop.
    reads_ahead: Cell<bool>,
}

impl<'a> Solver<'a> {
    /// Solves for `seeds`: values and the instructions that use them.
    #[must_use]
    pub fn new(
        module: &'a ModuleContext<'a>,
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
            reads_ahead: Cell::new(false),
        };
        solver.discover(seeds);
        solver.nodes.sort_unstable();
        for (number, node) in solver.nodes.iter().enumerate() {
            solver.node_of[node.index()] = number as u32;
        }
        solver.values = vec![Provenance::Bottom; solver.nodes.len()];
        solver.iterate();
        for _ in 0..MAX_REFINEMENTS {
            if !solver.refine() {
                break;
            }
            solver.values.fill(Provenance::Bottom);
            solver.iterate();
        }
        Some(solver)
    }

    /// What `value` can be at `at`; and which test of its space says so there.
    #[must_use]
    pub fn at(&self, value: Value, at: InstructionId) -> (Provenance, Tested) {
        let Value::Register(register) = value else {
            return (self.constant(value, at), Tested::No);
        };
        let held = self.held(Variable::Register(register), at);
        if self.facts.is_empty() {
            return (held, Tested::No);
        }
        self.facts.refine(register, held, at, self.body, self.analyses)
    }

    /// Whether `value` is read from a special register that is the same for the whole grid or cluster.
    #[must_use]
    pub fn is_uniform_special(&self, value: Value) -> bool {
        let mut value = value;
        for _ in 0..8 {
            match value {
                Value::Special(special) => return special == crate::ir::Special::Uniform,
                Value::Register(register) => match self.analyses.definitions().of(register) {
                    &[definition] if self.body.instruction(definition).op == Op::Copy => {
                        match self.body.uses(self.body.instruction(definition)) {
                            &[from] => value = from,
                            _ => return false,
                        }
                    }
                    _ => return false,
                },
                _ => return false,
            }
        }
        false
    }

    fn discover(&mut self, seeds: impl Iterator<Item = Value>) {
        let mut open: Vec<Variable> = Vec::new();
        for seed in seeds {
            open.extend(variable(seed));
            while let Some(variable) = open.pop() {
                self.discover_one(variable, &mut open);
            }
        }
    }

    fn discover_one(&mut self, variable: Variable, open: &mut Vec<Variable>) {
        let analyses = self.analyses;
        match variable {
            Variable::Register(register) => {
                let definitions = analyses.definitions().of(register);
                match definitions {
                    [] => self.note_undefined(),
                    [definition] => self.discover_node(*definition, open),
                    _ if self.reaching.contains_key(&variable) => {}
                    _ => {
                        let known = definitions.iter().map(|&at| Definition {
                            at,
                            is_partial: self.body.instruction(at).guard.is_some(),
                        });
                        self.reaching
                            .insert(variable, Reaching::everywhere(known.collect()));
                        for &definition in definitions {
                            self.discover_node(definition, open);
                        }
                    }
                }
            }
            Variable::Slot(slot) => {
                if self.reaching.contains_key(&variable) {
                    return;
                }
                let definitions = self.slot_definitions(slot);
                self.reaching.insert(variable, Reaching::everywhere(definitions));
                for &store in analyses.slots().stores(slot) {
                    self.discover_node(store, open);
                }
            }
        }
    }

    fn discover_node(&mut self, id: InstructionId, open: &mut Vec<Variable>) {
        if self.node_of[id.index()] != NO_NODE {
            return;
        }
        if self.nodes.len() >= MAX_PROVENANCE_NODES {
            self.is_complete = false;
            return;
        }
        let before = open.len();
        if self.inputs(id, open) {
            self.node_of[id.index()] = self.nodes.len() as u32;
            self.nodes.push(id);
        } else {
            open.truncate(before);
        }
    }

    /// Adds what the instruction's value depends on; false if that is nothing.
    fn inputs(&self, id: InstructionId, open: &mut Vec<Variable>) -> bool {
        let instruction = self.body.instruction(id);
        let uses = self.body.uses(instruction);
        match instruction.op {
            Op::Copy | Op::ToGeneric(..) | Op::FromGeneric(..) => {
                open.extend(uses.first().copied().and_then(variable));
                !matches!(uses, [] | [Value::Special(_) | Value::Integer(_)])
            }
            Op::MapShared(_) | Op::Convert { .. } | Op::Unary(..) => {
                open.extend(uses.first().copied().and_then(variable));
                true
            }
            Op::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, _) => {
                open.extend(uses.iter().copied().filter_map(variable));
                true
            }
            Op::Select => {
                open.extend(uses.iter().take(2).copied().filter_map(variable));
                true
            }
            Op::MulAdd(..) => {
                open.extend(uses.get(2).copied().and_then(variable));
                true
            }
            Op::CallResult(call) => {
                let Some((_, arguments)) = self.callee(call) else {
                    return false;
                };
                open.extend(arguments.iter().filter_map(|argument| variable(argument.value)));
                true
            }
            Op::Access(_) => match self.effect(id, instruction) {
                Effect::Load(slot) => {
                    open.push(Variable::Slot(slot));
                    true
                }
                Effect::Store(_) => {
                    open.extend(uses.get(2).copied().and_then(variable));
                    true
                }
                _ => match self.stored_before(id, instruction) {
                    Some((_, stored)) => {
                        open.extend(variable(stored));
                        true
                    }
                    None => false,
                },
            },
            _ => false,
        }
    }

    /// The store that a load of a variable in global or shared memory reads, if one stands before it in its block and
    /// nothing in between may write: other threads may, so it tells nothing certain.
    fn stored_before(&self, id: InstructionId, load: &Instruction) -> Option<(InstructionId, Value)> {
        let place = |instruction: &Instruction| match (instruction.op, self.body.uses(instruction)) {
            (Op::Access(access), &[base @ Value::Symbol(..), Value::Integer(0), ..])
                if access.bits == 64 && access.count == 1 && !access.volatile =>
            {
                Some((access.kind, base))
            }
            _ => None,
        };
        let (AccessKind::Load, wanted) = place(load)? else {
            return None;
        };
        let start = self.body.blocks[self.body.block_of(id).index()]
            .instructions
            .start as usize;
        let near = id.index().saturating_sub(MAX_RELOAD_DISTANCE).max(start);
        for number in (near..id.index()).rev() {
            let at = InstructionId::new(number);
            let instruction = self.body.instruction(at);
            match (instruction.op, place(instruction)) {
                (_, Some((AccessKind::Store, base))) if base == wanted && instruction.guard.is_none() => {
                    return Some((at, *self.body.uses(instruction).get(2)?));
                }
                (Op::Access(access), _) if access.kind == AccessKind::Load => {}
                (Op::Access(_) | Op::Call(_) | Op::Barrier(_), _) => return None,
                _ => {}
            }
        }
        None
    }

    fn effect(&self, id: InstructionId, instruction: &Instruction) -> Effect {
        match instruction.op {
            Op::Access(Access {
                space: Space::Generic | Space::Local,
                bits: 32 | 64,
                ..
            }) => self.analyses.slots().effect(id, instruction),
            _ => Effect::None,
        }
    }

    /// What writes a slot: its own stores, stores to slots that overlap it, and whatever may write it unseen.
    fn slot_definitions(&mut self, slot: SlotId) -> Vec<Definition> {
        let slots = self.analyses.slots();
        let body = self.body;
        let (named, unseen) = self.spoils.get_or_insert_with(|| {
            let mut named: FxHashMap<SlotId, Vec<InstructionId>> = FxHashMap::default();
            let mut unseen = Vec::new();
            for (number, instruction) in body.instructions.iter().enumerate() {
                let id = InstructionId::new(number);
                match slots.effect(id, instruction) {
                    Effect::Spoil(slot) => named.entry(slot).or_default().push(id),
                    Effect::SpoilEscaped => unseen.push(id),
                    _ => {}
                }
            }
            (named, unseen)
        });
        let own = slots.stores(slot).iter().map(|&at| Definition {
            at,
            is_partial: body.instruction(at).guard.is_some(),
        });
        let others = slots.overlapping(slot).flat_map(|other| {
            let spoiled = named.get(&other).map_or(&[][..], Vec::as_slice);
            slots.stores(other).iter().chain(spoiled)
        });
        let spoiled = named.get(&slot).map_or(&[][..], Vec::as_slice);
        let unseen = if slots.escapes(slot) {
            unseen.as_slice()
        } else {
            &[]
        };
        let mut all: Vec<Definition> = own.collect();
        all.extend(
            others
                .chain(spoiled)
                .chain(unseen)
                .map(|&at| Definition { at, is_partial: true }),
        );
        all.sort_unstable_by_key(|definition| definition.at);
        all.dedup_by_key(|definition| definition.at);
        all
    }

    /// Solves which definitions reach what, for the variables whose definitions disagree; false if there are none left.
    fn refine(&mut self) -> bool {
        let mut open: Vec<Variable> = self
            .reaching
            .iter()
            .filter(|(variable, reaching)| !reaching.is_solved() && self.is_mixed(**variable, reaching))
            .map(|(variable, _)| *variable)
            .collect();
        open.sort_unstable();
        let mut is_finer = false;
        for variable in open {
            if let Some(reaching) = self.reaching.get_mut(&variable) {
                is_finer |= reaching.solve(self.body, self.analyses.cfg(), &mut self.steps);
            }
        }
        is_finer
    }

    /// Whether it matters which of the definitions reaches a use: they bring different addresses.
    fn is_mixed(&self, variable: Variable, reaching: &Reaching) -> bool {
        let (mut joined, mut brings_anything) = (Provenance::Bottom, false);
        for definition in reaching.definitions() {
            let value = self.defined(definition.at, variable);
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
                .any(|element| element.form != Form::Number)
    }

    fn iterate(&mut self) {
        for _ in 0..MAX_PROVENANCE_ROUNDS {
            let mut changed = false;
            for number in 0..self.nodes.len() {
                let outcome = self.evaluate(self.nodes[number]);
                changed |= self.values[number].join(&outcome);
            }
            if !changed || !self.reads_ahead.get() {
                return;
            }
        }
        self.values.fill(Provenance::Top);
    }

    fn evaluate(&self, id: InstructionId) -> Provenance {
        let instruction = self.body.instruction(id);
        let uses = self.body.uses(instruction);
        match instruction.op {
            Op::CallResult(call) => self.returned(call, uses, id),
            Op::Access(_) => match self.effect(id, instruction) {
                Effect::Load(slot) => self.held(Variable::Slot(slot), id),
                Effect::Store(_) => uses
                    .get(2)
                    .map_or(Provenance::Top, |&stored| self.at(stored, id).0),
                _ => match self.stored_before(id, instruction) {
                    Some((store, stored)) => self.at(stored, store).0.map(|element| Element {
                        trust: Trust::Weak,
                        ..*element
                    }),
                    None => Provenance::Top,
                },
            },
            op => {
                // The factors of a product, the predicate and the rank do not matter.
                let relevant = match op {
                    Op::MulAdd(..) => uses.get(2..3),
                    Op::Select | Op::Binary(..) => uses.get(..2),
                    _ => uses.get(..1),
                };
                let mut inputs: [Provenance; 2] = Default::default();
                let relevant = relevant.unwrap_or_default();
                for (input, &operand) in inputs.iter_mut().zip(relevant) {
                    *input = self.at(operand, id).0;
                }
                transfer::result(op, &inputs[..relevant.len()], id)
            }
        }
    }

    /// What a variable holds before `at`.
    fn held(&self, variable: Variable, at: InstructionId) -> Provenance {
        if !self.is_complete {
            return Provenance::Top;
        }
        if let Variable::Register(register) = variable {
            match self.analyses.definitions().of(register) {
                [] => return self.undefined(register),
                [definition] => {
                    self.note_order(*definition, at);
                    return self.defined(*definition, variable);
                }
                _ => {}
            }
        }
        let Some(reaching) = self.reaching.get(&variable) else {
            return Provenance::Top;
        };
        let block = self.body.block_of(at);
        let mut joined = Provenance::Bottom;
        for definition in reaching.before(at, block, self.body) {
            self.note_order(definition, at);
            joined.join(&self.defined(definition, variable));
        }
        match variable {
            // Memory that nothing has written holds anything.
            Variable::Slot(_) if joined == Provenance::Bottom => Provenance::Top,
            _ => joined,
        }
    }

    fn note_order(&self, definition: InstructionId, at: InstructionId) {
        if definition >= at {
            self.reads_ahead.set(true);
        }
    }

    /// What an instruction writes to a variable.
    fn defined(&self, id: InstructionId, variable: Variable) -> Provenance {
        let instruction = self.body.instruction(id);
        if let Variable::Slot(slot) = variable {
            return match self.effect(id, instruction) {
                Effect::Store(own) if own == slot => match self.node_of[id.index()] {
                    NO_NODE => Provenance::Top,
                    node => self.values[node as usize].clone(),
                },
                _ => Provenance::Top,
            };
        }
        match self.node_of[id.index()] {
            NO_NODE => self.leaf(id, instruction, variable),
            node => self.values[node as usize].clone(),
        }
    }

    /// What an instruction brings from nowhere.
    fn leaf(&self, id: InstructionId, instruction: &Instruction, variable: Variable) -> Provenance {
        let uses = self.body.uses(instruction);
        match (instruction.op, uses) {
            (Op::Copy, &[value]) => self.constant(value, id),
            (
                Op::Access(Access {
                    kind: AccessKind::Load,
                    space: Space::Param,
                    bits,
                    ..
                }),
                &[Value::Param(number, offset), Value::Integer(0), ..],
            ) => {
                let results = self.body.results(instruction);
                let place = results.iter().position(|&result| match (result, variable) {
                    (Value::Register(result), Variable::Register(wanted)) => result == wanted,
                    _ => false,
                });
                let place = place.unwrap_or(0) as u32;
                let Ok(offset) = u32::try_from(offset) else {
                    return Provenance::Top;
                };
                self.parameter(
                    number,
                    offset.saturating_add(place * u32::from(bits / 8)),
                    bits,
                    id,
                )
            }
            (Op::ToGeneric(..) | Op::FromGeneric(..), &[value]) => {
                transfer::result(instruction.op, &[self.constant(value, id)], id)
            }
            (Op::Binary(..), &[_, Value::Integer(by)]) => {
                let operands = [Provenance::Top, Provenance::One(Element::number(Some(by)))];
                transfer::result(instruction.op, &operands, id)
            }
            (Op::Binary(..), _) => transfer::result(instruction.op, &[Provenance::Top, Provenance::Top], id),
            _ => Provenance::Top,
        }
    }

    fn parameter(&self, number: u16, offset: u32, bits: u8, at: InstructionId) -> Provenance {
        let base = Base::Param(number, offset);
        let start = |form, space| Element {
            offset: Some(0),
            ..Element::address(form, space, base, at)
        };
        if bits != 64 && bits != 32 {
            return Provenance::NUMBER;
        }
        let declared = self
            .function
            .params
            .get(usize::from(number))
            .and_then(|parameter| parameter.points_to);
        let element = match (self.function.is_kernel(), declared) {
            (true, Some(Space::Global)) if bits == 64 => start(Form::Generic, Space::Global),
            (true, Some(space @ (Space::Shared | Space::Const | Space::Local))) => start(Form::Raw, space),
            (true, _) if bits == 64 => Element {
                trust: Trust::Assumed,
                ..start(Form::Generic, Space::Global)
            },
            (true, _) => return Provenance::Top,
            (false, _) => start(Form::Formal, Space::Generic),
        };
        Provenance::One(element)
    }

    /// What an operand is that is no register.
    fn constant(&self, value: Value, at: InstructionId) -> Provenance {
        match value {
            Value::Integer(number) => Provenance::One(Element::number(Some(number))),
            Value::Special(_) => Provenance::NUMBER,
            Value::Symbol(symbol, offset) => {
                let known = self.module.module.symbol(symbol);
                if known.kind != SymbolKind::Variable || known.space == Space::Generic {
                    return Provenance::Top;
                }
                Provenance::One(Element {
                    offset: Some(i64::from(offset)),
                    ..Element::address(Form::Raw, known.space, Base::Symbol(symbol), at)
                })
            }
            // The address of a function's parameter is one on the stack.
            Value::Param(number, offset) if self.function.is_kernel() => Provenance::One(Element {
                offset: Some(i64::from(offset)),
                ..Element::address(Form::Raw, Space::Param, Base::Param(number, 0), at)
            }),
            _ => Provenance::Top,
        }
    }

    /// The arguments of a call, and what is known of the function.
    pub(super) fn callee(&self, call: InstructionId) -> Option<(&'a Summary, &'a [Argument])> {
        callee(self.module, self.body, self.summaries, call)
    }

    fn returned(&self, call: InstructionId, uses: &[Value], at: InstructionId) -> Provenance {
        let (Some((summary, arguments)), Some(&Value::Integer(offset))) = (self.callee(call), uses.first())
        else {
            return Provenance::Top;
        };
        let Some(returned) = u32::try_from(offset)
            .ok()
            .and_then(|offset| summary.result(offset))
        else {
            return Provenance::Top;
        };
        let mut joined = Provenance::Bottom;
        for element in returned.elements() {
            let (Form::Formal, Base::Param(number, piece)) = (element.form, element.base) else {
                let base = match element.base {
                    Base::Symbol(_) => element.base,
                    _ => Base::Unknown,
                };
                joined.join(&Provenance::One(Element {
                    base,
                    origin: Some(call),
                    ..*element
                }));
                continue;
            };
            let passed = arguments
                .iter()
                .find(|argument| argument.param == u32::from(number) && argument.offset == piece);
            let value = passed.map_or(Provenance::Top, |argument| self.at(argument.value, at).0);
            joined.join(&value.map(|passed| {
                Element {
                    offset: passed
                        .offset
                        .zip(element.offset)
                        .and_then(|(a, b)| a.checked_add(b)),
                    ..*passed
                }
            }));
        }
        match returned {
            Provenance::Top => Provenance::Top,
            _ => joined,
        }
    }

    fn note_undefined(&mut self) {
        if self.named_in_opaque.is_none() {
            let mut named = vec![false; self.body.registers.len()];
            for instruction in self
                .body
                .instructions
                .iter()
                .filter(|known| known.op == Op::Opaque)
            {
                for value in self.body.uses(instruction) {
                    if let Value::Register(register) = value {
                        named[register.index()] = true;
                    }
                }
            }
            self.named_in_opaque = Some(named);
        }
    }

    /// A register without a definition: exact only where nothing can have escaped the front end.
    fn undefined(&self, register: Register) -> Provenance {
        let info = &self.body.registers[register.index()];
        let is_named = self
            .named_in_opaque
            .as_ref()
            .is_none_or(|named| named[register.index()]);
        // The components of a vector are written under names of their own; a made-up register has none.
        if is_named || info.bits < 32 || info.name.is_empty() || self.function.is_damaged {
            return Provenance::Top;
        }
        Provenance::One(Element {
            form: Form::Undefined,
            base: Base::Register(register),
            origin: None,
            ..Element::number(None)
        })
    }
}

/// The arguments of a call, and what is known of the function that it calls.
#[must_use]
pub fn callee<'a>(
    module: &ModuleContext<'_>,
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
    let callee = module.module.function_of(symbol)?;
    let callee = module.module.function(callee).alias_of.unwrap_or(callee);
    Some((summaries(callee)?, body.arguments(call)))
}

fn variable(value: Value) -> Option<Variable> {
    match value {
        Value::Register(register) => Some(Variable::Register(register)),
        _ => None,
    }
}
