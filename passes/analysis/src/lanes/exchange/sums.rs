//! Addresses as sums: of what all threads of a block share, and of what is known in each lane.
//!
//! ```text
//! sum      parts + by[l]
//! parts    Σ factor · atom, for atoms that threads share: begins of variables, parameters of the kernel, the number of the block, its
//!          sides, and what other operations make of these and of constants
//! ```
//!
//! Parts are a number that equal parts share, and others hardly. It is enough for a screen: conversions between widths count as exact.

use rustc_hash::FxHashMap;

use crate::definitions::Definitions;
use crate::function::Analyses;
use crate::threads::stored;
use ptxcheck_ir::evaluate::{evaluate_result, is_interpreted, ones};
use ptxcheck_ir::{
    AccessKind, BinaryOp, Body, Instruction, InstructionId, Op, Register, Space, Special, Value,
};

/// A sum in some lanes of warp 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sum<const N: usize> {
    /// The parts; 0 for none.
    pub parts: u64,
    /// By lane, the number that is added to them. Without parts, as many bits as the value has.
    pub by: [u64; N],
}

impl<const N: usize> Sum<N> {
    fn known(by: [u64; N]) -> Self {
        Self { parts: 0, by }
    }

    /// An atom, by what names it.
    fn atom(kind: u64, number: u64) -> Self {
        let parts = (kind << 56 ^ number.wrapping_add(1)).wrapping_mul(MULTIPLIER);
        Self {
            parts: (parts ^ parts >> 29).wrapping_mul(MULTIPLIER) | 1,
            by: [0; N],
        }
    }

    /// The numbers that are added to the parts, of a sum that an operation of so many bits has.
    fn offsets(&self, bits: u8) -> [u64; N] {
        match bits {
            32 if self.parts == 0 => self.by.map(|by| i64::from(by as i32) as u64),
            _ => self.by,
        }
    }

    /// The one number that it is in all lanes.
    fn constant(&self) -> Option<u64> {
        (self.parts == 0 && self.by.iter().all(|by| *by == self.by[0])).then_some(self.by[0])
    }

    fn is_shared(&self) -> bool {
        self.by.iter().all(|by| *by == self.by[0])
    }

    fn plus(self, other: Self, bits: u8) -> Self {
        let (a, b) = (self.offsets(bits), other.offsets(bits));
        Self {
            parts: self.parts.wrapping_add(other.parts),
            by: std::array::from_fn(|lane| a[lane].wrapping_add(b[lane])),
        }
    }

    fn times(self, factor: u64, bits: u8) -> Self {
        let factor = match bits {
            32 => i64::from(factor as i32) as u64,
            _ => factor,
        };
        Self {
            parts: self.parts.wrapping_mul(factor),
            by: self.offsets(bits).map(|by| by.wrapping_mul(factor)),
        }
    }
}

/// The sums in a body, in `N` lanes.
pub(super) struct Sums<'a, 'm, const N: usize> {
    body: &'a Body<'m>,
    definitions: &'a Definitions,
    /// The analyses of the body, if it has variables on the stack.
    memory: Option<&'a Analyses<'m>>,
    /// The body is that of a kernel, with parameters that all threads share.
    is_kernel: bool,
    lanes: [u32; N],
    /// By register. `None` for one that is no sum, or computed from itself.
    known: FxHashMap<Register, Option<Sum<N>>>,
}

impl<'a, 'm, const N: usize> Sums<'a, 'm, N> {
    /// Those of a body, in these lanes of a block of one row.
    pub(super) fn new(
        body: &'a Body<'m>,
        analyses: &'a Analyses<'m>,
        (is_kernel, has_slots): (bool, bool),
        lanes: [u32; N],
    ) -> Self {
        Self {
            body,
            definitions: analyses.definitions(),
            memory: has_slots.then_some(analyses),
            is_kernel,
            lanes,
            known: FxHashMap::default(),
        }
    }

    /// A value that is known in all lanes.
    pub(super) fn known(&mut self, value: Value) -> Option<[u64; N]> {
        self.sum(value, MAX_DEPTH)
            .filter(|sum| sum.parts == 0)
            .map(|sum| sum.by)
    }

    /// A value that is a sum.
    pub(super) fn of(&mut self, value: Value) -> Option<Sum<N>> {
        self.sum(value, MAX_DEPTH)
    }

