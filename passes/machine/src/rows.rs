//! Values of all lanes of a warp, and results of operations in all of them at once. The commonest operations, where all operands are known,
//! are written down again without numbers of 128 bits; a test compares them with [`result`].

use ptxcheck_ir::{BinaryOp, Condition, Logic, Op};

use crate::evaluate::{Word, ones, result};
use crate::launch::WARP;

/// A value of each lane of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) values: [u64; WARP],
    /// The lanes whose value is known, a bit for each.
    pub(crate) known: u32,
}

impl Row {
    pub(crate) const UNKNOWN: Self = Self {
        values: [0; WARP],
        known: 0,
    };

    /// The same value in all lanes.
    pub(crate) const fn uniform(word: Word) -> Self {
        match word {
            Some(word) => Self {
                values: [word; WARP],
                known: u32::MAX,
            },
            None => Self::UNKNOWN,
        }
    }

    /// The value in each of some lanes; unknown in the others.
    pub(crate) fn of_each(lanes: u32, mut of: impl FnMut(usize) -> Word) -> Self {
        let mut row = Self::UNKNOWN;
        for lane in each(lanes) {
            row.set(lane, of(lane));
        }
        row
    }

    pub(crate) const fn get(&self, lane: usize) -> Word {
        if self.known >> lane & 1 == 1 {
            Some(self.values[lane])
        } else {
            None
        }
    }

    pub(crate) const fn set(&mut self, lane: usize, word: Word) {
        match word {
            Some(word) => {
                self.values[lane] = word;
                self.known |= 1 << lane;
            }
            None => self.known &= !(1 << lane),
        }
    }
}

/// The lanes of a set, by their numbers.
pub(crate) fn each(lanes: u32) -> impl Iterator<Item = usize> {
    let mut left = lanes;
    std::iter::from_fn(move || {
        let lane = left.trailing_zeros() as usize;
        left &= left.wrapping_sub(1);
        (lane < WARP).then_some(lane)
    })
}

/// Result number `number` of an operation in some lanes; unknown in the others, or of no account.
pub(crate) fn results(op: Op, number: usize, uses: &[Row], lanes: u32) -> Row {
    let are_known = uses.iter().all(|row| row.known & lanes == lanes);
    let common = are_known.then(|| common(op, number, uses)).flatten();
    if let Some(values) = common {
        return Row { values, known: lanes };
    }
    let mut words = Vec::with_capacity(uses.len());
    Row::of_each(lanes, |lane| {
        words.clear();
        words.extend(uses.iter().map(|row| row.get(lane)));
        result(op, number, &words)
    })
}

type Values = [u64; WARP];

fn map(a: &Values, f: impl Fn(u64) -> u64) -> Values {
    std::array::from_fn(|lane| f(a[lane]))
}

fn map_both(a: &Values, b: &Values, f: impl Fn(u64, u64) -> u64) -> Values {
    std::array::from_fn(|lane| f(a[lane], b[lane]))
}

/// The results of a common operation on known numbers.
fn common(op: Op, number: usize, uses: &[Row]) -> Option<Values> {
    let at = |place: usize| uses.get(place).map(|row| &row.values);
    match (op, number) {
        (Op::Copy, 0) => at(0).copied(),
        (Op::Binary(op, bits), 0) => binary(op, bits, at(0)?, at(1)?),
        (Op::MulAdd(op, bits), 0) => {
            let product = binary(op, bits, at(0)?, at(1)?)?;
            binary(BinaryOp::Add, bits, &product, at(2)?)
        }
        (Op::Compare(condition, bits @ 1..=64, Logic::None), 0 | 1) => {
            let (a, b) = (at(0)?, at(1)?);
            let holds = compare(condition, bits, a, b);
            Some(map(&holds, |holds| holds ^ number as u64))
        }
        (Op::Select, 0) => {
            let (a, b, predicate) = (at(0)?, at(1)?, at(2)?);
            Some(std::array::from_fn(|lane| {
                if predicate[lane] & 1 == 1 {
                    a[lane]
                } else {
                    b[lane]
                }
            }))
        }
        (Op::Convert { from, signed, to }, 0) => {
            let (from, to) = (Width::new(from)?, Width::new(to)?);
            let a = at(0)?;
            Some(match signed {
                true => map(a, |a| from.signed(a) as u64 & to.ones),
                false => map(a, |a| a & from.ones & to.ones),
            })
        }
        _ => None,
    }
}

#[derive(Clone, Copy)]
struct Width {
    bits: u32,
    ones: u64,
}

impl Width {
    fn new(bits: u8) -> Option<Self> {
        (1..=64).contains(&bits).then(|| Self {
            bits: bits.into(),
            ones: ones(bits),
        })
    }

    const fn signed(self, bits: u64) -> i64 {
        let above = 64 - self.bits;
        (bits << above) as i64 >> above
    }
}

