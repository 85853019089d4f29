//! How long LLVM IR takes, and how much of that is LLVM's own reading.
//!
//! `cargo bench -p ptxcheck-passes --bench ir -- FILE…` prints a line for each file: milliseconds that a processor spends
//! in LLVM's parser, in the lowering to the device IR and in analyses and rules, the last two as a share of the first; in
//! looking a place up in text, which is done once for a module with findings; and by the clock, how much faster two threads are than one, which wants an idle machine.
#![allow(clippy::print_stdout)]

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use ptxcheck_passes::frontend::llvm;
use ptxcheck_passes::ir;
use ptxcheck_passes::settings::Settings;
use ptxcheck_passes::worker;

const MIN_ROUNDS: u32 = 3;
const MIN_TIME: Duration = Duration::from_millis(500);

fn main() {
    println!(
        "{:>9} {:>9} {:>9} {:>11} {:>9} {:>12}  file",
        "parse", "lower", "analyse", "beyond", "places", "two threads"
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

fn measure(path: &str, bytes: &[u8]) {
    let settings = Settings::default();
    let check = || worker::check(bytes, &settings).failure.is_none();
    let parse = mean(processor_time, || {
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(bytes, "input");
        context.create_module_from_ir(buffer).is_ok()
    });
    let read = mean(processor_time, || llvm::with_module(bytes, |_| ()).is_ok());
    let place = |module: &ir::Module<'_>| {
        let first = module.bodies().next();
        let last = first.and_then(|(_, _, body)| body.instructions.last());
        let start = processor_time();
        let _ = last.map(|last| module.origin.place(last.span));
        processor_time().saturating_sub(start)
    };
    let places = llvm::with_module(bytes, place).unwrap_or_default();
    let all = mean(processor_time, check);
    let one = mean(clock, check);
    let two = mean(clock, || {
        std::thread::scope(|scope| {
            let other = scope.spawn(check);
            check() && other.join().unwrap_or(false)
        })
    });
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let share = |time: Duration| time.as_secs_f64() / parse.as_secs_f64() * 100.0;
    let (lower, analyse) = (read.saturating_sub(parse), all.saturating_sub(read));
    println!(
        "{:>9.1} {:>9.1} {:>9.1} {:>4.0}+{:>4.0} % {:>9.1} {:>12.2}  {path}",
        ms(parse),
        ms(lower),
        ms(analyse),
        share(lower),
        share(analyse),
        ms(places),
        2.0 * one.as_secs_f64() / two.as_secs_f64(),
    );
}

/// The time of one round, over enough rounds that the ticks in which the system counts do not matter.
fn mean(now: fn() -> Duration, work: impl Fn() -> bool) -> Duration {
    let (begin, start) = (Instant::now(), now());
    let mut rounds = 0;
    while rounds < MIN_ROUNDS || begin.elapsed() < MIN_TIME {
        assert!(work(), "the file cannot be read");
        rounds += 1;
    }
    now().saturating_sub(start) / rounds
}

fn clock() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
}

/// What this thread has had of a processor, as Linux counts it; elsewhere the clock.
fn processor_time() -> Duration {
    std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split(' ').next()?.parse().ok())
        .map_or_else(clock, Duration::from_nanos)
}
