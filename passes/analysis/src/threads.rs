//! The values of registers in each lane of one warp, if they depend only on the thread number.

use std::cell::RefCell;

use crate::definitions::Definitions;
use crate::function::Analyses;
use crate::launches::Shape;
use crate::value::{Atom, Elected, Evaluator, Linear, Numbers, Parts, PassedSums, Source, Sum, Unknowns};
use ptxcheck_ir::{Body, Value};

/// Lanes of a warp.
const WARP: usize = ptxcheck_ir::WARP as usize;

/// The threads of a warp of a CTA of a known shape; without one, of a CTA of one dimension, or of the part of a warp that lies in the first
/// row of a CTA.
pub(crate) struct Threads<'a, 'm> {
    /// The index of the warp in its block.
    pub(crate) warp: u32,
    values: RefCell<Evaluator<'a, 'm, Linear<'a>>>,
}

impl<'a, 'm> Threads<'a, 'm> {
    /// The threads of a warp, with values followed through variables in local memory.
    pub(crate) fn of_warp(body: &'a Body<'m>, analyses: &'a Analyses<'m>, warp: u32) -> Self {
        Self::new(
            Source::within_body(body, analyses),
            Self::numbers_of_warp(warp),
            warp,
        )
    }

    /// The threads of a warp in a CTA of this shape, if that is known, that were passed these arguments, if the body is that of a called
    /// function.
    pub(crate) fn of_warp_in_block(
        source: Source<'a, 'm>,
        warp: u32,
        block: Option<Shape>,
        arguments: PassedSums,
    ) -> Self {
        let linear = Self::numbers_of_warp(warp)
            .in_block(block)
            .with_arguments(arguments);
        Self::new(source, linear, warp)
    }

    /// The threads of a warp that are in the first row of the block, with values followed through collectives, too, with a given outcome of
    /// `elect.sync`.
    pub(crate) fn of_warp_with_elected(
        body: &'a Body<'m>,
        analyses: &'a Analyses<'m>,
        warp: u32,
        elected: Elected,
    ) -> Self {
        let linear = Linear::new(Some(warp), Some(elected), Unknowns::Objects);
        Self::new(Source::within_body(body, analyses), linear, warp)
    }

    /// The threads of a warp in a CTA of this shape, if that is known, with values followed through collectives: kernels compute the number
    /// of a warp by a shuffle.
    pub(crate) fn of_role(source: Source<'a, 'm>, warp: u32, block: Option<Shape>) -> Self {
        let linear = Linear::new(Some(warp), Some(Elected::Unknown), Unknowns::Objects);
        Self::new(source, linear.in_block(block), warp)
    }

    /// The threads of a warp, with values in registers alone.
    pub(crate) fn of_warp_in_registers(body: &'a Body<'m>, definitions: &'a Definitions, warp: u32) -> Self {
        let source = Source {
            body,
            definitions,
            analyses: None,
            module: None,
            first_at: None,
        };
        Self::new(source, Self::numbers_of_warp(warp), warp)
    }

    fn numbers_of_warp(warp: u32) -> Linear<'a> {
        Linear::new(Some(warp), None, Unknowns::Objects)
    }

    fn new(source: Source<'a, 'm>, linear: Linear<'a>, warp: u32) -> Self {
        Self {
            warp,
            values: RefCell::new(Evaluator::new(source, linear)),
        }
    }

    /// What an argument is in these threads, for the function that is called: a number in each lane, or its distance from one object.
    pub(crate) fn passed_sum(&self, value: Value) -> Option<(Option<Atom>, Numbers)> {
        let Sum { parts, by } = self.sum_of_value(value)?;
        if parts == Parts::NONE {
            return Some((None, by));
        }
        Some((Some(self.values.borrow().domain().single_atom(parts)?), by))
    }

    fn sum_of_value(&self, value: Value) -> Option<Sum> {
        self.values.borrow_mut().description_of(value)
    }

    fn numbers_of_value(&self, value: Value) -> Option<Numbers> {
        let sum = self.sum_of_value(value)?;
        sum.numbers().cloned()
    }

    /// A value that is the same in all lanes of the warp.
    pub(crate) fn uniform_value(&self, value: Value) -> Option<u64> {
        self.numbers_of_value(value)?.uniform_number()
    }

    /// A value in all lanes of the warp; `None` also if it is not known in one of them.
    pub(crate) fn value_in_each_lane(&self, value: Value) -> Option<[u64; WARP]> {
        self.numbers_of_value(value)?.number_in_each_lane()
    }

    /// A value in a lane.
    pub(crate) fn value_in_lane(&self, value: Value, lane: u32) -> Option<u64> {
        self.numbers_of_value(value)?.number_in_lane(lane as usize)
    }

    /// A value in a lane, or one that all lanes of the warp have in common.
    pub(crate) fn value_in_lane_or_uniform(&self, value: Value, lane: Option<u32>) -> Option<u64> {
        match lane {
            Some(lane) => self.value_in_lane(value, lane),
            None => self.uniform_value(value),
        }
    }

    /// The atom that an address counts from, and its distance from there in bytes by lane, if known.
    pub(crate) fn base_and_distances(&self, value: Value) -> Option<(Atom, Numbers)> {
        let Sum { parts, by } = self.sum_of_value(value)?;
        Some((self.values.borrow().domain().single_atom(parts)?, by))
    }
}

