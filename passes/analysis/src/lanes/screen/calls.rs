//! Arguments and results of functions, over all of their call sites.

use std::cell::{Cell, RefCell};

use rustc_hash::FxHashMap;

use super::facts::ModuleFacts;
use super::knowable::{Knowable, bound_of_special};
use super::optimistic_reach::OptimisticReach;
use crate::limits::MAX_SCREEN_STEPS;
use ptxcheck_ir::{Argument, Body, FunctionId, InstructionId, Op, Value};

/// Cache of arguments and results.
pub(super) struct Calls {
    known: RefCell<FxHashMap<(FunctionId, Piece), Knowable>>,
    /// Instructions of functions that may still be examined.
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

/// A value that enters or leaves a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Piece {
    /// A parameter, by number and byte offset.
    Param(u16, i32),
    Result,
}

impl<'m> ModuleFacts<'_, 'm> {
    /// Join of the arguments that callers pass in a piece of a parameter. `depth`: see [`OptimisticReach::nested_at_depth`].
    pub(super) fn bound_of_argument(
        &self,
        function: FunctionId,
        number: u16,
        offset: i32,
        depth: usize,
    ) -> Knowable {
        self.cached_bound(function, Piece::Param(number, offset), || {
            let (mut passed, mut reach) = (Knowable::default(), None);
            for site in self.module.call_graph().calls_to(function) {
                let Some(body) = &self.module.module.function(site.caller).body else {
                    return Knowable::LANE;
                };
                let Op::Call(call) = body.instruction(site.instruction).op else {
                    return Knowable::LANE;
                };
                let mut arguments = body.arguments(body.call(call)).iter();
                let passes = |argument: &&Argument| {
                    (argument.param, i64::from(argument.offset)) == (u32::from(number), i64::from(offset))
                };
                let value = arguments.find(passes).map_or(Value::Unknown, |found| found.value);
                let place = (site.caller, body, site.instruction);
                passed = passed.join(self.bound_over_callers(value, place, depth, &mut reach));
            }
            passed
        })
    }

    /// Join of the values that a function returns.
    pub(super) fn bound_of_return_value(&self, function: FunctionId, depth: usize) -> Knowable {
        self.cached_bound(function, Piece::Result, || {
            let Some(body) = &self.module.module.function(function).body else {
                return Knowable::UNKNOWN;
            };
            let (mut result, mut count, mut reach) = (Knowable::default(), 0, None);
            for (number, instruction) in body.instructions.iter().enumerate() {
                if let Some((_, value)) = body.returned(instruction) {
                    let place = (function, body, InstructionId::new(number));
                    result = result.join(self.bound_over_callers(value, place, depth, &mut reach));
                    count += 1;
                }
            }
            if count > 1 {
                result.after_guarded_write()
            } else {
                result
            }
        })
    }

    /// Computes a result once. In a cycle of calls, anything may be known.
    fn cached_bound(&self, function: FunctionId, piece: Piece, find: impl FnOnce() -> Knowable) -> Knowable {
        let key = (function, piece);
        if let Some(&known) = self.calls.known.borrow().get(&key) {
            return known;
        }
        self.calls.known.borrow_mut().insert(key, Knowable::LANE);
        let found = find();
        let found = if found.is_defined {
            found
        } else {
            Knowable::UNKNOWN
        };
        self.calls.known.borrow_mut().insert(key, found);
        found
    }

    /// Bound of a value before an instruction of a function, over all its callers. `reach`: the search of the previous call,
    /// reused within one function.
    fn bound_over_callers<'b>(
        &'b self,
        value: Value,
        (function, body, at): (FunctionId, &'b Body<'m>, InstructionId),
        depth: usize,
        reach: &mut Option<OptimisticReach<'b, 'm>>,
    ) -> Knowable {
        match value {
            Value::Register(_) | Value::Not(_) => {}
            Value::Integer(value) => return Knowable::of_integer(value),
            Value::Special(of) => return bound_of_special(of, self.has_shape),
            _ => return Knowable::UNKNOWN,
        }
        if reach.as_ref().is_none_or(|reach| reach.function != function) {
            let left = self.calls.left.get();
            let Some(left) = left.checked_sub(body.blocks.len() + body.registers.len()) else {
                return Knowable::LANE;
            };
            self.calls.left.set(left);
            *reach = Some(OptimisticReach::new(self, function, body).nested_at_depth(depth));
        }
        reach
            .as_mut()
            .map_or(Knowable::LANE, |reach| reach.set_read_point(at).bound_of(value))
    }
}
