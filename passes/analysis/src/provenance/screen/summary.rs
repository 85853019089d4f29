//! The result of the screen for one function.

use super::cell::{Cell, Kinds};
use crate::provenance::suspects::SuspectInstructions;
use ptxcheck_ir::Argument;

/// The screen's summary of a function: its suspects, and the part that callers need.
#[derive(Default)]
pub(super) struct ScreenSummary {
    pub(super) is_known: bool,
    /// Instructions that may use an address wrongly.
    pub(super) suspects: SuspectInstructions,
    /// The fixed point was not reached within [`crate::limits::MAX_PROVENANCE_ROUNDS`].
    pub(super) is_unsettled: bool,
    /// The pieces of its parameters that it reads, each with the kinds that are wrong for it.
    pub(super) pieces: Vec<((u16, u32), Kinds)>,
    /// The kinds that are wrong for the parameters beyond those in `pieces`.
    pub(super) rest: Kinds,
    /// The cells of its results, by byte offset.
    pub(super) results: Vec<(u32, Cell)>,
    /// Generic addresses of the spaces that it tests for, if it may return the outcome.
    pub(super) tested: Kinds,
}

impl ScreenSummary {
    /// The index in `pieces` of the piece that an argument is passed in.
    pub(super) fn piece_index(&self, argument: &Argument) -> Option<usize> {
        self.pieces.iter().position(|(piece, _)| argument.passes(*piece))
    }

    /// The kinds that are wrong for this argument.
    pub(super) fn wrong_kinds_for(&self, argument: &Argument) -> Kinds {
        self.piece_index(argument)
            .map_or(self.rest, |index| self.pieces[index].1)
    }
}
