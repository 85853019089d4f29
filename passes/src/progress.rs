//! The progress of a run, to be watched from another thread.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Inputs of a run, and how many of them have been looked at.
#[derive(Debug, Default)]
pub struct Progress {
    all: AtomicUsize,
    done: AtomicUsize,
}

impl Progress {
    /// Inputs looked at, and all.
    #[must_use]
    pub fn get(&self) -> (usize, usize) {
        (
            self.done.load(Ordering::Relaxed),
            self.all.load(Ordering::Relaxed),
        )
    }

    pub(crate) fn begin(&self, inputs: usize) {
        self.all.store(inputs, Ordering::Relaxed);
    }

    pub(crate) fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}
