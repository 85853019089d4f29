//! The target triple of LLVM bitcode, without LLVM: what a module is for is said near its beginning.
//!
//! A bitstream is a sequence of blocks and records of single bits (LLVM Bitcode File Format). In a module the triple is a record of its
//! own, without an abbreviation, after blocks that state their lengths.

use super::bytes::u32_at;

/// The first bytes of bitcode. In a wrapper, the third and fourth word give its offset and size.
pub(super) const MAGIC: &[u8] = b"BC\xc0\xde";
pub(super) const WRAPPER_MAGIC: &[u8] = b"\xde\xc0\x17\x0b";

/// Most blocks and records that are passed on the way to the triple.
const MAX_STEPS: usize = 4096;

/// Longest triple, in bytes.
const MAX_TRIPLE_BYTES: u64 = 256;

/// Bits of an abbreviation's number outside of blocks.
const OUTER_WIDTH: u32 = 2;

const END_BLOCK: u64 = 0;
const ENTER_BLOCK: u64 = 1;
const UNABBREVIATED: u64 = 3;
const MODULE_BLOCK: u64 = 8;
const TRIPLE_RECORD: u64 = 2;

/// The triple of the first module; `None` where the bytes are not bitcode, or it is not found.
pub(super) fn triple(bytes: &[u8]) -> Option<String> {
    let bytes = if bytes.starts_with(WRAPPER_MAGIC) {
        bytes.get(u32_at(bytes, 8)? as usize..)?
    } else {
        bytes
    };
    if !bytes.starts_with(MAGIC) {
        return None;
    }
    let mut reader = BitReader { bytes, at: 32 };
    let mut width = OUTER_WIDTH;
    for _ in 0..MAX_STEPS {
        match reader.fixed(width)? {
            ENTER_BLOCK => {
                let block = reader.variable(8)?;
                let inner = reader.variable(4)?;
                let end = reader.skip_length()?;
                if block == MODULE_BLOCK && width == OUTER_WIDTH {
                    width = u32::try_from(inner).ok().filter(|width| *width <= 32)?;
                } else {
                    reader.at = end;
                }
            }
            UNABBREVIATED => {
                let code = reader.variable(6)?;
                let count = reader.variable(6)?;
                if code == TRIPLE_RECORD {
                    let letters = (0..count.min(MAX_TRIPLE_BYTES)).map(|_| reader.variable(6));
                    let letters: Option<Vec<u8>> = letters.map(|letter| u8::try_from(letter?).ok()).collect();
                    return String::from_utf8(letters?).ok();
                }
                for _ in 0..count {
                    reader.variable(6)?;
                }
            }
            END_BLOCK => return None,
            // A record in an abbreviation: none comes before the triple.
            _ => return None,
        }
    }
    None
}

/// Reads bits, the lowest of each byte first.
struct BitReader<'a> {
    bytes: &'a [u8],
    /// In bits.
    at: usize,
}

impl BitReader<'_> {
    /// A number of `width` bits, at most 32.
    fn fixed(&mut self, width: u32) -> Option<u64> {
        let mut number = 0;
        for place in 0..width {
            let byte = self.bytes.get(self.at / 8)?;
            number |= u64::from(byte >> (self.at % 8) & 1) << place;
            self.at += 1;
        }
        Some(number)
    }

    /// A number in groups of `width` bits, whose highest bit says whether another group follows.
    fn variable(&mut self, width: u32) -> Option<u64> {
        let (mut number, mut place) = (0_u64, 0);
        loop {
            let group = self.fixed(width)?;
            let more = 1 << (width - 1);
            if place < u64::BITS {
                number |= (group & (more - 1)) << place;
            }
            if group & more == 0 {
                return Some(number);
            }
            place += width - 1;
        }
    }

    /// The length of a block, at the next multiple of 32 bits; where the block ends, in bits. The bytes may be the beginning
    /// of a file, and end before.
    fn skip_length(&mut self) -> Option<usize> {
        self.at = self.at.next_multiple_of(32);
        let words = usize::try_from(self.fixed(32)?).ok()?;
        words.checked_mul(32)?.checked_add(self.at)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Writes bits.
    #[derive(Default)]
    struct Writer(Vec<bool>);

    impl Writer {
        fn fixed(&mut self, number: u64, width: u32) {
            self.0.extend((0..width).map(|place| number >> place & 1 == 1));
        }

        fn variable(&mut self, mut number: u64, width: u32) {
            let more = 1 << (width - 1);
            while number >= more {
                self.fixed(number & (more - 1) | more, width);
                number >>= width - 1;
            }
            self.fixed(number, width);
        }

        fn align(&mut self) {
            self.0.resize(self.0.len().next_multiple_of(32), false);
        }

        fn bytes(&self) -> Vec<u8> {
            self.0
                .chunks(8)
                .map(|bits| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit)))
                .collect()
        }
    }

    /// A module with a triple and nothing else.
    pub(crate) fn module(triple: &str) -> Vec<u8> {
        let mut inner = Writer::default();
        // The version, then a block to pass, then the triple.
        for (code, numbers) in [
            (1, vec![2]),
            (0, vec![]),
            (2, triple.bytes().map(u64::from).collect()),
        ] {
            if code == 0 {
                inner.fixed(ENTER_BLOCK, 3);
                inner.variable(17, 8);
                inner.variable(4, 4);
                inner.align();
                inner.fixed(1, 32);
                inner.fixed(0xffff_ffff, 32);
                continue;
            }
            inner.fixed(UNABBREVIATED, 3);
            inner.variable(code, 6);
            inner.variable(numbers.len() as u64, 6);
            numbers.iter().for_each(|&number| inner.variable(number, 6));
        }
        inner.fixed(END_BLOCK, 3);
        inner.align();
        let mut outer = Writer::default();
        outer.fixed(0xdec0_4342, 32);
        outer.fixed(ENTER_BLOCK, OUTER_WIDTH);
        outer.variable(MODULE_BLOCK, 8);
        outer.variable(3, 4);
        outer.align();
        outer.fixed((inner.0.len() / 32) as u64, 32);
        outer.0.extend(inner.0);
        outer.bytes()
    }

    #[test]
    fn the_triple_is_found() {
        let plain = module("amdgcn-amd-amdhsa");
        assert_eq!(triple(&plain).as_deref(), Some("amdgcn-amd-amdhsa"));
        let mut wrapped = WRAPPER_MAGIC.to_vec();
        for word in [0_u32, 20, plain.len() as u32, 0] {
            wrapped.extend(word.to_le_bytes());
        }
        wrapped.extend(plain);
        assert_eq!(triple(&wrapped).as_deref(), Some("amdgcn-amd-amdhsa"));
    }

    #[test]
    fn whatever_else_it_is_it_ends() {
        let whole = module("nvptx64-nvidia-cuda");
        for end in 0..whole.len() {
            let _ = triple(&whole[..end]);
        }
        for at in 0..whole.len() * 8 {
            let mut changed = whole.clone();
            changed[at / 8] ^= 1 << (at % 8);
            let _ = triple(&changed);
        }
        assert_eq!(triple(&[MAGIC, &[0xff; 1000]].concat()), None);
        assert_eq!(triple(b"\xde\xc0\x17\x0b\0\0\0\0\xff\xff\xff\xff"), None);
        assert_eq!(triple(b""), None);
    }
}
