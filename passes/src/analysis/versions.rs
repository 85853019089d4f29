//! Which definition of a register an instruction reads, where the register has several.
//!
//! Static single assignment form, for the registers that somebody asks for and without touching the body: each
//! definition makes a *version* of its register, and so does each *meeting*, a block that different versions reach.
//!
//! ```text
//! meetings of r     the iterated dominance frontier of the blocks that define r, where r is read later on
//! version(r, b)     at the entry of b: the meeting, if b is one, else what the immediate dominator of b ends with
//! ```
//!
//! (Cytron et al., "Efficiently Computing Static Single Assignment Form and the Control Dependence Graph", with
//! liveness.) A definition under a guard reads the version before it: where the guard does not hold, that one stays.

use super::cfg::Cfg;
use super::definitions::Definitions;
use super::dominators::Dominators;
use crate::ir::{BlockId, Body, InstructionId, Op, Register};

/// A version of a register: a definition, a meeting, or [`Version::NONE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version(u32);

impl Version {
    /// No definition: the register has not been written.
    pub const NONE: Self = Self(u32::MAX);
    /// Not looked up yet.
    const OPEN: Self = Self(u32::MAX - 1);

    /// Its number, for indexing [`Versions::count`] entries.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where different versions of a register come together.
#[derive(Clone, Copy, Debug)]
pub struct Meeting {
    /// The register.
    pub register: Register,
    /// At the entry of this block.
    pub block: BlockId,
    /// What comes together.
    pub version: Version,
    /// In [`Versions::operands`].
    operands: u32,
}

/// A register that a block reads before it writes it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The block.
    pub block: BlockId,
    /// The register.
    pub register: Register,
    /// What it holds when the block begins.
    pub version: Version,
}

/// The versions of the registers of a body that have several definitions, or one under a guard.
#[derive(Debug, Default)]
pub struct Versions {
    /// By register: the version of its first definition, [`Version::NONE`] if it has one version alone.
    first: Vec<Version>,
    /// How many versions there are.
    count: u32,
    /// By block, and where those of each block begin.
    meetings: Vec<Meeting>,
    meetings_of: Vec<u32>,
    operands: Vec<Version>,
    /// The same.
    entries: Vec<Entry>,
    entries_of: Vec<u32>,
}

impl Versions {
    /// Of `body`, for the registers that the instructions in `steps` (in the order of the input) write or read;
    /// `None` if there are more than `limit` places where one of them is alive, or a sixteenth as many meetings.
    #[must_use]
    pub fn new(
        body: &Body<'_>,
        (cfg, dominators, definitions): (&Cfg, &Dominators, &Definitions),
        steps: &[InstructionId],
        limit: usize,
    ) -> Option<Self> {
        let mut search = Search {
            body,
            cfg,
            dominators,
            versions: Self::default(),
            uses: Vec::new(),
            ends: Vec::new(),
            frontiers: None,
            found: Vec::new(),
            path: Vec::new(),
            left: limit,
            meetings_left: limit / PLACES_PER_MEETING,
        };
        search.scan(definitions, steps);
        search.place()?;
        let mut versions = search.versions;
        let blocks = body.blocks.len();
        (versions.meetings, versions.meetings_of) =
            by_block(&versions.meetings, blocks, |meeting| meeting.block);
        (versions.entries, versions.entries_of) = by_block(&versions.entries, blocks, |entry| entry.block);
        Some(versions)
    }

