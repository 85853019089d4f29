//! Upper bounds that comparisons give registers and slots of the stack: `r < n` on each path to an instruction.

use ptxcheck_ir::{BlockId, Body, Condition, Instruction, InstructionId, Op, Register, Value};

use crate::dataflow::{self, Cursor, Solution};
use crate::function::Analyses;
use crate::limits::MAX_REGISTER_BOUNDS;
use crate::predicates::{Predicates, Test, guard_of_end};
use crate::slots::{Effect, SlotId};

/// A register, or a part of the stack that only its own stores write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Register(Register),
    Slot(SlotId),
}

/// A bound: the value in a place is at most another value, or below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UpperBound {
    pub place: Place,
    pub bound: Value,
    /// It is below the value, not equal to it.
    pub is_strict: bool,
}

impl UpperBound {
    /// A number is never strict.
    const fn new(place: Place, bound: Value, is_strict: bool) -> Self {
        if let Value::Integer(number) = bound
            && let Some(number) = number.checked_sub(is_strict as i64)
        {
            return Self {
                place,
                bound: Value::Integer(number),
                is_strict: false,
            };
        }
        Self {
            place,
            bound,
            is_strict,
        }
    }

    /// The register that is bounded.
    pub(super) const fn register(&self) -> Option<Register> {
        match self.place {
            Place::Register(register) => Some(register),
            Place::Slot(_) => None,
        }
    }

    /// The number that it is at most.
    const fn number(&self) -> Option<i64> {
        match self.bound {
            Value::Integer(number) => Some(number),
            _ => None,
        }
    }
}

/// The bounds of the registers of a body, before each instruction.
pub(super) struct UpperBounds<'a, 'm, N> {
    pub body: &'a Body<'m>,
    pub analyses: &'a Analyses<'m>,
    /// The greatest number that a value may be, without any comparison.
    pub number_of: N,
}

impl<N: Fn(Value) -> Option<i64>> UpperBounds<'_, '_, N> {
    /// The bounds at the entries of blocks; `None` if they do not settle.
    pub(super) fn solve(&self) -> Option<Solution<Vec<UpperBound>>> {
        dataflow::solve(self.body, self.analyses.cfg(), self)
    }

    /// A cursor that has the bounds before each instruction.
    pub(super) fn cursor<'s>(&'s self, solution: &'s Solution<Vec<UpperBound>>) -> Cursor<'s, Self> {
        Cursor::new(self.body, self, solution)
    }

    /// The blocks that always precede an instruction one after the other, and end with its own: labels part blocks that nothing else enters.
    fn straight_way_to(&self, at: InstructionId) -> Vec<BlockId> {
        let mut way = vec![self.body.block_of(at)];
        while let Some(&first) = way.last()
            && let &[before] = self.analyses.cfg().predecessors(first)
            && self.body.successors(before).len() == 1
            && way.len() < MAX_REGISTER_BOUNDS
            && !way.contains(&before)
        {
            way.push(before);
        }
        way.reverse();
        way
    }

    /// The places that hold the same as a register at an instruction, by moves, loads and stores on the straight way to it.
    fn copies_of(&self, from: Register, at: InstructionId) -> Vec<Place> {
        let mut copies = vec![Place::Register(from)];
        let way = self.straight_way_to(at);
        let before = way.iter().flat_map(|&block| self.body.block(block));
        for (id, instruction) in before.take_while(|(other, _)| *other != at) {
            let copied = self.copied(id, instruction);
            let is_copy = copied.is_some_and(|(_, moved)| copies.contains(&moved));
            for written in self.body.defined(instruction) {
                if written == from {
                    copies.retain(|copy| *copy == Place::Register(from));
                } else {
                    copies.retain(|copy| *copy != Place::Register(written));
                }
            }
            match copied {
                // The slot holds the loaded value, too.
                Some((Place::Register(to), slot @ Place::Slot(_))) if to == from => copies.push(slot),
                Some((to, _)) => {
                    copies.retain(|copy| *copy != to || to == Place::Register(from));
                    if is_copy && !copies.contains(&to) {
                        copies.push(to);
                    }
                }
                None => {}
            }
        }
        copies
    }

