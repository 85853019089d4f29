//! What a value is in a lane of one warp, where nothing but the number of the thread decides it.

use crate::definitions::Definitions;
use crate::lanes::transfer::MAX_USES;
use crate::lanes::value::WARP;
use ptxcheck_ir::evaluate::{evaluate, is_interpreted, ones};
use ptxcheck_ir::{Body, Op, Special, Value};

/// The threads of a warp of a CTA of one dimension.
pub(super) struct Threads<'a, 'm> {
    pub body: &'a Body<'m>,
    pub definitions: &'a Definitions,
    pub warp: u32,
}

/// Operations that a value may hang off; beyond, it is not known.
const MAX_STEPS: usize = 64;

impl Threads<'_, '_> {
    /// A value that is the same in all lanes of the warp.
    pub(super) fn same(&self, value: Value) -> Option<u64> {
        let mut lanes = (0..WARP as u64).map(|lane| self.exact(value, lane, &mut MAX_STEPS.clone()));
        let first = lanes.next()??;
        lanes.all(|other| other == Some(first)).then_some(first)
    }

    fn exact(&self, value: Value, lane: u64, left: &mut usize) -> Option<u64> {
        *left = left.checked_sub(1)?;
        let (register, is_complement) = match value {
            Value::Integer(value) => return Some(value as u64),
            Value::Special(Special::LaneId) => return Some(lane),
            Value::Special(Special::Tid(0)) => return Some(u64::from(self.warp) * WARP as u64 + lane),
            Value::Register(register) => (register, false),
            Value::Not(register) => (register, true),
            _ => return None,
        };
        let definition = self.definitions.only(self.body, register)?;
        let instruction = self.body.instruction(definition);
        let is_first = self.body.results(instruction).first() == Some(&Value::Register(register));
        if !is_first || !is_interpreted(instruction.op) {
            return None;
        }
        let (mut values, uses) = ([0; MAX_USES], self.body.uses(instruction));
        let values = values.get_mut(..uses.len())?;
        for (value, &operand) in values.iter_mut().zip(uses) {
            *value = self.exact(operand, lane, left)?;
        }
        // `evaluate` knows operations with one result.
        let known = match instruction.op {
            Op::Unpack(_) => None,
            op => evaluate(op, values),
        }?;
        let bits = self.body.registers[register.index()].bits;
        let known = known & if bits == 0 { u64::MAX } else { ones(bits) };
        Some(if is_complement { (known & 1) ^ 1 } else { known })
    }
}
