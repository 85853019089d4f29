//! Sets of kinds of collectives, barriers included.

use rustc_hash::FxHashSet;

use crate::lanes::graph::is_full_barrier;
use ptxcheck_ir::{Collective, Instruction, InstructionId, Match, MemberMask, Op, Shuffle, Vote};

/// A set of kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CollectiveKinds(u32);

impl CollectiveKinds {
    pub(super) const NONE: Self = Self(0);
    pub(super) const ALL: Self = Self(u32::MAX);
    pub(super) const BARRIER: Self = Self(1);

    /// Kind of an instruction that is treated as waiting for all lanes.
    pub(super) const fn kinds_of_op(op: Op) -> Self {
        let number = match op {
            Op::Barrier(_) => return Self::BARRIER,
            Op::Collective(kind, _) => match kind {
                Collective::Sync => 1,
                Collective::Reduce => 2,
                Collective::Elect => 3,
                Collective::Shuffle(Shuffle::Up) => 4,
                Collective::Shuffle(Shuffle::Down) => 5,
                Collective::Shuffle(Shuffle::Butterfly) => 6,
                Collective::Shuffle(Shuffle::Index) => 7,
                Collective::Vote(Vote::All) => 8,
                Collective::Vote(Vote::Any) => 9,
                Collective::Vote(Vote::Uniform) => 10,
                Collective::Vote(Vote::Ballot) => 11,
                Collective::Match(Match::Any, 64) => 12,
                Collective::Match(Match::Any, _) => 13,
                Collective::Match(Match::All, 64) => 14,
                Collective::Match(Match::All, _) => 15,
            },
            _ => return Self::NONE,
        };
        Self(1 << number)
    }

    /// Kind that lanes may miss at an instruction.
    pub(super) fn kinds_that_lanes_may_miss_at(instruction: &Instruction) -> Self {
        match instruction.op {
            Op::Collective(_, MemberMask::Operand) => Self::kinds_of_op(instruction.op),
            Op::Barrier(_) if is_full_barrier(instruction) => Self::BARRIER,
            _ => Self::NONE,
        }
    }

    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn difference(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(super) const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) const fn contains_all(self, other: Self) -> bool {
        other.difference(self).is_empty()
    }

    /// Sets of one kind each.
    pub(super) fn single_kinds(self) -> impl Iterator<Item = Self> {
        (0..u32::BITS)
            .map(|number| Self(1 << number))
            .filter(move |kind| self.intersects(*kind))
    }
}

/// Kinds and places that still need a witness.
#[derive(Clone, Debug, Default)]
pub(super) struct WantedWitnesses {
    /// Kinds for which one witness anywhere is wanted.
    pub kinds: CollectiveKinds,
    /// Instructions that are themselves wanted.
    pub places: FxHashSet<InstructionId>,
}

impl WantedWitnesses {
    /// The request for one witness of each of these kinds.
    pub(super) fn one_of_each(kinds: CollectiveKinds) -> Self {
        Self {
            kinds,
            places: FxHashSet::default(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kinds.is_empty() && self.places.is_empty()
    }

    pub(super) fn remove_found_kinds(&mut self, kinds: CollectiveKinds) {
        self.kinds = self.kinds.difference(kinds);
    }

    pub(super) fn remove_found_at(&mut self, place: InstructionId, kinds: CollectiveKinds) {
        self.remove_found_kinds(kinds);
        self.places.remove(&place);
    }
}
