//! The values of registers in each lane of one warp, where they depend on nothing but the number of the thread.

use crate::definitions::Definitions;
use crate::function::Analyses;
use ptxcheck_ir::evaluate::{evaluate, evaluate_result, is_interpreted, ones};
use ptxcheck_ir::{
    BinaryOp, Body, Collective, Instruction, InstructionId, Op, Register, Shuffle, Special, SymbolId, Value,
};

/// The threads of a warp of a CTA of one dimension, or of the part of a warp that lies in the first row of a CTA.
pub(crate) struct Threads<'a, 'm> {
    pub(crate) body: &'a Body<'m>,
    pub(crate) definitions: &'a Definitions,
    /// The analyses of the body, if values are to be followed through variables in local memory.
    pub(crate) memory: Option<&'a Analyses<'m>>,
    pub(crate) warp: u32,
}

/// What `elect.sync` tells the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elected {
    /// They are the lane that it picks.
    Picked,
    /// They are not.
    Passed,
    /// Not known.
    Unknown,
}

/// Lanes of a warp.
const WARP: usize = ptxcheck_ir::WARP as usize;

/// All lanes of a warp.
pub(crate) const LANES: [u32; WARP] = {
    let mut lanes = [0; WARP];
    let mut lane = 0;
    while lane < WARP {
        lanes[lane] = lane as u32;
        lane += 1;
    }
    lanes
};

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

impl<'a, 'm> Threads<'a, 'm> {
    /// Those of a warp, with values followed through variables in local memory.
    pub(crate) fn of_warp(body: &'a Body<'m>, analyses: &'a Analyses<'m>, warp: u32) -> Self {
        Self {
            body,
            definitions: analyses.definitions(),
            memory: Some(analyses),
            warp,
        }
    }
}

impl Threads<'_, '_> {
    /// A value that is the same in all lanes of the warp.
    pub(crate) fn same(&self, value: Value) -> Option<u64> {
        // Most values are not known in any lane, which one lane tells.
        let first = self.at(value, 0)?;
        let lanes = self.values(value, &LANES, &mut MAX_STEPS.clone())?;
        lanes.iter().all(|lane| *lane == first).then_some(first)
    }

    /// A value in all lanes of the warp; `None` also where it is not known in one of them.
    pub(crate) fn all(&self, value: Value) -> Option<[u64; WARP]> {
        self.values(value, &LANES, &mut MAX_STEPS.clone())
    }

    /// A value in a lane.
    pub(crate) fn at(&self, value: Value, lane: u32) -> Option<u64> {
        let [value] = self.values(value, &[lane], &mut MAX_STEPS.clone())?;
        Some(value)
    }

    /// A value in a lane, or one that all lanes of the warp have in common, through collectives of the warp.
    pub(crate) fn given_to(&self, value: Value, lane: Option<u32>, elected: Elected) -> Option<u64> {
        let left = &mut MAX_STEPS.clone();
        let Some(lane) = lane else {
            let lanes = self.values_given(value, &LANES, Some(elected), left)?;
            return lanes.iter().all(|one| *one == lanes[0]).then_some(lanes[0]);
        };
        let [value] = self.values_given(value, &[lane], Some(elected), left)?;
        Some(value)
    }

    /// The object that an address counts from in a lane, and its distance from there in bytes.
    pub(crate) fn address(&self, value: Value, lane: u32) -> Option<(Start, i64)> {
        let (start, [by]) = self.places(value, &[lane], &mut MAX_STEPS.clone())?;
        Some((start, by))
    }

    /// The same in all lanes of a warp, in one pass over what the address is computed from. `None` also where it is not known in one
    /// of them.
    pub(crate) fn addresses(&self, value: Value) -> Option<(Start, [i64; WARP])> {
        self.places(value, &LANES, &mut MAX_STEPS.clone())
    }

    fn places<const N: usize>(
        &self,
        value: Value,
        lanes: &[u32; N],
        left: &mut usize,
    ) -> Option<(Start, [i64; N])> {
        *left = left.checked_sub(1)?;
        let register = match value {
            Value::Symbol(symbol, by) => return Some((Start::Symbol(symbol), [by.into(); N])),
            Value::Param(number, by) => return Some((Start::Param(number), [by.into(); N])),
            Value::Register(register) => register,
            _ => return None,
        };
        let instruction = self.body.instruction(self.definitions.only(self.body, register)?);
        if self.body.results(instruction).first() != Some(&value) {
            return None;
        }
        if let Some((stored, Op::Copy)) = self.stored(register) {
            return self.places(stored, lanes, left);
        }
        let (start, past) = match (instruction.op, self.body.uses(instruction)) {
            (Op::Copy | Op::ToGeneric(..) | Op::FromGeneric(..), &[one, ..]) => (one, None),
            (
                Op::Convert {
                    from: 32.., to: 32.., ..
                },
                &[one],
            ) => (one, None),
            (Op::Binary(BinaryOp::Add, bits), &[a, b]) => match self.values(b, lanes, left) {
                Some(by) => (a, Some(signed(by, bits)?)),
                None => (b, Some(signed(self.values(a, lanes, left)?, bits)?)),
            },
            (Op::Binary(BinaryOp::Sub, bits), &[a, b]) => {
                let mut by = signed(self.values(b, lanes, left)?, bits)?;
                for one in &mut by {
                    *one = one.checked_neg()?;
                }
                (a, Some(by))
            }
            (Op::MulAdd(op, bits), &[a, b, c]) => {
                let mut product = self.values(a, lanes, left)?;
                for (one, other) in product.iter_mut().zip(self.values(b, lanes, left)?) {
                    *one = evaluate(Op::Binary(op, bits), &[*one, other])?;
                }
                (c, Some(signed(product, bits)?))
            }
            _ => return None,
        };
        let (start, mut at) = self.places(start, lanes, left)?;
        for (one, by) in at.iter_mut().zip(past.unwrap_or([0; N])) {
            *one = one.checked_add(by)?;
        }
        Some((start, at))
    }

