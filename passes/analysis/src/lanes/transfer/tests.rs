//! Transfer functions of vectors: examples, and a comparison with concrete lanes.

use super::super::value::{ALL, Lanes, Pool, Rest, ValueId, Vector, WARP, lanes_in_set};
use super::{Application, apply_op};
use crate::lanes::meaning::{Around, Meanings};
use ptxcheck_ir::evaluate::{evaluate, ones};
use ptxcheck_ir::{BinaryOp as B, Condition as C, Logic, Op, UnaryOp};

const SITE: Application = Application {
    here: ALL,
    key: (1, 1),
    around: Around::Nothing,
};

/// The index of a thread in a block of one dimension: 32w + l.
fn thread_index(pool: &mut Pool) -> ValueId {
    let mut thread = Vector::of_unknown_uniform(
        pool.number_of_unknown((7, 0)),
        5,
        std::array::from_fn(|lane| lane as u64),
    );
    thread.warp = true;
    thread.limit = 1023;
    pool.intern(thread)
}

fn unknown_uniform(pool: &mut Pool) -> ValueId {
    pool.unknown_uniform((8, 0), 0)
}

fn apply_binary(pool: &mut Pool, op: B, a: ValueId, b: u64) -> Vector {
    let b = pool.splat(b);
    // Another operation with the same key.
    pool.applied.clear();
    let id = apply_op(pool, Op::Binary(op, 32), &[a, b], SITE);
    pool.get(id).clone()
}

fn apply_comparison(pool: &mut Pool, condition: C, a: ValueId, b: u64) -> Vector {
    let b = pool.splat(b);
    // Another operation with the same key.
    pool.applied.clear();
    let id = apply_op(pool, Op::Compare(condition, 32, Logic::None), &[a, b], SITE);
    pool.get(id).clone()
}

#[test]
fn the_thread_index_modulo_32_is_the_lane() {
    let mut pool = Pool::default();
    let thread = thread_index(&mut pool);
    for (op, number) in [
        (B::And, 31),
        (B::RemUnsigned, 32),
        (B::RemUnsigned, 8),
        (B::And, 16),
    ] {
        let found = apply_binary(&mut pool, op, thread, number);
        let wanted = |lane: u64| match op {
            B::And => lane & number,
            _ => lane % number,
        };
        assert_eq!(found.exact, ALL, "{op:?} {number}");
        assert!((0..WARP).all(|lane| found.value_in_lane(lane) == Some(wanted(lane as u64))));
    }
    // Six bits are one too many.
    let found = apply_binary(&mut pool, B::And, thread, 63);
    assert_eq!((found.exact, found.low), (0, 5));
}

#[test]
fn the_warp_index_is_uniform_in_the_warp() {
    let mut pool = Pool::default();
    let thread = thread_index(&mut pool);
    for found in [
        apply_binary(&mut pool, B::ShrUnsigned, thread, 5),
        apply_binary(&mut pool, B::DivUnsigned, thread, 32),
    ] {
        assert!(found.is_uniform_among(ALL) && found.exact == 0 && found.warp);
    }
    assert!(!apply_binary(&mut pool, B::ShrUnsigned, thread, 4).is_uniform_among(ALL));
    let row = apply_sum(&mut pool, thread);
    assert!(apply_binary(&mut pool, B::ShrUnsigned, row, 5).is_uniform_among(ALL));
}

/// The index of a thread in the grid: `ctaid * ntid + tid`, with a block of a multiple of 32.
fn apply_sum(pool: &mut Pool, thread: ValueId) -> ValueId {
    let cta = unknown_uniform(pool);
    let size = {
        let size = Vector::of_unknown_uniform(pool.number_of_unknown((9, 0)), 5, [0; WARP]);
        pool.intern(size)
    };
    apply_op(pool, Op::MulAdd(B::MulLow, 32), &[cta, size, thread], SITE)
}

