//! Which registers hold a constant, flow-sensitively, for the few registers that a question depends on.
//!
//! ```text
//! lattice  ⊥ (not written yet) < Known(v) for each v < ⊤ (Unknown), per register of the slice
//! join     ⊥ ⊔ x = x      Known(v) ⊔ Known(v) = Known(v)      else ⊤
//! apply    r := op(uses)  when every use is Known (see `evaluate`), a parameter where the caller's argument is given,
//!          else ⊤; under a guard, the join with what the register held before
//! ```
//!
//! Where all registers that count have one definition, as in code in static single assignment form, they hold one
//! value wherever they are read, and nothing flows.
//!
//! The slice holds the registers asked about and, backwards, those that interpreted operations compute them from.
//! Nothing is known of the registers of a body with syntax errors: a write may be what was lost. Values spilled to `.local` memory are followed through their slots (see `slots`). Masks and their like hang off a handful of registers, so a function with ten thousand costs no more than one with
//! ten.

use rustc_hash::FxHashMap;

use super::cfg::Cfg;
use super::dataflow::{Analysis, Cursor, Solution, solve};
use super::definitions::Definitions;
use super::evaluate::{evaluate, is_interpreted, ones, signed, unpack};
use super::slots::{Effect, SlotId, Slots};
use crate::context::Analyses;
use crate::ir::{Access, AccessKind, Body, Instruction, InstructionId, Op, Register, Space, Value};
use crate::limits::{MAX_SLICE_REGISTERS, MAX_SOLUTION_CELLS};

/// An element of the lattice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    pub const fn known(self) -> Option<u64> {
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

/// A piece of a parameter: its number and a byte offset in it.
pub type ParamPiece = (u16, u32);

/// What a caller passes, by piece; pieces that are missing are unknown.
pub type Arguments = FxHashMap<ParamPiece, Constant>;

/// The constants of one body that some values depend on.
pub struct Constants<'a> {
    body: &'a Body<'a>,
    slice: Slice<'a>,
    cfg: &'a Cfg,
    held: Held,
    /// The parameters that the slice reads.
    pub params: Vec<ParamPiece>,
}

impl<'a> Constants<'a> {
    /// Solves for `seeds` and what they are computed from, given what a caller passes.
    #[must_use]
    pub fn new(
        body: &'a Body<'a>,
        analyses: &'a Analyses<'_>,
        seeds: impl Iterator<Item = Value>,
        arguments: &'a Arguments,
    ) -> Self {
        let (cfg, definitions, slots) = (analyses.cfg(), analyses.definitions(), analyses.slots());
        let slice = Slice::new(body, definitions, slots, seeds, arguments, analyses.is_damaged());
        let params = slice.params(definitions);
        let cells = slice.keys.len().saturating_mul(body.blocks.len());
        let held = if let Some(everywhere) = slice.everywhere(definitions) {
            Held::Everywhere(everywhere)
        } else if cells <= MAX_SOLUTION_CELLS
            && let Some(solution) = solve(body, cfg, &slice)
        {
            Held::ByPlace(solution)
        } else {
            Held::Everywhere(Vec::new())
        };
        Self {
            body,
            slice,
            cfg,
            held,
            params,
        }
    }

    fn is_reached(&self, instruction: InstructionId) -> bool {
        self.cfg.rank(self.body.block_of(instruction)).is_some()
    }

    /// The constants before each of `instructions`, which should be in the order of the input.
    pub fn before<T>(
        &self,
        instructions: impl Iterator<Item = InstructionId>,
        mut visit: impl FnMut(InstructionId, &dyn Fn(Value) -> Constant) -> T,
    ) -> Vec<T> {
        let nothing = Vec::new();
        let mut cursor = match &self.held {
            Held::Everywhere(_) => None,
            Held::ByPlace(solution) => Some(Cursor::new(self.body, &self.slice, solution)),
        };
        instructions
            .map(|instruction| {
                let state = match (&self.held, &mut cursor) {
                    (Held::Everywhere(state), _) if self.is_reached(instruction) => state,
                    (_, Some(cursor)) => cursor.before(instruction).unwrap_or(&nothing),
                    _ => &nothing,
                };
                visit(instruction, &|value| self.slice.value(state, value))
            })
            .collect()
    }
}

/// What the slice holds.
enum Held {
    /// Wherever it is read; nothing is known of what is missing.
    Everywhere(Vec<Constant>),
    /// By block.
    ByPlace(Solution<Vec<Constant>>),
}

/// What holds a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Register(Register),
    Slot(SlotId),
}

const NO_PLACE: u32 = u32::MAX;

struct Slice<'a> {
    body: &'a Body<'a>,
    arguments: &'a Arguments,
    slots: &'a Slots,
    /// What the slice follows, and each one's place in the states.
    keys: Vec<Key>,
    /// By register, [`NO_PLACE`] for those that are not followed: looked up for every result of the body.
    register_places: Vec<u32>,
    slot_places: FxHashMap<SlotId, u32>,
}

