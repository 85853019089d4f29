//! The screen: a cheap pass that finds the instructions that can use an address wrongly at all. Other functions are not solved.
//!
//! ```text
//! cell(r)     all values that r may hold, anywhere in the body (see `cell`); ∪ over its definitions, to a fixed point
//! wrong(p)    kinds of addresses that are wrong for some use of parameter p, here or in the functions called
//! suspect(f)  a use of an address in f has a kind that is wrong for it, or a call in f passes such a kind
//! solved      functions with suspects, and the functions that they call
//! ```
//!
//! The result of a `selp` with an operand that is wrong for no use is never certainly wrong: if only definite findings are
//! reported, it is not a suspect.
//!
//! A body is visited once, in the order of the input, and again only if a cell grew after it was read: in a loop. Functions
//! come after their callees, so that each is visited once for all its callers.

mod calls;
mod cell;
mod memory;
mod pass;
mod reportable;
mod summary;
#[cfg(test)]
mod tests;
mod transfer;

use rayon::prelude::*;

use self::pass::Memory;
use self::reportable::Reportable;
use self::summary::ScreenSummary;
use super::suspects::Suspects;
use crate::shared::Shared;
use ptxcheck_ir::FunctionId;

/// For each function: the instructions that have to be solved.
pub(super) fn suspects(module: &Shared<'_>, levels: &[Vec<FunctionId>], in_parallel: bool) -> Vec<Suspects> {
    let reportable = Reportable::new(module);
    let count = module.module.functions.len();
    let mut summaries: Vec<ScreenSummary> = Vec::new();
    summaries.resize_with(count, ScreenSummary::default);
    for level in levels {
        let known = summaries.as_slice();
        let screen = |memory: &mut Memory, id: FunctionId| {
            if module.deadline.is_over_at_step() {
                return (id, ScreenSummary::default());
            }
            (id, pass::screen_function(module, id, known, &reportable, memory))
        };
        let made: Vec<_> = if in_parallel {
            level
                .par_iter()
                .map_init(Memory::default, |memory, &id| screen(memory, id))
                .collect()
        } else {
            let mut memory = Memory::default();
            level.iter().map(|&id| screen(&mut memory, id)).collect()
        };
        for (id, summary) in made {
            summaries[id.index()] = summary;
        }
    }
    let graph = module.call_graph();
    let mut is_called = vec![false; count];
    let mut suspects: Vec<Suspects> = Vec::with_capacity(count);
    for (number, summary) in summaries.into_iter().enumerate() {
        let is_solved = summary.is_unsettled || !summary.suspects.instructions.is_empty();
        if is_solved {
            for site in graph.calls_of(FunctionId::new(number)) {
                is_called[site.callee.index()] = true;
            }
        }
        suspects.push(match is_solved {
            false => Suspects::None,
            true if summary.is_unsettled => Suspects::All,
            true => Suspects::At(summary.suspects),
        });
    }
    graph.mark_callees(&mut is_called, |_| true);
    for (suspects, _) in suspects
        .iter_mut()
        .zip(is_called)
        .filter(|(_, is_called)| *is_called)
    {
        *suspects = Suspects::All;
    }
    suspects
}
