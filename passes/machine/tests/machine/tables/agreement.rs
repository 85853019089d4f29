//! The analyses compute with another program (`ptxcheck_ir::evaluate`): both have the same results, for operands at the edges of
//! all widths and for any others.

use ptxcheck_ir::evaluate::{evaluate_result, is_interpreted};
use ptxcheck_ir::{BinaryOp, Condition, Logic, Op, UnaryOp};
use ptxcheck_machine::evaluate::result;

const UNARY: [UnaryOp; 9] = [
    UnaryOp::Not,
    UnaryOp::Neg,
    UnaryOp::Abs,
    UnaryOp::PopCount,
    UnaryOp::LeadingZeros,
    UnaryOp::ReverseBits,
    UnaryOp::FindHighestSet,
    UnaryOp::ShiftToHighest,
    UnaryOp::LogicalNot,
];

const CONDITIONS: [Condition; 10] = [
    Condition::Equal,
    Condition::NotEqual,
    Condition::LessSigned,
    Condition::LessEqualSigned,
    Condition::GreaterSigned,
    Condition::GreaterEqualSigned,
    Condition::LessUnsigned,
    Condition::LessEqualUnsigned,
    Condition::GreaterUnsigned,
    Condition::GreaterEqualUnsigned,
];

/// All integer operations, at all widths that front ends make.
fn operations() -> Vec<Op> {
    let mut all = vec![Op::Copy, Op::Select];
    for bits in [1, 8, 16, 32, 64] {
        // The operands of wide products have half the width.
        let has_half =
            |op: &BinaryOp| bits > 1 || !matches!(op, BinaryOp::MulWideSigned | BinaryOp::MulWideUnsigned);
        let binary = BinaryOp::ALL.into_iter().filter(has_half);
        all.extend(binary.clone().map(|op| Op::Binary(op, bits)));
        let products = binary.filter(|op| BinaryOp::ALL[2..7].contains(op));
        all.extend(products.map(|op| Op::MulAdd(op, bits)));
        all.extend(UNARY.map(|op| Op::Unary(op, bits)));
        for logic in [Logic::None, Logic::And, Logic::Or, Logic::Xor] {
            all.extend(CONDITIONS.map(|condition| Op::Compare(condition, bits, logic)));
        }
        for to in [1, 8, 16, 32, 64] {
            all.extend([false, true].map(|signed| Op::Convert {
                from: bits,
                signed,
                to,
            }));
        }
    }
    for bits in [32, 64] {
        all.extend([
            Op::ExtractBits(bits, false),
            Op::ExtractBits(bits, true),
            Op::InsertBits(bits),
        ]);
    }
    all.extend([8, 16, 32].map(Op::Unpack));
    all.extend([8, 16].map(Op::Pack));
    all.extend((0..=255).map(Op::Lop3));
    for (left, wrap) in [(false, false), (false, true), (true, false), (true, true)] {
        all.push(Op::FunnelShift { left, wrap });
    }
    all
}

/// Numbers at the edges of widths and of amounts, and any others.
fn numbers() -> Vec<u64> {
    let mut all = vec![0, 1, 2, 3, 5, 7, 31, 32, 33, 63, 64, 65, 127, 255, 256];
    for bits in [7, 8, 15, 16, 31, 32, 63] {
        let edge = 1_u64 << bits;
        all.extend([edge - 1, edge, edge + 1, edge.wrapping_neg(), !edge]);
    }
    all.extend([
        u64::MAX,
        u64::MAX - 1,
        0x0123_4567_89ab_cdef,
        0xfedc_ba98_7654_3210,
    ]);
    let mut seed = 1_u64;
    all.extend((0..12).map(|_| {
        seed = seed
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        seed ^ seed >> 31
    }));
    all
}

#[test]
fn the_machine_computes_what_the_analyses_compute() {
    let numbers = numbers();
    let mut known = 0_u64;
    for op in operations() {
        assert!(is_interpreted(op), "{op:?}");
        for (first, &a) in numbers.iter().enumerate() {
            for (second, &b) in numbers.iter().enumerate() {
                let other = |by: usize| numbers[(first * 7 + second * 3 + by) % numbers.len()];
                let uses = [a, b, other(1), other(2)];
                let given = uses.map(Some);
                for number in 0..3 {
                    let analyses = evaluate_result(op, number, &uses);
                    assert_eq!(
                        result(op, number, &given),
                        analyses,
                        "result {number} of {op:?} on {uses:x?}"
                    );
                    known += u64::from(analyses.is_some());
                }
            }
        }
    }
    assert!(known > 2_000_000, "{known}");
}

#[test]
fn a_result_of_what_is_not_known_is_right_whatever_it_is() {
    let numbers = numbers();
    for op in operations() {
        for (place, &a) in numbers.iter().enumerate() {
            let others = [
                numbers[(place * 5 + 1) % numbers.len()],
                numbers[(place * 11 + 2) % numbers.len()],
            ];
            for hole in 0..3 {
                let mut given = [Some(a), Some(others[0]), Some(others[1]), Some(3)];
                given[hole] = None;
                for number in 0..2 {
                    let Some(claimed) = result(op, number, &given) else {
                        continue;
                    };
                    for &value in &numbers {
                        let mut uses = given;
                        uses[hole] = Some(value);
                        assert_eq!(
                            result(op, number, &uses),
                            Some(claimed),
                            "{op:?} {given:x?} {value:x}"
                        );
                    }
                }
            }
        }
    }
}
