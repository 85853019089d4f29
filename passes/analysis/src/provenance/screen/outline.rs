//! What the screen keeps of a function that it has passed over.

use super::cell::{Cell, Kinds};
use crate::provenance::suspects::Marked;
use ptxcheck_ir::Argument;

/// What a function is to those that call it.
#[derive(Default)]
pub(super) struct Outline {
    pub(super) is_known: bool,
    /// Instructions that use addresses which may be wrong for it.
    pub(super) suspects: Marked,
    /// It is too much to pass over.
    pub(super) is_open: bool,
    /// The pieces of its parameters that it reads, and what is wrong to pass in them.
    pub(super) pieces: Vec<((u16, u32), Kinds)>,
    /// What is wrong to pass in those that have no place in `pieces`.
    pub(super) rest: Kinds,
    /// By byte offset in what it returns.
    pub(super) results: Vec<(u32, Cell)>,
    /// Generic addresses of the spaces that it tests for, if it may return the outcome.
    pub(super) tested: Kinds,
}

impl Outline {
    /// The place among `pieces` of what an argument passes.
    pub(super) fn place(&self, argument: &Argument) -> Option<usize> {
        self.pieces.iter().position(|(piece, _)| argument.passes(*piece))
    }

    /// What is wrong to pass here.
    pub(super) fn wants(&self, argument: &Argument) -> Kinds {
        self.place(argument)
            .map_or(self.rest, |place| self.pieces[place].1)
    }
}
