//! Equal addresses: the computation of a value as a number.
//!
//! Two values of a function with one number are computed in one way: by the same operations on the same registers, slots, parameters and
//! what the same addresses held in memory. Between the two, memory or a register with several definitions may have changed.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use crate::function::Analyses;
use crate::shared::Shared;
use crate::value::{Domain, Evaluator, Result, Source};
use ptxcheck_ir::{Access, Body, FunctionId, InstructionId, Op, Register, Value};

/// The domain of these numbers.
pub(super) struct Shapes<'a, 'm> {
    body: &'a Body<'m>,
    analyses: &'a Analyses<'m>,
}

/// The evaluator of the numbers of values in a function.
pub(super) fn shape_evaluator<'a, 'm>(
    module: &'a Shared<'m>,
    function: FunctionId,
    body: &'a Body<'m>,
) -> Evaluator<'a, 'm, Shapes<'a, 'm>> {
    let analyses = module.function(function);
    let source = Source {
        module: Some(module),
        ..Source::within_body(body, analyses)
    };
    Evaluator::new(source, Shapes { body, analyses })
}

fn shape_number(parts: impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    parts.hash(&mut hasher);
    hasher.finish()
}

impl Domain for Shapes<'_, '_> {
    type Value = u64;

    fn describes_accesses(&self) -> bool {
        true
    }

    fn describes_calls(&self) -> bool {
        true
    }

    fn describe_operand(&self, value: Value) -> Option<u64> {
        Some(match value {
            Value::Integer(integer) => shape_number((0, integer)),
            Value::Symbol(symbol, by) => shape_number((1, symbol, by)),
            Value::Param(param, by) => shape_number((2, param, by)),
            Value::Special(special) => shape_number((3, special)),
            Value::ReturnSlot(..) | Value::Unknown | Value::Register(_) | Value::Not(_) => return None,
        })
    }

    fn describe_param(&self, (param, at): (u16, i32), access: Access) -> Option<u64> {
        Some(shape_number((4, param, at, access.bits)))
    }

    fn describe_access(&self, (_, access): (InstructionId, Access), address: &u64) -> Option<u64> {
        Some(shape_number((5, access.bits, address)))
    }

    fn describe_call(&self, call: InstructionId, arguments: &[Option<u64>]) -> Option<u64> {
        let Op::Call(number) = self.body.instruction(call).op else {
            return None;
        };
        let ptxcheck_ir::Callee::Direct(symbol) = self.body.call(number).callee else {
            return None;
        };
        let arguments: Option<Vec<u64>> = arguments.iter().copied().collect();
        Some(shape_number((6, symbol, arguments?)))
    }

    fn known_description(&self, register: Register) -> Option<u64> {
        let is_one = self.analyses.only_writer(Value::Register(register)).is_some();
        (!is_one).then(|| shape_number((8, register)))
    }

    /// A register that is loaded from a slot with several stores, or computed in an unknown way.
    fn opaque_description(&self, register: Register) -> Option<u64> {
        let load = self.analyses.only_writer(Value::Register(register));
        let slot = load.and_then(|load| self.analyses.loaded_slot(load, self.body.instruction(load)));
        Some(match slot {
            Some(slot) => shape_number((7, slot)),
            None => shape_number((8, register)),
        })
    }

    fn relevant_operands<'u>(&self, op: Op, uses: &'u [Value]) -> Option<&'u [Value]> {
        (!matches!(op, Op::Opaque | Op::Collective(..) | Op::ActiveMask)).then_some(uses)
    }

    fn describe_result(&self, op: Op, result: Result, operands: &[u64]) -> Option<u64> {
        Some(match (op, operands) {
            (op, [one]) if op.keeps_bits() => *one,
            _ => shape_number((9, op, result.number, operands)),
        })
    }
}