#[test]
fn the_global_thread_index_modulo_32_is_the_lane() {
    let mut pool = Pool::default();
    let thread = thread_index(&mut pool);
    let index = apply_sum(&mut pool, thread);
    let even = apply_binary(&mut pool, B::And, index, 1);
    assert!((0..WARP).all(|lane| even.value_in_lane(lane) == Some(lane as u64 & 1)));
}

#[test]
fn whole_warps_are_on_one_side_of_a_multiple_of_32() {
    let mut pool = Pool::default();
    let thread = thread_index(&mut pool);
    for (condition, bound) in [
        (C::LessUnsigned, 32),
        (C::LessSigned, 64),
        (C::GreaterUnsigned, 31),
        (C::LessEqualSigned, 95),
        (C::GreaterEqualUnsigned, 128),
    ] {
        let found = apply_comparison(&mut pool, condition, thread, bound);
        assert!(
            found.is_uniform_among(ALL) && found.exact == 0,
            "{condition:?} {bound}"
        );
    }
    // Lanes 16 to 31 are never below 16; whether the others are depends on the warp.
    let found = apply_comparison(&mut pool, C::LessUnsigned, thread, 16);
    assert_eq!(
        (found.exact, found.value_in_lane(20), found.warp),
        (0xffff_0000, Some(0), true)
    );
    assert!(found.is_uniform_among(0x0000_ffff) && !found.is_uniform_among(ALL));
    // All threads are below 1024, as the limit of a block says.
    assert_eq!(
        apply_comparison(&mut pool, C::LessUnsigned, thread, 1024).value_in_lane(3),
        Some(1)
    );
}

#[test]
fn low_bits_decide_equality() {
    let mut pool = Pool::default();
    let thread = thread_index(&mut pool);
    let found = apply_comparison(&mut pool, C::Equal, thread, 35);
    assert_eq!(
        (found.exact, found.value_in_lane(3), found.value_in_lane(4)),
        (!(1 << 3), None, Some(0))
    );
    let found = apply_comparison(&mut pool, C::NotEqual, thread, 35);
    assert_eq!((found.value_in_lane(3), found.value_in_lane(4)), (None, Some(1)));
}

#[test]
fn unknown_differences_between_lanes_stay_unknown() {
    let mut pool = Pool::default();
    let thread = thread_index(&mut pool);
    let found = apply_op(
        &mut pool,
        Op::Binary(B::Add, 32),
        &[ValueId::UNKNOWN, thread],
        SITE,
    );
    assert_eq!(pool.get(found).rest, Rest::Varying);
    let predicate = apply_comparison(&mut pool, C::LessSigned, found, 3);
    assert!(!predicate.is_uniform_among(ALL) && predicate.exact == 0);
    // Its lowest bits may still be known.
    let four = apply_binary(&mut pool, B::Shl, ValueId::UNKNOWN, 2);
    let four = pool.intern(four);
    let found = apply_binary(&mut pool, B::And, four, 3);
    assert_eq!((found.exact, found.value_in_lane(9)), (ALL, Some(0)));
}

#[test]
fn selects_between_equal_values_are_known() {
    let mut pool = Pool::default();
    let one = unknown_uniform(&mut pool);
    let chosen = apply_comparison(&mut pool, C::LessSigned, one, 3);
    let chosen = pool.intern(chosen);
    let (a, b) = (pool.splat(0xff), pool.splat(0xffff));
    let same = apply_op(&mut pool, Op::Select, &[a, a, chosen], SITE);
    assert_eq!(pool.get(same).value_in_lane(5), Some(0xff));
    // One of two, but the same one in all lanes.
    let either = apply_op(&mut pool, Op::Select, &[a, b, chosen], SITE);
    assert!(pool.get(either).is_uniform_among(ALL) && pool.get(either).exact == 0);
    let varying = apply_comparison(&mut pool, C::LessSigned, ValueId::UNKNOWN, 3);
    let varying = pool.intern(varying);
    let either = apply_op(&mut pool, Op::Select, &[a, b, varying], SITE);
    assert!(!pool.get(either).is_uniform_among(ALL));
    assert_eq!(pool.get(either).low_bits(5), (8, 0xff));
}

