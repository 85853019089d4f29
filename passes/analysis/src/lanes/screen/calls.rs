//! What functions are passed and return, from wherever they are called.

use std::cell::{Cell, RefCell};

use rustc_hash::FxHashMap;

use super::basis::Basis;
use super::kind::{Kind, special};
use super::look::Look;
use crate::limits::MAX_SCREEN_STEPS;
use ptxcheck_ir::{Argument, Body, FunctionId, InstructionId, Op, Value};

/// What has been asked.
pub(super) struct Calls {
    known: RefCell<FxHashMap<(FunctionId, Piece), Kind>>,
    /// Instructions of functions that may still be looked at.
    left: Cell<usize>,
}

impl Default for Calls {
    fn default() -> Self {
        Self {
            known: RefCell::default(),
            left: Cell::new(MAX_SCREEN_STEPS),
        }
    }
}

/// What goes into a function, or out of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Piece {
    /// A parameter, by number and byte offset.
    Param(u16, i32),
    Result,
}

impl<'m> Basis<'_, 'm> {
    /// What callers pass in a piece of a parameter. `depth`: see [`Look::in_depth`].
    pub(super) fn passed(&self, function: FunctionId, number: u16, offset: i32, depth: usize) -> Kind {
        self.asked(function, Piece::Param(number, offset), || {
            let (mut passed, mut look) = (Kind::default(), None);
            for site in self.module.call_graph().calls_to(function) {
                let Some(body) = &self.module.module.function(site.caller).body else {
                    return Kind::LANE;
                };
                let Op::Call(call) = body.instruction(site.instruction).op else {
                    return Kind::LANE;
                };
                let mut arguments = body.arguments(body.call(call)).iter();
                let passes = |argument: &&Argument| {
                    (argument.param, i64::from(argument.offset)) == (u32::from(number), i64::from(offset))
                };
                let value = arguments.find(passes).map_or(Value::Unknown, |found| found.value);
                let place = (site.caller, body, site.instruction);
                passed = passed.join(self.value(value, place, depth, &mut look));
            }
            passed
        })
    }

    /// What a function returns.
    pub(super) fn returned(&self, function: FunctionId, depth: usize) -> Kind {
        self.asked(function, Piece::Result, || {
            let Some(body) = &self.module.module.function(function).body else {
                return Kind::UNKNOWN;
            };
            let (mut result, mut count, mut look) = (Kind::default(), 0, None);
            for (number, instruction) in body.instructions.iter().enumerate() {
                if let Some((_, value)) = body.returned(instruction) {
                    let place = (function, body, InstructionId::new(number));
                    result = result.join(self.value(value, place, depth, &mut look));
                    count += 1;
                }
            }
            if count > 1 { result.split() } else { result }
        })
    }

    /// Looks something up once. Round a cycle of calls, anything may be known.
    fn asked(&self, function: FunctionId, piece: Piece, find: impl FnOnce() -> Kind) -> Kind {
        let key = (function, piece);
        if let Some(&known) = self.calls.known.borrow().get(&key) {
            return known;
        }
        self.calls.known.borrow_mut().insert(key, Kind::LANE);
        let found = find();
        let found = if found.is_defined { found } else { Kind::UNKNOWN };
        self.calls.known.borrow_mut().insert(key, found);
        found
    }

    /// A value before an instruction of a function, whoever calls that. `look`: at the function of the place before.
    fn value<'b>(
        &'b self,
        value: Value,
        (function, body, at): (FunctionId, &'b Body<'m>, InstructionId),
        depth: usize,
        look: &mut Option<Look<'b, 'm>>,
    ) -> Kind {
        match value {
            Value::Register(_) | Value::Not(_) => {}
            Value::Integer(value) => return Kind::of_integer(value),
            Value::Special(of) => return special(of, self.has_shape),
            _ => return Kind::UNKNOWN,
        }
        if look.as_ref().is_none_or(|look| look.function != function) {
            let left = self.calls.left.get();
            let Some(left) = left.checked_sub(body.blocks.len() + body.registers.len()) else {
                return Kind::LANE;
            };
            self.calls.left.set(left);
            *look = Some(Look::new(self, function, body).in_depth(depth));
        }
        look.as_mut()
            .map_or(Kind::LANE, |look| look.before(at).kind(value))
    }
}
