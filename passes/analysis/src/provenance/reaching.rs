//! Reaching definitions of registers and slots that are written more than once.
//!
//! ```text
//! out(b) = the definitions in b that no later unguarded one in b replaces
//!          ∪ in(b) if b has no unguarded definition
//! in(b)  = ∪ out(p) for the edges p → b
//! ```
//!
//! Solved for one variable at a time, over the blocks that its definitions reach, and only where it makes a difference (see
//! `solver`). Until then, and for a variable with more definitions than a word has bits, all definitions reach all uses.

use rustc_hash::FxHashMap;

use ptxcheck_ir::cfg::Cfg;
use ptxcheck_ir::{BlockId, Body, InstructionId};

/// Limit on the definitions of a variable for which reaching definitions are solved.
pub(super) const MAX_SOLVED: usize = u64::BITS as usize;

/// A definition: where, and whether the definitions before it survive (it is guarded, or writes a part).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Definition {
    /// The instruction.
    pub at: InstructionId,
    /// The previous value may survive.
    pub is_partial: bool,
}

/// The definitions of one variable and how far they reach.
#[derive(Debug)]
pub(super) struct Reaching {
    /// The definitions, in the order of the input.
    definitions: Vec<Definition>,
    /// For each block, the definitions that reach its entry, as bits; `None` if not solved.
    entries: Option<FxHashMap<BlockId, u64>>,
    /// True if all definitions reach all uses, so that solving adds nothing.
    is_settled: bool,
}

impl Reaching {
    /// These definitions, all of which reach all uses.
    #[must_use]
    pub(super) fn of_unsolved_definitions(mut definitions: Vec<Definition>) -> Self {
        definitions.sort_unstable_by_key(|definition| definition.at);
        Self {
            definitions,
            entries: None,
            is_settled: false,
        }
    }

    /// Solves; `steps` is the remaining budget, in visited blocks. False if that is not possible.
    pub(super) fn solve(&mut self, body: &Body<'_>, cfg: &Cfg, steps: &mut usize) -> bool {
        if self.definitions.len() <= MAX_SOLVED {
            self.entries = solve_reaching(body, cfg, &self.definitions, steps);
        }
        self.entries.is_some()
    }

    /// The definitions, in the order of the input.
    #[must_use]
    pub(super) fn definitions(&self) -> &[Definition] {
        &self.definitions
    }

    /// True if the definitions that reach each block are known.
    #[must_use]
    pub(super) const fn is_solved(&self) -> bool {
        self.entries.is_some()
    }

    /// True if solving could still give a more precise result.
    #[must_use]
    pub(super) const fn may_be_refined(&self) -> bool {
        self.entries.is_none() && !self.is_settled
    }

    /// Records that all definitions reach all readers of the variable.
    pub(super) const fn assume_all_reach_everywhere(&mut self) {
        self.is_settled = true;
    }

    /// The definitions that reach `at`, which lies in `block`.
    pub(super) fn definitions_before(
        &self,
        at: InstructionId,
        block: BlockId,
        body: &Body<'_>,
    ) -> impl Iterator<Item = InstructionId> {
        let bits = match &self.entries {
            Some(entries) => {
                let start = InstructionId::new(body.blocks[block.index()].instructions.start as usize);
                let first = self.definitions.partition_point(|known| known.at < start);
                let last = self.definitions.partition_point(|known| known.at < at);
                let entry = entries.get(&block).copied().unwrap_or(0);
                Ok(definitions_after(&self.definitions, first..last, entry))
            }
            None => Err(()),
        };
        self.definitions
            .iter()
            .enumerate()
            .filter(move |(number, _)| bits.is_err() || bits.is_ok_and(|bits| bits >> number & 1 == 1))
            .map(|(_, definition)| definition.at)
    }
}

/// The definitions, as bits, that reach the point after the definitions `passed`, given those that reach the point before.
fn definitions_after(definitions: &[Definition], passed: std::ops::Range<usize>, mut bits: u64) -> u64 {
    for number in passed {
        if !definitions[number].is_partial {
            bits = 0;
        }
        bits |= 1 << number;
    }
    bits
}

fn solve_reaching(
    body: &Body<'_>,
    cfg: &Cfg,
    definitions: &[Definition],
    steps: &mut usize,
) -> Option<FxHashMap<BlockId, u64>> {
    // By block with a definition: the range of its definitions.
    let mut own: FxHashMap<BlockId, std::ops::Range<usize>> = FxHashMap::default();
    for (number, definition) in definitions.iter().enumerate() {
        let block = body.block_of(definition.at);
        own.entry(block).or_insert(number..number).end = number + 1;
    }
    let mut entries: FxHashMap<BlockId, u64> = FxHashMap::default();
    let mut work: Vec<BlockId> = own
        .keys()
        .copied()
        .filter(|block| cfg.rank(*block).is_some())
        .collect();
    work.sort_unstable();
    while let Some(block) = work.pop() {
        *steps = steps.checked_sub(1)?;
        let entry = entries.get(&block).copied().unwrap_or(0);
        let out = match own.get(&block) {
            Some(range) => definitions_after(definitions, range.clone(), entry),
            None => entry,
        };
        for &successor in body.successors(block) {
            let known = entries.entry(successor).or_insert(0);
            if *known | out != *known {
                *known |= out;
                work.push(successor);
            }
        }
    }
    Some(entries)
}
