//! Values that stay in `.local` memory between a store and a load, as unoptimised code keeps all of them.
//!
//! A *slot* is a stretch of a `.local` symbol that some instruction reads or writes at a constant offset. Forward
//! analyses treat slots like registers:
//!
//! ```text
//! st  [s+k], v      slot(s, k) := v, slots that overlap it in part := ⊤
//! ld  r, [s+k]      r := slot(s, k)
//! st  [?], v        every slot of every symbol whose address is used for more than that := ⊤
//! call, atomic, …   the same
//! ```
//!
//! An address is `s+k` where it is computed by single, unguarded definitions: the symbol's own address, moves,
//! conversions between local and generic, additions of constants. Any other use of an address lets it *escape*:
//! through it, an instruction that does not name the symbol may write any of its slots.

use rustc_hash::FxHashMap;

use super::definitions::Definitions;
use ptxcheck_common::groups::Groups;
use ptxcheck_ir::{
    AccessKind, BinaryOp, Body, Instruction, InstructionId, Module, Op, Register, Space, SymbolId, Value,
};

/// A slot: its place among [`Slots::slots`].
pub(crate) type SlotId = u32;

/// A stretch of a `.local` symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Slot {
    /// The symbol.
    pub symbol: SymbolId,
    /// Byte offset of its start.
    pub offset: i64,
    /// Length in bytes.
    pub bytes: u32,
}

/// The effect of an instruction on slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing.
    None,
    /// Its one result is the value of the slot.
    Load(SlotId),
    /// The slot holds its one stored value; see [`Slots::overlapping`] for those it spoils.
    Store(SlotId),
    /// It writes the slot with something that is not followed (a vector, a part under a guard).
    Spoil(SlotId),
    /// It may write any slot of a symbol that [`Slots::escapes`].
    SpoilEscaped,
}

/// The slots of a body.
#[derive(Debug)]
pub(crate) struct Slots {
    /// Sorted by symbol and offset.
    pub slots: Vec<Slot>,
    /// For each instruction: the slot that it accesses; empty if none does.
    accesses: Vec<SlotId>,
    /// The stores to slots, by slot.
    writers: Groups<InstructionId>,
    /// For each slot: true if it can be written through an address that is not followed.
    escaping: Vec<bool>,
    has_escaped: bool,
}

type Address = (SymbolId, i64);

impl Slots {
    /// No slots.
    pub(crate) const EMPTY: Self = Self {
        slots: Vec::new(),
        accesses: Vec::new(),
        writers: Groups::EMPTY,
        escaping: Vec::new(),
        has_escaped: false,
    };

    /// Of `body`. Costs a pass over the body if the module has `.local` symbols, else nothing.
    #[must_use]
    pub(crate) fn new(module: &Module<'_>, body: &Body<'_>, definitions: &Definitions) -> Self {
        let is_local = |symbol: SymbolId| module.symbol(symbol).space == Space::Local;
        let is_named = |value: &Value| matches!(value, Value::Symbol(symbol, _) if is_local(*symbol));
        let is_passed = || body.arguments.iter().any(|argument| is_named(&argument.value));
        if !module.has_local_memory || !(body.values.iter().any(is_named) || is_passed()) {
            return Self::EMPTY;
        }
        let mut search = Search {
            body,
            definitions,
            is_local: &is_local,
            known: vec![RegisterAddress::Pending; body.registers.len()],
            chain: Vec::new(),
        };
        let mut found = Found::default();
        let mut escaped = Vec::new();
        for (number, instruction) in body.instructions.iter().enumerate() {
            let id = InstructionId::new(number);
            let slot = search.accessed(instruction);
            if let Some(slot) = slot {
                found.note(id, slot);
            }
            let mut leads_on = false;
            for (place, &value) in body.uses(instruction).iter().enumerate() {
                if !search.may_be(value) {
                    continue;
                }
                leads_on = true;
                // The slot's own address is followed.
                if slot.is_some() && place == 0 {
                    continue;
                }
                if let Some((symbol, _)) = search.address(value)
                    && !search.is_followed(instruction)
                {
                    escaped.push(symbol);
                }
            }
            if !leads_on || moved(body, instruction).is_none() {
                search.rule_out(instruction);
            }
        }
        for call in &body.calls {
            escaped.extend(
                body.arguments(call)
                    .iter()
                    .filter_map(|argument| search.address(argument.value))
                    .map(|a| a.0),
            );
        }
        escaped.sort_unstable();
        escaped.dedup();
        Self::of_accesses(body, found, &escaped)
    }

