//! Accesses to memory by granule: bytes that have always been accessed together.
//!
//! Memory is cut into chunks of 8 bytes, and each chunk into granules of 1, 2, 4 or 8 bytes, as large as the first access has them. An access
//! that begins or ends inside a granule divides all of its chunk; the parts inherit what is known of the whole.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use crate::evaluate::Word;

/// Bytes of a chunk.
const CHUNK: u64 = 8;

/// Facts about bytes that are divided with them.
pub(super) trait Divide {
    /// The facts about `bytes` of the bytes, from number `first` on.
    fn part(&self, first: u32, bytes: u32) -> Self;

    /// The number of facts.
    fn weight(&self) -> usize;
}

/// Bytes of a value that so many bytes from number `first` on have.
pub(super) const fn part_of(value: Word, first: u32, bytes: u32) -> Word {
    match value {
        Some(value) => Some(value >> (8 * first) & (u64::MAX >> (64 - 8 * bytes))),
        None => None,
    }
}

/// A granule that an access touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Granule {
    pub(super) address: u64,
    /// Its first byte, among those of the access.
    pub(super) offset: u64,
    pub(super) bytes: u32,
}

#[derive(Clone, Debug)]
struct Chunk<T> {
    /// Bytes of each granule.
    bytes: u32,
    granules: Vec<T>,
}

/// Facts about the granules of several memories.
#[derive(Clone, Debug)]
pub(super) struct Granules<K, T> {
    chunks: FxHashMap<(K, u64), Chunk<T>>,
    count: usize,
}

impl<K, T> Default for Granules<K, T> {
    fn default() -> Self {
        Self {
            chunks: FxHashMap::default(),
            count: 0,
        }
    }
}

impl<K: Copy + Eq + Hash, T: Clone + Default + Divide> Granules<K, T> {
    /// Granules of which something is known.
    pub(super) const fn len(&self) -> usize {
        self.count
    }

    /// Visits the granules of an access to a memory: its address, its bytes, and the bytes of an element. The number of facts that are added
    /// because granules are divided.
    pub(super) fn each(
        &mut self,
        memory: K,
        (address, bytes, element): (u64, u64, u64),
        mut with: impl FnMut(Granule, &mut T),
    ) -> usize {
        let mut offset = 0;
        let mut added = 0;
        while offset < bytes {
            let start = address.wrapping_add(offset);
            let first = start % CHUNK;
            let length = (CHUNK - first).min(bytes - offset);
            let fits = common_divisor(&[first, length, offset, element.max(1)]);
            let key = (memory, start / CHUNK);
            let chunk = self.chunks.entry(key).or_insert_with(|| {
                let count = (CHUNK / fits) as usize;
                self.count += count;
                Chunk {
                    bytes: fits as u32,
                    granules: vec![T::default(); count],
                }
            });
            if !fits.is_multiple_of(u64::from(chunk.bytes)) {
                self.count -= chunk.granules.len();
                added += chunk.divide(fits as u32);
                self.count += chunk.granules.len();
            }
            let size = u64::from(chunk.bytes);
            let of_access = (first / size) as usize..((first + length) / size) as usize;
            for number in of_access {
                let in_chunk = number as u64 * size;
                let granule = Granule {
                    address: start - first + in_chunk,
                    offset: offset + in_chunk - first,
                    bytes: chunk.bytes,
                };
                with(granule, &mut chunk.granules[number]);
            }
            offset += length;
        }
        added
    }
}

impl<T: Clone + Divide> Chunk<T> {
    /// Divides the granules into smaller ones; the number of facts that are added.
    fn divide(&mut self, bytes: u32) -> usize {
        let parts = self.bytes / bytes;
        let weight = |granules: &[T]| granules.iter().map(T::weight).sum::<usize>();
        let before = weight(&self.granules);
        let part = |whole: &T, number| whole.part(number * bytes, bytes);
        let divided = self
            .granules
            .iter()
            .flat_map(|whole| (0..parts).map(move |number| part(whole, number)));
        self.granules = divided.collect();
        self.bytes = bytes;
        weight(&self.granules) - before
    }
}

/// The largest power of two, at most [`CHUNK`], that divides all numbers.
fn common_divisor(numbers: &[u64]) -> u64 {
    let all = numbers.iter().fold(CHUNK, |all, number| all | number);
    1 << all.trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::{Divide, Granule, Granules, common_divisor, part_of};

    /// The first byte of the access that wrote last, and the value.
    #[derive(Clone, Debug, Default, PartialEq)]
    struct Last(Option<u64>);

    impl Divide for Last {
        fn part(&self, first: u32, bytes: u32) -> Self {
            Self(part_of(self.0, first, bytes))
        }

        fn weight(&self) -> usize {
            usize::from(self.0.is_some())
        }
    }

    fn visited(all: &mut Granules<u8, Last>, access: (u64, u64, u64)) -> Vec<(u64, u64, u32)> {
        let mut seen = Vec::new();
        all.each(
            0,
            access,
            |Granule {
                 address,
                 offset,
                 bytes,
             },
             _| {
                seen.push((address, offset, bytes));
            },
        );
        seen
    }

    #[test]
    fn granules_are_as_large_as_the_first_access_has_them() {
        let mut all = Granules::default();
        assert_eq!(visited(&mut all, (16, 8, 8)), [(16, 0, 8)]);
        assert_eq!(visited(&mut all, (32, 8, 4)), [(32, 0, 4), (36, 4, 4)]);
        assert_eq!(visited(&mut all, (36, 4, 4)), [(36, 0, 4)]);
        assert_eq!(visited(&mut all, (36, 8, 8)), [(36, 0, 4), (40, 4, 4)]);
        assert_eq!(all.len(), 1 + 2 + 2);
        // Two bytes from an odd address on are two granules.
        assert_eq!(visited(&mut all, (49, 2, 2)), [(49, 0, 1), (50, 1, 1)]);
        assert_eq!(all.len(), 5 + 8);
    }

    #[test]
    fn parts_have_the_bytes_of_the_whole() {
        let mut all = Granules::default();
        all.each(0_u8, (8, 8, 8), |_, last| {
            *last = Last(Some(0x0807_0605_0403_0201));
        });
        let mut found = Vec::new();
        all.each(0, (14, 1, 1), |granule, last| {
            found.push((granule.bytes, last.clone()));
        });
        all.each(0, (8, 4, 4), |granule, last| {
            found.push((granule.bytes, last.clone()));
        });
        let byte = |value| (1, Last(Some(value)));
        assert_eq!(found, [byte(7), byte(1), byte(2), byte(3), byte(4)]);
        all.each(1, (8, 4, 4), |_, last| assert_eq!(*last, Last(None)));
    }

    #[test]
    fn addresses_wrap() {
        let mut all = Granules::default();
        assert_eq!(visited(&mut all, (u64::MAX, 2, 2)), [(u64::MAX, 0, 1), (0, 1, 1)]);
        assert_eq!(common_divisor(&[0, 0]), 8);
    }
}
