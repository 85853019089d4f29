//! How long LLVM IR takes, and how much of that is LLVM's own reading.
//!
//! `cargo bench -p ptxcheck-passes --bench ir -- FILE…` prints a line for each file, in milliseconds of this thread's
//! processor time:
//!
//! * `parse`, what LLVM takes to read it; `free`, what LLVM takes to give the module and its context back;
//! * `lower`, what the lowering to the device IR adds to the two, and `analyse`, what analyses and rules add to the three:
//!   as shares of `parse` alone in the next column;
//! * `places`, looking a place up in text, which is done once for a module with findings.
//!
//! The rounds of the three take turns, and the least of each counts: what else the machine does makes a round longer and
//! never shorter. `spread` is how far the median of the longest of the three lies above its least. The last column is how
//! much faster two threads are than one by the clock, which wants an idle machine.
#![allow(clippy::print_stdout)]

use std::time::{Duration, Instant};

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use ptxcheck_passes::frontend::llvm;
use ptxcheck_passes::ir;
use ptxcheck_passes::settings::Settings;
use ptxcheck_passes::worker;
use rustix::time::{ClockId, clock_gettime};

const MIN_ROUNDS: usize = 9;
const MIN_TIME: Duration = Duration::from_secs(3);

fn main() {
    println!(
        "{:>9} {:>8} {:>8} {:>8} {:>11} {:>7} {:>7} {:>12}  file",
        "parse", "free", "lower", "analyse", "beyond", "places", "spread", "two threads"
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

/// What one round takes of each.
struct Round {
    parse: Duration,
    free: Duration,
    lower: Duration,
    all: Duration,
}

fn measure(path: &str, bytes: &[u8]) {
    let settings = Settings::default();
    let check = || {
        let checked = worker::check(bytes, &settings);
        assert!(checked.failure.is_none(), "it cannot be read");
    };
    let begin = Instant::now();
    let mut rounds = Vec::new();
    while rounds.len() < MIN_ROUNDS || begin.elapsed() < MIN_TIME {
        let (parse, free) = parsed(bytes);
        rounds.push(Round {
            parse,
            free,
            lower: taken(|| assert!(llvm::with_module(bytes, |_| ()).is_ok(), "it cannot be read")),
            all: taken(check),
        });
    }
    let least = |of: fn(&Round) -> Duration| rounds.iter().map(of).min().unwrap_or_default();
    let (parse, free) = (least(|one| one.parse), least(|one| one.free));
    let lower = least(|one| one.lower);
    let all = least(|one| one.all);
    rounds.sort_by_key(|one| one.all);
    let spread = rounds[rounds.len() / 2].all.as_secs_f64() / all.as_secs_f64() - 1.0;
    let analyse = all.saturating_sub(lower);
    let lower = lower.saturating_sub(parse + free);

    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let share = |time: Duration| time.as_secs_f64() / parse.as_secs_f64() * 100.0;
    println!(
        "{:>9.2} {:>8.2} {:>8.2} {:>8.2} {:>4.0}+{:>4.0} % {:>7.2} {:>5.0} % {:>12.2}  {path}",
        ms(parse),
        ms(free),
        ms(lower),
        ms(analyse),
        share(lower),
        share(analyse),
        ms(place(bytes)),
        spread * 100.0,
        gain(check),
    );
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
