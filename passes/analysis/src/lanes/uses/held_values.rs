//! The values that lanes hold at one point, and the question for which they are followed.

use rustc_hash::FxHashMap;

use crate::lanes::value::{Lanes, WARP};
use crate::variable::FrameVariable;
use ptxcheck_ir::InstructionId;

/// The instruction whose result is followed, and the lanes whose result counts.
#[derive(Clone, Copy)]
pub(super) enum Origin {
    /// A shuffle, by its node: each time that lanes pass it.
    Shuffle(u32, Lanes),
    /// A load, one time that lanes execute it.
    Load(Loaded),
}

/// The values that lanes load.
#[derive(Clone, Copy)]
pub(super) struct Loaded {
    /// The node of the load.
    pub node: u32,
    /// The load.
    pub at: InstructionId,
    /// The lanes.
    pub lanes: Lanes,
    /// The number of the result whose value is followed; without one, those of all results are.
    pub result: Option<usize>,
}

impl Origin {
    pub(super) const fn node(self) -> u32 {
        match self {
            Self::Shuffle(node, _) | Self::Load(Loaded { node, .. }) => node,
        }
    }
}

/// The property of a use that is required.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// It is certain, and the used value is undefined if the value that was read is.
    Undefined,
    /// It is certain that a value is used that is computed from the one that was read.
    Certain,
    /// A use counts if nothing excludes it.
    Possible,
}

/// Lanes and the values that they hold at one point: see the module.
#[derive(Clone, Default)]
pub(super) struct HeldValues {
    pub(super) on: Lanes,
    pub(super) cells: FxHashMap<(u32, FrameVariable), Lanes>,
}

impl HeldValues {
    /// Adds the values that arrive along an edge with some lanes, where the edges into a node may bring any value; true if
    /// that changes anything.
    pub(super) fn join_possible_holders(&mut self, lanes: Lanes, from: &Self) -> bool {
        let mut changed = lanes & !self.on != 0;
        self.on |= lanes;
        for (&cell, &theirs) in &from.cells {
            if theirs & lanes != 0 {
                let held = self.cells.entry(cell).or_default();
                changed |= theirs & lanes & !*held != 0;
                *held |= theirs & lanes;
            }
        }
        changed
    }

    /// Adds the values that arrive along an edge with some lanes; true if that changes anything.
    pub(super) fn join_certain_holders(&mut self, lanes: Lanes, from: &Self) -> bool {
        let (both, new) = (lanes & self.on, lanes & !self.on);
        let mut changed = new != 0;
        self.cells.retain(|cell, held| {
            let theirs = from.cells.get(cell).copied().unwrap_or(0);
            let kept = *held & (!both | theirs);
            changed |= kept != *held;
            *held = kept;
            kept != 0
        });
        if new != 0 {
            for (&cell, &theirs) in from.cells.iter().filter(|(_, theirs)| **theirs & new != 0) {
                *self.cells.entry(cell).or_default() |= theirs & new;
            }
        }
        self.on |= lanes;
        changed
    }

    /// Drops cells that no remaining lane holds.
    pub(super) fn drop_unheld_cells(&mut self) {
        let on = self.on;
        self.cells.retain(|_, held| {
            *held &= on;
            *held != 0
        });
    }
}

/// By lane: the lane that it reads, if it is known and certainly takes part.
pub(super) type SourceLanes = [Option<u8>; WARP];
