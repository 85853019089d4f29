//! The functions of an image that make a use needed.
//!
//! The device linker drops functions that no kernel and no variable leads to, together with the symbols they leave undefined. Another image
//! may call a function of this one, so each use is one of three cases: its own image needs it, another image may need it through one of
//! these functions, or nothing does.

use crate::groups::Groups;
use crate::limits::MAX_CALLER_STEPS;

/// The functions of an image, by number, and who refers to them.
#[derive(Debug, Default)]
pub struct Callers {
    callers: Groups<u32>,
    /// Kernels, and functions that a variable holds the address of.
    is_needed: Vec<bool>,
    /// The number of the last question that visited each.
    last_seen: Vec<u32>,
    questions: u32,
    steps: usize,
}

impl Callers {
    /// Of the functions below `is_needed.len()`, those that are needed being kernels or held by variables; `references` are
    /// pairs of one that refers and one that is referred to.
    #[must_use]
    pub fn new(is_needed: Vec<bool>, references: &[(u32, u32)]) -> Self {
        let count = is_needed.len();
        let known = references.iter().filter(move |(_, to)| (*to as usize) < count);
        Self {
            callers: Groups::new(count, known.map(|(from, to)| (*to as usize, *from))),
            last_seen: vec![0; count],
            questions: 0,
            is_needed,
            steps: 0,
        }
    }

    /// All functions that lead to one of `users`, themselves included; `None` where one of these is needed. Beyond a limit of
    /// steps nothing leads anywhere.
    pub fn leading_to(&mut self, users: impl IntoIterator<Item = u32>) -> Option<Vec<u32>> {
        self.questions += 1;
        let (question, last_seen) = (self.questions, &mut self.last_seen);
        let mut found: Vec<u32> = Vec::new();
        let mut see = |function: u32, found: &mut Vec<u32>| {
            let last = last_seen.get_mut(function as usize);
            if let Some(last) = last.filter(|last| **last != question) {
                *last = question;
                found.push(function);
            }
        };
        for user in users {
            see(user, &mut found);
        }
        let mut next = 0;
        while let Some(&function) = found.get(next) {
            next += 1;
            if self.is_needed[function as usize] {
                return None;
            }
            self.steps += 1;
            for &caller in self.callers.of(function as usize) {
                self.steps += 1;
                see(caller, &mut found);
            }
            if self.steps > MAX_CALLER_STEPS {
                return Some(Vec::new());
            }
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::Callers;

    #[test]
    fn what_a_kernel_reaches_is_needed() {
        // 0 is a kernel and calls 1, which calls 2; 3 calls 4 and itself.
        let mut callers = Callers::new(
            vec![true, false, false, false, false],
            &[(0, 1), (1, 2), (3, 4), (3, 3), (9, 4), (4, 9)],
        );
        assert_eq!(callers.leading_to([2]), None);
        assert_eq!(callers.leading_to([4]), Some(vec![4, 3]));
        assert_eq!(callers.leading_to([3, 1]), None);
        assert_eq!(callers.leading_to([7]), Some(vec![]));
    }
}
