//! Which functions can use an address for what it is not: the others need no look at where values come from.
//!
//! ```text
//! cell(r)     all that r may be, anywhere in the body (see `cell`); ∪ over what writes it, until nothing grows
//! wants(p)    kinds of addresses that are wrong for some use of what the caller passes in p, here or in what is called
//! suspect(f)  a use of an address in f has a kind that is wrong for it, or a call in f passes such a one
//! looked at   suspects, and what they call
//! ```
//!
//! What is chosen (`selp`) from something that is wrong for nothing is never certainly wrong: where only definite findings
//! are wanted, it is no suspect.
//!
//! A body is passed over once, in the order of the input, and again only where something read before it grew: round a
//! loop. Functions come after those that they call, so that each is passed over for all its callers.

mod calls;
mod cell;
mod memory;
mod pass;
#[cfg(test)]
mod tests;
mod transfer;
mod wanted;

use rayon::prelude::*;

use self::cell::{Cell, Kinds};
use self::pass::Memory;
use self::wanted::Wanted;
use crate::module::ModuleAnalyses;
use ptxcheck_ir::{Argument, FunctionId, InstructionId};

/// What has to be looked at of a function.
#[derive(Debug, Default)]
pub(super) enum Suspects {
    /// Nothing.
    #[default]
    None,
    /// Some of its instructions.
    At(Marked),
    /// All that uses addresses: a function is looked at that calls it.
    All,
}

/// Instructions that have to be looked at.
#[derive(Debug, Default)]
pub(super) struct Marked {
    /// In the order of the input.
    instructions: Vec<InstructionId>,
    /// Some for null addresses.
    has_nulls: bool,
}

impl Suspects {
    /// Whether an instruction has to be looked at.
    pub(super) fn has(&self, at: InstructionId) -> bool {
        match self {
            Self::None => false,
            Self::At(marked) => marked.instructions.binary_search(&at).is_ok(),
            Self::All => true,
        }
    }

    /// Whether something has to be looked at for null addresses.
    pub(super) fn has_nulls(&self) -> bool {
        match self {
            Self::None => false,
            Self::At(marked) => marked.has_nulls,
            Self::All => true,
        }
    }
}

/// By function: what has to be looked at.
pub(super) fn suspects(
    module: &ModuleAnalyses<'_>,
    levels: &[Vec<FunctionId>],
    in_parallel: bool,
) -> Vec<Suspects> {
    let wanted = Wanted::of(module);
    let count = module.module.functions.len();
    let mut outlines: Vec<Outline> = Vec::new();
    outlines.resize_with(count, Outline::default);
    for level in levels {
        let known = outlines.as_slice();
        let one = |memory: &mut Memory, id: FunctionId| {
            if module.deadline.is_over_at_step() {
                return (id, Outline::default());
            }
            (id, pass::outline(module, id, known, &wanted, memory))
        };
        let made: Vec<_> = if in_parallel {
            level
                .par_iter()
                .map_init(Memory::default, |memory, &id| one(memory, id))
                .collect()
        } else {
            let mut memory = Memory::default();
            level.iter().map(|&id| one(&mut memory, id)).collect()
        };
        for (id, outline) in made {
            outlines[id.index()] = outline;
        }
    }
    let graph = module.call_graph();
    let called = |id: FunctionId| graph.calls_of(id).iter().map(|site| site.callee);
    let mut open = Vec::new();
    let mut suspects: Vec<Suspects> = Vec::with_capacity(count);
    for (number, outline) in outlines.into_iter().enumerate() {
        let is_looked_at = outline.is_open || !outline.suspects.instructions.is_empty();
        if is_looked_at {
            open.extend(called(FunctionId::new(number)));
        }
        suspects.push(match is_looked_at {
            false => Suspects::None,
            true if outline.is_open => Suspects::All,
            true => Suspects::At(outline.suspects),
        });
    }
    while let Some(id) = open.pop() {
        let known = &mut suspects[id.index()];
        if !matches!(known, Suspects::All) {
            *known = Suspects::All;
            open.extend(called(id));
        }
    }
    suspects
}
/// What a function is to those that call it.
#[derive(Default)]
struct Outline {
    is_known: bool,
    /// Instructions that use addresses which may be wrong for it.
    suspects: Marked,
    /// It is too much to pass over.
    is_open: bool,
    /// The pieces of its parameters that it reads, and what is wrong to pass in them.
    pieces: Vec<((u16, u32), Kinds)>,
    /// What is wrong to pass in those that have no place in `pieces`.
    rest: Kinds,
    /// By byte offset in what it returns.
    results: Vec<(u32, Cell)>,
    /// Generic addresses of the spaces that it tests for, if it may return the outcome.
    tested: Kinds,
}

impl Outline {
    /// The place among `pieces` of what an argument passes.
    fn place(&self, argument: &Argument) -> Option<usize> {
        self.pieces.iter().position(|(piece, _)| argument.passes(*piece))
    }

    /// What is wrong to pass here.
    fn wants(&self, argument: &Argument) -> Kinds {
        self.place(argument)
            .map_or(self.rest, |place| self.pieces[place].1)
    }
}
