//! How long LLVM IR takes, and how much of that is LLVM's own reading.
//!
//! `cargo bench -p ptxcheck-passes --bench ir -- FILE…` prints a line for each file, in milliseconds of this thread's
//! processor time:
//!
//! * `parse`, what LLVM takes to read it; `free`, what LLVM takes to give the module and its context back;
//! * `lower`, what the lowering to the device IR takes, and `analyse`, what analyses and rules take: as shares of `parse`
//!   alone in the next column, with the lower and the upper quartile of their sum;
//! * `places`, looking a place up in text, which is done once for a module with findings.
//!
//! Each round reads the input twice, once by LLVM alone. The medians over the rounds count, of `lower` that of the
//! differences within each: what else the machine does disturbs neighbours alike. The last column is how much faster two
//! threads are than one by the clock, which wants an idle machine.
#![allow(clippy::print_stdout)]

use std::time::{Duration, Instant};

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use ptxcheck_passes::frontend::llvm;
use ptxcheck_passes::ir;
use ptxcheck_passes::settings::Settings;
use ptxcheck_passes::worker;
use rustix::time::{ClockId, clock_gettime};

const MIN_ROUNDS: usize = 15;
const MIN_TIME: Duration = Duration::from_secs(3);

fn main() {
    println!(
        "{:>9} {:>8} {:>8} {:>8} {:>11} {:>11} {:>7} {:>12}  file",
        "parse", "free", "lower", "analyse", "beyond", "quartiles", "places", "two threads"
    );
    // What large modules leave to other threads is done by the one that is measured.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    for path in std::env::args().skip(1).filter(|arg| !arg.starts_with("--")) {
        match (std::fs::read(&path), &pool) {
            (Ok(bytes), Ok(pool)) => pool.install(|| measure(&path, &bytes)),
            (Err(error), _) => println!("{path}: {error}"),
            (_, Err(error)) => println!("{error}"),
        }
    }
}

/// What one round takes of each, in milliseconds.
struct Round {
    parse: f64,
    free: f64,
    lower: f64,
    analyse: f64,
}

impl Round {
    /// What follows LLVM's own reading, as a share of that.
    fn beyond(&self) -> f64 {
        (self.lower + self.analyse) / self.parse
    }
}

fn measure(path: &str, bytes: &[u8]) {
    let settings = Settings::default();
    let begin = Instant::now();
    let mut rounds = Vec::new();
    while rounds.len() < MIN_ROUNDS || begin.elapsed() < MIN_TIME {
        let (parse, free) = parsed(bytes);
        let start = processor_time();
        let read = llvm::with_module(bytes, |module| {
            let lowered = processor_time();
            (lowered, taken(|| drop(worker::checked(module, &settings))))
        });
        let Ok((lowered, analyse)) = read else {
            return println!("{path}: it cannot be read");
        };
        rounds.push(Round {
            parse: ms(parse),
            free: ms(free),
            lower: ms(lowered.saturating_sub(start)) - ms(parse),
            analyse: ms(analyse),
        });
    }
    let median = |of: fn(&Round) -> f64| quantile(&rounds, of, 2);
    let parse = median(|one| one.parse);
    let (lower, analyse) = (median(|one| one.lower), median(|one| one.analyse));
    let check = || drop(worker::check(bytes, &settings));
    println!(
        "{parse:>9.2} {:>8.2} {lower:>8.2} {analyse:>8.2} {:>4.0}+{:>4.0} % {:>4.0}-{:>4.0} % {:>7.2} {:>12.2}  {path}",
        median(|one| one.free),
        lower / parse * 100.0,
        analyse / parse * 100.0,
        quantile(&rounds, Round::beyond, 1) * 100.0,
        quantile(&rounds, Round::beyond, 3) * 100.0,
        ms(place(bytes)),
        gain(check),
    );
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

/// How long LLVM takes to read it, and to give back what it read.
fn parsed(bytes: &[u8]) -> (Duration, Duration) {
    let start = processor_time();
    let context = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(bytes, "input");
    let module = context.create_module_from_ir(buffer);
    assert!(module.is_ok(), "it cannot be read");
    let read = processor_time();
    drop(module);
    drop(context);
    (read.saturating_sub(start), processor_time().saturating_sub(read))
}

/// How long the first place in a text takes.
fn place(bytes: &[u8]) -> Duration {
    let looked_up = |module: &ir::Module<'_>| {
        let first = module.bodies().next();
        let last = first.and_then(|(_, _, body)| body.instructions.last());
        taken(|| {
            let _ = last.map(|last| module.origin.place(last.span));
        })
    };
    llvm::with_module(bytes, looked_up).unwrap_or_default()
}

/// How much faster two threads are than one.
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

/// What this thread has had of a processor.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}
