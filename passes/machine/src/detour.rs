//! Ways past a branch of which nobody knows where it leads: the block at which all its ways meet again, if others do not see
//! which one a thread takes.
//!
//! Floating-point numbers decide such branches, and the content of memory that the world does not know: `if (x > 0) y = f(x);`. A
//! thread is taken to where the ways meet, and of what they compute nothing is known there. Ways that only end the grid
//! (`assert`) are not taken, and loops are taken to end.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use ptxcheck_ir::cfg::Cfg;
use ptxcheck_ir::{BlockId, Body, FunctionId, Module, Op};
use rustc_hash::FxHashMap;

use crate::effects::Effects;
use crate::limits::MAX_DETOUR_BLOCKS;

/// The ways from a block to the one where they meet.
#[derive(Debug)]
pub(crate) struct Detour {
    pub(crate) to: BlockId,
    pub(crate) effects: Effects,
}

type Known = FxHashMap<(FunctionId, BlockId), Option<Arc<Detour>>>;

/// The detours that runs have asked for, by function and block.
#[derive(Debug, Default)]
pub(crate) struct Detours {
    known: Mutex<Known>,
    graphs: Mutex<FxHashMap<FunctionId, Arc<Cfg>>>,
}

impl Detours {
    fn graph(&self, function: FunctionId, body: &Body<'_>) -> Arc<Cfg> {
        let mut graphs = self.graphs.lock().unwrap_or_else(PoisonError::into_inner);
        let graph = graphs.entry(function).or_insert_with(|| Arc::new(Cfg::new(body)));
        Arc::clone(graph)
    }

    /// The detour past the branch at the end of a block of a function of a module, if there is one.
    pub(crate) fn past(
        &self,
        module: &Module<'_>,
        function: FunctionId,
        body: &Body<'_>,
        block: BlockId,
    ) -> Option<Arc<Detour>> {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&(function, block)) {
            return known.clone();
        }
        let graph = self.graph(function, body);
        let found = find(module, body, &graph, block).map(Arc::new);
        lock().insert((function, block), found.clone());
        found
    }
}

/// Takes in the blocks behind a branch in the order of the graph, until one alone is left to be taken in: nothing leads past it.
fn find(module: &Module<'_>, body: &Body<'_>, graph: &Cfg, from: BlockId) -> Option<Detour> {
    let mut effects = Effects::default();
    let mut taken = BTreeSet::new();
    let mut open = BTreeSet::new();
    taken.insert(from);
    let add = |block: BlockId, taken: &BTreeSet<BlockId>, open: &mut BTreeSet<(usize, BlockId)>| {
        for &successor in body.successors(block) {
            if !taken.contains(&successor) && !is_dead_end(body, successor) {
                open.insert((graph.rank(successor)?, successor));
            }
        }
        Some(())
    };
    add(from, &taken, &mut open)?;
    while open.len() > 1 {
        let (_, block) = open.pop_first()?;
        taken.insert(block);
        if taken.len() > MAX_DETOUR_BLOCKS {
            return None;
        }
        add(block, &taken, &mut open)?;
    }
    let (_, to) = open.pop_first()?;
    for &block in &taken {
        // The branch is where the thread is; what is before it has been executed, unless one of the ways leads there again.
        let is_again = |&other: &BlockId| body.successors(other).contains(&from);
        if block == from && !taken.iter().any(is_again) {
            continue;
        }
        // What has no successor returns.
        if body.successors(block).is_empty() {
            return None;
        }
        for (id, instruction) in body.block(block) {
            match instruction.op {
                Op::Branch | Op::BranchTable => {}
                Op::Return | Op::Exit => return None,
                _ => effects.add(module, body, id, instruction).ok()?,
            }
        }
    }
    effects.registers.sort_unstable();
    effects.registers.dedup();
    Some(Detour { to, effects })
}

/// True for a block that ends the grid.
fn is_dead_end(body: &Body<'_>, block: BlockId) -> bool {
    let ends = |op: Op| op == Op::Trap;
    body.block(block)
        .any(|(_, instruction)| ends(instruction.op) && instruction.guard.is_none())
}
