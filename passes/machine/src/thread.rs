//! The threads of a block: their frames, registers and states.

use std::collections::{BTreeMap, BTreeSet};

use ptxcheck_ir::{Access, BlockId, Body, Collective, FunctionId, InstructionId, Register, SymbolId};

use rustc_hash::FxHashMap;

use crate::memory::Memory;
use crate::site::{Context, Point};
use crate::slice::Slice;
use crate::ways::Position;

/// A call that has not returned, or the kernel.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) function: FunctionId,
    pub(crate) context: Context,
    /// The instruction to be executed next, or the call that is being executed; [`END`] after the last.
    pub(crate) position: Position,
    /// The values that it has stored to be returned, by byte offset.
    pub(crate) returned: Memory,
    /// The values that its calls returned, by the call.
    pub(crate) results: BTreeMap<usize, Memory>,
    /// Bytes on the stack that it has asked for.
    pub(crate) stack: u64,
}

/// After the last instruction.
const END: usize = usize::MAX;

impl Frame {
    pub(crate) fn new(
        function: FunctionId,
        context: Context,
        body: &Body<'_>,
        slice: Option<&Slice>,
    ) -> Self {
        Self {
            function,
            context,
            position: Position::of_block(body, slice, BlockId::new(0)),
            returned: Memory::default(),
            results: BTreeMap::new(),
            stack: 0,
        }
    }

    pub(crate) fn point(&self) -> Point {
        self.position.point(self.context, self.function)
    }
}

impl Position {
    /// The first instruction of a block that is executed, or of those that follow it where it has none.
    pub(crate) fn of_block(body: &Body<'_>, slice: Option<&Slice>, block: BlockId) -> Self {
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
            if let Some(instruction) = first {
                return Self { block, instruction };
            }
            let past = slice.and_then(|slice| slice.past(block));
            match past.or_else(|| body.successors(block).first().copied()) {
                Some(successor) => block = successor,
                None => break,
            }
        }
        Self {
            block,
            instruction: END,
        }
    }

    /// The next instruction that is executed; after the last one of a block, that of the block that follows where nothing else is said.
    pub(crate) fn advanced(self, body: &Body<'_>, slice: Option<&Slice>) -> Self {
        let block = &body.blocks[self.block.index()];
        let next = self.instruction + 1;
        let next = match slice {
            Some(slice) => slice.next(block, next),
            None => (next < block.instructions.range().end).then_some(next),
        };
        if let Some(instruction) = next {
            return Self { instruction, ..self };
        }
        let past = slice.and_then(|slice| slice.past(self.block));
        match past.or_else(|| body.successors(self.block).last().copied()) {
            Some(successor) => Self::of_block(body, slice, successor),
            None => Self {
                instruction: END,
                ..self
            },
        }
    }

    pub(crate) fn is_end(self) -> bool {
        self.instruction == END
    }

    /// True for the first instruction of its block.
    pub(crate) fn is_first(self, body: &Body<'_>) -> bool {
        let block = body.blocks.get(self.block.index());
        block.is_some_and(|block| block.instructions.range().start == self.instruction)
    }

    pub(crate) fn point(self, context: Context, function: FunctionId) -> Point {
        Point {
            context,
            function,
            instruction: InstructionId::new(self.instruction),
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
    /// A barrier with a number and a count, at which the thread does not wait.
    Signal {
        number: u64,
        count: u64,
    },
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

/// A place that holds the value of a watched read, or some bits of it and nothing else of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartlyRead {
    pub(crate) place: HeldIn,
    pub(crate) changes: Changes,
}

/// A register of a call, or bytes of a thread's own memory: the generic address of the first, and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeldIn {
    Register(Context, Register),
    Own(u64, u64),
}

/// The bits of a value that may be others because of a watched read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Changes {
    /// The number of the read among those that are watched.
    pub(crate) read: u32,
    pub(crate) bits: u64,
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
    /// The places that hold what a watched read has read, or some bits of it.
    pub(crate) partly_read: Vec<PartlyRead>,
    /// Something that the machine does not follow may have written to its local memory.
    pub(crate) is_own_forgotten: bool,
}

impl Thread {
    /// The instruction that it is at.
    pub(crate) fn point(&self) -> Option<Point> {
        self.frames
            .last()
            .filter(|frame| !frame.position.is_end())
            .map(Frame::point)
    }

    /// The position in the kernel.
    pub(crate) fn position(&self) -> Option<Position> {
        let position = self.frames.first()?.position;
        (!position.is_end()).then_some(position)
    }
}
