//! Bounds of the values of registers and slots, for the blocks reached so far.

use rustc_hash::FxHashMap;

use super::super::knowable::{EXACT, Knowable, bound_of_special};
use super::{OptimisticReach, Ways};
use crate::limits::MAX_KNOWABLE_DEPTH;
use crate::slots::{Effect, SlotId};
use crate::variable::Variable;
use ptxcheck_ir::{BlockId, Body, Instruction, InstructionId, Op, Register, Special, Value};

/// Cached queries.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Query {
    /// A register with one definition.
    Single(Register),
    /// The value that one of several definitions gives a variable, or the only store to a slot.
    Definition(Variable, InstructionId),
    /// A variable that some of its definitions reach, given by their indices.
    Common(Variable, u64),
}

/// Cache of the bounds of values.
pub(super) struct KnowableCache {
    known: Vec<Cached>,
    /// By register: the bound of the value that its only definition gives it, as an index into `known`.
    single: Vec<u32>,
    others: FxHashMap<Query, u32>,
    /// Definitions that reach a block, and the round of that search; by any path, if the flag is set.
    entries: FxHashMap<(Variable, BlockId, bool), (u32, u64)>,
    /// For each block: marks of the backward walks. And the number of walks.
    marks: Vec<Mark>,
    walks: u32,
    round: u32,
    /// Depth of nested evaluations of definitions.
    pub depth: usize,
    /// All bounds read since this was set are final, regardless of branches that are opened later.
    pub is_final: bool,
}

/// Marks that backward walks leave in a block.
#[derive(Clone, Copy, Default)]
struct Mark {
    /// The last walk that visited the block.
    seen_in: u32,
    /// The last walk that searches for a definition in this block, and the index of the last definition here among all of
    /// the variable.
    wanted_in: u32,
    place: u8,
}

#[derive(Clone, Copy)]
struct Cached {
    kind: Knowable,
    /// The round of its computation; [`FINAL`] if it cannot change any more.
    round: u32,
}

const FINAL: u32 = u32::MAX;
const NONE: u32 = u32::MAX;

impl KnowableCache {
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

    /// From now on, bounds that may have changed are computed again.
    pub(super) fn begin_round(&mut self) {
        self.round += 1;
    }

    fn get(&mut self, key: Query) -> Option<Knowable> {
        let place = match key {
            Query::Single(register) => self.single[register.index()],
            _ => *self.others.get(&key)?,
        };
        let known = *self.known.get(place as usize)?;
        if known.round != FINAL && known.round != self.round {
            return None;
        }
        self.is_final &= known.round == FINAL;
        Some(known.kind)
    }

    fn set(&mut self, key: Query, kind: Knowable, round: u32) {
        let next = self.known.len() as u32;
        let place = match key {
            Query::Single(register) => &mut self.single[register.index()],
            _ => self.others.entry(key).or_insert(NONE),
        };
        if *place == NONE {
            *place = next;
            self.known.push(Cached { kind, round });
        } else {
            self.known[*place as usize] = Cached { kind, round };
        }
    }

    /// A provisional bound.
    fn set_provisional(&mut self, key: Query, kind: Knowable) {
        self.set(key, kind, self.round);
    }
}

