//! Which kernels may have a definite finding at all: the others need no lane by lane analysis where potential findings
//! are not asked for.
//!
//! Nothing is definite at a collective or barrier that no branch keeps some lanes of a warp from, and where lanes pass
//! the full mask or one that nothing is known of. So two questions are left, and both may be answered by "perhaps":
//!
//! ```text
//! kind(r)          what is known of a register at most, see `kind`: the join over its definitions
//! restricted(b)    a branch that may tell lanes apart decides whether a block is reached, through other branches too
//! ```
//!
//! They depend on each other: a register with several definitions may differ from lane to lane if one of them is in a
//! restricted block. The functions of a module are looked at together, with one kind for each piece of a parameter and
//! one for all results.

mod kind;
mod regions;
#[cfg(test)]
mod tests;

use rustc_hash::FxHashMap;

use self::kind::{Form, Kind};
use super::launch::Launch;
use super::slice::{loaded_param, returned};
use super::value::WARP;
use crate::analysis::evaluate::is_interpreted;
use crate::analysis::slots::{Effect, SlotId, Slots};
use crate::context::ModuleContext;
use crate::ir::{
    AccessKind, BlockId, Body, Callee, Collective, FunctionId, Instruction, InstructionId, Op, Register,
    Special, Value, Vote,
};
use crate::limits::MAX_SCREEN_STEPS;

/// Of `roots`, those that may have a definite finding. `meets`: the functions that reach a collective or a barrier.
#[must_use]
pub fn suspects(module: &ModuleContext<'_>, roots: &[FunctionId], meets: &[bool]) -> Vec<FunctionId> {
    let count = module.module.functions.len();
    let mut screen = Screen {
        module,
        meets,
        states: std::iter::repeat_with(State::default).take(count).collect(),
        queue: Vec::new(),
        has_shape: roots.iter().any(|&root| launch(module, root).shape.is_some()),
        steps_left: MAX_SCREEN_STEPS,
    };
    let mut work = roots.to_vec();
    while let Some(function) = work.pop() {
        let has_body = module.module.function(function).body.is_some();
        if has_body && !std::mem::replace(&mut screen.states[function.index()].is_queued, true) {
            screen.queue.push(function);
            work.extend(
                module
                    .call_graph()
                    .calls_of(function)
                    .iter()
                    .map(|site| site.callee),
            );
        }
    }
    // Callers come first where there is no cycle.
    screen.queue.reverse();
    while let Some(function) = screen.queue.pop() {
        screen.function(function);
    }
    let is_suspect = screen.with_callers();
    roots
        .iter()
        .copied()
        .filter(|&root| is_suspect[root.index()] || !has_whole_rows(module, root))
        .collect()
}

/// Whether the threads of each warp are the lanes 0 to 31 of one row of the CTA, in every launch.
fn has_whole_rows(module: &ModuleContext<'_>, root: FunctionId) -> bool {
    launch(module, root)
        .shape
        .is_none_or(|[x, ..]| x % WARP as u32 == 0)
}

fn launch(module: &ModuleContext<'_>, root: FunctionId) -> Launch {
    let bounds = &module.module.function(root).launch;
    let stated = module.settings.launches.block(module.module.function_name(root));
    Launch::new(bounds, stated, false)
}

/// What is known of a function so far. It only rises.
#[derive(Default)]
struct State {
    /// By register.
    registers: Vec<Kind>,
    /// By slot.
    slots: Vec<Kind>,
    /// By number and byte offset.
    params: FxHashMap<(u32, i32), Kind>,
    result: Kind,
    /// By block; empty if none is.
    restricted: Vec<bool>,
    /// By register; empty if no block is restricted.
    several: Vec<Several>,
    is_suspect: bool,
    is_queued: bool,
}

/// The definitions of a register.
#[derive(Clone, Copy, Default)]
struct Several {
    definitions: u32,
    /// Some of them are reached, or executed, by some lanes only.
    by_lane: bool,
}

struct Screen<'a, 'm> {
    module: &'a ModuleContext<'m>,
    meets: &'a [bool],
    states: Vec<State>,
    queue: Vec<FunctionId>,
    /// Some CTA's shape is known.
    has_shape: bool,
    steps_left: usize,
}

