//! Attributes of machine code: the sections `.nv.info`, `.nv.info.<kernel>` and `.nv.compat` are lists of them.
//!
//! An attribute is a byte for its format, one for its number and two for a value, or, in format 4, for the size of the value that
//! follows.

use ptxcheck_common::names;
use ptxcheck_ir::LaunchBounds;
use ptxcheck_ir::facts::Kernel;
use rustc_hash::FxHashMap;

use super::super::bytes::{u16_at, u32_at};

/// The format of attributes that are followed by bytes.
const SIZED: u8 = 4;

const MAX_THREADS: u8 = 0x05;
const REQUIRED_THREADS: u8 = 0x10;
const MIN_STACK_SIZE: u8 = 0x12;
const PARAMETER: u8 = 0x17;
const REGISTER_COUNT: u8 = 0x2f;

/// The size of a stack that is not known, because functions call themselves or by addresses.
const UNKNOWN_SIZE: u32 = u32::MAX;

/// The size field of a parameter has 14 bits.
const MAX_PARAMETER_BYTES: u32 = (1 << 14) - 1;

/// An attribute.
#[derive(Clone, Copy)]
pub(super) struct Attribute<'a> {
    pub(super) number: u8,
    /// The two bytes, or those that follow.
    value: &'a [u8],
    is_sized: bool,
}

impl Attribute<'_> {
    /// The first byte of the value of an attribute without bytes after it.
    pub(super) fn byte(&self) -> Option<u8> {
        self.value.first().copied().filter(|_| !self.is_sized)
    }
}

/// The attributes of a section, up to the first that is cut off.
pub(super) fn attributes(section: &[u8]) -> Attributes<'_> {
    Attributes {
        section,
        is_cut: false,
    }
}

/// An iterator over attributes.
pub(super) struct Attributes<'a> {
    section: &'a [u8],
    /// The last one claims more bytes than there are.
    pub(super) is_cut: bool,
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Attribute<'a>;

    fn next(&mut self) -> Option<Attribute<'a>> {
        let (&[format, number], after) = self.section.split_first_chunk::<2>()?;
        let word = after.first_chunk::<2>()?;
        let (word, after) = after.split_at(word.len());
        let is_sized = format == SIZED;
        let (value, rest) = if is_sized {
            let Some(parts) = after.split_at_checked(usize::from(u16_at(word, 0)?)) else {
                self.section = &[];
                self.is_cut = true;
                return None;
            };
            parts
        } else {
            (word, after)
        };
        self.section = rest;
        Some(Attribute {
            number,
            value,
            is_sized,
        })
    }
}

/// The attributes of functions in `.nv.info`, by the numbers of their symbols.
#[derive(Default)]
pub(super) struct Usage {
    registers: FxHashMap<u32, u32>,
    stack: FxHashMap<u32, u32>,
}

impl Usage {
    pub(super) fn read(section: &[u8]) -> Self {
        let mut usage = Self::default();
        for attribute in attributes(section) {
            let pair = || Some((u32_at(attribute.value, 0)?, u32_at(attribute.value, 4)?));
            match (attribute.number, attribute.is_sized.then(pair).flatten()) {
                (REGISTER_COUNT, Some((symbol, count))) => {
                    usage.registers.insert(symbol, count);
                }
                (MIN_STACK_SIZE, Some((symbol, size))) => {
                    usage.stack.insert(symbol, size);
                }
                _ => {}
            }
        }
        usage
    }

    /// Registers of a thread.
    pub(super) fn registers(&self, symbol: usize) -> Option<u32> {
        self.registers.get(&u32::try_from(symbol).ok()?).copied()
    }

    /// Bytes of the stack of a thread.
    pub(super) fn stack(&self, symbol: usize) -> Option<u32> {
        let size = self.stack.get(&u32::try_from(symbol).ok()?).copied();
        size.filter(|size| *size != UNKNOWN_SIZE)
    }
}

