//! Known bits of numbers.
//!
//! ```text
//! zeros(x), ones(x)    bits that are certainly 0, and certainly 1, in x
//! a and b              zeros(a) ∪ zeros(b)                    ones(a) ∩ ones(b)
//! a or b               zeros(a) ∩ zeros(b)                    ones(a) ∪ ones(b)
//! a xor b              where both are known
//! not a                ones(a)                                zeros(a)
//! a shl k, a shr k     those of a, moved by a known k, and what is moved in
//! one or the other     those that both have
//! ```
//!
//! Sums, products and quotients have none here: what is known of their low bits is in the vectors.

use ptxcheck_ir::evaluate::ones;
use ptxcheck_ir::{BinaryOp, Op, UnaryOp};

/// Bits of one number that are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Bits {
    /// Certainly 0.
    pub zeros: u64,
    /// Certainly 1.
    pub ones: u64,
}

impl Bits {
    /// None.
    pub(super) const UNKNOWN: Self = Self { zeros: 0, ones: 0 };

    /// All bits of a number.
    pub(super) const fn exact(value: u64) -> Self {
        Self {
            zeros: !value,
            ones: value,
        }
    }

    /// No bits outside of these.
    pub(super) const fn among(all: u64) -> Self {
        Self { zeros: !all, ones: 0 }
    }

    /// The number, if all of its bits are known.
    pub(super) const fn value(self) -> Option<u64> {
        if self.zeros | self.ones == u64::MAX {
            Some(self.ones)
        } else {
            None
        }
    }

    /// Of a number that is one or the other.
    pub(super) const fn shared(self, other: Self) -> Self {
        Self {
            zeros: self.zeros & other.zeros,
            ones: self.ones & other.ones,
        }
    }

    /// Of a number of which both are known.
    pub(super) const fn with(self, other: Self) -> Self {
        Self {
            zeros: self.zeros | other.zeros,
            ones: self.ones | other.ones,
        }
    }

    /// True if all that `other` knows is known.
    pub(super) const fn includes(self, other: Self) -> bool {
        other.zeros & !self.zeros == 0 && other.ones & !self.ones == 0
    }

    /// The low bits of the number, with zeros above.
    const fn cut(self, bits: u8) -> Self {
        Self {
            zeros: self.zeros | !ones(bits),
            ones: self.ones & ones(bits),
        }
    }

    const fn shifted_left(self, by: u64) -> Self {
        if by >= 64 {
            return Self::exact(0);
        }
        Self {
            zeros: self.zeros << by | ones(by as u8),
            ones: self.ones << by,
        }
    }

    const fn shifted_right(self, by: u64) -> Self {
        if by >= 64 {
            return Self::exact(0);
        }
        Self {
            zeros: !(!self.zeros >> by),
            ones: self.ones >> by,
        }
    }
}

/// True for an operation whose result may have known bits that its low ones and its bounds do not tell.
pub(super) const fn keeps_bits(op: Op) -> bool {
    use BinaryOp as B;
    matches!(
        op,
        Op::Binary(
            B::And | B::Or | B::Xor | B::Shl | B::ShrUnsigned | B::ShrSigned,
            2..
        ) | Op::Unary(UnaryOp::Not | UnaryOp::ReverseBits, _)
            | Op::Select
            | Op::Convert { .. }
            | Op::ExtractBits(..)
            | Op::InsertBits(_)
            | Op::Lop3(_)
            | Op::FunnelShift { .. }
            | Op::Pack(_)
    )
}

