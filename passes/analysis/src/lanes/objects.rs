//! Objects in the frames of callers that functions access through their parameters.
//!
//! The graph has a copy of a function for each chain of calls, so each parameter there is one address: a `.local` symbol of
//! some caller's frame and a distance. An access through it counts as an access to that caller's slot, regardless of the
//! parameters in between.

use rustc_hash::FxHashMap;

use crate::addresses::{SlotBase, addresses_passed_by};
use crate::shared::Shared;
use crate::slots::SlotId;
use ptxcheck_ir::{FunctionId, InstructionId, ParamPiece, SymbolId};

/// A context: the function, and the context and instruction that call it.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    /// The function.
    pub function: FunctionId,
    /// The context and the instruction that call it.
    pub caller: Option<(u32, InstructionId)>,
}

/// An address in the frame of a context.
#[derive(Clone, Copy)]
struct FrameObject {
    /// The context.
    context: u32,
    /// The symbol.
    symbol: SymbolId,
    /// Distance from the start of the symbol in bytes.
    offset: i64,
}

/// The slots of callers that contexts access. A copied context counts as its original.
#[derive(Default)]
pub(super) struct Objects {
    /// The context and its slot, by the context of the access and the instruction.
    accessed: FxHashMap<(u32, InstructionId), (u32, SlotId)>,
    /// The contexts and symbols whose addresses a call of a context passes on.
    passed: FxHashMap<(u32, InstructionId), Vec<(u32, SymbolId)>>,
}

impl Objects {
    /// The objects of contexts. Callers come before their callees.
    pub(super) fn new(module: &Shared<'_>, contexts: &[Frame]) -> Self {
        let mut found = Self::default();
        let mut params: FxHashMap<(u32, ParamPiece), FrameObject> = FxHashMap::default();
        for (context, number) in contexts.iter().zip(0..) {
            let Some((caller, call)) = context.caller else {
                continue;
            };
            let outer = contexts[caller as usize].function;
            let own = addresses_passed_by(&module.function(outer).slots().passed, call);
            let handed_on = module
                .param_use(outer)
                .map_or(&[][..], |used| used.passed_addresses());
            for passed in own.iter().chain(addresses_passed_by(handed_on, call)) {
                let object = match passed.base {
                    SlotBase::Symbol(symbol) => Some(FrameObject {
                        context: caller,
                        symbol,
                        offset: 0,
                    }),
                    SlotBase::Param(param) => params.get(&(caller, param)).copied(),
                };
                let object = object.and_then(|object| {
                    let offset = object.offset.checked_add(passed.offset)?;
                    Some(FrameObject { offset, ..object })
                });
                if let Some(object) = object {
                    params.insert((number, passed.param), object);
                }
            }
            found.add_objects_of_context(module, contexts, number, &params);
        }
        found
    }

    fn add_objects_of_context(
        &mut self,
        module: &Shared<'_>,
        contexts: &[Frame],
        number: u32,
        params: &FxHashMap<(u32, ParamPiece), FrameObject>,
    ) {
        let Some(used) = module.param_use(contexts[number as usize].function) else {
            return;
        };
        for (id, param, offset, count) in used.accesses_through_params() {
            let Some(object) = params.get(&(number, param)) else {
                continue;
            };
            let slots = module
                .function(contexts[object.context as usize].function)
                .slots();
            let slot = object.offset.checked_add(offset);
            if let Some(slot) = slot.and_then(|offset| slots.slot_at(object.symbol, offset, count)) {
                self.accessed.insert((number, id), (object.context, slot));
            }
        }
        for passed in used.passed_addresses() {
            if let SlotBase::Param(param) = passed.base
                && let Some(object) = params.get(&(number, param))
            {
                let all = self.passed.entry((number, passed.call)).or_default();
                all.push((object.context, object.symbol));
            }
        }
    }

    /// The context and its slot that an instruction of another context accesses through a parameter. `home`: the other
    /// context, or the original if it is a copy.
    pub(super) fn accessed_slot(&self, home: u32, id: InstructionId) -> Option<(u32, SlotId)> {
        if self.accessed.is_empty() {
            return None;
        }
        self.accessed.get(&(home, id)).copied()
    }

    /// The objects of other contexts whose addresses a call passes on: contexts and symbols.
    pub(super) fn passed_objects(&self, home: u32, call: InstructionId) -> &[(u32, SymbolId)] {
        self.passed.get(&(home, call)).map_or(&[], Vec::as_slice)
    }
}