    fn sum(&mut self, value: Value, depth: usize) -> Option<Sum<N>> {
        match value {
            Value::Integer(number) => Some(Sum::known([number as u64; N])),
            Value::Special(Special::LaneId | Special::Tid(0)) => Some(Sum::known(self.lanes.map(u64::from))),
            Value::Special(Special::Ctaid(side)) => Some(Sum::atom(1, side.into())),
            Value::Special(Special::Nctaid(side)) => Some(Sum::atom(2, side.into())),
            Value::Special(Special::Ntid(side)) => Some(Sum::atom(3, side.into())),
            Value::Symbol(symbol, by) => {
                let begin = Sum::atom(4, symbol.index() as u64);
                Some(Sum {
                    by: [i64::from(by) as u64; N],
                    ..begin
                })
            }
            Value::Register(register) => self.register(register, depth),
            Value::Not(register) => {
                let sum = self.register(register, depth).filter(|sum| sum.parts == 0)?;
                Some(Sum::known(sum.by.map(|bit| (bit & 1) ^ 1)))
            }
            _ => None,
        }
    }

    fn register(&mut self, register: Register, depth: usize) -> Option<Sum<N>> {
        let definition = self.definitions.only(self.body, register)?;
        let instruction = self.body.instruction(definition);
        let is_sum = match instruction.op {
            Op::Access(access) => access.space == Space::Param || self.memory.is_some(),
            Op::ToGeneric(..) | Op::FromGeneric(..) => true,
            op => is_interpreted(op),
        };
        let depth = depth.checked_sub(1).filter(|_| is_sum)?;
        if let Some(known) = self.known.get(&register) {
            return *known;
        }
        self.known.insert(register, None);
        let sum = self.result(definition, register, depth);
        self.known.insert(register, sum);
        sum
    }

    fn result(&mut self, definition: InstructionId, register: Register, depth: usize) -> Option<Sum<N>> {
        let body = self.body;
        let instruction = body.instruction(definition);
        let uses = body.uses(instruction);
        match instruction.op {
            Op::Access(access) => match uses {
                &[Value::Param(number, by), Value::Integer(0), ..]
                    if self.is_kernel && access.space == Space::Param && access.kind == AccessKind::Load =>
                {
                    let part = body.result_number(instruction, register)?;
                    Some(Sum::atom(
                        5,
                        u64::from(number) << 32 ^ (by as u64) << 8 ^ part as u64,
                    ))
                }
                _ => {
                    let (value, extension) = stored(self.memory?, body, definition, register)?;
                    (extension == Op::Copy).then(|| self.sum(value, depth))?
                }
            },
            Op::ToGeneric(..) | Op::FromGeneric(..) => self.sum(*uses.first()?, depth),
            op if is_interpreted(op) => {
                if uses.len() > MAX_USES {
                    return None;
                }
                let mut operands = [Sum::known([0; N]); MAX_USES];
                for (operand, &value) in operands.iter_mut().zip(uses) {
                    *operand = self.sum(value, depth)?;
                }
                let operands = &operands[..uses.len()];
                if operands.iter().all(|operand| operand.parts == 0) {
                    return self.evaluated(instruction, register, operands);
                }
                let linear = linear(op, operands);
                // Whatever else threads share.
                let is_shared = operands.iter().all(Sum::is_shared);
                linear.or_else(|| is_shared.then(|| Sum::atom(6, register.index() as u64)))
            }
            _ => None,
        }
    }

    fn evaluated(
        &self,
        instruction: &Instruction,
        register: Register,
        operands: &[Sum<N>],
    ) -> Option<Sum<N>> {
        let number = self.body.result_number(instruction, register)?;
        let bits = self.body.registers[register.index()].bits;
        let mask = if bits == 0 { u64::MAX } else { ones(bits) };
        let (mut by, mut values) = ([0; N], [0; MAX_USES]);
        for (lane, by) in by.iter_mut().enumerate() {
            for (value, operand) in values.iter_mut().zip(operands) {
                *value = operand.by[lane];
            }
            *by = evaluate_result(instruction.op, number, &values[..operands.len()])? & mask;
        }
        Some(Sum::known(by))
    }
}

