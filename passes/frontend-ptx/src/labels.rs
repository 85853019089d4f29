//! The labels of a body by their names.

use ptxcheck_common::maps::NameMap;
use rustc_hash::FxHashMap;

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

/// The labels of a body that is read once: a branch may name one that stands after it, in its scope or in one around it.
#[derive(Default)]
pub(super) struct LabelsAhead<'s> {
    /// The labels so far, each with the scope that declares it.
    declared: Vec<(u32, &'s [u8])>,
    /// The names of branch targets, each with the scope of its branch.
    named: Vec<(u32, &'s [u8])>,
    /// By scope: the scope around it; none for the outermost.
    outer: FxHashMap<u32, u32>,
}

impl<'s> LabelsAhead<'s> {
    /// Adds a label of the innermost of the open scopes.
    pub(super) fn declare(&mut self, open_scopes: &[u32], name: &'s [u8]) {
        self.declared.push((innermost(open_scopes), name));
    }

    /// The number of a name that a branch gives.
    pub(super) fn name(&mut self, open_scopes: &[u32], name: &'s [u8]) -> u32 {
        for scopes in open_scopes.windows(2).rev() {
            if self.outer.insert(scopes[1], scopes[0]).is_some() {
                break;
            }
        }
        self.named.push((innermost(open_scopes), name));
        self.named.len() as u32 - 1
    }

    /// The labels that the names stand for; `None` if one stands for none.
    pub(super) fn resolve(self) -> Option<Vec<u32>> {
        let names = LabelNames::new(self.declared);
        // Of the scope that a name is in, as for most.
        let mut open_scopes = Vec::new();
        let labels = self.named.iter().map(|&(scope, name)| {
            if open_scopes.last() != Some(&scope) {
                open_scopes.clear();
                let around = std::iter::successors(Some(scope), |scope| self.outer.get(scope).copied());
                open_scopes.extend(around);
                open_scopes.reverse();
            }
            names.find(&open_scopes, name)
        });
        labels.collect()
    }
}

/// The innermost of the open scopes.
fn innermost(open_scopes: &[u32]) -> u32 {
    open_scopes.last().copied().unwrap_or(0)
}

/// The number that a name ends in.
fn number_at_end(name: &[u8]) -> Option<usize> {
    numbered(name).next().map(|(_, number)| number as usize)
}

#[cfg(test)]
mod tests {
    use super::{LabelNames, LabelsAhead};

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

    /// A branch leads to the innermost label of its name, also one that stands after it.
    #[test]
    fn labels_ahead_are_those_of_the_scopes_around_the_branch() {
        let mut labels = LabelsAhead::default();
        let of_inner = labels.name(&[0, 1], b"L");
        let of_outer = labels.name(&[0, 1], b"M");
        labels.declare(&[0, 1], b"L");
        labels.declare(&[0], b"L");
        let outside = labels.name(&[0], b"L");
        labels.declare(&[0], b"M");
        let found = labels.resolve().unwrap();
        assert_eq!(
            [of_inner, of_outer, outside].map(|name| found[name as usize]),
            [0, 2, 1]
        );

        let mut labels = LabelsAhead::default();
        labels.declare(&[0, 1, 2], b"L");
        labels.name(&[0, 3], b"L");
        assert_eq!(labels.resolve(), None);
    }

    /// A large number takes up no memory.
    #[test]
    fn numbers_beyond_those_of_compilers_are_names() {
        let names = LabelNames::new(vec![(0, b"L999999999")]);
        assert!(names.numbered.len() < 100);
        assert_eq!(names.find(&[0], b"L999999999"), Some(0));
    }
}