#[cfg(test)]
mod tests {
    use ptxcheck_ir::{InstructionId, Register, Value};

    use super::{Threads, WARP};
    use crate::definitions::Definitions;
    use crate::testing::with_ptx;
    use crate::value::{Atom, Numbers, PassedSums, Source};

    const TEXT: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u32 n) {\n\
        .reg .b32 %r<20>;\n.reg .b64 %rd<9>;\n.reg .pred %p<3>;\n.shared .align 4 .b8 s[64];\n.local .align 4 .b8 l[64];\n\
        mov.u32 %r1, %tid.x;\nmov.u32 %r2, %laneid;\nshl.b32 %r3, %r1, 2;\nand.b32 %r4, %r3, 60;\nmov.u32 %r5, s;\n\
        add.s32 %r6, %r5, %r4;\nsub.s32 %r7, %r6, %r2;\nmad.lo.s32 %r8, %r1, 12, %r5;\nmul.wide.u32 %rd1, %r1, 4;\n\
        mov.u64 %rd2, l;\nadd.s64 %rd3, %rd2, %rd1;\ncvta.local.u64 %rd4, %rd3;\nld.param.u32 %r9, [n];\n\
        add.s32 %r10, %r5, %r9;\ndiv.s32 %r11, %r3, %r2;\nadd.s32 %r12, %r5, %r11;\nsetp.lt.u32 %p1, %r1, 7;\n\
        selp.b32 %r13, 4, 8, %p1;\nadd.s32 %r14, %r13, %r5;\nadd.s32 %r15, %r4, 4;\nadd.s32 %r16, %r16, 4;\n\
        sub.s32 %r17, %r6, %r5;\nret;\n}\n";

    /// The values and addresses of the registers of the text in a warp, by the register's index in the text.
    fn with_values_of_warp(
        warp: u32,
        ask: impl Fn(&dyn Fn(usize) -> (Option<Numbers>, Option<(Atom, Numbers)>)),
    ) {
        with_ptx(TEXT, |module| {
            let body = module.module.functions[0].body.as_ref().unwrap();
            let definitions = Definitions::new(body);
            let threads = Threads::of_warp_in_registers(body, &definitions, warp);
            ask(&|instruction| {
                let value = body.results(&body.instructions[instruction])[0];
                assert!(matches!(value, Value::Register(Register { .. })));
                (threads.numbers_of_value(value), threads.base_and_distances(value))
            });
        });
    }

    fn numbers_by_lane(number: impl Fn(i64) -> i64) -> Numbers {
        Numbers::from_lanes(|lane| Some(number(lane as i64) as u64)).unwrap()
    }

    #[test]
    fn each_lane_has_its_own_value() {
        for warp in [0, 3] {
            let first = i64::from(warp) * WARP as i64;
            with_values_of_warp(warp, |at| {
                let value = |instruction| at(instruction).0;
                assert_eq!(value(2), Some(numbers_by_lane(|lane| (first + lane) * 4)));
                assert_eq!(value(3), Some(numbers_by_lane(|lane| ((first + lane) * 4) & 60)));
                // Known except in lane 0, which divides by 0.
                let quotient = value(14).unwrap();
                let expected = |lane: i64| (first + lane) * 4 / lane;
                assert_eq!(quotient.number_in_lane(0), None);
                assert!(
                    (1..32).all(|lane| quotient.number_in_lane(lane) == Some(expected(lane as i64) as u64))
                );
                assert_eq!(quotient.number_in_each_lane(), None);
                let choice = numbers_by_lane(|lane| if first + lane < 7 { 4 } else { 8 });
                assert_eq!(value(17), Some(choice));
                // A parameter, an address, and what is computed from itself.
                assert_eq!([12, 5, 20].map(value), [None, None, None]);
                // The distance of two addresses in one object.
                assert_eq!(value(21), Some(numbers_by_lane(|lane| ((first + lane) * 4) & 60)));
            });
        }
    }

    #[test]
    fn the_first_time_counts_what_comes_before() {
        const LOOPS: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u32 n) {\n\
            .reg .b32 %r<9>;\n.reg .pred %p<3>;\n.shared .align 4 .b8 s[64];\n\
            ld.param.u32 %r1, [n];\nmov.u32 %r2, 7;\nmov.u32 %r3, 5;\n\
            A: sub.u32 %r2, %r2, 1;\nsetp.gt.u32 %p1, %r2, %r1;\n@%p1 bra A;\n\
            B: add.u32 %r4, %r3, 1;\nst.shared.u32 [s], %r4;\nadd.u32 %r3, %r3, 4;\n\
            setp.lt.u32 %p2, %r3, %r1;\n@%p2 bra B;\nret;\n}\n";
        with_ptx(LOOPS, |module| {
            let body = module.module.functions[0].body.as_ref().unwrap();
            let analyses = module.function(ptxcheck_ir::FunctionId::new(0));
            let result = |number: usize| body.results(&body.instructions[number])[0];
            let store = InstructionId::new(7);
            assert!(matches!(body.instruction(store).op, ptxcheck_ir::Op::Access(_)));
            let each_time = Threads::of_warp(body, analyses, 0);
            let source = Source {
                first_at: Some(store),
                ..Source::within_body(body, analyses)
            };
            let first_time = Threads::of_warp_in_block(source, 0, None, PassedSums::default());
            let values =
                |threads: &Threads<'_, '_>| [2, 6, 3].map(|number| threads.uniform_value(result(number)));
            // The counter of the loop of the store, a sum with it, and the counter of the loop before it.
            assert_eq!(values(&each_time), [None, None, None]);
            assert_eq!(values(&first_time), [Some(5), Some(6), None]);
        });
    }

    #[test]
    fn a_known_shape_gives_all_thread_numbers_and_the_sides() {
        const ROWS: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n.reg .b32 %r<9>;\n\
            mov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r3, %tid.z;\nmov.u32 %r4, %ntid.x;\nmov.u32 %r5, %ntid.z;\n\
            mad.lo.s32 %r6, %r2, %r4, %r1;\nret;\n}\n";
        with_ptx(ROWS, |module| {
            let body = module.module.functions[0].body.as_ref().unwrap();
            let analyses = module.function(ptxcheck_ir::FunctionId::new(0));
            let values = |block| {
                let source = Source::within_body(body, analyses);
                let threads = Threads::of_warp_in_block(source, 1, block, PassedSums::default());
                [0, 1, 2, 3, 4, 5].map(|number| {
                    let result = body.results(&body.instructions[number])[0];
                    threads.value_in_lane(result, 9)
                })
            };
            // Thread 41 of rows of 6 threads in layers of 24.
            assert_eq!(values(Some([6, 4, 3])), [5, 2, 1, 6, 3, 17].map(Some));
            assert_eq!(values(None), [Some(41), None, None, None, None, None]);
        });
    }

    #[test]
    fn addresses_are_distances_from_objects() {
        with_values_of_warp(1, |at| {
            let offset = |instruction| at(instruction).1.map(|(_, by)| by);
            assert_eq!(offset(5), Some(numbers_by_lane(|lane| ((32 + lane) * 4) & 60)));
            assert_eq!(
                offset(6),
                Some(numbers_by_lane(|lane| (((32 + lane) * 4) & 60) - lane))
            );
            assert_eq!(offset(7), Some(numbers_by_lane(|lane| (32 + lane) * 12)));
            assert_eq!(offset(11), Some(numbers_by_lane(|lane| (32 + lane) * 4)));
            // A parameter is not a number, and a number is not an address.
            assert_eq!([13, 12, 19].map(offset), [None, None, None]);
            assert!(
                matches!(at(5).1, Some((Atom::Symbol(one), _)) if matches!(at(18).1, Some((Atom::Symbol(other), _)) if one == other))
            );
        });
    }
}
