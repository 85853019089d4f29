//! Sets of unsigned numbers that arise from comparisons of one value with constants.

use ptxcheck_ir::Condition;
use ptxcheck_ir::evaluate::ones;

/// Numbers of some bits, in ranges that do not touch, in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Numbers(Vec<(u64, u64)>);

impl Numbers {
    /// The numbers of `bits` bits, at least one bit, for which a comparison with `bound` holds.
    #[must_use]
    pub(super) fn satisfying(condition: Condition, bits: u8, bound: u64) -> Self {
        use Condition as C;
        let (most, bound) = (ones(bits), bound & ones(bits));
        // Signed order is unsigned order after rotating the number range by half.
        let turn = match condition {
            C::LessSigned | C::LessEqualSigned | C::GreaterSigned | C::GreaterEqualSigned => 1 << (bits - 1),
            _ => 0,
        };
        let place = bound ^ turn;
        let range = match condition {
            C::Equal => Some((place, place)),
            C::NotEqual => return Self::satisfying(C::Equal, bits, bound).complement(bits),
            C::LessSigned | C::LessUnsigned => place.checked_sub(1).map(|last| (0, last)),
            C::LessEqualSigned | C::LessEqualUnsigned => Some((0, place)),
            C::GreaterSigned | C::GreaterUnsigned => (place < most).then(|| (place + 1, most)),
            C::GreaterEqualSigned | C::GreaterEqualUnsigned => Some((place, most)),
        };
        let Some((first, last)) = range else {
            return Self(Vec::new());
        };
        if turn == 0 {
            return Self(vec![(first, last)]);
        }
        // After rotating back, the negative numbers come last.
        let (below, above) = ((first, last.min(turn - 1)), (first.max(turn), last));
        let mut all = Vec::new();
        all.extend((above.0 <= above.1).then_some((above.0 ^ turn, above.1 ^ turn)));
        all.extend((below.0 <= below.1).then_some((below.0 ^ turn, below.1 ^ turn)));
        Self(all).with_touching_ranges_joined()
    }

    /// The set of all numbers of `bits` bits.
    #[must_use]
    pub(super) fn all_of_width(bits: u8) -> Self {
        Self(vec![(0, ones(bits))])
    }

    /// Joins ranges that touch.
    fn with_touching_ranges_joined(self) -> Self {
        let mut all: Vec<(u64, u64)> = Vec::new();
        for (first, last) in self.0 {
            match all.last_mut() {
                Some(before) if before.1.checked_add(1) == Some(first) => before.1 = last,
                _ => all.push((first, last)),
            }
        }
        Self(all)
    }

    /// The numbers of `bits` bits that are not in the set.
    #[must_use]
    pub(super) fn complement(&self, bits: u8) -> Self {
        let mut all = Vec::new();
        let mut next = Some(0);
        for &(first, last) in &self.0 {
            if let Some(next) = next.filter(|next| *next < first) {
                all.push((next, first - 1));
            }
            next = last.checked_add(1);
        }
        if let Some(next) = next.filter(|next| *next <= ones(bits)) {
            all.push((next, ones(bits)));
        }
        Self(all)
    }

    /// The numbers of `bits` bits whose sum with `by` is in the set.
    #[must_use]
    pub(super) fn numbers_before_adding(&self, by: u64, bits: u8) -> Self {
        let back = |number: u64| number.wrapping_sub(by) & ones(bits);
        let mut all = Vec::new();
        for &(first, last) in &self.0 {
            match (back(first), back(last)) {
                (first, last) if first <= last => all.push((first, last)),
                // The last number is followed by the first (wrap-around).
                (first, last) => all.extend([(first, ones(bits)), (0, last)]),
            }
        }
        all.sort_unstable();
        Self(all).with_touching_ranges_joined()
    }

    /// The intersection of both sets.
    #[must_use]
    pub(super) fn intersection(&self, other: &Self) -> Self {
        let mut all = Vec::new();
        for &(first, last) in &self.0 {
            for &(from, to) in &other.0 {
                let (first, last) = (first.max(from), last.min(to));
                if first <= last {
                    all.push((first, last));
                }
            }
        }
        Self(all)
    }

    /// True if the set is empty.
    #[must_use]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if all numbers of the set are in the other set.
    #[must_use]
    pub(super) fn is_subset_of(&self, other: &Self) -> bool {
        self.intersection(other) == *self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptxcheck_ir::evaluate::compare;

    #[test]
    fn satisfying_numbers_are_those_for_which_the_comparison_holds() {
        use Condition as C;
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
        let has = |numbers: &Numbers, number: u64| {
            let mut ranges = numbers.0.iter();
            ranges.any(|(first, last)| (*first..=*last).contains(&number))
        };
        let bits = 4;
        for condition in conditions {
            for bound in 0..16 {
                let all = Numbers::satisfying(condition, bits, bound);
                let rest = all.complement(bits);
                for number in 0..16 {
                    let holds = compare(condition, bits, number, bound);
                    assert_eq!(has(&all, number), holds, "{number} {condition:?} {bound}");
                    assert_eq!(has(&rest, number), !holds, "not {number} {condition:?} {bound}");
                }
                for by in 0..16 {
                    let before = all.numbers_before_adding(by, bits);
                    for number in 0..16 {
                        assert_eq!(has(&before, number), has(&all, (number + by) & 15));
                    }
                    assert!(before.complement(bits).complement(bits) == before);
                }
                assert!(all.intersection(&rest).is_empty());
                assert!(all.is_subset_of(&all) && rest.complement(bits) == all);
            }
        }
        let whole = Numbers::satisfying(C::GreaterEqualUnsigned, 64, 0);
        assert!(whole.complement(64).is_empty());
    }
}