impl Screen<'_, '_> {
    /// Looks at a function until its kinds and restricted blocks agree.
    fn function(&mut self, id: FunctionId) {
        let module = self.module;
        let mut state = std::mem::take(&mut self.states[id.index()]);
        state.is_queued = false;
        if let (false, Some(body)) = (state.is_suspect, module.module.function(id).body.as_ref()) {
            let slots = module.function(id).slots();
            state.registers.resize(body.registers.len(), Kind::default());
            state.slots.resize(slots.slots.len(), Kind::default());
            let result = state.result;
            let mut pass = Pass {
                screen: self,
                id,
                body,
                slots,
                state: &mut state,
                latest: vec![(0, Kind::default()); body.registers.len()],
                is_read: vec![false; body.registers.len()],
                block: 0,
                changed: false,
            };
            pass.settle();
            if state.result != result {
                for site in module.call_graph().calls_to(id) {
                    self.ask(site.caller);
                }
            }
        }
        self.states[id.index()] = state;
    }

    fn special(&self, special: Special) -> Kind {
        match special {
            Special::Tid(0) => Kind::THREAD,
            Special::LaneId => Kind::LANE_ID,
            Special::LaneMaskEq
            | Special::LaneMaskLe
            | Special::LaneMaskLt
            | Special::LaneMaskGe
            | Special::LaneMaskGt => Kind::LANE,
            Special::Tid(_) | Special::Ntid(_) if self.has_shape => Kind::CONSTANT,
            Special::Ntid(0) => Kind::THREADS,
            _ => Kind::UNKNOWN,
        }
    }

    fn ask(&mut self, function: FunctionId) {
        let state = &mut self.states[function.index()];
        if !state.registers.is_empty() && !std::mem::replace(&mut state.is_queued, true) {
            self.queue.push(function);
        }
    }

    /// The suspects and all that call them.
    fn with_callers(&self) -> Vec<bool> {
        let mut found: Vec<bool> = self.states.iter().map(|state| state.is_suspect).collect();
        let mut work: Vec<usize> = (0..found.len()).filter(|&function| found[function]).collect();
        while let Some(function) = work.pop() {
            for site in self.module.call_graph().calls_to(FunctionId::new(function)) {
                if !std::mem::replace(&mut found[site.caller.index()], true) {
                    work.push(site.caller.index());
                }
            }
        }
        found
    }
}

/// A register that nothing has written holds anything.
const fn defined(kind: Kind) -> Kind {
    if kind.is_defined { kind } else { Kind::UNKNOWN }
}

/// One function being looked at.
struct Pass<'p, 'a, 'm> {
    screen: &'p mut Screen<'a, 'm>,
    id: FunctionId,
    body: &'a Body<'m>,
    slots: &'a Slots,
    state: &'p mut State,
    /// By register: the kind of its last definition, and the number of the block's visit that it is in.
    latest: Vec<(u32, Kind)>,
    /// By register: its kind has been asked for, so that a change of it matters.
    is_read: Vec<bool>,
    /// The number of the current visit.
    block: u32,
    changed: bool,
}

/// Operands of an operation that are looked at.
const MAX_USES: usize = 8;

