//! Reachability between the blocks of a kernel: distinguishes a thread that can still reach the others from one that has left their path.

use std::sync::OnceLock;

use ptxcheck_ir::cfg::Cfg;
use ptxcheck_ir::{Block, BlockId, Body, Op};

use crate::limits::MAX_WAY_STEPS;
use crate::outcome::Refused;

/// A set of blocks.
#[derive(Clone, Debug)]
struct Blocks(Vec<u64>);

impl Blocks {
    fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    fn has(&self, block: usize) -> bool {
        self.0
            .get(block / 64)
            .is_some_and(|word| word >> (block % 64) & 1 == 1)
    }

    /// True if the block was not in it.
    fn add(&mut self, block: usize) -> bool {
        let word = &mut self.0[block / 64];
        let is_new = *word >> (block % 64) & 1 == 0;
        *word |= 1 << (block % 64);
        is_new
    }
}

/// The natural loop of a back edge.
#[derive(Debug)]
struct Loop {
    header: usize,
    inside: Blocks,
    /// The loops, by their numbers, with another header that lies inside.
    inner: Vec<usize>,
}

/// A position in a kernel: an instruction by its number, and its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) block: BlockId,
    pub(crate) instruction: usize,
}

/// Reachability between the blocks of a kernel, within one round of the loops around the target.
#[derive(Debug)]
pub(crate) struct Ways {
    cfg: Cfg,
    /// By block: the back edges to it, from blocks that it dominates.
    back: Vec<Vec<usize>>,
    loops: Vec<Loop>,
    /// By block: the loops that it is the header of.
    headed: Vec<Vec<usize>>,
    /// By target block: the blocks that lead to it.
    to: Vec<OnceLock<Blocks>>,
}

impl Ways {
    /// Of the body of a kernel.
    ///
    /// # Errors
    ///
    /// [`Refused::TooLarge`]: this takes more than [`MAX_WAY_STEPS`] steps.
    pub(crate) fn new(body: &Body<'_>) -> Result<Self, Refused> {
        let count = body.blocks.len();
        let size = count + body.edges.len();
        let waiting = body.blocks.iter().filter(|block| may_wait(body, block)).count();
        if waiting.saturating_mul(size) > MAX_WAY_STEPS {
            return Err(Refused::TooLarge);
        }
        let cfg = Cfg::new(body);
        let mut ways = Self {
            back: vec![Vec::new(); count],
            loops: Vec::new(),
            headed: vec![Vec::new(); count],
            to: (0..count).map(|_| OnceLock::new()).collect(),
            cfg,
        };
        ways.find_back_edges(body)?;
        ways.find_loops(body)?;
        Ok(ways)
    }

    /// The headers of the loops.
    pub(crate) fn headers(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.loops.iter().map(|one| BlockId::new(one.header))
    }

    /// Number of loops.
    pub(crate) fn loops(&self) -> usize {
        self.loops.len()
    }

    /// An edge is a back edge if its target dominates its source: if the entry does not reach the source without the target.
    fn find_back_edges(&mut self, body: &Body<'_>) -> Result<(), Refused> {
        let count = self.back.len();
        let mut steps = 0_usize;
        for target in 0..count {
            let Some(rank) = self.cfg.rank(BlockId::new(target)) else {
                continue;
            };
            let mut sources = self.cfg.predecessors(BlockId::new(target)).iter();
            // Only edges against the order can be back edges.
            let is_against = |source: &BlockId| self.cfg.rank(*source).is_some_and(|from| from >= rank);
            if !sources.clone().any(is_against) {
                continue;
            }
            steps = steps.saturating_add(count + body.edges.len());
            if steps > MAX_WAY_STEPS {
                return Err(Refused::TooLarge);
            }
            let reached = reached_without(body, target);
            let dominated = sources
                .by_ref()
                .filter(|source| self.cfg.rank(**source).is_some() && !reached.has(source.index()));
            self.back[target] = dominated.map(|source| source.index()).collect();
        }
        Ok(())
    }

