//! The integers that fulfil several conditions.
//!
//! ```text
//! values   the listed ones, or { v | least ≤ v ≤ most, step divides v, v not in excluded }
//! ```

use super::condition::Condition;

/// A set of integers of up to 64 bits, signed; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Values {
    /// All of them, in their order, where a condition lists them. The other fields then count for nothing.
    listed: Option<Vec<i64>>,
    least: i64,
    most: i64,
    /// At least 1.
    step: i64,
    excluded: Vec<i64>,
    /// The bounds among the conditions.
    bounds: Vec<i64>,
}

impl Values {
    /// The integers of so many bytes, 1 to 8, that fulfil all conditions; `None` if there are none.
    pub(crate) fn new<'c>(conditions: impl IntoIterator<Item = &'c Condition>, bytes: u8) -> Option<Self> {
        let most = i64::MAX >> (64 - 8 * u32::from(bytes.clamp(1, 8)));
        let mut values = Self {
            listed: None,
            least: -most - 1,
            most,
            step: 1,
            excluded: Vec::new(),
            bounds: Vec::new(),
        };
        let mut lists: Vec<&[i64]> = Vec::new();
        for condition in conditions {
            match condition {
                Condition::OneOf(list) => lists.push(list),
                Condition::Not(value) => values.excluded.push(*value),
                Condition::Multiple(step) => match common_multiple(values.step, *step) {
                    Some(common) => values.step = common,
                    // Of all integers of 64 bits it divides 0 alone.
                    None => lists.push(&[0]),
                },
                Condition::AtLeast(value) => {
                    values.least = values.least.max(*value);
                    values.bounds.push(*value);
                }
                Condition::AtMost(value) => {
                    values.most = values.most.min(*value);
                    values.bounds.push(*value);
                }
            }
        }
        if let Some((first, others)) = lists.split_first() {
            let in_all =
                |value: &i64| values.admits(*value) && others.iter().all(|list| list.contains(value));
            let mut listed: Vec<i64> = first.iter().copied().filter(in_all).collect();
            listed.sort_unstable();
            listed.dedup();
            return (!listed.is_empty()).then_some(Self {
                listed: Some(listed),
                ..values
            });
        }
        let is_there = values.least <= values.most && values.nearest_listed_value(0).is_some();
        is_there.then_some(values)
    }

    /// True for an integer of the set.
    pub(crate) fn admits(&self, value: i64) -> bool {
        match &self.listed {
            Some(listed) => listed.binary_search(&value).is_ok(),
            None => {
                (self.least..=self.most).contains(&value)
                    && value % self.step == 0
                    && !self.excluded.contains(&value)
            }
        }
    }

    /// The integer of the set that is nearest to another, the lower of two.
    pub(crate) fn nearest(&self, value: i64) -> i64 {
        // The set has one.
        self.nearest_listed_value(value).unwrap_or(value)
    }

    fn nearest_listed_value(&self, value: i64) -> Option<i64> {
        if let Some(listed) = &self.listed {
            return listed.iter().copied().min_by_key(|one| one.abs_diff(value));
        }
        let from = value.clamp(self.least, self.most);
        // The multiple below, or above where that is not an integer of 64 bits.
        let below = from.checked_sub(from.rem_euclid(self.step));
        let start = below.or_else(|| (from / self.step).checked_mul(self.step));
        // One more than those that are excluded, in each direction, and one that may lie below the least.
        let tries = self.excluded.len() + 2;
        let walk = |step: i64| {
            let all = std::iter::successors(start, move |at| at.checked_add(step));
            all.take(tries).find(|at| self.admits(*at))
        };
        let found = [walk(-self.step), walk(self.step)];
        found
            .into_iter()
            .flatten()
            .min_by_key(|at| (at.abs_diff(value), *at))
    }

    /// The values that the conditions name: those that are listed, or those nearest to bounds and to the first multiples.
    pub(crate) fn named_values(&self) -> Vec<i64> {
        if let Some(listed) = &self.listed {
            return listed.clone();
        }
        let steps = [self.step, self.step.saturating_mul(2)];
        let steps = steps.into_iter().filter(|_| self.step > 1);
        let mut named: Vec<i64> = self
            .bounds
            .iter()
            .copied()
            .chain(steps)
            .map(|value| self.nearest(value))
            .collect();
        named.sort_unstable();
        named.dedup();
        named
    }
}

