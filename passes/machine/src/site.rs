//! Sites in few bytes, and the chains of calls of a run.

use ptxcheck_ir::{CallSite, FunctionId, InstructionId, Site};
use rustc_hash::FxHashMap;

use crate::limits::MAX_CONTEXTS;

/// A chain of calls, by its number; 0 is the empty one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Context(u32);

/// A [`Site`] in few bytes. Sorted by chains of calls in the order in which a run reaches them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Point {
    pub(crate) context: Context,
    pub(crate) function: FunctionId,
    pub(crate) instruction: InstructionId,
}

/// The chains of calls of a run.
#[derive(Debug, Default)]
pub(crate) struct Contexts {
    /// Of each but the empty one: what leads to its last call, which is the instruction.
    last: Vec<Point>,
    numbers: FxHashMap<Point, Context>,
}

impl Contexts {
    /// The chain of calls that a call at a point begins; `None` where there are too many.
    pub(crate) fn enter(&mut self, call: Point) -> Option<Context> {
        if let Some(&known) = self.numbers.get(&call) {
            return Some(known);
        }
        if self.last.len() >= MAX_CONTEXTS {
            return None;
        }
        self.last.push(call);
        let context = Context(self.last.len() as u32);
        self.numbers.insert(call, context);
        Some(context)
    }

    /// The site of a point.
    pub(crate) fn site(&self, point: Point) -> Site {
        let mut callers = Vec::new();
        let (mut context, mut callee) = (point.context, point.function);
        while let Some(call) = (context.0 as usize)
            .checked_sub(1)
            .map(|number| self.last[number])
        {
            callers.push(CallSite {
                caller: call.function,
                instruction: call.instruction,
                callee,
            });
            (context, callee) = (call.context, call.function);
        }
        Site {
            function: point.function,
            instruction: point.instruction,
            callers,
        }
    }
}
