//! Which registers are worth a slice: most of those that decide branches hang off a load, and that is soon found.

use super::{Key, Slice, loaded_param};
use crate::analysis::evaluate::is_interpreted;
use crate::context::Analyses;
use crate::ir::{Register, Value};

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

impl<'a> Slice<'a> {
    /// Whether a register may be fixed and known: not if anything that it hangs off is not. The search ends with the first such.
    pub(super) fn may_be_known(
        &mut self,
        analyses: &'a Analyses<'_>,
        register: Register,
        outlooks: &mut [Outlook],
    ) -> bool {
        let mut open = vec![register];
        while let Some(&register) = open.last() {
            outlooks[register.index()] = match self.sources(analyses, register) {
                Some(sources) => outlook(sources, outlooks),
                None => Outlook::Unknown,
            };
            if let Outlook::HangsOff(source) = outlooks[register.index()] {
                open.push(source);
            } else {
                open.pop();
            }
        }
        outlooks[register.index()] == Outlook::MayBeKnown
    }

    /// What a register is computed from; `None` if it is not fixed, or not known.
    fn sources(&mut self, analyses: &'a Analyses<'_>, register: Register) -> Option<&'a [Value]> {
        let definition = self.definitions.only(self.body, register)?;
        let instruction = self.body.instruction(definition);
        if let Some(slot) = analyses.loaded_slot(definition, instruction) {
            self.slots = analyses.slots();
            let &[store] = self.slots.stores(slot) else {
                return None;
            };
            let is_fixed = self.may_be_fixed(Key::Slot(slot)) && self.is_before(analyses, store, definition);
            return self
                .body
                .uses(self.body.instruction(store))
                .get(2..3)
                .filter(|_| is_fixed);
        }
        match loaded_param(self.body, instruction) {
            Some(piece) => self.arguments.contains_key(&piece).then_some(&[]),
            None => is_interpreted(instruction.op).then(|| self.body.uses(instruction)),
        }
    }
}
