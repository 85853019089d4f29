//! The values of operands.

use ptxcheck_ir::{Space, Special, Value};

use crate::address::FRAME;
use crate::evaluate::Word;
use crate::launch::WARP;
use crate::machine::Machine;
use crate::world::Unmodelled;

impl Machine<'_> {
    /// The operands of the instruction that a thread is at.
    pub(crate) fn uses(&mut self, thread: usize) -> Vec<Word> {
        let Some((body, instruction)) = self.code_of(thread) else {
            return Vec::new();
        };
        let uses = body.uses(instruction).iter();
        uses.map(|&value| self.value(thread, value)).collect()
    }

    /// The value of an operand of the innermost frame of a thread.
    pub(crate) fn value(&mut self, thread: usize, value: Value) -> Word {
        let frames = &self.threads[thread].frames;
        let depth = frames.len().checked_sub(1)? as u64;
        match value {
            Value::Register(register) => self.register(thread, register),
            Value::Not(register) => self.register(thread, register).map(|word| word & 1 ^ 1),
            Value::Integer(value) => Some(value as u64),
            Value::Symbol(symbol, offset) => {
                let known = self.kernel.module.0.symbol(symbol);
                let start = self.kernel.symbols.of(symbol);
                let is_own = known.space == Space::Local;
                let frame = if is_own { depth * FRAME } else { 0 };
                Some(start.wrapping_add(frame).wrapping_add_signed(i64::from(offset)))
            }
            Value::Param(number, offset) => {
                let start = if depth == 0 {
                    *self.kernel.params.offsets.get(usize::from(number))?
                } else {
                    argument(depth, u32::from(number), 0)
                };
                Some(start.wrapping_add_signed(i64::from(offset)))
            }
            // Stores to it are recognised by the operand; code does not compute with its address.
            Value::ReturnSlot(..) => None,
            Value::Special(special) => self.special(thread, special),
            Value::Unknown => self.ask(thread, Unmodelled::Operand),
        }
    }

    fn special(&mut self, thread: usize, special: Special) -> Word {
        let lane = (thread % WARP) as u32;
        let of =
            |sides: [u32; 3], dimension: u8| sides.get(usize::from(dimension)).map(|&side| u64::from(side));
        let launch = &self.launch;
        match special {
            Special::Tid(dimension) => launch.tid(thread).get(usize::from(dimension)).copied(),
            Special::Ntid(dimension) => of(launch.block, dimension),
            Special::Ctaid(dimension) => of(launch.ctaid, dimension),
            Special::Nctaid(dimension) => of(launch.grid, dimension),
            Special::LaneId => Some(u64::from(lane)),
            // The hardware numbers warps anew when it moves them (PTX ISA, %warpid); code that reads it takes it for this.
            Special::WarpId => Some((thread / WARP) as u64),
            Special::LaneMaskEq => Some(1 << lane),
            Special::LaneMaskLt => Some((1 << lane) - 1),
            Special::LaneMaskLe => Some((2 << lane) - 1),
            Special::LaneMaskGe => Some(u64::from(u32::MAX << lane)),
            Special::LaneMaskGt => Some(u64::from(u32::MAX << lane << 1)),
            Special::NwarpId | Special::Uniform | Special::Other => {
                self.ask(thread, Unmodelled::Special(special))
            }
        }
    }
}

/// The address, in the space of parameters, of an argument of a call at this depth.
pub(crate) fn argument(depth: u64, number: u32, offset: u32) -> u64 {
    depth * FRAME + (u64::from(number) << 14) + u64::from(offset)
}