    /// The place that an instruction copies a place to, and the latter.
    fn copied(&self, at: InstructionId, instruction: &Instruction) -> Option<(Place, Place)> {
        if let Some((to, Value::Register(from))) = self.register_move(instruction) {
            return Some((Place::Register(to), Place::Register(from)));
        }
        let slots = self.analyses.slots();
        match slots.effect_on_slots(at, instruction) {
            Effect::Load(slot) if instruction.guard.is_none() && !slots.has_foreign_writes(slot) => {
                let to = self.body.defined(instruction).next()?;
                Some((Place::Register(to), Place::Slot(slot)))
            }
            Effect::Store(slot) if !slots.has_foreign_writes(slot) => {
                let from = self.analyses.value_stored_by(at).and_then(Value::register);
                let from = from.filter(|_| instruction.guard.is_none());
                // Something else is written there.
                Some((Place::Slot(slot), from.map_or(Place::Slot(slot), Place::Register)))
            }
            _ => None,
        }
    }

    /// True for a place that several instructions write.
    fn is_written_often(&self, place: Place) -> bool {
        match place {
            Place::Register(register) => self.analyses.definitions().writers_of(register).len() > 1,
            Place::Slot(slot) => self.analyses.slots().stores_to(slot).len() > 1,
        }
    }

    /// The register that an instruction moves a value to, and the value.
    fn register_move(&self, instruction: &Instruction) -> Option<(Register, Value)> {
        let &[from] = self.body.uses(instruction) else {
            return None;
        };
        let is_move = instruction.op.is_move() && instruction.guard.is_none();
        let to = self.body.defined(instruction).next().filter(|_| is_move)?;
        Some((to, from))
    }

    /// The bounds that follow from a predicate that is read at an instruction.
    pub(super) fn bounds_implied_by(
        &self,
        (predicate, reader): (Register, InstructionId),
        holds: bool,
        mut visit: impl FnMut(UpperBound),
    ) {
        let predicates = Predicates {
            body: self.body,
            definitions: self.analyses.definitions(),
            returns_truth: |_| false,
        };
        predicates.for_each_current_test(self.analyses, (predicate, reader), holds, |test| {
            if let Some((one, other, is_strict)) = self.tested_order(test, reader) {
                let mut add = |register: Value, bound| {
                    if let Value::Register(register) = register {
                        visit(UpperBound::new(Place::Register(register), bound, is_strict));
                    }
                };
                add(one, other);
                if !is_strict && self.is_equality(test) {
                    add(other, one);
                }
            }
        });
    }

    fn is_equality(&self, test: Test) -> bool {
        let of = test.definition.map(|at| self.body.instruction(at).op);
        matches!(of, Some(Op::Compare(Condition::Equal | Condition::NotEqual, ..)))
    }

    /// The smaller and the greater operand of a comparison with this outcome, and true if they differ; of equal ones either comes first.
    /// `None` if an operand may have been written since.
    fn tested_order(&self, test: Test, reader: InstructionId) -> Option<(Value, Value, bool)> {
        use Condition as C;
        let definition = test.definition?;
        let instruction = self.body.instruction(definition);
        let (Op::Compare(condition, ..), &[one, other, ..]) = (instruction.op, self.body.uses(instruction))
        else {
            return None;
        };
        let are_current = [one, other]
            .into_iter()
            .all(|value| self.is_unchanged(value, definition, reader));
        if !are_current {
            return None;
        }
        Some(match (condition, test.holds) {
            (C::Equal, true) | (C::NotEqual, false) => (one, other, false),
            (C::LessSigned | C::LessUnsigned, true)
            | (C::GreaterEqualSigned | C::GreaterEqualUnsigned, false) => (one, other, true),
            (C::LessEqualSigned | C::LessEqualUnsigned, true)
            | (C::GreaterSigned | C::GreaterUnsigned, false) => (one, other, false),
            (C::GreaterSigned | C::GreaterUnsigned, true)
            | (C::LessEqualSigned | C::LessEqualUnsigned, false) => (other, one, true),
            (C::GreaterEqualSigned | C::GreaterEqualUnsigned, true)
            | (C::LessSigned | C::LessUnsigned, false) => (other, one, false),
            // Compilers test a loop that counts up so.
            (C::Equal, false) | (C::NotEqual, true) if self.counts_up(one) => (one, other, true),
            (C::Equal, false) | (C::NotEqual, true) => return None,
        })
    }

    /// True for a value that is more than another by a number.
    fn counts_up(&self, value: Value) -> bool {
        let definition = self.analyses.only_writer(value);
        let beside = definition.and_then(|at| self.analyses.form_of_result(at).beside());
        beside.is_some_and(|(_, by)| by > 0)
    }

