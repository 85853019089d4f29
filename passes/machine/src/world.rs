//! The world of a run: the values that are not in the code. It is asked for parameters, for memory that nothing has written, and for the
//! results of operations that the machine does not compute. `None` means unknown.

use ptxcheck_ir::{FunctionId, InstructionId, Space, Special, SymbolId};

use crate::evaluate::Word;
use crate::site::{Contexts, Point};
use ptxcheck_ir::Site;

/// The thread that asks, and the instruction that it executes.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// The number of the thread in its block: 32 times that of its warp, plus its lane.
    pub thread: usize,
    /// The number of its block among those that run, see [`crate::Setup::further`].
    pub block: u32,
    /// The function.
    pub function: FunctionId,
    /// The instruction in its body.
    pub instruction: InstructionId,
    pub(crate) point: Point,
    pub(crate) contexts: &'a Contexts,
}

impl At<'_> {
    /// The site, with the calls that lead there.
    #[must_use]
    pub fn site(&self) -> Site {
        self.contexts.site(self.point)
    }
}

/// A piece of memory that a thread reads, with at least one byte that the run has not determined.
#[derive(Clone, Copy, Debug)]
pub struct Read<'a> {
    /// The load or atomic.
    pub at: At<'a>,
    /// The space that the address lies in, which is not [`Space::Generic`].
    pub space: Space,
    /// The address in that space; in that of a kernel's parameters, the byte offset.
    pub address: u64,
    /// Bytes, 1 to 8.
    pub bytes: u8,
    /// Nothing has written there since the kernel began. Else, something may have that the machine does not model.
    pub is_initial: bool,
}

/// A value that the machine does not compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmodelled {
    /// The result with this number, of an operation that does not compute integers from integers, or of a call of an undefined function;
    /// for a reduction over lanes, one lane asks for all.
    Result(usize),
    /// A special register that depends on more than the block and the thread.
    Special(Special),
    /// An operand that the front end does not interpret.
    Operand,
    /// The content that an atomic leaves in memory, where the IR has no operation of it or a value is not known.
    Update,
    /// The result of a shuffle where the lane that it reads does not take part (PTX ISA, shfl.sync: undefined).
    AbsentSource,
}

/// The effect of a function that the module does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// It returns, and changes nothing that the run depends on: [`World::unmodelled`] says what it returns.
    Returns,
    /// It returns, and may write to all memory that threads share.
    Writes,
    /// It ends the grid.
    Ends,
    /// Nothing is known of it.
    Unknown,
}

/// All values that are not in the code. Contents are little-endian.
pub trait World {
    /// The content of a piece of memory, in the low bytes. It is asked once for memory that no thread writes: the machine keeps the
    /// answer for the bytes that it does not know, so that all threads read the same.
    fn read(&mut self, read: &Read<'_>) -> Word;

    /// A value that the machine does not compute.
    fn unmodelled(&mut self, _at: &At<'_>, _value: Unmodelled) -> Word {
        None
    }

    /// The content of a register, and of each byte of local memory (the low byte), that nothing has written: in PTX, it is undefined.
    fn unwritten(&self) -> Word {
        None
    }

    /// The lane, by its number, that `elect.sync` picks from a mask that is not 0 (PTX ISA, elect.sync: the same one for the
    /// same mask): the first one, unless a world says otherwise.
    fn leader(&mut self, members: u32) -> u32 {
        members.trailing_zeros()
    }

    /// The effect of a call of a function that the module does not hold.
    fn outside(&mut self, _at: &At<'_>, _callee: SymbolId) -> Outside {
        Outside::Unknown
    }
}
