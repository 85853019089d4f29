//! Numbers for what LLVM knows by its address: values, blocks, types.

/// A map from addresses to numbers that is emptied without touching its memory.
///
/// Linear probing from a multiplicative hash, at most half full. A slot counts only in the round in which it was filled.
/// Only as many slots as the map needs are in use, so that a small one is near to the processor.
pub(super) struct Numbers {
    slots: Vec<Slot>,
    /// One less than the slots in use, a power of two.
    mask: usize,
    filled: usize,
    round: u32,
    /// What moves when the map grows.
    moved: Vec<Slot>,
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

/// Slots of an empty map.
const FIRST: usize = 256;

/// Most slots whose memory an empty map keeps.
const KEPT: usize = 16_384;

impl Default for Numbers {
    fn default() -> Self {
        Self {
            slots: vec![EMPTY; FIRST],
            mask: FIRST - 1,
            filled: 0,
            round: 1,
            moved: Vec::new(),
        }
    }
}

impl Numbers {
    pub(super) fn clear(&mut self) {
        self.filled = 0;
        self.mask = FIRST - 1;
        if self.slots.len() > KEPT {
            *self = Self::default();
        } else {
            self.next_round();
        }
    }

    /// Makes room for so many, as far as memory is kept anyway; of an empty map.
    pub(super) fn reserve(&mut self, count: usize) {
        let slots = count.saturating_mul(2).clamp(FIRST, KEPT).next_power_of_two();
        if self.filled == 0 && slots - 1 > self.mask {
            self.mask = slots - 1;
            if self.slots.len() < slots {
                self.slots.resize(slots, EMPTY);
            }
        }
    }

    /// Empties all slots.
    fn next_round(&mut self) {
        if self.round == u32::MAX {
            self.slots.fill(EMPTY);
            self.round = 0;
        }
        self.round += 1;
    }

    /// The slot of an address, or the one where it would be.
    fn slot(&self, address: usize) -> usize {
        /// 2^64 divided by the golden ratio (Knuth, The Art of Computer Programming, 6.4).
        const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
        let hash = (address as u64).wrapping_mul(FACTOR) >> 32;
        let mut at = hash as usize & self.mask;
        loop {
            let slot = &self.slots[at];
            if slot.round != self.round || slot.address == address {
                return at;
            }
            at = (at + 1) & self.mask;
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
        if self.filled * 2 > self.mask {
            self.grow();
        }
        number
    }

    fn grow(&mut self) {
        let mut moved = std::mem::take(&mut self.moved);
        let filled = self.slots[..=self.mask].iter();
        moved.extend(filled.filter(|slot| slot.round == self.round));
        self.next_round();
        self.mask = self.mask * 2 + 1;
        if self.slots.len() <= self.mask {
            self.slots.resize(self.mask + 1, EMPTY);
        }
        for slot in moved.drain(..) {
            let at = self.slot(slot.address);
            self.slots[at] = Slot {
                round: self.round,
                ..slot
            };
        }
        self.moved = moved;
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
            // However much is asked for, memory that is not kept is not taken.
            numbers.reserve(KEPT << round);
            assert_eq!(numbers.slots.len().max(KEPT), KEPT);
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
