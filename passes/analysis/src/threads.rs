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
        // Most values are not known in any lane, which one lane tells.
        let first = self.at(value, 0)?;
        let lanes = self.all(value, &mut MAX_STEPS.clone())?;
        lanes.iter().all(|lane| *lane == first).then_some(first)
    }

    /// A value in a lane.
    pub(crate) fn at(&self, value: Value, lane: u32) -> Option<u64> {
        self.exact(value, u64::from(lane), &mut MAX_STEPS.clone())
    }

    /// The object that an address counts from in a lane, and its distance from there in bytes.
    pub(crate) fn address(&self, value: Value, lane: u32) -> Option<(Start, i64)> {
        self.place(value, u64::from(lane), &mut MAX_STEPS.clone())
    }

    /// The same in all lanes of a warp, in one pass over what the address is computed from. `None` also where it is not known in one
    /// of them.
    pub(crate) fn addresses(&self, value: Value) -> Option<(Start, [i64; WARP as usize])> {
        self.places(value, &mut MAX_STEPS.clone())
    }

    fn places(&self, value: Value, left: &mut usize) -> Option<(Start, [i64; WARP as usize])> {
        *left = left.checked_sub(1)?;
        let register = match value {
            Value::Symbol(symbol, by) => return Some((Start::Symbol(symbol), [by.into(); WARP as usize])),
            Value::Param(number, by) => return Some((Start::Param(number), [by.into(); WARP as usize])),
            Value::Register(register) => register,
            _ => return None,
        };
        let instruction = self.body.instruction(self.definitions.only(self.body, register)?);
        if self.body.results(instruction).first() != Some(&value) {
            return None;
        }
        let (start, past) = match (instruction.op, self.body.uses(instruction)) {
            (Op::Copy | Op::ToGeneric(..) | Op::FromGeneric(..), &[one, ..]) => (one, None),
            (
                Op::Convert {
                    from: 32.., to: 32.., ..
                },
                &[one],
            ) => (one, None),
            (Op::Binary(BinaryOp::Add, bits), &[a, b]) => match self.all(b, left) {
                Some(by) => (a, Some(all_signed(by, bits)?)),
                None => (b, Some(all_signed(self.all(a, left)?, bits)?)),
            },
            (Op::Binary(BinaryOp::Sub, bits), &[a, b]) => {
                let mut by = all_signed(self.all(b, left)?, bits)?;
                for one in &mut by {
                    *one = one.checked_neg()?;
                }
                (a, Some(by))
            }
            (Op::MulAdd(op, bits), &[a, b, c]) => {
                let (mut product, factor) = (self.all(a, left)?, self.all(b, left)?);
                for (one, other) in product.iter_mut().zip(factor) {
                    *one = evaluate(Op::Binary(op, bits), &[*one, other])?;
                }
                (c, Some(all_signed(product, bits)?))
            }
            _ => return None,
        };
        let (start, mut at) = self.places(start, left)?;
        for (one, by) in at.iter_mut().zip(past.unwrap_or([0; WARP as usize])) {
            *one = one.checked_add(by)?;
        }
        Some((start, at))
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

    /// A value in all lanes.
    fn all(&self, value: Value, left: &mut usize) -> Option<[u64; WARP as usize]> {
        *left = left.checked_sub(1)?;
        let (register, is_complement) = match value {
            Value::Integer(value) => return Some([value as u64; WARP as usize]),
            Value::Special(Special::LaneId) => return Some(std::array::from_fn(|lane| lane as u64)),
            Value::Special(Special::Tid(0)) => {
                let first = u64::from(self.warp) * WARP;
                return Some(std::array::from_fn(|lane| first + lane as u64));
            }
            Value::Register(register) => (register, false),
            Value::Not(register) => (register, true),
            _ => return None,
        };
        let instruction = self.body.instruction(self.definitions.only(self.body, register)?);
        if !is_interpreted(instruction.op) {
            return None;
        }
        let uses = self.body.uses(instruction);
        let mut operands = [[0; WARP as usize]; MAX_USES];
        let operands = operands.get_mut(..uses.len())?;
        for (operand, &value) in operands.iter_mut().zip(uses) {
            *operand = self.all(value, left)?;
        }
        let number = self.body.result_number(instruction, register)?;
        let bits = self.body.registers[register.index()].bits;
        let mask = if bits == 0 { u64::MAX } else { ones(bits) };
        let (mut known, mut values) = ([0; WARP as usize], [0; MAX_USES]);
        for (lane, known) in known.iter_mut().enumerate() {
            for (value, operand) in values.iter_mut().zip(&*operands) {
                *value = operand[lane];
            }
            let result = evaluate_result(instruction.op, number, &values[..operands.len()])? & mask;
            *known = if is_complement { (result & 1) ^ 1 } else { result };
        }
        Some(known)
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

/// An offset of 32 or 64 bits; `None` for other widths.
fn signed(value: u64, bits: u8) -> Option<i64> {
    match bits {
        32 => Some(i64::from(value as i32)),
        64 => Some(value as i64),
        _ => None,
    }
}

fn all_signed(values: [u64; WARP as usize], bits: u8) -> Option<[i64; WARP as usize]> {
    signed(0, bits)?;
    Some(values.map(|value| signed(value, bits).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use ptxcheck_ir::Value;

    use super::{Threads, WARP};
    use crate::definitions::Definitions;
    use crate::testing::with_ptx;

    /// Addresses of all lanes together are those of each by itself.
    #[test]
    fn lanes_together_are_lanes_one_by_one() {
        let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u32 n) {\n\
            .reg .b32 %r<20>;\n.reg .b64 %rd<9>;\n.reg .pred %p<3>;\n.shared .align 4 .b8 s[64];\n.local .align 4 .b8 l[64];\n\
            mov.u32 %r1, %tid.x;\nmov.u32 %r2, %laneid;\nshl.b32 %r3, %r1, 2;\nand.b32 %r4, %r3, 60;\nmov.u32 %r5, s;\n\
            add.s32 %r6, %r5, %r4;\nsub.s32 %r7, %r6, %r2;\nmad.lo.s32 %r8, %r1, 12, %r5;\nmul.wide.u32 %rd1, %r1, 4;\n\
            mov.u64 %rd2, l;\nadd.s64 %rd3, %rd2, %rd1;\ncvta.local.u64 %rd4, %rd3;\nld.param.u32 %r9, [n];\n\
            add.s32 %r10, %r5, %r9;\ndiv.s32 %r11, %r3, %r2;\nadd.s32 %r12, %r5, %r11;\nsetp.lt.u32 %p1, %r1, 7;\n\
            selp.b32 %r13, 4, 8, %p1;\nadd.s32 %r14, %r13, %r5;\nadd.s32 %r15, %r4, 4;\nret;\n}\n";
        with_ptx(text, |module| {
            let body = module.module.functions[0].body.as_ref().unwrap();
            let definitions = Definitions::new(body);
            for warp in [0, 3] {
                let threads = Threads {
                    body,
                    definitions: &definitions,
                    warp,
                };
                let mut known = 0;
                for result in body.instructions.iter().flat_map(|one| body.results(one)) {
                    let Value::Register(_) = result else { continue };
                    let by_lane: Vec<_> = (0..WARP as u32)
                        .map(|lane| threads.address(*result, lane))
                        .collect();
                    match threads.addresses(*result) {
                        Some((start, by)) => {
                            known += 1;
                            let together: Vec<_> = by.into_iter().map(|by| Some((start, by))).collect();
                            assert_eq!(together, by_lane, "{result:?}");
                        }
                        None => assert!(by_lane.contains(&None), "{result:?}"),
                    }
                    let values: Vec<_> = (0..WARP as u32).map(|lane| threads.at(*result, lane)).collect();
                    let same = values[0].filter(|_| values.iter().all(|value| *value == values[0]));
                    assert_eq!(threads.same(*result), same, "{result:?}");
                }
                assert!(known >= 6, "{known} addresses are known");
            }
        });
    }
}
