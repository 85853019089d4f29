//! Values that are not computed in the body: parameters, symbols, constants, results of calls, and registers without a
//! definition.

use super::solver::{Solver, Variable};
use super::summary::formal_elements;
use super::transfer;
use super::value::{Base, Element, ElementKind, Provenance, Trust};
use ptxcheck_ir::{
    Access, AccessKind, Argument, Instruction, InstructionId, Op, Register, Space, SymbolKind, Value,
};

impl Solver<'_> {
    /// The value that an instruction introduces into the body: a value without inputs.
    pub(super) fn source_value(
        &self,
        id: InstructionId,
        instruction: &Instruction,
        variable: Variable,
    ) -> Provenance {
        let uses = self.body.uses(instruction);
        match (instruction.op, uses) {
            (Op::Copy, &[value]) => self.value_of_constant(value, id),
            (
                Op::Access(Access {
                    kind: AccessKind::Load,
                    space: Space::Param,
                    bits,
                    ..
                }),
                &[Value::Param(number, offset), Value::Integer(0), ..],
            ) => {
                let results = self.body.results(instruction);
                let place = results.iter().position(|&result| match (result, variable) {
                    (Value::Register(result), Variable::Register(wanted)) => result == wanted,
                    _ => false,
                });
                let place = place.unwrap_or(0) as u32;
                let Ok(offset) = u32::try_from(offset) else {
                    return Provenance::Top;
                };
                self.value_of_parameter(
                    number,
                    offset.saturating_add(place * u32::from(bits / 8)),
                    bits,
                    id,
                )
            }
            (Op::ToGeneric(..) | Op::FromGeneric(..), &[value]) => {
                transfer::value_of_result(instruction.op, &[self.value_of_constant(value, id)], id)
            }
            _ => Provenance::Top,
        }
    }

    pub(super) fn value_of_parameter(
        &self,
        number: u16,
        offset: u32,
        bits: u8,
        at: InstructionId,
    ) -> Provenance {
        let base = Base::Param(number, offset);
        let start = |kind, space| Element {
            offset: Some(0),
            ..Element::of_address(kind, space, base, at)
        };
        if bits != 64 && bits != 32 {
            return Provenance::NUMBER;
        }
        let declared = self
            .function
            .params
            .get(usize::from(number))
            .and_then(|parameter| parameter.points_to);
        let element = match (self.function.is_kernel(), declared) {
            (true, Some(Space::Global)) if bits == 64 => start(ElementKind::Generic, Space::Global),
            (true, Some(space @ (Space::Shared | Space::Const | Space::Local))) => {
                start(ElementKind::Raw, space)
            }
            (true, _) if bits == 64 => Element {
                trust: Trust::Assumed,
                ..start(ElementKind::Generic, Space::Global)
            },
            (true, _) => return Provenance::Top,
            (false, _) => start(ElementKind::Formal, Space::Generic),
        };
        Provenance::One(element)
    }

    /// The value of an operand that is not a register.
    pub(super) fn value_of_constant(&self, value: Value, at: InstructionId) -> Provenance {
        match value {
            Value::Integer(number) => Provenance::One(Element::of_number(Some(number))),
            Value::Special(_) => Provenance::NUMBER,
            Value::Symbol(symbol, offset) => {
                let known = self.module.module.symbol(symbol);
                if known.kind != SymbolKind::Variable || known.space == Space::Generic {
                    return Provenance::Top;
                }
                Provenance::One(Element {
                    offset: Some(i64::from(offset)),
                    ..Element::of_address(ElementKind::Raw, known.space, Base::Symbol(symbol), at)
                })
            }
            // The address of a function's parameter is one on the stack.
            Value::Param(number, offset) if self.function.is_kernel() => Provenance::One(Element {
                offset: Some(i64::from(offset)),
                ..Element::of_address(ElementKind::Raw, Space::Param, Base::Param(number, 0), at)
            }),
            _ => Provenance::Top,
        }
    }

    pub(super) fn value_returned_by(
        &self,
        call: InstructionId,
        uses: &[Value],
        at: InstructionId,
    ) -> Provenance {
        let (Some((summary, arguments)), Some(&Value::Integer(offset))) =
            (self.callee_summary(call), uses.first())
        else {
            return Provenance::Top;
        };
        let Some(returned) = u32::try_from(offset)
            .ok()
            .and_then(|offset| summary.result_at(offset))
        else {
            return Provenance::Top;
        };
        let mut joined = Provenance::Bottom;
        for element in returned.elements() {
            let (ElementKind::Formal, Base::Param(number, piece)) = (element.kind, element.base) else {
                let base = match element.base {
                    Base::Symbol(_) => element.base,
                    _ => Base::Unknown,
                };
                joined.join(&Provenance::One(Element {
                    base,
                    origin: Some(call),
                    ..*element
                }));
                continue;
            };
            let passed = arguments
                .iter()
                .find(|argument| argument.param == u32::from(number) && argument.offset == piece);
            let value = passed.map_or(Provenance::Top, |argument| self.value_at(argument.value, at).0);
            joined.join(&value.map(|passed| {
                Element {
                    offset: passed
                        .offset
                        .zip(element.offset)
                        .and_then(|(a, b)| a.checked_add(b)),
                    ..*passed
                }
            }));
        }
        match returned {
            Provenance::Top => Provenance::Top,
            // A parameter that it returns may have been moved by another one.
            _ if formal_elements(returned).next().is_some() && self.passes_composed(arguments, call) => {
                Provenance::Top
            }
            _ => joined,
        }
    }

    /// True if a call passes a value computed from several addresses: moved by it, another argument may become an address
    /// anywhere.
    pub(super) fn passes_composed(&self, arguments: &[Argument], call: InstructionId) -> bool {
        let mut passed = arguments
            .iter()
            .map(|argument| self.value_at(argument.value, call).0);
        passed.any(|value| {
            value
                .elements()
                .iter()
                .any(|element| element.kind == ElementKind::Composed)
        })
    }

    /// A register without a definition: certain only if the front end cannot have missed a definition.
    pub(super) fn value_of_undefined(&self, register: Register) -> Provenance {
        let registers = &self.body.registers;
        let is_named = self
            .named_in_opaque
            .as_ref()
            .is_none_or(|named| named[register.index()]);
        // The components of a vector are written under their own names; a register made by a front end has none.
        if is_named
            || registers.bits(register) < 32
            || registers.name(register).is_empty()
            || self.function.is_damaged
        {
            return Provenance::Top;
        }
        Provenance::One(Element {
            kind: ElementKind::Undefined,
            base: Base::Register(register),
            origin: None,
            ..Element::of_number(None)
        })
    }
}