    /// The slots of the accesses found, and of the symbols that escape, which are sorted.
    fn of_accesses(body: &Body<'_>, found: Found, escaped: &[SymbolId]) -> Self {
        let mut order: Vec<(Slot, SlotId)> = found.slots.into_iter().zip(0..).collect();
        order.sort_unstable();
        let slots: Vec<Slot> = order.iter().map(|(slot, _)| *slot).collect();
        let mut places = vec![NO_SLOT; slots.len()];
        for ((_, number), place) in order.iter().zip(0..) {
            places[*number as usize] = place;
        }
        let is_store = |id: InstructionId| matches!(body.instruction(id).op, Op::Access(access) if access.kind == AccessKind::Store);
        let count = if slots.is_empty() {
            0
        } else {
            body.instructions.len()
        };
        let mut accesses = vec![NO_SLOT; count];
        let mut stores = Vec::new();
        for (id, number) in found.accesses {
            let slot = places[number as usize];
            accesses[id.index()] = slot;
            if is_store(id) {
                stores.push((slot as usize, id));
            }
        }
        let writers = Groups::new(slots.len(), stores.iter().copied());
        let escaping = slots
            .iter()
            .map(|slot| escaped.binary_search(&slot.symbol).is_ok())
            .collect();
        Self {
            slots,
            accesses,
            writers,
            escaping,
            has_escaped: !escaped.is_empty(),
        }
    }

    /// The instructions that store to a slot, in the order of the input.
    #[must_use]
    pub(crate) fn stores(&self, slot: SlotId) -> &[InstructionId] {
        self.writers.of(slot as usize)
    }

    /// The effect of `instruction` on slots.
    #[must_use]
    pub(crate) fn effect(&self, id: InstructionId, instruction: &Instruction) -> Effect {
        if self.slots.is_empty() {
            return Effect::None;
        }
        let slot = self.accesses.get(id.index()).filter(|slot| **slot != NO_SLOT);
        match instruction.op {
            Op::Access(access) => match (slot, access.kind) {
                // Nobody but the thread writes them, whatever a program calls volatile.
                (Some(&slot), AccessKind::Load) if access.count == 1 => Effect::Load(slot),
                (_, AccessKind::Load) => Effect::None,
                (Some(&slot), AccessKind::Store) if access.count == 1 => Effect::Store(slot),
                (Some(&slot), _) => Effect::Spoil(slot),
                (None, _) if matches!(access.space, Space::Generic | Space::Local) => Effect::SpoilEscaped,
                (None, _) => Effect::None,
            },
            Op::Call(_) => Effect::SpoilEscaped,
            _ => Effect::None,
        }
    }

    /// True if the address of some `.local` symbol is used in a way that is not followed.
    #[must_use]
    pub(crate) fn has_escaped(&self) -> bool {
        self.has_escaped
    }

    /// True if a slot can be written through an address that is not followed.
    #[must_use]
    pub(crate) fn escapes(&self, slot: SlotId) -> bool {
        self.escaping[slot as usize]
    }

    /// True if a slot may be written otherwise than by its own stores.
    #[must_use]
    pub(crate) fn is_spoiled(&self, slot: SlotId) -> bool {
        self.escapes(slot) || self.overlapping(slot).next().is_some()
    }

    /// All that writes a slot of `body`, if that is one store, done whenever it is reached.
    #[must_use]
    pub(crate) fn only_store(&self, body: &Body<'_>, slot: SlotId) -> Option<InstructionId> {
        let &[one] = self.stores(slot) else { return None };
        let store = body.instruction(one);
        let is_plain = store.guard.is_none() && self.effect(one, store) == Effect::Store(slot);
        (is_plain && !self.is_spoiled(slot)).then_some(one)
    }

