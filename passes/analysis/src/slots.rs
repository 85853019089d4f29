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
//! An address is `s+k` where `addresses` determines it. Any other use of an address lets it *escape*: through it, an
//! instruction that does not name the symbol may write any of its slots. An address that escapes only to functions that are
//! known not to keep it does not *leak*: those functions access their argument, and `passed` holds the calls that pass it;
//! the pieces of a symbol that they access are slots, too.

use rustc_hash::FxHashMap;

use super::addresses::{Addresses, Bytes, Callees, MAX_SLOT_BYTES, PassedAddress, SlotBase, address_source};
use super::definitions::Definitions;
use ptxcheck_common::groups::Groups;
use ptxcheck_ir::{AccessKind, Body, Instruction, InstructionId, Module, Op, Space, SymbolId, Value};

/// A slot: its index in [`Slots::slots`].
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
    /// The instruction neither reads nor writes slots.
    None,
    /// Its one result is the value of the slot.
    Load(SlotId),
    /// The slot holds its one stored value; see [`Slots::slots_overlapping`] for those it spoils.
    Store(SlotId),
    /// It writes an unknown value to the slot (a vector, a part under a guard).
    Spoil(SlotId),
    /// It may write any slot of a symbol that [`Slots::escapes`].
    SpoilEscaped,
}

/// The slots of a body.
#[derive(Debug)]
pub(crate) struct Slots {
    /// Sorted by symbol and offset.
    pub slots: Vec<Slot>,
    /// For each instruction: the slot that it accesses; empty if no instruction accesses one.
    accesses: Vec<SlotId>,
    /// The stores to slots, by slot.
    writers: Groups<InstructionId>,
    /// For each slot: true if it can be written through an address that is not followed.
    escaping: Vec<bool>,
    has_leaked: bool,
    /// The addresses that calls pass to functions that do not let them leak, of symbols that do not leak elsewhere.
    pub passed: Vec<PassedAddress>,
    /// For each slot: true if code that does not name its symbol, and was not passed its address, may access it.
    leaking: Vec<bool>,
    /// By slot: indices in `passed` of the addresses through which functions may write some of its bytes.
    callee_writers: Groups<u32>,
}

impl Slots {
    /// No slots.
    pub(crate) const EMPTY: Self = Self {
        slots: Vec::new(),
        accesses: Vec::new(),
        writers: Groups::EMPTY,
        escaping: Vec::new(),
        has_leaked: false,
        passed: Vec::new(),
        leaking: Vec::new(),
        callee_writers: Groups::EMPTY,
    };

    /// The slots of `body`. Costs a pass over the body if it names `.local` symbols, else nothing. `follows_params`: the
    /// function is not a kernel, and may keep its pointer arguments in slots. `callees`: the uses that functions make of
    /// their pointer arguments.
    #[must_use]
    pub(crate) fn new(
        module: &Module<'_>,
        body: &Body<'_>,
        definitions: &Definitions,
        callees: &dyn Callees,
        follows_params: bool,
    ) -> Self {
        let is_local = |symbol: SymbolId| module.symbol(symbol).space == Space::Local;
        let is_named = |value: &Value| matches!(value, Value::Symbol(symbol, _) if is_local(*symbol));
        let is_passed = || body.arguments.iter().any(|argument| is_named(&argument.value));
        if !module.has_local_memory || !(body.values.iter().any(is_named) || is_passed()) {
            return Self::EMPTY;
        }
        let addresses = Addresses::new(module, body, definitions, callees, follows_params);
        let mut found = AccessedSlots::default();
        for &(id, bytes) in &addresses.accesses {
            if let Some(slot) = slot_of(bytes) {
                let number = found.intern(slot);
                found.accesses.push((id, number));
            }
        }
        let symbols = |bases: &[SlotBase]| -> Vec<SymbolId> {
            let symbols = bases.iter().filter_map(|base| match base {
                SlotBase::Symbol(symbol) => Some(*symbol),
                SlotBase::Param(_) => None,
            });
            symbols.collect()
        };
        let leaked = symbols(&addresses.leaked);
        let mut all_passed = addresses.passed;
        all_passed.retain(
            |passed| matches!(passed.base, SlotBase::Symbol(symbol) if leaked.binary_search(&symbol).is_err()),
        );
        let mut written = Vec::new();
        for (passed, number) in all_passed.iter().zip(0..) {
            for touched in callees.accessed_bytes(passed.callee, passed.param).unwrap_or(&[]) {
                let Some(offset) = passed.offset.checked_add(touched.offset) else {
                    continue;
                };
                let (base, count) = (passed.base, touched.count);
                if let Some(slot) = slot_of(Bytes { base, offset, count }) {
                    found.intern(slot);
                    written.extend(touched.is_written.then_some((slot, number)));
                }
            }
        }
        let mut slots = Self::of_accesses(body, found, &symbols(&addresses.escaped));
        slots.has_leaked = !leaked.is_empty();
        slots.leaking = slots
            .slots
            .iter()
            .map(|slot| leaked.binary_search(&slot.symbol).is_ok())
            .collect();
        let mut writers = Vec::new();
        for (slot, number) in written {
            if let Some(slot) = slots.slot_at(slot.symbol, slot.offset, slot.bytes) {
                let all = std::iter::once(slot).chain(slots.slots_overlapping(slot));
                writers.extend(all.map(|slot| (slot as usize, number)));
            }
        }
        slots.callee_writers = Groups::new(slots.slots.len(), writers.iter().copied());
        slots.passed = all_passed;
        slots
    }

