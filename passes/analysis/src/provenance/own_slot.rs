//! Places in shared memory that one thread alone gets to see: `slots[threadIdx.x]`, of a variable that nothing accesses
//! otherwise.
//!
//! ```text
//! linear     symbol + scale × %tid.x + offset, through moves, conversions, sums and products with constants
//! own slot   linear, and so are all accesses to the symbol in the module, with the same scale and offset; its address is
//!            used for nothing else
//! ```
//!
//! Threads differ in `%tid.x` where blocks have one dimension.

use super::aliases::copied;
use crate::limits::MAX_PREDICATE_STEPS;
use crate::shared::Shared;
use ptxcheck_ir::{Access, BinaryOp, Body, FunctionId, Linkage, Op, Space, Special, SymbolId, Value};

#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Linear {
    symbol: Option<SymbolId>,
    scale: i64,
    offset: i64,
}

impl Linear {
    fn plus(self, other: Self) -> Option<Self> {
        Some(Self {
            symbol: match (self.symbol, other.symbol) {
                (Some(_), Some(_)) => return None,
                (one, other) => one.or(other),
            },
            scale: self.scale.checked_add(other.scale)?,
            offset: self.offset.checked_add(other.offset)?,
        })
    }

    fn times(self, other: Self) -> Option<Self> {
        let (many, by) = if other.scale == 0 {
            (self, other)
        } else {
            (other, self)
        };
        (by.scale == 0 && by.symbol.is_none() && many.symbol.is_none()).then_some(())?;
        Some(Self {
            symbol: None,
            scale: many.scale.checked_mul(by.offset)?,
            offset: many.offset.checked_mul(by.offset)?,
        })
    }
}

/// A body, and its addresses as linear functions of the thread's number.
struct Addresses<'a> {
    module: &'a Shared<'a>,
    id: FunctionId,
    body: &'a Body<'a>,
}

impl Addresses<'_> {
    fn linear(&self, value: Value, left: &mut usize) -> Option<Linear> {
        *left = left.checked_sub(1)?;
        let register = match value {
            Value::Integer(offset) => {
                return Some(Linear {
                    offset,
                    ..Linear::default()
                });
            }
            Value::Special(Special::Tid(0)) => {
                return Some(Linear {
                    scale: 1,
                    ..Linear::default()
                });
            }
            Value::Symbol(symbol, offset) => {
                return Some(Linear {
                    symbol: Some(symbol),
                    scale: 0,
                    offset: offset.into(),
                });
            }
            Value::Register(register) => register,
            _ => return None,
        };
        let analyses = self.module.function(self.id);
        let definition = analyses.definitions().only(self.body, register)?;
        if let Some(from) = copied(self.body, analyses, definition) {
            return self.linear(from, left);
        }
        let instruction = self.body.instruction(definition);
        match (instruction.op, self.body.uses(instruction)) {
            (Op::ToGeneric(Space::Shared, _) | Op::FromGeneric(Space::Shared, _), &[from]) => {
                self.linear(from, left)
            }
            (
                Op::Convert {
                    from: 32.., to: 32.., ..
                },
                &[from],
            ) => self.linear(from, left),
            (Op::Binary(BinaryOp::Add, _), &[one, other]) => {
                self.linear(one, left)?.plus(self.linear(other, left)?)
            }
            (Op::Binary(BinaryOp::Shl, _), &[value, Value::Integer(by @ 0..=16)]) => {
                self.linear(value, left)?.times(Linear {
                    offset: 1 << by,
                    ..Linear::default()
                })
            }
            (Op::Binary(op, _), &[one, other]) if is_product(op) => {
                self.linear(one, left)?.times(self.linear(other, left)?)
            }
            (Op::MulAdd(op, _), &[one, other, to]) if is_product(op) => {
                let product = self.linear(one, left)?.times(self.linear(other, left)?)?;
                product.plus(self.linear(to, left)?)
            }
            _ => None,
        }
    }

    /// The first byte of an access.
    fn start(&self, uses: &[Value]) -> Option<Linear> {
        let &[base, Value::Integer(by), ..] = uses else {
            return None;
        };
        let by = Linear {
            offset: by,
            ..Linear::default()
        };
        self.linear(base, &mut MAX_PREDICATE_STEPS.clone())?.plus(by)
    }

    /// True if a symbol's address is used for nothing but accesses to this place.
    fn is_only(&self, symbol: SymbolId, place: Linear) -> bool {
        let mut of_symbol = vec![false; self.body.registers.len()];
        let is_of = |of_symbol: &[bool], value: Value| match value {
            Value::Symbol(known, _) => known == symbol,
            Value::Register(register) => of_symbol[register.index()],
            _ => false,
        };
        let mut has_grown = true;
        while std::mem::take(&mut has_grown) {
            for instruction in &self.body.instructions {
                let uses = self.body.uses(instruction);
                let mut of_it = uses
                    .iter()
                    .enumerate()
                    .filter(|(_, used)| is_of(&of_symbol, **used));
                let Some((first, _)) = of_it.next() else {
                    continue;
                };
                let is_alone = of_it.next().is_none();
                match instruction.op {
                    Op::Access(_) if first == 0 && is_alone && self.start(uses) == Some(place) => {}
                    Op::Copy
                    | Op::Convert { .. }
                    | Op::ToGeneric(..)
                    | Op::FromGeneric(..)
                    | Op::MulAdd(..)
                    | Op::Binary(BinaryOp::Add, _)
                        if is_alone =>
                    {
                        for register in self.body.defined(instruction) {
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

const fn is_product(op: BinaryOp) -> bool {
    matches!(
        op,
        BinaryOp::MulLow | BinaryOp::MulWideSigned | BinaryOp::MulWideUnsigned
    )
}

/// True if an access is to a place in shared memory that certainly no other thread accesses.
pub(super) fn is_own_slot(
    module: &Shared<'_>,
    id: FunctionId,
    body: &Body<'_>,
    access: Access,
    uses: &[Value],
) -> bool {
    let addresses = Addresses { module, id, body };
    let Some(place) = addresses.start(uses) else {
        return false;
    };
    let Some(symbol) = place.symbol else { return false };
    let known = module.module.symbol(symbol);
    if known.space != Space::Shared
        || known.linkage != Linkage::Local
        || place.scale.unsigned_abs() < u64::from(access.bytes())
    {
        return false;
    }
    let names_it = |value: &Value| matches!(value, Value::Symbol(named, _) if *named == symbol);
    let mut others = module.module.bodies().filter(|(other, ..)| *other != id);
    !others.any(|(.., other)| other.values.iter().any(names_it)) && addresses.is_only(symbol, place)
}