    /// The slot of so many bytes at an offset of a symbol, if some instruction accesses it.
    #[must_use]
    pub(crate) fn at(&self, symbol: SymbolId, offset: i64, bytes: u32) -> Option<SlotId> {
        let wanted = Slot {
            symbol,
            offset,
            bytes,
        };
        self.slots
            .binary_search(&wanted)
            .ok()
            .map(|place| place as SlotId)
    }

    /// The other slots that share bytes with this one.
    pub(crate) fn overlapping(&self, slot: SlotId) -> impl Iterator<Item = SlotId> + '_ {
        let own = self.slots[slot as usize];
        let end = own.offset.saturating_add(i64::from(own.bytes));
        // Slots are at most 32 bytes long, so those that begin further before cannot reach this one.
        let from = Slot {
            offset: own.offset.saturating_sub(i64::from(MAX_SLOT_BYTES)),
            bytes: 0,
            ..own
        };
        let first = self.slots.partition_point(|other| *other < from);
        self.slots[first..]
            .iter()
            .zip(first as SlotId..)
            .take_while(move |(other, _)| other.symbol == own.symbol && other.offset < end)
            .filter(move |(other, id)| {
                *id != slot && other.offset.saturating_add(i64::from(other.bytes)) > own.offset
            })
            .map(|(_, id)| id)
    }
}

/// In [`Slots::accesses`]: none.
const NO_SLOT: SlotId = SlotId::MAX;

/// Longest access: a vector of eight 32-bit or four 64-bit elements.
const MAX_SLOT_BYTES: u32 = 32;

/// The slots that are accessed, numbered as they come.
#[derive(Default)]
struct Found {
    slots: Vec<Slot>,
    /// For each slot: its index in `slots`.
    numbers: FxHashMap<Slot, SlotId>,
    /// The accesses, in the order of the input.
    accesses: Vec<(InstructionId, SlotId)>,
}

impl Found {
    fn note(&mut self, id: InstructionId, slot: Slot) {
        let number = *self.numbers.entry(slot).or_insert_with(|| {
            self.slots.push(slot);
            self.slots.len() as SlotId - 1
        });
        self.accesses.push((id, number));
    }
}

/// The operand that a register's address is computed from, and its distance from that in bytes.
fn step(body: &Body<'_>, definitions: &Definitions, register: Register) -> Option<(Value, i64)> {
    moved(body, body.instruction(definitions.only(body, register)?))
}

/// The operand that an instruction computes an address from, and the distance of the result from that in bytes.
fn moved(body: &Body<'_>, instruction: &Instruction) -> Option<(Value, i64)> {
    if instruction.guard.is_some() {
        return None;
    }
    match (instruction.op, body.uses(instruction)) {
        (Op::Copy | Op::ToGeneric(Space::Local, _) | Op::FromGeneric(Space::Local, _), &[from]) => {
            Some((from, 0))
        }
        (Op::Binary(BinaryOp::Add, _), &[from, Value::Integer(by)] | &[Value::Integer(by), from]) => {
            Some((from, by))
        }
        (Op::Binary(BinaryOp::Sub, _), &[from, Value::Integer(by)]) => Some((from, by.checked_neg()?)),
        _ => None,
    }
}

/// True if an instruction may access a slot. Takes a step or two for most, and no pass over the body.
#[must_use]
pub(crate) fn may_access(body: &Body<'_>, definitions: &Definitions, instruction: &Instruction) -> bool {
    let mut base = match (instruction.op, body.uses(instruction)) {
        (Op::Access(access), &[base, ..]) if matches!(access.space, Space::Local | Space::Generic) => base,
        _ => return false,
    };
    for _ in 0..MAX_STEPS {
        let Value::Register(register) = base else {
            return matches!(base, Value::Symbol(..));
        };
        match step(body, definitions, register) {
            Some((from, _)) => base = from,
            None => return false,
        }
    }
    true
}

/// Steps to the base of an address before it is taken for one of a slot.
const MAX_STEPS: usize = 8;

