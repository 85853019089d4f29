//! What functions are passed and return, from wherever they are called.

use std::cell::{Cell, RefCell};

use rustc_hash::FxHashMap;

use super::Basis;
use super::kind::Kind;
use super::look::Look;
use crate::analysis::lanes::slice::returned;
use crate::ir::{Body, FunctionId, InstructionId, Op, Value};
use crate::limits::MAX_SCREEN_STEPS;

/// What has been asked.
pub struct Calls {
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
    pub fn passed(&self, function: FunctionId, number: u16, offset: i32, depth: usize) -> Kind {
        self.asked(function, Piece::Param(number, offset), || {
            let mut passed = Kind::default();
            for site in self.module.call_graph().calls_to(function) {
                let Some(body) = &self.module.module.function(site.caller).body else {
                    return Kind::LANE;
                };
                let Op::Call(call) = body.instruction(site.instruction).op else {
                    return Kind::LANE;
                };
                let arguments = body.arguments(body.call(call));
                let is_asked = |argument: &&crate::ir::Argument| {
                    (argument.param, i64::from(argument.offset)) == (u32::from(number), i64::from(offset))
                };
                let value = arguments
                    .iter()
                    .find(is_asked)
                    .map_or(Value::Unknown, |found| found.value);
                passed = passed.join(self.value(site.caller, body, site.instruction, value, depth));
            }
            passed
        })
    }

    /// What a function returns.
    pub fn returned(&self, function: FunctionId, depth: usize) -> Kind {
        self.asked(function, Piece::Result, || {
            let Some(body) = &self.module.module.function(function).body else {
                return Kind::UNKNOWN;
            };
            let (mut result, mut count) = (Kind::default(), 0);
            for (number, instruction) in body.instructions.iter().enumerate() {
                if let Some((_, value)) = returned(body, instruction.op, body.uses(instruction)) {
                    result =
                        result.join(self.value(function, body, InstructionId::new(number), value, depth));
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

    /// A value before an instruction of a function, whoever calls that.
    fn value(
        &self,
        function: FunctionId,
        body: &Body<'m>,
        at: InstructionId,
        value: Value,
        depth: usize,
    ) -> Kind {
        if !matches!(value, Value::Register(_) | Value::Not(_)) {
            return Look::new(self, function, body).kind(value);
        }
        let Some(left) = self
            .calls
            .left
            .get()
            .checked_sub(body.blocks.len() + body.registers.len())
        else {
            return Kind::LANE;
        };
        self.calls.left.set(left);
        Look::new(self, function, body)
            .in_depth(depth)
            .before(at)
            .kind(value)
    }
}
