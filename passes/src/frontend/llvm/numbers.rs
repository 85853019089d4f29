//! Numbers for what LLVM knows by its address: values, blocks, types.

/// A map from addresses to numbers that is emptied without touching its memory.
///
/// Linear probing from a multiplicative hash, at most half full. A slot counts only in the round in which it was filled.
pub(super) struct Numbers {
    slots: Vec<Slot>,
    filled: usize,
    round: u32,
}

#[derive(Clone, Copy)]
struct Slot {
    address: usize,
    round: u32,
    number: u32,
}

const EMPTY: Slot = Slot {
    address: 0,
    round: 0,
    number: 0,
};

/// Slots of a new map, and of one that is emptied: few functions need more, and the others would be spread over more
/// memory than is near to the processor.
const KEPT: usize = 2_048;

impl Default for Numbers {
    fn default() -> Self {
        Self {
            slots: vec![EMPTY; KEPT],
            filled: 0,
            round: 1,
        }
    }
}

impl Numbers {
    pub(super) fn clear(&mut self) {
        self.filled = 0;
        if self.slots.len() > KEPT || self.round == u32::MAX {
            *self = Self::default();
        } else {
            self.round += 1;
        }
    }

    /// The slot of an address, or the one where it would be.
    fn slot(&self, address: usize) -> usize {
        /// 2^64 divided by the golden ratio (Knuth, The Art of Computer Programming, 6.4).
        const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
        let mask = self.slots.len() - 1;
        let hash = (address as u64).wrapping_mul(FACTOR) >> 32;
        let mut at = hash as usize & mask;
        loop {
            let slot = &self.slots[at];
            if slot.round != self.round || slot.address == address {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    pub(super) fn get(&self, address: usize) -> Option<u32> {
        let slot = self.slots[self.slot(address)];
        (slot.round == self.round).then_some(slot.number)
    }

    /// The number of an address, which is `number` if it had none.
    pub(super) fn get_or_insert(&mut self, address: usize, number: u32) -> u32 {
        let at = self.slot(address);
        let slot = &mut self.slots[at];
        if slot.round == self.round {
            return slot.number;
        }
        *slot = Slot {
            address,
            round: self.round,
            number,
        };
        self.filled += 1;
        if self.filled * 2 > self.slots.len() {
            self.grow();
        }
        number
    }

    fn grow(&mut self) {
        let wider = vec![EMPTY; self.slots.len() * 2];
        let before = std::mem::replace(&mut self.slots, wider);
        for slot in before.into_iter().filter(|slot| slot.round == self.round) {
            let at = self.slot(slot.address);
            self.slots[at] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT, Numbers};

    #[test]
    fn every_address_keeps_its_number() {
        let mut numbers = Numbers::default();
        for round in 0..3 {
            let count = 3 * KEPT as u32 + round;
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
    }
}
