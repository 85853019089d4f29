//! Numbers for what LLVM knows by its address: values, blocks, types.

/// A map from addresses to numbers that is emptied at little cost.
///
/// Linear probing, at most half full, in a table of places in a list: the table is small enough to stay near to the
/// processor, and what is asked for lies near the end of the list, most of the time.
pub(super) struct Numbers {
    /// By slot, one more than the place in the list; 0 where there is none.
    slots: Vec<u32>,
    /// One less than the slots in use, a power of two.
    mask: usize,
    entries: Vec<Entry>,
}

#[derive(Clone, Copy)]
struct Entry {
    address: usize,
    number: u32,
}

/// Slots of an empty map.
const FIRST: usize = 256;

/// Most slots whose memory an empty map keeps.
const KEPT: usize = 65_536;

impl Default for Numbers {
    fn default() -> Self {
        Self {
            slots: vec![0; FIRST],
            mask: FIRST - 1,
            entries: Vec::new(),
        }
    }
}

impl Numbers {
    pub(super) fn clear(&mut self) {
        if self.slots.len() > KEPT {
            *self = Self::default();
        } else {
            self.slots[..=self.mask].fill(0);
            self.entries.clear();
            self.mask = FIRST - 1;
        }
    }

    /// Makes room for so many, as far as memory is kept anyway; of an empty map.
    pub(super) fn reserve(&mut self, count: usize) {
        let slots = count.saturating_mul(2).clamp(FIRST, KEPT).next_power_of_two();
        if self.entries.is_empty() && slots - 1 > self.mask {
            self.mask = slots - 1;
            if self.slots.len() < slots {
                self.slots.resize(slots, 0);
            }
        }
    }

    /// The slot of an address, or the one where it would be. What LLVM makes one after the other lies so in memory, most of
    /// it, and is asked for in that order: neighbours stay neighbours.
    fn slot(&self, address: usize) -> usize {
        let mut at = ((address >> 5) ^ (address >> 20)) & self.mask;
        loop {
            match self.slots[at] {
                0 => return at,
                place if self.entries[place as usize - 1].address == address => return at,
                _ => at = (at + 1) & self.mask,
            }
        }
    }

    pub(super) fn get(&self, address: usize) -> Option<u32> {
        let place = self.slots[self.slot(address)].checked_sub(1)?;
        Some(self.entries[place as usize].number)
    }

    /// The number of an address, which is `number` if it had none.
    pub(super) fn get_or_insert(&mut self, address: usize, number: u32) -> u32 {
        let at = self.slot(address);
        if let Some(place) = self.slots[at].checked_sub(1) {
            return self.entries[place as usize].number;
        }
        self.entries.push(Entry { address, number });
        self.slots[at] = self.entries.len() as u32;
        if self.entries.len() * 2 > self.mask {
            self.grow();
        }
        number
    }

    fn grow(&mut self) {
        self.slots[..=self.mask].fill(0);
        self.mask = self.mask * 2 + 1;
        if self.slots.len() <= self.mask {
            self.slots.resize(self.mask + 1, 0);
        }
        for place in 0..self.entries.len() {
            let at = self.slot(self.entries[place].address);
            self.slots[at] = place as u32 + 1;
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
