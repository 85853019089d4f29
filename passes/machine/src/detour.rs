//! Detours past a branch whose direction is unknown: the block at which all its paths meet again, if other threads do not see which path a
//! thread takes.
//!
//! Such branches depend on floating-point numbers, or on memory whose content the world does not know: `if (x > 0) y = f(x);`. A thread
//! continues where the paths meet, and the values that they compute are unknown there. Paths that only end the grid (`assert`) are ignored,
//! and loops are assumed to end.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use ptxcheck_ir::cfg::Cfg;
use ptxcheck_ir::{BlockId, Body, FunctionId, Module, Op, Space};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::effects::{Callees, Effects};
use crate::limits::MAX_DETOUR_BLOCKS;

/// The paths from a block to the one where they meet.
#[derive(Debug)]
pub(crate) struct Detour {
    pub(crate) to: BlockId,
    /// A loop that reads memory that threads share is among the paths.
    pub(crate) may_wait: bool,
    pub(crate) effects: Effects,
}

type Known = FxHashMap<(FunctionId, BlockId), Option<Arc<Detour>>>;

/// The detours that runs have asked for, by function and block.
#[derive(Debug, Default)]
pub(crate) struct Detours {
    known: Mutex<Known>,
    graphs: Mutex<FxHashMap<FunctionId, Arc<Cfg>>>,
    pub(crate) callees: Callees,
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
        let found = find(&self.callees, module, body, &graph, block).map(Arc::new);
        lock().insert((function, block), found.clone());
        found
    }
}

/// The blocks between a branch and the block at which all its paths meet.
#[derive(Debug)]
pub(crate) struct Region {
    /// The block where the paths meet.
    pub(crate) to: BlockId,
    /// The blocks on the paths. The block of the branch is one of them if a path leads back to it.
    pub(crate) blocks: Vec<BlockId>,
    /// Some paths end the grid instead.
    pub(crate) may_trap: bool,
    /// Some paths come to a block again.
    pub(crate) has_loop: bool,
}

impl Region {
    /// Adds the blocks after a branch in graph order, until only one is left to add: every path passes through it. `None` if the paths do
    /// not meet, if some of them end, or if the block budget does not suffice.
    pub(crate) fn new(body: &Body<'_>, graph: &Cfg, from: BlockId, left: &mut usize) -> Option<Self> {
        let mut taken = FxHashSet::default();
        let mut open = BTreeSet::new();
        let mut blocks = Vec::new();
        let (mut is_again, mut may_trap, mut has_loop) = (false, false, false);
        let mut next = Some(from);
        while let Some(block) = next {
            taken.insert(block);
            if block != from {
                blocks.push(block);
            }
            // A block without a successor returns.
            let successors = body.successors(block);
            *left = left.checked_sub(1 + successors.len())?;
            if successors.is_empty() {
                return None;
            }
            for &successor in successors {
                is_again |= successor == from;
                has_loop |= taken.contains(&successor);
                if is_dead_end(body, successor) {
                    may_trap = true;
                } else if !taken.contains(&successor) {
                    open.insert((graph.rank(successor)?, successor));
                }
            }
            next = (open.len() > 1)
                .then(|| open.pop_first())
                .flatten()
                .map(|(_, block)| block);
        }
        let (_, to) = open.pop_first()?;
        if is_again {
            blocks.push(from);
        }
        Some(Self {
            to,
            blocks,
            may_trap,
            has_loop,
        })
    }
}

/// The detour past the branch at the end of a block.
fn find(
    callees: &Callees,
    module: &Module<'_>,
    body: &Body<'_>,
    graph: &Cfg,
    from: BlockId,
) -> Option<Detour> {
    let mut left = MAX_DETOUR_BLOCKS;
    let region = Region::new(body, graph, from, &mut left)?;
    let mut effects = Effects::default();
    for &block in &region.blocks {
        for (id, instruction) in body.block(block) {
            match instruction.op {
                Op::Branch | Op::BranchTable => {}
                Op::Return | Op::Exit => return None,
                _ => effects.add(callees, module, body, id, instruction).ok()?,
            }
        }
    }
    effects.registers.sort_unstable();
    effects.registers.dedup();
    let shared = [Space::Global, Space::Shared, Space::SharedCluster, Space::Generic];
    Some(Detour {
        to: region.to,
        may_wait: region.has_loop && effects.reads.iter().any(|space| shared.contains(space)),
        effects,
    })
}

/// True for a block that ends the grid.
fn is_dead_end(body: &Body<'_>, block: BlockId) -> bool {
    let last = body.terminator(block);
    last.is_some_and(|last| last.op == Op::Trap && last.guard.is_none())
}
