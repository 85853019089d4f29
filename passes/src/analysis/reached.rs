//! Which blocks are ever reached: unoptimised code keeps what a constant decides against.
//!
//! ```text
//! decided   a branch on a predicate that is fixed (see `constants`)
//! reached   the entry, and what an edge leads to from there, of decided branches the one that is taken
//! ```

use rustc_hash::FxHashMap;

use super::constants::{Arguments, Constants};
use crate::context::Analyses;
use crate::ir::{BlockId, Body, Guard, InstructionId, Op, Value};

/// By block, whether anything may come there: by edges that no constant decides against.
#[must_use]
pub fn reached(body: &Body<'_>, analyses: &Analyses<'_>) -> Vec<bool> {
    let decided = decided(body, analyses);
    let mut is_reached = vec![false; body.blocks.len()];
    let mut open: Vec<BlockId> = (!body.blocks.is_empty())
        .then(|| BlockId::new(0))
        .into_iter()
        .collect();
    while let Some(block) = open.pop() {
        if std::mem::replace(&mut is_reached[block.index()], true) {
            continue;
        }
        let successors = body.successors(block);
        match (decided.get(&block), successors) {
            (Some(&takes_first), &[first, second]) => open.push(if takes_first { first } else { second }),
            _ => open.extend(successors),
        }
    }
    is_reached
}

/// By block that ends with a branch of which a constant decides: whether it is taken, and so leads to the first successor.
fn decided(body: &Body<'_>, analyses: &Analyses<'_>) -> FxHashMap<BlockId, bool> {
    let branches: Vec<(BlockId, InstructionId, Guard)> = (0..body.blocks.len())
        .map(BlockId::new)
        .filter_map(|block| {
            let (branch, last) = body.block(block).next_back()?;
            (last.op == Op::Branch).then_some((block, branch, last.guard?))
        })
        .collect();
    let none = Arguments::default();
    let seeds = branches.iter().map(|(.., guard)| Value::Register(guard.register));
    let constants = Constants::fixed(body, analyses, seeds, &none);
    let mut places = branches.iter();
    let decided = constants.before(branches.iter().map(|(_, branch, _)| *branch), |_, read| {
        let (block, _, guard) = places.next()?;
        let holds = read(Value::Register(guard.register)).known()? & 1 == 1;
        Some((*block, holds != guard.negated))
    });
    decided.into_iter().flatten().collect()
}