/// The piece of a parameter that an instruction loads.
fn loaded_param(body: &Body<'_>, instruction: &Instruction) -> Option<ParamPiece> {
    match (instruction.op, body.uses(instruction)) {
        (
            Op::Access(Access {
                kind: AccessKind::Load,
                space: Space::Param,
                count: 1,
                ..
            }),
            [Value::Param(number, offset), Value::Integer(0), ..],
        ) => Some((*number, u32::try_from(*offset).ok()?)),
        _ => None,
    }
}

impl<'a> Slice<'a> {
    fn new(
        body: &'a Body<'a>,
        definitions: &Definitions,
        slots: &'a Slots,
        seeds: impl Iterator<Item = Value>,
        arguments: &'a Arguments,
        is_damaged: bool,
    ) -> Self {
        let mut slice = Self {
            body,
            arguments,
            slots,
            keys: Vec::new(),
            register_places: vec![NO_PLACE; body.registers.len()],
            slot_places: FxHashMap::default(),
        };
        for seed in seeds.filter(|_| !is_damaged) {
            slice.add_value(seed);
        }
        let mut next = 0;
        while let Some(&key) = slice.keys.get(next) {
            next += 1;
            let writers = match key {
                Key::Register(register) => definitions.of(register),
                Key::Slot(slot) => slots.stores(slot),
            };
            for &writer in writers {
                slice.add_inputs(writer);
            }
        }
        slice
    }

    /// Adds what an instruction's outcome hangs off.
    fn add_inputs(&mut self, id: InstructionId) {
        let (body, instruction) = (self.body, self.body.instruction(id));
        if let Some(guard) = instruction.guard {
            self.add(Key::Register(guard.register));
        }
        match self.slots.effect(id, instruction) {
            Effect::Load(slot) => self.add(Key::Slot(slot)),
            Effect::Store(_) => body
                .uses(instruction)
                .get(2)
                .into_iter()
                .for_each(|&value| self.add_value(value)),
            _ if is_interpreted(instruction.op) => {
                body.uses(instruction)
                    .iter()
                    .for_each(|&value| self.add_value(value));
            }
            _ => {}
        }
    }

    /// Where registers with one definition are all there is: these hold one value wherever they are read.
    fn everywhere(&self, definitions: &Definitions) -> Option<Vec<Constant>> {
        let mut steps = Vec::with_capacity(self.keys.len());
        for key in &self.keys {
            match *key {
                Key::Register(register) => match definitions.of(register) {
                    [] => {}
                    &[one] if self.body.instruction(one).guard.is_none() => steps.push(one),
                    _ => return None,
                },
                Key::Slot(_) => return None,
            }
        }
        // What comes later in the text has not been written where it is read: that is round a loop.
        steps.sort_unstable();
        let mut state = self.entry();
        for step in steps {
            self.apply(&mut state, step, self.body.instruction(step));
        }
        Some(state)
    }

    fn add_value(&mut self, value: Value) {
        if let Value::Register(register) | Value::Not(register) = value {
            self.add(Key::Register(register));
        }
    }

    /// What lies past the limit is left out, and so unknown.
    fn add(&mut self, key: Key) {
        if self.keys.len() >= MAX_SLICE_REGISTERS || self.place(key).is_some() {
            return;
        }
        let place = self.keys.len() as u32;
        match key {
            Key::Register(register) => self.register_places[register.index()] = place,
            Key::Slot(slot) => {
                self.slot_places.insert(slot, place);
            }
        }
        self.keys.push(key);
    }

    /// Where the states hold what `key` holds.
    fn place(&self, key: Key) -> Option<usize> {
        let place = match key {
            Key::Register(register) => self.register_places[register.index()],
            Key::Slot(slot) => self.slot_places.get(&slot).copied().unwrap_or(NO_PLACE),
        };
        (place != NO_PLACE).then_some(place as usize)
    }

    fn params(&self, definitions: &Definitions) -> Vec<ParamPiece> {
        let mut params: Vec<_> = self
            .keys
            .iter()
            .flat_map(|key| match key {
                Key::Register(register) => definitions.of(*register),
                Key::Slot(_) => &[],
            })
            .filter_map(|definition| loaded_param(self.body, self.body.instruction(*definition)))
            .collect();
        params.sort_unstable();
        params.dedup();
        params
    }

    fn held(&self, state: &[Constant], key: Key) -> Constant {
        self.place(key)
            .and_then(|place| state.get(place))
            .copied()
            .unwrap_or(Constant::Unknown)
    }

    fn register(&self, state: &[Constant], register: Register) -> Constant {
        self.held(state, Key::Register(register))
    }

    fn value(&self, state: &[Constant], value: Value) -> Constant {
        match value {
            Value::Integer(value) => Constant::Known(value as u64),
            Value::Register(register) => self.register(state, register),
            Value::Not(register) => match self.register(state, register) {
                Constant::Known(value) => Constant::Known(value & 1 ^ 1),
                other => other,
            },
            _ => Constant::Unknown,
        }
    }