    fn find_loops(&mut self, body: &Body<'_>) -> Result<(), Refused> {
        let count = self.back.len();
        let mut edges = Vec::new();
        for source in 0..count {
            for header in body.successors(BlockId::new(source)) {
                if self.is_back(source, header.index()) {
                    edges.push((source, header.index()));
                }
            }
        }
        let steps = edges.len().saturating_mul(count + body.edges.len() + edges.len());
        if steps > MAX_WAY_STEPS {
            return Err(Refused::TooLarge);
        }
        for (number, (source, header)) in edges.into_iter().enumerate() {
            let mut inside = self.backwards(source, &|_, block| block != header);
            inside.add(header);
            self.headed[header].push(number);
            self.loops.push(Loop {
                header,
                inside,
                inner: Vec::new(),
            });
        }
        let inner_of = |outer: &Loop| {
            let all = self.loops.iter().enumerate();
            all.filter(|(_, inner)| outer.inside.has(inner.header) && inner.header != outer.header)
                .map(|(number, _)| number)
                .collect()
        };
        let inner: Vec<Vec<usize>> = self.loops.iter().map(inner_of).collect();
        for (one, inner) in self.loops.iter_mut().zip(inner) {
            one.inner = inner;
        }
        Ok(())
    }

    fn is_back(&self, source: usize, target: usize) -> bool {
        self.back[target].contains(&source)
    }

    /// The blocks from which edges that are kept lead to `from`, and itself.
    fn backwards(&self, from: usize, keep: &dyn Fn(usize, usize) -> bool) -> Blocks {
        let mut seen = Blocks::new(self.back.len());
        let mut work = vec![from];
        seen.add(from);
        while let Some(block) = work.pop() {
            for before in self.cfg.predecessors(BlockId::new(block)) {
                let before = before.index();
                if keep(before, block) && seen.add(before) {
                    work.push(before);
                }
            }
        }
        seen
    }

    /// The blocks that lead to a target without an edge back to a header of a loop around it.
    fn leading_to(&self, target: usize) -> &Blocks {
        self.to[target].get_or_init(|| {
            let mut around = Blocks::new(self.back.len());
            for one in self.loops.iter().filter(|one| one.inside.has(target)) {
                around.add(one.header);
            }
            self.backwards(target, &|from, block| {
                !(around.has(block) && self.is_back(from, block))
            })
        })
    }

    /// True if a block is the header of a loop.
    pub(crate) fn is_header(&self, block: BlockId) -> bool {
        !self.headed[block.index()].is_empty()
    }

    /// Counts a step to a block: entering a header begins a round of its loop, and of those inside anew.
    pub(crate) fn enter(&self, rounds: &mut [u32], block: BlockId) {
        for &number in &self.headed[block.index()] {
            rounds[number] = rounds[number].saturating_add(1);
            for &inner in &self.loops[number].inner {
                rounds[inner] = 0;
            }
        }
    }

    /// True if the thread of `rounds` is in an earlier round of a loop around an instruction than the one of `others`.
    pub(crate) fn is_behind(&self, (from, rounds): (Position, &[u32]), others: &[u32], at: Position) -> bool {
        self.loops
            .iter()
            .zip(rounds.iter().zip(others))
            .any(|(one, (own, other))| {
                own < other && one.inside.has(at.block.index()) && one.inside.has(from.block.index())
            })
    }

    /// True if the thread of `rounds` is in a later round of a loop around an instruction than the one of `others`.
    pub(crate) fn is_ahead(&self, from: (Position, &[u32]), others: &[u32], at: Position) -> bool {
        self.is_behind((from.0, others), from.1, at)
    }

    /// True if control may get from an instruction to another in one round; `passed`: the first has been executed.
    pub(crate) fn lead(&self, from: Position, to: Position, passed: bool) -> bool {
        if from.block == to.block {
            return from.instruction < to.instruction || from.instruction == to.instruction && !passed;
        }
        self.leading_to(to.block.index()).has(from.block.index())
    }

    /// True if control may get from one instruction to another, in the same round of loops or a later one.
    pub(crate) fn may_follow(&self, from: Position, to: Position) -> bool {
        let both = |one: &Loop| one.inside.has(from.block.index()) && one.inside.has(to.block.index());
        self.lead(from, to, true) || self.loops.iter().any(both)
    }
}

/// True if threads may wait in a block, or in a function that it calls.
fn may_wait(body: &Body<'_>, block: &Block) -> bool {
    let instructions = body.instructions[block.instructions.range()].iter();
    let mut ops = instructions.map(|instruction| instruction.op);
    ops.any(|op| matches!(op, Op::Collective(..) | Op::Barrier(_) | Op::Call(_)))
}

/// The blocks that the entry reaches on paths that avoid a block.
fn reached_without(body: &Body<'_>, without: usize) -> Blocks {
    let mut seen = Blocks::new(body.blocks.len());
    let mut work = Vec::new();
    if without != 0 && seen.add(0) {
        work.push(0);
    }
    while let Some(block) = work.pop() {
        for successor in body.successors(BlockId::new(block)) {
            let successor = successor.index();
            if successor != without && seen.add(successor) {
                work.push(successor);
            }
        }
    }
    seen
}