/// Known bits of the result of an operation in one lane.
pub(super) fn result(op: Op, uses: &[Bits]) -> Bits {
    match (op, uses) {
        (Op::Binary(op, bits), &[a, b]) => binary(op, bits, a, b).cut(bits),
        (Op::Unary(UnaryOp::Not, bits), &[a]) => complement(a).cut(bits),
        (Op::Unary(UnaryOp::ReverseBits, bits @ 1..=64), &[a]) => Bits {
            zeros: a.zeros.reverse_bits(),
            ones: a.ones.reverse_bits(),
        }
        .shifted_right(u64::from(64 - bits)),
        (Op::Select, &[a, b, predicate]) => match (predicate.ones & 1, predicate.zeros & 1) {
            (1, _) => a,
            (_, 1) => b,
            _ => a.shared(b),
        },
        (Op::Convert { from, signed, to }, &[a]) => {
            let low = a.cut(from);
            if signed {
                extended(low, from).cut(to)
            } else {
                low.cut(to)
            }
        }
        (Op::ExtractBits(bits, signed), &[a, start, length]) => {
            let (Some(start), Some(length)) = (start.value(), length.value()) else {
                return Bits::UNKNOWN;
            };
            let (start, length) = (start & 0xff, length & 0xff);
            let field = a.cut(bits).shifted_right(start);
            if !signed {
                return field.cut(length.min(64) as u8);
            }
            if length == 0 || start + length > u64::from(bits) {
                return Bits::UNKNOWN;
            }
            extended(field.cut(length as u8), length as u8).cut(bits)
        }
        (Op::InsertBits(bits), &[a, b, start, length]) => {
            let (Some(start), Some(length)) = (start.value(), length.value()) else {
                return Bits::UNKNOWN;
            };
            let (start, length) = (start & 0xff, length & 0xff);
            let field = if start >= 64 {
                0
            } else {
                ones(length.min(64) as u8) << start
            };
            let a = a.shifted_left(start);
            Bits {
                zeros: a.zeros & field | b.zeros & !field,
                ones: a.ones & field | b.ones & !field,
            }
            .cut(bits)
        }
        (Op::Lop3(table), &[a, b, c]) => looked_up(table, [a, b, c]).cut(32),
        (Op::FunnelShift { left, wrap }, &[low, high, amount]) => {
            let Some(amount) = amount.value() else {
                return Bits::UNKNOWN;
            };
            let amount = amount & ones(32);
            let by = if wrap { amount & 31 } else { amount.min(32) };
            let (low, high) = (low.cut(32), high.cut(32).shifted_left(32));
            let pair = Bits {
                zeros: low.zeros & high.zeros,
                ones: low.ones | high.ones,
            };
            let moved = if left {
                pair.shifted_left(by).shifted_right(32)
            } else {
                pair.shifted_right(by)
            };
            moved.cut(32)
        }
        (Op::Pack(bits), uses) => {
            let mut packed = Bits::exact(0);
            for (number, part) in uses.iter().enumerate() {
                let part = part.cut(bits).shifted_left(number as u64 * u64::from(bits));
                packed = Bits {
                    zeros: packed.zeros & part.zeros,
                    ones: packed.ones | part.ones,
                };
            }
            packed
        }
        _ => Bits::UNKNOWN,
    }
}

fn binary(op: BinaryOp, bits: u8, a: Bits, b: Bits) -> Bits {
    use BinaryOp as B;
    let by = b.value().map(|by| match by & ones(32) {
        by if by < u64::from(bits) => by,
        _ => 64,
    });
    match (op, by) {
        (B::And, _) => Bits {
            zeros: a.zeros | b.zeros,
            ones: a.ones & b.ones,
        },
        (B::Or, _) => Bits {
            zeros: a.zeros & b.zeros,
            ones: a.ones | b.ones,
        },
        (B::Xor, _) => Bits {
            zeros: a.zeros & b.zeros | a.ones & b.ones,
            ones: a.zeros & b.ones | a.ones & b.zeros,
        },
        (B::Shl, Some(by)) => a.shifted_left(by),
        (B::ShrUnsigned, Some(by)) => a.cut(bits).shifted_right(by),
        (B::ShrSigned, Some(by)) => {
            let wide = extended(a.cut(bits), bits);
            let by = by.min(63);
            Bits {
                zeros: (wide.zeros as i64 >> by) as u64,
                ones: (wide.ones as i64 >> by) as u64,
            }
        }
        _ => Bits::UNKNOWN,
    }
}

const fn complement(a: Bits) -> Bits {
    Bits {
        zeros: a.ones,
        ones: a.zeros,
    }
}

/// A number of so many bits, at least one, with copies of its sign above.
const fn extended(a: Bits, bits: u8) -> Bits {
    let sign = 1 << (bits - 1);
    let above = !ones(bits);
    let low = Bits {
        zeros: a.zeros & !above,
        ones: a.ones & !above,
    };
    if a.zeros & sign != 0 {
        Bits {
            zeros: low.zeros | above,
            ..low
        }
    } else if a.ones & sign != 0 {
        Bits {
            ones: low.ones | above,
            ..low
        }
    } else {
        low
    }
}

