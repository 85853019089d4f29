//! The registers of a warp: for each register a row with the content in each lane, so that an instruction is executed for several lanes
//! at once.

use ptxcheck_ir::Register;
use std::hash::{Hash as _, Hasher as _};

use rustc_hash::{FxHashMap, FxHasher};

use crate::evaluate::Word;
use crate::launch::WARP;
use crate::rows::{Row, each};
use crate::site::Context;

/// The registers of a function, for the lanes of a warp that have called it by one chain of calls. Few of them are written in most runs:
/// only those have a row.
#[derive(Debug, Default)]
pub(crate) struct Bank {
    /// By register: the number of its row, or [`NO_ROW`].
    rows: Vec<u32>,
    /// The content of a register without a row, and of a row in lanes that have not written it.
    unwritten: Word,
    values: Vec<[u64; WARP]>,
    /// By row, the lanes in which it is known.
    known: Vec<u32>,
    /// By row and lane, the watched reads that the content depends on, a bit for each; empty where there is none.
    bits: Vec<[u32; WARP]>,
    /// The lanes that have not returned.
    lanes: u32,
    /// The lanes that have entered it.
    entered: u32,
}

const NO_ROW: u32 = u32::MAX;

/// The lanes in which a word is known, where all lanes have it.
const fn known_lanes(word: Word) -> u32 {
    if word.is_some() { u32::MAX } else { 0 }
}

