//! What registers and slots may hold as far as a look has come.

use rustc_hash::FxHashMap;

use super::super::kind::{EXACT, Kind, special};
use super::{Look, Ways};
use crate::limits::MAX_LOOK_DEPTH;
use crate::slots::{Effect, SlotId};
use ptxcheck_ir::{BlockId, Body, Instruction, InstructionId, Op, Register, Special, Value};

/// What holds a value from one place to another.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Variable {
    Register(Register),
    Slot(SlotId),
}

/// What is looked up more than once.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    /// A register with one definition.
    Single(Register),
    /// What one of several definitions makes of a variable, or the only store of a slot.
    Definition(Variable, InstructionId),
    /// A variable to which some of its definitions come, by their places among all.
    Common(Variable, u64),
}

/// What has been looked up.
pub(super) struct Held {
    known: Vec<Known>,
    /// By register: what its only definition makes of it, in `known`.
    single: Vec<u32>,
    others: FxHashMap<Key, u32>,
    /// Which definitions come to a block, and when that was looked up; on any way at all, if that is asked.
    entries: FxHashMap<(Variable, BlockId, bool), (u32, u64)>,
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
    pub(super) fn new(registers: usize, blocks: usize) -> Self {
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
    pub(super) fn begin(&mut self) {
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

impl<'a> Look<'a, '_> {
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

    /// What writes a variable, in the order of the input.
    fn definitions(&self, variable: Variable) -> &'a [InstructionId] {
        match variable {
            Variable::Register(register) => self.analyses.definitions().of(register),
            Variable::Slot(slot) => self.analyses.slots().stores(slot),
        }
    }

    /// What one of its definitions makes of a variable.
    fn definition(&mut self, variable: Variable, id: InstructionId) -> Kind {
        let key = Key::Definition(variable, id);
        match variable {
            Variable::Register(register) => self.made(key, register, id),
            Variable::Slot(slot) => self.stored(key, slot, id),
        }
    }

    /// What an instruction makes of a register.
    fn made(&mut self, key: Key, register: Register, id: InstructionId) -> Kind {
        let bits = self.body.registers[register.index()].bits;
        self.looked_up(key, bits, |look| {
            let kind = look.result_in(register, id);
            if kind.is_defined { kind } else { Kind::UNKNOWN }
        })
    }

    /// What an instruction stores to a slot.
    fn stored(&mut self, key: Key, slot: SlotId, id: InstructionId) -> Kind {
        let instruction = self.body.instruction(id);
        let stored = match self.analyses.slots().effect(id, instruction) {
            Effect::Store(own) if own == slot => self.body.uses(instruction).get(2).copied(),
            _ => None,
        };
        self.looked_up(key, 0, |look| {
            look.before(id).kind(stored.unwrap_or(Value::Unknown))
        })
    }

    /// A variable with several definitions.
    fn read(&mut self, variable: Variable) -> Kind {
        let (body, definitions) = (self.body, self.definitions(variable));
        let block = body.block_of(self.here);
        match last_in(body, definitions, block, self.here.index() as u32) {
            Some(id) if body.instruction(id).guard.is_none() => self.definition(variable, id),
            Some(_) => self.any_of(variable, ALL).split(),
            None => self.at_entry(variable, block),
        }
    }

    /// A variable at the entry of a block.
    fn at_entry(&mut self, variable: Variable, block: BlockId) -> Kind {
        self.held.is_final = false;
        let places = self.coming(variable, block, false);
        if places == 0 {
            let places = self.coming(variable, block, true);
            let kind = self.any_of(variable, places);
            return if self.is_picked_by_all(variable, places, block) {
                kind
            } else {
                kind.split()
            };
        }
        let key = Key::Common(variable, places);
        let bits = match variable {
            Variable::Register(register) => self.body.registers[register.index()].bits,
            Variable::Slot(_) => 0,
        };
        self.looked_up(key, bits, |look| {
            look.held.is_final = false;
            look.in_common(key, variable, places)
        })
    }

    /// The definitions that come to a block, by their places among those of the variable: those from which all lanes may
    /// come along open branches, or those from which any may come at all.
    fn coming(&mut self, variable: Variable, block: BlockId, is_anywhere: bool) -> u64 {
        let (key, round) = ((variable, block, is_anywhere), self.held.round);
        match self.held.entries.get(&key) {
            Some(&(known_in, places)) if is_anywhere || known_in == round => places,
            _ => {
                let places = self.reaching(self.definitions(variable), block, is_anywhere);
                self.held.entries.insert(key, (round, places));
                places
            }
        }
    }

    /// What definitions have in common that all come to one place.
    fn in_common(&mut self, key: Key, variable: Variable, places: u64) -> Kind {
        // Literals first, for they bound what is known round the loops that the others go.
        let (body, definitions) = (self.body, self.definitions(variable));
        let is_literal = |id: &InstructionId| {
            let instruction = body.instruction(*id);
            matches!(
                (instruction.op, body.uses(instruction)),
                (Op::Copy, [Value::Integer(_)]) | (Op::Access(_), [_, _, Value::Integer(_), ..])
            )
        };
        let reaching = among(definitions, places);
        let (mut kind, mut has_literal) = (Kind::default(), false);
        for pass in [true, false] {
            for definition in reaching.clone().filter(|id| is_literal(id) == pass) {
                has_literal |= pass;
                kind = kind.agree(self.definition(variable, definition));
                // Not all lanes need have it from here.
                kind.lane = kind.low > 0;
                self.held.set_now(key, kind);
            }
        }
        for definition in reaching {
            // What it made of more.
            self.held.others.remove(&Key::Definition(variable, definition));
        }
        if has_literal && !kind.is_literal() {
            // No bound is kept where a number meets what is not the same one.
            kind.bits = EXACT;
        }
        kind
    }

    /// See [`Self::coming`].
    fn reaching(&mut self, definitions: &[InstructionId], block: BlockId, is_anywhere: bool) -> u64 {
        let (cfg, body) = (self.analyses.cfg(), self.body);
        let is_guarded = |id: &InstructionId| body.instruction(*id).guard.is_some();
        if definitions.len() > u64::BITS as usize {
            return if is_anywhere { ALL } else { 0 };
        }
        if is_anywhere && definitions.iter().any(is_guarded) {
            return ALL;
        }
        let mut found = 0;
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
                    _ if is_anywhere || through == Some(before) => true,
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
                    return if is_anywhere { ALL } else { found };
                }
                match place {
                    None => work.push(before),
                    Some(place) => {
                        found |= u64::from(!is_guarded(&definitions[usize::from(place)])) << place;
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

    /// What any of these definitions makes of a variable.
    fn any_of(&mut self, variable: Variable, places: u64) -> Kind {
        let mut kind = Kind::default();
        for id in among(self.definitions(variable), places) {
            kind = kind.join(self.definition(variable, id));
        }
        self.held.is_final = false;
        if kind.is_defined { kind } else { Kind::UNKNOWN }
    }

    /// Whether which of these definitions a lane brings to a block is the same for all lanes, as far as it is known: all of
    /// them lie between the block and its immediate dominator, where no branch is known to part lanes.
    fn is_picked_by_all(&mut self, variable: Variable, places: u64, block: BlockId) -> bool {
        let (dominators, body) = (self.analyses.dominators(), self.body);
        let definitions = self.definitions(variable);
        let chosen = || among(definitions, places);
        let count = chosen().take(2).count();
        if count < 2 {
            return true;
        }
        let Some(above) = dominators.immediate(block) else {
            return false;
        };
        let Some(between) = self.between(above, block) else {
            return false;
        };
        let is_between =
            |id: InstructionId| body.instruction(id).guard.is_none() && between.contains(&body.block_of(id));
        if !chosen().all(is_between) {
            return false;
        }
        let here = self.here;
        let parts = between.into_iter().any(|block| self.parts_lanes(block));
        self.here = here;
        !parts
    }
}

/// All definitions of a variable, however many.
const ALL: u64 = u64::MAX;

/// The definitions at these places.
fn among(definitions: &[InstructionId], places: u64) -> impl Iterator<Item = InstructionId> + Clone {
    let is_among = move |place: usize| places == ALL || places >> place & 1 == 1;
    let definitions = definitions.iter().enumerate();
    definitions
        .filter(move |(place, _)| is_among(*place))
        .map(|(_, &id)| id)
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

impl Look<'_, '_> {
    /// What is known of a register.
    pub(crate) fn register(&mut self, register: Register) -> Kind {
        if let Some(known) = self.held.get(Key::Single(register)) {
            return known;
        }
        match self.analyses.definitions().of(register) {
            [] => Kind::UNKNOWN,
            &[one] if self.body.instruction(one).guard.is_none() => {
                self.made(Key::Single(register), register, one)
            }
            _ => self.read(Variable::Register(register)),
        }
    }

    pub(super) fn special(&self, of: Special) -> Kind {
        match (of, self.warp) {
            (Special::Tid(0), Some(warp)) => Kind::threads_of(warp),
            _ => special(of, self.basis.has_shape),
        }
    }

    /// Of what a load gets, before it is extended.
    pub(super) fn loaded(&mut self, id: InstructionId, instruction: &Instruction) -> Kind {
        let slots = self.analyses.slots();
        if let Effect::Load(slot) = slots.effect(id, instruction) {
            // A piece of what is stored there.
            if slots
                .overlapping(slot)
                .any(|other| !slots.stores(other).is_empty())
            {
                return Kind::LANE;
            }
            match slots.stores(slot) {
                [] => Kind::UNKNOWN,
                &[one] if self.body.instruction(one).guard.is_none() => {
                    self.definition(Variable::Slot(slot), one)
                }
                _ => self.read(Variable::Slot(slot)),
            }
        } else if !self.is_root
            && let Some((number, offset)) = self.body.loaded_param(instruction)
        {
            self.basis.passed(self.function, number, offset, self.held.depth)
        } else {
            Kind::UNKNOWN
        }
    }

    /// Of what a call returns.
    pub(super) fn returned(&self, call: InstructionId) -> Kind {
        let callee = self.basis.callee(self.body, self.body.instruction(call));
        callee.map_or(Kind::UNKNOWN, |callee| {
            self.basis.returned(callee, self.held.depth)
        })
    }
}
