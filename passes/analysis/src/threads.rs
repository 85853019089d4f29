//! The values of registers in each lane of one warp, where they depend on nothing but the number of the thread.

use crate::definitions::Definitions;
use ptxcheck_ir::evaluate::{evaluate, evaluate_result, is_interpreted, ones};
use ptxcheck_ir::{BinaryOp, Body, Op, Special, SymbolId, Value};

/// The threads of a warp of a CTA of one dimension, or of the part of a warp that lies in the first row of a CTA.
pub(crate) struct Threads<'a, 'm> {
    pub(crate) body: &'a Body<'m>,
    pub(crate) definitions: &'a Definitions,
    pub(crate) warp: u32,
}

/// Lanes of a warp.
const WARP: u64 = 32;

/// Most operands of an operation that is evaluated.
const MAX_USES: usize = 8;

/// The object that an address counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// A variable.
    Symbol(SymbolId),
    /// The parameter with this number.
    Param(u16),
}

/// Operations that a value may hang off; beyond, it is not known.
const MAX_STEPS: usize = 64;

impl Threads<'_, '_> {
    /// A value that is the same in all lanes of the warp.
    pub(crate) fn same(&self, value: Value) -> Option<u64> {
        let mut lanes = (0..WARP).map(|lane| self.exact(value, lane, &mut MAX_STEPS.clone()));
        let first = lanes.next()??;
        lanes.all(|other| other == Some(first)).then_some(first)
    }

    /// A value in a lane.
    pub(crate) fn at(&self, value: Value, lane: u32) -> Option<u64> {
        self.exact(value, u64::from(lane), &mut MAX_STEPS.clone())
    }

    /// The object that an address counts from in a lane, and its distance from there in bytes.
    pub(crate) fn address(&self, value: Value, lane: u32) -> Option<(Start, i64)> {
        self.place(value, u64::from(lane), &mut MAX_STEPS.clone())
    }

    fn place(&self, value: Value, lane: u64, left: &mut usize) -> Option<(Start, i64)> {
        *left = left.checked_sub(1)?;
        let register = match value {
            Value::Symbol(symbol, by) => return Some((Start::Symbol(symbol), by.into())),
            Value::Param(number, by) => return Some((Start::Param(number), by.into())),
            Value::Register(register) => register,
            _ => return None,
        };
        let instruction = self.body.instruction(self.definitions.only(self.body, register)?);
        if self.body.results(instruction).first() != Some(&value) {
            return None;
        }
        let signed = |value: u64, bits: u8| match bits {
            32 => Some(i64::from(value as i32)),
            64 => Some(value as i64),
            _ => None,
        };
        let (start, by, past) = match (instruction.op, self.body.uses(instruction)) {
            (Op::Copy | Op::ToGeneric(..) | Op::FromGeneric(..), &[one, ..]) => (one, 0, false),
            (
                Op::Convert {
                    from: 32.., to: 32.., ..
                },
                &[one],
            ) => (one, 0, false),
            (Op::Binary(BinaryOp::Add, bits), &[a, b]) => match self.exact(b, lane, left) {
                Some(by) => (a, signed(by, bits)?, true),
                None => (b, signed(self.exact(a, lane, left)?, bits)?, true),
            },
            (Op::Binary(BinaryOp::Sub, bits), &[a, b]) => {
                (a, signed(self.exact(b, lane, left)?, bits)?.checked_neg()?, true)
            }
            (Op::MulAdd(op, bits), &[a, b, c]) => {
                let factors = [self.exact(a, lane, left)?, self.exact(b, lane, left)?];
                (c, signed(evaluate(Op::Binary(op, bits), &factors)?, bits)?, true)
            }
            _ => return None,
        };
        let (start, before) = self.place(start, lane, left)?;
        let by = if past { before.checked_add(by)? } else { before };
        Some((start, by))
    }

    fn exact(&self, value: Value, lane: u64, left: &mut usize) -> Option<u64> {
        *left = left.checked_sub(1)?;
        let (register, is_complement) = match value {
            Value::Integer(value) => return Some(value as u64),
            Value::Special(Special::LaneId) => return Some(lane),
            Value::Special(Special::Tid(0)) => return Some(u64::from(self.warp) * WARP + lane),
            Value::Register(register) => (register, false),
            Value::Not(register) => (register, true),
            _ => return None,
        };
        let definition = self.definitions.only(self.body, register)?;
        let instruction = self.body.instruction(definition);
        if !is_interpreted(instruction.op) {
            return None;
        }
        let (mut values, uses) = ([0; MAX_USES], self.body.uses(instruction));
        let values = values.get_mut(..uses.len())?;
        for (value, &operand) in values.iter_mut().zip(uses) {
            *value = self.exact(operand, lane, left)?;
        }
        let known = evaluate_result(
            instruction.op,
            self.body.result_number(instruction, register)?,
            values,
        )?;
        let bits = self.body.registers[register.index()].bits;
        let known = known & if bits == 0 { u64::MAX } else { ones(bits) };
        Some(if is_complement { (known & 1) ^ 1 } else { known })
    }
}
