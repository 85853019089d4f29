//! A process that checks a stretch of a run's mutants, one after the other, and tells how it gets on.
//!
//! A mutant may end it, by the stack or by LLVM: what it was looking at is known from what it told last.

use std::io::Write as _;
use std::time::Duration;

use crate::kind::Kind;
use crate::measure;

/// Most processor time of one mutant.
pub const MAX_TIME: Duration = Duration::from_secs(2);

/// Most memory of the process, in bytes.
pub const MAX_MEMORY: u64 = 1 << 30;

/// The mutants that a process checks.
pub struct Stretch {
    /// The seed of the run.
    pub seed: u64,
    /// Index of the first.
    pub from: u64,
    /// One past that of the last.
    pub to: u64,
    /// How many are checked between two words to the campaign.
    pub batch: u64,
    /// Wall time after which no batch begins.
    pub time: Duration,
}

/// Says something to the campaign.
pub fn tell(word: &str) {
    let mut out = std::io::stdout().lock();
    // Without a campaign there is nobody to tell.
    let _ = writeln!(out, "{word}").and_then(|()| out.flush());
}

/// Checks the mutants of a stretch.
pub fn run(kind: &Kind, stretch: &Stretch) {
    crate::panics::keep_places();
    let started = std::time::Instant::now();
    let first = measure::processor_time();
    let mut slowest = (Duration::ZERO, stretch.from);
    let mut largest = 0;
    let mut at = stretch.from;
    while at < stretch.to && started.elapsed() < stretch.time {
        let end = (at + stretch.batch).min(stretch.to);
        tell(&format!("at {at} {end}"));
        measure::reset_peak();
        for index in at..end {
            let time = one(kind, stretch.seed, index);
            slowest = slowest.max((time, index));
        }
        let (_, peak) = measure::memory();
        if peak > MAX_MEMORY {
            blame(kind, stretch.seed, at..end);
        }
        largest = largest.max(peak);
        at = end;
    }
    let time = measure::processor_time().saturating_sub(first);
    tell(&format!(
        "done {at} {} {} {} {largest}",
        time.as_micros(),
        slowest.0.as_micros(),
        slowest.1
    ));
}

/// Checks one mutant, and says what is wrong with it; the time that took.
fn one(kind: &Kind, seed: u64, index: u64) -> Duration {
    let bytes = kind.mutant(seed, index);
    let before = measure::processor_time();
    let verdict = kind.check(index, &bytes);
    let time = measure::processor_time().saturating_sub(before);
    if let Err(problem) = verdict {
        tell(&format!("failed {index} {}", problem.replace('\n', " ")));
    } else if time > MAX_TIME {
        tell(&format!("failed {index} it takes {:.1} s", time.as_secs_f64()));
    }
    time
}

/// Which mutants of a batch take too much memory. What the process keeps from those before does not count.
fn blame(kind: &Kind, seed: u64, batch: std::ops::Range<u64>) {
    for index in batch {
        let bytes = kind.mutant(seed, index);
        measure::reset_peak();
        let (before, _) = measure::memory();
        // What is wrong with it has been said.
        let _ = kind.check(index, &bytes);
        let (_, peak) = measure::memory();
        let grown = peak.saturating_sub(before);
        if grown > MAX_MEMORY {
            tell(&format!("failed {index} it takes {} MiB", grown >> 20));
        }
    }
}
