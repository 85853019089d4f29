//! A thread that fails about an asynchronous copy in a run, in the terms of the analyses.

use super::replay::analysis_site;
use crate::analysis::lanes::{Object, Site};
use ptxcheck_machine::{AsyncFailure, AsyncWrong, Doing};

/// A thread that fails about an asynchronous copy in a run of a witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundCopyFailure {
    /// The access, or the copy that reads.
    pub site: Site,
    /// The kind of the failure.
    pub wrong: AsyncWrong,
    /// The thread, by its number in the block.
    pub thread: u32,
    /// Where the copy was started that is in flight, if one is.
    pub copy: Option<Site>,
}

/// The failures that are searched for.
pub(super) const KINDS: [AsyncWrong; 3] = [
    AsyncWrong::ReadEarly,
    AsyncWrong::SourceOverwritten,
    AsyncWrong::Unfenced,
];

/// What stands for the failures of one kind of a kernel in a search: there is one finding for each.
pub(super) fn object_of(wrong: AsyncWrong) -> Object {
    let number = KINDS.iter().position(|kind| *kind == wrong);
    Object::Part(number.map_or(0, |number| number as u32))
}

impl FoundCopyFailure {
    pub(super) fn new(failure: &AsyncFailure) -> Self {
        Self {
            site: analysis_site(&failure.site),
            wrong: failure.wrong,
            thread: failure.thread,
            copy: failure.copy.as_ref().map(analysis_site),
        }
    }

    pub(super) fn object(&self) -> Object {
        object_of(self.wrong)
    }

    /// What the thread does there.
    pub(super) const fn doing(&self) -> Doing {
        match self.wrong {
            AsyncWrong::SourceOverwritten => Doing::Writes,
            _ => Doing::Reads,
        }
    }
}