impl Pass<'_, '_, '_> {
    fn settle(&mut self) {
        loop {
            self.changed = false;
            for number in 0..self.body.blocks.len() {
                self.block(BlockId::new(number));
            }
            let passed = self.body.instructions.len() + 1;
            match self.screen.steps_left.checked_sub(passed) {
                Some(left) => self.screen.steps_left = left,
                None => self.state.is_suspect = true,
            }
            if self.state.is_suspect {
                return;
            }
            // From here on, registers are looked at from outside of blocks.
            self.block = self.block.wrapping_add(1);
            if !self.changed && !self.restrict() {
                break;
            }
        }
        self.state.is_suspect |= self.has_suspect();
    }

    fn block(&mut self, block: BlockId) {
        let range = self.body.blocks[block.index()].instructions.range();
        let is_restricted = self.is_restricted(block);
        self.block = self.block.wrapping_add(1);
        for number in range {
            self.instruction(InstructionId::new(number), is_restricted);
        }
    }

    fn is_restricted(&self, block: BlockId) -> bool {
        self.state.restricted.get(block.index()).copied().unwrap_or(false)
    }

    fn kind(&mut self, value: Value) -> Kind {
        match value {
            Value::Register(register) => self.register(register),
            Value::Not(register) => Kind {
                form: Form::Any,
                ..self.register(register)
            },
            Value::Integer(value) => Kind::of_integer(value),
            Value::Special(special) => self.screen.special(special),
            Value::Symbol(..) | Value::Param(..) | Value::ReturnSlot(..) | Value::Unknown => Kind::UNKNOWN,
        }
    }

    /// What a register holds: what the block has written, or else any of its definitions.
    fn register(&mut self, register: Register) -> Kind {
        let index = register.index();
        match self.latest[index] {
            (block, kind) if block == self.block => kind,
            _ => {
                self.is_read[index] = true;
                defined(self.state.registers[index])
            }
        }
    }

    fn guard(&mut self, instruction: &Instruction) -> Option<Kind> {
        instruction
            .guard
            .map(|guard| self.kind(Value::Register(guard.register)))
    }

    fn instruction(&mut self, id: InstructionId, is_restricted: bool) {
        let body = self.body;
        let instruction = &body.instructions[id.index()];
        let by_lane = is_restricted || self.guard(instruction).is_some_and(|kind| kind.lane);
        let results = body.results(instruction);
        if !results.is_empty() {
            let kind = self.result(id, instruction);
            for result in results {
                if let Value::Register(register) = *result {
                    self.define(register, kind, instruction, by_lane);
                }
            }
        }
        match instruction.op {
            Op::Access(access) if access.kind != AccessKind::Load => {
                let uses = body.uses(instruction);
                if let Some((_, value)) = returned(body, instruction.op, uses) {
                    let kind = if by_lane { Kind::LANE } else { self.kind(value) };
                    let joined = self.state.result.join(kind);
                    self.changed |= joined != self.state.result;
                    self.state.result = joined;
                }
                self.store(id, instruction, by_lane);
            }
            Op::Call(call) => {
                self.pass_arguments(call);
                self.store(id, instruction, by_lane);
            }
            _ => {}
        }
    }

    fn define(&mut self, register: Register, kind: Kind, instruction: &Instruction, by_lane: bool) {
        let index = register.index();
        let mut kind = kind.cut(self.body.registers[index].bits);
        if instruction.guard.is_some() {
            // The lanes where the guard does not hold keep what they have.
            kind = self.register(register).join(kind);
            if by_lane {
                kind = kind.split();
            }
        }
        self.latest[index] = (self.block, kind);
        let known = self.state.registers[index];
        let mut joined = known.join(kind);
        if known.is_defined && joined.bits > known.bits {
            // Around a loop it would grow bit by bit.
            joined.bits = 64;
            joined = joined.cut(self.body.registers[index].bits);
        }
        if let Some(several) = self.state.several.get_mut(index) {
            several.by_lane |= by_lane;
            if several.definitions > 1 && several.by_lane {
                joined = joined.split();
            }
        }
        self.changed |= self.is_read[index] && joined != known;
        self.state.registers[index] = joined;
    }

    fn result(&mut self, id: InstructionId, instruction: &Instruction) -> Kind {
        let uses = self.body.uses(instruction);
        match instruction.op {
            op if is_interpreted(op) => {
                let mut kinds = [Kind::UNKNOWN; MAX_USES];
                let Some(kinds) = kinds.get_mut(..uses.len()) else {
                    return Kind::LANE;
                };
                for (kind, &value) in kinds.iter_mut().zip(uses) {
                    *kind = self.kind(value);
                }
                kind::result(op, kinds, uses)
            }
            Op::Access(access) if access.kind == AccessKind::Load => {
                if let Effect::Load(slot) = self.slots.effect(id, instruction) {
                    self.state.slots[slot as usize].cut(access.bits)
                } else if let Some((number, offset)) = loaded_param(instruction.op, uses) {
                    let piece = (u32::from(number), offset);
                    self.state.params.get(&piece).copied().unwrap_or(Kind::UNKNOWN)
                } else {
                    Kind::UNKNOWN
                }
            }
            Op::Collective(Collective::Vote(Vote::Ballot), _) => match uses.get(1) {
                // The ballot of what is known in each lane is a constant.
                Some(&predicate) if self.kind(predicate).may_be_exact() => Kind::CONSTANT,
                _ => Kind::UNKNOWN,
            },
            Op::CallResult(call) => self
                .callee(self.body.instruction(call))
                .map_or(Kind::UNKNOWN, |callee| {
                    defined(self.screen.states[callee.index()].result)
                }),
            _ => Kind::UNKNOWN,
        }
    }

    fn callee(&self, instruction: &Instruction) -> Option<FunctionId> {
        let Some(Callee::Direct(symbol)) = self.body.callee(instruction) else {
            return None;
        };
        let module = self.screen.module.module;
        let callee = module.function_of(symbol)?;
        Some(module.function(callee).alias_of.unwrap_or(callee))
    }

    fn pass_arguments(&mut self, call: crate::ir::CallId) {
        let body = self.body;
        let call = body.call(call);
        let Some(callee) = self.callee(body.instruction(call.instruction)) else {
            return;
        };
        if callee == self.id {
            self.state.is_suspect = true;
            return;
        }
        let mut is_news = false;
        for argument in body.arguments(call) {
            let Ok(offset) = i32::try_from(argument.offset) else {
                continue;
            };
            let kind = self.kind(argument.value);
            let state = &mut self.screen.states[callee.index()];
            let known = state.params.entry((argument.param, offset)).or_default();
            let joined = known.join(kind);
            is_news |= joined != *known;
            *known = joined;
        }
        if is_news {
            self.screen.ask(callee);
        }
    }

    fn store(&mut self, id: InstructionId, instruction: &Instruction, by_lane: bool) {
        match self.slots.effect(id, instruction) {
            Effect::Store(slot) => {
                let stored = self.body.uses(instruction).get(2).copied();
                let kind = stored.map_or(Kind::UNKNOWN, |value| self.kind(value));
                self.fill(slot, if by_lane { Kind::LANE } else { kind });
                for other in self.slots.overlapping(slot) {
                    let is_known = !by_lane && kind.low == 0;
                    self.fill(other, if is_known { Kind::UNKNOWN } else { Kind::LANE });
                }
            }
            Effect::Spoil(slot) => {
                self.fill(slot, Kind::UNKNOWN);
                for other in self.slots.overlapping(slot) {
                    self.fill(other, Kind::UNKNOWN);
                }
            }
            Effect::SpoilEscaped => {
                for slot in 0..self.state.slots.len() as SlotId {
                    if self.slots.escapes(slot) {
                        self.fill(slot, Kind::UNKNOWN);
                    }
                }
            }
            Effect::Load(_) | Effect::None => {}
        }
    }

    fn fill(&mut self, slot: SlotId, kind: Kind) {
        let known = &mut self.state.slots[slot as usize];
        let joined = known.join(kind);
        self.changed |= joined != *known;
        *known = joined;
    }

    /// Whether something may be definite here, once the kinds are settled.
    fn has_suspect(&mut self) -> bool {
        let body = self.body;
        let is_called = !self.screen.module.call_graph().calls_to(self.id).is_empty();
        let is_split = !self.state.restricted.is_empty();
        (0..body.blocks.len()).map(BlockId::new).any(|block| {
            let is_restricted = self.is_restricted(block);
            body.block(block).any(|(_, instruction)| {
                let by_lane = is_restricted || self.guard(instruction).is_some_and(|kind| kind.lane);
                match instruction.op {
                    Op::Collective(_, true) => {
                        let mask = body.uses(instruction).first().copied().unwrap_or(Value::Unknown);
                        let mask = self.kind(mask);
                        by_lane || mask.may_be_exact() && mask.form != Form::Full
                    }
                    Op::Barrier(barrier) => by_lane && barrier.waits && !barrier.counted && !barrier.cluster,
                    Op::Call(_) => by_lane && self.may_end_lanes(instruction),
                    // Lanes that a called function ends do not come back to its callers.
                    Op::Exit | Op::Trap => is_split && is_called,
                    _ => false,
                }
            })
        })
    }

    /// Whether a call that only some lanes make may meet others, or not come back.
    fn may_end_lanes(&self, instruction: &Instruction) -> bool {
        let module = self.screen.module;
        let Some(callee) = self.callee(instruction) else {
            return false;
        };
        let function = module.module.function(callee);
        let Some(body) = &function.body else {
            return function.noreturn || module.module.function_name(callee) == "__assertfail";
        };
        self.screen.meets[callee.index()]
            || function.noreturn
            || !body.calls.is_empty()
            || body
                .instructions
                .iter()
                .any(|instruction| matches!(instruction.op, Op::Exit | Op::Trap))
    }
}
