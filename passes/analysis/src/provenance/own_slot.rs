//! Bytes of shared memory that a single thread accesses: `slots[threadIdx.x]`, for a variable without other accesses.
//!
//! ```text
//! place      symbol + scale × %tid.x + offset, as the sum that an address is
//! own slot   such a place, and so are all accesses to the symbol in the module, with the same scale and offset; its address is
//!            used for nothing else
//! ```
//!
//! Threads differ in `%tid.x` where blocks have one dimension.

use crate::shared::Shared;
use crate::value::{Atom, Evaluator, Linear, Parts, Source, Sum};
use ptxcheck_ir::ops::Form;
use ptxcheck_ir::{Access, Body, FunctionId, Linkage, Op, Space, Special, SymbolId, Value};

/// A body, and its addresses as sums.
struct Addresses<'a> {
    body: &'a Body<'a>,
    sums: Evaluator<'a, 'a, Linear<'a>>,
}

impl Addresses<'_> {
    /// The first byte of an access.
    fn first_byte_of_access(&mut self, uses: &[Value]) -> Option<(Parts, i64)> {
        let &[base, Value::Integer(past), ..] = uses else {
            return None;
        };
        let Sum { parts, by } = self.sums.description_of(base)?;
        Some((parts, (by.uniform_number()? as i64).checked_add(past)?))
    }

    /// The variable that contains an address, and the distance in bytes between the elements of two neighbouring threads.
    fn variable_and_thread_distance(&self, parts: Parts) -> Option<(SymbolId, i64)> {
        match self.sums.domain().terms_of(parts)[..] {
            [(Atom::Symbol(symbol), 1), (Atom::Special(Special::Tid(0)), scale)] => Some((symbol, scale)),
            _ => None,
        }
    }

    /// True if a symbol's address is used only for accesses to this place.
    fn is_used_only_at(&mut self, symbol: SymbolId, place: (Parts, i64)) -> bool {
        let mut of_symbol = vec![false; self.body.registers.len()];
        let is_of = |of_symbol: &[bool], value: Value| match value {
            Value::Symbol(known, _) => known == symbol,
            Value::Register(register) => of_symbol[register.index()],
            _ => false,
        };
        let mut has_grown = true;
        while std::mem::take(&mut has_grown) {
            let body = self.body;
            for instruction in &body.instructions {
                let uses = body.uses(instruction);
                let mut of_it = uses
                    .iter()
                    .enumerate()
                    .filter(|(_, used)| is_of(&of_symbol, **used));
                let Some((first, _)) = of_it.next() else {
                    continue;
                };
                let is_alone = of_it.next().is_none();
                match (instruction.op, Form::of(instruction.op, uses)) {
                    (Op::Access(_), _)
                        if first == 0 && is_alone && self.first_byte_of_access(uses) == Some(place) => {}
                    (_, Form::Moved(..) | Form::ProductSum(..) | Form::Sum(..)) if is_alone => {
                        for register in body.defined(instruction) {
                            has_grown |= !std::mem::replace(&mut of_symbol[register.index()], true);
                        }
                    }
                    _ => return false,
                }
            }
        }
        let mut passed = self.body.calls.iter().flat_map(|call| self.body.arguments(call));
        !passed.any(|argument| is_of(&of_symbol, argument.value))
    }
}

/// True if an access is to bytes in shared memory that certainly no other thread accesses.
pub(super) fn is_thread_private_slot(
    module: &Shared<'_>,
    id: FunctionId,
    access: Access,
    uses: &[Value],
) -> bool {
    let Some(source) = Source::of_function(module, id) else {
        return false;
    };
    let mut addresses = Addresses {
        body: source.body,
        sums: Evaluator::new(source, Linear::of_unknowns()),
    };
    let Some(place) = addresses.first_byte_of_access(uses) else {
        return false;
    };
    let Some((symbol, scale)) = addresses.variable_and_thread_distance(place.0) else {
        return false;
    };
    let known = module.module.symbol(symbol);
    if known.space != Space::Shared
        || known.linkage != Linkage::Local
        || scale.unsigned_abs() < u64::from(access.bytes())
    {
        return false;
    }
    let names_it = |value: &Value| matches!(value, Value::Symbol(named, _) if *named == symbol);
    let mut others = module.module.bodies().filter(|(other, ..)| *other != id);
    !others.any(|(.., other)| other.values.iter().any(names_it)) && addresses.is_used_only_at(symbol, place)
}