    /// True if nothing writes a value between the test of it and the reader of the test.
    fn is_unchanged(&self, value: Value, test: InstructionId, reader: InstructionId) -> bool {
        let Value::Register(register) = value else {
            return true;
        };
        if self.analyses.only_writer(value).is_some() {
            return true;
        }
        let mut between = (test.index() + 1..reader.index()).map(InstructionId::new);
        self.body.block_of(test) == self.body.block_of(reader)
            && between.all(|at| {
                !self
                    .body
                    .defined(self.body.instruction(at))
                    .any(|written| written == register)
            })
    }
}

impl<N: Fn(Value) -> Option<i64>> dataflow::Analysis for UpperBounds<'_, '_, N> {
    type State = Vec<UpperBound>;

    fn entry(&self) -> Vec<UpperBound> {
        Vec::new()
    }

    /// Those that both have; of two numbers the greater one.
    fn join(&self, into: &mut Vec<UpperBound>, from: &Vec<UpperBound>) -> bool {
        let mut has_changed = false;
        into.retain_mut(|one| {
            if from.contains(one) {
                return true;
            }
            has_changed = true;
            let same = from.iter().filter(|other| other.place == one.place);
            let most = one.number().and_then(|number| {
                let other = same.filter_map(UpperBound::number).min()?;
                Some(number.max(other))
            });
            if let Some(most) = most {
                has_changed = one.bound != Value::Integer(most);
                one.bound = Value::Integer(most);
            }
            most.is_some()
        });
        has_changed
    }

    fn apply(&self, state: &mut Vec<UpperBound>, id: InstructionId, instruction: &Instruction) {
        let copied = self.copied(id, instruction);
        let moved = copied
            .filter(|(to, from)| to != from)
            .map_or_else(Vec::new, |(to, from)| {
                let moved = state.iter().filter(|one| one.place == from).copied();
                let mut moved: Vec<_> = moved.map(|one| UpperBound { place: to, ..one }).collect();
                // A place with one definition needs no bound: its value is evaluated.
                if let Place::Register(from) = from
                    && self.is_written_often(to)
                    && let Some(number) = (self.number_of)(Value::Register(from))
                {
                    moved.push(UpperBound::new(to, Value::Integer(number), false));
                }
                moved
            });
        let written = self.body.defined(instruction).map(Place::Register);
        for written in written.chain(copied.map(|(to, _)| to)) {
            state.retain(|one| {
                one.place != written
                    && one
                        .bound
                        .register()
                        .is_none_or(|bound| Place::Register(bound) != written)
            });
        }
        add_bounds(state, moved);
        if let Some((to, from)) = self.register_move(instruction)
            && from.register().is_none()
            && self.is_written_often(Place::Register(to))
            && let Some(number) = (self.number_of)(from)
        {
            let bound = UpperBound::new(Place::Register(to), Value::Integer(number), false);
            add_bounds(state, [bound]);
        }
        if let Some((slot @ Place::Slot(_), _)) = copied
            && let Some(Value::Integer(number)) = self.analyses.value_stored_by(id)
            && instruction.guard.is_none()
        {
            add_bounds(state, [UpperBound::new(slot, Value::Integer(number), false)]);
        }
    }

    fn refine_on_edge(&self, state: &mut Vec<UpperBound>, block: BlockId, number: usize) -> bool {
        let Some((guard, is_branch)) = guard_of_end(self.body, block) else {
            return true;
        };
        let Some((at, _)) = self.body.block(block).next_back() else {
            return true;
        };
        // A thread that does not return goes on with the complement of its guard.
        let is_taken = is_branch && number == 0;
        let mut found = Vec::new();
        self.bounds_implied_by((guard.register, at), is_taken != guard.negated, |bound| {
            let copies = bound.register().map(|register| self.copies_of(register, at));
            let copies = copies.into_iter().flatten();
            found.extend(copies.map(|place| UpperBound { place, ..bound }));
        });
        add_bounds(state, found);
        true
    }
}

fn add_bounds(state: &mut Vec<UpperBound>, new: impl IntoIterator<Item = UpperBound>) {
    for one in new {
        if state.len() < MAX_REGISTER_BOUNDS && !state.contains(&one) {
            state.push(one);
        }
    }
}
