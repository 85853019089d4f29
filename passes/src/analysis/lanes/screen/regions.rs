//! What branches decide: which blocks lanes are kept from, and which of several ways has led to a block.
//!
//! A branch keeps lanes from what comes up to its nearest post-dominator, through other branches too; an instruction
//! under a guard that ends threads from all that comes after. It *picks* among the edges into a block if ways from it
//! that have had no block in common come together there, and whether control comes round a loop that it may leave.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Suspect;
use super::pass::Pass;
use crate::analysis::cfg::Cfg;
use crate::analysis::dominators::Dominators;
use crate::ir::{BlockId, Body, Op};

/// Whether it may be known where a branch leads; each covers those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decided {
    /// Nobody knows.
    #[default]
    No,
    /// The same way for all lanes of a warp.
    Together,
    /// Ways that differ from lane to lane.
    ByLane,
}

/// What the branches that a sweep has come by decide.
#[derive(Clone)]
struct Marks {
    /// By block: lanes may be kept from it.
    restricted: Vec<bool>,
    /// By edge: picked instead of others into the same block.
    picked: Vec<Decided>,
}

/// The marks of a sweep, and of the one before.
pub struct Regions {
    now: Marks,
    before: Marks,
    /// By block: its branch has been followed in this sweep, to find what it keeps lanes from.
    followed: Vec<bool>,
    is_split: bool,
    /// Steps left in the sweep.
    left: usize,
    /// By rank of a block: the last rank in the loops around it, if there are any.
    horizon: Vec<u32>,
    /// By rank of a block: the last rank from which an edge goes back to it; 0 if none does.
    ends: Vec<u32>,
    back_edges: Vec<u32>,
    ways: Ways,
}

/// Steps over all branches of a function in one sweep, for each block. Beyond, it is a suspect.
const STEPS_PER_BLOCK: usize = 64;

impl Regions {
    pub fn new(cfg: &Cfg, blocks: usize) -> Self {
        let ends = ends(cfg);
        // Loops lie within the ranks from their headers to their last ends.
        let furthest = |furthest: &mut u32, &end: &u32| {
            *furthest = end.max(*furthest);
            Some(*furthest)
        };
        let none = Marks {
            restricted: vec![false; blocks],
            picked: vec![Decided::No; cfg.edges()],
        };
        Self {
            now: none.clone(),
            before: none,
            followed: vec![false; blocks],
            is_split: false,
            left: 0,
            horizon: ends.iter().scan(0, furthest).collect(),
            ends,
            back_edges: back_edges(cfg),
            ways: Ways {
                labels: vec![
                    Label {
                        walk: 0,
                        way: Way::First(0)
                    };
                    blocks
                ],
                ..Ways::default()
            },
        }
    }

    /// Begins a sweep.
    pub fn begin(&mut self) {
        std::mem::swap(&mut self.now, &mut self.before);
        self.now.restricted.fill(false);
        self.now.picked.fill(Decided::No);
        self.followed.fill(false);
        self.is_split = false;
        self.left = STEPS_PER_BLOCK * self.followed.len();
    }

    /// Whether another sweep would find other marks where it looks at those of the one before: round loops, and, if
    /// something depends on that, at what lanes are kept from.
    pub fn have_changed(&self, counts_restricted: bool) -> bool {
        let differs = |&edge: &u32| self.now.picked[edge as usize] != self.before.picked[edge as usize];
        self.back_edges.iter().any(differs)
            || counts_restricted && self.now.restricted != self.before.restricted
    }

    /// Who decides that control comes along an edge; into the header of a loop, branches further on do, too.
    pub fn picked(&self, edge: usize, is_header: bool) -> Decided {
        let now = self.now.picked[edge];
        if is_header {
            now.max(self.before.picked[edge])
        } else {
            now
        }
    }

    /// Lanes may be kept from here, as far as is known by now or was in the sweep before.
    pub fn is_restricted(&self, block: BlockId) -> bool {
        self.now.restricted[block.index()] || self.before.restricted[block.index()]
    }

    /// Lanes may part somewhere.
    pub const fn is_split(&self) -> bool {
        self.is_split
    }
}

/// The edges that lead to a block from one that does not come before it.
fn back_edges(cfg: &Cfg) -> Vec<u32> {
    let mut found = Vec::new();
    for &block in cfg.reverse_postorder() {
        for (edge, &source) in (cfg.first_edge(block)..).zip(cfg.predecessors(block)) {
            if cfg.rank(source) >= cfg.rank(block) {
                found.push(edge as u32);
            }
        }
    }
    found
}

/// By rank: the last rank from which an edge goes back to the block.
fn ends(cfg: &Cfg) -> Vec<u32> {
    let end = |(rank, &block): (usize, &BlockId)| {
        let sources = cfg.predecessors(block).iter();
        let back = sources
            .filter_map(|&source| cfg.rank(source))
            .filter(|&end| end >= rank);
        back.max().unwrap_or(0) as u32
    };
    cfg.reverse_postorder().iter().enumerate().map(end).collect()
}