    /// The value that a collective gives lanes: a shuffle of what is the same in all lanes, the choice of one lane.
    fn given<const N: usize>(
        &self,
        (collective, instruction): (Collective, &Instruction),
        (register, is_complement): (Register, bool),
        elected: Elected,
        left: &mut usize,
    ) -> Option<[u64; N]> {
        match (collective, self.body.uses(instruction)) {
            (Collective::Shuffle(Shuffle::Index), &[_, value, ..]) if !is_complement => {
                let is_value = self.body.result_number(instruction, register) == Some(0);
                let lanes = self
                    .values_given(value, &LANES, Some(elected), left)
                    .filter(|_| is_value)?;
                lanes
                    .iter()
                    .all(|lane| *lane == lanes[0])
                    .then_some([lanes[0]; N])
            }
            (Collective::Elect, _) if self.body.result_number(instruction, register) == Some(1) => {
                match elected {
                    Elected::Picked => Some([u64::from(!is_complement); N]),
                    Elected::Passed => Some([u64::from(is_complement); N]),
                    Elected::Unknown => None,
                }
            }
            _ => None,
        }
    }

    /// The value that a register is loaded with from a variable in local memory that is written once, before, and how the load extends it.
    fn stored(&self, register: Register) -> Option<(Value, Op)> {
        let load = self.definitions.only(self.body, register)?;
        stored(self.memory?, self.body, load, register)
    }

    fn values<const N: usize>(&self, value: Value, lanes: &[u32; N], left: &mut usize) -> Option<[u64; N]> {
        self.values_given(value, lanes, None, left)
    }

    /// The same, through collectives of the warp if it is said what `elect.sync` gives.
    fn values_given<const N: usize>(
        &self,
        value: Value,
        lanes: &[u32; N],
        elected: Option<Elected>,
        left: &mut usize,
    ) -> Option<[u64; N]> {
        *left = left.checked_sub(1)?;
        let (register, is_complement) = match value {
            Value::Integer(value) => return Some([value as u64; N]),
            Value::Special(Special::LaneId) => return Some(lanes.map(u64::from)),
            Value::Special(Special::Tid(0)) => {
                let first = u64::from(self.warp) * WARP as u64;
                return Some(lanes.map(|lane| first + u64::from(lane)));
            }
            Value::Register(register) => (register, false),
            Value::Not(register) => (register, true),
            _ => return None,
        };
        let instruction = self.body.instruction(self.definitions.only(self.body, register)?);
        if let Op::Collective(collective, _) = instruction.op {
            return self.given(
                (collective, instruction),
                (register, is_complement),
                elected?,
                left,
            );
        }
        if !is_interpreted(instruction.op) {
            let (stored, extension) = self.stored(register).filter(|_| !is_complement)?;
            let mut values = self.values_given(stored, lanes, elected, left)?;
            for value in &mut values {
                *value = match extension {
                    Op::Copy => *value & ones(self.body.registers[register.index()].bits),
                    _ => evaluate(extension, &[*value])?,
                };
            }
            return Some(values);
        }
        let uses = self.body.uses(instruction);
        let mut operands = [[0; N]; MAX_USES];
        let operands = operands.get_mut(..uses.len())?;
        for (operand, &value) in operands.iter_mut().zip(uses) {
            *operand = self.values_given(value, lanes, elected, left)?;
        }
        let number = self.body.result_number(instruction, register)?;
        let bits = self.body.registers[register.index()].bits;
        let mask = if bits == 0 { u64::MAX } else { ones(bits) };
        let (mut known, mut values) = ([0; N], [0; MAX_USES]);
        for (lane, known) in known.iter_mut().enumerate() {
            for (value, operand) in values.iter_mut().zip(&*operands) {
                *value = operand[lane];
            }
            let result = evaluate_result(instruction.op, number, &values[..operands.len()])? & mask;
            *known = if is_complement { (result & 1) ^ 1 } else { result };
        }
        Some(known)
    }
}

/// The value that a load into a register reads from a variable in local memory that is written once, before, and how the load extends it.
pub(crate) fn stored(
    analyses: &Analyses<'_>,
    body: &Body<'_>,
    load: InstructionId,
    register: Register,
) -> Option<(Value, Op)> {
    let store = body.instruction(analyses.store_for(load)?);
    let (Op::Access(stored), Op::Access(loaded)) = (store.op, body.instruction(load).op) else {
        return None;
    };
    let bits = |register: Register| body.registers[register.index()].bits;
    let is_whole = |value: &Value| {
        let register = value.register();
        stored.bits == loaded.bits && register.is_none_or(|register| bits(register) == stored.bits)
    };
    let value = body.uses(store).get(2).copied().filter(is_whole)?;
    Some((value, loaded.extension(bits(register))))
}

/// Offsets of 32 or 64 bits; `None` for other widths.
fn signed<const N: usize>(values: [u64; N], bits: u8) -> Option<[i64; N]> {
    match bits {
        32 => Some(values.map(|value| i64::from(value as i32))),
        64 => Some(values.map(|value| value as i64)),
        _ => None,
    }
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
                    memory: None,
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
