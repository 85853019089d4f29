//! The values that are known at a point of a function of host code.

use super::value::{Value, mask};
use crate::limits::MAX_FRAME_BYTES;

/// Sizes of a grid or a block in x, y and z, as far as they are known.
pub(super) type Sides = [Option<u32>; 3];

/// The grid, the block and the dynamic shared memory of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Dims {
    pub(super) grid: Sides,
    pub(super) block: Sides,
    /// Bytes of dynamic shared memory for a block.
    pub(super) shared: Option<u64>,
}

/// Number of the stack pointer among the registers.
pub(super) const STACK_POINTER: usize = 4;

/// Number of the frame pointer among the registers.
pub(super) const FRAME_POINTER: usize = 5;

/// The registers that a call keeps: rbx, rsp, rbp, r12 to r15 (System V ABI).
pub(super) const KEPT: [usize; 7] = [3, STACK_POINTER, FRAME_POINTER, 12, 13, 14, 15];

/// The state at a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15.
    pub(super) registers: [Value; 16],
    /// xmm0 to xmm15: true for those that are 0.
    pub(super) is_zero: [bool; 16],
    /// The bytes of the frame that are known, sorted by offset.
    frame: Vec<(i64, u8)>,
    /// Others may know an address in the frame.
    pub(super) is_leaked: bool,
    /// The launch that has been configured, if one has.
    pub(super) pending: Option<Dims>,
}

impl State {
    /// At the beginning of a function.
    pub(super) fn entry() -> Self {
        let mut registers = [Value::UNKNOWN; 16];
        registers[STACK_POINTER] = Value::Stack(0);
        Self {
            registers,
            is_zero: [false; 16],
            frame: Vec::new(),
            is_leaked: false,
            pending: None,
        }
    }

    /// Where the runtime enters a function to handle an exception: what calls keep can be anything that the function had.
    pub(super) fn handler() -> Self {
        let mut state = Self::entry();
        for register in KEPT {
            state.registers[register] = Value::Mixed;
        }
        state.registers[STACK_POINTER] = Value::AnyStack;
        state.is_leaked = true;
        state
    }

    /// Keeps the values that are known on both paths. True if that is less than before.
    pub(super) fn join(&mut self, other: &Self) -> bool {
        let mut is_less = false;
        let mut join = |mine: &mut Value, theirs: Value| {
            if *mine != theirs {
                let joined = mine.join(theirs);
                is_less |= joined != *mine;
                *mine = joined;
            }
        };
        for (mine, theirs) in self.registers.iter_mut().zip(other.registers) {
            join(mine, theirs);
        }
        for (mine, theirs) in self.is_zero.iter_mut().zip(other.is_zero) {
            is_less |= *mine && !theirs;
            *mine &= theirs;
        }
        if self.frame != other.frame {
            let before = self.frame.len();
            let mut rest = other.frame.as_slice();
            self.frame.retain(|byte| {
                let skipped = rest.partition_point(|other| other < byte);
                rest = &rest[skipped..];
                rest.first() == Some(byte)
            });
            is_less |= self.frame.len() < before;
        }
        is_less |= other.is_leaked && !self.is_leaked;
        self.is_leaked |= other.is_leaked;
        let pending = match (self.pending, other.pending) {
            (Some(a), Some(b)) => Some(Dims {
                grid: common(a.grid, b.grid),
                block: common(a.block, b.block),
                shared: a.shared.filter(|_| a.shared == b.shared),
            }),
            _ => None,
        };
        is_less |= pending != self.pending;
        self.pending = pending;
        is_less
    }

    /// The content of `width` bytes of the frame.
    pub(super) fn load(&self, at: i64, width: usize) -> Value {
        let first = self.frame.partition_point(|(offset, _)| *offset < at);
        let (mut value, mut known) = (0, 0);
        for (offset, byte) in &self.frame[first..] {
            let number = offset.wrapping_sub(at);
            if number >= width.min(8) as i64 {
                break;
            }
            value |= u64::from(*byte) << (8 * number);
            known |= 0xff << (8 * number);
        }
        Value::of_width(value, known, width)
    }

