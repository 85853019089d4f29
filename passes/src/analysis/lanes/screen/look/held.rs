//! What registers and slots may hold as far as a look has come.

use rustc_hash::FxHashMap;

use super::super::kind::{EXACT, Kind};
use super::super::reader::Reader;
use super::super::special;
use super::{Look, Ways};
use crate::analysis::lanes::slice::loaded_param;
use crate::analysis::slots::{Effect, SlotId};
use crate::ir::{BlockId, Body, Instruction, InstructionId, Op, Register, Special, Value};
use crate::limits::MAX_LOOK_DEPTH;

/// What is looked up more than once.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    /// A register with one definition.
    Single(Register),
    /// The result of one of several definitions, in the register.
    Definition(Register, InstructionId),
    /// A register to which some of its definitions come, by their places among all.
    Common(Register, u64),
    Slot(SlotId),
}

/// What has been looked up.
pub struct Held {
    known: Vec<Known>,
    /// By register: what its only definition makes of it, in `known`.
    single: Vec<u32>,
    others: FxHashMap<Key, u32>,
    /// Which definitions come to a block, and when that was looked up.
    entries: FxHashMap<(Register, BlockId), (u32, u64)>,
    /// By block: what walks against the ways of lanes have left there, and how many walks there have been.
    marks: Vec<Mark>,
    walks: u32,
    round: u32,
    /// Definitions that are being looked up, one for the sake of another.
    pub depth: usize,
    /// What has been read since this was set will not change, whatever is open later on.
    pub is_final: bool,
}

/// What walks in search of definitions leave in a block.
#[derive(Clone, Copy, Default)]
struct Mark {
    /// The last walk that has come by.
    seen_in: u32,
    /// The last walk in search of one that is here, and the place of the last one here among all of its register.
    wanted_in: u32,
    place: u8,
}

#[derive(Clone, Copy)]
struct Known {
    kind: Kind,
    /// When it was looked up; [`FINAL`] for what will not change.
    round: u32,
}

const FINAL: u32 = u32::MAX;
const NONE: u32 = u32::MAX;

impl Held {
    pub fn new(registers: usize, blocks: usize) -> Self {
        Self {
            known: Vec::new(),
            single: vec![NONE; registers],
            others: FxHashMap::default(),
            entries: FxHashMap::default(),
            marks: vec![Mark::default(); blocks],
            walks: 0,
            round: 0,
            depth: 0,
            is_final: true,
        }
    }

    /// Looks up anew what may have changed.
    pub fn begin(&mut self) {
        self.round += 1;
    }

    fn get(&mut self, key: Key) -> Option<Kind> {
        let place = match key {
            Key::Single(register) => self.single[register.index()],
            _ => *self.others.get(&key)?,
        };
        let known = *self.known.get(place as usize)?;
        if known.round != FINAL && known.round != self.round {
            return None;
        }
        self.is_final &= known.round == FINAL;
        Some(known.kind)
    }

    fn set(&mut self, key: Key, kind: Kind, round: u32) {
        let next = self.known.len() as u32;
        let place = match key {
            Key::Single(register) => &mut self.single[register.index()],
            _ => self.others.entry(key).or_insert(NONE),
        };
        if *place == NONE {
            *place = next;
            self.known.push(Known { kind, round });
        } else {
            self.known[*place as usize] = Known { kind, round };
        }
    }

    /// For the time being.
    fn set_now(&mut self, key: Key, kind: Kind) {
        self.set(key, kind, self.round);
    }
}

impl Look<'_, '_> {
    /// What has been found for a key, of so many bits, or what `find` does.
    fn looked_up(&mut self, key: Key, bits: u8, find: impl FnOnce(&mut Self) -> Kind) -> Kind {
        if let Some(known) = self.held.get(key) {
            return known;
        }
        if self.held.depth == MAX_LOOK_DEPTH || !self.pay(1) {
            self.held.is_final = false;
            return Kind::LANE;
        }
        // Round a cycle of definitions, anything may be known.
        self.held.set_now(key, Kind::LANE);
        let (here, was_final) = (self.here, std::mem::replace(&mut self.held.is_final, true));
        self.held.depth += 1;
        let kind = find(self).cut(bits);
        self.held.depth -= 1;
        self.here = here;
        // Of what nothing is known, no less will be.
        if self.held.is_final || kind == Kind::UNKNOWN.cut(bits) {
            self.held.set(key, kind, FINAL);
            self.held.is_final = was_final;
        } else {
            self.held.set_now(key, kind);
        }
        kind
    }

