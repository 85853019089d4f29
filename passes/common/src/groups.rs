//! Things sorted into groups by counting.

/// Things by a number, those of each in the order that they were given in, in one list.
#[derive(Debug)]
pub struct Groups<T> {
    members: Vec<T>,
    /// The start of each number's members, and the end of all.
    starts: Vec<u32>,
}

impl<T> Groups<T> {
    /// Of no numbers.
    pub const EMPTY: Self = Self {
        members: Vec::new(),
        starts: Vec::new(),
    };
}

impl<T> Default for Groups<T> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<T: Copy> Groups<T> {
    /// Of the numbers below `count`; `members` are all with their numbers, gone over twice. Time and memory are linear in
    /// both.
    pub fn new(count: usize, members: impl Iterator<Item = (usize, T)> + Clone) -> Self {
        let mut starts = vec![0_u32; count + 1];
        let mut any = None;
        members.clone().for_each(|(number, member)| {
            starts[number + 1] += 1;
            any = Some(member);
        });
        for number in 0..count {
            starts[number + 1] += starts[number];
        }
        let mut next = starts.clone();
        let mut sorted = any.map_or_else(Vec::new, |any| vec![any; starts[count] as usize]);
        members.for_each(|(number, member)| {
            let place = &mut next[number];
            sorted[*place as usize] = member;
            *place += 1;
        });
        Self {
            members: sorted,
            starts,
        }
    }

    /// Those of a number.
    pub fn of(&self, number: usize) -> &[T] {
        &self.members[self.start(number)..self.start(number + 1)]
    }

    /// Number of members of the numbers below this one.
    pub fn start(&self, number: usize) -> usize {
        self.starts[number] as usize
    }

    /// True if there are no members at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.members.len()
    }
}

#[cfg(test)]
mod tests {
    use super::Groups;

    #[test]
    fn members_stay_in_order() {
        let given = [(2, 'a'), (0, 'b'), (2, 'c'), (0, 'd')];
        let groups = Groups::new(4, given.into_iter());
        assert_eq!(groups.of(0), ['b', 'd']);
        assert_eq!(groups.of(1), []);
        assert_eq!(groups.of(2), ['a', 'c']);
        assert_eq!((groups.start(2), groups.len()), (2, 4));
        assert_eq!(Groups::<u8>::new(1, std::iter::empty()).of(0), []);
    }
}