impl Bank {
    /// So many registers; `unwritten`: the content of those that nothing has written.
    pub(crate) fn new(count: usize, unwritten: Word) -> Self {
        Self {
            rows: vec![NO_ROW; count],
            unwritten,
            ..Self::default()
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The number of the row of a register that has one.
    fn row_number(&self, register: Register) -> Option<usize> {
        let row = *self.rows.get(register.index())?;
        (row != NO_ROW).then_some(row as usize)
    }

    /// The number of the row of a register, which gets one where it has none; `None` if there is no such register.
    fn row_to_write(&mut self, register: Register) -> Option<usize> {
        let row = self.rows.get_mut(register.index())?;
        if *row == NO_ROW {
            *row = self.values.len() as u32;
            self.values.push([self.unwritten.unwrap_or(0); WARP]);
            self.known.push(known_lanes(self.unwritten));
            if !self.bits.is_empty() {
                self.bits.push([0; WARP]);
            }
        }
        Some(*row as usize)
    }

    /// A lane enters the function, with all registers unwritten.
    fn enter(&mut self, lane: usize) {
        let bit = 1 << lane;
        self.lanes |= bit;
        if self.entered & bit != 0 {
            for (row, known) in self.values.iter_mut().zip(&mut self.known) {
                match self.unwritten {
                    Some(word) => {
                        row[lane] = word;
                        *known |= bit;
                    }
                    None => *known &= !bit,
                }
            }
            for row in &mut self.bits {
                row[lane] = 0;
            }
        }
        self.entered |= bit;
    }

    pub(crate) fn get(&self, register: Register, lane: usize) -> Word {
        match self.row_number(register) {
            Some(row) => (self.known[row] >> lane & 1 == 1).then(|| self.values[row][lane]),
            None => self.unwritten.filter(|_| register.index() < self.rows.len()),
        }
    }

    /// The new content depends on no watched read, unless somebody says so.
    pub(crate) fn set(&mut self, register: Register, lane: usize, word: Word) {
        self.set_bits(register, lane, 0);
        let Some(row) = self.row_to_write(register) else {
            return;
        };
        match word {
            Some(word) => {
                self.known[row] |= 1 << lane;
                self.values[row][lane] = word;
            }
            None => self.known[row] &= !(1 << lane),
        }
    }

    /// The content in all lanes.
    pub(crate) fn row(&self, register: Register) -> Row {
        match self.row_number(register) {
            Some(row) => Row {
                values: self.values[row],
                known: self.known[row],
            },
            None if register.index() < self.rows.len() => Row::uniform(self.unwritten),
            None => Row::UNKNOWN,
        }
    }

    /// The lanes in which a register is known, and those in which the lowest bit is set.
    pub(crate) fn predicate(&self, register: Register) -> (u32, u32) {
        let Some(row) = self.row_number(register) else {
            let row = self.row(register);
            let is_set = row.values[0] & 1 == 1;
            return (row.known, if is_set { row.known } else { 0 });
        };
        let known = self.known[row];
        let of_lane = |holds, value: &u64| holds << 1 | (value & 1) as u32;
        (known, self.values[row].iter().rev().fold(0, of_lane) & known)
    }

    /// Writes the bits of a row that a mask has, for some lanes. No watched read is followed.
    pub(crate) fn write(&mut self, register: Register, lanes: u32, row: &Row, mask: u64) {
        let Some(number) = self.row_to_write(register) else {
            return;
        };
        let (values, known) = (&mut self.values[number], &mut self.known[number]);
        *known = *known & !lanes | row.known & lanes;
        if lanes == u32::MAX {
            for (to, from) in values.iter_mut().zip(&row.values) {
                *to = from & mask;
            }
        } else {
            for lane in each(lanes) {
                values[lane] = row.values[lane] & mask;
            }
        }
    }

    /// A number for the content of all registers in a lane.
    pub(crate) fn signature(&self, lane: usize) -> u64 {
        let mut hasher = FxHasher::default();
        for (row, known) in self.values.iter().zip(&self.known) {
            let is_known = known >> lane & 1 == 1;
            is_known.then_some(row[lane]).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// The watched reads that the content of a register depends on.
    pub(crate) fn bits_of(&self, register: Register, lane: usize) -> u32 {
        let bits = self.row_number(register).and_then(|row| self.bits.get(row));
        bits.map_or(0, |bits| bits[lane])
    }

    pub(crate) fn set_bits(&mut self, register: Register, lane: usize, bits: u32) {
        if self.bits.is_empty() && bits == 0 {
            return;
        }
        let Some(row) = self.row_to_write(register) else {
            return;
        };
        if self.bits.is_empty() {
            self.bits.resize(self.values.len(), [0; WARP]);
        }
        self.bits[row][lane] = bits;
    }
}

/// The registers of all functions that the lanes of a warp are in. A lane is in a chain of calls once at most.
#[derive(Debug, Default)]
pub(crate) struct Banks {
    kernel: Bank,
    calls: FxHashMap<Context, Bank>,
}

impl Banks {
    /// Those of a kernel, in which some lanes begin.
    pub(crate) fn new(count: usize, lanes: u32, unwritten: Word) -> Self {
        let kernel = Bank {
            lanes,
            entered: lanes,
            ..Bank::new(count, unwritten)
        };
        Self {
            kernel,
            calls: FxHashMap::default(),
        }
    }

    pub(crate) fn of(&self, context: Context) -> Option<&Bank> {
        if context == Context::default() {
            return Some(&self.kernel);
        }
        self.calls.get(&context)
    }

    pub(crate) fn of_mut(&mut self, context: Context) -> Option<&mut Bank> {
        if context == Context::default() {
            return Some(&mut self.kernel);
        }
        self.calls.get_mut(&context)
    }

    /// A lane begins a call of a function with so many registers; the number of registers that this takes, of all lanes.
    pub(crate) fn enter(&mut self, context: Context, lane: usize, count: usize, unwritten: Word) -> u64 {
        let mut added = 0;
        let bank = self.calls.entry(context).or_insert_with(|| {
            added = (count * WARP) as u64;
            Bank::new(count, unwritten)
        });
        bank.enter(lane);
        added
    }

    /// A lane returns; the number of registers that are free again.
    pub(crate) fn leave(&mut self, context: Context, lane: usize) -> u64 {
        let Some(bank) = self.calls.get_mut(&context) else {
            return 0;
        };
        bank.lanes &= !(1 << lane);
        if bank.lanes != 0 {
            return 0;
        }
        let freed = (bank.len() * WARP) as u64;
        self.calls.remove(&context);
        freed
    }
}

#[cfg(test)]
mod tests {
    use ptxcheck_ir::Register;

    use super::Bank;
    use crate::rows::{Row, each};

    #[test]
    fn lanes_that_enter_again_find_nothing_written() {
        for unwritten in [None, Some(7)] {
            let mut bank = Bank::new(2, unwritten);
            let register = Register::new(1);
            bank.enter(3);
            bank.enter(4);
            bank.set(register, 3, Some(5));
            bank.set(register, 4, Some(6));
            bank.set_bits(register, 3, 1);
            bank.enter(3);
            assert_eq!((bank.get(register, 3), bank.bits_of(register, 3)), (unwritten, 0));
            assert_eq!(bank.get(register, 4), Some(6));
        }
    }

    #[test]
    fn rows_are_written_for_some_lanes() {
        let mut bank = Bank::new(1, None);
        let register = Register::new(0);
        bank.write(register, u32::MAX, &Row::uniform(Some(0x1_0003)), 0xffff);
        let odd = Row::of_each(0xa, |lane| (lane == 1).then_some(8));
        bank.write(register, 0xa, &odd, u64::MAX);
        let found: Vec<_> = (0..5).map(|lane| bank.get(register, lane)).collect();
        assert_eq!(found, [Some(3), Some(8), Some(3), None, Some(3)]);
        let (known, holds) = bank.predicate(register);
        assert_eq!((known, holds), (!8, !0xa));
        assert_eq!(each(0x8000_0005).collect::<Vec<_>>(), [0, 2, 31]);
        assert_eq!(each(0).count(), 0);
    }
}