    fn definition(&mut self, register: Register, id: InstructionId) -> Kind {
        self.made(Key::Definition(register, id), register, id)
    }

    /// What an instruction makes of a register.
    fn made(&mut self, key: Key, register: Register, id: InstructionId) -> Kind {
        let body = self.body;
        let bits = body.registers[register.index()].bits;
        self.looked_up(key, bits, |look| {
            let kind = look
                .before(id)
                .result_in(register, body, id, body.instruction(id));
            if kind.is_defined { kind } else { Kind::UNKNOWN }
        })
    }

    /// A register at the entry of a block.
    fn at_entry(&mut self, register: Register, block: BlockId) -> Kind {
        self.held.is_final = false;
        let round = self.held.round;
        let places = match self.held.entries.get(&(register, block)) {
            Some(&(known_in, places)) if known_in == round => places,
            _ => {
                let places = self.reaching(register, block);
                self.held.entries.insert((register, block), (round, places));
                places
            }
        };
        if places == 0 {
            return self.any_of(register);
        }
        let key = Key::Common(register, places);
        let bits = self.body.registers[register.index()].bits;
        self.looked_up(key, bits, |look| {
            look.held.is_final = false;
            look.in_common(key, register, places)
        })
    }

    /// What definitions have in common that all come to one place.
    fn in_common(&mut self, key: Key, register: Register, places: u64) -> Kind {
        // Literals first, for they bound what is known round the loops that the others go.
        let (body, definitions) = (self.body, self.analyses.definitions().of(register));
        let is_literal = |id: &InstructionId| {
            let instruction = body.instruction(*id);
            matches!(
                (instruction.op, body.uses(instruction)),
                (Op::Copy, [Value::Integer(_)])
            )
        };
        let reaching = definitions
            .iter()
            .enumerate()
            .filter(|(place, _)| places >> place & 1 == 1)
            .map(|(_, &id)| id);
        let (mut kind, mut has_literal) = (Kind::default(), false);
        for pass in [true, false] {
            for definition in reaching.clone().filter(|id| is_literal(id) == pass) {
                has_literal |= pass;
                kind = kind.agree(self.definition(register, definition));
                // Not all lanes need have it from here.
                kind.lane = kind.low > 0;
                self.held.set_now(key, kind);
            }
        }
        for definition in reaching {
            // What it made of more.
            self.held.others.remove(&Key::Definition(register, definition));
        }
        if has_literal && !kind.is_literal() {
            // No bound is kept where a number meets what is not the same one.
            kind.bits = EXACT;
        }
        kind
    }

    /// The definitions that all lanes may come from to a block, along open branches: their places among those of the
    /// register. None if there are too many of them.
    fn reaching(&mut self, register: Register, block: BlockId) -> u64 {
        let (cfg, definitions) = (self.analyses.cfg(), self.analyses.definitions().of(register));
        let mut found = 0;
        if definitions.len() > u64::BITS as usize {
            return found;
        }
        self.held.walks += 1;
        let walk = self.held.walks;
        for (place, &id) in definitions.iter().enumerate() {
            let mark = &mut self.held.marks[self.body.block_of(id).index()];
            (mark.wanted_in, mark.place) = (walk, place as u8);
        }
        let mut work = vec![block];
        while let Some(block) = work.pop() {
            let through = self.through[block.index()].filter(|&from| self.keeps(definitions, from, block));
            for &before in cfg.predecessors(block).iter().chain(&through) {
                let is_open = match self.ways[before.index()] {
                    _ if through == Some(before) => true,
                    Ways::None => false,
                    Ways::One(next) => next == block,
                    Ways::All => true,
                };
                let mark = &mut self.held.marks[before.index()];
                if !is_open || std::mem::replace(&mut mark.seen_in, walk) == walk {
                    continue;
                }
                let place = (mark.wanted_in == walk).then_some(mark.place);
                if !self.pay(1) {
                    return found;
                }
                match place {
                    None => work.push(before),
                    Some(place) => {
                        let id = definitions[usize::from(place)];
                        found |= u64::from(self.body.instruction(id).guard.is_none()) << place;
                    }
                }
            }
        }
        found
    }

