//! Places in the code that threads execute: an instruction, and the calls that lead to it.

use ptxcheck_ir::{FunctionId, InstructionId};
use rustc_hash::FxHashMap;

use crate::limits::MAX_CONTEXTS;

/// The calls that lead to an instruction, outermost first, each by the caller and the call; and the instruction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The calls that lead there, outermost first.
    pub calls: Vec<(FunctionId, InstructionId)>,
    /// The function.
    pub function: FunctionId,
    /// The instruction in its body.
    pub instruction: InstructionId,
}

impl Place {
    /// The instruction of the kernel by which threads get there.
    #[must_use]
    pub fn in_kernel(&self) -> InstructionId {
        self.calls.first().map_or(self.instruction, |call| call.1)
    }
}

/// A chain of calls, by its number; 0 is the empty one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Context(u32);

/// A [`Place`] in few bytes. Sorted by chains of calls in the order in which a run comes to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Site {
    pub(crate) context: Context,
    pub(crate) function: FunctionId,
    pub(crate) instruction: InstructionId,
}

/// The chains of calls of a run.
#[derive(Debug, Default)]
pub(crate) struct Contexts {
    /// Of each but the empty one: what leads to its last call, which is the instruction.
    last: Vec<Site>,
    numbers: FxHashMap<Site, Context>,
}

impl Contexts {
    /// The chain of calls that a call at a site begins; `None` where there are too many.
    pub(crate) fn enter(&mut self, call: Site) -> Option<Context> {
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

    /// The place of a site.
    pub(crate) fn place(&self, site: Site) -> Place {
        let mut calls = Vec::new();
        let mut context = site.context;
        while let Some(call) = (context.0 as usize)
            .checked_sub(1)
            .map(|number| self.last[number])
        {
            calls.push((call.function, call.instruction));
            context = call.context;
        }
        calls.reverse();
        Place {
            calls,
            function: site.function,
            instruction: site.instruction,
        }
    }
}
