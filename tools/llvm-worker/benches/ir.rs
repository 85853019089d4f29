//! The time that LLVM IR takes, and LLVM's own reading as a part of it.
//!
//! `cargo bench -p ptxcheck-llvm --bench ir -- FILE…` prints a line for each file, in milliseconds of this thread's
//! processor time:
//!
//! * `parse`, what LLVM takes to read it; `free`, what LLVM takes to give the module and its context back;
//! * `lower`, what the lowering to the device IR takes, and `analyse`, what analyses and rules take: as shares of `parse`
//!   alone in the next column, with the lower and the upper quartile of their sum;
//! * `places`, looking a place up in text, which is done once for a module with findings.
//!
//! The medians over the rounds count, of shares that of the shares within each: what else the machine does disturbs
//! neighbours alike. The last column is how much faster two threads are than one by the clock, which wants an idle
//! machine.
#![allow(clippy::print_stdout)]

use std::time::{Duration, Instant};

use ptxcheck_frontend_llvm as llvm;
use ptxcheck_passes::deadline::Deadline;
use ptxcheck_passes::ir;
use ptxcheck_passes::settings::{IrReader, Settings};
use ptxcheck_passes::worker::{self, Start};
use rustix::time::{ClockId, clock_gettime};

const MIN_ROUNDS: usize = 15;
const MIN_TIME: Duration = Duration::from_secs(3);

fn main() {
    println!(
        "{:>9} {:>8} {:>8} {:>8} {:>11} {:>11} {:>7} {:>12}  file",
        "parse", "free", "lower", "analyse", "beyond", "quartiles", "places", "two threads"
    );
    // One thread, which is measured: large modules would leave work to others.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    for path in std::env::args().skip(1).filter(|arg| !arg.starts_with("--")) {
        match (std::fs::read(&path), &pool) {
            (Ok(bytes), Ok(pool)) => pool.install(|| measure(&path, &bytes)),
            (Err(error), _) => println!("{path}: {error}"),
            (_, Err(error)) => println!("{error}"),
        }
    }
}

/// Milliseconds of each step in one round.
struct Round {
    parse: f64,
    free: f64,
    lower: f64,
    analyse: f64,
}

impl Round {
    /// The time of the steps after LLVM's own reading, as a share of that.
    fn beyond(&self) -> f64 {
        (self.lower + self.analyse) / self.parse
    }
}

fn measure(path: &str, bytes: &[u8]) {
    let settings = Settings {
        ir_reader: IrReader::Here(llvm::read_device_code),
        ..Settings::default()
    };
    let begin = Instant::now();
    let mut rounds = Vec::new();
    while rounds.len() < MIN_ROUNDS || begin.elapsed() < MIN_TIME {
        let Some(round) = round(bytes, &settings) else {
            return println!("{path}: it cannot be read");
        };
        rounds.push(round);
    }
    let median = |of: fn(&Round) -> f64| quantile(&rounds, of, 2);
    let parse = median(|one| one.parse);
    let (lower, analyse) = (median(|one| one.lower), median(|one| one.analyse));
    let (lowering, analyses) = (
        median(|one| one.lower / one.parse),
        median(|one| one.analyse / one.parse),
    );
    let start = Start::default();
    let check = || drop(worker::check(bytes, &settings, &start, Deadline::NEVER));
    println!(
        "{parse:>9.2} {:>8.2} {lower:>8.2} {analyse:>8.2} {:>4.0}+{:>4.0} % {:>4.0}-{:>4.0} % {:>7.2} {:>12.2}  {path}",
        median(|one| one.free),
        lowering * 100.0,
        analyses * 100.0,
        quantile(&rounds, Round::beyond, 1) * 100.0,
        quantile(&rounds, Round::beyond, 3) * 100.0,
        ms(place(bytes)),
        gain(check),
    );
}

/// From one time to another, in milliseconds.
fn between(start: Duration, end: Duration) -> f64 {
    ms(end.saturating_sub(start))
}

/// A quartile: 1 is the lower one, 2 the median.
fn quantile(rounds: &[Round], of: fn(&Round) -> f64, quarter: usize) -> f64 {
    let mut all: Vec<f64> = rounds.iter().map(of).collect();
    all.sort_unstable_by(f64::total_cmp);
    all[(all.len() - 1) * quarter / 4]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Reads an input, lowers and checks it; none that LLVM cannot read.
fn round(bytes: &[u8], settings: &Settings) -> Option<Round> {
    let start = processor_time();
    let memory = llvm::Memory::default();
    let input = memory.read(bytes).ok()?;
    let parsed = processor_time();
    let (lowered, checked) = input.with_module(|module| {
        let lowered = processor_time();
        drop(ptxcheck_passes::check_module(module, settings));
        (lowered, processor_time())
    });
    let done = processor_time();
    drop(input);
    drop(memory);
    let freed = processor_time();
    Some(Round {
        parse: between(start, parsed),
        // The time of freeing the lowered module.
        lower: between(parsed, lowered) + between(checked, done),
        analyse: between(lowered, checked),
        free: between(done, freed),
    })
}

/// The time of looking up the first place in a text.
fn place(bytes: &[u8]) -> Duration {
    let looked_up = |module: &ir::Module<'_>| {
        let first = module.bodies().next();
        let last = first.and_then(|(_, _, body)| body.places.last());
        taken(|| {
            let _ = last.map(|last| module.origin.place(last.span));
        })
    };
    llvm::with_module(bytes, looked_up).unwrap_or_default()
}

/// The speedup of two threads over one.
fn gain(check: impl Fn() + Sync) -> f64 {
    let clock = |work: &dyn Fn()| {
        let least = (0..3).map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        });
        least.min().unwrap_or_default().as_secs_f64()
    };
    let two = || {
        std::thread::scope(|scope| {
            scope.spawn(&check);
            check();
        });
    };
    2.0 * clock(&check) / clock(&two)
}

fn taken(work: impl FnOnce()) -> Duration {
    let start = processor_time();
    work();
    processor_time().saturating_sub(start)
}

/// The processor time of this thread.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}
