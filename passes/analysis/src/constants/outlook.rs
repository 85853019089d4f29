//! Which registers are worth a slice: most of those that decide branches hang off a load, and that is soon found.

use super::{Key, Slice, loaded_param};
use crate::function::Analyses;
use crate::slots::{Effect, SlotId};
use ptxcheck_ir::evaluate::{is_interpreted, may_absorb};
use ptxcheck_ir::{InstructionId, Register, Value};

/// Whether a register may be known, as far as has been looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Outlook {
    Open,
    /// If this one may.
    HangsOff(Register),
    MayBeKnown,
    Unknown,
}

/// Of what is computed from these values.
fn outlook(sources: &[Value], outlooks: &[Outlook]) -> Outlook {
    let mut found = Outlook::MayBeKnown;
    for source in sources {
        let own = match (source, source.register()) {
            (_, Some(register)) => match outlooks[register.index()] {
                Outlook::Open => Outlook::HangsOff(register),
                // It hangs off itself.
                Outlook::HangsOff(_) => Outlook::Unknown,
                known => known,
            },
            (Value::Integer(_), None) => Outlook::MayBeKnown,
            _ => Outlook::Unknown,
        };
        match own {
            Outlook::Unknown => return own,
            Outlook::HangsOff(_) => found = own,
            _ => {}
        }
    }
    found
}

/// Of what one of these values may decide: a register, as the other operand is a constant more often than not.
fn outlook_of_any(sources: &[Value], outlooks: &[Outlook]) -> Outlook {
    let mut found = Outlook::Unknown;
    for source in sources.iter().filter(|source| source.register().is_some()) {
        match outlook(std::slice::from_ref(source), outlooks) {
            Outlook::MayBeKnown => return Outlook::MayBeKnown,
            open @ Outlook::HangsOff(_) => found = open,
            _ => {}
        }
    }
    found
}

/// What decides whether something is known.
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
    /// Whether a register may be known: not if anything is not that it is computed from. The search ends with the first such.
    pub(super) fn may_be_known(&mut self, analyses: &'a Analyses<'_>, register: Register) -> bool {
        if self.outlooks.is_empty() {
            self.outlooks = vec![Outlook::Open; self.body.registers.len()];
        }
        let mut open = vec![register];
        while let Some(&register) = open.last() {
            let own = match self.outlooks[register.index()] {
                Outlook::Open | Outlook::HangsOff(_) => match self.sources(analyses, register) {
                    Sources::None => Outlook::Unknown,
                    Sources::Of(values) => outlook(values, &self.outlooks),
                    Sources::AnyOf(values) => outlook_of_any(values, &self.outlooks),
                    Sources::Any => Outlook::MayBeKnown,
                },
                known => known,
            };
            self.outlooks[register.index()] = own;
            if let Outlook::HangsOff(source) = own {
                open.push(source);
            } else {
                open.pop();
            }
        }
        self.outlooks[register.index()] == Outlook::MayBeKnown
    }

    /// Whether one of its writers may make something known of a key.
    pub(super) fn may_write_known(
        &mut self,
        analyses: &'a Analyses<'_>,
        key: Key,
        writer: InstructionId,
    ) -> bool {
        let sources = match key {
            Key::Register(_) => self.sources_of(analyses, writer),
            Key::Slot(slot) => self.stored_by(slot, writer),
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

    /// Of a register.
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

    /// Of what an instruction writes to a register.
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

    /// Of what a store puts into a slot.
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
