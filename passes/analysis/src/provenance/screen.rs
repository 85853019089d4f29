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
mod outline;
mod pass;
#[cfg(test)]
mod tests;
mod transfer;
mod wanted;

use rayon::prelude::*;

use self::outline::Outline;
use self::pass::Memory;
use self::wanted::Wanted;
use super::suspects::Suspects;
use crate::shared::Shared;
use ptxcheck_ir::FunctionId;

/// By function: what has to be looked at.
pub(super) fn suspects(module: &Shared<'_>, levels: &[Vec<FunctionId>], in_parallel: bool) -> Vec<Suspects> {
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
