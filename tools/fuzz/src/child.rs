//! A process that checks a range of a run's mutants, one after the other, and reports its progress.
//!
//! A mutant may end it, by a stack overflow or in LLVM: its last message identifies the mutant.

use std::io::Write as _;
use std::time::Duration;

use crate::kind::Kind;
use crate::measure;

/// Most memory of the process, in bytes.
pub const MAX_MEMORY: u64 = 1 << 30;

/// Most address space of the process, in bytes.
const MAX_ADDRESSES: u64 = 6 << 30;

/// The mutants that a process checks.
pub struct MutantRange {
    /// The seed of the run.
    pub seed: u64,
    /// Index of the first.
    pub from: u64,
    /// One past that of the last.
    pub to: u64,
    /// Number of mutants checked between two messages to the campaign.
    pub batch: u64,
    /// Wall time after which no batch begins.
    pub time: Duration,
}

/// Sends a message to the campaign.
pub fn send(word: &str) {
    let mut out = std::io::stdout().lock();
    // Without a campaign nobody reads it.
    let _ = writeln!(out, "{word}").and_then(|()| out.flush());
}

/// Checks the mutants of a range.
pub fn run(kind: &Kind, range: &MutantRange) {
    crate::panics::keep_places();
    measure::limit_memory(MAX_ADDRESSES);
    let started = std::time::Instant::now();
    let mut at = range.from;
    while at < range.to && started.elapsed() < range.time {
        let end = (at + range.batch).min(range.to);
        send(&format!("at {at} {end}"));
        let before = measure::processor_time();
        measure::reset_peak();
        let mut slowest = (Duration::ZERO, at);
        for index in at..end {
            let time = check_one(kind, range.seed, index);
            slowest = slowest.max((time, index));
        }
        let (_, peak) = measure::memory();
        if peak > MAX_MEMORY && kind.counts_all_memory() {
            blame(kind, range.seed, at..end);
        }
        let time = measure::processor_time().saturating_sub(before);
        let (micros, slow) = (time.as_micros(), slowest.0.as_micros());
        send(&format!(
            "checked {at} {end} {micros} {slow} {} {peak}",
            slowest.1
        ));
        at = end;
    }
    send("done");
}

/// Checks one mutant, reports its defect, and returns the time that the check took.
fn check_one(kind: &Kind, seed: u64, index: u64) -> Duration {
    let bytes = kind.mutant(seed, index);
    measure::start();
    let verdict = kind.check(index, &bytes);
    let time = measure::elapsed();
    if let Err(problem) = verdict {
        send(&format!("failed {index} {}", problem.replace('\n', " ")));
    } else if time > kind.max_time() {
        send(&format!("failed {index} it takes {:.1} s", time.as_secs_f64()));
    }
    time
}

/// Reports the mutants of a batch that take too much memory. Memory that the process keeps from those before does not count.
fn blame(kind: &Kind, seed: u64, batch: std::ops::Range<u64>) {
    for index in batch {
        let bytes = kind.mutant(seed, index);
        measure::reset_peak();
        let (before, _) = measure::memory();
        // Its failure has been reported.
        let _ = kind.check(index, &bytes);
        if let Err(problem) = within_memory(before) {
            send(&format!("failed {index} {problem}"));
        }
    }
}

/// An error if the peak since the last [`measure::reset_peak`] exceeds the memory in use before by more than the limit.
pub fn within_memory(before: u64) -> Result<(), String> {
    let (_, peak) = measure::memory();
    let grown = peak.saturating_sub(before);
    if grown > MAX_MEMORY {
        return Err(format!("it takes {} MiB", grown >> 20));
    }
    Ok(())
}
