//! Numbers for what LLVM knows by its address: values, blocks, types.

/// A map from addresses to numbers that is emptied at no cost.
///
/// Linear probing, at most half full. Slots that a round has not filled itself count as empty.
pub(super) struct Numbers {
    /// A power of two of them.
    slots: Vec<Slot>,
    count: usize,
    round: u32,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    address: usize,
    number: u32,
    /// The round that filled it; 0 for none.
    round: u32,
}

/// Bytes of memory for each slot: half of what the smallest of LLVM's values take.
const SPACING: usize = 16;

/// Slots of an empty map.
const FIRST: usize = 256;

/// Most slots whose memory an empty map keeps.
const KEPT: usize = 65_536;

impl Default for Numbers {
    fn default() -> Self {
        Self {
            slots: vec![Slot::default(); FIRST],
            count: 0,
            round: 1,
        }
    }
}

impl Numbers {
    pub(super) fn clear(&mut self) {
        match self.round.checked_add(1) {
            Some(round) if self.slots.len() <= KEPT => {
                self.round = round;
                self.count = 0;
            }
            _ => *self = Self::default(),
        }
    }

    /// The slot at which the search for an address begins. LLVM's objects mostly lie in memory in the order in which they were made,
    /// and are asked for in that order: neighbours stay neighbours, and no two are nearer than two slots.
    #[inline]
    fn home(&self, address: usize) -> usize {
        ((address >> SPACING.trailing_zeros()) ^ (address >> 22)) & (self.slots.len() - 1)
    }

    /// The slot that an address is in or would be put into, and its number if it has one.
    #[inline]
    fn find(&self, address: usize) -> (usize, Option<u32>) {
        let mut at = self.home(address);
        loop {
            let slot = self.slots[at];
            if slot.round != self.round {
                return (at, None);
            }
            if slot.address == address {
                return (at, Some(slot.number));
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    #[inline]
    pub(super) fn get(&self, address: usize) -> Option<u32> {
        self.find(address).1
    }

    /// The number of an address, which is `number` if it had none.
    #[inline]
    pub(super) fn get_or_insert(&mut self, address: usize, number: u32) -> u32 {
        let (at, known) = self.find(address);
        if let Some(known) = known {
            return known;
        }
        self.slots[at] = Slot {
            address,
            number,
            round: self.round,
        };
        self.count += 1;
        if self.count * 2 > self.slots.len() {
            self.grow();
        }
        number
    }

    #[cold]
    fn grow(&mut self) {
        let empty = vec![Slot::default(); self.slots.len() * 2];
        let before = std::mem::replace(&mut self.slots, empty);
        for slot in before.into_iter().filter(|slot| slot.round == self.round) {
            let (at, _) = self.find(slot.address);
            self.slots[at] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT, Numbers, SPACING};

    #[test]
    fn every_address_keeps_its_number() {
        let mut numbers = Numbers::default();
        for round in 0..3 {
            let count = KEPT as u32 + round;
            for number in 0..count {
                assert_eq!(numbers.get_or_insert(64 * number as usize, number), number);
                assert_eq!(numbers.get_or_insert(64 * number as usize, count), number);
            }
            for number in 0..count {
                assert_eq!(numbers.get(64 * number as usize), Some(number));
                assert_eq!(numbers.get(64 * number as usize + 8), None);
            }
            numbers.clear();
            assert_eq!(numbers.get(0), None);
            assert_eq!(numbers.slots.len().max(KEPT), KEPT);
        }
    }

    #[test]
    fn what_lies_close_together_is_found_at_once() {
        let mut numbers = Numbers::default();
        for number in 0..100_000 {
            let address = 0x5555_0000_0000 + 2 * SPACING * number;
            numbers.get_or_insert(address, number as u32);
            let (at, _) = numbers.find(address);
            let steps = at.wrapping_sub(numbers.home(address)) & (numbers.slots.len() - 1);
            assert!(steps < 64, "{number}: {steps}");
        }
    }

    #[test]
    fn an_empty_map_has_nothing_of_the_rounds_before() {
        let mut numbers = Numbers::default();
        for round in 0..10_u32 {
            assert_eq!(numbers.get(8), None);
            assert_eq!(numbers.get_or_insert(8, round), round);
            numbers.clear();
        }
        // There are only so many rounds.
        numbers.round = u32::MAX;
        numbers.get_or_insert(8, 1);
        numbers.clear();
        assert_eq!(numbers.get(8), None);
    }
}