    /// How many versions there are.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count as usize
    }

    /// Whether a register has versions. The others have one definition, which is what every reader gets.
    #[must_use]
    pub fn has(&self, register: Register) -> bool {
        self.first
            .get(register.index())
            .is_some_and(|&first| first != Version::NONE)
    }

    /// The version that an instruction makes of a register that [`Self::has`] versions.
    #[must_use]
    pub fn made(&self, definitions: &Definitions, register: Register, by: InstructionId) -> Version {
        let place = definitions
            .of(register)
            .partition_point(|&definition| definition < by);
        Version(self.first[register.index()].0 + place as u32)
    }

    /// The meetings at the entry of a block.
    #[must_use]
    pub fn meetings(&self, block: BlockId) -> &[Meeting] {
        let (start, end) = (
            self.meetings_of[block.index()],
            self.meetings_of[block.index() + 1],
        );
        &self.meetings[start as usize..end as usize]
    }

    /// What comes together, in the order of [`Cfg::predecessors`].
    #[must_use]
    pub fn operands(&self, meeting: &Meeting, cfg: &Cfg) -> &[Version] {
        &self.operands[meeting.operands as usize..][..cfg.predecessors(meeting.block).len()]
    }

    /// What a block reads before it writes it.
    #[must_use]
    pub fn entries(&self, block: BlockId) -> &[Entry] {
        let (start, end) = (self.entries_of[block.index()], self.entries_of[block.index() + 1]);
        &self.entries[start as usize..end as usize]
    }
}

/// Puts things in the order of their blocks, and says where those of each block begin.
fn by_block<T: Copy>(of: &[T], blocks: usize, block: impl Fn(&T) -> BlockId) -> (Vec<T>, Vec<u32>) {
    let mut starts = vec![0_u32; blocks + 1];
    for one in of {
        starts[block(one).index() + 1] += 1;
    }
    for number in 0..blocks {
        starts[number + 1] += starts[number];
    }
    let mut next = starts.clone();
    let mut places = vec![0_u32; of.len()];
    for (number, one) in of.iter().enumerate() {
        let place = &mut next[block(one).index()];
        places[*place as usize] = number as u32;
        *place += 1;
    }
    (
        places.into_iter().map(|number| of[number as usize]).collect(),
        starts,
    )
}

/// Meetings are kept, places are not: of so many places, one may be a meeting.
const PLACES_PER_MEETING: usize = 16;

struct Search<'a, 'm> {
    body: &'a Body<'m>,
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    versions: Versions,
    /// Reads before writes.
    uses: Vec<(Register, BlockId)>,
    /// The last version that a block makes.
    ends: Vec<(Register, BlockId, Version)>,
    frontiers: Option<Frontiers>,
    /// The blocks where the register being looked at is alive, and blocks still to be looked at.
    found: Vec<BlockId>,
    path: Vec<BlockId>,
    left: usize,
    meetings_left: usize,
}

/// What is known of the blocks while one register is looked at; stamps save clearing it.
#[derive(Default)]
struct Marks {
    /// The register is alive at the entry, and the version there.
    alive: Vec<(u32, Version)>,
    /// The block ends with this version of its own.
    end: Vec<(u32, Version)>,
    stamp: u32,
}

impl Marks {
    fn end(&self, block: BlockId) -> Option<Version> {
        let (stamp, version) = self.end[block.index()];
        (stamp == self.stamp).then_some(version)
    }

    fn is_alive(&self, block: BlockId) -> bool {
        self.alive[block.index()].0 == self.stamp
    }

    fn entry(&self, block: BlockId) -> Version {
        let (stamp, version) = self.alive[block.index()];
        if stamp == self.stamp {
            version
        } else {
            Version::NONE
        }
    }
}