struct Search<'a> {
    body: &'a Body<'a>,
    definitions: &'a Definitions,
    is_local: &'a dyn Fn(SymbolId) -> bool,
    /// For each register: its `.local` address.
    known: Vec<RegisterAddress>,
    /// The registers that one search has come by, and how many bytes further than the next each points; kept for the next.
    chain: Vec<(Register, i64)>,
}

/// The `.local` address of a register, once it has been looked for.
#[derive(Clone, Copy)]
enum RegisterAddress {
    /// Not yet looked for.
    Pending,
    /// The address that it holds, if it holds one.
    Resolved(Option<Address>),
}

impl Search<'_> {
    /// True if a value may be a `.local` address, as far as is known yet.
    fn may_be(&self, value: Value) -> bool {
        match value {
            Value::Register(register) => {
                !matches!(self.known[register.index()], RegisterAddress::Resolved(None))
            }
            Value::Symbol(symbol, _) => (self.is_local)(symbol),
            _ => false,
        }
    }

    /// Notes that what an instruction writes is no `.local` address, since it uses none or computes none from what it uses.
    /// Most of what is used stands behind this, and needs no search.
    fn rule_out(&mut self, instruction: &Instruction) {
        for register in self.body.defined(instruction) {
            self.known[register.index()] = RegisterAddress::Resolved(None);
        }
    }

    /// The `.local` address that a value is.
    fn address(&mut self, value: Value) -> Option<Address> {
        match value {
            Value::Symbol(symbol, offset) => (self.is_local)(symbol).then_some((symbol, i64::from(offset))),
            Value::Register(register) => self.of_register(register),
            _ => None,
        }
    }

    /// Follows a chain of definitions down and adds its constants on the way back; no recursion, since chains are as
    /// long as the input makes them.
    fn of_register(&mut self, register: Register) -> Option<Address> {
        if let RegisterAddress::Resolved(known) = self.known[register.index()] {
            return known;
        }
        let mut chain = std::mem::take(&mut self.chain);
        let mut current = Value::Register(register);
        let mut found = loop {
            let Value::Register(register) = current else {
                break self.address(current);
            };
            if let RegisterAddress::Resolved(known) = self.known[register.index()] {
                break known;
            }
            // A register in its own chain stays unknown.
            self.known[register.index()] = RegisterAddress::Resolved(None);
            let Some((from, by)) = self.step(register) else {
                break None;
            };
            chain.push((register, by));
            current = from;
        };
        for (register, by) in chain.drain(..).rev() {
            found = found.and_then(|(symbol, offset)| Some((symbol, offset.checked_add(by)?)));
            self.known[register.index()] = RegisterAddress::Resolved(found);
        }
        self.chain = chain;
        found
    }

    fn step(&self, register: Register) -> Option<(Value, i64)> {
        step(self.body, self.definitions, register)
    }

    fn accessed(&mut self, instruction: &Instruction) -> Option<Slot> {
        let Op::Access(access) = instruction.op else {
            return None;
        };
        // Nothing is known of what an atomic would do to local memory, where there are none.
        let is_plain = matches!(access.kind, AccessKind::Load | AccessKind::Store);
        if !is_plain || !matches!(access.space, Space::Local | Space::Generic) {
            return None;
        }
        let &[base, Value::Integer(offset), ..] = self.body.uses(instruction) else {
            return None;
        };
        let (symbol, at) = self.address(base)?;
        let bytes = access.bytes();
        (1..=MAX_SLOT_BYTES).contains(&bytes).then_some(Slot {
            symbol,
            offset: at.checked_add(offset)?,
            bytes,
        })
    }

    /// True if a use of an address, other than an access to its slot, does not let it escape.
    fn is_followed(&self, instruction: &Instruction) -> bool {
        match instruction.op {
            Op::Access(_) => false,
            Op::Compare(..) | Op::IsSpace(_) => true,
            _ => match self.body.results(instruction) {
                &[Value::Register(result)] => {
                    matches!(self.known[result.index()], RegisterAddress::Resolved(Some(_)))
                        || self.step(result).is_some() && instruction.guard.is_none()
                }
                _ => false,
            },
        }
    }
}
