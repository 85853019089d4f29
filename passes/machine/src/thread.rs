//! The threads of a block: their frames, registers and states.

use std::collections::{BTreeMap, BTreeSet};

use ptxcheck_ir::{Access, BlockId, Body, Collective, FunctionId, InstructionId, Register, SymbolId};

use rustc_hash::FxHashMap;

use crate::evaluate::Word;
use crate::memory::Memory;
use crate::site::{Context, Point};
use crate::slice::Slice;
use crate::ways::Position;

/// The registers of a frame.
#[derive(Debug, Default)]
pub(crate) struct Registers {
    values: Vec<u64>,
    /// A bit for each register that is known.
    known: Vec<u64>,
    /// By register, the watched reads that its content depends on, a bit for each; empty where there is none.
    bits: Vec<u32>,
}

impl Registers {
    /// So many, each with this content.
    pub(crate) fn new(count: usize, content: Word) -> Self {
        let known = if content.is_some() { u64::MAX } else { 0 };
        Self {
            values: vec![content.unwrap_or(0); count],
            known: vec![known; count.div_ceil(64)],
            bits: Vec::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn get(&self, register: Register) -> Word {
        let number = register.index();
        let is_known = self.known.get(number / 64)? >> (number % 64) & 1 == 1;
        is_known.then(|| self.values[number])
    }

    /// The watched reads that the content of a register depends on.
    pub(crate) fn bits_of(&self, register: Register) -> u32 {
        self.bits.get(register.index()).copied().unwrap_or(0)
    }

    pub(crate) fn set_bits(&mut self, register: Register, bits: u32) {
        if self.bits.is_empty() && bits != 0 {
            self.bits.resize(self.values.len(), 0);
        }
        if let Some(known) = self.bits.get_mut(register.index()) {
            *known = bits;
        }
    }

    /// The new content depends on no watched read, unless somebody says so.
    pub(crate) fn set(&mut self, register: Register, word: Word) {
        self.set_bits(register, 0);
        let number = register.index();
        let Some(known) = self.known.get_mut(number / 64) else {
            return;
        };
        match word {
            Some(word) => {
                *known |= 1 << (number % 64);
                self.values[number] = word;
            }
            None => *known &= !(1 << (number % 64)),
        }
    }
}

/// A call that has not returned, or the kernel.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) function: FunctionId,
    pub(crate) context: Context,
    pub(crate) block: BlockId,
    /// The instruction to be executed next, or the call that is being executed; [`END`] after the last.
    pub(crate) next: usize,
    pub(crate) registers: Registers,
    /// The values that it has stored to be returned, by byte offset.
    pub(crate) returned: Memory,
    /// The values that its calls returned, by the call.
    pub(crate) results: BTreeMap<usize, Memory>,
    /// Bytes on the stack that it has asked for.
    pub(crate) stack: u64,
}

/// After the last instruction.
pub(crate) const END: usize = usize::MAX;

impl Frame {
    /// `unwritten`: the content of registers that nothing has written.
    pub(crate) fn new(
        function: FunctionId,
        context: Context,
        body: &Body<'_>,
        slice: Option<&Slice>,
        unwritten: Word,
    ) -> Self {
        let mut frame = Self {
            function,
            context,
            block: BlockId::new(0),
            next: 0,
            registers: Registers::new(body.registers.len(), unwritten),
            returned: Memory::default(),
            results: BTreeMap::new(),
            stack: 0,
        };
        frame.enter(body, slice, BlockId::new(0));
        frame
    }

    /// Goes to the first instruction of a block that is executed, or of those that follow it where it has none.
    pub(crate) fn enter(&mut self, body: &Body<'_>, slice: Option<&Slice>, block: BlockId) {
        let mut block = block;
        // Blocks without instructions may make a circle.
        for _ in 0..=body.blocks.len() {
            let Some(known) = body.blocks.get(block.index()) else {
                break;
            };
            let range = known.instructions.range();
            let first = match slice {
                Some(slice) => slice.next(known, range.start),
                None => (!range.is_empty()).then_some(range.start),
            };
            if let Some(first) = first {
                self.block = block;
                self.next = first;
                return;
            }
            let past = slice.and_then(|slice| slice.past(block));
            match past.or_else(|| body.successors(block).first().copied()) {
                Some(successor) => block = successor,
                None => break,
            }
        }
        self.next = END;
    }

    /// Goes to the next instruction that is executed, or, with the last of a block, to the block that follows where nothing else
    /// is said.
    pub(crate) fn advance(&mut self, body: &Body<'_>, slice: Option<&Slice>) {
        let block = &body.blocks[self.block.index()];
        let next = self.next + 1;
        let next = match slice {
            Some(slice) => slice.next(block, next),
            None => (next < block.instructions.range().end).then_some(next),
        };
        if let Some(next) = next {
            self.next = next;
            return;
        }
        let past = slice.and_then(|slice| slice.past(self.block));
        match past.or_else(|| body.successors(self.block).last().copied()) {
            Some(successor) => self.enter(body, slice, successor),
            None => self.next = END,
        }
    }

    pub(crate) fn point(&self) -> Point {
        Point {
            context: self.context,
            function: self.function,
            instruction: InstructionId::new(self.next),
        }
    }
}

/// The visible instruction that a thread is about to execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    ActiveMask,
    Access(Access),
    /// A collective without a member mask.
    Together(Collective),
    /// A barrier whose number or count of threads the machine does not know.
    PassBarrier,
    /// A barrier with this number and a count, at which the thread does not wait.
    Signal(u64),
    /// A call of code that is not here.
    Outside(Option<SymbolId>),
}

/// A barrier of the CTA by its number, or that of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbered {
    Cta(u64),
    Cluster,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Running,
    /// Before a visible instruction.
    Poised(Act),
    /// At a collective, with this mask.
    Waiting(Collective, u32),
    /// `aligned`: all lanes of the warp execute it together.
    AtBarrier {
        number: Numbered,
        aligned: bool,
    },
    /// At a barrier with a number and a count of threads.
    AtCounted {
        number: u64,
        count: u64,
    },
    Ended,
}

#[derive(Debug)]
pub(crate) struct Thread {
    /// The kernel, and the calls in it; empty for threads that have ended.
    pub(crate) frames: Vec<Frame>,
    pub(crate) state: State,
    /// Collectives and barriers of others that waited for this thread when it did something visible, with their mask.
    pub(crate) owes: BTreeSet<(Point, u32)>,
    /// Barriers of the block that it has passed with others.
    pub(crate) barriers: u64,
    /// The round that it is in, of each loop of the kernel.
    pub(crate) rounds: Vec<u32>,
    /// Its own memory, by generic address: local, and the arguments of calls.
    pub(crate) own: Memory,
    /// By 4-byte word of its own memory: the watched reads that the content depends on.
    pub(crate) own_bits: FxHashMap<u64, u32>,
    /// Something that the machine does not follow may have written to its local memory.
    pub(crate) is_own_forgotten: bool,
}

impl Thread {
    /// The instruction that it is at.
    pub(crate) fn point(&self) -> Option<Point> {
        self.frames
            .last()
            .filter(|frame| frame.next != END)
            .map(Frame::point)
    }

    /// The position in the kernel.
    pub(crate) fn position(&self) -> Option<Position> {
        let frame = self.frames.first().filter(|frame| frame.next != END)?;
        Some(Position {
            block: frame.block,
            instruction: frame.next,
        })
    }
}