impl Search<'_, '_> {
    /// Lists reads before writes and last writes, by register and block.
    fn scan(&mut self, definitions: &Definitions, steps: &[InstructionId]) {
        let body = self.body;
        // Does it have versions? Not known, no, or yes.
        self.versions.first = vec![Version::NONE; body.registers.len()];
        let mut is_known = vec![false; body.registers.len()];
        let mut written = vec![u32::MAX; body.registers.len()];
        let mut read = vec![u32::MAX; body.registers.len()];
        let mut block = 0;
        for &step in steps {
            while body
                .blocks
                .get(block)
                .is_some_and(|of| of.instructions.end <= step.index() as u32)
            {
                block += 1;
            }
            let at = BlockId::new(block);
            let instruction = body.instruction(step);
            let mut version = |versions: &mut Versions, register: Register| {
                let index = register.index();
                if !std::mem::replace(&mut is_known[index], true) {
                    let of = definitions.of(register);
                    let is_one = matches!(of, &[one] if body.instruction(one).guard.is_none());
                    if !is_one && !of.is_empty() {
                        versions.first[index] = Version(versions.count);
                        versions.count += of.len() as u32;
                    }
                }
                versions.has(register)
            };
            let guard = instruction.guard.map(|guard| guard.register);
            let results = body.defined(instruction).filter(|_| guard.is_some());
            let uses = body.uses(instruction).iter().filter_map(|value| value.register());
            let passed = match instruction.op {
                Op::Call(call) => body.arguments(body.call(call)),
                _ => &[],
            };
            let passed = passed.iter().filter_map(|argument| argument.value.register());
            for register in guard.into_iter().chain(uses).chain(passed).chain(results) {
                let index = register.index();
                if version(&mut self.versions, register)
                    && written[index] != block as u32
                    && std::mem::replace(&mut read[index], block as u32) != block as u32
                {
                    self.uses.push((register, at));
                }
            }
            for register in body.defined(instruction) {
                if version(&mut self.versions, register) {
                    written[register.index()] = block as u32;
                    let made = self.versions.made(definitions, register, step);
                    match self.ends.last_mut() {
                        Some(last) if (last.0, last.1) == (register, at) => last.2 = made,
                        _ => self.ends.push((register, at, made)),
                    }
                }
            }
        }
    }

    /// Finds the meetings and what each read gets, one register after the other.
    fn place(&mut self) -> Option<()> {
        // Stable: the last version of a block stays the last.
        self.ends.sort_by_key(|&(register, block, _)| (register, block));
        self.uses.sort_unstable();
        let blocks = self.body.blocks.len();
        let mut marks = Marks {
            alive: vec![(0, Version::NONE); blocks],
            end: vec![(0, Version::NONE); blocks],
            stamp: 0,
        };
        let (uses, ends) = (std::mem::take(&mut self.uses), std::mem::take(&mut self.ends));
        let mut ends = ends.as_slice();
        for uses in uses.chunk_by(|a, b| a.0 == b.0) {
            let register = uses[0].0;
            let skip = ends.partition_point(|end| end.0 < register);
            let own = ends[skip..].partition_point(|end| end.0 == register);
            self.register(register, uses, &ends[skip..skip + own], &mut marks)?;
            ends = &ends[skip + own..];
        }
        Some(())
    }

    fn register(
        &mut self,
        register: Register,
        uses: &[(Register, BlockId)],
        ends: &[(Register, BlockId, Version)],
        marks: &mut Marks,
    ) -> Option<()> {
        marks.stamp += 1;
        for &(_, block, version) in ends {
            marks.end[block.index()] = (marks.stamp, version);
        }
        self.alive(uses, marks)?;
        self.meet(register, ends, marks)?;
        let mut path = std::mem::take(&mut self.path);
        for &block in &self.found {
            // Up to the next dominator that is known, and down again.
            let mut current = block;
            let version = loop {
                if marks.entry(current) != Version::OPEN {
                    break marks.entry(current);
                }
                path.push(current);
                match self.dominators.immediate(current) {
                    Some(above) => match marks.end(above) {
                        Some(version) => break version,
                        None => current = above,
                    },
                    None => break Version::NONE,
                }
            };
            for block in path.drain(..) {
                marks.alive[block.index()].1 = version;
            }
        }
        self.path = path;
        let (cfg, versions) = (self.cfg, &mut self.versions);
        let first = versions
            .meetings
            .iter()
            .rposition(|meeting| meeting.register != register);
        for meeting in &mut versions.meetings[first.map_or(0, |last| last + 1)..] {
            meeting.operands = versions.operands.len() as u32;
            let of = |&before: &BlockId| marks.end(before).unwrap_or_else(|| marks.entry(before));
            versions
                .operands
                .extend(cfg.predecessors(meeting.block).iter().map(of));
        }
        versions.entries.extend(uses.iter().map(|&(_, block)| Entry {
            block,
            register,
            version: marks.entry(block),
        }));
        Some(())
    }