/// The kernel with this name and these attributes.
pub(super) fn kernel(name: &str, info: &[u8], code_bytes: u64) -> Kernel {
    let mut launch = LaunchBounds::default();
    let mut params: Vec<(u16, u32, u32)> = Vec::new();
    let mut is_known = !info.is_empty();
    let mut all = attributes(info);
    for attribute in all.by_ref().filter(|attribute| attribute.is_sized) {
        let value = attribute.value;
        let triple = || Some([u32_at(value, 0)?, u32_at(value, 4)?, u32_at(value, 8)?]);
        match attribute.number {
            MAX_THREADS => launch.max_threads = triple(),
            REQUIRED_THREADS => launch.required_threads = triple(),
            PARAMETER => match (u16_at(value, 4), u16_at(value, 6), u32_at(value, 8)) {
                (Some(ordinal), Some(offset), Some(word)) => {
                    params.push((ordinal, offset.into(), word >> 18));
                }
                _ => is_known = false,
            },
            _ => {}
        }
    }
    params.sort_unstable();
    is_known &= !all.is_cut && params.iter().all(|(.., size)| *size < MAX_PARAMETER_BYTES);
    Kernel {
        name: name.to_owned(),
        identity: names::normalised(name).into_owned(),
        params: is_known.then(|| params.iter().map(|(_, offset, size)| (*offset, *size)).collect()),
        parameter_names: Vec::new(),
        launch,
        code_bytes: Some(code_bytes),
        stub: None,
        resources: None,
        body: None,
        index_limits: Vec::new(),
        waits_for_grids: None,
        source: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(number: u8, value: &[u8]) -> Vec<u8> {
        let mut bytes = vec![SIZED, number];
        bytes.extend((value.len() as u16).to_le_bytes());
        bytes.extend(value);
        bytes
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// As ptxas writes it for `k(int *, struct of 32 bytes, char)` with `__launch_bounds__(128)`.
    #[test]
    fn parameters_and_bounds_come_from_attributes() {
        let param = |ordinal: u8, offset: u8, word: u32| {
            let mut value = vec![0, 0, 0, 0, ordinal, 0, offset, 0];
            value.extend(word.to_le_bytes());
            attribute(PARAMETER, &value)
        };
        let mut info = vec![0x03, 0x19, 0x29, 0x00];
        info.extend(param(2, 0x28, 0x0005_f000));
        info.extend(param(1, 0x08, 0x0081_f000));
        info.extend(param(0, 0x00, 0x0021_f500));
        info.extend(attribute(MAX_THREADS, &words(&[128, 1, 1])));
        let read = kernel("k", &info, 128);
        assert_eq!(read.params, Some(vec![(0, 8), (8, 32), (0x28, 1)]));
        assert_eq!(read.launch.max_threads, Some([128, 1, 1]));
        for length in 1..info.len() {
            let _ = kernel("k", &info[..length], 128);
        }
        assert_eq!(kernel("k", &info[..info.len() - 1], 128).params, None);
        assert_eq!(kernel("k", &[], 0).params, None);
    }

    #[test]
    fn registers_and_stack_belong_to_symbols() {
        let mut section = attribute(REGISTER_COUNT, &words(&[7, 40]));
        section.extend(attribute(MIN_STACK_SIZE, &words(&[7, 80])));
        section.extend(attribute(REGISTER_COUNT, &words(&[9, 24])));
        section.extend(attribute(MIN_STACK_SIZE, &words(&[9, u32::MAX])));
        section.extend(attribute(REGISTER_COUNT, &words(&[10])));
        let usage = Usage::read(&section);
        assert_eq!((usage.registers(7), usage.stack(7)), (Some(40), Some(80)));
        assert_eq!((usage.registers(9), usage.stack(9)), (Some(24), None));
        assert_eq!((usage.registers(10), usage.stack(10)), (None, None));
        for length in 0..section.len() {
            let _ = Usage::read(&section[..length]);
        }
    }
}