    /// The result with this number.
    fn outcome(
        &self,
        state: &[Constant],
        id: InstructionId,
        instruction: &Instruction,
        number: usize,
    ) -> Constant {
        if let Some(piece) = loaded_param(self.body, instruction) {
            let passed = self.arguments.get(&piece).copied().unwrap_or(Constant::Unknown);
            return extended(instruction, passed);
        }
        if let Effect::Load(slot) = self.slots.effect(id, instruction) {
            return match self.held(state, Key::Slot(slot)) {
                // Memory that nothing has written holds anything.
                Constant::Unwritten => Constant::Unknown,
                held => extended(instruction, held),
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
            match self.value(state, operand) {
                Constant::Known(known) => *value = known,
                // A register that nothing has written holds anything.
                _ => return Constant::Unknown,
            }
        }
        let outcome = match (instruction.op, number) {
            (Op::Unpack(bits), number) => unpack(bits, number, values[0]),
            // The second result of a comparison is the complement, combined with the third operand alike.
            (Op::Compare(..), 1) => None,
            (op, 0) => evaluate(op, &values[..uses.len()]),
            _ => None,
        };
        outcome.map_or(Constant::Unknown, Constant::Known)
    }
}

/// Most operands of an interpreted operation: a vector of 8 that is packed.
const MAX_INTERPRETED_USES: usize = 8;

impl Analysis for Slice<'_> {
    type State = Vec<Constant>;

    fn entry(&self) -> Self::State {
        vec![Constant::Unwritten; self.keys.len()]
    }

    fn join(&self, into: &mut Self::State, from: &Self::State) -> bool {
        let mut changed = false;
        for (into, from) in into.iter_mut().zip(from) {
            let joined = into.join(*from);
            changed |= joined != *into;
            *into = joined;
        }
        changed
    }

    fn apply(&self, state: &mut Self::State, id: InstructionId, instruction: &Instruction) {
        let executed = instruction.guard.map(|guard| {
            self.register(state, guard.register)
                .known()
                .map(|value| (value & 1 == 1) != guard.negated)
        });
        for (number, result) in self.body.results(instruction).iter().enumerate() {
            let Value::Register(register) = result else {
                continue;
            };
            let Some(place) = self.place(Key::Register(*register)) else {
                continue;
            };
            let width = match self.body.registers[register.index()].bits {
                0 => 64,
                bits => bits,
            };
            let outcome = match self.outcome(state, id, instruction, number) {
                Constant::Known(value) => Constant::Known(value & ones(width)),
                other => other,
            };
            write(&mut state[place], outcome, executed);
        }
        self.apply_to_slots(state, id, instruction, executed);
    }
}

/// A write under a guard: none, or one that is known, or one that is not.
fn write(held: &mut Constant, outcome: Constant, executed: Option<Option<bool>>) {
    *held = match executed {
        None | Some(Some(true)) => outcome,
        Some(Some(false)) => *held,
        // Not written before, it holds anything where the guard is false.
        Some(None) if *held == Constant::Unwritten => Constant::Unknown,
        Some(None) => held.join(outcome),
    };
}

/// A loaded value, extended to 64 bits as the load says.
fn extended(instruction: &Instruction, value: Constant) -> Constant {
    let Op::Access(access) = instruction.op else {
        return value;
    };
    match value {
        Constant::Known(bits) if access.signed => Constant::Known(signed(bits, access.bits) as u64),
        Constant::Known(bits) => Constant::Known(bits & ones(access.bits)),
        other => other,
    }
}

impl Slice<'_> {
    fn apply_to_slots(
        &self,
        state: &mut [Constant],
        id: InstructionId,
        instruction: &Instruction,
        executed: Option<Option<bool>>,
    ) {
        let mut set = |slot: SlotId, value: Constant| {
            if let Some(place) = self.place(Key::Slot(slot)) {
                write(&mut state[place], value, executed);
            }
        };
        let effect = self.slots.effect(id, instruction);
        match effect {
            Effect::Store(slot) | Effect::Spoil(slot) => {
                for other in self.slots.overlapping(slot) {
                    set(other, Constant::Unknown);
                }
                let stored = self
                    .body
                    .uses(instruction)
                    .get(2)
                    .filter(|_| effect == Effect::Store(slot));
                let bits = ones((self.slots.slots[slot as usize].bytes * 8) as u8);
                let value = match stored.map(|&value| self.value(state, value)) {
                    Some(Constant::Known(value)) => Constant::Known(value & bits),
                    _ => Constant::Unknown,
                };
                if let Some(place) = self.place(Key::Slot(slot)) {
                    write(&mut state[place], value, executed);
                }
            }
            Effect::SpoilEscaped => {
                for (key, held) in self.keys.iter().zip(state) {
                    if let Key::Slot(slot) = *key
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