    /// Whether what a register holds at the end of `from` is what it holds at `to`, on whatever way lanes come through:
    /// none of its definitions is in between.
    fn keeps(&self, definitions: &[InstructionId], from: BlockId, to: BlockId) -> bool {
        let dominators = self.analyses.dominators();
        dominators.dominates(from, to)
            && definitions.iter().all(|&id| {
                let block = self.body.block_of(id);
                block == from || !dominators.dominates(from, block) || dominators.dominates(to, block)
            })
    }

    /// What any of the definitions of a register makes of it.
    fn any_of(&mut self, register: Register) -> Kind {
        let definitions = self.analyses.definitions().of(register);
        let kinds = definitions.iter().map(|&id| self.definition(register, id));
        let kind = kinds.fold(Kind::default(), Kind::join);
        self.held.is_final = false;
        if kind.is_defined {
            kind.split()
        } else {
            Kind::UNKNOWN
        }
    }

    fn slot(&mut self, slot: SlotId) -> Kind {
        let (slots, body) = (self.analyses.slots(), self.body);
        if slots.overlapping(slot).next().is_some() {
            return Kind::LANE;
        }
        self.looked_up(Key::Slot(slot), 0, |look| {
            let mut kind = Kind::default();
            for &store in slots.stores(slot) {
                let instruction = body.instruction(store);
                let stored = match slots.effect(store, instruction) {
                    Effect::Store(own) if own == slot => body.uses(instruction).get(2).copied(),
                    _ => None,
                };
                let stored = look.before(store).kind(stored.unwrap_or(Value::Unknown));
                kind = kind.join(stored);
            }
            if kind.is_defined {
                kind.split()
            } else {
                Kind::UNKNOWN
            }
        })
    }
}

/// The last of some definitions in a block, before the instruction with this number.
fn last_in(
    body: &Body<'_>,
    definitions: &[InstructionId],
    block: BlockId,
    before: u32,
) -> Option<InstructionId> {
    let range = body.blocks[block.index()].instructions;
    let end = range.end.min(before);
    let place = definitions.partition_point(|id| (id.index() as u32) < end);
    let last = *definitions.get(place.checked_sub(1)?)?;
    (last.index() as u32 >= range.start).then_some(last)
}

impl Reader for Look<'_, '_> {
    fn register(&mut self, register: Register) -> Kind {
        if let Some(known) = self.held.get(Key::Single(register)) {
            return known;
        }
        let body = self.body;
        let definitions = self.analyses.definitions().of(register);
        let is_certain = |id: InstructionId| body.instruction(id).guard.is_none();
        match definitions {
            [] => return Kind::UNKNOWN,
            &[one] if is_certain(one) => return self.made(Key::Single(register), register, one),
            _ => {}
        }
        let block = body.block_of(self.here);
        match last_in(body, definitions, block, self.here.index() as u32) {
            Some(id) if is_certain(id) => self.definition(register, id),
            Some(_) => self.any_of(register),
            None => self.at_entry(register, block),
        }
    }

    fn special(&self, of: Special) -> Kind {
        match (of, self.warp) {
            (Special::Tid(0), Some(warp)) => Kind::threads_of(warp),
            _ => special(of, self.basis.has_shape),
        }
    }

    fn loaded(&mut self, id: InstructionId, instruction: &Instruction) -> Kind {
        if let Effect::Load(slot) = self.analyses.slots().effect(id, instruction) {
            self.slot(slot)
        } else if !self.is_root
            && let Some((number, offset)) = loaded_param(instruction.op, self.body.uses(instruction))
        {
            self.basis.passed(self.function, number, offset, self.held.depth)
        } else {
            Kind::UNKNOWN
        }
    }

    fn returned(&self, call: InstructionId) -> Kind {
        let callee = self.basis.callee(self.body, self.body.instruction(call));
        callee.map_or(Kind::UNKNOWN, |callee| {
            self.basis.returned(callee, self.held.depth)
        })
    }
}
