//! The time that one input may take.
//!
//! Analyses check the deadline in their loops, and give up with the value for "unknown". A result that was begun before the deadline and
//! finished after it may depend on that value: it is not reported. So a deadline that has passed once stays passed, for all threads that
//! analyse the input.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::limits::STEPS_BETWEEN_CLOCKS;

/// When an input's time is over.
#[derive(Debug, Default)]
pub struct Deadline {
    at: Option<Instant>,
    has_passed: AtomicBool,
}

static NEVER: Deadline = Deadline {
    at: None,
    has_passed: AtomicBool::new(false),
};

thread_local! {
    /// Steps of this thread until it reads the clock again.
    static STEPS_LEFT: Cell<u32> = const { Cell::new(STEPS_BETWEEN_CLOCKS) };
}

impl Deadline {
    /// One that never passes.
    pub const NEVER: &'static Self = &NEVER;

    /// So much time from now on; `None` for any time.
    #[must_use]
    pub fn after(time: Option<Duration>) -> Self {
        Self {
            at: time.and_then(|time| Instant::now().checked_add(time)),
            has_passed: AtomicBool::new(false),
        }
    }

    /// True if it has passed; reads the clock. For the beginning and the end of long pieces of work.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let Some(at) = self.at else {
            return false;
        };
        if self.has_passed.load(Ordering::Relaxed) {
            return true;
        }
        let is_over = Instant::now() >= at;
        if is_over {
            self.has_passed.store(true, Ordering::Relaxed);
        }
        is_over
    }

    /// True if it has passed, for a step of a loop: reads the clock every [`STEPS_BETWEEN_CLOCKS`] steps.
    #[must_use]
    #[inline]
    pub fn is_over_at_step(&self) -> bool {
        self.is_over_after(1)
    }

    /// The same for a piece of work that counts for so many steps.
    #[must_use]
    #[inline]
    pub fn is_over_after(&self, steps: usize) -> bool {
        if self.at.is_none() {
            return false;
        }
        let steps = u32::try_from(steps).unwrap_or(u32::MAX);
        match STEPS_LEFT.get().checked_sub(steps) {
            Some(left) => {
                STEPS_LEFT.set(left);
                self.has_passed.load(Ordering::Relaxed)
            }
            None => {
                STEPS_LEFT.set(STEPS_BETWEEN_CLOCKS);
                self.is_over()
            }
        }
    }

    /// True if any work has been cut short: somebody asked, and it had passed.
    #[must_use]
    pub fn has_cut(&self) -> bool {
        self.has_passed.load(Ordering::Relaxed)
    }

    /// The time left; `None` where there is no end.
    #[must_use]
    pub fn left(&self) -> Option<Duration> {
        self.at.map(|at| at.saturating_duration_since(Instant::now()))
    }
}

/// The message about an input whose time was over.
pub fn too_long(limit: Duration) -> String {
    format!(
        "the analysis took longer than {} s and was cut short",
        limit.as_secs_f64()
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Deadline;
    use crate::limits::STEPS_BETWEEN_CLOCKS;

    #[test]
    fn what_has_passed_stays_so() {
        let deadline = Deadline::after(Some(Duration::ZERO));
        assert!(deadline.is_over() && deadline.is_over_at_step());
        assert_eq!(deadline.left(), Some(Duration::ZERO));
    }

    #[test]
    fn steps_look_at_the_clock_now_and_then() {
        let deadline = Deadline::after(Some(Duration::ZERO));
        assert!((0..=STEPS_BETWEEN_CLOCKS).any(|_| deadline.is_over_at_step()));
        let deadline = Deadline::after(Some(Duration::ZERO));
        assert!(deadline.is_over_after(usize::MAX));
    }

    #[test]
    fn some_never_pass() {
        assert!(!Deadline::NEVER.is_over() && !Deadline::NEVER.is_over_after(usize::MAX));
        assert!(!Deadline::after(Some(Duration::MAX)).is_over());
        assert_eq!(Deadline::after(None).left(), None);
    }
}
