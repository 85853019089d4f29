//! What a thread of a run that follows asynchronous copies knows of the others.

use std::collections::BTreeSet;

/// All that comes before the next thing that a thread does.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    pub(crate) clock: Vec<u32>,
    /// Copies whose results are there.
    pub(crate) done: BTreeSet<u32>,
    /// Copies that have read their sources.
    pub(crate) free: BTreeSet<u32>,
}

impl View {
    pub(crate) fn join(&mut self, other: &Self) {
        if self.clock.len() < other.clock.len() {
            self.clock.resize(other.clock.len(), 0);
        }
        for (mine, &its) in self.clock.iter_mut().zip(&other.clock) {
            *mine = (*mine).max(its);
        }
        self.done.extend(&other.done);
        self.free.extend(&other.free);
    }

    pub(crate) fn has(&self, (thread, epoch): (usize, u32)) -> bool {
        self.clock.get(thread).is_some_and(|&known| known >= epoch)
    }
}
