//! The progress of a run, to be watched from another thread.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Inputs of a run, and how many of them have been analysed.
#[derive(Debug, Default)]
pub struct Progress {
    all: AtomicUsize,
    done: AtomicUsize,
}

impl Progress {
    /// The number of analysed inputs, and of all inputs.
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

    /// Adds the members of a package.
    pub(crate) fn add(&self, inputs: usize) {
        self.all.fetch_add(inputs, Ordering::Relaxed);
    }

    pub(crate) fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}
