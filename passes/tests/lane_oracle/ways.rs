//! Which blocks of a kernel lead to which: what tells a lane that has left the way to others from one that is on it.

use ptxcheck_passes::analysis::cfg::Cfg;
use ptxcheck_passes::analysis::dominators::Dominators;
use ptxcheck_passes::ir::{BlockId, Body, InstructionId};

/// Which blocks of the kernel lead to which, within one round of the loops around the latter.
pub struct Ways {
    /// By target block: the blocks that lead to it.
    to: Vec<Vec<bool>>,
    /// The loops: a header and what is inside.
    pub loops: Vec<(usize, Vec<bool>)>,
    block_of: Vec<usize>,
}

impl Ways {
    pub fn new(body: &Body<'_>) -> Self {
        let cfg = Cfg::new(body);
        let dominators = Dominators::new(body, &cfg);
        let count = body.blocks.len();
        let backwards = |from: usize, keep: &dyn Fn(usize, usize) -> bool| {
            let mut seen = vec![false; count];
            let mut work = vec![from];
            seen[from] = true;
            while let Some(block) = work.pop() {
                for before in cfg.predecessors(BlockId::new(block)) {
                    let before = before.index();
                    if keep(before, block) && !std::mem::replace(&mut seen[before], true) {
                        work.push(before);
                    }
                }
            }
            seen
        };
        let is_back = |from: usize, to: usize| {
            cfg.rank(BlockId::new(from)).is_some()
                && dominators.dominates(BlockId::new(to), BlockId::new(from))
        };
        // The natural loop of a back edge: what leads to its source without passing the header.
        let mut loops: Vec<(usize, Vec<bool>)> = Vec::new();
        for from in 0..count {
            for header in body.successors(BlockId::new(from)) {
                let header = header.index();
                if is_back(from, header) {
                    let mut inside = backwards(from, &|_, block| block != header);
                    inside[header] = true;
                    loops.push((header, inside));
                }
            }
        }
        let to = (0..count)
            .map(|target| {
                let around: Vec<usize> = loops
                    .iter()
                    .filter(|(_, inside)| inside[target])
                    .map(|one| one.0)
                    .collect();
                backwards(target, &|from, block| {
                    !(around.contains(&block) && is_back(from, block))
                })
            })
            .collect();
        let block_of = (0..body.instructions.len())
            .map(|number| body.block_of(InstructionId::new(number)).index())
            .collect();
        Self { to, loops, block_of }
    }

    /// Counts a step to a block: entering a header begins a round of its loop, and of those inside anew.
    pub fn enter(&self, rounds: &mut [u32], block: usize) {
        for (number, (header, inside)) in self.loops.iter().enumerate() {
            if *header == block {
                rounds[number] += 1;
                for (other, (inner, _)) in self.loops.iter().enumerate() {
                    if inside[*inner] && inner != header {
                        rounds[other] = 0;
                    }
                }
            }
        }
    }

    /// True if the lane of `rounds` is in an earlier round of a loop around an instruction than the one of `others`.
    pub fn is_behind(&self, (from, rounds): (usize, &[u32]), others: &[u32], at: usize) -> bool {
        let (Some(&own_block), Some(&block)) = (self.block_of.get(from), self.block_of.get(at)) else {
            return false;
        };
        self.loops
            .iter()
            .zip(rounds.iter().zip(others))
            .any(|((_, inside), (own, other))| inside[block] && inside[own_block] && own < other)
    }

    /// True if control may get from an instruction to another; `passed`: the first has been executed.
    pub fn lead(&self, from: usize, to: usize, passed: bool) -> bool {
        let (Some(&start), Some(&end)) = (self.block_of.get(from), self.block_of.get(to)) else {
            return false;
        };
        if start == end {
            return from < to || from == to && !passed;
        }
        self.to[end][start]
    }

    /// True if control may get from one instruction to another, in the same round of loops or a later one.
    pub fn may_follow(&self, from: usize, to: usize) -> bool {
        let (Some(&start), Some(&end)) = (self.block_of.get(from), self.block_of.get(to)) else {
            return false;
        };
        self.lead(from, to, true) || self.loops.iter().any(|(_, inside)| inside[start] && inside[end])
    }
}