/// The least common multiple of two numbers of at least 1; `None` beyond 64 bits.
fn common_multiple(a: i64, b: i64) -> Option<i64> {
    let (mut divisor, mut rest) = (a, b);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor).checked_mul(b)
}

#[cfg(test)]
mod tests {
    use super::super::condition::Condition;
    use super::Values;

    fn values_fulfilling(texts: &[&str], bytes: u8) -> Option<Values> {
        let conditions: Vec<Condition> = texts.iter().map(|text| Condition::parse(text).unwrap()).collect();
        Values::new(&conditions, bytes)
    }

    #[test]
    fn the_nearest_value_fulfils_all_conditions() {
        let cases: [(&[&str], i64, i64); 12] = [
            (&[], 100, 100),
            (&["% 32"], 100, 96),
            (&["% 32"], 15, 0),
            (&["% 32", ">= 1"], 15, 32),
            (&["% 32", "!= 96"], 100, 128),
            (&["% 32", "!= 96", "!= 128", "<= 130"], 100, 64),
            (&["<= 1024"], 5000, 1024),
            (&["> 10", "< 20"], 3, 11),
            (&["in [7, 1, 64]"], 30, 7),
            (&["in [7, 1, 64]", "% 32"], 3, 64),
            (&["% 4", "% 6"], 13, 12),
            (&["% 100", "<= -1"], 5, -100),
        ];
        for (texts, value, wanted) in cases {
            let values = values_fulfilling(texts, 4).unwrap();
            assert_eq!(values.nearest(value), wanted, "{texts:?}");
            assert!(values.admits(wanted));
        }
    }

    #[test]
    fn conditions_that_no_integer_fulfils_are_recognised() {
        for texts in [
            &["= 33", "% 32"][..],
            &["> 5", "< 5"],
            &["% 32", "> 0", "< 32"],
            &["= 1", "= 2"],
            &["in [1, 2]", "!= 1", "!= 2"],
            &["% 1000"][..0],
        ] {
            assert_eq!(
                values_fulfilling(texts, 8).is_none(),
                !texts.is_empty(),
                "{texts:?}"
            );
        }
        // 256 is not an integer of one byte, and 0 is the one multiple there is.
        assert_eq!(values_fulfilling(&["= 256"], 1), None);
        assert_eq!(values_fulfilling(&["% 256", "!= 0"], 1), None);
        assert_eq!(
            values_fulfilling(&["% 256"], 1).map(|values| values.nearest(99)),
            Some(0)
        );
    }

    #[test]
    fn bounds_at_the_ends_of_64_bits_do_not_overflow() {
        for (texts, value) in [
            (&["% 9223372036854775807", "% 9223372036854775806"][..], i64::MIN),
            (&["% 3"], i64::MIN),
            (&["% 3"], i64::MAX),
            (&["!= -9223372036854775808"], i64::MIN),
            (&["!= 9223372036854775807"], i64::MAX),
            (&["% 7", "!= 0"], 0),
        ] {
            let values = values_fulfilling(texts, 8).unwrap();
            assert!(values.admits(values.nearest(value)), "{texts:?} {value}");
            assert!(
                values.named_values().iter().all(|value| values.admits(*value)),
                "{texts:?}"
            );
        }
    }

    #[test]
    fn values_at_bounds_and_multiples_are_tried() {
        assert_eq!(
            values_fulfilling(&["in [4, 2]"], 4).unwrap().named_values(),
            [2, 4]
        );
        assert_eq!(
            values_fulfilling(&["% 32", ">= 1", "<= 1000"], 4)
                .unwrap()
                .named_values(),
            [32, 64, 992]
        );
    }
}
