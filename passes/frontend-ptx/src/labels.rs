//! The labels of a body by their names.

use ptxcheck_common::maps::NameMap;

use super::scope::numbered;
use crate::limits::LABEL_NUMBERS;

/// The labels of a body, in the order of the text. Compilers number them: where each ends in a number of its own, they are found by that, and
/// no name is hashed.
#[derive(Default)]
pub(super) struct LabelNames<'s> {
    /// The scope that declares a label, and its name.
    all: Vec<(u32, &'s [u8])>,
    /// By the number at the end of a name: one more than the label; 0 for a number of none.
    numbered: Vec<u32>,
    /// By scope and name; nothing where `numbered` has all.
    named: NameMap<(u32, &'s [u8]), u32>,
}

impl<'s> LabelNames<'s> {
    /// The labels, each with the scope that declares it.
    pub(super) fn new(all: Vec<(u32, &'s [u8])>) -> Self {
        let most = all.len().saturating_mul(LABEL_NUMBERS);
        let mut numbered = Vec::new();
        let mut number = |(place, (_, name)): (u32, &(u32, &[u8]))| {
            let number = number_at_end(name).filter(|number| *number < most)?;
            if numbered.len() <= number {
                numbered.resize(number + 1, 0);
            }
            (std::mem::replace(&mut numbered[number], place) == 0).then_some(())
        };
        if (1..).zip(&all).try_for_each(|one| number(one).ok_or(())).is_ok() {
            return Self {
                all,
                numbered,
                named: NameMap::default(),
            };
        }
        let named = all.iter().copied().zip(0..).collect();
        Self {
            all,
            numbered: Vec::new(),
            named,
        }
    }

    /// The label of this name in the innermost of the open scopes that declares one.
    pub(super) fn find(&self, open_scopes: &[u32], name: &[u8]) -> Option<u32> {
        if self.named.is_empty() {
            let label = self.numbered.get(number_at_end(name)?)?.checked_sub(1)?;
            let (scope, known) = self.all[label as usize];
            return (known == name && open_scopes.contains(&scope)).then_some(label);
        }
        // The lifetime of the key is that of the source; a shorter borrow finds the same entry.
        let mut scopes = open_scopes.iter().rev();
        scopes.find_map(|&scope| self.named.get(&(scope, name)).copied())
    }
}

/// The number that a name ends in.
fn number_at_end(name: &[u8]) -> Option<usize> {
    numbered(name).next().map(|(_, number)| number as usize)
}

#[cfg(test)]
mod tests {
    use super::LabelNames;

    /// Labels with distinct numbers are found like others.
    #[test]
    fn labels_are_found_by_number_and_by_name() {
        let numbered = [(0, "$L__BB0_1"), (1, "$L__BB0_7"), (0, "L3")];
        let named = [
            (0, "$L__BB0_1"),
            (1, "$L__BB0_7"),
            (0, "L3"),
            (1, "L3"),
            (0, "END"),
            (1, "L0000000003"),
        ];
        for (labels, is_numbered) in [(&numbered[..], true), (&named[..], false)] {
            let all = labels
                .iter()
                .map(|(scope, name)| (*scope, name.as_bytes()))
                .collect();
            let names = LabelNames::new(all);
            assert_eq!(names.named.is_empty(), is_numbered);
            let find = |scopes: &[u32], name: &str| names.find(scopes, name.as_bytes());
            assert_eq!(find(&[0], "$L__BB0_1"), Some(0));
            assert_eq!(find(&[0, 1], "$L__BB0_7"), Some(1));
            // Outside of the scope.
            assert_eq!(find(&[0], "$L__BB0_7"), None);
            assert_eq!(find(&[0], "L3"), Some(2));
            assert_eq!(find(&[0, 1], "L3"), Some(if is_numbered { 2 } else { 3 }));
            for other in ["$L__BB1_1", "L03", "L", "", "L99999999999999999999", "3"] {
                assert_eq!(find(&[0, 1], other), None, "{other}");
            }
        }
        assert_eq!(LabelNames::new(Vec::new()).find(&[0], b"L1"), None);
    }

    /// A large number takes up no memory.
    #[test]
    fn numbers_beyond_those_of_compilers_are_names() {
        let names = LabelNames::new(vec![(0, b"L999999999")]);
        assert!(names.numbered.len() < 100);
        assert_eq!(names.find(&[0], b"L999999999"), Some(0));
    }
}