    /// The blocks at whose entry the register's value matters.
    fn alive(&mut self, uses: &[(Register, BlockId)], marks: &mut Marks) -> Option<()> {
        self.found.clear();
        let mut work = std::mem::take(&mut self.path);
        work.extend(uses.iter().map(|&(_, block)| block));
        while let Some(block) = work.pop() {
            if marks.is_alive(block) || self.cfg.rank(block).is_none() {
                continue;
            }
            self.left = self.left.checked_sub(1)?;
            marks.alive[block.index()] = (marks.stamp, Version::OPEN);
            self.found.push(block);
            let before = self.cfg.predecessors(block).iter().copied();
            work.extend(before.filter(|&before| marks.end(before).is_none()));
        }
        self.path = work;
        Some(())
    }

    /// Makes a version for each meeting.
    fn meet(
        &mut self,
        register: Register,
        ends: &[(Register, BlockId, Version)],
        marks: &mut Marks,
    ) -> Option<()> {
        let frontiers = match self.frontiers.take() {
            Some(known) => known,
            None => Frontiers::new(self.body, self.cfg, self.dominators, &mut self.left)?,
        };
        let mut work: Vec<BlockId> = ends.iter().map(|&(_, block, _)| block).collect();
        while let Some(block) = work.pop() {
            for &frontier in frontiers.of(block) {
                if marks.entry(frontier) != Version::OPEN {
                    continue;
                }
                self.left = self.left.checked_sub(1)?;
                self.meetings_left = self.meetings_left.checked_sub(1)?;
                let version = Version(self.versions.count);
                self.versions.count += 1;
                marks.alive[frontier.index()].1 = version;
                self.versions.meetings.push(Meeting {
                    register,
                    block: frontier,
                    version,
                    operands: 0,
                });
                if marks.end(frontier).is_none() {
                    work.push(frontier);
                }
            }
        }
        self.frontiers = Some(frontiers);
        Some(())
    }
}

/// The dominance frontier of each block: the blocks that it does not dominate, but a predecessor of.
struct Frontiers {
    blocks: Vec<BlockId>,
    starts: Vec<u32>,
}

impl Frontiers {
    fn new(body: &Body<'_>, cfg: &Cfg, dominators: &Dominators, left: &mut usize) -> Option<Self> {
        let count = body.blocks.len();
        let mut pairs: Vec<(BlockId, BlockId)> = Vec::new();
        for &block in cfg.reverse_postorder() {
            let before = cfg.predecessors(block);
            if before.len() < 2 {
                continue;
            }
            let end = dominators.immediate(block);
            for &before in before.iter().filter(|&&before| cfg.rank(before).is_some()) {
                let mut runner = Some(before);
                while let Some(at) = runner.filter(|_| runner != end) {
                    *left = left.checked_sub(1)?;
                    pairs.push((at, block));
                    runner = dominators.immediate(at);
                }
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        let starts = (0..=count)
            .map(|block| pairs.partition_point(|pair| pair.0.index() < block) as u32)
            .collect();
        Some(Self {
            blocks: pairs.into_iter().map(|pair| pair.1).collect(),
            starts,
        })
    }

    fn of(&self, block: BlockId) -> &[BlockId] {
        &self.blocks[self.starts[block.index()] as usize..self.starts[block.index() + 1] as usize]
    }
}

#[cfg(test)]
mod tests;