/// Bit by bit, what all rows of a truth table say that the operands may be in.
fn looked_up(table: u8, uses: [Bits; 3]) -> Bits {
    let (mut may_be_zero, mut may_be_one) = (0, 0);
    for row in 0..8_u64 {
        let is = |place: usize, bit: u32| match row >> bit & 1 {
            1 => !uses[place].zeros,
            _ => !uses[place].ones,
        };
        let possible = is(0, 2) & is(1, 1) & is(2, 0);
        if table >> row & 1 == 1 {
            may_be_one |= possible;
        } else {
            may_be_zero |= possible;
        }
    }
    Bits {
        zeros: !may_be_one,
        ones: !may_be_zero,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptxcheck_ir::evaluate::evaluate;

    /// Numbers of three known and unknown bits each.
    fn some() -> Vec<Bits> {
        let parts = [0, 1, 5, 0x8000_0000, 0xff, 0xffff_fff0, 0x40, u64::from(u32::MAX)];
        let mut all = Vec::new();
        for zeros in parts {
            for ones in parts {
                all.push(Bits {
                    zeros: zeros & !ones,
                    ones,
                });
            }
        }
        all
    }

    /// Some numbers that have these bits.
    fn numbers(of: Bits) -> impl Iterator<Item = u64> {
        let fill = [0, u64::MAX, 0x5555_aaaa_5555_aaaa, 0x1234_5678_9abc_def1];
        fill.into_iter().map(move |any| any & !of.zeros | of.ones)
    }

    fn holds(op: Op, uses: &[Bits]) {
        let known = result(op, uses);
        let mut chosen = vec![0; uses.len()];
        let choices: Vec<Vec<u64>> = uses.iter().map(|&of| numbers(of).collect()).collect();
        for pick in 0..4_usize.pow(uses.len() as u32) {
            for (place, value) in chosen.iter_mut().enumerate() {
                *value = choices[place][pick >> (2 * place) & 3];
            }
            let value = evaluate(op, &chosen).unwrap();
            assert!(
                value & known.zeros == 0 && !value & known.ones == 0,
                "{op:?} {uses:x?} {chosen:x?} {value:x} {known:x?}"
            );
        }
        if uses.iter().all(|bits| bits.value().is_some()) {
            assert_eq!(known.value(), evaluate(op, &chosen), "{op:?} {uses:x?}");
        }
    }

    #[test]
    fn they_are_those_of_all_results() {
        use BinaryOp as B;
        let amounts = [0, 1, 5, 16, 31, 32, 40, 0xffff_ffff].map(Bits::exact);
        for a in some() {
            for bits in [8, 16, 32, 64] {
                holds(Op::Unary(UnaryOp::Not, bits), &[a]);
                holds(Op::Unary(UnaryOp::ReverseBits, bits), &[a]);
                for (signed, to) in [(false, 32), (true, 32), (true, 64), (false, 16), (true, 8)] {
                    let from = bits;
                    holds(Op::Convert { from, signed, to }, &[a]);
                }
                for by in amounts {
                    for op in [B::Shl, B::ShrUnsigned, B::ShrSigned] {
                        holds(Op::Binary(op, bits), &[a, by]);
                    }
                    for length in amounts {
                        if bits >= 32 {
                            holds(Op::ExtractBits(bits, false), &[a, by, length]);
                            holds(Op::ExtractBits(bits, true), &[a, by, length]);
                        }
                    }
                }
            }
            for b in some() {
                for op in [B::And, B::Or, B::Xor] {
                    holds(Op::Binary(op, 32), &[a, b]);
                }
                holds(Op::Pack(16), &[a, b]);
                for by in amounts {
                    for (left, wrap) in [(true, true), (true, false), (false, true), (false, false)] {
                        holds(Op::FunnelShift { left, wrap }, &[a, b, by]);
                    }
                }
            }
        }
        let few: Vec<Bits> = some().into_iter().step_by(5).collect();
        for (&a, &b) in few.iter().flat_map(|a| few.iter().map(move |b| (a, b))) {
            holds(Op::InsertBits(32), &[a, b, Bits::exact(4), Bits::exact(9)]);
            for &c in &few {
                for table in [0x96, 0xe8, 0xca, 0x01, 0xfe] {
                    holds(Op::Lop3(table), &[a, b, c]);
                }
                holds(Op::Select, &[a, b, c]);
            }
        }
    }
}