impl<'a> OptimisticReach<'a, '_> {
    /// Cached bound for a query, of so many bits, or the result of `find`.
    fn cached_or_computed(
        &mut self,
        key: Query,
        bits: u8,
        find: impl FnOnce(&mut Self) -> Knowable,
    ) -> Knowable {
        if let Some(known) = self.cache.get(key) {
            return known;
        }
        if self.cache.depth == MAX_KNOWABLE_DEPTH || !self.spend_steps(1) {
            self.cache.is_final = false;
            return Knowable::LANE;
        }
        // In a cycle of definitions, anything may be known.
        self.cache.set_provisional(key, Knowable::LANE);
        let (here, was_final) = (self.here, std::mem::replace(&mut self.cache.is_final, true));
        self.cache.depth += 1;
        let kind = find(self).truncated_to(bits);
        self.cache.depth -= 1;
        self.here = here;
        // Knowledge never shrinks below "nothing".
        if self.cache.is_final || kind == Knowable::UNKNOWN.truncated_to(bits) {
            self.cache.set(key, kind, FINAL);
            self.cache.is_final = was_final;
        } else {
            self.cache.set_provisional(key, kind);
        }
        kind
    }

    /// Instructions that write a variable, in the order of the input.
    fn definitions(&self, variable: Variable) -> &'a [InstructionId] {
        variable.writers_of(self.analyses.definitions(), || self.analyses.slots())
    }

    /// Value that one of its definitions gives a variable.
    fn bound_of_definition(&mut self, variable: Variable, id: InstructionId) -> Knowable {
        let key = Query::Definition(variable, id);
        match variable {
            Variable::Register(register) => self.bound_of_register_write(key, register, id),
            Variable::Slot(slot) => self.bound_of_store(key, slot, id),
        }
    }

    /// Value that an instruction gives a register.
    fn bound_of_register_write(&mut self, key: Query, register: Register, id: InstructionId) -> Knowable {
        let bits = self.body.registers.bits(register);
        self.cached_or_computed(key, bits, |reach| {
            let kind = reach.bound_of_result_in(register, id);
            if kind.is_defined { kind } else { Knowable::UNKNOWN }
        })
    }

    /// Value that an instruction stores to a slot.
    fn bound_of_store(&mut self, key: Query, slot: SlotId, id: InstructionId) -> Knowable {
        let instruction = self.body.instruction(id);
        let stored = match self.analyses.slots().effect_on_slots(id, instruction) {
            Effect::Store(own) if own == slot => self.body.uses(instruction).get(2).copied(),
            _ => None,
        };
        self.cached_or_computed(key, 0, |reach| {
            reach
                .set_read_point(id)
                .bound_of(stored.unwrap_or(Value::Unknown))
        })
    }

    /// A variable with several definitions.
    fn bound_of_variable(&mut self, variable: Variable) -> Knowable {
        let (body, definitions) = (self.body, self.definitions(variable));
        let block = body.block_of(self.here);
        match last_definition_in(body, definitions, block, self.here.index() as u32) {
            Some(id) if body.instruction(id).guard.is_none() => self.bound_of_definition(variable, id),
            Some(_) => self.bound_of_any_definition(variable, ALL).after_guarded_write(),
            None => self.bound_at_entry(variable, block),
        }
    }

    /// A variable at the entry of a block.
    fn bound_at_entry(&mut self, variable: Variable, block: BlockId) -> Knowable {
        self.cache.is_final = false;
        let places = self.definitions_reaching(variable, block, false);
        if places == 0 {
            let places = self.definitions_reaching(variable, block, true);
            let kind = self.bound_of_any_definition(variable, places);
            return if self.is_definition_same_for_all_lanes(variable, places, block) {
                kind
            } else {
                kind.after_guarded_write()
            };
        }
        let key = Query::Common(variable, places);
        let bits = match variable {
            Variable::Register(register) => self.body.registers.bits(register),
            Variable::Slot(_) => 0,
        };
        self.cached_or_computed(key, bits, |reach| {
            reach.cache.is_final = false;
            reach.bound_common_to(key, variable, places)
        })
    }

    /// The definitions that reach a block, as indices among those of the variable: those from which all lanes may arrive
    /// along open branches, or those from which any lane may arrive.
    fn definitions_reaching(&mut self, variable: Variable, block: BlockId, is_anywhere: bool) -> u64 {
        let (key, round) = ((variable, block, is_anywhere), self.cache.round);
        match self.cache.entries.get(&key) {
            Some(&(known_in, places)) if is_anywhere || known_in == round => places,
            _ => {
                let places =
                    self.compute_definitions_reaching(self.definitions(variable), block, is_anywhere);
                self.cache.entries.insert(key, (round, places));
                places
            }
        }
    }

    /// Knowledge common to definitions that all reach one place.
    fn bound_common_to(&mut self, key: Query, variable: Variable, places: u64) -> Knowable {
        // Literals first, because they bound the knowledge in loops that the other definitions are part of.
        let (body, definitions) = (self.body, self.definitions(variable));
        let is_literal = |id: &InstructionId| {
            let instruction = body.instruction(*id);
            matches!(
                (instruction.op, body.uses(instruction)),
                (Op::Copy, [Value::Integer(_)]) | (Op::Access(_), [_, _, Value::Integer(_), ..])
            )
        };
        let reaching = definitions_with_indices(definitions, places);
        let (mut kind, mut has_literal) = (Knowable::default(), false);
        for pass in [true, false] {
            for definition in reaching.clone().filter(|id| is_literal(id) == pass) {
                has_literal |= pass;
                kind = kind.common_knowledge(self.bound_of_definition(variable, definition));
                // From here, not all lanes need to have the value.
                kind.lane = kind.low > 0;
                self.cache.set_provisional(key, kind);
            }
        }
        for definition in reaching {
            // Its value depends on more knowledge than is available now.
            self.cache.others.remove(&Query::Definition(variable, definition));
        }
        if has_literal && !kind.is_literal() {
            // No bound is kept where a number meets a value that is not the same number.
            kind.bits = EXACT;
        }
        kind
    }

    /// Computes [`Self::definitions_reaching`].
    fn compute_definitions_reaching(
        &mut self,
        definitions: &[InstructionId],
        block: BlockId,
        is_anywhere: bool,
    ) -> u64 {
        let (cfg, body) = (self.analyses.cfg(), self.body);
        let is_guarded = |id: &InstructionId| body.instruction(*id).guard.is_some();
        if definitions.len() > u64::BITS as usize {
            return if is_anywhere { ALL } else { 0 };
        }
        if is_anywhere && definitions.iter().any(is_guarded) {
            return ALL;
        }
        let mut found = 0;
        self.cache.walks += 1;
        let walk = self.cache.walks;
        for (place, &id) in definitions.iter().enumerate() {
            let mark = &mut self.cache.marks[self.body.block_of(id).index()];
            (mark.wanted_in, mark.place) = (walk, place as u8);
        }
        let mut work = vec![block];
        while let Some(block) = work.pop() {
            let through = self.through[block.index()]
                .filter(|&from| self.keeps_value_between(definitions, from, block));
            for &before in cfg.predecessors(block).iter().chain(&through) {
                let is_open = match self.ways[before.index()] {
                    _ if is_anywhere || through == Some(before) => true,
                    Ways::None => false,
                    Ways::One(next) => next == block,
                    Ways::All => true,
                };
                let mark = &mut self.cache.marks[before.index()];
                if !is_open || std::mem::replace(&mut mark.seen_in, walk) == walk {
                    continue;
                }
                let place = (mark.wanted_in == walk).then_some(mark.place);
                if !self.spend_steps(1) {
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

    /// True if a variable holds the same value at the end of `from` and at `to` on every path between: none of its
    /// definitions lies between them.
    fn keeps_value_between(&self, definitions: &[InstructionId], from: BlockId, to: BlockId) -> bool {
        let dominators = self.analyses.dominators();
        dominators.dominates(from, to)
            && definitions.iter().all(|&id| {
                let block = self.body.block_of(id);
                block == from || !dominators.dominates(from, block) || dominators.dominates(to, block)
            })
    }

    /// Join of the values that these definitions give a variable.
    fn bound_of_any_definition(&mut self, variable: Variable, places: u64) -> Knowable {
        let definitions = self.definitions(variable);
        self.cache.is_final = false;
        if !self.spend_steps(definitions.len() / DEFINITIONS_PER_STEP) {
            return Knowable::LANE;
        }
        let mut kind = Knowable::default();
        for id in definitions_with_indices(definitions, places) {
            kind = kind.join(self.bound_of_definition(variable, id));
        }
        self.cache.is_final = false;
        if kind.is_defined { kind } else { Knowable::UNKNOWN }
    }

    /// True if all lanes reach a block with the value of the same definition, as far as is known: all definitions lie
    /// between the block and its immediate dominator, and no branch between is known to make lanes diverge.
    fn is_definition_same_for_all_lanes(&mut self, variable: Variable, places: u64, block: BlockId) -> bool {
        let (dominators, body) = (self.analyses.dominators(), self.body);
        let definitions = self.definitions(variable);
        let chosen = || definitions_with_indices(definitions, places);
        let count = chosen().take(2).count();
        if count < 2 {
            return true;
        }
        let Some(above) = dominators.immediate_dominator(block) else {
            return false;
        };
        let Some(between) = self.blocks_between(above, block) else {
            return false;
        };
        let is_between =
            |id: InstructionId| body.instruction(id).guard.is_none() && between.contains(&body.block_of(id));
        if !chosen().all(is_between) {
            return false;
        }
        let here = self.here;
        let parts = between
            .into_iter()
            .any(|block| self.divergence_may_be_known(block));
        self.here = here;
        !parts
    }
}

/// Number of joined definitions that cost one step.
const DEFINITIONS_PER_STEP: usize = 8;

/// All definitions of a variable, of any number.
const ALL: u64 = u64::MAX;

/// The definitions with these indices.
fn definitions_with_indices(
    definitions: &[InstructionId],
    places: u64,
) -> impl Iterator<Item = InstructionId> + Clone {
    let is_among = move |place: usize| places == ALL || places >> place & 1 == 1;
    let definitions = definitions.iter().enumerate();
    definitions
        .filter(move |(place, _)| is_among(*place))
        .map(|(_, &id)| id)
}

/// The last of some definitions in a block, before the instruction with this number.
fn last_definition_in(
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

impl OptimisticReach<'_, '_> {
    /// Bound of the value of a register.
    pub(crate) fn bound_of_register(&mut self, register: Register) -> Knowable {
        if let Some(known) = self.cache.get(Query::Single(register)) {
            return known;
        }
        match self.analyses.definitions().writers_of(register) {
            [] => Knowable::UNKNOWN,
            &[one] if self.body.instruction(one).guard.is_none() => {
                self.bound_of_register_write(Query::Single(register), register, one)
            }
            _ => self.bound_of_variable(Variable::Register(register)),
        }
    }

    pub(super) fn bound_of_special(&self, of: Special) -> Knowable {
        match (of, self.warp) {
            (Special::Tid(0), Some(warp)) => Knowable::threads_of_warp(warp),
            _ => bound_of_special(of, self.facts.has_shape),
        }
    }

    /// Bound of the loaded value, before it is extended.
    pub(super) fn bound_of_load(&mut self, id: InstructionId, instruction: &Instruction) -> Knowable {
        let slots = self.analyses.slots();
        if let Effect::Load(slot) = slots.effect_on_slots(id, instruction) {
            // A piece of the value stored there, or a value that a callee stores.
            if slots.is_written_by_callees(slot)
                || slots
                    .slots_overlapping(slot)
                    .any(|other| !slots.stores_to(other).is_empty())
            {
                return Knowable::LANE;
            }
            match slots.stores_to(slot) {
                [] => Knowable::UNKNOWN,
                &[one] if self.body.instruction(one).guard.is_none() => {
                    self.bound_of_definition(Variable::Slot(slot), one)
                }
                _ => self.bound_of_variable(Variable::Slot(slot)),
            }
        } else if !self.is_root
            && let Some((number, offset)) = self.body.loaded_param(instruction)
        {
            self.facts
                .bound_of_argument(self.function, number, offset, self.cache.depth)
        } else if !self.is_root
            && let Some(used) = self.facts.module.param_use(self.function)
            && used.access_through_param(id).is_some()
        {
            // A caller, or a function that it calls, stores it.
            Knowable::LANE
        } else {
            Knowable::UNKNOWN
        }
    }

    /// Bound of the value that a call returns.
    pub(super) fn bound_of_call_result(&self, call: InstructionId) -> Knowable {
        let callee = self.facts.direct_callee(self.body, self.body.instruction(call));
        callee.map_or(Knowable::UNKNOWN, |callee| {
            self.facts.bound_of_return_value(callee, self.cache.depth)
        })
    }
}
