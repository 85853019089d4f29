//! Registers that may be constant at all, and so are worth a slice: most registers that decide branches depend on a
//! load, which is soon found.

use super::{Slice, Variable, loaded_param};
use crate::function::Analyses;
use crate::slots::{Effect, SlotId};
use ptxcheck_ir::evaluate::{is_interpreted, may_absorb};
use ptxcheck_ir::{InstructionId, Register, Value};

/// State of the search for one register: whether it can be constant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MayBeConstant {
    /// Not searched yet.
    Open,
    /// It can if this one can.
    If(Register),
    Yes,
    No,
}

/// Result for a value that is computed from all of these values.
fn of_all(sources: &[Value], may_be_constant: &[MayBeConstant]) -> MayBeConstant {
    let mut found = MayBeConstant::Yes;
    for source in sources {
        let own = match (source, source.register()) {
            (_, Some(register)) => match may_be_constant[register.index()] {
                MayBeConstant::Open => MayBeConstant::If(register),
                // A cycle: it depends on itself.
                MayBeConstant::If(_) => MayBeConstant::No,
                known => known,
            },
            (Value::Integer(_), None) => MayBeConstant::Yes,
            _ => MayBeConstant::No,
        };
        match own {
            MayBeConstant::No => return own,
            MayBeConstant::If(_) => found = own,
            _ => {}
        }
    }
    found
}

/// Result for a value that one of these values may decide: a register, as the other operand is a constant more often
/// than not.
fn of_any(sources: &[Value], may_be_constant: &[MayBeConstant]) -> MayBeConstant {
    let mut found = MayBeConstant::No;
    for source in sources.iter().filter(|source| source.register().is_some()) {
        match of_all(std::slice::from_ref(source), may_be_constant) {
            MayBeConstant::Yes => return MayBeConstant::Yes,
            open @ MayBeConstant::If(_) => found = open,
            _ => {}
        }
    }
    found
}

/// Values that a variable's constancy depends on.
enum Sources<'a> {
    /// Nothing: it never is.
    None,
    /// All of these have to be.
    Of(&'a [Value]),
    /// One of the registers among these may be enough.
    AnyOf(&'a [Value]),
    /// One of several things, which the place decides.
    Any,
}

impl<'a> Slice<'a> {
    /// True if a register may be constant: it is not if any value that it is computed from is not. The search ends
    /// with the first such.
    pub(super) fn may_be_known(&mut self, analyses: &'a Analyses<'_>, register: Register) -> bool {
        if self.may_be_constant.is_empty() {
            self.may_be_constant = vec![MayBeConstant::Open; self.body.registers.len()];
        }
        let mut open = vec![register];
        while let Some(&register) = open.last() {
            let own = match self.may_be_constant[register.index()] {
                MayBeConstant::Open | MayBeConstant::If(_) => match self.sources(analyses, register) {
                    Sources::None => MayBeConstant::No,
                    Sources::Of(values) => of_all(values, &self.may_be_constant),
                    Sources::AnyOf(values) => of_any(values, &self.may_be_constant),
                    Sources::Any => MayBeConstant::Yes,
                },
                known => known,
            };
            self.may_be_constant[register.index()] = own;
            if let MayBeConstant::If(source) = own {
                open.push(source);
            } else {
                open.pop();
            }
        }
        self.may_be_constant[register.index()] == MayBeConstant::Yes
    }

    /// True if one of its writers may give a variable a constant.
    pub(super) fn may_write_known(
        &mut self,
        analyses: &'a Analyses<'_>,
        variable: Variable,
        writer: InstructionId,
    ) -> bool {
        let sources = match variable {
            Variable::Register(_) => self.sources_of(analyses, writer),
            Variable::Slot(slot) => self.stored_by(slot, writer),
        };
        let mut is_known = |value: &Value, is_constant_known: bool| match value.register() {
            Some(register) => self.may_be_known(analyses, register),
            None => is_constant_known && matches!(value, Value::Integer(_)),
        };
        match sources {
            Sources::None => false,
            Sources::Of(values) => values.iter().all(|value| is_known(value, true)),
            Sources::AnyOf(values) => values.iter().any(|value| is_known(value, false)),
            Sources::Any => true,
        }
    }

    /// Sources of a register's value.
    fn sources(&mut self, analyses: &'a Analyses<'_>, register: Register) -> Sources<'a> {
        match *self.definitions.of(register) {
            [] => Sources::None,
            [one] if !self.is_fixed || self.body.instruction(one).guard.is_none() => {
                self.sources_of(analyses, one)
            }
            _ if self.is_fixed => Sources::None,
            _ => Sources::Any,
        }
    }

    /// Sources of the value that an instruction writes to a register.
    fn sources_of(&mut self, analyses: &'a Analyses<'_>, id: InstructionId) -> Sources<'a> {
        let instruction = self.body.instruction(id);
        if let Some(slot) = analyses.loaded_slot(id, instruction) {
            self.slots = analyses.slots();
            return match *self.slots.stores(slot) {
                [] => Sources::None,
                [one] if !self.is_fixed || analyses.store_for(id).is_some() => self.stored_by(slot, one),
                _ if self.is_fixed => Sources::None,
                _ => Sources::Any,
            };
        }
        match loaded_param(self.body, instruction) {
            Some(piece) if self.is_fixed && !self.arguments.contains_key(&piece) => Sources::None,
            Some(_) => Sources::Of(&[]),
            None if may_absorb(instruction.op) => match self.body.uses(instruction) {
                [one @ Value::Integer(_), other, _] if one == other => Sources::Of(&[]),
                uses => Sources::AnyOf(uses),
            },
            None if is_interpreted(instruction.op) => Sources::Of(self.body.uses(instruction)),
            None => Sources::None,
        }
    }

    /// Sources of the value that a store puts into a slot.
    fn stored_by(&self, slot: SlotId, store: InstructionId) -> Sources<'a> {
        let instruction = self.body.instruction(store);
        match (
            self.slots.effect(store, instruction),
            self.body.uses(instruction).get(2..3),
        ) {
            (Effect::Store(own), Some(stored)) if own == slot => Sources::Of(stored),
            _ => Sources::None,
        }
    }
}
