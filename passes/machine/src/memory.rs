//! Memory, byte by byte: the bytes that the run has written or read.

use std::hash::BuildHasher as _;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::evaluate::Word;

/// A byte: nothing has been said of it, or it is not known, or it has this content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Byte {
    Untouched,
    Unknown,
    Known(u8),
}

/// 8 bytes at a multiple of 8.
#[derive(Clone, Copy, Debug, Default)]
struct Chunk {
    /// The content, little-endian.
    content: u64,
    /// A bit for each byte that has been touched.
    touched: u8,
    /// A bit for each byte whose content is known.
    known: u8,
}

/// A piece of a chunk: a bit for each of its bytes, and the bits before it.
#[derive(Clone, Copy)]
struct Piece {
    bytes: u8,
    shift: u32,
    ones: u64,
}

impl Piece {
    /// The piece that so many bytes from an address on are; `None` if they do not lie in one chunk.
    const fn new(address: u64, bytes: u64) -> Option<Self> {
        let first = address % 8;
        if bytes == 0 || first + bytes > 8 {
            return None;
        }
        Some(Self {
            bytes: (u8::MAX >> (8 - bytes)) << first,
            shift: 8 * first as u32,
            ones: u64::MAX >> (64 - 8 * bytes),
        })
    }
}

/// Bytes by address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    chunks: FxHashMap<u64, Chunk>,
}

impl Memory {
    pub(crate) fn get(&self, address: u64) -> Byte {
        let bit = 1 << (address % 8);
        match self.chunks.get(&(address / 8)) {
            Some(chunk) if chunk.known & bit != 0 => {
                Byte::Known((chunk.content >> (8 * (address % 8))) as u8)
            }
            Some(chunk) if chunk.touched & bit != 0 => Byte::Unknown,
            _ => Byte::Untouched,
        }
    }

    pub(crate) fn set(&mut self, address: u64, byte: Option<u8>) {
        self.write(address, 1, byte.map(u64::from));
    }

    /// Writes the low bytes of a word, at most 8 of which are known.
    pub(crate) fn write(&mut self, address: u64, bytes: u64, word: Word) {
        let Some(piece) = Piece::new(address, bytes) else {
            for number in 0..bytes {
                let byte = word
                    .filter(|_| number < 8)
                    .map(|word| word >> (8 * number) & 0xff);
                self.write(address.wrapping_add(number), 1, byte);
            }
            return;
        };
        let chunk = self.chunks.entry(address / 8).or_default();
        chunk.touched |= piece.bytes;
        match word {
            Some(word) => {
                chunk.known |= piece.bytes;
                let kept = chunk.content & !(piece.ones << piece.shift);
                chunk.content = kept | (word & piece.ones) << piece.shift;
            }
            None => chunk.known &= !piece.bytes,
        }
    }

    /// A number for its content.
    pub(crate) fn signature(&self) -> u64 {
        let chunks = self.chunks.iter().map(|(address, chunk)| {
            let content = match chunk.known {
                u8::MAX => chunk.content,
                _ => (0..8)
                    .filter(|byte| chunk.known >> byte & 1 == 1)
                    .fold(0, |content, byte| content | chunk.content & 0xff << (8 * byte)),
            };
            FxBuildHasher.hash_one((address, content, chunk.known, chunk.touched))
        });
        chunks.fold(0, u64::wrapping_add)
    }

    /// True if something has been said of all these bytes.
    pub(crate) fn are_touched(&self, address: u64, bytes: u64) -> bool {
        let Some(piece) = Piece::new(address, bytes) else {
            let mut all = (0..bytes).map(|number| self.get(address.wrapping_add(number)));
            return all.all(|byte| byte != Byte::Untouched);
        };
        let chunk = self.chunks.get(&(address / 8));
        chunk.is_some_and(|chunk| chunk.touched & piece.bytes == piece.bytes)
    }

    /// At most 8 bytes; `None` where one is not known.
    pub(crate) fn read(&self, address: u64, bytes: u64) -> Word {
        self.read_or(address, bytes, None)
    }

    /// The same, with the content of bytes that nothing has touched.
    pub(crate) fn read_or(&self, address: u64, bytes: u64, untouched: Option<u8>) -> Word {
        if bytes > 8 {
            return None;
        }
        if let Some(piece) = Piece::new(address, bytes)
            && let Some(chunk) = self.chunks.get(&(address / 8))
            && chunk.known & piece.bytes == piece.bytes
        {
            return Some(chunk.content >> piece.shift & piece.ones);
        }
        let mut word = 0;
        for number in 0..bytes {
            let byte = match self.get(address.wrapping_add(number)) {
                Byte::Known(byte) => byte,
                Byte::Untouched => untouched?,
                Byte::Unknown => return None,
            };
            word |= u64::from(byte) << (8 * number);
        }
        Some(word)
    }

    /// Forgets all of it.
    pub(crate) fn forget(&mut self) {
        self.chunks.clear();
    }

    /// Forgets the words of 8 bytes whose addresses satisfy a predicate.
    pub(crate) fn forget_where(&mut self, is_such: impl Fn(u64) -> bool) {
        self.chunks.retain(|chunk, _| !is_such(chunk * 8));
    }

    /// Chunks of 8 bytes that have been touched.
    pub(crate) fn len(&self) -> usize {
        self.chunks.len()
    }
}

#[cfg(test)]
mod tests {
    use super::{Byte, Memory};

    #[test]
    fn bytes_of_several_writes_make_a_word() {
        let mut memory = Memory::default();
        memory.write(6, 4, Some(0x0403_0201));
        assert_eq!(memory.read(6, 4), Some(0x0403_0201));
        assert_eq!(memory.read(7, 2), Some(0x0302));
        memory.write(8, 1, Some(0xff));
        assert_eq!(memory.read(6, 4), Some(0x04ff_0201));
        memory.write(9, 1, None);
        assert_eq!((memory.read(6, 4), memory.read(6, 3)), (None, Some(0x00ff_0201)));
        assert_eq!((memory.get(9), memory.get(10)), (Byte::Unknown, Byte::Untouched));
        assert!(memory.are_touched(6, 4) && !memory.are_touched(6, 5) && !memory.are_touched(9, 2));
        memory.forget();
        assert_eq!((memory.get(6), memory.len()), (Byte::Untouched, 0));
    }

    #[test]
    fn wide_elements_are_not_known() {
        let mut memory = Memory::default();
        memory.write(0, 16, Some(7));
        assert_eq!((memory.read(0, 8), memory.read(8, 8)), (Some(7), None));
        assert_eq!(memory.read(0, 16), None);
    }

    #[test]
    fn addresses_wrap() {
        let mut memory = Memory::default();
        memory.write(u64::MAX, 2, Some(0x0201));
        assert_eq!(
            (memory.read(u64::MAX, 2), memory.read(0, 1)),
            (Some(0x0201), Some(2))
        );
    }
}