    /// The slots of the accesses, and of the symbols that escape; both are sorted.
    fn of_accesses(body: &Body<'_>, found: AccessedSlots, escaped: &[SymbolId]) -> Self {
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
            has_leaked: false,
            passed: Vec::new(),
            leaking: Vec::new(),
            callee_writers: Groups::EMPTY,
        }
    }

    /// The instructions that store to a slot, in the order of the input.
    #[must_use]
    pub(crate) fn stores_to(&self, slot: SlotId) -> &[InstructionId] {
        self.writers.of(slot as usize)
    }

    /// The effect of `instruction` on slots.
    #[must_use]
    pub(crate) fn effect_on_slots(&self, id: InstructionId, instruction: &Instruction) -> Effect {
        if self.slots.is_empty() {
            return Effect::None;
        }
        let slot = self.accesses.get(id.index()).filter(|slot| **slot != NO_SLOT);
        match instruction.op {
            Op::Access(access) => match (slot, access.kind) {
                // Only the thread itself writes them, even if the program declares them volatile.
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

    /// True if the address of some `.local` symbol is used in a way that is not followed, other than passed to functions that do not keep it.
    #[must_use]
    pub(crate) const fn has_leaked_address(&self) -> bool {
        self.has_leaked
    }

    /// True if a slot can be written through an address that is not followed.
    #[must_use]
    pub(crate) fn escapes(&self, slot: SlotId) -> bool {
        self.escaping[slot as usize]
    }

    /// True if code that does not name a slot's symbol may write it, other than functions that are passed its address.
    #[must_use]
    pub(crate) fn may_be_written_elsewhere(&self, slot: SlotId) -> bool {
        self.leaking[slot as usize]
    }

    /// True if a function that is passed its address may write some bytes of a slot.
    #[must_use]
    pub(crate) fn is_written_by_callees(&self, slot: SlotId) -> bool {
        !self.callee_writers.of(slot as usize).is_empty()
    }

    /// The passed addresses through which functions may write some bytes of a slot.
    pub(crate) fn writing_calls(&self, slot: SlotId) -> impl Iterator<Item = &PassedAddress> {
        let numbers = self.callee_writers.of(slot as usize);
        numbers.iter().map(|&number| &self.passed[number as usize])
    }

    /// The slots of a symbol.
    pub(crate) fn slots_of_symbol(&self, symbol: SymbolId) -> impl Iterator<Item = SlotId> + '_ {
        let first = self.slots.partition_point(|slot| slot.symbol < symbol);
        let of = self.slots[first..]
            .iter()
            .take_while(move |slot| slot.symbol == symbol);
        of.zip(first as SlotId..).map(|(_, id)| id)
    }

    /// True if a slot may be written otherwise than by its own stores.
    #[must_use]
    pub(crate) fn has_foreign_writes(&self, slot: SlotId) -> bool {
        self.escapes(slot) || self.slots_overlapping(slot).next().is_some()
    }

    /// The only write to a slot of `body`, if it is a store whose guard cannot skip it.
    #[must_use]
    pub(crate) fn only_store(&self, body: &Body<'_>, slot: SlotId) -> Option<InstructionId> {
        let &[one] = self.stores_to(slot) else { return None };
        let store = body.instruction(one);
        let is_plain = store.guard.is_none() && self.effect_on_slots(one, store) == Effect::Store(slot);
        (is_plain && !self.has_foreign_writes(slot)).then_some(one)
    }

    /// The slot of this size at an offset of a symbol, if some instruction accesses it.
    #[must_use]
    pub(crate) fn slot_at(&self, symbol: SymbolId, offset: i64, bytes: u32) -> Option<SlotId> {
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
    pub(crate) fn slots_overlapping(&self, slot: SlotId) -> impl Iterator<Item = SlotId> + '_ {
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

/// The accessed slots, numbered in the order of their first access.
#[derive(Default)]
struct AccessedSlots {
    slots: Vec<Slot>,
    /// For each slot: its index in `slots`.
    numbers: FxHashMap<Slot, SlotId>,
    /// The accesses, in the order of the input.
    accesses: Vec<(InstructionId, SlotId)>,
}

impl AccessedSlots {
    /// The index of a slot; a new one if it is not yet known.
    fn intern(&mut self, slot: Slot) -> SlotId {
        *self.numbers.entry(slot).or_insert_with(|| {
            self.slots.push(slot);
            self.slots.len() as SlotId - 1
        })
    }
}

/// The slot of these bytes, if they are in a symbol.
fn slot_of(bytes: Bytes) -> Option<Slot> {
    match bytes.base {
        SlotBase::Symbol(symbol) => Some(Slot {
            symbol,
            offset: bytes.offset,
            bytes: bytes.count,
        }),
        SlotBase::Param(_) => None,
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
        match address_source(body, definitions, register) {
            Some((from, _)) => base = from,
            None => return false,
        }
    }
    true
}

/// Limit on the steps to the base of an address before it is assumed to be that of a slot.
const MAX_STEPS: usize = 8;