fn binary(op: BinaryOp, bits: u8, a: &Values, b: &Values) -> Option<Values> {
    let width = Width::new(bits)?;
    let ones = width.ones;
    let amount = |b: u64| (b & 0xffff_ffff).min(u64::from(width.bits)) as u32;
    Some(match op {
        BinaryOp::Add => map_both(a, b, |a, b| a.wrapping_add(b) & ones),
        BinaryOp::Sub => map_both(a, b, |a, b| a.wrapping_sub(b) & ones),
        BinaryOp::MulLow => map_both(a, b, |a, b| a.wrapping_mul(b) & ones),
        BinaryOp::MulWideUnsigned => {
            let half = Width::new(bits / 2)?.ones;
            map_both(a, b, |a, b| (a & half).wrapping_mul(b & half) & ones)
        }
        BinaryOp::MulWideSigned => {
            let half = Width::new(bits / 2)?;
            map_both(a, b, |a, b| {
                half.signed(a).wrapping_mul(half.signed(b)) as u64 & ones
            })
        }
        BinaryOp::And => map_both(a, b, |a, b| a & b & ones),
        BinaryOp::Or => map_both(a, b, |a, b| (a | b) & ones),
        BinaryOp::Xor => map_both(a, b, |a, b| (a ^ b) & ones),
        BinaryOp::Shl => map_both(a, b, |a, b| a.checked_shl(amount(b)).unwrap_or(0) & ones),
        BinaryOp::ShrUnsigned => map_both(a, b, |a, b| (a & ones).checked_shr(amount(b)).unwrap_or(0)),
        BinaryOp::ShrSigned => map_both(a, b, |a, b| (width.signed(a) >> amount(b).min(63)) as u64 & ones),
        BinaryOp::MulHighSigned
        | BinaryOp::MulHighUnsigned
        | BinaryOp::DivSigned
        | BinaryOp::DivUnsigned
        | BinaryOp::RemSigned
        | BinaryOp::RemUnsigned
        | BinaryOp::MinSigned
        | BinaryOp::MinUnsigned
        | BinaryOp::MaxSigned
        | BinaryOp::MaxUnsigned
        | BinaryOp::OnesClamped
        | BinaryOp::OnesWrapped => return None,
    })
}

/// 1 in the lanes in which a condition holds, else 0. `bits`: 1 to 64.
fn compare(condition: Condition, bits: u8, a: &Values, b: &Values) -> Values {
    use Condition as C;
    let above = 64 - u32::from(bits);
    // The sign of the width becomes that of 64 bits.
    let unsigned = |a: u64| a << above;
    let signed = |a: u64| (a << above) as i64;
    let unsigned = |f: fn(&u64, &u64) -> bool| map_both(a, b, |a, b| f(&unsigned(a), &unsigned(b)).into());
    let signed = |f: fn(&i64, &i64) -> bool| map_both(a, b, |a, b| f(&signed(a), &signed(b)).into());
    match condition {
        C::Equal => unsigned(u64::eq),
        C::NotEqual => unsigned(u64::ne),
        C::LessUnsigned => unsigned(u64::lt),
        C::LessEqualUnsigned => unsigned(u64::le),
        C::GreaterUnsigned => unsigned(u64::gt),
        C::GreaterEqualUnsigned => unsigned(u64::ge),
        C::LessSigned => signed(i64::lt),
        C::LessEqualSigned => signed(i64::le),
        C::GreaterSigned => signed(i64::gt),
        C::GreaterEqualSigned => signed(i64::ge),
    }
}

#[cfg(test)]
mod tests {
    use ptxcheck_ir::{BinaryOp, Condition, Logic, Op};

    use super::{Row, common, results};
    use crate::evaluate::result;
    use crate::launch::WARP;
    use crate::random::Random;

    /// Numbers at which operations change: small ones, those near the widths' ends, and any.
    fn number(random: &mut Random) -> u64 {
        let any = random.next();
        match random.below(4) {
            0 => any % 70,
            1 => 0_u64.wrapping_sub(any % 3),
            2 => (1_u64 << (any % 64)).wrapping_sub(any >> 32 & 1),
            _ => any,
        }
    }

    fn operations() -> Vec<Op> {
        use BinaryOp as B;
        use Condition as C;
        let mut all = vec![Op::Copy, Op::Select];
        for bits in [1, 8, 16, 32, 33, 64] {
            for op in [
                B::Add,
                B::Sub,
                B::MulLow,
                B::MulWideUnsigned,
                B::MulWideSigned,
                B::And,
                B::Or,
                B::Xor,
                B::Shl,
                B::ShrUnsigned,
                B::ShrSigned,
            ] {
                all.extend([Op::Binary(op, bits), Op::MulAdd(op, bits)]);
            }
            for condition in [
                C::Equal,
                C::NotEqual,
                C::LessUnsigned,
                C::LessEqualUnsigned,
                C::GreaterUnsigned,
                C::GreaterEqualUnsigned,
                C::LessSigned,
                C::LessEqualSigned,
                C::GreaterSigned,
                C::GreaterEqualSigned,
            ] {
                all.push(Op::Compare(condition, bits, Logic::None));
            }
            for to in [8, 32, 64] {
                for signed in [false, true] {
                    all.push(Op::Convert {
                        from: bits,
                        signed,
                        to,
                    });
                }
            }
        }
        all
    }

    #[test]
    fn rows_are_what_each_lane_computes() {
        let mut random = Random::new(17);
        for op in operations() {
            for (lanes, most_unknown) in [(u32::MAX, 0), (0x8421_00ff, 0), (u32::MAX, 3)] {
                let mut row = || {
                    let mut row = Row::of_each(u32::MAX, |_| Some(number(&mut random)));
                    for _ in 0..most_unknown {
                        row.set(random.below(WARP), None);
                    }
                    row
                };
                let uses = [row(), row(), row()];
                let is_wide_of_one = matches!(op, Op::Binary(op, 1) | Op::MulAdd(op, 1)
                    if matches!(op, BinaryOp::MulWideUnsigned | BinaryOp::MulWideSigned));
                assert!(
                    most_unknown > 0 || is_wide_of_one || common(op, 0, &uses).is_some(),
                    "{op:?}"
                );
                for number in [0, 1] {
                    let found = results(op, number, &uses, lanes);
                    for lane in 0..WARP {
                        let words = uses.map(|row| row.get(lane));
                        let wanted = if lanes >> lane & 1 == 1 {
                            result(op, number, &words)
                        } else {
                            None
                        };
                        assert_eq!(found.get(lane), wanted, "{op:?} {number} {words:x?}");
                    }
                }
            }
        }
    }
}