#[test]
fn only_arriving_lanes_affect_results() {
    let mut pool = Pool::default();
    let mut mixed = Vector::UNKNOWN;
    mixed.exact = 0xff;
    mixed.bits = std::array::from_fn(|lane| lane as u64 % 8);
    let mixed = pool.intern(mixed);
    let three = pool.splat(3);
    let site = Application { here: 0xff, ..SITE };
    let found = apply_op(&mut pool, Op::Binary(B::Add, 32), &[mixed, three], site);
    assert!((0..8).all(|lane| pool.get(found).value_in_lane(lane) == Some(lane as u64 + 3)));
}

/// Numbers for the comparison below (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// Number of concrete worlds for each vector.
const WORLDS: usize = 4;

/// A vector, and values of the lanes in some worlds that it describes.
struct VectorInWorlds {
    id: ValueId,
    worlds: [[u64; WARP]; WORLDS],
}

fn random_operands(pool: &mut Pool, random: &mut Random) -> Vec<VectorInWorlds> {
    let width = ones(32);
    let thread = thread_index(pool);
    let mut known = vec![VectorInWorlds {
        id: thread,
        worlds: std::array::from_fn(|_| {
            let warp = random.below(32) as u64;
            std::array::from_fn(|lane| 32 * warp + lane as u64)
        }),
    }];
    let lane = Vector::of_exact(std::array::from_fn(|lane| lane as u64));
    known.push(VectorInWorlds {
        id: pool.intern(lane),
        worlds: [std::array::from_fn(|lane| lane as u64); WORLDS],
    });
    for number in [0, 1, 3, 5, 16, 31, 32, 33, 64, 0x8000_0000, width] {
        known.push(VectorInWorlds {
            id: pool.splat(number),
            worlds: [[number; WARP]; WORLDS],
        });
    }
    for low in [0, 3, 7] {
        // The same for all lanes but for an offset below the alignment; some lanes may be known.
        let offsets: [u64; WARP] = std::array::from_fn(|lane| (lane as u64 * 5) & ones(low));
        let exact = random.pick(&[0, 0, 0xff, 0x8000_0001]);
        let number = pool.number_of_unknown((10, u64::from(low)));
        let mut vector = Vector::of_unknown_uniform(number, low, offsets);
        vector.exact = exact;
        let bases: [u64; WORLDS] = std::array::from_fn(|_| random.next() & width & !ones(low));
        known.push(VectorInWorlds {
            id: pool.intern(vector),
            worlds: bases.map(|base| {
                std::array::from_fn(|lane| {
                    let base = if exact >> lane & 1 == 1 { 0 } else { base };
                    base.wrapping_add(offsets[lane]) & width
                })
            }),
        });
        // Only the low bits are known.
        let mut vector = Vector::UNKNOWN;
        vector.low = low;
        vector.bits = offsets;
        known.push(VectorInWorlds {
            id: pool.intern(vector),
            worlds: std::array::from_fn(|_| {
                std::array::from_fn(|lane| random.next() & width & !ones(low) | offsets[lane])
            }),
        });
    }
    known
}

fn random_operation(random: &mut Random) -> (Op, usize) {
    let binary = [
        B::Add,
        B::Sub,
        B::MulLow,
        B::DivUnsigned,
        B::RemUnsigned,
        B::MinSigned,
        B::MinUnsigned,
        B::MaxUnsigned,
        B::And,
        B::Or,
        B::Xor,
        B::Shl,
        B::ShrSigned,
        B::ShrUnsigned,
    ];
    let conditions = [
        C::Equal,
        C::NotEqual,
        C::LessSigned,
        C::LessEqualSigned,
        C::GreaterSigned,
        C::GreaterEqualSigned,
        C::LessUnsigned,
        C::LessEqualUnsigned,
        C::GreaterUnsigned,
        C::GreaterEqualUnsigned,
    ];
    match random.below(14) {
        0 => (Op::MulAdd(B::MulLow, 32), 3),
        1 => (Op::Select, 3),
        2 => (
            Op::Unary(random.pick(&[UnaryOp::Not, UnaryOp::Neg, UnaryOp::PopCount]), 32),
            1,
        ),
        3 => (
            Op::Convert {
                from: random.pick(&[8, 16, 32]),
                signed: random.below(2) == 0,
                to: 32,
            },
            1,
        ),
        4 => (Op::ExtractBits(32, false), 3),
        5 => {
            let logic = random.pick(&[Logic::And, Logic::Or, Logic::Xor]);
            (Op::Compare(random.pick(&conditions), 32, logic), 3)
        }
        6..=8 => (Op::Compare(random.pick(&conditions), 32, Logic::None), 2),
        _ => (Op::Binary(random.pick(&binary), 32), 2),
    }
}