impl Pass<'_, '_, '_> {
    /// Marks what the branch at the end of `block` decides.
    pub(super) fn follow(&mut self, block: BlockId, decided: Decided) -> Result<(), Suspect> {
        self.pick(block, decided)?;
        if decided == Decided::ByLane {
            self.regions.is_split = true;
            self.restrict(block)?;
        }
        Ok(())
    }

    /// Marks the blocks that the branch at the end of `first` keeps lanes from.
    fn restrict(&mut self, first: BlockId) -> Result<(), Suspect> {
        let body = self.body;
        let mut region = Region {
            body,
            post: self.post_dominators(),
            regions: &mut self.regions,
            work: vec![first],
        };
        while let Some(block) = region.work.pop() {
            let Some(last) = body.terminator(block) else {
                continue;
            };
            if std::mem::replace(&mut region.regions.followed[block.index()], true) {
                continue;
            }
            if matches!(last.op, Op::Return | Op::Exit | Op::Trap) {
                if last.guard.is_some() {
                    // To the end: there is no block that all lanes come to.
                    region.all_after(block);
                }
            } else {
                region.branch(block)?;
            }
        }
        Ok(())
    }

    /// Marks the edges among which the branch at the end of `branch` picks.
    fn pick(&mut self, branch: BlockId, decided: Decided) -> Result<(), Suspect> {
        let (body, cfg) = (self.body, self.cfg);
        let regions = &mut self.regions;
        let (ways, picked) = (&mut regions.ways, &mut regions.now.picked);
        let Some(own) = cfg.rank(branch) else {
            return Ok(());
        };
        let horizon = regions.horizon[own] as usize;
        ways.begin();
        for (number, &next) in body.successors(branch).iter().enumerate() {
            ways.step(cfg, branch, next, Way::First(number as u32));
        }
        // An instruction that ends threads has one way on. The others have all that there are, and go on until one is
        // left; where some have ended, up to where the loops around the branch begin anew.
        ways.has_ended = body.successors(branch).len() < 2;
        while let Some(Reverse((rank, block))) = ways.heap.pop() {
            // The branch itself has been followed, and what several ways have led to comes up once for each.
            if block == branch || ways.heap.peek() == Some(&Reverse((rank, block))) {
                continue;
            }
            let way = ways.labels[block.index()].way;
            if ways.heap.is_empty() && (!ways.has_ended || rank > horizon) {
                break;
            }
            regions.left = regions.left.checked_sub(1).ok_or(Suspect)?;
            let successors = body.successors(block);
            ways.has_ended |= successors.is_empty();
            for &next in successors {
                ways.step(cfg, block, next, way);
            }
        }
        for &(from, to) in &ways.taken {
            // Round a loop that the branch is in.
            let is_back = cfg.rank(to) <= cfg.rank(from)
                && cfg
                    .rank(to)
                    .is_some_and(|rank| rank <= own && regions.ends[rank] as usize >= own);
            if is_back || ways.labels[to.index()].way == Way::From(to) {
                let first = cfg.first_edge(to);
                for (place, &before) in cfg.predecessors(to).iter().enumerate() {
                    if before == from {
                        let known = &mut picked[first + place];
                        *known = decided.max(*known);
                    }
                }
            }
        }
        Ok(())
    }
}

/// The ways from one branch.
#[derive(Default)]
struct Ways {
    /// By block.
    labels: Vec<Label>,
    walk: u32,
    /// Blocks to go on from, by rank.
    heap: BinaryHeap<Reverse<(usize, BlockId)>>,
    taken: Vec<(BlockId, BlockId)>,
    /// A way has come to an end of the function.
    has_ended: bool,
}

impl Ways {
    fn begin(&mut self) {
        self.walk += 1;
        self.heap.clear();
        self.taken.clear();
        self.has_ended = false;
    }

    fn step(&mut self, cfg: &Cfg, from: BlockId, to: BlockId, way: Way) {
        self.taken.push((from, to));
        let Some(rank) = cfg.rank(to) else { return };
        let known = &mut self.labels[to.index()];
        if known.walk != self.walk {
            *known = Label { walk: self.walk, way };
        } else if known.way != way && known.way != Way::From(to) {
            known.way = Way::From(to);
        } else {
            return;
        }
        self.heap.push(Reverse((rank, to)));
    }
}

/// Where a way begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// At the branch, along this of its edges.
    First(u32),
    /// Where several came together last.
    From(BlockId),
}

/// The way by which a walk has come to a block.
#[derive(Clone, Copy)]
struct Label {
    walk: u32,
    way: Way,
}

/// The blocks that a branch keeps lanes from.
struct Region<'a, 'm> {
    body: &'a Body<'m>,
    post: &'a Dominators,
    regions: &'a mut Regions,
    work: Vec<BlockId>,
}

impl Region<'_, '_> {
    /// The branch at the end of `block`, up to where its ways meet.
    fn branch(&mut self, block: BlockId) -> Result<(), Suspect> {
        let body = self.body;
        if !self.post.dominates(block, block) {
            // A way leads to a loop without end.
            return Err(Suspect);
        }
        let successors = body.successors(block);
        if successors.len() < 2 {
            return Ok(());
        }
        let end = self.post.immediate(block);
        for &successor in successors {
            let mut next = Some(successor);
            while let Some(inside) = next.filter(|_| next != end) {
                self.regions.left = self.regions.left.checked_sub(1).ok_or(Suspect)?;
                if !self.post.dominates(inside, inside) {
                    return Err(Suspect);
                }
                self.enter(inside);
                next = self.post.immediate(inside);
            }
        }
        Ok(())
    }

    /// Whether it is new.
    fn enter(&mut self, block: BlockId) -> bool {
        let is_new = !std::mem::replace(&mut self.regions.now.restricted[block.index()], true);
        if is_new {
            self.work.push(block);
        }
        is_new
    }

    /// All that comes after a block.
    fn all_after(&mut self, block: BlockId) {
        let body = self.body;
        let mut pending: Vec<BlockId> = body.successors(block).to_vec();
        while let Some(next) = pending.pop() {
            if self.enter(next) {
                pending.extend(body.successors(next));
            }
        }
    }
}