/// The result of an operation on sums with parts, if it is a sum of theirs.
fn linear<const N: usize>(op: Op, operands: &[Sum<N>]) -> Option<Sum<N>> {
    let product = |op: BinaryOp, bits: u8, a: Sum<N>, b: Sum<N>| match op {
        BinaryOp::MulLow | BinaryOp::MulWideSigned | BinaryOp::MulWideUnsigned => {
            match (a.constant(), b.constant()) {
                (_, Some(factor)) => Some(a.times(factor, bits)),
                (Some(factor), _) => Some(b.times(factor, bits)),
                _ if a.is_shared() && b.is_shared() => {
                    let both = |sum: Sum<N>| sum.parts.wrapping_add(sum.by[0].wrapping_mul(MULTIPLIER));
                    Some(Sum::atom(7, both(a).wrapping_mul(both(b))))
                }
                _ => None,
            }
        }
        // Of a multiple of a power of two, and numbers below it.
        BinaryOp::Or | BinaryOp::Xor if a.parts == 0 || b.parts == 0 => Some(Sum {
            parts: a.parts | b.parts,
            by: std::array::from_fn(|lane| match op {
                BinaryOp::Or => a.by[lane] | b.by[lane],
                _ => a.by[lane] ^ b.by[lane],
            }),
        }),
        BinaryOp::Shl => b.constant().filter(|by| *by < 64).map(|by| a.times(1 << by, 64)),
        _ => None,
    };
    match (op, operands) {
        (
            Op::Copy
            | Op::Convert {
                from: 32.., to: 32.., ..
            },
            &[one],
        ) => Some(one),
        (Op::Binary(BinaryOp::Add, bits), &[a, b]) => Some(a.plus(b, bits)),
        (Op::Binary(BinaryOp::Sub, bits), &[a, b]) => {
            let minus = Sum {
                by: b.offsets(bits),
                ..b
            };
            Some(a.plus(minus.times(u64::MAX, 64), bits))
        }
        (Op::Binary(op, bits), &[a, b]) => product(op, bits, a, b),
        (Op::MulAdd(op, bits), &[a, b, c]) => {
            let product = match (a.parts, b.parts) {
                (0, 0) => {
                    let (a, b) = (a.offsets(bits), b.offsets(bits));
                    Some(Sum::known(std::array::from_fn(|lane| {
                        a[lane].wrapping_mul(b[lane])
                    })))
                }
                _ => product(op, bits, a, b),
            };
            product.map(|product| product.plus(c, bits))
        }
        _ => None,
    }
}

/// Most operations one behind the other that are looked through.
const MAX_DEPTH: usize = 48;

/// Most operands of an operation that is evaluated.
const MAX_USES: usize = 4;

/// Odd, so that different atoms rarely have one number.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use ptxcheck_ir::{AccessKind, Op, Space};

    use super::{Sum, Sums};
    use crate::testing::with_ptx;
    use crate::threads::LANES;

    /// Sums of the addresses of all loads and stores in global memory, in the order of the code.
    fn sums(code: &str) -> Vec<Option<Sum<32>>> {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {{\n\
             .reg .b32 %r<20>;\n.reg .b64 %rd<20>;\n{code}\nret;\n}}\n"
        );
        let mut found = Vec::new();
        with_ptx(&text, |module| {
            let function = ptxcheck_ir::FunctionId::new(0);
            let body = module.module.functions[0].body.as_ref().unwrap();
            let mut sums = Sums::new(body, module.function(function), (true, false), LANES);
            for instruction in &body.instructions {
                if let Op::Access(access) = instruction.op
                    && access.space == Space::Global
                    && matches!(access.kind, AccessKind::Load | AccessKind::Store)
                {
                    found.push(sums.of(body.uses(instruction)[0]));
                }
            }
        });
        found
    }

    #[test]
    fn one_begin_has_one_number_wherever_it_is_computed() {
        let found = sums(
            "ld.param.u64 %rd1, [p];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\nmov.u32 %r3, %ntid.x;\n\
             mad.lo.s32 %r4, %r1, %r3, %r2;\nmul.wide.s32 %rd2, %r4, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r2;\n\
             mul.lo.s32 %r5, %r1, %r3;\nadd.s32 %r6, %r5, 1;\nadd.s32 %r7, %r6, %r2;\ncvt.s64.s32 %rd4, %r7;\nshl.b64 %rd5, %rd4, 2;\n\
             add.s64 %rd6, %rd5, %rd1;\nld.global.u32 %r8, [%rd6];\n\
             ld.param.u64 %rd7, [q];\nadd.s64 %rd8, %rd7, %rd2;\nld.global.u32 %r9, [%rd8];\n\
             mul.wide.s32 %rd9, %r4, 8;\nadd.s64 %rd10, %rd1, %rd9;\nld.global.u32 %r10, [%rd10];",
        );
        let [Some(written), Some(read), Some(other), Some(wider)] = found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(written.parts, read.parts);
        let by = |sum: Sum<32>, factor: u64, past: u64| {
            (0..32).all(|lane| sum.by[lane as usize] == lane * factor + past)
        };
        assert!(by(written, 4, 0) && by(read, 4, 4) && by(wider, 8, 0));
        assert_ne!(written.parts, other.parts);
        assert_ne!(written.parts, wider.parts);
    }

    #[test]
    fn what_threads_do_not_share_is_no_part() {
        let found = sums(
            "ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nld.param.u32 %r2, [n];\nmul.lo.s32 %r3, %r1, %r2;\n\
             mul.wide.s32 %rd2, %r3, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r1;\n\
             ld.global.u64 %rd4, [%rd1];\nld.global.u32 %r4, [%rd4];",
        );
        let [by_thread, Some(begin), loaded] = found[..] else {
            panic!("{found:?}");
        };
        assert_eq!((by_thread, loaded), (None, None));
        assert_eq!(begin.by, [0; 32]);
    }
}