/// A fact of a vector about the lanes in `here` that a world contradicts.
fn contradicted_fact(vector: &Vector, world: &[u64; WARP], here: Lanes) -> Option<String> {
    for lane in lanes_in_set(here) {
        let value = world[lane];
        let (low, bits) = vector.low_bits(lane);
        let is_right = match vector.value_in_lane(lane) {
            Some(exact) => exact == value,
            None => value & ones(low) == bits && value <= vector.limit,
        };
        if !is_right {
            return Some(format!("lane {lane} holds {value:#x}"));
        }
    }
    let inexact = here & !vector.exact;
    if matches!(vector.rest, Rest::Uniform(_)) {
        let base = |lane: usize| world[lane].wrapping_sub(vector.bits[lane]) & ones(32);
        let mut bases = lanes_in_set(inexact).map(base);
        let first = bases.next()?;
        if first & ones(vector.low.min(32)) != 0 || bases.any(|base| base != first) {
            return Some(format!("not one multiple of 2^{}", vector.low));
        }
    }
    None
}

#[test]
fn vectors_agree_with_concrete_evaluation() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut exact, mut uniform) = (0, 0);
    for _ in 0..2_000 {
        let mut pool = Pool::default();
        pool.meanings = (random.below(2) == 0).then(|| Meanings::new([false; 2]));
        let mut known = random_operands(&mut pool, &mut random);
        let here: Lanes = random.pick(&[ALL, ALL, 0xffff, 0x5555_5555, 0x8000_0100]);
        for step in 0..12 {
            let (op, count) = random_operation(&mut random);
            let uses: Vec<usize> = (0..count).map(|_| random.below(known.len())).collect();
            let worlds: Option<Vec<[u64; WARP]>> = (0..WORLDS)
                .map(|world| {
                    let mut values = [0; WARP];
                    for lane in lanes_in_set(here) {
                        let operands: Vec<u64> =
                            uses.iter().map(|&at| known[at].worlds[world][lane]).collect();
                        values[lane] = evaluate(op, &operands)?;
                    }
                    Some(values)
                })
                .collect();
            // Division by zero is not defined.
            let Some(worlds) = worlds else { continue };
            let ids: Vec<ValueId> = uses.iter().map(|&at| known[at].id).collect();
            let site = Application {
                here,
                key: (20, step),
                around: Around::Nothing,
            };
            let id = apply_op(&mut pool, op, &ids, site);
            let vector = pool.get(id).clone();
            for world in &worlds {
                if let Some(wrong) = contradicted_fact(&vector, world, here) {
                    let uses: Vec<&Vector> = ids.iter().map(|&id| pool.get(id)).collect();
                    panic!("{op:?} of {uses:#?} in {here:#x} gives {vector:?}, but {wrong}");
                }
            }
            exact += u32::from(vector.exact & here == here);
            uniform += u32::from(vector.exact & here == 0 && vector.is_uniform_among(here));
            known.push(VectorInWorlds {
                id,
                worlds: std::array::from_fn(|world| worlds[world]),
            });
        }
    }
    // A vector without any knowledge would also be correct.
    assert!(exact > 2_000 && uniform > 500, "{exact} exact, {uniform} uniform");
}
