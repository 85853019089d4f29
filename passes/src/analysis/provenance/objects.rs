//! What is wrong with an address whose object is known: offsets outside it (PTX211), and local objects whose address
//! other threads get to see (PTX206).

use super::function::Judge;
use super::judge::{Effect, Use, Wrong, covers};
use super::value::{Base, Element, Form, Provenance, Trust};
use crate::context::ModuleContext;
use crate::ir::{Access, AccessKind, Function, InstructionId, Linkage, Op, Space, SymbolId, Value};

/// What an address can point into.
#[derive(Clone, Copy)]
pub(super) enum Object<'a> {
    /// A variable.
    Symbol(SymbolId),
    /// The parameter with this number of this kernel.
    Param(&'a Function<'a>, u16),
}

/// The size of a variable in bytes, if that is certain.
pub(super) fn size(module: &ModuleContext<'_>, symbol: SymbolId) -> Option<u64> {
    let symbol = module.module.symbol(symbol);
    // Another module's definition may be larger.
    let is_final = matches!(symbol.linkage, Linkage::Local | Linkage::External) && !symbol.is_undefined();
    symbol.size.filter(|_| is_final)
}

/// What is wrong with an access that starts so many bytes from the start of an object.
pub(super) fn outside(
    module: &ModuleContext<'_>,
    object: Object<'_>,
    start: i64,
    access: &Access,
) -> Option<Wrong> {
    let (size, align) = match object {
        Object::Symbol(symbol) => (size(module, symbol)?, module.module.symbol(symbol).align),
        Object::Param(function, number) => {
            let parameter = function.params.get(usize::from(number))?;
            (Some(parameter.size).filter(|&size| size > 0)?, parameter.align)
        }
    };
    let end = start.checked_add(i64::from(access.bytes()))?;
    if start < 0 || end > i64::try_from(size).ok()? {
        return Some(Wrong::OutOfBounds);
    }
    // A power of two.
    let past = access.unit().saturating_sub(1);
    let is_known_to_be_aligned = align & past == 0;
    (is_known_to_be_aligned && start & i64::from(past) != 0).then_some(Wrong::Misaligned)
}

impl Judge<'_> {
    /// PTX211: constant offsets outside the object, or misaligned in it.
    pub(super) fn bounds(&mut self, at: InstructionId, access: &Access, uses: &[Value], value: &Provenance) {
        let Some(&Value::Integer(by)) = uses.get(1) else {
            return;
        };
        if access.bytes() == 0 || access.kind == AccessKind::Other {
            return;
        }
        let mut first = None;
        for element in value.elements() {
            let start = element.offset.and_then(|offset| offset.checked_add(by));
            match start.and_then(|start| self.outside(element, start, access)) {
                Some(wrong) if element.trust == Trust::Certain => {
                    first.get_or_insert((
                        wrong,
                        Element {
                            offset: start,
                            ..*element
                        },
                    ));
                }
                _ => return,
            }
        }
        if let Some((wrong, element)) = first {
            self.report(
                at,
                wrong,
                Use::Access(access.space, Effect::Reads),
                element,
                true,
                None,
            );
        }
    }

    fn outside(&self, element: &Element, start: i64, access: &Access) -> Option<Wrong> {
        let object = match (element.form, element.base) {
            (Form::Raw | Form::Generic, Base::Symbol(symbol)) => Object::Symbol(symbol),
            (Form::Raw, Base::Param(number, _)) if element.space == Space::Param => {
                Object::Param(self.module.module.function(self.id), number)
            }
            _ => return None,
        };
        outside(self.module, object, start, access)
    }

    /// PTX206: the address of a local object stored to memory that other threads see.
    pub(super) fn escape(&mut self, at: InstructionId) {
        let instruction = self.body.instruction(at);
        let uses = self.body.uses(instruction);
        let (Op::Access(access), Some(&to)) = (instruction.op, uses.first()) else {
            return;
        };
        let is_seen = match access.space {
            Space::Global | Space::Shared | Space::SharedCluster => true,
            Space::Generic => {
                let (target, _) = self.solver.at(to, at);
                let elements = target.elements();
                !elements.is_empty()
                    && elements.iter().all(|element| {
                        element.is_address()
                            && (element.space == Space::Global || covers(Space::SharedCluster, element.space))
                    })
            }
            _ => false,
        };
        if !is_seen {
            return;
        }
        for &stored in uses.iter().skip(2) {
            let (value, _) = self.solver.at(stored, at);
            let is_local = |element: &Element| element.is_address() && element.space == Space::Local;
            let Some(element) = value.elements().iter().find(|element| is_local(element)) else {
                continue;
            };
            let is_definite = value
                .elements()
                .iter()
                .all(|element| is_local(element) && element.trust == Trust::Certain);
            self.report(
                at,
                Wrong::Escape,
                Use::Access(access.space, Effect::Writes),
                *element,
                is_definite,
                None,
            );
            return;
        }
    }
}