    /// Writes the lower `width` bytes of a value to the frame.
    pub(super) fn store(&mut self, at: i64, width: usize, value: Value) {
        self.forget(at, width);
        let Value::Bits { value, known } = value else {
            return;
        };
        let first = self.frame.partition_point(|(offset, _)| *offset < at);
        let bytes = (0..width.min(8)).filter(|byte| (known >> (8 * byte)) & mask(1) == mask(1));
        let bytes: Vec<(i64, u8)> = bytes
            .filter_map(|byte| Some((at.checked_add(byte as i64)?, (value >> (8 * byte)) as u8)))
            .collect();
        if self.frame.len() + bytes.len() <= MAX_FRAME_BYTES {
            self.frame.splice(first..first, bytes);
        }
    }

    /// Something is written to so many bytes of the frame.
    pub(super) fn forget(&mut self, at: i64, width: usize) {
        let end = at.saturating_add(width as i64);
        let first = self.frame.partition_point(|(offset, _)| *offset < at);
        let last = self.frame.partition_point(|(offset, _)| *offset < end);
        self.frame.drain(first..last);
    }

    /// Something is written to whichever bytes of the frame.
    pub(super) fn forget_all(&mut self) {
        self.frame.clear();
    }

    /// Something is written through an address.
    pub(super) fn written(&mut self, address: Value, width: Option<usize>) {
        match (address, width) {
            (Value::Stack(at), Some(width)) => self.forget(at, width),
            (Value::Stack(_) | Value::AnyStack | Value::Mixed, _) => self.forget_all(),
            (Value::Bits { .. } | Value::Place(_), _) if self.is_leaked => self.forget_all(),
            _ => {}
        }
    }

    /// A function returns that may have written to any memory whose address it knows.
    pub(super) fn returned(&mut self) {
        for (number, register) in self.registers.iter_mut().enumerate() {
            if !KEPT.contains(&number) {
                *register = Value::UNKNOWN;
            }
        }
        self.is_zero = [false; 16];
    }
}

/// The sides that are the same in both.
fn common(a: Sides, b: Sides) -> Sides {
    std::array::from_fn(|side| a[side].filter(|_| a[side] == b[side]))
}

#[cfg(test)]
mod tests {
    use super::{State, Value};

    #[test]
    fn the_frame_is_a_row_of_bytes() {
        let mut state = State::entry();
        state.store(-16, 8, Value::exact(0x0000_0001_0000_0010));
        assert_eq!(state.load(-16, 4).number(), Some(16));
        assert_eq!(state.load(-12, 4).number(), Some(1));
        assert_eq!(state.load(-14, 4).number(), Some(0x1_0000));
        assert_eq!(state.load(-12, 8).half(0), Some(1));
        assert_eq!(state.load(-12, 8).half(1), None);
        state.store(-13, 2, Value::exact(0xffff));
        assert_eq!(state.load(-16, 8).number(), Some(0x0000_00ff_ff00_0010));
        state.store(-16, 4, Value::UNKNOWN);
        assert_eq!(state.load(-16, 4).half(0), None);
        assert_eq!(state.load(-12, 4).number(), Some(0xff));
        let mut other = State::entry();
        other.store(-12, 4, Value::exact(0x1ff));
        state.join(&other);
        assert_eq!(state.load(-12, 1).number(), Some(0xff));
        assert_eq!(state.load(-12, 2).number(), None);
        state.written(Value::AnyStack, Some(4));
        assert_eq!(state.load(-12, 1).number(), None);
    }

    #[test]
    fn what_others_know_they_can_write_to() {
        let mut state = State::entry();
        state.store(-8, 4, Value::exact(1));
        state.written(Value::UNKNOWN, Some(4));
        assert_eq!(state.load(-8, 4).number(), Some(1));
        state.is_leaked = true;
        state.written(Value::UNKNOWN, Some(4));
        assert_eq!(state.load(-8, 4).number(), None);
    }
}
